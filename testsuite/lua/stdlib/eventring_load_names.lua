-- SPDX-License-Identifier: MIT
-- The spans of require and of parsing carry the name of the module or chunk.
local eventring = require "saros.eventring"
assert(eventring.start())
local cursor = eventring.cursor()

local seen = {}
local callbacks = {
  runtime_begin = function(_, _, name, value)
    if name == "parse" or name == "require" then seen[#seen + 1] = name .. " " .. tostring(value) end
  end,
}
local function poll()
  seen = {}
  cursor:poll(callbacks)
  return table.concat(seen, ", ")
end
poll()

package.preload["a.module"] = function() return true end
require "a.module"
require "a.module" -- loaded: no span
pcall(require, "no.such.module")
assert(poll() == "require a.module, require no.such.module")

load("return 1", "=chunk")
load("return 1", "@some/file.lua")
load("x = 1\ny = 2")
load(string.dump(function() end, true), "=binary")
load("not Lua", "=bad")
local pieces = { "return ", "2" }
load(function() return table.remove(pieces, 1) end, "=pieces")
assert(poll() == 'parse chunk, parse some/file.lua, parse [string "x = 1..."], parse binary, ' ..
  "parse bad, parse pieces")

-- A name that no payload has room for is cut.
package.preload[("m"):rep(2000)] = function() return true end
require(("m"):rep(2000))
assert(poll() == "require " .. ("m"):rep(1008))
cursor:close()
