-- SPDX-License-Identifier: MIT
-- Fills memory with tables of which the collector keeps a record each while it marks, keeps it
-- from collecting before there is none left, and goes on.
collectgarbage("stop")
local key, last, meta = {}, nil, { __mode = "k" }
local ok, message = pcall(function()
  while true do last = setmetatable({ last, [key] = 1 }, meta) end
end)
assert(not ok and message == "not enough memory")
collectgarbage()
local n = 0
for _ = 1, 3 do
  local t = last
  n = 0
  while t do t, n = t[1], n + 1 assert(t == nil or t[key] == 1) end
end
assert(n > 100000)
last = nil
collectgarbage("restart")
collectgarbage()
assert(collectgarbage "count" < 1000)
print("caught")
