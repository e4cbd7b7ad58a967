-- SPDX-License-Identifier: MIT
-- While a minor collection goes on in pieces, weak tables of all kinds become strong, or weak
-- in another way, by setmetatable or by another __mode; entries move in them as others come in
-- and go. Of each entry all is young. What is alive elsewhere stays, what is left is whole, and
-- a table that becomes strong by setmetatable keeps all that it has at that moment.
-- (With SAROS_VERIFY=1, debug builds check the heap after each piece.)
local slow = (tonumber(os.getenv "TEST_SLOWNESS") or 1) > 1
local ballast = slow and 1000 or 25000
-- in stress builds, what could not be noted lives until a cycle ends
local most_pieces = slow and 20 or 1000

local function object(i) return { id = i, text = { "t" .. i } } end
local function is_whole(o) return o.text[1] == "t" .. o.id end

local function count(t)
  local n = 0
  for key, value in next, t do
    if type(key) == "table" then assert(is_whole(key)) end
    if type(value) == "table" then assert(is_whole(value)) end
    n = n + 1
  end
  return n
end

-- Of every three keys and values one key, or value, is held elsewhere; one value of "k" is the
-- key of the next entry.
local function fill(subject)
  local t, held, n = subject.t, subject.held, subject.entries
  for i = 1, n do
    local key, value = object(i), object(-i)
    if i % 3 == 0 then held[key] = value end
    if i % 3 == 1 then held[i] = value end
    if subject.mode ~= "v" then t[key] = value end
    if subject.mode ~= "k" then t[i], t["name " .. i] = value, object(i) end
    if i % 5 == 0 and subject.mode == "k" then t[value], held[i] = object(0), nil end
  end
end

local function check(subject)
  local t = subject.t
  assert(count(t) <= subject.most)
  for key, value in pairs(subject.held) do
    if type(key) == "table" then
      assert(subject.mode == "v" or t[key] == value, subject.name)
    else
      assert(subject.mode == "k" or t[key] == value, subject.name)
    end
  end
end

-- Makes each table with a metatable of its own: what it becomes is `to`, false: strong.
local function build()
  local subjects = {}
  for _, mode in ipairs { "k", "v", "kv" } do
    for _, to in ipairs { "k", "v", "kv", false, mode } do
      for _, entries in ipairs { 5, slow and 40 or 530 } do
        for _, by in ipairs { "setmetatable", "__mode" } do
          local subject = { mode = mode, to = to, entries = entries, by = by, held = {} }
          subject.name = table.concat({ mode, tostring(to), by, entries }, " ")
          subject.metatable = { __mode = mode }
          subject.t = setmetatable({}, subject.metatable)
          fill(subject)
          subject.most = count(subject.t)
          subjects[#subjects + 1] = subject
        end
      end
    end
  end
  return subjects
end

local function change(subject)
  subject.at_change = count(subject.t)
  if subject.by == "__mode" then subject.metatable.__mode = subject.to or nil
  elseif subject.to then setmetatable(subject.t, { __mode = subject.to })
  else setmetatable(subject.t, nil) end
end

-- Numbers come in and go, so that entries move without a store of anything that is young.
local function stir(subject, step)
  local t = subject.t
  for i = 1, 3 do t[step + i / 4] = i end
  for i = 1, 3 do t[step + i / 4] = nil end
  local key = next(t)
  if key and not subject.held[key] then -- is taken out, and its key dies
    t[key], subject.at_change = nil, subject.at_change and subject.at_change - 1
  end
end

local function round(change_at)
  collectgarbage()
  collectgarbage "stop"
  local kept, canary = {}, setmetatable({ {} }, { __mode = "v" })
  for i = 1, ballast do kept[i] = { i, { i } } end -- more than a piece promotes
  local subjects, pieces = build(), 0
  repeat
    if pieces == change_at then
      for _, subject in ipairs(subjects) do change(subject) end
    end
    for _, subject in ipairs(subjects) do stir(subject, pieces) end
    collectgarbage("step", 0)
    pieces = pieces + 1
    if pieces % 8 == 0 then for _, subject in ipairs(subjects) do check(subject) end end
  until not canary[1] or pieces == most_pieces
  assert(slow or pieces < most_pieces, "the collection ends")
  collectgarbage "restart"
  for _ = 1, 2 do
    for _, subject in ipairs(subjects) do
      check(subject)
      local keeps = subject.by == "setmetatable" or change_at == 1
      if subject.at_change and not subject.to and keeps and not slow then
        assert(count(subject.t) >= subject.at_change, subject.name)
      end
    end
    collectgarbage()
  end
  return pieces
end

for _, mode in ipairs { "incremental", "generational" } do
  collectgarbage(mode)
  local pieces = round(-1)
  if not slow then assert(pieces > 2, "the collection is divided") end
  for at = 0, pieces do
    if at < 3 or at % 7 == 0 or pieces - at < 4 then round(at) end
  end
end
print "OK"
