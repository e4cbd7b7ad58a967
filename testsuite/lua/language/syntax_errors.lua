-- SPDX-License-Identifier: MIT
-- Every kind of syntax error, with its exact message: a chunk, then what load says.

local cases = {
  -- statements
  {"x", "c:1: syntax error near <eof>"},
  {"x y", "c:1: syntax error near 'y'"},
  {"x =", "c:1: unexpected symbol near <eof>"},
  {"x = = 1", "c:1: unexpected symbol near '='"},
  {"x, 1 = 2", "c:1: unexpected symbol near '1'"},
  {"f() = 1", "c:1: syntax error near '='"},
  {"(f) x", "c:1: syntax error near 'x'"},
  {"end", "c:1: <eof> expected near 'end'"},
  {"return 1 2", "c:1: <eof> expected near '2'"},
  {"local 1", "c:1: <name> expected near '1'"},
  {"local a.b = 1", "c:1: unexpected symbol near '.'"},
  {"function f(...,a) end", "c:1: ')' expected near ','"},
  {"function f(1) end", "c:1: <name> or '...' expected near '1'"},
  {"function f:a.b() end", "c:1: '(' expected near '.'"},
  {"for x y", "c:1: '=' or 'in' expected near 'y'"},
  {"for x = 1 do end", "c:1: ',' expected near 'do'"},
  {"if x y", "c:1: 'then' expected near 'y'"},
  {"while x y", "c:1: 'do' expected near 'y'"},
  {"a:b", "c:1: function arguments expected near <eof>"},
  {"a.1", "c:1: syntax error near '.1'"},
  {"a = {1 2}", "c:1: '}' expected near '2'"},
  {"a = {[1] 2}", "c:1: '=' expected near '2'"},
  {"a = b[1", "c:1: ']' expected near <eof>"},
  -- what was opened, and where
  {"if x then", "c:1: 'end' expected near <eof>"},
  {"if x then\n\n", "c:3: 'end' expected (to close 'if' at line 1) near <eof>"},
  {"\nfunction f()\nif x then end",
  "c:3: 'end' expected (to close 'function' at line 2) near <eof>"},
  {"repeat\nend", "c:2: 'until' expected (to close 'repeat' at line 1) near 'end'"},
  {"f(\n1", "c:2: ')' expected (to close '(' at line 1) near <eof>"},
  {"x = {\n1", "c:2: '}' expected (to close '{' at line 1) near <eof>"},
  -- tokens
  {"x = \1", "c:1: unexpected symbol near '<\\1>'"},
  {"x = \200", "c:1: unexpected symbol near '<\\200>'"},
  {"x = 'abc", "c:1: unfinished string near <eof>"},
  {"x = 'abc\n'", "c:1: unfinished string near ''abc'"},
  {"x = 'a\\q'", "c:1: invalid escape sequence near ''a\\q'"},
  {"x = '\\xag'", "c:1: hexadecimal digit expected near ''\\xag'"},
  {"x = '\\300'", "c:1: decimal escape too large near ''\\300''"},
  {"x = '\\u123'", "c:1: missing '{' near ''\\u1'"},
  {"x = '\\u{12x'", "c:1: missing '}' near ''\\u{12x'"},
  {"x = '\\u{80000000}'", "c:1: UTF-8 value too large near ''\\u{80000000'"},
  {"x = 'a\\65b' y z", "c:1: syntax error near 'z'"},
  {"f 'a\\65b' 1", "c:1: unexpected symbol near '1'"},
  {"x = y 'a\\65' = 1", "c:1: unexpected symbol near '='"},
  {"x = [==[abc]]", "c:1: unfinished long string (starting at line 1) near <eof>"},
  {"\n--[[\n", "c:3: unfinished long comment (starting at line 2) near <eof>"},
  {"x = [=", "c:1: invalid long string delimiter near '[='"},
  {"x = 3x", "c:1: malformed number near '3x'"},
  {"x = 0xp1", "c:1: malformed number near '0xp1'"},
  {"x = .0x12 + 1", "c:1: malformed number near '.0x12'"},
  {"x = 1..2", "c:1: malformed number near '1..2'"},
  {"x = @", "c:1: unexpected symbol near '@'"},
  {"x = ~= 2", "c:1: unexpected symbol near '~='"},
  {"for", "c:1: <name> expected near <eof>"},
  {"x = }", "c:1: unexpected symbol near '}'"},
  {"x = 0xg", "c:1: malformed number near '0xg'"},
  {"x = 1e", "c:1: malformed number near '1e'"},
  {"x = 0x1p", "c:1: malformed number near '0x1p'"},
  {"x = 1.2.3", "c:1: malformed number near '1.2.3'"},
  {"a.b:c = 1", "c:1: function arguments expected near '='"},
  {"x = '\\u{110000000}'", "c:1: UTF-8 value too large near ''\\u{110000000'"},
  {"x = 'ab\\z  \\q'", "c:1: invalid escape sequence near ''ab\\q'"},
  -- meaning
  {"local x <const> = 1; x = 2", "c:1: attempt to assign to const variable 'x'"},
  {"local x <close> = nil; function f() x = 2 end", "c:1: attempt to assign to const variable 'x'"},
  {"local x <other> = 1", "c:1: unknown attribute 'other'"},
  {"local x <close>, y <close> = 1", "c:1: multiple to-be-closed variables in local list"},
  {"break", "c:1: break outside loop at line 1"},
  {"goto x", "c:1: no visible label 'x' for <goto> at line 1"},
  {"goto x; local a; ::x:: a = 1", "c:1: <goto x> at line 1 jumps into the scope of local 'a'"},
  {"::x::\n::x::", "c:2: label 'x' already defined on line 2"},
  {"function f() return ... end", "c:1: cannot use '...' outside a vararg function near '...'"},
  {"local x <const> = 1; function f() x = 2 end", "c:1: attempt to assign to const variable 'x'"},
  {"local x <close> = nil; x = io", "c:1: attempt to assign to const variable 'x'"},
  {"local function f() local y <const> = {}; return function() y = 1 end end",
    "c:1: attempt to assign to const variable 'y'"},
  {"do ::inner:: end goto inner", "c:1: no visible label 'inner' for <goto> at line 1"},
  {"local function f() goto out end ::out::", "c:1: no visible label 'out' for <goto> at line 1"},
  {"::a::\n do ::a:: end", "c:2: label 'a' already defined on line 1"},
  {"repeat if x then goto cont end; local xuxu = 10; ::cont:: until xuxu < x",
    "c:1: <goto cont> at line 1 jumps into the scope of local 'xuxu'"},
  {"if true then break end", "c:1: break outside loop at line 1"},
  {"while true do local function f() break end end", "c:1: break outside loop at line 1"},
  {"goto = 1", "c:1: <name> expected near '='"},
}

for _, case in ipairs(cases) do
  local f, message = load(case[1], "=c")
  assert(f == nil, "accepted: " .. case[1])
  assert(message == case[2], ("%q\n  expected %s\n  got      %s"):format(case[1], case[2], message))
end

-- Names too long to be interned are still compared by content
local long = ("n"):rep(100)
local code = ("local %s = 5; local function f() return %s end; return f()"):format(long, long)
assert(load(code)() == 5)
assert(not load(("local %s <const> = {}; %s = 1"):format(long, long)))
assert(load(("goto %s; do return 1 end ::%s:: return 2"):format(long, long))() == 2)
