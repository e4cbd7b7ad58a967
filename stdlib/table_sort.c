/* SPDX-License-Identifier: MIT */
/* stdlib/table_sort.c: table.sort.
 *
 * Purpose. The sort makes few comparisons, since each may call a guest function. Without
 * an order function, the VM makes no comparison in a plain table of integers, floats or
 * strings.
 *
 * Methods.
 *  - A plain table of integers only, or of floats only (no NaN), without an
 *    order function: the numbers are taken out as unsigned keys that sort
 *    alike, the keys are sorted by radix, and written back.
 *  - A plain table of strings, without an order function and with the plain
 *    collation of the "C" locale: the strings are taken out with their first
 *    bytes as a number to compare first; an array of indices is sorted.
 *  - Anything else: an array of indices is sorted, and each comparison reads two
 *    elements from the table and calls the order function or the VM.
 *
 * The indices are sorted by merging, which takes the fewest comparisons and keeps equal
 * elements in place.  The table is written only at the end, when the permutation is
 * known: if the order function raises an error, the table is as it was. So there are
 * safepoints before the writing, and none during it.
 *
 * Work arrays are userdata at stack index WORK_INDEX, so that an error leaves
 * them to the collector.
 *
 * Invalid order functions.  Whatever an order function returns, sorting ends and reads
 * only elements of the table. An order function that contradicts itself for every two
 * neighbours of the result is reported (a valid function is called once more for this
 * check).
 */
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lauxlib.h"
#include "safe_point.h"
#include "table_access.h"

#define TABLE_INDEX 1
#define ORDER_INDEX 2 /* the order function or nil */
#define WORK_INDEX 3

typedef struct Sorter Sorter;

/* Tells whether element a (counted from 0) must come before element b. */
typedef bool Before(Sorter *s, uint32_t a, uint32_t b);

typedef struct StringKey {
  uint64_t head; /* the first 8 bytes, big-endian, filled up with zeros */
  const char *bytes;
  size_t length;
} StringKey;

struct Sorter {
  lua_State *L;
  bool plain;
  uint32_t count;
  Before *before;
  uint32_t *order;         /* the result: the number of the element for each position */
  uint32_t *scratch;       /* room for merging: half of count, rounded up */
  const StringKey *strings; /* keys of the elements, when all are strings */
  ptrdiff_t work_left;      /* safe_point.h */
};

/* ---- orders -------------------------------------------------------------- */

static bool before_by_function(Sorter *s, uint32_t a, uint32_t b) {
  lua_State *L = s->L;
  lua_pushvalue(L, ORDER_INDEX);
  element_get(L, TABLE_INDEX, s->plain, (lua_Integer)a + 1);
  element_get(L, TABLE_INDEX, s->plain, (lua_Integer)b + 1);
  lua_call(L, 2, 1);
  bool result = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return result;
}

static bool before_by_operator(Sorter *s, uint32_t a, uint32_t b) {
  lua_State *L = s->L;
  element_get(L, TABLE_INDEX, s->plain, (lua_Integer)a + 1);
  element_get(L, TABLE_INDEX, s->plain, (lua_Integer)b + 1);
  bool result = lua_compare(L, -2, -1, LUA_OPLT);
  lua_pop(L, 2);
  return result;
}

static bool before_by_bytes(Sorter *s, uint32_t a, uint32_t b) {
  const StringKey *x = &s->strings[a], *y = &s->strings[b];
  if (x->head != y->head) return x->head < y->head;
  size_t common = x->length < y->length ? x->length : y->length;
  int difference = memcmp(x->bytes, y->bytes, common);
  return difference != 0 ? difference < 0 : x->length < y->length;
}

/* ---- sorting indices ----------------------------------------------------- */

static inline bool is_before(Sorter *s, uint32_t a, uint32_t b) {
  if (s->strings != NULL) vm_work_alone(s->L, &s->work_left, ELEMENT_WORK);
  else vm_work(s->L, &s->work_left, ELEMENT_WORK);
  return s->before(s, a, b);
}

static void insertion_sort(Sorter *s, uint32_t *order, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    uint32_t moving = order[i], position = i;
    while (position > 0 && is_before(s, moving, order[position - 1])) {
      order[position] = order[position - 1];
      position--;
    }
    order[position] = moving;
  }
}

/* Merges the sorted halves order[0, middle) and order[middle, count). */
static void merge_halves(Sorter *s, uint32_t *order, uint32_t middle, uint32_t count) {
  uint32_t *left = s->scratch, *left_end = left + middle;
  uint32_t *right = order + middle, *right_end = order + count, *out = order;
  memcpy(left, order, middle * sizeof *left);
  while (left < left_end && right < right_end)
    *out++ = is_before(s, *right, *left) ? *right++ : *left++;
  memcpy(out, left, (size_t)(left_end - left) * sizeof *left);
}

static void merge_sort(Sorter *s, uint32_t *order, uint32_t count) {
  if (count <= 4) {
    insertion_sort(s, order, count);
    return;
  }
  uint32_t middle = count / 2;
  merge_sort(s, order, middle);
  merge_sort(s, order + middle, count - middle);
  if (is_before(s, order[middle], order[middle - 1])) merge_halves(s, order, middle, count);
}

/* Moves t[order[i]] to t[i] for each i, cycle by cycle. Sets order[i] to i when position
 * i is done. */
static void permute_table(Sorter *s) {
  lua_State *L = s->L;
  for (uint32_t start = 0; start < s->count; start++) {
    if (s->order[start] == start) continue;
    element_get(L, TABLE_INDEX, s->plain, (lua_Integer)start + 1);
    uint32_t position = start;
    while (s->order[position] != start) {
      uint32_t from = s->order[position];
      element_get(L, TABLE_INDEX, s->plain, (lua_Integer)from + 1);
      element_set(L, TABLE_INDEX, s->plain, (lua_Integer)position + 1);
      s->order[position] = position;
      position = from;
    }
    s->order[position] = position;
    element_set(L, TABLE_INDEX, s->plain, (lua_Integer)position + 1);
  }
}

/* Tells whether the order function contradicts itself. It returns false for an order with
   too few elements to decide. */
static bool contradicts_itself(Sorter *s) {
  if (s->count < 4) return false;
  for (uint32_t i = 1; i < s->count; i++)
    if (!is_before(s, s->order[i], s->order[i - 1])) return false;
  return true;
}

/* Sorts by s->before with work arrays in `work`. */
static void sort_indices(Sorter *s, uint32_t *work) {
  s->order = work;
  s->scratch = work + s->count;
  for (uint32_t i = 0; i < s->count; i++) s->order[i] = i;
  merge_sort(s, s->order, s->count);
  if (contradicts_itself(s)) luaL_error(s->L, "invalid order function for sorting");
  permute_table(s);
}

static size_t index_work_size(uint32_t count) {
  return ((size_t)count + (count + 1) / 2) * sizeof(uint32_t);
}

static void sort_generally(Sorter *s) {
  bool by_function = !lua_isnil(s->L, ORDER_INDEX);
  s->before = by_function ? before_by_function : before_by_operator;
  sort_indices(s, lua_newuserdatauv(s->L, index_work_size(s->count), 0));
}

/* ---- numbers ------------------------------------------------------------- */

#define RADIX_BITS 8
#define RADIX_SIZE (1 << RADIX_BITS)
#define RADIX_PASSES (64 / RADIX_BITS)
#define RADIX_CHUNK (1 << 16) /* keys from one safepoint to the next */
#define RADIX_LEAST 64 /* fewer keys are sorted by insertion */

#define SIGN_BIT (UINT64_C(1) << 63)

static uint64_t key_of_integer(lua_Integer n) { return (uint64_t)n ^ SIGN_BIT; }

static lua_Integer integer_of_key(uint64_t key) { return (lua_Integer)(key ^ SIGN_BIT); }

/* Returns a key that sorts like the float: the keys of negative floats decrease with the
   magnitude; the keys of other floats increase with it, and are greater. */
static uint64_t key_of_float(lua_Number n) {
  uint64_t bits;
  memcpy(&bits, &n, sizeof bits);
  return bits & SIGN_BIT ? ~bits : bits | SIGN_BIT;
}

static lua_Number float_of_key(uint64_t key) {
  uint64_t bits = key & SIGN_BIT ? key & ~SIGN_BIT : ~key;
  lua_Number n;
  memcpy(&n, &bits, sizeof n);
  return n;
}

static void insertion_sort_keys(uint64_t *keys, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    uint64_t moving = keys[i];
    uint32_t position = i;
    for (; position > 0 && keys[position - 1] > moving; position--)
      keys[position] = keys[position - 1];
    keys[position] = moving;
  }
}

/* Distributes the keys by one of their bytes. `counts` has the number of keys with each
 * value of the byte, and is overwritten. */
static void radix_pass(Sorter *s, const uint64_t *from, uint64_t *to, uint32_t count, int shift,
                       uint32_t *counts) {
  uint32_t next = 0;
  for (int value = 0; value < RADIX_SIZE; value++) {
    uint32_t here = counts[value];
    counts[value] = next;
    next += here;
  }
  for (uint32_t i = 0, end; i < count;) {
    end = count - i > RADIX_CHUNK ? i + RADIX_CHUNK : count;
    vm_work(s->L, &s->work_left, end - i);
    for (; i < end; i++) to[counts[(from[i] >> shift) % RADIX_SIZE]++] = from[i];
  }
}

static bool is_sorted(const uint64_t *keys, uint32_t count) {
  for (uint32_t i = 1; i < count; i++)
    if (keys[i - 1] > keys[i]) return false;
  return true;
}

/* Sorts keys[0, count), with keys[count, 2 * count) for scratch. Returns the half that
 * has the result. Bytes that all keys have in common cost no pass. */
static uint64_t *sort_keys(Sorter *s, uint64_t *keys, uint32_t count) {
  if (is_sorted(keys, count)) return keys;
  if (count < RADIX_LEAST) {
    insertion_sort_keys(keys, count);
    return keys;
  }
  uint32_t counts[RADIX_PASSES][RADIX_SIZE] = {{0}};
  for (uint32_t i = 0; i < count; i++)
    for (int pass = 0; pass < RADIX_PASSES; pass++)
      counts[pass][(keys[i] >> (pass * RADIX_BITS)) % RADIX_SIZE]++;
  uint64_t *from = keys, *to = keys + count;
  for (int pass = 0; pass < RADIX_PASSES; pass++) {
    int shift = pass * RADIX_BITS;
    if (counts[pass][(from[0] >> shift) % RADIX_SIZE] == count) continue;
    radix_pass(s, from, to, count, shift, counts[pass]);
    uint64_t *swapped = from;
    from = to;
    to = swapped;
  }
  return from;
}

/* Copies the numbers into `keys`, as long as they are of the kind of the first. Returns
   whether all are. */
static bool read_keys(Sorter *s, uint64_t *keys, bool integers) {
  lua_State *L = s->L;
  for (uint32_t i = 0; i < s->count; i++) {
    vm_work(L, &s->work_left, ELEMENT_WORK);
    int type = lua_rawgeti(L, TABLE_INDEX, (lua_Integer)i + 1);
    bool fits = type == LUA_TNUMBER && lua_isinteger(L, -1) == integers;
    lua_Number n = fits && !integers ? lua_tonumber(L, -1) : 0;
    if (fits) keys[i] = integers ? key_of_integer(lua_tointeger(L, -1)) : key_of_float(n);
    lua_pop(L, 1);
    if (!fits || isnan(n)) return false;
  }
  return true;
}

static void write_keys(const Sorter *s, const uint64_t *keys, bool integers) {
  lua_State *L = s->L;
  for (uint32_t i = 0; i < s->count; i++) {
    if (integers)
      lua_pushinteger(L, integer_of_key(keys[i]));
    else
      lua_pushnumber(L, float_of_key(keys[i]));
    lua_rawseti(L, TABLE_INDEX, (lua_Integer)i + 1);
  }
}

/* Sorts numbers. Returns false, having done nothing, if the elements are not all of the
   kind of the first. */
static bool sort_numbers(Sorter *s, bool integers) {
  uint64_t *keys = lua_newuserdatauv(s->L, 2 * (size_t)s->count * sizeof *keys, 0);
  bool alike = read_keys(s, keys, integers);
  if (alike) write_keys(s, sort_keys(s, keys, s->count), integers);
  lua_settop(s->L, WORK_INDEX - 1);
  return alike;
}

/* ---- strings ------------------------------------------------------------- */

static bool collation_is_by_bytes(void) {
  const char *name = setlocale(LC_COLLATE, NULL);
  return name != NULL && (strcmp(name, "C") == 0 || strcmp(name, "POSIX") == 0);
}

static uint64_t head_of(const char *s, size_t length) {
  unsigned char bytes[8] = {0};
  memcpy(bytes, s, length < sizeof bytes ? length : sizeof bytes);
  uint64_t head = 0;
  for (size_t i = 0; i < sizeof bytes; i++) head = head << 8 | bytes[i];
  return head;
}

/* Makes keys that point to the strings. The table keeps the strings alive: no guest code,
 * not even a finalizer, runs until the sorting is done. Returns false if an element is
 * not a string. */
static bool read_strings(Sorter *s, StringKey *keys) {
  lua_State *L = s->L;
  for (uint32_t i = 0; i < s->count; i++) {
    vm_work_alone(L, &s->work_left, ELEMENT_WORK);
    bool fits = lua_rawgeti(L, TABLE_INDEX, (lua_Integer)i + 1) == LUA_TSTRING;
    if (fits) {
      keys[i].bytes = lua_tolstring(L, -1, &keys[i].length);
      keys[i].head = head_of(keys[i].bytes, keys[i].length);
    }
    lua_pop(L, 1);
    if (!fits) return false;
  }
  return true;
}

/* Sorts strings. Returns false, having done nothing, if not all elements are strings. */
static bool sort_strings(Sorter *s) {
  size_t keys_size = s->count * sizeof(StringKey);
  StringKey *keys = lua_newuserdatauv(s->L, keys_size + index_work_size(s->count), 0);
  bool alike = read_strings(s, keys);
  if (alike) {
    s->strings = keys;
    s->before = before_by_bytes;
    sort_indices(s, (uint32_t *)((char *)keys + keys_size));
  }
  lua_settop(s->L, WORK_INDEX - 1);
  return alike;
}

/* ---- table.sort ---------------------------------------------------------- */

/* Sorts without calls of the VM. Returns false if the elements do not allow it. */
static bool sort_specially(Sorter *s) {
  lua_State *L = s->L;
  if (!s->plain || !lua_isnil(L, ORDER_INDEX)) return false;
  int type = lua_rawgeti(L, TABLE_INDEX, 1);
  bool integer = lua_isinteger(L, -1);
  lua_pop(L, 1);
  if (type == LUA_TNUMBER) return sort_numbers(s, integer);
  return type == LUA_TSTRING && collation_is_by_bytes() && sort_strings(s);
}

int tablib_sort(lua_State *L) {
  Sorter s = {.L = L, .work_left = SAFE_POINT_WORK};
  s.plain = table_check(L, TABLE_INDEX, ACCESS_READ | ACCESS_WRITE | ACCESS_LENGTH);
  lua_Integer count = table_length(L, TABLE_INDEX, s.plain);
  if (count < 2) return 0;
  luaL_argcheck(L, count < INT_MAX, TABLE_INDEX, "array too big");
  if (!lua_isnoneornil(L, ORDER_INDEX)) luaL_checktype(L, ORDER_INDEX, LUA_TFUNCTION);
  lua_settop(L, WORK_INDEX - 1);
  luaL_checkstack(L, 8, "sort");
  s.count = (uint32_t)count;
  if (!sort_specially(&s)) sort_generally(&s);
  return 0;
}
