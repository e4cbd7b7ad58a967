# SPDX-License-Identifier: MIT
# --since and --until: of dump and of stats, of a file and of a process that is followed.
. "$TESTSUITE/tools/_tools.sh"

dump() { "$EVENTRING" dump --json "$@"; }
stats() { "$EVENTRING" stats --json "$@"; }
# within LEAST VALUE MOST WHAT
within() { [ "$1" -le "$2" ] && [ "$2" -le "$3" ] || fail "$4: $2 is not within $1 and $3"; }
seconds() { printf '%d.%09d' $(($1 / 1000000000)) $(($1 % 1000000000)); } # of nanoseconds

ends 2 "--since is later than --until" stats --since 2 --until 1 1
ends 2 "--since is later than --until" dump --since 2 --until 1 1
ends 2 "--last cannot be combined with --since or --until" dump --last 1 --until 1 1
ends 2 "--last cannot be combined with --since or --until" stats --last 1 --since -1 1
ends 2 "--since is later than --until" stats --since -1 --until -2 1
for time in 1x -1x 2026-11-22 2026-11-22T10:00 2026-13-22T10:00:00 2026-11-22T10:00:00x \
    2026-11-22T10:00:00.5x; do
  ends 2 "--since $time': not 12.5 (seconds after the start)" stats --since $time 1
done

# A file: what stats counts is what dump prints, and the parts make the whole.
counted='[.spans[].count, .counters[].samples, .events[].count] | add // 0'
printed='map(select(.kind == "end" or .kind == "counter" or .kind == "event" or
  .kind == "lifecycle")) | length'
record --rounds 300 --domains 2 --pause-us 1000
start=$("$EVENTRING" show --json "$file" | jq .start_ns)
length=$(stats "$file" | jq ".last_ns - $start")
from=$((length / 3)) to=$((length * 2 / 3))
dump --since "$(seconds $from)" --until "$(seconds $to)" "$file" >part.txt
stats --since "$(seconds $from)" --until "$(seconds $to)" "$file" >part.json
is_same "counted and printed" "$(jq -s "$printed" part.txt)" "$(query part.json "$counted")"
is "some" true "$(query part.json "($counted) > 100")"
is_same "the first event" "$(jq -s '.[0].ns' part.txt)" "$(query part.json .first_ns)"
is "no span is torn" 0 "$(query part.json '[.spans[].torn] | add')"
for watched in $(query part.json '.domains[].watched_ns'); do
  is "watched" $((to - from)) "$watched"
done
is_same "the parts" "$(stats "$file" | jq "$counted")" "$({
  stats --until "$(seconds $from)" "$file"
  stats --since "$(seconds $((from + 1)))" --until "$(seconds $to)" "$file"
  stats --since "$(seconds $((to + 1)))" "$file"; } | jq -s "map($counted) | add")"
# The same times said in other ways; the wall clock of the start has nanoseconds, too.
same=$(query part.json '[.spans[].count]')
read -r wall last < <("$EVENTRING" show --json "$file" | jq -r '"\(.start_wall_ns) \(.start_ns)"')
last=$(($(dump "$file" | jq -s 'map(select(.kind != "open").ns) | max') - last))
day() { TZ=$1 date -d "@$((($wall + $2) / 1000000000))" +%Y-%m-%dT%H:%M:%S; }
part() { printf '.%09d' $((($wall + $1) % 1000000000)); }
is "before the end" "$same" "$(stats --since "-$(seconds $((last - from)))" \
  --until "-$(seconds $((last - to)))" "$file" | jq -c '[.spans[].count]')"
is "of the day" "$same" "$(TZ=Asia/Tokyo stats --since "$(day UTC $from)$(part $from)Z" \
  --until "$(day Asia/Tokyo $to)$(part $to)" "$file" | jq -c '[.spans[].count]')"
is_same "--last" "$(stats --since "$(seconds $((last - to)))" "$file" | jq -c '[.spans[].count]')" \
  "$(stats --last "$(seconds $to)" "$file" | jq -c '[.spans[].count]')"
is_same "long ago" "$(stats "$file" | jq -c '[.spans[].count]')" \
  "$(stats --since 1999-12-31T23:59:59 "$file" | jq -c '[.spans[].count]')"
ends 1 "--since is later than --until there" stats --since 1h --until -0 "$file"
ends 1 "--since is later than --until there" dump --since 1h --until 2000-01-01T00:00:00 "$file"
is "after the end" 0 "$(stats --since 1h "$file" | jq "$counted")"
is_same "beyond the end" "$(stats "$file" | jq -c .total.spans)" \
  "$(stats --until 1h "$file" | jq -c .total.spans)"

# A border in the middle of a span of the collector
record --rounds 1 --work-us 20000
start=$("$EVENTRING" show --json "$file" | jq .start_ns)
read -r begin end < <(dump --name minor "$file" | jq -s -r '"\(.[0].ns) \(.[1].ns)"')
middle=$(((begin + end) / 2))
stats --since "$(seconds $((middle - start)))" "$file" >after.json
is "ended in it" '["minor",1]' "$(query after.json '.spans[] | select(.name == "minor") | [.name, .count]')"
is "its second half" $((end - middle)) "$(query after.json .total.gc_ns)"
for last in $middle $((end - 1)); do # the next event is the end of another span, and its own
  stats --until "$(seconds $((last - start)))" "$file" >before.json
  is "did not end in it" '[0,1]' \
    "$(query before.json '.spans[] | select(.name == "minor") | [.count, .open]')"
  is "its first part" $((last - begin)) "$(query before.json .total.gc_ns)"
  is "dump: open" "[[\"begin\",$begin],[\"open\",$begin]]" "$(
    dump --until "$(seconds $((last - start)))" --name minor "$file" | jq -s -c 'map([.kind, .ns])')"
done

# A process that goes on, with rings in which nothing happens any more
SAROS_EVENTRING_WSIZE=20 start --rounds 1000000 --pause-us 300
read -r begun wall < <("$EVENTRING" show --json "$pid" | jq -r '"\(.start_ns) \(.start_wall_ns)"')
until=$((begun + 1500000000))
timeout $PATIENCE "$EVENTRING" dump --json --follow --until 1.5 "$pid" >followed.txt ||
  fail "dump --follow --until: status $?"
[ $((($(date +%s%N) - wall) / 1000000)) -ge 1500 ] || fail "--follow has ended before its time"
newest='map(select(.kind != "open").ns) | max'
last=$(jq -s "$newest" followed.txt)
within $((begun + 1)) "$last" "$until" "the last event"
is_same "the last event" "$(dump --until 1.5 "$pid" | jq -s "$newest")" "$last"
recent="map(select(.kind == \"counter\" and .ns > $until - 300000000)) | length"
is_same "nothing is missing" "$(dump --until 1.5 "$pid" | jq -s "$recent")" "$(jq -s "$recent" followed.txt)"
timeout $PATIENCE "$EVENTRING" stats --json --until 2.5 "$pid" >watched.json || fail "stats --until: status $?"
within $((last + 1)) "$(query watched.json .last_ns)" $((begun + 2500000000)) \
  "the last event counted"
kill -KILL "$pid"
wait "$pid" 2>/dev/null

# Nobody goes on.
for until in 0.1 1h; do
  timeout $PATIENCE "$EVENTRING" dump --follow --until $until ./*.eventring >dump.txt ||
    fail "a dead process: $?"
done
[ -s dump.txt ] || fail "a dead process: nothing"
finish
