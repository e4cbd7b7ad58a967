-- SPDX-License-Identifier: MIT
-- _named_spans.lua SEED EVENTRING CALLS: a random program whose functions f1 ... f8 call each other,
-- also in coroutines, through pcall and from C, end by returns, tail calls and errors, while commands
-- name some of them as spans from outside, and others no longer. It prints which spans there must
-- be, one begin (B) or end (E) a line with the function and the number of its coroutine, as if each
-- function had begun and ended its span by hand.
local seed, eventring, fuel = tonumber(arg[1]), arg[2], tonumber(arg[3])
math.randomseed(seed)
local path = require "saros.eventring".path()
local pid = io.open("/proc/self/stat"):read("n")
local functions, switches, profile = 8, 10, false
local f, on, log, numbers, stacks, count = {}, {}, {}, {}, setmetatable({}, {__mode = "k"}), 0

-- ---- What must be there

local function stack()
  local thread = coroutine.running()
  stacks[thread] = stacks[thread] or {}
  return stacks[thread], thread
end

local function say(what, i, thread)
  if not numbers[thread] then
    count = count + 1
    numbers[thread] = count
  end
  log[#log + 1] = ("%s f%d %d"):format(what, i, numbers[thread])
end

local function enter(i)
  local s, thread = stack()
  s[#s + 1] = {i, on[i]}
  if on[i] then say("B", i, thread) end
end

local function unwind(depth, s, thread)
  for n = #s, depth + 1, -1 do
    if s[n][2] then say("E", s[n][1], thread) end
    s[n] = nil
  end
end

local function leave()
  local s, thread = stack()
  unwind(#s - 1, s, thread)
end

local function caught(g, ...)
  local s, thread = stack()
  local depth = #s
  local ok = pcall(g, ...)
  if not ok then unwind(depth, s, thread) end
end

-- ---- What happens

local function command(what)
  assert(os.execute(("%s control --%s %d"):format(eventring, what, pid)))
  repeat -- obeyed, at a safepoint: class calls is seen to, and a profile is kept where it is asked for
    local file = io.open(path)
    file:seek("set", 8192 + 24)
    local word = string.unpack("<I4", file:read(4))
    file:close()
  until word & 2 == 0 and word & 1 == word >> 3 & 1
end

local function switch()
  if switches == 0 then return end
  switches = switches - 1
  if math.random(3) == 1 then -- beside it, a profile of calls begins or ends
    profile = not profile
    return command("profile " .. (profile and "calls" or "off"))
  end
  local i = math.random(functions)
  command((on[i] and "no-span f" or "span f") .. i)
  on[i] = not on[i]
end

local function in_coroutine(g)
  local co = coroutine.create(g)
  for _ = 1, math.random(4) do
    local ok = coroutine.resume(co)
    if not ok and stacks[co] then unwind(0, stacks[co], co) end
    if coroutine.status(co) == "dead" then return end
  end -- some never end
end

local ways = {
  function(g) g() end, function(g) g() end, function(g) g() end,
  function(g) caught(g) end, function(g) caught(g) end,
  in_coroutine, in_coroutine,
  function(g) caught(table.sort, {3, 1, 2}, function(a, b) g() return a < b end) end,
  function() if coroutine.isyieldable() then coroutine.yield() end end,
  function() local sum = 0 for i = 1, 50 do sum = sum + i end end,
  function() if math.random(4) == 1 then switch() end end
}

-- Each has a name and a place of its own.
local text = [[
local f, enter, leave, ways, random, out_of_fuel = ...
local function f%d()
  enter(%d)
  for _ = 1, random(3) do
    if not out_of_fuel() then ways[random(#ways)](f[random(#f)]) end
  end
  local how = random(6)
  if how == 1 and not out_of_fuel() then
    leave()
    return f[random(#f)]()
  elseif how == 2 then
    error("from f%d")
  end
  leave()
end
return f%d
]]
local function out_of_fuel()
  fuel = fuel - 1
  return fuel <= 0
end
for i = 1, functions do
  f[i] = load(text:gsub("%%d", i), "@f" .. i .. ".lua")(f, enter, leave, ways, math.random, out_of_fuel)
end
command("span f0") -- of which there is none: class calls stays on
while fuel > 0 do
  switch()
  caught(f[math.random(functions)])
end
print(table.concat(log, "\n"))
