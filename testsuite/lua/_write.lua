-- SPDX-License-Identifier: MIT
-- write(name, text): makes the file, of these bytes.
return function(name, text)
  local file = assert(io.open(name, "wb"))
  assert(file:write(text))
  assert(file:close())
end
