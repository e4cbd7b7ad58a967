-- SPDX-License-Identifier: MIT
-- Tokens: comments, strings and their escapes, numerals, names.

-- Comments of all kinds
--[[ long
comment ]] local a = 1
--[==[ with ]] and ]=] inside ]==]
assert(a == 1) -- at the end of a line

-- Escapes
assert("\a\b\f\n\r\t\v\\\"\'" == "\7\8\12\10\13\9\11\92\34\39")
assert("\x41\x7a\xFF" == "Az\255")
assert("\65\066\0067" == "AB\0067" and #"\0067" == 2)
assert("\u{48}\u{20AC}\u{10FFFF}" == "H\xE2\x82\xAC\xF4\x8F\xBF\xBF")
assert("\u{7FFFFFFF}" == "\xFD\xBF\xBF\xBF\xBF\xBF")
assert("a\z
        b\z   c" == "abc")
assert("one\
two" == "one\ntwo")
assert('it"s' == "it\"s" and "it's" == 'it\'s')
assert(#"\0a\0" == 3)

-- Long strings: the first newline goes, others stay, nothing is escaped
assert([[
x]] == "x")
assert([[

x]] == "\nx")
assert([==[a]]b]=]c]==] == "a]]b]=]c")
assert([[\n\x41]] == "\\n\\x41")
assert(#[[
]] == 0)
-- Every end of line counts as one newline
for _, eol in ipairs { "\n", "\r", "\r\n", "\n\r" } do
  assert(load("return [[a" .. eol .. "b]]")() == "a\nb")
  assert(load("return 'a\\" .. eol .. "b'")() == "a\nb")
  local _, message = load("x = 1" .. eol .. "x = = 2", "=c")
  assert(message:find("^c:2:"), message)
end

-- Numerals
assert(0xff == 255 and 0XA == 10 and 0x.8p1 == 1.0 and 0xA.8 == 10.5 and 0x1p4 == 16)
assert(3. == 3 and .5 == 0.5 and 1e2 == 100 and 1E+2 == 100 and 1e-2 == 0.01)
assert(math.type(3) == "integer" and math.type(3.0) == "float" and math.type(1e2) == "float")
assert(math.type(0x10) == "integer" and math.type(0x1p4) == "float")
assert(0xffffffffffffffff == -1 and 0x7fffffffffffffff == math.maxinteger)
assert(0x123456789abcdef01 == 0x23456789abcdef01) -- hexadecimal integers wrap around
assert(9223372036854775807 == math.maxinteger)
assert(9223372036854775808 == 2^63 and math.type(9223372036854775808) == "float")
assert(1//1 == 1) -- `1/` does not begin a malformed numeral
assert(0x.1 == 1/16 and 0x0.1E == 0x1E/0x100)

-- A first line that begins with # is skipped in files only; not by load
assert(not load("#!/bin/x\nreturn 1"))

-- Names and reserved words
local _a1, a_1, A, goto_, End = 1, 2, 3, 4, 5
assert(_a1 + a_1 + A + goto_ + End == 15)
for _, word in ipairs { "and", "break", "do", "else", "elseif", "end", "false", "for",
  "function", "goto",
    "if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true",
    "until", "while" } do
  assert(not load("local " .. word .. " = 1"), word)
  assert(load("return ({" .. word .. "_ = 1})." .. word .. "_")() == 1)
end

-- Empty statements and semicolons
;;; do ; end
local b = 1; local c = 2;
assert(b + c == 3)
assert(load("return")() == nil and load("return;")() == nil and load("")() == nil)
