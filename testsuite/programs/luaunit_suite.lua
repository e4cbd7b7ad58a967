-- SPDX-License-Identifier: MIT
-- A suite in lua-unit's way of testing; some tests fail on purpose.

local lu = require "luaunit"

TestNumbers = {}
function TestNumbers:setUp() self.n = 21 end
function TestNumbers:tearDown() self.n = nil end
function TestNumbers:test_equal() lu.assertEquals(self.n * 2, 42) end
function TestNumbers:test_close() lu.assertAlmostEquals(0.1 + 0.2, 0.3, 1e-12) end
function TestNumbers:test_kinds()
  lu.assertIsNumber(1)
  lu.assertIsNaN(0 / 0)
  lu.assertIsInf(1 / 0)
  lu.assertIsMinusZero(-0.0)
end
function TestNumbers:test_fails() lu.assertEquals(self.n, 22) end

TestStrings = {}
function TestStrings:test_contains() lu.assertStrContains("hello world", "lo wo") end
function TestStrings:test_matches() lu.assertStrMatches("key = value", "(%w+) = (%w+)") end
function TestStrings:test_long_difference()
  lu.assertEquals(("line\n"):rep(3) .. "end", ("line\n"):rep(4) .. "end")
end

TestTables = {}
function TestTables:test_items() lu.assertItemsEquals({ 3, 1, 2 }, { 1, 2, 3 }) end
function TestTables:test_deep() lu.assertEquals({ a = { b = { 1, 2, { c = 3 } } } }, { a = { b = { 1, 2, { c = 3 } } } }) end
function TestTables:test_different() lu.assertEquals({ 1, 2, 3, { x = 1, y = 2 } }, { 1, 2, 4, { x = 1, y = 3 } }) end
function TestTables:test_cyclic()
  local a, b = { 1 }, { 1 }
  a.self, b.self = a, b
  lu.assertEquals(a, b)
end
function TestTables:test_list_difference()
  local a, b = {}, {}
  for i = 1, 30 do a[i], b[i] = i, i == 17 and 0 or i end
  lu.assertEquals(a, b)
end

TestErrors = {}
function TestErrors:test_raised() lu.assertError(function() error "x" end) end
function TestErrors:test_message() lu.assertErrorMsgContains("index a nil", function() local t; return t.x end) end
function TestErrors:test_value() lu.assertErrorMsgEquals({ code = 1 }, error, { code = 1 }) end
function TestErrors:test_error_in_test() local t; t.x = 1 end
function TestErrors:test_skipped() lu.skip "not today" end
function TestErrors:test_success() lu.success() end

os.exit(lu.LuaUnit.run())
