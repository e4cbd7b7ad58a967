# SPDX-License-Identifier: MIT
# gnuplot, whose terminal tikz is a Lua program, writes the same bytes on the stand-in, and is
# recorded.
. "$TESTSUITE/tools/_installed.sh"

host=$(find "$PWD/root" -path '*/bin/saros-host')
command -v gnuplot >/dev/null || { echo "gnuplot is missing (Debian package: gnuplot-nox)"; exit 77; }
"$host" --check "$(command -v gnuplot)" >/dev/null 2>&1 ||
  { echo "this gnuplot does not link liblua5.4.so.0"; exit 77; }
cat >plot.gp <<'END'
set terminal lua tikz
set output "plot.tex"
set title "Ünïcode and $math$"
set key outside
plot for [i=1:8] sin(x / i) title sprintf("%d", i), x ** 2 with points
set hidden3d
set isosamples 40
splot x * y, x ** 2 - y ** 2
plot "-" using 1:2:3 with labels
1 2 one
3 4 {two}
e
END
# The file begins each plot with the time.
plain() { sed -i '/^%% [A-Z][a-z][a-z] .* 20[0-9][0-9]$/d' plot.tex; }
gnuplot plot.gp || fail "gnuplot: $?"
plain && mv plot.tex expected.tex
"$host" gnuplot plot.gp || fail "gnuplot on the stand-in: $?"
plain; cmp expected.tex plot.tex || fail "other bytes"
is "recordings" 0 "$(ls -- *.eventring 2>/dev/null | wc -l)"
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 "$host" gnuplot plot.gp || fail "recorded: $?"
plain; cmp expected.tex plot.tex || fail "other bytes when recorded"
"$EVENTRING" stats --json ./*.eventring >stats.json || fail "stats: $?"
is "program" '"gnuplot"' "$(query stats.json .program)"
is "it has loaded Lua" true "$(query stats.json '[.spans[] | select(.name == "parse") | .count] | add > 0')"
finish
