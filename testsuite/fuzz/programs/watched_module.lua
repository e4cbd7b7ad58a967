-- SPDX-License-Identifier: MIT
-- What generated programs load as a file and as a module (units_watched.lua). It runs with the
-- globals of the process, where driver.lua puts the program's helpers.
local name = ...
W()
local seen = 0
for _ in pairs { 1, 2, 3, a = 4, b = 5 } do
  W()
  seen = seen + 1
end
L("module", type(name), seen)
local function last(n)
  W()
  if n == 0 then return seen end
  return last(n - 1)
end
return last(3), seen
