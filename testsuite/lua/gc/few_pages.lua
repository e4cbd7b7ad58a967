-- SPDX-License-Identifier: MIT
-- A heap takes blocks that were freed before those that it never touched: a state in which little
-- survives keeps to few pages, however much it allocates.

-- Builds that collect at each allocation, or whose memory is a sanitizer's, take other pages.
if tonumber(os.getenv "TEST_SLOWNESS" or 1) > 1 then return end

-- KB of memory that this process alone has.
local function own_kb()
  for line in io.lines "/proc/self/status" do
    local kb = line:match "^RssAnon:%s*(%d+)"
    if kb then return tonumber(kb) end
  end
end

if not own_kb() then return end -- Linux before 4.5

-- Some of what is made stays for a while, so that blocks are freed by sweeps, too.
local ring = {}
local function work(rounds)
  for i = 1, rounds do
    local garbage = {i, {tostring(i)}}
    if i % 50 == 0 then ring[i % 1000] = garbage end
  end
end

collectgarbage "incremental"
work(20000)
local before = own_kb()
work(400000)
local more = own_kb() - before
assert(more < 120, more)
