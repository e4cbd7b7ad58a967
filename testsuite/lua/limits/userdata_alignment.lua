-- SPDX-License-Identifier: MIT
-- Userdata of all sizes between others of odd sizes: the payload is aligned to
-- 16 bytes wherever it lands (a debug build asserts it; elsewhere code that
-- relies on it would crash). Files and the buffers of the libraries are userdata.
local keep = {}
for i = 1, 4000 do
  keep[i % 50 + 1] = {("x"):rep(i % 300), {i}}
  local parts = {}
  for j = 1, i % 30 do parts[j] = ("z"):rep(j * 90 + i % 8) end
  keep[i % 50 + 1][3] = table.concat(parts, ",") -- beyond its first size a buffer is a userdata
  if i % 200 == 0 then
    local f = assert(io.tmpfile())
    f:write(keep[i % 50 + 1][3])
    f:close()
  end
end
