-- SPDX-License-Identifier: MIT
-- saros.retain: shortest paths from the roots, by kind, in graphs that are known.
local retain = require "saros.retain"

local slowness = tonumber(os.getenv "TEST_SLOWNESS" or "1")
local N = slowness >= 20 and 300 or 20000

-- Kinds of this test are named by __name, so that no other objects are among them.
local function named(name, t)
  return setmetatable(t or {}, { __name = name })
end

local function find(name, options)
  options = options or {}
  options.top = options.top or 1000
  local report = retain.report(options)
  for _, k in ipairs(report.kinds) do
    if k.kind == name then return k, report end
  end
  return nil, report
end

-- The one path to the one object of a kind.
local function path_of(name)
  local k = assert(find(name), name)
  assert(k.objects == 1 and #k.holders == 1 and k.more_holders == 0)
  return k.holders[1].path, k.holders[1]
end

local function clobber() local a, b, c, d, e, f, g, h; return a, b, c, d, e, f, g, h end

-- Globals, fields, elements
GLOBAL = { cache = { sessions = { {}, {}, { user = named "test.user" } } } }
local path, holder = path_of "table test.user"
assert(path == "_G.GLOBAL.cache.sessions[3].user", path)
assert(holder.steps == 5 and holder.shape == "_G.GLOBAL.cache.sessions[*].user")
GLOBAL = { [1.5] = { ["a key\n\27[31m"] = named "test.key" } }
path = path_of "table test.key"
assert(path == '_G.GLOBAL[a float]["a key\\x0A\\x1B[31m"]', path)
GLOBAL = { [true] = { [named "test.askey"] = 1 } }
path = path_of "table test.askey"
assert(path == "_G.GLOBAL[true][a table].<key>", path)
GLOBAL = { [("k"):rep(500)] = named "test.longkey" }
path = path_of "table test.longkey"
assert(path == '_G.GLOBAL["' .. ("k"):rep(40) .. '..."]', path)

-- The shortest of several, and cycles
local shared = named "test.shared"
GLOBAL = { a = { b = { c = { d = shared } } }, near = shared, self = nil }
GLOBAL.self = GLOBAL
GLOBAL.a.b.c.up = GLOBAL.a
shared = nil
path = path_of "table test.shared"
assert(path == "_G.GLOBAL.near", path)

-- Modules, metatables, upvalues, user values of the registry
package.loaded["test.module"] = { state = named "test.state" }
path = path_of "table test.state"
assert(path == '_G.package.loaded["test.module"].state' or
       path == 'package.loaded["test.module"].state', path)
package.loaded["test.module"] = nil
GLOBAL = setmetatable({}, { __index = named "test.class" })
path = path_of "table test.class"
assert(path == "_G.GLOBAL.<metatable>.__index", path)
do
  local hidden = named "test.upvalue"
  GLOBAL = { handler = function() return hidden end }
end
clobber()
path = path_of "table test.upvalue"
assert(path == "_G.GLOBAL.handler.<upvalue hidden>", path)
getmetatable("").__test = named "test.string"
path = path_of "table test.string"
assert(path == "_G.string.<metatable>.__test" or path == "metatable of strings.__test", path)
getmetatable("").__test = nil
debug.getregistry().TEST = named "test.registry"
path = path_of "table test.registry"
assert(path == "registry.TEST", path)
debug.getregistry().TEST = nil

-- Variables: of this function, of one that waits in a coroutine
GLOBAL = nil
do
  local mine = named "test.local"
  path = path_of "table test.local"
  assert(path:find("^main thread%.<local mine in .*retain%.lua>$"), path)
end
GLOBAL = coroutine.wrap(function(first)
  local theirs = { named "test.suspended" }
  coroutine.yield()
  return theirs, first
end)
GLOBAL(named "test.argument")
clobber()
path = path_of "table test.suspended"
assert(path:find("^_G%.GLOBAL%.<upvalue 1>%.<local theirs in .*retain%.lua:%d+>%[1%]$"), path)
path = path_of "table test.argument"
assert(path:find("%.<local first in "), path)
GLOBAL = nil
coroutine.wrap(function()
  local inner = named "test.inner"
  path = path_of "table test.inner"
  assert(path:find("^running coroutine%.<local inner in "), path)
  return inner
end)()

-- What is weak holds nothing; an ephemeron holds its value while its key is held.
local key = {}
GLOBAL = {
  values = setmetatable({ named "test.weak", x = named "test.weak" }, { __mode = "v" }),
  keys = setmetatable({ [key] = named "test.ephemeron", [named "test.weakkey"] = 1 },
                      { __mode = "k" }),
}
GLOBAL.chain = setmetatable({}, { __mode = "k" })
local k1, k2 = {}, {}
GLOBAL.chain[k1] = k2
GLOBAL.chain[k2] = named "test.chained"
k2 = nil
clobber()
assert(not find "table test.weak" and not find "table test.weakkey")
path = path_of "table test.ephemeron"
assert(path == "_G.GLOBAL.keys[a table]", path)
path = path_of "table test.chained"
assert(path == "_G.GLOBAL.chain[a table]", path)
key, k1 = nil, nil
clobber()
collectgarbage()
assert(not find "table test.ephemeron" and not find "table test.chained")

-- A leak: many of a kind, one line
GLOBAL = { log = {} }
for i = 1, N do GLOBAL.log[i] = { entry = named("test.entry", { i }) } end
local k, report = find "table test.entry"
assert(k.objects == N and #k.holders == 1)
assert(k.holders[1].shape == "_G.GLOBAL.log[*].entry", k.holders[1].shape)
assert(k.bytes >= N * 48 and k.holders[1].objects == N and k.holders[1].bytes == k.bytes)
assert(report.objects > 2 * N and report.bytes > k.bytes and report.cut_off == nil)
for i = 2, #report.kinds do assert(report.kinds[i - 1].bytes >= report.kinds[i].bytes) end
-- ... in a map: its keys are not told apart
GLOBAL = { map = {} }
for i = 1, N do GLOBAL.map["session " .. i] = named "test.session" end
k = find "table test.session"
assert(k.objects == N and k.holders[1].shape == "_G.GLOBAL.map[*]")
assert(k.holders[1].path:find '^_G%.GLOBAL%.map%["session %d+"%]$')
-- ... in a list
GLOBAL = nil
for i = 1, N do GLOBAL = named("test.link", { next = GLOBAL }) end
k = find "table test.link"
assert(k.objects == N and k.holders[1].shape == "_G.GLOBAL" or
       k.holders[1].shape == "_G.GLOBAL.next+", k.holders[1].shape)
assert(#k.holders == 2)
-- ... deep, in tables without names: shapes end, and the path is cut in its middle
local deep = named "test.deep"
for i = 1, N do deep = { deep } end
GLOBAL, deep = deep, nil
clobber()
path, holder = path_of "table test.deep"
assert(holder.steps == N + 1 and path:find(" ... " .. (N + 1 - 16) .. " steps ... ", 1, true), path)
assert(holder.shape:find " %.%.%.$", holder.shape)

-- Kinds of tables are their fields, in any order; of functions, where they are defined
GLOBAL = {}
for i = 1, 10 do
  GLOBAL[i] = i % 2 == 0 and { zebra = 1, apple = 2 } or { apple = 1, zebra = 2 }
end
assert(find("table {apple, zebra}").objects == 10)
GLOBAL = {}
for i = 1, 10 do GLOBAL[i] = function() return i end end
local line = debug.getinfo(1, "l").currentline - 1
KEPT = { deep = {} }
function KEPT.deep.f() end
k = nil
for _, kind in ipairs(retain.report { top = 1000, kind = "function " }.kinds) do
  assert(kind.kind:find "^function ")
  if kind.kind:find("retain.lua:" .. line, 1, true) then k = kind end
end
assert(k.objects == 10 and k.holders[1].shape == "_G.GLOBAL[*]")
assert(k.kind:find "^function anonymous ", k.kind) -- their name is that of other tools
assert(retain.report { top = 1000, kind = "function KEPT.deep.f " }.kinds[1].kind:find(
  "retain.lua:" .. line + 3, 1, true))

-- No metamethod is called, and odd ones are taken as they are.
local function never() error "a metamethod was called" end
local hostile = { __index = never, __newindex = never, __len = never, __pairs = never,
                  __eq = never, __lt = never, __tostring = never, __close = never,
                  __name = never, __mode = never }
GLOBAL = setmetatable({ held = named "test.hostile" }, hostile)
hostile.__metatable = named "test.metatable"
path = path_of "table test.hostile"
assert(path == "_G.GLOBAL.held", path)
path = path_of "table test.metatable"
assert(path:find "%.<local hostile in .*>%.__metatable$", path)
GLOBAL = setmetatable({}, { __name = "\27]0;evil\7" .. ("x"):rep(300) })
assert(find("table \\x1B]0;evil\\x07" .. ("x"):rep(71) .. "..."))

-- Bounds
GLOBAL = {}
for i = 1, 1000 do GLOBAL[i] = {} end
report = retain.report { objects = 100 }
assert(report.cut_off == "objects" and report.objects == 100)
report = retain.report { seconds = 1e-9 }
assert(report.cut_off == "seconds" and report.objects > 0)
assert(#retain.report { top = 3 }.kinds == 3)
assert(#retain.report { kind = "no such kind" }.kinds == 0)

-- Wrong arguments
local function fails(pattern, ...)
  local ok, message = pcall(retain.report, ...)
  assert(not ok and message:find(pattern), message)
end
fails("table expected", 5)
fails("no option 'tops'; did you mean 'top'?", { tops = 1 })
fails("field 'top' is not an integer from 1 to 1000", { top = 0 })
fails("field 'top' is not an integer from 1 to 1000", { top = "x" })
fails("field 'objects' is not an integer", { objects = -1 })
fails("field 'seconds' is not a number above 0", { seconds = 0 / 0 })
fails("field 'kind' is not a string", { kind = 1 })

-- An object that waits for its finalizer
GLOBAL = nil
local seen
setmetatable({ named "test.final" }, {
  __gc = function(o) seen = find "table test.final" return o end })
collectgarbage()
collectgarbage()
assert(seen and seen.objects == 1)
