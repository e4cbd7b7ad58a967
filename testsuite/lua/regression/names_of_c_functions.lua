-- SPDX-License-Identifier: MIT
-- The name of a C function is found once and kept while the modules stay as they are: it is right
-- again when the function leaves the place by which it is named, or a module is added.
local report = require "saros.coroutines".report

-- As it is named where it waits to be run.
local function name_of(f)
  local co = coroutine.create(f)
  for _, group in ipairs(report { top = 1000 }.groups) do
    local frame = group.frames and group.frames[1] or group.stack and group.stack[1]
    if frame and frame.source == "[C]" then return frame.name, co end
  end
end

assert(name_of(string.rep) == "string.rep", name_of(string.rep))
assert(name_of(string.rep) == "string.rep" and name_of(string.byte) == "string.byte")
local rep = string.rep
string.rep = nil
assert(name_of(rep) ~= "string.rep", name_of(rep))
string.rep = rep
assert(name_of(rep):find "rep", name_of(rep))
package.loaded.rep_module = { repeated = string.len }
local len = string.len
string.len = nil
assert(name_of(len) == "rep_module.repeated", name_of(len))
string.len = len
package.loaded.rep_module = nil
collectgarbage()
assert(name_of(len) == "string.len", name_of(len))
-- another one in the place of a function
local upper, lower = string.upper, string.lower
assert(name_of(upper) == "string.upper")
string.upper, string.lower = lower, upper
assert(name_of(upper) == "string.lower" and name_of(lower) == "string.upper")
string.upper, string.lower = upper, lower
