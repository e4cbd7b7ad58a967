-- SPDX-License-Identifier: MIT
-- saros/busted.lua: limits of tests, and a report of what they cost, for busted.
--
--   local limits = require "saros.busted"
--   it("parses a page", limits.limit_words(20000, function() ... end))
--
-- `busted --helper=saros.busted` measures each test of all files; a file that requires the module
-- itself has its own tests and later ones measured. The report goes to standard error.

local busted = require "busted"

-- busted loads a module anew for each file of tests. Its bus of messages stays: whoever was loaded
-- first answers there.
local asked = {}
busted.publish({ "saros.limits" }, asked)
if asked.limits then return asked.limits end

local current -- test that runs

local limits = require("saros.limits").new {
  fail = function(message) busted.fail(message, 0) end,
  skip = function(reason) current.env.pending(reason) end, -- that of the body of a test
}

-- Names of the test and of the blocks around it
local function full_name(element)
  local parent = busted.parent(element)
  local name = tostring(element.name or element.descriptor)
  if parent and parent.descriptor ~= "file" and (parent.name or parent.descriptor) then
    return full_name(parent) .. " " .. name
  end
  return name
end

-- What a subscriber returns: no result, and others are asked, too.
local function go_on() return nil, true end

busted.subscribe({ "saros.limits" }, function(question)
  question.limits = limits
  return go_on()
end)

busted.subscribe({ "test", "start" }, function(element)
  current = element
  if element.run then element.run = limits.measured(full_name(element), element.run) end
  return go_on()
end)

busted.subscribe({ "suite", "end" }, function()
  local text = limits.text()
  if text then io.stderr:write(text) end
  return go_on()
end)

return limits
