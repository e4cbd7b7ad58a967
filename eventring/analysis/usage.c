/* SPDX-License-Identifier: MIT */
/* usage.c: what the system says of a process: its clock, and /proc/PID (proc(5)). */
#include "usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 20 }; /* field of /proc/PID/stat with the number of threads; the state is
                          field 3 */

/* Reads a file of the process; the text is "" if the file is not there. */
static void read_text(pid_t pid, const char *name, char *text, size_t room) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
  int fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  ssize_t size = fd >= 0 ? read(fd, text, room - 1) : 0;
  if (fd >= 0) close(fd);
  text[size > 0 ? size : 0] = '\0';
}

/* Reads the clock of the process. (The times in /proc/PID/stat are in ticks of 10 ms.) */
bool eva_cpu_time_of(pid_t pid, uint64_t *ns) {
  clockid_t clock;
  struct timespec time;
  if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return false;
  *ns = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
  return true;
}

/* Reads statm. (The size in /proc/PID/stat may lack some pages for each processor.) */
bool eva_resident_of(pid_t pid, uint64_t *bytes) {
  char text[256];
  unsigned long long all, pages;
  const long page = sysconf(_SC_PAGESIZE);
  read_text(pid, "statm", text, sizeof text);
  if (page <= 0 || sscanf(text, "%llu %llu", &all, &pages) != 2) return false;
  *bytes = pages * (uint64_t)page;
  return true;
}

static bool threads_of(pid_t pid, uint32_t *threads) {
  char text[1024];
  read_text(pid, "stat", text, sizeof text);
  char *at = strrchr(text, ')'); /* the name of the program may contain any character */
  for (int i = 2; at && i < THREADS; i++) at = strchr(at + 1, ' ');
  if (!at) return false;
  *threads = (uint32_t)strtoul(at, NULL, 10);
  return true;
}

bool eva_usage_of(pid_t pid, struct eva_usage *usage) {
  return eva_cpu_time_of(pid, &usage->cpu_ns) && eva_resident_of(pid, &usage->resident) &&
         threads_of(pid, &usage->threads);
}
