-- SPDX-License-Identifier: MIT
-- A profile of calls gives 131,072 functions of a domain a number; those that are called first
-- after that are "(other)", also in later profiles. Each call is counted.
if (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 4 then return end -- too many for a stress build
local profile = require "saros.profile"
local NUMBERS <const> = 1 << 17
local PART <const> = 200

-- Functions that have not been called before.
local source = "return {" .. ("function() end,"):rep(PART) .. "}"

local function known() end

local function calls_of_new(count)
  local p = profile.start { budget = 128 << 20 }
  known()
  local called = 0
  while called < count do
    for _, f in ipairs(load(source, "=many")()) do f() end
    called = called + PART
  end
  p:stop()
  local named, other = 0, 0
  for _, row in ipairs(p:report().rows) do
    if row.source == "many" and row.line == 1 then named = named + row.count end
    if row.name == "(other)" then other = other + row.count end
  end
  return called, named, other
end

local function assert_counts(count, most_other)
  local called, named, other = calls_of_new(count)
  -- main chunks of the parts, too; there is nothing else but a few functions of this file
  assert(named + other >= called and named + other <= called + called // PART + 100,
         ("%d calls: %d named, %d others"):format(called, named, other))
  return named, other
end

local named, other = assert_counts(1000)
assert(other == 0)
named, other = assert_counts(NUMBERS + 10000)
assert(named > NUMBERS - 10000 and named < NUMBERS and other > 10000,
       ("%d named, %d others"):format(named, other))
named, other = assert_counts(1000)
assert(named == 0 and other >= 1000, ("%d named, %d others"):format(named, other))

-- what has a number keeps it
local p = profile.start()
known()
p:stop()
for _, row in ipairs(p:report().rows) do
  if row.name == "known" then named = named + row.count end
end
assert(named == 1, named)
