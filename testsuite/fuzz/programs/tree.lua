-- SPDX-License-Identifier: MIT
-- The tree of a generated program, its text, and the places where it can shrink.
--
-- A node is { tag = TAG, part, part, ... }; a part is a string or a node. Tags:
--   block   statements, each on lines of its own, one step further in
--   stmt    a statement
--   expr    an expression; it can stand for its parent, and a constant for it
--   line    expressions that are to stand on one line
--   list    expressions or statements without a common meaning: parts can go one by one

local Tree = {}

-- Makes a node of a text in which each `$` stands for the next argument: a node, a
-- string, or an array of these (joined by commas, as a list that can shrink).
local function make(tag, text, ...)
  local node, n = { tag = tag }, 0
  local arguments = { ... }
  local from = 1
  while true do
    local at = text:find("$", from, true)
    if not at then break end
    if at > from then node[#node + 1] = text:sub(from, at - 1) end
    n = n + 1
    local part = arguments[n]
    assert(part ~= nil, text)
    if type(part) == "table" and not part.tag then
      part = Tree.list(part)
    end
    node[#node + 1] = part
    from = at + 1
  end
  if from <= #text then node[#node + 1] = text:sub(from) end
  return node
end

function Tree.expr(text, ...) return make("expr", text, ...) end
function Tree.stmt(text, ...) return make("stmt", text, ...) end

function Tree.line(node) return { tag = "line", node } end

function Tree.block(statements)
  statements.tag = "block"
  return statements
end

function Tree.list(parts)
  parts.tag = "list"
  return parts
end

local function render(node, depth, out)
  if type(node) == "string" then
    out[#out + 1] = depth and node or node:gsub("\n", " ")
  elseif node.tag == "line" then
    for _, part in ipairs(node) do render(part, nil, out) end
  elseif node.tag == "block" and not depth then
    for _, part in ipairs(node) do
      out[#out + 1] = " "
      render(part, nil, out)
    end
    out[#out + 1] = " "
  elseif node.tag == "block" then
    local indent = "\n" .. ("  "):rep(depth)
    for _, part in ipairs(node) do
      out[#out + 1] = indent
      render(part, depth + 1, out)
    end
    out[#out + 1] = "\n" .. ("  "):rep(depth - 1)
  elseif node.tag == "list" then
    if #node == 0 and #out > 0 then out[#out] = out[#out]:gsub(", $", "") end
    for i, part in ipairs(node) do
      if i > 1 then out[#out + 1] = ", " end
      render(part, depth, out)
    end
  else
    for _, part in ipairs(node) do render(part, depth, out) end
  end
end

function Tree.text(root)
  local out = {}
  render(root, 0, out)
  return (table.concat(out):gsub("^%s+", ""))
end

-- Calls visit(parent, index, node) for every node below `root`, parents first.
function Tree.walk(root, visit)
  for i, part in ipairs(root) do
    if type(part) == "table" then
      visit(root, i, part)
      Tree.walk(part, visit)
    end
  end
end

return Tree
