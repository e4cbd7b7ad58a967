-- SPDX-License-Identifier: MIT
-- In incremental mode the nursery begins small and grows with what is allocated, so that a state
-- that does little keeps little memory. In generational mode it is as large as was asked for.

-- The most that garbage adds to what is alive, in KB, while `bytes` of it are made.
local function peak_of_garbage(bytes)
  collectgarbage()
  local base, most = collectgarbage("count"), 0
  for _ = 1, bytes // 64 do
    local garbage = {1}
    local now = collectgarbage("count") - base
    if now > most then most = now end
  end
  return most
end

collectgarbage("incremental")
local first = peak_of_garbage(1 << 20)
assert(first < 400, first)

-- A build that collects at each allocation has no peak to speak of, and one that allocates less
-- than 2 MB in a second keeps the small nursery.
local began = os.clock()
local last = peak_of_garbage(256 << 20)
local fast = os.clock() - began < 32
assert(last >= first)
assert(last > 700 or not fast or first < 20, last)

collectgarbage("generational", 20, 100)
local generational = peak_of_garbage(4 << 20)
assert(generational > 700 or first < 20, generational)
print("ok")
