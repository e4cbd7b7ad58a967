-- SPDX-License-Identifier: MIT
-- load, loadfile, dofile; wrong options of collectgarbage.

local fails, write = require "_fails", require "_write"

-- strings
assert(load("return 1 + 1")() == 2)
assert(load("return ...", "name")(7) == 7)
local f, message = load("x x")
assert(f == nil and message == "[string \"x x\"]:1: syntax error near 'x'")
assert(select(2, load("x x", "=name")) == "name:1: syntax error near 'x'")
assert(select(2, load("x x", "@name")) == "name:1: syntax error near 'x'")
assert(select(2, load("x x", "name")) == "[string \"name\"]:1: syntax error near 'x'")
assert(load("")() == nil)
-- modes
assert(select(2, load("return 1", "x", "b")) == "attempt to load a text chunk (mode is 'b')")
local binary = string.dump(function() return 42 end)
assert(select(2, load(binary, "x", "t")) == "attempt to load a binary chunk (mode is 't')")
assert(load(binary, "x", "b")() == 42 and load(binary)() == 42)
-- environments
local env = {a = 7}
assert(load("return a", "x", "t", env)() == 7)
load("b = 1", "x", "t", env)()
assert(env.b == 1 and b == nil)
fails("index a nil value", load("return a", "x", "t", nil))
assert(load("return 5", "x", "t", nil)() == 5)
-- a binary chunk's first upvalue is set, whatever it was
local up = 3
local dumped = string.dump(function() return up end)
assert(load(dumped, "x", "b", "value")() == "value")
-- readers
local pieces, i = {"return ", "1", "0"}, 0
local function reader() i = i + 1 return pieces[i] end
assert(load(reader)() == 10)
-- an empty piece ends the chunk
pieces, i = {"return 5", "", " + never read"}, 0
assert(load(reader)() == 5)
assert(load(function() return nil end)() == nil)
f, message = load(function() return {} end)
assert(f == nil and string.find(message, "reader function must return a string", 1, true))
-- (without pcall, the program's own message handler would see these errors)
local _
_, f, message = pcall(load, function() error("broken", 0) end)
assert(f == nil and message == "broken")
_, f, message = pcall(load, function() error(env) end)
assert(f == nil and message == env)
fails("bad argument #1 to 'load' (function expected, got no value)", function() load() end)
-- a reader in small pieces, with collections in between
local text,
  at = "local t = {} for i = 1, 10 do t[i] = tostring(i) end return table.concat(t, ',')", 0
local h = load(function()
  collectgarbage("step") at = at + 1 return at <= #text and text:sub(at, at) or nil
end)
assert(h() == "1,2,3,4,5,6,7,8,9,10")

-- files
write("chunk.lua", "return 1, (...), select('#', ...)")
local one, first, count = loadfile("chunk.lua")("a", "b")
assert(one == 1 and first == "a" and count == 2)
assert(select("#", dofile("chunk.lua")) == 3)
write("env.lua", "return x")
assert(loadfile("env.lua", "t", {x = 9})() == 9)
write("comment.lua", "#! /usr/bin/env saros\nreturn debug.getinfo(1, 'l').currentline")
assert(dofile("comment.lua") == 2)
write("mark.lua", "\xEF\xBB\xBFreturn 'marked'")
assert(dofile("mark.lua") == "marked")
write("both.lua", "\xEF\xBB\xBF# a comment\nreturn debug.getinfo(1, 'l').currentline")
assert(dofile("both.lua") == 2)
write("only.lua", "# nothing else")
assert(select("#", dofile("only.lua")) == 0)
write("empty.lua", "")
assert(select("#", dofile("empty.lua")) == 0)
write("half.lua", "\xEF\xBBreturn 1")
assert(loadfile("half.lua") == nil)
write("binary.luac", binary)
assert(dofile("binary.luac") == 42)
write("binary2.luac", "# with a comment\n" .. binary)
assert(dofile("binary2.luac") == 42)
assert(select(2, loadfile("binary.luac",
  "t")):find("attempt to load a binary chunk (mode is 't')", 1, true))
assert(select(2, loadfile("chunk.lua",
  "b")):find("attempt to load a text chunk (mode is 'b')", 1, true))
write("wrong.lua", "\n\nx x")
assert(select(2, loadfile("wrong.lua")) == "wrong.lua:3: syntax error near 'x'")
assert(select(2, loadfile("none.lua")) == "cannot open none.lua: No such file or directory")
assert(select(2, loadfile(".")) == "cannot read .: Is a directory")
fails("cannot open none.lua: No such file or directory", dofile, "none.lua")
fails("wrong.lua:3: syntax error near 'x'", dofile, "wrong.lua")
-- a long file, beyond any buffer
write("long.lua", string.rep("-- filler\n", 5000) .. "return debug.getinfo(1, 'l').currentline")
assert(dofile("long.lua") == 5001)
-- dofile across a yield
write("yields.lua", "return coroutine.yield('from file')")
local co = coroutine.wrap(function() return dofile("yields.lua") end)
assert(co() == "from file" and co("back") == "back")

fails("bad argument #1 to 'collectgarbage' (invalid option 'foo')", function()
  collectgarbage("foo")
end)
fails("bad argument #2 to 'collectgarbage' (number expected, got string)", function()
  collectgarbage("step", "x")
end)
