-- SPDX-License-Identifier: MIT
-- Of the borders of a table with a nil at its start, `#` returns the one that the
-- reference does, where that follows from the sizes of the parts: programs insert nil in
-- front, and count arguments so. (It returned 0 for an array whose length had not been
-- computed before.)

local function filled(n)
  local t = {}
  for i = 1, n do t[i] = i end
  return t
end

for n = 3, 100 do
  local t = filled(n)
  t[1] = nil
  if n & (n - 1) ~= 0 then assert(#t == n, n) end -- else the array part is full
  t[n] = nil
  assert(#t == n - 1 or t[#t + 1] == nil and (#t == 0 or t[#t] ~= nil), n)
end

local t
local shifted = {3, 2, 1, 5}
table.insert(shifted, 1, nil)
assert(#shifted == 5 and shifted[5] == 5)

-- Items behind a full array part, with holes: the first place that is examined is twice
-- its size
assert(#{"a", nil, nil, [9] = "i", "f", [5] = "g", [7] = {}} == 5)
assert(#{1, 2, [3] = 3, [4] = 4, [5] = 5, [7] = 7} == 5)

-- The greatest index
t = {[math.maxinteger] = 1}
assert(#t == 0)
for k = 0, 62 do t[1 << k] = true end
for k = 3, 9 do t[k] = true end
assert(t[#t] and (#t == math.maxinteger or t[#t + 1] == nil))

-- Emptied from either end
t = filled(20)
for i = 20, 1, -1 do t[i] = nil assert(#t == i - 1) end
assert(#t == 0)
t = filled(20)
for i = 1, 20 do t[i] = nil end
assert(#t == 0)
t[1] = 1
assert(#t == 1)
