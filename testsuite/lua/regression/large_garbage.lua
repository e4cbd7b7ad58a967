-- Allocations of the size of a nursery left no room for slices of the major cycle between
-- minor collections, and what they promoted was never collected.
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
  local size = most(200, function(i) return large .. i end)
  assert(size < 64, mode .. ": " .. size .. " MiB")
end
