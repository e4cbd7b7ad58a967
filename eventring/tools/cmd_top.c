/* SPDX-License-Identifier: MIT */
/* cmd_top.c: `eventring top`: shows the recording processes while they run.
 *
 * On a terminal it is a screen (top_screen.c). Otherwise, or if an option asks for it, it
 * prints a table at each refresh. Both show the list of top_list.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/figures.h"
#include "format/now.h"
#include "options.h"
#include "reader.h"
#include "top_list.h"
#include "top_screen.h"

#define LEAST_INTERVAL_NS UINT64_C(50000000)
#define FIRST_NS UINT64_C(200000000) /* time until the first figure of processor time */

struct top_options {
  bool once, lines, json;
  uint64_t interval_ns; /* 0: not given */
  uint64_t limit_ns;
  enum top_order order;
  const char *filter;
};

static int read_words(const struct command *self, int count, char **words,
                      struct top_options *o, struct operands *operands) {
  const struct option_spec specs[] = {
      {"once", '1', OPTION_FLAG, &o->once, NULL, "print lines once, and end"},
      {"interval", 'i', OPTION_SECONDS, &o->interval_ns, "N",
       "print lines each N seconds (or 500ms)"},
      {"seconds", 's', OPTION_SECONDS, &o->limit_ns, "N",
       "end after N seconds (lines without a terminal: 10)"},
      {"by", 0, OPTION_CHOICE, CHOICE(&o->order, top_order_names), "WHAT",
       "what rows are sorted by: cpu, gc, pause, alloc, heap, resident, lost, pid, program"},
      {"filter", 'f', OPTION_TEXT, &o->filter, "TEXT",
       "only processes that have TEXT in their pid or program"},
      {"json", 'j', OPTION_FLAG, &o->json, NULL, "print one JSON object a refresh"},
      {"json-schema", 0, OPTION_SCHEMA, (void *)&top_view, NULL,
       "what --json writes, as JSON Schema"}};
  *o = (struct top_options){.filter = ""};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (!goes_on(status)) return status;
  if (operands->command) return usage_error(self, "cannot launch a command");
  if (o->interval_ns && o->interval_ns < LEAST_INTERVAL_NS)
    return usage_error(self, "--interval: must be at least 50ms");
  o->lines = o->once || o->interval_ns || o->json;
  return STATUS_GO_ON;
}

/* ---- Lines -------------------------------------------------------------------- */

/* Sleeps until a moment of the monotonic clock, or until a signal comes. */
static void sleep_until(uint64_t ns) {
  const struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u),
                                 .tv_nsec = (long)(ns % 1000000000u)};
  while (!reader_is_stopped() &&
         clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
    continue;
}

/* Prints the list. Returns false if the output has lost its reader or the disk is full,
   which the end of the command reports. */
static bool print(const struct top_list *list, bool json) {
  struct view_to to = {.out = stdout, .as.json = json, .is_screen = true};
  if (json) {
    view_object(&to, &top_view, list);
  } else {
    printf("%s  %s\n", eva_wall(list->wall_ns), top_list_text(list));
    view_table(&to, &top_process_view, top_list_rows, list, 0);
    putchar('\n');
  }
  if (fflush(stdout) == 0) return true;
  if (!output_errno) output_errno = errno;
  return false;
}

static int print_lines(struct top_list *list, const struct top_options *o) {
  const uint64_t interval = o->interval_ns ? o->interval_ns : 1000000000;
  const uint64_t limit = o->once ? 0 : watch_limit(o->limit_ns), begin = now_ns();
  uint64_t due = begin + (interval < FIRST_NS ? interval : FIRST_NS);
  reader_catch_signals(true);
  do {
    sleep_until(due);
    if (reader_is_stopped()) break;
    top_list_refresh(list);
    /* if this refresh was late, the next one is on time */
    for (due += interval; due <= now_ns();) due += interval;
    if (!print(list, o->json) || o->once || top_list_is_over(list)) break;
  } while (!limit || due - begin <= limit);
  reader_catch_signals(false);
  return list->status;
}

/* ---- The command -------------------------------------------------------------- */

int command_top(const struct command *self, int count, char **words) {
  struct top_list list = {0};
  struct top_options o;
  struct operands operands;
  int status = read_words(self, count, words, &o, &operands);
  if (!goes_on(status)) return status;
  status = top_list_open(&list, operands.words, operands.count);
  list.order = o.order;
  snprintf(list.filter, sizeof list.filter, "%s", o.filter);
  if (goes_on(status)) {
    const bool shows = !o.lines && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    const int shown = shows ? top_screen(&list, o.limit_ns) : STATUS_GO_ON;
    status = goes_on(shown) ? print_lines(&list, &o) : shown;
  }
  top_list_close(&list);
  return status;
}
