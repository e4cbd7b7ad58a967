-- SPDX-License-Identifier: MIT
-- Makes a program smaller as long as something holds of it (holds(text): two builds
-- still differ). First by its tree: statements go, in halves and one by one; statements
-- give way to the blocks in them, expressions to those in them or to constants. Then
-- by its tokens, which also reaches what the generator wrote as one text.

local Tree = require "tree"

-- Nodes below root with this tag, outermost first.
local function nodes(root, tag)
  local found = {}
  if root.tag == tag then found[1] = root end
  Tree.walk(root, function(_, _, node)
    if node.tag == tag then found[#found + 1] = node end
  end)
  return found
end

-- Removes parts of `node` from `from` on, `n` of them; keeps that when `holds`.
local function without(node, from, n, holds)
  local removed = {}
  for i = 1, n do removed[i] = table.remove(node, from) end
  if holds() then return true end
  for i = 1, n do table.insert(node, from + i - 1, removed[i]) end
  return false
end

-- Removes what can go from an array in runs of falling length.
local function shrink(list, holds)
  local changed = false
  local n = #list
  while n >= 1 do
    local at = #list - n + 1
    while at >= 1 do
      if without(list, at, n, holds) then changed = true end
      at = math.min(at - n, #list - n + 1)
    end
    n = n // 2
  end
  return changed
end

-- Replaces statements by the blocks inside them.
local function unwrap(root, holds)
  local changed = false
  for _, block in ipairs(nodes(root, "block")) do
    for i = #block, 1, -1 do
      local statement = block[i]
      if type(statement) == "table" then
        for _, inner in ipairs(nodes(statement, "block")) do
          block[i] = Tree.stmt("$", { tag = "block", table.unpack(inner) })
          if holds() then changed = true break end
          block[i] = statement
        end
      end
    end
  end
  return changed
end

local constants = { "nil", "1", "{}", '"s"' }

local function simplify(root, holds)
  local changed = false
  local places = {}
  Tree.walk(root, function(parent, index, node)
    if node.tag == "expr" then places[#places + 1] = { parent, index, node } end
  end)
  for _, place in ipairs(places) do
    local parent, index, node = table.unpack(place)
    if parent[index] == node and #Tree.text(node) > 3 then
      local candidates = {}
      for _, text in ipairs(constants) do candidates[#candidates + 1] = Tree.expr(text) end
      for _, inner in ipairs(nodes(node, "expr")) do
        if inner ~= node then candidates[#candidates + 1] = inner end
      end
      for _, candidate in ipairs(candidates) do
        parent[index] = candidate
        if holds() then changed = true break end
        parent[index] = node
      end
    end
  end
  return changed
end

-- ---- Tokens ----------------------------------------------------------------------

local token_patterns = { "^[%a_][%w_]*", "^0[xX][%x%.pP]*", "^%d[%w%.]*", '^"[^"\\\n]*"',
    "^'[^'\\\n]*'", "^%s+", "^%.%.%.", "^[=~<>]=", "^//",
  "^<<", "^>>", "^::", "^%.%." }

local function tokens(text)
  local list, at = {}, 1
  while at <= #text do
    local token
    if text:find('^"', at) then token = text:match('^"[^"\\]*"', at) end
    if not token and text:find('^"', at) then
      local stop = at + 1
      while stop <= #text and text:sub(stop, stop) ~= '"' do
        stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
      end
      token = text:sub(at, stop)
    end
    for _, pattern in ipairs(token_patterns) do
      token = token or text:match(pattern, at)
    end
    token = token or text:sub(at, at)
    list[#list + 1] = token
    at = at + #token
  end
  return list
end

local opening = { ["("] = ")", ["{"] = "}", ["["] = "]", ["do"] = "end", ["function"] = "end",
    ["if"] = "end", ["then"] = "end", ["repeat"] = "until" }

-- Removes both ends of a bracket, or a bracket with all in it.
local function unbracket(list, holds)
  local changed = false
  local i = 1
  while i <= #list do
    local close = opening[list[i]]
    if close then
      for j = i + 1, math.min(#list, i + 400) do
        if list[j] == close then
          local first, last = list[i], list[j]
          list[j], list[i] = " ", " "
          if holds() then changed = true break end
          list[j], list[i] = last, first
          if j - i < 60 and without(list, i, j - i + 1, holds) then changed = true break end
        end
      end
    end
    i = i + 1
  end
  return changed
end

-- Returns the text of a smaller program of which holds(text) is true. It stops when
-- `expired()`.
local function minimise(root, holds, expired)
  local function tree_holds()
    return not expired() and holds(Tree.text(root))
  end
  repeat
    local changed = false
    for _, block in ipairs(nodes(root, "block")) do
      if shrink(block, tree_holds) then changed = true end
    end
    if unwrap(root, tree_holds) then changed = true end
    for _, list in ipairs(nodes(root, "list")) do
      if shrink(list, tree_holds) then changed = true end
    end
    if simplify(root, tree_holds) then changed = true end
  until not changed
  local list = tokens(Tree.text(root))
  local function tokens_hold()
    return not expired() and holds(table.concat(list))
  end
  repeat
    local changed = shrink(list, tokens_hold)
    if unbracket(list, tokens_hold) then changed = true end
  until not changed
  return (table.concat(list):gsub("[ \t]+", " "):gsub("%s*\n%s*", "\n"))
end

return minimise
