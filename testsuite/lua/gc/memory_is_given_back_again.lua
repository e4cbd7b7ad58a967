-- SPDX-License-Identifier: MIT
-- A heap that grew by huge pages gives all of it back, and takes it again: what is
-- resident after a full collection does not grow from round to round. In builds that are
-- slow, memory is kept for other reasons too: it runs, and that is all.
local slowness = tonumber(os.getenv "TEST_SLOWNESS" or 1)

local function resident()
  for line in io.lines("/proc/self/statm") do return tonumber(line:match("^%d+ (%d+)")) * 4096 end
end

local function fill()
  local records, floats = {}, {}
  for i = 1, 200000 // slowness ^ 2 do records[i] = {id = i} end
  for i = 1, 700000 // slowness ^ 2 do floats[i] = i + 0.5 end
  local parts = {}
  for i = 1, 60 // slowness do
    local part = {}
    for k = 1, 20000 do part[k] = k end
    parts[i] = part
  end
  return #records > 0 and #floats > 0 and #parts > 0
end

collectgarbage()
local before, after = resident(), {}
for round = 1, 4 do
  assert(fill())
  collectgarbage()
  collectgarbage()
  after[round] = resident()
end
for round, bytes in ipairs(after) do
  assert(slowness > 1 or bytes - before < 6 << 20,
    ("round %d: %d KiB stay"):format(round, (bytes - before) // 1024))
end
