/* SPDX-License-Identifier: MIT */
/* nearest.h: what a misspelt word was meant to be. */
#ifndef EVENTRING_TOOL_NEAREST_H
#define EVENTRING_TOOL_NEAREST_H

#include <stddef.h>

/* The search for the word that is nearest to one that was given. */
struct nearest {
  const char *given;
  size_t size;      /* of it, in bytes */
  const char *word; /* the nearest so far; NULL: none is near */
  size_t distance;
};

void nearest_begin(struct nearest *nearest, const char *given, size_t size);
void nearest_try(struct nearest *nearest, const char *word);

#endif
