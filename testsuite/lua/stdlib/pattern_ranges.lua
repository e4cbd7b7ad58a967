-- SPDX-License-Identifier: MIT
-- Ranges in sets: with bounds at the ends of words of 64 bytes, and empty ones.
local bounds = {0, 1, 33, 62, 63, 64, 65, 100, 127, 128, 190, 191, 192, 254, 255}
for _, low in ipairs(bounds) do
  for _, high in ipairs(bounds) do
    local range = "[" .. string.char(low) .. "-" .. string.char(high) .. "]"
    for byte = 0, 255 do
      local found = string.char(byte):find(range) ~= nil
      assert(found == (byte >= low and byte <= high), range)
    end
  end
end
