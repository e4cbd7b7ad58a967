-- SPDX-License-Identifier: MIT
-- A random program that ends and logs what it does: generate(seed) returns its tree and
-- the mode to run it in (driver.lua). The same seed gives the same program.
--
-- A program is a row of pieces: units, each about one matter, and free pieces made of
-- random statements. New units: a function in a units_*.lua file, and a weight here.

local Builder = require "builder"
local Tree = require "tree"

for _, file in ipairs { "expressions", "statements" } do
  for name, method in pairs(require(file)) do Builder[name] = method end
end

local units = {}
for _, file in ipairs { "units_values", "units_objects", "units_control", "units_code" } do
  for name, unit in pairs(require(file)) do units[name] = unit end
end

local weights = {
  { 8, "site" }, { 5, "site_in_loop" }, { 2, "folding" }, { 2, "constant_operand" }, { 2,
      "comparisons" },
  { 3, "for_bounds" }, { 3, "library" },
  { 6, "shapes" }, { 2, "globals" }, { 6, "metamethods" }, { 2, "classes" }, { 3, "proxies" }, { 3,
      "arrays" },
  { 1, "sorting" }, { 1, "finalizers" },
  { 4, "closures" }, { 3, "gotos" }, { 5, "varargs" }, { 3, "order" }, { 6, "closing" }, { 6,
      "coroutines" },
  { 4, "errors" }, { 2, "calls" },
  { 2, "large" }, { 2, "dumping" }, { 2, "syntax" }, { 3, "debugging" }, { 1, "loading" },
  { 25, "free" },
}

local modes = { { 6, "plain" }, { 2, "dump" }, { 1, "strip" }, { 3, "coroutine" }, { 3, "steps" },
    { 2, "lines" } }

local function generate(seed)
  local g = Builder.new(seed)
  local mode = g:weighted(modes)
  g.lines = mode == "lines"     -- no goto: a jump to a jump has no line of its own (doc/LUA.md)
  local list = Tree.block {}
  g:within_function(true, function()
    for _ = 1, g:int(2, 5) do
      local name = g:weighted(weights)
      if name == "free" then
        for _ = 1, g:int(0, 2) do list[#list + 1] = g:statement(0) end
        list[#list + 1] = g:piece()
      else
        for _, statement in ipairs(units[name](g)) do list[#list + 1] = statement end
      end
    end
  end)
  return list, mode
end

return generate
