/* SPDX-License-Identifier: MIT */
/* call_rows.h: profiles of calls, by function, by place, by stack and by caller.
 *
 * Profiles of several domains are summed. Functions of the same name, file and line are one.
 * Times are ns. The inclusive time of a function counts its outermost activations only, so
 * that a recursion counts once. Errors: EVENTRING_E_MEMORY. Threads: one at a time.
 */
#ifndef EVENTRING_ANALYSIS_CALL_ROWS_H
#define EVENTRING_ANALYSIS_CALL_ROWS_H

#include "eventring/calls.h"
#include "eventring/tools.h"

/* In views of paths, calls whose path found no room (flat ones, <eventring/calls.h>). */
#define EVA_NOT_KEPT "(path not kept)"

struct eva_call_row {
  const struct eventring_calls_function *function;
  char *stack;       /* by stack: names from the outermost, with " > " between them; or NULL */
  uint64_t count, inclusive, exclusive, suspended;
  uint64_t least, most; /* most 0: none was entered and left */
  uint64_t open;     /* that had begun before */
  uint64_t not_kept; /* calls whose path was not kept: what they called is not in `inclusive` */
  double histogram[EVENTRING_CALLS_BUCKETS]; /* calls */
  uint64_t order;    /* private */
};

struct eva_call_rows {
  struct eva_call_row *list; /* of most exclusive time first; by caller: inclusive */
  size_t count;
  uint64_t total;            /* exclusive time of all */
  uint64_t lost_calls, lost_ns; /* of calls whose path was not kept */
  uint64_t backwards;
  double ns_per_tick;
  void *owned;               /* private */
};

enum eva_calls_by { EVA_BY_FUNCTION, EVA_BY_LINE, EVA_BY_STACK };

/* Those of slot `domain`; -1: of all. */
int eva_call_rows_make(struct eva_call_rows *rows, const struct eventring_profiles *profiles,
                       enum eva_calls_by by, int domain);
/* Who called functions of this name: a row for each caller, whose count, inclusive time and
   durations are those of its calls of them. */
int eva_call_rows_callers(struct eva_call_rows *rows, const struct eventring_profiles *profiles,
                          const char *name, int domain);
void eva_call_rows_free(struct eva_call_rows *rows);
/* The duration that this part of the calls of a row do not exceed, in ns; 0: not known. It
   is exact to within the bucket, a factor of two. */
uint64_t eva_call_quantile(const struct eva_call_rows *rows, const struct eva_call_row *row,
                           double part);

#endif
