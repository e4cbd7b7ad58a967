-- SPDX-License-Identifier: MIT
-- What can be sent between domains, and what happens to it.
local domain = require "saros.domain"

-- through a channel within one domain: the same copying, without threads
local pipe = domain.channel(1)
local function copy(v)
  assert(pipe:send(v))
  return pipe:receive()
end

-- scalars
for _, v in ipairs {0, 1, -1, math.maxinteger, math.mininteger, 1.5, -0.0, 1e308,
  math.huge, true, false,
    "", "short", ("x"):rep(40), ("x"):rep(41), ("x"):rep(8100), ("x"):rep(8200),
    ("\0y"):rep(100000)} do
  local c = copy(v)
  assert(c == v and math.type(c) == math.type(v))
end
assert(1 / copy(-0.0) == -math.huge)
local nan = copy(0 / 0)
assert(nan ~= nan)
assert(copy(nil) == nil)

-- tables: kinds of keys, holes, nesting
do
  local t = {1, 2, nil, 4, [10] = "ten", [1.5] = "float", [true] = "yes",
    name = {deep = {er = 1}}, [-1] = false}
  local c = copy(t)
  assert(c ~= t and c[1] == 1 and c[2] == 2 and c[3] == nil and c[4] == 4 and c[10] == "ten" and
    c[1.5] == "float")
  assert(c[true] == "yes" and c.name.deep.er == 1 and c[-1] == false)
  local n = 0
  for k, v in pairs(c) do n = n + 1 end
  assert(n == 8)
  assert(next(copy({})) == nil)
  local big = {}
  for i = 1, 10000 do big[i] = i; big["k" .. i] = {i} end
  c = copy(big)
  assert(#c == 10000)
  for i = 1, 10000 do assert(c[i] == i and c["k" .. i][1] == i) end
end

-- sharing and cycles are kept, also among keys, long strings, several values of a spawn
do
  local part = {}
  local t = {part, part, key = {[part] = "by identity"}}
  t.self = t
  t[t] = t
  local c = copy(t)
  assert(c[1] == c[2] and c[1] ~= part and c.key[c[1]] == "by identity" and
    c.self == c and c[c] == c)
  local same = domain.spawn(function(a, b) return a == b and a.x == b end, part, part)
  part.x = part
  assert(domain.spawn(function(a, b) return a == b and a.x == b end, part, part):join())
  assert(same:join() == false)
end

-- deep structures do not use the C stack
do
  local chain = {}
  local top = chain
  for i = 1, 200000 // (tonumber(os.getenv "TEST_SLOWNESS") or 1) do
    local link = {}
    chain.next = link
    chain = link
  end
  chain.last = true
  local c = copy(top)
  while c.next do c = c.next end
  assert(c.last)
  local f = function() return "bottom" end
  for i = 1, 1000 do
    local inner = f
    f = function() return inner() end
  end
  assert(copy(f)() == "bottom")
end

-- functions: upvalues copied, shared ones stay shared, recursion, _ENV
do
  local n = 0
  local function add() n = n + 1 return n end
  local function get() return n end
  local c = copy({add = add, get = get})
  assert(c.add() == 1 and c.get() == 1 and n == 0 and c.add() == 2 and c.get() == 2)
  local function even(k)
    local function odd(j) if j == 0 then return false end return even(j - 1) end
    if k == 0 then return true end
    return odd(k - 1)
  end
  assert(copy(even)(10) and not copy(even)(7))
  assert(domain.spawn(even, 8):join() == true)
  local env = {print = print, x = 42}
  local f = load("x = x + 1 return x", "chunk", "t", env)
  assert(copy(f)() == 43 and env.x == 42)
  assert(copy(function() return _G end)() == _G and copy(_G) == _G)
  -- in another domain the globals are that domain's
  assert(domain.spawn(function(g) return g == _G and g ~= nil end, _G):join())
  -- varargs, constants, nested functions, debug information
  local function outer(...)
    local a = ... return function() return a, 1.5, "k", error("here", 1) end
  end
  local ok, message = pcall(copy(outer)(5))
  assert(not ok and message:find("values.lua:%d+: here"))
  -- the code is not shared: caches of one domain are no business of another's
  local get = function(t) return t.field end
  assert(get({field = 1}) == 1 and copy(get)({other = 1, field = 2}) == 2)
end

-- C functions, and modules, are the receiver's own
do
  local format, insert, open, require = string.format, table.insert, io.open, require
  local random = math.random
  assert(copy(format) == format and copy(insert) == insert and copy(pcall) == pcall and
    copy(next) == next)
  assert(copy(string) == string and copy(domain) == domain)
  local h = domain.spawn(function()
    return format("%d", 3), random == math.random, require "saros.domain" == domain,
      domain.self().id,
      open == io.open
  end)
  local text, same, module, id, opens = h:join()
  assert(text == "3" and same and module and id ~= 0 and opens)
end

-- metatables: copied with the table; agreed ones are the receiver's
do
  local Class = {}
  Class.__index = Class
  function Class:get() return self.v end
  local o = copy(setmetatable({v = 7}, Class))
  assert(o:get() == 7 and getmetatable(o) ~= Class and
    rawequal(getmetatable(o).__index, getmetatable(o)))
  domain.metatable("values.Class", Class)
  o = copy(setmetatable({v = 8}, Class))
  assert(getmetatable(o) == Class and o:get() == 8)
  local h = domain.spawn(function(ch)
    local mt = domain.metatable("values.Class", {__index = {get = function() return "there" end}})
    return ch:receive():get()
  end, pipe)
  pipe:send(setmetatable({}, Class))
  assert(h:join() == "there")
  h = domain.spawn(function(ch) return pcall(ch.receive, ch) end, pipe)
  pipe:send(setmetatable({}, Class))
  local ok, message = h:join()
  assert(not ok and message:find("no metatable is agreed on as 'values.Class'", 1, true))
end

-- channels: the same one has the same handle
do
  local other = domain.channel()
  assert(copy(other) == other and copy({other}).n == nil)
  local t = copy({other, other, pipe})
  assert(t[1] == other and t[2] == other and t[3] == pipe)
end

-- what cannot be sent: the message says where it is
do
  local co = coroutine.create(print)
  local wrap = coroutine.wrap(print)
  local function fails(v, expected)
    local ok, message = pcall(pipe.send, pipe, v)
    assert(not ok and message == expected, message)
    assert(#pipe == 0)
  end
  fails(io.stdout, "arg: cannot send a userdata")
  fails({list = {1, 2, {file = io.stdout}}}, "arg.list[3].file: cannot send a userdata")
  fails({["a b"] = {[1.5] = {[true] = co}}}, 'arg["a b"][1.5][true]: cannot send a coroutine')
  fails({x = {[io.stdout] = 1}}, "arg.x, a key: cannot send a userdata")
  fails({[{}] = wrap}, "arg[a table]: cannot send a C function with upvalues")
  fails(function() return co end, "arg, upvalue co: cannot send a coroutine")
  fails({f = function() return wrap end},
    "arg.f, upvalue wrap: cannot send a C function with upvalues")
  fails(setmetatable({}, {__index = {io.stdout}}),
    "arg, metatable.__index[1]: cannot send a userdata")
  fails({setmetatable({}, {__gc = function() end})},
    "arg[1], metatable: cannot send a table with a finalizer")
  fails(domain.self(), "arg: cannot send a userdata")
  local ok, message = pcall(domain.spawn, function() end, 1, {co})
  assert(not ok and message == "arg[2][1]: cannot send a coroutine", message)
  ok, message = pcall(domain.spawn, function() return {co} end)
  assert(not ok and message == "function, upvalue co: cannot send a coroutine", message)
  local deep = {io.stdout}
  for i = 1, 1000 do deep = {field = deep} end
  ok, message = pcall(pipe.send, pipe, deep)
  assert(not ok and message:find("^%.%.%..*%.field%[1%]: cannot send a userdata$"), message)
end
