/* SPDX-License-Identifier: MIT */
/* cmd_list.c: `eventring list`: lists what is recorded on this machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ending.h"
#include "analysis/figures.h"
#include "analysis/names.h"
#include "options.h"
#include "search_path.h"
#include "shared_views.h"

struct row {
  struct eventring_found found;
  bool is_sound;
  /* The pid that commands on this machine take. For a live process that is visible from
     here it is the pid in this pid namespace, for others the pid in their file. */
  pid_t pid, other_pid; /* other_pid is the pid in the file if that differs, else 0 */
  struct eva_ending ending;
};

static bool is_live(const void *row) {
  const struct row *r = row;
  return r->is_sound && r->found.liveness == EVENTRING_LIVE;
}

VIEW_GETTER(life, struct row) {
  char unrecorded[40] = "";
  if (!row->is_sound) return view_text("unreadable");
  if (row->found.unrecorded)
    snprintf(unrecorded, sizeof unrecorded, ", %u domains unrecorded", row->found.unrecorded);
  if (is_live(row))
    return view_printf(to, "live, %s%s%s", eva_state_name(row->found.state),
                       eva_room_text(row->found.no_room), unrecorded);
  return view_printf(to, "%s%s", eva_liveness_name(row->found.liveness), unrecorded);
}

VIEW_GETTER(started, struct row) {
  enum { TO_THE_SECOND = 19 };
  eva_wall_text(to->room, row->found.start_wall_ns)[TO_THE_SECOND] = '\0';
  return view_text(to->room);
}

/* Returns how a process ended, with the first line of its error message, which says what
   happened. */
VIEW_GETTER(ended, struct row) {
  char how[EVA_ENDING];
  if (!row->is_sound) return view_text(row->found.status_text);
  eva_ending_text(how, &row->ending);
  int line = (int)strcspn(row->ending.error, "\n");
  return view_printf(to, "%s%s%.*s", how, how[0] && line ? ": " : "", line, row->ending.error);
}

#define SOUND VIEW_IF(is_sound), .flags = VIEW_PART
static VIEW(list_view, struct row,
    {"pid", "pid", VIEW_PLAIN, ROW(pid), .flags = VIEW_NO_0},
    {"own_pid", NULL, VIEW_PLAIN, ROW(found.pid), VIEW_IF(is_sound),
     .flags = VIEW_PART | VIEW_NO_0, .help = "in its own pid namespace"},
    {NULL, "?own pid", VIEW_PLAIN, ROW(other_pid), .flags = VIEW_DASH_0},
    {NULL, "<state", VIEW_PLAIN, VIEW_GET(TEXT, life)},
    {"liveness", NULL, VIEW_LIVENESS, ROW(found.liveness), SOUND},
    {"state", NULL, VIEW_STATE, ROW(found.state), SOUND},
    {"no_room", NULL, VIEW_COUNT, ROW(found.no_room), SOUND,
     .help = "rings that found no room on the disk for their next block"},
    {"unrecorded", NULL, VIEW_COUNT, ROW(found.unrecorded), SOUND,
     .help = "domains so far that found all slots in use: nothing of them is recorded"},
    {"start_ns", NULL, VIEW_MOMENT, ROW(found.start_ns), SOUND},
    {"start_wall_ns", NULL, VIEW_WALL, ROW(found.start_wall_ns), SOUND},
    {NULL, "<started", VIEW_PLAIN, VIEW_GET(TEXT, started), VIEW_IF(is_sound)},
    {"file_size", NULL, VIEW_BYTES, ROW(found.file_size)},
    {"disk_size", "on disk", VIEW_BYTES, ROW(found.disk_size)},
    {"program", "<+program", VIEW_PLAIN, ROW(found.program), SOUND},
    {"path", "|<+file", VIEW_PLAIN, ROW(found.path)},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct row, ending), SOUND, .view = &ending_view},
    {"error", NULL, VIEW_PLAIN, ROW(found.status_text), .flags = VIEW_NO_0 | VIEW_MAYBE},
    {NULL, "<+", VIEW_PLAIN, VIEW_GET(TEXT, ended)})

struct listing {
  const struct search_path *where;
  struct row *rows;
  size_t count;
};

static int keep_found(void *context, const struct eventring_found *found) {
  struct listing *listing = context;
  if (found->status != 0 && !search_path_concerns(listing->where, found->path)) return 0;
  struct row row = {.found = *found, .is_sound = found->status == 0, .pid = found->pid};
  if (is_live(&row)) row.pid = found->process;
  if (row.pid != found->pid) row.other_pid = found->pid;
  row.found.path = need_copy(found->path);
  row.found.status_text = need_copy(found->status_text);
  row.found.program = need_copy(row.is_sound ? found->program : "");
  row.found.error_text = need_copy(row.is_sound ? found->error_text : "");
  row.ending = eva_ending_of_found(&row.found);
  *NEED_NEXT(listing->rows, listing->count) = row;
  return 0;
}

/* Compares two rows: the oldest come first, and recordings that cannot be read come
   last. */
static int older_first(const void *a, const void *b) {
  const struct row *x = a, *y = b;
  if (x->is_sound != y->is_sound) return x->is_sound ? -1 : 1;
  if (x->is_sound && x->found.start_wall_ns != y->found.start_wall_ns)
    return x->found.start_wall_ns < y->found.start_wall_ns ? -1 : 1;
  return strcmp(x->found.path, y->found.path);
}

static void all_rows(struct view_to *to, const void *context) {
  const struct listing *listing = context;
  for (size_t i = 0; i < listing->count; i++) view_row(to, &listing->rows[i]);
}

static void free_rows(struct listing *listing) {
  for (size_t i = 0; i < listing->count; i++) {
    const struct eventring_found *found = &listing->rows[i].found;
    free((char *)found->path);
    free((char *)found->status_text);
    free((char *)found->program);
    free((char *)found->error_text);
  }
  free(listing->rows);
}

static void say_where(const struct search_path *where) {
  fputs("no recordings found: no process is recording, and no file of one is in", stderr);
  for (size_t i = 0; i < where->count; i++) {
    fputs(i ? ", " : " ", stderr);
    print_foreign_text(stderr, where->directories[i]);
  }
  fputc('\n', stderr);
}

static int list(const struct search_path *where, struct view_choice as) {
  struct listing listing = {.where = where};
  struct view_to to = {.out = stdout, .as = as};
  int found = search_path_discover(where, keep_found, &listing);
  if (listing.count) qsort(listing.rows, listing.count, sizeof *listing.rows, older_first);
  view_list(&to, &list_view, all_rows, &listing);
  if (found < 0) complain("cannot look for recordings: %s", eventring_strerror(found));
  else if (listing.count == 0 && view_wants_text(&as)) say_where(where);
  free_rows(&listing);
  return found < 0 ? STATUS_WRONG : STATUS_OK;
}

int command_list(const struct command *self, int count, char **words) {
  struct view_choice as = {0};
  struct operands operands;
  struct search_path where;
  const struct option_spec specs[] = {VIEW_SPECS(&as, list_view, "one JSON object a recording")};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (!goes_on(status)) return status;
  if (operands.command) return usage_error(self, "cannot launch a command");
  status = search_path_take(&where, operands.words, operands.count, false);
  if (goes_on(status)) status = list(&where, as);
  search_path_free(&where);
  return status;
}
