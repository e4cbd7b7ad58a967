-- SPDX-License-Identifier: MIT
-- Operators: precedence, associativity, comparison, concatenation, length.

do -- precedence and associativity
  assert(2 + 3 * 4 == 14 and (2 + 3) * 4 == 20)
  assert(2 ^ 3 ^ 2 == 512 and -2 ^ 2 == -4 and 2 ^ -1 == 0.5)
  assert(not nil == true and not (1 == 2) and not 1 == false)
  assert(1 .. 2 .. 3 == "123" and "a" .. "b" == "ab")
  assert(1 + 2 .. "" == "3" and "" .. 2 * 3 == "6")
  assert(5 - 3 - 1 == 1 and 100 / 10 / 2 == 5 and 7 // 2 // 2 == 1 and 17 % 10 % 4 == 3)
  assert(1 | 2 ~ 3 & 1 == 3 and (1 << 2 + 1) == 8 and 1 << 1 << 1 == 4)
  assert(5 & 3 == 1 and (5 & 3) == 1 == true and ("x" == "y" == false))
  assert(1 < 2 == true and not (1 > 2))
  assert(-3 % 5 == 2 and -(3 % 5) == -3 and - -2 == 2 and not not nil == false)
  assert(#"abc" + 1 == 4 and -#"ab" == -2 and #"a" .. #"bc" == "12")
  assert(1 or error() and 2) -- and binds tighter than or
  assert((false and false or true) == true)
  assert(2 * 3 % 4 == 2 and 6 // 4 * 4 + 6 % 4 == 6)
  assert(~5 & 0xF == 10 and ~~5 == 5 and -~5 == 6)
  assert("10" + 5 == 15 and "0x10" * 1 == 16 and "3" ^ 2 == 9)
end

do -- comparison of numbers: integers and floats by their mathematical value
  assert(1 == 1.0 and 1 < 1.5 and 2 > 1.5 and 1 <= 1.0 and -1 < 0.0)
  assert(0.0 == -0.0 and 1/0.0 ~= 1/-0.0)
  assert(math.maxinteger < math.huge and math.mininteger > -math.huge)
  assert(math.maxinteger + 0.0 == 2^63 and math.maxinteger ~= 2^63)
  assert(math.maxinteger < 2^63 and 2^63 > math.maxinteger and not (math.maxinteger >= 2^63))
  assert(math.mininteger == -2^63 and math.mininteger <= -2^63 and not (math.mininteger < -2^63))
  assert(2^53 == 9007199254740992 and 2^53 + 1 ~= 9007199254740993)
  assert(9007199254740993 > 2^53 and 9007199254740993 < 2^53 + 2)
  local nan = 0/0
  assert(nan ~= nan and not (nan == nan) and not (nan < 1) and not (nan > 1) and not (nan <= nan))
  assert(not (1 < nan) and not (1 >= nan) and not (math.maxinteger < nan))
end

do -- comparison of strings
  assert("a" < "b" and "a" < "aa" and "" < "a" and "Z" < "a" and not ("a" < "a") and "a" <= "a")
  assert("a\0b" > "a\0a" and "a\0" > "a" and "a\0b" ~= "a\0c")
  assert("10" < "9" and "x" >= "x")
end

do -- equality: no conversion, identity of objects
  assert("1" ~= 1 and nil ~= false and {} ~= {} and print == print)
  local t = {}
  assert(t == t and not (t ~= t))
  local function f() end
  assert(f == f)
  local s1, s2 = ("x"):rep(100), ("x"):rep(100)
  assert(s1 == s2 and ("y"):rep(100) ~= s1)
  local key = {}
  key[s1] = 1
  assert(key[s2] == 1)
end

local fails = require "_fails"
fails("attempt to compare number with string", function() return 1 < "2" end)
fails("attempt to compare two table values", function() return {} < {} end)
fails("attempt to compare nil with number", function() return nil < 1 end)
fails("attempt to compare number with nil", function() return 1 <= nil end)
fails("attempt to compare two boolean values", function() return true > false end)

do -- concatenation
  local parts = {}
  for i = 1, 150 do parts[i] = ("'%d'"):format(i) end
  local long = load("return " .. table.concat(parts, " .. "))()
  local expected = ""
  for i = 1, 150 do expected = expected .. i end
  assert(long == expected)
  assert(1 .. "" == "1" and 1.5 .. "" == "1.5" and 1.0 .. "" == "1.0" and -0.0 .. "" == "-0.0")
  assert(2^63 .. "" == "9.2233720368548e+18" and 1e100 .. "" == "1e+100")
  assert(1/0 .. "" == "inf" and -1/0 .. "" == "-inf")
  assert("" .. "" == "" and "a" .. "" == "a" and "" .. "a" == "a")
  assert(math.mininteger .. "" == "-9223372036854775808")
  local a, b, c = "x", 1, 2.5
  assert(a .. b .. c == "x12.5")
  fails("attempt to concatenate a nil value", function() return "a" .. nil end)
  fails("attempt to concatenate a table value", function() return {} .. "a" end)
  fails("attempt to concatenate a boolean value", function() return "a" .. "b" .. true end)
end

do -- length
  assert(#"" == 0 and #"a\0b" == 3 and #{} == 0 and #{ 1, 2, 3 } == 3)
  local t = {}
  for i = 1, 100 do t[i] = i; assert(#t == i) end
  for i = 100, 1, -1 do t[i] = nil; assert(#t == i - 1) end
  t.x = 1
  t[0] = 1
  t[-1] = 1
  assert(#t == 0)
  fails("attempt to get length of a number value", function() return #5 end)
  fails("attempt to get length of a nil value", function() return #nil end)
end

do -- operands are evaluated from left to right, each once
  local order = {}
  local function note(v) order[#order + 1] = v return v end
  local _ = note(1) + note(2) * note(3) - note(4)
  _ = note(5) .. note(6) .. note(7)
  _ = note(8) < note(9)
  _ = { [note(10)] = note(11) }
  assert(table.concat(order, ",") == "1,2,3,4,5,6,7,8,9,10,11")
end

do -- the same with constants, locals, upvalues and fields on either side
  local i, f, s, t = 7, 2.5, "3", { n = 7 }
  local function all()
    return i + 1, 1 + i, i - f, f - i, i * s, s * i, t.n // 2, 2 // t.n, i % 4, 4 % i
  end
  local r = { all() }
  local expected = { 8, 8, 4.5, -4.5, 21, 21, 3, 0, 3, 4 }
  for k = 1, #expected do assert(r[k] == expected[k], k) end
  assert(i & 3 == 3 and 3 & i == 3 and i | 8 == 15 and 8 | i == 15 and i ~ 1 == 6 and 1 ~ i == 6)
  assert(i << 1 == 14 and 1 << i == 128 and i >> 1 == 3 and 1024 >> i == 8)
  assert(i == 7 and 7 == i and i ~= 8 and "3" == s and s ~= 3 and not (i == s))
  assert(i < 8 and 6 < i and i <= 7 and 7 <= i and i > 6 and 8 > i and i >= 7 and 7 >= i)
  assert(f < 3 and 2 < f and f <= 2.5 and f > 2 and 3 > f and f ~= 2)
  assert(i < 8.5 and i > 6.5 and 6.5 < i and 7.0 == i)
end
