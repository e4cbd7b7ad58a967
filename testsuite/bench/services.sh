#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the forty shapes of services of services.lua under saros and a reference, in turn,
# a number of rounds; compares memory and time, worst first, and holds them to bars.
#
#   testsuite/bench/services.sh --saros=PROGRAM [--rounds=1] [--reference=lua5.4]
#       [--bars=memory,time] [NAME...]
#
# NAME is a shape or a shell pattern of some (`strings_*`); default: all. lua5.4 runs in its
# generational mode, which is what its program starts in.
#
# All memory is resident memory above what the interpreter had before the shape was made,
# in MB; of several rounds the greatest. Time is CPU time, the least of the rounds.
# The bars, for each shape:
#   peak      at most 1.2 times the reference's, and 4 MB that are not looked at
#   peaks     geometric mean of the ratios at most 0.9; a peak below 4 MB counts as 4
#   after     when all but a live set is dropped and collectgarbage() called: at most the
#             greater of 1.5 times the bytes alive (the reference's count of them, which is
#             exact in lua5.4) and the reference's, and 2 MB that are not looked at
#   dropped   when everything is dropped: at most 2 MB above the start
#   slope     both the least and the greatest at the ends of rounds grow by at most a tenth
#             and 2 MB from the second to the last third of the rounds
#   time      at most 1.03 times the reference's, and 0.02 s (give it --rounds=5)
# Exit status 1 when a bar fails, 2 on wrong usage. A shape that ends with an error, or has
# no end within 300 s, fails.

set -u
saros='' rounds=1 reference=lua5.4 bars=memory,time
options=(saros rounds reference bars)
. "$(dirname "$0")/_compare.sh"
parse_options "$@"
program=$(dirname "$0")/services.lua
results=$(mktemp) || exit 2
trap 'rm -f "$results"' EXIT

select_names "$program"

for round in $(seq "$rounds"); do
  for name in "${names[@]}"; do
    for which in reference saros; do
      line=$(timeout 300 "${!which}" "$program" "$name" 2>&1) || line="failed=1 $(tail -n 1 <<<"$line")"
      echo "$name $which $line" >>"$results"
      progress "round $round: $name $which"
    done
  done
done
progress

awk -v bars="$bars" -v MB=1048576 '
  function greater(a, b) { return a > b ? a : b }
  function keep(key, value) { if (!(key in v) || v[key] < value) v[key] = value }
  { name = $1; who = $2; key = name " " who
    if (!(name in seen)) { seen[name] = 1; names[++n] = name }
    for (i = 3; i <= NF; i++) {
      split($i, word, "=")
      if (word[1] == "failed") { broken[name] = broken[name] " " who ": " substr($0, index($0, "failed=1") + 9); break }
      else if (word[1] == "cpu") { if (!((key " cpu") in v) || word[2] < v[key " cpu"]) v[key " cpu"] = word[2] }
      else if (word[1] == "early" || word[1] == "late") {
        split(word[2], ends, "-"); keep(key " least " word[1], ends[1]); keep(key " most " word[1], ends[2]) }
      else keep(key " " word[1], word[2]) } }
  # Ends may be below the start, with a sign of their own: they count as the start.
  function growth(key, end) { return v[key " " end " late"] - v[key " " end " early"] }
  function slope(key) { return least(growth(key, "least") - 0.1 * v[key " least early"],
                                     growth(key, "most") - 0.1 * v[key " most early"]) }
  function least(a, b) { return a < b ? a : b }
  END {
    for (i = 1; i <= n; i++) {
      name = names[i]; s = name " saros"; r = name " reference"; why = ""
      if (name in broken) { fails++; rows[i] = sprintf("%-22s FAILS:%s", name, broken[name]); rank[i] = 1e9; continue }
      ratio = greater(v[s " peak"], 4 * MB) / greater(v[r " peak"], 4 * MB)
      sum += log(ratio); measured++
      limit = greater(1.5 * v[r " count"], v[r " after"]) + 2 * MB
      time = v[s " cpu"] / v[r " cpu"]
      timesum += log(time)
      if (bars ~ /memory/) {
        if (v[s " peak"] > 1.2 * v[r " peak"] + 4 * MB) why = why " peak"
        if (v[s " after"] > limit) why = why " after"
        if (v[s " dropped"] > 2 * MB) why = why " dropped"
        if (slope(s) > 2 * MB) why = why sprintf(" slope(%+.1f)", growth(s, "most") / MB) }
      if (bars ~ /time/ && v[s " cpu"] > 1.03 * v[r " cpu"] + 0.02) why = why " time"
      if (why != "") fails++
      rows[i] = sprintf("%-22s %6.2f %8.1f %8.1f %7.1f %7.1f %7.1f %7.1f %7.1f %6.2f %6.2f %5.2f %s", name, ratio,
        v[s " peak"] / MB, v[r " peak"] / MB, v[r " count"] / MB, v[s " after"] / MB, v[r " after"] / MB,
        v[s " dropped"] / MB, v[r " dropped"] / MB, v[s " cpu"], v[r " cpu"], time, why == "" ? "" : "FAILS:" why)
      rank[i] = ratio }
    printf "%-22s %6s %8s %8s %7s %7s %7s %7s %7s %6s %6s %5s\n", "MB above the start; s", "ratio", "peak", "ref",
      "live", "after", "ref", "dropped", "ref", "time", "ref", "ratio"
    for (done = 0; done < n; done++) {
      best = 0
      for (i = 1; i <= n; i++) if (!(i in shown) && (!best || rank[i] > rank[best])) best = i
      shown[best] = 1; print rows[best] }
    if (measured) {
      mean = exp(sum / measured)
      over = bars ~ /memory/ && mean > 0.9
      printf "%-22s %6.2f %*s %5.2f %s\n", "geometric mean", mean, 76, "", exp(timesum / measured), over ? "FAILS: above 0.9" : "" }
    printf "%d shapes, %d fail%s\n", n, fails, over ? ", and the mean of peaks does" : ""
    exit fails || over ? 1 : 0 }' "$results"
