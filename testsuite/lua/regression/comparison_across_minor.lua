-- SPDX-License-Identifier: MIT
-- A comparison by a metamethod in a frame that a minor collection had scanned took the
-- wrong branch: the mark of the scan and that of a negated __lt were one bit.
local mt = {}
mt.__eq = function(a, b) return a.v == b.v end
mt.__lt = function(a, b) return a.v < b.v end
mt.__le = function(a, b) return a.v <= b.v end
local function new(v) return setmetatable({v = v}, mt) end

local function compare(collect)
  local one, other, two = new(1), new(1), new(2)
  local seen = {}
  local function note(name) seen[#seen + 1] = name end
  collect()
  if one == other then note "==" end
  collect()
  if one ~= two then note "~=" end
  collect()
  if one < two then note "<" end
  collect()
  if one <= other then note "<=" end
  collect()
  if not (two <= one) then note "not <=" end
  collect()
  while two > one do note ">" break end
  collect()
  note(tostring(two >= one))
  return table.concat(seen, " ")
end

local expected = "== ~= < <= not <= > true"
assert(compare(function() end) == expected)
assert(compare(collectgarbage) == expected)
assert(compare(function() collectgarbage "step" end) == expected)
assert(compare(function() local t for i = 1, 20000 do t = {i} end end) == expected)
