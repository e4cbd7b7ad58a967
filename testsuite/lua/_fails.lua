-- SPDX-License-Identifier: MIT
-- fails(text, f, ...): f raises an error that says this text.
return function(text, f, ...)
  local ok, message = pcall(f, ...)
  assert(not ok, "no error")
  message = tostring(message)
  if not message:find(text, 1, true) then
    error("'" .. message .. "' does not say '" .. text .. "'", 2)
  end
end
