/* SPDX-License-Identifier: MIT */
/* time_profile.h: where time goes, whoever measured it: the profile of calls of a
 * recording (exact), samples of a live process, or of perf (counted). All are trees of
 * functions, one a domain, so that each view and each format is written once. */
#ifndef EVENTRING_TOOL_TIME_PROFILE_H
#define EVENTRING_TOOL_TIME_PROFILE_H

#include "eventring/calls.h"
#include "eventring/tools.h"
#include "tool.h"

struct time_profile {
  struct eventring_profiles profiles;
  uint32_t **lines;    /* of samples by place: for each profile the line of each node; or NULL */
  bool sampled;        /* a node's `count` is the number of samples that end in it */
  int64_t pid;         /* 0: not known */
  uint64_t period_ns;  /* of samples: what each stands for */
  uint64_t samples;    /* periods that are counted */
  uint64_t late;       /* of them, those for which a later stack stands */
  /* Where children are sampled as well: processes that run Saros and were seen, of
     them those that ended before a sample, and how long one lives that may not have
     been seen. */
  uint64_t processes, unsampled, unseen_ms;
  uint64_t moving, torn; /* stacks */
  bool exact_lines;      /* samples: each instruction was to be noted, so that lines are exact */
  uint64_t coarse;       /* with exact_lines: samples that have the line noted last all the same */
  int64_t start_wall_ns;
  char program[EVENTRING_MAX_PROGRAM + 1];
  const char *how;     /* a line about how it was measured, or NULL */
};

void time_profile_free(struct time_profile *profile);

/* How fine the trees of samples are. */
enum sample_detail {
  SAMPLE_BY_FUNCTION,
  SAMPLE_BY_LINE,  /* a function at each of its lines is one of its own, with that line */
  SAMPLE_BY_PLACE  /* ... is a node of its own; functions have the line of their definition */
};

#endif
