-- SPDX-License-Identifier: MIT
-- A channel or a handle that was given up (its own finalizer ran, then another object's
-- finalizer brought it back; or code called the finalizer) is unusable: any use
-- is an error.
local domain = require "saros.domain"
local fails, revive = require "_fails", require "_revive"

local function finalize(object)
  debug.getmetatable(object).__gc(object)
  return object
end

local function check_channel(c)
  local own = domain.channel()
  fails("was given up", c.send, c, 1)
  fails("was given up", c.try_send, c, 1)
  fails("was given up", c.receive, c, 0)
  fails("was given up", c.try_receive, c)
  fails("was given up", c.values, c)
  fails("was given up", c.close, c)
  fails("was given up", c.is_closed, c)
  fails("was given up", c.capacity, c)
  fails("was given up", c.id, c)
  fails("was given up", tostring, c)
  fails("was given up", function() return #c end)
  fails("was given up", domain.select, {own, c}, 0)
  -- sent
  fails("arg: cannot send a channel that was given up", own.send, own, c)
  fails("arg.deep.list[2]: cannot send a channel that was given up", own.try_send, own,
    {deep = {list = {own, c}}})
  fails("arg: cannot send a channel that was given up", domain.spawn, function() end, c)
  fails("function, upvalue c: cannot send a channel that was given up", domain.spawn, function()
    return c
  end)
  fails("arg: cannot send a channel that was given up", domain.spawn_file, "nowhere.lua", c)
  fails("cannot send a channel that was given up", function()
    local pool <close> = domain.pool(1)
    pool:map(function() return c end, {1})
  end)
  assert(own:try_receive() == nil and #own == 0)
  -- Giving it up again does nothing.
  finalize(c)
  fails("was given up", tostring, c)
end

check_channel(finalize(domain.channel()))
check_channel(revive(domain.channel))
do
  local c = domain.channel()
  local iterate = c:values()
  c:send(1)
  assert(iterate() == 1)
  finalize(c)
  fails("was given up", iterate)
end

-- One that a domain gives up as its result
fails("result: cannot send a channel that was given up", function()
  domain.spawn(function(finalize)
    local c = require "saros.domain".channel()
    debug.getmetatable(c).__gc(c)
    return c
  end):join()
end)

-- Handles of domains
local function check_handle(h)
  fails("was given up", h == nil or debug.getmetatable(h).__index, h, "status")
  fails("was given up", function() return h.id end)
  fails("was given up", function() return h.name end)
  fails("was given up", function() return h.join end)
  fails("was given up", tostring, h)
  local methods = domain.self()
  fails("was given up", methods.join, h)
  fails("was given up", methods.cancel, h)
  finalize(h)
  fails("was given up", tostring, h)
end

check_handle(finalize(domain.self()))
check_handle(revive(domain.self))
check_handle(revive(function()
  local h = domain.spawn(function() return 1 end)
  assert(h:join() == 1)
  return h
end))

-- A finalizer that runs while the outcome is unpacked gives the handle up.
for _ = 1, 20 do
  local h = domain.spawn(function() error({text = ("x"):rep(100)}) end)
  while h.status == "running" do domain.sleep(0) end
  setmetatable({}, {__gc = function() finalize(h) end})
  local before = collectgarbage("count")
  local ok, e = pcall(h.join, h)
  assert(not ok)
  collectgarbage()
end
