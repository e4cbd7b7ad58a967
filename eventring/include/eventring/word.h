/* SPDX-License-Identifier: MIT */
/* word.h: the bits of an event word, for probes and for code that reads recordings.
 * doc/FORMAT.md has the meaning of each field. */
#ifndef EVENTRING_WORD_H
#define EVENTRING_WORD_H

#include <stdint.h>

/* The layout of an event word. */
enum {
  EVENTRING_WORD_KIND_BITS = 3,
  EVENTRING_WORD_LENGTH_SHIFT = 3,
  EVENTRING_WORD_LENGTH_BITS = 7,
  EVENTRING_WORD_ID_SHIFT = 10,
  EVENTRING_WORD_ID_BITS = 13,
  EVENTRING_WORD_TIME_SHIFT = 23,
  EVENTRING_WORD_TIME_BITS = 41
};

/* The low 23 bits of a word: everything but its time. An id that is out of range does not
   spill into the time. (The parts have no bits in common. They are added, because
   processors add three numbers in one instruction.) */
#define EVENTRING_TAIL(kind, id, words) \
  ((uint64_t)(kind) + ((uint64_t)(words) << EVENTRING_WORD_LENGTH_SHIFT) + \
   (((uint64_t)(id) & ((1u << EVENTRING_WORD_ID_BITS) - 1)) << EVENTRING_WORD_ID_SHIFT))

#endif /* EVENTRING_WORD_H */
