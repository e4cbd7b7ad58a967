-- SPDX-License-Identifier: MIT
-- math.random: the sequences of Lua 5.4, ranges and seeds.

local fails = require "_fails"

do -- known sequences
  math.randomseed(42)
  assert(math.random(0) == -1276290044721465627 and math.random(0) == 8333941968102511665)
  math.randomseed(42)
  assert(math.random() == 0x1.dc9369eecc04ep-1 and math.random() == 0x1.cea070426de14p-2)
  math.randomseed(42)
  local got = {}
  for _ = 1, 3 do got[#got + 1] = math.random(100) end
  for _ = 1, 2 do got[#got + 1] = math.random(6) end
  got[#got + 1] = math.random(-10, 10)
  got[#got + 1] = math.random(math.mininteger, math.maxinteger)
  got[#got + 1] = math.random(3, 3)
  got[#got + 1] = math.random(1, 1 << 40)
  got[#got + 1] = math.random(0, (1 << 62) + 5)
  assert(table.concat(got, " ") ==
    "50 76 86 6 2 -8 -8801378756440956393 3 458798128897 786156329281515712")
  math.randomseed(123, 456)
  assert(math.random(0) == -7482266044409867603 and math.random(1000) == 784)
  math.randomseed(-1)
  assert(math.random(0) == -6532212821526904015)
  math.randomseed(0)
  assert(math.random(0) == 4554719557422691265)
end

do -- seeds: returned, and usable for a repetition
  local a, b = math.randomseed(7.0)
  assert(a == 7 and b == 0)
  a, b = math.randomseed()
  assert(math.type(a) == "integer" and math.type(b) == "integer")
  local first = math.random(0)
  math.randomseed(a, b)
  assert(math.random(0) == first)
  math.randomseed()
  assert(math.random(0) ~= first)
  fails("number has no integer representation", math.randomseed, 1.5)
  fails("number expected, got string", math.randomseed, "x")
  fails("number has no integer representation", math.randomseed, 1, 2.5)
end

do -- ranges
  math.randomseed(1)
  local seen = {}
  for _ = 1, 2000 do
    local r = math.random()
    assert(0 <= r and r < 1 and math.type(r) == "float")
    r = math.random(10)
    assert(1 <= r and r <= 10 and math.type(r) == "integer")
    seen[r] = true
    r = math.random(-5, 5)
    assert(-5 <= r and r <= 5)
    seen["s" .. r] = true
    r = math.random(math.mininteger, math.mininteger + 1)
    assert(r <= math.mininteger + 1)
    r = math.random(math.maxinteger - 1, math.maxinteger)
    assert(r >= math.maxinteger - 1)
  end
  for i = 1, 10 do assert(seen[i]) end
  for i = -5, 5 do assert(seen["s" .. i]) end
  assert(math.random(1) == 1 and math.random(7, 7) == 7)
  assert(math.random(math.maxinteger, math.maxinteger) == math.maxinteger)
  fails("interval is empty", math.random, 2, 1)
  fails("interval is empty", math.random, -1)
  fails("interval is empty", math.random, math.maxinteger, math.mininteger)
  fails("wrong number of arguments", math.random, 1, 2, 3)
  fails("number has no integer representation", math.random, 1.5)
end

do -- evenly spread, roughly
  math.randomseed(2)
  local counts = {}
  for _ = 1, 30000 do
    local r = math.random(3)
    counts[r] = (counts[r] or 0) + 1
  end
  for i = 1, 3 do assert(math.abs(counts[i] - 10000) < 500) end
end
print "OK"
