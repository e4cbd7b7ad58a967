# SPDX-License-Identifier: MIT
# What `export --to perfetto` writes, read by Perfetto's trace processor: spans with their
# places, times, nesting, what is torn and open; points and values; counters; async spans,
# flows; losses.
. "$TESTSUITE/tools/_processor.sh"
record_all
for name in whole few damaged; do
  export_to perfetto $name $name.pftrace
done
processed debug. whole.pftrace few.pftrace damaged.pftrace
for name in whole few damaged; do
  python3 "$TESTSUITE/tools/_facts.py" dump $name.dump >$name.expected || fail "facts of the dump"
  python3 "$TESTSUITE/tools/_facts.py" rows $name.dump $name.pftrace.rows >$name.actual || fail "facts"
  same_facts "$name" $name.expected $name.actual
done
has_kinds_of_facts
has "flows" "flow" "$(cat whole.expected)"
finish
