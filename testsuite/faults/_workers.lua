-- SPDX-License-Identifier: MIT
-- Many domains that want more memory together than there is: each ends, with its result or with
-- an error.
local domain = require "saros.domain"
local ended, failed = 0, 0
local function want()
  local t = {}
  for k = 1, 100000 do t[k] = { k } end
  return #t
end
for _ = 1, 20 do
  local workers = {}
  for i = 1, 40 do
    local ok, worker = pcall(domain.spawn, want)
    if ok then workers[#workers + 1] = worker else failed = failed + 1 end
  end
  for _, worker in ipairs(workers) do
    local ok, result = pcall(worker.join, worker)
    if ok then
      assert(result == 100000)
      ended = ended + 1
    else
      assert(tostring(result):find("not enough memory", 1, true), result)
      failed = failed + 1
    end
  end
end
assert(ended + failed == 800 and failed > 0)
print("caught")
