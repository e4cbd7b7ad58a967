/* SPDX-License-Identifier: MIT */
/* units.h: which blocks of a file belong to which stream (units.c). */
#ifndef EVENTRING_UNITS_H
#define EVENTRING_UNITS_H

#include "reader/source.h"

#pragma GCC visibility push(hidden)

struct evr_stretch { /* units of a stream that follow one another in the file */
  uint64_t sequence; /* sequence of its first block */
  uint32_t first;    /* number of its first block in the file */
  uint32_t blocks;
};

/* the stretches of a stream; ascending after evr_units_look, and none within another */
struct evr_stretches {
  struct evr_stretch *list;
  uint32_t count, room;
  bool is_sorted, may_overlap;
};

struct evr_unit_list { /* a list of units, by their first blocks */
  uint32_t *block;
  uint32_t count, room;
};

struct evr_units {
  uint64_t next;  /* the first block that was not examined */
  /* records that the status page counted when the units were last examined */
  uint64_t looked_records;
  uint64_t twice; /* blocks that were left out because a longer stretch has them */
  struct evr_unit_list empty;   /* units whose first block was not begun */
  struct evr_unit_list records; /* units that have records, as they were found */
  struct evr_stretches stream[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS];
};

/* Examines the new units before block `claimed`, and those that were empty. `over` says
   that nobody writes into the file any more. Fails with E_SYSTEM, E_TRUNCATED or
   E_MEMORY; the next call then continues with the unit at which it failed. Fails with
   E_CORRUPT if too many units are empty. */
int evr_units_look(struct evr_units *units, const struct evr_source *source, uint64_t claimed,
                   bool over, struct eventring_error *error);
void evr_units_free(struct evr_units *units);
/* Empties the lists, for a caller that examines blocks itself (live_copy.c). The next
   functions add a block of a stream, add a unit with records, and sort the lists at the
   end. */
void evr_units_clear(struct evr_units *units);
int evr_units_add(struct evr_units *units, unsigned slot, unsigned ring, uint64_t sequence,
                  uint32_t block, struct eventring_error *error);
int evr_units_add_records(struct evr_units *units, uint32_t unit, struct eventring_error *error);
void evr_units_sort(struct evr_units *units);
/* Returns where the known units of a stream end: the sequence after their last block. */
uint64_t evr_stretches_end(const struct evr_stretches *stretches);
/* Returns the stretch that has block `sequence`, or the last one that begins before it,
   or NULL if there is none. */
const struct evr_stretch *evr_stretches_find(const struct evr_stretches *stretches,
                                             uint64_t sequence);
/* Returns the least sequence beyond `sequence` that can be there. */
uint64_t evr_stretches_after(const struct evr_stretches *stretches, uint64_t sequence);

#pragma GCC visibility pop

#endif /* EVENTRING_UNITS_H */
