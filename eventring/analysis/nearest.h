/* SPDX-License-Identifier: MIT */
/* nearest.h: what a misspelt word was meant to be. */
#ifndef EVENTRING_ANALYSIS_NEAREST_H
#define EVENTRING_ANALYSIS_NEAREST_H

#include <stddef.h>

/* The search for the word that is nearest to one that was given. */
struct eva_nearest {
  const char *given;
  size_t size;      /* of `given`, in bytes */
  const char *word; /* the nearest so far; NULL: none is near */
  size_t distance;
};

void eva_nearest_begin(struct eva_nearest *nearest, const char *given, size_t size);
void eva_nearest_try(struct eva_nearest *nearest, const char *word);

#endif
