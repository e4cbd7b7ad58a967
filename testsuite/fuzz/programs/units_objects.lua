-- SPDX-License-Identifier: MIT
-- Units about tables and metatables: field accesses of one line on tables of many
-- shapes, metamethods of every event, classes, table functions on proxies.

local Literals = require "literals"
local Tree = require "tree"
local E, S, B = Tree.expr, Tree.stmt, Tree.block

local Units = {}

-- Accesses of one field at one place each, and changes of the tables in between.
function Units.shapes(g)
  local field = g:pick(Literals.field)
  local other = g:pick(Literals.field)
  local list = {
    S("local tables = { {}, { " .. field .. " = 1 }, { " .. other .. " = 2, " .. field ..
        " = 3, 4 }, setmetatable({}, { __index = { " ..
      field .. " = \"up\" } }), { p = 1, q = 2, r = 3, s = 4 }, \"text\", 12, O(\"o\") }"),
    S("local function get(t) return t." .. field .. " end"),
    S("local function set(t, v) t." .. field .. " = v end"),
    S("local function call(t, v) return t:" .. field .. "(v) end"),
    S("local function both(t) t." .. field .. " = t." .. field .. " $ return t." .. field ..
        ", t." .. other .. " end",
      E(g:pick { "+ 1", ".. \"x\"", "", "or 5", "* 2.0", "and nil" })),
  }
  local change = {
    "set(t, $)", "t." .. field .. " = nil", "t." .. other .. " = $", "t[\"" .. field .. "\"] = $",
        "rawset(t, \"" .. field .. "\", $)",
    "for i = 1, 9 do t[\"k\" .. i] = i end", "for i = 1, 9 do t[\"k\" .. i] = nil end",
        "setmetatable(t, { __index = tables[$] })",
    "setmetatable(t, { __index = function(_, k) L(\"index\", k) return $ end })",
        "setmetatable(t, nil)",
    "setmetatable(t, { __newindex = function(o, k, v) L(\"newindex\", k, v) rawset(o, k, v) end })",
        "setmetatable(t, { __newindex = tables[$] })",
    "getmetatable(t).__index = nil", "getmetatable(t).__index = { " .. field .. " = $ }", "S()",
        "t." .. field .. " = function(self, v) return v, $ end",
    "t[1] = $", "t[\"" .. field .. "\" .. \"\"] = nil", "setmetatable(t, O(\"meta\"))",
        "collectgarbage()", "setmetatable(t, setmetatable({}, { __index = { __index = { " ..
      field .. " = $ } } }))", "getmetatable(t).__newindex = nil",
  }
  for _ = 1, g:int(5, 14) do
    local index = g:int(1, 8)
    local again = g:int(1, 3)
    list[#list + 1] = S("do local t = tables[" .. index .. "]$end", B {
      S("L(pcall(function() $ end))", E((g:pick(change):gsub("%$", function() return g:pick { "1",
          "2", "3", "4", "2.5", '"v"', "nil" } end)))),
      S("for _ = 1, " .. again .. " do L(pcall(get, t)) $ end", E(g:pick { "", "L(pcall(both, t))",
          "L(pcall(call, t, 1))", "L(pcall(set, t, 8))" })),
    })
  end
  list[#list + 1] = S(
      "for _, t in ipairs(tables) do L(pcall(get, t)) L(pcall(both, t)) L(pcall(call, t, 1)) end")
  return { S("do$end", B(list)) }
end

-- Globals that come and go, and an _ENV of one's own.
function Units.globals(g)
  local name = "G" .. g:int(1, 3)
  return { S("do local function get() return " .. name .. " end local function set(v) " .. name ..
      " = v end$end", B {
    S("L(pcall(get)) set($) L(get()) S() set($) L(get()) set(nil) L(get())",
        E(g:pick(Literals.int)), E(g:pick(Literals.str))),
    S("do local _ENV <const> = { L = L, setmetatable = setmetatable } L(pcall and 1, get()) " ..
        name .. " = $ L(" .. name .. ", get()) end", E(g:pick(Literals.float))),
    S("do local _ENV = setmetatable({ L = L }, { __index = function(_, k) L(\"global\", k) return $ end, __newindex = L }) " ..
        name .. " = 1 L(" .. name .. ", x) end", E(g:pick { "1", "nil", "L" })),
    S("L(pcall(function() local _ENV = $ return " .. name .. ", x.y end))", E(g:pick { "nil", "{}",
        "1", '"s"', "{ x = {} }" })),
    S("L(pcall(function(_ENV) " .. name .. " = 5 return " .. name .. " end, $))", E(g:pick { "{}",
        "nil", "_G", 'O("env")' })),
  }) }
end

local operators = { "a + b", "a - b", "a * b", "a / b", "a % b", "a // b", "a ^ b", "a & b",
    "a | b", "a ~ b", "a << b", "a >> b",
  "a .. b", "a < b", "a <= b", "a > b", "a >= b", "a == b", "a ~= b", "-a", "~a", "#a", "a.x",
      "a[b]", "a(b)", "a(b, ...)", "a:m(b)", "a .. 1 .. b",
  "1 + a", "a + 1", "a - 1", "2.5 * a", "a // 2", "7 % a", "a & 1", "1 | a", "a << 1", "1 << a",
      "a == 1", "a < 1", "a <= 1.5", "2 > a", "2 >= a",
  "a == nil", "not a", "a and b", "a or b", '"s" .. a', "b .. a .. b .. a", "tostring(a)",
      "rawequal(a, b)", "a.x.y", "- - a" }
local event_names = { "add", "sub", "mul", "div", "mod", "idiv", "pow", "band", "bor", "bxor",
    "shl", "shr", "concat", "lt", "le", "eq",
  "unm", "bnot", "len", "index", "newindex", "call", "tostring", "name", "close" }

-- A metatable of some events; handlers log and do something.
local function metatable(g, name)
  local fields = {}
  for _ = 1, g:int(2, 8) do
    local event = g:pick(event_names)
    local handler = g:weighted {
      { 6, function() return E("function(...) L(\"" .. name .. "." .. event ..
          "\", ...) return $ end", E(g:pick {
        "...", "1", "nil", "false", "true", '"text"', "(...)", "select(2, ...)", "2.5", "{}", "",
            "select(\"#\", ...)" })) end },
      { 2, function() return E("function(a, b) L(\"" .. name .. "." .. event ..
          "\", Y(a, b)) return $ end", E(g:pick { "b", "a", "1" })) end },
      { 1, function() return E("function(a, b) error($) end", E(g:pick { '"failed"', '"failed", 0',
          '"failed", 2', "{}", "nil" })) end },
      { 1, function() return E(g:pick { "nil", "false", "1", "{}", "L", "rawequal", "select",
          'O("h")', '"name"', "Y",
          "coroutine.wrap(function(...) while true do L(Y(...)) end end)" }) end },
      { 1, function() return E("function(a, ...) S() return $ end", E(g:pick { "L(a, ...)", "T(a)",
          "rawlen(a)" })) end },
    } ()
    fields[#fields + 1] = E("__" .. event .. " = $", handler)
  end
  return E("{ $ }", fields)
end

function Units.metamethods(g)
  local list = {
    S("local ma, mb = $, $", metatable(g, "A"), metatable(g, "B")),
    S("local a, b = setmetatable({}, ma), setmetatable({}, $)", E(g:pick { "mb", "ma", "{}" })),
  }
  for _ = 1, g:int(4, 12) do
    local first, second = g:pick { "a", "a", "b" }, g:pick { "a", "b", "1", "2.5", '"s"', "nil",
        "{}", '"10"' }
    local operation = g:pick(operators)
    local run = g:weighted { { 6, "L(pcall(function(a, b, ...) return $ end, $, $, 3))" },
      { 2, "drive(coroutine.create(function(a, b, ...) local r = $ return r end), $, $)" },
      { 2, "L(pcall(function(a, b, ...) if $ then return 1 else return 2 end end, $, $))" },
      { 1, "L(pcall(function(a, b, ...) local x <const>, y = 1, $ L(x, y) while y do y = nil end end, $, $))" },
      { 1, "drive(coroutine.create(function(a, b, ...) if not ($) then return 1 end return 2 end), $, $)" } }
    list[#list + 1] = S(run, E(operation), E(first), E(second))
    if g:chance(0.15) then
      list[#list + 1] = S("m$.__$ = $", E(g:pick { "a", "b" }), E(g:pick(event_names)),
          E(g:pick { "nil", "L", "function(...) L(\"new\", ...) return ... end" }))
    end
    if g:chance(0.1) then list[#list + 1] = S("S()") end
    if g:chance(0.15) then list[#list + 1] = S("L(pcall(function() a.$ = $ end))",
        E(g:pick(Literals.field)), E(g:pick { "1", "nil", "a", "b" })) end
  end
  return { S("do$end", B(list)) }
end

-- Classes: methods through two levels, super calls, getters.
function Units.classes(g)
  local m, n = g:pick(Literals.field), g:pick(Literals.field)
  return { S("do$end", B {
    S("local Base = {} Base.__index = Base function Base:" .. m ..
        "(v) T() L(\"Base\", v) return $ end", E(g:pick { "self", "v", "self.count, v", "#self",
        "self.k" })),
    S("local Derived = setmetatable({}, { __index = $ }) Derived.__index = Derived",
        E(g:pick { "Base", "Base", "function(_, k) L(\"lookup\", k) return Base[k] end", "nil" })),
    S("function Derived:" .. n .. "(...) T() L(\"Derived\", ...) return $ end",
        E(g:pick { "Base." .. m .. "(self, ...)", "self:" .. m .. "(...)", "...", "self." .. m })),
    S("local o, p = setmetatable({ count = $ }, Derived), setmetatable({}, Base)",
        E(g:pick(Literals.small))),
    S("for i = 1, 3 do local q = i == 2 and p or o L(pcall(function() return q:" .. n ..
        "(i) end)) L(pcall(function() return q:" .. m .. "(i, i) end)) $ end",
      E(g:pick { "", "Base." .. m .. " = nil", "o." .. m .. " = L", "Derived." .. n .. " = nil",
          "S()", "setmetatable(o, Base)", "q.k = i" })),
    S("L(pcall(function() return o:" .. g:pick(Literals.field) .. "(p):" .. n .. "(1) end))"),
  }) }
end

-- table functions on tables that log every access.
function Units.proxies(g)
  local calls = { "table.insert(t, $)", "table.insert(t, 1, $)", "table.insert(t, 2, $)",
      "table.remove(t)", "table.remove(t, 1)", "table.remove(t, $)",
    "table.concat(t, \",\")", "table.concat(t, \"-\", 1, 2)", "table.unpack(t)",
        "table.unpack(t, 1, 3)", "table.move(t, 1, 3, 2)", "table.move(t, 2, 3, 1)",
    "table.move(t, 1, 2, 1, {})", "table.move(t, 1, 3, 3, t)", "table.insert(t, $, $)", "#t",
        "ipairs(t)", "t[1]", "rawlen(t)", "next(t)",
    "table.insert(t, 1, 2, 3)", "table.insert(t)", "table.pack(t)",
        "select(\"#\", table.unpack(t))" }
  local list = { S("local store = $", E(g:pick { "{ 1, 2, 3 }", "{}", "{ \"a\", 2.5, \"b\" }",
      "{ 3, 2, 1, 5 }" })), S(
    "local t = setmetatable({}, { __index = function(_, k) L(\"get\", k) return store[k] end, " ..
    "__newindex = function(_, k, v) L(\"set\", k, v) $ end, __len = function() L(\"len\") $ end })",
    E(g:pick { "store[k] = v", "store[k] = v",
        "if k == 2 then error(\"no\", 0) end store[k] = v" }),
    E(g:pick { "return #store", "return #store", "return 2", "return 2.0", "return 2.5",
        "return \"2\"", "return -1", "return {}", "return nil", "return math.mininteger" })) }
  for _ = 1, g:int(2, 6) do
    local call = g:pick(calls):gsub("%$", function() return g:pick { "1", "2", "0", "4", "-1",
        '"x"', "1.5", "2.0", "nil" } end)
    list[#list + 1] = S("L(pcall(function() return $ end))", E(call))
  end
  list[#list + 1] = S("for i = 1, 6 do L(store[i]) end")
  return { S("do$end", B(list)) }
end

-- Arrays: constructors of every size, growth, removal, sorting; every key is logged.
function Units.arrays(g)
  local n = g:pick { 0, 1, 3, 4, 5, 8, 15, 16, 17, 49, 50, 51, 52, 100, 101, 260 }
  local items = {}
  for i = 1, n do items[i] = n < 20 and E(g:pick(Literals.int)) or E(tostring(i)) end
  if g:chance(0.4) then items[#items + 1] = E(g:pick { "table.unpack({ 7, 8, 9 })", "(L(5))",
      "string.byte(\"abc\", 1, 3)" }) end
  local list = { S(
      "local t = { $ } local function sum() local s = 0 for i, v in ipairs(t) do s = s ~ (math.tointeger(v) or i) * i end return #t, s end L(sum())",
      items) }
  local changes = { "for i = 1, 20 do t[#t + 1] = i end", "for i = #t, 1, -2 do t[#t] = nil end",
      "while #t > 3 do table.remove(t) T() end", "table.insert(t, 1, 99)",
    "table.remove(t, 1)", "t = table.move(t, 1, #t, 1, {})", "t = { table.unpack(t, 1, 200) }",
        "t = table.pack(table.unpack(t)) t.n = nil", "S()", "t[2^53] = 1 t[1.0] = 7",
    "t[-1] = 1 t[0] = 2", "table.sort(t, function(a, b) return a > b end)", "table.sort(t)",
        "for i = 1, 40 do t[\"k\" .. i] = i end",
    "for k in pairs(t) do if type(k) == \"string\" then t[k] = nil end end",
        "t = setmetatable(t, { __index = function() return nil end })", "t.n = #t",
    "for i = 1, #t do t[i] = t[i] end", "for i = 1, #t do t[i] = i % 2 == 0 and i or i + 0.5 end" }
  for _ = 1, g:int(2, 7) do
    list[#list + 1] = S("L(pcall(function() $ end)) L(sum())", E(g:pick(changes)))
  end
  list[#list + 1] = S("D(t)")
  return { S("do$end", B(list)) }
end

-- Sorting with orders that yield, fail, or look at fields. (The order in which elements
-- are compared is the implementation's own.)
function Units.sorting(g)
  local items = {}
  for i = 1, g:int(0, 12) do items[i] = E(g:pick(Literals.small)) end
  return { S("do local t = { $ } L(pcall(table.sort, t, $)) L(table.concat(t, \" \")) end", items,
    E(g:pick { "nil", "function(a, b) return a < b end", "function(a, b) return a > b end",
        "function(a, b) S() return -a < -b end",
      "function(a, b) return tostring(a) .. \"x\" < tostring(b) .. \"x\" end" })) }
end

-- Finalizers of objects that nothing can still hold, in a full collection. When exactly
-- they run is not to be seen in the log.
function Units.finalizers(g)
  if g.lines then return {} end
  return { S("do local names = {} " ..
    "local function make(n) for i = 1, n do setmetatable({ i }, { __gc = function(o) names[#names + 1] = tostring(o[1]) $ end }) end end " ..
    "local function clobber(...) local a, b, c, d, e, f, g, h = ... if a then return clobber(a - 1, b, c, d, e, f, g, h) end end " ..
    "make($) pcall(clobber) collectgarbage() collectgarbage() table.sort(names) L(table.concat(names, \" \")) end",
    E(g:pick { "", "S()", "local x = { o }", "coroutine.wrap(function() S() end)()" }),
        E(tostring(g:int(0, 9)))) }
end

return Units
