-- SPDX-License-Identifier: MIT
-- Prints the pause of each minor collection and of each major slice.
--
--   saros gc-pauses.lua [--seconds S]                 of itself, at work
--   saros gc-pauses.lua [--seconds S] PID             of another process
--   saros gc-pauses.lua FILE.eventring                of a file left behind
--
-- One line a pause: seconds since the first event seen, domain, what it was,
-- how long it took, and how deep it was nested (a slice inside a minor is
-- indented); at the end a summary per kind. A pause during which the thread was
-- interrupted says for how long others had the processor. When the reader was too slow the
-- lost events are counted, and no pause is made up for them.
--
-- Of another process it shows S seconds (default 5, or until it ends); the
-- process must record: SAROS_EVENTRING_START=1 saros program.lua

local eventring = require "saros.eventring"

local PAUSES = { minor = true, major_slice = true }

local USAGE = "usage: gc-pauses.lua [--seconds S] [PID | FILE]"

local function parse_arguments(words)
  local seconds, source = 5, nil
  local i = 1
  while words[i] do
    if words[i] == "--seconds" then
      i = i + 1
      seconds = tonumber(words[i])
    elseif words[i]:find("^%-") or source then
      seconds = nil
    else
      source = words[i]
    end
    if not seconds then
      io.stderr:write(USAGE, "\n")
      os.exit(2)
    end
    i = i + 1
  end
  return seconds, source
end

-- ---- From events to pauses -------------------------------------------------

local pauses = {}   -- kind -> { count =, total =, longest =, cpu = } in ns
local open = {}     -- domain -> stack of { phase, ns }
local first_ns      -- of the first event seen
local lost = 0

local function note_pause(domain, start, phase, duration, depth, off_cpu)
  local kind = pauses[phase] or { count = 0, total = 0, longest = 0, cpu = 0 }
  pauses[phase] = kind
  kind.count = kind.count + 1
  kind.total = kind.total + duration
  kind.longest = math.max(kind.longest, duration)
  kind.cpu = kind.cpu + duration - off_cpu
  local mark = off_cpu > 0 and ("  interrupted for %.1f us"):format(off_cpu / 1e3) or ""
  print(("%12.6f s  domain %-3d %s%-12s %10.1f us%s"):format(
    (start - first_ns) / 1e9, domain, ("  "):rep(depth), phase, duration / 1e3, mark))
end

local callbacks = {}

function callbacks.runtime_begin(domain, ns, phase)
  first_ns = first_ns or ns
  local stack = open[domain] or {}
  open[domain] = stack
  stack[#stack + 1] = { phase, ns }
end

function callbacks.runtime_end(domain, ns, phase, off_cpu)
  first_ns = first_ns or ns
  local stack = open[domain]
  local top = stack and stack[#stack]
  -- After a loss, or when we came late, an end may have no begin of ours.
  if not top or top[1] ~= phase then return end
  stack[#stack] = nil
  if PAUSES[phase] then
    local depth = 0
    for _, span in ipairs(stack) do
      if PAUSES[span[1]] then depth = depth + 1 end
    end
    note_pause(domain, top[2], phase, ns - top[2], depth, off_cpu or 0)
  end
end

function callbacks.lost_events(domain, count, before)
  if before then return end -- what happened before we watched
  lost = lost + count
  open[domain] = nil
  print(("                domain %-3d %d events lost"):format(domain, count))
end

local function summary()
  print(("%-12s %8s %12s %12s %12s %12s"):format("pauses", "count", "total ms", "CPU ms", "mean us",
    "longest us"))
  for _, phase in ipairs { "minor", "major_slice" } do
    local kind = pauses[phase]
    if kind then
      print(("%-12s %8d %12.3f %12.3f %12.1f %12.1f"):format(phase, kind.count, kind.total / 1e6,
        kind.cpu / 1e6, kind.total / kind.count / 1e3, kind.longest / 1e3))
    end
  end
  if lost > 0 then print(lost .. " events lost") end
end

-- ---- Where the events come from --------------------------------------------

local function now() return os.clock() end

-- Some work that fills a table with short strings and throws most of them away.
local function work(keep)
  for i = 1, 20000 do
    keep[i % 5000 + 1] = { name = "item " .. i, parts = { i, i * 2, tostring(i) } }
  end
end

local function watch_self(seconds)
  assert(eventring.start())
  local cursor = assert(eventring.cursor())
  local keep, start = {}, now()
  repeat
    work(keep)
    cursor:poll(callbacks)
  until now() - start >= math.min(seconds, 1)
  collectgarbage()
  cursor:poll(callbacks)
  cursor:close()
end

local function is_alive(pid)
  local file = io.open("/proc/" .. pid .. "/stat")
  if not file then return false end
  local state = file:read("a"):match("^.*%)%s+(%a)")
  file:close()
  return state ~= "Z" and state ~= "X"
end

-- Waits a little without a library of its own: the shell's sleep.
local function rest() os.execute("sleep 0.05") end

local function watch_process(pid, seconds)
  local cursor = assert(eventring.cursor { pid = pid })
  local deadline = os.time() + seconds
  repeat
    local alive = is_alive(pid)
    local count = cursor:poll(callbacks)
    if count == 0 and alive then rest() end
  until not alive or os.time() >= deadline
  cursor:close()
end

local function read_file(path)
  local cursor = assert(eventring.cursor { path = path })
  while cursor:poll(callbacks) > 0 do end
  cursor:close()
end

local seconds, source = parse_arguments(arg)
if not source then
  watch_self(seconds)
elseif math.tointeger(tonumber(source)) then
  watch_process(math.tointeger(tonumber(source)), seconds)
else
  read_file(source)
end
summary()
