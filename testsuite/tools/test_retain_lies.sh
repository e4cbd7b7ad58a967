# SPDX-License-Identifier: MIT
# `eventring retain` of a process that answers with lies: lines that are wrong, without an end
# or too many; children that end, are silent, or are none. It says so, with status 1, or shows
# what is valid, without control characters and as valid JSON; and kills nobody else.
# RETAIN_SEED=n repeats the mutated ones.
. "$TESTSUITE/tools/_tools.sh"
export SAROS_EVENTRING_PREFIX=. SAROS_EVENTRING_START=1
TARGET=$BUILDDIR/testsuite/tools/retain_target
[ -x "$TARGET" ] || { echo "$TARGET is not built"; exit 77; }
slow=${TEST_SLOWNESS:-1}
seed=${RETAIN_SEED:-$RANDOM} count=$((20 / (slow > 4 ? 4 : slow)))
echo "RETAIN_SEED=$seed"
mkdir lies
python3 "$TESTSUITE/tools/_lies.py" lies "$seed" "$count" || fail "_lies.py"

has_domain() { "$EVENTRING" show --json "$pid" | jq -e '.domains != []' >domains.txt; }
begin() {
  rm -f stop
  "$TARGET" "$@" 2>err.txt &
  pid=$!
  await "$pid"
  until_so has_domain || fail "$*: no domain is recorded"
}
let_end() {
  touch stop
  wait "$pid" || fail "retain_target: $(cat err.txt)"
}
retain() { timeout -k 5 120 "$EVENTRING" retain --wait 30 "$@"; }

# plain FILE: text for people
plain() {
  is "control characters in $1" 0 "$(LC_ALL=C tr -d '\n' <"$1" | LC_ALL=C grep -acP '[\x00-\x1f\x7f]')"
  iconv -f UTF-8 -t UTF-8 "$1" >utf8.txt 2>&1 || fail "$1 is no UTF-8"
}

begin file answer
for lie in lies/*; do
  name=${lie#lies/}
  cp "$lie" next && mv next answer
  retain "$pid" >text.txt 2>message.txt
  status=$?
  plain text.txt
  plain message.txt
  case $name in
    good_*) is "$name" 0 "$status" ;;
    bad_*) is "$name" 1 "$status" ;;
    *) [ "$status" -le 1 ] || fail "$name: status $status" ;;
  esac
  retain --json "$pid" >lie.json 2>message.txt
  is "$name with --json" "$status" $?
  jq -e --arg valid "$((1 - status))" '.domains[0].answered == ($valid == "1")' lie.json >jq.txt 2>&1 ||
    fail "JSON of $name: $(head -c 300 lie.json)"
done
cp lies/bad_version answer
ends 1 "is not valid" retain "$pid"
cp lies/good_all answer
retain --json --kind Session "$pid" >lie.json || fail "a valid answer: $?"
is "what it says" '["table Session",2,300,2]' "$(query lie.json '.rows[0] | [.kind, .objects, .bytes, (.holders | length)]')"
let_end

# a child that ends at once, or has no file: nothing to wait for, or as long as it is there
begin ends
ends 1 "has not answered" retain "$pid"
let_end
for how in stranger huge silent; do
  begin "$how"
  ends 1 "has not answered" retain --wait 0.5 "$pid"
  kill -0 "$pid" || fail "$how: the process is gone"
  let_end
done

# who has a child of the process that has answered
asked() { child=$(pgrep -P "$pid") && [ -n "$child" ]; }

# one that never ends what it says, or has something else for a file, is waited for while it lives
for how in nothing pipe endless; do
  begin "$how"
  retain "$pid" >text.txt 2>message.txt &
  asking=$!
  until_so asked || fail "$how: nobody answers"
  kill -9 "$pid"
  wait "$pid" 2>/dev/null
  wait "$asking"
  status=$?
  kill -9 "$child" 2>/dev/null
  is "$how" 1 "$status"
  has "$how" "not answered" "$(cat message.txt)"
  plain text.txt
done
finish
