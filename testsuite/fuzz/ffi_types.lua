-- SPDX-License-Identifier: MIT
-- Draws structs, unions and functions that take them, for ffi_program.lua: as text that gcc
-- and module ffi both read, with a list of all that can be read and written in them.

local draw = require "gc_draw"
local types = {}

-- What each text begins with.
types.preamble = [[
enum word { NOTHING, SEVEN = 7, BEHIND = -3 };
enum large { SMALL, LARGE = 0x123456789 };
typedef void (*function)(int);
typedef int low_int __attribute__((aligned(2)));
typedef long low_long __attribute__((aligned(1)));
typedef short high_short __attribute__((aligned(8)));
typedef double high_double __attribute__((aligned(16)));
]]

local function scalar(c, bits, is_high)
  return {c = c, bits = bits, is_high = is_high,
          is_pointer = c == "void *" or c == "function", is_long_double = c == "long double"}
end

local scalars = {
  scalar("bool", 1), scalar("char", 8), scalar("signed char", 8), scalar("unsigned char", 8),
  scalar("short", 16), scalar("unsigned short", 16), scalar("int", 32), scalar("unsigned", 32),
  scalar("long", 64), scalar("unsigned long", 64), scalar("long long", 64), scalar "float",
  scalar "float", scalar "double", scalar "double", scalar "long double", scalar "void *",
  scalar "function", scalar("enum word", 32), scalar("enum large", 64), scalar("low_int", 32),
  scalar("low_long", 64), scalar("high_short", 16, true), scalar("high_double", nil, true),
}
local parameters = {}
local with_bits = {}
for _, s in ipairs(scalars) do
  if s.bits then with_bits[#with_bits + 1] = s end
  if not s.is_high and not s.c:find "low" then parameters[#parameters + 1] = s end
end

-- What is drawn: types.records has the complete ones. A leaf is a scalar with its path; a
-- member has a name and an offset.
local names, leaves, members

local function name()
  names = names + 1
  return "m" .. names
end

local function attributes()
  if draw.chance(80) then return "" end
  local text = draw.one_of {"packed", "aligned(%d)", "aligned(%d), packed"}
  return " __attribute__((" .. text:format(1 << draw.below(5)) .. "))"
end

local function add_leaf(path, s, bits)
  leaves[#leaves + 1] = {path = path, scalar = s, bits = bits}
end

-- An array, or nothing: its text and the paths of its elements
local function dimensions()
  if draw.chance(80) then return "", {""} end
  local n = draw.below(4) - 1
  local text, paths = ("[%d]"):format(n), {}
  local inner = draw.chance(30) and draw.below(2)
  for i = 0, n - 1 do
    if not inner then paths[#paths + 1] = ("[%d]"):format(i) end
    for j = 0, (inner or 0) - 1 do paths[#paths + 1] = ("[%d][%d]"):format(i, j) end
  end
  return inner and text .. ("[%d]"):format(inner) or text, paths
end

local function draw_scalar(prefix)
  local s, m = draw.one_of(scalars), name()
  local text, paths = "", {""}
  if not s.is_high then text, paths = dimensions() end
  for _, path in ipairs(paths) do add_leaf(prefix .. m .. path, s) end
  members[#members + 1] = prefix .. m
  local alignas = draw.chance(95) and "" or ("_Alignas(%d) "):format(8 << draw.below(2))
  return alignas .. s.c .. " " .. m .. text .. attributes() .. ";"
end

local function draw_bits(prefix)
  local s, m = draw.one_of(with_bits), name()
  local kind = draw.below(10)
  if kind == 1 then return s.c .. " : 0;" end
  local width = draw.below(draw.chance(60) and math.min(s.bits, 8) or s.bits)
  if kind == 2 then return ("%s : %d;"):format(s.c, width) end
  add_leaf(prefix .. m, s, width)
  return ("%s %s : %d%s;"):format(s.c, m, width, attributes())
end

local function draw_known(prefix)
  local r = #types.records > 0 and draw.one_of(types.records)
  if not r or r.is_flexible then return draw_scalar(prefix) end
  local m = name()
  local text, paths = "", {""}
  if not r.is_high then text, paths = dimensions() end
  for _, path in ipairs(paths) do
    for _, leaf in ipairs(r.leaves) do
      add_leaf(prefix .. m .. path .. "." .. leaf.path, leaf.scalar, leaf.bits)
    end
  end
  members[#members + 1] = prefix .. m
  return r.c .. " " .. m .. text .. attributes() .. ";"
end

local draw_body

local function draw_inner(prefix, depth)
  local m = draw.chance(50) and name() or nil
  local inner = m and prefix .. m .. "." or prefix
  local word = draw.one_of {"struct", "union"}
  local before = attributes()
  return word .. before .. " " .. draw_body(inner, depth + 1) .. (m and " " .. m or "") .. ";"
end

local function draw_member(prefix, depth)
  local kind = draw.below(20)
  if kind <= 10 then return draw_scalar(prefix) end
  if kind <= 15 then return draw_bits(prefix) end
  if kind <= 18 or depth >= 2 then return draw_known(prefix) end
  return draw_inner(prefix, depth)
end

function draw_body(prefix, depth)
  local lines = {}
  for i = 1, draw.chance(85) and draw.below(3) or draw.below(9) - 1 do
    lines[i] = draw_member(prefix, depth)
  end
  return "{ " .. table.concat(lines, " ") .. " }"
end

-- The record number n; it is one of types.records when its text is accepted.
function types.draw_record(n)
  names, leaves, members = 0, {}, {}
  local r = {n = n, leaves = leaves, members = members}
  local word = draw.chance(80) and "struct" or "union"
  r.c = word .. " record" .. n
  local pack = draw.chance(85) and 0 or 1 << draw.below(5) - 1
  local body = draw_body("", 0)
  local tail = attributes()
  if word == "struct" and #members > 0 and draw.chance(4) then
    r.is_flexible = true
    body = body:gsub("}$", "int flexible[]; }")
    members[#members + 1] = "flexible"
  end
  r.is_high = true -- an array of it may be refused by gcc
  if not (body .. tail):find "align" and not body:find "high" then r.is_high = false end
  r.text = ("%s %s%s;\n"):format(r.c, body, tail)
  if pack > 0 then
    r.text = ("#pragma pack(push, %d)\n%s#pragma pack(pop)\n"):format(pack, r.text)
  end
  return r
end

-- A value: an integer that each of the types holds exactly, but for the narrower integers
function types.draw_value(s)
  if s.bits == 1 then return draw.below(2) - 1 end
  if s.bits or s.is_pointer then return draw.below(1 << 31) * draw.below(1 << 30) end
  return draw.below(1 << 20) - (1 << 19)
end

local function draw_parameter()
  if draw.chance(30) then
    return {record = draw.one_of(types.records), seed = draw.below(1 << 20)}
  end
  local s = draw.one_of(parameters)
  return {scalar = s, value = types.draw_value(s)}
end

-- A function that has the record among its parameters
function types.draw_function(r)
  local f = {record = r, parameters = {}, more = {}}
  for i = 1, draw.chance(80) and draw.below(5) or draw.below(20) do
    f.parameters[i] = draw_parameter()
  end
  f.parameters[draw.below(#f.parameters)] = {record = r, seed = draw.below(1 << 20)}
  f.result = draw_parameter()
  return f
end

-- Arguments of a variadic part: Lua's values, by the type that C has them in
function types.draw_more()
  local more = {}
  for i = 1, draw.below(10) do
    local c = draw.one_of {"long", "double", "void *"}
    more[i] = {scalar = scalar(c), value = draw.below(1 << 20)}
  end
  return more
end

function types.begin(seed)
  draw.seed(seed, 0)
  types.records = {}
end

return types
