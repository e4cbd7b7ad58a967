/* SPDX-License-Identifier: MIT */
/* totals.h: what all events of a recording add up to (kind TOTALS). */
#ifndef EVENTRING_READER_TOTALS_H
#define EVENTRING_READER_TOTALS_H

#include "reader/cursor.h"

#pragma GCC visibility push(hidden)

/* Rows with the first of their two sums in use: a row a definition, and one for each span and reason
   that has a histogram. Zeroed, it is empty. */
struct evr_totals_table {
  struct format_total *row;
  uint32_t count, room;
  uint16_t of[EVENTRING_MAX_EVENTS]; /* index of the row of a definition, from 1; 0: none */
  struct format_total *histogram;
  uint32_t histograms, histogram_room;
};

/* Adds up what was recorded up to now, of all domains. The metadata and the definitions are up to
   date. Fails with E_NOT_FOUND when the file does not have all of it, E_MEMORY, and with what
   reading fails with. */
int evr_totals_collect(eventring_cursor *cursor, struct evr_totals_table *table,
                       struct eventring_error *error);
void evr_totals_free(struct evr_totals_table *table);

#pragma GCC visibility pop

#endif /* EVENTRING_READER_TOTALS_H */
