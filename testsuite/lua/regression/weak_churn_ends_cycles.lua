-- SPDX-License-Identifier: MIT
-- A program that goes on storing into a large weak table must not keep a major cycle from
-- ending: each stored entry was charged to a slice as if it were 256, so marking fell
-- behind for ever and what had died was never given back.

local rounds, entries = 60, 20000
if (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1 then rounds, entries = 3, 300 end

for _, mode in ipairs { "v", "k" } do
  collectgarbage()
  local weak, most = setmetatable({}, { __mode = mode }), 0
  local before = collectgarbage "count"
  for _ = 1, rounds do
    local held = {}
    for i = 1, entries do
      local object = { i }
      held[i] = object
      if mode == "v" then weak[i + 0.5] = object else weak[object] = i end
    end
    most = math.max(most, collectgarbage "count" - before)
  end
  -- One round of entries alive takes less than 200 bytes each. Several are in memory
  -- before a cycle has ended, and a table that fills up with dead keys in the meantime
  -- doubles.
  local bound = (entries * 200 * 4 / 1024 + 16 * 1024) * (mode == "k" and 3 or 1)
  assert(most < bound, string.format("weak %s: %.0f KiB, at most %.0f expected", mode, most, bound))
end
