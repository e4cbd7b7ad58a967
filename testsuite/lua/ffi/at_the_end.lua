-- SPDX-License-Identifier: MIT
-- Finalizers of objects older than the module run after all others when the domain ends:
-- callbacks and C functions are still there for them.
local function finalizes(f) return setmetatable({}, {__gc = f}) end

local use
kept_until_the_end = finalizes(function() use() end)

local fixture = require "_fixture"
local ffi, lib = fixture.ffi, fixture.lib
ffi.cdef "int call_int(int (*f)(int), int v);"
local callback = ffi.cast("int (*)(int)", function(v) return v + 1 end)

function use()
  local other = ffi.cast("int (*)(int)", function(v) return v * 2 end)
  local ok = callback(5) == 6 and lib.call_int(callback, 7) == 8 and other(4) == 8
  callback:free()
  ok = ok and lib.call_int(function(v) return v - 1 end, 3) == 2
  if not ok then os.exit(false) end
end

local domain = require "saros.domain"
local results = domain.channel()
domain.spawn(function(build)
  local callback
  kept_until_the_end = setmetatable({}, {__gc = function() results:send(callback(5)) end})
  callback = require "saros.ffi".cast("int (*)(int)", function(v) return v + 1 end)
end):join()
assert(results:receive(10) == 6)
