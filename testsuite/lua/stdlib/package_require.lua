-- SPDX-License-Identifier: MIT
-- package and require.

local fails, write = require "_fails", require "_write"

-- the table
assert(package.config == "/\n;\n?\n!\n-\n")
assert(package.loaded._G == _G and package.loaded.string == string and
  package.loaded.package == package)
assert(package.loaded == debug.getregistry()._LOADED and
  package.preload == debug.getregistry()._PRELOAD)
assert(#package.searchers == 4 and type(package.path) == "string" and
  type(package.cpath) == "string")
assert(require("string") == string and select("#", require("string")) == 1)

-- searchpath
package.path = "./?.lua;./?/init.lua"
package.cpath = "./?.so"
write("one.lua", "return {...}")
assert(package.searchpath("one", package.path) == "./one.lua")
local none, message = package.searchpath("a.b", "?.lua;x/?.so")
assert(none == nil and message == "no file 'a/b.lua'\n\tno file 'x/a/b.so'")
assert(select(2, package.searchpath("a-b", "?.x", "-")) == "no file 'a/b.x'")
assert(select(2, package.searchpath("a-b", "?.x", "-", "+")) == "no file 'a+b.x'")
assert(select(2, package.searchpath("a.b", "?.x", "")) == "no file 'a.b.x'")
assert(select(2, package.searchpath("x", "")) == "no file ''")
fails("string expected, got no value", package.searchpath, "x")

-- require: the module's value and the loader's data
local module, where = require("one")
assert(module[1] == "one" and module[2] == "./one.lua" and where == "./one.lua")
assert(package.loaded.one == module)
assert(select("#", require("one")) == 1 and require("one") == module)
-- a module without a value
write("novalue.lua", "loads = (loads or 0) + 1")
assert(require("novalue") == true and require("novalue") == true and loads == 1)
-- a module that stores itself
write("stores.lua", "package.loaded[...] = 'stored'")
assert(require("stores") == "stored")
-- false as a value: loaded again each time
write("isfalse.lua", "falses = (falses or 0) + 1 return false")
assert(require("isfalse") == false and require("isfalse") == false and falses == 2)
-- preload goes first
package.preload["one.two"] = function(...) return {..., select("#", ...)} end
local pre, data = require("one.two")
assert(pre[1] == "one.two" and data == ":preload:")
-- init.lua
assert(os.execute("mkdir -p dir"))
write("dir/init.lua", "return 'directory'")
write("dir/sub.lua", "return 'sub'")
assert(require("dir") == "directory" and require("dir.sub") == "sub")
-- a module that fails
write("broken.lua", "x x")
fails("error loading module 'broken' from file './broken.lua':" ..
  "\n\t./broken.lua:1: syntax error near 'x'", require, "broken")
write("raises.lua", "error({'object'})")
local ok, object = pcall(require, "raises")
assert(not ok and object[1] == "object" and package.loaded.raises == nil)
-- a loop: what is being loaded is not yet there, so that the loop is endless
-- unless the module stores itself first
write("loop.lua", "package.loaded.loop = 'early' return require('loop')")
assert(require("loop") == "early")
-- not found: every place that was searched
ok, message = pcall(require, "no.such")
assert(message == [[
module 'no.such' not found:
	no field package.preload['no.such']
	no file './no/such.lua'
	no file './no/such/init.lua'
	no file './no/such.so'
	no file './no.so']], message)

-- searchers of one's own
table.insert(package.searchers, 2, function(name)
  if name == "virtual" then return function(...) return {...} end, "extra" end
  return "no virtual '" .. name .. "'"
end)
module, where = require("virtual")
assert(module[1] == "virtual" and module[2] == "extra" and where == "extra")
fails("\n\tno virtual 'none'\n\tno file './none.lua'", require, "none")
package.searchers[2] = function() return nil end
fails("module 'none' not found:\n\tno field package.preload['none']\n\tno file './none.lua'",
  require, "none")

-- wrong settings
local path, searchers = package.path, package.searchers
package.path = {}
fails("'package.path' must be a string", require, "none")
package.path = path
package.searchers = nil
fails("'package.searchers' must be a table", require, "none")
package.searchers = searchers
fails("bad argument #1 to 'require' (string expected, got no value)", function() require() end)

-- loadlib
local f, text, kind = package.loadlib("./none.so", "*")
assert(f == nil and kind == "open" and string.find(text, "none.so", 1, true))
write("text.so", "this is no library")
f, text, kind = package.loadlib("./text.so", "luaopen_text")
assert(f == nil and kind == "open")
fails("error loading module 'text' from file './text.so'", require, "text")
local libm = "libm.so.6"
if package.loadlib(libm, "*") then
  f, text, kind = package.loadlib(libm, "no_such_function")
  assert(f == nil and kind == "init" and string.find(text, "no_such_function", 1, true))
  assert(type(package.loadlib(libm, "sin")) == "function")
end
