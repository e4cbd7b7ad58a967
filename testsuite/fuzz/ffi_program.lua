-- SPDX-License-Identifier: MIT
-- Compares module ffi with the C compiler: random structs and unions, their layout, each
-- member read and written, and all of them as arguments, results and in callbacks.
--
--   saros ffi_program.lua SEED [RECORDS [COMPILER]]
--
-- writes program.c and program.so into the current directory. What differs is printed, with
-- the declaration; status 1.

package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local types = require "ffi_types"
local source = require "ffi_source"
local ffi = require "saros.ffi"

local seed = math.tointeger(tonumber(arg[1]))
if not seed then error("usage: saros ffi_program.lua SEED [RECORDS [COMPILER]]", 0) end
local count = math.tointeger(tonumber(arg[2])) or 60
local compiler = arg[3] or "gcc"

local failures, checks = 0, 0

-- A declaration, behind those of all records that it names
local function whole_text(text, seen)
  local parts = {}
  for n in text:gmatch "record(%d+)" do
    local r = types.records[tonumber(n)]
    if not seen[r] then
      seen[r] = true
      parts[#parts + 1] = r.text == text and "" or whole_text(r.text, seen)
    end
  end
  return table.concat(parts) .. text
end

local function check(condition, r, what, ...)
  checks = checks + 1
  if condition then return end
  failures = failures + 1
  print(("FAILED: seed %d: %s in\n%s"):format(seed, what:format(...), whole_text(r.text, {})))
end

-- ---- the library ------------------------------------------------------------

-- The functions follow all records: their structs may be any.
local function compile(records, functions)
  local out = assert(io.open("program.c", "w"))
  out:write(source.head:format(types.preamble))
  for _, r in ipairs(records) do out:write(source.record(r)) end
  out:write(source.tables(#records))
  for _, f in ipairs(functions) do out:write(source.functions(f)) end
  out:close()
  local command = compiler .. " -std=gnu11 -O1 -w -Wno-psabi -fno-strict-aliasing -fPIC -shared " ..
    "program.c -o program.so"
  if not os.execute(command) then error("seed " .. seed .. ": does not compile: " .. command) end
  return ffi.load "./program.so"
end

ffi.cdef(types.preamble .. [[
extern unsigned char got[65536];
extern int got_size;
void mask_copy(int record, void *to, const void *from);
]])

local function declare(r)
  local ok, message = pcall(ffi.cdef, r.text)
  check(ok, r, "%s is refused (%s)", r.c, message)
  if not ok then return end
  local n = r.n
  local functions = "extern long layout_N[]; void put_N(TYPE *p, int k, int64_t v);" ..
    "int64_t get_N(TYPE *p, int k); void fill_N(TYPE *p, unsigned seed);"
  ffi.cdef((functions:gsub("N", n):gsub("TYPE", r.c)))
  r.is_declared = true
end

-- ---- layout and members -----------------------------------------------------

local function check_layout(r, lib)
  local layout = lib["layout_" .. r.n]
  r.size, r.align = layout[0], layout[1]
  local size = ffi.sizeof(r.c, r.is_flexible and 0 or nil)
  check(size == r.size, r, "size of %s: %d, should be %d", r.c, size, r.size)
  local align = ffi.alignof(r.c)
  check(align == r.align, r, "alignment of %s: %d, should be %d", r.c, align, r.align)
  for i, member in ipairs(r.members) do
    if not member:find "[.[]" then
      local offset = ffi.offsetof(r.c, member)
      local right = layout[i + 1]
      check(offset == right, r, "offset of %s: %d, should be %d", member, offset, right)
    end
  end
  r.is_right = size == r.size
end

local function new(r)
  if r.is_flexible then return ffi.new(r.c, 0) end
  return ffi.new(r.c)
end

-- The bytes of a record, without its padding
local function bytes(r, p, lib)
  local copy = ffi.new("unsigned char[?]", r.size + 1)
  lib.mask_copy(r.n, copy, p)
  return ffi.string(copy, r.size)
end

local accessors = {}
local function accessor(path)
  if not accessors[path] then
    local get, set = load(("return function(p) return p.%s end, function(p, v) p.%s = v end")
      :format(path, path))()
    accessors[path] = {get = get, set = set}
  end
  return accessors[path]
end

-- What Lua has for a value, as an integer
local function as_integer(value)
  if type(value) == "boolean" then return value and 1 or 0 end
  if math.tointeger(value) then return math.tointeger(value) end
  return ffi.tonumber(ffi.cast("int64_t", value))
end

local function to_write(s, value)
  return s.is_pointer and ffi.cast(s.c, value) or value
end

local function check_leaf(r, lib, k, leaf)
  local value = types.draw_value(leaf.scalar)
  if leaf.scalar.is_pointer then value = value & 0xffffffffffff end
  local p, q = new(r), new(r)
  lib["put_" .. r.n](p, k, value)
  local access = accessor(leaf.path)
  local read, right = as_integer(access.get(p)), lib["get_" .. r.n](p, k)
  check(read == right, r, "%s reads %s, should be %s", leaf.path, read, right)
  access.set(q, to_write(leaf.scalar, value))
  check(bytes(r, p, lib) == bytes(r, q, lib), r, "%s = %s writes other bytes", leaf.path, value)
end

-- ---- arguments, results, callbacks --------------------------------------------

-- The value of a parameter, and the bytes that C notes of it
local function argument(p, lib)
  if p.record then
    local value = new(p.record)
    lib["fill_" .. p.record.n](value, p.seed)
    return value, bytes(p.record, value, lib)
  end
  local cell = ffi.new(ffi.typeof(p.scalar.c .. " [1]"))
  cell[0] = to_write(p.scalar, p.value)
  return cell[0], ffi.string(cell, p.scalar.is_long_double and 10 or ffi.sizeof(cell))
end

-- The bytes of what Lua was given
local function received(p, value, lib)
  if p.record then return bytes(p.record, value, lib) end
  local cell = ffi.new(ffi.typeof(p.scalar.c .. " [1]"))
  cell[0] = value
  return ffi.string(cell, p.scalar.is_long_double and 10 or ffi.sizeof(cell))
end

local function got(lib) return ffi.string(lib.got, lib.got_size) end

-- Compares what was received with the bytes of the arguments.
local function check_received(f, received, parts, function_name)
  local at, wrong = 1, nil
  for i, part in ipairs(parts) do
    if not wrong and received:sub(at, at + #part - 1) ~= part then wrong = i end
    at = at + #part
  end
  check(not wrong and #received == at - 1, f, "argument %s of %s", wrong, function_name)
end

local function check_take(f, lib, values, parts)
  local r, function_name = f.record, "take_" .. f.record.n
  local result = lib[function_name](table.unpack(values))
  check_received(f, got(lib), parts, function_name)
  local _, right = argument(f.result, lib)
  check(received(f.result, result, lib) == right, f, "result of %s", function_name)
end

-- Of a record that has only unnamed bits and finds no register, gcc passes nothing, but its
-- va_start skips a word: such functions are left out.
local function is_nothing(r) return r and r.size > 0 and #r.leaves == 0 end

local function check_more(f, lib, values, parts)
  for _, p in ipairs(f.parameters) do
    if is_nothing(p.record) then return end
  end
  local all, all_parts = {table.unpack(values)}, {table.unpack(parts)}
  for _, m in ipairs(f.more) do
    all[#all + 1], all_parts[#all_parts + 1] = argument(m, lib)
  end
  lib["more_" .. f.record.n](table.unpack(all))
  check_received(f, got(lib), all_parts, "more_" .. f.record.n)
end

local function check_call(f, lib, parts)
  local function_name = "call_" .. f.record.n
  local result, right = argument(f.result, lib)
  local given = {}
  lib[function_name](function(...)
    for i, p in ipairs(f.parameters) do given[i] = received(p, (select(i, ...)), lib) end
    return result
  end)
  check_received(f, table.concat(given), parts, "the callback of " .. function_name)
  check(got(lib) == right, f, "result of the callback of %s", function_name)
end

-- What cannot be passed by value is refused (doc/FFI.md).
local function is_refused(f)
  for _, p in ipairs(f.parameters) do
    if p.record and p.record.align > 16 then return true end
  end
end

local function all_right(f)
  for _, p in ipairs(f.parameters) do
    if p.record and not p.record.is_right then return false end
  end
  return not f.result.record or f.result.record.is_right
end

local function check_function(f, lib)
  if not all_right(f) then return end
  f.text = source.prototypes(f)
  ffi.cdef(f.text)
  local values, parts = {}, {}
  for i, p in ipairs(f.parameters) do values[i], parts[i] = argument(p, lib) end
  if is_refused(f) then
    local ok, message = pcall(lib["take_" .. f.record.n], table.unpack(values))
    local is_refusal = not ok and message:find "aligned to more than 16 bytes"
    check(is_refusal, f, "take_%d is not refused", f.record.n)
    return
  end
  check_take(f, lib, values, parts)
  check_more(f, lib, values, parts)
  check_call(f, lib, parts)
end

-- ---- the program ----------------------------------------------------------------

types.begin(seed)
local functions = {}
for n = 1, count do types.records[n] = types.draw_record(n) end
for n = 1, count do
  functions[n] = types.draw_function(types.records[n])
  functions[n].more = types.draw_more()
end
local lib = compile(types.records, functions)
for _, r in ipairs(types.records) do
  declare(r)
  if r.is_declared then check_layout(r, lib) end
  if r.is_right then
    for k, leaf in ipairs(r.leaves) do check_leaf(r, lib, k, leaf) end
  end
end
for _, f in ipairs(functions) do check_function(f, lib) end
print(("%d records, %d checks, %d failed"):format(count, checks, failures))
os.exit(failures == 0, true) -- what it has allocated is freed: for AddressSanitizer
