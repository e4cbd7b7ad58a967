-- SPDX-License-Identifier: MIT
-- Blocks with a stack of their own: deep(level, bits) makes a table below `level` calls, each
-- in one of two lines. `bits_of` reads from a stack which ones, so what `bits` was.
local function deep(level, bits)
  if level == 0 then return {bits} end
  local t
  if bits & 1 == 0 then t = deep(level - 1, bits >> 1)
  else t = deep(level - 1, bits >> 1)
  end
  return t
end
local first = debug.getinfo(deep, "S").linedefined

local function is_here(frame) return frame.source:find "_deep%.lua$" end

-- nil: another function made the block.
local function bits_of(stack, levels)
  if not is_here(stack[1]) or stack[1].line ~= first + 1 then return end
  local bits = 0
  for level = 1, levels do
    local line = stack[level + 1].line - first
    assert(is_here(stack[level + 1]) and (line == 3 or line == 4), "another stack")
    bits = bits | (line - 3) << levels - level
  end
  return bits
end

return {deep = deep, bits_of = bits_of}
