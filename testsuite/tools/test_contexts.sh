# SPDX-License-Identifier: MIT
# What dump, stats and show make of contexts, async spans, flows, values and measures.
. "$TESTSUITE/tools/_tools.sh"

rounds=40 domains=3
record --rounds $rounds --domains $domains --extras --work-us 200
"$EVENTRING" dump --json "$file" >dump.json || fail "dump: $?"
"$EVENTRING" stats --json "$file" >stats.json || fail "stats: $?"
lines() { jq -c "select(.name == \"$1\") | $2" dump.json | sort -u; }

# contexts: each end matches its own begin, and suspended time is reported
is "context of coroutine" 1 "$(lines coroutine .context)"
is "context of other" 2 "$(lines other .context)"
is "no context" null "$(lines parse .context)"
is "depth" 0 "$(lines other .depth)"
is "suspended" true "$(jq -s '[.[] | select(.name == "coroutine" and .kind == "end") |
  .suspended_ns >= 200000 and .suspended_ns <= .duration_ns] | all and length > 0' dump.json)"
is "never suspended" null "$(lines other .suspended_ns)"
is "contexts in stats" "[$((rounds * domains)),0,0,true]" \
  "$(query stats.json '.total.spans[] | select(.name == "coroutine") |
    [.count, .torn, .open, .suspended_ns >= 200000 * .count and .suspended_ns <= .total_ns]')"
"$EVENTRING" stats "$file" >stats.txt || fail "stats: $?"
has "suspended time in the table" " suspended" "$(rows "Spans, all domains" span <stats.txt)"
is "none of what never was" "-" "$(rows "Spans, all domains" minor <stats.txt | sed -n '2s/.* //p')"
[[ $(rows "Spans, all domains" coroutine <stats.txt | tail -n 1) =~ \ [0-9.]+\ (µs|ms|s)$ ]] ||
  fail "no suspended time of coroutine: $(cat stats.txt)"

# async spans: begun by one domain, ended by the next
is "kind and roles of an async span" '["linked","begin"] ["linked","end"]' \
  "$(lines transfer '[.kind, .role]' | xargs -d '\n')"
is "roles of a flow" '"begin" "end" "step"' "$(lines message .role | xargs -d '\n')"
is "links" true \
  "$(jq -s '[.[] | select(.name == "transfer") | .link] | group_by(.) | map(length == 2) | all' dump.json)"
is "async spans" "[[$rounds,0,0,true],[$rounds,0,0,true],[$rounds,0,0,true]]" \
  "$(query stats.json '[.async_spans[] | [.count, .torn, .open, .min_ns >= 200000]]')"
is "async spans in all" $((rounds * domains)) "$(query stats.json '.total.async_spans[] | .count')"
jq -s '[.[] | select(.name == "transfer")] | group_by(.link) | map(.[1].ns - .[0].ns | fabs) | add' dump.json >sum
is_same "their durations" "$(cat sum)" "$(query stats.json '.total.async_spans[] | .total_ns')"
is "no spans of the usual kind" "[]" \
  "$(query stats.json '[.spans[] | select(.name == "transfer")]')"
is "points of flows" $((3 * rounds * domains)) "$(query stats.json '.total.events[] | select(.name == "message") | .count')"
is "points of flows, for a rule" $((3 * rounds * domains)) \
  "$("$EVENTRING" check --json -e 'count(message) < 1' "$file" | jq '.rows[0].value')"
has "async spans as text" "transfer 120 " "$(rows "Async spans, all domains" transfer <stats.txt)"

# one whose other end is not recorded
record --rounds 10 --domains 2 --extras --stray
"$EVENTRING" stats --json "$file" >stray.json || fail "stats: $?"
is "strays" '[[10,1,1],[10,1,1]]' "$(query stray.json '[.async_spans[] | [.count, .torn, .open]]')"

# values
is "named" '{"int":-7,"uint":9223372036854775808,"double":0.25,"text":"ab"}' \
  "$("$EVENTRING" dump --json --name sized "$file" | grep -o '"value":{[^}]*}' | sort -u | cut -d: -f2-)"
is "not named" '[{"hex":"fe"},5]' \
  "$("$EVENTRING" dump --json --name unnamed "$file" | jq -c .value | sort -u)"
has "values as text" '! sized = (int = -7, uint = 9223372036854775808, double = 0.25, text = "ab")' "$("$EVENTRING" dump "$file")"
has "values in the catalogue" "values (int,uint,double,text)" "$("$EVENTRING" show "$file")"

# measures: a sum of what was added only
is "measures" '["difference","level","none"]' "$(query stats.json '[.counters[].measure] | unique')"
is "no sum of a level" '[false,true,39]' \
  "$(query stats.json '.counters[] | select(.name == "live_words" and .domain == 0) | [has("sum"), .mean == 19.5, .last]')"
is "sum of a difference" $((1000 * rounds)) "$(query stats.json '.counters[] | select(.name == "allocated_words" and .domain == 0) | .sum')"
text=$("$EVENTRING" stats --by-domain "$file")
is "level as text" "live_words words 10 - - 4.5 0 9 9" \
  "$(rows "Counters, domain 0" live_words <<<"$text")"
is "difference as text" "allocated_words words 10 10,000 1000 1,000 1,000 -" \
  "$(rows "Counters, domain 0" allocated_words <<<"$text" | cut -d ' ' -f 1-4,6-)"

# rings by their names, blocks
is "rings" '["runtime","user"]' "$(query stats.json '.domains[0].rings | keys')"
"$EVENTRING" show --json "$file" >show.json || fail "show: $?"
is "nothing is missing" '[true,0,0,0,0]' \
  "$(query show.json '[.blocks_claimed > 2, .names_dropped, .lives_dropped, .unknown_blocks, .unknown_records]')"
is "in the catalogue" '["level","int,uint,double,text"]' \
  "$(query show.json '[(.catalogue[] | select(.name == "live_words") | .measure), (.catalogue[] | select(.name == "sized") | .fields)]')"
# a block of a kind that this version does not know, in the place of the lives
cp "$file" newer.eventring
for ((block = 65536; block < $(stat -c %s newer.eventring); block += 4096)); do
  kind=$(od -An -tu2 -j $((block + 8)) -N 2 newer.eventring | tr -d ' ')
  [ "$kind" = 6 ] && printf '\x63' | dd of=newer.eventring bs=1 seek=$((block + 8)) conv=notrunc status=none
done
is "unknown blocks" 1 "$("$EVENTRING" show --json newer.eventring | jq .unknown_blocks)"
has "unknown blocks as text" "passed over  1 blocks" "$("$EVENTRING" show newer.eventring)"
finish
