-- SPDX-License-Identifier: MIT
-- string.rep of results that are longer than what is written between two safepoints (1 MiB):
-- every byte is that of the string repeated, wherever within it such a piece ends.
local function by_concatenation(s, n, separator)
  local parts = {}
  for i = 1, n do parts[i] = s end
  return table.concat(parts, separator)
end

local function of_length(n)
  local bytes = {}
  for i = 1, n do bytes[i] = string.char(97 + (i * 7 + i // 26) % 26) end
  return table.concat(bytes)
end

for _, length in ipairs { 1, 2, 3, 5, 7, 64, 100, 255, 1000, 4097, 70001, 1400001 } do
  local s = of_length(length)
  for _, separator in ipairs { "", ",", ", ", "separator" } do
    local n = 3500000 // (length + #separator) + 2
    local whole = s:rep(n, separator)
    assert(#whole == n * (length + #separator) - #separator, length)
    if whole ~= by_concatenation(s, n, separator) then
      error(("%d times a string of %d bytes, separator of %d: another result"):format(n, length, #separator))
    end
  end
end

assert(("abc"):rep(873814):sub(-3) == "abc")
