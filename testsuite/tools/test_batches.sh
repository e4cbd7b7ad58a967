# SPDX-License-Identifier: MIT
# What stats and spans say of events that come in batches is what they say of the same events
# one by one (an end of the window, which is after the end of the recording, has them read so).
. "$TESTSUITE/tools/_tools.sh"
command -v jq >/dev/null || { echo "jq is missing"; exit 77; }

cat >work.lua <<'LUA'
local eventring = require "saros.eventring"
local begin_span, end_span, yield = eventring.begin_span, eventring.end_span, coroutine.yield
local function depth(n)
  begin_span "deep"
  if n > 0 then depth(n - 1) end
  end_span "deep"
end
local function request(i)
  begin_span "request"
  for j = 1, i % 7 do
    begin_span "parse" end_span "parse"
    if j % 3 == 0 then yield() end
  end
  if i % 5 == 0 then eventring.counter("queue", i) end
  if i % 11 == 0 then eventring.event("point", "text") end
  if i % 13 == 0 then depth(i % 40) end
  begin_span("valued", i) end_span "valued"
  end_span "request"
end
begin_span "all"
local running, keep = {}, {}
for i = 1, tonumber(arg[1]) do
  running[#running + 1] = coroutine.wrap(function() request(i) return true end)
  keep[i % 500] = {i}
  local at = i % #running + 1
  if running[at]() then table.remove(running, at) end
  begin_span "own" begin_span "inner" end_span "inner" end_span "own"
end
LUA
rounds=$((20000 / TEST_SLOWNESS))
SAROS_EVENTRING_START=1 SAROS_EVENTRING_PRESERVE=1 "$SAROS" work.lua $rounds || fail "a ring"
mv ./*.eventring ring.rec
SAROS_EVENTRING_STREAM=./stream,max=64M SAROS_EVENTRING_PRESERVE=1 "$SAROS" work.lua $rounds ||
  fail "a stream"
for packed in "$TESTSUITE"/format/corpus/v3-*.eventring.gz; do
  gunzip -c "$packed" >"$(basename "$packed" .gz)"
done

same() { # FILE QUESTION...
  local file=$1
  shift
  "$EVENTRING" "$@" --json "$file" 2>a.err | jq -S 'del(.window)' >a.txt
  "$EVENTRING" "$@" --json --until 99999999 "$file" 2>b.err | jq -S 'del(.window)' >b.txt
  [ -s a.txt ] || fail "$* of $file says nothing"
  cmp -s a.txt b.txt || { fail "$* of $file differs"; diff a.txt b.txt | head -n 5; }
}
for file in ring.rec stream.eventring v3-*.eventring; do
  same "$file" stats
  same "$file" spans
  same "$file" spans --name request --over 1us
  same "$file" spans --class gc --domain 0 --since 0.001
done
finish
