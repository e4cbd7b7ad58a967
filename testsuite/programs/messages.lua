-- SPDX-License-Identifier: MIT
-- messages.lua: what the interpreter says of wrong programs, one line each, for
-- comparison with the reference.

local function line(...)
  local results = table.pack(...)
  for i = 1, results.n do
    results[i] = tostring(results[i]):gsub("%c", function(c) return "\\" .. c:byte() end)
  end
  return table.concat(results, " | ")
end

-- Errors of running programs: they name variables, fields, methods, constants.
local running = {
  "local a; a.b=1", "a.b.c=1", "local t={} t.x.y=1", "local t={} t[nil]=1", "local t={} t[0/0]=1",
  "local t={} t:foo()", "t()", "local t={} t.a.b()", "local s='x' s:nope()", "return 1+{}", "local a={} return a+1",
  "return a+1", "local t={} return t.x+1", "return 'a'+1", "return 'a'..{}", "return nil..'x'",
  "local t={} return t.x..'a'", "return {}<{}", "return 1<'x'", "return {}<1", "return nil<1", "return #5",
  "local x return #x", "return -{}", "return -nope", "return ~1.5", "return 1.5|1", "return 'a'|1", "return '1.5'|1",
  "return 1//0", "return 1%0", "return 2^53|1", "return 1e100|1", "for i=1,10,0 do end", "for i='a',1 do end",
  "for i=1,'x' do end", "for i=1,2,{} do end", "for k in 5 do end", "for k in nil do end", "local a<close> = 5",
  "local a<const> = 5; a=6", "goto x", "break", "::a:: ::a::",
  "local t=setmetatable({},{__index=function(t,k) return k.x.y end}) return t.z",
  "local t=setmetatable({},{__newindex=5}) t.x=1", "local t=setmetatable({},{__call=5}) t()", "return (1)()",
  "return ('x')()", "return ({})()", "return (function() end)().x", "string.rep()", "('x'):rep()", "('x'):rep({})",
  "string.rep('x',1e10)", "('x'):bad()", "math.floor({})", "local m=math m.floor('x')",
  "setmetatable({},{__add=function() error('in add') end})+1", "local a = {} ; a.b.c.d = 1",
  "local function f() return f.x.y end f()", "upv=nil; local u; (function() u.x=1 end)()",
  "local u; (function() u() end)()", "local u; return (function() return u..'x' end)()", "return _ENV.x.y",
  "local _ENV={} ; x.y=1", "local _ENV=nil; x=1", "local _ENV=5; return x", "local t={} t[1][2]=3",
  "local t,i={},1 t[i].x=1", "local t,k={},'k' t[k].x=1", "local t,k={},'k' t[k]()", "local t={} t['a b'].c=1",
  "local t={} t.x:y()", "return math.huge|1", "return 1<<{}", "return {} & 1", "return {}==nil and x.y",
  "x=nil; x[1]=2", "return #x", "return x.y.z", "error()", "error(nil)", "error({})", "error('a',0)", "error('a',2)",
  "error(setmetatable({},{__tostring=function() return 'TS' end}))", "return coroutine.wrap(function() x.y=1 end)()",
  "table.sort({3,1,'x'})", "table.sort({1,2,3,4,5},function() return true end)", "table.concat({1,{},3})",
  "table.concat({1,2},',',1,5)", "table.insert({},5,1)", "table.insert({})", "table.insert({},1,2,3)",
  "table.unpack({},1,1e8)", "string.format('%d','x')", "string.format('%d',1.5)", "string.format('%y',1)",
  "string.format('%')", "string.format('%10.123f',1)", "string.format('%s')", "string.format('%q',{})",
  "string.format('%c','x')", "string.format('%-+ #0100d',1)", "string.char(256)", "string.char(-1)", "utf8.char(-1)",
  "utf8.codepoint('\\xff')", "utf8.len('x',5)", "utf8.offset('x',1,5)", "utf8.offset('\\x80',1)",
  "for _ in utf8.codes('\\xff') do end", "string.pack('i17',1)", "string.pack('i1',300)", "string.unpack('i4','x')",
  "string.pack('!3i4',1)", "string.pack('z','a\\0')", "string.pack('s1',('x'):rep(300))", "string.packsize('s')",
  "string.pack('Xi')", "string.unpack('z','abc')", "string.unpack('<i4','abcd',10)", "string.pack('d','x')",
  "string.pack('j',1.5)", "string.pack('i0',1)", "string.pack('c',1)", "string.pack('c2','abc')",
  "string.find('a','[')", "string.find('a','%')", "string.find('a','(')", "string.find('a',')')",
  "string.find('a','%f')", "string.find('a','%b')", "string.find('a','%bx')", "string.find('a','%1')",
  "string.gsub('a','a','%2')", "string.gsub('a','a','%x')", "string.gsub('a','.',function() return {} end)",
  "string.gsub('a','.',{a={}})", "string.find('a','[%')", "string.find('a','[a-%')", "string.find('a','[]')",
  "string.find('a','[^]')", "string.rep('x',-1):bad()", "return (nil)[1]", "return ('x').y.z",
  "local a <close> = {}", "local a = 1; a.b.c = 2", "local t = {f=1}; t.f()", "local t = {f=1}; t:f()",
  "local t = {}; t[1]()", "global1.x()", "global1:x()", "local s = 'x'; s.y.z = 1",
  "local f = function() end; f.x = 1", "local t = {} ; t.a.b.c = 1", "return 1 < nil", "return {} <= {}",
  "return true + 1", "local b = true; return b .. 'x'", "return print + 1", "return 10 // nil",
  "local a, b = 1; return a + b", "local a, b = 1; return b * a", "return 2 ^ {}", "local t = {}; return t.a.b + 1",
  "local t = {}; return 1 + t.a", "local t = {}; return t.a + 1.5", "return 'abc' + 1", "return 'abc' // 1",
  "return 'abc' & 1", "return 1 & 'abc'", "return {} .. {}", "local x = 'a' ; return x < 1",
  "local x = {} ; for i = x, 2 do end", "local function g(...) local a = ... ; return a.b.c end g({})",
  "local function g(x) return x.y.z end g({})", "return require",
  "return select('#', table.unpack({}, 1, 254)) .. {}",
}
for _, source in ipairs(running) do
  local f, message = load(source, "=c")
  print(source, f and line(pcall(f)) or line(message))
end

-- Syntax errors.
local syntax = {
  "x=", "x = = 1", "if x then", "for", "for i", "for i=1", "for i=1,2", "function", "function x", "function x(",
  "function x()", "local function", "return return", "x = }", "x = 'abc", "x = \"abc\ndef\"", "x = [[abc", "--[[abc",
  "x = '\\q'", "x='\\300'", "x='\\xZZ'", "x='\\u{110000000}'", "x='\\u{zz}'", "x='\\u123'", "x=0x", "x=1e", "x=3x",
  "x=1..2", "x=0x1p", "x=[=abc", "goto 1", "local x <foo> = 1", "local x <const>", "x=1 1", "f() = 1", "a.b:c = 1",
  "a+b", "x", "(x)", "x,y", "x,f() = 1", "local 1", "for a,b do end", "for a.b=1,2 do end", "repeat", "while",
  "while 1", "do", "else", "end", "until", "{", "...", "return ...,", "function f() return ... end",
  "local t = {1,2", "local t = {[1]", "local t={[1]=}", "x=@", "x=$", "x=`", "x=\\", "x=!", "x=~", "x=a~b~=", "::x",
  "::1::", "local a<const>=1; function f() a=2 end", "break", "goto nope",
  "do goto l1 end; local a; ::l1:: print(a)", "::l:: ::l::", "local a = {...", "x='\\z  ", "x='\\x1", "x='\\",
  "\xff\xfe", "x=\0", "x = 'a\0b", "a=1;;b=", "local x <close>, y <close> = 1, 2", "return 1,",
  "for i=1,2,3,4 do end", "f(", "f{", "f[[", "f(1", "f(1,", "a.", "a:", "a:b", "a.1", "not", "-", "#",
  "local function f.x() end", "local f:x", "function a.b.c:d.e() end", "function a:b:c() end",
  "x = function(a,) end", "x=function(...,a) end", "x=function(1) end", "x = y z", "if", "if x", "if x then else",
  "if x then elseif", "if x then else elseif", "'abc'", "('abc')", "('x'):f", "[1]=2", "goto", "local",
  "local function f() goto x end", "::x:: do ::x:: end", ("("):rep(300), "x="..("{"):rep(300), ("do "):rep(300),
  "x="..("-"):rep(300).."1", "x="..("a.."):rep(300).."a", "x="..("2^"):rep(250).."2",
  "local " .. ("a,"):rep(250) .. "a", "local x=" .. ("f("):rep(250), "x = \xe9", "x = é",
  "x = 12345678901234567890x",
}
for _, source in ipairs(syntax) do
  print((source:sub(1, 60):gsub("%c", "?")), line(load(source, "=c")))
end

-- Limits.
local function list(n, item, separator)
  local t = {}
  for i = 1, n do t[i] = item:gsub("#", i) end
  return table.concat(t, separator or "\n")
end
local limits = {
  list(201, "local a#"),
  "local " .. list(201, "a#", ","),
  "function f(" .. list(201, "a#", ",") .. ") end",
  list(150, "local a#") .. "\nfunction f()\n" .. list(150, "local b#") ..
    "\nreturn function() return " .. list(150, "a#+b#", "+") .. " end end",
  "x = " .. list(300, "a#", ".."),
  "x = {" .. list(300, "f()", ",") .. "}",
  "f(" .. list(300, "a", ",") .. ")",
  "return " .. list(300, "a", ","),
  list(260, "a#", ",") .. " = 1",
}
for i, source in ipairs(limits) do print(i, line(load(source, "=c"))) end

local function without_trace(_, message) return (message:gsub("\n.*", "")) end
local function endless() return endless() + 1 end
print(without_trace(pcall(endless)))
print(line(pcall(string.rep, "x", 1 << 62)))
print(line(pcall(string.find, "x", ("("):rep(40))))
print(line(pcall(string.find, ("a"):rep(300), ("(a)"):rep(33))))
local t = setmetatable({}, {})
getmetatable(t).__index, getmetatable(t).__newindex = t, t
print(line(pcall(function() return t.x end)))
print(line(pcall(function() t.x = 1 end)))
