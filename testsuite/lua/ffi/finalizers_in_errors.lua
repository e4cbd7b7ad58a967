-- SPDX-License-Identifier: MIT
-- Making the message of a wrong declaration collects. Finalizers that declare or derive types
-- run after the types of the wrong text have been undone, not in the midst of it.
local ffi = require "saros.ffi"
local n, kept, objects, metatable = 0, {}, {}
for i = 1, 200 do objects[i] = ffi.new("struct { int a" .. i .. "; }") end
metatable = {__gc = function()
  n = n + 1
  if n % 2 == 0 then ffi.typeof("struct { int a" .. n .. "; } *") end
  if objects[n] then kept[#kept + 1] = ffi.addressof(objects[n]) end
  setmetatable({}, metatable)
end}
for _ = 1, 50 do setmetatable({}, metatable) end
for i = 1, 60000 // (tonumber(os.getenv "TEST_SLOWNESS") or 1) do
  assert(not pcall(ffi.cdef, "int x y" .. ("z"):rep(100) .. i))
end
for i = 1, 40 do ffi.typeof("struct { double d" .. i .. "[7]; }") end
for _, pointer in ipairs(kept) do assert(tostring(pointer):find "struct") end
print(n > 0 and "ok" or "no finalizer ran")
