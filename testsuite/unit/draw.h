/* SPDX-License-Identifier: MIT */
/* draw.h: the same random numbers in each run (Marsaglia's xorshift, 64 bits). */
#ifndef DRAW_H
#define DRAW_H

#include <stdint.h>

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_bits(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

/* Returns a random number below `below`, which is small. */
static inline unsigned draw(unsigned below) { return (unsigned)(random_bits() % below); }

#endif
