-- SPDX-License-Identifier: MIT
-- Survivors that hold memory outside the heap are promoted by a minor collection in
-- several pieces: between two of them there are some that it has not come to yet.

local ffi = require "saros.ffi"

local freed = 0
local function free() freed = freed + 1 end

local slowness = tonumber(os.getenv "TEST_SLOWNESS" or 1)
local ROUNDS, OBJECTS = 3, 20000 // slowness ^ 2
local list
for round = 1, ROUNDS do
  list = nil
  collectgarbage "stop"
  for i = 1, OBJECTS do list = {ffi.gc(ffi.new("char[8]"), free, 100), list, i} end
  collectgarbage "restart"
  for i = 1, OBJECTS do local _ = {i} end -- the pieces
end

local n = 0
while list do n, list = n + 1, list[2] end
assert(n == OBJECTS)
collectgarbage()
collectgarbage()
assert(freed == ROUNDS * OBJECTS)
