-- SPDX-License-Identifier: MIT
-- Arrays of some megabytes that are grown and dropped again and again use the pages of
-- those that died before: the kernel hands out few fresh ones (minor faults, proc(5)).

local stat = io.open "/proc/self/stat"
if not stat then print "no /proc/self/stat" os.exit(77) end
stat:close()

-- In builds that are slow, pages are touched for other reasons too: it runs a few rounds, and
-- that is all.
local counts = tonumber(os.getenv "TEST_SLOWNESS" or 1) == 1

local function faults()
  local file = assert(io.open "/proc/self/stat")
  local line = file:read "l"
  file:close()
  return math.tointeger(line:match "%) %S+ %S+ %S+ %S+ %S+ %S+ %S+ (%d+)")
end

local function rounds(n, elements)
  for _ = 1, n do
    local t = {}
    for i = 1, elements do t[i] = i end
    assert(#t == elements and t[elements // 2] == elements // 2 and t[elements + 1] == nil)
  end
end

local PAGE, SLOT = 4096, 16
for _, elements in ipairs {300000, 600000, 1000000} do
  rounds(counts and 3 or 1, elements)
  local before = faults()
  rounds(counts and 20 or 2, elements)
  local each = (faults() - before) // 20
  assert(not counts or each < elements * SLOT // PAGE // 2, elements .. " elements: " .. each ..
    " fresh pages a round")
end
