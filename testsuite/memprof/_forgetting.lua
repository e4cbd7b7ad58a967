-- SPDX-License-Identifier: MIT
-- For test_forgetting.sh: _forgetting.lua STACKS DOMAINS. Makes that many distinct stacks in
-- the main domain and in each of those that it spawns meanwhile, which inherit its profile,
-- while profiles start, stop and are discarded. Each sample that is called back must have
-- the stack that its line says.
local memprof = require "saros.memprof"
local domain = require "saros.domain"
local made = require "_deep"
local deep = made.deep
local stacks, domains = tonumber(arg[1]), tonumber(arg[2])

local checked, current = 0, nil

local function work(from, to)
  local kept = {}
  for bits = from, to do kept[bits % 50 + 1] = deep(16, bits) end
end

local function check(sample)
  if sample.kind ~= "table" or not current then return sample.words end
  assert(made.bits_of(sample.stack, 16) == current, "another stack")
  checked = checked + 1
  return sample.words
end

local function start()
  return memprof.start {rate = 1, depth = 30, callbacks = {
    alloc_young = check, promote = function(words) return words end,
    dealloc_young = function() end, dealloc_old = function() end}}
end

local s, kept, running = start(), {}, {}
for bits = 0, stacks - 1 do
  current = bits
  local t = deep(16, bits)
  current = nil
  if bits % 7 == 0 then kept[bits % 500 + 1] = t end
  if bits % (stacks // domains) == 0 then
    running[#running + 1] = domain.spawn(work, bits, bits + stacks)
  end
  if bits % 997 == 996 then
    s:stop()
    if bits % 2 == 0 then s:discard() end
    s = start()
  end
end
assert(checked > stacks // 2, checked)
assert(s:snapshot().unknown_stacks == 0)
s:stop()
for i = 1, #running do running[i]:join() end
