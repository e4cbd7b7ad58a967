/* SPDX-License-Identifier: MIT */
/* totals.h: what all events of a recording add up to (kind TOTALS). */
#ifndef EVENTRING_READER_TOTALS_H
#define EVENTRING_READER_TOTALS_H

#include "reader/cursor.h"

#pragma GCC visibility push(hidden)

/* A table of rows: one for each definition, and one for each span and reason that has a
   histogram. Only the first of the two sums of a row is in use. All zero, the table is
   empty. */
struct evr_totals_table {
  struct format_total *row;
  uint32_t count, room;
  /* index of the row of each definition, plus 1; 0 if it has none */
  uint16_t of[EVENTRING_MAX_EVENTS];
  struct format_total *histogram;
  uint32_t histograms, histogram_room;
};

/* Adds up what was recorded up to now, of all domains. The metadata and the definitions
   are up to date. Fails with E_NOT_FOUND when the file does not have all totals, with
   E_MEMORY, and with the errors of reading. */
int evr_totals_collect(eventring_cursor *cursor, struct evr_totals_table *table,
                       struct eventring_error *error);
void evr_totals_free(struct evr_totals_table *table);

#pragma GCC visibility pop

#endif /* EVENTRING_READER_TOTALS_H */
