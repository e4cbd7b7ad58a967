-- SPDX-License-Identifier: MIT
-- testsuite/bench/resident.lua: this process's memory (Linux), for the benches of memory.

-- The kernel counts pages for each processor apart and adds them up now and then; what is in
-- statm is off by at most 64 pages each.
local function now()
  local file = assert(io.open("/proc/self/statm"))
  local pages = file:read("l"):match("^%d+ (%d+)")
  file:close()
  return pages * 4096
end

local function peak()
  local file = assert(io.open("/proc/self/status"))
  local kb = file:read("a"):match("VmHWM:%s*(%d+)")
  file:close()
  return kb * 1024
end

-- What was in registers and on the stack does not keep anything alive.
local function clobber(depth)
  local a, b, c, d, e, f, g, h
  if depth > 0 then clobber(depth - 1) end
  return a, b, c, d, e, f, g, h
end

-- The second call is for what finalizers held.
local function collect()
  clobber(50)
  collectgarbage()
  collectgarbage()
end

return {now = now, peak = peak, collect = collect}
