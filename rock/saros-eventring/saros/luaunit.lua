-- SPDX-License-Identifier: MIT
-- saros/luaunit.lua: limits of tests, and a report of what they cost, for LuaUnit.
--
--   local limits = require "saros.luaunit"
--   TestParser = { test_page = limits.limit_words(20000, function() ... end) }
--
-- Each test is measured; the report goes to standard error when the suite has ended.

local luaunit = require "luaunit"

local limits = require("saros.limits").new {
  fail = function(message)
    if luaunit.FAILURE_PREFIX then error(luaunit.FAILURE_PREFIX .. message, 0) end -- up to 3.4
    luaunit.fail(message)
  end,
  skip = function(reason) luaunit.skip(reason) end,
}

local suite = luaunit.LuaUnit
local run_test, end_suite = suite.execOneFunction, suite.endSuite

function suite:execOneFunction(class, name, instance, test)
  if type(test) == "function" then
    test = limits.measured(class and class .. "." .. name or name, test)
  end
  return run_test(self, class, name, instance, test)
end

function suite:endSuite()
  end_suite(self)
  local text = limits.text()
  if text then io.stderr:write(text) end
end

return limits
