-- SPDX-License-Identifier: MIT
-- In incremental mode the nursery begins small and grows where minor collections have much to
-- examine, so that a state in which little survives keeps little memory, however much it
-- allocates. In generational mode it is as large as was asked for.

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
local first = peak_of_garbage(32 << 20, 400)
assert(first < 400, first)
-- A build that collects all the time has no peak to speak of.
if first < 60 then return end

-- All that is made survives for a while.
local alive = {}
for round = 1, 10 do
  for i = 1, 20000 do alive[i] = {round} end
end
alive = nil
local last = peak_of_garbage(4 << 20, 700)
assert(last > 700, last)

-- It is kept while the other mode is used.
collectgarbage("generational", 20, 100)
local generational = peak_of_garbage(4 << 20, 700)
assert(generational > 700, generational)
collectgarbage("incremental")
local again = peak_of_garbage(4 << 20, 700)
assert(again > 700, again)
