# SPDX-License-Identifier: MIT
# Quantiles against those of the sorted durations: within 0.4 %.
. "$TESTSUITE/tools/_tools.sh"

record --rounds 2000 --work-us 20
"$EVENTRING" stats --json "$file" >stats.json || fail "stats"
"$EVENTRING" dump --json "$file" >dump.json || fail "dump"
for name in minor minor_roots; do
  jq -s --arg name $name '[.[] | select(.kind == "end" and .name == $name) | .duration_ns] | sort' \
    dump.json >sorted.json
  is "quantiles of $name" true "$(jq -n --arg name $name \
    --slurpfile stats stats.json --slurpfile sorted sorted.json '
    $sorted[0] as $d | ($d | length) as $n |
    ($stats[0].spans[] | select(.name == $name)) as $s |
    [[$s.p50_ns, 0.5], [$s.p90_ns, 0.9], [$s.p99_ns, 0.99], [$s.p999_ns, 0.999]] |
    map(.[1] as $q | $d[(($q * $n | ceil) - 1)] as $true |
        (.[0] - $true | if . < 0 then -. else . end) <= 0.004 * $true + 0.5) | all and
    $s.count == $n and $s.min_ns == $d[0] and $s.max_ns == $d[-1] and
    $s.total_ns == ($d | add)')"
done
finish
