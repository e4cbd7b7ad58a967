-- SPDX-License-Identifier: MIT
local counter = require "counter"
local c = counter.new(3)
assert(c:add(4) == 7 and tostring(c) == "|||||||")
local seen
local d = counter.new(0, function(n) seen = coroutine.yield(n) end)
local co = coroutine.wrap(function() return d:add(5) end)
assert(co() == 5)
local sum, yielded = co("back")
assert(sum == 5 and yielded == true and seen == "back")
local ok, message = pcall(c.add, io.stdout, 1)
assert(not ok and message:find("counter expected, got FILE*", 1, true), message)
ok, message = pcall(function() c:add() end)
assert(message:find("bad argument #1 to 'add' (number expected, got no value)", 1, true), message)
return tostring(c) .. (name or "")
