-- SPDX-License-Identifier: MIT
-- Tests with limits, for LuaUnit: test_limits.sh knows which of them hold.
local luaunit = require "luaunit"
local limits = require "saros.luaunit"

local kept
local function allocate(tables)
  kept = {}
  for i = 1, tables do kept[i] = { i, i, i, i } end
end

TestLimits = {}
TestLimits.test_few_words = limits.limit_words(100000, function() allocate(10) end)
TestLimits.test_too_many_words = limits.limit_words(10, function() allocate(1000) end)
TestLimits.test_time_enough = limits.limit_time(3600, function() allocate(10) end)
TestLimits.test_no_time = limits.limit_time(0, function() allocate(10) end)
TestLimits.test_no_collection = limits.no_major(function() allocate(10) end)
TestLimits.test_a_collection = limits.no_major(function() collectgarbage() end)
TestLimits.test_fails_by_itself = limits.limit_words(100000, function() luaunit.assertEquals(1, 2) end)
TestLimits.test_raises = limits.limit_words(100000, function() error("an error of the test") end)
TestLimits.test_self = limits.limit_words(100000, function(self) luaunit.assertIs(self, TestLimits) end)
function TestLimits.test_without_a_limit() allocate(2000) end
test_function = limits.limit_words(100000, function() allocate(5) end)

limits.report(3)
os.exit(luaunit.LuaUnit.run())
