-- SPDX-License-Identifier: MIT
-- Loops over pairs, next and ipairs, and loops of few rounds within each other, had no
-- safe point: a request waited for their end. Each worker repeats a loop, and counts;
-- what it has counted when it is cancelled is not what the complete loop counts, time and
-- again.
local domain = require "saros.domain"
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1) > 1
local size, side, rounds = slow and 20000 or 500000, slow and 12 or 31, slow and 3 or 6

local function complete(worker, total)
  local ends = 0
  for _ = 1, rounds do
    local started, counts = domain.channel(1), domain.channel(1)
    local h = domain.spawn(worker, total, started, function(n) counts:send(n) end)
    started:receive()
    domain.sleep(0.005) -- it is in the loop
    h:cancel()
    pcall(h.join, h)
    if counts:receive() == total then ends = ends + 1 end
  end
  assert(ends < rounds)
end

complete(function(size, started, report)
  local t, n = {}, 0
  for i = 1, size do t[i] = i end
  local _ <close> = setmetatable({}, {__close = function() report(n) end})
  started:send(true)
  while true do n = 0 for k in pairs(t) do n = n + 1 end end
end, size)

complete(function(size, started, report)
  local t, n = {}, 0
  for i = 1, size do t[-i] = i end
  local _ <close> = setmetatable({}, {__close = function() report(n) end})
  started:send(true)
  while true do n = 0 for k, v in next, t do n = n + 1 end end
end, size)

complete(function(size, started, report)
  local t, n = {}, 0
  for i = 1, size do t[i] = i end
  local _ <close> = setmetatable({}, {__close = function() report(n) end})
  started:send(true)
  while true do n = 0 for i, v in ipairs(t) do n = n + 1 end end
end, size)

complete(function(size, started, report)
  local side, n = math.tointeger(size ^ 0.25), 0
  assert(side ^ 4 == size)
  local _ <close> = setmetatable({}, {__close = function() report(n) end})
  started:send(true)
  while true do
    n = 0
    for a = 1, side do
      for b = 1, side do
        for c = 1, side do
          for d = 1, side do n = n + 1 end
        end
      end
    end
  end
end, math.tointeger(side ^ 4))
