-- SPDX-License-Identifier: MIT
-- Code that reads `math.abs` takes for granted what it has found (runtime/assumed.c), until
-- somebody sets one of the two fields, in whatever way. The same place has to see it at once.

local function replaced() return "replaced" end
local abs, original = math.abs, math

local function read() return math.abs end
local function call(x) return math.abs(x) end

local function check_original()
  for _ = 1, 3 do
    assert(read() == abs and call(-3) == 3)
  end
end
local function check_replaced()
  for _ = 1, 3 do
    assert(read() == replaced and call(-3) == "replaced")
  end
end

-- Each way to set the field of the library.
local key = "abs"
local ways = {
  function(v) math.abs = v end,
  function(v) math[key] = v end,
  function(v) original.abs = v end,
  function(v) rawset(math, "abs", v) end,
  function(v) local _ENV = {math = math} math.abs = v end,
  function(v) load("math.abs = ...")(v) end,
  function(v) setmetatable({}, {__newindex = math}).abs = v end,
  function(v) setmetatable({}, {__newindex = math})[key] = v end,
  function(v) setmetatable({}, {__newindex = setmetatable({}, {__newindex = math})}).abs = v end,
  function(v) coroutine.wrap(function() math.abs = v end)() end,
  function(v) _G.math = setmetatable({abs = v}, {__index = original}) if v == abs then _G.math = original end end,
  function(v) rawset(_G, "math", v == abs and original or {abs = v}) end,
  function(v) math = v == abs and original or {abs = v} end,
  function(v) _G["ma" .. "th"] = v == abs and original or {abs = v} end,
}
for _, set in ipairs(ways) do
  check_original()
  set(replaced)
  check_replaced()
  set(abs)
  check_original()
end

-- Another library function, or none, or a value of another type.
check_original()
math.abs = math.floor
assert(read() == math.floor and call(1.5) == 1)
math.abs = nil
assert(read() == nil)
local ok, message = pcall(call, 1)
assert(not ok and message:find("attempt to call a nil value (field 'abs')", 1, true), message)
math.abs = 17
assert(read() == 17)
math.abs = abs
check_original()
math = nil
ok, message = pcall(read)
assert(not ok and message:find("attempt to index a nil value (global 'math')", 1, true), message)
_G.math = original
check_original()

-- From the moment it is removed, metamethods count.
math.abs = nil
setmetatable(math, {__index = function(_, k) return k == "abs" and replaced or nil end})
check_replaced()
math.abs = abs
check_original()
setmetatable(math, nil)

-- Tables get other nodes.
for i = 1, 300 do _G["of_a_test_" .. i] = i math["of_a_test_" .. i] = i end
check_original()
math.abs = replaced
check_replaced()
math.abs = abs
check_original()
for i = 1, 300 do _G["of_a_test_" .. i] = nil math["of_a_test_" .. i] = nil end
collectgarbage()
for i = 1, 300 do _G["of_another_" .. i] = i end
for i = 1, 300 do _G["of_another_" .. i] = nil end
check_original()
math.abs = replaced
check_replaced()
math.abs = abs
check_original()

-- The same code with other globals.
local chunk = string.dump(function() return math.abs end)
local ours, theirs = load(chunk, "ours", "b"), load(chunk, "theirs", "b", {math = {abs = replaced}})
local function of(environment)
  local function read_there() return math.abs end
  debug.setupvalue(read_there, 1, environment)
  return read_there
end
for _ = 1, 3 do assert(ours() == abs and theirs() == replaced) end
local _ENV <const> = _ENV
local function closure_of(environment)
  local _ENV = environment
  return function() return math.abs end
end
local here, there = closure_of(_ENV), closure_of({math = {abs = replaced}})
for _ = 1, 10 do assert(here() == abs and there() == replaced) end
debug.upvaluejoin(here, 1, there, 1)
assert(here() == replaced)
local switched = {math = {abs = replaced}}
local function swapped() return math.abs end
assert(swapped() == abs)
local reading = closure_of(_ENV)
assert(reading() == abs and reading() == abs)
debug.setupvalue(reading, 1, switched)
assert(reading() == replaced)
debug.setupvalue(reading, 1, _ENV)
assert(reading() == abs)
debug.setupvalue(reading, 1, 5)
assert(not pcall(reading))

-- A global table that is weak, and loses the library.
local kept = string
string = nil
package.loaded.string, debug.getmetatable("").__index = nil, nil
string = setmetatable({}, {__index = kept})
string = kept
package.loaded.string, debug.getmetatable("").__index = kept, kept
local function of_string() return string.len end
assert(of_string() == kept.len and of_string() == kept.len)

_G.library = {len = kept.len}
local function of_library() return library.len end
for _ = 1, 3 do assert(of_library() == kept.len) end
setmetatable(_G, {__mode = "v"})
collectgarbage() collectgarbage()
assert(library == nil and not pcall(of_library))
setmetatable(_G, nil)

-- While each instruction is watched.
check_original()
debug.sethook(function() end, "l", 1)
check_original()
math.abs = replaced
check_replaced()
debug.sethook()
check_replaced()
math.abs = abs
check_original()
local counted = 0
debug.sethook(function() counted = counted + 1 end, "", 1)
for _ = 1, 10 do read() end
debug.sethook()
local first = counted
counted = 0
debug.sethook(function() counted = counted + 1 end, "", 1)
for _ = 1, 10 do read() end
debug.sethook()
assert(counted == first)

-- A program that changes a library all the time.
local sum = 0
for i = 1, 1000 do
  local value = i
  math.abs = function() return value end
  sum = sum + call(1)
  math.abs = abs
  assert(call(-7) == 7)
end
assert(sum == 500500)
-- What was dumped has no trace of it.
assert(load(string.dump(read))() == abs)
