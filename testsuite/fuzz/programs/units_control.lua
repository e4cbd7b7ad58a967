-- SPDX-License-Identifier: MIT
-- Units about control: closures, goto, varargs, order of evaluation, to-be-closed
-- variables, coroutines, errors, calls.

local Literals = require "literals"
local Tree = require "tree"
local E, S, B = Tree.expr, Tree.stmt, Tree.block

local Units = {}

-- Text with each `$` filled by one of `choices`.
local function filled(g, text, choices)
  return (text:gsub("%$", function() return g:pick(choices) end))
end

-- Closures made in loops: each iteration has its own variables, shared by its closures.
function Units.closures(g)
  local loop = g:pick { "for i = 1, 4 do", "for i = 4, 1, -1 do", "for i = 1.0, 2, 0.5 do",
      "for _, i in ipairs { 1, 2, 3, 4 } do",
    "local i = 0 while i < 4 do i = i + 1", "local i = 0 repeat i = i + 1",
        "for i in coroutine.wrap(function() for k = 1, 4 do Y(k) end end) do" }
  local ending = loop:find("repeat", 1, true) and g:pick { "until y > 5 or i >= 4",
      "until get() >= 4 or i >= 4" } or "end"
  local leave = g:pick { "", "", "if i == 3 then break end", "if i == 2 then goto continue end",
      "if i > 2 then goto out end" }
  local body = {
    S("T() local y = i $ $", E(g:pick { "+ 1", "* 2", "", ".. \"y\" y = #y" }), E(g:pick { "",
        "local z = y", "S()" })),
    S("local function get() $ return y end", E(g:pick { "", "y = y + 1", "i = i + y", "S()" })),
    S("list[#list + 1] = get list[#list + 1] = function(v) y = $ return y, i end", E(g:pick { "v",
        "y + v", "i", "get() + v" })),
    S("$ y = y + 10", E(g:pick { "", "get()", "L(y)", "S()" })),
  }
  if leave:find("continue", 1, true) then
    -- What is declared above may not be jumped into, so it gets a block of its own.
    table.insert(body, 2, S(leave))
    body = { S("do$end", B(body)), S("::continue::") }
    if loop:find("repeat", 1, true) then ending = "until i >= 4" end
  else
    body[#body + 1] = S(leave == "" and "" or leave:find("break", 1, true) and "do " .. leave ..
        " end" or leave)
  end
  return { S("do local list = {} do " .. loop .. "$" .. ending ..
      " end ::out:: for n = 1, 2 do for _, f in ipairs(list) do L(f(n)) end end end", B(body)) }
end

-- Gotos out of, into the start of, and around blocks with captured variables.
function Units.gotos(g)
  local inner = g:pick { "goto top", "goto out", "goto next", "break", "" }
  return { S(
      "L(pcall(function() local n, fs = 0, {} ::top:: local a = n n = n + 1 T() fs[#fs + 1] = function() a = a + 1 return a end " ..
    "for i = 1, 3 do for j = 1, 3 do local b = i * j $ fs[#fs + 1] = function() b = b + a return b end if j == $ then " ..
        inner ..
    " end do local c = b if c == $ then goto next end fs[#fs + 1] = function() c = c .. \"\" return c end end ::next:: end if i == $ and n < 3 then goto top end end " ..
    "::out:: if n < $ then goto top end for _, f in ipairs(fs) do L(f()) end L(#fs, fs[1] and fs[1]()) end))",
    E(g:pick { "", "S()", "local d <close> = C(\"d\" .. i .. j)",
        "local d <close> = C(\"d\", \"yield\")" }), E(g:pick { "1", "2", "3", "4" }),
        E(g:pick { "1", "2", "4", "6" }),
    E(g:pick { "1", "2", "3" }), E(g:pick { "1", "2", "4" })) }
end

local vararg_uses = { "return ...", "return select($, ...)", "return select('#', ...)",
    "return (...)", "local a, b, c = ... return c, b, a",
  "local t = { ... } return t[1], t[select('#', ...)]",
      "local t = { n = select('#', ...), ... } return t.n, t[1]", "return g(...)",
      "return g($, ...)",
  "return (g(...))", "local function h(...) return ... end return h(...), h(...)",
      "return table.unpack({ ... }, 1, select('#', ...))",
      "local t = table.pack(...) return t.n, table.unpack(t, 1, t.n)",
  "L(...) S() return ...", "return pcall(g, ...)", "local x <close> = C(\"x\") return ...",
      "local x <close> = C(\"x\") return g(...)", "Y(...) return ...", "return Y(...)",
  "for i = 1, select('#', ...) do L((select(i, ...))) end",
      "return coroutine.wrap(function(...) Y(1) return ... end)(...)", "return ..., ...",
      "return L(..., 1)",
  "local a <const> = ... return function() return a end", "return { ... }[1] or 1",
      "return select(-1, ...)", "return (select(-2, ...))", "return load(\"return ...\")(...)",
  "return O(\"v\", \"many\")(...)",
      "local s = 0 for _, v in ipairs { ... } do s = s + #tostring(v) end return s",
      "return math.max(...)", "return string.char(...)",
  "local f = function(a, ...) return ..., a end return f(...)",
      "if ... then return g(nil, ...) end return 0", "return g(select(2, ...))",
      "return string.format(\"%s %s\", ...)" }

-- Functions with varargs that pass them on in all ways, with steps between.
function Units.varargs(g)
  local list = { S("local function g(a, ...) $ $ end", E(g:pick { "S()", "L(a, ...)", "",
      "local junk = { a, {}, {} }" }), E(filled(g, g:pick { "return ...", "return a, ...",
      "return ..., a", "return select($, a, ...)", "return select('#', ...)" },
    { "1", "2", "-1" }))) }
  for i = 1, g:int(2, 5) do
    local use = filled(g, g:pick(vararg_uses), { "1", "2", "3", "-1", "-3", "0", "2.0",
        '"1"' }):gsub("return { %.%.%. }%[1%]", "return ({ ... })[1]")
    local arguments = {}
    for k = 1, g:pick { 0, 1, 2, 3, 5, 8, 40 } do arguments[k] = E(g:pick { "1", "nil", '"s"', "{}",
        "2.5", "\"v\" .. " .. k, "true", "L" }) end
    list[#list + 1] = S("do local function f($) S() $ end for _ = 1, $ do L(pcall(f, $)) end $ end",
        E(g:pick { "...", "p, ...", "p, q, ..." }), E(use), E(g:pick { "1", "2" }), arguments,
      E(g:pick { "", "drive(coroutine.create(f), 1, 2, 3)",
          "L(pcall(function(...) return f(...) end, 1, nil, 3, nil))",
          "L(pcall(function(...) local a = f(...) return a, ... end, 1, 2))" }))
  end
  return { S("do$end", B(list)) }
end

-- The order in which operands, targets and arguments are evaluated.
function Units.order(g)
  local statements = {
    "local i, t = 1, {} i, t[i] = i + 1, 20 L(i) D(t)", "local a, b = 1, 2 a, b = b, a L(a, b)",
        "local a = {} local b = a a.x, a = 1, { x = 2 } L(a.x, b.x)",
    "local t = {} t[e(\"k1\", 1)], t[e(\"k2\", 2)] = e(\"v1\", 5), e(\"v2\", 6) L(t[1], t[2])",
        "local a <const>, b = e(1, 1), e(2) L(a, b)",
    "local function f(...) return e(\"f\", ...) end L(f(e(1, 1), e(2, 2)), f(e(3, 3)))",
        "L(e(1, 1) + e(2, 2) * e(3, 3) ^ e(4, 2))", "L(e(1, \"a\") .. e(2, \"b\") .. e(3, 4))",
    "L(e(1, 1) < e(2, 2), e(3, 2) > e(4, 1), e(5, 3) >= e(6, 3))",
        "L({ e(1, 1), [e(2, 2)] = e(3, 3), e(4, 4) }[e(5, 1)])",
        "L(e(1, nil) and e(2, 2) or e(3, 3))",
    "local x = 1 local function f() x = x + 1 return x end L(x, f(), x, f(), x + f(), f() + x)",
        "local t = { 1, 2 } t[1], t[2], t = t[2], t[1], nil L(t)",
    "local a, b, c = (function() return 1, 2, 3 end)() L(a, b, c) a, b, c = 0, (function() return 1, 2, 3 end)() L(a, b, c)",
        "local a = { 1 } local i = 1 a[i], i = i, a[i] + 1 L(a[1], i)",
    "local o = O(\"o\") o.x, o.y, o[1] = e(1, 1), e(2, 2) L(o.x)", "local x = 5 x, x = 1, 2 L(x)",
        "local a = 1 a = a + (function() a = 10 return a end)() L(a)",
        "local t = {} t.f = function(s, v) return v, s == t end L(e(0, t):f(e(1, 1)))",
    "local a, b = 3 local c = not a == b L(a, b, c)",
        "local s = \"x\" for i = 1, 3 do s, i = i .. s, s end L(s)",
        "local y = 1 local z = y + y * (function() y = 5 return 2 end)() L(y, z)",
    "global1, global2 = e(1, 1), global1 L(global1, global2)",
        "local t = setmetatable({}, { __newindex = function(t, k, v) L(\"set\", k, v) end }) t.a, t.b, t.c = 1, 2 L(rawlen(t))",
    "local a = 2 local b = - a ^ a L(b, - a ^ - a, not a == nil, a .. a ^ a, #\"ab\" .. a)",
        "L(1 .. 2, 2^-3, -2^2, 1 << 2 + 1, 5 & 6 == 4 and 1, \"a\" < \"b\" == true)",
  }
  local list = {}
  for i = 1, g:int(2, 5) do
    list[i] = S("L(pcall(function() $ end))", E((g:pick(statements):gsub("L%({(.*)}%[",
        "L(({%1})["))))
  end
  return list
end

-- To-be-closed variables, left in every way, inside functions and coroutines.
function Units.closing(g)
  local how = { "", "", "", ', "yield"', ', "error"', ', "object"' }
  local list = {}
  local n = g:int(1, 4)
  for i = 1, n do
    if g:chance(0.3) then list[#list + 1] = S("local v" .. i .. " = $", E(g:pick { "{}", "1",
        "function() return arg end" })) end
    list[#list + 1] = S("local c" .. i .. " <close> = $", E(g:chance(0.85) and
        ('C("c%d"%s)'):format(i, g:pick(how)) or
      g:pick { "nil", "false", "arg", "O(\"c\")", "setmetatable({}, { __close = L })",
          "setmetatable({}, { __close = Y })", "{}", "setmetatable({}, { __close = 1 })" }))
    if g:chance(0.3) then
      list[#list + 1] = S(g:pick { "L(i)", "S()", "Y(\"between\")",
          "if i == 2 then return arg, v1 end", "if i == 3 then error(\"E\" .. i) end",
        "do local inner <close> = C(\"inner\") $ end",
            "local function up() return c1, arg end L(up())", "arg = arg .. i", "G()" },
            E(g:pick { "", "break", "return", "goto continue" }))
    end
  end
  local leave = g:weighted { { 3, "return arg" }, { 2, "return arg, i, ..." }, { 2,
      "return L(arg)" }, { 2, "error(\"left\")" }, { 1, "error({})" }, { 2, "Y(1, 2) return 3" },
      { 2, "if i == 2 then break end" },
    { 2, "if i < 3 then goto continue end" }, { 1, "return" }, { 1, "return (L(arg, i))" }, { 1,
        "local x = arg + 1 return x" }, { 1, "return nil, arg" }, { 1, "L(i)" }, { 1,
        "do return c1 and 1, i end" } }
  local head = g:pick { "for i = 1, 3 do", "for _, i in ipairs { 1, 2, 3 } do",
      "for i in function(s, c) c = (c or 0) + 1 if c < 4 then return c end end, nil, nil, C(\"loop\") do",
    "local i = 0 while i < 3 do i = i + 1", "do local i = 1" }
  if head:find("^do") then leave = leave:gsub("break", "L(1)") end
  local call = g:pick { "L(pcall(f, \"arg\", 7, 8))", "drive(coroutine.create(f), \"arg\", 7)",
      "L(pcall(coroutine.wrap(f), \"arg\"))",
      "local co = coroutine.create(f) L(coroutine.resume(co, \"arg\")) L(coroutine.close(co)) L(coroutine.status(co))",
    "L(xpcall(f, function(m) L(\"handler\", m) return m end, \"arg\", 1))",
        "drive(coroutine.create(function(...) local outer <close> = C(\"outer\", \"yield\") return pcall(f, ...) end), \"arg\")",
    "drive(coroutine.create(function(...) local outer <close> = C(\"outer\") return f(...) end), 5)",
        "L(pcall(function(...) return f(...) end, 42))",
        "L(pcall(function(...) local r = { f(...) } return #r, r[1] end, {}))" }
  local body = B { S("do$end", B(list)), S("::continue::") }
  list[#list + 1] = S("do " .. leave .. " end")
  local text = head:find("^do") and "break" or ""
  if text == "break" then
    for _, s in ipairs(list) do
      for k, part in ipairs(s) do
        if type(part) == "table" and part[1] == "break" then s[k] = E("L(2)") end
      end
    end
  end
  return { S("do local function f(arg, ...)$end for _ = 1, $ do " .. call .. " end end",
      B { S("T()"), S(head .. "$end", body), S("return \"end\", arg") }, E(g:pick { "1", "2" })) }
end

-- Coroutines: yields through every kind of call, odd resumptions.
function Units.coroutines(g)
  local steps = { "L(Y($))", "L(pcall(Y, $))",
      "L(pcall(function(...) local x <close> = C(\"x\") return Y(...) end, $))",
      "L(pcall(error, Y($)))",
      "local t = setmetatable({}, { __index = function(_, k) return Y(k) end }) L(t.a, t[$])",
    "L(O(\"y\", \"yield\") + $, O(\"z\", \"yield\") .. $, O(\"w\", \"yield\") < 1)",
        "for k, v in function(s, c) return Y(c) end, $, nil do L(k, v) break end",
        "for k in coroutine.wrap(function(...) Y(1) Y($) end) do L(k) end",
    "L(coroutine.isyieldable(), coroutine.running() ~= nil, select(2, coroutine.running()))",
        "L(pcall(table.sort, { 3, 2, 1 }, function(a, b) Y(a) return a < b end))",
        "L(pcall(string.gsub, \"ab\", \".\", function(c) return Y(c) end))",
    "L(pcall(load, function() T() return Y(\"x\") end))",
        "drive(coroutine.create(function(...) L(Y(...)) error($) end), 1)",
        "L(coroutine.resume(coroutine.running()))",
        "L(pcall(coroutine.close, (coroutine.running())))", "L(coroutine.status(co))",
    "L(pcall(coroutine.wrap(function(...) error($) end)))",
        "L(xpcall(function(...) Y(1) error($) end, function(m) return { m } end))", "S()", "G()",
        "local c <close> = C(\"c\", \"yield\")",
        "if O(\"q\", \"yield\", true) == O(\"r\") then L(1) end",
    "L(select(2, pcall(pcall, pcall, Y, $)))", "L((Y($)))", "local a, b, c = Y($) L(a, b, c)",
        "L(Y(), Y(1, 2), Y(1, 2, 3))", "while Y($) == 1 do T() L(\"again\") break end",
        "L(#O(\"len\", \"yield\"), -O(\"unm\", \"yield\"))",
    "L(coroutine.wrap(function(...) return Y(...) end)($))", "L(pcall(O(\"call\", \"yield\"), $))",
        "co2 = coroutine.create(function(...) L(coroutine.status(co)) L(coroutine.resume(co)) Y($) end) L(coroutine.resume(co2))",
        "O(\"new\", \"yield\").x = $",
    "do local c <close> = C(\"b\", \"error\") Y(2) end", "L(not O(\"eq\", \"yield\") == $)",
        "L(string.format(\"%s\", setmetatable({}, { __tostring = function() return Y(\"s\") end })))",
        "for _, v in ipairs(setmetatable({}, { __index = function(_, i) if i < 3 then return Y(i) end end })) do L(v) end",
    "L(table.concat(setmetatable({}, { __index = function(_, i) return Y(i) end, __len = function() return 2 end })))",
        "for k, v in pairs(O(\"pairs\", \"yield\")) do L(k, v) end", "L(debug.traceback ~= nil, $)",
        "for i = 1, 3 do L(Y(i)) end" }
  local list = {}
  for i = 1, g:int(2, 6) do list[i] = S(filled(g, g:pick(steps), { "1", '"v"', "nil", "...", "2.5",
      "{}", "..." })) end
  list[#list + 1] = S(filled(g, g:pick { "return ...", "return Y(...)", "error($)", "return L(...)",
      "", "return $, $" }, { "1", "nil", '"last"', "{}" }))
  local use = g:weighted { { 5, "drive(co, 1, 2)" }, { 2,
      "L(coroutine.resume(co, 1)) L(coroutine.resume(co, nil, 2)) L(coroutine.close(co)) L(coroutine.resume(co))" },
    { 1, "L(coroutine.close(co)) L(coroutine.status(co), coroutine.resume(co))" }, { 2,
        "local w = coroutine.wrap(body) for i = 1, 6 do L(pcall(w, i)) end" },
    { 1, "L(pcall(body, 1))" }, { 1, "for i = 1, 5 do L(i, coroutine.resume(co, i)) S() end" }, { 1,
        "drive(coroutine.create(function(...) drive(co, ...) Y(1) return body(...) end), 3)" } }
  return { S("do local co, co2 local function body(...)$end co = coroutine.create(body) " .. use ..
      " L(coroutine.status(co), co2 and coroutine.status(co2)) end", B(list)) }
end

-- Errors: values, levels, names in messages, handlers, what __close makes of them.
function Units.errors(g)
  local failing = { "error($)", "error($, 1)", "error($, 2)", "error($, 0)",
      "local t = nil return t.x", "local t = {} return t.x.y", "return undefined.x", "undefined()",
      "local t = {} t.a.b = 1", "local t = {} t:m()", "return (1)()",
    "return #5", "return -{}", "return {} .. 1", "return 1 < \"2\"", "return {} < {}",
        "return nil < 1", "return 1.5 | 1", "return \"a\" | 1", "return \"1.5\" & 1",
        "return 2^53 | 2^64", "return 1 // 0", "return 1 % 0", "local a = \"x\" return a + 1",
    "local a = {} a[nil] = 1", "local a = {} a[0/0] = 1", "return ({}).x.y.z",
        "local s = \"str\" return s.x.y", "return math.floor({})", "return (\"x\"):rep(-1):bad()",
        "string.rep()", "setmetatable(1, {})", "for i = 1, 10, 0 do end", "for i = \"a\", 2 do end",
    "for i = 1, {} do end", "for i = 1, 2, nil do end", "for x in 5 do end", "return select(0)",
        "return ipairs()", "assert(false)", "assert(nil, $)", "assert(false, {})",
        "local up = $ return (function() return up.x.y end)()",
        "return (function() undefined.a() end)()",
    "local a <const> = nil return a.b", "return _ENV.nothing.x", "local _ENV = {} return nothing.x",
        "return global1.x.y", "local f <close> = 42",
        "local t <close> = setmetatable({}, { __close = 5 })", "getmetatable(\"\").__index.nope()",
        "string.nope()",
    "return math.tointeger(2^53) << {}", "return tostring()",
        "return setmetatable({}, { __tostring = function() return 1 end }) .. \"\"",
        "return tostring(setmetatable({}, { __tostring = function() return 1 end }))",
        "return tostring(setmetatable({}, { __name = \"N\" })):sub(1, 2)",
    "return setmetatable({}, { __name = \"My\" }) + 1", "return #setmetatable({}, { __index = 1 })",
        "return setmetatable({}, { __index = 1 }).x", "setmetatable({}, { __newindex = 1 }).x = 1",
        "setmetatable({}, { __call = 1 })()", "return (setmetatable({}, { __call = {} }))(1)",
    "local a, b = 1 return a + b", "local a = { b = {} } return a.b.c + 1",
        "local a = { b = {} } return a.b.c.d", "local a = {} a.x.y.z = 1",
        "local k = \"key\" local a = {} return a[k].x", "local a = {} return a[1].x",
        "local a = {} a[1.5][2] = 3", "return (nil)[1]", "return (\"x\") + {}",
    "local t = {} return t.f(), 1", "local t = {} return t.f()", "local t = {} t.x:y()",
        "return #nil", "return undefined + 1", "return 1 + undefined", "return 2 ^ {}",
        "return \"abc\" .. nil", "local x = {} return x .. x", "return string.format(\"%d\", 1.5)",
        "return (\"x\"):bad(1)",
    "table.concat({ {}, 1 })", "table.insert({}, 5, 1)", "return tonumber(\"10\", 99)",
        "return next({}, 1)", "rawset(1, 2, 3)", "coroutine.resume(1)", "return utf8.char(-1)",
        "return load(5)", "string.char(256)", "return math.random(0, -1)",
        "return (\"%\"):gsub(\"%\", \"\")",
    "return table.unpack({}, 1, 1e8)", "return string.rep(\"x\", 1 << 40)", "return 1 & 1.5",
        "local a = 1.5 return a << 1", "local a = 2^70 return ~a", "return 3 | undefined",
        "local s = \"12x\" return s | 1", "return math.maxinteger + 1.5 | 0",
        "goto_ = 1 return goto_.x.y" }
  local catch = g:weighted { { 6, "L(pcall(f, $))" }, { 2,
      "L(xpcall(f, function(m) L(\"handler\", m) return m end, $))" }, { 1,
      "L(xpcall(f, error, $))" },
    { 2, "L(coroutine.resume(coroutine.create(f), $))" }, { 1, "L(pcall(coroutine.wrap(f), $))" },
        { 1, "L(pcall(pcall, f, $))" }, { 1,
        "L(pcall(function() local c <close> = C(\"c\", \"error\") f() end))" },
    { 1, "L(pcall(function(...) return f(...) end, $))" }, { 1,
        "L(pcall(setmetatable({}, { __index = f }).x, 1)) L(pcall(function() return setmetatable({}, { __index = f }).x end))" },
        { 1, "L(pcall(string.gsub, \"a\", \".\", f))" }, { 1, "L(xpcall(f, {}))" },
    { 1, "L(select(2, pcall(f)))" }, { 1, "for _ in pcall, f do L(_) break end" } }
  local list = {}
  for i = 1, g:int(2, 5) do
    local values = { '"text"', "nil", "{}", "5", "2.5", "true", "O(\"err\")" }
    list[i] = S("do local function f(...) $ $ end $ end", E(g:pick { "", "", "S()", "L(...)",
        "local c <close> = C(\"c\")" }), E(filled(g, g:pick(failing), values)), E(filled(g, catch,
        { "1", "nil", '"a"', "" }):gsub(", %)", ")")))
  end
  return list
end

-- Tail calls, deep recursion, mutual recursion, calls through __call.
function Units.calls(g)
  return { S(g:pick {
    "L(pcall(function() local function loop(n, acc) if n == 0 then return acc end $ return loop(n - 1, acc + n) end return loop($, 0) end))",
    "L(pcall(function() local function depth(n) if n == 0 then $ return 0 end return 1 + depth(n - 1) end return depth($) end))",
    "L(pcall(function() local even, odd function even(n) if n == 0 then return true end $ return odd(n - 1) end function odd(n) if n == 0 then return false end return even(n - 1) end return even($) end))",
    "L(pcall(function() local o = setmetatable({}, { __call = function(self, n, ...) if n <= 0 then $ return ... end return self(n - 1, n, ...) end }) return select('#', o($ % 50)) end))",
    "L(pcall(function() local function v(n, ...) if n == 0 then $ return select('#', ...), ... end return v(n - 1, n, ...) end return v($ % 20, \"x\") end))",
    "L(pcall(function() local function fib(n) $ if n < 2 then return n end return fib(n - 1) + fib(n - 2) end return fib($ % 11) end))",
    "drive(coroutine.create(function() local function down(n) if n == 0 then $ return Y(\"bottom\") end local r = down(n - 1) return r end return down($ % 90) end))",
    "L(pcall(function() local t = setmetatable({}, { __index = function(t, k) if k == 0 then $ return 0 end return t[k - 1] + 1 end }) return t[$ % 60] end))",
    "L(pcall(function() local o = setmetatable({}, { __call = setmetatable({}, { __call = function(...) $ return ... end }) }) return o($, 2) end))",
  }, E(g:pick { "", "", "S()" }), E(g:pick { "10", "100", "150", "33" })) }
end

return Units
