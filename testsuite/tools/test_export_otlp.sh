# SPDX-License-Identifier: MIT
# What `export --to otlp` and `otlp_json` write of the spans of a recording: all of them, with their
# times, steps of the runtime, events, links and losses; the same in both, and as protoc reads it.
. "$TESTSUITE/tools/_timeline.sh"
export PYTHONDONTWRITEBYTECODE=1
helper=$TESTSUITE/tools/_otlp.py
unset OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES
record_all
for name in whole few damaged; do
  export_to otlp $name $name.otlp
  export_to otlp_json $name $name.jsonl
  python3 "$helper" same $name.otlp $name.jsonl || fail "$name: JSON"
  python3 "$helper" check $name.dump $name.show $name.jsonl >$name.checked || fail "$name"
  "$EVENTRING" stats --json $name.eventring >$name.stats 2>errors.txt
  python3 "$helper" sums $name.stats $name.jsonl || fail "$name: sums"
  export_to otlp_json $name again.jsonl
  cmp -s $name.jsonl again.jsonl || fail "$name: another export is another file"
done
has "losses" "lost 7" "$(cat few.checked)"
has "marked spans" "marked 4" "$(cat whole.checked)"

# What steps interrupt, and what links say
HOST=$BUILDDIR/testsuite/tools/traced_host
[ -x "$HOST" ] || { echo "$HOST is not built"; exit 77; }
# recorded NAME <SCRIPT: NAME.eventring, .script, .otlp, .jsonl
recorded() {
  cat >$1.script
  TRACED_EVENTRING_STREAM=./$1.eventring "$HOST" <$1.script || fail "$1: host"
  "$EVENTRING" export --to otlp -o $1.otlp $1.eventring || fail "$1: otlp"
  "$EVENTRING" export --to otlp_json -o $1.jsonl $1.eventring || fail "$1: otlp_json"
  python3 "$helper" same $1.otlp $1.jsonl || fail "$1: JSON"
}
recorded steps <<'END'
pause
event outside
begin request value
repeat 200
pause
event note 00ff
again
begin part
pause
number nan
number -inf
number 0.1
end part
context 3
begin other
pause
leave
context 0
pause
flow begin 5
async begin 7
end request value
begin taker
flow step 5
async end 7
end taker
begin last
flow end 5
flow begin 6
flow end 6
async end 8
async begin 9
END
"$EVENTRING" dump --json steps.eventring >steps.dump && "$EVENTRING" show --json steps.eventring >steps.show
python3 "$helper" check steps.dump steps.show steps.jsonl >steps.checked || fail "steps"
is "steps" "spans 8 steps 130 points 135 dropped 146 outside 1 1 lost 0 marked 4 links 2" "$(cat steps.checked)"
# query's answer about the span of a name
of_span() { jq -c ".resourceSpans[].scopeSpans[].spans[] | select(.name == \"$1\") | $2" steps.jsonl; }
is "value" '{"stringValue":"value"}' "$(of_span request '.attributes[] | select(.key == "eventring.value").value')"
is "bytes" '{"bytesValue":"AP8="}' "$(of_span request '[.events[] | select(.name == "note")][0].attributes[0].value')"
is "numbers" '["NaN","-Infinity",0.1]' \
  "$(of_span part '[.events[] | select(.name == "number").attributes[0].value.doubleValue]')"
is "steps of a part" '["pause"]' "$(of_span part '[.events[] | select(.attributes[0].key == "eventring.class").name]')"
is "steps of a context" '["pause"]' "$(of_span other '[.events[].name]')"

# protoc, where there is one
command -v protoc >/dev/null || { finish; echo "protoc is missing (Debian package: protobuf-compiler)"; exit; }
for name in whole few damaged steps; do
  protoc --proto_path="$TESTSUITE/tools" --decode=TracesData _otlp.proto <$name.otlp >$name.text ||
    fail "$name: protoc"
  is "$name: spans that protoc reads" "$(awk '{ print $2 }' $name.checked)" \
    "$(grep -c '^    spans {' $name.text)"
  grep -qE '^ *[0-9]+:' $name.text && fail "$name: protoc does not know a field"
done
finish
