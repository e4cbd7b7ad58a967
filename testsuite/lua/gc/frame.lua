-- SPDX-License-Identifier: MIT
-- collectgarbage("frame", ms): collects for so long, in both modes, also while stopped; says
-- whether work is left.

local fails = require "_fails"

local MOST = 1000000 -- frames

-- Frames of `ms` until nothing is left; returns their number.
local function frames(ms)
  for n = 1, MOST do
    if not collectgarbage("frame", ms) then return n end
  end
  error "work is left"
end

-- What is dead, with what the program goes on allocating, is found by frames alone.
local function collects(ms)
  local seen = setmetatable({}, { __mode = "v" })
  local weak_keys, finalized = setmetatable({}, { __mode = "k" }), 0
  local keep = {}
  for i = 1, 20000 do keep[i] = { i, tostring(i), { i } } end
  do
    local dead = { {} }
    seen[1], weak_keys[dead[1]] = dead[1], dead
    setmetatable({}, { __gc = function() finalized = finalized + 1 end })
  end
  for _ = 1, MOST do
    for i = 1, 100 do keep[math.random(#keep)] = { i, tostring(i), { i } } end
    collectgarbage("frame", ms)
    if seen[1] == nil and next(weak_keys) == nil and finalized == 1 then break end
  end
  assert(seen[1] == nil and next(weak_keys) == nil and finalized == 1)
  for i = 1, 20000 do assert(#keep[i] == 3 and keep[i][2] == tostring(keep[i][1])) end
end

do -- results and arguments
  assert(type(collectgarbage("frame", 1)) == "boolean")
  fails("number expected, got no value", collectgarbage, "frame")
  fails("number expected, got string", collectgarbage, "frame", "soon")
  local before = collectgarbage("count")
  for _, nothing in ipairs { 0, -1, -1e300, 0 / 0, -math.huge, 0.0001 } do
    assert(type(collectgarbage("frame", nothing)) == "boolean")
  end
  -- no time, no work (but a stress build goes on with a collection that is under way)
  assert(collectgarbage("count") >= before or tonumber(os.getenv "TEST_SLOWNESS" or 1) >= 20)
  assert(collectgarbage("frame", 1e300) == false and collectgarbage("frame", math.huge) == false)
end

for _, mode in ipairs { "generational", "incremental" } do
  collectgarbage(mode)
  for _, running in ipairs { "restart", "stop" } do
    collectgarbage(running)
    for _, ms in ipairs { 0.5, 5 } do collects(ms) end
    assert(collectgarbage("isrunning") == (running == "restart"))
  end
  frames(1)
  assert(collectgarbage("frame", 0) == false) -- nothing was left
  local t = {}
  for i = 1, 100000 do t[i] = { i } end
  assert(collectgarbage("frame", 0) == true) -- stopped: all that is young still
  t = nil
  assert(frames(1) >= 1)
  collectgarbage("restart")
  for i = 1, 100 do frames(1) end
end

do -- a finalizer runs in a frame and must not call the collector
  collectgarbage("generational")
  local result
  setmetatable({}, { __gc = function() result = { collectgarbage("frame", 1) } end })
  for _ = 1, 1000 do
    local t = {}
    for i = 1, 1000 do t[i] = { i } end
    frames(1)
  end
  assert(result[1] == nil)
end

print "ok"
