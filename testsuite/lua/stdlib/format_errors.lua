-- SPDX-License-Identifier: MIT
-- string.format: what it refuses, and how.

local function fails(expected, ...)
  local ok, message = pcall(string.format, ...)
  assert(not ok, (...))
  assert(message:find(expected, 1, true), message)
end

-- conversions that do not exist
fails("invalid conversion '%y' to 'format'", "%y", 1)
fails("invalid conversion '%' to 'format'", "abc%", 1)
fails("invalid conversion '%10' to 'format'", "%10", 1)
fails("invalid conversion '%0.34F' to 'format'", "%0.34F", 1)
fails("invalid conversion '%l' to 'format'", "%ld", 1)
fails("invalid conversion '%5%' to 'format'", "%5%", 1)

-- modifiers that do not fit
for _, spec in ipairs { "%-+ #0d", "%#i", "%+x", "% x", "%+u", "%#u", "%0c", "%.3c", "%+c", "%010s",
  "%+s", "%#s", "%.3p",
  "%0p", "%123d", "%.123d", "%100s", "%..5d", "%5.5.5d", "%5-d", "%01.100f" } do
  fails("invalid conversion specification: '" .. spec .. "'", spec, 65)
end
fails("invalid format (too long)", "%" .. ("-"):rep(30) .. "d", 1)
fails("invalid format (too long)", "%0000000000000000000000000000123456789d", 1)
assert(string.format("%" .. ("-"):rep(20) .. "d", 3) == "3")
fails("specifier '%q' cannot have modifiers", "%10q", "x")

-- arguments
fails("bad argument #2 to 'string.format' (no value)", "%d")
fails("bad argument #3 to 'string.format' (no value)", "%d%%%d", 1)
fails("(no value)", "%q")
fails("number has no integer representation", "%d", 1.5)
fails("number has no integer representation", "%x", 2 ^ 63)
fails("number has no integer representation", "%c", "1.5")
fails("number expected, got string", "%d", "x")
fails("number expected, got table", "%f", {})
fails("string contains zeros", "%10s", "a\0b")
fails("string contains zeros", "%.1s", "a\0b")
fails("value has no literal form", "%q", {})
fails("value has no literal form", "%q", print)
fails("'__tostring' must return a string", "%s",
  setmetatable({}, { __tostring = function() return {} end }))
fails("string expected, got table", {})

-- errors from __tostring pass through a half-built result
local boom = setmetatable({}, { __tostring = function() error("boom", 0) end })
fails("boom", ("x"):rep(5000) .. "%s", boom)
print "OK"
