-- SPDX-License-Identifier: MIT
-- The limit of a domain's memory: an error in that domain alone.
local domain = require "saros.domain"
local limit = 8 << 20

local function run(f, ...)
  return pcall(function(...) return domain.spawn({memory = limit}, f, ...):join() end, ...)
end
local function is_memory_error(ok, message)
  return not ok and message:find("not enough memory", 1, true) ~= nil
end

-- many small objects; growing tables; strings; one that is too large at once; code
assert(is_memory_error(run(function() local t = {} for i = 1, 1e8 do t[i] = {i} end end)))
assert(is_memory_error(run(function() local t = {} for i = 1, 1e8 do t[i] = i end end)))
assert(is_memory_error(run(function() local s = "x" while true do s = s .. s end end)))
assert(is_memory_error(run(function() return #("x"):rep(1 << 26) end)))
assert(is_memory_error(run(function()
  local t = {} for i = 1, 1e8 do t[i] = load("return " .. i) end end)))
-- what arrives from elsewhere counts
assert(is_memory_error(run(function(s) return #s end, ("x"):rep(1 << 26))))

-- garbage does not count
local n = 200000 // (tonumber(os.getenv "TEST_SLOWNESS") or 1)
assert(select(2, run(function(n)
  local t = {}
  for i = 1, n do t[i % 100] = {i, {i}} end
  local large = 0
  for i = 1, 40 do large = large + #("x"):rep(1 << 20) end
  return large
end, n)) == 40 << 20)

-- it can be caught, and the domain goes on
local ok, caught, message, after = run(function()
  local ok, message = pcall(function() local t = {} for i = 1, 1e8 do t[i] = {i} end end)
  local t = {}
  for i = 1, 10000 do t[i] = {i} end
  return ok, message, #t
end)
assert(ok and not caught and message == "not enough memory" and after == 10000)

-- others go on; a limit too small even for the libraries is reported by join
local other = domain.spawn(function(c) return c:receive() end, domain.channel())
other:cancel()
assert(is_memory_error(pcall(function() domain.spawn({memory = 1000}, function() end):join() end)))
assert(not pcall(other.join, other))
