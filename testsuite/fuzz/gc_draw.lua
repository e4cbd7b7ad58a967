-- SPDX-License-Identifier: MIT
-- A generator of random numbers for the programs of gc_program.lua: the same numbers in
-- every interpreter. It is seeded anew for each operation, so that a program of which the
-- end is cut off, or some operations are left out, draws the same for the others.

local draw = {}
local state = 1

function draw.seed(a, b)
  state = (a * 0x9E3779B97F4A7C15 + b * 0xC2B2AE3D27D4EB4F + 0x165667B19E3779F9) | 1
  for _ = 1, 4 do draw.below(2) end
end

-- draw.below(N): 1 to N
function draw.below(n)
  state = state ~ (state << 13)
  state = state ~ (state >> 7)
  state = state ~ (state << 17)
  return ((state * 0x2545F4914F6CDD1D) >> 33) % n + 1
end

function draw.chance(percent) return draw.below(100) <= percent end

function draw.one_of(list) return list[draw.below(#list)] end

-- draw.size(MOST): half of them evenly spread, of the others each power of two is as likely
-- as any other.
function draw.size(most)
  if most < 2 then return 1 end
  if draw.chance(50) then return draw.below(most) end
  local bits = 0
  while (2 << bits) <= most do bits = bits + 1 end
  return math.min(draw.below(2 << draw.below(bits + 1) - 1), most)
end

return draw
