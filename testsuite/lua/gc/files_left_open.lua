-- SPDX-License-Identifier: MIT
-- Files that are left open hold memory of the C library: they are collected in time, not
-- when the descriptors are used up.
local slowness = tonumber(os.getenv "TEST_SLOWNESS" or 1)
local listing = io.popen "ls /proc/$PPID/fd 2>/dev/null"
local lists = listing:read "a" ~= ""
listing:close()
if not lists then print "no /proc/PID/fd" os.exit(77) end

local function descriptors()
  local pipe <close> = io.popen "ls /proc/$PPID/fd"
  local n = 0
  for _ in pipe:lines() do n = n + 1 end
  return n
end

collectgarbage "generational"
local most = 0
for i = 1, 1000 do
  assert(io.open "/dev/null")
  if i % 50 == 0 then most = math.max(most, descriptors()) end
end
assert(most < 500, most)

-- An open one counts, a closed one does not
collectgarbage()
local files, before = {}, collectgarbage "count"
for i = 1, 100 do files[i] = assert(io.open "/dev/null") end
local open = collectgarbage "count" - before
for i = 1, 100 do files[i]:close() end
local closed = collectgarbage "count" - before
assert(open > 450 and closed < 100 * slowness, open .. " " .. closed)
