-- SPDX-License-Identifier: MIT
-- string.format: what each conversion prints.

local format = string.format

local function check(expected, ...)
  local result = format(...)
  assert(result == expected, ("%s gave <%s>, not <%s>"):format((...), result, expected))
end

-- text and percent signs
check("", "")
check("a%b\0c", "a%%b\0c")
check("100%", "%d%%", 100)

-- integers
check("0", "%d", 0)
check("-9223372036854775808", "%d", math.mininteger)
check("9223372036854775807", "%i", math.maxinteger)
check("   42|42   |00042|+42| 42", "%5d|%-5d|%05d|%+d|% d", 42, 42, 42, 42, 42)
check("  -42|-42  |-0042|-42|-42", "%5d|%-5d|%05d|%+d|% d", -42, -42, -42, -42, -42)
check("00042|  042|042  |", "%.5d|%5.3d|%-5.3d|%.0d", 42, 42, 42, 0)
check("  +42", "%+5.2d", 42)
check("   042", "%06.3d", 42) -- a precision turns zero padding off
check(("0"):rep(99), "%.99d", 0)
check(("%s1"):format((" "):rep(98)), "%99d", 1)
check("3 3 10", "%d %d %d", 3.0, "3", "0xA")
check("ff FF 377 0xff 0XFF 0377", "%x %X %o %#x %#X %#o", 255, 255, 255, 255, 255, 255)
check("ffffffffffffffff 1777777777777777777777", "%x %o", -1, -1)
check("0 0 0|0", "%#x %#o %x|%#.0o", 0, 0, 0, 0)
check("0x00ff|0x0ff |  0x0ff", "%#06x|%-#6.3x|%#7.3x", 255, 255, 255)
check("18446744073709551615", "%u", -1)

-- characters
check("A|  B|C  |\0", "%c|%3c|%-3c|%c", 65, 66, 67, 0)
check("    \0", "%5c", 0)

-- floats
check("1.500000 1.5 1.500000e+00", "%f %g %e", 1.5, 1.5, 1.5)
check("1 2 2 4", "%.0f %.0f %.0f %.0f", 0.5000001, 1.5, 2.5, 3.5) -- ties go to even
check("0 -0 -0", "%.0f %.0f %.0f", 0.5, -0.5, -0.0)
check("0.13 0.1 0.12", "%.2f %.1f %.2f", 0.126, 0.126, 0.125)
check("0.1000000000 0.10000000000000000555", "%.10f %.20f", 0.1, 0.1)
check("  3.14|3.14  |003.14|+3.14", "%6.2f|%-6.2f|%06.2f|%+.2f", 3.14159, 3.14159, 3.14159, 3.14159)
check("-12.3400", "%.4f", -12.34)
check("99999.99 100000.00", "%.2f %.2f", 99999.99, 99999.999)
check("1099511627775.9999", "%.4f", 2 ^ 40 - 0.0001)
check("1000000000000000.00", "%.2f", 1e15)
check("0.00", "%.2f", 5e-324)
check("inf -inf", "%f %.1f", math.huge, -math.huge)
check("1" .. ("0"):rep(22) .. ".0", "%.1f", 1e22)
assert(#format("%.99f", -1.7976931348623157e308) == 1 + 309 + 1 + 99)
check("1E+20 1e-10 100000 1e+06", "%G %g %g %g", 1e20, 1e-10, 1e5, 1e6)
check("1.00000", "%#g", 1)
check("3", "%.0f", "3")
check("0x1p+0 0X1.8P+1 0x1.999999999999ap-4 -0x0p+0", "%a %A %a %a", 1, 3, 0.1, -0.0)
check("0x1.80p+0", "%.2a", 1.5)

-- strings
check("nil true 12 1.5 abc", "%s %s %s %s %s", nil, true, 12, 1.5, "abc")
check("     abc|abc     |ab|   ab", "%8s|%-8s|%.2s|%5.2s", "abc", "abc", "abc", "abc")
check("|", "%.0s|", "abc")
check("a\0b", "%s", "a\0b")
check("    x|", "%5s|", "x")
local long = ("x"):rep(200)
check(long .. "|" .. long, "%s|%20s", long, long)
check(("x"):rep(99), "%.99s", long)
check("9223372036854775807 -1", "%s %s", math.maxinteger, -1)
check("T!", "%s", setmetatable({}, { __tostring = function() return "T!" end }))
check("  T!", "%4s", setmetatable({}, { __tostring = function() return "T!" end }))
assert(format("%s", setmetatable({}, { __name = "Thing" })):find("^Thing: "))
assert(format("%s", print):find("^function: "))
do -- __tostring of strings and numbers counts too
  debug.setmetatable(1, { __tostring = function() return "number" end })
  getmetatable("").__tostring = function() return "string" end
  local got = format("%s %s", 1, "x")
  debug.setmetatable(1, nil)
  getmetatable("").__tostring = nil
  assert(got == "number string")
end

-- pointers
check("(null) (null)|    (null)", "%p %p|%10p", 1, nil, true)
do
  local t = {}
  local p = format("%p", t)
  assert(tostring(t) == "table: " .. p and format("%p", t) == p and format("%p", {}) ~= p)
  assert(#format("%90p", t) == 90 and format("%-60p", t) == p .. (" "):rep(60 - #p))
  assert(format("%p", ("short"):rep(2)) == format("%p", "shortshort"))
end

do -- %q reads back as what it was
  local function reads_back(v)
    local back = load("return " .. format("%q", v))()
    assert(back == v and math.type(back) == math.type(v), format("%q", v))
  end
  local bytes = {}
  for i = 0, 255 do bytes[#bytes + 1] = string.char(i) .. (i % 3 == 0 and "1" or "x") end
  reads_back(table.concat(bytes))
  for _, v in ipairs { "", "\0", "\0001", "\r\n\\\"", math.mininteger, math.maxinteger, 0, 0.1,
    -0.0, 1.0, 1e300,
    5e-324, math.huge, -math.huge, true, false, math.pi } do
    reads_back(v)
  end
  local nan = load("return " .. format("%q", 0 / 0))()
  assert(nan ~= nan)
  check("nil", "%q", nil)
  check('"a\\\n\\13\\0b\\0001\\"\\\\\\127\\1"', "%q", "a\n\r\0b\0001\"\\\127\1")
  check("0x8000000000000000", "%q", math.mininteger)
  check("0x1p+0 1e9999 -1e9999 (0/0)", "%q %q %q %q", 1.0, math.huge, -math.huge, 0 / 0)
end

do -- long results, many arguments
  local parts, args = {}, {}
  for i = 1, 200 do parts[i], args[i] = "%d", i end
  assert(format(table.concat(parts, ","), table.unpack(args)) == table.concat(args, ","))
  local s = ("%s"):rep(100)
  local many = {}
  for i = 1, 100 do many[i] = ("y"):rep(i) end
  assert(format(s, table.unpack(many)) == ("y"):rep(5050))
end
print "OK"

-- Digits that are rounded up to a power of ten, ties, and the ends of what is laid out
-- without the C library's help.
for _, case in ipairs {
  {"%.4e", 99999.5, "1.0000e+05"}, {"%.13e", 99999999999999.5, "1.0000000000000e+14"},
  {"%.0e", 9.5, "1e+01"},
  {"%.5g", 99999.5, "1e+05"}, {"%.5g", 9.99996, "10"}, {"%.2g", 0.000999, "0.001"},
  {"%.1g", 0.00095, "0.0009"},
  {"%.3e", 0.00099996, "1.000e-03"}, {"%.3g", 2.5, "2.5"}, {"%.1g", 2.5, "2"}, {"%.1g", 3.5, "4"},
  {"%.0g", 0.5, "0.5"},
  {"%g", 1e-4, "0.0001"}, {"%g", 9.99999e-5, "9.99999e-05"}, {"%g", 999999.5, "1e+06"},
  {"%g", 100000, "100000"},
  {"%.14g", 99999999999999.0, "99999999999999"}, {"%.14g", 1e14, "1e+14"}, {"%.14g", 0.1, "0.1"},
  {"%e", -1.5, "-1.500000e+00"},
  {"%10.3g|", -1.5, "      -1.5|"}, {"%-10.0e|", 15, "2e+01     |"}, {"%e", 0, "0.000000e+00"},
  {"%g", -0.0, "-0"},
  {"%q", 1.5, "0x1.8p+0"}, {"%q", -0.1, "-0x1.999999999999ap-4"}, {"%q", 2.0^1000, "0x1p+1000"},
  {"%q", 0.0, "0x0p+0"},
  {"%q", 5e-324, "0x0.0000000000001p-1022"},
  {"%q", "\1\0011\200\n\"\\\127", "\"\\1\\0011\200\\\n\\\"\\\\\\127\""},
  {"%99.50s|", setmetatable({}, {__tostring = function() return ("o"):rep(150) end}),
  (" "):rep(49) .. ("o"):rep(50) .. "|"},
} do
  local result = case[1]:format(case[2])
  assert(result == case[3], case[1] .. ": " .. result)
end
