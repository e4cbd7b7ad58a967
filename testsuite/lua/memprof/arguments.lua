-- SPDX-License-Identifier: MIT
-- Wrong arguments, states and misspelt names are errors that name them; the orders in which
-- profiles are started, stopped and discarded.

local memprof = require "saros.memprof"
local fails = require "_fails"
assert(require "memprof" == memprof or package.loaded.memprof)

local function nothing() end
fails("table expected", memprof.start)
fails("field 'rate' is missing", memprof.start, {})
fails("no option 'rat'; did you mean 'rate'?", memprof.start, {rat = 1})
fails("no option 'ratee'; did you mean 'rate'?", memprof.start, {ratee = 1})
fails("no option 'rate\\000'; did you mean 'rate'?", memprof.start, {["rate\0"] = 1})
for _, rate in ipairs {-3, 42, 0 / 0, 1.0001} do
  fails("field 'rate' is not in [0, 1]", memprof.start, {rate = rate})
end
fails("field 'rate' is not a number", memprof.start, {rate = "potato"})
fails("field 'rate' is not a number", memprof.start, {rate = "1"})
for _, depth in ipairs {-1, 1.5, 100000, "3", {}} do
  fails("field 'depth' is not an integer in", memprof.start, {rate = 1, depth = depth})
end
fails("field 'callbacks' is not a table", memprof.start, {rate = 1, callbacks = 1})
fails("no callback 'alloc'", memprof.start, {rate = 1, callbacks = {alloc = nothing}})
fails("bad argument #1 to 'memprof.start' (no callback 'promot'; did you mean 'promote'?)",
      memprof.start, {rate = 1, callbacks = {promot = nothing}})
fails("callback 'promote' is not a function", memprof.start, {rate = 1, callbacks = {promote = 1}})
assert(not memprof.is_sampling())

local function start() return memprof.start {rate = 0.5, callbacks = {alloc_young = nothing}} end
local function check(on) assert(memprof.is_sampling() == on) end

local s = start() -- after bad rates it can still be started
check(true)
fails("no option 'flsh'; did you mean 'flush'?", s.stop, s, {flsh = true})
fails("field 'flush' is not a boolean", s.stop, s, {flush = 1})
fails("this sampler runs: stop it first", s.discard, s)
s:stop()
check(false)
fails("it was stopped", s.stop, s)
s:discard()
fails("was discarded already", s.discard, s)
fails("was discarded", s.stop, s)
fails("was discarded", s.snapshot, s)
fails("memprof.sampler expected", s.stop, {})

-- two in a row; with discard between; both discarded; both at the end; in reverse order;
-- the old one while the new one samples
local a = start() a:stop() local b = start() b:stop()
a = start() a:stop() a:discard() b = start() b:stop()
a = start() a:stop() a:discard() b = start() b:stop() b:discard()
a = start() a:stop() b = start() b:stop() a:discard() b:discard()
a = start() a:stop() b = start() b:stop() b:discard() a:discard()
a = start() a:stop() b = start() a:discard() check(true) b:stop() b:discard()
-- a second start replaces the first
a = start() b = start()
check(true)
fails("it was stopped", a.stop, a)
a:discard()
check(true)
b:stop()
check(false)
b:discard()

-- rate 0 samples nothing
local n = 0
s = memprof.start {rate = 0, callbacks = {alloc_young = function() n = n + 1 end}}
for i = 1, 1000 do local _ = {i, x = {i}} end
check(true)
s:stop()
assert(n == 0 and s:snapshot().samples == 0 and s:snapshot().words > 0)
s:discard()
