# SPDX-License-Identifier: MIT
# Trace context in the file: which span has which ids, after coroutines, errors, losses, a fork and
# SIGKILL. The reader is a second one, written from doc/FORMAT.md (_traces.py).
. "$TESTSUITE/recording/_recording.sh"

export SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_START=1
header=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01

# dumped NAME: dumps of the only recording
dumped() {
  "$EVENTRING" dump --json ./*.eventring >"$1.json" || fail "dump of $1: status $?"
  "$EVENTRING" export --to otlp_json -o "$1.jsonl" ./*.eventring || fail "export of $1: status $?"
  "$EVENTRING" dump --name trace ./*.eventring >"$1.lines" || fail "dump of $1 as text: status $?"
  rm -f ./*.eventring
}
# spans NAME < EXPECTED: each span, its trace and the span that it is in
spans() {
  python3 "$TESTSUITE/recording/_traces.py" "$1.txt" "$1.json" >"$1.found" || fail "$1: $?"
  diff - "$1.found" || fail "$1: the spans are not those"
}

cat >_told.lua <<'END'
local eventring = require "saros.eventring"
local function told(name) print(name, eventring.traceparent()) end
return eventring, told
END
export LUA_PATH="$PWD/?.lua;;"

# ---- Nesting, coroutines, errors

cat >program.lua <<END
local eventring, told = dofile "_told.lua"
local begin_span, end_span, span = eventring.begin_span, eventring.end_span, eventring.span
local function nested()
  begin_span "query"
  begin_span "row" told "row" end_span "row"
  begin_span "silent" end_span "silent"
  end_span "query"
end
local function serve(n)
  local request <close> = span { name = "request", traceparent = "$header", value = n }
  told "request"
  nested()
  local job = coroutine.wrap(function()
    begin_span "job" coroutine.yield() told "job" begin_span "step" end_span "step" end_span "job"
    begin_span "after" end_span "after"
  end)
  job()
  pcall(span, "fails", function() told "fails" error "x" end)
  job()
end
serve(1)
begin_span "outside" end_span "outside"
span({ name = "root", traceparent = true }, function()
  told "root"
  coroutine.wrap(function() span("below", told, "below") end)()
end)
begin_span("bare", { traceparent = "not valid" }) end_span "bare"
END
"$SAROS" program.lua >nested.txt || fail "the program: $?"
definition="ids of the innermost open span"
grep -qa "$definition" ./*.eventring || fail "the definition is not there"
dumped nested
root=$(awk '$1 == "root" { print substr($2, 4, 4) }' nested.txt)
bare=$(jq -r 'select(.name == "trace") | .hex[:4]' nested.json | tail -n 1)
spans nested <<END
request 0af7 in another
query 0af7 in request
row 0af7 in -
silent 0af7 in -
job 0af7 in request
fails 0af7 in request
step 0af7 in job
after 0af7 in request
outside unknown
root $root in -
below $root in root
bare $bare in -
END
[ "$root" != 0af7 ] && [ "$bare" != 0af7 ] && [ "$root" != "$bare" ] || fail "traces are not apart"
is "lines of the dump" "$(jq -r 'select(.name == "trace") | .hex[:32]' nested.json | xargs)" \
  "$(grep -oE 'trace = [0-9a-f]{32}, span [0-9a-f]{16}(, parent [0-9a-f]{16})?( |$)' nested.lines |
     awk '{ sub(/,/, "", $3); print $3 }' | xargs)"

# What goes to a collector has the ids that the program gave to others.
jq -r '.resourceSpans[]?.scopeSpans[].spans[] | select(.traceId | test("^'"(0af7|$root)"'")) |
  "\(.name) 00-\(.traceId)-\(.spanId)-01"' nested.jsonl >exported.txt
while read -r name outgoing; do
  grep -qx "$name $outgoing" exported.txt || fail "$name $outgoing is not among what is exported"
done < <(tr -s '\t' ' ' <nested.txt)
jq -r '.resourceSpans[]?.scopeSpans[].spans[] | "\(.name) \(.spanId) \(.parentSpanId // "")"' \
  nested.jsonl >parents.txt
parent_of() { awk -v name="$1" '$1 == name { print $3 }' parents.txt; }
id_of() { awk -v name="$1" '$1 == name { print $2 }' parents.txt; }
is "parent of request" b7ad6b7169203331 "$(parent_of request)"
is "parent of row, which is not known by an id" "$(id_of query)" "$(parent_of row)"
is "parent of job, in a coroutine" "$(id_of request)" "$(parent_of job)"
is "parent of after, without ids" "$(id_of request)" "$(parent_of after)"
is "parent of step" "$(id_of job)" "$(parent_of step)"
is "parent of below" "$(id_of root)" "$(parent_of below)"
is "parent of bare" "" "$(parent_of bare)"

# ---- A program without traces: the file has no definition

"$SAROS" -e 'local e = require "saros.eventring" e.span("x", print)' || fail "without traces: $?"
grep -qa "$definition" ./*.eventring && fail "a program without traces has their definition"
rm -f ./*.eventring

# ---- Losses: smallest ring, a span that is open all the time, a coroutine that inherited; killed

cat >lossy.lua <<END
local eventring, told = dofile "_told.lua"
local begin_span, end_span = eventring.begin_span, eventring.end_span
begin_span("long", { traceparent = "$header" })
told "long"
local worker = coroutine.wrap(function()
  while true do begin_span "work" end_span "work" coroutine.yield() end
end)
for round = 1, 20 do
  for _ = 1, 2000 do begin_span "flood" end_span "flood" end
  eventring.traceparent()
  worker()
end
io.stdout:flush()
os.execute("kill -9 " .. require "saros.eventring".path():match "(%d+)%.eventring$")
END
SAROS_EVENTRING_WSIZE=11 "$SAROS" lossy.lua >lossy.txt
is "status of what was killed" 137 $?
dumped lossy
[ "$(jq -s '[.[] | select(.kind == "lost") | .count] | add // 0' lossy.json)" -gt 10000 ] ||
  fail "nothing was lost; nothing is proved"
python3 "$TESTSUITE/recording/_traces.py" lossy.txt lossy.json >lossy.found || fail "lossy: $?"
is "spans of the coroutine, their trace and parent" "work 0af7 in long" "$(grep ^work lossy.found | sort -u)"
is "the long span" "long 0af7 in another" "$(grep ^long lossy.found | sort -u)"
is "what is in it, behind its ids" "flood 0af7 in long" "$(grep ^flood lossy.found | tail -n 1)"

# ---- A fork: the child has a recording of its own, in which the parent's spans are not open

if SAROS_EVENTRING_START=0 "$SAROS" -e 'require "ffi"' 2>/dev/null && ! grep -qE '__asan_init|__tsan_init' "$SAROS"; then
  cat >forks.lua <<END
local ffi = require "ffi"
ffi.cdef "int fork(void); int waitpid(int, int *, int);"
local eventring, told = dofile "_told.lua"
local begin_span, end_span = eventring.begin_span, eventring.end_span
begin_span("request", { traceparent = "$header" })
told "request"
begin_span "named" -- by the creation of the coroutine
local co = coroutine.wrap(function() begin_span "job" coroutine.yield() told "job" end_span "job" end)
begin_span "nameless"
io.stdout:flush()
local pid = ffi.C.fork()
if pid > 0 then ffi.C.waitpid(pid, nil, 0) end
if pid == 0 then
  assert(eventring.traceparent():find("0af7", 1, true))
  begin_span "child" told "child" end_span "child"
  co = coroutine.wrap(function() begin_span "job" told "job" end_span "job" end)
end
co()
end_span "nameless" end_span "named" end_span "request"
END
  "$SAROS" forks.lua >forks.txt || fail "the program that forks: $?"
  set -- ./*.eventring
  is "recordings" 2 $#
  "$EVENTRING" dump --json "$1" >first.json
  "$EVENTRING" dump --json "$2" >second.json
  child=first.json
  grep -q '"name":"child"' first.json || child=second.json
  python3 "$TESTSUITE/recording/_traces.py" forks.txt first.json second.json >forks.found ||
    fail "forks: $?"
  is "the child's span" "child 0af7 in named" "$(grep child forks.found)"
  is "coroutines of both" 2 "$(grep -c '^job 0af7 in named' forks.found)"
  # the child's own and what its coroutine inherited and got: none for a span of the parent's
  is "ids in the child" "0 1 1" \
    "$(jq -r 'select(.name == "trace") | if .context then 1 else 0 end' $child | xargs)"
  rm -f ./*.eventring

  # A child that is not recorded says no header, least of all the parent's
  cat >unrecorded.lua <<END
local ffi = require "ffi"
ffi.cdef "int fork(void); int waitpid(int, int *, int);"
local eventring, told = dofile "_told.lua"
eventring.begin_span("main", { traceparent = true })
assert(eventring.traceparent())
local pid = ffi.C.fork()
if pid > 0 then ffi.C.waitpid(pid, nil, 0) return end
told "outside"
eventring.span({ name = "request", traceparent = "$header" }, told, "request")
assert(eventring.start())
eventring.span({ name = "request", traceparent = "$header" }, told, "recorded")
END
  SAROS_EVENTRING_FORK=0 "$SAROS" unrecorded.lua >unrecorded.txt || fail "the fork that is not recorded: $?"
  is "headers in a child that is not recorded" "outside nil request nil recorded" \
    "$(head -n 2 unrecorded.txt | xargs) $(awk 'NR == 3 { print $1 }' unrecorded.txt)"
  is "the trace in it once it is" 0af7 "$(awk '$1 == "recorded" { print substr($2, 4, 4) }' unrecorded.txt)"
fi
finish
