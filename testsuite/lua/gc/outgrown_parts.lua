-- SPDX-License-Identifier: MIT
-- A growing table leaves its small parts behind, between objects that live on. The next
-- table takes them; until that was so, each record here kept twice the memory it needed.

-- What is taken again must be empty, and stay apart from what it was taken from.
local slowness = tonumber(os.getenv "TEST_SLOWNESS") or 1
local rounds = slowness > 1 and 200 or 2000
local tables = {}
for round = 1, rounds do
  local t = {}
  for i = 1, round % 40 do t[i] = round; t["f" .. i] = round end
  tables[#tables + 1] = t
  if round % 100 == 0 then collectgarbage "step" end
end
for round, t in ipairs(tables) do
  local count = 0
  for _, v in pairs(t) do assert(v == round); count = count + 1 end
  assert(count == round % 40 * 2)
end

if slowness > 1 then os.exit() end -- memory is laid out otherwise there

local function resident()
  local file = io.open "/proc/self/statm"
  if not file then print "no /proc"; os.exit(77) end
  local _, pages = file:read("n", "n")
  file:close()
  return pages * 4096
end

-- Bytes of each of many objects that make() returns and that stay alive.
local function bytes_of(make)
  local n = 100000
  local all = {}
  for i = 1, n do all[i] = false end
  collectgarbage(); collectgarbage()
  local before = resident()
  for i = 1, n do all[i] = make(i) end
  collectgarbage(); collectgarbage()
  return (resident() - before) / n
end

local grown = bytes_of(function(i)
  local r = {}
  r.a = i; r.b = i; r.c = i; r.d = i
  return r
end)
local made = bytes_of(function(i) return {a = i, b = i, c = i, d = i} end)
assert(grown < 1.15 * made,
  ("a record that grew: %.0f bytes, one made at once: %.0f"):format(grown, made))

grown = bytes_of(function(i)
  local t = {}
  for j = 1, 8 do t[j] = i end
  return t
end)
made = bytes_of(function(i) return {i, i, i, i, i, i, i, i} end)
assert(grown < 1.15 * made,
  ("an array that grew: %.0f bytes, one made at once: %.0f"):format(grown, made))

-- Strings and other tables between the steps.
local mixed = bytes_of(function(i)
  local r = {}
  r.a = {}; r.b = {}; r.c = {}; r.d = {}
  return r
end)
made = bytes_of(function(i) return {a = {}, b = {}, c = {}, d = {}} end)
assert(mixed < 1.15 * made,
  ("tables that grew by tables: %.0f bytes, made at once: %.0f"):format(mixed, made))
