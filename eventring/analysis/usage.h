/* SPDX-License-Identifier: MIT */
/* usage.h: what the system says of a process: processor time and memory. */
#ifndef EVENTRING_ANALYSIS_USAGE_H
#define EVENTRING_ANALYSIS_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct eva_usage {
  uint64_t cpu_ns;    /* of all its threads, to the clock tick of the system (10 ms) */
  uint64_t resident;  /* bytes */
  uint64_t start;     /* clock ticks after boot: with the pid, which process it is */
  uint32_t threads;
  char state;         /* as in /proc/PID/stat: 'R', 'S', 'Z' ... */
};
/* Fills *usage with what /proc says of process `pid`. False: there is none, or it is not to be
   seen. Any thread. */
bool eva_usage_of(pid_t pid, struct eva_usage *usage);

#endif
