-- SPDX-License-Identifier: MIT
-- Errors in callbacks: they appear at the instruction that allocated; the later callbacks
-- of a batch are called at the next safepoint; blocks whose allocation callback returned
-- are answered by a death, also when an error ended the expression.

local memprof = require "saros.memprof"
local profile = require "_profile"
local fails = require "_fails"

-- In the program, at the allocation.
do
  local line
  local function allocate()
    local t = {}
    line = "not reached"
    return t
  end
  local function raise(...)
    local message = table.pack(...)
    return {alloc = function(sample)
      -- not where a stack grows, outside of `allocate`
      if sample.kind == "table" then error(table.unpack(message)) end
    end}
  end
  local p = profile.start(1, raise "from the callback")
  local ok, message = pcall(allocate)
  p.sampler:stop()
  assert(not ok and message:find "from the callback" and line == nil, message)
  local handled
  local function handler(e) handled = e end
  p = profile.start(1, raise("again", 0))
  xpcall(allocate, handler)
  p.sampler:stop()
  assert(handled == "again")
end

-- Of C functions, after they have returned.
do
  local done = false
  local function repeated()
    local text = string.rep("x", 100)
    done = true
    return text
  end
  local s = memprof.start {rate = 1, callbacks = {alloc_young = function(sample)
    if sample.origin == "library" then error "late" end
  end}}
  local ok, message = pcall(repeated)
  if memprof.is_sampling() then s:stop() end
  assert(not ok and message:find "late" and not done, message)
end

-- While one runs, the function that it interrupts is one of Lua: no function of C is in the
-- middle of something.
do
  local calls, within = 0, nil
  local s = memprof.start {rate = 1, callbacks = {alloc_young = function(sample)
    if sample.origin ~= "library" and sample.origin ~= "chunk" then return end
    calls = calls + 1
    local info = debug.getinfo(3, "Sn") -- 2: what calls back
    if info.what == "C" then within = info.name or "a function of C" end
  end}}
  local function text() return "a text of a coroutine" .. 1.5 end
  for _ = 1, 20 do
    local t = table.pack(("x"):rep(100), ("%d %s"):format(1, {}), table.concat {"a", "b", 1.5})
    t[#t + 1] = ("abc"):gsub("%w", "%0%0")
    t[#t + 1] = load("return {}, function(a) return a end")
    t[#t + 1] = os.date() .. tostring(t) .. string.pack("z", "text")
    t[#t + 1] = coroutine.wrap(text)()
  end
  s:stop()
  s:discard()
  assert(calls > 100 and not within, within)
end

-- In the build that collects everywhere there are no batches, and stacks grow in the middle
-- of what the rest counts.
if tonumber(os.getenv "TEST_SLOWNESS" or 1) >= 20 then return end

-- At the k-th of a batch: a message of C makes many blocks before the first safepoint.
for k = 1, 10 do
  local function batch()
    local t = string.gsub("abcdefghijkl", ".", "%0%0") -- one string
    -- the blocks of a chunk
    local u = load("return {}, function(a) return a end, function(b) return b, 1 end")
    return t, u
  end
  local p = profile.start(1, {alloc = function(_, n)
    if n == k then error({k}) end
  end})
  local ok, e = pcall(batch)
  local after = p.calls
  local rest = {} -- the rest of the batch
  rest = nil
  p:stop()
  assert(not ok and e[1] == k, tostring(e))
  assert(after >= k and p.calls > k, "later callbacks run")
  assert(p.allocs == p.calls - 1)
  profile.settle()
  profile.settle()
  assert(p.young + p.old == p.allocs, p.young .. " " .. p.old .. " of " .. p.allocs)
  p:discard()
end

-- Of promotions and deaths, at a safepoint; tracking of the block ends.
-- (A build that collects at each step promotes what others let die young.)
local stressed = tonumber(os.getenv "TEST_SLOWNESS" or 1) >= 20
for _, name in ipairs {"promote", "dealloc_old", not stressed and "dealloc_young" or nil} do
  local raised = 0
  local kept = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
  collectgarbage()
  local s = memprof.start {rate = 1, callbacks = {
    alloc_young = function() return 1 end,
    [name] = function()
      raised = raised + 1
      if raised == 1 then error("in " .. name, 0) end
      return 1
    end}}
  for i = 1, 10 do kept[i] = {i} end
  if name == "dealloc_old" then collectgarbage() end
  s:stop()
  local function loop()
    if name ~= "promote" then for i = 1, 10 do kept[i] = nil end end
    for _ = 1, 5 do
      collectgarbage()
      local t = {}
      if name == "dealloc_old" then kept = t end
    end
  end
  local ok, message = pcall(loop)
  assert(not ok and message == "in " .. name, tostring(message))
  assert(raised >= 1)
  s:discard()
end

-- Stopping in a callback that then raises.
do
  local s
  local function allocate() return {} end
  s = memprof.start {rate = 1, callbacks = {alloc_young = function() s:stop() error "stopped" end}}
  fails("stopped", allocate)
  assert(not memprof.is_sampling())
end
