/* SPDX-License-Identifier: MIT */
/* usage.h: what the system says of a process: processor time and memory. */
#ifndef EVENTRING_ANALYSIS_USAGE_H
#define EVENTRING_ANALYSIS_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct eva_usage {
  uint64_t cpu_ns;   /* processor time of all its threads */
  uint64_t resident; /* bytes */
  uint32_t threads;
};
/* Fills *usage with what the system says of process `pid` now. Returns false: there is no
   such process, or it is not visible. Any thread. */
bool eva_usage_of(pid_t pid, struct eva_usage *usage);
/* Finds only one of the two figures, which is cheaper. Returns false if there is no such
   process, or it is not visible. */
bool eva_cpu_time_of(pid_t pid, uint64_t *ns);
bool eva_resident_of(pid_t pid, uint64_t *bytes);

#endif
