/* SPDX-License-Identifier: MIT */
/* tally_print.h: prints statistics, all or a choice, as text, JSON and CSV. */
#ifndef EVENTRING_TOOL_TALLY_PRINT_H
#define EVENTRING_TOOL_TALLY_PRINT_H

#include <stdio.h>

#include "analysis/tally.h"
#include "name_choice.h"
#include "view.h"

struct tally_choice {
  uint64_t classes;     /* bits; 0: all */
  struct name_choice name; /* names of events to choose */
  uint64_t domain;      /* UINT64_MAX: all */
  /* most rows of a table, which has the rows with the greatest totals; UINT64_MAX for all
     rows, in the order of the catalogue */
  uint64_t top;
  bool by_domain;       /* print a table for each domain, besides the table for all */
};
#define TALLY_ALL {.domain = UINT64_MAX, .top = UINT64_MAX}

view_function stats_view;
void tally_print(const struct eva_tally *tally, const struct tally_choice *choice,
                 struct view_choice as, FILE *out);

/* Writes, for a page (view_data), the rows that a path of the JSON has ("domains",
   "total.spans" ...), or "rings" of all domains. */
void tally_data(const struct eva_tally *tally, const struct tally_choice *choice, const char *path,
                struct eva_json *json);

/* The kinds of tables. */
enum tally_table { TALLY_SPANS, TALLY_ASYNC, TALLY_COUNTERS, TALLY_EVENTS };

/* Tells whether definitions of this name and class are chosen. */
bool tally_wants(const struct tally_choice *choice, const char *name, unsigned event_class);
/* Calls `visit` for the chosen entries of a domain that have figures for this table. */
void tally_choose(const struct eva_tally_domain *domain, const struct tally_choice *choice,
                  enum tally_table table,
                  void (*visit)(void *context, const struct eva_tally_entry *entry),
                  void *context);
static inline bool tally_wants_domain(const struct tally_choice *choice, unsigned slot) {
  return choice->domain == UINT64_MAX || choice->domain == slot;
}

#endif
