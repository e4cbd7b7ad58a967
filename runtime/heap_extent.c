/* SPDX-License-Identifier: MIT */
/* runtime/heap_extent.c: memory of large allocations that are not huge.
 *
 * An extent is up to 8 MiB of granules of 256 bytes, aligned to 8 MiB. The first extents
 * of a domain are smaller, which matters where addresses are limited. The first granules
 * of an extent hold an Extent: a bit for each granule says whether it is in use. An
 * allocation is a run of granules: the first free run that is long enough, in the first
 * extent that has one (address-ordered first fit, which keeps the free memory together;
 * P. Wilson, M. Johnstone et al., "Dynamic storage allocation: a survey and critical
 * review", IWMM 1995). `longest` bounds the free runs of an extent from above, so that
 * most extents without a fit are skipped.
 *
 * Invariants
 *   - A granule in use is touched. A granule that is not touched is zero and has no
 *     memory. (Where huge pages were requested and there are none, some granules count
 *     as touched that are not.)
 *   - Bits of `idle` are granules that were free at a walk of an earlier period and have
 *     not been taken since (heap_trim.c).
 *   - Heap.extent_idle is the number of bytes of free granules that are touched.
 *
 * Only the domain's own thread comes here.
 */
#include <string.h>
#include <sys/mman.h>

#include "heap.h"
#include "heap_measure.h"
#include "mappings.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, size) ((void)(p), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(p, size) ((void)(p), (void)(size))
#endif

#define EXTENT_SIZE ((size_t)8 << 20) /* bytes of the largest; alignment of all */
#define EXTENT_LEAST ((size_t)1 << 20)
#define GRANULE_SHIFT 8
#define GRANULE ((size_t)1 << GRANULE_SHIFT)
/* granules of the largest extent; granules that a smaller one lacks are marked as used */
#define GRANULES ((uint32_t)(EXTENT_SIZE / GRANULE))
#define WORDS (GRANULES / 64)
/* the words of bits for granules that the extent has */
#define WORDS_OF(e) ((e)->granules / 64)
#define PAGE ((size_t)4096)
#define PAGE_GRANULES ((uint32_t)(PAGE / GRANULE))
#define TRIM_AT_ONCE ((size_t)1 << 20)
#define LOOK_COST ((size_t)4096) /* bytes that examining an extent counts as */

typedef struct Extent {
  struct Extent *next;
  uint32_t granules; /* all that the extent has, its first ones included */
  uint32_t free;    /* number of free granules */
  uint32_t longest; /* no free run is longer */
  uint32_t top;     /* no granule from here on is in use, up to the end */
  uint32_t trimmed; /* granules that the present walk is done with */
  bool huge;        /* has huge pages: touching a granule touches all of its page */
  uint8_t period;   /* Heap.idle_mark of the walk that noted `idle` */
  uint64_t used[WORDS], touched[WORDS], idle[WORDS];
} Extent;

#define FIRST ((uint32_t)((sizeof(Extent) + PAGE - 1) / PAGE * PAGE_GRANULES))
_Static_assert(EXTENT_MOST + 8 * GRANULE < EXTENT_SIZE / 3, "several allocations fit an extent");

/* ---- bits ---------------------------------------------------------------- */

static uint64_t mask_of(uint32_t from, uint32_t n) {
  return (n == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1) << from;
}

/* Calls `each` with word and mask for the words that hold bits [i, i + n). */
#define FOR_WORDS(i, n, each) \
  for (uint32_t at_ = (i), end_ = (i) + (n), n_; at_ < end_; at_ += n_) { \
    n_ = 64 - at_ % 64 < end_ - at_ ? 64 - at_ % 64 : end_ - at_; \
    each(at_ / 64, mask_of(at_ % 64, n_)); \
  }

static uint32_t next_bit(const uint64_t *bits, uint32_t i, bool set) {
  while (i < GRANULES) {
    uint64_t w = (set ? bits[i / 64] : ~bits[i / 64]) >> (i % 64);
    if (w != 0) return i + (uint32_t)__builtin_ctzll(w);
    i = (i / 64 + 1) * 64;
  }
  return GRANULES;
}

/* Returns the first used granule from `i` on, or the end. */
static uint32_t next_used(const Extent *e, uint32_t i) {
  for (; i < e->top; i = (i / 64 + 1) * 64) {
    uint64_t w = e->used[i / 64] >> (i % 64);
    if (w != 0) return i + (uint32_t)__builtin_ctzll(w);
  }
  return e->granules;
}

/* Returns one more than the last set bit below `i`; the bits of the first granules are
 * always set. */
static uint32_t after_last_set(const uint64_t *bits, uint32_t i) {
  for (;;) {
    uint64_t w = i % 64 == 0 ? bits[i / 64 - 1] : bits[i / 64] & mask_of(0, i % 64);
    uint32_t base = i % 64 == 0 ? i - 64 : i / 64 * 64;
    if (w != 0) return base + 64 - (uint32_t)__builtin_clzll(w);
    i = base;
  }
}

/* ---- runs ---------------------------------------------------------------- */

static Extent *extent_of(const void *p) {
  return (Extent *)((uintptr_t)p & ~(uintptr_t)(EXTENT_SIZE - 1));
}
static uint32_t granule_of(const void *p) {
  return (uint32_t)(((uintptr_t)p & (EXTENT_SIZE - 1)) >> GRANULE_SHIFT);
}
static uint32_t granules_for(size_t size) {
  return (uint32_t)((size + GRANULE - 1) >> GRANULE_SHIFT);
}
static char *address_of(const Extent *e, uint32_t i) {
  return (char *)e + ((size_t)i << GRANULE_SHIFT);
}

#define HUGE_GRANULES ((uint32_t)(MAPPING_HUGE_PAGE / GRANULE))

/* Marks the huge pages of a run as touched before the run is taken: all of them come with
 * it. */
static void touch_huge(Heap *h, Extent *e, uint32_t i, uint32_t n) {
  uint32_t from = i / HUGE_GRANULES * HUGE_GRANULES;
  uint32_t to = (i + n + HUGE_GRANULES - 1) / HUGE_GRANULES * HUGE_GRANULES;
  for (uint32_t word = from / 64; word < to / 64; word++) {
    h->extent_idle += (size_t)__builtin_popcountll(~e->touched[word]) << GRANULE_SHIFT;
    e->touched[word] = ~UINT64_C(0);
  }
}

static bool is_touched(const Extent *e, uint32_t i) { return e->touched[i / 64] >> (i % 64) & 1; }

static void take_run(Heap *h, Extent *e, uint32_t i, uint32_t n) {
  uint32_t idle = 0;
  if (e->huge && !(is_touched(e, i) && is_touched(e, i + n - 1))) touch_huge(h, e, i, n);
#define TAKE(word, mask) \
  do { \
    uint64_t held_ = e->touched[word] & (mask); \
    idle += held_ == (mask) ? n_ : held_ == 0 ? 0 : (uint32_t)__builtin_popcountll(held_); \
    e->used[word] |= (mask); \
    e->touched[word] |= (mask); \
    e->idle[word] &= ~(mask); \
  } while (0)
  FOR_WORDS(i, n, TAKE)
#undef TAKE
  e->free -= n;
  if (i + n > e->top) e->top = i + n;
  h->extent_idle -= (size_t)idle << GRANULE_SHIFT;
  ASAN_UNPOISON_MEMORY_REGION(address_of(e, i), (size_t)n << GRANULE_SHIFT);
}

static void give_run(Heap *h, Extent *e, uint32_t i, uint32_t n) {
#define GIVE(word, mask) (e->used[word] &= ~(mask))
  FOR_WORDS(i, n, GIVE)
#undef GIVE
  e->free += n;
  h->extent_idle += (size_t)n << GRANULE_SHIFT;
  uint32_t from = after_last_set(e->used, i), end = next_used(e, i);
  if (end - from > e->longest) e->longest = end - from;
  if (end == e->granules) e->top = from;
  ASAN_POISON_MEMORY_REGION(address_of(e, i), (size_t)n << GRANULE_SHIFT);
}

/* Returns the first free run of n granules; 0 if there is none. */
static uint32_t find_run(Extent *e, uint32_t n) {
  uint32_t longest = 0;
  for (uint32_t i = FIRST, end; (i = next_bit(e->used, i, false)) < GRANULES; i = end) {
    end = next_used(e, i);
    if (end - i >= n) return i;
    if (end - i > longest) longest = end - i;
  }
  e->longest = longest;
  return 0;
}

/* ---- extents ------------------------------------------------------------- */

static size_t extent_bytes(const Extent *e) { return (size_t)e->granules << GRANULE_SHIFT; }

/* Returns the size of the next extent: as large as all extents together, within the
 * limits, and with room for n granules. */
static size_t next_size(const Heap *h, uint32_t n) {
  size_t least = (size_t)(n + FIRST) << GRANULE_SHIFT, size = EXTENT_LEAST;
  while (size < EXTENT_SIZE && (size < least || size < h->extent_bytes)) size *= 2;
  return size;
}

static Extent *new_extent(Heap *h, uint32_t n) {
  size_t size = next_size(h, n), taken;
  Extent *e = mapping_take(size, size, EXTENT_SIZE, &taken);
  bool reused = e != NULL; /* a kept mapping: not zero */
  if (e == NULL && (e = mapping_new(size, EXTENT_SIZE)) == NULL) return NULL;
  bool huge = !reused && size == EXTENT_SIZE && mapping_prefer_huge(e, size);
  memset(e, 0, sizeof *e);
  e->granules = (uint32_t)(size >> GRANULE_SHIFT);
  e->huge = huge;
#define TAKE(word, mask) (e->used[word] |= (mask), e->touched[word] |= (mask))
  FOR_WORDS(0, FIRST, TAKE)
#undef TAKE
#define TAKE(word, mask) (e->used[word] |= (mask))
  FOR_WORDS(e->granules, GRANULES - e->granules, TAKE)
#undef TAKE
#define TOUCH(word, mask) (e->touched[word] |= (mask))
  if (reused) FOR_WORDS(FIRST, e->granules - FIRST, TOUCH)
#undef TOUCH
  e->free = e->longest = e->granules - FIRST;
  e->top = FIRST;
  if (reused) h->extent_idle += (size_t)e->free << GRANULE_SHIFT;
  h->extent_bytes += size;
  ASAN_POISON_MEMORY_REGION(address_of(e, FIRST), size - (size_t)FIRST * GRANULE);
  return e;
}

static void unlink_extent(Heap *h, Extent **link) {
  Extent *e = *link;
  *link = e->next;
  h->extent_bytes -= extent_bytes(e);
  ASAN_UNPOISON_MEMORY_REGION(e, extent_bytes(e));
}

void *extent_alloc(Heap *h, size_t size) {
  uint32_t n = granules_for(size), i = 0;
  Extent **link = &h->extents, *e;
  for (; (e = *link) != NULL; link = &e->next)
    if (e->longest >= n && (i = find_run(e, n)) != 0) break;
  if (e == NULL) {
    if ((e = *link = new_extent(h, n)) == NULL) return NULL;
    i = FIRST;
  }
  take_run(h, e, i, n);
  return address_of(e, i);
}

void extent_free(Heap *h, void *p, size_t size) {
  give_run(h, extent_of(p), granule_of(p), granules_for(size));
}

bool extent_resize(Heap *h, void *p, size_t old_size, size_t size) {
  Extent *e = extent_of(p);
  uint32_t i = granule_of(p), old = granules_for(old_size), n = granules_for(size);
  if (n > old) {
    if (i + n > e->granules || next_used(e, i + old) < i + n) return false;
    take_run(h, e, i + old, n - old);
  } else if (n < old) {
    give_run(h, e, i + n, old - n);
  }
  return true;
}

/* ---- what is there --------------------------------------------------------- */

size_t extent_round(size_t size) { return (size_t)granules_for(size) << GRANULE_SHIFT; }

/* Measures the extents. First granules count as the heap's own, free granules as memory
 * to allocate from. */
void extent_measure(const Heap *h, struct eventring_pages *pages, HeapMemory *m) {
  for (const Extent *e = h->extents; e != NULL; e = e->next) {
    heap_measure_range(pages, &m->own, e, (size_t)FIRST << GRANULE_SHIFT);
    for (uint32_t i = FIRST, end; (i = next_bit(e->used, i, false)) < e->granules; i = end) {
      end = next_used(e, i);
      heap_measure_range(pages, &m->free, address_of(e, i), (size_t)(end - i) << GRANULE_SHIFT);
    }
  }
}

/* ---- giving back --------------------------------------------------------- */

/* Returns all bits of each page that has a bit set. */
static uint64_t any_in_page(uint64_t bits) {
  const uint64_t first = UINT64_C(0x0001000100010001);
  _Static_assert(PAGE_GRANULES == 16, "a page is 16 bits");
  bits |= bits >> 8;
  bits |= bits >> 4;
  bits |= bits >> 2;
  bits |= bits >> 1;
  return (bits & first) * 0xffff;
}

/* Returns the granules of the word that lie in pages of which none is in use and some are
 * touched; unless `now`, only granules that have been idle. */
static uint64_t releasable_granules(const Extent *e, uint32_t word, bool now) {
  uint64_t keep = e->used[word], want = e->touched[word] & ~keep;
  if (!now) keep |= want & ~e->idle[word];
  return any_in_page(want) & ~any_in_page(keep);
}

static size_t release_extent(Heap *h, Extent *e, uint32_t i, uint32_t n) {
  size_t idle = 0;
  if (e->huge) mapping_refuse_huge(e, EXTENT_SIZE);
  e->huge = false;
  madvise(address_of(e, i), (size_t)n << GRANULE_SHIFT, MADV_DONTNEED);
#define RELEASE(word, mask) \
  do { \
    idle += (size_t)__builtin_popcountll(e->touched[word] & (mask)) << GRANULE_SHIFT; \
    e->touched[word] &= ~(mask); \
    e->idle[word] &= ~(mask); \
  } while (0)
  FOR_WORDS(i, n, RELEASE)
#undef RELEASE
  h->extent_idle -= idle;
  return idle;
}

/* Returns the next run of granules, from `i` on, that may be given back, and its length
 * in *n; GRANULES if there is none. */
static uint32_t next_releasable(const Extent *e, uint32_t i, bool now, uint32_t *n) {
  *n = 0;
  for (uint32_t run = GRANULES; i < e->granules;) {
    uint64_t w = releasable_granules(e, i / 64, now) >> (i % 64);
    uint32_t rest = 64 - i % 64;
    if (run == GRANULES) {
      uint32_t skip = w == 0 ? rest : (uint32_t)__builtin_ctzll(w);
      i += skip;
      if (skip == rest) continue;
      run = i;
    } else {
      uint32_t more = ~w == 0 ? 64 : (uint32_t)__builtin_ctzll(~w);
      if (more > rest) more = rest;
      i += more;
      *n = i - run;
      if (more < rest || i >= e->granules) return run;
    }
  }
  return GRANULES;
}

static void note_idle(const Heap *h, Extent *e) {
  if (e->period == h->idle_mark) return;
  e->period = h->idle_mark;
  for (uint32_t w = 0; w < WORDS_OF(e); w++) e->idle[w] = e->touched[w] & ~e->used[w];
}

size_t extent_trim(Heap *h, bool now) {
  Extent *e = *h->trim_extent;
  size_t done = LOOK_COST;
  bool ripe = now || e->period != h->idle_mark; /* `idle` is from an earlier period */
  for (uint32_t n; ripe && e->trimmed < GRANULES && done < TRIM_AT_ONCE; e->trimmed += n) {
    e->trimmed = next_releasable(e, e->trimmed, now, &n);
    if (n > 0) done += release_extent(h, e, e->trimmed, n);
  }
  if (ripe && e->trimmed < GRANULES) return done;
  e->trimmed = 0;
  note_idle(h, e);
  bool empty = e->free == e->granules - FIRST;
  /* word 0 holds the first granules */
  for (uint32_t w = 1; empty && w < WORDS_OF(e); w++) empty = e->touched[w] == 0;
  if (empty) {
    unlink_extent(h, h->trim_extent);
    mapping_unmap(e, extent_bytes(e));
  } else {
    h->trim_extent = &e->next;
  }
  return done;
}

void extent_give_back(Heap *h, size_t most) {
  size_t done = 0;
  for (Extent *e = h->extents; e != NULL && done < most; e = e->next)
    for (uint32_t i = 0, n; done < most && (i = next_releasable(e, i, true, &n)) < GRANULES; i += n)
      done += release_extent(h, e, i, n);
}

void extent_close(Heap *h) {
  for (Extent *e; (e = h->extents) != NULL;) {
    unlink_extent(h, &h->extents);
    mapping_give(e, extent_bytes(e));
  }
  h->extent_idle = 0;
}
