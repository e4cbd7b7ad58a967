-- SPDX-License-Identifier: MIT
-- Finalizers that run between two instructions, of C or of Lua, make no line event of their own,
-- and none of the line that they interrupt.
local function open() assert(io.open(arg[0])) end
local function with_values(...) return select("#", ...) end
local function finalize(object)
  local n = 0
  for i = 1, 2 do n = n + with_values(object, i) end
end
local function finalized() setmetatable({}, {__gc = finalize}) end

local function lines_of(f, make)
  local n = 0
  debug.sethook(function() n = n + 1 end, "l")
  f(make)
  debug.sethook()
  return n
end

local function loop(make)
  local kept = {}
  for i = 1, 2000 do make() kept[i % 10 + 1] = {} kept[i % 7 + 1] = i .. "text" end
  return kept
end
local function without() local _ = {} end

local expected = lines_of(loop, without)
for _ = 1, 3 do
  assert(lines_of(loop, finalized) == expected)
  assert(lines_of(loop, open) == expected)
end
