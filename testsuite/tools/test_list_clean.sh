# SPDX-License-Identifier: MIT
# list and clean: who is alive, who is dead, and nothing of the living is touched.
. "$TESTSUITE/tools/_tools.sh"

mkdir files
export SAROS_EVENTRING_PREFIX=$PWD/files
start --rounds 1000000 --pause-us 1000
live=$pid
(SAROS_EVENTRING_START=1 "$PRODUCER" --rounds 3 --die >/dev/null & echo $! >dead.pid; wait) 2>/dev/null
dead=$(cat dead.pid)
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 "$PRODUCER" --rounds 3 >/dev/null
ended=$(ls files | grep -v -e "^$live" -e "^$dead")
"$EVENTRING" snapshot -o files/copy.eventring "$live" || fail "snapshot: $?"
# the recording of one that died, found in its place by a later process with its pid
(sh -c "cp files/$dead.eventring files/\$\$.eventring; echo \$\$ >heir.pid; exec env SAROS_EVENTRING_START=1 \"$PRODUCER\" --rounds 1") >/dev/null
heir=$(basename files/"$(cat heir.pid)"-*.eventring)
echo "no recording" >files/text.eventring

"$EVENTRING" list --json >list.json || fail "list: $?"
state() { jq -r "select(.path | endswith(\"/$1\")) | .liveness // .error" list.json; }
is "the living" live "$(state $live.eventring)"
is "the dead" dead "$(state $dead.eventring)"
is "the dead one, renamed" dead "$(state "$heir")"
is "the ended" ended "$(state "$ended")"
is "the copy" saved "$(state copy.eventring)"
has "the foreign file" "not an eventring file" "$(state text.eventring)"
"$EVENTRING" list >list.txt || fail "list as text: $?"
is "lines" 6 "$(grep -c "$PWD/files" list.txt)"
is "width" "" "$(LC_ALL=C.UTF-8 awk 'length > 80' list.txt)"

# found without knowing the directory
is "found by what it maps" live \
  "$(cd / && unset SAROS_EVENTRING_PREFIX && "$EVENTRING" list --json | jq -r "select(.pid == $live) | .liveness")"

before=$(ls files)
"$EVENTRING" clean --dry-run >out.txt || fail "clean --dry-run: $?"
has "would remove" "$dead.eventring" "$(cat out.txt)"
has "would remove" "$heir" "$(cat out.txt)"
is "nothing is gone" "$before" "$(ls files)"
"$EVENTRING" clean >out.txt || fail "clean: $?"
[ -e files/$dead.eventring ] && fail "the dead one's file is there"
[ -e "files/$heir" ] && fail "the renamed file is there"
is_same "all others are there" "$(echo "$before" | grep -v -e "^$dead" -e "^$heir")" "$(ls files)"
ends 1 "alive" "$EVENTRING" clean files/$live.eventring
ends 1 "saved copy" "$EVENTRING" clean files/copy.eventring
ends 1 "text.eventring" "$EVENTRING" clean files/text.eventring
ends 1 "orderly end" "$EVENTRING" clean "files/$ended"
ends 0 "" "$EVENTRING" clean --ended files
[ -e "files/$ended" ] && fail "the ended one's file is there"
[ -e files/$live.eventring ] || fail "the living one's file is gone"
"$EVENTRING" stats --seconds 0.05 $live >/dev/null || fail "the living one: $?"
kill -9 $live
wait $live 2>/dev/null
"$EVENTRING" clean >/dev/null || fail "clean: $?"
is "what is left" "copy.eventring text.eventring" "$(echo $(ls files))"
finish
