-- SPDX-License-Identifier: MIT
-- Allocates without end. A sentinel dies at each collection and writes how many
-- it has seen to the file `seen`, outside of any buffer.
local seen, file = 0, assert(io.open("seen", "wb"))
file:setvbuf("no")
local function arm()
  setmetatable({}, {__gc = function()
    seen = seen + 1
    file:seek("set")
    file:write(string.format("%d\n", seen))
    arm()
  end})
end
arm()
local keep = {}
for i = 1, math.huge do
  keep[i % 30000 + 1] = {i, {i}, "text " .. i}
end
