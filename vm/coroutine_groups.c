/* SPDX-License-Identifier: MIT */
/* vm/coroutine_groups.c: the coroutines of a domain that wait, in groups of equal stacks.
 *
 * There is no list of all coroutines, so a walk (retain.c) finds them: each coroutine
 * that the walk has visited is alive, and a path to it is known. Coroutines are sorted by
 * a hash of their stack, then by the way in which they are held.
 * (eventring/tools/coroutine_groups.c sorts the coroutines of another process.)
 */
#include "coroutine_groups.h"

#include <stdlib.h>

#include "clock.h"
#include "contexts.h"
#include "domain.h"
#include "gc.h"

/* ---- one coroutine --------------------------------------------------------- */

bool coroutine_is_new(const lua_State *co) {
  return co->status == LUA_OK && co->run == NULL && co->ci == &co->base_ci && co->stack != NULL &&
         co->top - co->stack >= 2 && is_function(co->stack + 1) && co != co->domain->main_thread;
}

bool coroutine_waits(const lua_State *co) {
  return (co->status == LUA_YIELD && co->resumer == NULL) || coroutine_is_new(co);
}

static uint64_t ticks_ns(uint32_t ticks) { return (uint64_t)ticks * (1000000000 / CLOCK_TICKS); }

/* Sets the bounds of the time for which the coroutine has not run. The clock of ticks
   lags by some milliseconds, and a difference of ticks can be wrong by one. */
void coroutine_age(const lua_State *co, uint64_t *least_ns, uint64_t *most_ns) {
  const bool settled = co->gc & GC_CLEAN;
  const uint32_t now = clock_ticks();
  uint32_t least = settled ? now - co->ran_before : 0;
  uint32_t most = now - (settled ? co->ran_after : co->domain->gc.ticks.all_scanned);
  if (least > INT32_MAX) least = 0;
  if (most > INT32_MAX || most < least) most = least;
  *least_ns = ticks_ns(least > 1 ? least - 1 : 0);
  *most_ns = ticks_ns(most + 2);
}

static void mix(uint64_t *key, uint64_t word) {
  *key = (*key ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  *key ^= *key >> 29;
}

static void mix_function(uint64_t *key, const TValue *f) {
  if (is_lua_closure(f)) mix(key, (uintptr_t)as_lua_closure(f)->p);
  else if (f->tag == TAG_C_CLOSURE) mix(key, (uintptr_t)as_c_closure(f)->f);
  else mix(key, (uintptr_t)f->v.p);
}

/* Returns a key that is equal for equal stacks created by the same call. */
static uint64_t key_of(const lua_State *co) {
  uint64_t key = co->created_at;
  mix(&key, (uintptr_t)co->created_in);
  if (coroutine_is_new(co)) mix_function(&key, co->stack + 1);
  for (const CallInfo *ci = co->ci; ci != &co->base_ci; ci = ci->prev) {
    if (is_lua_frame(ci)) mix(&key, (uintptr_t)ci->u.lua.pc);
    mix_function(&key, ci->func);
  }
  return key | 1;
}

/* ---- gathering -------------------------------------------------------------- */

typedef struct Waiting {
  lua_State *co;
  uint64_t key, least_ns, most_ns;
  uint32_t visited, shape;
} Waiting;

typedef struct Gathering {
  Waiting *waiting;
  size_t n, room;
  uint64_t least_ns;
  bool no_memory;
} Gathering;

static bool make_room(Gathering *g) {
  if (g->n < g->room) return true;
  const size_t room = g->room != 0 ? 2 * g->room : 64;
  Waiting *waiting = realloc(g->waiting, room * sizeof *waiting);
  g->no_memory |= waiting == NULL;
  if (waiting == NULL) return false;
  g->waiting = waiting;
  g->room = room;
  return true;
}

static void add_thread(void *gathering, lua_State *co, uint32_t visited, uint32_t shape) {
  Gathering *g = gathering;
  Waiting w = {.co = co, .visited = visited, .shape = shape};
  if (!coroutine_waits(co)) return;
  coroutine_age(co, &w.least_ns, &w.most_ns);
  if (w.least_ns < g->least_ns || !make_room(g)) return;
  w.key = key_of(co);
  g->waiting[g->n++] = w;
}

/* ---- order -------------------------------------------------------------------- */

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int by_stack_and_way(const void *left, const void *right) {
  const Waiting *a = left, *b = right;
  int order = ORDER(a->key, b->key);
  if (order == 0) order = ORDER(a->shape, b->shape);
  return order != 0 ? order : ORDER(a->visited, b->visited);
}

static int longest_first(const void *left, const void *right) {
  const CoroutineGroup *a = left, *b = right;
  int order = ORDER(b->least_ns, a->least_ns);
  if (order == 0) order = ORDER(b->most_ns, a->most_ns);
  if (order == 0) order = ORDER(b->count, a->count);
  return order != 0 ? order : ORDER(a->key, b->key);
}

/* ---- groups ----------------------------------------------------------------- */

static void note_age(CoroutineGroup *group, const Waiting *w) {
  if (w->least_ns > group->least_ns ||
      (w->least_ns == group->least_ns && w->most_ns > group->most_ns)) {
    group->longest = w->co;
    group->least_ns = w->least_ns;
    group->most_ns = w->most_ns;
  }
  if (w->least_ns > group->shortest_least_ns ||
      (w->least_ns == group->shortest_least_ns && w->most_ns >= group->shortest_most_ns))
    return;
  group->shortest_least_ns = w->least_ns;
  group->shortest_most_ns = w->most_ns;
}

static bool has_spans(const lua_State *co) {
  const Context *c = context_find(co);
  return c != NULL && c->count + c->hidden > 0;
}

static void add_member(CoroutineGroup *group, const Waiting *w) {
  group->count++;
  group->bytes += gc_object_bytes((const GCObject *)w->co);
  group->with_spans += has_spans(w->co);
  note_age(group, w);
}

/* Adds a holder. Holders with most coroutines come first. If there are too many, the
   holder with the fewest is left out. */
static void add_holder(CoroutineGroup *group, CoroutineHolder holder) {
  for (uint32_t i = 0; i < group->nholders; i++) {
    const CoroutineHolder other = group->holders[i];
    if (holder.count <= other.count) continue;
    group->holders[i] = holder;
    holder = other;
  }
  if (group->nholders == COROUTINE_HOLDERS) group->otherwise += holder.count;
  else group->holders[group->nholders++] = holder;
}

static size_t count_groups(const Gathering *g) {
  size_t n = 0;
  for (size_t i = 0; i < g->n; i++) n += i == 0 || g->waiting[i].key != g->waiting[i - 1].key;
  return n;
}

/* Fills the groups. `from` is sorted, so the members of a group are neighbours, and
 * within a group the coroutines that are held in the same way are neighbours. */
static void fill_groups(CoroutineGroups *to, const Gathering *from) {
  CoroutineGroup *group = NULL;
  for (size_t i = 0, begin = 0; i < from->n; i++) {
    const Waiting *w = &from->waiting[i];
    if (group == NULL || group->key != w->key) {
      group = &to->groups[to->n++];
      *group = (CoroutineGroup){.key = w->key, .longest = w->co, .shortest_least_ns = UINT64_MAX};
    }
    add_member(group, w);
    if (i + 1 < from->n && w[1].key == w->key && w[1].shape == w->shape) continue;
    add_holder(group, (CoroutineHolder){w->shape, from->waiting[begin].visited, i + 1 - begin});
    begin = i + 1;
  }
}

static void make_groups(CoroutineGroups *to, Gathering *from) {
  qsort(from->waiting, from->n, sizeof *from->waiting, by_stack_and_way);
  to->groups = calloc(count_groups(from), sizeof *to->groups);
  to->no_memory = to->groups == NULL;
  if (to->no_memory) return;
  fill_groups(to, from);
  qsort(to->groups, to->n, sizeof *to->groups, longest_first);
  for (size_t i = 0; i < to->n; i++) to->bytes += to->groups[i].bytes;
  to->count = from->n;
}

void coroutine_groups_make(CoroutineGroups *to, const RetainWalk *w, uint64_t least_ns) {
  Gathering g = {.least_ns = least_ns};
  retain_threads(w, add_thread, &g);
  *to = (CoroutineGroups){.no_memory = g.no_memory};
  if (g.n > 0 && !g.no_memory) make_groups(to, &g);
  free(g.waiting);
}

void coroutine_groups_free(CoroutineGroups *g) { free(g->groups); }
