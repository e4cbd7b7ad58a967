-- SPDX-License-Identifier: MIT
-- A map that is cancelled at any instruction leaves a pool that works or is closed, and
-- nothing in it of the map that ended.
local domain = require "saros.domain"
local slowness = tonumber(os.getenv "TEST_SLOWNESS" or 1)
local list = {1, 2, 3}

-- Cancels the domain n instructions from now on, and again some instructions later.
local function cancel_in(n, later)
  local me = domain.self()
  local function again()
    debug.sethook()
    me:cancel()
  end
  debug.sethook(function()
    debug.sethook()
    me:cancel()
    if later then debug.sethook(again, "", later) end
  end, "", n)
end

local function square(n) return n * n end

-- True: it was cancelled. In a coroutine, whose hook ends with it, and in which all that
-- was asked is raised.
local function map_cancelled(pool, n, later)
  local ok, message
  local run = coroutine.create(function()
    ok, message = pcall(function()
      cancel_in(n, later)
      pool:map(square, list)
    end)
    debug.sethook()
    for _ = 1, 1000 do end
  end)
  local ended, last = coroutine.resume(run)
  if not ended then ok, message = ended, last end
  assert(ok or message:find("domain was cancelled", 1, true), message)
  return not ok
end

local pool, renewed, cancelled, worked = domain.pool(1), 0, 0, 0
for _, later in ipairs {false, 1, 3, 10, 30, 100} do
  for n = 1, 1000, slowness do
    if not map_cancelled(pool, n, later) then break end
    cancelled = cancelled + 1
    local ok, result = pcall(pool.map, pool, function(v) return v + n end, list)
    if ok then
      assert(#result == 3 and result[1] == n + 1 and result[3] == n + 3)
      worked = worked + 1
    else
      assert(result:find("pool is closed", 1, true), result)
      pool:close()
      pool, renewed = domain.pool(1), renewed + 1
    end
  end
end
pool:close()
assert(slowness > 1 or (cancelled > 500 and worked > 100), cancelled .. " " .. worked)
