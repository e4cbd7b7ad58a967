/* SPDX-License-Identifier: MIT */
/* live_processes.c: the processes of this machine that record (live_processes.h). */
#include "live_processes.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "format/now.h"
#include "options.h"
#include "tool.h"

enum { SECOND = 1000000000, MOST_WAIT = 10 /* seconds */ };

static int by_pid(const void *a, const void *b) {
  const struct live_process *x = a, *y = b;
  return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct live_process *find(const struct live_processes *live, size_t count, pid_t pid) {
  const struct live_process key = {.pid = pid};
  return count ? bsearch(&key, live->list, count, sizeof key, by_pid) : NULL;
}

/* Marks a process as present, after adding it if it is new. The first `count` of the list
   are sorted. */
static void note_pid(struct live_processes *live, size_t count, pid_t pid) {
  struct live_process *p = find(live, count, pid);
  if (!p) {
    p = NEED_NEXT(live->list, live->count);
    *p = (struct live_process){.pid = pid};
  }
  p->is_there = true;
}

static void list_pids(struct live_processes *live) {
  const size_t count = live->count;
  for (size_t i = 0; i < live->only_count; i++) note_pid(live, count, live->only[i]);
  DIR *proc = live->only ? NULL : opendir("/proc");
  struct dirent *entry;
  pid_t pid;
  while (proc && (entry = readdir(proc)) != NULL)
    if (read_process_number(entry->d_name, &pid)) note_pid(live, count, pid);
  if (proc) closedir(proc);
  if (live->count > count) qsort(live->list, live->count, sizeof *live->list, by_pid);
}

static void close_cursor(struct live_process *p) {
  if (p->cursor) eventring_close(p->cursor);
  p->cursor = NULL;
}

static bool read_info(struct live_process *p) {
  p->info = (struct eventring_info){.size = sizeof p->info};
  if (eventring_cursor_info(p->cursor, &p->info) == 0 && p->info.liveness == EVENTRING_LIVE)
    return true;
  close_cursor(p);
  return false;
}

static void look(struct live_process *p, uint64_t now) {
  struct eventring_error error;
  if (p->cursor && read_info(p)) return;
  if (now < p->look_at) return;
  if (eventring_open_pid(&p->cursor, p->pid, EVENTRING_OPEN_NOW, &error) == 0) {
    if (read_info(p)) p->waited = 0;
  } else {
    p->cursor = NULL;
  }
  if (p->cursor) return;
  p->waited = p->waited ? 2 * p->waited : SECOND;
  if (p->waited > (uint64_t)MOST_WAIT * SECOND) p->waited = (uint64_t)MOST_WAIT * SECOND;
  p->look_at = now + p->waited;
}

static bool is_same(const struct eventring_info *a, const struct eventring_info *b) {
  return a->pid == b->pid && a->start_ns == b->start_ns && a->start_wall_ns == b->start_wall_ns;
}

/* Marks forked children, which map the file of their parent and do not record. The parent
   has the pid that is in the file. In a container both have other pids; then the lower
   pid counts as the parent's. */
static void mark_doubles(struct live_processes *live) {
  for (size_t i = 0; i < live->count; i++) {
    struct live_process *p = &live->list[i];
    p->is_double = false;
    for (size_t j = 0; p->cursor && p->pid != p->info.pid && j < live->count; j++) {
      const struct live_process *other = &live->list[j];
      if (other == p || !other->cursor || !is_same(&p->info, &other->info)) continue;
      p->is_double |= other->pid == other->info.pid || other->pid < p->pid;
    }
  }
}

void live_refresh(struct live_processes *live) {
  const uint64_t now = now_ns();
  size_t kept = 0;
  for (size_t i = 0; i < live->count; i++) live->list[i].is_there = false;
  list_pids(live);
  for (size_t i = 0; i < live->count; i++) {
    struct live_process *p = &live->list[i];
    if (!p->is_there) {
      close_cursor(p);
      continue;
    }
    look(p, now);
    live->list[kept++] = *p;
  }
  live->count = kept;
  mark_doubles(live);
}

void live_free(struct live_processes *live) {
  for (size_t i = 0; i < live->count; i++) close_cursor(&live->list[i]);
  free(live->list);
  *live = (struct live_processes){0};
}
