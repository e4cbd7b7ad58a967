# SPDX-License-Identifier: MIT
# The tables of a page: the rows that the commands print as JSON, and their columns.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing (Debian package: python3)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
section() { python3 "$TESTSUITE/tools/_view.py" "$@"; }
"$EVENTRING" view nothing 2>&1 | grep -q "without zlib" && { echo "built without zlib"; exit 77; }

# same PAGE TABLE PATH COMMAND...: the rows of the table are what the command has at this path
same() {
  local page=$1 table=$2 path=$3 rows
  shift 3
  "$@" >answer.json || fail "$*"
  section "$page" "table:$table" >table.json
  rows=$(jq -cS "$path" answer.json)
  if [ "$rows" = "[]" ]; then
    is "$page, $table" null "$(cat table.json)"
    return
  fi
  tables="$tables $table"
  is "$page, rows of $table" "$rows" "$(jq -cS .rows table.json)"
  is "$page, members of $table that are no columns" '[]' "$(jq -c '([.columns[].key]) as $keys |
    [.rows[] | to_entries[] | select(.value | type != "array" and type != "object") | .key] |
    unique - $keys' table.json)"
  is "$page, forms of $table" '[]' "$(jq -c '[.columns[].form | select(inside(
    "plain count ns moment wall bytes words share change def ring class liveness state payload measure quantity"
    ) | not)]' table.json)"
  has "$page, command of $table" "eventring ${2} " "$(query table.json .command)"
}

# of FILE: all tables of its page
of() {
  local page=${1%.eventring}.html
  "$EVENTRING" view -o "$page" "$1" || fail "view of $1: $?"
  tables=
  same "$page" gc .domains "$EVENTRING" stats --json "$1"
  same "$page" spans .total.spans "$EVENTRING" stats --json "$1"
  same "$page" async .total.async_spans "$EVENTRING" stats --json "$1"
  same "$page" counters .total.counters "$EVENTRING" stats --json "$1"
  same "$page" events .total.events "$EVENTRING" stats --json "$1"
  same "$page" pauses .rows "$EVENTRING" pauses --json --top 64 "$1"
  same "$page" slow .rows "$EVENTRING" spans --json "$1"
  same "$page" heap .rows "$EVENTRING" heap --json --by line --top 1024 "$1"
  section "$page" table:rings | jq -cS '[.rows[] | {domain, ring, emitted, delivered, lost}]' >rings.json
  is "$page, rings" "$("$EVENTRING" stats --json "$1" | jq -cS '[.domains[] | .domain as $domain |
    .rings | to_entries[] | {domain: $domain, ring: .key} + (.value | {emitted, delivered, lost})]')" \
    "$(cat rings.json)"
}

cat >program.lua <<'END'
local eventring = require "saros.eventring"
require "saros.domain".spawn(function()
  local eventring = require "saros.eventring"
  for i = 1, 50 do eventring.span("in the other", function() return { tostring(i) } end) end
end):join()
for i = 1, 200 do
  eventring.span("request", function()
    local t = {}
    for k = 1, 500 do t[k] = { k } end
    eventring.span("inner", function() return #t end)
  end)
  eventring.counter("queue", i % 7)
  eventring.event("done", i)
end
END
SAROS_EVENTRING_STREAM=stream.eventring SAROS_MEMPROF=1e-3 "$SAROS" program.lua || fail "program.lua: $?"
of stream.eventring
is "tables of a stream" " gc spans counters events pauses slow heap" "$tables"
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=rings SAROS_EVENTRING_GROW=0 \
  SAROS_EVENTRING_WSIZE=11 SAROS_MEMPROF=1e-3 "$SAROS" program.lua || fail "program.lua: $?"
of rings.eventring

# Thousands of names, of each of which the page keeps fewer spans: the longest of all are exact
cat >names.lua <<'END'
local eventring = require "saros.eventring"
for i = 1, 5000 do
  eventring.span({ name = "name " .. i, value = i }, math.abs, 1)
  eventring.span("name " .. i % 50, math.abs, 1)
end
for n = 1, 12 do
  eventring.begin_span("long", n)
  for _ = 1, 2e5 do end
  eventring.end_span()
end
END
SAROS_EVENTRING_STREAM=names.eventring "$SAROS" names.lua || fail "names.lua: $?"
"$EVENTRING" view -o names.html names.eventring || fail "view of names: $?"
same names.html slow .rows "$EVENTRING" spans --json names.eventring
# A short one may be among them, when it was interrupted
has "the longest spans, of many names" long "$(jq -r '.rows[].name' table.json)"

# Calls
SAROS_PROFILE=calls SAROS_EVENTRING_PRESERVE=1 SAROS_EVENTRING_NAME=calls "$SAROS" program.lua ||
  fail "program.lua: $?"
"$EVENTRING" view -o calls.html calls.eventring || fail "view of calls: $?"
same calls.html profile .rows "$EVENTRING" profile --json --top 1024 calls.eventring

# Of a domain, of a part of the run
"$EVENTRING" view --domain 1 -o domain.html stream.eventring || fail "view of a domain: $?"
same domain.html gc .domains "$EVENTRING" stats --json --domain 1 stream.eventring
"$EVENTRING" view --until 0.01 -o part.html stream.eventring || fail "view of a part: $?"
same part.html spans .total.spans "$EVENTRING" stats --json --until 0.01 stream.eventring
same part.html pauses .rows "$EVENTRING" pauses --json --top 64 --until 0.01 stream.eventring

# Of a program the command is the one that runs it
echo 'repeat local t = {} for i = 1, 100 do t[i] = {} end until os.clock() > 0.5' >busy.lua
long=$(printf "%2000d" 0 | tr " " x) # a long command line is shown whole
timeout $PATIENCE "$EVENTRING" view -o program.html -- "$SAROS" busy.lua $long || fail "a program: $?"
is "the command of a program" "eventring stats -- $SAROS busy.lua $long" \
  "$(section program.html table:spans | jq -r .command)"
is "the command of an answer" "eventring pauses -- $SAROS busy.lua $long" \
  "$(section program.html head | jq -r '.answers[1].command')"
has "functions by samples" "Functions, by " "$(section program.html table:profile | jq -r .title)"
finish
