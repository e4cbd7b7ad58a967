-- SPDX-License-Identifier: MIT
-- What soak.sh records: rounds of all that comes and goes in a process, until there is a file.
--
--   saros _soak.lua STOP_FILE PROGRESS_FILE SEED [memory|descriptors]
--
-- A round: a storm of domains that send, fail, are cancelled, collect; coroutines that are left
-- with open spans; cursors that attach and leave; classes switched off and on; commands; forks,
-- whose children run domains. Then all is quiet, and the progress file is written anew:
--
--   ROUNDS DOMAINS FORKS COMMANDS CURSORS ANONYMOUS_KIB RESIDENT_KIB
--
-- With the last argument each round leaks that, so that a test sees whether it is noticed.
local domain = require "domain"
local eventring = require "eventring"
local has_ffi, ffi = pcall(require, "ffi")
local stop_file, progress_file, seed, leak = table.unpack(arg)
local known = {"channel is closed", "orphaned", "a domain that fails", "was cancelled",
               "too many domains", "deadlock"}
local count = {rounds = 0, domains = 0, forks = 0, commands = 0, cursors = 0}
local leaked = {}
if has_ffi then ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);" end
math.randomseed(math.tointeger(seed) or 1)

local function is_known(message)
  for _, text in ipairs(known) do
    if tostring(message):find(text, 1, true) then return true end
  end
end

local function exists(name)
  local file = io.open(name)
  if file then file:close() end
  return file ~= nil
end

-- ---- A storm of domains ---------------------------------------------------

local function live(seed, own, other)
  local eventring, domain = require "eventring", require "domain"
  local garbage = {}
  math.randomseed(seed)
  for step = 1, math.random(1, 12) do
    local what = math.random(1, 10)
    eventring.counter("step", step)
    if what <= 2 then own:send({step, text = ("x"):rep(math.random(1, 20000))}, 0.002)
    elseif what <= 4 then own:try_receive()
    elseif what == 5 then domain.select({own, other}, 0.001)
    elseif what == 6 then other:close()
    elseif what == 7 then domain.spawn(function(c) c:try_send("from a child") end, own):join()
    elseif what == 8 then error("a domain that fails")
    elseif what == 9 then for i = 1, 500 do garbage[i] = {i, {}} end
    else eventring.span("work", function() for i = 1, 100 do garbage[i] = i .. "x" end end)
    end
  end
end

local function settle(handle)
  local ok, message = pcall(handle.join, handle)
  assert(ok or is_known(message), message)
end

local function storm()
  local channels, running = {}, {}
  for i = 1, 4 do channels[i] = domain.channel(math.random(0, 3)) end
  for _ = 1, 30 do
    local a, b = math.random(#channels), math.random(#channels)
    running[#running + 1] = domain.spawn(live, math.random(1 << 30), channels[a], channels[b])
    count.domains = count.domains + 1
    if math.random(1, 8) == 1 then running[math.random(#running)]:cancel() end
    if math.random(1, 4) == 1 then
      channels[a]:close()
      channels[a] = domain.channel(math.random(0, 3))
    end
    while #running > 8 do settle(table.remove(running, math.random(#running))) end
  end
  for _, handle in ipairs(running) do settle(handle) end
end

-- ---- Coroutines, cursors, classes --------------------------------------------

local function leave_spans_open()
  for i = 1, 20 do
    local task = coroutine.wrap(function()
      for depth = 1, i do eventring.begin_span("depth " .. depth % 4, depth) end
      coroutine.yield()
      eventring.event("resumed", ("text "):rep(i))
      eventring.async_begin("transfer", i)
      if i % 2 == 0 then coroutine.yield() end
      for depth = i, 1, -1 do eventring.end_span("depth " .. depth % 4) end
      eventring.async_end("transfer", i)
    end)
    task()
    if i % 3 > 0 then task() end
  end
end

local function read_own()
  local seen, lost = 0, 0
  local function see() seen = seen + 1 end
  local callbacks = {
    runtime_begin = see, runtime_end = see, runtime_counter = see, lifecycle = see,
    user_begin = see, user_end = see, user_counter = see, user_event = see,
    lost_events = function(_, n) lost = lost + n end}
  local cursor, polled = assert(eventring.cursor()), 0
  for _ = 1, 3 do
    polled = polled + cursor:poll(callbacks)
    leave_spans_open()
  end
  assert(polled == cursor:info().delivered and lost >= cursor:info().lost, "counts of a cursor")
  if count.rounds % 2 == 0 then cursor:close() end -- else the collector does
  count.cursors = count.cursors + 1
end

local function switch_classes()
  eventring.disable("load")
  eventring.disable("domain")
  leave_spans_open()
  eventring.enable("domain")
  eventring.enable("load")
end

-- ---- Commands and forks --------------------------------------------------------

local function run_commands()
  assert(os.execute("exit 0"))
  local pipe = assert(io.popen("echo one"))
  assert(pipe:read("a") == "one\n")
  pipe:close()
  count.commands = count.commands + 2
end

local function child()
  eventring.counter("step", 1)
  local handle = domain.spawn(function() return 7 end)
  local seven = handle:join()
  collectgarbage()
  if seven ~= 7 then ffi.C._exit(1) end
  if count.rounds % 2 == 0 then ffi.C._exit(0) end -- without an orderly end
  os.exit(0)
end

local function fork_one()
  if not has_ffi then return end
  local status = ffi.new("int[1]")
  io.stdout:flush()
  local pid = ffi.C.fork()
  if pid == 0 then
    local ok, message = pcall(child)
    io.stderr:write("child: ", tostring(ok), " ", tostring(message), "\n")
    ffi.C._exit(1)
  end
  assert(pid > 0, "fork")
  assert(ffi.C.waitpid(pid, status, 0) == pid and status[0] == 0, "a child failed")
  count.forks = count.forks + 1
end

-- ---- Rounds ----------------------------------------------------------------------

local function resident()
  local file = assert(io.open("/proc/self/status"))
  local text = file:read("a")
  file:close()
  local anonymous = math.tointeger(text:match("RssAnon:%s*(%d+)"))
  return anonymous, math.tointeger(text:match("VmRSS:%s*(%d+)"))
end

local function leak_one()
  if leak == "memory" then
    leaked[#leaked + 1] = ("x"):rep(1 << 20) .. #leaked
  elseif leak == "descriptors" then
    leaked[#leaked + 1] = assert(io.open("/dev/null"))
  end
end

local progress = assert(io.open(progress_file, "w"))
progress:setvbuf("full")
repeat
  storm()
  leave_spans_open()
  read_own()
  switch_classes()
  run_commands()
  fork_one()
  leak_one()
  collectgarbage()
  collectgarbage()
  count.rounds = count.rounds + 1
  progress:seek("set")
  progress:write(("%d %d %d %d %d %d %d      \n"):format(count.rounds, count.domains, count.forks,
                 count.commands, count.cursors, resident()))
  progress:flush()
until exists(stop_file)
