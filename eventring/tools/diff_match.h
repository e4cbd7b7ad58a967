/* SPDX-License-Identifier: MIT */
/* diff_match.h: which functions, or lines, of different runs are the same (design:
 * diff_match.c). */
#ifndef EVENTRING_TOOL_DIFF_MATCH_H
#define EVENTRING_TOOL_DIFF_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff_place {
  const char *name, *source;
  uint32_t line; /* 0: not known */
  size_t run;    /* of 0 to runs - 1; those of A are even */
  size_t same;   /* out: the index of the place that stands for all that are the same, of the
                    first run that has it */
};

/* `lines`: the places are lines of functions, of which a run may have others than the
   next, so that what has no counterpart has none; or else functions. */
void diff_match(struct diff_place *places, size_t count, size_t runs, bool lines);

#endif
