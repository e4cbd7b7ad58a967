-- SPDX-License-Identifier: MIT
-- Extra arguments were reclaimed while they were in use: a frame that a minor collection
-- had scanned became that of a vararg function, whose slot is above them.
local rounds = tonumber(os.getenv "TEST_SLOWNESS" or 1) > 1 and 50 or 500

local function junk()
  local list = {}
  for i = 1, 20 do list[i] = "junk" .. i .. #list end
  return list
end

-- A step and garbage, then the extra arguments are read.
local function last(...)
  collectgarbage "step"
  junk()
  return select(2, ...)
end
local function second(fixed, ...)
  collectgarbage "step"
  junk()
  return (select(2, fixed, ...))
end
local callable = setmetatable({}, {__call = function(self, ...) return last(...) end})
local moved = setmetatable({}, {__call = last})

-- Each calls a vararg function from a frame that has been scanned.
local ways = {
  function(i) collectgarbage "step" return last("D", "fresh" .. i, {i}) end,
  function(i) collectgarbage "step" return second("D", "fresh" .. i, {i}) end,
  function(i) collectgarbage "step" return callable("D", "fresh" .. i, {i}) end,
  function(i) collectgarbage "step" return moved("fresh" .. i, {i}) end,
  function(...) collectgarbage "step" return last(..., "fresh" .. ..., {...}) end,
  function(i) collectgarbage "step" return select(2, pcall(last, "D", "fresh" .. i, {i})) end,
  function(i) collectgarbage "step" return coroutine.wrap(last)("D", "fresh" .. i, {i}) end,
  function(i)
    return coroutine.wrap(function(...)
      collectgarbage "step"
      coroutine.yield()
      return last("D", "fresh" .. i, {...})
    end)(i) or "fresh" .. i
  end,
}
for number, way in ipairs(ways) do
  for i = 1, rounds do
    local result = way(i)
    assert(result == "fresh" .. i, number .. ": " .. tostring(result))
  end
end

-- A generation that hands on to another: the frame is moved up and down again and again.
local function bounce(n, ...)
  collectgarbage "step"
  if n == 0 then junk() return ... end
  return bounce(n - 1, "x" .. n, ...)
end
local function fixed(n, a, b)
  collectgarbage "step"
  if n == 0 then return a, b end
  return bounce(3, "y" .. n, a, b)
end
for i = 1, rounds do
  local a, b, c, d, e, f = fixed(1, "a" .. i, "b" .. i)
  assert(a == "x1" and b == "x2" and c == "x3" and d == "y1" and e == "a" .. i and f == "b" .. i)
end

-- A hook for calls runs, and collects, before the frame takes its place.
local function hooked(i)
  debug.sethook(function() collectgarbage "step" end, "c")
  local a, b = last("D", "fresh" .. i, {i})
  debug.sethook()
  return a
end
for i = 1, rounds do assert(hooked(i) == "fresh" .. i) end
