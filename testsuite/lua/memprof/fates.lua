-- SPDX-License-Identifier: MIT
-- What becomes of sampled blocks: of three that are made together only the one that is kept is
-- promoted; what callbacks do meanwhile changes no sum; an error in the callback of an old
-- block arrives where it was allocated.

local memprof = require "saros.memprof"
local domain = require "saros.domain"
local profile = require "_profile"
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1)
local stress = slow >= 20 -- collects at each allocation, so what dies was promoted before
local flush = {flush = true}

-- Of three sizes one is kept. In samples, allocated = died young + promoted, for each.
do
  local rounds = 20000 // slow
  local kept = {}
  for i = 1, rounds do kept[i] = false end
  local allocated, promoted, young, old = {}, {}, {}, {}
  local function count(sums, sample) sums[sample.words] = (sums[sample.words] or 0) + sample.samples end
  local function make(i)
    kept[i] = {i, i, i, i, i}
    local _ = {i, i, i, i, i, i, i, i, i}, {i}
  end
  collectgarbage()
  local s = memprof.start {rate = 0.3, depth = 4, callbacks = {
    alloc_young = function(sample)
      if sample.kind ~= "array part" then return end
      count(allocated, sample)
      return sample
    end,
    alloc_old = function() end, -- a part of what is old
    promote = function(sample) count(promoted, sample) return sample end,
    dealloc_young = function(sample) count(young, sample) end,
    dealloc_old = function(sample) count(old, sample) end}}
  coroutine.wrap(function() for i = 1, rounds do make(i) end end)()
  s:stop(flush)
  profile.settle()
  local sizes = {}
  for words in pairs(allocated) do sizes[#sizes + 1] = words end
  table.sort(sizes)
  assert(#sizes == 3, #sizes)
  local small, middle, large = table.unpack(sizes)
  for _, words in ipairs(sizes) do
    assert(allocated[words] == (young[words] or 0) + (promoted[words] or 0), words)
  end
  -- (under stress a part may be moved while the table is filled)
  if not stress then
    assert(promoted[middle] == allocated[middle] and promoted[middle] > 1000 // slow)
    assert(not old[middle] and not young[middle])
    for _, words in ipairs {small, large} do
      -- what a minor collection finds in the round that made it
      assert((promoted[words] or 0) < promoted[middle] / 10, promoted[words])
    end
  end
  kept = nil
  profile.settle()
  profile.settle()
  for _, words in ipairs(sizes) do assert((old[words] or 0) == (promoted[words] or 0), words) end
  s:discard()
end

-- A block that nobody holds before is new, whatever its size: its words are what was asked
-- for, and it has at least one sample.
for _, range in ipairs {{1, 250, 30}, {300, 3000, 2}, {30000 // slow, 30000 // slow, 20}} do
  local from, to, count = table.unpack(range)
  local blocks = 0
  local s = memprof.start {rate = 0.01, callbacks = {
    alloc_young = function(sample)
      if sample.kind ~= "array part" then return end
      blocks = blocks + 1
      assert(sample.samples >= 1 and sample.samples <= sample.words)
      assert(sample.words >= from and sample.words <= 2 * to + 2, sample.words)
      assert(sample.origin == "library", sample.origin)
    end,
    alloc_old = function(sample) assert(stress or sample.kind ~= "array part") end}}
  for _ = 1, count do
    for size = from, to, slow > 1 and 37 or 7 do local _ = table.pack(table.unpack({}, 1, size)) end
  end
  s:stop(flush)
  s:discard()
  assert(blocks > 0)
end

-- What arrives in messages: nothing at rate 0; blocks of two sizes, all of that origin; all are
-- promoted while they are held, and die old.
do
  local channel = domain.channel()
  local function tree(n) return n < 2 and {} or {tree(n // 2), tree(n - n // 2)} end
  local n = 500 // slow
  local s = memprof.start {rate = 0, callbacks = {alloc_young = error, alloc_old = error}}
  channel:send(tree(n))
  local held = channel:receive()
  s:stop(flush)
  s:discard()
  held = nil
  channel:send(tree(n))
  collectgarbage()
  local words, allocs, promoted, young, old = {}, 0, 0, 0, 0
  s = memprof.start {rate = 1, callbacks = {
    alloc_young = function(sample)
      if sample.origin ~= "message" then return end
      if sample.kind ~= "message" then words[sample.kind] = sample.words end
      allocs = allocs + 1
      return sample.kind
    end,
    alloc_old = function() end,
    promote = function(kind) promoted = promoted + 1 return kind end,
    dealloc_young = function() young = young + 1 end,
    dealloc_old = function() old = old + 1 end}}
  held = channel:receive()
  s:stop(flush)
  assert(allocs >= 2 * n - 1 and words.table == 6 and words["array part"] <= 4)
  profile.settle()
  local message = young + old -- the message itself is none of the program's blocks
  assert((stress or message <= 1) and promoted >= allocs - message, promoted)
  held = nil
  profile.settle()
  profile.settle()
  assert(young + old == allocs and old == promoted, old)
  s:discard()
end

-- What the callback of a promotion returns is the value from then on; nil ends the tracking.
do
  local kept, promoted, died = {}, 0, 0
  for i = 1, 40 do kept[i] = false end
  local blocks = 0
  collectgarbage()
  local s = memprof.start {rate = 1, callbacks = {
    alloc_young = function(sample)
      if sample.kind ~= "table" then return end
      blocks = blocks + 1
      return blocks
    end,
    alloc_old = function() end,
    promote = function(n) promoted = promoted + 1 return n % 2 == 0 and -n or nil end,
    dealloc_old = function(n) assert(n < 0 and n % 2 == 0) died = died + 1 end}}
  for i = 1, 40 do kept[i] = {} end
  s:stop(flush)
  profile.settle()
  assert(blocks == 40 and promoted == 40)
  kept = nil
  profile.settle()
  profile.settle()
  assert(died == 20 and promoted == 40, died)
  s:discard()
end

-- Callbacks that force a collection at each 100th allocation and each 1097th promotion, and
-- others that make 250 arrays while tracking is off: the sums hold, and what they make is not
-- sampled.
do
  local collections, arrays = 0, 0
  local kept = {}
  for i = 1, 1000 do kept[i] = false end
  local function work(n, every)
    if n % every == 0 then
      collections = collections + 1
      collectgarbage "step"
    elseif n % every == 1 then
      for size = 1, 250 do local _ = table.pack(table.unpack({}, 1, size)) end
      arrays = arrays + 1
    end
  end
  local n, promotions = stress and 300 or 20000 // slow, 0
  local function make() for i = 1, n do kept[i % 1000 + 1] = {i, {i}} end end
  local p = profile.start(0.5, {
    alloc = function(sample, n)
      work(n, 100)
      assert(sample.kind == "stack part" or sample.words <= 64, sample.words)
    end,
    promote = function()
      promotions = promotions + 1
      work(promotions, 1097)
    end})
  coroutine.wrap(make)()
  p:stop()
  local figures = p.sampler:snapshot()
  assert(p.samples == figures.samples and figures.lost == 0)
  assert(collections > 3 and arrays > 3)
  kept = nil
  profile.settle()
  profile.settle()
  assert(p.young + p.old == p.allocs and p.allocs > n // 2, p.allocs)
  p:discard()
end

-- An error for a block of an old owner arrives at the instruction that made it grow; the
-- program catches it and goes on.
do
  local t = {}
  collectgarbage()
  collectgarbage() -- it is old
  local raised = 0
  local s = memprof.start {rate = 1, callbacks = {alloc_old = function(sample)
    if sample.kind ~= "array part" then return end
    raised = raised + 1
    if raised == 1 then error "of an old block" end
  end}}
  local reached = 0
  local ok, message = pcall(function()
    for i = 1, 100 do t[i] = i reached = i end
  end)
  assert(not ok and message:find "of an old block" and reached < 100 and memprof.is_sampling())
  for i = 1, 100 do t[i] = i end
  s:stop(flush)
  assert(raised > 1 and #t == 100)
  s:discard()
end
