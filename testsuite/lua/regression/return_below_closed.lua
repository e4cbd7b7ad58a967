-- SPDX-License-Identifier: MIT
-- A function that returns variables from registers below one that is to be closed called
-- __close with another object, or closed one variable twice and another not at all: the
-- handler and its arguments were put where the variable was.
local log

local function resource(name, act)
  return setmetatable({name = name}, {__close = function(self, err)
    log[#log + 1] = self.name .. ":" .. tostring(err)
    if act then act(self) end
  end})
end

-- Runs f in a coroutine to its end; a pcall with its results, and how often it yielded.
local function run(f, ...)
  log = {}
  local co, yields = coroutine.create(function(...) return pcall(f, ...) end), 0
  local results = table.pack(coroutine.resume(co, ...))
  while coroutine.status(co) ~= "dead" do
    yields = yields + 1
    results = table.pack(coroutine.resume(co))
  end
  return yields, table.unpack(results, 2, results.n)
end

local function check(yields, expected_log, ...)
  local expected = table.pack(...)
  return function(n, ...)
    local got = table.pack(...)
    assert(n == yields, n)
    assert(table.concat(log, " ") == expected_log, table.concat(log, " "))
    assert(got.n == expected.n)
    for i = 1, got.n do assert(got[i] == expected[i], tostring(got[i])) end
  end
end

local function yielding() coroutine.yield "closing" end
local function clobber(self)
  local a, b, c, d, e, f, g, h = 1, 2, 3, 4, 5, 6, 7, 8
  return {a, b, c, d, e, f, g, h}
end

for _, act in ipairs {false, clobber, yielding, function() collectgarbage() end} do
  local n = act == yielding and 1 or 0
  local function new(name) return resource(name, act) end

  check(n, "R:nil", true, 42)(run(function(arg) local r <close> = new "R" return arg end, 42))
  check(2 * n, "S:nil R:nil", true, 42)(run(function(arg)
    local r <close> = new "R"
    local s <close> = new "S"
    return arg
  end, 42))
  check(3 * n, "T:nil S:nil R:nil", true, 1, 2)(run(function(...)
    local a, b = ...
    local r <close> = new "R"
    local x = b
    local s <close> = new "S"
    local y <const>, z = x, x
    local t <close> = new "T"
    return a, z
  end, 1, 2))
  check(2 * n, "S:nil R:nil", true)(run(function(arg)
    local r <close> = new "R"
    local s <close> = new "S"
    return
  end, 42))
  check(2 * n, "S:nil R:nil", true, "in the middle")(run(function()
    local r <close> = new "R"
    local x = "in the middle"
    local s <close> = new "S"
    return x
  end))
  -- more values than the function has registers
  local many = {}
  for i = 1, 300 do many[i] = i end
  check(2 * n, "S:nil R:nil", true, table.unpack(many))(run(function()
    local r <close> = new "R"
    local s <close> = new "S"
    return table.unpack(many)
  end))
  check(2 * n, "S:nil R:nil", true, 1, 2, 3)(run(function(...)
    local r <close> = new "R"
    local s <close> = new "S"
    return ...
  end, 1, 2, 3))
  -- the fourth value of a generic for
  check(2 * n, "R:nil S:nil", true, 7)(run(function(arg)
    local s <close> = new "S"
    for i in next, {1}, nil, new "R" do return arg end
  end, 7))
  -- what a handler changes in a variable that it captured is not what is returned
  check(n, "R:nil", true, 1)(run(function()
    local value = 1
    local r <close> = resource("R", function() value = 2 if act then act() end end)
    return value
  end))
end

-- Errors in handlers: the others are closed, each with the last error.
local function failing(name)
  return resource(name, function() error("from " .. name, 0) end)
end
check(0, "S:nil R:from S", false, "from S")(run(function(arg)
  local r <close> = resource "R"
  local s <close> = failing "S"
  return arg
end, 42))
check(0, "S:nil R:from S", false, "from R")(run(function(arg)
  local r <close> = failing "R"
  local s <close> = failing "S"
  return arg
end, 42))
check(2, "T:nil S:nil R:from S", false, "from S")(run(function(arg)
  local r <close> = resource("R", yielding)
  local s <close> = failing "S"
  local t <close> = resource("T", yielding)
  return arg
end, 42))
check(1, "S:oops R:oops", false, "oops")(run(function(arg)
  local r <close> = resource("R", yielding)
  local s <close> = resource "S"
  if arg == 42 then error("oops", 0) end
  return arg
end, 42))

-- Hooks see the function's variables, and the values that it returns.
do
  log = {}
  local seen
  local function f(arg) local r <close> = resource "R" local s <close> = resource "S" return arg end
  debug.sethook(function(event)
    local info = debug.getinfo(2, "fr")
    if info.func == f and event == "return" then
      seen = select(2, debug.getlocal(2, info.ftransfer))
    elseif event == "line" then
      collectgarbage "step"
    end
  end, "rl")
  local result = f(42)
  debug.sethook()
  assert(result == 42 and seen == 42 and table.concat(log, " ") == "S:nil R:nil")
end
