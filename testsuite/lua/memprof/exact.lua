-- SPDX-License-Identifier: MIT
-- At rate 1 every word that is asked for is sampled: the sums equal the exact counters, for
-- every door of the heap, kind and library function that allocates, and each block is
-- answered by one death.

local memprof = require "saros.memprof"
local profile = require "_profile"
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1)

local kept
local kinds = {}
local function check(name, f)
  coroutine.wrap(f)() -- caches are filled
  kept = nil
  profile.settle()
  local p = profile.start(1, {alloc = function(s)
    kinds[s.kind] = (kinds[s.kind] or 0) + 1
    assert(s.samples == s.words, name)
    assert(type(s.stack) == "table" and s.ns > 0 and s.domain)
  end})
  coroutine.wrap(f)() -- so that its stack dies, too
  p:stop()
  local figures = p.sampler:snapshot()
  assert(figures.samples == figures.words, ("%s: %d of %d words"):format(name, figures.samples,
                                                                         figures.words))
  assert(figures.lost == 0)
  assert(p.samples == figures.samples, ("%s: %d called back, %d sampled"):format(name,
    p.samples, figures.samples))
  kept = nil
  profile.settle()
  profile.settle()
  assert(p.young + p.old == p.allocs, ("%s: %d + %d of %d died"):format(name, p.young, p.old,
                                                                        p.allocs))
  p:discard()
end

check("nothing", function() end)
check("tables", function()
  local t = {}
  for i = 1, 100 do t = {i, i + 1, x = i, {y = t}} end
end)
check("array grows", function()
  local t = {}
  for i = 1, 5000 do t[i] = i end
end)
check("large array grows", function()
  kept = {}
  for i = 1, 300000 // slow do kept[i] = i end
end)
check("hash grows", function()
  local t = {}
  for i = 1, 2000 do t[i * 1.5] = i end
  for i = 1, 2000 do t[i * 1.5] = nil end
  for i = 1, 300 do t["k" .. i] = i end
end)
check("closures", function()
  for i = 1, 100 do
    local a, b = i, i
    kept = function() a = b return a end
  end
end)
check("concatenations", function()
  local s = ""
  for i = 1, 50 do s = s .. i .. 1.5 .. "text that is not short any more, so it is long" end
end)
check("coroutines", function()
  for _ = 1, 20 do
    local co = coroutine.wrap(function(...)
      local function deep(n) return n > 0 and 1 + deep(n - 1) or select("#", table.unpack({}, 1, 50)) end
      coroutine.yield(deep(30))
    end)
    co()
  end
end)
check("deep stacks", function()
  local function deep(n) if n > 0 then return 1 + deep(n - 1) end return 0 end
  coroutine.wrap(deep)(20000 // slow)
end)
check("chunks", function()
  local f = load "local a = {1, 'two', function(x) return x + 1.25 end} return a"
  coroutine.wrap(f)() -- so that its stack dies, too
  load(string.dump(f))()
  assert(not load "this is no program")
end)
check("setlist of many", function()
  local t = {table.unpack({}, 1, 200)}
  t = {string.byte(("x"):rep(200), 1, -1)}
end)
check("string library", function()
  for i = 1, 20 do
    local s = ("%d %s %q"):format(i, "text", "quoted")
    s = s:upper():lower():reverse():rep(20, ","):sub(3, 90)
    s = s:gsub("t", {t = "longer"}):gsub("(%w+)", "%1 %1"):gsub("x", function() return i .. "" end)
    for a, b in s:gmatch "(%w)(%w)" do s = a .. b end
    s = string.pack("i4s4z", i, "abc", "def")
    local _ = {string.unpack("i4s4z", s)}
    _ = string.char(72, 73, i) .. s:match "()..()" .. tostring(i) .. tostring {} .. tostring(1.5)
    _ = utf8.char(228, 8364) .. utf8.charpattern
  end
end)
check("table library", function()
  local t = {}
  for i = 1, 100 do table.insert(t, 1, i) end
  t = table.move(t, 1, 100, 50, {})
  t = table.pack(table.unpack(t, 1, 50))
  table.sort(t, function(a, b) return (a or 0) < (b or 0) end)
  local _ = table.concat({1, 2, 3}, ", ")
end)
check("others", function()
  local _ = os.date() .. os.tmpname():sub(1, 1) .. (os.getenv "PATH" or "")
  _ = {pcall(error, {})}
  _ = {xpcall(error, debug.traceback, "message")}
  _ = debug.getinfo(1)
  _ = {pairs {}}
  _ = setmetatable({}, {__index = {}, __tostring = function() return "x" end})
  _ = tostring(_) .. math.random()
  for line in io.lines(arg and arg[0] or debug.getinfo(1, "S").source:sub(2)) do _ = line end
  local f = io.tmpfile()
  f:write(("x"):rep(10000))
  f:seek "set"
  _ = f:read "a"
  f:close()
  _ = require "string"
end)
check("long strings", function()
  for i = 1, 3 do kept = ("x"):rep(i * 300000) end
end)
check("errors on the way", function()
  local t = setmetatable({}, {__gc = function() local _ = {} end})
  for i = 1, 20 do pcall(function() local x = {i} error({x}) end) end
  t = nil
end)
for _, kind in ipairs {"table", "array part", "hash part", "string", "closure", "upvalue",
                       "userdata", "thread", "stack part", "code", "code part"} do
  assert(kinds[kind], kind .. " was never sampled")
end

-- Stacks that grow ask for the same words whether they are sampled or not. (In a stress build
-- large ones move at each n-th call, and frames are given back all the time.)
if slow >= 20 then return end
local function deep(n) if n > 0 then return 1 + deep(n - 1) end return 0 end
local function words_of_stacks(rate)
  profile.settle()
  collectgarbage "stop"
  local sampler = memprof.start {rate = rate}
  coroutine.wrap(deep)(20000 // slow)
  sampler:stop()
  collectgarbage "restart"
  local words = sampler:snapshot().words
  sampler:discard()
  return words
end
words_of_stacks(0)
local words = words_of_stacks(0)
for _, rate in ipairs {1, 0.01, 1e-9} do assert(words_of_stacks(rate) == words, rate) end
