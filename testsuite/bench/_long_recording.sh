# SPDX-License-Identifier: MIT
# Sourced with a number of megabytes: records a stream of about this size, of nested spans, a
# counter and a collector that works, into work.eventring. Expects `saros`.

cat >work.lua <<'LUA'
local eventring = require "saros.eventring"
local begin_span, end_span, keep = eventring.begin_span, eventring.end_span, {}
for i = 1, tonumber(arg[1]) do
  begin_span "request"
  begin_span "parse" end_span "parse"
  if i % 3 == 0 then begin_span "query" begin_span "row" end_span "row" end_span "query" end
  if i % 64 == 0 then eventring.counter("queue", i % 17) end
  keep[i % 5000 + 1] = {i, tostring(i)}
  end_span "request"
end
LUA
SAROS_EVENTRING_STREAM=./work,max=$(($1 + $1 / 4 + 64))M SAROS_EVENTRING_PRESERVE=1 \
  "$saros" work.lua $(($1 * 23000)) || exit 1
