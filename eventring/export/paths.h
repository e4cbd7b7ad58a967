/* SPDX-License-Identifier: MIT */
/* paths.h: what formats of functions and calls need: the figures of a profile summed by
 * function, and by call of one function by another. */
#ifndef EVENTRING_EXPORT_PATHS_H
#define EVENTRING_EXPORT_PATHS_H

#include <stdbool.h>

#include "export/export.h"

/* A call of `callee` from a line of `caller`, or, with callee UINT32_MAX, what a line of
   `caller` took itself. The figures of a call include all that it led to. If `callee` is
   on the stack already, its outermost call has them, and here they are in `recursive`. */
struct export_edge {
  uint32_t caller, line, callee, callee_line;
  double value[EXPORT_VALUES], recursive[EXPORT_VALUES];
  double own[EXPORT_VALUES]; /* of a call: what the callee took itself */
};

struct export_paths {
  struct export_edge *edges; /* by caller, line and callee */
  size_t count;
  double (*inclusive)[EXPORT_VALUES]; /* of each function, its outermost activations */
  double (*own)[EXPORT_VALUES];       /* of each function, without its callees */
  double total[EXPORT_VALUES];
};

/* Sums a profile. `with_lines`: calls from different lines are kept apart. Returns 0, or
   -1: no memory. To be freed in any case. */
int export_paths_make(struct export_paths *paths, const struct export_profile *profile,
                      bool with_lines);
void export_paths_free(struct export_paths *paths);

#endif
