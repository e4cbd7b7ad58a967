/* SPDX-License-Identifier: MIT */
/* time_profile.h: where time goes, however it was measured: the profile of calls of a
 * recording (exact), or samples of a live process or of perf (counted). All are trees of
 * functions, one for each domain, so each view and each format is written once. */
#ifndef EVENTRING_TOOL_TIME_PROFILE_H
#define EVENTRING_TOOL_TIME_PROFILE_H

#include "eventring/calls.h"
#include "eventring/tools.h"
#include "tool.h"

struct time_profile {
  struct eventring_profiles profiles;
  /* with samples by site, for each profile the line of each node; else NULL */
  uint32_t **lines;
  bool sampled;        /* a node's `count` is the number of samples that end in it */
  int64_t pid;         /* 0: not known */
  uint64_t period_ns;  /* with samples, the ns for which each counts */
  uint64_t samples;    /* number of periods counted */
  uint64_t late;       /* number of these periods for which a later stack counts */
  /* if children are sampled, too: number of processes seen to run Saros, number of those
     that ended before a sample, and longest life (ms) of a process that may have been
     missed */
  uint64_t processes, unsampled, unseen_ms;
  uint64_t moving, torn; /* number of stacks that changed while they were read
                            (sample.h) */
  /* with samples, each instruction was to be noted, for exact lines */
  bool exact_lines;
  /* with exact_lines, number of samples that have only the line noted last */
  uint64_t coarse;
  int64_t start_wall_ns;
  char program[EVENTRING_MAX_PROGRAM + 1];
  const char *how;     /* a line about how it was measured, or NULL */
};

void time_profile_free(struct time_profile *profile);

/* How fine the trees of samples are. */
enum sample_detail {
  SAMPLE_BY_FUNCTION,
  SAMPLE_BY_LINE,  /* each line of a function is a function of its own, with that line */
  SAMPLE_BY_SITE   /* each line of a function is a node; functions have the line of their
                      definition */
};

#endif
