-- SPDX-License-Identifier: MIT
-- A generator of random numbers that is the same in every implementation of Lua 5.4:
-- splitmix64. A seed gives the same program for ever, whoever runs the generator.

local Random = {}
Random.__index = Random

function Random.new(seed)
  return setmetatable({ state = seed * 0x2545F4914F6CDD1D ~ 0x5DEECE66D }, Random)
end

function Random:bits()
  self.state = self.state + 0x9E3779B97F4A7C15
  local z = self.state
  z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
  z = (z ~ (z >> 27)) * 0x94D049BB133111EB
  return z ~ (z >> 31)
end

-- An integer from `low` to `high`.
function Random:int(low, high)
  return low + (self:bits() >> 1) % (high - low + 1)
end

-- True with probability p.
function Random:chance(p)
  return (self:bits() >> 11) * 0x1p-53 < p
end

function Random:pick(list)
  return list[self:int(1, #list)]
end

-- `list` holds { weight, value } pairs.
function Random:weighted(list)
  local total = 0
  for _, entry in ipairs(list) do total = total + entry[1] end
  local at = self:int(1, total)
  for _, entry in ipairs(list) do
    at = at - entry[1]
    if at <= 0 then return entry[2] end
  end
end

return Random
