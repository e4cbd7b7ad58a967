-- SPDX-License-Identifier: MIT
-- Constants at the edges of what numbers, strings and instructions can hold.

local Literals = {}

Literals.int = { "0", "1", "2", "3", "5", "7", "10", "-1", "-2", "-3", "63", "64", "65", "-63",
    "-64",
  "127", "128", "129", "-127", "-128", "-129", "255", "256", "32767", "32768", "-32768", "-32769",
  "65535", "65536", "131071", "2147483647", "2147483648", "-2147483648", "0xffffffff", "4294967296",
  "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993",
  "0x7fffffffffffffff", "0x8000000000000000", "math.maxinteger", "math.mininteger",
  "0xffffffffffffffff", "1000000007" }

Literals.small = { "0", "1", "2", "3", "4", "5", "-1", "-2", "10" }

Literals.float = { "0.0", "-0.0", "0.5", "-0.5", "1.0", "2.0", "-1.0", "-1.5", "3.0", "0.1", "3.7",
    "-3.7",
  "127.0", "128.0", "-128.0", "-129.0", "255.0", "1e15", "1e16", "1e100", "math.huge", "-math.huge",
  "(0/0)", "0x1p53", "0x1p53 + 2.0", "0x1p63", "-0x1p63", "9.2233720368547748e18", "5e-324",
  "1.7976931348623157e308", "2147483648.0", "1e300", "65536.0" }

Literals.str = { '""', '"a"', '"b"', '"abc"', '"10"', '"0x10"', '" 5 "', '"1e1"', '"-7"', '"3.0"',
    '"1e"',
  '"0x"', '"inf"', '"nan"', '"0x1p4"', '"\\0b"', '"9223372036854775807"', '"9223372036854775808"',
  '"-9223372036854775808"', '"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz"', '"a\\nb"',
      '"Z"',
  '"10 "', '"1 0"', '"0.5"', '"\\xff"' }

Literals.bool = { "true", "false" }

-- Keys that never make a table's length depend on the implementation.
Literals.key = { '"a"', '"b"', '"c"', '"x"', '"y"', "0", "-1", "1.5", "true", '"n"' }
Literals.field = { "a", "b", "c", "x", "y", "n" }

return Literals
