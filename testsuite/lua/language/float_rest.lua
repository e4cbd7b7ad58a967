-- SPDX-License-Identifier: MIT
-- Floats modulo floats, of all sizes, are what fmod of C makes of them, with the sign of
-- the divisor; the bits of both are random, and exponents near each other are most.

local seed = 7
local function random()
  seed = seed * 6364136223846793005 + 1442695040888963407
  return seed ~ (seed >> 29)
end

local function float(exponent)
  local bits = random() & 0x800fffffffffffff | (exponent & 0x7ff) << 52
  return (string.unpack("<d", string.pack("<i8", bits)))
end

local function same(x, y) return x == y and 1 / x == 1 / y or (x ~= x and y ~= y) end

local function check(a, b)
  local rest = math.fmod(a, b)
  if rest ~= 0 and (rest < 0) ~= (b < 0) then rest = rest + b end
  assert(same(a % b, rest), string.format("%a %% %a: %a, not %a", a, b, a % b, rest))
end

local rounds = (tonumber(os.getenv("TEST_SLOWNESS")) or 1) > 1 and 500 or 20000
for i = 1, rounds do
  local e = random() & 0x7ff
  check(float(e), float(e - random() % 70))
  check(float(e), float(random()))
  check(float(1023 + random() % 60), float(1023 + random() % 20))
  local b = float(e)
  check(b * (random() % 1000), b)
end

for _, a in ipairs { 0.0, -0.0, 1.5, -1.5, 1 / 0, -1 / 0, 0 / 0, 5e-324, -2.2e-308, 1.7e308 } do
  for _, b in ipairs { 0.0, 1.5, -1.5, 1 / 0, -1 / 0, 0 / 0, 5e-324, 2.2250738585072014e-308,
    1e-290, 1.7e308 } do
    check(a, b)
  end
end

-- bit operations on floats that are integers; the others fail
for _, a in ipairs { 0.0, -0.0, 1.0, -7.0, 2.0 ^ 53, -2.0 ^ 63, 12345678901234.0 } do
  for _, b in ipairs { 3, -1, 8.0, 0.0 } do
    local x, y = math.tointeger(a), math.tointeger(b)
    assert((a & b) == (x & y) and (a | b) == (x | y) and (a ~ b) == (x ~ y) and ~a == ~x)
    assert((a << b) == (x << y) and (a >> b) == (x >> y) and (b & a) == (y & x))
    assert((a & 5) == (x & 5) and (a // 1 | 0) == x and math.type(a | 0) == "integer")
  end
end
for _, a in ipairs { 0.5, 2.0 ^ 63, -2.0 ^ 64, 1 / 0, 0 / 0 } do
  for _, operation in ipairs {
    function() return a & 1 end, function() return 1 | a end, function() return a << 1.0 end,
    function() return 2.0 >> a end, function() return a ~ a end, function() return ~a end } do
    local ok, message = pcall(operation)
    assert(not ok and message:find("number.* has no integer representation"), message)
  end
end
