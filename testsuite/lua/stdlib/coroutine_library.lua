-- SPDX-License-Identifier: MIT
-- The coroutine library: results, statuses and messages.

local fails = require "_fails"

-- create, resume, yield, status
local co = coroutine.create(function(a, b)
  assert(a == 1 and b == nil)
  local c, d = coroutine.yield("y1", "y2")
  assert(c == "r1" and d == nil)
  return "done", nil
end)
assert(type(co) == "thread" and coroutine.status(co) == "suspended")
local r = table.pack(coroutine.resume(co, 1))
assert(r.n == 3 and r[1] == true and r[2] == "y1" and r[3] == "y2")
assert(coroutine.status(co) == "suspended")
r = table.pack(coroutine.resume(co, "r1"))
assert(r.n == 3 and r[2] == "done" and coroutine.status(co) == "dead")
r = table.pack(coroutine.resume(co))
assert(r.n == 2 and r[1] == false and r[2] == "cannot resume dead coroutine")

-- statuses seen from inside
local outer
outer = coroutine.create(function()
  assert(coroutine.status(outer) == "running")
  local inner = coroutine.create(function() return coroutine.status(outer) end)
  return select(2, coroutine.resume(inner))
end)
assert(select(2, coroutine.resume(outer)) == "normal")

-- running, isyieldable
local main, is_main = coroutine.running()
assert(type(main) == "thread" and is_main == true)
assert(not coroutine.isyieldable() and not coroutine.isyieldable(main))
co = coroutine.create(function()
  local me, is_main = coroutine.running()
  assert(me == co and not is_main and coroutine.isyieldable() and not coroutine.isyieldable(main))
end)
assert(coroutine.isyieldable(co))
assert(coroutine.resume(co))

-- coroutines that cannot be resumed
r = table.pack(coroutine.resume(main))
assert(r[1] == false and r[2] == "cannot resume non-suspended coroutine")
co = coroutine.create(function() return coroutine.resume(co) end)
r = table.pack(coroutine.resume(co))
assert(r[1] == true and r[2] == false and r[3] == "cannot resume non-suspended coroutine")
fails("attempt to yield from outside a coroutine", coroutine.yield)

-- errors
co = coroutine.create(function() error("text") end)
r = table.pack(coroutine.resume(co))
assert(r.n == 2 and r[1] == false and string.match(r[2], "coroutine_library.lua:%d+: text$"))
assert(coroutine.status(co) == "dead")
local object = {}
r = table.pack(coroutine.resume(coroutine.create(function() error(object) end)))
assert(r[2] == object)

-- wrap
local gen = coroutine.wrap(function(...)
  local n = select("#", ...) for i = 1, 3 do n = coroutine.yield(n, i) end
end)
assert(gen(nil, nil) == 2 and select(2, gen("x")) == 2 and gen("z") == "z" and gen() == nil)
fails("cannot resume dead coroutine", gen)
local wrapped = coroutine.wrap(function() error("inside", 0) end)
local ok, message = pcall(function() wrapped() end)
assert(not ok and string.match(message, "coroutine_library.lua:%d+: inside$"))
wrapped = coroutine.wrap(function() error(object) end)
ok, message = pcall(wrapped)
assert(message == object)
-- an error through wrap closes what is pending
local closed
wrapped = coroutine.wrap(function()
  local guard <close> = setmetatable({}, {__close = function(_, e) closed = e end})
  error("pending", 0)
end)
ok, message = pcall(wrapped)
assert(not ok and closed == "pending")

-- close
co = coroutine.create(print)
assert(coroutine.close(co) == true and coroutine.status(co) == "dead")
local order = {}
co = coroutine.create(function()
  local a <close> = setmetatable({}, {__close = function() order[#order + 1] = "a" end})
  local b <close> = setmetatable({}, {__close = function() order[#order + 1] = "b" end})
  coroutine.yield()
end)
coroutine.resume(co)
assert(coroutine.close(co) == true and table.concat(order) == "ba")
co = coroutine.create(function()
  local a <close> = setmetatable({}, {__close = function() error("in close", 0) end})
  coroutine.yield()
end)
coroutine.resume(co)
r = table.pack(coroutine.close(co))
assert(r.n == 2 and r[1] == false and r[2] == "in close" and coroutine.status(co) == "dead")
assert(coroutine.close(co) == true)
co = coroutine.create(function() error("first", 0) end)
coroutine.resume(co)
r = table.pack(coroutine.close(co))
assert(r[1] == false and r[2] == "first")
fails("cannot close a running coroutine", coroutine.close, main)
outer = coroutine.create(function()
  return coroutine.resume(coroutine.create(function() coroutine.close(outer) end))
end)
r = table.pack(coroutine.resume(outer))
assert(r[2] == false and string.find(r[3], "cannot close a normal coroutine", 1, true))

-- argument checks
fails("bad argument #1 to 'create' (function expected, got no value)", function()
  coroutine.create()
end)
fails("bad argument #1 to 'resume' (thread expected, got number)", function()
  coroutine.resume(1)
end)
fails("bad argument #1 to 'status' (thread expected, got no value)", function()
  coroutine.status()
end)
fails("bad argument #1 to 'wrap' (function expected, got number)", function() coroutine.wrap(1) end)
fails("bad argument #1 to 'isyieldable' (thread expected, got number)", function()
  coroutine.isyieldable(1)
end)

-- many values in both directions
co = coroutine.wrap(function(...)
  while true do coroutine.yield(select("#", ...), table.unpack({...}, 1, select("#", ...))) end
end)
local many = {}
for i = 1, 2000 do many[i] = i end
r = table.pack(co(table.unpack(many)))
assert(r.n == 2001 and r[1] == 2000 and r[2001] == 2000)

-- deep nesting of coroutines ends in an error, not in a crash
local function nest(n) return coroutine.wrap(function() return nest(n + 1) end)() end
ok, message = pcall(nest, 1)
assert(not ok and string.find(message, "C stack overflow", 1, true), message)

-- resume, yield, wrap called through other C functions
co = coroutine.create(function() return pcall(coroutine.yield, "through pcall") end)
assert(select(2, coroutine.resume(co)) == "through pcall")
r = table.pack(coroutine.resume(co, 5))
assert(r[2] == true and r[3] == 5)
r = table.pack(pcall(coroutine.resume, coroutine.create(function() return 1, 2 end)))
assert(r.n == 4 and r[4] == 2)
local t = setmetatable({}, {__index = coroutine.wrap(function(_, k)
  while true do _, k = coroutine.yield(k .. "!") end end)})
assert(t.a == "a!" and t.b == "b!")
