-- SPDX-License-Identifier: MIT
-- The modules of saros: their long names are in package.preload, from which a host can remove
-- them; their short ones give way to whatever else has them; package.searchers is as in the
-- reference.

local write = require "_write"

assert(#package.searchers == 4)
local function preloaded()
  local names = {}
  for name, open in pairs(package.preload) do
    assert(type(open) == "function")
    if name ~= "saros.ffi" then names[#names + 1] = name end -- when built with libffi
  end
  table.sort(names)
  return table.concat(names, " ")
end
local all = "saros.coroutines saros.domain saros.eventring saros.memprof saros.profile saros.retain"
assert(preloaded() == all)
package.path, package.cpath = "./?.lua", "./?.so"

-- both names are one module, whichever comes first; each is loaded once
local domain, where = require "saros.domain"
assert(type(domain.spawn) == "function" and where == ":preload:")
assert(package.loaded["saros.domain"] == domain and package.loaded.domain == nil)
assert(require "domain" == domain and package.loaded.domain == domain)
local eventring
eventring, where = require "eventring"
assert(where == "saros.eventring" and package.loaded["saros.eventring"] == eventring)
assert(require "saros.eventring" == eventring)
local found, ffi = pcall(require, "saros.ffi") -- when built with libffi
assert(pcall(require, "ffi") == found)
if found then assert(require "ffi" == ffi and ffi.cdef) end

-- loaded anew under the long name: the short one follows when it is loaded anew
package.loaded.eventring, package.loaded["saros.eventring"] = nil, nil
assert(require "saros.eventring" ~= eventring and
  require "eventring" == package.loaded["saros.eventring"])

-- a file, a preloaded module and a searcher of the user's win over the short name, not over
-- the long one
local function forget(name) package.loaded[name] = nil end
forget "domain"
write("domain.lua", "return 'a file'")
assert(require "domain" == "a file" and require "saros.domain" == domain)
forget "domain"
package.preload.domain = function() return "preloaded" end
assert(require "domain" == "preloaded")
package.preload.domain = nil
assert(os.remove("domain.lua"))
forget "domain"
table.insert(package.searchers, 2, function(name)
  if name == "domain" then return function() return "searched" end end
end)
assert(require "domain" == "searched")
table.remove(package.searchers, 2)
forget "domain"
assert(require "domain" == domain)
assert(os.execute "mkdir -p saros")
write("saros/domain.lua", "return 'a file'")
forget "saros.domain"
assert(type(require "saros.domain") == "table")
assert(os.remove "saros/domain.lua")
-- but a program can replace it on purpose
forget "saros.domain"
local open = package.preload["saros.domain"]
package.preload["saros.domain"] = function() return "replaced" end
assert(require "saros.domain" == "replaced")
package.preload["saros.domain"] = open
forget "saros.domain"

-- hidden from a package that would take it for LuaJIT's
package.preload.ffi = function() error("no LuaJIT", 0) end
forget "ffi"
assert(not pcall(require, "ffi") and pcall(require, "saros.ffi") == found)
package.preload.ffi = nil

-- the searchers are ordinary functions, and may be removed
local loader, extra = package.searchers[4]("domain")
assert(extra == "saros.domain" and loader("domain", extra) == require "saros.domain")
assert(loader() == require "saros.domain")
assert(select("#", package.searchers[4]("nothing")) == 0)
loader, extra = package.searchers[1]("saros.domain")
assert(extra == ":preload:" and loader == open and loader("saros.domain").spawn)
assert(package.searchers[1]("domain") == "no field package.preload['domain']")
forget "domain"
local last = table.remove(package.searchers)
assert(not pcall(require, "domain") and require "saros.domain")
table.insert(package.searchers, last)

-- what a host removes is gone under both names, also for the loaders of a sandbox that it
-- leaves some searchers
local sandbox = {}
for name in pairs(package.preload) do
  local short = name:match "^saros%.(.*)"
  sandbox[name], package.preload[name] = package.preload[name], nil
  forget(name) forget(short)
  assert(not pcall(require, name) and not pcall(require, short), name)
  for _, search in ipairs(package.searchers) do
    local long_loader, short_loader = search(name), search(short)
    assert(type(long_loader) ~= "function" and type(short_loader) ~= "function")
  end
end
for name, open in pairs(sandbox) do package.preload[name] = open end
assert(preloaded() == all)
local replacement = {["saros.domain"] = function() return "unheard" end}
local before = package.preload
package.preload = replacement -- which `require` does not ask, as in the reference
assert(require "saros.domain" ~= "unheard")
package.preload = before

-- what is not found: the message of the reference
local ok, message = pcall(require, "saros.nothing")
assert(not ok and message == [[
module 'saros.nothing' not found:
	no field package.preload['saros.nothing']
	no file './saros/nothing.lua'
	no file './saros/nothing.so'
	no file './saros.so']], message)
ok, message = pcall(require, "nothing")
assert(not ok and message == [[
module 'nothing' not found:
	no field package.preload['nothing']
	no file './nothing.lua'
	no file './nothing.so']], message)

-- each domain has its own; a module goes to another domain by its name
domain = require "saros.domain"
write("ffi.lua", "return 'a file'")
local loaded, short, long, file, searchers = domain.spawn(function()
  local loaded = package.loaded["saros.eventring"] == nil and
    package.preload["saros.eventring"] ~= nil
  return loaded, require "domain" == require "saros.domain", require "saros.domain" == domain,
    require "ffi", #package.searchers
end):join()
assert(loaded and short and long and file == "a file" and searchers == 4)

-- messages name a function of theirs in one way
assert(require "eventring" == require "saros.eventring")
ok, message = pcall(require "eventring".begin_span)
assert(message == "bad argument #1 to 'eventring.begin_span' (string expected, got no value)" or
  error(message))
