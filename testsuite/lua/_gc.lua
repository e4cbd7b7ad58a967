-- SPDX-License-Identifier: MIT
-- What tests of the collector need.
local gc = {}

-- A dead value may linger in a register that nothing uses any more: makes room in the way of
-- the next calls.
function gc.clobber()
  local a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z
end

function gc.full() gc.clobber() collectgarbage() collectgarbage() end

function gc.count(t) local n = 0 for _ in pairs(t) do n = n + 1 end return n end

return gc
