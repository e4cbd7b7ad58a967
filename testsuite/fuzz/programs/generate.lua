-- SPDX-License-Identifier: MIT
-- A random program that ends and logs what it does: generate(seed) returns its tree and
-- the mode to run it in (driver.lua). The same seed gives the same program.
-- generate(seed, true): one to be watched. It sets no hooks, and what it consists of runs
-- code in more ways.
--
-- A program is a row of pieces: units, each about one matter, and free pieces made of
-- random statements. New units: a function in a units_*.lua file, and a weight here.

local Builder = require "builder"
local Tree = require "tree"

for _, file in ipairs { "expressions", "statements" } do
  for name, method in pairs(require(file)) do Builder[name] = method end
end

local units = {}
for _, file in ipairs { "units_values", "units_objects", "units_control", "units_code",
    "units_watched" } do
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

local watched_weights = {
  { 20, "loops" }, { 12, "nested_closing" }, { 4, "sources" }, { 14, "calls_of" },
  { 4, "finalized" },
  { 2, "site" }, { 2, "site_in_loop" }, { 1, "for_bounds" }, { 2, "shapes" }, { 6, "metamethods" },
  { 2, "classes" }, { 2, "proxies" }, { 1, "arrays" }, { 2, "sorting" }, { 3, "finalizers" },
  { 3, "closures" }, { 3, "gotos" }, { 4, "varargs" }, { 1, "order" }, { 8, "closing" },
  { 8, "coroutines" }, { 4, "errors" }, { 4, "calls" }, { 1, "large" }, { 1, "dumping" },
  { 3, "debugging" }, { 1, "loading" }, { 20, "free" },
}
local watched_modes = { { 6, "plain" }, { 2, "dump" }, { 1, "strip" }, { 4, "coroutine" } }

local function generate(seed, watched, wanted_mode)
  local g = Builder.new(seed)
  g.watched = watched           -- no hooks
  local weights = watched and watched_weights or weights
  local mode = g:weighted(watched and watched_modes or modes)
  mode = wanted_mode or mode
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
