-- SPDX-License-Identifier: MIT
-- Ever new stacks: those that no tracked block has are forgotten, so that each sample has a
-- stack, and the right one, for as long as the program runs.

local memprof = require "saros.memprof"
local stacks = require "_deep"
local deep = stacks.deep
local slow = tonumber(os.getenv "TEST_SLOWNESS" or 1)
local BITS = 17 -- 2^17 stacks; there is room for 2^16
local n = slow >= 20 and 300 or slow > 1 and 10000 or 1 << BITS

local current, checked, kept = nil, 0, {}
local s = memprof.start {rate = 1, depth = 30, callbacks = {
  alloc_young = function(sample)
    if sample.kind ~= "table" or not current then return nil end
    assert(stacks.bits_of(sample.stack, BITS) == current, "another stack")
    checked = checked + 1
    return current
  end,
  promote = function(bits) return bits end,
}}
for i = 0, n - 1 do
  current = i
  local t = deep(BITS, i)
  current = nil
  if i % 1024 == 0 then kept[#kept + 1] = t end
end
assert(checked == n, checked)

-- Functions that come and go, and stacks that recur in between.
local function again() return {} end
for i = 1, n // 8 do
  local f = load("return {" .. i .. "}", "=chunk" .. i)
  again()
  f()
end
s:stop {flush = true}

local found, rows = {}, s:snapshot()
assert(rows.unknown_stacks == 0, rows.unknown_stacks)
for _, row in ipairs(rows.rows) do
  local bits = row.kind == "table" and stacks.bits_of(row.stack, BITS)
  if bits then found[bits] = true end
end
for i = 0, n - 1, 1024 do assert(found[i], i) end
s:discard()

-- Names of functions are their own, whatever had their place before.
local seen = 0
s = memprof.start {rate = 1, callbacks = {alloc_young = function(sample)
  local top = sample.stack[1]
  if sample.kind == "table" and top.source:match "^other" then
    assert(top.source == "other" .. current and top.line == 1, top.source)
    seen = seen + 1
  end
end}}
for i = 1, n // 16 do
  current = i
  load("return {" .. i .. "}", "=other" .. i)()
end
s:stop()
s:discard()
assert(seen == n // 16, seen)
