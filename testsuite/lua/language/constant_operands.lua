-- SPDX-License-Identifier: MIT
-- Constants in instructions: metamethods and messages see the operands as written.

local log
local function record(name)
  return function(a, b)
    local function text(v) return type(v) == "table" and "T" or math.type(v) .. " " .. v end
    log = name .. "(" .. text(a) .. ", " .. text(b) .. ")"
    return log
  end
end
local t = setmetatable({}, {
  __add = record "add", __sub = record "sub", __mul = record "mul", __mod = record "mod",
  __pow = record "pow",
  __div = record "div", __idiv = record "idiv", __band = record "band", __bor = record "bor",
  __bxor = record "bxor",
  __shl = record "shl", __shr = record "shr", __lt = record "lt", __le = record "le",
})

assert(t + 1 == "add(T, integer 1)" and 1 + t == "add(integer 1, T)")
assert(t + -1 == "add(T, integer -1)" and -1 + t == "add(integer -1, T)")
assert(t - 1 == "sub(T, integer 1)" and 1 - t == "sub(integer 1, T)")
assert(t - -1 == "sub(T, integer -1)" and t - 128 == "sub(T, integer 128)" and
  t - 129 == "sub(T, integer 129)")
assert(t + 0 == "add(T, integer 0)" and t - 0 == "sub(T, integer 0)")
assert(t * 2 == "mul(T, integer 2)" and 2 * t == "mul(integer 2, T)" and
  2.0 * t == "mul(float 2.0, T)")
assert(t / 2 == "div(T, integer 2)" and 2 / t == "div(integer 2, T)")
assert(t // 2 == "idiv(T, integer 2)" and 2 // t == "idiv(integer 2, T)")
assert(t % 2 == "mod(T, integer 2)" and 2 % t == "mod(integer 2, T)")
assert(t ^ 2 == "pow(T, integer 2)" and 2 ^ t == "pow(integer 2, T)")
assert(t & 1 == "band(T, integer 1)" and 1 & t == "band(integer 1, T)")
assert(t | 1.0 == "bor(T, float 1.0)" and 1.0 | t == "bor(float 1.0, T)")
assert(t ~ 1 == "bxor(T, integer 1)" and 1 ~ t == "bxor(integer 1, T)")
assert(t << 1 == "shl(T, integer 1)" and 1 << t == "shl(integer 1, T)")
assert(t >> 1 == "shr(T, integer 1)" and 1 >> t == "shr(integer 1, T)")

assert(t < 1 and log == "lt(T, integer 1)")
assert(1 < t and log == "lt(integer 1, T)")
assert(t > 1 and log == "lt(integer 1, T)")
assert(t <= 1.0 and log == "le(T, float 1.0)")
assert(1 >= t and log == "le(T, integer 1)")
assert(t >= 300 and log == "le(integer 300, T)")

-- The same constant on either side, also out of a binary chunk
local function both(x) return 3 * x, x * 3 end
for _, f in ipairs {both, load(string.dump(both)), load(string.dump(both, true))} do
  local left, right = f(t)
  assert(left == "mul(integer 3, T)" and right == "mul(T, integer 3)")
  left, right = f(5)
  assert(left == 15 and right == 15)
end

-- Signs of zero and kinds of numbers survive folding and sharing of constants
local zero = 0.0
assert(1 / (-zero - 0) == -1 / 0 and 1 / (-zero + 0) == 1 / 0)
assert(1 / -0.0 == -1 / 0 and 1 / 0.0 == 1 / 0)
assert(math.type(1) == "integer" and math.type(1.0) == "float")
local list = {1, 1.0, 2^53, 2^53 | 0}
assert(math.type(list[1]) == "integer" and math.type(list[2]) == "float" and list[3] == list[4])

-- What cannot be folded fails when it runs
assert(not pcall(load "return 1 // 0") and not pcall(load "return 1 % 0") and
  not pcall(load "return 1 & 1.5"))
assert(1 // 0.0 == 1 / 0 and 0 / 0 ~= 0 / 0)

local function message(f, ...)
  local ok, text = pcall(f, ...)
  assert(not ok)
  return text:match("^[^:]*:%d+: (.*)$")
end
assert(message(function() local q; return 1 + q end) ==
  "attempt to perform arithmetic on a nil value (local 'q')")
assert(message(function() local q = {}; return 2 * q.x end) ==
  "attempt to perform arithmetic on a nil value (field 'x')")
assert(message(function() local q = 1.5; return 2 & q end) ==
  "number (local 'q') has no integer representation")
