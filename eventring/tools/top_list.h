/* SPDX-License-Identifier: MIT */
/* top_list.h: finds and reads the processes that `eventring top` shows: those that record
 * on this machine, as `eventring list` finds them, or those that the user has named. */
#ifndef EVENTRING_TOOL_TOP_LIST_H
#define EVENTRING_TOOL_TOP_LIST_H

#include "search_path.h"
#include "top_process.h"

/* The columns by which rows can be sorted. */
enum top_order {
  TOP_BY_CPU, TOP_BY_GC, TOP_BY_PAUSE, TOP_BY_RATE, TOP_BY_HEAP, TOP_BY_RESIDENT, TOP_BY_LOST,
  TOP_BY_PID, TOP_BY_PROGRAM, TOP_ORDERS
};
extern const char *const top_order_names[]; /* "cpu", "gc", ...; NULL at the end */

struct top_list {
  struct search_path where;
  bool is_named;                 /* the processes were named by the user, and no others
                                    are searched for */
  int status;                    /* exit status; not 0 if a named process could not be
                                    opened */
  struct top_process **all;      /* in the order of the rows; the shown ones come first */
  size_t count, shown;
  enum top_order order;
  bool reversed;
  char filter[64];               /* shown rows contain this in pid or program; "": all */
  uint64_t search_ns, searched_ns; /* duration (ns) of the last search, and when it
                                      ended */
  /* time of the refresh, and ns since the previous refresh, 0 for the first */
  uint64_t refreshed_ns, interval_ns;
  int64_t wall_ns;               /* time of the refresh by the wall clock */
};

/* Opens the given processes, PIDs or FILEs, or all that are found if none are given.
   Returns STATUS_GO_ON, or the exit status if none of the given processes can be opened.
   (Messages go to standard error.) */
int top_list_open(struct top_list *list, char **words, size_t count);
void top_list_close(struct top_list *list);
/* Searches for new processes if it is time, reads all, and sorts. */
void top_list_refresh(struct top_list *list);
/* Sorts and filters anew. */
void top_list_sort(struct top_list *list);
/* Tells whether all named processes have ended. */
bool top_list_is_over(const struct top_list *list);

/* Returns how many processes are shown: "3 of 5 processes". The text is valid as long as
   a text of eva_figure. */
const char *top_list_text(const struct top_list *list);

/* The view of a refresh, and its rows, as a table. */
view_function top_view;
void top_list_rows(struct view_to *to, const void *list);

#endif
