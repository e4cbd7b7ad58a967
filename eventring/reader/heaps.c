/* SPDX-License-Identifier: MIT */
/* heaps.c: the heap profiles of a recording.
 *
 * producer/heap_profile.c says how a profile lies in the file: a root and pages, each in
 * two blocks. The sequence of a block is its generation. The reader takes the newest root
 * of a profile. For each page it takes the newest block whose generation is not greater
 * than that of the root. While the process goes on, both blocks of a page may be newer
 * than the root: then everything is read again, a few times, and after that the profile
 * is torn. It is also torn when its entries do not add up to the sums of its root, as may
 * happen in a copy of a live recording.
 */
#include "eventring/memory.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"
#include "format/samples.h"
#include "format/sized.h"
#include "reader/block.h"
#include "reader/cursor.h"

enum {
  ATTEMPTS = 6,
  MOST_PAGES = 2048, /* most pages of a profile: half the budget */
  ROOT_WORDS = sizeof(struct format_heap) / 8
};

struct root {
  struct format_heap heap;
  uint64_t generation;
};

struct page { /* a block that holds a page */
  uint32_t profile, number, block;
  uint64_t generation;
};

struct heaps {
  struct root *roots; /* ascending by number, one of each profile */
  uint32_t root_count, root_room;
  struct page *pages; /* ascending by profile, number, generation */
  uint32_t page_count, page_room;
  struct format_heap_entry *entries; /* entries of the profile being read */
  uint32_t entry_count, entry_room;
};

static void free_heaps(struct heaps *h) {
  free(h->roots);
  free(h->pages);
  free(h->entries);
}

static int no_memory(struct eventring_error *error) {
  return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a heap profile");
}

/* ---- Blocks ----------------------------------------------------------------------- */

/* Copies a block of this kind. Sets *end to 0 if it is missing or not valid. */
static int copy_block(eventring_cursor *c, uint32_t block, enum format_kind kind,
                      uint64_t *words, uint32_t *end) {
  const struct format_block *h = (const struct format_block *)words;
  bool sound;
  int status = evr_records_copy(&c->meta.source, format_block_offset(block), words, end, &sound,
                                &c->error);
  if (status != EVENTRING_OK || !*end) return status;
  bool is_one = h->kind == kind;
  if (is_one && h->committed && evr_records_valid(words, *end, sound)) return EVENTRING_OK;
  if (is_one && c->meta.over)
    evr_note_damage(&c->meta.damage, "block %u of the file has a heap profile, and is not valid",
                    block);
  *end = 0;
  return EVENTRING_OK;
}

static double rate_of(const struct format_heap *heap) {
  double rate;
  memcpy(&rate, &heap->rate, sizeof rate);
  return rate;
}

static bool root_is_valid(const uint64_t *words, uint32_t end, struct format_heap *heap) {
  if (end < FORMAT_BLOCK_HEADER_WORDS + ROOT_WORDS ||
      record_words(words[FORMAT_BLOCK_HEADER_WORDS]) < ROOT_WORDS ||
      record_type(words[FORMAT_BLOCK_HEADER_WORDS]) != 1)
    return false;
  memcpy(heap, words + FORMAT_BLOCK_HEADER_WORDS, sizeof *heap);
  double rate = rate_of(heap);
  return heap->slot < EVENTRING_MAX_DOMAINS && rate > 0 && rate <= 1 &&
         heap->pages <= MOST_PAGES && heap->word_bytes >= 1 && heap->word_bytes <= 64 &&
         heap->entries <= heap->pages * (uint64_t)FORMAT_HEAP_PAGE_ENTRIES &&
         record_number(heap->first) == ((const struct format_block *)words)->incarnation;
}

static int take_root(eventring_cursor *c, struct heaps *h, uint32_t block) {
  uint64_t words[FORMAT_BLOCK_WORDS];
  uint32_t end;
  struct format_heap heap;
  int status = copy_block(c, block, FORMAT_HEAPS, words, &end);
  if (status != EVENTRING_OK || !end) return status;
  if (!root_is_valid(words, end, &heap)) {
    evr_note_damage(&c->meta.damage, "the heap profile in block %u of the file is not valid",
                    block);
    return EVENTRING_OK;
  }
  if (!EVR_MAKE_ROOM(h->roots, h->root_room, h->root_count, 16))
    return no_memory(&c->error);
  h->roots[h->root_count++] = (struct root){heap, words[0]};
  return EVENTRING_OK;
}

/* Notes a page from the header of its block. The rest of most pages is read later,
   once. */
static int take_page(eventring_cursor *c, struct heaps *h, uint32_t block) {
  struct format_block head;
  int status = evr_source_read(&c->meta.source, format_block_offset(block), &head, sizeof head,
                               &c->error);
  if (status != EVENTRING_OK || !head.sequence || head.kind != FORMAT_HEAP_PAGES) return status;
  if (!EVR_MAKE_ROOM(h->pages, h->page_room, h->page_count, 64))
    return no_memory(&c->error);
  h->pages[h->page_count++] =
      (struct page){head.incarnation, head.open_hidden, block, head.sequence};
  return EVENTRING_OK;
}

/* Checks all blocks of roots and pages, which must be valid if nobody writes any more. */
void evr_check_heaps(eventring_cursor *c) {
  const struct evr_record_scan *scan = &c->definitions.scan;
  uint64_t words[FORMAT_BLOCK_WORDS];
  struct format_heap heap;
  uint32_t end;
  for (uint32_t i = 0; i < scan->count; i++) {
    enum format_kind kind = scan->blocks[i].kind == FORMAT_HEAPS ? FORMAT_HEAPS
                                                                  : FORMAT_HEAP_PAGES;
    if (scan->blocks[i].kind != kind) continue;
    if (copy_block(c, scan->blocks[i].block, kind, words, &end) != EVENTRING_OK) return;
    if (end && kind == FORMAT_HEAPS && !root_is_valid(words, end, &heap))
      evr_note_damage(&c->meta.damage, "the heap profile in block %u of the file is not valid",
                      scan->blocks[i].block);
  }
}

static int compare_roots(const void *left, const void *right) {
  const struct root *a = left, *b = right;
  uint32_t m = record_number(a->heap.first), n = record_number(b->heap.first);
  if (m != n) return m < n ? -1 : 1;
  return (a->generation < b->generation) - (a->generation > b->generation);
}

static int compare_pages(const void *left, const void *right) {
  const struct page *a = left, *b = right;
  if (a->profile != b->profile) return a->profile < b->profile ? -1 : 1;
  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  return (a->generation > b->generation) - (a->generation < b->generation);
}

/* Keeps the newest root of each profile. */
static void drop_older_roots(struct heaps *h) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < h->root_count; i++)
    if (!kept || record_number(h->roots[kept - 1].heap.first) !=
                     record_number(h->roots[i].heap.first))
      h->roots[kept++] = h->roots[i];
  h->root_count = kept;
}

/* Tells whether a block may be of this kind by now. The scan may have seen the block
   before its first use. */
static bool may_be(const struct evr_record_block *b, enum format_kind kind) {
  return b->kind == kind || !b->kind;
}

/* Finds the blocks of roots and pages. Looks for the roots first, because the pages that
   a root needs were written before it. Such a page is gone only when it has been written
   twice since. */
static int find_blocks(eventring_cursor *c, struct heaps *h) {
  const struct evr_record_scan *scan = &c->definitions.scan;
  int status = EVENTRING_OK;
  h->root_count = h->page_count = 0;
  for (uint32_t i = 0; status == EVENTRING_OK && i < scan->count; i++)
    if (may_be(&scan->blocks[i], FORMAT_HEAPS)) status = take_root(c, h, scan->blocks[i].block);
  for (uint32_t i = 0; status == EVENTRING_OK && i < scan->count; i++)
    if (may_be(&scan->blocks[i], FORMAT_HEAP_PAGES))
      status = take_page(c, h, scan->blocks[i].block);
  if (h->root_count) qsort(h->roots, h->root_count, sizeof *h->roots, compare_roots);
  if (h->page_count) qsort(h->pages, h->page_count, sizeof *h->pages, compare_pages);
  drop_older_roots(h);
  return status;
}

/* ---- One profile ------------------------------------------------------------------- */

static const struct page *first_page(const struct heaps *h, uint32_t profile) {
  uint32_t low = 0, high = h->page_count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (h->pages[middle].profile < profile) low = middle + 1;
    else high = middle;
  }
  return low ? h->pages + low : h->pages; /* no arithmetic on NULL */
}

/* Copies the block of a page that belongs to the root. Of the valid blocks in [from, to),
   which ascend by generation, takes the newest that is not newer than the root. If all
   are newer, takes the oldest and sets *is_beyond. Sets *end to 0 if there is no valid
   block. */
static int copy_page(eventring_cursor *c, const struct root *root, const struct page *from,
                     const struct page *to, uint64_t *words, uint32_t *end, bool *is_beyond) {
  const struct format_block *b = (const struct format_block *)words;
  const struct page *beyond = from;
  while (beyond < to && beyond->generation <= root->generation) beyond++;
  *end = 0;
  for (size_t n = 0; n < (size_t)(to - from); n++) {
    size_t usable = (size_t)(beyond - from);
    const struct page *page = n < usable ? beyond - 1 - n : from + n;
    *is_beyond = n >= usable;
    int status = copy_block(c, page->block, FORMAT_HEAP_PAGES, words, end);
    if (status != EVENTRING_OK) return status;
    if (*end && b->incarnation == page->profile && b->open_hidden == page->number &&
        words[0] == page->generation)
      return status;
    *end = 0;
  }
  return EVENTRING_OK;
}

static int take_entries(eventring_cursor *c, struct heaps *h, const uint64_t *words,
                        uint32_t end) {
  struct format_heap_entry entry;
  for (uint32_t at = FORMAT_BLOCK_HEADER_WORDS; at < end; at += record_words(words[at])) {
    bool is_entry = record_words(words[at]) >= FORMAT_HEAP_ENTRY_WORDS &&
                    record_type(words[at]) == 1;
    if (is_entry) memcpy(&entry, words + at, sizeof entry);
    if (!is_entry || entry.kind >= FORMAT_MEMORY_KINDS || entry.origin >= FORMAT_MEMORY_ORIGINS)
      continue;
    if (!EVR_MAKE_ROOM(h->entries, h->entry_room, h->entry_count, 64))
      return no_memory(&c->error);
    h->entries[h->entry_count++] = entry;
  }
  return EVENTRING_OK;
}

/* Tells whether the entries that were read add up to the sums of the root. */
static bool adds_up(const struct heaps *h, const struct format_heap *heap) {
  uint64_t live = heap->lost_live.samples, allocated = heap->lost_allocated.samples;
  uint64_t objects = heap->lost_allocated.objects;
  for (uint32_t i = 0; i < h->entry_count; i++) {
    live += h->entries[i].live.samples;
    allocated += h->entries[i].allocated.samples;
    objects += h->entries[i].allocated.objects;
  }
  return h->entry_count == heap->entries && live == heap->live.samples &&
         allocated == heap->allocated.samples && objects == heap->allocated.objects;
}

/* Reads the entries of a profile. Sets *whole to whether they all belong to its root. */
static int read_entries(eventring_cursor *c, struct heaps *h, const struct root *root,
                        bool *whole) {
  uint64_t words[FORMAT_BLOCK_WORDS];
  uint32_t profile = record_number(root->heap.first);
  const struct page *at = first_page(h, profile);
  const struct page *last = h->page_count ? h->pages + h->page_count : at;
  h->entry_count = 0;
  *whole = true;
  for (uint32_t number = 0; number < root->heap.pages; number++) {
    bool is_beyond = false;
    uint32_t end;
    while (at < last && at->profile == profile && at->number < number) at++;
    const struct page *from = at;
    while (at < last && at->profile == profile && at->number == number) at++;
    int status = copy_page(c, root, from, at, words, &end, &is_beyond);
    if (status == EVENTRING_OK && end) status = take_entries(c, h, words, end);
    if (status != EVENTRING_OK) return status;
    if (is_beyond || !end) *whole = false;
  }
  *whole = *whole && adds_up(h, &root->heap);
  return EVENTRING_OK;
}

/* ---- Estimates --------------------------------------------------------------------- */

static struct eventring_amount amount(struct format_amount from, double rate, unsigned bytes) {
  double n = (double)from.samples;
  return (struct eventring_amount){
      .samples = from.samples, .bytes = n / rate * bytes,
      .objects = (double)from.objects / (1u << FORMAT_OBJECTS_SHIFT),
      .bytes_variance = n * (1 - rate) / (rate * rate) * bytes * bytes};
}

/* Tells whether more is alive now than at the noted peak. The producer notes a new peak
   only when it exceeds the last one by 1/32. */
static bool peak_is_now(const struct format_heap *f) {
  return f->live.samples > f->peak_samples;
}

static struct eventring_heap heap_of(const eventring_cursor *c, const struct format_heap *f,
                                     bool whole) {
  double rate = rate_of(f);
  unsigned bytes = f->word_bytes;
  const struct evr_metadata *meta = &c->meta;
  uint64_t peak_samples = peak_is_now(f) ? f->live.samples : f->peak_samples;
  uint64_t peak_ticks = peak_is_now(f) ? f->ticks : f->peak_ticks;
  struct eventring_heap heap = {
      .number = record_number(f->first), .domain = f->slot, .incarnation = f->incarnation,
      .over = f->over & 1, .torn = !whole, .rate = rate, .word_bytes = bytes,
      .start_ns = evr_metadata_ns(meta, f->start_ticks), .ns = evr_metadata_ns(meta, f->ticks),
      .collections = f->collections, .words = f->words, .live_words = f->live_words,
      .allocated = amount(f->allocated, rate, bytes), .live = amount(f->live, rate, bytes),
      .temporary = amount(f->temporary, rate, bytes),
      .peak = amount((struct format_amount){peak_samples, 0}, rate, bytes),
      .peak_ns = peak_ticks ? evr_metadata_ns(meta, peak_ticks) : 0,
      .entries = f->entries, .lost_entries = f->lost_entries,
      .lost_allocated = amount(f->lost_allocated, rate, bytes),
      .lost_live = amount(f->lost_live, rate, bytes)};
  return heap;
}

static struct eventring_heap_entry entry_of(const struct format_heap_entry *e,
                                            const struct format_heap *f) {
  double rate = rate_of(f);
  unsigned bytes = f->word_bytes;
  uint64_t peak_samples = peak_is_now(f) ? e->live.samples : e->peak_samples;
  return (struct eventring_heap_entry){
      .stack = record_number(e->first), .span = e->span, .kind = e->kind, .origin = e->origin,
      .allocated = amount(e->allocated, rate, bytes), .live = amount(e->live, rate, bytes),
      .temporary = amount(e->temporary, rate, bytes),
      .peak = amount((struct format_amount){peak_samples, 0}, rate, bytes)};
}

/* ---- All of them ------------------------------------------------------------------- */

static int deliver(const eventring_cursor *c, const struct heaps *h, const struct root *root,
                   bool whole, const struct eventring_heap_callbacks *callbacks, void *context) {
  struct eventring_heap heap = heap_of(c, &root->heap, whole);
  int status = callbacks->heap ? callbacks->heap(context, &heap) : 0;
  for (uint32_t i = 0; !status && callbacks->entry && i < h->entry_count; i++) {
    struct eventring_heap_entry entry = entry_of(&h->entries[i], &root->heap);
    status = callbacks->entry(context, &heap, &entry);
  }
  return status;
}

static int refresh(eventring_cursor *c, struct heaps *h) {
  int status = evr_definitions_catch_up(&c->definitions, &c->meta, &c->error);
  return status == EVENTRING_OK ? find_blocks(c, h) : status;
}

/* Returns the root with this number, or NULL. */
static const struct root *root_of(const struct heaps *h, uint32_t number) {
  for (uint32_t i = 0; i < h->root_count; i++)
    if (record_number(h->roots[i].heap.first) == number) return &h->roots[i];
  return NULL;
}

/* Reads a profile until it is whole, at most ATTEMPTS times. Sets *root to NULL when the
   profile is gone. */
static int read_profile(eventring_cursor *c, struct heaps *h, uint32_t number,
                        const struct root **root, bool *whole) {
  int status = EVENTRING_OK;
  *whole = false;
  for (int attempt = 0; status == EVENTRING_OK && !*whole && attempt < ATTEMPTS; attempt++) {
    if (attempt) status = refresh(c, h);
    *root = root_of(h, number);
    if (status != EVENTRING_OK || !*root) break;
    status = read_entries(c, h, *root, whole);
    if (c->meta.over) break; /* another attempt would give the same result */
  }
  return status;
}

int eventring_cursor_heaps(eventring_cursor *c,
                           const struct eventring_heap_callbacks *callbacks, void *context) {
  struct heaps h = {0};
  c->meta.over |= evr_metadata_is_settled(&c->meta);
  int status = refresh(c, &h);
  uint32_t last = 0;
  while (status == EVENTRING_OK) {
    uint32_t next = 0;
    while (next < h.root_count && record_number(h.roots[next].heap.first) <= last) next++;
    if (next == h.root_count) break;
    const struct root *root = NULL;
    bool whole;
    last = record_number(h.roots[next].heap.first);
    status = read_profile(c, &h, last, &root, &whole);
    if (status == EVENTRING_OK && root) status = deliver(c, &h, root, whole, callbacks, context);
  }
  free_heaps(&h);
  return status;
}

/* ---- Events ------------------------------------------------------------------------ */

uint64_t eventring_event_sample(const struct eventring_event *event,
                                struct eventring_sample *sample) {
  uint64_t words[FORMAT_SAMPLE_WORDS], block = 0;
  *sample = (struct eventring_sample){0};
  if (event->payload != EVENTRING_SAMPLE) return 0;
  memcpy(words, event->bytes, sizeof words);
  *sample = format_sample(words, &block);
  return block;
}

static enum eventring_memory_event kind_of(const struct eventring_event *e) {
  if (e->event_class != EVENTRING_CLASS_ALLOC || !e->def) return EVENTRING_MEMORY_OTHER;
  for (int what = EVENTRING_MEMORY_ALLOC; what <= EVENTRING_MEMORY_RATE; what++) {
    const struct evr_memory_event *known = &evr_memory_events[what];
    if (e->def->kind == known->kind && e->payload == known->payload &&
        strcmp(e->name, known->name) == 0)
      return what;
  }
  return EVENTRING_MEMORY_OTHER;
}

enum eventring_memory_event eventring_event_memory(const struct eventring_event *event,
                                                   struct eventring_memory *memory) {
  struct eventring_memory full = {0};
  enum eventring_memory_event what = kind_of(event);
  switch (what) {
    case EVENTRING_MEMORY_ALLOC:
      full.block = eventring_event_sample(event, &full.sample);
      break;
    case EVENTRING_MEMORY_PROMOTE:
    case EVENTRING_MEMORY_FREE_YOUNG:
    case EVENTRING_MEMORY_FREE_OLD:
      full.block = event->value.u;
      break;
    case EVENTRING_MEMORY_COLLECTED:
      full.collection = event->value.u;
      break;
    case EVENTRING_MEMORY_RATE:
      full.rate = event->value.d;
      break;
    default:
      break;
  }
  *memory = full;
  return what;
}
