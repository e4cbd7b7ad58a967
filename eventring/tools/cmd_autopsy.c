/* SPDX-License-Identifier: MIT */
/* cmd_autopsy.c: `eventring autopsy`: what a process was doing when it died: how it
 * ended, the spans that were open, its last seconds in a few lines, memory, the
 * collector, what is missing, and how far back the recording reaches. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ending.h"
#include "analysis/figures.h"
#include "autopsy.h"
#include "eventring/stack.h"
#include "last_stacks.h"

/* Limits for one screen: open spans, frames of a stack, and lines of the last seconds.
   The last are reduced by the lines of the stack and of sites. */
enum { BRIEF_LAST = 11, BRIEF_OF_STACK = 5, BRIEF_OF_SITES = 5, BRIEF_FRAMES = 3,
       WHOLE_ERROR = 12, MOST_FRAMES = 12 };

/* ---- Reading ------------------------------------------------------------------ */

static void on_step(void *context, const struct eva_step *step) {
  struct autopsy *a = context;
  uint64_t end = step->begin_ns + step->ns;
  if (end < a->from_ns) return;
  a->steps_last++;
  a->gc_last_ns += step->ns;
  if (step->ns > a->longest.ns) a->longest = *step;
  a->newest_step = *step;
}

/* Notes the last value of a counter of a domain, and its greatest value in the present
   incarnation. */
static void take_counter(struct autopsy *a, const struct eventring_event *event) {
  if (event->payload != EVENTRING_INT || !event->def) return;
  for (size_t i = 0; i < a->gauge_count; i++) {
    struct gauge *gauge = &a->gauge[i];
    if (gauge->domain != event->domain || gauge->id != event->id) continue;
    if (gauge->incarnation != event->incarnation) gauge->greatest = event->value.i;
    gauge->incarnation = event->incarnation;
    gauge->last = event->value.i;
    if (event->value.i > gauge->greatest) gauge->greatest = event->value.i;
    return;
  }
  *NEED_NEXT(a->gauge, a->gauge_count) =
      (struct gauge){event->domain, event->incarnation, event->id, event->def->unit,
                     event->value.i, event->value.i};
}

static bool is_level_of_memory(const struct eventring_event *event) {
  const struct eventring_def *def = event->def;
  return def && def->measure == EVENTRING_LEVEL && def->unit &&
         (strcmp(def->unit, "bytes") == 0 || strcmp(def->unit, "words") == 0);
}

/* Notes whether a domain is in a major cycle. */
static void take_lifecycle(struct autopsy *a, const struct eventring_event *event) {
  struct cycle *cycle = &a->cycle[event->domain % EVENTRING_MAX_DOMAINS];
  if (!event->def || event->payload != EVENTRING_INT) return;
  if (event->def->quantity == EVENTRING_QUANTITY_CYCLE_BEGIN)
    *cycle = (struct cycle){true, event->domain, event->value.i, event->ns};
  else if (event->def->quantity == EVENTRING_QUANTITY_CYCLE_END)
    cycle->open = false;
}

static int on_event(void *context, const struct eventring_event *event) {
  struct autopsy *a = context;
  eva_steps_event(&a->steps, NULL, event);
  if (event->kind == EVENTRING_COUNTER && is_level_of_memory(event)) take_counter(a, event);
  if (event->kind == EVENTRING_LIFECYCLE) take_lifecycle(a, event);
  if (event->ns >= a->from_ns) autopsy_note(a, event);
  return 0;
}

static int on_open(void *context, const struct eventring_event *event) {
  struct autopsy *a = context;
  a->open_count++;
  if (a->opens == AUTOPSY_OPEN) return 0;
  a->open[a->opens++] = (struct note){.ns = event->begin_ns, .kind = event->kind,
                                      .id = event->id, .domain = event->domain,
                                      .context = event->context, .depth = event->depth,
                                      .name = event->name, .is_open = true,
                                      .may_be_over = event->flags & EVENTRING_MAY_BE_OVER,
                                      .so_far = eva_so_far(&a->known, a->q.reader.cursor,
                                                           event)};
  return 0;
}

static void find_rings(struct autopsy *a) {
  for (unsigned i = 0; i < a->q.info.domains_laid_out * EVENTRING_RINGS; i++) {
    struct ring ring = {.info.size = sizeof ring.info, .domain = i / EVENTRING_RINGS,
                        .ring = (uint8_t)(i % EVENTRING_RINGS)};
    if (eventring_cursor_ring(a->q.reader.cursor, ring.domain, (enum eventring_ring)ring.ring,
                              &ring.info) < 0)
      continue;
    autopsy_measure_ring(a, &ring);
    *NEED_NEXT(a->ring, a->ring_count) = ring;
  }
}

/* Returns the slot whose last stack is the newest one, or EVENTRING_MAX_DOMAINS if there
   is none. */
static unsigned newest_stack(const struct autopsy *a) {
  struct eventring_last_stack stack;
  unsigned newest = EVENTRING_MAX_DOMAINS;
  uint64_t ns = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (eventring_cursor_last_stack(a->q.reader.cursor, slot, &stack) == EVENTRING_OK &&
        (stack.ns > ns || newest == EVENTRING_MAX_DOMAINS)) {
      newest = slot;
      ns = stack.ns;
    }
  return newest;
}

static void read_recording(struct autopsy *a) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, on_event, NULL};
  a->end_ns = eva_last_known(a->q.reader.cursor);
  a->from_ns = a->end_ns > a->last_ns ? a->end_ns - a->last_ns : 0;
  a->steps.report = on_step;
  a->steps.context = a;
  query_read(&a->q, &callbacks, NULL, a);
  eva_steps_finish(&a->steps);
  eva_known_find(&a->known, a->q.reader.cursor, UINT64_MAX);
  eventring_open_spans(a->q.reader.cursor, on_open, a);
  autopsy_read_sites(a);
  if (a->brief) { /* leaves room for the stack and the sites */
    uint64_t most = BRIEF_LAST;
    if (newest_stack(a) < EVENTRING_MAX_DOMAINS) most -= BRIEF_OF_STACK;
    if (a->has_sites) most -= BRIEF_OF_SITES;
    if (a->q.top > most) a->q.top = most;
  }
  autopsy_sort(a);
  find_rings(a); /* after reading, since only now the missed and lost events are known */
}

/* ---- Text --------------------------------------------------------------------- */

/* Prints the error, with its traceback, if the program noted one. */
static void print_error(const struct eventring_info *info, bool brief) {
  const char *at = info->error_text;
  if (!info->error_ns) return;
  if (!brief) puts("\nThe error that it noted");
  for (int lines = 0; *at && lines < (brief ? 1 : WHOLE_ERROR); lines++) {
    size_t line = strcspn(at, "\n"), shown = table_line(at, table_page(stdout) - 4);
    fputs("  ", stdout);
    for (size_t i = 0; i < line && at[i] == '\t'; i++) fputs("  ", stdout);
    while (*at == '\t') at++, line--, shown = table_line(at, table_page(stdout) - 6);
    print_foreign(stdout, at, shown < line ? shown : line);
    puts(shown < line ? "..." : "");
    at += line + (at[line] == '\n');
  }
}

static void print_sites(const struct autopsy *a, struct view_to *to) {
  char as_of[HEAP_AS_OF];
  size_t count = autopsy_sites(a);
  if (!count) return;
  if (heap_as_of(as_of, a->heap, a->q.info.start_ns))
    printf("\nMemory in use %s, by line\n", as_of);
  else puts("\nMemory in use, by the line that allocated it (estimates)");
  view_table(to, &autopsy_site_view, autopsy_site_rows, a, 2);
  if (count > AUTOPSY_SITES && !a->brief)
    printf("  and %zu more (eventring heap)\n", count - AUTOPSY_SITES);
}

static void print_collector(const struct autopsy *a) {
  bool any = a->steps_last > 0;
  for (unsigned d = 0; d < EVENTRING_MAX_DOMAINS; d++) any = any || a->cycle[d].open;
  if (!any) return;
  printf("\nThe collector: %s steps in the last %s, %s in all", eva_count(a->steps_last),
         eva_duration(a->last_ns), eva_duration(a->gc_last_ns));
  if (a->steps_last) {
    printf(";\n  the longest %s (", eva_duration(a->longest.ns));
    print_foreign_text(stdout, query_name(&a->q, a->longest.id));
    uint64_t end = a->newest_step.begin_ns + a->newest_step.ns;
    printf("), the newest ended %s before the end",
           eva_duration(a->end_ns > end ? a->end_ns - end : 0));
  }
  putchar('\n');
  for (unsigned d = 0; d < EVENTRING_MAX_DOMAINS; d++)
    if (a->cycle[d].open)
      printf("  domain %u was in major cycle %" PRId64 ", for %s\n", d, a->cycle[d].number,
             eva_duration(a->end_ns > a->cycle[d].since ? a->end_ns - a->cycle[d].since : 0));
}

static void print_text(const struct autopsy *a) {
  const unsigned newest = newest_stack(a);
  char title[96];
  struct view_to to = query_output(&a->q);
  to.context = a;
  query_head(&a->q, stdout);
  print_error(&a->q.info, a->brief);
  if (newest != EVENTRING_MAX_DOMAINS) {
    puts(a->brief ? "" : "\nLast stacks, the innermost function first");
    last_stacks_print(a->q.reader.cursor, a->brief ? newest : UINT64_MAX,
                      eva_end(a->q.reader.cursor), a->brief ? BRIEF_FRAMES : MOST_FRAMES);
  }
  if (a->open_count) {
    printf("\nOpen spans: %s, the innermost of a context last\n", eva_count(a->open_count));
    view_table(&to, &autopsy_open_view, autopsy_open_rows, a, 2);
  } else {
    puts("\nNo span was open.");
  }
  printf("\nThe last %s, %s events: the longest spans, the last other events\n",
         eva_duration(a->last_ns), eva_count(a->noted));
  view_table(&to, &autopsy_last_view, autopsy_last_rows, a, 2);
  if (!a->brief) view_section(&to, "Memory", &autopsy_memory_view, autopsy_memory_rows, a);
  print_sites(a, &to);
  if (a->brief) return;
  print_collector(a);
  snprintf(title, sizeof title, "How far it reaches back, and what ring would hold %s",
           eva_duration(a->hold_ns));
  view_section(&to, title, &autopsy_ring_view, autopsy_ring_rows, a);
}

/* ---- The command -------------------------------------------------------------- */

static int read_words(const struct command *self, int count, char **words, struct autopsy *a,
                      struct operands *operands) {
  const struct option_spec specs[] = {
      VIEW_SPECS(&a->q.as, autopsy_view, "one JSON object"),
      {"last", 'l', OPTION_SECONDS, &a->last_ns, "N", "what happened in the last N seconds (2)"},
      {"top", 't', OPTION_BETWEEN, BETWEEN(&a->q.top, 0, AUTOPSY_NOTES), "N",
       "in N lines at most (20)"},
      {"brief", 'b', OPTION_FLAG, &a->brief, NULL, "on one screen: open spans, the last seconds"},
      {"hold", 0, OPTION_SECONDS, &a->hold_ns, "N", "what ring would hold N seconds (10)"}};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  return goes_on(status) ? require_target(self, operands, false) : status;
}

int command_autopsy(const struct command *self, int count, char **words) {
  struct autopsy *a = need_zeroed(1, sizeof *a);
  struct operands operands;
  a->q = (struct query)QUERY_NEW(20);
  a->last_ns = 2000000000;
  a->hold_ns = 10000000000;
  int status = read_words(self, count, words, a, &operands);
  if (goes_on(status)) status = query_open(&a->q, &operands);
  if (goes_on(status)) {
    read_recording(a);
    if (view_wants_text(&a->q.as)) print_text(a);
    else query_put(&a->q, &autopsy_view, a);
    status = reader_close(&a->q.reader, STATUS_OK);
  }
  autopsy_free_sites(a);
  free(a->gauge);
  free(a->ring);
  free(a);
  return status;
}
