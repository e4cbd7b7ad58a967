/* SPDX-License-Identifier: MIT */
/* dead.c: see dead.h. (A pid is a weaker request than a path: another user may have put a
   file there.) */
#include "dead.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parents.h"
#include "search_path.h"

bool process_runs(pid_t pid) {
  char name[64], state = '\0'; /* stays 0 without /proc */
  if (kill(pid, 0) != 0 && access("/proc/self", F_OK) == 0) {
    snprintf(name, sizeof name, "/proc/%d", (int)pid);
    if (access(name, F_OK) != 0) return false;
  }
  process_parent(pid, &state);
  return state != 'Z' && state != 'X';
}

struct search {
  pid_t pid;
  char *path;
  int64_t start;
};

static bool is_trusted(const char *path) {
  struct stat file, directory;
  if (lstat(path, &file) != 0) return false;
  if (file.st_uid == geteuid()) return true;
  char *parent = directory_of(path);
  bool closed = stat(parent, &directory) == 0 && !(directory.st_mode & S_IWOTH);
  free(parent);
  return closed;
}

static int take_newest(void *context, const struct eventring_found *found) {
  struct search *s = context;
  bool is_left = found->status == 0 && found->pid == s->pid &&
                 (found->liveness == EVENTRING_DEAD || found->liveness == EVENTRING_ENDED);
  if (!is_left || (s->path && found->start_wall_ns <= s->start) || !is_trusted(found->path))
    return 0;
  free(s->path);
  s->path = need_copy(found->path);
  s->start = found->start_wall_ns;
  return 0;
}

char *dead_recording(pid_t pid) {
  struct search search = {.pid = pid};
  struct search_path where;
  if (goes_on(search_path_take(&where, NULL, 0, false)))
    search_path_discover(&where, take_newest, &search);
  search_path_free(&where);
  return search.path;
}
