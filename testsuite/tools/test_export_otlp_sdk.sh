# SPDX-License-Identifier: MIT
# What `export --to otlp` writes is what OpenTelemetry's own serializer makes of the same spans.
. "$TESTSUITE/tools/_timeline.sh"
export PYTHONDONTWRITEBYTECODE=1
needs_module @opentelemetry/otlp-transformer
unset OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES
record --domains 2 --rounds 20 --extras --open --work-us 2
TRACED_EVENTRING_STREAM=./traced.eventring "$BUILDDIR/testsuite/tools/traced_host" <<'END' || fail "host"
begin request value
trace a0000000000000000000000000000000a100000000000000a20000000000000001
pause
begin part
number 0.5
flow begin 1
end part
begin part
flow step 1
end part
end request value
END
mv "$file" plain.eventring
for name in plain traced; do
  "$EVENTRING" export --to otlp -o $name.otlp $name.eventring || fail "$name: otlp"
  "$EVENTRING" export --to otlp_json -o $name.jsonl $name.eventring || fail "$name: otlp_json"
  node "$TESTSUITE/tools/_otlp_sdk.js" "$MODULES" $name.jsonl $name.sdk 2>errors.txt ||
    fail "$name: $(tail -5 errors.txt)"
  python3 "$TESTSUITE/tools/_otlp.py" sdk $name.otlp $name.sdk >counted.txt || fail "$name differs"
  [ "$(cat counted.txt)" -gt 2 ] || fail "$name: spans: $(cat counted.txt)"
done
finish
