-- SPDX-License-Identifier: MIT
-- Patterns: gsub with each kind of replacement, gmatch.

local fails = require "_fails"

local function check(expected, count, ...)
  local s, n = string.gsub(...)
  assert(s == expected and n == count, ("%q, %d"):format(s, n))
end

do -- replacement text
  check("x x x", 3, "hello big world", "%a+", "x")
  check("hello hello big big world world", 3, "hello big world", "%w+", "%0 %0")
  check("world hello", 1, "hello world", "(%w+) (%w+)", "%2 %1")
  check("hello hello world", 1, "hello world", "%w+", "%0 %0", 1)
  check("hello world", 0, "hello world", "%w+", "x", 0)
  check("hello world", 0, "hello world", "%w+", "x", -5)
  check("a%b%c", 2, "a b c", " ", "%%")
  check("abc", 0, "abc", "%d", "x")
  check("<a><b>", 2, "ab", ".", "<%1>") -- %1 is the match when nothing is captured
  check("1a2b3", 3, "ab", "()", "%1")
  check("2x", 1, "ax", "a()", "%1")
  check("11", 2, "ab", "%a", 1)
  check("a\0b\0", 2, "axbx", "x", "\0")
  check(("b"):rep(10000), 10000, ("a"):rep(10000), "a", "b")
  check(("xyz"):rep(3000), 3000, ("a"):rep(3000), ".", "xyz")
  check("", 5000, ("a"):rep(5000), "a", "")
end

do -- empty matches
  check("-", 1, "", "", "-")
  check("-a-b-c-", 4, "abc", "", "-")
  check("-b-", 2, "aab", "a*", "-")
  check("(a)", 1, "a", "%a*", "(%0)")
  check("<abc> <def>", 2, "abc def", "%w*", "<%0>")
  check("x x x", 3, "  ", "%s-", "x") -- as few as possible: nothing, three times
  check("ab ", 0, "ab ", "^%s+", "")
  check("ab", 1, "  ab", "^%s*", "")
  check("ab", 1, "ab   ", "%s*$", "")
end

do -- anchored
  check("xbaa", 1, "abaa", "^a", "x")
  check("aab", 0, "aab", "^b", "x")
  check("xaa", 1, "aaa", "^a", "x", 5)
  check("x", 1, "", "^", "x")
  check("abx", 1, "abc", "c$", "x")
end

do -- a function is given the captures, or the match
  check("A b C", 3, "a b c", "%w", function(w) if w ~= "b" then return w:upper() end end)
  check("a=1 b=2", 2, "1=a 2=b", "(%w)=(%w)", function(n, l) return l .. "=" .. n end)
  check("4,2.5", 2, "x,y", "%a", function(c) return c == "x" and 4 or 2.5 end)
  check("abc", 3, "abc", "%w", function() return false end)
  check("abc", 3, "abc", "%w", function() end)
  local positions = {}
  check("abc", 4, "abc", "()", function(p) positions[#positions + 1] = p end)
  assert(table.concat(positions, ",") == "1,2,3,4")
  check("<(a(b)c)>", 1, "(a(b)c)", "%b()", function(s) return "<" .. s .. ">" end)
  local function nested(s) return (s:gsub("%d", function(d) return ("x"):rep(d) end)) end
  check("[xx][xxx]", 2, "2 3", "%S+%s?", function(w)
    return "[" .. nested(w):gsub(" ", "") .. "]"
  end)
  fails("boom", string.gsub, ("x"):rep(3000), ".", function() error("boom", 0) end)
  fails("invalid replacement value (a table)", string.gsub, "a", ".", function() return {} end)
  fails("invalid replacement value (a boolean)", string.gsub, "a", ".", function() return true end)
end

do -- a table is indexed with the first capture, or the match
  check("John is 30", 2, "$name is $age", "%$(%w+)", { name = "John", age = 30 })
  check("$other", 1, "$other", "%$(%w+)", { name = "John" })
  check("x b", 2, "a b", "%w", { a = "x", b = false })
  check("one two", 2, "ab", "()%w", { "one ", "two" })
  local asked = setmetatable({}, { __index = function(_, k) return "<" .. k .. ">" end })
  check("<a> <b>", 2, "a b", "(%w)", asked)
  fails("invalid replacement value (a table)", string.gsub, "alo", ".", { a = {} })
end

do -- what gsub refuses
  fails("string/function/table expected, got no value", string.gsub, "a", "b")
  fails("string/function/table expected, got boolean", string.gsub, "a", "b", true)
  fails("invalid capture index %2", string.gsub, "alo", ".", "%2")
  fails("invalid capture index %3", string.gsub, "alo", "(.)(.)", "%3")
  fails("invalid use of '%' in replacement string", string.gsub, "alo", ".", "%x")
  fails("invalid use of '%' in replacement string", string.gsub, "alo", ".", "ab%")
  check("alo", 0, "alo", "z", "%x") -- not until it is needed
end

do -- an unchanged string is the same string
  local s = ("a"):rep(100)
  check(s, 0, s, "b", "c")
  assert(string.format("%p", (s:gsub("a", function() end))) == string.format("%p", s))
end

do -- gmatch (more: gmatch_iterators.lua)
  local function all(...)
    local t = {}
    for a, b in string.gmatch(...) do t[#t + 1] = b and a .. ":" .. b or a end
    return table.concat(t, "|")
  end
  assert(all("first second word", "%w+") == "first|second|word")
  assert(all("key=1, other = 22", "(%w+)%s*=%s*(%w+)") == "key:1|other:22")
  assert(all("abcde", "()") == "1|2|3|4|5|6")
  assert(all("", "()") == "1" and all("xx", "y") == "" and all("aab", "a*") == "aa|")
  assert(all("13 14 10 = 11, 15= 16, 22=23", "(%d+)%s*=%s*(%d+)") == "10:11|15:16|22:23")
  assert(all("^a^a", "^a") == "^a|^a", "no anchor here")
  assert(all("xuxx uu ppar r", "()(.)%2") == "3:x|6:u|9:p" and all("abab", "ab$") == "ab")
  -- with a start
  assert(all("alo 123", "%w", 5) == "1|2|3" and all("abc", ".", -2) == "b|c")
  assert(all("abc", "()", 4) == "4" and all("abc", "()", 5) == "" and all("abc", ".", 10) == "")
  assert(all("abc", ".", 0) == "a|b|c" and all("abc", ".", -100) == "a|b|c")
end
print "OK"
