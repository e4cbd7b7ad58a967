# kill -9 of an allocating program at random moments: the file reads every time,
# spans match, and the last event is no older than its last collection.
. "$TESTSUITE/tools/_tools.sh"
[ -x "$SAROS" ] || { echo "saros is not built"; exit 77; }

cat >allocate.lua <<'END'
local kept = {}
for i = 1, math.huge do
  kept[i % 5000 + 1] = {i, {tostring(i)}}
end
END
kills=${KILLS:-100}
for ((run = 1; run <= kills; run++)); do
  SAROS_EVENTRING_START=1 "$SAROS" allocate.lua &
  pid=$!
  sleep "0.$(printf %03d $((20 * TEST_SLOWNESS + RANDOM % 100)))"
  kill -9 $pid
  wait $pid 2>/dev/null
  file=$pid.eventring
  [ -e "$file" ] || continue # killed before it had begun
  "$EVENTRING" stats --json "$file" >stats.json 2>errors.txt ||
    fail "run $run: stats: status $?: $(cat errors.txt)"
  is "run $run: it died" '"dead"' "$(query stats.json .liveness)"
  is "run $run: torn, lost" "[0,0]" "$(query stats.json '.total | [.torn, .lost]')"
  # spans are open only one in the other: a minor and its phase at most, or a slice
  is "run $run: open spans" true "$(query stats.json '[.spans[] | .open] | add <= 4')"
  # a counter follows each collection: as many as collections, but for the last
  is "run $run: collections and their counters" true "$(query stats.json '
    ([.spans[] | select(.name == "minor") | .count] | add // 0) as $spans |
    ([.counters[] | select(.name == "allocated_words") | .samples] | add // 0) as $counters |
    ($spans - $counters) | . >= -1 and . <= 1')"
  [ "$failures" -gt 0 ] && cp "$file" "${TMPDIR:-/tmp}/" && break
  rm -f "$file"
done
finish
