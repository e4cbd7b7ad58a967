-- SPDX-License-Identifier: MIT
-- Tables of records grow while collections are under way. In a stress build pieces of
-- collections end at any moment of it (runtime/gc.c), and this program found two faults: a
-- record that was stored into a logged table with a new large array was reclaimed, and dead
-- strings stayed in the intern table when the sweep began during a minor collection.

local kept = {}
for round = 1, 3000 do
  local rows = {}
  for i = 1, 80 do rows[i] = {id = i, title = "row " .. i} end
  for i = 1, 80 do assert(rows[i].id == i) end
  kept[round % 20] = rows
end
print "ok"
