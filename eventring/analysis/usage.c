/* SPDX-License-Identifier: MIT */
/* usage.c: what the system says of a process (/proc/PID/stat, proc(5)). */
#include "usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The numbers of /proc/PID/stat behind the state, which is number 3. */
enum { FIRST = 4, UTIME = 14, STIME = 15, THREADS = 20, START = 22, RESIDENT = 24 };

bool eva_usage_of(pid_t pid, struct eva_usage *usage) {
  char path[40], text[1024];
  uint64_t number[RESIDENT + 1] = {0};
  snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return false;
  text[size] = '\0';
  char *at = strrchr(text, ')'); /* the name of the program may have any character */
  if (!at || strlen(at) < 4) return false;
  usage->state = at[2];
  at += 3;
  for (int i = FIRST; i <= RESIDENT; i++) {
    char *end;
    number[i] = strtoull(at, &end, 10);
    if (end == at) return false;
    at = end;
  }
  const long ticks = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
  if (ticks <= 0 || page <= 0) return false;
  usage->cpu_ns = (number[UTIME] + number[STIME]) * (1000000000u / (uint64_t)ticks);
  usage->resident = number[RESIDENT] * (uint64_t)page;
  usage->start = number[START];
  usage->threads = (uint32_t)number[THREADS];
  return true;
}
