/* SPDX-License-Identifier: MIT */
/* heap_profile.c: the heap profile of a domain, and its copy in the file.
 *
 * The profile. Samples are summed by stack, kind, origin and span. An entry counts
 * samples, and estimates objects: a block of w words is sampled at all with probability
 * q(w) = 1 - (1 - rate)^w, so each sampled block stands for 1/q(w) objects. These weights
 * are integers (units of 2^-16), so that a dying block subtracts exactly what it added
 * when it was allocated. The first entry counts samples that find no room, and gets the
 * counts of entries that were given up.
 *
 * The copy. Entries lie in pages of one block each, and a root has the sums and the exact
 * counts of words. The file has two blocks for each page and for the root, and a change
 * goes into the older of the two: first the pages that have changed, then the root. All
 * these blocks get the same generation as their sequence. Of the two blocks of a page,
 * the one that belongs to a root has the newest generation that is not newer than the
 * root's. So whenever the process dies, the root and the pages are those of one
 * collection. Each block is a seqlock (W1 to W4 of lane.c) and sealed.
 *
 *      root 0 (gen 7)   page 0: gen 3 | gen 7     page 1: gen 6 | gen 5
 *      root 1 (gen 6)   at the generation 7 the profile is page 0 right, page 1 left
 *
 * Blocks are claimed under the mutex, within the budgets of their kinds. When the budgets
 * are used up, the blocks of the profile that ended first are used again. Entries without
 * a page stay in memory; the root has their sums.
 *
 * Only the owner of the domain touches a profile; if its thread is gone, others may
 * detach it.
 */
#include "producer/heap_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/array.h"
#include "format/atomics.h"
#include "format/law.h"
#include "producer/lock.h"
#include "producer/replace.h"

enum {
  PAGE = FORMAT_HEAP_PAGE_ENTRIES,
  SMALL_WORDS = 128, /* most words of a block whose weight is computed in advance */
  HEAP_BLOCKS = 512, PAGE_BLOCKS = 4096, /* as in FORMAT_RECORD_KINDS */
  MOST_ENTRIES = PAGE_BLOCKS / 2 * PAGE
};

struct entry { /* a cache line */
  uint64_t key; /* key_of */
  struct format_amount live, allocated, temporary;
  uint64_t peak_samples;
};
_Static_assert(sizeof(struct entry) == 64, "a line");

struct pair { /* two blocks that are written in turns */
  struct format_block *block[2];
  unsigned next; /* index of the older block */
};

struct evr_heap_copy { /* the blocks of a profile */
  struct evr_heap_copy *next; /* next in the list of profiles that have ended */
  struct pair root;
  struct pair *page;
  uint32_t pages, room;
};

struct evr_heap {
  /* what each sample reads and writes: two cache lines */
  _Alignas(64) struct entry *entry;
  uint32_t *index; /* hash table by key: entry + 1, or 0 if free */
  uint8_t *dirty; /* pages that have changed since they were written */
  uint32_t index_size, count;
  uint64_t blocks, collections;
  uint32_t number;
  bool full; /* no page was left for a new entry */
  uint32_t spares, reuse;        /* number of entries that were given up; none has an
                                    index below `reuse` */
  uint32_t since_search, next_search; /* new entries since the last search, and how many
                                         make the next search due */
  struct format_amount live, allocated, temporary; /* sums over all entries */
  double rate;
  uint64_t start_ticks;
  uint64_t words, live_words; /* exact counts at the last collection */
  uint64_t weight[SMALL_WORDS + 1];
  uint32_t room, dirty_room;
  uint64_t peak_samples, peak_ticks;
  struct evr_recording *recording; /* the recording that has the copy, or NULL */
  struct evr_heap_copy *copy;
};

/* ---- Weights ----------------------------------------------------------------------- */

/* Returns q(w), by doubling: q(a + b) = q(a) + q(b) - q(a) q(b). */
static double chance(double rate, uint64_t words) {
  double all = 0, part = rate;
  for (; words; words >>= 1) {
    if (words & 1) all += part - all * part;
    part += part - part * part;
  }
  return all;
}

static uint64_t weight_of(double rate, uint64_t words) {
  double weight = (double)(1u << FORMAT_OBJECTS_SHIFT) / chance(rate, words ? words : 1);
  return weight < 0x1p62 ? (uint64_t)(weight + 0.5) : (uint64_t)1 << 62;
}

static inline uint64_t weight(const struct evr_heap *h, uint64_t words) {
  return __builtin_expect(words <= SMALL_WORDS, 1) ? h->weight[words]
                                                   : weight_of(h->rate, words);
}

/* ---- Entries ----------------------------------------------------------------------- */

static inline uint64_t key_of(uint32_t stack, uint16_t span, uint8_t kind, uint8_t origin) {
  return stack | (uint64_t)span << 32 | (uint64_t)kind << 48 | (uint64_t)origin << 56;
}

static inline uint32_t hash_of(uint64_t key) { return (uint32_t)(key * 0x9e3779b97f4a7c15 >> 32); }

static inline uint32_t *index_of(const struct evr_heap *h, uint64_t key) {
  for (uint32_t at = hash_of(key);; at++) {
    uint32_t *number = &h->index[at & (h->index_size - 1)];
    if (!*number || h->entry[*number - 1].key == key) return number;
  }
}

static bool grow_index(struct evr_heap *h) {
  if (h->index_size && 2 * (h->count + 1) <= h->index_size) return true;
  uint32_t size = h->index_size ? 2 * h->index_size : 256;
  uint32_t *index = calloc(size, sizeof *index);
  if (!index) return false;
  free(h->index);
  h->index = index;
  h->index_size = size;
  for (uint32_t i = 0; i < h->count; i++) *index_of(h, h->entry[i].key) = i + 1;
  return true;
}

static bool grow_dirty(struct evr_heap *h) {
  uint32_t pages = h->count / PAGE + 1;
  if (pages <= h->dirty_room) return true;
  uint32_t room = h->dirty_room ? 2 * h->dirty_room : 16;
  uint8_t *dirty = realloc(h->dirty, room);
  if (!dirty) return false;
  memset(dirty + h->dirty_room, 0, room - h->dirty_room);
  h->dirty = dirty;
  h->dirty_room = room;
  return true;
}

static bool grow_entries(struct evr_heap *h) {
  if (h->count < h->room) return true;
  uint32_t room = h->room ? 2 * h->room : PAGE;
  struct entry *entry = aligned_alloc(sizeof *entry, room * sizeof *entry);
  if (!entry) return false;
  if (h->count) memcpy(entry, h->entry, h->count * sizeof *entry);
  free(h->entry);
  h->entry = entry;
  h->room = room;
  return true;
}

static bool add_entry(struct evr_heap *h, uint64_t key) {
  if (h->count >= MOST_ENTRIES || !grow_index(h) || !grow_dirty(h) || !grow_entries(h))
    return false;
  h->entry[h->count] = (struct entry){.key = key};
  *index_of(h, key) = ++h->count;
  return true;
}

static inline void add(struct format_amount *to, uint64_t samples, uint64_t objects) {
  to->samples += samples;
  to->objects += objects;
}

/* ---- Entries of which nothing is alive ----------------------------------------------

   When there is no room, entries of which nothing is alive are given up. Otherwise a
   program that loads code or has ever new paths would fill the profile with dead entries.
   Their counts go to the first entry, so the sums stay. Entries with the fewest samples
   go first. */

static bool is_dead(const struct entry *e) { return !e->live.samples && e->allocated.samples; }

/* Returns the most samples that an entry may have to be given up. The limit is such that
   a quarter of all entries go, if that many are dead. */
static uint64_t most_given_up(const struct evr_heap *h) {
  uint32_t count[65] = {0}, sum = 0; /* by the bits of the number of samples */
  for (uint32_t i = 1; i < h->count; i++)
    if (is_dead(&h->entry[i])) count[64 - __builtin_clzll(h->entry[i].allocated.samples)]++;
  for (unsigned bits = 1; bits < 64; bits++)
    if ((sum += count[bits]) >= h->count / 4) return (UINT64_C(1) << bits) - 1;
  return UINT64_MAX;
}

/* Returns the number of entries that have a page, or may get one. */
static uint32_t with_page(const struct evr_heap *h) {
  const uint32_t paged = h->full && h->copy ? h->copy->pages * PAGE : h->count;
  return paged < h->count ? paged : h->count;
}

static void give_up(struct evr_heap *h, struct entry *e) {
  struct entry *other = &h->entry[0];
  add(&other->allocated, e->allocated.samples, e->allocated.objects);
  add(&other->temporary, e->temporary.samples, e->temporary.objects);
  other->peak_samples += e->peak_samples;
  *e = (struct entry){0};
  h->dirty[0] = h->dirty[(e - h->entry) / PAGE] = 1;
  h->spares += e < h->entry + with_page(h);
}

static void give_up_dead(struct evr_heap *h) {
  const uint64_t most = most_given_up(h);
  for (uint32_t i = 1; i < h->count; i++)
    if (is_dead(&h->entry[i]) && h->entry[i].allocated.samples <= most)
      give_up(h, &h->entry[i]);
  memset(h->index, 0, h->index_size * sizeof *h->index);
  for (uint32_t i = 0; i < h->count; i++)
    if (i == 0 || h->entry[i].allocated.samples) *index_of(h, h->entry[i].key) = i + 1;
  h->reuse = 1;
  h->since_search = 0;
  h->next_search = h->count / 8; /* bounds the cost of a search for each new entry */
}

/* Returns an entry that was given up, for this key, or 0 if there is none. */
static uint32_t reuse_entry(struct evr_heap *h, uint64_t key) {
  if (!h->spares && h->since_search >= h->next_search) give_up_dead(h);
  h->since_search++;
  if (!h->spares) return 0;
  while (h->reuse < with_page(h) && h->entry[h->reuse].allocated.samples) h->reuse++;
  if (h->reuse >= with_page(h)) return h->spares = 0;
  h->spares--;
  h->entry[h->reuse] = (struct entry){.key = key};
  *index_of(h, key) = h->reuse + 1;
  return h->reuse++;
}

/* Returns a new entry, or the first one if there is no room. */
static __attribute__((cold, noinline)) uint32_t new_entry(struct evr_heap *h, uint64_t key) {
  int saved = errno;
  bool added = !h->full && add_entry(h, key);
  errno = saved;
  return added ? h->count - 1 : reuse_entry(h, key);
}

struct evr_heap *evr_heap_new(double rate) {
  static uint32_t numbers; /* atomic */
  struct evr_heap *h = aligned_alloc(_Alignof(struct evr_heap), sizeof *h);
  if (!h) return NULL;
  memset(h, 0, sizeof *h);
  if (!add_entry(h, key_of(UINT32_MAX, 0, 0, 0))) {
    evr_heap_free(h);
    return NULL;
  }
  h->rate = rate;
  h->number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
  h->start_ticks = evr_clock_ticks(evr_clock_kind());
  h->live_words = UINT64_MAX;
  for (unsigned words = 0; words <= SMALL_WORDS; words++)
    h->weight[words] = weight_of(rate, words);
  return h;
}

void evr_heap_free(struct evr_heap *h) {
  if (!h) return;
  free(h->entry);
  free(h->index);
  free(h->dirty);
  free(h);
}

uint32_t evr_heap_number(const struct evr_heap *h) { return h->number; }

/* ---- Counting ---------------------------------------------------------------------- */

static inline void take(struct format_amount *from, uint64_t samples, uint64_t objects) {
  from->samples -= samples;
  from->objects -= objects;
}

EVR_SAMPLE_PATH void evr_heap_expect(const struct evr_heap *h) {
  __builtin_prefetch(h, 1);
  __builtin_prefetch((const char *)h + 64, 1);
  __builtin_prefetch(h->weight);
}

EVR_SAMPLE_PATH void evr_heap_allocate(struct evr_heap *h, const struct eventring_sample *s,
                       struct eventring_tracked *tracked) {
  uint64_t key = key_of(s->stack, s->span, s->kind, s->origin);
  uint32_t at = *index_of(h, key);
  at = __builtin_expect(at != 0, 1) ? at - 1 : new_entry(h, key);
  struct entry *e = &h->entry[at];
  uint64_t objects = weight(h, s->words);
  add(&e->allocated, s->samples, objects);
  add(&e->live, s->samples, objects);
  add(&h->allocated, s->samples, objects);
  add(&h->live, s->samples, objects);
  h->dirty[at / PAGE] = 1;
  *tracked = (struct eventring_tracked){
      .words = s->words, .samples = s->samples, .block = ++h->blocks, .entry = at,
      .profile = h->number, .born = (uint32_t)h->collections, .stack = s->stack};
}

bool evr_heap_release(struct evr_heap *h, const struct eventring_tracked *t) {
  if (t->profile != h->number || t->entry >= h->count) return false;
  struct entry *e = &h->entry[t->entry];
  uint64_t objects = weight(h, t->words);
  take(&e->live, t->samples, objects);
  take(&h->live, t->samples, objects);
  if (t->born == (uint32_t)h->collections) {
    add(&e->temporary, t->samples, objects);
    add(&h->temporary, t->samples, objects);
  }
  h->dirty[t->entry / PAGE] = 1;
  return true;
}

/* Notes what is alive when it exceeds the last peak by 1/32. */
static void note_peak(struct evr_heap *h) {
  if (h->live.samples <= h->peak_samples + h->peak_samples / 32) return;
  h->peak_samples = h->live.samples;
  h->peak_ticks = evr_clock_ticks(evr_clock_kind());
  for (uint32_t i = 0; i < h->count; i++) {
    struct entry *e = &h->entry[i];
    if (e->peak_samples == e->live.samples) continue;
    e->peak_samples = e->live.samples;
    h->dirty[i / PAGE] = 1;
  }
}

static inline bool is_within(struct format_amount part, struct format_amount whole) {
  return part.samples <= whole.samples && part.objects <= whole.objects;
}

/* Checks the law of a profile: its sums are those of its entries, and no entry has more
   alive and temporary than allocated. */
static inline bool adds_up(const struct evr_heap *h) {
  struct format_amount live = {0}, allocated = {0};
  for (uint32_t i = 0; i < h->count; i++) {
    const struct entry *e = &h->entry[i];
    if (!is_within(e->live, e->allocated) || !is_within(e->temporary, e->allocated)) return false;
    add(&live, e->live.samples, e->live.objects);
    add(&allocated, e->allocated.samples, e->allocated.objects);
  }
  return live.samples == h->live.samples && live.objects == h->live.objects &&
         allocated.samples == h->allocated.samples && allocated.objects == h->allocated.objects;
}

uint64_t evr_heap_collect(struct evr_heap *h, const struct eventring_collection *collection) {
  h->collections++;
  h->words = collection->words;
  h->live_words = collection->live_words;
  note_peak(h);
  EVR_LAW(adds_up(h));
  return h->collections;
}

/* ---- Blocks of the file ------------------------------------------------------------ */

static unsigned budget_of(enum format_kind kind) {
  return kind == FORMAT_HEAPS ? HEAP_BLOCKS : PAGE_BLOCKS;
}

/* Raises the number of blocks in the status page: readers then look for them. */
static void count_blocks_locked(struct evr_recording *r, enum format_kind kind, unsigned more) {
  struct evr_heaps *heaps = &r->heaps;
  unsigned n = kind - FORMAT_HEAPS;
  heaps->claimed[n] += more;
  /* release: pairs with the acquire fence of readers in read_status (reader/metadata.c),
     which then find the blocks claimed */
  __atomic_store_n(&evr_status(r)->kind[kind].records, heaps->claimed[n], __ATOMIC_RELEASE);
}

static bool claim_pair_locked(struct evr_recording *r, enum format_kind kind,
                              struct pair *pair) {
  if (r->heaps.claimed[kind - FORMAT_HEAPS] + 2 > budget_of(kind)) return false;
  *pair = (struct pair){{r->records.claim(r->records.owner, kind),
                         r->records.claim(r->records.owner, kind)}, 0};
  if (!pair->block[0] || !pair->block[1]) return false;
  count_blocks_locked(r, kind, 2);
  return true;
}

/* Takes the profile that ended first out of the file, and returns its blocks. */
static struct evr_heap_copy *take_ended_locked(struct evr_recording *r) {
  struct evr_heap_copy *ended = r->heaps.ended;
  if (!ended) return NULL;
  r->heaps.ended = ended->next;
  if (!r->heaps.ended) r->heaps.ended_last = NULL;
  for (int i = 0; i < 2; i++)
    /* release, as W1 of lane.c; the release fence pairs with the acquire fence R4 of
       mapped_records (reader/block.c): a reader that finds a page of this profile used
       again finds no root */
    __atomic_store_n(&ended->root.block[i]->sequence, 0, __ATOMIC_RELEASE);
  evr_fence_release(); /* the root is removed before its pages are used again */
  struct format_count *count = &evr_status(r)->kind[FORMAT_HEAPS];
  __atomic_store_n(&count->dropped, count->dropped + 1, __ATOMIC_RELAXED);
  return ended;
}

static void free_copy(struct evr_heap_copy *copy) {
  free(copy->page);
  free(copy);
}

/* Keeps the pages of a copy as spares. */
static void keep_pages_locked(struct evr_recording *r, struct evr_heap_copy *from) {
  from->next = r->heaps.spare;
  r->heaps.spare = from;
}

static bool spare_pair_locked(struct evr_recording *r, struct pair *pair) {
  struct evr_heap_copy *spare = r->heaps.spare;
  while (spare && !spare->pages) {
    r->heaps.spare = spare->next;
    free_copy(spare);
    spare = r->heaps.spare;
  }
  if (!spare) return false;
  *pair = spare->page[--spare->pages];
  return true;
}

/* Finds a pair of blocks for another page. */
static bool page_pair_locked(struct evr_recording *r, struct pair *pair) {
  if (spare_pair_locked(r, pair) || claim_pair_locked(r, FORMAT_HEAP_PAGES, pair)) return true;
  struct evr_heap_copy *ended;
  while ((ended = take_ended_locked(r))) {
    struct pair root = ended->root;
    keep_pages_locked(r, ended);
    if (r->heaps.spare_roots < EVR_SPARE_ROOTS)
      for (int i = 0; i < 2; i++) r->heaps.spare_root[r->heaps.spare_roots][i] = root.block[i];
    r->heaps.spare_roots += r->heaps.spare_roots < EVR_SPARE_ROOTS;
    if (spare_pair_locked(r, pair)) return true;
  }
  return false;
}

static bool root_pair_locked(struct evr_recording *r, struct pair *pair) {
  if (r->heaps.spare_roots) {
    struct format_block **root = r->heaps.spare_root[--r->heaps.spare_roots];
    *pair = (struct pair){{root[0], root[1]}, 0};
    return true;
  }
  if (claim_pair_locked(r, FORMAT_HEAPS, pair)) return true;
  struct evr_heap_copy *ended = take_ended_locked(r);
  if (!ended) return false;
  *pair = ended->root;
  keep_pages_locked(r, ended);
  return true;
}

static struct evr_heap_copy *new_copy_locked(struct evr_recording *r) {
  struct evr_heap_copy *copy = calloc(1, sizeof *copy);
  if (copy && root_pair_locked(r, &copy->root)) return copy;
  free(copy);
  return NULL;
}

/* Makes pages for all entries, as far as there is room. */
static void make_pages(struct evr_heap *h) {
  struct evr_recording *r = h->recording;
  uint32_t pages = (h->count + PAGE - 1) / PAGE;
  if (h->full || (h->copy && h->copy->pages >= pages)) return;
  int saved = errno;
  evr_lock();
  if (!h->copy) h->copy = new_copy_locked(r);
  struct evr_heap_copy *p = h->copy;
  while (p && p->pages < pages) {
    struct pair pair;
    if (!EVR_MAKE_ROOM(p->page, p->room, p->pages, 4) ||
        !page_pair_locked(r, &pair))
      break;
    pair.next = 0;
    h->dirty[p->pages] = 1;
    p->page[p->pages++] = pair;
  }
  h->full = !p || p->pages < pages;
  evr_unlock();
  errno = saved;
}

/* ---- Writing ----------------------------------------------------------------------- */

struct image { /* a block, before it is stored in the file */
  uint64_t words[FORMAT_BLOCK_WORDS];
  uint32_t end;
};

static struct format_block *begin_image(struct image *image, const struct evr_heap *h,
                                        enum format_kind kind, unsigned slot) {
  struct format_block *b = (struct format_block *)image->words;
  memset(b, 0, sizeof *b);
  b->kind = (uint16_t)kind;
  b->domain = (uint16_t)slot;
  b->incarnation = h->number;
  image->end = FORMAT_BLOCK_HEADER_WORDS;
  return b;
}

static void write_image(struct pair *pair, struct image *image, uint64_t generation) {
  evr_block_replace(pair->block[pair->next], image->words, image->end, generation);
  pair->next ^= 1;
}

static void add_entry_record(struct image *image, const struct entry *e) {
  struct format_heap_entry record = {
      .first = format_record(FORMAT_HEAP_ENTRY_WORDS, 1, (uint32_t)e->key),
      .span = (uint16_t)(e->key >> 32), .kind = (uint8_t)(e->key >> 48),
      .origin = (uint8_t)(e->key >> 56), .live = e->live, .allocated = e->allocated,
      .temporary = e->temporary, .peak_samples = e->peak_samples};
  memcpy(image->words + image->end, &record, sizeof record);
  image->end += FORMAT_HEAP_ENTRY_WORDS;
}

static void write_page(struct evr_heap *h, uint32_t page, unsigned slot, uint64_t generation) {
  struct image image;
  struct format_block *b = begin_image(&image, h, FORMAT_HEAP_PAGES, slot);
  b->open_hidden = page;
  for (uint32_t i = page * PAGE; i < h->count && i < (page + 1) * PAGE; i++)
    add_entry_record(&image, &h->entry[i]);
  write_image(&h->copy->page[page], &image, generation);
  h->dirty[page] = 0;
}

/* Sums up the entries that have no page. */
static void sum_lost(const struct evr_heap *h, struct format_heap *root) {
  for (uint32_t i = h->copy->pages * PAGE; i < h->count; i++) {
    const struct entry *e = &h->entry[i];
    root->lost_entries++;
    add(&root->lost_allocated, e->allocated.samples, e->allocated.objects);
    add(&root->lost_live, e->live.samples, e->live.objects);
  }
}

static void write_root(struct evr_heap *h, struct evr_heap_owner owner, uint64_t generation) {
  struct image image;
  begin_image(&image, h, FORMAT_HEAPS, owner.slot);
  struct format_heap root = {
      .first = format_record(sizeof root / 8, 1, h->number), .slot = owner.slot,
      .incarnation = owner.incarnation, .start_ticks = h->start_ticks,
      .ticks = evr_clock_ticks(h->recording->clock), .collections = h->collections,
      .pages = h->copy->pages, .words = h->words, .live_words = h->live_words,
      .allocated = h->allocated, .live = h->live, .temporary = h->temporary,
      .peak_samples = h->peak_samples, .peak_ticks = h->peak_ticks, .word_bytes = 8,
      .over = owner.over};
  memcpy(&root.rate, &h->rate, sizeof root.rate);
  sum_lost(h, &root);
  root.entries = h->count - (uint32_t)root.lost_entries;
  memcpy(image.words + image.end, &root, sizeof root);
  image.end += sizeof root / 8;
  write_image(&h->copy->root, &image, generation);
}

/* Detaches the profile from its recording. Its blocks stay, and are used again when there
   is no other room. */
static void retire_locked(struct evr_heap *h) {
  struct evr_heap_copy *copy = h->copy;
  struct evr_recording *r = h->recording;
  h->copy = NULL;
  h->recording = NULL;
  if (!copy) return;
  copy->next = NULL;
  if (r->heaps.ended_last) r->heaps.ended_last->next = copy;
  else r->heaps.ended = copy;
  r->heaps.ended_last = copy;
}

static void use_recording(struct evr_heap *h, struct evr_recording *r) {
  if (h->recording == r) return;
  h->recording = r;
  h->full = false;
  memset(h->dirty, 1, h->dirty_room);
}

void evr_heap_publish(struct evr_heap *h, struct evr_recording *r, struct evr_heap_owner owner) {
  use_recording(h, r);
  make_pages(h);
  if (h->copy) {
    uint64_t generation = __atomic_add_fetch(&r->heaps.generation, 1, __ATOMIC_RELAXED);
    for (uint32_t page = 0; page < h->copy->pages; page++)
      if (h->dirty[page]) write_page(h, page, owner.slot, generation);
    write_root(h, owner, generation);
  }
  if (!owner.over) return;
  evr_lock();
  retire_locked(h);
  evr_unlock();
}

void evr_heap_detach_locked(struct evr_heap *h) {
  if (h->recording) retire_locked(h);
}

void evr_heap_after_fork(struct evr_heap *h, bool own) {
  /* the copy of another thread's profile is not freed: that thread may have been
     changing it */
  if (own && h->copy) free_copy(h->copy);
  h->copy = NULL;
  h->recording = NULL;
}

static void free_list(struct evr_heap_copy *list) {
  while (list) {
    struct evr_heap_copy *next = list->next;
    free_copy(list);
    list = next;
  }
}

void evr_heaps_free(struct evr_recording *r) {
  free_list(r->heaps.ended);
  free_list(r->heaps.spare);
}
