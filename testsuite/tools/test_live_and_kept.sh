# SPDX-License-Identifier: MIT
# One run of saros with thousands of collections, seen by its own callbacks, by
# `stats` attached from outside while it runs, and by `dump` of the file kept
# afterwards: the same spans per phase, to the unit.
. "$TESTSUITE/tools/_tools.sh"
[ -x "$SAROS" ] || { echo "saros is not built"; exit 77; }

mkdir kept
collections=$((3000 / TEST_SLOWNESS))
SAROS_EVENTRING_PREFIX=$PWD/kept SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_WSIZE=20 \
  "$EVENTRING" stats --json -o stats.json -- \
  "$SAROS" "$TESTSUITE/tools/_collector.lua" $collections >guest.txt 2>errors.txt ||
  fail "stats -- saros: status $?: $(cat errors.txt)"
file=$(echo kept/*.eventring)
"$EVENTRING" dump --json "$file" >dump.json || fail "dump: status $?"
"$EVENTRING" stats --json "$file" >file.json || fail "stats of the file: status $?"

is "nothing was lost" "[0,0,0]" "$(query stats.json '.total | [.missed, .lost, .torn]')"
is "nor by the guest" 0 "$(awk '$1 == "lost" {print $2}' guest.txt)"
is "as many minor collections as that, at least" true \
  "$(query stats.json ".spans[] | select(.name == \"minor\") | .count >= $collections")"

# from outside, to the last event: stats while it ran, stats and dump afterwards
is_same "stats live and of the file" "$(counts_of file.json)" "$(counts_of stats.json)"
is "stats and dump" \
  "$(query stats.json '[.spans[] | [.name, .count, .total_ns]] | sort')" \
  "$(jq -c -s '[.[] | select(.kind == "end" and has("duration_ns"))] | group_by(.name)
               | map([.[0].name, length, (map(.duration_ns) | add)])' dump.json)"

# the guest, up to where it stopped counting
done_ns=$(awk '$1 == "done" {print $2}' guest.txt)
is "guest and dump" \
  "$(jq -r -s --argjson done "$done_ns" '[.[] | select(.kind == "end" and .ring == "runtime" and .ns <= $done)]
     | group_by(.name)[] | "\(.[0].name) \(length)"' dump.json)" \
  "$(grep -v -e '^done' -e '^lost' guest.txt | tr '\t' ' ' | LC_ALL=C sort)"
finish
