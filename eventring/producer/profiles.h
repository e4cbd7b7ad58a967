/* SPDX-License-Identifier: MIT */
/* profiles.h: profiles of calls in the recording: see profiles.c. */
#ifndef EVENTRING_PROFILES_H
#define EVENTRING_PROFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

#pragma GCC visibility push(hidden)

struct evr_profile_blocks {
  struct format_block **list;
  uint32_t count, room;
};

/* The profiles of one life of a domain. Only its owner uses the blocks; the mutex guards
   everything else. */
struct evr_profile_area {
  struct evr_profile_area *next; /* the next, later area in the list */
  unsigned slot;
  uint32_t incarnation;
  uint64_t written; /* number of profiles written */
  bool final;       /* the last profile was final */
  struct evr_profile_blocks half[2]; /* profile n is in half[n % 2] */
};

/* The profiles of a recording. Guarded by the mutex. All zero: empty. */
struct evr_profiles {
  struct evr_profile_area *areas;
  struct evr_profile_blocks unused; /* free blocks that belonged to profiles */
  uint32_t claimed;                 /* number of blocks claimed, at most
                                       FORMAT_PROFILE_BUDGET */
  uint64_t sequence;                /* sequence of the last block that was written */
};

void evr_profiles_free(struct evr_profiles *profiles);

#pragma GCC visibility pop

#endif /* EVENTRING_PROFILES_H */
