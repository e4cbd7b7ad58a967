/* SPDX-License-Identifier: MIT */
/* slowness.h: what TEST_SLOWNESS says, for tests that do less where all takes longer. */
#ifndef SLOWNESS_H
#define SLOWNESS_H

#include <stdlib.h>

/* Returns how many times slower this build or machine is than a plain one, 1 to 1000. */
static inline unsigned slowness(void) {
  const char *text = getenv("TEST_SLOWNESS");
  long n = text ? strtol(text, NULL, 10) : 1;
  return n < 1 ? 1 : n > 1000 ? 1000 : (unsigned)n;
}

#endif
