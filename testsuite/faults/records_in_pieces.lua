-- SPDX-License-Identifier: MIT
-- Minor collections in pieces, with slices of a cycle between them, while records of the
-- collector find no room (allocations_test.c): what a piece has promoted and left to the next
-- one is scanned.
local rounds = tonumber((...)) or 80

local function churn(n)
  local others = {}
  for i = 1, n do others[i % 50] = { -i } end
end

local lists = {}

local function make(round)
  local list = { width = 2900 + round * 7 % 200 }
  for i = 1, list.width do list[i] = { i, { { i } } } end
  lists[round % 3] = list
end

for round = 1, rounds do
  collectgarbage "stop" -- so that one collection finds a whole list
  make(round)
  collectgarbage "restart"
  churn(60)
  for _, list in pairs(lists) do
    for i = 1, list.width do
      assert(list[i][1] == i and list[i][2][1][1] == i, "a table was reclaimed")
    end
  end
end
