-- SPDX-License-Identifier: MIT
-- Memory outside the heap counts with the bytes that its owner states, as kind and origin
-- "external"; what arrives in messages as origin "message".

local memprof = require "saros.memprof"
local domain = require "saros.domain"
local profile = require "_profile"
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1)

-- A long string arrives as it is; tables of a message are made by the receiver.
do
  local c = domain.channel()
  local kinds = {}
  c:send {("x"):rep(100000), {1, 2, 3}}
  local s = memprof.start {rate = 1, callbacks = {alloc_young = function(sample)
    if sample.origin == "message" then
      kinds[sample.kind] = (kinds[sample.kind] or 0) + sample.words
    end
  end}}
  local message = c:receive()
  s:stop {flush = true}
  s:discard()
  assert(#message[1] == 100000 and kinds.table == 12, kinds.table)
  assert(kinds.message and kinds.message >= 12500 and kinds.message < 12600, kinds.message)
end

local has_ffi, ffi = pcall(require, "ffi")
if not has_ffi then return end
ffi.cdef "void *malloc(size_t); void free(void *);"

-- 5000 bytes; a view of them adds nothing; without owner there is nothing left.
do
  local bytes, most = 0, 0
  local function add(sample)
    if sample.kind ~= "external" then return end
    assert(sample.origin == "external" and sample.samples == sample.words)
    bytes = bytes + 8 * sample.words
    most = math.max(most, bytes)
    return sample
  end
  local function take(sample) bytes = bytes - 8 * sample.words end
  local s = memprof.start {rate = 1, callbacks = {
    alloc_young = add, alloc_old = add, dealloc_young = take, dealloc_old = take}}
  local function hold()
    local p = ffi.gc(ffi.C.malloc(8), ffi.C.free, 5000)
    local at = ffi.cast("char *", p)
    local view = ffi.cast("char *", p) + 4
    return {p, at, view}
  end
  local held = hold()
  local _ = {}
  assert(bytes == 5000, bytes)
  collectgarbage()
  _ = {}
  assert(bytes == 5000 and most == 5000, bytes)
  held = nil
  profile.settle()
  profile.settle()
  assert(bytes == 0 and most == 5000, bytes)
  s:stop()
  s:discard()
end

-- What has no owner who states a size counts nothing: memory of C that nobody manages, static
-- data, what is mapped, and pointers to it.
do
  ffi.cdef "void *mmap(void *, size_t, int, int, int, long); int munmap(void *, size_t);"
  ffi.cdef "extern char **environ;"
  local external, others = 0, 0
  local function add(sample)
    if sample.kind == "external" then external = external + 1 else others = others + 1 end
  end
  local s = memprof.start {rate = 1, callbacks = {alloc_young = add, alloc_old = add}}
  local p = ffi.C.malloc(100000)
  local view = ffi.cast("char *", p) + 8
  local managed = ffi.gc(ffi.C.malloc(100000), ffi.C.free)
  local mapped = ffi.C.mmap(nil, 65536, 3, 0x22, -1, 0)
  local static = ffi.C.environ
  local _ = {view, managed, mapped, static}
  s:stop {flush = true}
  s:discard()
  assert(external == 0 and others > 3, external)
  ffi.C.munmap(mapped, 65536)
  ffi.C.free(p)
end

-- Many, one in ten is kept: samples a word are the rate, and all that was sampled has died
-- or is alive.
local MANY = 20000 // slow // 10 * 10
for _, case in ipairs {
  {0.01, 32, MANY}, {0.5, 32, MANY}, {0.17, 32, MANY}, {0.1, 7, 1000}, -- 1000 of 7 words at 0.1
} do
  local rate, words, n = table.unpack(case)
  local allocated, promoted, freed, kept = 0, 0, 0, {}
  local function free(sample) freed = freed + sample.samples end
  local function add(sample)
    if sample.kind ~= "external" then return end
    allocated = allocated + sample.samples
    return sample
  end
  collectgarbage()
  local s = memprof.start {rate = rate, depth = 2, callbacks = {
    alloc_young = add, alloc_old = add,
    promote = function(sample)
      promoted = promoted + sample.samples
      return sample
    end,
    dealloc_young = free, dealloc_old = free}}
  for i = 1, n do
    local p = ffi.gc(ffi.C.malloc(1), ffi.C.free, 8 * words)
    if i % 10 == 0 then kept[#kept + 1] = p end
  end
  s:stop {flush = true}
  local mean = rate * words * n
  local deviation = math.sqrt(mean * (1 - rate))
  assert(math.abs(allocated - mean) <= 5.7 * deviation + 1,
    ("%d samples instead of %g at %g, seed %d"):format(allocated, mean, rate, s:snapshot().seed))
  profile.settle()
  local live = 0
  for _, sample in ipairs(s:snapshot().rows) do live = live + sample.samples end
  assert(allocated == freed + live)
  -- (under stress these are old from the start, and nothing is promoted)
  assert((slow > 10 or promoted >= live) and math.abs(live - mean / 10) <= 5.7 * deviation + 200, live)
  kept = nil
  profile.settle()
  profile.settle()
  assert(allocated == freed, allocated - freed)
  s:discard()
end
