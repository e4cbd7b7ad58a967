-- SPDX-License-Identifier: MIT
-- A graph of real objects, and beside it a model in plain data that knows what is alive.
--
-- Each object has a number. The model has a node of each number: its kind and, by slot, the
-- numbers of the objects that it refers to (refs) and the plain values that it holds (data:
-- numbers are themselves, strings are specifications of gc_text). Real objects are held by
-- the roots and by each other only, and are found by walking from a root.
--
-- Kinds: table, closure (upvalues), coroutine (locals of a suspended function some calls
-- deep, an open upvalue, a vararg), weak tables "k", "v" and "kv", file, cdata (a table where
-- there is no module ffi).
--
-- What depends on when the collector runs must not change the program: objects that
-- finalizers revive and that were found in weak tables go into `limbo`, which is
-- checked and dropped by model.check and never gets into the graph.

local draw, text = require "gc_draw", require "gc_text"
local has_ffi, ffi = pcall(require, "saros.ffi")
if not has_ffi or _VERSION ~= "Lua 5.4" or not ffi.cdef then ffi = nil end

local ROOTS = 24

local model = { live = 0, finalized = 0, files = 0, failures = {} }
local nodes, root_numbers, last = {}, {}, 0
local roots = {}          -- real
local limbo = {}          -- real: { object, number }
local names = setmetatable({}, { __mode = "k" }) -- numbers of files, cdata, coroutines

local function fail(...)
  local message = string.format(...)
  model.failures[#model.failures + 1] = message
  error(message, 0)
end

local function expect(condition, ...)
  if not condition then fail(...) end
end

---- real objects ------------------------------------------------------------------------

local get, set = {}, {} -- by kind

function get.table(object, slot)
  if slot == "@meta" then return getmetatable(object).__index end
  return rawget(object, slot)
end

function set.table(object, slot, value)
  if slot == "@meta" then setmetatable(object, value ~= nil and { __index = value } or nil)
  else rawset(object, slot, value) end
end

local function make_closure(number)
  local a, b, c
  return function(what, slot, value)
    if what == "number" then return number end
    if what == "get" then
      if slot == 1 then return a elseif slot == 2 then return b end
      return c
    end
    if slot == 1 then a = value elseif slot == 2 then b = value else c = value end
  end
end
function get.closure(object, slot) return object("get", slot) end
function set.closure(object, slot, value) object("set", slot, value) end

local function dip(depth, ...)
  if depth == 0 then return coroutine.yield("dipped") end
  local a, b = { depth }, depth
  dip(depth - 1, ...)
  return a[1] == b or fail("a local of a coroutine changed")
end

local function body(depth, number, ...)
  local one, two
  local function poke(value) two = value end
  if depth > 0 then
    local results = table.pack(body(depth - 1, number, ...))
    return table.unpack(results, 1, results.n)
  end
  local result = number
  while true do
    local what, slot, value = coroutine.yield(result)
    result = nil
    if what == "number" then result = number
    elseif what == "dip" then dip(slot)
    elseif what == "get" then
      if slot == 1 then result = one elseif slot == 2 then result = two else result = ... end
    elseif slot == 1 then one = value
    else poke(value) end
  end
end

local function talk(thread, ...)
  local ok, result = coroutine.resume(thread, ...)
  expect(ok, "a coroutine failed: %s", result)
  return result
end

function get.coroutine(object, slot) return talk(object, "get", slot) end
function set.coroutine(object, slot, value) talk(object, "set", slot, value) end

local function number_of(object)
  local kind = type(object)
  if kind == "table" then return rawget(object, "number") end
  if kind == "function" then return object("number") end
  return names[object]
end

---- the model ---------------------------------------------------------------------------

local function new_node(kind)
  last = last + 1
  local node = { kind = kind, number = last, refs = {}, data = {}, slots = {}, place = {},
    registered = 0, called = 0 }
  nodes[last] = node
  return node
end

local function forget_slot(node, slot)
  node.data[slot] = nil
  if not node.refs[slot] then return end
  node.refs[slot] = nil
  local at, moved = node.place[slot], table.remove(node.slots)
  node.place[slot] = nil
  if moved ~= slot then node.slots[at], node.place[moved] = moved, at end
end

local function remember_ref(node, slot, number)
  forget_slot(node, slot)
  node.refs[slot] = number
  node.slots[#node.slots + 1] = slot
  node.place[slot] = #node.slots
end

-- Marks what is reachable from numbers: a set of numbers.
local function reachable(numbers)
  local alive, stack, ephemerons = {}, {}, {}
  local function reach(number)
    if number and not alive[number] then
      alive[number] = true
      stack[#stack + 1] = nodes[number]
    end
  end
  for _, number in pairs(numbers) do reach(number) end
  while true do
    while #stack > 0 do
      local node = table.remove(stack)
      for _, number in pairs(node.refs) do reach(number) end
      if node.kind == "k" then ephemerons[#ephemerons + 1] = node end
    end
    for _, node in ipairs(ephemerons) do
      for _, entry in pairs(node.entries) do
        if alive[entry.key] then reach(entry.value) end
      end
    end
    if #stack == 0 then return alive end
  end
end

---- finalizers ----------------------------------------------------------------------------

local finalizer = {}
local garbage_made = 0

local function shallow_check(object, node)
  for slot, value in pairs(node.data) do
    local real = get.table(object, slot)
    if type(value) == "string" and not text.is(real, value) or type(value) == "number" and real ~= value then
      fail("finalizer of %d: slot %s is wrong", node.number, slot)
    end
  end
  for slot, number in pairs(node.refs) do
    local real = get.table(object, slot)
    if type(real) == "table" and rawget(real, "number") ~= number then
      fail("finalizer of %d: slot %s is not %d", node.number, slot, number)
    end
  end
end

-- What the finalizer of an object does besides, by its number.
local acts = {
  [0] = function() local t = {} for i = 1, 300 do t[i] = { i, "x" .. i } end end,
  function() error("a finalizer's error") end,
  function() error({}) end,
  function() collectgarbage("step", 100) end,
  function() collectgarbage() end,
  function(object, node) limbo[#limbo + 1] = { object, node.number } end,
  function(object, node)
    limbo[#limbo + 1] = { object, node.number }
    if node.registered < 3 then
      node.registered = node.registered + 1
      setmetatable(object, finalizer)
    end
  end,
  function()
    garbage_made = garbage_made + 1
    setmetatable({}, { __gc = function() garbage_made = garbage_made - 1 end })
  end,
}

local function finalize(object, number)
  local node = nodes[number]
  if not node then fail("finalizer of %d, which had been dead and finalized", number) end
  node.called = node.called + 1
  model.finalized = model.finalized + 1
  if node.called > node.registered then fail("finalizer of %d called %d times", number, node.called) end
  if type(object) == "table" and node.kind == "table" then shallow_check(object, node) end
  local act = acts[number % 16]
  if act and type(object) == "table" then act(object, node) end
end
finalizer.__gc = function(object) finalize(object, object.number) end

---- making ----------------------------------------------------------------------------------

local make = {}

function make.table(node)
  local object = { number = node.number }
  if draw.chance(model.finalizers) then
    node.registered = 1
    setmetatable(object, finalizer)
  end
  return object
end
function make.closure(node) return make_closure(node.number) end

function make.coroutine(node, parent, parent_number)
  local thread = coroutine.create(body)
  names[thread] = node.number
  if parent then remember_ref(node, 3, parent_number) end
  expect(talk(thread, draw.size(model.depth) - 1, node.number, parent) == node.number, "a coroutine's start")
  return thread
end

local function make_weak(node)
  node.entries = {}
  return setmetatable({ number = node.number }, { __mode = node.kind })
end
make.k, make.v, make.kv = make_weak, make_weak, make_weak

function make.file(node)
  local file = assert(io.open("/dev/null"))
  model.files = model.files + 1
  names[file] = node.number
  return file
end

function make.cdata(node)
  node.registered = 1
  local number, size = node.number, draw.size(20000)
  if not ffi then
    return setmetatable({ number = number }, { __gc = function() finalize(nil, number) end })
  end
  local object = ffi.new("unsigned char[?]", size)
  object[0], object[size - 1] = number & 255, number & 255
  names[object] = number
  return ffi.gc(object, function(dead)
    if dead[0] ~= number & 255 or dead[size - 1] ~= number & 255 then fail("cdata %d: wrong bytes", number) end
    finalize(dead, number)
  end)
end

---- walking ---------------------------------------------------------------------------------

local holders = { table = true, closure = true, coroutine = true }

-- A random object: object, node. Nothing when there is none.
local function walk()
  local at = draw.below(ROOTS)
  local object, number = roots[at], root_numbers[at]
  if not number then return end
  for _ = 1, draw.below(8) - 1 do
    local node = nodes[number]
    if #node.slots == 0 then break end
    local slot = draw.one_of(node.slots)
    local below = get[node.kind](object, slot)
    local below_number = node.refs[slot]
    expect(number_of(below) == below_number, "%d (%s), slot %s: %s is there instead of %d", number, node.kind,
      slot, tostring(below), below_number)
    object, number = below, below_number
  end
  return object, nodes[number]
end

local function walk_to_holder()
  for _ = 1, 5 do
    local object, node = walk()
    if object and holders[node.kind] then return object, node end
  end
end

local function draw_slot(node)
  if node.kind == "closure" then return draw.below(3) end
  if node.kind == "coroutine" then return draw.below(2) end
  local how = draw.below(10)
  if how <= 5 then return draw.size(model.width) end
  if how <= 8 then return "k" .. draw.size(model.width) end
  if how == 9 then return draw.size(model.width) + 0.5 end
  return node.registered == 0 and "@meta" or 1
end

local function link(holder, node, slot, object, number)
  set[node.kind](holder, slot, object)
  remember_ref(node, slot, number)
end

local function put_root(at, object, number) roots[at], root_numbers[at] = object, number end

---- operations on the graph -------------------------------------------------------------------

local operations = {}
model.operations = operations

function operations.add()
  local kind = draw.one_of(model.kinds)
  if kind == "file" and model.files > 300 then kind = "table" end
  local parent, above = walk_to_holder()
  local node = new_node(kind)
  local object = make[kind](node, parent, above and above.number)
  if above and not draw.chance(15) then
    link(parent, above, draw_slot(above), object, node.number)
  else
    put_root(draw.below(ROOTS), object, node.number)
  end
end

-- Many small objects under one, in a row.
function operations.add_many()
  local parent, above = walk_to_holder()
  if not parent or above.kind ~= "table" then return operations.add() end
  for i = 1, draw.size(model.width * 3) do
    local node = new_node("table")
    link(parent, above, i, make.table(node), node.number)
  end
end

function operations.connect()
  local from, node = walk_to_holder()
  local to, other = walk()
  if from and to then link(from, node, draw_slot(node), to, other.number) end
end

function operations.store()
  local object, node = walk_to_holder()
  if not object then return end
  local slot = draw_slot(node)
  if slot == "@meta" then return end
  local value = draw.chance(50) and draw.below(1 << 40) or text.draw_specification(model.longest)
  forget_slot(node, slot)
  set[node.kind](object, slot, type(value) == "string" and text.make(value) or value)
  node.data[slot] = value
end

function operations.remove()
  for _ = 1, draw.below(4) do
    local object, node = walk_to_holder()
    if object and #node.slots > 0 then
      local slot = draw.one_of(node.slots)
      if not (node.kind == "coroutine" and slot == 3) then
        set[node.kind](object, slot, nil)
        forget_slot(node, slot)
      end
    end
  end
end

function operations.drop_root() put_root(draw.below(ROOTS), nil, nil) end

-- Empties an array part, or all of a table.
function operations.shrink()
  local object, node = walk_to_holder()
  if not object or node.kind ~= "table" then return end
  for _, slot in ipairs { table.unpack(node.slots) } do
    if slot ~= "@meta" then
      set.table(object, slot, nil)
      forget_slot(node, slot)
    end
  end
end

function operations.weak_entry()
  local object, node
  for _ = 1, 12 do
    object, node = walk()
    if node and node.entries then break end
  end
  if not node or not node.entries then return end
  for _ = 1, draw.size(30) do
    local key, value, key_node, value_node = draw.size(500), draw.below(1000), nil, nil
    if node.kind ~= "v" then
      key, key_node = walk()
      if not key or key_node == node then return end
    end
    if draw.chance(70) or node.kind == "v" then value, value_node = walk() end
    if value == nil then return end
    object[key] = value
    node.entries[key_node and "#" .. key_node.number or key] = { key = key_node and key_node.number,
      value = value_node and value_node.number, plain = not value_node and value or nil }
  end
end

function operations.dip()
  local object, node = walk()
  if not object or node.kind ~= "coroutine" then return end
  expect(talk(object, "dip", draw.size(model.depth * 4)) == "dipped", "a coroutine did not dip")
  if draw.chance(50) then collectgarbage("step") end
  expect(talk(object) == nil, "a coroutine did not come back")
end

-- Holds what a weak table has, dead in the model or not.
function operations.peek_weak()
  local object, node = walk()
  if not object or not node.entries then return end
  local seen = 0
  for key, value in pairs(object) do
    for _, what in ipairs { key, value } do
      local number = type(what) ~= "number" and type(what) ~= "string" and number_of(what)
      if number and nodes[number] then limbo[#limbo + 1] = { what, number } end
    end
    seen = seen + 1
    if seen == 5 then break end
  end
end

function operations.swap_roots()
  local a, b = draw.below(ROOTS), draw.below(ROOTS)
  roots[a], roots[b] = roots[b], roots[a]
  root_numbers[a], root_numbers[b] = root_numbers[b], root_numbers[a]
end

---- checking ------------------------------------------------------------------------------------

local function check_data(object, node)
  for slot, value in pairs(node.data) do
    local real = get[node.kind](object, slot)
    local good = real == value
    if type(value) == "string" then good = text.is(real, value) end
    expect(good, "%d (%s), slot %s: %s instead of %s", node.number, node.kind, slot, tostring(real):sub(1, 40), value)
  end
  if node.kind ~= "table" then return end
  local wanted, found = 1, 0
  for slot in pairs(node.data) do wanted = wanted + 1 end
  for slot in pairs(node.refs) do if slot ~= "@meta" then wanted = wanted + 1 end end
  for _ in next, object do found = found + 1 end
  expect(wanted == found, "%d: %d entries instead of %d", node.number, found, wanted)
end

-- Compares all that is reachable from an object with the model. `seen` has the real object of
-- each number that was compared. In limbo, files may have been closed by their finalizers.
local function check_from(object, number, seen, alive, weak)
  local stack = { object, number }
  while #stack > 0 do
    number, object = table.remove(stack), table.remove(stack)
    if seen[number] == nil then
      local node = nodes[number]
      expect(number_of(object) == number, "%s is there instead of %d", tostring(object), number)
      seen[number] = object
      if node.entries and weak then weak[#weak + 1] = number end
      if node.kind == "file" and alive then
        expect(io.type(object) == "file", "file %d: %s", number, io.type(object))
      end
      if holders[node.kind] then
        check_data(object, node)
        for slot, below in pairs(node.refs) do
          stack[#stack + 1] = get[node.kind](object, slot)
          stack[#stack + 1] = below
          expect(#stack % 2 == 0, "%d (%s), slot %s: nothing instead of %d", number, node.kind, slot, below)
        end
      end
    else
      expect(seen[number] == object, "%d is two objects", number)
    end
  end
end

local function check_limbo()
  local had = limbo
  limbo = {}
  local seen = {}
  for _, pair in ipairs(had) do check_from(pair[1], pair[2], seen, false) end
end

-- Values in "k" tables that only their keys lead to are compared too.
local function check_roots()
  local seen, weak = {}, {}
  for at, number in pairs(root_numbers) do check_from(roots[at], number, seen, true, weak) end
  local first = 1
  while weak[first] do
    local node = nodes[weak[first]]
    local object = seen[node.number]
    first = first + 1
    for id, entry in pairs(node.entries) do
      if node.kind == "k" and entry.value and seen[entry.key] then
        local value = object[seen[entry.key]]
        expect(value ~= nil, "weak table %d (k): no entry %s, whose key is alive", node.number, id)
        check_from(value, entry.value, seen, true, weak)
      end
    end
  end
  return seen
end

local function check_weak_table(object, node, alive)
  local found = {}
  for key, value in next, object do
    if key ~= "number" then
      local key_number = type(key) ~= "number" and number_of(key)
      local id = key_number and "#" .. key_number or key
      local entry = node.entries[id]
      expect(entry, "weak table %d (%s): entry %s, which was never made or is long gone", node.number, node.kind, id)
      expect(not entry.key or alive[entry.key], "weak table %d (%s): the key %s is dead", node.number, node.kind, id)
      if entry.value then
        expect(alive[entry.value], "weak table %d (%s): the value %s is dead", node.number, node.kind, entry.value)
        expect(number_of(value) == entry.value, "weak table %d (%s): another value", node.number, node.kind)
      else
        expect(value == entry.plain, "weak table %d (%s): another plain value", node.number, node.kind)
      end
      found[id] = true
    end
  end
  for id, entry in pairs(node.entries) do
    if (not entry.key or alive[entry.key]) and (not entry.value or alive[entry.value]) then
      expect(found[id], "weak table %d (%s): entry %s is missing though alive", node.number, node.kind, id)
    else
      node.entries[id] = nil
    end
  end
end

local function clobber(depth)
  local a, b, c, d, e, f, g, h
  if depth > 0 then clobber(depth - 1) end
  return a, b, c, d, e, f, g, h
end

-- Collects until no finalizer is called any more.
local function settle()
  local before
  for _ = 1, 30 do
    before = model.finalized
    clobber(60)
    collectgarbage()
    check_limbo()
    if before == model.finalized then break end
  end
  expect(before == model.finalized, "finalizers are called for ever")
  clobber(60)
  collectgarbage()
end

local function forget_dead(alive)
  local dead = {}
  for number, node in pairs(nodes) do
    if alive[number] then
      expect(node.called == 0, "%d (%s) is alive and its finalizer was called", number, node.kind)
    else
      expect(node.called == node.registered, "%d (%s) is dead, registered for its finalizer %d times, called %d times",
        number, node.kind, node.registered, node.called)
      dead[#dead + 1] = number
    end
  end
  for _, number in ipairs(dead) do
    if nodes[number].kind == "file" then model.files = model.files - 1 end
    nodes[number] = nil
  end
end

-- Compares everything, collects everything, and looks at what must have gone then.
function model.check()
  check_roots()
  check_limbo()
  settle()
  local alive = reachable(root_numbers)
  forget_dead(alive)
  local seen = check_roots()
  for number in pairs(alive) do
    local node = nodes[number]
    if node.entries and seen[number] then check_weak_table(seen[number], node, alive) end
  end
  model.live = 0
  for _ in pairs(alive) do model.live = model.live + 1 end
end

-- A number that follows from what is alive, and the bytes of data in it.
function model.checksum()
  local sum, bytes = 0, 0
  for number, node in pairs(nodes) do
    sum = sum + number * 31 + #node.slots
    for slot, value in pairs(node.data) do
      if type(value) == "string" then
        bytes = bytes + value:match("^%d+")
        sum = sum + #value
      else
        sum = sum + value
      end
    end
  end
  return sum & 0xFFFFFFFF, bytes
end

function model.drop_all()
  roots, root_numbers, limbo = {}, {}, {}
  settle()
  forget_dead({})
  expect(next(names) == nil, "names of dead objects are left")
  expect(garbage_made == 0, "%d finalizers were never called", garbage_made)
  nodes = {} -- it was large
end

return model
