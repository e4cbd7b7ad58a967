-- SPDX-License-Identifier: MIT
-- A memo table with weak keys, of which every tenth survives for a while: memory is that
-- of what is alive, whatever the collector notes of the table, and goes when that is
-- dropped.
if (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1 then os.exit(true) end

local function kilobytes(what)
  local file = io.open "/proc/self/status"
  local text = file and file:read "a" or ""
  if file then file:close() end
  return tonumber(text:match(what .. ":%s*(%d+)"))
end
if not kilobytes "VmHWM" then os.exit(true) end

-- values that are numbers, values that the collector has to follow
for entries, value in pairs { [2500000] = function(i) return i end,
  [500000] = function(i) return { i } end } do
  local memo, ring = setmetatable({}, { __mode = "k" }), {}
  for i = 1, entries do
    local key = {}
    memo[key] = value(i)
    if i % 10 == 0 then ring[i // 10 % 20000 + 1] = key end
  end
  for _, key in pairs(ring) do assert(memo[key]) end
  assert(kilobytes "VmHWM" < 64 << 10, kilobytes "VmHWM")
  memo, ring = nil, nil
  collectgarbage()
  collectgarbage()
  assert(kilobytes "VmRSS" < 24 << 10, kilobytes "VmRSS")
end
