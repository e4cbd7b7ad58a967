-- SPDX-License-Identifier: MIT
-- Young coroutines with deep stacks that a minor collection reaches last: as values of
-- ephemerons, or through dead objects with finalizers. A step scans some slots of such a stack;
-- what the others refer to must survive until the next step.

local LEVELS <const> = 2000
local TOP <const> = 100 -- only the innermost levels make something

local function deep(level)
  local a, b, c, d, e, f, g, h
  if level < TOP then a, h = {level}, {level} end
  if level > 0 then deep(level - 1) else coroutine.yield() end
  if level < TOP then assert(a[1] == level and h[1] == level, "a table was reclaimed") end
  return a, b, c, d, e, f, g, h
end

local function new_deep()
  local co = coroutine.wrap(deep)
  co(LEVELS)
  return co
end

local function churn()
  local others = {}
  for i = 1, 100000 do others[i % 100] = {i} end
end

local function collect_young()
  for _ = 1, 4 do collectgarbage("step", 64) end
  collectgarbage("restart")
  churn()
end

local function check_ephemeron()
  collectgarbage()
  collectgarbage("stop")
  local key = {}
  local weak = setmetatable({[key] = new_deep()}, {__mode = "k"})
  local both = {{{{{key}}}}, weak} -- the table is scanned before its key is reached
  key, weak = nil, nil
  collect_young()
  both[2][both[1][1][1][1][1]]()
end

local function check_finalizer()
  collectgarbage()
  collectgarbage("stop")
  local called = false
  local function drop()
    setmetatable({co = new_deep()}, {__gc = function(o) o.co() called = true end})
  end
  drop()
  collect_young()
  collectgarbage()
  assert(called)
end

-- Collects where the running coroutine has put very many slots on its stack: in a stress build
-- by undivided collections, too, within steps that are bounded in time.
local function check_running(frames)
  local function run(level, f)
    local a, b, c, d, e, f1, g, h, i, j, k, l, m, n, o, p
    if level > 0 then run(level - 1, f) else f() end
    return a, b, c, d, e, f1, g, h, i, j, k, l, m, n, o, p
  end
  for round = 1, 100 do
    run(frames, function()
      local others = {}
      for i = 1, 40 + round % 7 do others[i] = {} end
    end)
  end
end

check_running(1100)
for _, mode in ipairs {"incremental", "generational"} do
  collectgarbage(mode)
  for _ = 1, 3 do
    check_ephemeron()
    check_finalizer()
  end
end
print "ok"
