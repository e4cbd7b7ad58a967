-- SPDX-License-Identifier: MIT
-- Objects with finalizers that die over and over: memory must not grow with the number of
-- those that ever died. Two things did: what was alive for its finalizer only counted as
-- live when the next cycle's goal was set, so each cycle came later than the one before;
-- and the places of dead objects in the list of those with finalizers were never taken
-- away.

local rounds, objects = 200, 8000
if (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1 then rounds, objects = 4, 200 end

local function resident()
  local status = io.open "/proc/self/status"
  if not status then return 0 end
  local kib = tonumber(status:read "a":match "VmRSS:%s*(%d+)")
  status:close()
  return kib
end

local ran = 0
local meta = { __gc = function() ran = ran + 1 end }
local most = 0
local early
for round = 1, rounds do
  local held = {}
  for i = 1, objects do held[i] = setmetatable({ i }, meta) end
  most = math.max(most, collectgarbage "count")
  if round == rounds // 3 then early = resident() end
end
if rounds == 4 then collectgarbage() end -- so few are not worth a cycle
assert(ran > 0, "no finalizer has run")

-- 8000 objects take 1 MiB.
local bound = objects * 130 * 10 / 1024 + 8 * 1024
assert(most < bound, string.format("%.0f KiB in use, at most %.0f expected", most, bound))
if os.getenv "TEST_SLOWNESS" == "1" then
  local grown = resident() - early
  assert(grown < 6 * 1024,
    string.format("%d KiB more resident than after a third of the rounds", grown))
end
