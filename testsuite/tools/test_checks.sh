# SPDX-License-Identifier: MIT
# What the scripts of the suite check can fail: a failed check makes the script fail, wherever
# it stands and however the script ends (testsuite/_checks.sh), and each script uses that.
. "$TESTSUITE/_checks.sh"

# script STATUS WHAT LINES [OUTPUT]: a script of these lines, with the helper
script() {
  { echo '. "$TESTSUITE/_checks.sh"'; echo "$3"; } >script.sh
  bash script.sh >out.txt 2>&1
  is "$2: status" "$1" $?
  has "$2: output" "${4-}" "$(cat out.txt)"
}
script 0 "all is well" 'is x 1 1; is_same y a a; has z b abc; true'
script 0 "all is well, with finish" 'is x 1 1; finish'
script 1 "no finish" 'is x 1 2; true' "FAILED: x: expected '1', got '2'"
script 1 "finish" 'is x 1 2; finish' "1 checks failed"
script 1 "a skip" 'is x 1 2; echo "no such machine"; exit 77'
script 77 "a skip, and all is well" 'is x 1 1; echo "no such machine"; exit 77' "no such machine"
script 3 "another status" 'is x 1 1; exit 3'
script 1 "a subshell" '(cd / && is x 1 2); is y 1 1' "FAILED: x"
script 1 "a pipeline" 'echo 2 | while read -r n; do is x 1 "$n"; done; finish' "FAILED: x"
script 1 "output that is taken" 'text=$(is x 1 2); is y 1 1' "1 checks failed"
script 1 "in the background" 'is x 1 2 & wait; finish' "FAILED: x"
script 1 "has" 'has x q abc' "FAILED: x: no 'q' in: abc"
script 1 "nothing on both sides" 'is_same x "$(cat /dev/null)" "$(cat /dev/null)"' \
  "nothing was found out"
script 1 "a file that is not there" 'grep -q x missing && fail "there is an x"; finish' \
  "FAILED: grep -q x missing: status 2"
script 1 "nor is there anything in it" 'is x "" "$(grep x missing)"; finish' "FAILED: grep"
script 0 "one that may not be there yet" 'grep -qs x missing && fail "there is an x"; finish'
script 0 "no line" 'echo a >file; grep -q x file && fail "there is an x"; finish'
script 1 "a command that does not exist" 'is_equal x 1 1; finish' "no command 'is_equal'"
script 1 "a trap of its own" 'trap "echo cleared up" EXIT; is x 1 2; finish' "cleared up"
script 0 "a trap of its own, and all is well" 'trap "echo cleared up" EXIT' "cleared up"
mkdir left
TMPDIR=$PWD/left script 1 "its file" 'is x 1 2'
is "files left" "" "$(ls left)"

# Runs of the runner: a test with a failed check is a failed test.
mkdir -p suite/tools suite/lua
cp "$TESTSUITE/run-tests.sh" "$TESTSUITE/_checks.sh" suite/
printf '. "$TESTSUITE/_checks.sh"\nis x 1 2\n' >suite/tools/test_forgets.sh
SAROS=/bin/true EVENTRING=/bin/true RETRIES=0 \
  bash suite/run-tests.sh --builddir="$PWD/build" >out.txt 2>&1
is "a run with a failed check" 1 $?
has "its last line" "0 passed, 1 failed" "$(tail -n 1 out.txt)"

# Scripts without the helper end at the first check that fails, or are one command.
helpers='_(checks|tools|export|timeline|recording|compare)\.sh'
ends='^exec |exec "\$SAROS"|\|\| exit 1|exit 1; }|exit \$failed|^python3 '
(cd "$TESTSUITE" && find . -name 'test_*.sh') | while read -r file; do
  sourced=$(sed -n 's|^ *\. "$TESTSUITE/\(.*\)"$|\1|p' "$TESTSUITE/$file" | head -n 1)
  if [[ -z $sourced ]]; then
    grep -qE "$ends" "$TESTSUITE/$file" || fail "$file: no check can fail"
  elif [[ $sourced != *_checks.sh ]]; then
    grep -qE "$helpers" "$TESTSUITE/$sourced" || fail "$file: $sourced has no checks"
  fi
done
