/* SPDX-License-Identifier: MIT */
/* nearest.h: which word a misspelt word was meant to be. */
#ifndef EVENTRING_ANALYSIS_NEAREST_H
#define EVENTRING_ANALYSIS_NEAREST_H

#include <stddef.h>

/* A search for the word that is nearest to a given one. */
struct eva_nearest {
  const char *given;
  size_t size;      /* of `given`, in bytes */
  const char *word; /* the nearest word so far; NULL: none is near */
  size_t distance;
};

void eva_nearest_begin(struct eva_nearest *nearest, const char *given, size_t size);
void eva_nearest_try(struct eva_nearest *nearest, const char *word);

#endif
