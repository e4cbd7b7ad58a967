/* SPDX-License-Identifier: MIT */
/* testsuite/unit/heap_test.c: the heap and the collector without the vm: the promises of
 * the allocator, and what each collection keeps and frees. Each test has a domain of its
 * own and ends with the heap verifier. */
#include <string.h>
#include <sys/mman.h>

#include "cases.h"
#include "bare_domain.h"
#include "mappings.h"
#include "str.h"

static int finalized;
static Table *last_finalized;

static void count_finalizer(lua_State *L) {
  last_finalized = as_table(L->top - 1);
  finalized++;
  L->top -= 2;
}

static int set_up(void **state) {
  if (bare_domain_set_up(state) != 0) return -1;
  lua_State *L = *state;
  L->domain->hooks.call_finalizer = count_finalizer;
  gc_set_mode(L, GC_MODE_GENERATIONAL);
  finalized = 0;
  return 0;
}

/* ---- helpers ------------------------------------------------------------- */

static TValue *push_table(lua_State *L, uint32_t narray, uint32_t nhash) {
  TValue *slot = L->top++;
  set_table(slot, table_new(L, narray, nhash));
  return slot;
}

static void minor(lua_State *L) {
  L->domain->gc.caller = L;
  gc_minor(L->domain, EV_REASON_COLLECT);
  L->domain->gc.caller = NULL;
}

static void set_index(lua_State *L, Table *t, int64_t i, GCObject *o) {
  TValue v;
  set_object(&v, o, (uint8_t)(o->type | TAG_COLLECTED));
  table_set_int(L, t, i, &v);
}

static Table *child(Table *t, int64_t i) {
  const TValue *v = table_get_int(t, i);
  return is_table(v) ? as_table(v) : NULL;
}

static Table *new_metatable(lua_State *L, const char *key, const char *value) {
  Table *mt = table_new(L, 0, 1);
  TValue v;
  set_string(&v, string_from_c(L, value));
  table_set_str(L, mt, string_from_c(L, key), &v);
  return mt;
}

/* ---- the allocator ------------------------------------------------------- */

static void sizes_do_not_overlap(void **state) {
  lua_State *L = *state;
  enum { COUNT = 4000 };
  static unsigned char *parts[COUNT];
  static size_t sizes[COUNT];
  for (int i = 0; i < COUNT; i++) {
    sizes[i] = (size_t)(i * 7919 % 12000) + 1;
    parts[i] = heap_alloc_nodes(L, sizes[i]);
    assert_int_equal((uintptr_t)parts[i] % HEAP_GRANULE, 0);
    memset(parts[i], i & 0xff, sizes[i]);
  }
  for (int i = 0; i < COUNT; i++)
    for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(parts[i][j], i & 0xff);
}

static void a_small_allocation_stays_in_its_block(void **state) {
  lua_State *L = *state;
  for (int i = 0; i < 5000; i++) {
    size_t size = heap_round(i * 31 % HEAP_SMALL_MAX + 1);
    char *p = heap_alloc(L, size, MEMPROF_TABLE);
    assert_ptr_equal(heap_block_of(&L->domain->heap, p),
                     heap_block_of(&L->domain->heap, p + size - 1));
    assert_int_equal(heap_block_of(&L->domain->heap, p)->state, BLOCK_CONSUMED);
  }
}

static void *grow(lua_State *L, void *part, size_t old_size, size_t new_size) {
  Table owner = {.array = part};
  return heap_grow_array(L, &owner, old_size, new_size);
}

static void growing_keeps_the_contents(void **state) {
  lua_State *L = *state;
  size_t size = 16;
  char *p = heap_alloc_nodes(L, size);
  memset(p, 'x', size);
  for (; size < 1 << 20; size *= 2) {
    p = grow(L, p, size, size * 2);
    for (size_t i = 0; i < size; i++) assert_int_equal(p[i], 'x');
    memset(p, 'x', size * 2);
  }
  p = grow(L, p, size, 20000);
  for (size_t i = 0; i < 20000; i++) assert_int_equal(p[i], 'x');
  heap_free_part(L, p, 20000);
}

static void the_last_part_grows_in_place(void **state) {
  lua_State *L = *state;
  char *p = heap_alloc_nodes(L, 64);
  assert_ptr_equal(grow(L, p, 64, 128), p);
  heap_free_part(L, p, 128);
  assert_ptr_equal(heap_alloc_nodes(L, 8), p);
}

/* Makes tables in a list from the top of the stack, checks that they keep their contents
   after a full collection, and drops them. */
static void fill(lua_State *L, int count) {
  Table *list = as_table(push_table(L, 0, 0));
  for (int i = 1; i <= count; i++) set_index(L, list, i, (GCObject *)table_new(L, 4, 0));
  gc_full(L);
  for (int i = 1; i <= count; i++) assert_non_null(child(list, i));
  gc_verify(L->domain, "filled");
  L->top--;
  gc_full(L);
}

static void the_first_chunk_grows_in_its_place(void **state) {
  lua_State *L = *state;
  const Heap *h = &L->domain->heap;
  const Chunk *first = h->chunks;
  assert_int_equal(first->nblocks, HEAP_FIRST_BLOCKS);
  assert_int_equal(h->nblocks, HEAP_FIRST_BLOCKS - 1);
  fill(L, 4000); /* some 500 KB */
  assert_ptr_equal(h->chunks, first);
  assert_null(first->next);
  assert_int_equal(first->nblocks, HEAP_CHUNK_BLOCKS);
  assert_int_equal(h->nblocks, HEAP_CHUNK_BLOCKS - 1);
  fill(L, 40000);
}

static void a_first_chunk_that_cannot_grow_stays_small(void **state) {
  void *domain = NULL;
  mapping_drop_all();
  assert_int_equal(bare_domain_set_up(&domain), 0);
  lua_State *L = domain;
  const Heap *h = &L->domain->heap;
  const Chunk *first = h->chunks;
  char *behind = (char *)first + ((size_t)first->mapped_blocks << HEAP_BLOCK_SHIFT);
  void *other = mmap(behind, HEAP_BLOCK_SIZE, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  assert_ptr_equal(other, behind);
  fill(L, 4000);
  assert_ptr_not_equal(h->chunks, first);
  assert_ptr_equal(h->chunks->next, first);
  assert_int_equal(first->nblocks, HEAP_FIRST_BLOCKS);
  assert_int_equal(h->nblocks, HEAP_FIRST_BLOCKS + HEAP_CHUNK_BLOCKS - 2);
  fill(L, 40000);
  bare_domain_tear_down(&domain);
  munmap(other, HEAP_BLOCK_SIZE);
}

/* Checks that the header of a chunk does not depend on what its memory held before. */
static void a_first_chunk_of_used_memory_grows(void **state) {
  size_t size = (size_t)HEAP_FIRST_BLOCKS << HEAP_BLOCK_SHIFT;
  for (int whole = 0; whole <= 1; whole++, size = HEAP_CHUNK_SIZE) {
    mapping_drop_all();
    void *used = whole ? mapping_new(size, HEAP_CHUNK_SIZE)
                       : mapping_new_begin(size, HEAP_CHUNK_SIZE);
    memset(used, 0xff, size);
    mapping_give(used, size);
    void *domain = NULL;
    assert_int_equal(bare_domain_set_up(&domain), 0);
    lua_State *L = domain;
    assert_ptr_equal(L->domain->heap.chunks, used);
    assert_int_equal(L->domain->heap.nblocks, HEAP_FIRST_BLOCKS - 1);
    fill(L, 4000);
    assert_ptr_equal(L->domain->heap.chunks, used);
    bare_domain_tear_down(&domain);
  }
}

static void a_userdata_payload_is_aligned(void **state) {
  lua_State *L = *state;
  for (int i = 0; i < 500; i++) {
    heap_alloc(L, 8, MEMPROF_TABLE);
    Userdata *u = userdata_new(L, (size_t)(i * 97 % 9000), i % 3);
    assert_int_equal((uintptr_t)userdata_payload(u) % 16, 0);
  }
}

/* ---- minor collections --------------------------------------------------- */

static void dead_objects_give_their_memory_back(void **state) {
  lua_State *L = *state;
  minor(L);
  size_t blocks = 0;
  for (int round = 0; round < 50; round++) {
    for (int i = 0; i < 5000; i++) table_new(L, 1, 0);
    minor(L);
    if (round == 1) blocks = L->domain->heap.nblocks;
  }
  assert_int_equal(L->domain->heap.nblocks, blocks);
  assert_int_equal(L->domain->heap.young_bytes, 0);
}

/* Checks that free blocks are given back when a whole period has not needed them. */
static void free_memory_is_kept_for_a_while(void **state) {
  lua_State *L = *state;
  Heap *h = &L->domain->heap;
  gc_full(L);
  heap_trim_start(h, 0);
  assert_true(heap_trim(h, SIZE_MAX));
  assert_int_equal(h->nheld, 0);
  for (size_t n = 0; n < 10 * HEAP_BLOCK_SIZE; n += HEAP_SMALL_MAX)
    heap_alloc(L, HEAP_SMALL_MAX, MEMPROF_TABLE);
  minor(L);
  uint32_t held = h->nheld;
  assert_true(held > 2);
  for (int walk = 0; walk < 3; walk++) {
    heap_trim_start(h, 2);
    assert_true(heap_trim(h, SIZE_MAX - 1));
    assert_int_equal(h->nheld, held);
  }
  /* some of the free blocks are taken, and become free again */
  for (size_t n = 0; n < 3 * HEAP_BLOCK_SIZE; n += HEAP_SMALL_MAX)
    heap_alloc(L, HEAP_SMALL_MAX, MEMPROF_TABLE);
  minor(L);
  h->idle_since = 0;
  heap_trim_start(h, 0);
  assert_true(heap_trim(h, SIZE_MAX - 1));
  assert_true(h->nheld > 0);
  assert_true(h->nheld < held);
  h->idle_since = 0;
  heap_trim_start(h, 0);
  assert_true(heap_trim(h, SIZE_MAX - 1));
  assert_int_equal(h->nheld, 0);
}

static void survivors_are_old_and_clean(void **state) {
  lua_State *L = *state;
  Table *t = as_table(push_table(L, 4, 4));
  set_index(L, t, 1, (GCObject *)table_new(L, 0, 0));
  set_index(L, t, 100, (GCObject *)string_from_c(L, "a key far away"));
  assert_true(is_young(t));
  minor(L);
  assert_false(is_young(t));
  assert_true(t->gc & GC_CLEAN);
  assert_false(is_young(child(t, 1)));
  gc_verify(L->domain, "test");
}

static void the_remembered_set_keeps_the_young(void **state) {
  lua_State *L = *state;
  Table *t = as_table(push_table(L, 8, 0));
  minor(L);
  assert_true(t->gc & GC_CLEAN);
  set_index(L, t, 1, (GCObject *)table_new(L, 3, 0));
  assert_false(t->gc & GC_CLEAN);
  assert_int_equal(L->domain->gc.remembered.n, 1);
  /* the running thread is always remembered */
  assert_ptr_equal(L->domain->gc.remembered_threads, L);
  minor(L);
  assert_true(t->gc & GC_CLEAN);
  assert_int_equal(child(t, 1)->array_size, 3);
  assert_false(is_young(child(t, 1)));
}

static void a_large_table_is_logged_by_card(void **state) {
  lua_State *L = *state;
  Table *t = as_table(push_table(L, 100000, 0));
  minor(L);
  for (int i = 1; i <= 100000; i += 1000) set_index(L, t, i, (GCObject *)table_new(L, 1, 0));
  assert_true(t->gc & GC_CLEAN);
  assert_int_equal(L->domain->gc.cards.n, 100);
  gc_verify(L->domain, "test");
  minor(L);
  assert_int_equal(L->domain->gc.cards.n, 0);
  for (int i = 1; i <= 100000; i += 1000) assert_false(is_young(child(t, i)));
}

static void large_tables_grow_between_collections(void **state) {
  lua_State *L = *state;
  Table *t = as_table(push_table(L, 0, 0));
  for (int i = 1; i <= 60000; i++) {
    set_index(L, t, i, (GCObject *)table_new(L, 0, 0));
    TValue key, value;
    set_float(&key, i + 0.5);
    set_table(&value, table_new(L, 0, 0));
    table_set(L, t, &key, &value);
    if (i % 997 == 0) minor(L);
    if (i % 20011 == 0) gc_verify(L->domain, "test");
  }
  for (int i = 1; i <= 60000; i++) assert_int_equal(child(t, i)->type, LUA_TTABLE);
}

static void dead_strings_leave_the_intern_table(void **state) {
  lua_State *L = *state;
  gc_full(L);
  uint32_t used = L->domain->strings.used;
  for (int i = 0; i < 1000; i++) {
    string_format(L, "transient %d", i);
    L->top--;
  }
  assert_int_equal(L->domain->strings.used, used + 1000);
  minor(L);
  String *kept = string_from_c(L, "kept");
  set_string(L->top, kept);
  L->top++;
  assert_ptr_equal(string_from_c(L, "kept"), kept);
  minor(L);
  assert_ptr_equal(string_from_c(L, "kept"), kept);
  assert_int_equal(L->domain->strings.used, used + 1);
  L->top--;
  gc_full(L);
  assert_int_equal(L->domain->strings.used, used);
}

static void slots_above_top_are_cleared(void **state) {
  lua_State *L = *state;
  push_table(L, 0, 0);
  L->top--;
  minor(L);
  assert_true(is_nil(L->top));
}

/* ---- major cycles -------------------------------------------------------- */

static void slices_reach_every_phase(void **state) {
  lua_State *L = *state;
  Domain *d = L->domain;
  Table *t = as_table(push_table(L, 0, 0));
  for (int i = 1; i <= 3000; i++) set_index(L, t, i, (GCObject *)table_new(L, 2, 0));
  unsigned seen = 0;
  int steps = 0;
  do {
    seen |= 1u << d->gc.phase;
    gc_verify(d, "test");
    /* the program goes on during the cycle */
    set_index(L, t, steps % 3000 + 1, (GCObject *)table_new(L, 2, 0));
    assert_true(++steps < 10000);
  } while (!gc_step_by(L, 1));
  assert_true(steps > 10);
  assert_true(seen & 1u << GC_PHASE_MARK);
  assert_true(seen & 1u << GC_PHASE_SWEEP_BLOCKS);
  assert_int_equal(d->gc.phase, GC_PHASE_IDLE);
  assert_int_equal(d->gc.marking_mask, 0);
}

static void old_garbage_goes_in_a_cycle(void **state) {
  lua_State *L = *state;
  gc_full(L);
  size_t before = gc_count(L->domain), large_before = L->domain->heap.old_large_bytes;
  Table *t = as_table(push_table(L, 0, 0));
  for (int i = 1; i <= 20000; i++) set_index(L, t, i, (GCObject *)table_new(L, 4, 0));
  minor(L);
  assert_true(gc_count(L->domain) > before + 20000 * (sizeof(Table) + 4 * sizeof(TValue)));
  L->top--;
  gc_full(L);
  assert_int_equal(gc_count(L->domain), before);
  assert_int_equal(L->domain->heap.old_large_bytes, large_before);
}

/* Checks that an object survives when it moves from the end of a long array, which is not
   scanned yet, to a table that is scanned already. */
static void a_hidden_object_survives_marking(void **state) {
  lua_State *L = *state;
  Domain *d = L->domain;
  Table *from = as_table(push_table(L, 0, 0)), *to = as_table(push_table(L, 1, 0));
  for (int i = 1; i <= 30000; i++) set_index(L, from, i, (GCObject *)table_new(L, 7, 0));
  minor(L);
  for (int i = 0; d->gc.phase != GC_PHASE_MARK || !is_marked(d, to); i++) {
    gc_step_by(L, 1);
    assert_true(i < 1000);
  }
  Table *hidden = child(from, 30000);
  assert_false(is_marked(d, hidden));
  set_index(L, to, 1, (GCObject *)hidden);
  set_nil((TValue *)table_get_int(from, 30000));
  while (d->gc.phase != GC_PHASE_IDLE) gc_step_by(L, 0);
  assert_ptr_equal(child(to, 1), hidden);
  gc_verify(d, "test");
}

/* ---- weak tables and finalizers ------------------------------------------ */

static void weak_values_go(void **state) {
  lua_State *L = *state;
  Table *t = as_table(push_table(L, 4, 0));
  t->metatable = new_metatable(L, "__mode", "v");
  Table *kept = as_table(push_table(L, 0, 0));
  set_index(L, t, 1, (GCObject *)kept);
  set_index(L, t, 2, (GCObject *)table_new(L, 0, 0));
  set_index(L, t, 3, (GCObject *)string_from_c(L, "strings are values"));
  minor(L);
  assert_ptr_equal(child(t, 1), kept);
  assert_null(child(t, 2));
  assert_true(is_string(table_get_int(t, 3)));
  L->top--;
  minor(L);
  assert_ptr_equal(child(t, 1), kept); /* `kept` is old, so only a major cycle may clear
                                          it */
  gc_full(L);
  assert_null(child(t, 1));
}

/* Checks a chain t[k1] = k2, t[k2] = k3, ...: its links live as long as k1 does. */
static void a_chain_of_ephemerons(void **state) {
  lua_State *L = *state;
  Table *t = as_table(push_table(L, 0, 0));
  t->metatable = new_metatable(L, "__mode", "k");
  Table *first = as_table(push_table(L, 0, 0)), *k = first;
  for (int i = 0; i < 100; i++) {
    TValue key, value;
    set_table(&key, k);
    set_table(&value, table_new(L, 0, 0));
    table_set(L, t, &key, &value);
    k = as_table(&value);
  }
  minor(L);
  gc_full(L);
  int n = 0;
  for (k = first; k != NULL; n++) {
    TValue key;
    set_table(&key, k);
    const TValue *next = table_get(t, &key);
    k = is_table(next) ? as_table(next) : NULL;
  }
  assert_int_equal(n, 101);
  L->top--;
  gc_full(L);
  TValue pair[2] = {{.tag = TAG_NIL}};
  assert_false(table_next(L, t, pair));
}

static Table *finalizable(lua_State *L) {
  Table *mt = table_new(L, 0, 1), *t = table_new(L, 0, 0);
  TValue v;
  set_bool(&v, true);
  table_set_str(L, mt, L->domain->meta_names[META_GC], &v);
  t->metatable = mt;
  gc_register_finalizer(L, (GCObject *)t);
  return t;
}

static void finalizers_run_last_registered_first(void **state) {
  lua_State *L = *state;
  Table *first = finalizable(L);
  for (int i = 0; i < 9; i++) finalizable(L);
  minor(L);
  assert_int_equal(finalized, 0);
  gc_run_finalizers(L, 9);
  assert_int_equal(finalized, 9);
  gc_run_finalizers(L, SIZE_MAX);
  assert_int_equal(finalized, 10);
  assert_ptr_equal(last_finalized, first);
}

static void incremental_finalizers_wait_for_the_cycle(void **state) {
  lua_State *L = *state;
  gc_set_mode(L, GC_MODE_INCREMENTAL);
  finalizable(L);
  minor(L);
  gc_run_finalizers(L, SIZE_MAX);
  assert_int_equal(finalized, 0);
  gc_full(L);
  assert_int_equal(finalized, 1);
}

/* Checks that memory left by domains is kept for later domains, so that thousands of
   states that do little may be open. */
static void what_idle_domains_leave_is_kept(void **state) {
  enum { MANY = 500 };
  static lua_State *all[MANY];
  mapping_drop_all();
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < MANY; i++) assert_non_null(all[i] = domain_new(NULL, NULL));
    assert_int_equal(mapping_kept(), 0);
    for (int i = 0; i < MANY; i++) domain_close(all[i]);
    assert_int_equal(mapping_kept(), MANY * HEAP_FIRST_BLOCKS * HEAP_BLOCK_SIZE);
  }
  mapping_drop_all();
}

/* Checks that a domain does not see what was in its memory before. */
static void a_domain_begins_in_what_another_left(void **state) {
  mapping_drop_all();
  for (int collects = 0; collects < 2; collects++) {
    lua_State *L = domain_new(NULL, NULL);
    for (int i = 0; i < 1000; i++) table_new(L, 10, 10);
    if (collects) gc_full(L);
    void *home = L->domain;
    domain_close(L);
    L = domain_new(NULL, NULL);
    assert_ptr_equal(L->domain, home);
    set_table(L->top, table_new(L, 5, 5));
    L->top++;
    gc_full(L);
    gc_verify(L->domain, "in what another left");
    domain_close(L);
  }
}

/* Checks that a domain begins in an emptied mapping as in a fresh one. */
static void a_domain_begins_in_emptied_memory(void **state) {
  size_t size;
  mapping_drop_all();
  lua_State *L = domain_new(NULL, NULL);
  void *home = L->domain;
  domain_close(L);
  mapping_give(mapping_new(MAPPINGS_MOST, 1), MAPPINGS_MOST);
  assert_true(mapping_emptied() > 0);
  mapping_unmap(mapping_take(MAPPINGS_MOST, MAPPINGS_MOST, 1, &size), MAPPINGS_MOST);
  L = domain_new(NULL, NULL);
  assert_ptr_equal(L->domain, home);
  assert_int_equal(mapping_emptied(), 0);
  assert_false(L->domain->heap.home->used);
  for (int i = 0; i < 1000; i++) table_new(L, 10, 10);
  gc_full(L);
  gc_verify(L->domain, "in emptied memory");
  domain_close(L);
}

static void closing_finalizes_all(void **state) {
  lua_State *L = domain_new(NULL, NULL);
  L->domain->hooks.call_finalizer = count_finalizer;
  finalized = 0;
  for (int i = 0; i < 5; i++) {
    set_table(L->top, finalizable(L));
    L->top++;
  }
  domain_close(L);
  assert_int_equal(finalized, 5);
}

/* ---- threads ------------------------------------------------------------- */

static void a_stack_grows_and_keeps_upvalues(void **state) {
  lua_State *L = *state;
  TValue *slot = L->top++;
  set_int(slot, 42);
  UpValue *uv = upvalue_find(L, slot);
  assert_ptr_equal(upvalue_find(L, slot), uv);
  ptrdiff_t offset = stack_save(L, slot);
  stack_grow(L, 5000);
  assert_ptr_equal(uv->v, stack_restore(L, offset));
  assert_true(L->stack_last - L->top > 5000);
  minor(L);
  stack_shrink(L);
  assert_true(L->stack_last - L->stack < 1000);
  assert_ptr_equal(uv->v, stack_restore(L, offset));
  upvalue_close(L, uv->v);
  assert_false(upvalue_is_open(uv));
  assert_int_equal(uv->u.closed.v.i, 42);
}

static void a_suspended_thread_keeps_its_stack(void **state) {
  lua_State *L = *state;
  lua_State *co = thread_new(L);
  set_thread(L->top, co);
  L->top++;
  minor(L);
  set_table(co->top, table_new(co, 5, 0));
  co->top++;
  gc_thread_resumed(L, co);
  minor(L);
  gc_full(L);
  assert_int_equal(as_table(co->top - 1)->array_size, 5);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, bare_domain_tear_down)
  const struct CMUnitTest tests[] = {
    TEST(sizes_do_not_overlap),
    TEST(a_small_allocation_stays_in_its_block),
    TEST(growing_keeps_the_contents),
    TEST(the_last_part_grows_in_place),
    TEST(the_first_chunk_grows_in_its_place),
    TEST(a_userdata_payload_is_aligned),
    TEST(dead_objects_give_their_memory_back),
    TEST(free_memory_is_kept_for_a_while),
    TEST(survivors_are_old_and_clean),
    TEST(the_remembered_set_keeps_the_young),
    TEST(a_large_table_is_logged_by_card),
    TEST(large_tables_grow_between_collections),
    TEST(dead_strings_leave_the_intern_table),
    TEST(slots_above_top_are_cleared),
    TEST(slices_reach_every_phase),
    TEST(old_garbage_goes_in_a_cycle),
    TEST(a_hidden_object_survives_marking),
    TEST(weak_values_go),
    TEST(a_chain_of_ephemerons),
    TEST(finalizers_run_last_registered_first),
    TEST(incremental_finalizers_wait_for_the_cycle),
    cmocka_unit_test(what_idle_domains_leave_is_kept),
    cmocka_unit_test(a_domain_begins_in_what_another_left),
    cmocka_unit_test(a_domain_begins_in_emptied_memory),
    cmocka_unit_test(closing_finalizes_all),
    cmocka_unit_test(a_first_chunk_of_used_memory_grows),
    cmocka_unit_test(a_first_chunk_that_cannot_grow_stays_small),
    TEST(a_stack_grows_and_keeps_upvalues),
    TEST(a_suspended_thread_keeps_its_stack),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
