-- SPDX-License-Identifier: MIT
-- table: insert, remove, move, concat, pack, unpack on plain tables.

local fails = require "_fails"

local function is(t, ...)
  local want = table.pack(...)
  for i = 1, want.n do assert(rawget(t, i) == want[i], i) end
  assert(rawget(t, want.n + 1) == nil)
end

do -- insert
  local t = {}
  table.insert(t, 10)
  table.insert(t, 2, 20)
  table.insert(t, 1, -1)
  table.insert(t, 40)
  table.insert(t, #t + 1, 50)
  table.insert(t, 2, -2)
  is(t, -1, -2, 10, 20, 40, 50)
  assert(select("#", table.insert(t, 1)) == 0)
  t = {}
  for i = 1, 1000 do table.insert(t, 1, i) end
  for i = 1, 1000 do assert(t[i] == 1001 - i) end
  table.insert(t, "3", "x")
  assert(t[3] == "x")
  fails("wrong number of arguments to 'insert'", table.insert, {})
  fails("wrong number of arguments to 'insert'", table.insert, {}, 2, 3, 4)
  fails("position out of bounds", table.insert, { 1, 2, 3 }, 0, 20)
  fails("position out of bounds", table.insert, { 1, 2, 3 }, 5, 20)
  fails("position out of bounds", table.insert, { 1, 2, 3 }, -1, 20)
  fails("number expected, got string", table.insert, {}, "a", 1)
  fails("table expected, got nil", table.insert, nil, 1)
  fails("table expected, got string", table.insert, "x", 1)
end

do -- remove
  local t = { 1, 2, 3, 4, 5 }
  assert(table.remove(t) == 5 and table.remove(t, 1) == 1 and table.remove(t, 2) == 3)
  is(t, 2, 4)
  assert(table.remove(t, 3) == nil and table.remove(t, #t + 1) == nil)
  assert(table.remove(t) == 4 and table.remove(t) == 2 and table.remove(t) == nil and
    table.remove(t, 0) == nil)
  is(t)
  t = { n = 0, [-7] = "ban" }
  assert(#t == 0 and table.remove(t) == nil and t.n == 0 and t[-7] == "ban")
  t = { [0] = "zero" }
  assert(table.remove(t, 0) == "zero" and t[0] == nil and table.remove(t, #t) == nil)
  t = {}
  for i = 1, 1000 do t[i] = i end
  for i = 1, 1000 do assert(table.remove(t, 1) == i and #t == 1000 - i) end
  fails("position out of bounds", table.remove, { 1, 2, 3 }, -1)
  fails("position out of bounds", table.remove, { 1, 2, 3 }, 5)
  fails("position out of bounds", table.remove, {}, 2)
end

do -- move
  is(table.move({ 10, 20, 30 }, 1, 3, 2), 10, 10, 20, 30)
  is(table.move({ 10, 20, 30 }, 1, 3, 3), 10, 20, 10, 20, 30)
  is(table.move({ 10, 20, 30 }, 2, 3, 1), 20, 30, 30)
  is(table.move({ 10, 20, 30 }, 1, 3, 1), 10, 20, 30)
  is(table.move({ 10, 20, 30 }, 1, 0, 3), 10, 20, 30)
  is(table.move({ 10, 20, 30 }, 1, 10, 1), 10, 20, 30)
  local into = {}
  assert(table.move({ 10, 20, 30 }, 1, 3, 1, into) == into)
  is(into, 10, 20, 30)
  is(table.move({ 1, 2, 3 }, 2, 3, 1, { 9, 9, 9 }), 2, 3, 9)
  local t = table.move({ [math.maxinteger - 1] = 1, [math.maxinteger] = 2 }, math.maxinteger - 1,
    math.maxinteger, -10, {})
  assert(t[-10] == 1 and t[-9] == 2)
  t = table.move({ [math.mininteger] = 7 }, math.mininteger, math.mininteger, math.maxinteger)
  assert(t[math.maxinteger] == 7)
  t = table.move({ 1, 2, 3 }, -1, 3, 0)
  assert(t[0] == nil and t[2] == 1 and t[4] == 3)
  fails("too many elements to move", table.move, {}, 0, math.maxinteger, 1)
  fails("too many elements to move", table.move, {}, math.mininteger, -1, 1)
  fails("too many elements to move", table.move, {}, math.mininteger, math.maxinteger, 1)
  fails("destination wrap around", table.move, {}, 1, math.maxinteger, 2)
  fails("destination wrap around", table.move, {}, 1, 2, math.maxinteger)
  fails("destination wrap around", table.move, {}, math.mininteger, -2, 2)
  fails("table expected, got number", table.move, 1, 2, 3, 4)
  fails("#5", table.move, {}, 1, 1, 1, 5)
end

do -- concat
  assert(table.concat {} == "" and table.concat({}, "x") == "" and
    table.concat({ "a" }, "x") == "a")
  assert(table.concat({ 1, 2.5, "x", -3 }, ", ") == "1, 2.5, x, -3")
  assert(table.concat({ "\0", "\0\1", "\0\1\2" }, ".\0.") == "\0.\0.\0\1.\0.\0\1\2")
  local t = {}
  for i = 1, 300 do t[i] = "xuxu" end
  assert(table.concat(t, "123") .. "123" == ("xuxu123"):rep(300))
  assert(table.concat(t, "b", 20, 20) == "xuxu" and table.concat(t, "x", 22, 21) == "")
  assert(table.concat(t, "", 20, 21) == "xuxuxuxu" and table.concat(t, "3", 299) == "xuxu3xuxu")
  assert(table.concat({ [math.maxinteger] = "alo" }, "x", math.maxinteger,
    math.maxinteger) == "alo")
  assert(table.concat({ [math.maxinteger - 1] = "y", [math.maxinteger] = "alo" }, "-",
    math.maxinteger - 1, math.maxinteger) == "y-alo")
  assert(table.concat({ [math.mininteger] = "a" }, "x", math.mininteger, math.mininteger) == "a")
  assert(table.concat({ math.mininteger, math.maxinteger }, " ") ==
    "-9223372036854775808 9223372036854775807")
  assert(table.concat({ 1, 2, 3 }, 0) == "10203")
  fails("invalid value (table) at index 2 in table for 'concat'", table.concat, { "a", {} })
  fails("invalid value (nil) at index 3 in table for 'concat'", table.concat,
    { "a", "b" }, ",", 1, 3)
  fails("invalid value (boolean) at index 1 in table for 'concat'", table.concat, { true })
  fails("table expected, got string", table.concat, "abc")
end

do -- pack and unpack
  local t = table.pack()
  assert(t[1] == nil and t.n == 0)
  t = table.pack(nil, nil, 3, nil)
  assert(t.n == 4 and t[3] == 3)
  assert(select("#", table.unpack {}) == 0 and table.unpack { 1, 2 } == 1)
  local a, b, c = table.unpack({ 1, 2, 3, 4 }, 3)
  assert(a == 3 and b == 4 and c == nil)
  a, b, c = table.unpack({ 1, 2 }, 1, 3)
  assert(a == 1 and b == 2 and c == nil and select("#", table.unpack({}, -5, 5)) == 11)
  assert(select("#", table.unpack({ 1, 2 }, 3, 2)) == 0)
  assert(table.unpack({ 1, 2, n = 5 }) == 1 and
    select("#", table.unpack(table.pack(1, nil), 1, 2)) == 2)
  t = {}
  for i = 1, 2000 do t[i] = i end
  assert(select("#", table.unpack(t)) == 2000 and select(2000, table.unpack(t)) == 2000)
  local maxi, mini = math.maxinteger, math.mininteger
  a, b = table.unpack({ [maxi - 1] = 12, [maxi] = 23 }, maxi - 1, maxi)
  assert(a == 12 and b == 23 and select("#", table.unpack({}, maxi, mini)) == 0)
  a, b = table.unpack({ [mini] = 12, [mini + 1] = 23 }, mini, mini + 1)
  assert(a == 12 and b == 23)
  for _, range in ipairs { { 0, (1 << 31) - 1 }, { 1, maxi }, { mini, maxi }, { 0, maxi },
    { 1, 1e8 } } do
    fails("too many results to unpack", table.unpack, {}, range[1], range[2])
  end
  fails("attempt to get length of a nil value", table.unpack)
  assert(select("#", table.unpack("abc", 1, 2)) == 2) -- anything that can be indexed
end
print "OK"
