-- SPDX-License-Identifier: MIT
-- Finalizers that are due while a library function works for long: they change what the function
-- works on, and use the same function.

local active = false
local calls, action = 0, nil
local mt = {__gc = function()
  if not active then return end
  calls = calls + 1
  action(calls)
end}

-- Runs f while finalizers wait, of which a step calls 32.
local function while_due(f, act)
  active, calls, action = false, 0, act
  collectgarbage()
  for _ = 1, 1000 do setmetatable({}, mt) end
  collectgarbage("stop")
  collectgarbage("step", 64)
  local subject = f()
  active = true
  collectgarbage("restart")
  local result = table.pack(pcall(subject))
  active = false
  return table.unpack(result, 1, result.n)
end

-- string.find: its compiled pattern stays what it is, whatever patterns finalizers use.
local function find_long()
  local text = ("a"):rep(3000) .. "cab"
  local function use_others(n)
    for i = 97, 122 do
      string.find("zz", "(.-)" .. string.char(i, 97 + n % 26) .. "$")
    end
  end
  for _ = 1, 3 do
    local ok, first, last, capture = while_due(
        function() return function() return string.find(text, "(a-)b") end end, use_others)
    assert(ok and first == #text - 1 and last == #text and capture == "a")
  end
end

-- table.sort: the strings that it compares are not freed when a finalizer puts others with the
-- same texts in their places.
local N <const> = 20000
local function sort_strings(step)
  local t = {}
  local function renew(n)
    if n ~= step * 32 + 1 then return end
    for i = 1, N do t[i] = t[i]:sub(1, -2) .. t[i]:sub(-1) end
    local others
    for i = 1, 100000 do others = {i, others and others[1]} end
  end
  local function fill()
    for i = 1, N do
      t[i] = ("the same beginning of all, and quite long %09d"):format(i * 7919 % 1000003)
    end
    return function() table.sort(t) end
  end
  assert(while_due(fill, renew))
  for i = 2, N do assert(t[i - 1] <= t[i], "not sorted") end
end

collectgarbage("generational", 100, 100)
find_long()
for step = 3, 7, 2 do sort_strings(step) end
print "ok"
