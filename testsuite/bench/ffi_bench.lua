-- SPDX-License-Identifier: MIT
-- What the module ffi costs: calls, members, callbacks, qsort with a guest comparator.
--
--   saros ffi_bench.lua LIBFIXTURE [--quick]
--
-- Each figure is CPU time of this process for one operation, the loop around it
-- taken off: the least and the median of the rounds, with its bar where there is one.

local ffi = require "saros.ffi"
local lib = ffi.load((assert(arg[1], "usage: ffi_bench.lua LIBFIXTURE [--quick]")))
local quick = arg[2] == "--quick"
local rounds, count, sorted = quick and 2 or 15, quick and 1000 or 300000, quick and 1000 or 100000

ffi.cdef [[
int echo_int(int v);
double echo_double(double v);
struct s16 { long a; double b; };
struct s16 echo_s16(int before, struct s16 v, double after);
int call_many_times(int (*f)(int), int n);
int format_arguments(char *to, size_t size, const char *kinds, ...);
size_t strlen(const char *s);
void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));
struct members { int i; double d; uint8_t byte; unsigned bits : 5; struct members *next; struct { int x; } inner; };
]]

local clock = os.clock

-- Least and median time of f(n), by which its operation is repeated, in ns of one.
local function measure(f, n)
  local times = {}
  for round = 1, rounds do
    collectgarbage()
    local from = clock()
    f(n)
    times[round] = (clock() - from) / n * 1e9
  end
  table.sort(times)
  return times[1], times[(rounds + 1) // 2]
end

local loop = measure(function(n) for _ = 1, n do end end, count)
local failed = 0

local function report(name, least, median, bar, unit)
  local verdict = ""
  if bar then verdict = median <= bar and "met" or least <= bar and "least only" or "MISSED" end
  if verdict == "MISSED" then failed = failed + 1 end
  print(("%-42s %8.1f %8.1f %s %s"):format(name, least, median, unit or "ns",
    bar and ("  bar " .. bar .. " " .. verdict) or ""))
end

local function row(name, bar, f)
  local least, median = measure(f, count)
  report(name, least - loop, median - loop, bar)
end

print(("%-42s %8s %8s"):format("", "least", "median"))

local echo_int, echo_double, strlen, echo_s16 = lib.echo_int, lib.echo_double, ffi.C.strlen, lib.echo_s16
local buffer, value = ffi.new "char[64]", ffi.new("struct s16", 1, 2)
row("call int(int)", 150, function(n) for i = 1, n do echo_int(i) end end)
row("call int(int), library.name", 150, function(n) for i = 1, n do lib.echo_int(i) end end)
row("call double(double)", 150, function(n) for _ = 1, n do echo_double(2.5) end end)
row("call size_t(const char *)", 150, function(n) for _ = 1, n do strlen("hello") end end)
row("call with a struct of 16 bytes, and back", nil, function(n) for _ = 1, n do echo_s16(11, value, 2.5) end end)
row("call variadic, two arguments more", nil, function(n) for i = 1, n do lib.format_arguments(buffer, 64, "il", i, 2) end end)

local object = ffi.new "struct members"
object.next = object
local array = ffi.new "double[100]"
row("read an int member", 60, function(n) for _ = 1, n do local _ = object.i end end)
row("read a double member", 60, function(n) for _ = 1, n do local _ = object.d end end)
row("read a bit-field", 60, function(n) for _ = 1, n do local _ = object.bits end end)
row("read a pointer member", 60, function(n) for _ = 1, n do local _ = object.next end end)
row("read an inner struct", 60, function(n) for _ = 1, n do local _ = object.inner end end)
row("write an int member", 60, function(n) for i = 1, n do object.i = i end end)
row("write a double member", 60, function(n) for _ = 1, n do object.d = 1.5 end end)
row("write a bit-field", 60, function(n) for i = 1, n do object.bits = i end end)
row("write a pointer member", 60, function(n) for _ = 1, n do object.next = object end end)
row("read an element", 60, function(n) for _ = 1, n do local _ = array[5] end end)
row("write an element", 60, function(n) for _ = 1, n do array[5] = 2.5 end end)
local new_members = ffi.typeof "struct members"
row("new struct", nil, function(n) for _ = 1, n do new_members() end end)

local callback = ffi.cast("int (*)(int)", function(v) return v end)
row("callback int(int)", 500, function(n) lib.call_many_times(callback, n) end)

-- ---- qsort against table.sort, alternated --------------------------------------------

local compare = ffi.cast("int (*)(const double *, const double *)", function(a, b)
  local x, y = a[0], b[0]
  return x < y and -1 or x > y and 1 or 0
end)
math.randomseed(42)
local numbers = {}
for i = 1, sorted do numbers[i] = math.random() end
local doubles = ffi.new("double[?]", sorted)
local ratios, ours, theirs = {}, {}, {}
for round = 1, quick and 2 or 7 do
  for i = 1, sorted do doubles[i - 1] = numbers[i] end
  local copy = table.move(numbers, 1, sorted, 1, {})
  collectgarbage()
  local from = clock()
  ffi.C.qsort(doubles, sorted, 8, compare)
  local middle = clock()
  table.sort(copy, function(x, y) return x < y end)
  local to = clock()
  for i = 1, sorted do assert(doubles[i - 1] == copy[i]) end
  ours[round], theirs[round], ratios[round] = (middle - from) * 1e3, (to - middle) * 1e3, (middle - from) / (to - middle)
end
for _, times in ipairs {ours, theirs, ratios} do table.sort(times) end
local function median(t) return t[(#t + 1) // 2] end
report("qsort of " .. sorted .. " doubles", ours[1], median(ours), nil, "ms")
report("table.sort of them, with a comparator", theirs[1], median(theirs), nil, "ms")
report("ratio", ratios[1], median(ratios), 3, "")
if not quick and failed > 0 then
  print(failed .. " bars missed")
  os.exit(1)
end
