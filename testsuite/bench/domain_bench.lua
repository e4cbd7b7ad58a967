-- SPDX-License-Identifier: MIT
-- What domains cost: spawning, memory, messages, and what they take from each other.
--
--   saros testsuite/bench/domain_bench.lua [spawn|memory|messages|pair|pauses]...
--
-- Each figure is the least, or the least and the median, of many short samples, and
-- comparisons alternate in one run, so that other programs on the machine matter
-- little. Times of work are processor time of the thread (schedstat).
local domain = require "saros.domain"
local wanted = {}
for _, name in ipairs(arg) do wanted[name] = true end

local function section(name, f)
  if next(wanted) == nil or wanted[name] then f() end
end

local function quantile(sorted, q) return sorted[math.max(1, math.ceil(#sorted * q))] end

-- Seconds a call of `f`, which does `n` things: least and median of the samples.
local function measure(samples, n, f)
  local times = {}
  for i = 1, samples do
    local begin = domain.now()
    f(n)
    times[i] = (domain.now() - begin) / n
  end
  table.sort(times)
  return times[1], quantile(times, 0.5)
end

local function row(name, unit, scale, least, median)
  print(("%-46s %10.2f %10.2f  %s"):format(name, least * scale, median * scale, unit))
end

section("spawn", function()
  print(("%-46s %10s %10s"):format("spawning", "least", "median"))
  row("spawn and join an empty domain", "us", 1e6, measure(300, 5, function(n)
    for i = 1, n do domain.spawn(function() end):join() end
  end))
end)

section("memory", function()
  local function resident()
    local file <close> = io.open("/proc/self/statm")
    local _, pages = file:read("n", "n")
    return pages * 4
  end
  local ready, stop, handles = domain.channel(), domain.channel(), {}
  domain.spawn(function() end):join()
  local before = resident()
  for i = 1, 100 do
    handles[i] = domain.spawn(function()
      ready:send(true)
      stop:receive()
    end)
  end
  for i = 1, 100 do ready:receive() end
  domain.sleep(0.1)
  print(("resident memory of an idle domain: %.1f KiB (of 100)"):format((resident() - before) / 100))
  for i = 1, 100 do stop:send(true) end
  for i = 1, 100 do handles[i]:join() end
end)

section("messages", function()
  print(("%-46s %10s %10s"):format("messages", "least", "median"))
  local there, back = domain.channel(), domain.channel()
  local echo = domain.spawn(function() for v in there:values() do back:send(v) end end)
  row("round trip of {i, x = 1}", "us", 1e6, measure(500, 100, function(n)
    for i = 1, n do
      there:send({i, x = 1})
      back:receive()
    end
  end))
  local large = ("x"):rep(1 << 20)
  row("round trip of a string of 1 MiB", "us", 1e6, measure(50, 10, function(n)
    for i = 1, n do
      there:send(large)
      back:receive()
    end
  end))
  there:close()
  echo:join()
  for _, capacity in ipairs {16, 128, 1024} do
    local c = domain.channel(capacity)
    local sink = domain.spawn(function() for v in c:values() do end end)
    row(("an integer, one a message, capacity %d"):format(capacity), "ns", 1e9, measure(30, 20000, function(n)
      for i = 1, n do c:send(i) end
    end))
    c:close()
    sink:join()
  end
  local c = domain.channel()
  local sink = domain.spawn(function() for v in c:values() do end end)
  row("an integer, 64 a message", "ns", 1e9, measure(30, 64000, function(n)
    for i = 1, n, 64 do
      local batch = {}
      for k = 1, 64 do batch[k] = i + k end
      c:send(batch)
    end
  end))
  c:close()
  sink:join()
end)

-- Independent work, in two domains at once and in one alone: processor time of each.
-- `separate`: the same in two programs, which share nothing but the machine.
local work = {
  loop = function() local s = 0 for i = 1, 2e7 do s = s + i % 7 end end,
  tables = function() local t = {} for i = 1, 6e5 do t[i % 1000] = {i, {x = i}} end end,
  strings = function() local n = 0 for i = 1, 3e5 do n = n + #(("k" .. i):rep(3) .. i) end end,
  format = function() for i = 1, 2e5 do local s = string.format("%d %s %g", i, "x", i / 3) end end,
}

local function processor_time(f)
  local function used()
    local file <close> = io.open("/proc/thread-self/schedstat")
    return file:read("n")
  end
  local begin = used()
  f()
  return (used() - begin) / 1e6
end

if arg[1] == "work" then -- one of the separate programs
  print(processor_time(work[arg[2]]))
  return
end

section("pair", function()
  local saros = arg[-1]
  local function separate(kind, n)
    local programs, sum = {}, 0
    for i = 1, n do programs[i] = io.popen(("%s %s work %s"):format(saros, arg[0], kind)) end
    for i = 1, n do
      sum = sum + programs[i]:read("n")
      programs[i]:close()
    end
    return sum / n
  end
  local function together(kind, n)
    local handles, sum = {}, 0
    for i = 1, n do handles[i] = domain.spawn(processor_time, work[kind]) end
    for i = 1, n do sum = sum + handles[i]:join() end
    return sum / n
  end
  print(("%-10s %26s   %26s"):format("speed of", "two domains to one alone", "two programs to one alone"))
  print(("%-10s %13s %12s   %13s %12s"):format("each of", "least", "median", "least", "median"))
  for _, kind in ipairs {"loop", "tables", "strings", "format"} do
    local t = {{}, {}, {}, {}}
    for sample = 1, 9 do
      t[1][sample], t[2][sample] = together(kind, 1), together(kind, 2)
      t[3][sample], t[4][sample] = separate(kind, 1), separate(kind, 2)
    end
    for i = 1, 4 do table.sort(t[i]) end
    print(("%-10s %13.3f %12.3f   %13.3f %12.3f"):format(kind, t[1][1] / t[2][1], t[1][5] / t[2][5],
      t[3][1] / t[4][1], t[3][5] / t[4][5]))
  end
end)

-- A domain that only looks at the clock, beside one that computes and beside one that collects.
section("pauses", function()
  local function gaps(n)
    local t = table.pack()
    for i = 1, n do t[i] = 0.0 end
    collectgarbage()
    collectgarbage("stop")
    local last = domain.now()
    for i = 1, n do
      local now = domain.now()
      t[i] = now - last
      last = now
    end
    table.sort(t)
    return t[n // 2] * 1e9, t[n * 99 // 100] * 1e9, t[n * 999 // 1000] * 1e6, t[n] * 1e6
  end
  local function compute(stop) while not stop:is_closed() do for i = 1, 10000 do end end end
  local function collect(stop)
    local keep = {}
    for i = 1, 200000 do keep[i] = {i} end
    while not stop:is_closed() do collectgarbage() end
  end
  print(("%-38s %9s %9s %11s %9s"):format("gaps of a quiet domain (medians of 7)", "p50", "p99", "p99.9", "greatest"))
  local samples = {compute = {{}, {}, {}, {}}, collect = {{}, {}, {}, {}}}
  for sample = 1, 7 do
    for kind, other in pairs {compute = compute, collect = collect} do
      local stop = domain.channel()
      local neighbour = domain.spawn(other, stop)
      domain.sleep(0.05)
      local figures = table.pack(domain.spawn(gaps, 200000):join())
      stop:close()
      neighbour:join()
      for i = 1, 4 do samples[kind][i][sample] = figures[i] end
    end
  end
  for _, kind in ipairs {"compute", "collect"} do
    for i = 1, 4 do table.sort(samples[kind][i]) end
    local s = samples[kind]
    print(("beside one that %-22s %6.0f ns %6.0f ns %8.1f us %6.0f us"):format(kind .. "s", s[1][4], s[2][4], s[3][4], s[4][4]))
  end
end)
