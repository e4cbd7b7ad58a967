/* SPDX-License-Identifier: MIT */
/* cmd_list.c: `eventring list`: what is recorded on this machine. */
#include <stdio.h>
#include <string.h>

#include "analysis/ending.h"
#include "analysis/json.h"
#include "analysis/names.h"
#include "options.h"
#include "places.h"
#include "text_table.h"
#include "analysis/units.h"

/* How each recording found is shown. */
struct listing {
  const struct places *places;
  struct table *table; /* text */
  struct eva_json *json;   /* or JSON */
  unsigned shown;
};

/* The number that commands of this machine take: of a live process that of this pid
   namespace, if it is visible from here. The others had the one in their file. */
static pid_t pid_here(const struct eventring_found *found) {
  bool live = found->status == 0 && found->liveness == EVENTRING_LIVE;
  return live ? found->process : found->pid;
}

static void cell_pid(struct table *table, pid_t pid) {
  char figure[EVA_FIGURE];
  snprintf(figure, sizeof figure, "%ld", (long)pid);
  table_cell(table, pid > 0 ? figure : "-");
}

/* How it ended, with the first line of the error; what comes before the first newline of a
   message says what happened. */
static void cell_ending(struct table *table, const struct eventring_found *found) {
  const struct eva_ending ending = eva_ending_of_found(found);
  char how[EVA_ENDING], text[EVA_ENDING + 160];
  int line = (int)strcspn(ending.error, "\n");
  eva_ending_text(how, &ending);
  snprintf(text, sizeof text, "%s%s%.*s", how, how[0] && line ? ": " : "",
           line < 150 ? line : 150, ending.error);
  table_cell(table, text);
}

static void add_row(struct table *table, const struct eventring_found *found) {
  char figure[EVA_FIGURE];
  bool sound = found->status == 0;
  cell_pid(table, pid_here(found));
  cell_pid(table, found->pid == pid_here(found) ? 0 : found->pid);
  table_cell(table, sound ? eva_liveness_name(found->liveness) : "unreadable");
  table_cell(table, sound && found->liveness == EVENTRING_LIVE
                        ? eva_state_name(found->state) : "-");
  table_cell(table, sound ? eva_wall_text(figure, found->start_wall_ns) : "-");
  table_cell(table, eva_bytes_text(figure, found->disk_size));
  table_cell(table, sound ? found->program : "-");
  table_cell(table, found->path);
  if (sound) cell_ending(table, found);
  else table_cell(table, found->status_text);
}

static void put_pid(struct eva_json *json, const char *key, pid_t pid) {
  eva_json_key(json, key);
  if (pid > 0)
    eva_json_int(json, pid);
  else
    eva_json_null(json);
}

static void put_object(struct eva_json *json, const struct eventring_found *found) {
  bool sound = found->status == 0;
  eva_json_open_object(json);
  eva_json_string_at(json, "path", found->path);
  put_pid(json, "pid", pid_here(found));
  if (sound) {
    put_pid(json, "own_pid", found->pid);
    eva_json_string_at(json, "liveness", eva_liveness_name(found->liveness));
    eva_json_string_at(json, "state", eva_state_name(found->state));
    eva_json_string_at(json, "program", found->program);
    eva_json_uint_at(json, "start_ns", found->start_ns);
    eva_json_int_at(json, "start_wall_ns", found->start_wall_ns);
    const struct eva_ending ending = eva_ending_of_found(found);
    eva_ending_put(json, &ending);
  } else {
    eva_json_string_at(json, "error", found->status_text);
  }
  eva_json_uint_at(json, "file_size", found->file_size);
  eva_json_uint_at(json, "disk_size", found->disk_size);
  eva_json_close_object(json);
  eva_json_line(json);
}

static int show_found(void *context, const struct eventring_found *found) {
  struct listing *listing = context;
  if (found->status != 0 && !places_concern(listing->places, found->path)) return 0;
  listing->shown++;
  if (listing->json)
    put_object(listing->json, found);
  else
    add_row(listing->table, found);
  return 0;
}

static void say_where(const struct places *places) {
  fputs("no recordings found: no process records, and there are none in", stderr);
  for (size_t i = 0; i < places->count; i++) {
    fputs(i ? ", " : " ", stderr);
    print_foreign_text(stderr, places->directories[i]);
  }
  fputc('\n', stderr);
}

static int list(const struct places *places, bool as_json) {
  struct eva_json json;
  TABLE(table, "pid", "?own pid", "<life", "<state", "<started", "on disk", "<program",
        "<file", "<");
  eva_json_start(&json, stdout);
  struct listing listing = {places, &table, as_json ? &json : NULL, 0};
  int found = eventring_discover(places->directories, places->count, show_found,
                                 &listing);
  if (found < 0) complain("cannot look for recordings: %s", eventring_strerror(found));
  if (found >= 0 && listing.shown == 0 && !as_json) say_where(places);
  table_print(&table, stdout, 0);
  return found < 0 ? STATUS_WRONG : STATUS_OK;
}

int command_list(const struct command *self, int count, char **words) {
  bool json = false;
  struct operands operands;
  struct places places;
  const struct option_spec specs[] = {
      {"json", 'j', OPTION_FLAG, &json, NULL, "one JSON object a recording"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, &operands);
  if (status >= 0) return status;
  if (operands.command) return usage_error(self, "cannot launch a command");
  status = places_take(&places, operands.words, operands.count, false);
  if (status < 0) status = list(&places, json);
  places_free(&places);
  return status;
}
