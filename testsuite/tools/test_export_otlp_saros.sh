# SPDX-License-Identifier: MIT
# What `export --to otlp` writes of a program in Saros: the pauses in its spans, trace context as the
# module has it, files, coroutines; and its metrics, with histograms.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
helper=$TESTSUITE/tools/_otlp.py
export PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
unset OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES
cat >shop.lua <<'LUA'
local eventring = require "saros.eventring"
local function allocate(n) local t = {} for i = 1, n do t[i] = {i, tostring(i)} end end
local remote = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
for i = 1, 20 do
  eventring.span({name = "request", traceparent = remote, value = i}, function()
    eventring.span("parse", allocate, 5000)
    eventring.span("call", function() print(eventring.traceparent()) end)
    coroutine.wrap(function() eventring.span("in coroutine", allocate, 3000) end)()
    io.open("/dev/null"):close()
  end)
end
eventring.span("local", allocate, 30000)
collectgarbage()
io.stdin:read()
LUA
mkfifo go
SAROS_EVENTRING_STREAM=./shop.eventring SAROS_EVENTRING_CLASSES=+io "$SAROS" shop.lua <go >said.txt &
pid=$!
exec 9>go
until "$EVENTRING" metrics "$pid" 2>/dev/null | grep -q 'step="major",reason="collect"'; do sleep 0.2; done
sleep 0.5
"$EVENTRING" metrics "$pid" >text.txt || fail "metrics"
"$EVENTRING" export --to otlp_metrics -o metrics.otlp "$pid" || fail "otlp_metrics"
"$EVENTRING" export --to otlp_metrics_json -o metrics.jsonl "$pid" || fail "otlp_metrics_json"
"$EVENTRING" metrics "$pid" >after.txt
if diff <(grep -v cpu_time text.txt) <(grep -v cpu_time after.txt) >differ.txt; then
  python3 "$helper" metrics text.txt metrics.jsonl >samples.txt || fail "not what metrics says"
  has "histograms" "_bucket{" "$(cat text.txt)"
fi
exec 9>&-
wait "$pid" || fail "shop.lua"

"$EVENTRING" export --to otlp -o shop.otlp shop.eventring || fail "otlp"
"$EVENTRING" export --to otlp_json -o shop.jsonl shop.eventring || fail "otlp_json"
"$EVENTRING" dump --json shop.eventring >shop.dump && "$EVENTRING" show --json shop.eventring >shop.show
"$EVENTRING" stats --json shop.eventring >shop.stats
python3 "$helper" same shop.otlp shop.jsonl || fail "JSON"
python3 "$helper" sums shop.stats shop.jsonl || fail "sums"
python3 "$helper" check shop.dump shop.show shop.jsonl remote >shop.checked || fail "check"
spans() { jq -r ".resourceSpans[].scopeSpans[].spans[] | select($1) | $2" shop.jsonl; }
trace=0af7651916cd43dd8448eb211c80319c
is "in the trace" "call 20
close 20
in coroutine 20
open 20
parse 20
request 20" "$(spans ".traceId == \"$trace\"" .name | sort | uniq -c | sed -E 's/^ *([0-9]+) (.*)/\2 \1/')"
is "requests" "20 2 b7ad6b7169203331" \
  "$(spans '.name == "request"' '"\(.kind) \(.parentSpanId)"' | uniq -c | sed 's/^ *//')"
is "what the program said" "$(sort said.txt)" \
  "$(spans '.name == "call"' '"00-\(.traceId)-\(.spanId)-01"' | sort)"
is "parents" "request" "$(jq -rs --arg trace $trace '[.[].resourceSpans[].scopeSpans[].spans[]] as $all
  | ($all | INDEX(.spanId)) as $by | $all[] | select(.traceId == $trace and .name != "request")
  | $by[.parentSpanId].name' shop.jsonl | sort -u)"
is "pauses have a reason" "0" "$(spans true '.events[]? | select(.name == "minor" or .name == "major_slice")
  | select(any(.attributes[]; .key == "eventring.reason") | not) | .name' | wc -l)"
[ "$(spans '.name == "local"' '.events | length')" -gt 3 ] || fail "no pauses in the span"

# The ids of a span are lost with what a ring has overwritten: it does not take those of a span in it
cat >lost.lua <<'LUA'
local eventring = require "saros.eventring"
local header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
eventring.begin_span("request", {traceparent = header})
if arg[1] then eventring.traceparent() end
for i = 1, 5000 do eventring.event("x", i) end
eventring.begin_span("part", {traceparent = true}) eventring.end_span()
if arg[1] then eventring.traceparent() end
eventring.end_span()
LUA
for again in "" again; do
  rm -f lost.eventring lost.jsonl
  # shellcheck disable=SC2086
  SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=lost SAROS_EVENTRING_WSIZE=11 \
    "$SAROS" lost.lua $again || fail "lost.lua"
  "$EVENTRING" export --to otlp_json -o lost.jsonl lost.eventring || fail "lost"
  jq -rs '[.[].resourceSpans[].scopeSpans[].spans[] | [.name, any(.attributes[]; .key == "eventring.trace_unknown"),
    .traceId, .parentSpanId]] | sort | "\(.[0][0:2]) \(.[1][0:2]) \(.[0][2] == .[1][2]) \(.[1][3])"' \
    lost.jsonl >lost.txt
  is "ids that were lost, $again" "$([ "$again" ] && echo '["part",false] ["request",false] false 00f067aa0ba902b7' ||
    echo '["part",false] ["request",true] false null')" "$(cat lost.txt)"
done
finish
