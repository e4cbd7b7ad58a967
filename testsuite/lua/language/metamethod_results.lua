-- SPDX-License-Identifier: MIT
-- What an instruction makes of what a metamethod returns: none, one or several values,
-- from Lua functions of each kind, from C functions, after a yield, under hooks.

-- Makes functions that end with the value `give(...)` computes, each in a way of its own.
local ways = {
  one = function(give) return function(a, b, c) return (give(a, b, c)) end end,
  variable = function(give) return function(a, b, c) local v = give(a, b, c) return v end end,
  several = function(give) return function(a, b, c) return give(a, b, c), 1, 2 end end,
  varargs = function(give) return function(...) return give(...) end end,
  tail_call = function(give) return function(a, b, c) return give(a, b, c) end end,
  closing = function(give)
    return function(a, b, c)
      local v <close> = setmetatable({}, {__close = function() end})
      local w = give(a, b, c)
      return w
    end
  end,
  captured = function(give)
    return function(a, b, c)
      local v = give(a, b, c)
      local f = function() return v end
      return f()
    end
  end,
  caught = function(give) return function(a, b, c) return select(2, pcall(give, a, b, c)) end end,
  yielding = function(give)
    return function(a, b, c)
      local v = give(a, b, c)
      if coroutine.isyieldable() then v = coroutine.yield(v) end
      return v
    end
  end,
  itself = function(give) return give end,
}

local seen
local function check(way, make)
  local mt = {}
  local o, p = setmetatable({}, mt), setmetatable({}, mt)
  local function gives(value) return make(function(...) seen = {...} return value end) end

  for _, value in ipairs {1, 2.5, "string", true, {}} do
    for _, e in ipairs {"index", "add", "sub", "mul", "div", "mod", "pow", "idiv", "band", "bor",
                        "bxor", "shl", "shr", "unm", "bnot", "len", "concat"} do
      mt["__" .. e] = gives(value)
    end
    local function is(v) assert(v == value, way) end
    is(o.field) is(o[1]) is(o[300]) is(o[way]) is(o[{}])
    is(o + p) is(o + 1) is(1 + o) is(o + 1000) is(o - p) is(o - 1) is(2 - o)
    is(o * p) is(o * 2) is(o / p) is(o / 2)
    is(o % p) is(o % 2) is(o ^ p) is(o ^ 2) is(o // p) is(o // 2)
    is(o & p) is(o & 1) is(o | p) is(o | 1) is(o ~ p) is(o ~ 1)
    is(o << p) is(o << 1) is(1 << o) is(o >> p) is(o >> 1)
    is(-o) is(~o) is(#o) is(o .. p) is(o .. "x") is("x" .. o)
    local inner = setmetatable({}, {__index = o})
    is(inner.field) is(inner[1])
    assert(seen[1] == o and seen[2] == 1)
    do
      local _ENV = o
      is(some_global)
    end
    local method = o.call == value and function(v) return v end
    mt.__index = gives(method)
    assert(o:call() == o)
    assert(seen[1] == o and seen[2] == "call")
  end

  -- joins what is left of the operands with the result
  mt.__concat = gives("joined")
  assert("a" .. "b" .. o == "ajoined" and seen[1] == "b")
  mt.__concat = gives(o)
  assert(("a" .. "b" .. "c" .. o) == o and seen[1] == "a" and seen[2] == o)

  for _, value in ipairs {true, 0, false} do
    mt.__eq, mt.__lt, mt.__le = gives(value), gives(value), gives(value)
    local truth = value and true
    assert((o == p) == truth and (o ~= p) == not truth, way)
    assert((o < p) == truth and (o <= p) == truth and (o > p) == truth and (o >= p) == truth)
    assert((o < 1) == truth and (o <= 1) == truth and (o > 1) == truth and (o >= 1) == truth)
    assert((1 < o) == truth)
    if o < p then assert(truth) else assert(not truth) end
    if not (o <= 1) then assert(not truth) else assert(truth) end
    mt.__le = nil -- not p < o
    assert((o <= p) == not truth and (o >= p) == not truth and (o <= 1) == not truth)
    assert(seen[1] == 1 and seen[2] == o)
  end

  mt.__newindex = gives(5)
  local function stored(key)
    assert(seen[1] == o and seen[2] == key and seen[3] == 7 and rawget(o, key) == nil, way)
  end
  o.field = 7 stored "field"
  o[1] = 7 stored(1)
  o[300] = 7 stored(300)
  o[way] = 7 stored(way)
  local v = 7
  o.field = v stored "field"
  o[2] = v stored(2)
  o[p] = v stored(p)
  local outer = setmetatable({}, {__newindex = o})
  outer.field = 7 stored "field"
  outer[3] = v stored(3)

  local closed = 0
  local closes = setmetatable({}, {__close = make(function() closed = closed + 1 end)})
  do
    local a <close> = closes
    local b <close> = closes
  end
  assert(closed == 2, way)
  local function returns()
    local a <close> = closes
    local b <close> = closes
    return 1, 2, 3
  end
  assert(select("#", returns()) == 3 and select(3, returns()) == 3 and closed == 6)
end

local function check_all()
  for way, make in pairs(ways) do check(way, make) end
end
check_all()

-- in a coroutine: `yielding` yields in each of them
local co = coroutine.create(check_all)
local ok, value = coroutine.resume(co)
local yields = 0
while ok and coroutine.status(co) ~= "dead" do
  yields = yields + 1
  ok, value = coroutine.resume(co, value)
end
assert(ok, value)
assert(yields > 200, yields)

-- those that return nothing
local function none() end
local nothing = setmetatable({},
  {__index = none, __add = none, __len = function() return end, __eq = none,
  __lt = none, __concat = none, __unm = function(...) return ... end, __newindex = none})
local r = 1
r = nothing.field assert(r == nil) r = 1
r = nothing[1] assert(r == nil) r = 1
r = nothing + 1 assert(r == nil) r = 1
r = #nothing assert(r == nil) r = 1
r = nothing .. "x" assert(r == nil) r = 1
assert(-nothing == nothing)
assert(not (nothing < nothing) and nothing > nothing == false)
nothing.field = 1
assert(nothing.field == nil)

-- C functions that return nothing, and several values
local c = setmetatable({}, {__index = function(t, k) return math.modf(2.5) end})
r = c.field assert(r == 2)
c = setmetatable({}, {__index = select, __newindex = rawset, __len = rawlen, __unm = type,
  __eq = rawequal})
assert(#c == 0 and -c == "table")
c.field = 5
assert(rawget(c, "field") == 5)
c[1] = 6
assert(c[1] == 6 and #c == 1)
assert(c ~= setmetatable({}, getmetatable(c)))
assert(not pcall(function() return c[2] end)) -- select: bad argument
c = setmetatable({}, {__index = warn or print})
assert(not pcall(function() return c.absent end)) -- warn: bad argument
do
  local v <close> = setmetatable({}, {__close = rawlen})
end

-- hooks see the same calls and returns, and disturb nothing
for _, mask in ipairs {"c", "r", "l", "crl"} do
  local calls, returns = 0, 0
  debug.sethook(function(event)
    if event == "call" or event == "tail call" then calls = calls + 1 end
    if event == "return" then returns = returns + 1 end
  end, mask)
  local o = setmetatable({}, {__index = function(_, k) return k end,
    __add = function() return 1, 2 end,
    __eq = function() return 1 end})
  local a, b, c = o.field, o + 1, o == setmetatable({}, getmetatable(o))
  debug.sethook()
  assert(a == "field" and b == 1 and c == true)
  if mask == "crl" then assert(calls >= 3 and returns >= 3) end
end
debug.sethook(function() end, "", 1)
check_all()
debug.sethook()

-- errors name what they name, and where
local ok, message = pcall(function()
  local t = setmetatable({}, {__index = function(t, k) error(k) end})
  return t.field
end)
assert(not ok and message:find "metamethod_results.lua:%d+: field$")
ok, message = pcall(function()
  local t = setmetatable({}, {__index = function(t, k) return k .. rawget(t, k).y end})
  return t.field
end)
assert(not ok and message:find "attempt to index a nil value")
local traceback
local function note_traceback() traceback = debug.traceback() return 1 end
local noted = setmetatable({},
  {__index = note_traceback, __newindex = note_traceback, __add = note_traceback})
r = noted.field
assert(traceback:find "in metamethod 'index'")
noted.field = 1
assert(traceback:find "in metamethod 'newindex'")
r = noted + 1
assert(traceback:find "in metamethod 'add'")
