-- SPDX-License-Identifier: MIT
-- A weak table that loses its metatable, or gets one that is not weak, while a cycle
-- marks keeps the entries that it has at that moment.
local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1
local size = slow and 300 or 5000

local function weak_table(mode)
  local t, held = setmetatable({}, { __mode = mode }), {}
  for i = 1, size do
    local o = { i }
    held[i] = o
    if mode == "v" then t[i] = o elseif mode == "k" then t[o] = i else t[o] = o end
  end
  collectgarbage() -- all are old now
  return t
end

local function count(t)
  local n = 0
  for key, value in next, t do
    local o = type(key) == "table" and key or value
    assert(math.type(o[1]) == "integer")
    n = n + 1
  end
  return n
end

for _, collector in ipairs { "incremental", "generational" } do
  collectgarbage(collector)
  for _, mode in ipairs { "v", "k", "kv" } do
    for steps = 0, 40, slow and 8 or 1 do
      local t = weak_table(mode)
      for _ = 1, steps do collectgarbage("step", 16) end
      setmetatable(t, steps % 2 == 0 and {} or nil)
      local before = count(t)
      for _ = 1, 5 do collectgarbage("step", 8) end
      collectgarbage()
      assert(count(t) == before, mode)
    end
  end
end
collectgarbage "generational"
