-- SPDX-License-Identifier: MIT
-- Integers and floats: which operation gives which, wrap-around, division,
-- modulo, bits, conversions to and from strings.

local maxi, mini = math.maxinteger, math.mininteger

local fails = require "_fails"

local function is(value, expected)
  assert(math.type(value) == math.type(expected), tostring(value) .. " has another type")
  assert(value == expected or (value ~= value and expected ~= expected), tostring(value))
end

do -- which subtype comes out
  is(1 + 2, 3) is(1 + 2.0, 3.0) is(1 - 2, -1) is(2 * 3, 6) is(2 * 3.0, 6.0)
  is(6 / 2, 3.0) is(7 // 2, 3) is(7 // 2.0, 3.0) is(7 % 2, 1) is(7 % 2.0, 1.0)
  is(2 ^ 2, 4.0) is(-5, -5) is(-5.0, -5.0) is(1 | 2.0, 3) is("10" + 1, 11)
  is("10" + 1.0, 11.0) is("1e1" + 1, 11.0) is("0x10" + 0, 16) is(" 5 " * 2, 10)
  is("10" // "3", 3) is(-"2", -2) is(-"2.0", -2.0)
end

do -- wrap-around
  is(maxi + 1, mini) is(mini - 1, maxi) is(maxi * 2, -2) is(-mini, mini) is(mini * -1, mini)
  is(math.abs(mini), mini) is(maxi * maxi, 1) is(mini // -1, mini) is(mini % -1, 0)
  is(maxi + 1.0, 2.0^63)
end

do -- floor division and modulo: towards minus infinity, sign of the divisor
  is(7 // 3, 2) is(-7 // 3, -3) is(7 // -3, -3) is(-7 // -3, 2)
  is(7 % 3, 1) is(-7 % 3, 2) is(7 % -3, -2) is(-7 % -3, -1)
  is(6 % 3, 0) is(-6 % 3, 0) is(0 % -3, 0)
  is(7.5 // 2, 3.0) is(-7.5 // 2, -4.0) is(7.5 % 2, 1.5) is(-7.5 % 2, 0.5) is(7.5 % -2, -0.5)
  is(5.3 % math.huge, 5.3) is(-5.3 % math.huge, math.huge) is(5.3 % -math.huge, -math.huge)
  is(1 // 0.0, math.huge) is(-1 // 0.0, -math.huge) is(0 / 0, 0/0) is(1 % 0.0, 0/0)
  is(maxi // mini, -1) is(maxi % mini, -1) is(mini % maxi, maxi - 1) is(mini // maxi, -2)
  fails("attempt to divide by zero", function() return 1 // 0 end)
  fails("attempt to perform 'n%0'", function() return 1 % 0 end)
  local zero = 0
  fails("attempt to divide by zero", function() return 1 // zero end)
  fails("attempt to perform 'n%0'", function() return zero % zero end)
  for a = -7, 7 do for b = -3, 3 do
    if b ~= 0 then
      assert((a // b) * b + a % b == a)
      assert(a // b == math.floor(a / b))
    end
  end end
end

do -- bits
  is(0xF0 & 0x3C, 0x30) is(0xF0 | 0x0F, 0xFF) is(0xFF ~ 0x0F, 0xF0) is(~0, -1)
  is(1 << 63, mini) is(1 << 64, 0) is(1 << 62 << 2, 0) is(-1 >> 1, maxi) is(-1 >> 63,
    1) is(-1 >> 64, 0)
  is(1 << -1, 0) is(2 >> -1, 4) is(2 << -1, 1) is(1 << mini, 0) is(1 >> mini, 0) is(-1 << 200, 0)
  is(3.0 & 1, 1) is(2^53 | 0, 1 << 53) is(1 << 2.0, 4)
  fails("number has no integer representation", function() return 1.5 & 1 end)
  fails("number has no integer representation", function() return 1 << 2^63 end)
  fails("number has no integer representation", function() return 1 | 0/0 end)
  fails("attempt to perform bitwise operation on a table value", function() return 1 & {} end)
  fails("attempt to perform bitwise operation on a nil value", function() return ~nil end)
  fails("attempt to perform bitwise operation on a string value", function() return "a" | 1 end)
  fails("attempt to perform bitwise operation on a string value (constant '3')", function()
    return "3" & 1
  end)
end

do -- strings to numbers
  is(tonumber "10", 10) is(tonumber "  10  ", 10) is(tonumber "0x1F", 31) is(tonumber "1e1", 10.0)
  is(tonumber ".5", 0.5) is(tonumber "5.", 5.0) is(tonumber "0x.8p1", 1.0) is(tonumber "-0x10", -16)
  is(tonumber "+5", 5) is(tonumber "9223372036854775807",
    maxi) is(tonumber "9223372036854775808", 2.0^63)
  is(tonumber "-9223372036854775808", mini) is(tonumber "-9223372036854775809", -2.0^63)
  is(tonumber "0xffffffffffffffffff", -1) is(tonumber "\t1\n", 1)
  for _, bad in ipairs { "", " ", "a", "1a", "1 2", "0x", "1e", "1e+", ".", "e1", "inf", "nan",
    "- 1", "1\0", "0x1p", "--1" } do
    assert(tonumber(bad) == nil, bad)
  end
  is(tonumber("10", 2), 2) is(tonumber("zz", 36), 35 * 36 + 35) is(tonumber("-ff", 16),
    -255) is(tonumber(" 7 ", 8), 7)
  assert(tonumber("8", 8) == nil and tonumber("", 10) == nil and tonumber("1.0", 10) == nil)
  assert(tonumber(nil) == nil or true)
  assert(tonumber {} == nil and tonumber(true) == nil)
  fails("base out of range", tonumber, "1", 1)
  fails("base out of range", tonumber, "1", 37)
  fails("string expected, got number", tonumber, 10, 10)
end

do -- numbers to strings
  assert(tostring(1) == "1" and tostring(1.0) == "1.0" and tostring(-0.0) == "-0.0" and
    tostring(1e15) == "1e+15")
  assert(tostring(3.14) == "3.14" and tostring(1e100) == "1e+100" and tostring(0.1) == "0.1")
  assert(tostring(123456789012345) == "123456789012345" and tostring(2^31) == "2147483648.0")
  assert(tostring(1/3) == "0.33333333333333" and tostring(100000000000000.0) == "1e+14")
  assert(tostring(maxi) == "9223372036854775807" and tostring(mini) == "-9223372036854775808")
  assert(tostring(1/0) == "inf" and tostring(-1/0) == "-inf" and tostring(0/0):find("nan"))
end

do -- floats to integers where an integer is needed
  local t = { "a", "b", "c" }
  assert(t[2.0] == "b" and t[1.5] == nil)
  t[4.0] = "d"
  assert(t[4] == "d" and #t == 4 and next({ [1.0] = true }) == 1 and
    math.type(next({ [2.0] = true })) == "integer")
  t[2^53] = "big"
  assert(t[1 << 53] == "big")
  assert(("x"):rep(3.0) == "xxx")
  fails("number has no integer representation", string.rep, "x", 1.5)
  is(math.tointeger(3.0), 3)
  assert(math.tointeger(3.5) == nil and math.tointeger({}) == nil and math.tointeger(2^63) == nil)
  is(math.tointeger(-2^63), mini)
  fails("index is NaN", function() local u = {} u[0/0] = 1 end)
  assert(({})[0/0] == nil)
end

do -- constant folding must not change results
  is(0.0 * -1, -0.0)
  assert(1 / (0.0 * -1) == -math.huge and 1 / -0.0 == -math.huge and 1 / 0.0 == math.huge)
  local z = -0.0
  assert(1 / z == -math.huge and 1 / (z + 0.0) == math.huge and 1 / (0 - z) == math.huge)
  is(3 - -3, 6) is(- - 3, 3) is(-(-(3.0)), 3.0)
  is(2^53 + 1.0, 2^53) is(1 // 1.0, 1.0)
  local function zero_division() return 1 // 0 end -- folding must not fail at compile time
  assert(not pcall(zero_division))
end

do -- integers and floats are equal as keys and different in the large
  local t = {}
  t[1] = "int"
  t[1.0] = "float"
  assert(t[1] == "float")
  t[maxi] = 1
  t[maxi + 0.0] = 2
  assert(t[maxi] == 1 and t[2.0^63] == 2)
end

do -- ++ of many small sums
  local sum = 0
  for i = 1, 100 do sum = sum + i end
  is(sum, 5050)
  local fsum = 0
  for i = 1, 100 do fsum = fsum + i / 1 end
  is(fsum, 5050.0)
  local product = 1
  for i = 1, 25 do product = product * i end
  is(product, 7034535277573963776) -- 25! modulo 2^64
end

do -- comparisons of integers with floats near the limits
  assert(not (maxi > maxi + 0.0) and maxi < maxi + 0.0 and mini >= -2.0^63)
  assert((1 << 53) + 1 > 2.0^53 and not ((1 << 53) + 1 <= 2.0^53))
  assert(maxi // 1 | 0 == maxi and math.ult(1, -1) and not math.ult(-1, 1))
end
