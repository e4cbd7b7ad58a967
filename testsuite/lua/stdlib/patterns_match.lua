-- SPDX-License-Identifier: MIT
-- Patterns: find and match, every item, repetition and anchor.

local function check(s, pattern, ...)
  local got, want = table.pack(string.match(s, pattern)), table.pack(...)
  assert(got.n == want.n, pattern)
  for i = 1, want.n do
    assert(got[i] == want[i], ("%q %q: %s"):format(s, pattern, tostring(got[i])))
  end
end

local function spans(s, pattern, first, last, init, plain)
  local a, b = string.find(s, pattern, init, plain)
  assert(a == first and b == last, ("%q %q: %s %s"):format(s, pattern, tostring(a), tostring(b)))
end

-- Many cases, the arguments of each in a row.
local function check_all(rows)
  for _, row in ipairs(rows) do check(table.unpack(row, 1, math.max(3, #row))) end
end
local function spans_all(rows)
  for _, row in ipairs(rows) do spans(table.unpack(row, 1, 6)) end
end

do -- find: plain text, start, plain flag
  spans_all {
    {"123456789", "345", 3, 5}, {"1234567890123456789", "345", 13, 15, 4},
    {"1234567890123456789", "346", nil, nil, 4}, {"1234567890123456789", ".45", 13, 15, -9},
    {"abcdefg", "\0", nil, nil, 5, true}, {"", "", 1, 0}, {"", "", 1, 0, 1},
    {"", "", nil, nil, 2}, {"", "aaa", nil, nil}, {"alo(.)alo", "(.)", 4, 6, 1, true},
    {"alo123alo", "12", 4, 5}, {"alo123alo", "^12", nil, nil}, {"abc", "", 4, 3, 4},
    {"abc", "", nil, nil, 5}, {"abc", "", 1, 0, -10}, {"a\0a\0a\0a\0\0ab", "\0ab", 9, 11, 2},
    {"a\0a\0a\0a\0\0ab", "b", 11, 11}, {"a\0\0a\0ab", "b\0", nil, nil},
    {"x)y", ")", 2, 2}, {"x]y", "]", 2, 2}, -- brackets that close nothing are text
    {"aaab", "aab", 2, 4, 1, true},
  }
  local long = ("ab"):rep(5000) .. "abc" .. ("ab"):rep(10)
  spans(long, "abc", 10001, 10003, 1, true)
  spans(long, "abd", nil, nil, 1, true)
  spans(("a"):rep(1000) .. "b", ("a"):rep(20) .. "b", 981, 1001, 1, true)
end

do -- single characters and classes
  check_all {
    {"alo", ".", "a"}, {"", ".", nil}, {"a.b", "%.b", ".b"}, {"a%b", "%%b", "%b"},
    {"0123456789", "%d+", "0123456789"}, {"  \t\n x", "^%s+x$", "  \t\n x"},
    {"aZ09_", "^%w+", "aZ09"}, {"aZ09_", "%W", "_"}, {"hello WORLD", "%u+", "WORLD"},
    {"hello WORLD", "%l+", "hello"}, {"a,b", "%p", ","}, {"a\1b", "%c", "\1"},
    {"xyzBEEF12g", "%x+", "BEEF12"}, {"a\0b", "%z", "\0"}, {"\0\0a", "%Z", "a"},
    {" a", "%g", "a"},
  }
  local all, counts = {}, {}
  for i = 0, 255 do all[i + 1] = string.char(i) end
  all = table.concat(all)
  for class, count in pairs { a = 52, c = 33, d = 10, g = 94, l = 26, p = 32, s = 6, u = 26,
    w = 62, x = 22 } do
    assert(select(2, all:gsub("%" .. class, "")) == count, class)
    assert(select(2, all:gsub("%" .. class:upper(), "")) == 256 - count, class)
  end
end

do -- sets
  local function members(set)
    local t = {}
    for i = 0, 255 do
      if string.char(i):find(set) then t[#t + 1] = string.char(i) end
    end
    return table.concat(t)
  end
  assert(members("[a-z]") == "abcdefghijklmnopqrstuvwxyz")
  assert(members("[a-z%d]") == members("[%da-uu-z]"))
  assert(members("[a-]") == "-a" and members("[-a]") == "-a")
  assert(members("[^%W]") == members("[%w]"))
  assert(members("[]%%]") == "%]")
  assert(members("[^]]") == members("[^%]]") and #members("[^]]") == 255)
  assert(members("[a%-z]") == "-az")
  assert(members("[%^%[%-a%]%-b]") == "-[]^ab")
  assert(members("[%a-z]") == members("[%a%-z]"), "a class starts no range")
  assert(members("[\0-\x1f]") == members("[%c]"):sub(1, 32))
  assert(members("[\x80-\xff]") == members("[^\0-\x7f]"))
  assert(members("[z-a]") == "")
end

do -- repetitions
  check_all {
    {"aaab", "a*", "aaa"}, {"aaa", "^.*$", "aaa"}, {"aaa", "b*", ""}, {"aaa", "ab*a", "aa"},
    {"aba", "ab*a", "aba"}, {"aaab", "a+", "aaa"}, {"aaab", "^.+$", "aaab"}, {"aaa", "b+", nil},
    {"aaa", "ab+a", nil}, {"aba", "ab+a", "aba"}, {"a$a", ".$", "a"}, {"a$a", ".%$", "a$"},
    {"a$a", ".$.", "a$a"}, {"a$a", "$$", nil}, {"a$b", "a$", nil}, {"a$a", "$", ""},
    {"", "b*", ""}, {"aaa", "bb*", nil}, {"aaab", "a-", ""}, {"aaa", "^.-$", "aaa"},
    {"aabaaabaaabaaaba", "b.*b", "baaabaaabaaab"}, {"aabaaabaaabaaaba", "b.-b", "baaab"},
    {"alo xo", ".o$", "xo"}, {" \n isto \xe9 assim", "%S%S*", "isto"},
    {"isto \xe9 assim  ", "%S*%s*$", "assim  "}, {"um caracter ? extra", "[^%sa-z]", "?"},
    {"", "a?", ""}, {"\xe1", "\xe1?", "\xe1"}, {"\xe1bl", "\xe1?b?l?", "\xe1bl"},
    {"  \xe1bl", "\xe1?b?l?", ""}, {"aa", "^aa?a?a", "aa"}, {"]]]\xe1b", "[^]]", "\xe1"},
    {"0alo alo", "%x*", "0a"}, {"alo alo", "%C+", "alo alo"}, {"aab", "a?b", "ab"},
    {"abab", "[ab]*b", "abab"}, -- gives back
    {"aaaa", "a*a", "aaaa"}, {"aaaa", "a?a?a?a?a", "aaaa"}, {"xxabc", "x-a.-c", "xxabc"},
    {"f(1)(2)", "%(.-%)$", "(1)(2)"}, {"a=b=c", "^(.*)=(.-)$", "a=b", "c"},
    {"a=b=c", "^(.-)=(.*)$", "a", "b=c"},
  }
end

do -- anchors
  check("abc", "^a", "a")
  check("abc", "^b", nil)
  check("b^a", "b^a", "b^a") -- only an anchor at the start
  check("^a", "^^a", "^a")
  assert(("abc"):match("^b", 2) == "b", "the anchor holds at init")
  check("abc", "c$", "c")
  check("abc", "b$", nil)
  check("", "^$", "")
end

do -- captures
  check_all {
    {"key = value", "^(%w+)%s*=%s*(%w+)$", "key", "value"},
    {"2024-01-31", "(%d+)-(%d+)-(%d+)", "2024", "01", "31"}, {"hello", "()ll()", 3, 5},
    {"abc", "()", 1}, {"abc", "(a(b)(c))", "abc", "b", "c"},
    {"abc", "((((a))))", "a", "a", "a", "a"}, {"abc", "a()b()c()", 2, 3, 4},
    {"alo alo", "(%w+) %1", "alo"}, {"alo xyz", "(%w+) %1", nil},
    {'"it\'s"', "([\"'])(.-)%1", '"', "it's"}, {"abcabc", "(a)(b)(c)%1%2%3", "a", "b", "c"},
    {"xx", "()x%1", nil}, -- a position matches no text
  }
  local a, b, c, d = ("0123456789"):find("(.+(.?)())")
  assert(a == 1 and b == 10 and c == "0123456789" and d == "")
  local t = table.pack(("x"):rep(32):match(("(.)"):rep(32)))
  assert(t.n == 32 and t[32] == "x")
  check("aXb", "(%u?)(%l)", "", "a")
end

do -- %b and %f
  check_all {
    {"x(a(b)c)d)", "%b()", "(a(b)c)"}, {"((", "%b()", nil}, {"''''", "%b''", "''"},
    {"[[x]", "%b[]", "[x]"}, {"a<<b>", "%b<>", "<b>"}, {"THE (quick) fox", "%f[%a]%a+", "THE"},
  }
  spans("THE (quick) fox", "%f[%a]%a+%f[%A]", 6, 10, 5)
  spans("THE (quick) fox", "%f[\0]", 16, 15)
  check("aba", "%f[a]a$", "a")
  check("xyz", "%f[z]", "")
  check("", "%f[%z]", nil)
  assert(("[a1b2]"):gsub("%f[%d]", "#") == "[a#1b#2]")
  check("a\0b", "a%f[\0]\0", "a\0")
end

do -- subjects with zeros and high bytes
  check_all {
    {"ab\0\1\2c", "[\0-\2]+", "\0\1\2"}, {"ab\0\1\2c", "[\0-\0]+", "\0"}, {"b$a", "$\0?", "$"},
    {"abc\0efg", "%\0", "\0"}, {"abc\0efg\0\1e\1g", "%b\0\1", "\0efg\0\1e\1"},
    {"\xff\xfe", "[\xfe-\xff]+", "\xff\xfe"},
  }
end

do -- long subjects and backtracking
  local a = ("a"):rep(300000)
  assert(a:find("^a*.?$") and not a:find("^a*.?b$") and a:find("^a-.?$"))
  assert(#(a .. "b"):match(".-b") == 300001)
  assert(#a:match("^(.*)a$") == 299999)
  assert(("a"):rep(20):match(("a?"):rep(15) .. ("a"):rep(15)) == ("a"):rep(20))
  assert(("x"):rep(1000):match(("x"):rep(1000)))
  -- longer than the small storage
  assert(("xy"):rep(300):match(("[xy]"):rep(600)) == ("xy"):rep(300))
  assert(#("word "):rep(1000):match("[%a%s]+") == 5000)
end

do -- positions out of range
  assert(("abc"):match("", 4) == "" and ("abc"):match("", 5) == nil)
  assert(("abc"):match(".", -1) == "c" and ("abc"):match(".", -100) == "a")
  assert(("abc"):find("b", math.mininteger) == 2 and ("abc"):find("b", math.maxinteger) == nil)
end

do -- the same patterns again and again, in turn, as in a cache
  local patterns = {}
  for i = 1, 60 do patterns[i] = "(" .. ("a"):rep(i % 7 + 1) .. ")" .. i .. "$" end
  for round = 1, 3 do
    for i, p in ipairs(patterns) do
      assert((("a"):rep(10) .. i):match(p) == ("a"):rep(i % 7 + 1))
      assert(("b" .. i):match(p) == nil)
    end
  end
  for i = 1, 200 do -- patterns that do not live long
    local p = "^" .. ("x"):rep(i % 5) .. "(" .. i .. ")$"
    assert((("x"):rep(i % 5) .. i):match(p) == tostring(i))
  end
end
print "OK"
