# SPDX-License-Identifier: MIT
# Debian's programs, while commands switch the instruments of their processes at random from
# outside (_switch_randomly.sh): output and status are those of lua5.4, as they are unwatched.
# SWITCH_SEED=n repeats what is switched; the moments differ from run to run.
# SWITCH_TESTS="NAME..." watches other tests of this folder, which take longer.
. "$TESTSUITE/_checks.sh"
seed=${SWITCH_SEED:-1}
export SWITCH_LOG=$PWD/switches.log
export TMPDIR=$PWD # where the runner clears what is left when it ends the test

cat >switched <<END
#!/bin/bash
exec bash "$TESTSUITE/_switch_randomly.sh" \$(cksum <<<"$seed \$*" | cut -c 1-4) "$SAROS" "\$@"
END
chmod +x switched

compared=0
for name in ${SWITCH_TESTS:-argparse busted c_modules inspect luacheck luaunit messages penlight}; do
  mkdir "$name"
  (cd "$name" && SAROS=$OLDPWD/switched bash "$TESTSUITE/programs/test_$name.sh") >"$name.txt" 2>&1
  case $? in
    0) compared=$((compared + 1)) ;;
    77) tail -n 1 "$name.txt" ;;
    *) fail "$name (SWITCH_SEED=$seed): $(cat "$name.txt")" ;;
  esac
done
if faults=$(grep ^FAULT switches.log); then fail "commands: $faults"; fi
[ $compared -gt 0 ] || { echo "nothing was compared"; exit 77; }
grep -q '^0: eventring control --profile calls' switches.log || fail "nothing was switched"
echo "$compared programs, $(grep -c '^0:' switches.log) switches"
finish
