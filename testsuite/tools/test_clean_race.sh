# SPDX-License-Identifier: MIT
# clean removes the file that it checked, whatever a directory's name means by then; and
# other users' files only with the option.
. "$TESTSUITE/tools/_tools.sh"

# The same name in two directories: recorded into by a live process; left by a dead one.
# `flip` is a link to either in turn.
mkdir live dead
(cd live && SAROS_EVENTRING_START=1 exec "$PRODUCER" --rounds 1000000 --pause-us 1000 >/dev/null) &
pid=$!
await_file=live/$pid.eventring
for ((i = 0; i < 500; i++)); do [ -s "$await_file" ] && break; sleep 0.02; done
"$EVENTRING" show "$await_file" >/dev/null || fail "the live recording: $?"
cp "$await_file" left.eventring

ln -s live to_live
ln -s dead flip
cat >flip.lua <<'END'
while true do
  os.rename("flip", "to_dead") os.rename("to_live", "flip")
  os.rename("flip", "to_live") os.rename("to_dead", "flip")
end
END
"$SAROS" flip.lua &
flipper=$!
removed=0 tries=$((150 / ${TEST_SLOWNESS:-1} + 20))
for ((i = 0; i < tries; i++)); do
  cp left.eventring dead/$pid.eventring
  "$EVENTRING" clean flip >out.txt 2>&1
  [ -e "$await_file" ] || { fail "the live file is gone after $((i + 1)) tries"; break; }
  [ -e dead/$pid.eventring ] || removed=$((removed + 1))
done
kill $flipper
wait $flipper 2>/dev/null
echo "the file of the dead one was removed in $removed of $tries tries"
kill -9 $pid
wait $pid 2>/dev/null

# What is preserved, or saved, goes by the file as well.
cp left.eventring dead/$pid.eventring
"$EVENTRING" clean dead >/dev/null || fail "clean dead: $?"
is "what is left" "" "$(ls dead)"

# Files of other users
if [ "$(id -u)" = 0 ]; then
  cp left.eventring dead/theirs.eventring
  cp left.eventring dead/ours.eventring
  chown 65534 dead/theirs.eventring
  "$EVENTRING" clean --dry-run dead >out.txt 2>errors.txt || fail "clean --dry-run as root: $?"
  is "would go" 1 "$(grep -c "would remove" out.txt)"
  "$EVENTRING" clean dead >out.txt 2>errors.txt || fail "clean as root: $?"
  is "what is left" theirs.eventring "$(ls dead)"
  is "messages" "" "$(cat errors.txt)"
  ends 1 "another user's file (--all-users removes it)" "$EVENTRING" clean dead/theirs.eventring
  ends 0 "" "$EVENTRING" clean --all-users dead
  is "what is left of theirs" "" "$(ls dead)"
fi
finish
