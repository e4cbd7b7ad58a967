-- SPDX-License-Identifier: MIT
-- What was allocated while the collector was stopped is collected in pieces by steps and
-- frames: one small step is not all of it. Strings that are dead come back when they are made
-- again while the intern table still has them.

collectgarbage("generational")

for round = 1, 3 do
  collectgarbage "stop"
  local keep = {}
  for i = 1, 60000 do keep[i % 50] = "r" .. round .. "k" .. i end
  for step = 1, 8 do
    collectgarbage("step", 64)
    for i = 1, 60000, 7 do
      local key = "r" .. round .. "k" .. i
      keep[key] = i
      if i % 3 == 0 then keep[#keep + 1] = key end
    end
    collectgarbage("frame", 0.05)
  end
  for i = 1, 60000, 7 do assert(keep["r" .. round .. "k" .. i] == i) end
  collectgarbage "restart"
  if round == 2 then collectgarbage() end
end

do -- a step examines only some of very many weak entries
  collectgarbage()
  collectgarbage "stop"
  local weak = setmetatable({}, { __mode = "v" })
  for i = 1, 200000 do weak[i] = { i } end
  collectgarbage("step", 64)
  local left = 0
  for _ in pairs(weak) do left = left + 1 end
  assert(left > 0)
  for _ = 1, 10000 do collectgarbage("step", 64) end
  weak[200001] = nil
  left = 0
  for _ in pairs(weak) do left = left + 1 end
  assert(left == 0, left)
  collectgarbage "restart"
end

print "ok"
