-- SPDX-License-Identifier: MIT
-- Strings of which the content follows from length and salt, made in many ways.
-- A specification is the string "LENGTH,SALT".

local draw = require "gc_draw"
local text = {}

local function piece(salt) return ("%d:abcdefghijklmnopqrstuvw;"):format(salt) end

-- The plain way.
local function content(length, salt)
  local unit = piece(salt)
  return unit:rep(length // #unit + 1):sub(1, length)
end

local ways = {
  content,
  function(length, salt)
    local middle = length // 3
    local all = content(length, salt)
    return all:sub(1, middle) .. all:sub(middle + 1)
  end,
  function(length, salt)
    local unit, parts = piece(salt), {}
    for i = 1, math.min(length // #unit, 2000) do parts[i] = unit end
    local made = table.concat(parts)
    return made .. content(length, salt):sub(#made + 1)
  end,
  function(length, salt)
    local unit = piece(salt)
    local made = ("@"):rep(length // #unit):gsub("@", unit)
    return made .. unit:sub(1, length - #made)
  end,
  function(length, salt)
    local all = content(length, salt)
    return ("%s%s"):format(all:sub(1, length // 2), all:sub(length // 2 + 1))
  end,
  function(length, salt) return content(length, salt):reverse():reverse() end,
  function(length, salt) return (content(length, salt):upper():lower()) end,
}

function text.draw_specification(most)
  return ("%d,%d"):format(draw.size(most) - 1, draw.below(9000000))
end

local function parse(specification)
  local length, salt = specification:match("^(%d+),(%d+)$")
  return length + 0, salt + 0
end

function text.make(specification)
  return draw.one_of(ways)(parse(specification))
end

-- Small strings are compared as wholes, of large ones both ends and some bytes between.
function text.is(value, specification)
  local length, salt = parse(specification)
  if type(value) ~= "string" or #value ~= length then return false end
  if length < 2000 then return value == content(length, salt) end
  local unit = piece(salt)
  for i = 0, 40 do
    local at = i * (length - 1) // 40
    if value:byte(at + 1) ~= unit:byte(at % #unit + 1) then return false end
  end
  return true
end

return text
