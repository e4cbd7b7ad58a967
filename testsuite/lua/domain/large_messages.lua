-- SPDX-License-Identifier: MIT
-- A large message is made in pieces, between which the collector works and finalizers
-- run. What it is made of stays, although much of it is in weak tables first; a cancel
-- waits.
local domain = require "saros.domain"
local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1
local size = slow and 300 or 30000

local weak = {}
for _, mode in ipairs { "k", "v", "kv" } do
  weak[mode] = { __mode = mode }
  domain.metatable("large." .. mode, weak[mode])
end

-- Garbage with finalizers that make more: they run at each safe point.
local finalized = 0
local function litter()
  local function finalize()
    finalized = finalized + 1
    local t = {}
    for i = 1, 20 do t[i] = { "garbage " .. i } end
  end
  for _ = 1, slow and 3 or 300 do setmetatable({}, { __gc = finalize }) end
end

-- What the objects of `list` refer to comes in weak tables before it, and in a key and an
-- upvalue.
local function structure()
  local list, by_key = {}, {}
  local caches = { setmetatable({}, weak.k), setmetatable({}, weak.v), setmetatable({}, weak.kv) }
  for i = 1, size do
    local record = { i, name = "record number " .. i, part = { i * 2 } }
    list[i] = record
    caches[1][record.part] = record
    caches[2][i] = record.part
    caches[2]["name " .. i] = record
    caches[3][record] = record.part
    by_key[record.part] = function() return record end
  end
  return { { { { list = list, by_key = by_key } } }, caches = caches } -- the caches are met first
end

local function check(s)
  s.list, s.by_key = s[1][1][1].list, s[1][1][1].by_key
  assert(#s.list == size)
  for i = 1, size do
    local record = s.list[i]
    assert(record[1] == i and record.name == "record number " .. i and record.part[1] == i * 2)
    assert(s.caches[1][record.part] == record)
    assert(s.caches[2][i] == record.part and s.caches[2]["name " .. i] == record)
    assert(s.caches[3][record] == record.part)
    assert(s.by_key[record.part]() == record)
  end
end

local pipe = domain.channel(1)
for _ = 1, 3 do
  pipe:send(structure())
  litter()
  local s = pipe:receive()
  check(s)
  collectgarbage()
  check(s)
end
assert(finalized > 0)

-- Several values, one of them an array of scalars; a long string that the heap takes
-- over.
local names = {}
for i = 1, size do names[i] = i % 2 == 0 and i or i + 0.5 end
local text = ("x"):rep(1 << 20)
local h = domain.spawn(function(names, text, n)
  local same = text .. ""
  return names, text, same, { names, n }
end, names, text, size)
local got_names, got_text, same, both = h:join()
for i = 1, size do assert(got_names[i] == names[i]) end
assert(got_text == text and same == text and both[1] == got_names and both[2] == size)

-- Cancelled while it is made: the program has the message, and then the error.
local c, kept = domain.channel(1), domain.channel(2)
local worker = domain.spawn(function(c, kept, size)
  local domain = require "saros.domain"
  setmetatable({}, { __gc = function() domain.self():cancel() end })
  local message
  local ok = pcall(function()
    message = c:receive()
    while true do collectgarbage() end -- for builds where the message is small, and in one piece
  end)
  local list = message and message.list
  domain.masked(function()
    kept:send { ok = ok, n = list and #list, last = list and list[size][1] }
  end)
end, c, kept, size)
c:send { list = structure()[1][1][1].list }
local result = kept:receive(120)
assert(result and result.ok == false, "cancelled")
assert(result.n == size and result.last == size, "nothing was lost")
pcall(worker.join, worker)
