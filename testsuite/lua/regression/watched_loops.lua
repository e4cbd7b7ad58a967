-- SPDX-License-Identifier: MIT
-- A generic loop visits the same, whatever watches it, and wherever that begins and ends.

local eventring, profile = require "saros.eventring", require "saros.profile"

-- what watches, each as a pair of functions that begin and end it
local function hook(mask, count)
  return {function() debug.sethook(function() end, mask, count) end, debug.sethook}
end
local running
local ways = {
  hook("", 1000000), hook("", 1), hook("c"), hook("r"), hook("l"), hook("crl", 3),
  {function() running = profile.start() end, function() running:stop() end},
}
if eventring.start() then
  ways[#ways + 1] = {function() assert(eventring.enable "calls") end,
                     function() assert(eventring.disable "calls") end}
end

local tables = {
  array = {"a", "b", "c", "d", "e"},
  hash = {a = 1, b = 2, c = 3, d = 4, e = 5},
  mixed = {"a", "b", "c", x = 1, y = 2},
  holes = {"a", nil, "c", nil, "e", x = 1, [2.5] = 2, [true] = 3},
  empty = {},
}
local proxy = setmetatable({}, {__index = {"a", "b", "c", "d"}})
local called = setmetatable({}, {__pairs = function() return next, tables.mixed, "x" end})
local function others(t, key) return next(t, key) end

-- Each appends what it visits to `seen` and calls step after each round.
local loops = {
  pairs = function(t, seen, step)
    for k, v in pairs(t) do seen[#seen + 1] = tostring(k) .. tostring(v) step() end
  end,
  next = function(t, seen, step)
    for k, v in next, t do seen[#seen + 1] = tostring(k) .. tostring(v) step() end
  end,
  from_a_key = function(t, seen, step)
    for k, v in next, t, (next(t)) do seen[#seen + 1] = tostring(k) .. tostring(v) step() end
  end,
  more_variables = function(t, seen, step)
    for k, v, x, y in pairs(t) do
      seen[#seen + 1] = tostring(k) .. tostring(v) .. tostring(x) .. tostring(y)
      step()
    end
  end,
  clears = function(t, seen, step)
    local copy = {}
    for k, v in pairs(t) do copy[k] = v end
    for k, v in pairs(copy) do
      seen[#seen + 1] = tostring(k) .. tostring(v)
      copy[k] = nil
      step()
    end
    assert(next(copy) == nil)
  end,
  ipairs = function(t, seen, step)
    for k, v in ipairs(t) do seen[#seen + 1] = tostring(k) .. tostring(v) step() end
  end,
  ipairs_of_proxy = function(_, seen, step)
    for k, v in ipairs(proxy) do seen[#seen + 1] = tostring(k) .. tostring(v) step() end
  end,
  own_iterator = function(t, seen, step)
    for k, v in others, t do seen[#seen + 1] = tostring(k) .. tostring(v) step() end
  end,
  metamethod = function(_, seen, step)
    for k, v in pairs(called) do seen[#seen + 1] = tostring(k) .. tostring(v) step() end
  end,
  nested = function(t, seen, step)
    for k in pairs(t) do
      for l in next, t do seen[#seen + 1] = tostring(k) .. tostring(l) step() end
      step()
    end
  end,
  coroutine = function(t, seen, step)
    local co = coroutine.wrap(function()
      for k, v in pairs(t) do coroutine.yield(tostring(k) .. tostring(v)) step() end
    end)
    for text in co do seen[#seen + 1] = text step() end
  end,
}

local function visited(loop, t, step)
  local seen = {}
  loop(t, seen, step)
  return table.concat(seen, " ")
end

for name, loop in pairs(loops) do
  for kind, t in pairs(tables) do
    local rounds = 0
    local expected = visited(loop, t, function() rounds = rounds + 1 end)
    for number, way in ipairs(ways) do
      for first = 0, math.min(rounds, 8) do
        for last = first, math.min(rounds, 8) do
          local round, on = 0, false
          local function switch()
            if round == first then way[1]() on = true end
            if round == last and on then way[2]() on = false end
            round = round + 1
          end
          switch()
          local got = visited(loop, t, switch)
          if on then way[2]() end
          assert(got == expected, ("%s of %s, way %d, rounds %d to %d: %s instead of %s"):format(
                 name, kind, number, first, last, got, expected))
        end
      end
    end
  end
end

-- A hook of another coroutine, set and removed while that is suspended in its loop.
for _, mask in ipairs {"c", "l", ""} do
  local co = coroutine.create(function()
    for k in pairs(tables.mixed) do coroutine.yield(k) end
  end)
  local seen = {}
  for round = 1, 6 do
    seen[#seen + 1] = tostring((select(2, coroutine.resume(co))))
    if round % 2 == 1 then debug.sethook(co, function() end, mask, 1) else debug.sethook(co) end
  end
  table.sort(seen)
  assert(table.concat(seen, " ") == "1 2 3 nil x y")
  assert(coroutine.status(co) == "dead")
end

-- The end is an error that leaves the loop, or a break: the next loop begins anew.
for _ = 1, 2 do
  local count = 0
  for _ in pairs(tables.array) do
    count = count + 1
    debug.sethook(function() end, "c")
    if count == 2 then break end
  end
  for _ in pairs(tables.array) do count = count + 1 debug.sethook() end
  assert(count == 7)
end

-- What the debugger sets is what the loop goes on with: control variable, table, iterator.
for _, strip in ipairs {false, true} do
  for _, watched in ipairs {false, true} do
    local text = [[
      local t, set, watch, seen, place, value = ...
      local first = true
      for k, v in next, t do
        seen[#seen + 1] = tostring(k) .. tostring(v)
        watch()
        if first then set(place, value) first = false end
      end
      return table.concat(seen, " ")]]
    local loop = load(string.dump(assert(load(text)), strip))
    local function set(place, value) -- the loop's registers follow 7 variables
      assert(debug.setlocal(2, 7 + place, value))
    end
    local function watch()
      if watched then
        if debug.gethook() then debug.sethook() else debug.sethook(function() end, "c") end
      end
    end
    local function run(...)
      local seen = loop(tables.array, set, watch, {}, ...)
      debug.sethook()
      return seen
    end
    assert(run(3, 1) == "1a 2b 3c 4d 5e")
    assert(run(3, 4) == "1a 5e")
    assert(run(3, nil) == "1a 1a 2b 3c 4d 5e")
    assert(run(2, {"x", "y", "z"}) == "1a 2y 3z")
    assert(run(1, function(t, k) if k < 3 then return k + 1, "own" end end) == "1a 2own 3own")
    local ok, message = pcall(run, 3, "no key")
    debug.sethook()
    assert(not ok and message:find("invalid key to 'next'", 1, true), message)
    ok, message = pcall(run, 2, {x = 1})
    debug.sethook()
    assert(not ok and message:find("invalid key to 'next'", 1, true), message)
  end
end
