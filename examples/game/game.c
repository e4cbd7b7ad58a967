/* SPDX-License-Identifier: MIT */
/* game.c: a program in C with a loop of frames, whose logic is in Lua.
 *
 *   game [--frames N] [--hz N] [--budget-kb N] [--cap-kb N] [--stepped 0] [LOGIC]
 *
 * The collector is stopped while a frame is computed. In the rest of the frame's time the
 * collector works, until nothing is left to do or the time is over (LUA_GCFRAME). The
 * program checks how much memory Lua has. Above the budget, the logic must drop the data
 * that it can make again, and everything is collected once. With `--stepped 0` the
 * collector runs by its own decision, for comparison. With `--cap-kb` Lua gets at most N
 * KiB of memory: an update that needs more fails with an error. Then the frame is over
 * and the logic drops what it can.
 *
 * A frame and its parts are spans in the domain of the state, so that a tool shows them
 * in one order with the steps of the collector. README.md has what to try.
 */
#include <eventring.h>
#include <eventring/probe.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <saros.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long frames = 600, hz = 60, budget_kb = 8192, cap_kb, stepped = 1;
static const char *logic = "logic.lua";

/* ---- What is recorded ---------------------------------------------------- */

static unsigned first_event;
enum { FRAME, UPDATE, IDLE, SHED, MEMORY, EVENTS };

static const struct eventring_def catalogue[EVENTS] = {
    {.name = "frame", .kind = EVENTRING_DEF_SPAN, .ring = EVENTRING_USER,
     .event_class = EVENTRING_CLASS_USER},
    {.name = "update", .doc = "the logic of a frame, in Lua", .kind = EVENTRING_DEF_SPAN,
     .ring = EVENTRING_USER, .event_class = EVENTRING_CLASS_USER},
    {.name = "idle", .doc = "the collector, in what is left of a frame",
     .kind = EVENTRING_DEF_SPAN, .ring = EVENTRING_USER, .event_class = EVENTRING_CLASS_USER},
    {.name = "shed", .doc = "the budget was exceeded", .kind = EVENTRING_DEF_SPAN,
     .ring = EVENTRING_USER, .event_class = EVENTRING_CLASS_USER},
    {.name = "lua_memory", .unit = "KiB", .kind = EVENTRING_DEF_COUNTER, .ring = EVENTRING_USER,
     .event_class = EVENTRING_CLASS_USER, .payload = EVENTRING_INT}};

static void begin(lua_State *L, unsigned event) {
  eventring_user_begin(saros_domain(L), first_event + event);
}

static void end(lua_State *L, unsigned event) {
  eventring_user_end(saros_domain(L), first_event + event);
}

/* ---- Time ---------------------------------------------------------------- */

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void sleep_until(long long ns) {
  struct timespec until = {ns / 1000000000, ns % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* ---- Memory -------------------------------------------------------------- */

static struct { size_t held, most, cap; } memory;

/* Allocates for lua_newstate, with a cap that all memory of Lua counts against. */
static void *allocate(void *none, void *block, size_t old_size, size_t size) {
  (void)none;
  /* without a block, old_size says what the new block is for */
  if (block == NULL) old_size = 0;
  if (size > old_size && size - old_size > memory.cap - memory.held) return NULL;
  void *result = NULL;
  if (size == 0) free(block);
  else if ((result = realloc(block, size)) == NULL) return NULL;
  memory.held = memory.held - old_size + size;
  if (memory.held > memory.most) memory.most = memory.held;
  return result;
}

static lua_State *new_state(void) {
  memory.cap = (size_t)cap_kb * 1024;
  return cap_kb > 0 ? lua_newstate(allocate, NULL) : luaL_newstate();
}

/* ---- Lua ----------------------------------------------------------------- */

static void die(lua_State *L) {
  fprintf(stderr, "game: %s\n", lua_tostring(L, -1));
  exit(1);
}

/* Calls a function of the logic with one number. Returns false if there was not enough
   memory. */
static bool call(lua_State *L, const char *name, lua_Integer number) {
  lua_getglobal(L, name);
  lua_pushinteger(L, number);
  int status = lua_pcall(L, 1, 0, 0);
  if (status == LUA_OK) return true;
  if (status != LUA_ERRMEM) die(L);
  lua_pop(L, 1);
  return false;
}

static long memory_kb(lua_State *L) { return lua_gc(L, LUA_GCCOUNT); }

/* Sums over all frames. */
static struct { long late, steps, done, shed, refused, most_kb; } sum;

static long long frame_ns(void) { return 1000000000 / hz; }

/* Collects until the deadline. An eighth of the frame is kept as a reserve for
   waking up late. */
static void collect_until(lua_State *L, long long deadline) {
  long long left_us = (deadline - frame_ns() / 8 - now_ns()) / 1000;
  if (!stepped || left_us <= 0) return;
  sum.steps++;
  if (!lua_gc(L, LUA_GCFRAME, (int)left_us)) sum.done++;
}

/* Makes the logic drop what it can, and collects everything. This takes longer than a
   frame may, so the budget is chosen to make it rare. */
static void shed(lua_State *L) {
  begin(L, SHED);
  sum.shed++;
  call(L, "shed", memory_kb(L));
  lua_gc(L, LUA_GCCOLLECT);
  end(L, SHED);
}

/* Runs a frame. Its span does not include the wait for the next frame. */
static void run_frame(lua_State *L, long number, long long deadline) {
  begin(L, FRAME);
  begin(L, UPDATE);
  bool updated = call(L, "update", number);
  end(L, UPDATE);
  begin(L, IDLE);
  long kb = memory_kb(L);
  if (kb > sum.most_kb) sum.most_kb = kb;
  eventring_user_counter(saros_domain(L), first_event + MEMORY, kb);
  collect_until(L, deadline);
  sum.refused += !updated;
  if (!updated || memory_kb(L) > budget_kb) shed(L);
  end(L, IDLE);
  end(L, FRAME);
  if (now_ns() > deadline) sum.late++;
  else sleep_until(deadline);
}

static void read_options(int argc, char **argv) {
  static const struct { const char *name; long *number; } options[] = {
      {"--frames", &frames}, {"--hz", &hz}, {"--budget-kb", &budget_kb}, {"--cap-kb", &cap_kb},
      {"--stepped", &stepped}};
  const size_t count = sizeof options / sizeof *options;
  for (int i = 1; i < argc; i++) {
    size_t n = 0;
    while (n < count && strcmp(options[n].name, argv[i]) != 0) n++;
    if (n < count && i + 1 < argc) {
      *options[n].number = strtol(argv[++i], NULL, 10);
    } else if (n == count && argv[i][0] != '-') {
      logic = argv[i];
    } else {
      fprintf(stderr,
              "usage: game [--frames N] [--hz N] [--budget-kb N] [--cap-kb N] [--stepped 0] "
              "[LOGIC]\n");
      exit(2);
    }
  }
}

int main(int argc, char **argv) {
  struct eventring_error error;
  read_options(argc, argv);
  if (eventring_register_table(catalogue, EVENTS, &first_event, &error) < 0)
    fprintf(stderr, "game: not recorded: %s\n", error.text);
  lua_State *L = new_state();
  if (L == NULL) return 1;
  luaL_openlibs(L);
  if (luaL_dofile(L, logic) != LUA_OK) die(L);
  lua_gc(L, LUA_GCCOLLECT);
  if (stepped) lua_gc(L, LUA_GCSTOP);
  long long deadline = now_ns();
  for (long i = 1; i <= frames; i++) {
    long long began = now_ns(); /* a late frame does not shorten the next frame */
    deadline = (deadline > began ? deadline : began) + frame_ns();
    run_frame(L, i, deadline);
  }
  printf("frames %ld\nlate %ld\nsteps %ld\ndone %ld\nshed %ld\nrefused %ld\nmost_kb %ld\nlast_kb "
         "%ld\n",
         frames, sum.late, sum.steps, sum.done, sum.shed, sum.refused, sum.most_kb, memory_kb(L));
  lua_close(L);
  printf("held_most_kb %zu\nheld_last_kb %zu\n", memory.most / 1024, (memory.held + 1023) / 1024);
  return 0;
}
