-- SPDX-License-Identifier: MIT
-- For test_given_back.sh: allocates with thousands of call stacks, until there is a file `stop`.
local function left(n, f) return f(n - 1, f), 1 end
local function right(n, f) return 2, (f(n - 1, f)) end
local path
local function walk(n, f)
  if n == 0 then return { n } end
  local turn = path & 1
  path = path >> 1
  return turn == 0 and left(n, f) or right(n, f)
end
local rounds = 0
while true do
  for i = 0, 4095 do
    path = i
    walk(12, walk)
  end
  rounds = rounds + 1
  if io.open("stop") then break end
end
