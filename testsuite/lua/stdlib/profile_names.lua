-- SPDX-License-Identifier: MIT
-- Profiles name a function as it is defined, also after string.dump, which drops names when
-- it strips; what a call says of it stays that of the call.
local profile = require "saros.profile"

-- The names of the functions that f calls, in the order of their lines, with spaces between.
local function names_of(f)
  local p = profile.start()
  f()
  p:stop()
  local rows, names = {}, {}
  for _, row in ipairs(p:report().rows) do
    if row.source == "names" and row.name ~= "main chunk" then rows[#rows + 1] = row end
  end
  table.sort(rows, function(a, b) return a.line < b.line end)
  for i, row in ipairs(rows) do names[i] = row.name end
  return table.concat(names, " ")
end

local source = [==[
local M, t, i, called = {a = {b = {}}, [1] = {}}, {}, 1, {}
local function f() end called[#called + 1] = f
function global() end called[#called + 1] = global
function M.a.b:c() end called[#called + 1] = M.a.b.c
M . a . b
  .d = function() end called[#called + 1] = M.a.b.d
local one, two = function() end, 2 called[#called + 1] = one
local late; late = function() end called[#called + 1] = late
called[#called + 1] = ({ field = function() end }).field
called[#called + 1] = ({ ["a\nkey"] = function() end })["a\nkey"]
called[#called + 1] = function() end
t[i] = function() end called[#called + 1] = t[i]
M[i].deep = function() end called[#called + 1] = M[i].deep
local either = either or function() end called[#called + 1] = either
local passed = (function(g) return g end)(function() end) called[#called + 1] = passed
a, b = function() end, function() end called[#called + 1] = a
getmetatable("").__name = function() end called[#called + 1] = getmetatable("").__name
getmetatable("").__name = nil
for _, g in ipairs(called) do g() end
]==]
local expected = "f global M.a.b:c M.a.b.d one late field a?key anonymous anonymous deep " ..
  "anonymous anonymous anonymous anonymous __name"
local chunk = assert(load(source, "=names"))
assert(names_of(chunk) == expected, names_of(chunk))
local dumped = assert(load(string.dump(chunk)))
assert(names_of(dumped) == expected, names_of(dumped))
local stripped = assert(load(string.dump(chunk, true)))
local p = profile.start()
stripped()
p:stop()
for _, row in ipairs(p:report().rows) do
  assert(row.source ~= "?" or row.name == "main chunk" or row.name == "anonymous", row.name)
end

-- a name that is longer than those that are kept is cut, and no other becomes it
local long = string.rep("x", 300)
local cut = names_of(assert(load("M = {} function M." .. long .. "() end M." .. long .. "()", "=names")))
assert(#cut >= 90 and #cut < 128 and ("M." .. long):sub(1, #cut) == cut, cut)

-- getinfo and messages: as called
local M = {}
function M.defined() return debug.getinfo(1, "n") end
local called = M.defined
local info = called()
assert(info.name == "called" and info.namewhat == "local")
function M.failing() error "here" end
local other = M.failing
local _, trace = xpcall(function() other() return 1 end, debug.traceback)
assert(trace:find("in upvalue 'other'", 1, true), trace)
