-- SPDX-License-Identifier: MIT
-- The utf8 library, strict and lax.

local fails = require "_fails"

-- Takes a string apart in every way and compares with its code points.
local function check(s, codes, lax)
  assert(utf8.char(table.unpack(codes)) == s)
  assert(utf8.len(s, 1, -1, lax) == #codes)
  assert(table.concat({ utf8.codepoint(s, 1, -1, lax) }, ",") == table.concat(codes, ","))
  local n, starts = 0, {}
  for p, c in utf8.codes(s, lax) do
    n = n + 1
    starts[n] = p
    assert(c == codes[n] and utf8.codepoint(s, p, p, lax) == c)
  end
  assert(n == #codes)
  for i, p in ipairs(starts) do
    assert(utf8.offset(s, i) == p and utf8.offset(s, i - n - 1) == p)
    for q = p, (starts[i + 1] or #s + 1) - 1 do assert(utf8.offset(s, 0, q) == p) end
    assert(utf8.len(s, p, -1, lax) == n - i + 1 and utf8.len(s, 1, p, lax) == i)
  end
  assert(utf8.offset(s, n + 1) == #s + 1 and utf8.offset(s, n + 2) == nil and
    utf8.offset(s, -n - 1) == nil)
  if not lax then
    local count = 0
    for c in s:gmatch(utf8.charpattern) do
      count = count + 1
      assert(c == utf8.char(codes[count]))
    end
    assert(count == n)
  end
end

check("", {})
check("hello World", { ("hello World"):byte(1, -1) })
check("汉字/漢字", { 27721, 23383, 47, 28450, 23383 })
check("𣲷𠜎𠱓𡁻𠵼ab𠺢", { 0x23CB7, 0x2070E, 0x20C53, 0x2107B, 0x20D7C, 0x61, 0x62, 0x20EA2 })
check("\u{0}\u{7f}\u{80}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}",
  { 0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff })
check("\u{d800}\u{dfff}\u{110000}\u{1fffff}\u{200000}\u{3ffffff}\u{4000000}\u{7fffffff}",
  { 0xd800, 0xdfff, 0x110000, 0x1fffff, 0x200000, 0x3ffffff, 0x4000000, 0x7fffffff }, true)
assert(utf8.charpattern == "[\0-\x7F\xC2-\xFD][\x80-\xBF]*")
assert(utf8.char() == "" and utf8.char(0, 97, 98, 99, 1) == "\0abc\1")
assert(utf8.char(0x7fffffff) == "\xfd\xbf\xbf\xbf\xbf\xbf")
for _, c in ipairs { 0x7f, 0x7ff, 0xffff, 0x1fffff, 0x3ffffff, 0x7fffffff } do
  assert(#utf8.char(c) + 1 == #utf8.char(math.min(c + 1, 0x7fffffff)) or c == 0x7fffffff)
end

do -- what is not valid, and where
  local function invalid(s, at, lax)
    local result, position = utf8.len(s, 1, -1, lax)
    assert(result == nil and position == at, s)
    fails("invalid UTF-8 code", utf8.codepoint, s, 1, -1, lax)
    fails("invalid UTF-8 code", function() for _ in utf8.codes(s, lax) do end end)
  end
  invalid("abc\xe3def", 4)
  invalid("\xf4\x9f\xbf", 1) -- cut off
  invalid("\xf4\x9f\xbf\xbf", 1) -- above 10FFFF
  invalid("\u{d800}", 1) -- surrogates
  invalid("a\u{dfff}", 2)
  invalid("\u{110000}", 1)
  invalid("\u{7fffffff}", 1)
  for _, lax in ipairs { false, true } do
    invalid("\xc0\x80", 1, lax) -- overlong
    invalid("\xc1\xbf", 1, lax)
    invalid("\xe0\x9f\xbf", 1, lax)
    invalid("\xf0\x8f\xbf\xbf", 1, lax)
    invalid("\xf8\x87\xbf\xbf\xbf", 1, lax)
    invalid("\xfc\x83\xbf\xbf\xbf\xbf", 1, lax)
    invalid("\x80", 1, lax) -- no start
    invalid("\xbf", 1, lax)
    invalid("\xfe", 1, lax)
    invalid("\xff", 1, lax)
    invalid("ab\xc3", 3, lax)
  end
  fails("invalid UTF-8 code", function() for _ in utf8.codes("\x80a") do end end)
  fails("invalid UTF-8 code", function() for _ in utf8.codes("a\x80") do end end)
end

do -- ranges
  local s = "汉字a"
  assert(utf8.len(s, 4) == 2 and utf8.len(s, -1) == 1 and utf8.len(s, #s + 1) == 0)
  assert(utf8.len(s, 1, 3) == 1 and utf8.len(s, 1, 4) == 2,
    "a character counts when it starts in the range")
  assert(utf8.len(s, 4, 3) == 0 and utf8.len("", 1) == 0)
  assert(select("#", utf8.codepoint(s, 4, 3)) == 0 and utf8.codepoint("\u{D7FF}") == 0xD7FF)
  assert(utf8.codepoint(s, -1) == 97 and utf8.codepoint(s) == 27721)
  fails("initial position out of bounds", utf8.len, "abc", 0, 2)
  fails("initial position out of bounds", utf8.len, "abc", 5)
  fails("initial position out of bounds", utf8.len, "abc", -5)
  fails("final position out of bounds", utf8.len, "abc", 1, 4)
  fails("out of bounds", utf8.codepoint, "abc", 1, 4)
  fails("out of bounds", utf8.codepoint, "abc", 0)
  fails("out of bounds", utf8.codepoint, "abc", -4, 1)
end

do -- offset
  local s = "aé€𠜎"
  assert(utf8.offset(s, 1) == 1 and utf8.offset(s, 3) == 4 and utf8.offset(s, -1) == 7)
  assert(utf8.offset(s, 2, 4) == 7 and utf8.offset(s, -1, 4) == 2 and utf8.offset(s, 1, 4) == 4)
  assert(utf8.offset("abc", 0) == 1 and utf8.offset("alo", 0, 3) == 3 and
    utf8.offset("alo", 5) == nil)
  assert(utf8.offset("alo", -4) == nil and utf8.offset("alo", 1, 4) == 4 and
    utf8.offset("", 1) == 1)
  fails("position out of bounds", utf8.offset, "abc", 1, 5)
  fails("position out of bounds", utf8.offset, "abc", 1, -4)
  fails("position out of bounds", utf8.offset, "", 1, 2)
  fails("initial position is a continuation byte", utf8.offset, "𦧺", 1, 2)
  fails("initial position is a continuation byte", utf8.offset, "\x80", 1)
end

fails("value out of range", utf8.char, -1)
fails("value out of range", utf8.char, 0x80000000)
fails("value out of range", utf8.char, 1, 2, math.maxinteger)
fails("string expected", utf8.len, {})
fails("string expected", utf8.codes, nil)
print "OK"
