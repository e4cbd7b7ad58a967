-- SPDX-License-Identifier: MIT
-- Random statements and functions. Loops are bounded by their form; a function uses up
-- fuel (T) when it is entered, and so does every loop that goes back by a condition.

local Literals = require "literals"
local Tree = require "tree"
local E, S, B = Tree.expr, Tree.stmt, Tree.block

local Statements = {}

local MAX_SIZE = 120          -- statements of a program, roughly
local value_kinds = { "int", "int", "float", "str", "bool", "rec", "seq", "fn", "obj", "any" }

-- ---- Functions -----------------------------------------------------------------

-- The body of a function: fuel, statements, a return.
function Statements:body(d, n)
  local list = { S("T()") }
  for _, s in ipairs(self:statements(n or self:int(1, 4), d)) do list[#list + 1] = s end
  if self:chance(0.75) then list[#list + 1] = self:return_statement(d) end
  return B(list)
end

function Statements:return_statement(d)
  return self:weighted {
    { 4, function() return S("return $", self:value("any", d)) end },
    { 2, function() return S("return $", self:values(0, 4, d)) end },
    { 3, function() return S("return $", self:call_expr(d)) end },     -- a tail call
    { 1, function() return S("return ($)", self:call_expr(d)) end },
    { 1, function()
      return S(self:current_function().vararg and "return ..." or "return")
    end },
    { 1, function()
      return S(self:current_function().vararg and "return $, ..." or "return $", self:value("any",
          d))
    end },
  } ()
end

-- Parameters and body of a function: "(a, b, ...) BODY end".
function Statements:function_rest(d, n)
  local vararg = self:chance(0.3)
  return self:within_function(vararg, function()
    local names = {}
    for i = 1, self:int(0, 3) do names[i] = self:declare(self:fresh "p", self:pick(value_kinds)) end
    if vararg then names[#names + 1] = "..." end
    return E("(" .. table.concat(names, ", ") .. ")$end", self:body(d, n))
  end)
end

function Statements:function_expr(d)
  if self.size > MAX_SIZE then return E("function(...) return ... end") end
  return E("function$", self:function_rest(math.min(d, 2), self:int(1, 2)))
end

-- ---- Statements ------------------------------------------------------------------

local make = {}

function make:local_variable(d)
  local kind = self:pick(value_kinds)
  local value = self:value(kind, d)
  local name = self:new_name "v"
  local attribute = self:chance(0.08) and " <const>" or ""
  self:declare(name, kind, attribute ~= "")
  return S("local " .. name .. attribute .. " = $", value)
end

function make:local_variables(d)
  local values = self:values(0, 4, d)
  if self:chance(0.3) then values[#values + 1] = self:call_expr(d) end
  local names = {}
  for i = 1, self:int(2, 4) do names[i] = self:declare(self:fresh "v", "any") end
  if #values == 0 then return S("local " .. table.concat(names, ", ")) end
  return S("local " .. table.concat(names, ", ") .. " = $", values)
end

function make:assignment(d)
  local v = self:variable("any", true)
  if not v then return make.local_variable(self, d) end
  local kind = self:chance(0.85) and v.kind or "any"
  return S(v.name .. " = $", self:value(kind, d))
end

-- A place to assign to.
local function target(self, d)
  return self:weighted {
    { 3, function()
      local v = self:variable("any", true)
      return E(v and v.name or "global" .. self:int(1, 4))
    end },
    { 2, function() return E("$.$", self:operand("rec", d), E(self:pick(Literals.field))) end },
    { 2, function() return E("$[$]", self:operand("rec", d), E(self:pick(Literals.key))) end },
    { 2, function()
      return E("$[e(\"" .. self:fresh "k" .. "\", $)]", self:operand("obj", d), self:value("any",
          d))
    end },
    { 1, function() return E("e(\"" .. self:fresh "t" .. "\", $).$", self:operand("rec", d),
        E(self:pick(Literals.field))) end },
    { 1, function() return E("global" .. self:int(1, 4)) end },
  } ()
end

-- ; keeps a target in parentheses from being taken for a call.
function make:assignments(d)
  local targets = self:times(self:int(1, 3), target, d)
  local values = self:values(1, 4, d)
  if self:chance(0.25) then values[#values + 1] = self:call_expr(d) end
  return S("; $ = $", targets, values)
end

function make:log(d)
  return S("L($)", self:values(1, 4, d))
end

function make:dump()
  local v = self:variable(self:pick { "rec", "seq" })
  return S("D(" .. (v and v.name or "_G.global1") .. ")")
end

function make:conditional(d)
  local parts = { S("if $ then$", self:value(self:pick { "bool", "bool", "any" }, d),
      self:nested(d)) }
  while self:chance(0.25) do
    parts[#parts + 1] = S("elseif $ then$", self:value("bool", d), self:nested(d))
  end
  if self:chance(0.4) then parts[#parts + 1] = S("else$", self:nested(d)) end
  parts[#parts + 1] = "end"
  parts.tag = "stmt"
  return parts
end

-- The body of a loop, with `break` and `goto continue` in it. `extra`: statements first.
local function loop_body(self, d, extra)
  local function_ = self:current_function()
  return self:scoped(function()
    local list = extra or {}
    local first = #list + 1     -- `extra` counts the rounds; nothing may jump over it
    function_.loops = function_.loops + 1
    local label = not self.lines and self:chance(0.3) and self:fresh "continue" or nil
    for _, s in ipairs(self:statements(self:int(1, 3), d)) do list[#list + 1] = s end
    if label then
      list = { S("do$end", B(list)) }
      table.insert(list[1][2], self:int(math.min(first, #list[1][2]), #list[1][2]),
          S("if $ then goto " .. label .. " end", self:value("bool", 1)))
      list[#list + 1] = "::" .. label .. "::"
    end
    if self:chance(0.25) then
      table.insert(list, label and 1 or self:int(1, #list + 1), S("if $ then break end",
          self:value("bool", 1)))
    end
    function_.loops = function_.loops - 1
    return B(list)
  end)
end

local ranges = { "1, 3", "3, 1, -1", "1, 2", "0, 1, 0.5", "1, 0", "1.0, 3", "-2, 2, 2",
    "math.maxinteger - 1, math.maxinteger",
  "math.mininteger + 1, math.mininteger, -1", "1, 2.9", "3, 0.1, -1", '1, 2', "2, 2",
      "1, math.huge, 0x3fffffffffffffff" }

function make:numeric_for(d)
  local i = self:fresh "i"
  local range = self:chance(0.8) and E(self:pick(ranges)) or
    E("$, $", E(self:pick(Literals.small)), E(self:pick { "2", "3", "4", "2.5" }))
  return self:scoped(function()
    self:declare(i, "int")
    return S("for " .. i .. " = $ do$end", range, loop_body(self, d, { S("T()") }))
  end)
end

function make:generic_for(d)
  return self:scoped(function()
    local k, v = self:fresh "k", self:fresh "v"
    local iterator = self:weighted {
      { 3, function() return E("ipairs($)", self:value("seq", d)) end },
      { 2, function() return E("pairs($)", self:value("obj", d)) end },
      { 1, function() return E("string.gmatch($, \".\")", self:value("str", d)) end },
      { 2, function()
        return E("coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i, $) end end)",
            self:value("any", d))
      end },
      { 2, function()
        return E(
            "function(s, c) T() c = (c or 0) + 1 if c <= 3 then return c, $ end end, $, nil, $",
          self:value("any", d), self:value("any", d), E(self:pick { "nil", 'C("for")',
              'C("for", "yield")', 'C("for", "error")' }))
      end },
      { 1, function() return self:value("any", d) end },
    } ()
    self:declare(k, "any")
    self:declare(v, "any")
    return S("for " .. k .. ", " .. v .. " in $ do$end", iterator, loop_body(self, d, { S("T()") }))
  end)
end

-- The order of pairs is the implementation's own: its keys are logged sorted.
function make:pairs_for(d)
  return self:scoped(function()
    local keys, k, v = self:fresh "keys", self:fresh "k", self:fresh "v"
    return S("do local " .. keys .. " = {} for " .. k .. ", " .. v .. " in pairs($) do T() " ..
        keys .. "[#" .. keys ..
      " + 1] = type(" .. k .. ") == \"table\" and 0 or tostring(" .. k .. ") $ end table.sort(" ..
          keys ..
      ", function(a, b) return tostring(a) < tostring(b) end) L(table.concat(" .. keys ..
          ", \" \")) end",
      self:value(self:pick { "rec", "seq" }, d), E(self:pick { "", "S()" }))
  end)
end

function make:while_loop(d)
  local n = self:fresh "n"
  local condition = self:chance(0.5) and E(n .. " < 3") or E(n .. " < 4 and $", self:value("bool",
      d))
  return S("do local " .. n .. " = 0 while $ do$end end", condition,
    loop_body(self, d, { S("T() " .. n .. " = " .. n .. " + 1") }))
end

function make:repeat_loop(d)
  local n = self:fresh "n"
  return self:scoped(function()
    local body = loop_body(self, d, { S("T() " .. n .. " = " .. n .. " + 1") })
    -- A local of the body in the condition, unless a `continue` would jump into its scope.
    local ending = n .. " >= 3"
    if type(body[#body]) ~= "string" then
      body[#body + 1] = S("local done = $ local look = function() return done end",
          self:value("bool", 1))
      ending = ending .. " or look()"
    end
    return S("do local " .. n .. " = 0 repeat$until " .. ending .. " end", body)
  end)
end

function make:goto_loop(d)
  if self.lines then return make.while_loop(self, d) end
  local n, label = self:fresh "n", self:fresh "again"
  return S("do local " .. n .. " = 0 ::" .. label .. ":: do$end T() " .. n .. " = " .. n ..
      " + 1 if " .. n ..
    " < 3 then goto " .. label .. " end end", self:nested(d))
end

function make:do_block(d)
  return S("do$end", self:nested(d))
end

function make:local_function(d)
  local name = self:fresh "f"
  self:declare(name, "fn")
  return S("local function " .. name .. "$", self:function_rest(d))
end

function make:method(d)
  local rec = self:variable("rec")
  if not rec then return make.local_function(self, d) end
  return self:within_function(false, function()
    self:declare("self", "rec")
    local p = self:declare(self:fresh "p", "any")
    return S("function " .. rec.name .. ":" .. self:pick(Literals.field) .. "(" .. p .. ")$end",
        self:body(d, 2))
  end)
end

function make:call(d)
  return S("L($)", self:call_expr(d))
end

function make:call_alone(d)
  return S("; $", self:call_expr(d))
end

function make:try(d)
  return S("L(pcall(function$, $))", self:function_rest(d), self:values(0, 2, d))
end

function make:try_handled(d)
  return S("L(xpcall(function$, function(m) L(\"handler\", m) $ return m end, $))",
      self:function_rest(d),
    E(self:pick { "", "", "S()", "Y(1)", "m = { m }" }), self:values(0, 2, d))
end

function make:coroutine(d)
  return S("drive(coroutine.create(function$), $)", self:function_rest(d), self:values(0, 2, d))
end

function make:wrapped(d)
  local name = self:fresh "w"
  local statement = S("local " .. name .. " = coroutine.wrap(function$)", self:function_rest(d))
  self:declare(name, "fn")
  return statement
end

function make:closer()
  local name = self:fresh "c"
  self:declare(name, "any", true)
  return S("local " .. name .. " <close> = $", E(self:pick { 'C("' .. name .. '")', 'C("' .. name ..
      '")',
    'C("' .. name .. '", "yield")', 'C("' .. name .. '", "error")', "nil", "false", 'O("' .. name ..
        '")', "42" }))
end

function make:sequence_change(d)
  local v = self:variable("seq")
  if not v then return make.local_variable(self, d) end
  local name = v.name
  return S(self:pick { name .. "[#" .. name .. " + 1] = $ or 1", "table.insert(" .. name ..
      ", $ or 2)",
    "table.insert(" .. name .. ", 1, $ or 3)", "L(table.remove(" .. name .. "), $)",
        "L(table.remove(" .. name .. ", 1), $)",
    "L(table.concat(" .. name .. ", \",\"), $)", "L(table.unpack(" .. name .. ", 1, 3), $)", name ..
        "[#" .. name .. "] = nil L($)",
    "L(#" .. name .. ", $)" }, self:value("any", d))
end

function make:record_change(d)
  local v = self:variable("rec")
  if not v then return make.local_variable(self, d) end
  local field = self:pick(Literals.field)
  return S(self:pick { v.name .. "." .. field .. " = $", v.name .. "." .. field .. " = nil L($)",
    "rawset(" .. v.name .. ", \"" .. field .. "\", $)", "setmetatable(" .. v.name ..
        ", { __index = $ })",
    "setmetatable(" .. v.name .. ", { __newindex = $ })", "setmetatable(" .. v.name ..
        ", nil) L($)" }, self:value("any", d))
end

function make:collection() return S(self:pick { "S()", "S()", "S()", "G()",
    'collectgarbage("step", 100)' }) end

function make:error(d)
  return S("if $ then error($) end", self:value("bool", d),
    self:pick { { self:value("any", d) }, { self:value("str", d), E(self:pick { "0", "1", "2",
        "3" }) } })
end

function make:yielding(d)
  return S(self:pick { "L(Y($))", "L(coroutine.yield($))", "L(coroutine.isyieldable(), $)" },
      self:value("any", d))
end

local weights = {
  { 12, "local_variable" }, { 4, "local_variables" }, { 10, "assignment" }, { 5, "assignments" },
      { 8, "log" },
  { 2, "dump" }, { 5, "conditional" }, { 4, "numeric_for" }, { 3, "generic_for" }, { 1,
      "pairs_for" },
  { 3, "while_loop" }, { 3, "repeat_loop" }, { 2, "goto_loop" }, { 2, "do_block" }, { 5,
      "local_function" },
  { 2, "method" }, { 6, "call" }, { 2, "call_alone" }, { 5, "try" }, { 1, "try_handled" }, { 3,
      "coroutine" },
  { 1, "wrapped" }, { 3, "closer" }, { 3, "sequence_change" }, { 3, "record_change" }, { 2,
      "collection" },
  { 2, "error" }, { 3, "yielding" },
}
local nesting = { conditional = true, numeric_for = true, generic_for = true, while_loop = true,
    repeat_loop = true,
  goto_loop = true, do_block = true, local_function = true, method = true, try = true,
      try_handled = true,
  coroutine = true, wrapped = true }
local flat = {}
for _, entry in ipairs(weights) do
  if not nesting[entry[2]] then flat[#flat + 1] = entry end
end

function Statements:statement(d)
  self.size = self.size + 1
  local nest = d > 0 and self.size < MAX_SIZE
  local name = self:weighted(nest and weights or flat)
  return make[name](self, nesting[name] and d - 1 or math.max(1, math.min(d, 3)))
end

function Statements:statements(n, d)
  local list = {}
  for i = 1, n do list[i] = self:statement(d) end
  return list
end

-- A block in a scope of its own.
function Statements:nested(d)
  return self:scoped(function() return B(self:statements(self:int(1, 3), d)) end)
end

-- A piece that may fail, as one statement of the program.
function Statements:piece()
  return make[self:weighted { { 5, "try" }, { 2, "coroutine" }, { 1, "try_handled" } }](self, 3)
end

return Statements
