# SPDX-License-Identifier: MIT
# What `export --to otlp_metrics` writes of a live process is what `metrics` says of it; of one that
# has ended, what was recorded.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
helper=$TESTSUITE/tools/_otlp.py
export PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
unset OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES

exported() { # NAME TARGET
  "$EVENTRING" export --to otlp_metrics -o $1.otlp "$2" || fail "$1: otlp_metrics"
  "$EVENTRING" export --to otlp_metrics_json -o $1.jsonl "$2" || fail "$1: otlp_metrics_json"
}
# value NAME METRIC: of its only point
value() { jq -r ".resourceMetrics[].scopeMetrics[].metrics[] | select(.name == \"$2\")
  | (.sum // .gauge).dataPoints | if length == 1 then .[0] | .asInt // .asDouble else length end" $1.jsonl; }

start --domains 2 --rounds 50 --extras --hold-ms 60000
until "$EVENTRING" metrics "$pid" >text.txt && grep -q 'name="note"' text.txt && sleep 0.3; do sleep 0.1; done
kill -STOP "$pid"
"$EVENTRING" metrics "$pid" >text.txt || fail "metrics"
exported live "$pid"
"$EVENTRING" metrics "$pid" >after.txt
kill -CONT "$pid"
diff <(grep -v cpu_time text.txt) <(grep -v cpu_time after.txt) || fail "it was not still"
python3 "$helper" metrics text.txt live.jsonl >samples.txt || fail "not what metrics says"
[ "$(cat samples.txt)" -gt 50 ] || fail "samples: $(cat samples.txt)"
kill "$pid"
wait "$pid" 2>/dev/null

record --domains 1 --rounds 30
exported dead "$file"
python3 "$helper" same dead.otlp dead.jsonl MetricsData || fail "JSON"
is "allocated" $((30 * 1000 * 8)) "$(value dead eventring_memory_allocated_bytes)"
is "promoted" $((30 * 10 * 8)) "$(value dead eventring_memory_promoted_bytes)"
spans=$("$EVENTRING" stats --json "$file" | jq '[.spans[] | select(.ring == "user") | .count] | add')
is "spans" "$spans" "$(jq '[.resourceMetrics[].scopeMetrics[].metrics[]
  | select(.name == "eventring_span_duration_seconds").histogram.dataPoints[].count | tonumber] | add' dead.jsonl)"
# Its last values are there as of its end; of a domain that ended before, none
cat >levels.lua <<'LUA'
local eventring = require "saros.eventring"
eventring.counter("queue", 7)
require "saros.domain".spawn(function() require "saros.eventring".counter("queue", 8) end):join()
collectgarbage()
if arg[1] then error "x" end
LUA
for how in "" error; do
  rm -f levels.eventring
  # shellcheck disable=SC2086
  SAROS_EVENTRING_STREAM=./levels.eventring "$SAROS" levels.lua $how 2>errors.txt
  exported levels levels.eventring
  rm levels.otlp
  is "last value, $how" 7 "$(jq '.resourceMetrics[].scopeMetrics[].metrics[] | select(.name == "eventring_level")
    .gauge.dataPoints[] | select(any(.attributes[]; .value.stringValue == "queue")).asDouble' levels.jsonl)"
  is "domain, $how" 1 "$(value levels eventring_domain_info)"
  [ "$(value levels eventring_memory_used_bytes)" -gt 0 ] || fail "no memory, $how"
  rm levels.jsonl
done
ends 2 "is of the whole recording" "$EVENTRING" export --to otlp_metrics --last 1 -o x.otlp "$file"
if command -v protoc >/dev/null; then
  protoc --proto_path="$TESTSUITE/tools" --decode=MetricsData _otlp.proto <live.otlp >live.text ||
    fail "protoc"
  grep -qE '^ *[0-9]+:' live.text && fail "protoc does not know a field"
  is "metrics that protoc reads" "$(jq '[.resourceMetrics[].scopeMetrics[].metrics[]] | length' live.jsonl)" \
    "$(grep -c '^    metrics {' live.text)"
fi
finish
