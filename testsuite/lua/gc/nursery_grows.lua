-- SPDX-License-Identifier: MIT
-- In incremental mode the nursery begins small and grows with what is allocated, so that a state
-- that does little keeps little memory. In generational mode it is as large as was asked for.

-- The most that garbage adds to what is alive, in KB, while `bytes` of it are made, or until
-- it is more than `enough`.
local function peak_of_garbage(bytes, enough)
  collectgarbage()
  local base, most = collectgarbage("count"), 0
  for _ = 1, bytes // 64 do
    local garbage = {1}
    local now = collectgarbage("count") - base
    if now > most then most = now end
    if most > enough then break end
  end
  return most
end

collectgarbage("incremental")
local first = peak_of_garbage(1 << 20, 400)
assert(first < 400, first)
-- A build that collects at each allocation has no peak to speak of.
if first < 20 then return end

-- A build that allocates less than 2 MB in a second keeps the small nursery.
local began = os.clock()
local last = peak_of_garbage(256 << 20, 700)
assert(last > 700 or os.clock() - began >= 32, last)

collectgarbage("generational", 20, 100)
local generational = peak_of_garbage(4 << 20, 700)
assert(generational > 700, generational)
