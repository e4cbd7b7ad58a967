# SPDX-License-Identifier: MIT
# What `export --to chrome` writes: valid JSON, read by Perfetto's trace processor as
# test_export_perfetto.sh has it.
. "$TESTSUITE/tools/_processor.sh"
record_all
for name in whole few damaged; do
  export_to chrome $name $name.json
done
processed args. whole.json few.json damaged.json
for name in whole few damaged; do
  python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' $name.json ||
    fail "$name.json is not JSON"
  start=$(query $name.show .start_ns)
  python3 "$TESTSUITE/tools/_facts.py" dump $name.dump "$start" >$name.expected || fail "facts of the dump"
  python3 "$TESTSUITE/tools/_facts.py" rows $name.dump $name.json.rows >$name.actual || fail "facts"
  same_facts "$name" $name.expected $name.actual
done
has_kinds_of_facts
has "flows" "flow" "$(cat whole.expected)"
finish
