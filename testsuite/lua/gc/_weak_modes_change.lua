-- SPDX-License-Identifier: MIT
-- A table ceases to be weak, or is weak otherwise, while a cycle marks and a minor
-- collection is divided: what is alive elsewhere stays, and what is left in it is whole.
-- (With SAROS_VERIFY=1, debug builds check the heap after each step.)
local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1
local size, steps = slow and 40 or 1000, slow and 8 or 60
local modes = { "k", false, "v", false, "kv", false, "k", "v" }
local function object(i) return { id = i, text = { "t" .. i } } end
local function check(t, held)
  for key, value in pairs(t) do
    assert(key.text[1] == "t" .. key.id and value.text[1] == "t" .. value.id)
  end
  for i = 1, size, 3 do assert(t[held[i]] == held[size]) end
end

for _, mode in ipairs { "incremental", "generational" } do
  collectgarbage(mode)
  for round = 1, 4 do
    local held, t = { [size] = object(size) }, {}
    for i = 1, size, 3 do held[i] = object(i) end
    for i = 1, size do
      if i % 3 == 1 then t[held[i]] = held[size] else t[object(i)] = object(-i) end
    end
    local meta = {}
    setmetatable(t, meta)
    for step = 1, steps do
      meta.__mode = modes[step // round % #modes + 1] or nil
      collectgarbage("step", step % 3)
    end
    check(t, held)
    collectgarbage()
    check(t, held)
  end
end
collectgarbage "generational"
