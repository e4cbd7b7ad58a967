-- SPDX-License-Identifier: MIT
-- Names of local variables in a chunk do not lead beyond the registers of the function.
local chunk = require "_chunk"
local op, refused = chunk.op, chunk.refused

local function with_locals(locals)
  return {stack = 4, params = 1, locals = locals,
          code = {op.LOADNIL(1, 1), op.MOVE(1, 0), op.CALL(1, 1, 1), op.RETURN0(0)}}
end
local function many(n, from, length)
  local locals = {}
  for i = 1, n do locals[i] = {"v" .. i, from, length} end
  return locals
end

refused(with_locals(many(5, 0, 4)), "bad local variable")
refused(with_locals(many(200, 0, 4)), "bad local variable")
refused(with_locals {{"a", 2, 1}, {"b", 0, 1}}, "bad local variable") -- not in order
assert(chunk.load(with_locals(many(5, 4, 0)))) -- never active

-- Those that the frame of a called function covers are not the caller's.
local seen
local f = assert(chunk.load(with_locals(many(4, 0, 4))))
f(function()
  local first, second = debug.getlocal(2, 1), debug.getlocal(2, 2)
  seen = {first, second or false}
  local mine = "mine"
  for i = 2, 4 do debug.setlocal(2, i, "overwritten") end
  assert(mine == "mine")
end)
assert(seen[1] == "v1" and seen[2] == false)
