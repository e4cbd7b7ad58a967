-- SPDX-License-Identifier: MIT
-- domain.spawn_file: a script as a domain.
local domain = require "saros.domain"
local name = os.tmpname()
local function write(text)
  local f <close> = assert(io.open(name, "w"))
  f:write(text)
end

write [[
local a, list = ...
assert(arg[0]:sub(-1) ~= "" and arg[1] == a and #arg == 2)
return arg[0], a, list.x, domain
]]
local file, a, x, global = domain.spawn_file(name, "one", {x = 2}):join()
assert(file == name and a == "one" and x == 2 and global == nil)

write "return domain.self"
local ok, message = pcall(function() domain.spawn_file({name = "script"}, name):join() end)
assert(not ok and message:find("attempt to index a nil value (global 'domain')", 1, true), message)
assert(message:find("(script)", 1, true))

write "syntax error"
ok, message = pcall(function() domain.spawn_file(name):join() end)
assert(not ok and message:find("syntax error near", 1, true), message)
os.remove(name)
ok, message = pcall(function() domain.spawn_file(name):join() end)
assert(not ok and message:find("cannot open", 1, true), message)
