-- SPDX-License-Identifier: MIT
-- Chunks whose instructions write where the verifier did not see it: they overwrote what
-- it took for a table, for a prepared loop, or for the link of a variable to be closed.
local chunk = require "_chunk"
local op, refused = chunk.op, chunk.refused

-- FORPREP writes R[A+3] and then finds that the loop does not run.
refused({stack = 5, code = {
  op.LOADI(0, 10), op.LOADI(1, 0), op.LOADI(2, 2), op.NEWTABLE(3), 0, op.LOADI(4, 1),
  op.FORPREP(0, 1), op.FORLOOP(0, 1), op.RETURN0(0), op.SETLIST(3, 1), 0, op.RETURN0(0)}},
  "list for no table")

-- A prepared loop inside the registers of another one.
refused({stack = 5, code = {
  op.LOADI(0, 1), op.LOADI(1, 5), op.LOADI(2, 1), op.FORPREP(0, 2), op.LOADF(3, 1),
  op.FORPREP(1, 0),
  op.FORLOOP(0, 1), op.RETURN0(0)}}, "loop not prepared")

-- FORLOOP writes nothing when the loop ends.
refused({stack = 5, code = {
  op.LOADI(0, 1), op.LOADI(1, 1), op.LOADI(2, 1), op.FORPREP(0, 2), op.NEWTABLE(3), 0,
  op.FORLOOP(0, 3),
  op.RETURN1(4)}}, "register read before it is written")

-- TFORLOOP writes the control variable.
local function over_control(word)
  return {stack = 8, params = 1, code = {
    op.LOADNIL(1, 0), op.NEWTABLE(2), 0, op.LOADNIL(3, 0), op.TFORPREP(0, 3), word, 0, op.JMP(2),
    op.TFORCALL(0, 0, 1), op.TFORLOOP(0, 5), op.RETURN(0, 1, 1)}}
end
refused(over_control(op.SETLIST(2, 1)), "list for no table")
assert(chunk.load(over_control(op.LOADKX(5))) == nil) -- no constants
local calls = 0
assert(chunk.load(over_control(op.NEWTABLE(5))))(function()
  calls = calls + 1 return calls < 3 or nil
end)
assert(calls == 1) -- and out of the loop

-- ... and leaves what TFORCALL called with when it ends.
refused({stack = 8, params = 4, code = {
  op.TFORPREP(0, 0), op.TFORCALL(0, 0, 1), op.TFORLOOP(0, 1), op.RETURN(4, 2, 1)}},
  "register read before it is written")

-- TFORPREP uses the scratch of R[A+2], where a pending variable keeps its link.
refused({stack = 8, params = 1, code = {
  op.MOVE(2, 0), op.LOADNIL(0, 1), op.TBC(2), op.LOADNIL(3, 0), op.TFORPREP(0, 0),
  op.RETURN(0, 1, 1)}},
  "variables to be closed out of order")

-- Every way back has a safe point.
refused({stack = 2, code = {op.LOADTRUE(0), op.JMP(-1), op.RETURN0(0)}}, "loop without safe point")
refused({stack = 2, code = {op.LOADTRUE(0), op.TEST(0, 0, 1), op.JMP(-3), op.RETURN0(0)}},
  "loop without safe point")
assert(chunk.load {stack = 2, code = {op.LOADTRUE(0), op.LOOP(-1), op.RETURN0(0)}})

refused({stack = 2, code = {op.RETURN0(255)}}, "register out of range")
