/* SPDX-License-Identifier: MIT */
/* diff_match.h: finds which functions, or lines, of different runs are the same (design:
 * diff_match.c). */
#ifndef EVENTRING_TOOL_DIFF_MATCH_H
#define EVENTRING_TOOL_DIFF_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diff_site {
  const char *name, *source;
  uint32_t line; /* 0: not known */
  size_t run;    /* from 0 to runs - 1; the runs of A are even */
  /* result: index of the site in the first run that has it, which represents all sites
     that are the same */
  size_t same;
};

/* Finds which sites are the same. If `lines`, the sites are lines of functions, else
   functions. Another run may have other lines, so a line without a counterpart stays
   alone. */
void diff_match(struct diff_site *sites, size_t count, size_t runs, bool lines);

#endif
