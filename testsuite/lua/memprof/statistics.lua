-- SPDX-License-Identifier: MIT
-- Each word is sampled with the probability asked for, independently of what it is a part
-- of: sums within 5.7 standard deviations (one failure in 1e8), sizes by chi-square. The
-- seed is random and printed when something fails; SAROS_MEMPROF_SEED sets it.

local memprof = require "saros.memprof"
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1)

-- Samples, and by the number of words of a block, samples and blocks.
local function run(rate, f)
  local samples, by_words = 0, {}
  local function alloc(sample)
    samples = samples + sample.samples
    by_words[sample.words] = (by_words[sample.words] or 0) + sample.samples
  end
  local s = memprof.start {rate = rate, depth = 4,
                           callbacks = {alloc_young = alloc, alloc_old = alloc}}
  f()
  s:stop {flush = true}
  local figures = s:snapshot()
  assert(samples == figures.samples and figures.lost == 0)
  s:discard()
  return samples, figures.words, by_words, figures.seed
end

local function check(name, rate, f)
  local n, words, _, seed = run(rate, f)
  local deviation = math.sqrt(words * rate * (1 - rate)) + 1e-9
  assert(math.abs(n - words * rate) <= 5.7 * deviation + 0.5,
    ("%s at %g: %d samples of %d words, seed %d"):format(name, rate, n, words, seed))
end

-- small blocks, large ones, lists
local function arrays(from, to, count)
  return function()
    for _ = 1, count do
      for size = from, to, slow > 1 and 7 or 1 do local _ = table.pack(table.unpack({}, 1, size)) end
    end
  end
end
local function list(length, count)
  return function()
    for _ = 1, count do
      local l
      for i = 1, length do l = {i, l} end
    end
  end
end
for _, rate in ipairs {1e-4, 1e-2, 0.9} do
  check("arrays", rate, arrays(1, 250, 10 // slow + 1))
  check("large arrays", rate, arrays(600, 3000, slow > 1 and 1 or 2))
end
for _, rate in ipairs {1e-5, 1e-4, 0.01, 0.9} do
  check("arrays of 300 to 3000", rate, function()
    for size = 300, 3000, 20 * slow do local _ = table.pack(table.unpack({}, 1, size)) end
  end)
end
check("arrays of 300", 0.1, arrays(300, 300, 2000 // slow))
check("arrays of 300,000", 0.1, function()
  for _ = 1, 5 // slow + 1 do
    local t = table.move({}, 1, 0, 1)
    for i = 1, 300000 // slow do t[i] = i end
  end
end)

-- What arrives in messages: trees of many small blocks, and of large ones.
do
  local c = require "saros.domain".channel()
  local function tree(n)
    if n < 2 then return {n} end
    return {tree(n // 2), name = "leaf", tree(n - n // 2)}
  end
  for _, rate in ipairs {1e-4, 0.01, 0.1, 0.9} do
    check("messages", rate, function()
      for size = 2, 600, 20 * slow do
        c:send(tree(size))
        local _ = c:receive()
      end
      c:send(tree(20000 // slow))
      local _ = c:receive()
    end)
  end
end

for _, rate in ipairs {1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.9} do
  check("lists", rate, list(10, (rate < 0.1 and 20000 or 3000) // slow))
end
check("one long string", 0.1, function() local _ = ("x"):rep(10000000 // slow) end)
check("one long string at a low rate", 1e-4, function() local _ = ("x"):rep(10000000 // slow) end)

-- Blocks that one instruction makes, each by itself: a table with both parts.
for _, rate in ipairs {0.42, 0.01, 0.83} do
  local n = 20000 // slow
  local kinds = {}
  local s = memprof.start {rate = rate, callbacks = {alloc_young = function(sample)
    kinds[sample.kind] = (kinds[sample.kind] or 0) + sample.samples
  end}}
  for i = 1, n do local _ = {i, i, i, x = i, y = i} end
  s:stop {flush = true}
  local words = {table = 6, ["array part"] = 6, ["hash part"] = 6}
  if slow >= 20 then words = {table = 6} end -- a stress build makes new parts for each field
  for kind, size in pairs(words) do
    local got, mean = kinds[kind] or 0, size * n * rate
    assert(math.abs(got - mean) <= 5.7 * math.sqrt(mean * (1 - rate)) + 1,
      ("%s at %g: %g samples instead of %g, seed %d"):format(kind, rate, got, mean,
        s:snapshot().seed))
  end
  s:discard()
end

-- The number of samples in a block of w words is binomial: P(k = 0) of 6 words.
do
  local n, rate, seen = 30000 // slow, 0.3, {}
  local s = memprof.start {rate = rate, callbacks = {alloc_young = function(sample)
    if sample.kind == "table" then seen[sample.samples] = (seen[sample.samples] or 0) + 1 end
  end}}
  for _ = 1, n do local _ = {} end
  s:stop {flush = true}
  local choose, chi, total = {[0] = 1, 6, 15, 20, 15, 6, 1}, 0, 0
  for k = 1, 6 do total = total + (seen[k] or 0) end
  seen[0] = n - total
  for k = 0, 6 do
    local expected = n * choose[k] * rate ^ k * (1 - rate) ^ (6 - k)
    chi = chi + ((seen[k] or 0) - expected) ^ 2 / expected
  end
  assert(chi < 49, ("chi-square %g, seed %d"):format(chi, s:snapshot().seed)) -- 6 degrees: 1e-8
  s:discard()
end
