# SPDX-License-Identifier: MIT
# One run seen three ways agrees exactly: stats of the file, stats of the process
# from its first event to its last, dump of the file; and with what was written.
. "$TESTSUITE/tools/_tools.sh"

"$PRODUCER" || fail "the producer cannot read back what it wrote"

rounds=300 domains=3 users=4
run=(--rounds $rounds --domains $domains --users $users --hold-ms 200)

# launched, read while it runs
"$EVENTRING" stats --json -o live.json -- "$PRODUCER" "${run[@]}" --pause-us 200 ||
  fail "stats -- producer: status $?"
# the file
record "${run[@]}" --report
"$EVENTRING" stats --json "$file" >file.json || fail "stats of the file: status $?"
# a snapshot of it
"$EVENTRING" snapshot -o copy.eventring "$file" || fail "snapshot: status $?"
"$EVENTRING" stats --json copy.eventring >copy.json || fail "stats of the copy: status $?"
# the dump
"$EVENTRING" dump --json "$file" >dump.json || fail "dump: status $?"

is_same "live and file" "$(counts_of file.json)" "$(counts_of live.json)"
is_same "copy and file" "$(counts_of file.json)" "$(counts_of copy.json)"

# what was written
for name in minor minor_roots minor_promote; do
  is "$name" "[$rounds,$rounds,$rounds]" \
    "$(query file.json "[.spans[] | select(.name == \"$name\") | .count]")"
done
is "request" $((rounds * domains * users)) \
  "$(query file.json '.total.spans[] | select(.name == "request") | .count')"
is "major_slice" $((rounds / 10 * domains)) \
  "$(query file.json '.total.spans[] | select(.name == "major_slice") | .count')"
is "allocated" $((1000 * rounds * domains)) "$(query file.json .total.allocated_words)"
is "promoted" $((10 * rounds)) "$(query file.json '.domains[0].promoted_words')"
is "load" "[$rounds,$(jq -n "$rounds * 0.5")]" \
  "$(query file.json '.counters[] | select(.name == "load" and .domain == 0) | [.samples, .sum]')"
is "live_words" "[0,$((rounds - 1)),$((rounds - 1))]" \
  "$(query file.json '.counters[] | select(.name == "live_words" and .domain == 1) | [.min, .max, .last]')"
is "note" $((rounds * domains)) \
  "$(query file.json '.total.events[] | select(.name == "note") | .count')"
is "cycle" $((rounds / 10)) \
  "$(query file.json '.events[] | select(.name == "cycle" and .domain == 2) | .count')"
is "torn and open" "[]" "$(query file.json '[.spans[] | select(.torn + .open > 0)]')"
is "lost" "[0,0,0]" "$(query file.json '.total | [.missed, .lost, .torn]')"

# dump: the same spans, each duration the difference, nothing before its elder
jq -c -s '[.[] | select(.kind == "end" and has("duration_ns"))] | group_by([.domain, .name])
          | map([.[0].domain, .[0].name, length, (map(.duration_ns) | add)])' dump.json >dumped
jq -c '[.spans[] | [.domain, .name, .count, .total_ns]] | sort' file.json >counted
is_same "dump and stats" "$(cat counted)" "$(cat dumped)"
is "order of time" true "$(jq -s '[.[] | .ns] | . == sort' dump.json)"
is_same "events in all" "$(query file.json '.total.delivered')" \
  "$(jq -s '[.[] | select(.kind != "lost" and .kind != "open" and .synthetic == null)] | length' dump.json)"

# per ring: as many as the producer says it wrote (its domain_stop comes after)
while read -r _ domain ring count; do
  [ "$ring" = runtime ] && count=$((count + 1))
  is "emitted, domain $domain, $ring" "[$count,$count,0,0]" \
    "$(query file.json ".domains[] | select(.domain == $domain) | .rings.$ring
                        | [.emitted, .delivered, .missed, .lost]")"
done <producer.txt

# quantiles lie in order and within the extremes; the sums fit
is "order of quantiles" true "$(query file.json '[.spans[] |
  .min_ns <= .p50_ns and .p50_ns <= .p90_ns and .p90_ns <= .p99_ns and
  .p99_ns <= .p999_ns and .p999_ns <= .max_ns and
  .total_ns <= .max_ns * .count and .total_ns >= .min_ns * .count] | all')"
is "time in GC" true \
  "$(query file.json '[.domains[] | .gc_ns <= .watched_ns and .gc_ns > 0] | all')"
# top-level gc spans are minor and major_slice: their sum is the time in GC
is "time in GC is that of the top-level spans" true "$(query file.json '
  .total.gc_ns == ([.total.spans[] | select(.name == "minor" or .name == "major_slice") | .total_ns] | add)')"

# the tables hold the same figures
text=$("$EVENTRING" stats "$file") || fail "stats as text: status $?"
has "request of all domains" "request 3,600 " "$(rows "Spans, all domains" request <<<"$text")"

# figures beyond 2^63 bytes stand at the end of their range
record --rounds 1 --words $((1 << 62)) --live $((1 << 62))
"$EVENTRING" stats "$file" >large.txt || fail "stats of large figures: $?"
"$EVENTRING" autopsy --hold 1000000000 "$file" >autopsy.txt || fail "autopsy: $?"
"$EVENTRING" autopsy --json --hold 1000000000 "$file" >autopsy.json || fail "autopsy --json: $?"
has "allocated bytes" "16 EiB" "$(cat large.txt)"
has "their rate" " EiB/s" "$(cat large.txt)"
has "a gauge" "live_words  16 EiB" "$(cat autopsy.txt)"
is "what ring would hold 31 years" true \
  "$(query autopsy.json '[.rings[] | select(.reach_ns > 0) | .needed_bytes > 0] | all')"
finish
