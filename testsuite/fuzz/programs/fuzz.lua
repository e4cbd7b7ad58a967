-- SPDX-License-Identifier: MIT
-- Random programs, run by a reference (lua5.4) and by builds of Saros; what they log must
-- be the same. Run by the reference:
--
--   lua5.4 fuzz.lua [--reference=COMMAND] [--seed=N] [--seconds=N | --count=N] [--batch=N]
--                   [--found=DIRECTORY] [--most=N] [--show=SEED] [--programs=watched]
--                   [--mode=NAME]
--                   --build=NAME=COMMAND... --same=NAME=COMMAND...
--
--   --seed      the first program; the others follow (default: by the clock)
--   --seconds   how long (default 60); --count: how many programs instead
--   --batch     programs a process (default 50)
--   --build     a build to compare, e.g. --build="verify=env SAROS_VERIFY=1 ./saros";
--               differences.lua says in what it may differ from the reference
--   --same      a build whose logs are the same as those of the reference to the letter
--               ({seed} in a command is the name of the first program of the batch)
--   --mode      the mode of all programs (driver.lua) instead of each one's own
--   --programs  watched: for builds whose command has FUZZ_WATCH=all (driver.lua)
--   --found     where differences are kept (default: found): SEED-BUILD.lua, minimised,
--               a batch for driver.lua; SEED-BUILD.full.lua, as it was found
--   --most      stop after so many differences (default 10)
--   --minimise  seconds to make one smaller (default 40), and as many for its switches
--   --show      print the program of a seed, as a batch, and stop
--
-- Times are multiplied by TEST_SLOWNESS of the environment. Of a program that is watched the
-- switches are reduced, too: the file says in a comment which ticks suffice.
--
-- Exit status 1 when there was a difference.

local here = arg[0]:match("^(.*)/") or "."
package.path = here .. "/?.lua;" .. package.path
local Differences = require "differences"
local Tree = require "tree"
local generate = require "generate"
local minimise = require "minimise"

local SLOWNESS = tonumber(os.getenv "TEST_SLOWNESS" or 1)
local PROCESS_SECONDS = 60 * SLOWNESS   -- for a batch; more counts as hanging
local PROGRAM_SECONDS = 10 * SLOWNESS   -- for one program while minimising

local options = { reference = "lua5.4", seed = os.time() % 100000000, batch = 50, found = "found",
    most = 10, minimise = 40 }
local builds = {}
for _, argument in ipairs(arg) do
  local name, value = argument:match("^%-%-(%w+)=(.*)$")
  if name == "build" or name == "same" then
    local build, command = value:match("^(%w+)=(.*)$")
    builds[#builds + 1] = { name = build, command = command, same = name == "same" }
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

-- Runs a batch; returns the logs by name, how the process ended unless well, and what it
-- wrote to standard error.
local function run(command, batch, seconds)
  write_file(options.found .. "/batch.lua", batch)
  command = command:gsub("{seed}", batch:match("%-%-== (%d+)"))
  local errors = options.found .. "/stderr"
  local pipe = assert(io.popen(("timeout -k 1 %d %s %s %s 2>%s"):format(seconds, command,
    quoted(here .. "/driver.lua"), quoted(options.found .. "/batch.lua"), quoted(errors))))
  local output = pipe:read "a"
  local ok, what, code = pipe:close()
  local logs = {}
  for name, log in (output .. "\n== "):gmatch("== (%d+)\n(.-)\n%f[=]%f[^\n]") do
    logs[name] = log:gsub("\n+$", "")
  end
  local written = read_file(errors)
  if ok then return logs, nil, written end
  local ending = code == 124 and "no end within " .. seconds .. " s" or what .. " " .. code
  return logs, ending .. ": " .. written:sub(-2000), written
end

local function as_batch(seed, mode, text)
  return ("--== %d %s\n%s\n"):format(seed, mode, text)
end

-- ---- Differences -------------------------------------------------------------------

local function is_equal(build, expected, got)
  if expected == got then return true end
  return got and not build.same and Differences.rewrite(got) == Differences.rewrite(expected)
end

-- True when a build logs something else than the reference for this one program. When
-- two runs of the reference differ, the program is to blame. `name`: watch.lua's seed.
local function differs(build, name, mode, text, sure)
  if not load(text, "=p", "t") then return false end
  local batch = as_batch(name, mode, text)
  name = tostring(name)
  local expected = run(options.reference, batch, PROGRAM_SECONDS)[name]
  if not expected or Differences.skip(expected, text, build.same) then return false end
  local got = run(build.command, batch, PROGRAM_SECONDS)[name]
  if is_equal(build, expected, got) then return false end
  return not sure or run(options.reference, batch, PROGRAM_SECONDS)[name] == expected
end

-- ---- Switches ------------------------------------------------------------------------

-- Returns the build with the switches at these ticks alone ("all", or an array).
local function at_ticks(build, ticks)
  return { name = build.name, same = build.same,
      command = build.command:gsub("FUZZ_WATCH=%S+", "FUZZ_WATCH=" .. table.concat(ticks, ",")) }
end

-- The ticks at which something is switched in this program.
local function ticks_of(build, batch)
  local _, _, shown = run("env FUZZ_WATCH_SHOW=yes " .. build.command, batch, PROGRAM_SECONDS)
  local ticks = {}
  for tick in shown:gmatch("%f[^%z\n]tick (%d+): ") do ticks[#ticks + 1] = tick end
  return ticks
end

-- Removes ticks as long as `holds(ticks)`, in runs of falling length.
local function fewer_ticks(ticks, holds)
  local n = #ticks
  while n >= 1 do
    local at = #ticks - n + 1
    while at >= 1 do
      local rest = table.move(ticks, 1, at - 1, 1, {})
      table.move(ticks, at + n, #ticks, at, rest)
      if holds(rest) then ticks = rest end
      at = math.min(at - n, #ticks - n + 1)
    end
    n = n // 2
  end
  return ticks
end

-- Reduces the switches of a program that is watched. Returns the build with those that
-- remain and a comment on them, or the build as it is.
local function with_fewer_switches(build, seed, mode, text, expired)
  if not build.command:find("FUZZ_WATCH=all", 1, true) then return build, "" end
  local batch = as_batch(seed, mode, text)
  local function holds(ticks)
    return not expired() and differs(at_ticks(build, ticks), seed, mode, text, false)
  end
  local ticks = ticks_of(build, batch)
  if not holds(ticks) then return build, "" end
  build = at_ticks(build, fewer_ticks(ticks, holds))
  local _, _, shown = run("env FUZZ_WATCH_SHOW=yes " .. build.command, batch, PROGRAM_SECONDS)
  local comment = { "-- " .. build.command .. "\n" }
  for line in shown:gmatch("%f[^%z\n]tick [^\n]+") do
    comment[#comment + 1] = "-- " .. line .. "\n"
  end
  return build, table.concat(comment)
end

local function first_difference(build, expected, got)
  local function lines(text)
    local list = {}
    for line in (text .. "\n"):gmatch("(.-)\n") do list[#list + 1] = line end
    return list
  end
  local rewrite = build.same and function(log) return log end or Differences.rewrite
  local a, b = lines(rewrite(expected)), lines(rewrite(got))
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
    local root, mode = generate(seed, options.programs == "watched", options.mode)
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
  local root = generate(seed, options.programs == "watched", options.mode)
  print(("DIFFERENCE seed %d, build %s, mode %s"):format(seed, build.name, mode))
  print(first_difference(build, program.expected, program.got or program.ending))
  io.stdout:flush()
  write_file(base .. ".full.lua", program.text)
  if not differs(build, seed, mode, Tree.text(root), true) then
    write_file(base .. ".batch.lua", batch_of(programs))
    print("  alone it does not differ, or not each time; its batch: " .. base .. ".batch.lua")
    return
  end
  local stop = os.time() + options.minimise * SLOWNESS
  local function expired() return os.time() > stop end
  local text = minimise(root, function(text)
    return differs(build, seed, mode, text, false)
  end, expired)
  if mode ~= "plain" and differs(build, seed, "plain", text, false) then mode = "plain" end
  stop = os.time() + options.minimise * SLOWNESS
  local reduced, comment = with_fewer_switches(build, seed, mode, text, expired)
  local small = comment .. as_batch(seed, mode, text)
  write_file(base .. ".lua", small)
  local expected = run(options.reference, small, PROGRAM_SECONDS)
  local got, ending = run(reduced.command, small, PROGRAM_SECONDS)
  print(small .. (first_difference(build, expected[program.name] or "", got[program.name] or
      ending or "(nothing)") or "  the same this time"))
  print("  kept in " .. base .. ".lua")
  io.stdout:flush()
end

-- ---- The loop ------------------------------------------------------------------------

if options.show then
  local root, mode = generate(options.show, options.programs == "watched", options.mode)
  io.write(as_batch(options.show, mode, Tree.text(root)))
  os.exit(0)
end
os.execute("mkdir -p " .. quoted(options.found))

local compared, skipped = 0, 0
local seed, started = options.seed, os.time()

-- The programs that the reference finishes; `expected` is set in these.
local function with_reference(programs)
  run_all(options.reference, programs, "expected")
  local finished = {}
  for _, program in ipairs(programs) do
    if program.expected then
      finished[#finished + 1] = program
    else
      print(("seed %d: the reference does not finish: %s"):format(program.seed,
          program.ending:sub(1, 300)))
      skipped = skipped + 1
    end
  end
  return finished
end

local function compare(build, programs)
  local compared_here = {}
  for _, program in ipairs(programs) do
    program.got, program.ending = nil, nil
    if Differences.skip(program.expected, program.text, build.same) then
      skipped = skipped + 1
    else
      compared_here[#compared_here + 1] = program
    end
  end
  run_all(build.command, compared_here, "got")
  for _, program in ipairs(compared_here) do
    compared = compared + 1
    if not is_equal(build, program.expected, program.got) then
      found = found + 1
      if found <= options.most then report(build, program, compared_here) end
    end
  end
end

print(("first seed %d, reference %s"):format(seed, options.reference))
repeat
  local programs = with_reference(make_programs(seed, options.batch))
  for _, build in ipairs(builds) do compare(build, programs) end
  seed = seed + options.batch
  local over
  if options.count then over = seed - options.seed >= options.count else over = os.time(
      ) - started >= (options.seconds or 60) end
until over or found >= options.most
print(("%d programs from seed %d, %d not compared, %d comparisons, %d differences, %d s"):format(
  seed - options.seed, options.seed, skipped, compared, found, os.time() - started))
os.exit(found == 0 and 0 or 1)
