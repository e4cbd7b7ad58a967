/* SPDX-License-Identifier: MIT */
/* last_stacks.c: shows the last stacks of the domains of a recording: what a dead process
 * did, as far as it had written that (<eventring/stack.h>). */
#include "last_stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "analysis/names.h"
#include "analysis/so_far.h"
#include "sample_self.h"
#include "shared_views.h"

/* ---- Lines -------------------------------------------------------------------- */

/* Returns the part of a line up to the next tab, which becomes a NUL. */
static const char *next_field(char **rest) {
  const char *field = strsep(rest, "\t");
  return field ? field : "";
}

bool last_frame_next(const char **text, struct last_frame *frame) {
  const char *at = *text;
  size_t size = strcspn(at, "\n");
  char *rest = frame->text;
  if (!*at) return false;
  *text = at + size + (at[size] == '\n');
  snprintf(frame->text, sizeof frame->text, "%.*s", (int)size, at);
  frame->name = next_field(&rest);
  frame->source = next_field(&rest);
  frame->number = rest ? rest : "";
  frame->line = (uint32_t)strtoul(frame->number, NULL, 10);
  return true;
}

void stack_line_print(const char *name, const char *source, const char *number,
                      const char *remark) {
  table_say(stdout, 4, 4, "%s%s%s%s%s%s", name, source[0] ? "  " : "", source,
            number[0] ? ":" : "", number, remark);
}

/* ---- Stacks ------------------------------------------------------------------- */

struct stack_row {
  struct eventring_last_stack is;
  char name[EVENTRING_MAX_DOMAIN_NAME + 1]; /* of the domain */
  uint64_t age_ns;
};

static bool find(eventring_cursor *cursor, unsigned slot, uint64_t domain, uint64_t end_ns,
                 struct stack_row *row) {
  struct eventring_domain_info info = {.size = sizeof info, .name = "?"};
  if ((domain != UINT64_MAX && domain != slot) ||
      eventring_cursor_last_stack(cursor, slot, &row->is) != EVENTRING_OK)
    return false;
  eventring_cursor_life(cursor, row->is.domain, row->is.incarnation, &info);
  snprintf(row->name, sizeof row->name, "%s", info.name);
  row->age_ns = end_ns > row->is.ns ? end_ns - row->is.ns : 0;
  return true;
}

static void print_head(eventring_cursor *cursor, const struct stack_row *row) {
  char subject[24] = "", value[EVA_FIGURE + 2] = "";
  bool is_live = eventring_cursor_liveness(cursor) == EVENTRING_LIVE;
  if (row->is.subject) snprintf(subject, sizeof subject, " for %" PRIu32, row->is.subject);
  if (row->is.reason == EVENTRING_STACK_SIGNAL)
    snprintf(value, sizeof value, " %" PRId64, row->is.value);
  if (row->is.reason == EVENTRING_STACK_STEP && row->is.value > 0)
    snprintf(value, sizeof value, ", %s", eva_duration((uint64_t)row->is.value));
  table_say(stdout, 0, 4, "domain %u %s: %s%s, %s before %s (%s%s)", row->is.domain, row->name,
            eva_activity_name(row->is.activity), subject, eva_duration(row->age_ns),
            is_live ? "now" : "the end", eventring_stack_reason_text(row->is.reason), value);
}

unsigned last_stacks_print(eventring_cursor *cursor, uint64_t domain, uint64_t end_ns,
                           unsigned most) {
  unsigned found = 0;
  struct stack_row row;
  struct last_frame frame;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (!find(cursor, slot, domain, end_ns, &row)) continue;
    uint32_t shown = 0;
    found++;
    print_head(cursor, &row);
    for (const char *at = row.is.text; shown < most && last_frame_next(&at, &frame); shown++)
      stack_line_print(frame.name, frame.source, frame.number, "");
    if (row.is.frames > shown) printf("    ... (%" PRIu32 " more)\n", row.is.frames - shown);
    if (!row.is.frames) puts("    (no function)");
  }
  return found;
}

/* ---- Views -------------------------------------------------------------------- */

static bool has_line(const void *row) { return ((const struct last_frame *)row)->number[0]; }

static VIEW(frame_view, struct last_frame,
    {"name", NULL, VIEW_PLAIN, ROW(name)},
    {"source", NULL, VIEW_PLAIN, ROW(source)},
    {"line", NULL, VIEW_PLAIN, ROW(line), .has = has_line, .flags = VIEW_PART})

static void frames_of(struct view_to *to, const void *row) {
  struct last_frame frame;
  for (const char *at = ((const struct stack_row *)row)->is.text; last_frame_next(&at, &frame);)
    view_row(to, &frame);
}

VIEW_GETTER(activity, struct stack_row) { return view_text(eva_activity_name(row->is.activity)); }
VIEW_GETTER(reason, struct stack_row) {
  return view_text(eventring_stack_reason_text(row->is.reason));
}
VIEW_GETTER(below, struct stack_row) {
  struct last_frame frame;
  uint32_t shown = 0;
  for (const char *at = row->is.text; last_frame_next(&at, &frame);) shown++;
  return view_uint(row->is.frames > shown ? row->is.frames - shown : 0);
}

VIEW(last_stack_view, struct stack_row,
    {"domain", NULL, VIEW_PLAIN, ROW(is.domain)},
    {"domain_name", NULL, VIEW_PLAIN, ROW(name)},
    {"activity", NULL, VIEW_PLAIN, VIEW_GET(TEXT, activity)},
    {"subject", NULL, VIEW_PLAIN, ROW(is.subject), .flags = VIEW_MAYBE | VIEW_NO_0,
     .help = "the channel, domain ... that it waits for"},
    {"ns", NULL, VIEW_MOMENT, ROW(is.ns)},
    {"age_ns", NULL, VIEW_NS, ROW(age_ns)},
    {"reason", NULL, VIEW_PLAIN, VIEW_GET(TEXT, reason)},
    {"value", NULL, VIEW_PLAIN, ROW(is.value), .help = "the ns of a step, the number of a signal"},
    {"below", NULL, VIEW_COUNT, VIEW_GET(UINT, below), .help = "outer frames that are left out"},
    {"frames", .form = VIEW_ROWS, .view = &frame_view, .rows = frames_of})

void last_stack_rows(struct view_to *to, const void *domain) {
  struct stack_row row;
  uint64_t end_ns = eva_end(to->cursor);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (find(to->cursor, slot, *(const uint64_t *)domain, end_ns, &row)) view_row(to, &row);
}

/* ---- The command -------------------------------------------------------------- */

struct answer {
  struct eventring_info info;
  uint64_t domain, end_ns;
  const char *how; /* what made the process write its stacks; NULL if nothing did */
};

VIEW(last_stacks_view, struct answer,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct answer, info), .view = &head_view},
    {"how", NULL, VIEW_PLAIN, ROW(how), .flags = VIEW_MAYBE | VIEW_NO_0,
     .help = "how the process was made to write the stacks"},
    {"end_ns", NULL, VIEW_MOMENT, ROW(end_ns), .help = "ages count back from this time"},
    {"rows", .form = VIEW_ROWS, .view = &last_stack_view, .rows = last_stack_rows,
     .offset = offsetof(struct answer, domain), .flags = VIEW_MAIN})

static int show(eventring_cursor *cursor, uint64_t domain, const struct view_choice *as,
                const char *how) {
  struct answer answer = {.info.size = sizeof answer.info, .domain = domain,
                          .end_ns = eva_end(cursor), .how = how};
  struct view_to to = {.out = stdout, .cursor = cursor, .as = *as};
  struct stack_row row;
  eventring_cursor_info(cursor, &answer.info);
  if (!view_wants_text(as)) view_object(&to, &last_stacks_view, &answer);
  else {
    if (how) table_say(stdout, 0, 0, "%s", how), putchar('\n');
    last_stacks_print(cursor, domain, answer.end_ns, UINT32_MAX);
  }
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (find(cursor, slot, domain, 0, &row)) return STATUS_OK;
  return wrong("the recording has no stack%s", domain == UINT64_MAX ? "" : " of this domain");
}

int last_stacks_show(const char *path, uint64_t domain, const struct view_choice *as) {
  struct reader reader;
  struct eventring_error error;
  int status = reader_open_target(&reader, path, EVENTRING_OPEN_FOLLOW);
  if (!goes_on(status)) return status;
  status = eventring_cursor_catch_up(reader.cursor, &error);
  if (status == EVENTRING_OK) status = show(reader.cursor, domain, as, NULL);
  else status = wrong("%s", error.text);
  return reader_close(&reader, status);
}

enum { PATIENCE_NS = 500000000 };

int last_stacks_ask(pid_t pid, uint64_t domain, const struct view_choice *as, const char *why) {
  eventring_cursor *cursor;
  uint64_t asked_ns;
  int status = sample_self_open(&cursor, pid, why);
  if (!goes_on(status)) return status;
  if (sample_self_ask(cursor, PATIENCE_NS, &asked_ns) < 0)
    status = wrong("%ld: it has ended", (long)pid);
  else
    status = show(cursor, domain, as,
                  "Written by the process itself, at safepoints (the kernel does not let its "
                  "memory be read).");
  eventring_close(cursor);
  return status;
}
