-- SPDX-License-Identifier: MIT
-- Module ffi and the library of testsuite/ffi/fixture.c; skips where there is no ffi.
local found, ffi = pcall(require, "saros.ffi")
if not found then
  print("built without libffi")
  os.exit(77)
end
local fixture = {ffi = ffi, lib = ffi.load(os.getenv("BUILDDIR") .. "/testsuite/ffi/libfixture.so")}

-- f(...) raises an error whose text contains `text`.
function fixture.fails(text, f, ...)
  local ok, message = pcall(f, ...)
  assert(not ok, "no error")
  message = tostring(message)
  if not message:find(text, 1, true) then
    error("'" .. message .. "' does not say '" .. text .. "'", 2)
  end
end

return fixture
