-- SPDX-License-Identifier: MIT
-- Structs are passed in the registers that gcc chooses, or in memory. (Random structs:
-- testsuite/fuzz/ffi_program.lua.)
local fixture = require "_fixture"
local ffi, lib = fixture.ffi, fixture.lib

ffi.cdef [[
const bool fixture_is_gcc;

struct half_floating { long n; double x; };
double take_last(double, long, long, long, long, long, struct half_floating);
double call_with_last(double (*)(double, long, long, long, long, long, struct half_floating));

union hidden { long pair[2]; union { long n; long double x; } inner; };
long take_hidden(union hidden, long);

struct __attribute__((packed)) five_bytes { int n; char c; };
struct two_fives { struct five_bytes of[2]; };
long take_two_fives(struct two_fives, long);

struct unnamed { int : 7; } __attribute__((aligned(32)));
long fixture_noted;
struct unnamed return_unnamed(long);
void call_for_unnamed(struct unnamed (*)(long));
]]

-- The last general register with a floating one, which does not disturb the first of these.
local last = ffi.new("struct half_floating", 3, 4)
assert(lib.take_last(1, 0, 0, 1, 0, 1, last) == 4321)
local result = lib.call_with_last(function(first, a, b, c, d, e, struct)
  assert(first == 1 and a == 0 and b == 0 and c == 1 and d == 0 and e == 1)
  assert(struct.n == 3 and struct.x == 4)
  return 5
end)
assert(result == 5)

-- An integer over the first half of a long double puts its union into memory, and all that
-- the union is in, although this has integers in both words.
local hidden = ffi.new "union hidden"
hidden.pair[0], hidden.pair[1] = 1, 2
assert(lib.take_hidden(hidden, 3) == 321)

-- clang has other rules for these two.
if lib.fixture_is_gcc then
  -- All elements of an array are taken for what the first one is, aligned or not.
  local fives = ffi.new("struct two_fives", {{{1, 2}, {3, 4}}})
  assert(lib.take_two_fives(fives, 5) == 54321)

  -- What has no members is not returned, and takes no register for its address.
  assert(ffi.sizeof(lib.return_unnamed(7)) == 32 and lib.fixture_noted == 7)
  local given
  lib.call_for_unnamed(function(n)
    given = n
    return ffi.new "struct unnamed"
  end)
  assert(given == 8)
end
