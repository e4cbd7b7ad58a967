-- SPDX-License-Identifier: MIT
-- A program that records, and knows what: it counts its own spans, counters, events and async
-- spans, and prints that at its end as JSON.
--
--   saros truth.lua SEED TURNS DOMAINS [kill | fork | fail]
--
-- Spans nest, stay open, end by an error, and are suspended in coroutines that others resume.
-- All that is random follows from SEED. `kill`: by itself at the end; `fork`: a child does the
-- same work, and its process is another recording; `fail`: an error ends it.
local domain = require "saros.domain"

local function work(seed, turns, is_main)
  local eventring = require "saros.eventring"
  local state, known, keep = seed, {}, {}

  local function random(n)
    state = (state * 1103515245 + 12345) % 2147483648
    return state // 65536 % n + 1
  end

  -- Adds to a figure of a name. `emitted` are the events in the ring.
  local function note(kind, name, figure, amount)
    local key = kind .. "\t" .. name
    known[key] = known[key] or {}
    known[key][figure] = (known[key][figure] or 0) + amount
  end
  local function emitted(n) note("ring", "user", "emitted", n) end

  local function counted(name, value)
    eventring.counter(name, value)
    local key = "counter\t" .. name
    local held = known[key] or { min = value, max = value }
    known[key] = held
    held.min, held.max = math.min(held.min, value), math.max(held.max, value)
    note("counter", name, "samples", 1)
    note("counter", name, "sum", value)
    emitted(1)
  end

  local function in_span(name, f, ...)
    emitted(2)
    note("span", name, "count", 1)
    return eventring.span(name, f, ...)
  end

  local ways
  local function some(depth)
    for _ = 1, random(4) do ways[random(#ways)](depth) end
  end

  local function open_in_coroutine(depth)
    local co = coroutine.wrap(function()
      in_span("suspended", function()
        coroutine.yield()
        some(depth + 1)
        coroutine.yield()
      end)
    end)
    co()
    some(depth + 1)
    co()
    if random(2) == 1 then some(depth + 1) end
    co()
  end

  local function fails(depth)
    assert(not pcall(in_span, "failing", function()
      some(depth + 1)
      error "on purpose"
    end))
  end

  local links = 0
  local function async()
    links = links + 1
    local id = ("%d-%d"):format(seed, links)
    eventring.async_begin("transfer", id)
    emitted(1)
    if random(8) == 1 then
      note("span", "transfer", "open", 1)
    else
      eventring.async_end("transfer", id)
      note("span", "transfer", "count", 1)
      emitted(1)
    end
  end

  ways = {
    function(depth) if depth < 5 then in_span("outer", some, depth + 1) end end,
    function(depth) if depth < 6 then in_span("inner", some, depth + 1) end end,
    function() in_span("empty", random, 3) end,
    function(depth) if depth < 4 then open_in_coroutine(depth) end end,
    function(depth) if depth < 4 then fails(depth) end end,
    function() counted("whole", random(2000) - 1000) end,
    function() counted("part", random(4000) / 8) end,
    async,
    function()
      local name = "event " .. random(3)
      eventring.event(name, random(2) == 1 and "text" or nil)
      note("event", name, "count", 1)
      emitted(1)
    end,
    function() for i = 1, random(40) do keep[random(500)] = { i, tostring(i) } end end,
    function() if random(40) == 1 then collectgarbage(random(2) == 1 and "step" or "collect") end end,
  }
  for _ = 1, turns do some(0) end
  if is_main and seed % 3 == 0 then
    eventring.begin_span("left open")
    note("span", "left open", "open", 1)
    emitted(1)
  end
  return known
end

-- ---- All domains together -------------------------------------------------------------------

local function add(all, known)
  for key, figures in pairs(known) do
    local held = all[key]
    if not held then
      held = { min = figures.min, max = figures.max }
      all[key] = held
    end
    for figure, value in pairs(figures) do
      if figure == "min" then held.min = math.min(held.min, value)
      elseif figure == "max" then held.max = math.max(held.max, value)
      else held[figure] = (held[figure] or 0) + value end
    end
  end
end

local function number(value)
  return math.type(value) == "integer" and tostring(value) or ("%.17g"):format(value)
end

local function print_truth(all)
  local rows = {}
  for key, figures in pairs(all) do
    local kind, name = key:match "^(.-)\t(.*)$"
    local words = {}
    for figure, value in pairs(figures) do words[#words + 1] = ('"%s":%s'):format(figure, number(value)) end
    rows[#rows + 1] = ('{"kind":"%s","name":"%s","figures":{%s}}'):format(kind, name,
      table.concat(words, ","))
  end
  print("[" .. table.concat(rows, ",") .. "]")
  io.stdout:flush()
end

local seed, turns, domains, ending = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3]), arg[4]
local all, handles = {}, {}
for i = 1, domains - 1 do handles[i] = domain.spawn({ name = "worker " .. i }, work, seed + i, turns) end
if ending == "fork" then
  local ffi = require "saros.ffi"
  ffi.cdef "int fork(void); int waitpid(int, int *, int);"
  local child = ffi.C.fork()
  if child == 0 then
    work(seed, turns)
    os.exit(0)
  end
  ffi.C.waitpid(child, nil, 0)
end
add(all, work(seed, turns, true))
for _, handle in ipairs(handles) do add(all, (handle:join())) end
print_truth(all)
if ending == "kill" then
  os.execute("kill -KILL " .. io.open "/proc/self/stat":read "n")
  while true do end
end
if ending == "fail" then error "on purpose" end
