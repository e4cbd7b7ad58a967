/* SPDX-License-Identifier: MIT */
/* view_tables.h: gives a page rows of commands (view_tables.c), by the functions that
   print them. */
#ifndef EVENTRING_TOOL_VIEW_TABLES_H
#define EVENTRING_TOOL_VIEW_TABLES_H

#include "view/part.h"

/* Returns the `top` longest steps of the collector in the page, in the form of `pauses`,
   or NULL if there are none. */
struct pauses;
struct pauses *pauses_taken(const struct page_run *run, uint64_t top);
void pauses_free(struct pauses *pauses); /* NULL is allowed */
/* Writes at most `top` rows of `pauses --json` (view_data). Returns how many there
   are. */
size_t pauses_data(const struct pauses *pauses, const struct page_run *run, uint64_t top,
                   struct eva_json *json);

/* Returns the `top` longest spans of the program in the page (at most 8), in the form of
   `spans`, or NULL if there are none. */
struct spans;
struct spans *spans_taken(struct page_run *run, uint64_t top);
void spans_free(struct spans *spans); /* NULL is allowed */
/* Writes the rows of `spans --json --top N` (view_data). */
void spans_data(const struct spans *spans, struct eva_json *json);

#endif
