-- SPDX-License-Identifier: MIT
-- Functions of C that module ffi calls are rows of a profile of calls, and so are the functions
-- of Lua that they call back.
local fixture = require "_fixture"
local profile = require "saros.profile"
local ffi, lib = fixture.ffi, fixture.lib
ffi.cdef [[
int call_int(int (*f)(int), int v);
int call_many_times(int (*f)(int), int n);
]]
local function rows(p)
  local found = {}
  for _, row in ipairs(p:stop():report().rows) do found[row.name] = row end
  return found
end

local function back(v) return v + 1 end
local function fails() error "in a callback" end
local p = profile.start()
for i = 1, 3 do assert(lib.call_int(back, i) == i + 1) end
lib.call_many_times(back, 20)
assert(not pcall(lib.call_int, fails, 1))
local r = rows(p)
assert(r["ffi:call_int"].count == 4 and r["ffi:call_many_times"].count == 1)
assert(r.back.count == 23 and r.fails.count == 1)
assert(r["ffi:call_many_times"].inclusive >= r["ffi:call_many_times"].exclusive)

-- begun and ended within a callback: what surrounds it began before
local function begin(v) p = profile.start() back(v) return v end
assert(lib.call_int(begin, 5) == 5)
local function over(v) r = rows(p) return back(v) end
assert(lib.call_int(over, 5) == 6)
assert(r.begin.began_before == 1 and r["ffi:call_int"].began_before == 1)
assert(r.begin.count == 0 and r["ffi:call_int"].count == 1 and r.back.count == 1 and r.over.count == 1)
