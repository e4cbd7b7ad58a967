-- SPDX-License-Identifier: MIT
-- Allocations of the size of a nursery left no room for slices of the major cycle between
-- minor collections, and what they promoted was never collected.
if tonumber(os.getenv "TEST_SLOWNESS" or 1) > 10 then
  print "the stress build collects all the time, but does not pace what it does"
  os.exit(77)
end

local function most(n, f)
  local most = 0
  for i = 1, n do
    f(i)
    most = math.max(most, collectgarbage("count"))
  end
  return most / 1024
end

collectgarbage()
local large = ("x"):rep(1 << 20)
for _, mode in ipairs {"generational", "incremental"} do
  collectgarbage(mode)
  local size = most(500, function(i) return large .. i end)
  assert(size < 250, mode .. ": " .. size .. " MiB")
end
