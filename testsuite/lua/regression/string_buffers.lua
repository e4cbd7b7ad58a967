-- SPDX-License-Identifier: MIT
-- Memory of strings under construction: counted, limited, and given back by a full
-- collection.
local domain = require "saros.domain"
local slowness = tonumber(os.getenv "TEST_SLOWNESS" or 1)
local MIB = 1 << 20

local function kilobytes(what)
  local file <close> = io.open "/proc/self/status"
  return tonumber(file and file:read "a":match(what .. ":%s*(%d+)"))
end

-- It counts while it is in use
do
  local before, during = collectgarbage "count"
  local text = ("x"):rep(4 * MIB)
  collectgarbage()
  before = collectgarbage "count"
  text:gsub("x$", function() during = collectgarbage "count" end)
  assert(during - before > 4000, during - before)
  collectgarbage()
  assert(math.abs(collectgarbage "count" - before) < 100)
end

-- A domain with a limit has none in which to exceed it
local ok, message = domain.spawn({memory = 16 * MIB}, function()
  for _ = 1, 3 do
    assert(not pcall(string.rep, "x", 300 << 20))
    assert(#("x"):rep(4 << 20) == 4 << 20)
  end
end):join()
assert(ok == nil, message)
if slowness == 1 and kilobytes "VmHWM" then
  assert(kilobytes "VmHWM" < 100 * 1024, kilobytes "VmHWM")
end

-- What is left of long ones goes back to the system
if slowness == 1 and kilobytes "VmRSS" then
  local name = os.tmpname()
  local file = io.open(name, "w")
  for i = 1, 18 do file:write((("%d "):format(i):rep(350000))) end
  file:close()
  collectgarbage()
  local before = kilobytes "VmRSS"
  for _ = 1, 5 do
    local f <close> = io.open(name)
    assert(#f:read "a" > 10 * MIB)
  end
  os.remove(name)
  collectgarbage()
  collectgarbage()
  assert(kilobytes "VmRSS" < before + 3000, kilobytes "VmRSS" - before)
end
