/* SPDX-License-Identifier: MIT */
/* diff_match.h: which functions, or lines, of different runs are the same (design:
 * diff_match.c). */
#ifndef EVENTRING_TOOL_DIFF_MATCH_H
#define EVENTRING_TOOL_DIFF_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff_site {
  const char *name, *source;
  uint32_t line; /* 0: not known */
  size_t run;    /* from 0 to runs - 1; those of A are even */
  /* out: the index of the site that stands for all that are the same: that of the first
     run which has it */
  size_t same;
};

/* Finds which sites are the same. If `lines`, they are lines of functions, of which a
   run may have others than the next, so that a line without a counterpart stays alone; or
   else they are functions. */
void diff_match(struct diff_site *sites, size_t count, size_t runs, bool lines);

#endif
