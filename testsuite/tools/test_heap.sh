# SPDX-License-Identifier: MIT
# `eventring heap`, on a host that knows what is true of its memory: estimates by every
# grouping, exact figures at rate 1, what a killed process leaves, live processes, programs
# that are launched, windows of time, texts of foreign names and long paths.
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
. "$TESTSUITE/tools/_tools.sh"
export PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
HOST=$BUILDDIR/testsuite/tools/sample_heap
[ -x "$HOST" ] || { echo "$HOST is not built"; exit 77; }
unset HEAP_MEMPROF

# sample [OPTIONS...]: a preserved recording; sets `file`; truth.json
sample() {
  rm -rf kept
  mkdir kept
  HEAP_EVENTRING_START=1 HEAP_EVENTRING_PRESERVE=1 HEAP_EVENTRING_PREFIX=kept \
    "$HOST" "$@" >truth.json || [[ " $* " == *" --die "* ]] || fail "sample_heap $*"
  file=$(echo kept/*.eventring)
}

# heap TRUTH|- [exact]: of the recording `file`
heap() {
  "$EVENTRING" heap --json --by function "$file" >heap.json || fail "heap --json $file"
  python3 "$TESTSUITE/tools/_heap.py" "$1" heap.json ${2-} || fail "what $file says"
}

for seed in $RANDOM $RANDOM; do
  sample --seed $seed --rate 0.05
  heap truth.json
  sample --seed $seed --rate 0.05 --die
  heap truth.json
done
sample --rate 1 --collections 20
heap truth.json exact
query heap.json '[.total.live_objects > 0, .total.temporary_bytes > 0, .total.peak_bytes > 0]' \
  >shape.txt
is "figures at rate 1" '[true,true,true]' "$(cat shape.txt)"

# ---- Groupings

sample --rate 0.05
for by in stack line function kind origin span domain; do
  "$EVENTRING" heap --json --by $by "$file" >by.json || fail "--by $by"
  is "sum by $by" true "$(query by.json '((.rows | map(.allocated_bytes) | add) -
    .total.allocated_bytes) | fabs < 100')"
  "$EVENTRING" heap --by $by "$file" >by.txt || fail "--by $by, text"
  [ -s by.txt ] && awk 'length($0) > 80 { exit 1 }' by.txt || fail "--by $by is too wide: $(cat by.txt)"
done
"$EVENTRING" heap --json --by kind "$file" >by.json
is "kinds" '["closure","string","table"]' "$(query by.json '[.rows[].name] | sort')"
"$EVENTRING" heap --json --by span "$file" >by.json
is "spans" '["(no span)","request"]' "$(query by.json '[.rows[].name] | sort')"
"$EVENTRING" heap --json --by domain "$file" >by.json
is "domains" '["main"]' "$(query by.json '[.rows[].name]')"
"$EVENTRING" heap --json "$file" >by.json
"$EVENTRING" heap --json-schema >heap.schema || fail "heap --json-schema: $?"
says_nothing "by its schema" python3 "$TESTSUITE/tools/_schema.py" heap.schema by.json
is "rows with commas" name,source,line,through "$("$EVENTRING" heap --csv --by line "$file" | sed -n '1s/,live_bytes.*//p')"
is "innermost and outermost" '[true,"main"]' \
  "$(query by.json '[(.rows[0].name | startswith("site")), .rows[0].stack[-1].name]')"
is "depth" 4 "$(query by.json '.rows[0].stack | length')"
for measure in live allocated peak temporary; do
  "$EVENTRING" heap --$measure "$file" >by.txt || fail "--$measure"
  has "--$measure" "$measure" "$(cat by.txt)"
  "$EVENTRING" heap --$measure --by line --json "$file" >by.json || fail "--$measure --json"
  is "order of --$measure" true \
    "$(query by.json "[.rows[].${measure}_bytes] | . == (sort | reverse)")"
done
"$EVENTRING" heap --by line --top 3 --json "$file" >by.json
is "--top 3" 3 "$(query by.json '.rows | length')"
"$EVENTRING" heap --by line --top 3 "$file" >by.txt
has "--top 3" "more (--top)" "$(cat by.txt)"

# ---- What grew

sample --seed 7 --rate 0.05 --collections 20
cp "$file" a.eventring
sample --seed 7 --rate 0.05 --collections 80
cp "$file" b.eventring
"$EVENTRING" diff --heap --by function --json a.eventring b.eventring >diff.json || fail "diff --heap"
is "what grew" '["site2","site5","site8"]' \
  "$(query diff.json '[.rows[] | select(.beyond_error and .change_bytes > 0).name] | sort')"
"$EVENTRING" diff --heap a.eventring b.eventring >diff.txt || fail "diff --heap, text"
has "what grew" "site5" "$(cat diff.txt)"
"$EVENTRING" diff --heap a.eventring a.eventring >diff.txt || fail "diff --heap of the same"
has "the same" "nothing" "$(cat diff.txt)"
ends 2 "two recordings" "$EVENTRING" diff --heap a.eventring
ends 2 "goes with --heap" "$EVENTRING" diff --by line a.eventring b.eventring

# ---- A part of the time: out of events

sample --rate 0.05

"$EVENTRING" heap --json --since 0 "$file" >window.json || fail "--since 0"
is "from events" true "$(query window.json '.total.from_events')"
"$EVENTRING" heap --json --survived 3 "$file" >window.json || fail "--survived"
is "survivors are fewer" true \
  "$(query window.json '.total.allocated_bytes >= .total.live_bytes and .total.live_bytes > 0')"
"$EVENTRING" heap --json --domain 5 "$file" >window.json
is "another domain" 0 "$(query window.json '.rows | length')"

# ---- After an orderly end: what was alive then, also out of events. A program that knows what
# it keeps: 2,000 tables that lived through twelve collections, 300 that are younger, and none
# of what it made besides.

cat >keep.lua <<'LUA'
local function old(i) return setmetatable({ i }, { __name = "Old" }) end
local function young(i) return setmetatable({ i }, { __name = "Young" }) end
KEPT = {}
for i = 1, 2000 do KEPT[i] = old(i) end
for i = 1, 12 do collectgarbage() end
for i = 1, 300 do KEPT[#KEPT + 1] = young(i) end
for i = 1, 300 do local t = young(i) end
LUA
SAROS_MEMPROF=1 SAROS_EVENTRING_STREAM=./keep.eventring SAROS_EVENTRING_PRESERVE=1 "$SAROS" keep.lua ||
  fail "keep.lua"
tables_of() { # FUNCTION [OPTION...]: objects that are alive
  local function=$1
  shift
  "$EVENTRING" heap --json --by function --live "$@" keep.eventring >keep.json || fail "heap $*"
  query keep.json "[.rows[] | select(.name == \"$function\") | .live_objects] | add // 0"
}
old=$(tables_of old)
[ "$old" -ge 4000 ] || fail "objects of 2000 tables: $old"
for options in "--since 0" "--last 1000" "--survived 5" "--survived 12"; do
  is "old ones that are alive, $options" "$old" "$(tables_of old $options)"
done
is "young ones that are alive" "$(tables_of young)" "$(tables_of young --since 0)"
is "no young one is old" 0 "$(tables_of young --survived 5)"
"$EVENTRING" heap --json keep.eventring >profile.json || fail "heap of profiles"
"$EVENTRING" heap --json --since 0 keep.eventring >events.json || fail "heap of events"
is "events and profiles agree" "$(query profile.json '[.total | .live_bytes, .live_objects]')" \
  "$(query events.json '[.total | .live_bytes, .live_objects]')"
is "when sampling ended" true "$(query events.json '.total | .sampling_ended_ns > 0 and
  .running_profiles == 0')"
"$EVENTRING" heap keep.eventring >keep.txt || fail "heap, text"
has "of when it is" "alive is what was alive when sampling ended" "$(cat keep.txt)"
"$EVENTRING" autopsy keep.eventring >keep.txt || fail "autopsy"
has "autopsy: of when it is" "Memory in use when sampling ended" "$(cat keep.txt)"

# an answer without rows says so
"$EVENTRING" heap --survived 500 keep.eventring >none.txt || fail "--survived 500"
has "nothing survived" "nothing that was sampled lived through 500 collections" "$(cat none.txt)"
"$EVENTRING" heap --last 0.000001 keep.eventring >none.txt || fail "--last"
has "nothing in the window" "nothing that was sampled was allocated within" "$(cat none.txt)"
"$EVENTRING" heap --domain 5 keep.eventring >none.txt || fail "--domain 5"
has "nothing of a domain" "nothing that was sampled in this domain" "$(cat none.txt)"

# while the program goes on without being sampled
cat >off.lua <<'LUA'
KEPT = {}
for i = 1, 2000 do KEPT[i] = { i } end
collectgarbage()
while not io.open "stop" do for i = 1, 1000 do local t = { i } end end
LUA
rm -f stop
SAROS_MEMPROF=0.1 SAROS_EVENTRING_PREFIX=. "$SAROS" off.lua &
off=$!
await $off
is_sampled() { "$EVENTRING" heap --json $off >off.json 2>off.txt &&
  [ "$(query off.json '.total | .collections > 0 and .sampling_ended_ns == null')" = true ]; }
until_so is_sampled || fail "a live process: $(cat off.txt)"
"$EVENTRING" heap $off >off.txt || fail "heap of a live process"
is "sampled now" 0 "$(grep -c "sampling ended" off.txt)"
"$EVENTRING" control $off --memprof off >off.txt 2>&1 || fail "control --memprof off: $(cat off.txt)"
has_ended() { "$EVENTRING" heap --json $off >off.json 2>off.txt &&
  [ "$(query off.json '.total.sampling_ended_ns > 0')" = true ]; }
until_so has_ended || fail "sampling was switched off: $(cat off.json off.txt)"
"$EVENTRING" heap $off >off.txt || fail "heap after sampling"
has "of when it is" "alive is what was alive when sampling ended" "$(cat off.txt)"
"$EVENTRING" autopsy --brief $off >off.txt || fail "autopsy after sampling"
has "autopsy: of when it is" "Memory in use when sampling ended" "$(cat off.txt)"
"$EVENTRING" autopsy --json $off >off.json || fail "autopsy --json after sampling"
is "autopsy as JSON" true "$(query off.json '.sites_sampling_ended_ns > 0')"
touch stop
wait $off || fail "off.lua"

# ---- The peak is at least what is alive, and a second profile does not make it smaller

peak_of() { # OPTION...: sets `peak` to that of the recording `file`
  "$EVENTRING" heap --json "$@" "$file" >peak.json || fail "heap $* $file"
  is "peak is at least live, $*" true "$(query peak.json '.total.peak_bytes >= .total.live_bytes')"
  is "peak of the rows" true \
    "$(query peak.json '((.rows | map(.peak_bytes) | add) - .total.peak_bytes) | fabs < 100')"
  peak=$(query peak.json .total.peak_bytes)
}

for collections in 3 20 21 22 23 24; do
  sample --rate 0.005 --collections $collections
  peak_of
  once=$peak
  peak_of --since 0
  is "the same out of events" "$once" "$peak"
done
sample --rate 0.005 --collections 24 --again 12
peak_of
is "peak after a second profile" "$once" "$peak"
peak_of --since 0
is "peak after a second profile, out of events" "$once" "$peak"

# ---- Long paths show their end; foreign text is harmless

prefix=$(printf '/directory-%02d' $(seq 30))/$(printf '\033[31m')
sample --rate 0.05 --depth 40 --source "$prefix"
"$EVENTRING" heap "$file" >long.txt || fail "long paths"
has "the end of a path" "sites.lua:" "$(cat long.txt)"
awk 'length($0) > 80 { exit 1 }' long.txt || fail "long paths: too wide"
grep -q $'\033' long.txt && fail "an escape got through"
(cd kept && "$EVENTRING" heap "$PWD/$(basename "$file")" >../long2.txt) || fail "an absolute path"

# ---- Files, programs, processes

"$EVENTRING" heap -o out.txt "$file" || fail "-o"
[ -s out.txt ] || fail "-o wrote nothing"
ends 1 "out.txt" "$EVENTRING" heap -o out.txt "$file"
ends 2 "not stack, line" "$EVENTRING" heap --by nothing "$file"
ends 2 "only one of" "$EVENTRING" heap --live --peak "$file"
ends 2 "must be one of pprof" "$EVENTRING" heap --to nothing "$file"
ends 2 "-o FILE" "$EVENTRING" export --to pprof "$file"
record --rounds 5
ends 1 "no allocations were sampled" "$EVENTRING" heap "$file"
"$EVENTRING" heap --env-prefix HEAP_EVENTRING --json -- "$HOST" --collections 200 >launched.json ||
  fail "-- PROGRAM"
sed -n '$p' launched.json >json.txt
is "a launched program is sampled" 0.0001 "$(query json.txt '.total.rate')"

: >ready.txt
HEAP_EVENTRING_START=1 "$HOST" --forever >ready.txt &
pid=$!
until_so grep -qs ready ready.txt || fail "the host does not begin"
"$EVENTRING" heap --json "$pid" >live.json || fail "a live process"
is "a live process" true "$(query live.json '.total.live_bytes > 0')"
"$EVENTRING" snapshot -o copy.eventring "$pid" && "$EVENTRING" heap --json copy.eventring >copy.json ||
  fail "a copy"
is "a copy" true "$(query copy.json '.total.allocated_bytes > 0')"
"$EVENTRING" control --memprof 0.5 "$pid" || fail "control --memprof"
"$EVENTRING" control --memprof off --status "$pid" >status.txt || fail "control --memprof off"
has "class alloc is off" "alloc" "$(grep ^off status.txt)"
ends 2 "from 0 to 1" "$EVENTRING" control --memprof 2 "$pid"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
rm -f "$pid.eventring"
finish
