-- SPDX-License-Identifier: MIT
-- memprof.retain: who holds what was allocated at a site that is known.
local memprof = require "saros.memprof"
assert(memprof.retain == require "saros.retain".report)

local slowness = tonumber(os.getenv "TEST_SLOWNESS" or "1")
local N = slowness >= 20 and 30 or 1000

assert(#memprof.retain {top = 1}.sites == 0) -- nothing is sampled

local function made_here(i) return {i, {i}} end -- line 11

local sampler = memprof.start {rate = 1}
KEPT = {first = {}}
for i = 1, N do KEPT.first[i] = made_here(i) end
collectgarbage()
local report = memprof.retain {top = 1000, kind = "retain_sites.lua:11"}
sampler:stop()

-- A site is a stack: the function, and the loop that called it. Its tables and their parts are
-- blocks of one site each or together; what is in a table is held as its owner is.
local blocks, bytes, shapes = 0, 0, {}
for _, site in ipairs(report.sites) do
  assert(site.site:find("retain_sites.lua:11", 1, true), site.site)
  assert(site.objects > 0 and site.bytes > 0 and site.more_holders >= 0)
  blocks, bytes = blocks + site.objects, bytes + site.bytes
  local sum = 0
  for _, h in ipairs(site.holders) do
    shapes[h.shape] = (shapes[h.shape] or 0) + h.objects
    sum = sum + h.bytes
  end
  assert(site.more_holders > 0 or sum == site.bytes)
end
assert(blocks >= 2 * N, blocks)
assert((shapes["_G.KEPT.first[*]"] or 0) >= N)
assert((shapes["_G.KEPT.first[*][*]"] or shapes["_G.KEPT.first[*]+"] or 0) >= N)
for shape in pairs(shapes) do assert(shape:find("^_G%.KEPT%.first%[%*%]"), shape) end
assert(bytes >= 2 * N * 16)

-- what is not held is not among them
KEPT = nil
collectgarbage()
collectgarbage()
for _, site in ipairs(memprof.retain {top = 1000, kind = "retain_sites.lua:11"}.sites) do
  for _, h in ipairs(site.holders) do assert(not h.shape:find("KEPT", 1, true), h.shape) end
end
sampler:discard()
