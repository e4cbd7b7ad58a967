/* SPDX-License-Identifier: MIT */
/* last_stacks.c: shows the last stacks that a recording has of its domains: what a dead process
 * did, as far as it wrote that down (<eventring/stack.h>). */
#include "last_stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/so_far.h"
#include "analysis/units.h"
#include "eventring/stack.h"
#include "sample_self.h"

static const char *const activities[] = {"running", "collecting", "finalizing", "waiting"};

static bool find(eventring_cursor *cursor, unsigned slot, uint64_t domain,
                 struct eventring_last_stack *stack) {
  return (domain == UINT64_MAX || domain == slot) &&
         eventring_cursor_last_stack(cursor, slot, stack) == EVENTRING_OK;
}

/* ---- Lines ------------------------------------------------------------------------------ */

struct line { /* texts that end at tabs and newlines */
  const char *name, *source, *number;
  int name_size, source_size, number_size;
};

/* Takes the next line of *text, moves on behind it. False: there is none. */
static bool next_line(const char **text, struct line *line) {
  const char *at = *text;
  if (!*at) return false;
  line->name = at;
  at += line->name_size = (int)strcspn(at, "\t\n");
  if (*at == '\t') at++;
  line->source = at;
  at += line->source_size = (int)strcspn(at, "\t\n");
  if (*at == '\t') at++;
  line->number = at;
  at += line->number_size = (int)strcspn(at, "\n");
  *text = *at ? at + 1 : at;
  return true;
}

static uint32_t count_lines(const char *text) {
  struct line line;
  uint32_t count = 0;
  while (next_line(&text, &line)) count++;
  return count;
}

/* ---- Text ------------------------------------------------------------------------------- */

static void print_line(const struct line *line) {
  printf("    ");
  print_foreign(stdout, line->name, (size_t)line->name_size);
  if (line->source_size) printf("  ");
  print_foreign(stdout, line->source, (size_t)line->source_size);
  if (line->number_size) putchar(':');
  print_foreign(stdout, line->number, (size_t)line->number_size);
  putchar('\n');
}

static void print_head(eventring_cursor *cursor, const struct eventring_last_stack *stack,
                       uint64_t end_ns) {
  char age[EVA_FIGURE];
  struct eventring_domain_info info = {.name = "?"};
  bool is_live = eventring_cursor_liveness(cursor) == EVENTRING_LIVE;
  eventring_cursor_life(cursor, stack->domain, stack->incarnation, &info);
  printf("domain %u ", stack->domain);
  print_foreign_text(stdout, info.name);
  printf(": %s", activities[stack->activity]);
  if (stack->subject) printf(" for %" PRIu32, stack->subject);
  printf(", %s before %s (%s", eva_duration_text(age, end_ns > stack->ns ? end_ns - stack->ns : 0),
         is_live ? "now" : "the end", eventring_stack_reason_text(stack->reason));
  if (stack->reason == EVENTRING_STACK_SIGNAL) printf(" %" PRId64, stack->value);
  if (stack->reason == EVENTRING_STACK_STEP && stack->value > 0)
    printf(", %s", eva_duration_text(age, (uint64_t)stack->value));
  puts(")");
}

unsigned last_stacks_print(eventring_cursor *cursor, uint64_t domain, uint64_t end_ns,
                           unsigned most) {
  unsigned found = 0;
  struct eventring_last_stack stack;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (!find(cursor, slot, domain, &stack)) continue;
    struct line line;
    uint32_t shown = 0;
    found++;
    print_head(cursor, &stack, end_ns);
    for (const char *at = stack.text; shown < most && next_line(&at, &line); shown++)
      print_line(&line);
    if (stack.frames > shown) printf("    ... (%" PRIu32 " more)\n", stack.frames - shown);
    if (!stack.frames) puts("    (no function)");
  }
  return found;
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void put_line(struct eva_json *json, const struct line *line) {
  eva_json_open_object(json);
  eva_json_key(json, "name");
  eva_json_text(json, line->name, (size_t)line->name_size);
  eva_json_key(json, "source");
  eva_json_text(json, line->source, (size_t)line->source_size);
  if (line->number_size) eva_json_uint_at(json, "line", strtoul(line->number, NULL, 10));
  eva_json_close_object(json);
}

static void put_stack(struct eva_json *json, eventring_cursor *cursor,
                      const struct eventring_last_stack *stack, uint64_t end_ns) {
  struct eventring_domain_info info = {.name = "?"};
  struct line line;
  uint32_t shown = count_lines(stack->text);
  eventring_cursor_life(cursor, stack->domain, stack->incarnation, &info);
  eva_json_open_object(json);
  eva_json_uint_at(json, "domain", stack->domain);
  eva_json_string_at(json, "domain_name", info.name);
  eva_json_string_at(json, "activity", activities[stack->activity]);
  if (stack->subject) eva_json_uint_at(json, "subject", stack->subject);
  eva_json_uint_at(json, "ns", stack->ns);
  eva_json_uint_at(json, "age_ns", end_ns > stack->ns ? end_ns - stack->ns : 0);
  eva_json_string_at(json, "reason", eventring_stack_reason_text(stack->reason));
  eva_json_int_at(json, "value", stack->value);
  eva_json_uint_at(json, "below", stack->frames > shown ? stack->frames - shown : 0);
  eva_json_key(json, "frames");
  eva_json_open_array(json);
  for (const char *at = stack->text; next_line(&at, &line);) put_line(json, &line);
  eva_json_close_array(json);
  eva_json_close_object(json);
}

unsigned last_stacks_put(struct eva_json *json, eventring_cursor *cursor, uint64_t domain,
                         uint64_t end_ns) {
  unsigned found = 0;
  struct eventring_last_stack stack;
  eva_json_open_array(json);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (!find(cursor, slot, domain, &stack)) continue;
    put_stack(json, cursor, &stack, end_ns);
    found++;
  }
  eva_json_close_array(json);
  return found;
}

/* ---- The command ------------------------------------------------------------------------ */

/* `how`: NULL, or how the process was made to write them. */
static int show(eventring_cursor *cursor, uint64_t domain, bool as_json, const char *how) {
  struct eventring_info info = {0};
  struct eva_json json;
  uint64_t end_ns = eva_end(cursor);
  unsigned found;
  eventring_cursor_info(cursor, &info);
  if (as_json) {
    eva_json_start(&json, stdout);
    eva_json_open_object(&json);
    eva_json_uint_at(&json, "version", 1);
    put_process(&json, &info);
    if (how) eva_json_string_at(&json, "how", how);
    eva_json_uint_at(&json, "end_ns", end_ns);
    eva_json_key(&json, "rows");
    found = last_stacks_put(&json, cursor, domain, end_ns);
    eva_json_close_object(&json);
    eva_json_line(&json);
  } else {
    if (how) printf("%s\n\n", how);
    found = last_stacks_print(cursor, domain, end_ns, UINT32_MAX);
  }
  if (found) return STATUS_OK;
  complain("the recording has no stack%s", domain == UINT64_MAX ? "" : " of this domain");
  return STATUS_WRONG;
}

int last_stacks_show(const char *path, uint64_t domain, bool json) {
  struct reader reader;
  struct eventring_error error;
  int status = reader_open_target(&reader, path, EVENTRING_OPEN_FOLLOW);
  if (status >= 0) return status;
  status = eventring_cursor_catch_up(reader.cursor, &error);
  if (status == EVENTRING_OK) status = show(reader.cursor, domain, json, NULL);
  else {
    complain("%s", error.text);
    status = STATUS_WRONG;
  }
  return reader_close(&reader, status);
}

enum { PATIENCE_NS = 500000000 };

int last_stacks_ask(pid_t pid, uint64_t domain, bool json, const char *why) {
  eventring_cursor *cursor;
  uint64_t asked_ns;
  int status = sample_self_open(&cursor, pid, why);
  if (status >= 0) return status;
  if (sample_self_ask(cursor, PATIENCE_NS, &asked_ns) < 0) {
    complain("%ld: it has ended", (long)pid);
    status = STATUS_WRONG;
  } else {
    status = show(cursor, domain, json,
                  "Written by the process itself, at safepoints (the kernel does not let its "
                  "memory be read).");
  }
  eventring_close(cursor);
  return status;
}
