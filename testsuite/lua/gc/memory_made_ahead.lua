-- SPDX-License-Identifier: MIT
-- A thread makes memory present for large heaps, and for them only: it is there from some
-- size on, for all domains together, and ends with the last of them. The memory is right, also in
-- the child of a fork, which has no such thread.
local domain = require "saros.domain"
local ffi = require "saros.ffi"

local function status(name)
  for line in io.lines "/proc/self/status" do
    local value = line:match("^" .. name .. ":%s+(.*)")
    if value then return value end
  end
end
local function threads() return tonumber(status "Threads") end

-- Where only one processor may be used there is none.
local one = status "Cpus_allowed_list":match "^%d+$" ~= nil
local helper = one and 0 or 1

local SIZE = 8000 -- bytes of a string: so large that few fill a heap, small enough for its blocks
local function fill(megabytes)
  local list = {}
  for i = 1, megabytes * (1 << 20) // SIZE do list[i] = ("%08d"):format(i):rep(SIZE // 8) end
  return list
end
local function check(list)
  for i, s in ipairs(list) do
    local number = ("%08d"):format(i)
    assert(#s == SIZE and s:sub(1, 8) == number and s:sub(-8) == number)
  end
end

local before = threads()
check(fill(4))
-- In builds of --enable-stress such strings are not in the blocks of the heap.
local counts = tonumber(os.getenv "TEST_SLOWNESS" or 1) == 1
assert(not counts or threads() == before, "a thread for a small heap")

do -- in another domain, with which it ends
  local inside, after = domain.spawn(function(fill, check, threads)
    local list = fill(64)
    check(list)
    return threads()
  end, fill, check, threads):join()
  assert(not counts or inside == before + 1 + helper, inside)
  local tries = 0
  repeat
    tries, after = tries + 1, threads()
    if after > before then domain.sleep(0.01) end
  until not counts or after <= before or tries > 1000
  assert(not counts or after == before, "the thread is still there")
end

local list = fill(64)
assert(not counts or threads() == before + helper, threads())
check(list)
collectgarbage() -- gives back what is ready
list = nil
collectgarbage()
list = fill(64)
check(list)

-- A child goes on with what it has.
ffi.cdef [[
  int fork(void);
  int waitpid(int, int *, int);
  void _exit(int);
]]
io.stdout:flush()
local child = ffi.C.fork()
if child == 0 then
  local ok = pcall(function()
    assert(threads() == 1)
    local more = fill(64)
    check(more)
    check(list)
    assert(threads() == 1)
  end)
  ffi.C._exit(ok and 0 or 1)
end
local ended = ffi.new "int[1]"
assert(ffi.C.waitpid(child, ended, 0) == child and ended[0] == 0, "the child")
check(list)
