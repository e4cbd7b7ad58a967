# SPDX-License-Identifier: MIT
# What `export --to otlp_profiles` writes: the same stacks and bytes as `folded`, tables as the draft
# has them, the same as protocol buffers and as JSON.
. "$TESTSUITE/tools/_export.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
helper=$TESTSUITE/tools/_otlp.py
export PYTHONIOENCODING=utf-8 PYTHONDONTWRITEBYTECODE=1
unset OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES
"$EVENTRING" export --to otlp_profiles -o heap.otlp "$file" || fail "otlp_profiles"
"$EVENTRING" export --to otlp_profiles_json -o heap.jsonl "$file" || fail "otlp_profiles_json"
"$EVENTRING" export --to folded -o heap.folded "$file" || fail "folded"
python3 "$helper" same heap.otlp heap.jsonl ProfilesData || fail "JSON"
python3 "$helper" folded heap.jsonl inuse_space >stacks.txt || fail "stacks"
# (names of `folded` may have their file; each row is rounded)
about "bytes that are alive" "$(awk '{ sum += $NF } END { print sum }' heap.folded)" \
  "$(awk '{ sum += $NF } END { print sum }' stacks.txt)"
# stacks FILE: names without their files, sorted
stacks() { sed -E 's/ \([^;()]*\)//g; s/ [0-9]+$//' "$1" | sort -u; }
is "stacks" "$(stacks heap.folded)" "$(stacks stacks.txt)"
is "kinds of values" 6 "$(query heap.jsonl '.resourceProfiles[].scopeProfiles[].profiles | length')"
"$EVENTRING" export --to otlp_profiles_json --resource a=b --resource service.name=R -o who.jsonl "$file" ||
  fail "--resource"
is "--resource" '"b R"' "$(query who.jsonl '[.resourceProfiles[0].resource.attributes[]
  | select(.key == "service.name" or .key == "a").value.stringValue] | join(" ")')"
ends 2 "--resource: must be KEY=VALUE" "$EVENTRING" export --to otlp_profiles --resource x -o x.otlp "$file"
if command -v protoc >/dev/null; then
  protoc --proto_path="$TESTSUITE/tools" --decode=ProfilesData _otlp.proto <heap.otlp >heap.text ||
    fail "protoc"
  grep -qE '^ *[0-9]+:' heap.text && fail "protoc does not know a field"
fi
finish
