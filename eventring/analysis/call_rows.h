/* SPDX-License-Identifier: MIT */
/* call_rows.h: profiles of calls, by function, by site, by stack and by caller.
 *
 * The profiles of several domains are summed. Functions of the same name, file and line
 * are one. Times are ns. The inclusive time of a function counts its outermost
 * activations only, so that a recursion counts once. Errors: EVENTRING_E_MEMORY. Threads:
 * one at a time.
 */
#ifndef EVENTRING_ANALYSIS_CALL_ROWS_H
#define EVENTRING_ANALYSIS_CALL_ROWS_H

#include "eventring/calls.h"
#include "eventring/tools.h"

/* The name that views of paths give to calls whose path found no room (flat calls,
   <eventring/calls.h>). */
#define EVA_NOT_KEPT "(path not kept)"

struct eva_call_row {
  const struct eventring_calls_function *function;
  char *stack;       /* by stack: names from the outermost on, joined by " > "; or NULL */
  uint64_t count, inclusive, exclusive, suspended;
  uint64_t least, most; /* ns of the shortest and longest call; `most` is 0 if no call was
                           entered and left */
  uint64_t open;     /* calls that began before the start */
  uint64_t not_kept; /* calls whose path was not kept: `inclusive` lacks what they
                        called */
  double histogram[EVENTRING_CALLS_BUCKETS]; /* number of calls in each bucket */
  uint64_t order;    /* private */
};

struct eva_call_rows {
  struct eva_call_row *list; /* most exclusive time first; in a list of callers, most
                                inclusive time */
  size_t count;
  uint64_t total;            /* exclusive time of all rows */
  uint64_t lost_calls, lost_ns; /* number and ns of the calls whose path was not kept */
  uint64_t backwards;
  double ns_per_tick;
  void *owned;               /* private */
};

enum eva_calls_by { EVA_BY_FUNCTION, EVA_BY_LINE, EVA_BY_STACK };

/* Makes the rows of the profiles of slot `domain`, or of all slots if it is -1. */
int eva_call_rows_make(struct eva_call_rows *rows, const struct eventring_profiles *profiles,
                       enum eva_calls_by by, int domain);
/* Makes a row for each caller of the functions of this name. The row counts only the
   caller's calls of these functions: their number, inclusive time and durations. */
int eva_call_rows_callers(struct eva_call_rows *rows, const struct eventring_profiles *profiles,
                          const char *name, int domain);
void eva_call_rows_free(struct eva_call_rows *rows);
/* Returns the duration (ns) that the fraction `part` (0 to 1) of the calls of a row does
   not exceed; 0: not known. It is exact to within its bucket, a factor of two. */
uint64_t eva_call_quantile(const struct eva_call_rows *rows, const struct eva_call_row *row,
                           double part);

#endif
