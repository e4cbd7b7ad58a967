-- SPDX-License-Identifier: MIT
-- For test_forks.sh: _forks.lua BLOCKS FROM TO EVERY. Keeps BLOCKS tracked blocks, so that
-- stacks are forgotten in many steps, and makes TO distinct stacks. From the FROM-th on, which
-- is shortly before forgetting begins, it forks at each EVERY-th. Children end at once, are
-- killed, or go on and forget stacks of their own, some of them in a recording of their own.
-- In all processes each block that is kept must have the stack that made it, and the samples
-- must be all words. In the middle it waits for a file `walked`. Prints how many children have
-- gone on.
local ok, ffi = pcall(require, "ffi")
if not ok then os.exit(77) end
local memprof = require "saros.memprof"
local eventring = require "saros.eventring"
local made = require "_deep"
for i = 1, #arg do arg[i] = math.tointeger(arg[i]) end
local blocks, from, to, every = table.unpack(arg)
ffi.cdef [[
int fork(void); int waitpid(int, int *, int); void _exit(int); int getpid(void);
int kill(int, int); int access(const char *, int);]]
local KILL = 9

local kept = {}
local function make(bits)
  local t = made.deep(16, bits)
  if bits % 5 == 0 then kept[bits] = t end
end

local sampler = memprof.start {rate = 1, depth = 30}
local function check()
  collectgarbage()
  local snapshot = sampler:snapshot()
  assert(snapshot.unknown_stacks == 0 and snapshot.lost == 0)
  assert(snapshot.samples == snapshot.words, snapshot.samples .. " of " .. snapshot.words)
  local seen = {}
  for _, sample in ipairs(snapshot.rows) do
    local bits = sample.kind == "table" and made.bits_of(sample.stack, 16)
    if bits then
      assert(kept[bits] and not seen[bits], "another stack")
      seen[bits] = true
    end
  end
  for bits in pairs(kept) do assert(seen[bits], "a block is missing") end
end

local function in_child(stacks)
  local own = {} -- a block that its parent does not have
  for bits = 30000, 30000 + stacks do make(bits) end
  check()
  os.exit(#own)
end

local children, gone_on = 0, 0
local function fork()
  children = children + 1
  local what = children % 4
  gone_on = gone_on + (what == 0 and 1 or 0)
  local pid = ffi.C.fork()
  if pid == 0 then
    if what == 0 and children % 16 == 4 then
      assert(eventring.path()) -- its recording begins
      in_child(to)
    end
    if what == 0 then in_child(2 * every) end
    if what == 1 then ffi.C.kill(ffi.C.getpid(), KILL) end
    if what == 2 then ffi.C._exit(0) end
    os.exit(0)
  end
  local status = ffi.new "int[1]"
  assert(ffi.C.waitpid(pid, status, 0) == pid)
  assert(status[0] == (what == 1 and KILL or 0), status[0])
  if children % 8 == 3 then assert(os.execute "true") end
  if children % 8 == 7 then assert(io.popen("echo here"):read() == "here") end
end

local held = {}
for i = 1, blocks do held[i] = {} end
for bits = 0, to - 1 do
  make(bits)
  if bits >= from and bits % every == 0 then fork() end
  if bits == (from + to) // 2 - 20 then
    while ffi.C.access("walked", 0) ~= 0 do collectgarbage "step" end
  end
end
check()
print(gone_on)
