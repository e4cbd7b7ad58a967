-- SPDX-License-Identifier: MIT
-- A string that string.dump has made, or that was loaded before, is not verified again.
-- One with other bytes is, however it was made from it.
local function f(a, ...)
  local t = {a, ...}
  for i = 1, #t do t[i] = t[i] .. "a constant" end
  return function() return t, a end
end

local chunk = string.dump(f)
for _ = 1, 3 do
  local again = assert(load(chunk, "chunk", "b"))
  assert(again(1, 2)()[2] == "2a constant")
  assert(string.dump(again) == chunk)
  collectgarbage()
end
assert(load(chunk .. "", "chunk", "b"))
assert(not load(chunk, "chunk", "t"))

-- each byte in turn, loaded twice: refused both times with the same words, or taken both
-- times
local refused = 0
for i = 1, #chunk do
  local harmed = chunk:sub(1, i - 1) .. string.char(chunk:byte(i) ~ 0xff) .. chunk:sub(i + 1)
  local first, why = load(harmed, "chunk")
  local second, why_again = load(harmed, "chunk")
  assert(not first == not second and why == why_again)
  if not first then refused = refused + 1 end
end
assert(refused > #chunk / 2)

-- with equal bytes, in pieces
local i = 0
assert(load(function() i = i + 1 return i <= #chunk and chunk:sub(i, i) or nil end))
-- a chunk with something behind its end, which is never read
assert(load(chunk .. "x") and load(chunk .. "x"))

-- a string that is short, and no chunk
assert(not load("\27Lua") and not load("\27Lua"))
