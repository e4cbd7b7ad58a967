-- SPDX-License-Identifier: MIT
-- A string longer than the largest small object was cut out of a long enough hole
-- of the small-object heap, and was later taken for a large one.

local kept = {}
for length = 8100, 8300, 5 do
  kept[#kept + 1] = ("x"):rep(length) .. length
end
for length = 9000, 40000, 3100 do
  kept[#kept + 1] = ("y"):rep(length) .. length
end
collectgarbage()
collectgarbage()
for _, s in ipairs(kept) do
  local letters, number = s:match("^([xy]+)(%d+)$")
  assert(#letters == tonumber(number))
end
