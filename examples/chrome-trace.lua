-- SPDX-License-Identifier: MIT
-- Writes a Chrome trace (JSON) of a run; it opens in https://ui.perfetto.dev and
-- in chrome://tracing.
--
--   saros chrome-trace.lua [-o OUT.json] PROGRAM.lua [ARGUMENT...]
--         runs the program in this process, recorded, and writes its trace
--   saros chrome-trace.lua [-o OUT.json] [--seconds S] PID
--         of a process that runs and records, for S seconds (default 5)
--   saros chrome-trace.lua [-o OUT.json] FILE.eventring
--         of a file left behind
--
-- OUT.json is trace.json when not given. Each domain has two tracks: the runtime's
-- spans (collections, loading of chunks) and the program's own. Counters are
-- counter tracks; what was overwritten while we read is an instant that says how many
-- events. What was overwritten before we began is missing at the start of the trace, and
-- counted in the last message.

local eventring = require "saros.eventring"

local function usage()
  io.stderr:write("usage: chrome-trace.lua [-o OUT.json] [--seconds S] PROGRAM.lua [ARGUMENT...] | PID | FILE.eventring\n")
  os.exit(2)
end

local function parse_arguments(words)
  local options = { out = "trace.json", seconds = 5, rest = {} }
  local i = 1
  while words[i] and words[i]:find("^%-") do
    if words[i] == "-o" then options.out = words[i + 1]
    elseif words[i] == "--seconds" then options.seconds = tonumber(words[i + 1])
    else usage() end
    i = i + 2
  end
  options.source = words[i]
  table.move(words, i + 1, #words, 1, options.rest)
  if not (options.source and options.out and options.seconds) then usage() end
  return options
end

-- ---- Writing JSON ----------------------------------------------------------

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" }

local function json_string(text)
  text = tostring(text)
  if not utf8.len(text) then -- bytes that are no UTF-8 are taken as Latin-1
    text = text:gsub("[\128-\255]", function(c) return utf8.char(c:byte()) end)
  end
  return '"' .. text:gsub('[%c"\\]', function(c)
    return ESCAPES[c] or ("\\u%04x"):format(c:byte())
  end) .. '"'
end

local function json_value(value)
  if math.type(value) == "integer" then return ("%d"):format(value) end
  if math.type(value) == "float" and value == value and value - value == 0 then
    return ("%.17g"):format(value)
  end
  return json_string(value)
end

-- ---- From events to trace events -------------------------------------------

local Writer = {}
Writer.__index = Writer

local function new_writer(path, pid, title)
  local file, why = io.open(path, "w")
  if not file then
    io.stderr:write("chrome-trace: ", why, "\n")
    os.exit(1)
  end
  file:write('{"displayTimeUnit":"ns","traceEvents":[\n')
  local self = setmetatable({ file = file, pid = pid, count = 0, depth = {}, named = {}, lost = 0,
    missed = 0 }, Writer)
  self:put('"name":"process_name","ph":"M","tid":0,"args":{"name":%s}', json_string(title))
  return self
end

function Writer:put(format, ...)
  self.file:write(self.count > 0 and ",\n" or "", ('{"pid":%d,'):format(self.pid), format:format(...), "}")
  self.count = self.count + 1
end

-- Microseconds since the first event, three decimals, without rounding.
function Writer:time(ns)
  self.first = self.first or ns
  self.last = ns
  local since = ns - self.first
  local sign = since < 0 and "-" or ""
  since = math.abs(since)
  return ("%s%d.%03d"):format(sign, since // 1000, since % 1000)
end

-- The track of a domain: runtime spans on an even number, the program's on the
-- odd one above it, for the program's spans need not nest with the collector's.
function Writer:track(domain, of_program)
  local tid = domain * 2 + (of_program and 1 or 0)
  if not self.named[tid] then
    self.named[tid] = true
    self:put('"name":"thread_name","ph":"M","tid":%d,"args":{"name":"domain %d %s"}', tid, domain,
      of_program and "program" or "runtime")
  end
  return tid
end

function Writer:begin_span(domain, ns, name, of_program)
  local tid = self:track(domain, of_program)
  self.depth[tid] = (self.depth[tid] or 0) + 1
  self:put('"name":%s,"ph":"B","tid":%d,"ts":%s', json_string(name), tid, self:time(ns))
end

-- An end whose begin came before the trace, or was lost, is left out.
function Writer:end_span(domain, ns, name, of_program)
  local tid = self:track(domain, of_program)
  if (self.depth[tid] or 0) == 0 then return end
  self.depth[tid] = self.depth[tid] - 1
  self:put('"name":%s,"ph":"E","tid":%d,"ts":%s', json_string(name), tid, self:time(ns))
end

function Writer:counter(domain, ns, name, value, of_program)
  local track = json_string(("%s (domain %d)"):format(name, domain))
  self:put('"name":%s,"ph":"C","tid":%d,"ts":%s,"args":{"value":%s}', track,
    self:track(domain, of_program), self:time(ns), json_value(value))
end

function Writer:instant(domain, ns, name, value, of_program)
  self:put('"name":%s,"ph":"i","s":"t","tid":%d,"ts":%s,"args":{"value":%s}', json_string(name),
    self:track(domain, of_program), self:time(ns), value == nil and "null" or json_value(value))
end

-- After a loss it is not known which spans are still open: they end here.
function Writer:loss(domain, count, before)
  if before then
    self.missed = self.missed + count
    return
  end
  self.lost = self.lost + count
  local ns = self.last or 0
  self:instant(domain, ns, ("%d events lost"):format(count), count)
  self:close_spans(domain * 2, ns)
  self:close_spans(domain * 2 + 1, ns)
end

function Writer:close_spans(tid, ns)
  for _ = 1, self.depth[tid] or 0 do
    self:put('"ph":"E","tid":%d,"ts":%s', tid, self:time(ns))
  end
  self.depth[tid] = 0
end

function Writer:finish()
  for tid in pairs(self.depth) do self:close_spans(tid, self.last or 0) end
  self.file:write("\n]}\n")
  self.file:close()
end

local function callbacks_for(writer)
  return {
    runtime_begin = function(domain, ns, phase) writer:begin_span(domain, ns, phase) end,
    runtime_end = function(domain, ns, phase) writer:end_span(domain, ns, phase) end,
    runtime_counter = function(domain, ns, name, value) writer:counter(domain, ns, name, value) end,
    lifecycle = function(domain, ns, what, data) writer:instant(domain, ns, what, data) end,
    user_begin = function(domain, ns, name) writer:begin_span(domain, ns, name, true) end,
    user_end = function(domain, ns, name) writer:end_span(domain, ns, name, true) end,
    user_counter = function(domain, ns, name, value) writer:counter(domain, ns, name, value, true) end,
    user_event = function(domain, ns, name, value) writer:instant(domain, ns, name, value, true) end,
    lost_events = function(domain, count, before) writer:loss(domain, count, before) end,
  }
end

-- ---- Where the events come from --------------------------------------------

local function own_pid()
  return math.tointeger(tonumber((eventring.path() or ""):match("(%d+)%.eventring$"))) or 1
end

-- Runs the program with its own `arg`. The ring is read every so many
-- instructions, so that a long run loses nothing; os.exit ends the program only.
local function run_program(options)
  local chunk, why = loadfile(options.source)
  if not chunk then
    io.stderr:write("chrome-trace: ", why, "\n")
    os.exit(1)
  end
  assert(eventring.start())
  local writer = new_writer(options.out, own_pid(), options.source)
  local cursor, callbacks = assert(eventring.cursor()), callbacks_for(writer)
  local EXIT, status = {}, nil
  local exit = os.exit
  os.exit = function(code)
    status = code
    error(EXIT)
  end
  arg = table.move(options.rest, 1, #options.rest, 1, { [0] = options.source })
  debug.sethook(function() cursor:poll(callbacks) end, "", 100000)
  local ok, message = xpcall(chunk, function(e)
    return e == EXIT and e or debug.traceback(tostring(e), 2)
  end, table.unpack(arg))
  debug.sethook()
  os.exit = exit
  cursor:poll(callbacks)
  cursor:close()
  if not ok and message ~= EXIT then
    io.stderr:write("chrome-trace: ", tostring(message), "\n")
    status = 1
  end
  return writer, status
end

local function is_alive(pid)
  local file = io.open("/proc/" .. pid .. "/stat")
  if file then file:close() end
  return file ~= nil
end

local function follow_process(options, pid)
  local cursor = assert(eventring.cursor { pid = pid })
  local writer = new_writer(options.out, pid, "process " .. pid)
  local callbacks = callbacks_for(writer)
  local deadline = os.time() + options.seconds
  repeat
    local alive = is_alive(pid)
    if cursor:poll(callbacks) == 0 and alive then os.execute("sleep 0.05") end
  until not alive or os.time() >= deadline
  cursor:close()
  return writer
end

local function read_file(options)
  local cursor = assert(eventring.cursor { path = options.source })
  local writer = new_writer(options.out, tonumber(options.source:match("(%d+)%.eventring$")) or 1, options.source)
  local callbacks = callbacks_for(writer)
  while cursor:poll(callbacks) > 0 do end
  cursor:close()
  return writer
end

local options = parse_arguments(arg)
local pid = math.tointeger(tonumber(options.source))
local writer, status
if pid then
  writer = follow_process(options, pid)
elseif options.source:find("%.eventring$") then
  writer = read_file(options)
else
  writer, status = run_program(options)
end
writer:finish()
io.stderr:write(("chrome-trace: %d trace events written to %s, %d events lost, "
  .. "%d overwritten before reading began\n")
  :format(writer.count, options.out, writer.lost, writer.missed))
if status ~= nil then os.exit(status) end
