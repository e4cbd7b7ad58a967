-- SPDX-License-Identifier: MIT
-- An error in long code without names of variables is raised in time that is proportional
-- to its length, whatever words it is made of: here, both words of each instruction look
-- like the first of two, for some index of the key "x" among the constants.
local count = (tonumber(os.getenv("TEST_SLOWNESS") or 1) > 1) and 1000 or 10000

local function seconds_to_raise(keys_before)
  local source = {"local t, u = ...; t = {}; local _ = {"}
  for i = 1, keys_before do source[#source + 1] = ("'k%d', "):format(i) end
  source[#source + 1] = "}\n" .. ("t.x = t\n"):rep(count) .. "return u.y"
  local raise = load(string.dump(load("return function(...)" .. table.concat(source) ..
    " end")(), true))
  local start = os.clock()
  local done, message = pcall(raise)
  assert(not done and message == "?:-1: attempt to index a nil value", message)
  return os.clock() - start
end

local times = {}
for keys_before = 0, 40 do times[#times + 1] = seconds_to_raise(keys_before) end
table.sort(times)
local median, longest = times[#times // 2], times[#times]
assert(longest < 0.1 + 20 * median, ("median %g s, longest %g s"):format(median, longest))
