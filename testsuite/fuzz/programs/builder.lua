-- SPDX-License-Identifier: MIT
-- What all parts of the generator share: the random source, the names in scope, nodes.
--
-- A variable has a kind, what it most likely holds; the program may well hold something
-- else there. Kinds: int, float, str, bool, fn, seq (a table with the keys 1..#t and
-- nothing else), rec (a table without positive integer keys, so that its length does not
-- depend on the implementation), obj (prelude.lua: answers every operator with a
-- metamethod that logs), any.

local Random = require "random"
local Tree = require "tree"

local Builder = {}
Builder.__index = Builder

function Builder.new(seed)
  return setmetatable({
    random = Random.new(seed),
    variables = {},        -- in scope, the innermost last
    functions = {},        -- those we are in: { vararg, loops }
    count = 0,             -- of names made
    size = 0,              -- statements so far
  }, Builder)
end

Builder.expr = function(_, ...) return Tree.expr(...) end
Builder.stmt = function(_, ...) return Tree.stmt(...) end
Builder.block = function(_, list) return Tree.block(list) end
function Builder:int(low, high) return self.random:int(low, high) end
function Builder:chance(p) return self.random:chance(p) end
function Builder:pick(list) return self.random:pick(list) end
function Builder:weighted(list) return self.random:weighted(list) end

-- ---- Names -------------------------------------------------------------------

function Builder:fresh(prefix)
  self.count = self.count + 1
  return prefix .. self.count
end

-- Declares a variable from here to the end of the scope. `fixed`: not to be assigned.
function Builder:declare(name, kind, fixed)
  self.variables[#self.variables + 1] = { name = name, kind = kind, fixed = fixed }
  return name
end

-- A name for a new variable: mostly a fresh one, at times one that hides another.
function Builder:new_name(prefix)
  local variables = self.variables
  if #variables > 0 and self:chance(0.08) then
    local hidden = self:pick(variables)
    if not hidden.fixed then return hidden.name end
  end
  return self:fresh(prefix)
end

-- Runs `body` in a scope of its own.
function Builder:scoped(body, ...)
  local mark = #self.variables
  local result = body(self, ...)
  for i = #self.variables, mark + 1, -1 do self.variables[i] = nil end
  return result
end

-- Runs `body` as that of a function (vararg or not).
function Builder:within_function(vararg, body, ...)
  self.functions[#self.functions + 1] = { vararg = vararg, loops = 0 }
  local result = self:scoped(body, ...)
  self.functions[#self.functions] = nil
  return result
end

function Builder:current_function()
  return self.functions[#self.functions]
end

-- A visible variable of this kind ("any": of each), or nil. `writable`: to assign to.
function Builder:variable(kind, writable)
  local seen, found = {}, {}
  for i = #self.variables, math.max(1, #self.variables - 60), -1 do
    local v = self.variables[i]
    if not seen[v.name] then
      seen[v.name] = true
      if (kind == "any" or v.kind == kind) and not (writable and v.fixed) then
        found[#found + 1] = v
      end
    end
  end
  if #found == 0 then return nil end
  return self:pick(found)
end

-- n results of calling make(self, ...).
function Builder:times(n, make, ...)
  local list = {}
  for i = 1, n do list[i] = make(self, ...) end
  return list
end

return Builder
