-- SPDX-License-Identifier: MIT
-- Files and cursors after their own finalizer, called by the program or run before
-- another object's finalizer brought them back: any use is an error.
local eventring = require "saros.eventring"
local fails, revive = require "_fails", require "_revive"

local function finalize(object)
  debug.getmetatable(object).__gc(object)
  return object
end

-- ---- files ----

local function check_file(f)
  assert(io.type(f) == "closed file" and tostring(f) == "file (closed)")
  for _, method in ipairs {"read", "write", "lines", "seek", "flush", "setvbuf", "close"} do
    fails("closed file", f[method], f, method == "setvbuf" and "no" or nil)
  end
  fails("closed file", io.close, f)
  finalize(f)
  assert(io.type(f) == "closed file")
end

local function open() return assert(io.open(arg and arg[0] or "/dev/null")) end
local function pipe() return assert(io.popen("true")) end
for _, make in ipairs {open, pipe, io.tmpfile} do
  check_file(finalize(make()))
  check_file(revive(make))
end
local f = open()
local next_line = f:lines()
finalize(f)
fails("file is already closed", next_line)
local input = io.input()
local default = open()
io.input(default)
finalize(default)
fails("default input file is closed", io.read)
io.input(input)
for _, standard in ipairs {io.stdin, io.stdout, io.stderr} do
  finalize(standard)
  assert(io.type(standard) == "file")
end

-- Calls f in a collection after this one.
local function call_in_collection(f)
  setmetatable({}, {__gc = f})
  local function clobber(n) if n > 0 then return clobber(n - 1) end end
  clobber(100)
end

-- Closed by a finalizer that runs while it is read: many strings in one call
local long = assert(io.tmpfile())
long:setvbuf("full", 1 << 16)
long:write(("x"):rep(1 << 22))
local formats = {}
for i = 1, 200 do formats[i] = 15000 end
long:seek "set"
collectgarbage()
call_in_collection(function() long:close() end)
fails("closed file", long.read, long, table.unpack(formats))
check_file(long)

-- ---- cursors ----

local function open_cursor() return eventring.cursor() end
local recording = open_cursor()
if not recording then
  assert(eventring.start())
  recording = assert(open_cursor())
end

local function check_cursor(c)
  assert(tostring(c):find("closed", 1, true))
  fails("closed cursor", c.poll, c, {})
  fails("closed cursor", c.finished, c)
  fails("closed cursor", c.info, c)
  c:close()
  finalize(c)
end
check_cursor(finalize(open_cursor()))
check_cursor(revive(open_cursor))

-- Closed by its callback, and by finalizers that run while names and values are made.
do
  local c = open_cursor()
  eventring.event("given up", "text")
  local n = c:poll {user_event = function() finalize(c) end}
  assert(n >= 1)
  check_cursor(c)
end
for close_at = 1, 30 do
  local c = open_cursor()
  for k = 1, 100 do eventring.event("given up " .. k, ("text"):rep(400)) end
  local calls = 0
  local ok, message = pcall(c.poll, c, {user_event = function()
    calls = calls + 1
    call_in_collection(function() if calls > close_at then finalize(c) end end)
  end})
  assert(ok or message:find("closed cursor", 1, true), message)
  collectgarbage()
  check_cursor(c)
end
