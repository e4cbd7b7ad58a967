-- SPDX-License-Identifier: MIT
-- What runs in the process under test: `lua driver.lua BATCH`.
--
-- A batch is a file of programs, each behind a line `--== NAME MODE`. Each runs in an
-- environment of its own, in its mode, and its log is printed behind `== NAME`. Comments may
-- stand before the first. Modes:
--   plain      as it is
--   dump       through string.dump and load
--   strip      the same without debug information
--   coroutine  in a coroutine that is driven to its end
--   steps      with a count hook that takes a step of the collector
--   lines      with a line hook, its lines in the log
--   events     with a hook for calls and returns, those of the program in the log, and of the
--              functions of the library that it calls
--
-- Environment:
--   FUZZ_WATCH       instruments are switched while the programs run (watch.lua): "all", or
--                    the numbers of the ticks at which something is switched, with commas
--   FUZZ_WATCH_SHOW  each switch is printed to standard error
--   FUZZ_WATCH_DIRECTORY  for streams (default: the current one)
--   FUZZ_ROUNDS      each program runs so often; logs that differ from the first are
--                    printed behind it

local here = arg[0]:match("^(.*)/") or "."
package.path = here .. "/?.lua;" .. package.path
local new_environment = require "prelude"

local function read_all(name)
  local file = assert(io.open(name, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

local function through_dump(f, strip, env)
  local copy = assert(load(string.dump(f, strip), "=d", "b", env))
  return copy
end

local modes = {}

function modes.plain(f) return pcall(f, "arg", 2) end
function modes.dump(f, env) return pcall(through_dump(f, false, env), "arg", 2) end
function modes.strip(f, env) return pcall(through_dump(f, true, env), "arg", 2) end

function modes.coroutine(f, env)
  return pcall(env.drive, coroutine.create(f), "arg", 2)
end

function modes.steps(f)
  debug.sethook(function() collectgarbage("step") end, "", 7)
  return pcall(f, "arg", 2)
end

function modes.lines(f, _, write)
  local last
  debug.sethook(function(_, line)
    -- Which elements table.sort compares, and how often, is its own matter.
    local caller = debug.getinfo(3, "f")
    if debug.getinfo(2, "S").source == "=p" and not (caller and caller.func == table.sort) then
      write("line " .. line .. (line == last and " again" or ""))
      last = line
    end
  end, "l")
  return pcall(f, "arg", 2)
end

-- The functions of the library, by what they are called. Long strings are made in a value that
-- is closed: which strings are long is the library's own matter.
local function library_names()
  local names = {}
  for library, functions in pairs(package.loaded) do
    if type(functions) == "table" then
      for name, f in pairs(functions) do
        if type(f) == "function" then names[f] = library .. "." .. name end
      end
    end
  end
  return names
end

local function is_program(info) return info and (info.source == "=p" or info.source == "=l") end

function modes.events(f, _, write)
  local names = library_names()
  debug.sethook(function(event)
    local info, caller = debug.getinfo(2, "Sfr"), debug.getinfo(3, "Sf")
    if caller and caller.func == table.sort then return end
    if is_program(info) then
      write(("%s %s%d %d"):format(event, info.source, info.linedefined, info.ntransfer))
    elseif info.what == "C" and names[info.func] and is_program(caller) then
      write(("%s %s %d"):format(event, names[info.func], info.ntransfer))
    end
  end, "cr")
  return pcall(f, "arg", 2)
end

-- ---- Watching --------------------------------------------------------------------

local watched = os.getenv "FUZZ_WATCH"
local Watch = watched and require "watch"

local function watch_of(name)
  local ticks
  if watched ~= "all" then
    ticks = {}
    for tick in watched:gmatch("%d+") do ticks[tonumber(tick)] = true end
  end
  return Watch.new(math.tointeger(tonumber(name)) or 0, ticks, {
    show = os.getenv "FUZZ_WATCH_SHOW",
    directory = os.getenv "FUZZ_WATCH_DIRECTORY" or ".",
  })
end

-- What the files and modules find that programs load.
local function set_globals(env)
  W, L = env.W, env.L
  env.MODULE = here .. "/watched_module.lua"
  function env.unload() package.loaded.watched_module = nil end
end

-- ---- Running ---------------------------------------------------------------------

local function log_of(name, mode, text)
  local lines = {}
  local function write(line) lines[#lines + 1] = line end
  local watch = watched and watch_of(name)
  local env = new_environment(write, watch and watch.tick)
  set_globals(env)
  local f, message = load(text, "=p", "t", env)
  if f then
    env.L("end", modes[mode](f, env, write))
    debug.sethook()
    for _, value in ipairs { 1, true, print } do debug.setmetatable(value, nil) end
    debug.setmetatable(nil, nil)
  else
    write("does not compile: " .. message)
  end
  if watch then
    watch.stop()
    for _, fault in ipairs(watch.faults) do write("watch: " .. fault) end
  end
  return table.concat(lines, "\n")
end

local rounds = tonumber(os.getenv "FUZZ_ROUNDS" or 1)

local function run(name, mode, text)
  local log = log_of(name, mode, text)
  io.write("== ", name, "\n", log, "\n")
  for round = 2, rounds do
    local again = log_of(name, mode, text)
    if again ~= log then io.write("round ", round, "\n", again, "\n") end
  end
  io.flush()
end

local batch = read_all(arg[1])
local at = batch:find("%f[^%z\n]%-%-== ") or 1
while true do
  local _, stop, name, mode = batch:find("^%-%-== (%S+) (%S+)\n", at)
  if not stop then break end
  local following = batch:find("\n--== ", stop, true)
  run(name, mode, batch:sub(stop + 1, following or #batch))
  if not following then break end
  at = following + 1
end
