-- SPDX-License-Identifier: MIT
-- Large allocations while a minor collection is under way that takes very many pieces. The work
-- that they make due is carried over to later steps, but memory stays within its bound
-- (doc/COLLECTOR.md): otherwise each of these strings would stay until the collection has ended.

collectgarbage("generational")

local SLOWNESS = tonumber(os.getenv("TEST_SLOWNESS") or 1)
local N, LARGE, KIB = 300000 // SLOWNESS, 16 << 20, 1024

local records = {}
for i = 1, N do records[i] = { id = i, link = false } end

for _ = 1, 3 do
  collectgarbage()
  local base = collectgarbage "count" * KIB
  collectgarbage "stop"
  for i = 1, N do records[i].link = { i } end
  local made = collectgarbage "count" * KIB - base
  collectgarbage "restart"
  local peak = 0
  for i = 1, 40 do
    local text = ("x"):rep(LARGE + i)
    peak = math.max(peak, collectgarbage "count" * KIB)
  end
  local bound = base + math.max(base, 2 << 20) + made + (2 << 20) + 4 * LARGE
  -- a stress build collects at each step: nothing is paced there
  assert(peak <= bound or SLOWNESS >= 20,
    ("%d MB in use, the bound is %d"):format(peak // 1e6, bound // 1e6))
  for i = 1, N do assert(records[i].link[1] == i) end
end

print "ok"
