# SPDX-License-Identifier: MIT
# One run seen three ways agrees exactly: by callbacks inside the program, by
# `eventring stats` attached from outside, by `eventring dump` of the file kept.
. "$TESTSUITE/recording/_recording.sh"

export SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=20
"$SAROS" "$TESTSUITE/recording/_three_ways.lua" $((16000 / TEST_SLOWNESS + 1000)) >inside.txt &
pid=$!
await $pid
"$EVENTRING" stats --json --seconds 10m $pid >stats.json &
watcher=$!
attached $watcher
touch go
wait $pid || fail "the program: status $?"
wait $watcher || fail "stats: status $?"

sort inside.txt | tr '\t' ' ' >inside
jq -r '.spans[] | "\(.name) \(.count)"' stats.json | sort >outside
"$EVENTRING" dump --json ./*.eventring |
  jq -r 'select(.kind == "end") | .name' | sort | uniq -c | awk '{print $2, $1}' | sort >afterwards
# what came before the program's first poll (loading it) is in all three
cat inside
cmp inside outside || { fail "inside and outside differ"; diff inside outside; }
cmp inside afterwards || { fail "inside and the dump differ"; diff inside afterwards; }
is "lost" 0 "$(jq '.total.lost + .total.missed' stats.json)"
# and no step comes for nothing, but to call finalizers: one that does not go on would come again at
# each safepoint
idle=$("$EVENTRING" dump --json ./*.eventring |
  jq -s '[.[] | if .name == "pause_work" and .value == 0 then 1 elif .name == "finalizers_run" then -1 else empty end] | add // 0')
[ "$idle" -le 100 ] || fail "$idle steps of the collector that did nothing"
minors=$(awk '$1 == "minor" {print $2}' inside)
[ "${minors:-0}" -ge $((1000 / TEST_SLOWNESS)) ] || fail "only ${minors:-0} minor collections"
finish
