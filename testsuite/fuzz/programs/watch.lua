-- SPDX-License-Identifier: MIT
-- Switches the instruments of Saros at random moments of a program, which must not notice.
--
-- The helpers of a generated program (prelude.lua) call `tick`: in loops, functions,
-- metamethods, handlers, closers, coroutines. A tick may switch something; whether, and what,
-- follows from the seed and the number of the tick alone, so that a list of ticks repeats a
-- part of a run. What a switch leaves behind ticks by itself: hooks, callbacks of samples,
-- finalizers. So instruments are switched in these, too, and between any two instructions.
--
--   local watch = Watch.new(seed, list, options)   list: nil, or { [tick] = true } to act in
--                          options: show (each switch on standard error), directory
--   watch.tick()
--   watch.stop()           everything is off
--   watch.faults           messages of switches that failed as they must not
--
-- An error of a switch must not reach the program. Which errors are no faults is in `allowed`.

local Random = require "random"
local eventring = require "saros.eventring"
local memprof = require "saros.memprof"
local profile = require "saros.profile"
local retain = require "saros.retain"

local Watch = {}

local DEEPEST <const> = 3        -- ticks within ticks
local FREQUENT <const> = 1000    -- ticks of a program after which they switch less often
local running, sethook = coroutine.running, debug.sethook

-- What switches may fail with: a program may be out of stack or of memory, and one instrument
-- is on already that another domain, or a command from outside, has switched.
local allowed = { "stack overflow", "C stack", "not enough memory", "error in error handling",
    "profiled already", "does not record", "records already", "there are 64", "no room",
    "it was stopped", "was discarded", "the recording was paused", "was off", "is off" }

local classes = { "calls", "gc", "gc_detail", "user", "load", "io", "ffi", "finalizers", "alloc",
    "domain" }

local function is_allowed(message)
  for _, text in ipairs(allowed) do
    if tostring(message):find(text, 1, true) then return true end
  end
  return false
end

function Watch.new(seed, list, options)
  local watch = { faults = {} }
  local ticks, depth, over = 0, 0, false
  local threads = setmetatable({}, { __mode = "k" })     -- that ticked
  local rate = Random.new(seed):pick { 0.02, 0.1, 0.3, 0.6, 1 }
  local profiler
  local tick

  local function fault(what, message)
    if not is_allowed(message) then
      watch.faults[#watch.faults + 1] = what .. ": " .. tostring(message)
    end
  end

  -- For functions that return nil and a message.
  local function try(what, ok, message)
    if not ok and message then fault(what, message) end
    return ok
  end

  -- ---- Hooks -----------------------------------------------------------------------

  local events = 0
  local function is_turn()        -- for what would take long at every event
    events = events + 1
    return events % 64 == 0
  end
  local hooks = {
    function() end,
    function() tick() end,
    function() sethook() end,
    function() if is_turn() then collectgarbage("step") end end,
    function() tick() sethook() end,
    function(event)
      local info = debug.getinfo(2, event == "line" and "Sl" or "nSltufrL")
      if event ~= "count" then debug.getlocal(2, 1) end
      return info
    end,
    function() if is_turn() then return debug.traceback("hook", 1) end end,
  }
  local masks = { "", "c", "r", "l", "cr", "crl", "rl", "cl" }

  local function some_thread(random)
    local list = {}
    for thread in pairs(threads) do
      if coroutine.status(thread) ~= "dead" then list[#list + 1] = thread end
    end
    if random:chance(0.75) then return (running()) end
    table.sort(list, function(a, b) return threads[a] < threads[b] end)
    return random:pick(list)
  end

  local actions = {}

  function actions.hook(random)
    local thread = some_thread(random)
    local mask, count = random:pick(masks), random:chance(0.5) and random:int(1, 20) or 0
    if mask == "" and count == 0 then count = 1000000 end
    sethook(thread, random:pick(hooks), mask, count)
    return mask, count
  end

  function actions.unhook(random)
    sethook(some_thread(random))
  end

  -- ---- Profiles and samples ------------------------------------------------------------

  function actions.profile(random)
    local p = profiler -- a hook may switch between any two instructions here
    if p then
      profiler = nil
      if random:chance(0.2) then p:report() end
      p:stop()
      if random:chance(0.3) then tostring(p:report()) end
      return "stop"
    end
    profiler = profile.start { cpu = random:chance(0.2), budget = 1 << random:pick { 17, 17, 20 },
        exclude = random:chance(0.2) and { "string.*", "f*" } or nil }
    return "start"
  end

  function actions.sampler(random)
    local s = memprof.sampler()
    if s then
      if random:chance(0.3) then s:snapshot() end
      s:stop { flush = random:chance(0.5) }
      if random:chance(0.5) then s:discard() end
      return "stop"
    end
    local function back(sample)
      tick()
      return sample
    end
    local callbacks = {}
    for _, name in ipairs { "alloc_young", "alloc_old", "promote", "dealloc_young",
        "dealloc_old" } do
      if random:chance(0.4) then callbacks[name] = back end
    end
    local chosen = random:pick { 1, 0.1, 0.01, 0.001 }
    memprof.start { rate = chosen, depth = random:pick { 0, 3, 64 },
        callbacks = random:chance(0.7) and callbacks or nil }
    return "start", chosen
  end

  function actions.retain(random)
    retain.report { top = random:int(1, 3), objects = random:int(1, 200) }
  end

  -- ---- The recording -----------------------------------------------------------------

  local function switch_class(random, name)
    local what = random:chance(0.5) and "enable" or "disable"
    try(what, eventring[what](name))
    return what, name
  end

  function actions.calls(random) return switch_class(random, "calls") end
  function actions.class(random) return switch_class(random, random:pick(classes)) end
  function actions.pause() return try("pause", eventring.pause()) end
  function actions.resume() return try("resume", eventring.resume()) end
  function actions.start() return try("start", eventring.start()) end

  function actions.stop(random)
    if random:chance(0.8) then return end           -- it costs milliseconds to start again
    return try("stop", eventring.stop())
  end

  function actions.stream(random)
    if random:chance(0.9) then return end
    try("stop", eventring.stop())
    local ok = try("stream", eventring.start { stream = options.directory ..
        "/stream.eventring,max=1M" })
    if ok then os.remove(options.directory .. "/stream.eventring") end
  end

  function actions.trigger(random)
    local condition = random:pick { "pause > 1s", 'span("x") > 1s', "heap > 100G",
        'counter("watch1c") > 1000000' }
    local number = try("trigger", eventring.trigger(condition .. ", max=1"))
    if number and random:chance(0.5) then eventring.untrigger(number) end
  end

  function actions.untrigger()
    for _, trigger in ipairs(eventring.triggers()) do
      if trigger.by == "program" then eventring.untrigger(trigger.number) end
    end
  end

  function actions.event(random)
    local name = "watch" .. random:int(1, 3)
    eventring.counter(name .. "c", random:int(1, 9))
    eventring.event(name .. "e", random:pick { 1, 2.5, "text" })
    if random:chance(0.5) then eventring.begin_span(name) else eventring.end_span(name) end
  end

  function actions.measured() eventring.measure(tick) end
  function actions.span() eventring.span("x", tick) end
  function actions.expect() eventring.expect("max(pause) < 1000s", tick) end

  function actions.cursor()
    local cursor = eventring.cursor()
    if not cursor then return end
    cursor:poll({ user_event = function() tick() end }, 5)
    cursor:close()
  end

  -- ---- What is not an instrument, and shows what one broke -----------------------------

  function actions.collect() collectgarbage("step") end
  function actions.finalizer() setmetatable({}, { __gc = function() tick() end }) end
  function actions.traceback() debug.traceback("watch", 1) end

  function actions.inspect(random)
    for level = 1, random:int(2, 12) do
      local info = debug.getinfo(level, "nSltufrL")
      if not info then break end
      for i = 1, 3 do debug.getlocal(level, i) end
    end
  end

  local all = { { 14, "hook" }, { 9, "unhook" }, { 14, "profile" }, { 12, "calls" },
      { 3, "class" }, { 5, "sampler" }, { 1, "retain" }, { 2, "pause" }, { 4, "resume" },
      { 4, "start" }, { 1, "stop" }, { 1, "stream" }, { 1, "trigger" }, { 1, "untrigger" },
      { 2, "event" }, { 1, "measured" }, { 1, "span" }, { 1, "expect" }, { 1, "cursor" },
      { 2, "collect" }, { 3, "finalizer" }, { 1, "traceback" }, { 2, "inspect" } }
  local calls = { { 4, "hook" }, { 2, "unhook" }, { 6, "profile" }, { 6, "calls" } }
  local hooks = { { 6, "hook" }, { 5, "unhook" }, { 1, "inspect" } }
  local memory = { { 4, "sampler" }, { 3, "hook" }, { 2, "unhook" }, { 2, "finalizer" },
      { 2, "collect" }, { 1, "profile" } }
  local weights = Random.new(~seed):pick { all, all, calls, calls, hooks, memory }

  -- ---- Ticks -------------------------------------------------------------------------

  local function act(number)
    local random = Random.new(seed * 1000003 + number)
    -- Nested loops tick a hundred thousand times; what a switch costs is then what they last.
    local rate = number > FREQUENT and rate * FREQUENT / number or rate
    if list then
      if not list[number] then return end
      random:chance(rate)
    elseif not random:chance(rate) then
      return
    end
    local name = random:weighted(weights)
    if options.show then io.stderr:write(("tick %d: %s "):format(number, name)) end
    local results = table.pack(pcall(actions[name], random))
    if options.show then
      for i = 2, results.n do results[i] = tostring(results[i]) end
      io.stderr:write(table.concat(results, " ", 2, results.n), "\n")
    end
    if not results[1] then fault(name, results[2]) end
  end

  function tick()
    if over or depth >= DEEPEST then return end
    ticks = ticks + 1
    local thread = running()
    if not threads[thread] then threads[thread] = ticks end
    depth = depth + 1
    local ok, message = pcall(act, ticks)
    depth = depth - 1
    if not ok then fault("tick", message) end
  end
  watch.tick = tick

  function watch.stop()
    over = true
    for thread in pairs(threads) do sethook(thread) end
    sethook()
    if profiler then profiler:stop() end
    local s = memprof.sampler()
    if s then s:stop() s:discard() end
    if eventring.path() then
      eventring.resume()
      eventring.disable("calls")
      actions.untrigger()
    end
  end

  return watch
end

return Watch
