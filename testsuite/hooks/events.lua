-- SPDX-License-Identifier: MIT
-- Runs a program and writes what hooks see of it, a line for each event: that of a line has
-- its number and the function, those of calls and returns the function and the number of
-- values that are passed.
--
--   INTERPRETER events.lua LOG PROGRAM [ARGUMENT...]
--
-- After 100,000 events the log ends with "cut", else, if the program returns, with "end". Each
-- coroutine is watched from its first instruction on: those of a program that wants to know
-- how deep its stack is, or what a new coroutine runs, are not what they are without this.

local log_name, program = arg[1], arg[2]
local MOST = 100000
local log = assert(io.open(log_name, "w"))
log:setvbuf("full", 1 << 16)
local getinfo, sethook, registry = debug.getinfo, debug.sethook, debug.getregistry()
local own = getinfo(1, "S").source

-- The functions of the library have the names that they begin with; one with several, the first.
local names = {}
local function add(prefix, library)
  for key, value in pairs(library) do
    if type(value) == "function" and type(key) == "string" then
      local name = prefix .. key
      if not names[value] or name < names[value] then names[value] = name end
    end
  end
end
for name, library in pairs(package.loaded) do
  if type(library) == "table" then add(name .. ".", library) end
end
add("file.", getmetatable(io.stdout))
add("file:", getmetatable(io.stdout).__index)
add("text.", getmetatable "")

-- The library closes values of its own: what it collects long results in (which ones are long
-- is its own matter), and what ends the span of a `require` of Saros (doc/LUA.md).
local function is_guard(f)
  local box, span = registry["_UBOX*"], registry["saros.require_span"]
  return box and f == box.__close or span and f == debug.getmetatable(span).__close
end

local function place(info)
  if info.what == "C" then return names[info.func] or "C" end
  local file = info.source:match "^@(.*)" or "text"
  return (file:match "[^/]*$") .. ":" .. info.linedefined
end

local count = 0
local function note(event, line)
  local info = getinfo(2, "fSr")
  if info.source == own or info.what == "C" and is_guard(info.func) then return end
  count = count + 1
  if count < MOST then
    log:write(event, " ", line or info.ntransfer, " ", place(info), "\n")
  else
    if count == MOST then log:write "cut\n" end
    sethook() -- of this thread; what goes on is faster
  end
end

local create, wrap = coroutine.create, coroutine.wrap
function coroutine.create(f)
  local co = create(f)
  sethook(co, note, "crl")
  return co
end
function coroutine.wrap(f)
  if type(f) ~= "function" then return wrap(f) end
  return wrap(function(...)
    sethook(note, "crl")
    return f(...)
  end)
end

local f = assert(loadfile(program))
arg = table.move(arg, 3, #arg, 1, {[0] = program})
sethook(note, "crl")
f(table.unpack(arg))
sethook()
if count < MOST then log:write "end\n" end
