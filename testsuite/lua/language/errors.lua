-- SPDX-License-Identifier: MIT
-- Error messages: positions, names of variables, error values, handlers, levels.

local function fails(expected, source, ...)
  local f = type(source) == "function" and source or assert(load(source, "=c"))
  local ok, message = pcall(f, ...)
  assert(not ok, source)
  assert(tostring(message):find(expected, 1, true), tostring(source) .. "\n  gave: " ..
    tostring(message) .. "\n  not:  " .. expected)
end

-- The kind and the name of the variable
fails("c:1: attempt to index a nil value (global 'undefined')", "return undefined.x")
fails("attempt to call a nil value (global 'undefined')", "undefined()")
fails("attempt to index a nil value (local 'l')", "local l; return l.x")
fails("attempt to index a nil value (upvalue 'u')", "local u; return (function() return u.x end)()")
fails("attempt to index a nil value (field 'b')", "local a = {}; return a.b.c")
fails("attempt to index a nil value (field 'integer index')", "local a = {}; return a[1].c")
fails("attempt to call a nil value (field 'f')", "local a = {}; a.f()")
fails("attempt to call a nil value (method 'm')", "local a = {}; a:m()")
fails("attempt to call a nil value (method 'nope')", "return ('x'):nope()")
fails("attempt to call a string value (local 's')", "local s = 'x'; s()")
fails("attempt to call a table value", "return ({})()")
fails("attempt to index a function value (local 'f')", "local function f() end; f.x = 1")
fails("attempt to index a nil value (field 'y')", "local x = {}; x.y.z = 1")
fails("attempt to perform arithmetic on a nil value (global 'g')", "return g + 1")
fails("attempt to perform arithmetic on a nil value (local 'n')", "local n; return 1 + n")
fails("attempt to perform arithmetic on a nil value (field 'f')", "local t = {}; return t.f * 2")
fails("attempt to perform arithmetic on a table value (local 't')", "local t = {}; return -t")
fails("attempt to add a 'string' with a 'number'", "return 'a' + 1")
fails("attempt to mul a 'string' with a 'number'", "local s = 'x'; return s * 2")
fails("attempt to concatenate a nil value (local 'n')", "local n; return 'a' .. n")
fails("attempt to concatenate a table value (field 't')", "local x = { t = {} }; return x.t .. 'a'")
fails("attempt to concatenate a function value (global 'print')", "return print .. ''")
fails("attempt to get length of a nil value (global 'g')", "return #g")
fails("attempt to get length of a number value (local 'n')", "local n = 5; return #n")
fails("attempt to compare number with nil", "return 1 < nil")
fails("attempt to compare two table values", "return {} <= {}")
fails("attempt to compare nil with number", "local a, b = nil, 1; return a < b")
fails("attempt to compare number with nil", "local a, b = nil, 1; return a > b")
fails("number (local 'x') has no integer representation", "local x = 1.5; return x | 1")
fails("attempt to perform bitwise operation on a nil value (local 'x')", "local x; return x & 1")
fails("attempt to call a number value (field 'x')", "local t = { x = 1 }; return t.x()")
fails("attempt to index a number value (field 'a')", "local t = { a = 1 }; return t.a.b")
fails("attempt to index a boolean value (field 'a')",
  "t = nil; local t = { a = true }; return t.a.b.c")
fails("attempt to index a nil value (global 'a')", "a = nil; local _ = 1; return a.b")
fails("attempt to index a nil value (upvalue 'up')",
  "local up; local function f() up.x = 1 end; f()")
fails("attempt to call a nil value (upvalue 'up')",
  "local up; local function f() return up() + 1 end; return f() + 1")
fails("attempt to index a nil value (field 'integer')", "local t = {}; t.integer[1] = 2")

-- Lines
fails("c:3:", "local x\n\nx()")
fails("c:2:", "local a = 1\nlocal b = a .. {}\nreturn b")
fails("c:4: attempt to call a nil value (field 'g')", "local t = {}\nt.f = 1\n\nt.g(\n1,\n2)")
fails("c:2:", "local t = {\nx = nil + 1,\ny = 2 }")
fails("c:1:", "return (function() return nil .. 'x' end)()")

-- Bad arguments of library functions
fails("bad argument #1 to 'insert' (table expected, got no value)", "table.insert()")
fails("bad argument #1 to 'setmetatable' (table expected, got number)", "setmetatable(1, {})")
fails("bad argument #1 to 'rep' (string expected, got no value)", "('x').rep()")
fails("bad argument #1 to 'rep' (number expected, got table)", "('x'):rep({})")

do -- error: values, levels, positions
  local function value_of(...) local ok, v = pcall(error, ...) assert(not ok) return v end
  assert(value_of() == nil and value_of(nil) == nil and value_of(false) == false and
    value_of(42) == 42)
  local t = {}
  assert(value_of(t) == t)
  assert(value_of("x", 0) == "x")
  local f = load("error('here')", "=c")
  assert(select(2, pcall(f)) == "c:1: here")
  f = load("local function inner() error('caller', 2) end\n\ninner()", "=c")
  assert(select(2, pcall(f)) == "c:3: caller")
  f = load("error('no position', 0)", "=c")
  assert(select(2, pcall(f)) == "no position")
  f = load("error({})", "=c")
  assert(type(select(2, pcall(f))) == "table")
  local e = setmetatable({}, { __tostring = function() return "E!" end })
  assert(tostring(select(2, pcall(error, e))) == "E!")
end

do -- names of chunks in messages
  local function position(name) return (select(2, pcall(load("error('x')", name)))) end
  assert(position("=short") == "short:1: x")
  assert(position("@file.lua") == "file.lua:1: x")
  assert(position("local code") == '[string "local code"]:1: x')
  assert(position("first\nsecond") == '[string "first..."]:1: x')
  assert(position("@" .. ("d/"):rep(60) .. "f.lua"):find("^%.%.%.d?/d/.*f%.lua:1: x$"))
  assert(position("=" .. ("n"):rep(100)) == ("n"):rep(59) .. ":1: x")
  assert(position(("long "):rep(40)):find('^%[string "long .*%.%.%."%]:1: x$'))
end

do -- the handler runs at the point of the error, before the stack unwinds
  local traceback
  local function thrower() local secret = 1 error("t") end
  xpcall(function() thrower() end, function() traceback = debug.traceback("tb", 1) end)
  assert(traceback:find("thrower", 1, true), traceback)
  -- a handler that returns nothing
  assert(select("#", xpcall(error, function() end, "x")) == 2)
end

do -- errors through many levels keep the value; the stack is usable afterwards
  local function nest(n) if n == 0 then error({ "deep" }) end nest(n - 1) return nil end
  for _ = 1, 5 do
    local ok, e = pcall(nest, 100)
    assert(not ok and e[1] == "deep")
  end
end

do -- stack overflow is an error like another
  local function endless() return 1 + endless() end
  local ok, e = pcall(endless)
  assert(not ok and tostring(e):find("stack overflow", 1, true))
  local depth = 0
  local function deep() depth = depth + 1 deep() depth = depth + 0 end
  ok, e = pcall(deep)
  assert(not ok and depth > 1000)
  assert(pcall(function() return 1 end))
  ok = xpcall(endless, function(m) return debug.traceback(m) end)
  assert(not ok)
end

do -- assert
  fails("assertion failed!", function() assert(nil) end)
  local _, e = pcall(assert, false, nil)
  assert(e == nil)
end

do -- chains of metamethods that come back to where they began
  local t = setmetatable({}, {})
  local function closes(metamethod, f)
    getmetatable(t)[metamethod] = t
    local ok, message = pcall(f)
    assert(not ok and message:find("'" .. metamethod .. "' chain too long; possible loop", 1,
      true), message)
  end
  closes("__index", function() return t.x end)
  closes("__newindex", function() t.x = 1 end)
  closes("__call", function() t() end)
end
