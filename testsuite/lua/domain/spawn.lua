-- SPDX-License-Identifier: MIT
-- Domains: spawning, joining, identity, errors, the limit of 128.
local domain = require "saros.domain"

-- results and arguments
do
  local h = domain.spawn(function(a, b, ...) return a + b, select("#", ...), nil, "end", nil end,
    1, 2, nil, nil)
  local r = table.pack(h:join())
  assert(r.n == 5 and r[1] == 3 and r[2] == 2 and r[3] == nil and r[4] == "end" and r[5] == nil)
  local again = table.pack(h:join())
  assert(again.n == 5 and again[1] == 3)
  assert(h.status == "done" and math.type(h.id) == "integer" and h.name == "domain " .. h.id)
  assert(tostring(h) == "domain " .. h.id .. " (" .. h.name .. ")")
  assert(select("#", domain.spawn(function() end):join()) == 0)
end

-- identity
do
  local me = domain.self()
  assert(me.status == "running" and me.name == "main" and me.id == 0)
  local id, name, count = domain.spawn({name = "worker"}, function()
    local me = domain.self()
    return me.id, me.name, domain.count()
  end):join()
  assert(id ~= 0 and name == "worker" and count == 2)
  assert(domain.count() == 1 and domain.cpus() >= 1)
  assert(not pcall(me.join, me))
end

-- a domain has globals of its own, and its own state of the libraries
do
  shared = "main's"
  local h = domain.spawn(function()
    local before = shared
    shared = "other's"
    string.extra = true
    return before, _G.shared, package.loaded._G == _G
  end)
  local before, after, own = h:join()
  assert(before == nil and after == "other's" and own)
  assert(shared == "main's" and string.extra == nil)
  shared = nil
end

-- errors: a string comes with the traceback of the domain, others as they are
do
  local function fails() error("boom") end
  local ok, message = pcall(function()
    return domain.spawn({name = "bad"}, function() fails() end):join()
  end)
  assert(not ok and
    message:find("spawn.lua:%d+: boom\nin domain %d+ %(bad%)\nstack traceback:\n", 1))
  assert(message:find("in upvalue 'fails'", 1, true), message)
  -- what closes variables sees the error itself, and may put another in its place
  local seen = domain.channel(4)
  local function closes(value, other)
    local closed <close> = setmetatable({}, {__close = function(_, e)
      seen:send(type(e) == "table" and e.code or e)
      if other ~= nil then error(other, 0) end
    end})
    error(value, 0)
  end
  assert(not pcall(function() domain.spawn(closes, {code = 6}):join() end))
  assert(not pcall(function() domain.spawn(closes, "text"):join() end))
  local ok, m = pcall(function() return domain.spawn(closes, "first", "second"):join() end)
  assert(not ok and m:find("^second\nin domain ") and m:find("stack traceback:", 1, true), m)
  local got = {}
  for _ = 1, 3 do got[seen:receive()] = true end
  assert(got[6] and got.text and got.first)
  local h = domain.spawn(function() error({code = 5}) end)
  local ok, e = pcall(h.join, h)
  assert(not ok and e.code == 5 and h.status == "failed")
  assert(select(2, pcall(h.join, h)) == e)
  ok, message = pcall(function() domain.spawn(function() error() end):join() end)
  assert(not ok and message == nil)
  ok, message = pcall(function()
    domain.spawn(function() return 1, {file = io.stdout} end):join()
  end)
  assert(not ok and message == "result[2].file: cannot send a userdata")
  ok, message = pcall(function()
    domain.spawn(function() error(setmetatable({},
      {__tostring = function() return "nice" end})) end):join()
  end)
  assert(not ok and tostring(message) == "nice")
end

-- join with a time
do
  local go = domain.channel()
  local h = domain.spawn(function() return go:receive() end)
  local r, why = h:join(0)
  assert(r == nil and why == "timeout")
  r, why = h:join(0.001)
  assert(r == nil and why == "timeout")
  go:send("now")
  assert(h:join(100) == "now")
end

-- domains spawn domains; modules are required by the domain that needs them
do
  local function tree(depth)
    if depth == 0 then return 1 end
    local a = domain.spawn(tree, depth - 1)
    local b = domain.spawn(tree, depth - 1)
    return a:join() + b:join()
  end
  assert(tree(3) == 8)
end

-- 128 at once, the 129th is an error; ended ones make room
do
  local gate = domain.channel()
  local handles = {}
  for i = 1, 127 do handles[i] = domain.spawn(function() return gate:receive() end) end
  assert(domain.count() == 128)
  local ok, message = pcall(domain.spawn, function() end)
  assert(not ok and message:find("too many domains", 1, true), message)
  gate:send(1)
  local joined = 0
  repeat
    for i, h in pairs(handles) do
      if h:join(0.001) == 1 then joined, handles[i] = i, nil end
    end
  until joined > 0
  local h = domain.spawn(function() return 1 end)
  assert(h:join() == 1)
  for _ in pairs(handles) do gate:send(2) end
  for _, h in pairs(handles) do assert(h:join() == 2) end
  assert(domain.count() == 1)
end
