-- SPDX-License-Identifier: MIT
-- A program all of whose domains wait says so.
local domain = require "saros.domain"
local a, b = domain.channel(), domain.channel()

-- two wait for each other
local h = domain.spawn({name = "other"}, function()
  a:receive()
  b:send("go on")
end)
local ok, message = pcall(b.receive, b)
assert(not ok and message:find("^deadlock: all domains wait for each other"), message)
assert(message:find("domain 0 (main) waits to receive from channel " .. b:id(), 1, true), message)
assert(message:find("(other) waits to receive from channel " .. a:id(), 1, true), message)

-- the program can go on
a:send(1)
assert(b:receive() == "go on")
h:join()

-- join is waiting, too
local h = domain.spawn({name = "stuck"}, function() return a:receive() end)
ok, message = pcall(h.join, h)
assert(not ok and message:find("domain 0 (main) waits to join domain " .. h.id, 1, true), message)
a:send("end")
assert(h:join() == "end")

-- sending and selecting
local full = domain.channel(1)
full:send(0)
h = domain.spawn(function() full:send(1) end)
ok, message = pcall(domain.select, {a, b})
assert(not ok and message:find("waits in select", 1, true) or
  message:find("orphaned", 1, true), message)
full:receive()
h:join()

-- a domain that waits until a time is no deadlock
h = domain.spawn(function() a:receive(0.05) b:send("late") end)
assert(b:receive() == "late")
h:join()
