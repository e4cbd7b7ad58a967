/* SPDX-License-Identifier: MIT */
/* units.c: finds the blocks of streams without an index.
 *
 * The header of the first block of each unit says which blocks of which stream the unit
 * has (doc/FORMAT.md, section 6). So one small read covers 64 KiB. Units that follow one
 * another in the file and in their stream are one stretch. A long recording of few
 * streams has few stretches.
 *
 * Where the file is not in the page cache, the headers of many units are requested at
 * once: one after the other, 4 GB took 3.4 s instead of 0.8.
 *
 * A header is trusted if it continues the unit before it. Any other header is compared
 * with that of the following block; if they do not agree, the majority of the unit's
 * headers decides. So one damaged block does not make the blocks after it unreadable.
 *
 * A unit whose first block was empty is examined again when the caller has reason to
 * think that blocks were written since. When nobody writes any more, such a unit is
 * searched for any block, because its first block may be damaged or missing. */
#include "reader/units.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "format/array.h"

enum { MOST_EMPTY = 1 << 20 /* units; a file that claims more is damaged, or hostile */ };

struct owner { /* what the headers of a unit say */
  uint64_t sequence; /* sequence of its first block; 0 if there is none */
  uint16_t slot;
  uint8_t ring;
  bool has_records;
};

/* ---- Lists ------------------------------------------------------------------------ */

static int no_memory(struct eventring_error *error) {
  return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a cursor");
}

static int add_unit(struct evr_unit_list *list, uint32_t block, struct eventring_error *error) {
  if (!EVR_MAKE_ROOM(list->block, list->room, list->count, 64))
    return no_memory(error);
  list->block[list->count++] = block;
  return EVENTRING_OK;
}

static bool continues(const struct evr_stretch *s, uint64_t sequence, uint32_t block) {
  return s->first + s->blocks == block && s->sequence + s->blocks == sequence;
}

/* Adds blocks to the last stretch, or begins a new one. They are nearly always found in
   the order of their sequences. */
static int add_stretch(struct evr_stretches *s, uint64_t sequence, uint32_t block,
                       uint32_t blocks, struct eventring_error *error) {
  if (s->count && continues(&s->list[s->count - 1], sequence, block)) {
    s->list[s->count - 1].blocks += blocks;
    return EVENTRING_OK;
  }
  if (!EVR_MAKE_ROOM(s->list, s->room, s->count, 16))
    return no_memory(error);
  const struct evr_stretch *last = s->count ? &s->list[s->count - 1] : NULL;
  s->is_sorted = !last || (s->is_sorted && last->sequence <= sequence);
  s->may_overlap |= last && sequence < last->sequence + last->blocks;
  s->list[s->count++] = (struct evr_stretch){sequence, block, blocks};
  return EVENTRING_OK;
}

static int by_sequence(const void *left, const void *right) {
  const struct evr_stretch *a = left, *b = right;
  if (a->sequence != b->sequence) return a->sequence < b->sequence ? -1 : 1;
  return (a->first > b->first) - (a->first < b->first);
}

/* Drops stretches of duplicate blocks that lie within a longer stretch: they would hide
   the later blocks of the longer stretch. Of two equal stretches, keeps the later one.
   Returns how many blocks were dropped. */
static uint64_t drop_inner(struct evr_stretches *s) {
  uint64_t dropped = 0;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < s->count; i++) {
    struct evr_stretch *last = kept ? &s->list[kept - 1] : NULL;
    const struct evr_stretch *next = &s->list[i];
    uint64_t last_end = last ? last->sequence + last->blocks : 0;
    bool same_start = last && next->sequence == last->sequence;
    if (same_start && next->blocks >= last->blocks) {
      dropped += last->blocks;
      *last = *next;
    } else if (last && next->sequence + next->blocks <= last_end) {
      dropped += next->blocks;
    } else {
      s->list[kept++] = *next;
    }
  }
  s->count = kept;
  return dropped;
}

static uint64_t sort_stretches(struct evr_units *units) {
  uint64_t dropped = 0;
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS * EVENTRING_RINGS; i++) {
    struct evr_stretches *s = &(&units->stream[0][0])[i];
    if (!s->count || (s->is_sorted && !s->may_overlap)) continue;
    if (!s->is_sorted) qsort(s->list, s->count, sizeof *s->list, by_sequence);
    s->is_sorted = true;
    s->may_overlap = false;
    dropped += drop_inner(s);
  }
  return dropped;
}

uint64_t evr_stretches_end(const struct evr_stretches *s) {
  const struct evr_stretch *last = s->count ? &s->list[s->count - 1] : NULL;
  return last ? last->sequence + last->blocks : 0;
}

/* Returns how many stretches begin at `sequence` or before. */
static uint32_t count_before(const struct evr_stretches *s, uint64_t sequence) {
  uint32_t low = 0, high = s->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (s->list[middle].sequence <= sequence) low = middle + 1;
    else high = middle;
  }
  return low;
}

const struct evr_stretch *evr_stretches_find(const struct evr_stretches *s, uint64_t sequence) {
  uint32_t before = count_before(s, sequence);
  return before ? &s->list[before - 1] : NULL;
}

uint64_t evr_stretches_after(const struct evr_stretches *s, uint64_t sequence) {
  uint32_t before = count_before(s, sequence + 1);
  const struct evr_stretch *last = before ? &s->list[before - 1] : NULL;
  if (last && sequence + 1 - last->sequence < last->blocks) return sequence + 1;
  return before < s->count ? s->list[before].sequence : sequence + 1;
}

/* ---- What a unit has --------------------------------------------------------------- */

/* Returns what the header of block k says of its unit. */
static struct owner owner_by(const struct format_block *h, unsigned k) {
  struct owner owner = {0};
  if (!h->sequence) return owner;
  owner.has_records = h->kind != FORMAT_EVENTS;
  if (owner.has_records || h->domain >= EVENTRING_MAX_DOMAINS || h->ring >= EVENTRING_RINGS ||
      h->sequence <= k || h->sequence > FORMAT_MAX_SEQUENCE)
    return owner;
  return (struct owner){.sequence = h->sequence - k, .slot = h->domain, .ring = h->ring};
}

static bool is_same(struct owner a, struct owner b) {
  return a.sequence == b.sequence && a.slot == b.slot && a.ring == b.ring;
}

static int read_header(const struct evr_source *source, uint32_t block, struct format_block *h,
                       struct eventring_error *error) {
  return evr_source_read(source, format_block_offset(block), h, sizeof *h, error);
}

/* Tells whether the file has no data at all in a unit. A hostile file may claim many
   units that take no space. */
static bool is_hole(const struct evr_source *source, uint32_t unit) {
  return evr_source_is_hole(source, format_block_offset(unit), FORMAT_UNIT * FORMAT_BLOCK_BYTES);
}

/* Finds out what a unit has, by the majority of its headers. */
static int search_unit(const struct evr_source *source, uint32_t unit, struct owner *owner,
                       struct eventring_error *error) {
  struct owner said[FORMAT_UNIT];
  unsigned most = 0;
  *owner = (struct owner){0};
  for (unsigned k = 0; k < FORMAT_UNIT; k++) {
    struct format_block h;
    int status = read_header(source, unit + k, &h, error);
    if (status != EVENTRING_OK) return status;
    said[k] = owner_by(&h, k);
  }
  for (unsigned k = 0; k < FORMAT_UNIT; k++) {
    unsigned count = 0;
    if (!said[k].sequence && !said[k].has_records) continue;
    for (unsigned n = 0; n < FORMAT_UNIT; n++)
      count += is_same(said[k], said[n]) && said[k].has_records == said[n].has_records;
    if (count > most) *owner = said[k], most = count;
  }
  return EVENTRING_OK;
}

static bool is_continued(const struct evr_units *units, struct owner owner, uint32_t unit) {
  const struct evr_stretches *s = &units->stream[owner.slot][owner.ring];
  return owner.sequence && s->count &&
         continues(&s->list[s->count - 1], owner.sequence, unit);
}

static int identify(const struct evr_units *units, const struct evr_source *source,
                    uint32_t unit, bool over, struct owner *owner,
                    struct eventring_error *error) {
  struct format_block h, second;
  int status = read_header(source, unit, &h, error);
  if (status != EVENTRING_OK) return status;
  *owner = owner_by(&h, 0);
  if (owner->has_records || is_continued(units, *owner, unit)) return EVENTRING_OK;
  if (!h.sequence)
    return over && !is_hole(source, unit) ? search_unit(source, unit, owner, error)
                                          : EVENTRING_OK;
  status = read_header(source, unit + 1, &second, error);
  if (status != EVENTRING_OK) return status;
  if (owner->sequence && (!second.sequence || is_same(*owner, owner_by(&second, 1))))
    return EVENTRING_OK;
  return search_unit(source, unit, owner, error);
}

/* ---- All units --------------------------------------------------------------------- */

/* Notes a unit. Sets *taken to whether something was found in it. (A unit whose events
   belong to no stream of the domain table is not used.) */
static int take_unit(struct evr_units *units, const struct evr_source *source, uint32_t unit,
                     bool over, bool *taken, struct eventring_error *error) {
  struct owner owner;
  int status = identify(units, source, unit, over, &owner, error);
  *taken = status == EVENTRING_OK && (owner.sequence || owner.has_records);
  if (status == EVENTRING_OK && owner.sequence)
    status = add_stretch(&units->stream[owner.slot][owner.ring], owner.sequence, unit,
                         FORMAT_UNIT, error);
  else if (*taken)
    status = add_unit(&units->records, unit, error);
  return status;
}

/* Notes a unit as take_unit does, but skips units before *data, where the file has no
   data. After an empty unit, asks the file system where data begins again. A hostile file
   may claim many units that take no space. */
static int take_if_there(struct evr_units *units, const struct evr_source *source, uint32_t unit,
                         bool over, uint64_t *data, bool *taken, struct eventring_error *error) {
  const uint64_t end = format_block_offset(unit) + FORMAT_UNIT * FORMAT_BLOCK_BYTES;
  *taken = false;
  if (end <= *data) return EVENTRING_OK;
  int status = take_unit(units, source, unit, over, taken, error);
  if (status == EVENTRING_OK && !*taken) *data = evr_source_data_from(source, end);
  return status;
}

/* Examines again the units that were empty. Units that are still empty, or cannot be
   read, remain for the next time. */
static int look_again(struct evr_units *units, const struct evr_source *source, bool over,
                      struct eventring_error *error) {
  struct evr_unit_list *empty = &units->empty;
  uint32_t count = empty->count;
  uint64_t data = 0;
  int status = EVENTRING_OK;
  empty->count = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool taken = false;
    uint32_t unit = empty->block[i];
    if (status == EVENTRING_OK)
      status = take_if_there(units, source, unit, over, &data, &taken, error);
    if (status != EVENTRING_OK || !taken) empty->block[empty->count++] = unit;
  }
  return status;
}

static int keep_empty(struct evr_units *units, uint32_t unit, struct eventring_error *error) {
  if (units->empty.count == MOST_EMPTY)
    return evr_fail(error, EVENTRING_E_CORRUPT, 0, "more than %d units of the file are empty",
                    MOST_EMPTY);
  return add_unit(&units->empty, unit, error);
}

enum { AHEAD = 256 /* units */ };

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif

/* Tells whether a block is in the page cache. (musl 1.2.3 has no preadv2.) */
static bool is_cached(int fd, uint32_t block) {
  struct format_block h;
  struct iovec to = {&h, sizeof h};
  return syscall(SYS_preadv2, fd, &to, 1L, (long)format_block_offset(block), 0L, RWF_NOWAIT) >= 0 ||
         errno != EAGAIN;
}

/* Requests headers ahead. They are small and far apart, so the disk should seek many at a
   time. If the first of these units is in the page cache, the others will be too. */
static void read_ahead(const struct evr_source *source, uint64_t unit, uint64_t claimed) {
  if (source->packed || source->fd < 0 || unit / FORMAT_UNIT % AHEAD ||
      is_cached(source->fd, (uint32_t)unit))
    return;
  uint64_t end = unit + AHEAD * FORMAT_UNIT;
  for (; unit < end && unit + FORMAT_UNIT <= claimed; unit += FORMAT_UNIT)
    posix_fadvise(source->fd, (off_t)format_block_offset((uint32_t)unit),
                  sizeof(struct format_block), POSIX_FADV_WILLNEED);
}

int evr_units_look(struct evr_units *units, const struct evr_source *source, uint64_t claimed,
                   bool over, struct eventring_error *error) {
  uint64_t data = 0;
  int status = look_again(units, source, over, error);
  while (status == EVENTRING_OK && units->next + FORMAT_UNIT <= claimed) {
    bool taken;
    uint32_t unit = (uint32_t)units->next;
    read_ahead(source, unit, claimed);
    status = take_if_there(units, source, unit, over, &data, &taken, error);
    if (status == EVENTRING_OK && !taken) status = keep_empty(units, unit, error);
    if (status == EVENTRING_OK) units->next += FORMAT_UNIT;
  }
  units->twice += sort_stretches(units);
  return status;
}

void evr_units_free(struct evr_units *units) {
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS * EVENTRING_RINGS; i++)
    free((&units->stream[0][0])[i].list);
  free(units->empty.block);
  free(units->records.block);
}

/* ---- For callers that read blocks themselves -------------------------------------- */

void evr_units_clear(struct evr_units *units) {
  evr_units_free(units);
  *units = (struct evr_units){0};
}

int evr_units_add(struct evr_units *units, unsigned slot, unsigned ring, uint64_t sequence,
                  uint32_t block, struct eventring_error *error) {
  return add_stretch(&units->stream[slot][ring], sequence, block, 1, error);
}

int evr_units_add_records(struct evr_units *units, uint32_t unit, struct eventring_error *error) {
  return add_unit(&units->records, unit, error);
}

void evr_units_sort(struct evr_units *units) { sort_stretches(units); }
