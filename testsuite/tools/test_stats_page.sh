# SPDX-License-Identifier: MIT
# `stats` as text: lines of a terminal's width, however long the names are, and nothing of
# them lost; all domains first.
. "$TESTSUITE/tools/_tools.sh"
command -v python3 >/dev/null || { echo "python3 is missing"; exit 77; }

cat >names.lua <<'LUA'
local domain = require "domain"
local long = ("a_name_without_blanks_"):rep(4) .. "end"
local function work(long, turn)
  local eventring = require "eventring"
  local t = {}
  for i = 1, 20000 do t[i % 100] = {i} end
  for i = 1, 3 do
    eventring.span("handle GET /api/v1/users/list of " .. turn, function()
      eventring.span(long, function() end)
    end)
    eventring.counter("文字化けしない長い名前のカウンタで幅が二倍になるもの", 1e15 + i)
    eventring.event("something happened that takes many words to say")
  end
  collectgarbage()
end
for turn = 1, 2 do
  domain.spawn({name = "one of the workers, with a name as long as it gets"}, work, long, turn):join()
end
local h = domain.spawn({name = "render"}, work, long, 3)
work(long, 0)
h:join()
local co = coroutine.wrap(function()
  require("eventring").span("in a coroutine", coroutine.yield)
end)
co() co()
LUA
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 "$SAROS" names.lua || fail "the program"
file=$(echo ./*.eventring)
"$EVENTRING" stats --by-domain "$file" >stats.txt || fail "stats: $?"
"$EVENTRING" stats --json "$file" >stats.json || fail "stats --json: $?"
python3 - <<'PYTHON' || fail "the page"
import json, re, sys, unicodedata
lines = open("stats.txt", encoding="utf-8").read().split("\n")
width = lambda s: sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in s)
wide = [l for l in lines[2:] if width(l) > 80]
blank = [l for l in lines if l != l.rstrip()]
stats = json.load(open("stats.json"))
ok = not wide and not blank
if wide or blank: print("too wide, or blanks at the end:", wide, blank)

# each name, put together again from the lines of its cell, and each figure
squeezed = [re.sub(r"\s", "", "".join(l[:width] for l in lines)) for width in range(16, 81)]
for key in ("spans", "counters", "events"):
    for entry in stats[key]:
        name = re.sub(r"\s", "", entry["name"])
        if not any(name in text for text in squeezed):
            ok = False; print(key, "lacks", entry["name"])
digits = "\n".join(lines)
for domain in stats["domains"]:
    for ring in domain["rings"].values():
        if f'{ring["emitted"]:,}' not in digits: ok = False; print("no", ring)

# the order: all domains together before each
headings = [l for l in lines if l.startswith("Spans")]
if not headings[0].startswith("Spans, all domains") or len(headings) != len(stats["domains"]) + 1:
    ok = False; print(headings)
if not any(l.startswith("Spans, domain 1 (render), with 2 before it") for l in lines):
    ok = False; print(headings)
collector = lines[lines.index("Time in the collector") + 2].split()
if collector[0] != "all": ok = False; print(collector)
titles = set(" ".join(lines).split())
for title in "count total mean min max p50 p90 p99 p99.9 suspended sum second last samples unit".split():
    if title not in titles: ok = False; print("no column", title)
sys.exit(not ok)
PYTHON

# all domains only, one domain, and less of it
"$EVENTRING" stats "$file" >all.txt || fail "stats: $?"
is "headings of all" "Spans, all domains" "$(grep '^Spans' all.txt)"
"$EVENTRING" stats --domain 1 --top 2 "$file" >render.txt || fail "stats --domain: $?"
is "headings of one" "Spans, domain 1 (render), with 2 before it" "$(grep '^Spans' render.txt)"
"$EVENTRING" stats --json --domain 1 --top 2 "$file" >render.json || fail "stats --json --domain: $?"
is "its longest spans" true "$(query render.json '(.spans | length) == 2 and
  .spans[0].total_ns >= .spans[1].total_ns and .spans[0].domain == 1')"
"$EVENTRING" stats --json --class user "$file" >user.json || fail "stats --class: $?"
is "its classes" 0 "$(query user.json '[.spans[] | select(.gc)] | length')"
"$EVENTRING" stats --json --name minor "$file" >minor.json || fail "stats --name: $?"
is "its names" '["minor"]' "$(query minor.json '[.spans[].name] | unique')"
is "no counters" 0 "$(query minor.json '.counters | length')"
ends 1 "no class" "$EVENTRING" stats --class nothing "$file"
ends 2 "not 0 to 127" "$EVENTRING" stats --domain 128 "$file"

# one domain: its tables, without naming it
record --rounds 3
"$EVENTRING" stats "$file" >one.txt || fail "stats of one domain: $?"
is "its headings" "Spans" "$(grep '^Spans' one.txt)"
is "nothing of all" "" "$(grep 'all domains' one.txt)"
finish
