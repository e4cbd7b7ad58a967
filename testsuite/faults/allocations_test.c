/* SPDX-License-Identifier: MIT */
/* allocations_test.c: each allocation of a guest program fails in turn; records of the
 * collector find no room.
 *
 * The n-th allocation fails, alone or with all that follow it, for n = 1, 2, 3, ... until
 * the program ends before its n-th allocation. This is tested while a state is made, and
 * while allocations.lua runs. A failure must arrive as the error "not enough memory" or
 * be absorbed. Then the heap must verify, and the same state must run the program without
 * failures to its usual result. This is repeated with a program of several domains
 * (domains.lua), where chance decides which allocation is the n-th.
 *
 * Then records.lua runs while each n-th record of the collector finds no room
 * (gc_overflow.c), with collections everywhere and the heap verified after each. The
 * program must run to its end.
 *
 * Needs a build with --enable-stress. An argument is the step by which n grows; the
 * default is 1, in a slow build (TEST_SLOWNESS) more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/slowness.h"
#include "domain.h"
#include "thread.h"
#include "lauxlib.h"
#include "lualib.h"
#include "stress.h"

#ifdef SAROS_STRESS

#define STATE_USES 50 /* failures that one state has to survive */

static char *expected;
static const char *folder;
static unsigned long absorbed, raised;

static void die(const char *what, uint64_t n, const char *detail) {
  fprintf(stderr, "%s (allocation %llu): %s\n", what, (unsigned long long)n, detail ? detail : "?");
  exit(1);
}

static int open_libraries(lua_State *L) {
  luaL_openlibs(L);
  return 0;
}

/* Tells whether the error on top is one that a failed allocation may raise.
 * lua_checkstack only returns that there is no room; its callers raise errors of their
 * own. */
static bool is_memory_error(lua_State *L, int status) {
  static const char *const texts[] = {"not enough memory", "too many results", "stack overflow"};
  const char *text = lua_tostring(L, -1);
  if (status == LUA_ERRMEM) return true;
  for (size_t i = 0; text != NULL && i < sizeof texts / sizeof texts[0]; i++)
    if (strstr(text, texts[i]) != NULL) return true;
  return false;
}

/* ---- making a state --------------------------------------------------------------- */

static bool make_state(uint64_t n, bool all) {
  stress_fail(n, all);
  lua_State *L = luaL_newstate();
  int status = LUA_OK;
  if (L != NULL) {
    lua_pushcfunction(L, open_libraries);
    status = lua_pcall(L, 0, 0, 0);
  }
  bool failed = stress_has_failed();
  stress_fail(0, false);
  if (L == NULL) return failed;
  if (status != LUA_OK && !is_memory_error(L, status))
    die("opening the libraries", n, lua_tostring(L, -1));
  gc_verify(L->domain, "after a failed allocation");
  lua_close(L);
  return failed;
}

/* ---- running the program ---------------------------------------------------------- */

static const char *program = "allocations.lua";

static lua_State *program_state(void) {
  char path[4096];
  lua_State *L = luaL_newstate();
  if (L == NULL) die("new state", 0, NULL);
  luaL_openlibs(L);
  snprintf(path, sizeof path, "%s/faults/%s", folder, program);
  if (luaL_dofile(L, path) != LUA_OK) die("loading", 0, lua_tostring(L, -1));
  lua_setglobal(L, "program");
  return L;
}

static void run_undisturbed(lua_State *L, uint64_t n) {
  lua_getglobal(L, "program");
  if (lua_pcall(L, 0, 1, 0) != LUA_OK) die("running again", n, lua_tostring(L, -1));
  const char *result = lua_tostring(L, -1);
  if (expected == NULL) expected = strdup(result);
  if (strcmp(result, expected) != 0) die("another result", n, result);
  lua_settop(L, 0);
}

static bool run_disturbed(lua_State *L, uint64_t n, bool all) {
  lua_getglobal(L, "program");
  stress_fail(n, all);
  int status = lua_pcall(L, 0, 1, 0);
  bool failed = stress_has_failed();
  stress_fail(0, false);
  if (status == LUA_OK) absorbed += failed;
  else if (is_memory_error(L, status)) raised++;
  else die("another error", n, lua_tostring(L, -1));
  if (lua_gettop(L) != 1) die("stack", n, NULL);
  lua_settop(L, 0);
  return failed;
}

static uint64_t run_program(bool all, uint64_t step) {
  lua_State *L = program_state();
  uint64_t n = 1, uses = 0;
  run_undisturbed(L, 0);
  while (run_disturbed(L, n, all)) {
    gc_verify(L->domain, "after a failed allocation");
    run_undisturbed(L, n);
    n += step;
    if (++uses % STATE_USES == 0) {
      lua_close(L);
      L = program_state();
    }
  }
  lua_close(L);
  return n;
}

/* ---- several domains -------------------------------------------------------------- */

/* Runs the program of several domains, as often as ALLOCATIONS_DOMAINS says: a long
   search takes a night. */
static void run_domains(bool all) {
  const char *wanted = getenv("ALLOCATIONS_DOMAINS");
  uint64_t runs = wanted != NULL ? strtoull(wanted, NULL, 10) : 40, step = 1;
  free(expected);
  expected = NULL;
  program = "domains.lua";
  lua_State *L = program_state();
  stress_fail(0, false);
  run_undisturbed(L, 0);
  if (stress_allocations() > runs) step = stress_allocations() / runs;
  for (uint64_t n = 1, i = 0; i < runs; i++, n += step) {
    run_disturbed(L, n, all);
    gc_verify(L->domain, "after a failed allocation");
    run_undisturbed(L, n);
  }
  lua_close(L);
  printf("several domains: %llu runs, one failure in %llu allocations\n", (unsigned long long)runs,
         (unsigned long long)step);
}

/* ---- records without room --------------------------------------------------------- */

/* Runs a program of the folder with the size as its argument. */
static void run_without_records(uint64_t each, const char *name, int size, bool verify) {
  char path[4096];
  lua_State *L = luaL_newstate();
  if (L == NULL) die("new state", 0, NULL);
  luaL_openlibs(L);
  L->domain->gc.verify = verify;
  snprintf(path, sizeof path, "%s/faults/%s.lua", folder, name);
  stress_fail_records(each);
  if (luaL_loadfile(L, path) != LUA_OK) die("loading", each, lua_tostring(L, -1));
  lua_pushinteger(L, size);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK)
    die("without room for each n-th record", each, lua_tostring(L, -1));
  gc_verify(L->domain, "without room for records");
  lua_close(L);
  stress_fail_records(0);
}

int main(int argc, char **argv) {
  uint64_t step = argc > 1 ? strtoull(argv[1], NULL, 10) : slowness() > 1 ? 7 : 1;
  folder = getenv("TESTSUITE") != NULL ? getenv("TESTSUITE") : "testsuite";
  /* The guest suite is run with collections everywhere; here time counts. */
  stress_collect(false);
  for (int all = 0; all <= 1; all++) {
    uint64_t n = 1;
    while (make_state(n, all)) n += step;
    printf("making a state: %llu allocations\n", (unsigned long long)n);
    printf("the program: %llu allocations\n", (unsigned long long)run_program(all, step));
  }
  for (int all = 0; all <= 1; all++) run_domains(all);
  /* A collection at each allocation leaves few objects without a record at once. */
  for (uint64_t each = 1; each <= 3; each++)
    run_without_records(each, "records", 40, each % 2 != 0);
  stress_collect(true);
  /* the verifier takes most of the time */
  for (uint64_t each = 1; each <= 9; each++)
    run_without_records(each, "records", 40, each % 2 != 0);
  for (uint64_t each = 7; each <= 13; each++)
    run_without_records(each, "records_in_pieces", 80, false);
  for (uint64_t each = 3; each <= 9; each++)
    run_without_records(each, "records_of_sampler", 300, false);
  printf("%lu failures raised, %lu absorbed\n", raised, absorbed);
  free(expected);
  return 0;
}

#else

int main(void) {
  puts("allocations fail at will in a build with --enable-stress alone");
  return 77;
}

#endif
