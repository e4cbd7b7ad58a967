#!/bin/bash
# SPDX-License-Identifier: MIT
# The commands of doc/TUTORIAL.md, in their order, as somebody would type them: each does what the
# page says, and finds the lines of app.lua that it shows. So do the messages of its table.
. "$TESTSUITE/_checks.sh"
[ -n "$("$EVENTRING" help view 2>/dev/null)" ] || { echo "no eventring view"; exit 77; }
page=$SRCDIR/doc/TUTORIAL.md
export PATH="$(dirname "$SAROS"):$(dirname "$EVENTRING"):$PATH" HOME=$PWD/home
unset SAROS_EVENTRING_START SAROS_EVENTRING_PREFIX SAROS_EVENTRING_PRESERVE XDG_RUNTIME_DIR
mkdir home work
ln -s "$SRCDIR" home/saros
cd work || fail "no folder"

# The repair that the page shows.
repair() {
  sed 's/page = page .. \(.*\) -- .*/parts[i] = \1/; s/local page = ""/local parts = {}/
    s/return page/return table.concat(parts)/' app.lua >new.lua
  grep -qF "$(grep -o 'parts\[i\] = .* end$' "$page" | sed 's/ end$//')" new.lua || fail "the repair is another one"
}
running=
trap '[ -z "$running" ] || kill -9 $running 2>/dev/null' EXIT

# shown N: the output that the page shows below its N-th command
shown() {
  awk -v n="$1" '/^    \$ / { count++; next } !/^    / && !/^$/ { on = 0 }
    { on = count == n && /^    |^$/ ? 1 : (count == n ? on : 0) } on { print }' "$page"
}

count=0
while IFS= read -r command <&3; do
  count=$((count + 1))
  [[ $command != *new.lua* ]] || repair
  expected=0
  [[ $command != *" die" ]] || expected=1
  eval "$command" >out.txt 2>errors.txt
  is "status of $command" "$expected" "$?"
  if [[ $command == *"&" ]]; then
    running=$!
    await "$running"
    sleep 1
  fi
  cat errors.txt >>out.txt
  # each place of app.lua that the page shows here
  for place in $(shown "$count" | grep -oE 'app\.lua:[0-9]+' | sort -u); do
    has "$command" "$place" "$(cat out.txt)"
  done
  for word in "field 'user'" '<local sessions in app.lua>[*]' 'ended: exit status 1'; do
    [[ $(shown "$count") != *"$word"* ]] || has "$command" "$word" "$(cat out.txt)"
  done
done 3< <(sed -n 's/^    \$ //p' "$page")
[ "$count" -gt 14 ] || fail "only $count commands"
has "the page of a run" "</html>" "$(tail -c 100 run.html)"
is "clean leaves nothing" "" "$(ls | grep '\.eventring$')"

# the line that the page calls the fault is it
has "line 27" 'page = page ..' "$(sed -n 27p app.lua)"
has "line 18" 'session = {' "$(sed -n 18p app.lua)"
has "line 34" 'request.user.name' "$(sed -n 34p app.lua)"

# ---- the messages of the table ----------------------------------------------------------------
says() { # TEXT COMMAND...
  [[ $(cat "$page") == *"$1"* ]] || fail "the page does not have: $1"
  has "$2" "$1" "$(eval "$2" 2>&1)"
}
says "does not record" "eventring stats $$"
says "no variable SAROS_" "SAROS_EVENTRING_STRAT=1 saros -e ''"
says "not recording: cannot use the directory" "SAROS_EVENTRING_START=1 SAROS_EVENTRING_PREFIX=/no/such saros -e ''"
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=kept saros -e "" || fail "saros: $?"
says "The program has recorded no span of its own" "eventring spans kept.eventring"
says "no allocations were sampled" "eventring heap kept.eventring"
finish
