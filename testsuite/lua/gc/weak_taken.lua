-- SPDX-License-Identifier: MIT
-- Objects in two tables, weak in both. Between two steps that clear the values of one,
-- the program takes what is still there: the other table, which comes later, still has
-- it, and its key there, a string without other references, is whole too.
local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1
local entries = slow and 2000 or 40000
local EVERY = entries // 50 -- entries that are read

-- Old when the cycle begins; not in the registers of its callers, where they might
-- linger.
local function fill(named, numbered)
  local all = {}
  for i = 1, entries do
    local object = { i }
    all[i], named["name " .. i], numbered[i] = object, object, object
  end
  collectgarbage()
end

local function some_are_gone(numbered)
  for i = 1, entries, EVERY do
    if numbered[i] == nil then return true end
  end
  return false
end

local function take_all(numbered)
  local taken = {}
  for i, object in pairs(numbered) do taken[#taken + 1] = object end
  return taken
end

local named, numbered = setmetatable({}, { __mode = "kv" }), setmetatable({}, { __mode = "kv" })
fill(named, numbered)
collectgarbage "stop"
local taken, ended
repeat
  ended = collectgarbage("step", 1)
  if not taken and some_are_gone(numbered) then taken = take_all(numbered) end
until ended
collectgarbage "restart"
collectgarbage() -- and what is dead now is gone
local churn, n = {}, 0
for i = 1, entries do churn[i] = "other " .. i end -- in its place
for key, object in pairs(named) do
  assert(key == "name " .. object[1] and named[key] == object)
  n = n + 1
end
assert(slow or taken and #taken > 0 and n >= #taken, "some were gone, some were not")
for _, object in ipairs(taken or {}) do assert(named["name " .. object[1]] == object) end
