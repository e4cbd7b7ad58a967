-- SPDX-License-Identifier: MIT
-- Each door of the heap, and memory outside of it, counts what is asked for: at rate 1 the
-- bytes of a kind agree with what the program knows that it asks for.

local memprof = require "saros.memprof"
local domain = require "saros.domain"
local has_ffi, ffi = pcall(require, "saros.ffi")
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1)
local stress = slow > 10 -- a build that rehashes tables and moves stacks at will asks for more

local function count(sums, key, sample) sums[key] = (sums[key] or 0) + 8 * sample.words end

-- Bytes that f asks for, by kind and by origin, and those of what died afterwards.
local function measure(f)
  local kinds, origins, freed = {}, {}, {}
  local function allocated(sample)
    count(kinds, sample.kind, sample)
    count(origins, sample.origin, sample)
    return sample
  end
  local function died(sample) count(freed, sample.kind, sample) end
  local flush = {flush = true}
  local sampler = memprof.start {rate = 1, callbacks = {
    alloc_young = allocated, alloc_old = allocated, dealloc_young = died, dealloc_old = died}}
  f()
  sampler:stop(flush)
  for _ = 1, 3 do collectgarbage() end
  sampler:discard()
  return kinds, origins, freed
end

-- f asks for least to most bytes of this kind; none of them are alive when it has returned
-- and kept is nil.
local kept
local function check(name, kind, least, most, f)
  kept = nil
  f() -- strings are interned, caches filled
  kept = nil
  local kinds, origins, freed = measure(function() coroutine.wrap(f)() kept = nil end)
  local n, dead = kinds[kind] or 0, freed[kind] or 0
  assert(least <= n and (n <= most or stress),
         ("%s: %d bytes of kind %s, not %d to %d"):format(name, n, kind, least, most))
  assert(dead == n, ("%s: of %d bytes of kind %s, %d died"):format(name, n, kind, dead))
  return origins
end

local HEAD <const> = 64 -- bytes that an object has beside what it holds, at most

-- The cursor, the second one, large objects, mappings of their own.
for _, size in ipairs {100, 150, 1000, 5000, 8100, 9000, 100000, 1000000 // slow} do
  local text = ("x"):rep(size)
  check("strings of " .. size, "string", 10 * size, 10 * (size + 2 * HEAD) + 2000, function()
    for i = 1, 10 do kept = text .. i end
  end)
end

-- Parts of tables.
check("constructors", "array part", 50 * 8 * 16, 50 * 8 * 16 + HEAD, function()
  for i = 1, 50 do kept = {i, 2, 3, 4, 5, 6, 7, 8} end
end)
check("fields", "hash part", 50 * 4 * 24, 50 * 4 * 24 + HEAD, function()
  for i = 1, 50 do kept = {a = i, b = 2, c = 3, d = 4} end
end)
check("tables", "table", 50 * 48, 50 * 48 + HEAD, function()
  for _ = 1, 50 do kept = {} end
end)
-- A part that is doubled asks for less than twice what it has in the end, or, where it
-- grows in its place, for no more than that.
for _, n in ipairs {64, 1024 // slow, 131072 // slow // slow} do
  check("array of " .. n, "array part", 16 * n, 64 * n + 1024, function()
    kept = {}
    for i = 1, n do kept[i] = i end
  end)
  check("hash of " .. n, "hash part", 24 * n, 96 * n + 1024, function()
    kept = {}
    for i = 1, n do kept[i + 0.5] = i end
  end)
end

-- Closures, upvalues, coroutines and stacks, code.
check("closures", "closure", 50 * 24, 50 * HEAD, function()
  for i = 1, 50 do kept = function() return i end end
end)
check("upvalues", "upvalue", 50 * 16, 50 * HEAD, function()
  for i = 1, 50 do kept = function() return i end end
end)
check("coroutines", "thread", 20 * 100, 20 * 1000, function()
  for _ = 1, 20 do kept = coroutine.create(print) end
end)
local depth = 10000 // slow
check("stacks", "stack part", depth * 64, depth * 1000, function()
  local function deep(n) if n > 0 then return 1 + deep(n - 1) end return 0 end
  coroutine.wrap(deep)(depth)
end)
local lines = 500 // slow
local chunk = ("x = y + z\n"):rep(lines)
local origins = check("code", "code part", lines * 12, lines * 200, function() kept = load(chunk) end)
assert(origins.chunk and origins.chunk >= lines * 12)

-- Messages: a long string is taken over as it is.
local channel = domain.channel(4)
local long = ("m"):rep(100000)
origins = check("message", "message", #long, #long + 2 * HEAD, function()
  channel:send {long, 1, {2, x = 3}}
  kept = channel:receive()
end)
assert(origins.message and origins.message > #long)

-- Strings under construction lie in memory of C, until they are complete.
local half = ("b"):rep(40000)
origins = check("buffer", "external", 2 * #half, 8 * #half, function()
  kept = half:gsub("b+", half .. "%0"):gsub("bb", "c", 1)
end)
assert(origins.external and origins.external >= 2 * #half)
check("table.concat", "string", 2 * #half, 2 * #half + 2 * HEAD + 1000, function()
  kept = table.concat {half, half}
end)
local enough = 8000 // slow -- for a buffer that has outgrown its first place
check("buffer of an error", "external", enough, 8 * enough, function()
  local n = 0
  pcall(string.gsub, half, "%w", function() n = n + 1 if n > enough then error "no" end end)
end)

-- What an owner states.
if has_ffi then
  local function nothing() end
  check("ffi.gc", "external", 20 * 10000, 20 * 10000, function()
    for _ = 1, 20 do kept = ffi.gc(ffi.new "int[2]", nothing, 10000) end
  end)
  check("cdata", "userdata", 10 * 5000, 10 * (5000 + 2 * HEAD), function()
    for _ = 1, 10 do kept = ffi.new "char[5000]" end
  end)
end
