-- SPDX-License-Identifier: MIT
-- The state that functions of the library keep in their upvalues can be read, not
-- replaced.

local iterator = ("a b c"):gmatch "%a"
assert(debug.getupvalue(iterator, 1) == "")
for i = 1, 4 do
  assert(debug.setupvalue(iterator, i, 5) == nil)
  assert(debug.setupvalue(string.find, i, 5) == nil)
end
assert(iterator() == "a" and iterator() == "b")
assert(("abc"):find "b" == 2)

local value = 1
local function f() return value end
assert(debug.setupvalue(f, 1, 2) == "value" and f() == 2)
