-- SPDX-License-Identifier: MIT
-- A domain that waits uses no processor time: what it spins is bounded, and it stops
-- trying where that does not help.
local domain = require "saros.domain"

local function processor_ms()
  local file = io.open("/proc/thread-self/schedstat")
  if file == nil then return nil end -- a kernel that does not count
  local ns = file:read("n")
  file:close()
  return ns / 1e6
end
if processor_ms() == nil then os.exit(true) end

-- one long wait, and many that are too long for spinning
local function wait(channel)
  local begin = processor_ms()
  assert(select(2, channel:receive(0.3)) == "timeout")
  local one = processor_ms() - begin
  for i = 1, 30 do assert(select(2, channel:receive(0.01)) == "timeout") end
  return one, processor_ms() - begin - one
end

local never = domain.channel()
local function check(one, many)
  assert(one < 100, "one wait of 300 ms used " .. one .. " ms")
  assert(many < 100, "30 waits of 10 ms used " .. many .. " ms")
end
check(domain.spawn(wait, never):join())

-- also beside others that do the same, more than there are processors
local handles = {}
for i = 1, domain.cpus() + 2 do handles[i] = domain.spawn(wait, never) end
for _, h in ipairs(handles) do check(h:join()) end

-- and waiting for one that computes
local busy = domain.spawn(function()
  local till = domain.now() + 0.3
  repeat until domain.now() > till
end)
local begin = processor_ms()
busy:join()
assert(processor_ms() - begin < 100)
