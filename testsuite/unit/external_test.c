/* SPDX-License-Identifier: MIT */
/* testsuite/unit/external_test.c: lua_external_memory: memory that small userdata hold
   outside the heap makes collections due. So the memory held at once is bounded, no
   matter which thread gives it back. */
#include <stdlib.h>

#include "cases.h"
#include "gc_inline.h"
#include "gc_internal.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

#define OWNERS 100000
#define BUFFER ((size_t)64 << 10)
#define MIB ((size_t)1 << 20)
#define BUFFERS "buffers"

typedef struct Buffer {
  char *bytes; /* the word before them has their size; NULL if there are none */
} Buffer;

static size_t held, most_held;
static long living;

/* Allocates as a C library would; nothing is touched, so that the test is quick. */
static char *library_alloc(size_t size) {
  size_t *block = malloc(size + sizeof *block);
  assert_non_null(block);
  *block = size;
  living++;
  held += size;
  if (held > most_held) most_held = held;
  return (char *)(block + 1);
}

static void library_free(char *bytes) {
  if (bytes == NULL) return;
  size_t *block = (size_t *)bytes - 1;
  held -= *block;
  living--;
  free(block);
}

static int collect_buffer(lua_State *L) {
  Buffer *b = lua_touserdata(L, 1);
  library_free(b->bytes);
  b->bytes = NULL;
  lua_external_memory(L, 1, 0);
  return 0;
}

/* Frees the bytes in a finalizer of a binding that does not use lua_external_memory. */
static int collect_silently(lua_State *L) {
  Buffer *b = lua_touserdata(L, 1);
  library_free(b->bytes);
  b->bytes = NULL;
  return 0;
}

static Buffer *push_buffer(lua_State *L, size_t size) {
  Buffer *b = lua_newuserdatauv(L, sizeof *b, 0);
  b->bytes = NULL;
  luaL_setmetatable(L, BUFFERS);
  b->bytes = library_alloc(size);
  lua_external_memory(L, -1, size);
  return b;
}

static void set_finalizer(lua_State *L, lua_CFunction f) {
  luaL_newmetatable(L, BUFFERS);
  lua_pushcfunction(L, f);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
}

static int set_up(void **state) {
  lua_State *L = luaL_newstate();
  if (L == NULL) return -1;
  held = most_held = 0;
  living = 0;
  luaL_openlibs(L);
  set_finalizer(L, collect_buffer);
  lua_settop(L, 0);
  *state = L;
  return 0;
}

static int tear_down(void **state) {
  lua_State *L = *state;
  gc_verify(L->domain, "test");
  lua_close(L);
  return living == 0 ? 0 : -1;
}

static const Heap *heap_of(lua_State *L) { return &L->domain->heap; }

static size_t counted(lua_State *L) { return (size_t)lua_gc(L, LUA_GCCOUNT) << 10; }

/* ---- programs that drop owners ------------------------------------------- */

static void drop_many(lua_State *L, int mode) {
  lua_gc(L, mode, 0, 0, 0);
  for (int i = 0; i < OWNERS; i++) {
    push_buffer(L, BUFFER);
    lua_pop(L, 1);
  }
  assert_in_range(most_held, 1, 32 * MIB);
}

static void dropped_generational(void **state) { drop_many(*state, LUA_GCGEN); }
static void dropped_incremental(void **state) { drop_many(*state, LUA_GCINC); }

/* Checks that the bytes of a dead owner stop counting in any case, one cycle later. */
static void silent_finalizers(void **state) {
  lua_State *L = *state;
  set_finalizer(L, collect_silently);
  drop_many(L, LUA_GCGEN);
  drop_many(L, LUA_GCINC);
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCCOLLECT);
  assert_int_equal(heap_of(L)->external_bytes, 0);
}

/* Checks 32 MiB of live data of which parts are replaced one after the other. At any time
   the dead data are in proportion to the live data. */
static void replaced(lua_State *L, int mode) {
  lua_gc(L, mode, 0, 0, 0);
  lua_createtable(L, 512, 0);
  for (int i = 0; i < OWNERS; i++) {
    push_buffer(L, BUFFER);
    lua_rawseti(L, 1, i * 167 % 512 + 1);
  }
  assert_in_range(most_held, 32 * MIB, 2 * 32 * MIB + 4 * MIB);
}

static void replaced_generational(void **state) { replaced(*state, LUA_GCGEN); }
static void replaced_incremental(void **state) { replaced(*state, LUA_GCINC); }

/* Checks old owners that die together, round after round. */
static void dying_together(void **state) {
  lua_State *L = *state;
  for (int round = 0; round < 40; round++) {
    lua_settop(L, 0);
    lua_createtable(L, 256, 0);
    for (int i = 0; i < 256; i++) {
      push_buffer(L, BUFFER);
      lua_rawseti(L, 1, i + 1);
    }
  }
  assert_in_range(most_held, 16 * MIB, 3 * 16 * MIB);
}

/* ---- statements ---------------------------------------------------------- */

static void stated(void **state) {
  lua_State *L = *state;
  lua_gc(L, LUA_GCCOLLECT);
  size_t before = counted(L);
  lua_newuserdatauv(L, 8, 0);
  lua_external_memory(L, 1, 0);
  assert_null(((Userdata *)lua_topointer(L, 1) - 1)->external);
  lua_external_memory(L, 1, 20 * MIB);
  lua_external_memory(L, 1, 30 * MIB);
  assert_int_equal(heap_of(L)->external_bytes, 30 * MIB);
  assert_in_range(counted(L), before + 30 * MIB - 32768, before + 30 * MIB + 65536);
  gc_verify(L->domain, "stated");
  lua_gc(L, LUA_GCCOLLECT);
  assert_int_equal(heap_of(L)->external_bytes, 30 * MIB);
  lua_external_memory(L, 1, 10 * MIB);
  assert_int_equal(heap_of(L)->external_bytes, 10 * MIB);
  gc_verify(L->domain, "stated less");
  lua_external_memory(L, 1, SIZE_MAX); /* an absurd size, which must not overflow */
  lua_external_memory(L, 1, 0);
  assert_int_equal(heap_of(L)->external_bytes, 0);
  assert_in_range(counted(L), 0, before + 65536);
}

/* Checks that memory given back before a collection has examined it does not make a
   collection due. */
static void given_back_at_once(void **state) {
  lua_State *L = *state;
  lua_gc(L, LUA_GCCOLLECT);
#ifdef SAROS_STRESS
  stress_collect(false);
#endif
  uint64_t minors = L->domain->gc.stats.minors;
  for (int i = 0; i < 1000; i++) {
    lua_newuserdatauv(L, 8, 0);
    lua_external_memory(L, -1, BUFFER);
    lua_external_memory(L, -1, 0);
    lua_pop(L, 1);
  }
#ifdef SAROS_STRESS
  stress_collect(true);
#endif
  assert_in_range(L->domain->gc.stats.minors - minors, 0, 2);
}

/* Checks an old owner that grows and shrinks, in each phase of a cycle. */
static void old_owner(void **state) {
  lua_State *L = *state;
  lua_newuserdatauv(L, 8, 0);
  lua_gc(L, LUA_GCCOLLECT);
  size_t bytes = 0;
  for (int i = 0; i < 3000; i++) {
    bytes = (size_t)(i * 7919 % 1000) << 12;
    lua_external_memory(L, 1, bytes);
    lua_createtable(L, 100, 0);
    lua_pop(L, 1);
    if (i % 50 == 0) {
      lua_gc(L, LUA_GCSTEP, 1);
      gc_verify(L->domain, "old owner");
    }
    assert_int_equal(heap_of(L)->external_bytes, bytes);
  }
}

/* Puts the owner back into the registry, so that the owner and its bytes live on. */
static int revive(lua_State *L) {
  lua_setfield(L, LUA_REGISTRYINDEX, "revived");
  return 0;
}

static void revived(void **state) {
  lua_State *L = *state;
  set_finalizer(L, revive);
  Buffer *b = push_buffer(L, 8 * MIB);
  lua_pop(L, 1);
  lua_gc(L, LUA_GCCOLLECT);
  for (int i = 0; i < 3; i++) {
    lua_gc(L, LUA_GCCOLLECT);
    assert_int_equal(heap_of(L)->external_bytes, 8 * MIB);
    gc_verify(L->domain, "revived");
  }
  library_free(b->bytes);
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "revived");
  lua_gc(L, LUA_GCCOLLECT);
  assert_int_equal(heap_of(L)->external_bytes, 0);
}

/* Checks an owner with so many user values that they are scanned in pieces. */
static void many_user_values(void **state) {
  lua_State *L = *state;
  lua_newuserdatauv(L, 8, 1000);
  lua_external_memory(L, 1, MIB);
  for (int i = 0; i < 3; i++) {
    lua_gc(L, LUA_GCCOLLECT);
    assert_int_equal(heap_of(L)->external_bytes, MIB);
    gc_verify(L->domain, "many user values");
  }
  lua_external_memory(L, 1, 0);
  assert_int_equal(heap_of(L)->external_bytes, 0);
}

/* Checks an owner that follows a counter when others state as much as counts in all. */
static void beyond_all(void **state) {
  enum { MANY = 1 << 14 };
  lua_State *L = *state;
  size_t counter = 100;
  lua_gc(L, LUA_GCSTOP);
  lua_createtable(L, MANY, 0);
  for (int i = 1; i <= MANY; i++) {
    lua_newuserdatauv(L, 8, 0);
    lua_external_memory(L, -1, SIZE_MAX);
    lua_rawseti(L, -2, i);
  }
  lua_newuserdatauv(L, 8, 0);
  gc_follow_external(L, as_userdata(L->top - 1), &counter);
  lua_settop(L, 0);
  lua_gc(L, LUA_GCRESTART);
  lua_gc(L, LUA_GCCOLLECT);
  assert_int_equal(heap_of(L)->external_bytes, 0);
}

/* Checks that the end of the state calls finalizers, and that owners without a finalizer
   are no leak. */
static void at_the_end(void **state) {
  lua_State *L = *state;
  for (int i = 0; i < 10; i++) {
    push_buffer(L, BUFFER);
    lua_newuserdatauv(L, 8, 0);
    lua_external_memory(L, -1, BUFFER);
  }
  assert_int_equal(heap_of(L)->external_bytes, 20 * BUFFER);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    TEST(dropped_generational), TEST(dropped_incremental), TEST(silent_finalizers),
    TEST(replaced_generational), TEST(replaced_incremental), TEST(dying_together),
    TEST(stated), TEST(given_back_at_once), TEST(old_owner), TEST(revived),
    TEST(many_user_values), TEST(beyond_all), TEST(at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
