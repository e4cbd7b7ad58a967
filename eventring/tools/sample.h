/* SPDX-License-Identifier: MIT */
/* sample.h: samples the stacks of live processes (design: sample.c). */
#ifndef EVENTRING_TOOL_SAMPLE_H
#define EVENTRING_TOOL_SAMPLE_H

#include "launch.h"
#include "time_profile.h"

enum { SAMPLE_MOST_HZ = 20000 };

struct sample_options {
  uint64_t hz;         /* 1 to SAMPLE_MOST_HZ */
  uint64_t seconds_ns; /* 0: until the process ends */
  uint64_t domain;     /* UINT64_MAX: all */
  bool cpu, idle;      /* only of threads that run; that do not. Not both */
  bool children;       /* of the processes that descend from it as well */
};

struct sampling;
enum { SAMPLE_FORBIDDEN = 1000 };
/* Samples the process, until the time is up, it ends, or the user interrupts. `launch`: the
   program that was started as that process, or NULL. -1, or the exit status after a message, or
   SAMPLE_FORBIDDEN: the kernel does not let its memory be read (sample_why_not). */
int sample_process(struct sampling **sampling, pid_t pid, struct launch *launch,
                   const struct sample_options *options);
/* What was counted; freed apart. */
void sample_profile(const struct sampling *sampling, enum sample_detail detail,
                    struct time_profile *profile);
const char *sample_why_not(const struct sampling *sampling);
void sample_free(struct sampling *sampling);

#endif
