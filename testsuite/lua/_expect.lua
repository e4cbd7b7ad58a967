-- SPDX-License-Identifier: MIT
-- expect(message, f, ...): f raises just this message, behind the place where it was
-- raised.
return function(message, f, ...)
  local ok, got = pcall(f, ...)
  assert(not ok, message)
  got = got:gsub("^[^:]+:%d+: ", "")
  assert(got == message, ("%q instead of %q"):format(got, message))
end
