-- SPDX-License-Identifier: MIT
-- testsuite/bench/patterns.lua: small patterns of what programs do, in families, to be
-- compared one by one with other interpreters (patterns.sh).
--
--   saros patterns.lua                    lists FAMILY.NAME, a line each
--   saros patterns.lua FAMILY.NAME        prints its CPU time in seconds, the least of three,
--                                         to the standard error output: some patterns print
--   saros patterns.lua --at-once          all of them, quickly: do they run?
--
-- THE LIST IS FROZEN (test_patterns.sh has the checksum of its names): what a pattern does stays
-- as it is, so that figures of different builds can be compared. New ones go to the end of their
-- family.
--
-- The patterns stand in patterns/GROUP.lua. Each such file is given a table of functions:
--
--   family "NAME"
--   pattern("name", [times,] function([times,] ...) what is timed end [, function() return ... end])
--   code("name", times, "before", "statement" [, "condition"])
--
-- What the second function of `pattern` returns is made before, untimed, and given to the
-- first. `code` is for one-liners: a function that runs `before`, then the statement so many
-- times (i counts), and asserts the condition. Each pattern takes 10 to 50 ms in the reference and
-- needs nothing but the standard library. Its outcome, where it has one, is checked with
-- assert: not its time. With --at-once, `times` is a twentieth.

local clock = os.clock
local groups = {
  "arrays", "maps", "table_library", "strings", "matching", "numbers", "base", "metatables",
  "calls", "coroutines", "errors", "loading", "input_output", "debug", "chunks", "memory",
}
local family_name
local names, patterns, files = {}, {}, {}
local api = {}

function api.family(name) family_name = name end

function api.pattern(name, times, body, prepare)
  if type(times) == "function" then times, body, prepare = nil, times, body end
  name = family_name .. "." .. name
  assert(not patterns[name], name)
  names[#names + 1] = name
  patterns[name] = {times = times, body = body, prepare = prepare or function() end}
end

-- Compiled when it is wanted: not the thousand others.
function api.source(name, times, source)
  local chunk_name = "=" .. name
  api.pattern(name, times, function(n, chunk) chunk(n) end, function() return assert(load(source, chunk_name)) end)
end

function api.code(name, times, before, statement, condition)
  api.source(name, times,
    ("local n = ... %s for i = 1, n do %s end assert(%s)"):format(before, statement, condition or "true"))
end

-- Pseudo-random integers, the same in each run and interpreter.
function api.generator(seed)
  return function()
    seed = seed * 6364136223846793005 + 1442695040888963407
    return seed >> 1 ~ seed >> 33
  end
end

function api.numbered_strings(prefix, n)
  local all = {}
  for i = 1, n do all[i] = prefix .. i end
  return all
end

-- The name of a file with this text, which is removed when all is done.
function api.file_with(text)
  local name = os.tmpname()
  local file = assert(io.open(name, "w"))
  file:write(text)
  file:close()
  files[#files + 1] = name
  return name
end

local folder = arg[0]:match("^(.*/)[^/]*$") or ""
for _, group in ipairs(groups) do assert(loadfile(folder .. "patterns/" .. group .. ".lua"))(api) end

-- run(PATTERN, PART): seconds
local function run(p, part)
  local times = p.times and {math.max(p.times // part, 1)} or {}
  local args = table.pack(p.prepare())
  table.move(args, 1, args.n, #times + 1, times)
  collectgarbage()
  local start = clock()
  p.body(table.unpack(times, 1, args.n + (p.times and 1 or 0)))
  return clock() - start
end

local wanted = ...
local ran, why = pcall(function()
  if wanted == nil then
    for _, name in ipairs(names) do print(name) end
  elseif wanted == "--at-once" then
    for _, name in ipairs(names) do
      local ok, message = pcall(run, patterns[name], 20)
      assert(ok, name .. ": " .. tostring(message))
    end
  else
    local p = assert(patterns[wanted], "no such pattern")
    local least = math.huge
    for _ = 1, 3 do least = math.min(least, run(p, 1)) end
    io.stderr:write(("%.6f\n"):format(least))
  end
end)
for _, name in ipairs(files) do os.remove(name) end
if not ran then error(why, 0) end
