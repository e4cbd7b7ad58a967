-- SPDX-License-Identifier: MIT
-- Each domain has types, declarations, errno and callbacks of its own.
local fixture = require "_fixture"
local ffi, lib = fixture.ffi, fixture.lib
local found, domain = pcall(require, "saros.domain")
if not found then print "no module domain" os.exit(77) end

ffi.cdef [[
  struct mine { int x; };
  int set_errno(int value);
  int call_many_times(int (*f)(int), int n);
]]
ffi.errno(7)

local function work(path, seed)
  local ffi = require "saros.ffi"
  assert(not pcall(ffi.typeof, "struct mine_too") or ffi.sizeof "struct mine" == nil)
  ffi.cdef [[
    struct mine { double a[4]; };
    int set_errno(int value);
    int call_many_times(int (*f)(int), int n);
  ]]
  local lib = ffi.load(path)
  assert(ffi.errno() == 0)
  lib.set_errno(seed)
  local sum = 0
  for i = 1, 20 do
    sum = sum + lib.call_many_times(function(v)
      local object = ffi.new("struct mine", {{v, i}})
      return object.a[0] // 1 | 0
    end, 100)
    if i % 5 == 0 then collectgarbage() end
  end
  assert(ffi.errno() == seed)
  return sum, ffi.sizeof "struct mine"
end

local path = os.getenv "BUILDDIR" .. "/testsuite/ffi/libfixture.so"
local handles = {}
for seed = 1, 4 do handles[seed] = assert(domain.spawn(work, path, seed)) end
assert(lib.call_many_times(function(v) return v end, 100) == 4950)
for seed = 1, 4 do
  local sum, size = handles[seed]:join()
  assert(sum == 20 * 4950 and size == 32, sum)
end
assert(ffi.errno() == 7 and ffi.sizeof "struct mine" == 4)
local ok, message = pcall(domain.spawn, work, path, ffi.new "int")
assert(not ok and tostring(message):find "userdata")
