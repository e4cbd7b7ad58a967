/* SPDX-License-Identifier: MIT */
/* cells_rows.h: the rows of cells.h, for cells.c, which fills them, and cells_write.c,
 * which writes sections `series` and `counters`. */
#ifndef EVENTRING_VIEW_CELLS_ROWS_H
#define EVENTRING_VIEW_CELLS_ROWS_H

#include "view/buckets.h"
#include "view/cells.h"

struct cell { /* the figures of a cell, an interval of time (grid.h), at a level */
  uint32_t cell;
  struct page_buckets buckets;
  uint64_t count, sum, own, own_count, longest, off_cpu, suspended;
};

enum of { OF_SPAN, OF_ASYNC, OF_EVENT, OF_PAUSE };

struct series {
  uint8_t of, slot, level;
  bool measures_off_cpu, has_no_buckets; /* what its cells have */
  int32_t id, reason;
  const struct eva_tally_entry *entry; /* entry of the tally; NULL for pauses */
  struct eva_histogram *durations;     /* durations of pauses */
  uint64_t off_cpu;                    /* ns off the processor, also of pauses */
  struct cell *cell;
  size_t count, room;
  /* what was in the tally at the last turn */
  uint64_t seen_count, seen_sum, seen_own, seen_own_count, seen_off_cpu, seen_suspended;
  uint64_t longest;
  uint32_t seen_from, seen_size;       /* the range of buckets in `seen` */
  uint32_t *seen;
};

struct level { /* a counter in a cell */
  uint32_t cell;
  uint64_t samples;
  union {
    int64_t i;
    double d;
  } last, least, most, sum;
};

struct counter {
  uint8_t slot, level;
  const struct eva_tally_entry *entry;
  struct level *cell;
  size_t count, room;
  uint64_t seen_samples;
  int64_t seen_sum, least, most;
  double seen_dsum, dleast, dmost;
};

struct watched { /* what is kept for an id in a slot */
  struct series *span, *async, *event;
  struct counter *counter;
};

struct slot {
  struct watched *id;
  size_t ids;
};

struct page_cells {
  struct page_run *run;
  struct eva_tally *tally;
  size_t most; /* most bytes of rows */
  size_t used;
  uint32_t now[EVENTRING_MAX_DOMAINS], async_now;
  struct slot slot[EVENTRING_MAX_DOMAINS];
  struct series **series;
  size_t series_count, series_room;
  struct counter **counters;
  size_t counter_count, counter_room;
  size_t series_whole, counters_whole; /* bytes that the rows needed at first */
  uint64_t rows_whole;
};

/* Reduces the rows of all series, or of all counters, to at most `room` bytes.
   page_cells_fit_series also sorts the series, the most important first; it returns 0 or
   EVENTRING_E_MEMORY. */
int page_cells_fit_series(struct page_cells *cells, size_t room);
void page_cells_fit_counters(struct page_cells *cells, size_t room);
/* Returns the bytes that the rows of counters need. */
size_t page_cells_bytes_of_counters(const struct page_cells *cells);

#endif
