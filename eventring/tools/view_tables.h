/* SPDX-License-Identifier: MIT */
/* view_tables.h: rows of commands for a page (view_tables.c), by the functions that print
   them. */
#ifndef EVENTRING_TOOL_VIEW_TABLES_H
#define EVENTRING_TOOL_VIEW_TABLES_H

#include "view/part.h"

/* Returns the `top` longest steps of the collector that the page has found, as `pauses`
   has them, or NULL if there are none. */
struct pauses;
struct pauses *pauses_taken(const struct page_run *run, uint64_t top);
void pauses_free(struct pauses *pauses); /* NULL is allowed */
/* Writes the rows of `pauses --json`, `top` at most (view_data). Returns how many there
   are. */
size_t pauses_data(const struct pauses *pauses, const struct page_run *run, uint64_t top,
                   struct eva_json *json);

/* Returns the `top` longest spans of the program that the page has kept (8 at most), as
   `spans` has them, or NULL if there are none. */
struct spans;
struct spans *spans_taken(struct page_run *run, uint64_t top);
void spans_free(struct spans *spans); /* NULL is allowed */
/* Writes the rows of `spans --json --top N` (view_data). */
void spans_data(const struct spans *spans, struct eva_json *json);

#endif
