# SPDX-License-Identifier: MIT
# The bench runs, in all its parts, and what it reports is of the right kind and order.
# (People judge the speeds, on a quiet machine.)
. "$TESTSUITE/tools/_tools.sh"

bench=$BUILDDIR/testsuite/bench/eventring_bench
[ -x "$bench" ] || { echo "$bench is not built"; exit 77; }
lttng=$BUILDDIR/testsuite/bench/lttng_loop
options=(--rounds=1 --brief --saros="$SAROS" --folder="$TESTSUITE/bench")
[ -x "$lttng" ] && command -v lttng-sessiond >/dev/null && options+=(--lttng="$lttng")

"$bench" "${options[@]}" --json >bench.json || fail "status $?"
is "rows are whole" true "$(query bench.json '[.[] | .samples > 0 and (.least <= .median) and (.name != "")] | all')"
for table in Probes "An enabled span" Reading Starting "A guest program"; do
  is "table $table" true "$(query bench.json "[.[] | select(.table | startswith(\"$table\"))] | length > 4")"
done
is "all combinations of threads, places and readers" true "$(query bench.json '
  [.[] | select(.table | startswith("An enabled span")) | .name] | length | . == 8 or . == 16')"
is "an enabled span costs more than a disabled one" true "$(query bench.json '
  [.[] | select(.table | startswith("Probes")) | {(.name): .least}] | add |
  .["enabled span"] > .["disabled span"] and .["enabled span"] > .["paused span"]')"
is "bars have verdicts" true "$(query bench.json '[.[] | select(.bar) | .verdict] | length > 20 and all(IN("met", "least only", "MISSED"))')"
if [[ " ${options[*]} " == *" --lttng="* ]]; then
  is "LTTng-UST" 2 "$(query bench.json '[.[] | select((.table | test("LTTng")) and (.name | startswith("enabled span")))] | length')"
fi
"$bench" --rounds=1 --only=probes >bench.txt || fail "as text: $?"
has "as text" "page faults in 4 first rounds" "$(cat bench.txt)"
is "files left" "" "$(find . -name '*.eventring')"
ends 2 "usage: eventring_bench" "$bench" --frobnicate
ends 2 "usage: eventring_bench" "$bench" --only=nothing
finish
