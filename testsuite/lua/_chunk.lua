-- SPDX-License-Identifier: MIT
-- Binary chunks made by hand (the format: top of vm/chunk.c), for what the compiler never
-- makes. Names and formats of the instructions are read from vm/opcodes.def.
--
--   local chunk = require "_chunk"
--   local op = chunk.op
--   chunk.load {stack = 2, params = 1, code = {op.LOADI(1, -7), op.NEWTABLE(1, 0, 0), 5 --[[aux]]}}
local chunk = {op = {}, number = {}}

local place = {
  ABC = function(a, b, c) return a << 8 | (b or 0) << 16 | (c or 0) << 24 end,
  ABx = function(a, bx) return a << 8 | (bx or 0) << 16 end,
  AsBx = function(a, sbx) return a << 8 | (sbx & 0xffff) << 16 end,
  sJ = function(sj) return (sj & 0xffffff) << 8 end,
}

local function read_instructions()
  local number = 0
  for line in io.lines(os.getenv "SRCDIR" .. "/vm/opcodes.def") do
    local name, format = line:match "^OP%((%w+), (%w+)"
    if not name then name, format = line:match "^QUICK%((%w+), %w+, (%w+)" end
    if not name then
      local base, next, its_format = line:match "^FUSED%((%w+), (%w+), (%w+)"
      if base then name, format = base .. "_" .. next, its_format end
    end
    if name then
      local this, fields = number, place[format]
      chunk.op[name] = function(...) return this | fields(...) end
      chunk.number[name] = this
      number = number + 1
    end
  end
end
read_instructions()

local function count(n)
  local bytes = {}
  repeat
    bytes[#bytes + 1] = string.char(n & 0x7f | (n > 0x7f and 0x80 or 0))
    n = n >> 7
  until n == 0
  return table.concat(bytes)
end

local function text(s) return s and count(#s + 1) .. s or count(0) end

local function list(items, write)
  local out = {count(#items)}
  for i, item in ipairs(items) do out[i + 1] = write(item) end
  return table.concat(out)
end

local function constant(k)
  if type(k) == "string" then return "\4" .. text(k) end
  if math.type(k) == "integer" then return "\3" .. string.pack("=j", k) end
  if math.type(k) == "float" then return "\x13" .. string.pack("=n", k) end
  return k and "\x11" or "\1"
end

local function names(f)
  if not f.locals then return "\0" end
  local out = {"\1" .. text(f.name), list(f.lines or {}, count)}
  out[3] = list(f.locals, function(l) return text(l[1]) .. count(l[2]) .. count(l[3]) end)
  return table.concat(out) .. text(nil):rep(#(f.upvalues or {}))
end

-- The body of a function: stack (registers), code (words), and if there are any params,
-- vararg, constants, upvalues ({in_stack, index}), functions, locals ({name, start,
-- length}).
local function body(f)
  return text(nil) .. count(0) .. count(0) ..
    string.char(f.params or 0, f.vararg and 1 or 0, f.stack) ..
    list(f.code, function(word) return string.pack("=I4", word) end) ..
    list(f.constants or {}, constant) ..
    list(f.upvalues or {}, function(u) return string.char(u[1], u[2], 0) end) ..
    list(f.functions or {}, body) .. names(f)
end

local header = string.dump(function() end):sub(1, 35)

function chunk.dump(f) return header .. string.char(#(f.upvalues or {})) .. body(f) end

function chunk.load(f, ...) return load(chunk.dump(f), "=chunk", "b", ...) end

-- f is refused, for this reason.
function chunk.refused(f, reason)
  local loaded, message = chunk.load(f)
  assert(not loaded, "accepted: " .. reason)
  assert(message == "chunk: bad binary format (" .. reason .. ")", message)
end

return chunk
