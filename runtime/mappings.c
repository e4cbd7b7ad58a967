/* SPDX-License-Identifier: MIT */
/* runtime/mappings.c: mappings kept for their next use (design: mappings.h).
 *
 * In debug builds a kept mapping cannot be accessed: an access through a stale pointer
 * fails as if the mapping had been unmapped.
 */
#include "mappings.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "clock.h"

#define KEPT_MAX 4096    /* powers of two */
#define EMPTIED_MAX 8192 /* also bounds their page tables: 16 MiB */
#define EMPTIED_SIZE (4 * MAPPING_UNIT) /* the largest mapping that is emptied */
#define KEPT_NS UINT64_C(1000000000)
#define ADAPT_FROM 2 /* mapping_adapt takes a kept mapping only if the kept ones have at
                      * least twice the wanted bytes */

typedef struct Kept {
  void *mapping;
  size_t size, touched;
  uint64_t since; /* ns of the monotonic clock */
} Kept;

/* Mappings in the order in which they were given: a circular buffer. The oldest, at
 * `first`, goes first; usually the newest is taken. */
typedef struct Ring {
  Kept *items;
  uint32_t room, first, n; /* room is a power of two */
  size_t bytes, touched;
} Ring;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Kept kept_items[KEPT_MAX], emptied_items[EMPTIED_MAX];
static Ring kept = {.items = kept_items, .room = KEPT_MAX};
/* mappings whose pages were given back: they are all zero */
static Ring emptied = {.items = emptied_items, .room = EMPTIED_MAX};

/* Returns the i-th mapping after the oldest. */
static Kept *item_at(Ring *r, uint32_t i) { return &r->items[(r->first + i) & (r->room - 1)]; }

void mapping_lock(void) { pthread_mutex_lock(&lock); }
void mapping_unlock(void) { pthread_mutex_unlock(&lock); }

uint64_t mapping_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void set_accessible(const Kept *k, bool accessible) {
#ifdef SAROS_DEBUG
  mprotect(k->mapping, k->size, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
#else
  (void)k;
  (void)accessible;
#endif
}

static void add_locked(Ring *r, Kept k) {
  *item_at(r, r->n++) = k;
  r->bytes += k.size;
  r->touched += k.touched;
}

static Kept remove_locked(Ring *r, uint32_t i) {
  Kept k = *item_at(r, i);
  r->n--;
  r->bytes -= k.size;
  r->touched -= k.touched;
  if (i == 0) r->first = (r->first + 1) & (r->room - 1);
  else for (; i < r->n; i++) *item_at(r, i) = *item_at(r, i + 1);
  return k;
}

/* Removes the oldest mapping if it was given at `since` or before. */
static bool remove_oldest(Ring *r, uint64_t since, Kept *k) {
  mapping_lock();
  bool found = r->n > 0 && item_at(r, 0)->since <= since;
  if (found) *k = remove_locked(r, 0);
  mapping_unlock();
  return found;
}

/* Unmaps memory. If munmap fails (it can need one more mapping than the system allows),
 * the pages are still given back and the addresses leak. */
void mapping_unmap(void *mapping, size_t size) {
  if (munmap(mapping, size) != 0) madvise(mapping, size, MADV_DONTNEED);
}

static bool drop_one(Ring *r, uint64_t since) {
  Kept k;
  if (!remove_oldest(r, since, &k)) return false;
  mapping_unmap(k.mapping, k.size);
  return true;
}

void mapping_drop_old(void) {
  uint64_t now = mapping_now();
  if (now <= KEPT_NS) return;
  drop_one(&kept, now - KEPT_NS);
  drop_one(&emptied, now - KEPT_NS);
}

void mapping_drop_all(void) {
  while (drop_one(&kept, UINT64_MAX)) {}
  while (drop_one(&emptied, UINT64_MAX)) {}
}

static size_t bytes_of(const Ring *r) {
  mapping_lock();
  size_t bytes = r->bytes;
  mapping_unlock();
  return bytes;
}

size_t mapping_kept(void) { return bytes_of(&kept); }
size_t mapping_emptied(void) { return bytes_of(&emptied); }

static bool has_any(void) { return mapping_kept() + mapping_emptied() > 0; }

void mapping_each_kept(MemoryPart *part, void *context) {
  mapping_lock();
  Ring *rings[2] = {&kept, &emptied};
  for (int r = 0; r < 2; r++)
    for (uint32_t i = 0; i < rings[r]->n; i++)
      part(context, item_at(rings[r], i)->mapping, item_at(rings[r], i)->size);
  mapping_unlock();
}

static void *map_pages(size_t size) {
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p != MAP_FAILED ? p : NULL;
}

/* Maps more than needed and unmaps what is not aligned. */
static void *map_and_cut(size_t size, size_t align) {
  char *p = map_pages(size + align);
  if (p == NULL) return NULL;
  char *aligned = (char *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1));
  if (aligned > p) munmap(p, (size_t)(aligned - p));
  if (p + align > aligned) munmap(aligned + size, (size_t)(p + align - aligned));
  return aligned;
}

static void *map_aligned(size_t size, size_t align) {
  void *p = map_pages(size);
  if (p == NULL || ((uintptr_t)p & (align - 1)) == 0) return p;
  munmap(p, size);
  return map_and_cut(size, align);
}

/* ---- huge pages -------------------------------------------------------------
 *
 * Touching a huge page takes 0.1 ms where the machine has one at hand, and 5 ms on a
 * virtual machine whose host has yet to provide it. The first touch of each mapping is
 * timed. After a slow touch no huge page is tried for a while, which gets longer each
 * time. So a program sees one such pause, not one for each 2 MiB that it grows by. */

#define SLOW_NS UINT64_C(1000000)
#define WAIT_LEAST_NS UINT64_C(10000000000)
#define WAIT_MOST_NS (64 * WAIT_LEAST_NS)

#define SURE_AFTER 16u /* touches by the thread that were not slow */

/* Relaxed: each member is a guess. */
static struct {
  uint64_t from, wait;
  uint32_t unsure; /* touches left until SURE_AFTER, since one was slow */
  bool known;      /* the thread of mapping_ahead.h runs */
} huge = {0, WAIT_LEAST_NS, 0, false};

#define load(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define store(x, value) __atomic_store_n(&(x), value, __ATOMIC_RELAXED)

bool mapping_huge_at_hand(void) {
  if (load(huge.known) && load(huge.unsure) > 0) return false;
  return mapping_now() >= load(huge.from);
}

void mapping_huge_is_known(bool known) { store(huge.known, known); }

/* Notes how long a touch by the thread of mapping_ahead.h took: nobody waits for it. */
static void note_touch_ahead(uint64_t ns) {
  uint32_t unsure = load(huge.unsure);
  if (ns >= SLOW_NS) store(huge.unsure, SURE_AFTER);
  else if (unsure > 0) store(huge.unsure, unsure - 1);
}

/* Touches a byte that is zero; returns false if that was slow. */
static bool touch_timed(volatile char *p) {
  uint64_t wait = load(huge.wait);
  uint64_t before = monotonic_ns();
  *p = 0;
  uint64_t now = monotonic_ns();
  bool slow = now - before >= SLOW_NS;
  if (slow) store(huge.from, now + wait);
  if (slow) store(huge.unsure, SURE_AFTER);
  wait = !slow ? WAIT_LEAST_NS : wait < WAIT_MOST_NS ? 2 * wait : wait;
  store(huge.wait, wait);
  return !slow;
}

/* Advises for the whole mapping: mremap accepts one memory area only. */
static void advise_huge(void *mapping, size_t size, bool prefer) {
  madvise(mapping, size, prefer ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

/* Prefers huge pages in a mapping whose bytes from `fresh` on were never touched. */
static bool prefer_from(char *mapping, size_t size, size_t fresh) {
  if (!mapping_huge_at_hand()) return false;
  advise_huge(mapping, size, true);
  if (!touch_timed(mapping + fresh)) advise_huge(mapping, size, false);
  return true;
}

bool mapping_prefer_huge(void *mapping, size_t size) { return prefer_from(mapping, size, 0); }

void mapping_refuse_huge(void *mapping, size_t size) { advise_huge(mapping, size, false); }

/* ---- mappings ------------------------------------------------------------ */

void *mapping_new(size_t size, size_t align) {
  void *p = map_aligned(size, align);
  if (p != NULL || !has_any()) return p;
  mapping_drop_all();
  return map_aligned(size, align);
}

/* The address of the last aligned mapping that was made. The next mapping is tried right
 * before it, which usually takes one call. Relaxed: the address is only a guess, and the
 * system says whether the range before it is free. */
static uintptr_t last_begin;

static void *map_before_last(size_t size, size_t align) {
  uintptr_t last = __atomic_load_n(&last_begin, __ATOMIC_RELAXED);
  if (last <= align || (last & (align - 1)) != 0) return NULL;
  void *wanted = (void *)(last - align);
  void *p = mmap(wanted, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (p == wanted) return p;
  if (p != MAP_FAILED) munmap(p, size); /* a system before Linux 4.17 */
  return NULL;
}

static void *map_begin(size_t size, size_t align) {
  char *p = map_before_last(size, align);
  if (p == NULL && (p = map_aligned(align, align)) != NULL) munmap(p + size, align - size);
  if (p != NULL) __atomic_store_n(&last_begin, (uintptr_t)p, __ATOMIC_RELAXED);
  return p;
}

void *mapping_new_begin(size_t size, size_t align) {
  void *p = map_begin(size, align);
  if (p != NULL || !has_any()) return p;
  mapping_drop_all();
  return map_begin(size, align);
}

bool mapping_extend(void *mapping, size_t old, size_t size) {
  return mremap(mapping, old, size, 0) != MAP_FAILED;
}

/* Withdraws the advice after the first touch: later touches are of small pages. */
void *mapping_new_huge(size_t size) {
  char *p = mapping_huge_at_hand() ? map_aligned(size, size) : NULL;
  if (p == NULL) return NULL;
  advise_huge(p, size, true);
  touch_timed(p);
  advise_huge(p, size, false);
  return p;
}

#define LEAST_PAGE 4096

void *mapping_new_present(void) {
  char *p = map_aligned(MAPPING_HUGE_PAGE, MAPPING_HUGE_PAGE);
  if (p == NULL) return NULL;
  advise_huge(p, MAPPING_HUGE_PAGE, true);
  uint64_t before = monotonic_ns();
  for (volatile char *at = p; at < p + MAPPING_HUGE_PAGE; at += LEAST_PAGE) *at = 0;
  note_touch_ahead(monotonic_ns() - before);
  advise_huge(p, MAPPING_HUGE_PAGE, false);
  return p;
}

static bool mapping_fits(const Kept *k, size_t least, size_t most, size_t align) {
  return k->size >= least && k->size <= most && ((uintptr_t)k->mapping & (align - 1)) == 0;
}

static void *map_prefer_huge(size_t size) {
  void *p = map_aligned(size, MAPPING_HUGE_PAGE);
  if (p != NULL) mapping_prefer_huge(p, size);
  return p;
}

void *mapping_new_prefer_huge(size_t size) {
  void *p = size >= MAPPING_HUGE_PAGE ? map_prefer_huge(size) : NULL;
  return p != NULL ? p : mapping_new(size, 1);
}

/* Moves a mapping to aligned addresses, so that its huge pages stay whole. */
static void *move_huge(void *mapping, size_t old, size_t size) {
  void *target = map_aligned(size, MAPPING_HUGE_PAGE);
  if (target == NULL) return MAP_FAILED;
  void *moved = mremap(mapping, old, size, MREMAP_MAYMOVE | MREMAP_FIXED, target);
  if (moved == MAP_FAILED) munmap(target, size);
  return moved;
}

void *mapping_resize(void *mapping, size_t old, size_t size) {
  if (old == size) return mapping;
  void *moved = mremap(mapping, old, size, 0);
  if (moved == MAP_FAILED && size >= MAPPING_HUGE_PAGE) moved = move_huge(mapping, old, size);
  if (moved == MAP_FAILED) moved = mremap(mapping, old, size, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) return NULL;
  if (size > old && size >= MAPPING_HUGE_PAGE && !prefer_from(moved, size, old))
    advise_huge(moved, size, false);
  return moved;
}

void *mapping_move(void *mapping, size_t old, size_t size) {
  if (old == size) return mapping;
  void *moved = mremap(mapping, old, size, MREMAP_MAYMOVE);
  return moved != MAP_FAILED ? moved : NULL;
}

/* Takes the newest mapping that fits. */
static bool take_newest(Ring *r, size_t least, size_t most, size_t align, Kept *k) {
  bool found = false;
  mapping_lock();
  for (uint32_t i = r->n; i-- > 0 && !found;)
    if ((found = mapping_fits(item_at(r, i), least, most, align))) *k = remove_locked(r, i);
  mapping_unlock();
  if (found) set_accessible(k, true);
  return found;
}

void *mapping_take(size_t least, size_t most, size_t align, size_t *size) {
  Kept k;
  if (!take_newest(&kept, least, most, align, &k)) return NULL;
  *size = k.size;
  return k.mapping;
}

void *mapping_take_touched(size_t least, size_t most, size_t align, size_t *size,
                           size_t *touched) {
  Kept k;
  if (!take_newest(&kept, least, most, align, &k) &&
      !take_newest(&emptied, least, most, align, &k))
    return NULL;
  *size = k.size;
  *touched = k.touched;
  return k.mapping;
}

/* Returns the number of bytes to map, or unmap, to resize a kept mapping to `size`. */
static size_t size_difference(const Kept *k, size_t size) {
  return k->size < size ? size - k->size : k->size - size;
}

static bool take_nearest(size_t wanted, Kept *k) {
  mapping_lock();
  uint32_t nearest = 0;
  for (uint32_t i = 1; i < kept.n; i++)
    if (size_difference(item_at(&kept, i), wanted) <=
        size_difference(item_at(&kept, nearest), wanted))
      nearest = i;
  bool found = kept.touched >= ADAPT_FROM * wanted && item_at(&kept, nearest)->size >= wanted / 2;
  if (found) *k = remove_locked(&kept, nearest);
  mapping_unlock();
  return found;
}

void *mapping_adapt(size_t size) {
  Kept k;
  if (!take_nearest(size, &k)) return NULL;
  set_accessible(&k, true);
  void *p = k.size == size ? k.mapping : mremap(k.mapping, k.size, size, MREMAP_MAYMOVE);
  if (p != MAP_FAILED) return p;
  mapping_unmap(k.mapping, k.size);
  return NULL;
}

/* Adds a mapping, unless that exceeds a bound. */
static bool try_add(Ring *r, Kept k) {
  mapping_lock();
  bool room = r->n < r->room && r->touched + k.touched <= MAPPINGS_MOST;
  if (room) add_locked(r, k);
  mapping_unlock();
  return room;
}

/* Gives back the pages of a small mapping that has few of them, and keeps its addresses.
 * The system refuses that for pages that are locked. */
static bool empty(Kept k) {
  if (k.touched == k.size || k.size > EMPTIED_SIZE) return false;
  if (madvise(k.mapping, k.size, MADV_DONTNEED) != 0) return false;
  k.touched = 0;
  return try_add(&emptied, k);
}

/* Drops the oldest mapping to make room: the program will need what was given last. */
static bool make_room(void) {
  Kept k;
  if (!remove_oldest(&kept, UINT64_MAX, &k)) return false;
  if (!empty(k)) mapping_unmap(k.mapping, k.size);
  return true;
}

void mapping_give(void *mapping, size_t size) { mapping_give_touched(mapping, size, size); }

void mapping_give_touched(void *mapping, size_t size, size_t touched) {
  Kept k = {mapping, size, touched, mapping_now()};
  mapping_drop_old();
  set_accessible(&k, false);
  while (!try_add(&kept, k))
    if (touched > MAPPINGS_MOST || !make_room()) {
      mapping_unmap(mapping, size);
      return;
    }
}
