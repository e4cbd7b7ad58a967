-- SPDX-License-Identifier: MIT
-- A service that limits the memory of each request, by the callbacks of module memprof.
--
--   saros memory-limit.lua [--limit MIB]
--
-- `limited(bytes, f, ...)` calls f and returns what it returns, or raises an error when more
-- than so many bytes of what f has allocated are alive. It samples one of a thousand words.
-- What is known to be alive is what was allocated less what has died, and deaths are found
-- by collections; so when twice the limit is known, it collects, and looks again. The error
-- appears where f allocates: it unwinds f like any other, and closes its variables.
--
-- The estimate of n bytes has a standard error of sqrt(8000 n) bytes: 3 % of 10 MB.

local memprof = require "saros.memprof"

local RATE <const> = 1e-3

local function bytes(sample) return sample.samples / RATE * 8 end

local function limited(limit, f, ...)
  local alive, collected, exceeded = 0, false, false
  local function allocated(sample)
    alive = alive + bytes(sample)
    if collected then -- and the deaths that the collection found have been called back
      collected = false
      exceeded = alive > limit
    elseif alive > 2 * limit then
      collectgarbage()
      collected = true
    end
    if exceeded then error(("more than %.1f MiB of memory"):format(limit / 2^20), 0) end
    return sample
  end
  local function died(sample) alive = alive - bytes(sample) end
  local sampler = memprof.start {rate = RATE, depth = 0, callbacks = {
    alloc_young = allocated, alloc_old = allocated, dealloc_young = died, dealloc_old = died}}
  local results = table.pack(pcall(f, ...))
  if memprof.is_sampling() then sampler:stop() end
  sampler:discard()
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

-- ---- The service ------------------------------------------------------------

local limit = 8 * 2^20
if arg[1] == "--limit" then limit = (tonumber(arg[2]) or 0) * 2^20 end
if limit <= 0 or (arg[1] and arg[1] ~= "--limit") then
  io.stderr:write("usage: memory-limit.lua [--limit MIB]\n")
  os.exit(2)
end

-- Builds much, but keeps little.
local function sum(n)
  local s = 0
  for i = 1, n do s = s + #{i, tostring(i)} end
  return s .. " items"
end

-- Keeps all that it builds.
local function list(n)
  local rows = {}
  for i = 1, n do rows[i] = {id = i, name = "row " .. i} end
  return #rows .. " rows"
end

local requests = {
  {"sum of 1,000,000", sum, 1000000}, {"list of 10,000", list, 10000},
  {"list of 1,000,000", list, 1000000}, {"list of 20,000", list, 20000},
}
for _, request in ipairs(requests) do
  local name, f, n = table.unpack(request)
  local ok, answer = pcall(limited, limit, f, n)
  print(("%-20s %s"):format(name, ok and "200 " .. answer or "507 " .. answer))
end
