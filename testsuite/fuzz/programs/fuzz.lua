-- SPDX-License-Identifier: MIT
-- Random programs, run by a reference (lua5.4) and by builds of Saros; what they log must
-- be the same. Run by the reference:
--
--   lua5.4 fuzz.lua [--reference=COMMAND] [--seed=N] [--seconds=N | --count=N] [--batch=N]
--                   [--found=DIRECTORY] [--most=N] [--show=SEED] --build=NAME=COMMAND...
--
--   --seed      the first program; the others follow (default: by the clock)
--   --seconds   how long (default 60); --count: how many programs instead
--   --batch     programs a process (default 50)
--   --build     a build to compare, e.g. --build="verify=env SAROS_VERIFY=1 ./saros"
--   --found     where differences are kept (default: found): SEED-BUILD.lua, minimised,
--               a batch for driver.lua; SEED-BUILD.full.lua, as it was found
--   --most      stop after so many differences (default 10)
--   --show      print the program of a seed, as a batch, and stop
--
-- Exit status 1 when there was a difference.

local here = arg[0]:match("^(.*)/") or "."
package.path = here .. "/?.lua;" .. package.path
local Differences = require "differences"
local Tree = require "tree"
local generate = require "generate"
local minimise = require "minimise"

local PROCESS_SECONDS = 30      -- for a batch; more counts as hanging
local PROGRAM_SECONDS = 10      -- for one program while minimising
local MINIMISE_SECONDS = 40

local options = { reference = "lua5.4", seed = os.time() % 100000000, batch = 50, found = "found",
    most = 10 }
local builds = {}
for _, argument in ipairs(arg) do
  local name, value = argument:match("^%-%-(%w+)=(.*)$")
  if name == "build" then
    local build, command = value:match("^(%w+)=(.*)$")
    builds[#builds + 1] = { name = build, command = command }
  elseif name then
    options[name] = tonumber(value) or value
  else
    io.stderr:write("fuzz.lua: what is ", argument, "? See the top of the file.\n")
    os.exit(2)
  end
end

-- ---- Running ---------------------------------------------------------------------

local function quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function write_file(name, text)
  local file = assert(io.open(name, "wb"))
  file:write(text)
  file:close()
end

local function read_file(name)
  local file <close> = assert(io.open(name, "rb"))
  return file:read "a"
end

-- Runs a batch; returns the logs by name, and how the process ended unless well.
local function run(command, batch, seconds)
  write_file(options.found .. "/batch.lua", batch)
  local errors = options.found .. "/stderr"
  local pipe = assert(io.popen(("timeout -k 1 %d %s %s %s 2>%s"):format(seconds, command,
    quoted(here .. "/driver.lua"), quoted(options.found .. "/batch.lua"), quoted(errors))))
  local output = pipe:read "a"
  local ok, what, code = pipe:close()
  local logs = {}
  for name, log in (output .. "\n== "):gmatch("== (%d+)\n(.-)\n%f[=]%f[^\n]") do
    logs[name] = log:gsub("\n+$", "")
  end
  if ok then return logs end
  return logs, ("%s %d: %s"):format(what, code, read_file(errors):sub(-2000))
end

local function as_batch(seed, mode, text)
  return ("--== %d %s\n%s\n"):format(seed, mode, text)
end

-- ---- Differences -------------------------------------------------------------------

-- True when a build logs something else than the reference for this one program. When
-- two runs of the reference differ, the program is to blame.
local function differs(build, mode, text, sure)
  if not load(text, "=p", "t") then return false end
  local batch = as_batch(1, mode, text)
  local expected = run(options.reference, batch, PROGRAM_SECONDS)["1"]
  if not expected or Differences.skip(expected, text) then return false end
  local got = run(build.command, batch, PROGRAM_SECONDS)["1"]
  if got and Differences.rewrite(got) == Differences.rewrite(expected) then return false end
  return not sure or run(options.reference, batch, PROGRAM_SECONDS)["1"] == expected
end

local function first_difference(expected, got)
  local function lines(text)
    local list = {}
    for line in (text .. "\n"):gmatch("(.-)\n") do list[#list + 1] = line end
    return list
  end
  local a, b = lines(Differences.rewrite(expected)), lines(Differences.rewrite(got))
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] then
      return ("  line %d of the log\n  expected: %s\n  got:      %s"):format(i, a[i] or "(end)",
          b[i] or "(end)")
    end
  end
end

local found = 0

local function make_programs(first, n)
  local programs = {}
  for seed = first, first + n - 1 do
    local root, mode = generate(seed)
    programs[#programs + 1] = { name = tostring(seed), seed = seed, mode = mode,
        text = as_batch(seed, mode, Tree.text(root)) }
  end
  return programs
end

local function batch_of(programs)
  local texts = {}
  for i, program in ipairs(programs) do texts[i] = program.text end
  return table.concat(texts)
end

-- Sets `log` of each program to what the command makes of it, nil if it does not end or
-- breaks the process; those behind such a one get a process of their own.
local function run_all(command, programs, field)
  local left = programs
  while #left > 0 do
    local logs, ending = run(command, batch_of(left), PROCESS_SECONDS)
    local following
    for i, program in ipairs(left) do
      program[field] = logs[program.name]
      if not program[field] then
        program.ending = ending or "no output"
        following = table.move(left, i + 1, #left, 1, {})
        break
      end
    end
    left = following or {}
  end
end

local function report(build, program, programs)
  local seed, mode = program.seed, program.mode
  local base = ("%s/%d-%s"):format(options.found, seed, build.name)
  local root = generate(seed)
  print(("DIFFERENCE seed %d, build %s, mode %s"):format(seed, build.name, mode))
  print(first_difference(program.expected, program.got or program.ending))
  write_file(base .. ".full.lua", program.text)
  if not differs(build, mode, Tree.text(root), true) then
    write_file(base .. ".batch.lua", batch_of(programs))
    print("  alone it does not differ, or not each time; its batch: " .. base .. ".batch.lua")
    return
  end
  local stop = os.time() + MINIMISE_SECONDS
  local text = minimise(root, function(text) return differs(build, mode, text, false) end,
    function() return os.time() > stop end)
  if mode ~= "plain" and differs(build, "plain", text, false) then mode = "plain" end
  local small = as_batch(seed, mode, text)
  write_file(base .. ".lua", small)
  local expected = run(options.reference, small, PROGRAM_SECONDS)
  local got, ending = run(build.command, small, PROGRAM_SECONDS)
  print(small .. first_difference(expected[program.name] or "", got[program.name] or ending or
      "(nothing)"))
  print("  kept in " .. base .. ".lua")
  io.stdout:flush()
end

-- ---- The loop ------------------------------------------------------------------------

if options.show then
  local root, mode = generate(options.show)
  io.write(as_batch(options.show, mode, Tree.text(root)))
  os.exit(0)
end
os.execute("mkdir -p " .. quoted(options.found))

local compared, skipped = 0, 0
local seed, started = options.seed, os.time()
print(("first seed %d, reference %s"):format(seed, options.reference))
repeat
  local programs = make_programs(seed, options.batch)
  run_all(options.reference, programs, "expected")
  for i = #programs, 1, -1 do
    local program = programs[i]
    if not program.expected then
      print(("seed %d: the reference does not finish: %s"):format(program.seed,
          program.ending:sub(1, 300)))
    end
    if not program.expected or Differences.skip(program.expected, program.text) then
      skipped = skipped + 1
      table.remove(programs, i)
    end
  end
  for _, build in ipairs(builds) do
    run_all(build.command, programs, "got")
    for _, program in ipairs(programs) do
      compared = compared + 1
      if not program.got or Differences.rewrite(program.got) ~= Differences.rewrite(
          program.expected) then
        found = found + 1
        if found <= options.most then report(build, program, programs) end
      end
    end
  end
  seed = seed + options.batch
  local over
  if options.count then over = seed - options.seed >= options.count else over = os.time(
      ) - started >= (options.seconds or 60) end
until over or found >= options.most
print(("%d programs from seed %d, %d not compared, %d comparisons, %d differences, %d s"):format(
  seed - options.seed, options.seed, skipped, compared, found, os.time() - started))
os.exit(found == 0 and 0 or 1)
