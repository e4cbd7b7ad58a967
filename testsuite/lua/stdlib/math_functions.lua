-- SPDX-License-Identifier: MIT
-- math: rounding, conversion, comparison, functions of floats.

local fails = require "_fails"

-- Same value of the same subtype.
local function same(a, b)
  assert(math.type(a) == math.type(b), tostring(a) .. " is no " .. tostring(b))
  assert(a == b or a ~= a and b ~= b, tostring(a) .. " is not " .. tostring(b))
  if a == 0.0 and math.type(a) == "float" then assert(1 / a == 1 / b) end
end

local function same_all(pairs)
  for _, pair in ipairs(pairs) do same(pair[1], pair[2]) end
end

local maxi, mini = math.maxinteger, math.mininteger
local inf, nan = math.huge, 0 / 0

do -- constants
  assert(maxi == 0x7fffffffffffffff and mini == maxi + 1 and inf == 1 / 0)
  assert(math.pi == 3.141592653589793 and math.sin(math.pi) < 1e-15)
end

do -- floor and ceil: integers when they fit
  for n, both in pairs { [3.4] = { 3, 4 }, [-3.4] = { -4, -3 }, [0.5] = { 0, 1 },
    [-0.5] = { -1, 0 }, [4.0] = { 4, 4 },
    [2.0 ^ 51 + 0.5] = { 1 << 51, (1 << 51) + 1 }, [2.0 ^ 53] = { 1 << 53, 1 << 53 },
    [-2.0 ^ 63] = { mini, mini } } do
    same(math.floor(n), both[1])
    same(math.ceil(n), both[2])
  end
  for _, n in ipairs { maxi, mini, 0, -1 } do same(math.floor(n), n) same(math.ceil(n), n) end
  for _, n in ipairs { 2.0 ^ 63, 1e300, -1e300, inf, -inf } do
    same(math.floor(n), n) same(math.ceil(n), n)
  end
  same_all {
    {math.floor(nan), nan}, {math.floor(-0.0), 0}, {math.ceil(-0.0), 0}, {math.floor("3.7"), 3},
    {math.ceil("10"), 10},
  }
  fails("number expected, got string", math.floor, "x")
  fails("number expected, got no value", math.ceil)
end

do -- modf
  local function parts(n, whole, fraction)
    local a, b = math.modf(n)
    same(a, whole)
    same(b, fraction)
  end
  local function parts_of_all(rows)
    for _, row in ipairs(rows) do parts(table.unpack(row)) end
  end
  parts_of_all {
    {3.5, 3, 0.5}, {-2.5, -2, -0.5}, {-3e23, -3e23, 0.0}, {3, 3, 0.0}, {mini, mini, 0.0},
    {3.0, 3, 0.0}, {inf, inf, 0.0}, {-inf, -inf, 0.0}, {nan, nan, nan}, {-0.25, 0, -0.25},
    {"3.5", 3, 0.5},
  }
end

do -- fmod: truncates; the sign is that of the first operand
  same_all {
    {math.fmod(6, 4), 2}, {math.fmod(-6, 4), -2}, {math.fmod(6, -4), 2},
    {math.fmod(-6.5, 4), -2.5}, {math.fmod(mini, -1), 0}, {math.fmod(mini, mini), 0},
    {math.fmod(maxi, maxi), 0}, {math.fmod(mini + 1, mini), mini + 1},
    {math.fmod(maxi - 1, maxi), maxi - 1}, {math.fmod(1, inf), 1.0}, {math.fmod(1, 0.0), nan},
    {math.fmod("6", "4"), 2.0},
  }
  fails("bad argument #2 to 'fmod' (zero)", function() return math.fmod(3, 0) end)
end

do -- tointeger, type, ult, abs
  same_all {
    {math.tointeger(3), 3}, {math.tointeger(3.0), 3}, {math.tointeger(-0.0), 0},
    {math.tointeger("8"), 8}, {math.tointeger("0x20"), 32}, {math.tointeger(-2.0 ^ 63), mini},
  }
  for _, v in ipairs { 3.5, inf, -inf, nan, 2.0 ^ 63, "x", "3.4", {}, print, true } do
    assert(select("#", math.tointeger(v)) == 1 and math.tointeger(v) == nil)
  end
  fails("value expected", math.tointeger)
  assert(math.type(0) == "integer" and math.type(0.0) == "float" and math.type("10") == nil and
    math.type(nil) == nil)
  fails("value expected", math.type)
  assert(math.ult(3, 4) and not math.ult(4, 4) and math.ult(-2, -1) and math.ult(2, -1) and
    not math.ult(-2, 2))
  assert(math.ult(1, mini) and math.ult(maxi, mini) and math.ult(3.0, "4"))
  fails("number has no integer representation", math.ult, 1.5, 2)
  same_all {
    {math.abs(-10), 10}, {math.abs(-10.5), 10.5}, {math.abs(mini), mini}, {math.abs(maxi), maxi},
    {math.abs(-0.0), 0.0}, {math.abs("-3"), 3.0},
  }
end

do -- max and min keep the value they choose
  same_all {
    {math.max(1, 2.5, -3), 2.5}, {math.min(1, 2.5, -3), -3}, {math.max(3), 3},
    {math.max(1, 1.0), 1}, {math.min(1.0, 1), 1.0}, {math.max(mini, maxi, 2.0 ^ 63), 2.0 ^ 63},
    {math.max(maxi, 2.0 ^ 53), maxi}, {math.min(-inf, mini), -inf},
  }
  fails("value expected", math.max)
  fails("value expected", math.min)
  fails("attempt to compare", math.max, 1, "2")
end

do -- floats
  local function near(a, b)
    assert(math.type(a) == "float" and math.abs(a - b) <= 1e-14 * math.max(1, math.abs(b)), a)
  end
  near(math.sqrt(2), 1.4142135623730951)
  near(math.sin(1), 0.8414709848078965)
  near(math.cos(1), 0.5403023058681398)
  near(math.tan(1), 1.5574077246549023)
  near(math.asin(1), math.pi / 2)
  near(math.acos(0), math.pi / 2)
  near(math.atan(1), math.pi / 4)
  near(math.atan(1, -1), 3 * math.pi / 4)
  near(math.atan(-0.0, -1), -math.pi)
  near(math.cosh(1), (math.exp(1) + math.exp(-1)) / 2)
  near(math.sinh(1), (math.exp(1) - math.exp(-1)) / 2)
  near(math.tanh(1), math.sinh(1) / math.cosh(1))
  assert(math.log10(1000) == 3 and math.pow(2, 10) == 1024.0 and math.ldexp(0.75, 4) == 12.0)
  assert(math.ldexp(1, math.maxinteger) == math.huge and math.ldexp(1, math.mininteger) == 0.0)
  local m, e = math.frexp(12)
  assert(m == 0.75 and e == 4 and math.type(e) == "integer")
  assert(math.atan2(1, -1) == math.atan(1, -1) and math.atan2(2) == math.atan(2))
  fails("bad argument #1 to 'math.atan2' (number expected, got string)", math.atan2, "x")
  near(math.exp(1), 2.718281828459045)
  near(math.log(10), 2.302585092994046)
  near(math.log(27, 3), 3)
  same_all {
    {math.log(1024, 2), 10.0}, {math.log(1000, 10), 3.0}, {math.log(0), -inf},
    {math.sqrt(16), 4.0}, {math.sqrt(-1), nan},
  }
  near(math.deg(math.pi), 180)
  near(math.rad(180), math.pi)
  same(math.exp(0), 1.0)
  fails("number expected, got no value", math.sin)
  fails("number expected, got nil", math.sqrt, nil)
end
print "OK"
