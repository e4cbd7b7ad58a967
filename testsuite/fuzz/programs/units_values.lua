-- SPDX-License-Identifier: MIT
-- Units about values: one line of code that meets operands of every kind in turn (the
-- interpreter rewrites instructions and caches places), edges of numbers and strings,
-- constants against variables, loops at the ends of the integers.
--
-- A unit is a function of the builder that returns statements.

local Literals = require "literals"
local Tree = require "tree"
local E, S, B = Tree.expr, Tree.stmt, Tree.block

local Units = {}

local binary = { "+", "-", "*", "/", "//", "%", "^", "&", "|", "~", "<<", ">>", "..", "<", "<=",
    ">", ">=", "==", "~=", "and", "or" }
local unary = { "- ", "~", "#", "not " }

local function constant(g)
  return g:weighted {
    { 4, function() return g:pick(Literals.int) end },
    { 2, function() return g:pick(Literals.small) end },
    { 4, function() return g:pick(Literals.float) end },
    { 2, function() return g:pick(Literals.str) end },
    { 1, function() return g:pick { "nil", "true", "false" } end },
  } ()
end

-- An expression of the variables `a` and `b` and of constants.
local function site_expression(g, d)
  if d == 0 then return E(g:chance(0.7) and g:pick { "a", "b" } or constant(g)) end
  if g:chance(0.15) then return E("($$)", E(g:pick(unary)), site_expression(g, d - 1)) end
  return E("($ $ $)", site_expression(g, d - 1), E(g:pick(binary)), site_expression(g, d - 1))
end

-- An operand for a site; mostly of the kind asked for, so that a site settles.
local function operand(g, kind)
  if kind == "int" then return g:pick(g:chance(0.5) and Literals.small or Literals.int) end
  if kind == "float" then return g:pick(Literals.float) end
  if kind == "str" then return g:pick(Literals.str) end
  if kind == "obj" then
    return ('O("%s", %s, %s)'):format(g:fresh "o", g:pick { "nil", "nil", '"yield"', '"error"',
        '"nothing"', '"many"', '"tail"' },
      g:pick { "nil", "nil", "1", "false", '"r"', "{}" })
  end
  return g:pick { "nil", "true", "false", "{}", "L", "{}" }
end

local kinds = { "int", "int", "float", "float", "str", "obj", "other" }

local function site_body(g)
  return g:weighted {
    { 5, function() return S("return $", site_expression(g, g:int(1, 3))) end },
    { 2, function()
      return S("if $ $ $ then return \"yes\", a end return \"no\", b", E(g:pick { "a", "b", "a" }),
        E(g:pick { "<", "<=", ">", ">=", "==", "~=" }), E(g:chance(0.5) and "b" or constant(g)))
    end },
    { 1, function() return S("local c, d = $, $ c, d = d, c return c, d, $", site_expression(g, 1),
        site_expression(g, 1), site_expression(g, 1)) end },
    { 1, function() return S("local c = a while not c do c = $ break end return c",
        site_expression(g, 1)) end },
    { 1, function() return S("for i = 1, 3 do a = $ end return a", site_expression(g, 1)) end },
    { 1, function() return S("return a .. $ .. b .. $", site_expression(g, 1),
        E(constant(g))) end },
    { 1, function() return S("local x = $ return x, x == a, x == $", site_expression(g, 1),
        E(constant(g))) end },
  } ()
end

function Units.site(g)
  local name = g:fresh "site"
  local list = { S("local function " .. name .. "(a, b)$end", B { site_body(g) }) }
  for _ = 1, g:int(3, 7) do
    local first = g:pick(kinds)
    local second = g:chance(0.6) and first or g:pick(kinds)
    for _ = 1, g:int(1, 3) do
      list[#list + 1] = S("L(pcall(" .. name .. ", $, $))", E(operand(g, first)), E(operand(g,
          second)))
    end
    if g:chance(0.1) then list[#list + 1] = S("S()") end
  end
  if g:chance(0.3) then
    list[#list + 1] = S("drive(coroutine.create(" .. name .. "), $, $)", E(operand(g, "obj")),
        E(operand(g, g:pick(kinds))))
  end
  return list
end

-- The same operands in one loop, so that one pass of code sees them all.
function Units.site_in_loop(g)
  local pairs_ = {}
  for i = 1, g:int(4, 10) do
    local kind = g:pick(kinds)
    pairs_[i] = E("{ a = $, b = $ }", E(operand(g, kind)), E(operand(g, g:chance(0.7) and kind or
        g:pick(kinds))))
  end
  local body = S("for _, p in ipairs { $ } do$end", pairs_, B {
    S("local a, b = p.a, p.b"),
    S("L(pcall(function() return $ end))", site_expression(g, g:int(1, 2))),
    S("L(pcall(function(a) a = $ return a end, b))", site_expression(g, 1)),
  })
  return { body }
end

-- Constants folded against the same with variables.
function Units.folding(g)
  local operators = { "+", "-", "*", "/", "//", "%", "^", "&", "|", "~", "<<", ">>" }
  local list = {}
  for i = 1, g:int(2, 5) do
    local op, a, b = g:pick(operators), g:pick(g:chance(0.5) and Literals.int or Literals.float),
      g:pick(g:chance(0.5) and Literals.int or Literals.float)
    list[i] = S((
        "L(pcall(function() local a <const>, b <const>, c, d = $, $, $, $ return $ %s $, a %s b, c %s d, a %s d, c %s b, -a, ~c, -c end))")
      :format(op, op, op, op, op), E(a), E(b), E(a), E(b), E("(" .. a .. ")"), E("(" .. b .. ")"))
  end
  return list
end

-- Integer division, remainder and shifts by one constant for many numerators.
function Units.constant_operand(g)
  local op = g:pick { "//", "%", "<<", ">>", "*", "-", "+", "&", "|", "~", "^", "/" }
  local c = g:pick(g:chance(0.7) and Literals.int or Literals.float)
  local values = {}
  for i = 1, g:int(4, 12) do values[i] = E(g:pick(g:chance(0.75) and Literals.int or
      g:chance(0.7) and Literals.float or Literals.str)) end
  return { S(
      "for _, a in ipairs { $ } do L(a, pcall(function() return a $ $ end)) L(pcall(function() return $ $ a end)) end",
    values, E(op), E(c), E(c), E(op)) }
end

-- Comparisons of integers and floats near 2^53 and 2^63, as values and as conditions.
function Units.comparisons(g)
  local values = {}
  for i = 1, g:int(3, 6) do values[i] = E(g:pick(g:chance(0.5) and Literals.int or
      Literals.float)) end
  local c = constant(g)
  return { S(
      "for _, a in ipairs { $ } do for _, b in ipairs { $ } do L(a, b, a < b, a <= b, a == b, a > b, a >= b, a ~= b, math.ult(math.tointeger(a) or 0, 5)) end " ..
    "L(pcall(function() local r = {} if a < $ then r[#r + 1] = \"lt\" end if a <= $ then r[#r + 1] = \"le\" end if a > $ then r[#r + 1] = \"gt\" end " ..
    "if a >= $ then r[#r + 1] = \"ge\" end if a == $ then r[#r + 1] = \"eq\" end if $ < a then r[#r + 1] = \"more\" end return table.unpack(r) end)) end",
    values, values, E(c), E(c), E(c), E(c), E(c), E(c)) }
end

local function bound(g)
  return g:weighted {
    { 4, function() return g:pick(Literals.int) end },
    { 3, function() return g:pick(Literals.float) end },
    { 1, function() return g:pick(Literals.str) end },
    { 1, function() return g:pick { "nil", "{}", "math.maxinteger - 2",
        "math.mininteger + 2" } end },
    { 3, function() return g:pick(Literals.small) end },
  } ()
end

-- Numeric loops with bounds that are constants, and with the same as variables.
function Units.for_bounds(g)
  local list = {}
  for i = 1, g:int(2, 5) do
    local a, b, c = bound(g), bound(g), g:chance(0.6) and bound(g) or "1"
    list[i] = S(
        "L(pcall(function(a, b, c) local n = 0 for i = $, $, $ do L(i) n = n + 1 if n > 3 then break end end " ..
      "for i = a, b, c do L(i) n = n + 1 if n > 7 then break end end return n end, $, $, $))",
      E(a), E(b), E(c), E(a), E(b), E(c))
  end
  return list
end

local string_calls = {
  "s:sub($, $)", "s:rep($ % 5, $)", "s:byte($, $)", "s:find($, $)", "s:find($, $, true)",
      "s:upper()", "s:reverse()", "s:len()",
  "string.format(\"%5d|%-8s\", $, $)", "string.format(\"%.3f %q\", $, $)",
      "string.format(\"%s %x\", $, $)", "string.format(\"%i%%%c\", $, $ % 100)",
  "tonumber(s)", "tonumber(s, $)", "tonumber($)", "tostring($)", "math.tointeger($)",
      "math.type($)", "string.char($ % 256, $ % 256)",
  "s .. $ .. $", "$ .. s", "s + $", "s * $", "s // $", "$ % s", "s | $", "s < $", "s < tostring($)",
      "s == $", "-s", "~s", "#s",
  "s:match(\"(%w)(%w*)\")", "s:gsub(\"%d\", { [\"1\"] = $, [\"0\"] = false })",
      "s:gsub(\".\", \"%0%0\", $)", "utf8.char($ & 0xffff)",
  "utf8.len(s, $)", "string.pack(\"<i4\", $)", "string.pack(\"z\", s)", "select($, 1, 2, 3)",
      "math.floor($)", "math.ceil($)",
  "math.fmod($, $)", "math.modf($)", "math.abs($)", "math.max($, $)", "math.ult($, $)",
      "table.concat({ s, $, $ }, s)",
  "rawequal(s, $)", "rawlen(s)", "string.format(\"%a\", $)", "string.format(\"%g\", $)", "s.x",
      "s[$]", "s:x()", "s()", "tostring(-$)",
  "load(\"return \" .. s)", "(load(\"return \" .. tostring($)) or L)()", "next({}, $)",
      "table.unpack({ 1, 2, 3 }, $, $ & 7)",
}

-- Library functions with values from the edges.
function Units.library(g)
  local list = {}
  for i = 1, g:int(3, 8) do
    local call = g:pick(string_calls):gsub("%$", function() return "(" .. constant(g) .. ")" end)
    list[i] = S("L(pcall(function(s) return $ end, $))", E(call), E(g:pick(g:chance(0.8) and
        Literals.str or Literals.int)))
  end
  return list
end

return Units
