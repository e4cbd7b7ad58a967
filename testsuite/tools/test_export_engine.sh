# SPDX-License-Identifier: MIT
# What `export --to chrome` writes, read by the engine of the performance panel of Chrome's
# developer tools: spans with their threads, times, nesting, and what is torn and open.
. "$TESTSUITE/tools/_timeline.sh"
needs_module @paulirish/trace_engine
record_all
# Open spans have no duration there, and so none within them.
without_depth() { sed -E 's/\t[0-9]+\topen$/\topen/'; }
for name in whole few damaged; do
  export_to chrome $name $name.json
  start=$(query $name.show .start_ns)
  python3 "$TESTSUITE/tools/_facts.py" dump $name.dump "$start" | grep -P '^(span|torn)\t' |
    without_depth | LC_ALL=C sort >$name.expected
  [ -s $name.expected ] || fail "nothing is expected of $name"
  node "$TESTSUITE/tools/_engine.mjs" "$MODULES" $name.json >$name.read 2>engine.errors ||
    fail "trace engine: $(tail -5 engine.errors)"
  without_depth <$name.read | LC_ALL=C sort >$name.actual
  same_facts "$name" $name.expected $name.actual
done
has "torn spans" "torn" "$(cat damaged.expected)"
finish
