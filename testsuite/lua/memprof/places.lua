-- SPDX-License-Identifier: MIT
-- Where a block was allocated: the innermost frame of its stack is the expression that made
-- it, with line and column, and above it are those that called; a function of C that allocated
-- is the innermost frame itself. The same expression has the same stack each time.

local memprof = require "saros.memprof"
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1)

local function text_of(frame)
  return ("%s:%s:%s %s"):format(frame.source, frame.line, frame.column, frame.name)
end
-- Frames from `first` on, outermost last.
local function stack_of(sample, first)
  local frames = {}
  for i = first, #sample.stack do frames[#frames + 1] = text_of(sample.stack[i]) end
  return table.concat(frames, " < ")
end

-- Three sizes in one expression: each has one stack, they differ in the innermost frame, and
-- agree above it. At most ten frames.
do
  local rounds = 2000 // slow
  local stacks, above = {}, {}
  local function make(i) return {i, i, i, i, i, i}, {i, i, i}, {i} end
  local function driver() for i = 1, rounds do make(i) end end
  for _, rate in ipairs {0.42, 0.01, 0.83} do
    local s = memprof.start {rate = rate, depth = 10, callbacks = {alloc_young = function(sample)
      if sample.kind ~= "array part" then return end
      assert(#sample.stack <= 10)
      stacks[sample.words] = stacks[sample.words] or {}
      stacks[sample.words][stack_of(sample, 1)] = true
      above[stack_of(sample, 2)] = true
    end}}
    coroutine.wrap(driver)()
    s:stop {flush = true}
    s:discard()
  end
  local innermost, sizes = {}, 0
  for words, of_size in pairs(stacks) do
    local stack = next(of_size)
    assert(next(of_size, stack) == nil, words .. " words: several stacks")
    innermost[stack:match "^[^<]*"] = true
    sizes = sizes + 1
  end
  local places = 0
  for _ in pairs(innermost) do places = places + 1 end
  assert(sizes == 3 and places == 3, places .. " places of " .. sizes .. " sizes")
  local caller = next(above)
  assert(caller:find " driver" and next(above, caller) == nil, "several callers")
end

-- Ways to allocate, each in a line of its own: the kind of block, and the function of C that
-- makes it.
local ways = [==[
return {
{"table", nil, function(n) return {} end},
{"array part", nil, function(n) return {n, n} end},
{"hash part", nil, function(n) return {x = n} end},
{"array part", nil, function(n) return {n, n, n, n, n, n, n, n, n, n} end},
{"array part", nil, function(n) local t = {n} t[2] = n t[3] = n return t end},
{"array part", "table.move", function(n) return table.move({n}, 1, 1000, 1, {}) end},
{"closure", nil, function(n) return function() return n end end},
{"upvalue", nil, function(n) return function() n = n + 1 return n end end},
{"string", nil, function(n) return "a text of number " .. n end},
{"string", "string.rep", function(n) return ("x"):rep(300 + n) end},
{"string", "table.concat", function(n) return table.concat({"t", n, ("x"):rep(50)}, ",") end},
{"table", "table.pack", function(n) return table.pack(n, n) end},
{"thread", "coroutine.create", function(n) return coroutine.create(print) end},
{"code", "load", function(n) return load("return " .. n) end},
{"string", "string.format", function(n) return ("%d and a long rest of text, %d"):format(n, n) end},
}
]==]
local found
local function driver(way, n)
  local value = way(n)
  return value
end
for i, way in ipairs(load(ways, "=ways")()) do
  local kind, library, make = table.unpack(way, 1, 3)
  local of_program = library and 2 or 1 -- its innermost frame
  driver(make, 1) -- what is made once, is made
  found = nil
  local function allocated(sample)
    local stack = sample.stack
    local place = stack[of_program]
    if found or sample.kind ~= kind or not place or place.source ~= "ways" then return end
    if not library or stack[1].name == library then found = sample end
  end
  local s = memprof.start {rate = 1, callbacks = {alloc_young = allocated, alloc_old = allocated}}
  driver(make, 1000 + i)
  s:stop {flush = true}
  s:discard()
  assert(found, ("way %d: no %s by %s"):format(i, kind, library or "the program"))
  local stack = found.stack
  local place, above = stack[of_program], stack[of_program + 1]
  assert(place.line == i + 1 and place.column > 0, text_of(place))
  assert(not library or (stack[1].source == "[C]" and not stack[1].line), text_of(stack[1]))
  assert(above.name == "driver" and above.source:find "places.lua", text_of(above))
  assert(stack[#stack].source == "[C]" and stack[#stack - 1].name == "main chunk")
  local origin = library == "load" and "chunk" or library and "library" or "program"
  assert(found.origin == origin, ("way %d: %s"):format(i, found.origin))
end
