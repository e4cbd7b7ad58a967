/* SPDX-License-Identifier: MIT */
/* vm/retain.c: who holds the objects of a domain.
 *
 * The walk visits all objects that the roots reach, breadth first, so that it comes to
 * each object by a shortest path. The queue (Visited) says for each object from which
 * other object it was reached, and how. Paths are read from it backwards.
 *
 * A leak is a million objects, and a path for each explains nothing. So paths have
 * *shapes*: a step that is an element of an array, or of a table with many keys, stands
 * for all of them ([*]); a step that repeats itself, as in a list, counts once; beyond
 * MOST_DEPTH steps shapes are not distinguished. Objects are counted by kind and shape
 * (Group). A kind is a type, with the fields of small tables, the name in the metatable
 * (__name) or the function of a closure.
 *
 * Weak references hold nothing. The value of a weak key is held by the key and the table:
 * such tables are visited again and again, until nothing new is found. Temporaries on
 * stacks come last (retain_follow_later): they have no names, and their objects often
 * have better paths.
 *
 * Order of the roots: globals, modules, stacks, and then the rest. So of several shortest
 * paths, one that begins with a name is shown.
 *
 * Memory. Visited objects have a bit each, in windows of 1 MiB of addresses. The memory
 * of a walk is one mapping that is reserved, and touched as far as it is used: 16 bytes
 * an object, 1/64 of the heap for the bits, and the tables of shapes and groups. The walk
 * is bounded (RetainLimits), and says whether it was cut off.
 *
 * Nothing here calls malloc, raises an error or changes an object: the walk also runs in
 * a forked child, which has only the thread that forked.
 */
#include "retain.h"

#include <string.h>
#include <sys/mman.h>

#include "clock.h"
#include "gc.h"
#include "retain_walk.h"
#include "str.h"
#include "table.h"

/* ---- what was visited ------------------------------------------------------ */

/* Returns the slot of the window of an address, or a free slot for it. */
static uint32_t find_window(RetainWalk *w, uint64_t base) {
  uint32_t i = (uint32_t)(base * UINT64_C(0x9e3779b97f4a7c15) >> 48) & (MOST_WINDOWS - 1);
  while (w->windows[i] != 0 && w->windows[i] != base + 1) i = (i + 1) & (MOST_WINDOWS - 1);
  return i;
}

/* Returns the byte with the bit of an object, or NULL if there is no room for its
   window. */
static uint8_t *visited_bit(RetainWalk *w, const GCObject *o, uint8_t *mask) {
  const uint64_t address = (uint64_t)(uintptr_t)o, base = address >> WINDOW_SHIFT;
  uint32_t window = w->last_window;
  if (w->windows[window] != base + 1) {
    window = find_window(w, base);
    if (w->windows[window] == 0) {
      /* one slot stays free, so that each search ends */
      if (w->windows[MOST_WINDOWS] == MOST_WINDOWS - 1) return NULL;
      w->windows[MOST_WINDOWS]++;
      w->windows[window] = base + 1;
    }
    w->last_window = window;
  }
  const uint32_t bit = (uint32_t)(address >> 3) & ((1u << (WINDOW_SHIFT - 3)) - 1);
  *mask = (uint8_t)(1u << (bit & 7));
  return &w->window_bits[(size_t)window * WINDOW_BYTES + (bit >> 3)];
}

bool retain_was_visited(RetainWalk *w, const GCObject *o) {
  uint8_t mask, *byte = visited_bit(w, o, &mask);
  return byte != NULL && (*byte & mask);
}

bool retain_visit(RetainWalk *w, const GCObject *o) {
  uint8_t mask, *byte = visited_bit(w, o, &mask);
  if (byte == NULL) {
    w->end = RETAIN_OUT_OF_MEMORY;
    return false;
  }
  if (*byte & mask) return false;
  if (w->n == w->most) {
    w->end = RETAIN_OUT_OF_OBJECTS;
    return false;
  }
  *byte |= mask;
  return true;
}

/* ---- counts ---------------------------------------------------------------- */

static void add_amount(RetainAmount *amount, size_t bytes) {
  amount->objects++;
  amount->bytes += bytes;
}

static uint32_t hash_pair(uint64_t a, uint64_t b, uint32_t size) {
  return (uint32_t)((a * UINT64_C(0x9e3779b97f4a7c15) ^ b) * UINT64_C(0xff51afd7ed558ccd) >> 40) &
         (size - 1);
}

static bool is_kind(const Kind *k, KindKey key) {
  return k->key.kind == key.kind && k->key.of == key.of;
}

static const KindKey other_kinds = {KIND_OTHER, 0};

/* Returns the slot of a kind in the index, or the free slot for it. */
static uint32_t slot_of_kind(const RetainWalk *w, KindKey key) {
  uint32_t i = hash_pair((uint64_t)key.kind, key.of, 2 * MOST_KINDS);
  for (; w->kind_index[i] != 0; i = (i + 1) & (2 * MOST_KINDS - 1))
    if (is_kind(&w->kinds[w->kind_index[i] - 1], key)) break;
  return i;
}

/* Returns the number of a kind. Kinds that are found after the table is full are all
   counted as one. */
static uint32_t find_kind(RetainWalk *w, KindKey key, uint32_t first) {
  uint32_t i = slot_of_kind(w, key);
  if (w->kind_index[i] == 0 && w->nkinds >= MOST_KINDS - 1) {
    key = other_kinds;
    i = slot_of_kind(w, key);
  }
  if (w->kind_index[i] != 0) return w->kind_index[i] - 1;
  w->kinds[w->nkinds] = (Kind){.key = key, .first = first};
  w->kind_index[i] = ++w->nkinds;
  return w->nkinds - 1;
}

/* Returns the group of a kind and shape, or NULL if there are too many groups; the object
   then counts for its kind only. */
static Group *find_group(RetainWalk *w, uint32_t kind, uint32_t shape, uint32_t first) {
  uint32_t i = hash_pair(kind, shape, 2 * MOST_GROUPS);
  for (; w->group_index[i] != 0; i = (i + 1) & (2 * MOST_GROUPS - 1)) {
    Group *g = &w->groups[w->group_index[i] - 1];
    if (g->kind == kind && g->shape == shape) return g;
  }
  if (w->ngroups == MOST_GROUPS) return NULL;
  w->groups[w->ngroups] = (Group){.kind = kind, .shape = shape, .first = first};
  w->group_index[i] = ++w->ngroups;
  return &w->groups[w->ngroups - 1];
}

static void count_object(RetainWalk *w, uint32_t i) {
  const GCObject *o = visited_object(&w->queue[i]);
  const size_t bytes = gc_object_bytes(o);
  const uint32_t kind = find_kind(w, retain_kind_of(w, o), i);
  Group *group = find_group(w, kind, visited_shape(&w->queue[i]), i);
  add_amount(&w->total, bytes);
  add_amount(&w->kinds[kind].amount, bytes);
  if (group != NULL) add_amount(&group->amount, bytes);
}

/* ---- roots ----------------------------------------------------------------- */

static uint32_t root_shape(RetainWalk *w, const char *name) {
  return retain_shape(w, 0, (Step){STEP_ROOT, name, NULL});
}

static void reach_root(RetainWalk *w, const void *o, const char *name) {
  if (o != NULL) retain_reach(w, (GCObject *)(uintptr_t)o, NO_PARENT, 0, root_shape(w, name));
}

static const char *const type_names[LUA_NUMTYPES] = {
  "metatable of nil", "metatable of booleans", "metatable of light userdata",
  "metatable of numbers", "metatable of strings", "metatable of tables",
  "metatable of functions", "metatable of userdata", "metatable of threads"};

/* Returns a table of the registry, found without making a string, or NULL if there is
   none. */
static const Table *registry_table(const Domain *d, const char *name) {
  const Table *registry = as_table(&d->registry);
  for (uint32_t i = 0; i < table_node_count(registry); i++) {
    const Node *n = &registry->node[i];
    if (n->key_tag != TAG_SHORT_STRING || n->tag != TAG_TABLE) continue;
    if (strcmp(((const String *)n->key.gc)->data, name) == 0) return (const Table *)n->v.gc;
  }
  return NULL;
}

static void reach_roots(RetainWalk *w) {
  Domain *d = w->d;
  const Gc *gc = &d->gc;
  const TValue *globals = table_get_int(as_table(&d->registry), LUA_RIDX_GLOBALS);
  if (is_table(globals)) w->globals = as_table(globals);
  w->loaded = registry_table(d, "_LOADED");
  reach_root(w, w->globals, "_G");
  reach_root(w, w->loaded, "package.loaded");
  reach_root(w, d->main_thread, "main thread");
  for (const lua_State *co = d->current; co != NULL; co = co->resumer)
    reach_root(w, co, "running coroutine");
  for (size_t i = gc->finalizers_first; i < gc->finalizers.n; i++)
    reach_root(w, gc->finalizers.items[i], "waiting for its finalizer");
  for (size_t i = 0; i < gc->found.n; i++)
    reach_root(w, gc->found.items[i], "waiting for its finalizer");
  for (int i = 0; i < LUA_NUMTYPES; i++) reach_root(w, d->metatables[i], type_names[i]);
  reach_root(w, d->registry.v.gc, "registry");
  reach_root(w, d->memory_error, "interpreter");
  for (int i = 0; i < META_COUNT; i++) reach_root(w, d->meta_names[i], "interpreter");
  for (int i = 0; i < NAME_COUNT; i++) reach_root(w, d->names[i], "interpreter");
}

/* ---- the walk -------------------------------------------------------------- */

#define OBJECTS_PER_CLOCK 4096

static bool goes_on(RetainWalk *w) {
  if (w->end != RETAIN_COMPLETE) return false;
  if (w->next % OBJECTS_PER_CLOCK == 0 && w->deadline != 0 && monotonic_ns() >= w->deadline)
    w->end = RETAIN_OUT_OF_TIME;
  return w->end == RETAIN_COMPLETE;
}

/* Runs the walk. Objects in the queue count even if the walk is cut off. */
static void run(RetainWalk *w) {
  do {
    for (; w->next < w->n; w->next++) {
      count_object(w, w->next);
      if (goes_on(w)) retain_follow(w, w->next);
    }
  } while (goes_on(w) && retain_follow_later(w));
}

static bool kind_comes_first(const void *walk, uint32_t a, uint32_t b) {
  const Kind *kinds = ((const RetainWalk *)walk)->kinds;
  if (kinds[a].amount.bytes != kinds[b].amount.bytes)
    return kinds[a].amount.bytes > kinds[b].amount.bytes;
  return a < b;
}

static bool group_comes_first(const void *walk, uint32_t a, uint32_t b) {
  const Group *groups = ((const RetainWalk *)walk)->groups;
  if (groups[a].kind != groups[b].kind) return groups[a].kind < groups[b].kind;
  if (groups[a].amount.bytes != groups[b].amount.bytes)
    return groups[a].amount.bytes > groups[b].amount.bytes;
  return a < b;
}

static void order_all(RetainWalk *w) {
  retain_order(w->kind_order, w->nkinds, kind_comes_first, w);
  retain_order(w->group_order, w->ngroups, group_comes_first, w);
  for (uint32_t i = 0; i < w->ngroups; i++) {
    Kind *kind = &w->kinds[w->groups[w->group_order[i]].kind];
    if (kind->nways++ == 0) kind->first_way = i;
  }
}

/* ---- memory ---------------------------------------------------------------- */

static size_t round_up(size_t bytes) { return (bytes + 4095) & ~(size_t)4095; }

/* Sets each array to its address in the mapping at `memory`, and returns the sum of the
   sizes. If `memory` is 0, only the sum is valid. */
static size_t lay_out(RetainWalk *w, uintptr_t memory) {
  size_t used = round_up(sizeof *w);
#define ARRAY(field, count) \
  do { \
    w->field = (void *)(memory + used); \
    used += round_up((size_t)(count) * sizeof *w->field); \
  } while (0)
  ARRAY(queue, w->most);
  ARRAY(windows, MOST_WINDOWS + 1);
  ARRAY(window_bits, (size_t)MOST_WINDOWS * WINDOW_BYTES);
  ARRAY(shapes, MOST_SHAPES);
  ARRAY(shape_index, 2 * MOST_SHAPES);
  ARRAY(kinds, MOST_KINDS);
  ARRAY(kind_index, 2 * MOST_KINDS);
  ARRAY(kind_order, MOST_KINDS);
  ARRAY(groups, MOST_GROUPS);
  ARRAY(group_index, 2 * MOST_GROUPS);
  ARRAY(group_order, MOST_GROUPS);
  ARRAY(later, MOST_LATER);
#undef ARRAY
  return used;
}

static RetainWalk *new_walk(uint32_t most) {
  RetainWalk sizes = {.most = most};
  size_t bytes = lay_out(&sizes, 0);
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  RetainWalk *w = memory;
  w->most = most;
  w->memory = memory;
  w->memory_bytes = bytes;
  lay_out(w, (uintptr_t)memory);
  return w;
}

#define LEAST_OBJECTS 1024

RetainWalk *retain_walk(Domain *d, const RetainLimits *limits) {
  uint64_t most = limits->objects != 0 ? limits->objects : RETAIN_MOST_OBJECTS;
  if (most > UINT32_MAX - 1) most = UINT32_MAX - 1;
  RetainWalk *w = NULL;
  /* if addresses are limited, tries with fewer objects */
  do w = new_walk((uint32_t)most);
  while (w == NULL && (most /= 4) >= LEAST_OBJECTS);
  if (w == NULL) return NULL;
  w->d = d;
  w->nshapes = 1;
  w->deadline = limits->ns != 0 ? monotonic_ns() + limits->ns : 0;
  reach_roots(w);
  run(w);
  order_all(w);
  return w;
}

void retain_end(RetainWalk *w) {
  if (w != NULL) munmap(w->memory, w->memory_bytes);
}

RetainEnd retain_how_it_ended(const RetainWalk *w) { return w->end; }
RetainAmount retain_total(const RetainWalk *w) { return w->total; }
uint32_t retain_kinds(const RetainWalk *w) { return w->nkinds; }

/* ---- results --------------------------------------------------------------- */

uint64_t retain_in_no_way(const RetainWalk *w) {
  uint64_t objects = w->total.objects;
  for (uint32_t i = 0; i < w->ngroups; i++) objects -= w->groups[i].amount.objects;
  return objects;
}

uint64_t retain_in_no_kind(const RetainWalk *w) {
  const uint32_t found = w->kind_index[slot_of_kind(w, other_kinds)];
  return found != 0 ? w->kinds[found - 1].amount.objects : 0;
}

uint32_t retain_ways(const RetainWalk *w, uint32_t i) {
  return w->kinds[w->kind_order[i]].nways;
}

void retain_threads(const RetainWalk *w,
                    void (*each)(void *context, lua_State *co, uint32_t visited, uint32_t shape),
                    void *context) {
  for (uint32_t i = 0; i < w->n; i++) {
    GCObject *o = visited_object(&w->queue[i]);
    if (o->type == LUA_TTHREAD) each(context, (lua_State *)o, i, visited_shape(&w->queue[i]));
  }
}

void retain_describe_visited(const RetainWalk *w, uint32_t visited, RetainHolder *h) {
  Text path = {h->path, 0, sizeof h->path}, shape = {h->shape, 0, sizeof h->shape};
  h->amount = (RetainAmount){0, 0};
  h->steps = retain_steps(w, visited);
  retain_write_path(w, visited, &path);
  retain_write_shape(w, visited_shape(&w->queue[visited]), &shape);
}

void retain_describe_way(const RetainWalk *w, uint32_t i, uint32_t way, RetainHolder *h) {
  const Kind *k = &w->kinds[w->kind_order[i]];
  const Group *g = &w->groups[w->group_order[k->first_way + way]];
  retain_describe_visited(w, g->first, h);
  h->amount = g->amount;
}

void retain_describe(RetainWalk *w, uint32_t i, uint32_t most, RetainKind *kind) {
  const Kind *k = &w->kinds[w->kind_order[i]];
  Text name = {kind->name, 0, sizeof kind->name};
  if (most > RETAIN_HOLDERS) most = RETAIN_HOLDERS;
  kind->amount = k->amount;
  retain_name_kind(w, k, &name);
  kind->nholders = k->nways < most ? k->nways : most;
  kind->more_holders = k->nways - kind->nholders;
  for (uint32_t h = 0; h < kind->nholders; h++) retain_describe_way(w, i, h, &kind->holders[h]);
}
