-- SPDX-License-Identifier: MIT
-- Random expressions of a kind (builder.lua names the kinds). They may fail at run time;
-- statements.lua puts pcall around pieces.

local Literals = require "literals"
local Tree = require "tree"
local E = Tree.expr

local Expressions = {}

local arithmetic = { "+", "-", "*", "//", "%" }
local float_arithmetic = { "+", "-", "*", "/", "^", "//", "%" }
local bitwise = { "&", "|", "~", "<<", ">>" }
local comparisons = { "<", "<=", ">", ">=", "==", "~=" }

-- `how` of an object: most just log.
local hows = { { 10, "nil" }, { 3, '"yield"' }, { 2, '"error"' }, { 2, '"nothing"' }, { 2,
    '"many"' }, { 2, '"tail"' } }

local kinds = { "int", "int", "float", "str", "bool", "rec", "seq", "obj", "fn" }

-- A binary operation; mostly parenthesized, at times left to precedence.
local function binary(g, operator, a, b)
  if g:chance(0.65) then return E("($ " .. operator .. " $)", a, b) end
  return E("$ " .. operator .. " $", a, b)
end

local function string_constant(g) return E(g:pick(Literals.str)) end

local leaf = {}

function leaf.int(g) return E(g:pick(g:chance(0.5) and Literals.small or Literals.int)) end
function leaf.float(g) return E(g:pick(Literals.float)) end
leaf.str = string_constant
function leaf.bool(g) return E(g:pick(Literals.bool)) end
function leaf.rec(g)
  return E(g:pick { "{}", "{ a = 1 }", "{ x = 1.5, y = \"y\" }", "{ b = true, [0] = 0, c = {} }",
      "{ n = 3, a = 2, x = \"\" }" })
end
function leaf.seq(g) return E(g:pick { "{}", "{ 1 }", "{ 1, 2, 3 }", '{ "a", 2.5, true }',
    "{ 5, 4, 3, 2, 1 }" }) end
function leaf.fn(g) return E(g:pick { "L", "tostring", "type", "select", "math.type", "Y", "error",
    "rawequal" }) end
function leaf.obj(g)
  local result = g:chance(0.3) and g:pick { "0", "1.5", '"s"', "false", "true", "{}" } or "nil"
  return E("O(\"" .. g:fresh "o" .. "\", $, $)", E(g:weighted(hows)), E(result))
end

local compound = {}

function compound.int(g, d)
  return g:weighted {
    { 8, function() return binary(g, g:pick(arithmetic), g:int_expr(d), g:int_expr(d)) end },
    { 5, function() return binary(g, g:pick(bitwise), g:int_expr(d), g:int_expr(d)) end },
    { 2, function() return E("- $", g:value("int", d)) end },
    { 1, function() return E("~ $", g:value("int", d)) end },
    { 1, function() return E("#$", g:operand("str", d)) end },
    { 1, function() return E("#$", g:operand("seq", d)) end },
    { 1, function() return E("math.tointeger($)", g:value("float", d)) end },
    { 1, function() return E("($ and $ or $)", g:value("any", d), g:value("int", d), g:value("int",
        d)) end },
    { 1, function() return E("select(\"#\", $)", g:values(0, 3, d)) end },
    { 1, function() return E("e(\"" .. g:fresh "e" .. "\", $)", g:value("int", d)) end },
    { 1, function() return E("Y($)", g:value("int", d)) end },
    { 1, function() return E("$[$]", g:operand("seq", d), E(g:pick { "1", "2", "#{}+1", "-1",
        "3" })) end },
    { 1, function() return E("math." .. g:pick { "max", "min" } .. "($, $)", g:value("int", d),
        g:value("int", d)) end },
  } ()
end

function compound.float(g, d)
  return g:weighted {
    { 6, function() return binary(g, g:pick(float_arithmetic), g:value("float", d), g:value("float",
        d)) end },
    { 3, function() return binary(g, g:pick(float_arithmetic), g:value("float", d), g:value("int",
        d)) end },
    { 2, function() return binary(g, g:pick { "/", "^" }, g:value("int", d), g:value("int",
        d)) end },
    { 1, function() return E("- $", g:value("float", d)) end },
    { 1, function() return E("math." .. g:pick { "floor", "ceil", "abs", "sqrt", "tointeger" } ..
        "($)", g:value("float", d)) end },
    { 1, function() return E("math.fmod($, $)", g:value("float", d), g:value("float", d)) end },
    { 1, function() return E("tonumber($)", g:value("str", d)) end },
    { 1, function() return binary(g, g:pick(arithmetic), g:value("str", d), g:value("float",
        d)) end },
  } ()
end

local patterns = { '"a"', '"."', '"%w+"', '"(a)(b?)"', '"()"', '"^%s*"', '"%d"', '"[^b]"', '"x*"' }

function compound.str(g, d)
  return g:weighted {
    { 5, function()
      local n = g:chance(0.2) and g:int(4, 8) or 2
      local e = g:value(g:pick { "str", "int", "str", "float" }, d)
      for _ = 2, n do e = binary(g, "..", e, g:value(g:pick { "str", "str", "int", "obj" }, d)) end
      return E("cut($)", e)
    end },
    { 2, function() return E("tostring($)", g:value("any", d)) end },
    { 1, function() return E("$:sub($, $)", g:operand("str", d), g:value("int", d), g:value("int",
        d)) end },
    { 1, function() return E("$:rep($)", g:operand("str", d), E(g:pick { "0", "1", "2", "-1",
        "3" })) end },
    { 1, function() return E("$:" .. g:pick { "upper", "lower", "reverse", "len" } .. "()",
        g:operand("str", d)) end },
    { 1, function() return E("($:gsub($, $))", g:operand("str", d), E(g:pick(patterns)),
        g:chance(0.5) and
      E(g:pick { '"%0%0"', '"<%1>"', '""', '"%%"' }) or g:value(g:pick { "fn", "rec" }, d)) end },
    { 1, function() return E("string.format(\"" .. g:pick { "%d", "%5.1f", "%s", "%q", "%x", "%g",
        "%i", "%c", "%-5s|", "%a" }
      .. "\", $)", g:value(g:pick { "int", "float", "str" }, d)) end },
    { 1, function() return E("type($)", g:value("any", d)) end },
    { 1, function() return E("$.$", g:operand("rec", d), E(g:pick(Literals.field))) end },
  } ()
end

function compound.bool(g, d)
  return g:weighted {
    { 6, function()
      local kind = g:pick { "int", "float", "str", "int" }
      return binary(g, g:pick(comparisons), g:value(kind, d), g:value(g:chance(0.8) and kind or
          "float", d))
    end },
    { 3, function() return binary(g, g:pick { "==", "~=" }, g:value("any", d), g:value("any",
        d)) end },
    { 2, function() return binary(g, g:pick(comparisons), g:value("obj", d), g:value("any",
        d)) end },
    { 2, function() return E("not $", g:value("any", d)) end },
    { 4, function() return binary(g, g:pick { "and", "or" }, g:value("bool", d), g:value("bool",
        d)) end },
    { 1, function() return E("($ and $)", g:value("any", d), g:value("bool", d)) end },
    { 1, function() return E("math.ult($, $)", g:value("int", d), g:value("int", d)) end },
    { 1, function() return E("rawequal($, $)", g:value("any", d), g:value("any", d)) end },
  } ()
end

function compound.rec(g, d)
  local fields = {}
  for i = 1, g:int(0, 5) do
    local value = g:value(g:pick { "int", "float", "str", "bool", "any" }, d)
    if g:chance(0.75) then
      fields[i] = E(g:pick(Literals.field) .. " = $", value)
    else
      fields[i] = E("[" .. g:pick(Literals.key) .. "] = $", value)
    end
  end
  return E("{ $ }", fields)
end

-- Not nil: neither do holes appear, nor does the last value spread.
local function element(g, d)
  return g:chance(0.5) and E(g:pick(Literals.int)) or E("($ or 0)", g:value(g:pick { "int", "str",
      "bool", "float" }, d))
end

function compound.seq(g, d)
  return g:weighted {
    { 4, function() return E("{ $ }", g:times(g:int(0, 6), element, d)) end },
    { 1, function() return E("table.pack($)", g:times(g:int(0, 4), element, d)) end },
    { 1, function() return E("{ string.byte($, 1, 5) }", g:value("str", d)) end },
    { 1, function() return E("table.move({ $ }, 1, 3, 1, {})", g:times(3, element, d)) end },
  } ()
end

function compound.fn(g, d)
  return g:function_expr(d)
end

function compound.obj(g) return leaf.obj(g) end

-- A value of the kind from a variable, or nil.
local function variable(g, kind)
  local v = g:variable(kind)
  return v and E(v.name)
end

-- An expression of (most likely) this kind, at most `d` levels deep.
function Expressions:value(kind, d)
  if kind ~= "any" and self:chance(0.04) then kind = "any" end
  if kind == "any" then
    if self:chance(0.4) then
      local v = variable(self, "any")
      if v then return v end
    end
    local function_ = self:current_function()
    if function_ and function_.vararg and self:chance(0.1) then
      return E(self:pick { "(...)", "(select(-1, ...))", "select(\"#\", ...)" })
    end
    if self:chance(0.12) then return E("nil") end
    if d > 0 and self:chance(0.1) then return self:call_expr(d - 1) end
    if d > 0 and self:chance(0.1) then
      return E("$[$]", self:operand(self:pick { "rec", "obj", "seq", "rec" }, d - 1),
          self:value(self:pick { "str", "any", "int" }, d - 1))
    end
    kind = self:pick(kinds)
  end
  if self:chance(0.4) then
    local v = variable(self, kind)
    if v then return v end
  end
  if d <= 0 or self:chance(0.25) then return leaf[kind](self) end
  return compound[kind](self, d - 1)
end

function Expressions:int_expr(d)
  return self:value(self:chance(0.93) and "int" or self:pick { "float", "str", "obj" }, d)
end

-- The same as a prefix of `.x`, `[k]`, `:m()`, or behind `#`. It stands on one line: which
-- line a call has whose function spans several is different in 5.4.4 (its first) and in
-- 5.4.8 and Saros (that of the arguments).
function Expressions:operand(kind, d)
  local v = variable(self, kind)
  if v and self:chance(0.7) then return v end
  return Tree.line(E("($)", self:value(kind, d)))
end

-- low to high values of any kind, as an array.
function Expressions:values(low, high, d)
  return self:times(self:int(low, high), self.value, "any", d)
end

-- A call of something callable.
function Expressions:call_expr(d)
  local arguments = self:values(0, 3, d)
  local function_ = self:current_function()
  if function_ and function_.vararg and self:chance(0.15) then arguments[#arguments + 1] = E(
      "...") end
  if self:chance(0.1) then
    return E("$:$($)", self:operand(self:pick { "rec", "obj", "str" }, d), E(self:pick { "a", "b",
        "upper", "rep", "x" }), arguments)
  end
  return E("$($)", self:operand(self:chance(0.85) and "fn" or "obj", d), arguments)
end

return Expressions
