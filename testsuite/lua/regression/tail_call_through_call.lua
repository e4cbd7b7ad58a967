-- SPDX-License-Identifier: MIT
-- A tail call of a value with __call is a proper tail call: it takes no stack.
local c = setmetatable({}, {__call = function(self, n)
  if n == 0 then return "called" end return self(n - 1) end})
assert(c(2000000) == "called")
-- and so is one through several such values
local d = setmetatable({}, {__call = c})
local e = setmetatable({}, {__call = function(_, n)
  if n == 0 then return 1 end return d(n - 1) end})
assert(not pcall(e, 3)) -- c gets the table d where it wants a number
