-- SPDX-License-Identifier: MIT
-- domain.pool: a parallel map over a list.
local domain = require "saros.domain"

local pool = domain.pool(3)
assert(pool:size() == 3)

-- results in order, whatever the order of the work
do
  local list = {}
  for i = 1, 500 do list[i] = i end
  local factor = 2
  local r = pool:map(function(v, i) return v * factor + (i - v) end, list)
  assert(#r == 500)
  for i = 1, 500 do assert(r[i] == 2 * i) end
  assert(#pool:map(function() end, {}) == 0)
  r = pool:map(function(v) return {v, name = "x"} end, {1, 2})
  assert(r[1][1] == 1 and r[2].name == "x")
end

-- progress, in the caller
do
  local seen, calls = {}, 0
  pool:map(function(v) return v end, {"a", "b", "c", "d"}, function(done, total, index)
    calls = calls + 1
    assert(done == calls and total == 4 and not seen[index])
    seen[index] = true
  end)
  assert(calls == 4 and #seen == 4)
end

-- errors name the task, with its traceback; the pool goes on
do
  local list = {}
  for i = 1, 100 do list[i] = i end
  local ok, message = pcall(pool.map, pool,
    function(v) if v == 42 then error("cannot do it") end end, list)
  assert(not ok and
    message:find("^task 42: .*pool.lua:%d+: cannot do it\nstack traceback:"), message)
  ok, message = pcall(pool.map, pool, function(v) error({}) end, {1})
  assert(not ok and message:find("^task 1: table: "), message)
  assert(pool:map(function(v) return v + 1 end, {1})[1] == 2)
end

-- closing
pool:close()
assert(domain.count() == 1)
do
  local p <close> = domain.pool(2, {memory = 16 << 20})
  assert(p:map(function(v) return domain.self().name:sub(1, 5) end, {1})[1] == "pool ")
  local named <close> = domain.pool(2, {name = "resizer"})
  assert(named:map(function(v) return domain.self().name end, {1})[1]:find "^resizer [12]$")
end
assert(domain.count() == 1)
assert(domain.pool():size() == domain.cpus())

-- a worker that runs out of memory takes no other with it
do
  local p = domain.pool(2, {memory = 8 << 20})
  local ok, message = pcall(p.map, p, function(v)
    local t = {}
    for i = 1, v do t[i] = {i} end
    return #t
  end, {10, 1e8, 20})
  assert(not ok and message:find("not enough memory", 1, true), message)
  assert(p:map(function(v) return v end, {7})[1] == 7)
  p:close()
end
