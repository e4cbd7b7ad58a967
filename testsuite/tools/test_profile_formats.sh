# SPDX-License-Identifier: MIT
# Profiles of time in the formats of other tools, from calls and from samples, read by the
# tools that they are for. What is not installed is passed over; the last line says what.
. "$TESTSUITE/tools/_tools.sh"
MODULES=${NPM:-$BUILDDIR/npm}/node_modules
unset SAROS_EVENTRING_START
missing=

cat >work.lua <<'END'
local function leaf(n) local s = 0 for i = 1, n do s = s + i end return s end
local function down(n) if n == 0 then return leaf(1000) end return 1 + down(n - 1) end
local function work(n) for i = 1, n do leaf(1000) down(5) end end
repeat work(100) until os.clock() > 0.3
END
SAROS_PROFILE=calls SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=calls "$SAROS" work.lua ||
  fail "work.lua: $?"
"$EVENTRING" profile --json --top 0 calls.eventring >calls.json || fail "calls"
total=$(query calls.json .total.ns)
for by in function line stack; do
  "$EVENTRING" profile --json --top 0 --by $by calls.eventring >by.json || fail "calls by $by"
  is "sum of own times by $by" "$total" "$(query by.json '[.rows[].exclusive_ns] | add')"
done
for format in folded speedscope pprof callgrind dot svg; do
  "$EVENTRING" profile --to $format -o calls.$format calls.eventring || fail "calls to $format"
  timeout $PATIENCE "$EVENTRING" profile --hz 500 --to $format -o samples.$format -- \
    "$SAROS" work.lua || fail "samples to $format"
done
ends 1 "calls.folded" "$EVENTRING" profile --to folded -o calls.folded calls.eventring

# within WHAT EXPECTED ACTUAL: to a thousandth, for what is rounded
within() { awk -v a="$2" -v b="$3" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < (a / 1000 + 50) ^ 2) }' ||
  fail "$1: expected $2, got $3"; }

within "sum of folded" "$total" "$(awk '{ sum += $NF } END { print sum }' calls.folded)"
grep -q ';main chunk (work.lua);work (work.lua:3);leaf (work.lua:1) [0-9]*$' calls.folded ||
  fail "folded: $(head -3 calls.folded)"
grep -q ';main chunk (work.lua);work (work.lua:3)' samples.folded ||
  fail "folded samples: $(head -3 samples.folded)"

if command -v go >/dev/null; then
  export HOME=$PWD GOCACHE=$PWD/go GOFLAGS=-mod=mod GOTOOLCHAIN=local PPROF_TMPDIR=$PWD
  for source in calls samples; do
    go tool pprof -top -unit=ns $source.pprof >$source.top 2>errors.txt ||
      fail "pprof -top: $(cat errors.txt)"
    go tool pprof -peek leaf $source.pprof >$source.peek 2>errors.txt ||
      fail "pprof -peek: $(cat errors.txt)"
  done
  within "pprof" "$total" "$(sed -n 's/.*of \([0-9.]*\)ns total.*/\1/p' calls.top)"
  for source in calls samples; do
    grep -q ' leaf$' $source.top || fail "pprof of $source: no leaf: $(cat $source.top)"
  done
else
  missing+=" go"
fi

# ---- Functions without a name, main chunks and names that several functions have: each is its
# own in tools that know functions by name. The program knows how often it calls which.
cat >other.lua <<'END'
local function same() return 1 end
for i = 1, 30 do same() end
END
cat >names.lua <<'END'
local function same() return 1 end
for i = 1, 11 do same() end
for i = 1, 50 do pcall(function() return 1 end) end
for i = 1, 70 do
  pcall(function() return 2 end)
end
for i = 1, 3 do dofile "other.lua" end
END
SAROS_PROFILE=calls SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=names "$SAROS" names.lua ||
  fail "names.lua: $?"
for format in folded pprof callgrind; do
  "$EVENTRING" profile --to $format -o names.$format names.eventring || fail "names to $format"
done
expected="anonymous (names.lua:3) 50
anonymous (names.lua:5) 70
main chunk (names.lua) 1
main chunk (other.lua) 3
same (names.lua) 11
same (other.lua) 90"
if command -v go >/dev/null; then
  go tool pprof -top -nodecount=1000 -nodefraction=0 -sample_index=calls names.pprof >names.top \
    2>errors.txt || fail "pprof -top of names: $(cat errors.txt)"
  is "functions by name, in pprof" "$expected" "$(sed -nE \
    's/^ *([0-9]+) +[0-9.]+% +[0-9.]+% +[0-9]+ +[0-9.]+% +((anonymous|main|same).*)$/\2 \1/p' \
    names.top | LC_ALL=C sort)"
fi
if command -v callgrind_annotate >/dev/null; then
  callgrind_annotate --auto=no --threshold=100 names.callgrind >names.annotated 2>errors.txt ||
    fail "callgrind_annotate of names: $(cat errors.txt)"
  is "functions by name, in callgrind" "names.lua:anonymous:3 50
names.lua:anonymous:5 70
names.lua:main chunk 1
names.lua:same 11
other.lua:main chunk 3
other.lua:same 90" "$(sed -nE \
    's/^ *[0-9,]+ \( *[0-9.]+%\) +([0-9]+) \( *[0-9.]+%\) +(.*lua:(anonymous|main|same).*)$/\2 \1/p' \
    names.annotated | LC_ALL=C sort)"
  has "what is outside of functions, in callgrind" "???:(outside)" "$(cat names.annotated)"
fi

if command -v callgrind_annotate >/dev/null; then
  for source in calls samples; do
    callgrind_annotate --inclusive=yes --auto=no $source.callgrind >$source.annotated 2>errors.txt ||
      fail "callgrind_annotate: $(cat errors.txt)"
    grep -q 'PROGRAM TOTALS' $source.annotated || fail "no totals: $(cat $source.annotated)"
  done
  number() { sed -n "s/^ *\([0-9,]*\) .*$1.*/\1/p" calls.annotated | head -1 | tr -d ,; }
  within "total of callgrind_annotate" "$total" "$(number 'PROGRAM TOTALS')"
  within "work, with all that it called" "$(query calls.json '.rows[] | select(.name == "work") |
    .inclusive_ns')" "$(number 'work.lua:work')"
  within "down, which calls itself" "$(query calls.json '.rows[] | select(.name == "down") |
    .inclusive_ns')" "$(number 'work.lua:down')"
  grep -q 'work.lua:leaf' samples.annotated || fail "$(cat samples.annotated)"
else
  missing+=" valgrind"
fi

if command -v dot >/dev/null; then
  for source in calls samples; do
    dot -Tsvg $source.dot >$source.svg 2>errors.txt || fail "dot: $(cat errors.txt)"
    grep -q 'work.lua:1' $source.svg || fail "dot: no function in $(head -c 500 $source.svg)"
  done
else
  missing+=" graphviz"
fi

if command -v node >/dev/null && [ -d "$MODULES/speedscope" ]; then
  for source in calls samples; do
    node "$TESTSUITE/tools/_speedscope.js" "$MODULES" $source.speedscope >read.txt 2>errors.txt ||
      fail "speedscope: $(tail -5 errors.txt)"
    is "profiles of $source" 2 "$(wc -l <read.txt)"
  done
  is "unit" "nanoseconds" "$(awk '$1 == "time" { print $2 }' read.txt)"
else
  missing+=" speedscope"
fi

if command -v node >/dev/null && [ -d "$MODULES/stackvis" ]; then
  for source in calls samples; do
    node "$MODULES/stackvis/cmd/stackvis" collapsed flamegraph-svg <$source.folded >$source.flame.svg \
      2>errors.txt || fail "stackvis: $(tail -5 errors.txt)"
    grep -q 'main chunk' $source.flame.svg || fail "stackvis shows nothing of $source"
  done
else
  missing+=" stackvis"
fi
[ -z "$missing" ] || echo "not there:$missing"
finish
