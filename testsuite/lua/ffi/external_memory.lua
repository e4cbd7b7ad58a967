-- SPDX-License-Identifier: MIT
-- ffi.gc(cdata, f, bytes): memory of C that hangs from small cdata is collected in time,
-- and counted.
local fixture = require "_fixture"
local ffi, fails = fixture.ffi, fixture.fails
local slowness = tonumber(os.getenv "TEST_SLOWNESS" or 1)
local KIB = 1024

ffi.cdef "void *malloc(size_t); void free(void *);"

local held, most = 0, 0
local function buffer(size)
  held = held + size
  most = math.max(most, held)
  return ffi.gc(ffi.C.malloc(size), function(p)
    ffi.C.free(p)
    held = held - size
  end, size)
end

-- 6 GB in all, never much at once
for _, mode in ipairs { "generational", "incremental" } do
  collectgarbage(mode)
  most = held
  for _ = 1, 100000 // slowness do buffer(64 * KIB) end
  assert(most < 32 * KIB * KIB, mode .. ": " .. most)
end
collectgarbage "generational"

-- Live ones are kept, and what is dead beside them is in proportion
local ring = {}
most = held
for i = 1, 20000 // slowness do ring[i % 256 + 1] = buffer(64 * KIB) end
assert(most < 2 * 16 * KIB * KIB + 8 * KIB * KIB, most)
ring = nil

-- What is counted
local function counted() return collectgarbage "count" * KIB end
collectgarbage()
collectgarbage()
assert(held == 0, held)
local before = counted()
local p = ffi.gc(ffi.C.malloc(8), ffi.C.free, 5000000)
assert(math.abs(counted() - before - 5000000) < 50000)
assert(ffi.gc(p, ffi.C.free, ffi.new("uint64_t", 3000000)) == p)
assert(math.abs(counted() - before - 3000000) < 50000)
ffi.gc(p, ffi.C.free)
assert(math.abs(counted() - before) < 50000)
ffi.gc(p, ffi.C.free, 5000000)
ffi.C.free(ffi.gc(p, nil, 5000000)) -- nothing is to be freed by a finalizer
assert(math.abs(counted() - before) < 50000)
fails("size is negative", ffi.gc, p, ffi.C.free, -1)
fails("number expected", ffi.gc, p, ffi.C.free, {})

-- A finalizer may pass it on
local again
ffi.gc(ffi.new "int", function(cdata) again = ffi.gc(cdata, print, 4000000) end, 2000000)
collectgarbage()
assert(again and math.abs(counted() - before - 4000000) < 50000, counted() - before)
ffi.gc(again, nil)

-- What ffi.new makes is in the heap, and counts by itself
before = counted()
local array = ffi.new("char[?]", 3000000)
assert(math.abs(counted() - before - 3000000) < 50000 and ffi.sizeof(array) == 3000000)

-- What is stated need not be true; the count, an int in the C API, stops at the largest
local liars = {}
for i = 1, 3 do liars[i] = ffi.gc(ffi.new "int", print, 1 << 40) end
assert(collectgarbage "count" >= 0x7fffffff)
for i = 1, 3 do ffi.gc(liars[i], nil) end
assert(counted() < 1 << 30)

-- A great number of them does not wrap
if slowness == 1 then
  for i = 1, 1 << 18 do liars[i] = ffi.gc(ffi.new "int", function() end, 1 << 46) end
  assert(collectgarbage "count" >= 0x7fffffff)
  liars = nil
  collectgarbage()
  collectgarbage()
  assert(counted() < 1 << 30)
end
