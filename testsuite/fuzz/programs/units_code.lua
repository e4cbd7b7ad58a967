-- SPDX-License-Identifier: MIT
-- Units about the compiler and about code as data: large functions, deep nesting,
-- dump and load, syntax errors, the debug library.

local Literals = require "literals"
local Tree = require "tree"
local E, S, B = Tree.expr, Tree.stmt, Tree.block

local Units = {}

local function numbered(n, make)
  local list = {}
  for i = 1, n do list[i] = make(i) end
  return table.concat(list)
end

-- Functions with many locals, upvalues, constants, operands; long jumps.
function Units.large(g)
  local n = g:pick { 10, 60, 120, 190, 199, 200, 201, 255, 256, 300 }
  local text = g:pick {
    function() return numbered(n, function(i) return ("local a%d = %d "):format(i, i) end) ..
        ("return a1, a%d, a1 + a%d"):format(n, n) end,
    function() return numbered(math.min(n, 190), function(i) return ("local a%d = %d "):format(i,
        i) end) .. "return (function() " ..
      numbered(math.min(n, 190), function(i) return ("a%d = a%d + 1 "):format(i, i) end) ..
          ("return a1, a%d"):format(math.min(n, 190)) .. " end)()" end,
    function() return "local t = {" .. numbered(n * 4, function(i) return ("k%d = %d.5, "):format(i,
        i) end) .. ("} return t.k1, t.k%d, t.k%d"):format(n, n * 4) end,
    function() return "local t = {" .. numbered(n * 3, function(i) return ("%d, "):format(
        i * 7) end) ..
        "(function() return 1, 2 end)() } return #t, t[1], t[#t], t[50], t[51], t[128], t[129]" end,
    function() return "local s = \"a\" return #(s" .. numbered(math.min(n, 200),
        function(i) return (" .. \"c%d\""):format(i) end) .. ")" end,
    function() return "local s = 1 return s" .. numbered(n,
        function(i) return (" + %d"):format(i) end) end,
    function() return "local s = 1 return " .. ("(s + "):rep(math.min(n, 150)) .. "0" ..
        (")"):rep(math.min(n, 150)) end,
    function() return "local s = ... " .. numbered(n, function(i) return (
        "if s == %d then return \"is %d\" elseif s == \"k%d\" then s = s .. %d end "):format(i * 3,
        i, i, i) end) .. "return s" end,
    function() return "local x = ... for i = 1, 3 do if i == 2 then goto continue end " ..
        numbered(n, function(i) return ("x = x .. %d if #x > 50 then x = x:sub(1, 3) end "):format(
        i) end) .. "::continue:: end return x" end,
    function() return "return select('#', " .. numbered(n, function(i) return i .. ", " end) ..
        "...)" end,
    function() return "local t = {} " .. numbered(n, function(i) return (
        "t.f%d = function(x) return x + %d, t end "):format(i, i) end) ..
        ("return (t.f%d(1))"):format(n) end,
    function() return ("do "):rep(math.min(n, 150)) .. "local x = ... L(x) " ..
        ("end "):rep(math.min(n, 150)) end,
    function() return ("return function(...) "):rep(math.min(n, 60)) .. "return ... " ..
        ("end "):rep(math.min(n, 60)) end,
    function() return "local a = ... return " .. ("not "):rep(n % 90) .. "a, " ..
        ("- "):rep(n % 90) .. "5, a" .. (" and a"):rep(n) .. (" or 1"):rep(n) end,
    function() return "local a = {} a.x = a return a" .. (".x"):rep(n) .. " == a, a" ..
        ("[\"x\"]"):rep(n) .. " == a" end,
    function() return "local function f(" .. numbered(n,
        function(i) return ("p%d, "):format(i) end) ..
        "...) return p1, select('#', ...) end return f(...)" end,
    function() return numbered(n, function(i) return ("g%d = (g%d or 0) + %d.25 "):format(i, i,
        i) end) .. ("return g%d"):format(n) end,
    function() return "local t = {{{{{{{{1}}}}}}}} " .. numbered(n,
        function(i) return ("t[%d] = %d t.m%d = t[%d] "):format(i, i, i, i) end) ..
        ("return #t, t.m%d"):format(n) end,
  } ()
  return { S(
      "do local f, m = load($, \"=large\") L(f and true, m) if f then for i = 1, 2 do L(pcall(f, $)) end end end",
      E(("%q"):format(text)), E(g:pick { "3", '"k5"', "nil", "1, 2, 3" })) }
end

-- A function through string.dump and load, with upvalues, used in both forms.
function Units.dumping(g)
  return { S(
      "do local up, up2 = $, { 1 } local function f(a, ...)$end L(pcall(f, 1, 2)) local s = string.dump(f, $) S() " ..
    "local h, m = load(s, \"=dumped\", \"b\", $) L(h and true, m) L(pcall(h, 1, 2)) L(debug.getupvalue(h, 1)) for i = 1, 4 do pcall(debug.setupvalue, h, i, ({ $ })[i]) end L(pcall(h, 3, 4)) " ..
    "pcall(debug.upvaluejoin, h, 1, f, 1) L(pcall(h, 5)) L(string.dump(h, true) == string.dump(h, true)) L(pcall(load, s:sub(1, $), \"=cut\", \"b\")) L(load(s, \"=text\", \"t\")) end",
    E(g:pick(Literals.float)), g:within_function(true, function() g:declare("a",
        "any") g:declare("up", "any") return g:body(1, 2) end), E(g:pick { "true", "false" }),
        E(g:pick { "_G", "{ L = L, T = T }" }), E(g:pick { "1, 2, 3, 4", "L, _G, T",
        "_G, _G, _G" }), E(g:pick { "3", "0" })) }
end

local tokens = { "end", "do", "local", "(", ")", "{", "}", "=", "..", "...", "and", "not", "goto x",
    "::x::", "break", "return", "function", "if", "then", "x", "1", "0x", "\"s\"", "[[", "'",
    "<close>", "<const>", "<x>", ":", ".", ",", ";", "//", "~", "<<",
  "1e", "3.x", "\\", "--[[", "for", "in", "until", "repeat", "elseif", "nil", "#", "@", "\"\\q\"",
      "\"\\300\"", "\"\\u{110000000}\"", "_ENV", "'a\nb'", "--x", "::y::", "goto y", "\"\\x1\"",
      "0x1p", "5 5", "a.b:c", "a:b", "[=[" }
local sources = { "local x = 1 x = x + 1", "for i = 1, 2 do x = i end",
    "if x then y() elseif z then w() else v = 1 end", "local function f(a, ...) return a, ... end",
    "x.y[1]:z{ 1, a = 2; [3] = 4 }", "repeat local a = f() until a", "while true do break end",
  "goto x ; ::x:: do ::x:: end", "local a <const>, b <close> = 1, nil a = 2",
      "return function() return x end, 'str' .. [[long]]",
      "local t = { f = function() end, } t.f()", "do local x ; goto l1 ; local y ::l1:: end",
      "a, b.c, d[1] = f()", "for k, v in pairs(t) do ::c:: goto c end",
  "x = -2 ^ 2 .. 'a' == not nil", "local function f() ; goto f1 ; do ::f1:: end end",
      "f 's' { } [[x]]", "a.b.c = function(self) end function a.b:d() return self end", "break",
      "local x <const> = 5 ; (function() x = 6 end)()", "return ..., 1 return",
      "function f(a, a) local a return a end" }

-- Sources with a token deleted, doubled, changed: the message of load, nothing is run.
function Units.syntax(g)
  local list = {}
  for i = 1, g:int(3, 8) do
    local words = {}
    for word in g:pick(sources):gmatch("%S+") do words[#words + 1] = word end
    for _ = 1, g:int(1, 2) do
      local at = g:int(1, #words)
      g:weighted {
        { 3, function() table.remove(words, at) if #words == 0 then words[1] = "end" end end },
        { 4, function() table.insert(words, at, g:pick(tokens)) end },
        { 3, function() words[at] = g:pick(tokens) end },
        { 1, function() table.insert(words, at, words[g:int(1, #words)]) end },
      } ()
    end
    local text = table.concat(words, g:pick { " ", " ", "\n" })
    list[i] = S("L(select(\"#\", load($, \"=s\")), select(2, load($, $)))", E(("%q"):format(text)),
        E(("%q"):format(text)), E(g:pick { '"=s"', '"@file.lua"', '"text\\nmore"', "nil" }))
  end
  return list
end

-- What the debug library says of functions, variables and lines.
function Units.debugging(g)
  local uses = {
    "local a, b = 1, {} for i = 1, 4 do L(debug.getlocal(1, i)) end",
        "local a = 1 local function f() local b = a return debug.getlocal(2, 1) end L(f())",
        "L(debug.setlocal(1, 1, 5)) local x = 1 L(debug.setlocal(1, 1, \"set\")) L(x)",
    "local i = debug.getinfo(1, \"lSnutr\") L(i.currentline, i.linedefined, i.lastlinedefined, i.what, i.nups, i.nparams, i.isvararg, i.istailcall, i.short_src)",
        "local function f(a, b, ...) return debug.getinfo(1, \"nS\") end local t = f() L(t.name, t.namewhat, t.what)",
    "local function f(...) return debug.getinfo(1, \"nt\").name end L((f()), f) local o = { m = f } L((o.m()), (o:m())) global1 = f L((global1()))",
        "local x, y = 1, 2 local function f() return x, y, L end for i = 1, 4 do L(debug.getupvalue(f, i)) end L(debug.setupvalue(f, 1, 9), x)",
    "local x, y = 1, 2 local function f() return x end local function g() return y end debug.upvaluejoin(f, 1, g, 1) L(f()) y = 7 L(f(), debug.upvalueid(f, 1) == debug.upvalueid(g, 1))",
        "local s = {} for l in pairs(debug.getinfo(function() local a = 1\nreturn a end, \"L\").activelines) do s[#s + 1] = l end table.sort(s) L(table.unpack(s))",
    "local f = function() return debug.getinfo(1, \"t\").istailcall end local function g() return f() end L(g(), (g()), f())",
        "local co = coroutine.create(function(a, b) local c = a Y(c) end) coroutine.resume(co, 1, 2) for i = 1, 4 do L(debug.getlocal(co, 1, i)) end L(debug.getinfo(co, 1, \"l\").currentline, debug.getinfo(co, 5))",
    "local lines = {} debug.sethook(function(_, l) lines[#lines + 1] = l end, \"l\") local a = 1\nfor i = 1, 2 do\n  a = a + i\nend\nlocal b = a > 2 and\n  a or\n  1\ndebug.sethook() L(table.unpack(lines))",
    "local n = {} debug.sethook(function(e) n[#n + 1] = e end, \"cr\") local function f() return 1 end f() local x = f() debug.sethook() L(table.unpack(n))",
        "local function f() return 1 end local function g() return f() end local n = {} debug.sethook(function(e) n[#n + 1] = e .. tostring(debug.getinfo(2, \"n\").name) end, \"cr\") g() debug.sethook() L(table.unpack(n))",
    "debug.sethook(S, \"\", 3) local t = {} for i = 1, 50 do t[i] = { i, \"s\" .. i } end debug.sethook() local s = 0 for i = 1, 50 do s = s + t[i][1] + #t[i][2] end L(s)",
        "debug.sethook(function() error(\"hook\") end, \"\", 100) L(pcall(function() for i = 1, 1000 do end end)) debug.sethook() L(debug.gethook())",
    "local function f(a, ...) return debug.getlocal(1, -1), debug.getlocal(1, -2) end L(f(1, 2, 3)) L(f(1))",
        "local function f(a, b) end L(debug.getlocal(f, 1)) L(debug.getlocal(f, 2)) L(debug.getlocal(f, 3))",
        "local co = coroutine.wrap(function(...) debug.sethook(S, \"\", 2) local t = { ... } L(Y(t[1])) return #t end) L(co(1, 2, 3)) L(co(4))",
    "local mt = debug.getmetatable(\"\") L(mt.__index == string or mt.__index ~= nil) debug.setmetatable(5, { __index = function(n, k) return n .. k end, __call = function(n, a) return n + a end, __len = function() return 8 end }) L(pcall(function() local n = 3 return n.x, n(4), #n end)) debug.setmetatable(5, nil) L(pcall(function() local n = 3 return n.x end))",
    "debug.setmetatable(nil, { __index = function(_, k) return k end, __add = function(a, b) return \"add\" end }) L(pcall(function() local n return n.x, n + 1, undefined.y end)) debug.setmetatable(nil, nil) L(pcall(function() local n return n.x end))",
    "debug.setmetatable(L, { __index = { m = function(f, ...) return \"method\", ... end }, __concat = function(a, b) return \"cat\" end }) L(pcall(function() return L.m(L, 1), L:m(2), L .. L end)) debug.setmetatable(L, nil)",
    "debug.setmetatable(true, { __lt = function() return true end, __unm = function() return 1 end, __close = function() L(\"closed\") end }) L(pcall(function() local b <close> = true return true < false, -true end)) debug.setmetatable(true, nil)",
  }
  local list = {}
  for i = 1, g:int(2, 4) do
    local use
    repeat use = g:pick(uses) until not (g.watched and use:find("hook", 1, true))
    list[i] = S("L(pcall(function() $ end)) debug.sethook()", E(use))
  end
  return list
end

-- load with pieces, environments, modes.
function Units.loading(g)
  local e = g:value("any", 3)
  return { S(
      "do local text = $ L(text) local f, m = load(\"return \" .. text) L(f and true, m) end",
      E(("%q"):format((Tree.text(e):gsub("%s+", " "))))),
    S("do local pieces, i = { \"local a = ...\", \" L(a) \", \"return a, $\" }, 0 local f, m = load(function() i = i + 1 S() return pieces[i] end, \"=pieces\") L(f and true, m, f and pcall(f, 5)) end",
        E(tostring(g:pick(Literals.small)))),
    S("do local env = setmetatable({}, { __index = function(_, k) return $ end, __newindex = function(_, k, v) L(\"env\", k, v) end }) L(pcall(load(\"x = y; local z <const> = 5; z2 = z; return w, _ENV\", \"=env\", \"t\", env))) end",
        E(g:pick { "k", "nil", "error(k)", "Y(k)" })) }
end

return Units
