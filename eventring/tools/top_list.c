/* SPDX-License-Identifier: MIT */
/* top_list.c: finds and reads the processes that `eventring top` shows.
 *
 * A search reads what all processes of the machine map; if there are many, this takes
 * longer than all else. So there is at most one search each second, and it may take 1 /
 * MOST_SHARE of the time. Between searches, only the known processes are read. The row of
 * a process that has ended stays for TOP_WINDOW_NS, so that the user sees that it has
 * ended. The row stays to the end of the command if the user named the process, and goes
 * at once if the same process has begun another recording.
 */
#include "top_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/figures.h"
#include "format/now.h"
#include "reader.h"
#include "shared_views.h"

enum { MOST_SHARE = 250 /* a search takes at most 1 / 250 of the time */ };
#define LEAST_SEARCH_NS UINT64_C(1000000000)
#define MOST_SEARCH_NS UINT64_C(30000000000)

const char *const top_order_names[] = {"cpu", "gc", "pause", "alloc", "heap", "resident", "lost",
                                       "pid", "program", NULL};

/* ---- Searching ---------------------------------------------------------------- */

static struct top_process *add(struct top_list *list, eventring_cursor *cursor) {
  return *NEED_NEXT(list->all, list->count) = top_process_new(cursor);
}

static bool is_it(const struct top_process *p, const struct eventring_found *found) {
  return p->info.start_ns == found->start_ns && p->info.pid == found->pid &&
         strcmp(p->info.program, found->program) == 0;
}

static int take_found(void *context, const struct eventring_found *found) {
  struct top_list *list = context;
  eventring_cursor *cursor;
  if (found->status != 0 || found->liveness != EVENTRING_LIVE) return 0;
  for (size_t i = 0; i < list->count; i++) {
    if (!is_it(list->all[i], found) || list->all[i]->gone_ns) continue;
    return 0;
  }
  /* (no row is made for a process that is gone or unreadable by now) */
  const int status = found->process
                         ? eventring_open_pid(&cursor, found->process, 0, NULL)
                         : eventring_open_path(&cursor, found->path, 0, NULL);
  if (status == EVENTRING_OK) add(list, cursor);
  return 0;
}

static void search(struct top_list *list) {
  const uint64_t begin = now_ns();
  search_path_discover(&list->where, take_found, list);
  list->searched_ns = now_ns();
  list->search_ns = list->searched_ns - begin;
}

static bool is_search_due(const struct top_list *list) {
  uint64_t pause = list->search_ns * MOST_SHARE;
  if (pause < LEAST_SEARCH_NS) pause = LEAST_SEARCH_NS;
  if (pause > MOST_SEARCH_NS) pause = MOST_SEARCH_NS;
  return !list->is_named && now_ns() - list->searched_ns >= pause;
}

static int open_named(struct top_list *list, char **words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct reader reader;
    const int opened = reader_open_present(&reader, words[i], EVENTRING_OPEN_FOLLOW);
    if (goes_on(opened)) add(list, reader.cursor)->is_named = true;
    else list->status = opened;
  }
  return list->count ? STATUS_GO_ON : list->status;
}

int top_list_open(struct top_list *list, char **words, size_t count) {
  list->is_named = count > 0;
  const int status = list->is_named ? open_named(list, words, count)
                                    : search_path_take(&list->where, NULL, 0, false);
  if (goes_on(status) && !list->is_named) search(list);
  return status;
}

void top_list_close(struct top_list *list) {
  for (size_t i = 0; i < list->count; i++) top_process_free(list->all[i]);
  free(list->all);
  search_path_free(&list->where);
}

/* ---- Refreshing --------------------------------------------------------------- */

static bool has_successor(const struct top_list *list, const struct top_process *p) {
  for (size_t i = 0; i < list->count; i++) {
    const struct top_process *other = list->all[i];
    if (other != p && !other->gone_ns && other->info.process == p->info.process &&
        other->info.pid == p->info.pid)
      return true;
  }
  return false;
}

static void forget_ended(struct top_list *list) {
  const uint64_t now = now_ns();
  for (size_t i = list->count; i-- > 0;) {
    struct top_process *p = list->all[i];
    if (!p->gone_ns || p->is_named) continue;
    if (now - p->gone_ns <= TOP_WINDOW_NS && !has_successor(list, p)) continue;
    top_process_free(p);
    list->count--;
    memmove(list->all + i, list->all + i + 1, (list->count - i) * sizeof *list->all);
  }
}

void top_list_refresh(struct top_list *list) {
  struct timespec wall;
  if (is_search_due(list)) search(list);
  for (size_t i = 0; i < list->count; i++) top_process_refresh(list->all[i]);
  forget_ended(list);
  clock_gettime(CLOCK_REALTIME, &wall);
  const uint64_t now = now_ns();
  list->interval_ns = list->refreshed_ns ? now - list->refreshed_ns : 0;
  list->refreshed_ns = now;
  list->wall_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec;
  top_list_sort(list);
}

bool top_list_is_over(const struct top_list *list) {
  for (size_t i = 0; i < list->count; i++)
    if (!list->all[i]->gone_ns) return false;
  return list->is_named;
}

/* ---- Order -------------------------------------------------------------------- */

/* Returns the key by which a process is sorted. Less than 0 means not known, which is
   sorted below all known keys. */
static double key_of(const struct top_process *p, enum top_order order) {
  const struct top_figures *f = &p->figures;
  switch (order) {
    case TOP_BY_CPU: return f->has_cpu ? f->cpu : -1;
    case TOP_BY_GC: return f->has_gc ? f->gc : -1;
    case TOP_BY_PAUSE: return f->has_pause ? (double)f->pause_ns : -1;
    case TOP_BY_RATE: return f->has_rate ? (double)f->rate : -1;
    case TOP_BY_HEAP: return f->has_heap ? (double)f->heap : -1;
    case TOP_BY_RESIDENT: return f->has_resident ? (double)f->resident : -1;
    case TOP_BY_LOST: return (double)f->lost;
    case TOP_BY_PID: case TOP_BY_PROGRAM: case TOP_ORDERS: break;
  }
  return 0;
}

static bool is_shown(const struct top_list *list, const struct top_process *p) {
  char pid[24];
  snprintf(pid, sizeof pid, "%ld", (long)p->pid);
  return strstr(p->info.program, list->filter) || strstr(pid, list->filter);
}

/* Compares two processes with equal keys: the one that began first comes first. */
static int compare_by_start(const struct top_process *a, const struct top_process *b) {
  if (a->info.start_wall_ns != b->info.start_wall_ns)
    return a->info.start_wall_ns < b->info.start_wall_ns ? -1 : 1;
  return strcmp(a->info.path, b->info.path);
}

static int compare(const void *left, const void *right, void *context) {
  const struct top_process *a = *(struct top_process *const *)left;
  const struct top_process *b = *(struct top_process *const *)right;
  const struct top_list *list = context;
  const int shown = is_shown(list, b) - is_shown(list, a);
  int order = 0;
  if (shown) return shown;
  if (list->order == TOP_BY_PID) {
    order = (a->pid > b->pid) - (a->pid < b->pid);
  } else if (list->order == TOP_BY_PROGRAM) {
    order = strcmp(a->info.program, b->info.program);
  } else {
    const double x = key_of(a, list->order), y = key_of(b, list->order);
    order = (x < y) - (x > y);
  }
  if (list->reversed) order = -order;
  return order ? order : compare_by_start(a, b);
}

void top_list_sort(struct top_list *list) {
  if (list->count) qsort_r(list->all, list->count, sizeof *list->all, compare, list);
  list->shown = 0;
  while (list->shown < list->count && is_shown(list, list->all[list->shown])) list->shown++;
}

const char *top_list_text(const struct top_list *list) {
  char *text = eva_figure();
  const char *end = list->count == 1 ? "process" : "processes";
  if (!list->count) snprintf(text, EVA_FIGURE, "no process records");
  else if (list->shown == list->count)
    snprintf(text, EVA_FIGURE, "%s %s", eva_count(list->count), end);
  else
    snprintf(text, EVA_FIGURE, "%s of %s %s", eva_count(list->shown), eva_count(list->count), end);
  return text;
}

/* ---- Views -------------------------------------------------------------------- */

void top_list_rows(struct view_to *to, const void *context) {
  const struct top_list *list = context;
  for (size_t i = 0; i < list->shown; i++) view_row(to, list->all[i]);
}

VIEW(top_view, struct top_list,
    {"wall_ns", NULL, VIEW_WALL, ROW(wall_ns), .help = "time of the refresh"},
    {"interval_ns", NULL, VIEW_NS, ROW(interval_ns), .flags = VIEW_NO_0,
     .help = "since the last refresh; null at the first one"},
    {"rows", NULL, VIEW_ROWS, .view = &top_process_view, .rows = top_list_rows})
