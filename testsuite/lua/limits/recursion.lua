-- SPDX-License-Identifier: MIT
-- Recursion through every construct that can recur: an error that says so, with a
-- traceback that is not endless, and a program that goes on.

local slow = tonumber(os.getenv("TEST_SLOWNESS") or 1) > 1

local function overflows(name, f, ...)
  local co = coroutine.create(f) -- its stack goes with it
  local ok, message = coroutine.resume(co, ...)
  assert(not ok, name)
  message = tostring(message)
  assert(message:find("overflow", 1, true) or message:find("too long; possible loop", 1, true) or
         message:find("error in error handling", 1, true), name .. ": " .. message:sub(1, 200))
  assert(#message < 20000, name) -- each coroutine.wrap on the way adds a position
  assert(pcall(string.rep, "x", 10))
end

-- The compiler
for _, case in ipairs {{"return ", "(", "1", ")"}, {"return ", "{", "", "}"},
  {"return ", "- ", "1", ""}, {"", "do ", "", " end"},
    {"", "if x then ", "", " end"}, {"", "repeat ", "", " until x"},
    {"", "for i = 1, 1 do ", "", " end"},
    {"return ", "function() return ", "1", " end"}, {"return ", "a[", "1", "]"},
    {"return ", "f(", "1", ")"},
    {"return ", "1 ^ ", "1", ""}, {"return ", "'a' .. ", "'b'", ""}, {"", "x, ", "y", " = 1"},
    {"return ", "x == (", "1", ")"}} do
  local f, message = load(case[1] .. case[2]:rep(20000) .. case[3] ..
    (case[4] ~= " = 1" and case[4]:rep(20000) or case[4]))
  assert(not f and (message:find("overflow", 1, true) or message:find("limit", 1, true) or
    message:find("too many", 1, true)),
         case[2] .. ": " .. tostring(message))
  assert(#message < 200)
end

-- Metamethods that are functions (on the Lua stack: its limit takes a while to reach)
do
  local mt = {}
  local t = setmetatable({}, mt)
  function mt.__index(o, k) return o[k .. ""] end
  overflows("__index", function() return t.x end)
  function mt.__add(a, b) return a + b end
  overflows("__add", function() return t + 1 end)
  function mt.__concat(a, b) return a .. b end
  overflows("__concat", function() return t .. "x" end)
  function mt.__lt(a, b) return not (a < b) end
  overflows("__lt", function() return t < t end)
  function mt.__tostring(o) return tostring(o) end
  overflows("__tostring", tostring, t)
  overflows("%s", function() return ("%s"):format(t) end)
  function mt.__pairs(o) return pairs(o) end
  overflows("__pairs", pairs, t)
  function mt.__close(o) local inner <close> = o end
  if not slow then overflows("__close", function() local o <close> = t end) end
end

-- Chains of tables: long ones work, loops are found
do
  local last = {found = true}
  local first = last
  for _ = 1, 90 do first = setmetatable({}, {__index = first}) end
  assert(first.found)
  local loop = {}
  setmetatable(loop, {__index = loop, __newindex = loop})
  overflows("loop of __index", function() return loop.x end)
  overflows("loop of __newindex", function() loop.x = 1 end)
  local called = setmetatable({}, {})
  getmetatable(called).__call = called
  overflows("loop of __call", function() called() end)
end

-- Library functions that call back
do
  local function sorter() table.sort({3, 1, 2}, function(a, b) sorter() return a < b end) end
  overflows("sort", sorter)
  local function replace() return (("x"):gsub("x", replace)) end
  overflows("gsub", replace)
  local function load_in_load() return load(function() load_in_load() return nil end) end
  if not slow then
    local depth = 0
    local function nested()
      depth = depth + 1 local f,
        m = load(function() local g, n = nested() error(n, 0) end) return f, m
    end
    local f, message = nested()
    assert(not f and tostring(message):find("overflow", 1, true) and depth > 50, message)
  end
  local function dumper()
    return table.concat(setmetatable({}, {__len = function() return dumper() end}))
  end
  overflows("concat", dumper)
  local mt = {} function mt.__eq(a, b) return a == b end
  overflows("__eq", function() return setmetatable({}, mt) == setmetatable({}, mt) end)
end

-- Coroutines in coroutines
do
  local function inner() local co = coroutine.wrap(inner) return co() end
  overflows("wrap", inner)
  local depth = 0
  local function resume()
    depth = depth + 1 local ok, e = coroutine.resume(coroutine.create(resume)) if not ok then
      error(e, 0)
    end
  end
  overflows("resume", resume)
  assert(depth > 100)
  local function closer() local co = coroutine.create(function()
    local x <close> = setmetatable({}, {__close = closer}) coroutine.yield()
  end)
    coroutine.resume(co) local ok, e = coroutine.close(co) if not ok then error(e, 0) end end
  overflows("close", closer)
end

-- Protected calls, handlers of errors
do
  local depth = 0
  local function nested()
    depth = depth + 1 local ok, e = pcall(nested) if not ok then error(e, 0) end
  end
  overflows("pcall", nested)
  assert(depth >= 190)
  overflows("handler", function()
    local ok, e = xpcall(error, function(m) error(m) end, 1) error(e, 0)
  end)
  local function loop() return 1 + loop() end
  overflows("handler that overflows", function() local ok, e = xpcall(loop, loop) error(e, 0) end)
end

-- require in require
do
  local n = 0
  table.insert(package.searchers, 2, function(name)
    if name:sub(1, 9) ~= "recursion" then return end
    return function() n = n + 1 return require("recursion" .. n) end
  end)
  overflows("require", require, "recursion0")
  table.remove(package.searchers, 2)
end

-- Finalizers that make garbage with finalizers
do
  local calls = 0
  local function make()
    setmetatable({}, {__gc = function()
      calls = calls + 1 if calls < 500 then make() collectgarbage() end end})
  end
  make()
  for _ = 1, 1000 do if calls >= 500 then break end collectgarbage() end
  assert(calls >= 500, calls)
  local count = 0
  setmetatable({}, {__gc = function()
    local function f() count = count + 1 return 1 + f() end f() end})
  collectgarbage() collectgarbage() -- its overflow is a warning
  assert(count > 100)
end

-- A traceback shows both ends and says how much it leaves out
do
  local function deep(n) if n == 0 then error("bottom") end return 1 + deep(n - 1) end
  local co = coroutine.create(function() return xpcall(deep, debug.traceback, 5000) end)
  local _, ok, traceback = coroutine.resume(co)
  assert(not ok and traceback:find("bottom", 1, true))
  assert(traceback:find("stack traceback:", 1, true))
  assert(traceback:find("skipping %d+ levels"), traceback)
  local _, lines = traceback:gsub("\n", "\n")
  assert(lines < 40, lines)
end

-- Patterns: repetition in depth is bounded, length is not
do
  assert(("a"):rep(100000):match(".-b") == nil)
  assert(#("a"):rep(100000):match("^(a*)$") == 100000)
  local ok, message = pcall(string.find, ("a"):rep(300), ("a?"):rep(300) .. ("a"):rep(300) .. "b")
  assert(ok or message:find("too complex", 1, true), message)
  assert(#("("):rep(10000) == 10000 and (("("):rep(50000) .. (")"):rep(50000)):match("%b()"))
end
