# SPDX-License-Identifier: MIT
# A symbolic link to a recording, of a live process or a saved copy: who only reads
# follows it, who changes or removes something does not.
. "$TESTSUITE/tools/_tools.sh"

start --rounds 1000000 --pause-us 1000
file=$pid.eventring
"$EVENTRING" snapshot -o copy.eventring "$file" || fail "snapshot: $?"
ln -s "$file" live-link.eventring
ln -s copy.eventring copy-link.eventring
ln -s "$PWD/live-link.eventring" current # to a link, and of another name

for link in live-link.eventring copy-link.eventring current; do
  "$EVENTRING" dump --json $link >dump.json || fail "dump $link: $?"
  is "dump $link has events" true "$(jq -s 'length > 10' dump.json)"
  "$EVENTRING" show --json $link >show.json || fail "show $link: $?"
  is "show $link" "$pid" "$(query show.json .pid)"
  "$EVENTRING" stats --seconds 0.1 --json $link >stats.json || fail "stats $link: $?"
  is "stats $link" "$pid" "$(query stats.json .pid)"
  "$EVENTRING" control --status --json $link >status.json || fail "control --status $link: $?"
  is "status $link" "$pid" "$(query status.json .pid)"
  rm -f again.eventring
  "$EVENTRING" snapshot -o again.eventring $link || fail "snapshot $link: $?"
  cat >cursor.lua <<LUA
    local cursor = assert(require("eventring").cursor {path = "$link"})
    assert(cursor:info().pid == $pid)
LUA
  "$SAROS" cursor.lua || fail "a guest's cursor on $link: $?"
done
is "it follows what is alive" '"live"' \
  "$("$EVENTRING" stats --seconds 0.1 --json current | jq .liveness)"

for request in --pause --resume "--disable gc" "--status --pause"; do
  # shellcheck disable=SC2086
  ends 1 "is a symbolic link, which is not followed" "$EVENTRING" control $request current
done
is "nothing was changed" '["running",true]' \
  "$("$EVENTRING" control --status --json "$pid" | jq -c '[.state, .classes.gc]')"
ends 1 "exists" "$EVENTRING" snapshot -o current "$pid"
kill -9 "$pid"
wait "$pid" 2>/dev/null
ends 1 "is a symbolic link, which is not followed" "$EVENTRING" clean live-link.eventring
"$EVENTRING" clean . >out.txt || fail "clean: $?"
[ -e "$file" ] && fail "clean . left the dead one"
is "clean removes no links" 3 "$(find . -type l | wc -l)"
ends 1 "live-link.eventring" "$EVENTRING" dump live-link.eventring
finish
