-- SPDX-License-Identifier: MIT
-- Arithmetic and comparison of numbers; metatypes.
local fixture = require "_fixture"
local ffi, fails = fixture.ffi, fixture.fails
local u64, i64, i32 = ffi.typeof "uint64_t", ffi.typeof "int64_t", ffi.typeof "int"

local function same(a, b) return math.type(a) == math.type(b) and a == b end
local function is_unsigned(v, text)
  return ffi.istype("uint64_t", v) and tostring(v) == text .. "ULL"
end

-- Without uint64_t the result is a Lua number
assert(same(i64(5) + 3, 8) and same(3 - i32(5), -2) and same(i32(7) * i64(6), 42) and
  same(i64(7) // 2, 3) and same(i64(-7) // 2, -4))
assert(same(i64(2) ^ 10, 1024.0) and same(-i64(5), -5) and
  same(~i32(5), ~5) and same(i64(6) & 3, 2))
assert(same(i64(1) << 62, 1 << 62) and same(i64(-1) >> 1, math.maxinteger) and
  same(i64(math.maxinteger) + 1, math.mininteger))
assert(same(ffi.new("double", 1.5) + 1, 2.5) and same(i32(1) + 0.5, 1.5) and
  same(ffi.new("float", 0.5) * 4, 2.0))

-- Division of 64-bit integers is C's: towards zero
assert(same(i64(7) / 2, 3) and same(i64(-7) / 2, -3) and same(-7 / i64(2), -3) and
  same(i64(-7) % 3, -1) and same(7 % i64(-3), 1) and same(i64(math.mininteger) / -1, math.mininteger) and
  same(i64(math.mininteger) % -1, 0) and same(i64(7) / 2.0, 3.5))
assert(same(i32(7) / 2, 3.5) and same(i32(-7) % 3, 2)) -- of others, Lua's

-- With it, modulo 2^64 and unsigned
assert(is_unsigned(u64(0) - 1, "18446744073709551615") and is_unsigned(u64(5) + 3, "8") and
  is_unsigned(-u64(1), "18446744073709551615"))
assert(is_unsigned(u64(-1) // 10, "1844674407370955161") and is_unsigned(u64(-1) % 10, "5") and
  is_unsigned(u64(1) << 63, "9223372036854775808"))
assert(is_unsigned(u64(-1) >> 60, "15") and
  is_unsigned(u64(3) * u64(-1), "18446744073709551613") and
  is_unsigned(~u64(0), "18446744073709551615"))
assert(is_unsigned(u64(12) & 10, "8") and is_unsigned(u64(12) | 3, "15") and
  is_unsigned(u64(12) ~ 5, "9") and is_unsigned(u64(1) << 64, "0"))
assert(is_unsigned(u64(-1) / 2, "9223372036854775807") and same(u64(4) + 0.5, 4.5) and
  is_unsigned(i64(-1) / u64(2), "9223372036854775807"))
local _, by_zero = pcall(function() local zero = 0 return 1 // zero end)
local _, modulo_zero = pcall(function() local zero = 0 return 1 % zero end)
fails(by_zero:match ": (.*)", function() return u64(1) // 0 end)
fails(modulo_zero:match ": (.*)", function() return u64(1) % u64(0) end)
fails(by_zero:match ": (.*)", function() return i64(1) // 0 end)

for _, zero in ipairs { 0, i64(0) } do
  fails(by_zero:match ": (.*)", function() return i64(1) / zero end)
  fails(modulo_zero:match ": (.*)", function() return i64(1) % zero end)
end

-- Comparisons are C's for integers, exact with floats
assert(not (u64(-1) > -1) and u64(-1) <= -1 and u64(0) < -1 and u64(-1) > math.maxinteger and u64(5) == i64(5) and u64(1 << 63) > 9.2e18 and
  not (u64(-1) < 1.8e19))
assert(i64(5) < 6 and 5 <= i32(5) and not (i64(-1) < u64(0)) and i64(-1) == u64(-1) and i32(5) == ffi.new("double", 5) and
  i64(math.maxinteger) < 2.0 ^ 63)
assert(u64(5) ~= 5 and not (u64(5) == 5)) -- Lua compares different types by itself
local nan = ffi.new("double", 0 / 0)
assert(nan ~= ffi.new("double", 0 / 0) and not (nan < 1) and not (nan >= 1))
fails("attempt to apply operator lt to 'int' and 'string'", function() return i32(1) < "x" end)
fails("attempt to apply operator add to 'int' and 'table'", function() return i32(1) + {} end)
assert(ffi.new("int[2]")[i64(1)] == 0 and ffi.new("int[2]")[1.0] == 0)
ffi.cdef "enum day { MON, TUE, WED };"
assert(ffi.new("enum day", "TUE") + "WED" == 3 and ffi.new("enum day", 1) <= "TUE")
assert(ffi.tonumber(u64(-1)) == 2.0 ^ 64 and ffi.tonumber "0x10" == 16 and
  ffi.tonumber {} == nil and ffi.toretval(i32(5)) == 5)

-- Metatypes
ffi.cdef "typedef struct { double x, y; } vector; struct counted { int n; };"
local vector
local mt = {
  __add = function(a, b) return vector(a.x + b.x, a.y + b.y) end,
  __unm = function(a) return vector(-a.x, -a.y) end,
  __mul = function(a, b) if type(a) == "number" then a, b = b, a end
  return vector(a.x * b, a.y * b) end,
  __eq = function(a, b) return a.x == b.x and a.y == b.y end,
  __lt = function(a, b) return a:length() < b:length() end,
  __le = function(a, b) return a:length() <= b:length() end, __len = function(a) return 2 end,
  __concat = function(a, b) return tostring(a) .. "|" .. tostring(b) end,
  __call = function(a, ...) return a.x, ... end,
  __tostring = function(a) return ("(%g, %g)"):format(a.x, a.y) end,
  __pairs = function(a) return function(_, k)
  if not k then return "x", a.x elseif k == "x" then return "y", a.y end end, a end,
  __index = {length = function(a) return (a.x ^ 2 + a.y ^ 2) ^ 0.5 end, ZERO = 0},
  __newindex = function(a, k, v) a[k:lower()] = v end}
vector = ffi.metatype("vector", mt)
local a, b = vector(3, 4), vector(1, 2)
assert(tostring(a + b) == "(4, 6)" and tostring(-a) == "(-3, -4)" and
  tostring(a * 2) == "(6, 8)" and tostring(2 * a) == "(6, 8)")
assert(a:length() == 5 and a == vector(3, 4) and a ~= b and b < a and b <= a and a > b and
  #a == 2 and a .. b == "(3, 4)|(1, 2)" and a .. "x" == "(3, 4)|x")
assert(select("#", a(1, 2)) == 3 and select(3, a(1, "last")) == "last" and vector.ZERO == 0 and
  vector.length(a) == 5)
a.X = 30
assert(a.x == 30 and ffi.addressof(a):length() > 30)
local seen = {}
for k, v in pairs(b) do seen[k] = v end
assert(seen.x == 1 and seen.y == 2)
assert(ffi.new("vector[3]", {{1, 2}, {3, 4}, {5, 6}})[1] + b == vector(4, 6))
fails("has a metatable already", ffi.metatype, "vector", {})
fails("struct or union expected", ffi.metatype, "int", {})
fails("attempt to get the length of a cdata value of type 'int'", function() return #i32(1) end)
fails("attempt to concatenate a cdata value of type 'int'", function() return i32(1) .. "x" end)
fails("attempt to traverse a cdata value", pairs, i32(1))
-- (through coroutines too)
local yielding = ffi.metatype("struct { int v; }",
  {__add = function(x, y) return coroutine.yield(x.v) end,
  __index = function(x, k) return coroutine.yield(k) end})
local co = coroutine.wrap(function() local y = yielding(7) return y + 1, y.key end)
assert(co() == 7 and co "sum" == "key" and select(2, co "value") == "value")

-- __new, __gc, __close
local events = {}
local counted = ffi.metatype("struct counted", {
  __new = function(t, n) return ffi.new(t, n * 2) end,
  __gc = function(c) events[#events + 1] = c.n end,
  __close = function(c) events[#events + 1] = "closed " .. c.n end, __name = "Counted"})
do
  local c <close> = counted(4) assert(c.n == 8 and tostring(c):match "^Counted: 0x" and
    tostring(counted) == "Counted")
end
assert(events[1] == "closed 8")
fails("variable 'v' got a non-closable value",
  load "local ffi = require 'saros.ffi' local v <close> = ffi.new 'int'")
local function clobber(n)
  if n > 0 then local p, q, r = n, n, n return clobber(n - 1) or p + q + r end
end
clobber(50)
collectgarbage() collectgarbage()
assert(events[2] == 8)
