-- SPDX-License-Identifier: MIT
-- Every metamethod, with the operands in both orders and mixed types.

local fails = require "_fails"

do -- arithmetic, bitwise, concatenation, length: what is called, with what
  local events = { "add", "sub", "mul", "div", "mod", "pow", "unm", "idiv", "band", "bor", "bxor",
    "shl", "shr", "bnot", "concat", "len" }
  local mt, log = {}, nil
  for _, event in ipairs(events) do
    mt["__" .. event] = function(a, b) log = { event, a, b } return event end
  end
  local o = setmetatable({}, mt)
  local function got(event, a, b)
    local ok = log and log[1] == event and rawequal(log[2], a) and
      (b == "any" or rawequal(log[3], b))
    log = nil
    return ok
  end
  assert(o + 1 == "add" and got("add", o, 1)) assert(1 + o == "add" and got("add", 1, o))
  assert(o - 1.5 == "sub" and got("sub", o, 1.5)) assert("x" - o == "sub" and got("sub", "x", o))
  assert(o * o == "mul" and got("mul", o, o)) assert(2 * o == "mul" and got("mul", 2, o))
  assert(o / nil == "div" and got("div", o, nil)) assert(true / o == "div" and got("div", true, o))
  assert(o % 2 == "mod" and got("mod", o, 2)) assert(2 % o == "mod" and got("mod", 2, o))
  assert(o ^ 2 == "pow" and got("pow", o, 2)) assert(2 ^ o == "pow" and got("pow", 2, o))
  assert(-o == "unm" and got("unm", o, "any"))
  assert(o // 1 == "idiv" and got("idiv", o, 1)) assert(1 // o == "idiv" and got("idiv", 1, o))
  assert(o & 1 == "band" and got("band", o, 1)) assert(1 & o == "band" and got("band", 1, o))
  assert(o | 1 == "bor" and got("bor", o, 1)) assert(1.5 | o == "bor" and got("bor", 1.5, o))
  assert(o ~ 1 == "bxor" and got("bxor", o, 1)) assert("a" ~ o == "bxor" and got("bxor", "a", o))
  assert(o << 1 == "shl" and got("shl", o, 1)) assert(1 << o == "shl" and got("shl", 1, o))
  assert(o >> 1 == "shr" and got("shr", o, 1)) assert(1 >> o == "shr" and got("shr", 1, o))
  assert(~o == "bnot" and got("bnot", o, "any"))
  assert(o .. "s" == "concat" and got("concat", o, "s"))
  assert("s" .. o == "concat" and got("concat", "s", o))
  assert(o .. 1 == "concat" and got("concat", o, 1))
  assert(o .. nil == "concat" and got("concat", o, nil))
  assert(#o == "len" and got("len", o, "any"))
  local k, f = 3, 2.5
  assert(o + k == "add" and got("add", o, k)) assert(f - o == "sub" and got("sub", f, o))
end

do -- the left operand's method wins; a result is adjusted to one value
  local function with(name)
    return setmetatable({}, { __add = function() return name, "extra" end })
  end
  local a, b = with "a", with "b"
  assert(a + b == "a" and b + a == "b")
  local t = { a + b }
  assert(#t == 1)
  local only_right = setmetatable({}, { __sub = function() return "right" end })
  assert({} - only_right == "right")
  fails("attempt to perform arithmetic on a table value", function() return {} + {} end)
end

do -- concatenation chains: right associative, strings and numbers join first
  local calls = {}
  local mt = {}
  mt.__concat = function(a, b)
    local function s(x) return type(x) == "table" and x.n or tostring(x) end
    calls[#calls + 1] = s(a) .. "+" .. s(b)
    return setmetatable({ n = "(" .. s(a) .. s(b) .. ")" }, mt)
  end
  local x = setmetatable({ n = "x" }, mt)
  local r = "a" .. "b" .. x .. "c" .. "d"
  assert(r.n == "(a(b(xcd)))", r.n)
  assert(table.concat(calls, " ") == "x+cd b+(xcd) a+(b(xcd))")
end

do -- index and newindex: tables, functions, chains, rawget and rawset
  local base = { inherited = 1 }
  local mid = setmetatable({ own = 2 }, { __index = base })
  local t = setmetatable({}, { __index = mid })
  assert(t.inherited == 1 and t.own == 2 and t.absent == nil and rawget(t, "own") == nil)
  t.own = 3
  assert(t.own == 3 and mid.own == 2)
  local asked = {}
  local p = setmetatable({ present = false },
    { __index = function(self, k) asked[#asked + 1] = k return k, "dropped" end })
  assert(p.x == "x" and p[1] == 1 and p.present == false and #asked == 2)
  assert(select("#", p.y) == 1)
  local written = {}
  local w = setmetatable({ has = 1 }, { __newindex = function(self, k, v) written[k] = v end })
  w.has, w.new = 2, 3
  assert(w.has == 2 and rawget(w, "new") == nil and written.new == 3 and written.has == nil)
  rawset(w, "new", 4)
  assert(w.new == 4)
  local store = {}
  local v = setmetatable({}, { __newindex = store })
  v.a = 1
  assert(rawget(v, "a") == nil and store.a == 1)
  -- through several levels of newindex tables
  local deep = setmetatable({}, { __newindex = v })
  deep.b = 2
  assert(store.b == 2 and rawget(deep, "b") == nil)
  -- a key that is present with a nil value counts as absent
  local n = setmetatable({ k = 1 }, { __newindex = function(t2, k, val) rawset(t2, k, "via") end })
  n.k = nil
  n.k = 5
  assert(n.k == "via")
  -- index on values that are no tables
  debug.setmetatable(5, { __index = function(self, k) return self .. k end })
  local five = 5
  assert(five.x == "5x")
  debug.setmetatable(5, nil)
  assert(("abc").len == string.len)
  fails("attempt to index a number value", function() return five.x end)
  -- integer keys and method calls
  local arr = setmetatable({ 10 }, { __index = function(_, k) return k * 100 end })
  assert(arr[1] == 10 and arr[2] == 200)
  local obj = setmetatable({}, { __index = { m = function(self, x) return self, x end } })
  local s, x = obj:m(5)
  assert(s == obj and x == 5)
end

do -- a metamethod that is added later is seen
  local mt = {}
  local t = setmetatable({}, mt)
  assert(t.x == nil)
  mt.__index = function() return "late" end
  assert(t.x == "late")
  mt.__index = nil
  assert(t.x == nil)
  t.y = 1
  mt.__newindex = function() error("late newindex", 0) end
  fails("late newindex", function() t.z = 1 end)
  assert(not pcall(function() return t + 1 end))
  mt.__add = function() return "sum" end
  assert(t + 1 == "sum")
end

do -- call: arguments, results, chains, tail calls, methods
  local c = setmetatable({}, { __call = function(self, ...) return self, ... end })
  local r = table.pack(c(1, nil, 3))
  assert(r.n == 4 and r[1] == c and r[2] == 1 and r[4] == 3)
  local function tail(...) return c(...) end
  assert(select("#", tail(1, 2)) == 3)
  local d = setmetatable({}, { __call = c })
  r = table.pack(d("x"))
  assert(r.n == 3 and r[1] == c and r[2] == d and r[3] == "x")
  assert(pcall(c) and select(2, pcall(c, 1)) == c)
  fails("attempt to call a table value", function() local t = {} t() end)
  fails("attempt to call a number value", setmetatable({}, { __call = 5 }))
  local o = { m = c }
  r = table.pack(o:m(7))
  assert(r[1] == c and r[2] == o and r[3] == 7)
end

do -- comparison
  local mt = {}
  local function num(n) return setmetatable({ n = n }, mt) end
  mt.__lt = function(a, b)
    return (type(a) == "table" and a.n or a) < (type(b) == "table" and b.n or b)
  end
  mt.__le = function(a, b)
    return (type(a) == "table" and a.n or a) <= (type(b) == "table" and b.n or b)
  end
  mt.__eq = function(a, b) return a.n == b.n end
  local a, b, c = num(1), num(2), num(2)
  assert(a < b and not (b < a) and b <= c and b >= c and b > a and a ~= b and b == c and
    not rawequal(b, c))
  assert(a < 5 and 0 < a and a <= 1 and 1 >= a and not (a > 1) and 1.5 > a)
  -- the result becomes a boolean
  local weird = setmetatable({},
    { __lt = function() return "yes" end, __le = function() return nil end,
    __eq = function() return 1 end })
  assert((weird < weird) == true and (weird <= weird) == false and
    (weird == setmetatable({}, getmetatable(weird))) == true)
  -- eq is tried for two tables or two userdata only, and not for the same object
  local never = setmetatable({}, { __eq = function() error("called") end })
  assert(never == never and never ~= 1 and 1 ~= never and never ~= "x" and never ~= nil)
  local left = setmetatable({}, { __eq = function() return true end })
  assert(left == {} and {} == left)
end

do -- a call yields (the other metamethods: metamethod_results.lua)
  local o = setmetatable({}, { __call = function(_, ...) return coroutine.yield(...) end })
  local co = coroutine.wrap(function() return o(1, 2) end)
  assert(select("#", co()) == 2 and co("result") == "result")
end

do -- without __le, __lt is called for it: a <= b is not (b < a)
  local mt = {}
  local function val(x) return type(x) == "table" and x.v or x end
  mt.__lt = function(a, b) return val(a) < val(b) end
  local function new(v) return setmetatable({ v = v }, mt) end
  assert(new(1) <= new(1) and new(1) <= new(2) and not (new(2) <= new(1)) and new(2) >= new(1) and
    not (new(1) >= new(2)))
  assert(1 <= new(1) and new(1) <= 1 and new(2) >= 2 and not (new(2) <= 1) and not (3 <= new(2)))
  mt.__lt = function(a, b) return coroutine.yield(val(a) .. "<" .. val(b)) end
  local co = coroutine.wrap(function() return new(1) <= new(2), 3 <= new(4) end)
  assert(co() == "2<1" and co(false) == "4<3")
  local first, second = co("something")
  assert(first == true and second == false)
  mt.__le = function() return "le" end
  assert((new(5) <= new(1)) == true)
  assert(not pcall(function() return {} <= setmetatable({}, {}) end))
end
