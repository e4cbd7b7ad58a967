/* SPDX-License-Identifier: MIT */
/* await.c: waits until a condition is fulfilled in a live recording. */
#include "await.h"

#include <string.h>

#include "analysis/rules.h"
#include "eventring/tools.h"

int await_check(const struct command *self, struct await *await) {
  struct eventring_error error;
  const struct eventring_condition *c = &await->condition;
  if (!await->text)
    return await->before_ns == UINT64_MAX ? STATUS_GO_ON
                                          : usage_error(self, "--before needs --on");
  if (eventring_condition_parse(&await->condition, await->text, strlen(await->text), NULL,
                                &error) != EVENTRING_OK)
    return usage_error(self, "--on: %s", error.text);
  if (c->figure != EVENTRING_EACH || c->within[0] || c->subject == EVENTRING_SUBJECT_LOST)
    return usage_error(self, "--on: column 1: it is about pause, span, heap, counter, error or "
                             "signal, without a figure and `within'");
  return STATUS_GO_ON;
}

static int take_event(void *context, const struct eventring_event *event) {
  struct eva_rules *rules = context;
  if (event->flags & EVENTRING_SYNTHETIC) return 0;
  if (eva_rules_event(rules, event) != EVENTRING_OK) no_memory();
  return eva_rules_met(rules);
}

/* Tells whether the process ended as the condition says. (An error or a signal that ends
   the process is not recorded as an event.) */
static bool has_ended_so(const struct await *await, eventring_cursor *cursor) {
  struct eventring_info info = {.size = sizeof info};
  const struct eventring_condition *c = &await->condition;
  if (c->subject != EVENTRING_SUBJECT_ERROR && c->subject != EVENTRING_SUBJECT_SIGNAL) return false;
  if (eventring_cursor_info(cursor, &info) != EVENTRING_OK) return false;
  uint32_t signal = info.end_reason == EVENTRING_END_SIGNAL ? info.end_detail : 0;
  bool error = c->subject == EVENTRING_SUBJECT_ERROR;
  return (error ? info.error_ns != 0 : signal != 0) &&
         eventring_condition_holds(c, error ? 1 : signal);
}

static int complain_of(eventring_cursor *cursor) {
  return wrong("%s", eventring_cursor_error(cursor)->text);
}

static int watch(const struct await *await, eventring_cursor *cursor, struct eva_rules *rules) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, take_event, NULL};
  enum { TICK_MS = 100 };
  while (!reader_is_stopped()) {
    int64_t count = eventring_poll(cursor, &callbacks, rules, 0);
    if (eva_rules_open_met(rules, cursor) || has_ended_so(await, cursor)) return STATUS_GO_ON;
    if (count < 0) return complain_of(cursor);
    if (eventring_finished(cursor)) break;
    int news = eventring_wait(cursor, TICK_MS * (uint64_t)1000000);
    if (news < 0 && news != EVENTRING_E_INTERRUPTED) return complain_of(cursor);
  }
  return wrong("%s has not come about: nothing is recorded", await->text);
}

static bool is_over(eventring_cursor *cursor) {
  struct eventring_info info = {.size = sizeof info};
  return eventring_cursor_info(cursor, &info) == EVENTRING_OK &&
         info.liveness != EVENTRING_LIVE;
}

/* Makes the rings hold `before_ns` of the past. If the program has ended, the rings
   already hold what they can. Returns STATUS_GO_ON, or the exit status after a
   message. */
static int hold(const struct await *await, eventring_cursor *cursor) {
  struct eventring_error error;
  if (await->before_ns == UINT64_MAX ||
      eventring_cursor_control(cursor,
                               EVENTRING_CHANGE(HOLD, .hold_ns = await->before_ns), &error) == 0 ||
      (error.code == EVENTRING_E_STATE && is_over(cursor)))
    return STATUS_GO_ON;
  return wrong("--before: %s", error.text);
}

int await_condition(const struct await *await, const struct reader *reader) {
  eventring_cursor *cursor;
  struct eventring_info info = {.size = sizeof info};
  struct eventring_error error;
  struct eva_rules rules = {0};
  if (!await->text) return STATUS_GO_ON;
  if (eventring_cursor_info(reader->cursor, &info) != EVENTRING_OK)
    return complain_of(reader->cursor);
  unsigned flags = EVENTRING_OPEN_MERGED | (reader->launched ? 0 : EVENTRING_OPEN_NOW);
  if (eventring_open_path(&cursor, info.path, flags, &error) != EVENTRING_OK)
    return wrong("%s", error.text);
  if (eva_rules_add(&rules, &await->condition, await->text, strlen(await->text), 0) != EVENTRING_OK)
    no_memory();
  int status = hold(await, cursor);
  if (goes_on(status)) status = watch(await, cursor, &rules);
  eva_rules_free(&rules);
  eventring_close(cursor);
  return status;
}
