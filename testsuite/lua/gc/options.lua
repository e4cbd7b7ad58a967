-- SPDX-License-Identifier: MIT
-- collectgarbage: every option, its results, modes; memory comes back.

local fails = require "_fails"

local clobber = require "_gc".clobber

assert(collectgarbage() == 0 and collectgarbage("collect") == 0)
assert(math.type(collectgarbage("count")) == "float" and collectgarbage("count") > 0)
fails("invalid option 'bogus'", collectgarbage, "bogus")

do -- stop, restart, isrunning
  assert(collectgarbage("isrunning") == true)
  assert(collectgarbage("stop") == 0)
  assert(collectgarbage("isrunning") == false)
  local t = setmetatable({}, { __mode = "v" })
  t[1] = {}
  for i = 1, 200 do local _ = { i, {} } end
  assert(t[1] ~= nil) -- nothing runs by itself
  clobber()
  collectgarbage() -- an explicit one still does
  assert(t[1] == nil and collectgarbage("isrunning") == false)
  assert(collectgarbage("restart") == 0 and collectgarbage("isrunning") == true)
end

do -- a dropped structure gives its memory back
  collectgarbage()
  local before = collectgarbage("count")
  local big = {}
  for i = 1, 2000 do big[i] = { i, tostring(i) } end
  local with = collectgarbage("count")
  assert(with > before + 100)
  big = nil
  collectgarbage()
  collectgarbage()
  assert(collectgarbage("count") < before + (with - before) / 4)
end

do -- step ends cycles: some number of steps collects what is dead
  for _, mode in ipairs { "incremental", "generational" } do
    collectgarbage(mode)
    local t = setmetatable({}, { __mode = "v" })
    t[1] = {}
    local steps = 0
    repeat
      collectgarbage("step", 0)
      steps = steps + 1
    until t[1] == nil or steps > 100000
    assert(t[1] == nil, mode)
    assert(type(collectgarbage("step")) == "boolean")
    if mode == "incremental" then -- a large step is a whole cycle, and says so
      local finished = false
      for _ = 1, 10 do finished = finished or collectgarbage("step", 1 << 20) end
      assert(finished == true)
    end
  end
  collectgarbage("incremental")
end

do -- modes: each call returns the one before
  local first = collectgarbage("incremental")
  assert(first == "incremental" or first == "generational")
  assert(collectgarbage("generational") == "incremental")
  assert(collectgarbage("generational") == "generational")
  assert(collectgarbage("incremental", 100, 200, 10) == "generational")
  assert(collectgarbage("generational", 20, 100) == "incremental")
  assert(collectgarbage("incremental", 0, 0, 0) == "generational")
end

do -- setpause and setstepmul return the value before (kept in coarse units)
  local pause = collectgarbage("setpause", 150)
  assert(math.type(pause) == "integer" and math.abs(collectgarbage("setpause", pause) - 150) < 4)
  local mul = collectgarbage("setstepmul", 300)
  assert(math.type(mul) == "integer" and math.abs(collectgarbage("setstepmul", mul) - 300) < 4)
end

do -- the collector runs by itself, in both modes
  for _, mode in ipairs { "incremental", "generational" } do
    collectgarbage(mode)
    local dead = false
    setmetatable({}, { __gc = function() dead = true end })
    local n = 0
    while not dead do
      n = n + 1
      local _ = { {}, tostring(n), function() return n end }
      assert(n < 5000000, mode)
    end
  end
  collectgarbage("incremental")
end

do -- all kinds of objects survive when held and die when not
  local kinds = {
    table = function() return {} end,
    closure = function() local x = {} return function() return x end end,
    thread = function() local co = coroutine.create(function()
    coroutine.yield() end) coroutine.resume(co) return co end,
    file = function() return io.tmpfile() end,
  }
  for name, make in pairs(kinds) do
    local t = setmetatable({}, { __mode = "v" })
    local held = make()
    t.held, t.dropped = held, make()
    clobber()
    collectgarbage()
    collectgarbage()
    assert(t.held == held and t.dropped == nil, name)
  end
end

do -- structures survive collections at every stage of their building
  local function tree(depth)
    if depth == 0 then return { leaf = true } end
    if depth % 3 == 0 then collectgarbage("step") end
    return { left = tree(depth - 1), right = tree(depth - 1), name = "node " .. depth }
  end
  local function check(t, depth)
    if depth == 0 then return t.leaf and 1 end
    assert(t.name == "node " .. depth)
    return check(t.left, depth - 1) + check(t.right, depth - 1)
  end
  local t = tree(7)
  collectgarbage()
  assert(check(t, 7) == 128)
  -- old objects are made to point to young ones
  for round = 1, 5 do
    t.left.right = tree(5)
    collectgarbage("step")
    assert(check(t.left.right, 5) == 32)
    t.left.right = nil
    t.left.right = { young = { round } }
    collectgarbage("step")
    assert(t.left.right.young[1] == round)
  end
end

do -- upvalues, suspended coroutines and metatables are followed
  local fs = {}
  for i = 1, 30 do local v = { i } fs[i] = function() return v[1] end end
  local cos = {}
  for i = 1, 30 do
    cos[i] = coroutine.wrap(function() local v = { i } coroutine.yield() return v[1] end)
    cos[i]()
  end
  local obj = setmetatable({}, { __index = function(_, k) return k end })
  collectgarbage()
  for i = 1, 30 do assert(fs[i]() == i and cos[i]() == i) end
  assert(obj.x == "x")
end

do -- strings: many different ones, equal ones, long ones
  local t = {}
  for i = 1, 300 do t[i] = ("s"):rep(i) end
  collectgarbage()
  for i = 1, 300 do assert(t[i] == ("s"):rep(i) and #t[i] == i) end
  local key = "k" .. 12
  local u = { k12 = 1 }
  collectgarbage()
  assert(u[key] == 1 and u["k" .. "12"] == 1)
end

-- Inside a finalizer the collector does not run itself again
do
  local result
  setmetatable({}, { __gc = function() result = collectgarbage("step") end })
  collectgarbage()
  collectgarbage()
  assert(result == nil or type(result) == "boolean" or result == 0)
end
