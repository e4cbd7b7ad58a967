-- SPDX-License-Identifier: MIT
-- A domain that ends in the middle of its first minor collection has marked some of its lines. The
-- next one, which gets its memory, must not find them marked (the verifier of a debug build looks).
local domain = require "saros.domain"

for i = 1, 30 do
  local count = domain.spawn(function(i)
    collectgarbage("incremental")
    local kept = {}
    for k = 1, 800 do kept[k] = { k } end
    collectgarbage("frame", 0.04 + i * 0.0015)
    return #kept
  end, i):join()
  assert(count == 800)
end
