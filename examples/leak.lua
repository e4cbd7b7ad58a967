-- SPDX-License-Identifier: MIT
-- leak.lua: a service with a leak, to be found from outside:
--
--   SAROS_MEMPROF=on saros examples/leak.lua &
--   eventring heap --by line --top 3 $!       # cache.remember: alive, and it grows
--   eventring heap --survived 5 --top 3 $!    # what outlives five collections
--
-- It answers requests; each answer is remembered under a key that never comes again. Leave
-- out the number of the request in `key`, and the leak is gone. With a number as its
-- argument it ends after that many requests.

local cache = {answers = {}}

function cache.remember(key, answer)
  cache.answers[key] = {answer = answer, at = os.time(), hits = 0}
end

local function render(request)
  local words = {}
  for i = 1, 20 do words[i] = "word" .. (request + i) % 100 end
  return table.concat(words, " ")
end

local function handle(request)
  local key = "user" .. request % 10 .. "/request" .. request
  if not cache.answers[key] then cache.remember(key, render(request)) end
  return cache.answers[key].answer
end

local most = tonumber(arg[1]) or math.huge
local request = 0
while request < most do
  request = request + 1
  handle(request)
end
