-- SPDX-License-Identifier: MIT
-- Prints values of every shape with the module inspect.

local inspect = require "inspect"

print(inspect { 1, 2, 3, "four", 5.5, true, false, [10] = "ten", ["key with spaces"] = { nested = {} } })
print(inspect "quotes ' and \" and \n newlines \t and \127 and \0 zero")
print(inspect({ [1.5] = 1, [-1] = 2, [true] = 3, [{}] = 4, a = 5, [print] = 6 }, { process = function(v) if type(v) ~= "function" then return v end end }))
local cyclic = { name = "cycle" }
cyclic.self = cyclic
cyclic.list = { cyclic, { cyclic.list } }
print(inspect(cyclic))
print(inspect(setmetatable({ 1 }, { __index = { 2 }, __name = "meta" })))
print(inspect({ a = { b = { c = { d = { e = 1 } } } } }, { depth = 3 }))
print(inspect({ a = 1, { b = 2 } }, { newline = "@", indent = ">>" }))
print(inspect({ password = "secret", user = "me", list = { password = "again" } }, {
  process = function(item, path)
    if path[#path] == "password" then return "***" end
    return item
  end,
}))
print(inspect { math.huge, -math.huge, math.maxinteger, math.mininteger, 1e300, 0.1, 2^53 })
local keys = {}
for i = 1, 40 do keys["key" .. (i * 7919 % 41)] = i keys[i] = i * i end
print(inspect(keys))
local functions = inspect { f = function() end, g = print, co = coroutine.create(print) }
print((functions:gsub("%d+", "N")))
print(inspect(inspect.KEY), inspect(inspect.METATABLE))
print(inspect({ 1, 2, { 3 } }, { process = function(v, path) return type(v) == "number" and path[#path] ~= inspect.KEY and v * 10 or v end }))
