-- SPDX-License-Identifier: MIT
-- collectgarbage("count") is correct: what it grows by is what the process's
-- resident memory grows by, within a third and 6 MB: a nursery, lines that are
-- partly used, the intern table, which is not part of the heap.

local status = io.open("/proc/self/status")
if not status then return end
status:close()

local slowness = tonumber(os.getenv("TEST_SLOWNESS") or 1)
if slowness > 1 then return end -- where everything is malloc's or poisoned, memory is another

local function resident() -- KiB
  local file <close> = io.open("/proc/self/status")
  return tonumber(file:read("a"):match("VmRSS:%s*(%d+)"))
end

local function grows(name, make)
  collectgarbage()
  local count, rss = collectgarbage("count"), resident()
  local held = make()
  collectgarbage()
  count, rss = collectgarbage("count") - count, resident() - rss
  assert(count > 8000, name .. ": grows by too little to compare")
  assert(math.abs(rss - count) < count / 3 + 6000,
    string.format("%s: counted %.0f KiB, resident %d KiB", name, count, rss))
  return held
end

local records = grows("records", function()
  local t = {}
  for i = 1, 200000 do t[i] = { i, i } end
  return t
end)
local text = grows("a long string", function() return ("x"):rep(20000000) end)
local strings = grows("strings", function()
  local t = {}
  for i = 1, 200000 do t[i] = "a string of its own, longer than forty bytes " .. i end
  return t
end)
local array = grows("an array", function()
  local t = {}
  for i = 1, 1000000 do t[i] = i end
  return t
end)

-- and what is dropped leaves it
local before = collectgarbage("count")
records, text, strings, array = nil, nil, nil, nil
collectgarbage()
assert(collectgarbage("count") < before / 4)
