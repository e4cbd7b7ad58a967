-- SPDX-License-Identifier: MIT
-- Records that grow field by field: each field is found at each size, also where fields
-- were removed, other keys are among them, and objects that are old refer to young ones.
local function name(i) return "field" .. i end

local function check(t, n, absent)
  for i = 1, n do assert(t[name(i)] == (i ~= absent and i or nil)) end
  assert(t[name(n + 1)] == nil)
  local count = 0
  for k, v in pairs(t) do
    count = count + 1
    assert(type(k) ~= "string" or k == name(v))
  end
  return count
end

local plain, holed, mixed = {}, {}, {[0.5] = true}
for i = 1, 600 do
  plain[name(i)], holed[name(i)], mixed[name(i)] = i, i, i
  if i == 7 then holed[name(3)] = nil end
  if i & i - 1 == 0 or i % 31 == 0 then
    assert(check(plain, i) == i)
    assert(check(holed, i, i >= 7 and 3) == (i >= 7 and i - 1 or i))
    assert(check(mixed, i) == i + 1)
  end
end

-- Traversal with removal and assignment to fields that exist is allowed.
for k in pairs(plain) do plain[k] = nil end
assert(next(plain) == nil)

local old = {}
for i = 1, 50 do old[i] = {} end
collectgarbage()
for i = 1, 40 do
  for _, t in ipairs(old) do t[name(i) .. #old] = {i} end
  collectgarbage "step"
end
for _, t in ipairs(old) do
  for i = 1, 40 do assert(t[name(i) .. #old][1] == i) end
end

-- Items appended to tables with fields.
for nfields = 1, 9 do
  local t, removed = {}, {}
  for i = 1, nfields do t[name(i)], removed[name(i)] = i, i end
  removed[name(1)] = nil
  for i = 1, 300 do
    t[i], removed[i] = -i, -i
    if i == 40 then t.more = true end
    if i & i - 1 == 0 or i == 300 then
      assert(#t == i and #removed == i)
      for k = 1, i do assert(t[k] == -k and removed[k] == -k) end
      for k = 1, nfields do assert(t[name(k)] == k and removed[name(k)] == (k > 1 and k or nil)) end
      assert(t[0] == nil and t[i + 1] == nil)
    end
  end
  local count = 0
  for k, v in pairs(t) do count = count + 1 assert(t[k] == v) end
  assert(count == 300 + nfields + 1)
end
