-- SPDX-License-Identifier: MIT
-- Wrong arguments of the module `domain`: the exact messages.
local domain = require "saros.domain"

local expect = require "_expect"

-- Starting one, and what can be sent to it.
expect("bad argument #1 to 'domain.spawn' (function expected, got no value)", domain.spawn)
expect("bad argument #1 to 'domain.spawn' (function expected, got number)", domain.spawn, 1)
expect("bad argument #2 to 'domain.spawn' (function expected, got no value)", domain.spawn, {})
expect("bad argument #1 to 'domain.spawn' (option 'name' is not a string)", domain.spawn,
  { name = 5 }, print)
expect("bad argument #1 to 'domain.spawn' (no option 'memory_limit')", domain.spawn,
  { memory_limit = 1 }, print)
for _, memory in ipairs { "x", -1, 0.5 } do
  expect("bad argument #1 to 'domain.spawn' (option 'memory' is not a number of bytes)",
    domain.spawn, { memory = memory }, print)
end
expect("bad argument #1 to 'domain.spawn' (no option 'table: 0x", function()
  local ok, message = pcall(domain.spawn, { [{}] = 1 }, print)
  error(ok or message:match "^.*0x", 0)
end)
expect("bad argument #1 to 'domain.spawn_file' (no option 'nam'; did you mean 'name'?)",
  domain.spawn_file, { nam = "x" }, "x")
expect("bad argument #2 to 'domain.pool' (no option 'memry'; did you mean 'memory'?)", domain.pool,
  1, { memry = 1 })
expect("bad argument #2 to 'domain.pool' (option 'memory' is not a number of bytes)", domain.pool,
  1, { memory = "x" })
expect("bad argument #2 to 'domain.pool' (option 'name' is not a string)", domain.pool, 1,
  { name = 5 })
expect("bad argument #2 to 'domain.pool' (table expected, got string)", domain.pool, 1, "x")
expect("bad argument #1 to 'domain.spawn_file' (string expected, got function)",
  domain.spawn_file, print)
expect("arg: cannot send a userdata", domain.spawn, print, io.stdout)
expect("arg.list[3].file: cannot send a userdata", domain.spawn, print,
  { list = { 1, 2, { file = io.stdout } } })
expect("arg, a key: cannot send a userdata", domain.spawn, print, { [io.stdout] = 1 })
expect("arg.a.b: cannot send a coroutine", domain.spawn, print,
  { a = { b = coroutine.create(print) } })
expect("arg, metatable: cannot send a table with a finalizer", domain.spawn, print,
  setmetatable({}, { __gc = print }))
local file = io.stdout
expect("function, upvalue file: cannot send a userdata", domain.spawn, function() return file end)
expect("result[2].x: cannot send a coroutine", function()
  domain.spawn(function() return 1, { x = coroutine.create(print) } end):join()
end)

-- Handles.
local handle = domain.spawn(function() return 1, nil, nil end)
assert(select("#", handle:join()) == 3 and select("#", handle:join()) == 3)
expect("bad argument #1 to '?' (domain.handle expected, got table)", handle.join, {})
expect("a domain cannot join itself", function() domain.self():join() end)
expect("attempt to index a domain.handle value (upvalue 'handle')", function() handle.x = 1 end)

-- Channels.
for _, capacity in ipairs { -1, 1 << 60 } do
  expect("bad argument #1 to 'domain.channel' (capacity out of range)", domain.channel, capacity)
end
expect("bad argument #1 to 'domain.channel' (number has no integer representation)",
  domain.channel, 1.5)
local channel = domain.channel(2)
expect("bad argument #2 to '?' (value expected)", channel.send, channel)
expect("bad argument #1 to '?' (domain.channel expected, got table)", channel.send, {}, 1)
expect("bad argument #3 to '?' (number expected, got string)", channel.send, channel, 1, "x")
expect("bad argument #2 to '?' (number expected, got string)", channel.receive, channel, "x")
expect("arg.a[1]: cannot send a userdata", channel.send, channel, { a = { io.stdout } })
expect("channel is orphaned: no other domain holds it", channel.receive, channel)
assert(channel:try_send(5) and channel:try_send(nil) and select(2, channel:try_send(7)) == "full")
assert(#channel == 2 and channel:capacity() == 2 and tostring(channel):find "^channel %d+$")
assert(not channel:is_closed())
channel:close()
channel:close()
assert(channel:is_closed())
expect("channel is closed", channel.send, channel, 1)
expect("channel is closed", channel.try_send, channel, 1)
assert(channel:receive() == 5 and channel:receive() == nil)
expect("channel is closed", channel.receive, channel)
expect("channel is closed", channel.try_receive, channel)
expect("bad argument #1 to 'domain.select' (table expected, got domain.channel)",
  domain.select, channel)
expect("bad argument #1 to 'domain.select' (list of channels expected)", domain.select, {})
expect("bad argument #1 to 'domain.select' (list of channels expected)", domain.select,
  { channel, "x" }, 1)
expect("bad argument #2 to 'domain.select' (number expected, got string)", domain.select,
  { channel }, "x")

-- Pools.
for _, n in ipairs { 0, 128, "x", 1.5 } do
  expect("bad argument #1 to 'pool' (number of domains expected)", domain.pool, n)
end
local pool = domain.pool(1)
expect("bad argument #1 to 'map' (function expected)", pool.map, pool)
expect("bad argument #2 to 'map' (table expected)", pool.map, pool, print)
expect("bad argument #3 to 'map' (function expected)", pool.map, pool, print, {}, 5)
expect("arg[1]: cannot send a userdata", pool.map, pool, print, { io.stdout })
expect("task 1 to 1: arg[1]: cannot send a userdata", pool.map, pool,
  function() return io.stdout end, { 1 })
expect("mine", pool.map, pool, function(v) return v end, { 1 }, function() error("mine", 0) end)
assert(pool:map(function(v) return v end, { 3 })[1] == 3)
pool:close()
pool:close()
expect("pool is closed", pool.map, pool, print, { 1 })
