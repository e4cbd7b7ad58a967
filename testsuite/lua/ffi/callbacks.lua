-- SPDX-License-Identifier: MIT
-- Guest functions that C calls.
local fixture = require "_fixture"
local ffi, lib, fails = fixture.ffi, fixture.lib, fixture.fails

ffi.cdef [[
struct s3 { char a, b, c; };
struct s16 { long a; double b; };
int call_int(int (*f)(int), int v);
double call_mixed(double (*f)(char, float, long, double, const char *), double v);
struct s16 call_struct(struct s16 (*f)(struct s16, struct s3), struct s16 v);
signed char call_small(signed char (*f)(unsigned char), unsigned char v);
bool call_bool(bool (*f)(bool), bool v);
int call_many_times(int (*f)(int), int n);
void keep(int (*f)(int));
int call_kept(int v);
int call_kept_on_thread(int v);
typedef int (*int_function)(int);
int_function pass_through(int_function f);
void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));
]]

-- Arguments and results of all kinds
assert(lib.call_int(function(v) return v + 1 end, 41) == 42)
assert(lib.call_mixed(function(c, f, l, d, s)
  assert(c == string.byte "x" and f == 1.5 and l == 1 << 40 and ffi.string(s) == "str")
  return d * 2
end, 1.25) == 2.5)
local r = lib.call_struct(function(v, small)
  assert(v.a == 5 and v.b == 6.5 and small.a == 1 and small.b == 2 and small.c == 3)
  v.a = 7 -- a copy
  return {v.a, v.b + 1}
end, {5, 6.5})
assert(r.a == 7 and r.b == 7.5)
assert(lib.call_small(function(v) assert(v == 200) return -3 end, 200) == -3)
assert(lib.call_bool(function(v) return not v end, true) == false and
  lib.call_bool(function(v) return 1 end, true) == true)
assert(lib.call_many_times(function(i) return i end, 1000) == 499500)

-- Errors: the C function goes on with zeros, no other callback runs, then the error is
-- raised.
local calls = 0
local function bad(i)
  calls = calls + 1
  if i == 3 then error("from the callback", 0) end
  return 1
end
fails("from the callback", lib.call_many_times, bad, 10)
assert(calls == 4)
local object = setmetatable({}, {__tostring = function() return "object" end})
local ok, e = pcall(lib.call_int, function() error(object) end, 1)
assert(not ok and e == object)
assert(lib.call_int(function() return 5 end, 1) == 5) -- and all is well again
fails("result of a callback: cannot convert 'nil' to 'int'", lib.call_int, function() end, 1)
fails("attempt to yield", coroutine.wrap(function()
  lib.call_int(function() coroutine.yield() end, 1) end))
local function stack_overflow() return 1 + stack_overflow() end
fails("stack overflow", lib.call_int, stack_overflow, 1)

-- Nested calls, also through coroutines inside callbacks
local function nest(n) return n == 0 and 0 or lib.call_int(nest, n - 1) + 1 end
assert(nest(20) == 20)
fails("innermost", lib.call_int, function(v)
  local ok, message = pcall(lib.call_int, function() error("innermost", 0) end, 1)
  assert(not ok and message == "innermost")
  error(message, 0)
end, 1)
fails("C stack overflow", function()
  local function f(n) return lib.call_int(f, n) end return f(1)
end)
assert(lib.call_int(function(v)
  local co = coroutine.wrap(function()
    for i = 1, 3 do coroutine.yield(lib.call_int(function(x) return x * i end, v)) end
  end)
  return co() + co() + co()
end, 10) == 60)

-- Kept callbacks: set and free
local f = ffi.cast("int (*)(int)", function(v) return v * 2 end)
lib.keep(f)
collectgarbage()
assert(lib.call_kept(4) == 8 and f(5) == 10)
f:set(function(v) return v * 3 end)
collectgarbage()
assert(lib.call_kept(4) == 12)
fails("function expected", f.set, f, 5)
local same = ffi.cast("int (*)(int)", f)
f:free()
fails("NULL pointer", f, 1)
fails("freed", same.free, same)
fails("callback expected", ffi.cast("int (*)(int)", 1).free, 5)
fails("callback cannot be variadic", ffi.cast, "int (*)(int, ...)", print)

-- Freed while it runs
local own
own = ffi.cast("int (*)(int)", function(v) own:free() collectgarbage() return v + 1 end)
assert(lib.call_int(own, 5) == 6)
own = ffi.cast("int (*)(int)", function(v) own:free() error("freed", 0) end)
fails("freed", lib.call_int, own, 5)

-- A function that is passed without a cast makes one callback only.
local function id(v) return v end
lib.keep(id)
for _ = 1, 10 do assert(lib.call_int(id, 3) == 3) end
assert(lib.call_kept(9) == 9)
local passed = lib.pass_through(id)
assert(passed == lib.pass_through(id))
-- Others have it as well: none of them can free it or let it call another function.
fails("shared", passed.free, passed)
fails("shared", passed.set, passed, print)
assert(passed(6) == 6 and lib.call_kept(6) == 6)

-- Memory: guests may allocate and collect inside.
local list = ffi.new("double[200]")
for i = 0, 199 do list[i] = (i * 7919) % 200 end
local made = 0
ffi.C.qsort(list, 200, 8, function(a, b)
  made = made + 1
  if made % 50 == 0 then collectgarbage "step" end
  local x, y = ffi.cast("const double *", a)[0], ffi.cast("const double *", b)[0]
  return x < y and -1 or x > y and 1 or 0
end)
for i = 0, 199 do assert(list[i] == i) end

-- Another thread gets zero; the program gets an error when the call is over.
local ran = false
local g = ffi.cast("int (*)(int)", function(v) ran = true return v end)
lib.keep(g)
fails("called by a thread", lib.call_kept_on_thread, 77)
assert(not ran and lib.call_kept(6) == 6 and ran)
g:free()
