/* SPDX-License-Identifier: MIT */
/* parents.c: reads what the system knows of a process. */
#include "parents.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STAT_TEXT = 1024 };

/* Reads /proc/PID/stat. Returns what follows the name, which may contain anything, or
   NULL. */
static const char *read_stat(pid_t pid, char text[STAT_TEXT]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  FILE *file = fopen(path, "re");
  if (!file) return NULL;
  text[fread(text, 1, STAT_TEXT - 1, file)] = '\0';
  fclose(file);
  const char *name_end = strrchr(text, ')');
  return name_end ? name_end + 1 : NULL;
}

pid_t process_parent(pid_t pid, char *state) {
  char text[STAT_TEXT], ignored;
  int parent = 0;
  const char *fields = read_stat(pid, text);
  bool read = fields && sscanf(fields, " %c %d", state ? state : &ignored, &parent) == 2;
  return read ? (pid_t)parent : 0;
}

uint64_t process_age_ns(pid_t pid) {
  /* the third field is the first here, the start time is the 22nd */
  static const char format[] = " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s"
                               " %*s %*s %*s %llu";
  char text[STAT_TEXT];
  unsigned long long start_ticks;
  struct timespec now;
  const char *fields = read_stat(pid, text);
  long ticks_a_second = sysconf(_SC_CLK_TCK);
  if (!fields || ticks_a_second <= 0 || sscanf(fields, format, &start_ticks) != 1 ||
      clock_gettime(CLOCK_BOOTTIME, &now) != 0)
    return UINT64_MAX;
  uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
  uint64_t start_ns = start_ticks * (1000000000 / (uint64_t)ticks_a_second);
  return now_ns > start_ns ? now_ns - start_ns : 0;
}
