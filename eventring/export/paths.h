/* SPDX-License-Identifier: MIT */
/* paths.h: sums the figures of a profile by function and by call of one function by
 * another, for formats of functions and calls. */
#ifndef EVENTRING_EXPORT_PATHS_H
#define EVENTRING_EXPORT_PATHS_H

#include <stdbool.h>

#include "export/export.h"

/* A call of `callee` from a line of `caller`; callee UINT32_MAX: what a line of `caller`
   took itself. The figures of a call include all calls below it. If `callee` is already
   on the stack, the figures count for its outermost call, and are kept here in
   `recursive`. */
struct export_edge {
  uint32_t caller, line, callee, callee_line;
  double value[EXPORT_VALUES], recursive[EXPORT_VALUES];
  double own[EXPORT_VALUES]; /* what the callee took itself in these calls */
};

struct export_paths {
  struct export_edge *edges; /* sorted by caller, line and callee */
  size_t count;
  double (*inclusive)[EXPORT_VALUES]; /* by function: figures of its outermost
                                         activations */
  double (*own)[EXPORT_VALUES];       /* by function: figures without its callees */
  double total[EXPORT_VALUES];
};

/* Sums a profile. `with_lines`: keeps calls from different lines apart. Returns 0, or -1
   when out of memory. The result must be freed in both cases. */
int export_paths_make(struct export_paths *paths, const struct export_profile *profile,
                      bool with_lines);
void export_paths_free(struct export_paths *paths);

#endif
