# SPDX-License-Identifier: MIT
# A recording as tables: `export --to sqlite`, `export --to csv` and `eventring sql` have the
# spans, counters, events and losses that `dump` has. Read by python3's own modules, and by
# sqlite3 where it is installed.
. "$TESTSUITE/tools/_timeline.sh"
record_all
facts() { python3 "$TESTSUITE/tools/_tables.py" "$@" || fail "_tables.py $*"; }
ALL="select * from spans; select * from counters; select * from events; select * from losses"
sql=yes
"$EVENTRING" sql whole.eventring "select 1" >one.txt 2>one.errors || sql=no
[ $sql = yes ] || has "without SQLite" "libsqlite3-dev" "$(cat one.errors)"

for name in whole few damaged; do
  facts dump $name.dump >$name.expected
  export_to csv $name $name.csv
  facts csv $name.csv >$name.csv.actual
  same_facts "csv of $name" $name.expected $name.csv.actual
  [ $sql = yes ] || continue
  export_to sqlite $name $name.sqlite
  facts sqlite $name.sqlite >$name.sqlite.actual
  same_facts "sqlite of $name" $name.expected $name.sqlite.actual
  "$EVENTRING" sql --json $name.eventring "$ALL" >$name.json 2>sql.errors
  status=$?
  is "status of sql of $name" $([ $name = damaged ] && echo 1 || echo 0) $status
  facts json $name.json >$name.json.actual
  same_facts "sql of $name" $name.expected $name.json.actual
done
has "torn spans" "end" "$(cut -f 1,12 damaged.expected | sort -u)"
[ $sql = yes ] || { finish; exit; }

# ---- The other tables, and what SQLite makes of them
one() { "$EVENTRING" sql --json whole.eventring "$1" | jq -c '.rows[0] | to_entries | map(.value)'; }
is "domains" '[2,"worker 0","worker 1"]' \
  "$(one "select count(*) n, min(name) a, max(name) z from domains")"
is "recording" "[$(query whole.show .pid),$(query whole.show .start_ns)]" \
  "$(one "select pid, start_ns from recording")"
middle=$(jq -s 'map(select(.kind == "end") | .ns) | sort | .[length / 2 | floor]' whole.dump)
expected=$(jq -s "map(select(.kind == \"end\" and .ns >= $middle)) | length" whole.dump)
is "a scan that begins at a time" "[$expected]" \
  "$(one "select count(*) from spans where end_ns >= $middle")"
is "a join" '[40]' "$(one "select count(*) from spans i join spans o on i.domain = o.domain and
  i.ring = o.ring and i.begin_ns between o.begin_ns and o.end_ns
  where i.name = 'parse' and o.name = 'request'")"
SAMPLED=$BUILDDIR/testsuite/tools/sample_heap
if [ -x "$SAMPLED" ]; then
  mkdir heap
  HEAP_EVENTRING_START=1 HEAP_EVENTRING_PRESERVE=1 HEAP_EVENTRING_PREFIX=heap "$SAMPLED" --rate 0.05 \
    >truth.json || fail "sample_heap"
  "$EVENTRING" sql --json heap/*.eventring "select (select count(*) from samples) samples,
    (select count(*) from samples s join stacks using (stack) where function like 'site%') sites,
    (select max(depth) from stacks) depth" >heap.json || fail "sql of samples"
  is "samples and stacks" true "$(query heap.json '.rows[0] | .samples > 100 and .sites > 100 and .depth > 1')"
fi

# ---- Rows by groups: what SQLite says of a database that has the same rows
while read -r query; do
  "$EVENTRING" sql --json whole.eventring "$query" | jq -c '.rows[] | map(.)' >groups.txt
  python3 -c 'import json, sqlite3, sys
for row in sqlite3.connect("whole.sqlite").execute(sys.argv[1]):
    print(json.dumps(row, separators=(",", ":"), ensure_ascii=False))' "$query" >groups.expected
  [ -s groups.txt ] || fail "no rows: $query"
  same_facts "$query" groups.expected groups.txt
done <<'SQL'
select name, count(*), sum(duration_ns) from spans group by name
select class, name, count(*), max(end_ns) from spans group by class, name
select torn, ring, count(value) from spans group by torn, ring having count(*) > 1
select name, count(*) from spans where depth > 0 group by name
select name, group_concat(value) from counters group by name order by count(*), name
select a.name, count(b.name) from spans a, domains b group by a.name
select distinct name from spans
select name, ns from events order by name limit 5
SQL
# ... also the numbers of the rows; with a condition SQLite sorts the rows itself
numbers() { "$EVENTRING" sql --json whole.eventring "select name, group_concat(rowid) rows from spans $1 group by name" | jq -c .rows; }
is "numbers of grouped rows" "$(numbers "where domain >= 0")" "$(numbers)"

# ---- Rows by groups beyond 32 MiB, when their file cannot be written
SAROS_EVENTRING_STREAM=./large.eventring "$PRODUCER" --rounds 30000 --users 10 >producer.txt ||
  fail "producer"
LARGE="select name, count(*) n, max(begin_ns), max(end_ns), max(duration_ns), max(domain),
  max(incarnation), max(depth), max(context) from spans group by name"
(ulimit -f 1000; ends 1 "temporary file: File too large" "$EVENTRING" sql large.eventring "$LARGE")
is "rows in a temporary file" "[300000,300000]" "$("$EVENTRING" sql --json large.eventring "$LARGE" |
  jq -c '[.rows[] | select(.name == "parse" or .name == "request") | .n]')"
rm large.eventring

# ---- A cell of a megabyte: the time for the lines of a table is in proportion to its text
digits() { tr -cd '[:digit:]' | sha256sum; }
is "a long cell" "$(seq 160000 | digits)" "$(timeout 60 "$EVENTRING" sql whole.eventring "
  with recursive t(x) as (select 1 union all select x + 1 from t where x < 160000)
  select group_concat(x) text from t" | digits)"

# ---- The value of a span or an event of Lua is that value, also to sqlite3 and in CSV
cat >values.lua <<'LUA'
local eventring = require "eventring"
for _, value in ipairs { 7, 2.5, "a text", -3 } do
  eventring.begin_span("step", value)
  eventring.end_span "step"
  eventring.event("point", value)
end
LUA
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=values "$SAROS" values.lua ||
  fail "values.lua"
for table in spans:step events:point; do
  "$EVENTRING" sql --json values.eventring "select value, typeof(value) type, value + 1 sum
    from ${table%:*} where name = '${table#*:}' order by rowid" >values.json || fail "sql of values"
  is "values of $table" '[[7,"integer",8],[2.5,"real",3.5],["a text","text",1],[-3,"integer",-2]]' \
    "$(query values.json '[.rows[] | [.value, .type, .sum]]')"
done
"$EVENTRING" export --to csv -o values.csv values.eventring || fail "csv of values"
is "values in CSV" "7 2.5 a text -3" "$(python3 -c 'import csv
print(*[r["value"] for r in csv.DictReader(open("values.csv")) if r["name"] == "step"])')"

# ---- Text, and what is wrong
"$EVENTRING" sql whole.eventring "select name, count(*) n from spans where name = 'minor' group by 1" >text.txt
is "as text" "name n|minor 40|" "$(tr -s ' ' <text.txt | sed 's/ $//' | tr '\n' '|')"
ends 2 "no such column: nme" "$EVENTRING" sql whole.eventring "select nme from spans"
ends 2 "not authorized" "$EVENTRING" sql whole.eventring "attach 'x.sqlite' as x"
is "nothing was written" no "$([ -e x.sqlite ] && echo yes || echo no)"
ends 1 "no.eventring" "$EVENTRING" sql no.eventring "select * from spans"
ends 2 "a query" "$EVENTRING" sql whole.eventring
has "the list of tables" "begin_ns" "$("$EVENTRING" sql --tables)"
has "where async spans are" "async spans are in events" "$("$EVENTRING" sql --tables)"
is "async spans are no spans" "[0,true]" "$(one "select (select count(*) from spans where name in
  (select name from events where kind = 'begin')) n, (select count(*) from events where
  kind = 'begin') > 0 there" | sed 's/1]/true]/')"
ends 1 "whole.sqlite" "$EVENTRING" export --to sqlite -o whole.sqlite whole.eventring
if command -v sqlite3 >/dev/null; then
  is "by sqlite3" "40" "$(sqlite3 whole.sqlite "select count(*) from spans where name = 'request' and duration_ns > 0")"
fi
finish
