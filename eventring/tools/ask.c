/* SPDX-License-Identifier: MIT */
/* ask.c: asks the domains of a live process. */
#include "ask.h"
#include "eventring/tools.h"

#include <string.h>

#include "format/now.h"

enum { REST_MS = 5 };

void ask_rest(struct reader *reader) {
  struct timespec rest = {.tv_nsec = REST_MS * 1000000L};
  nanosleep(&rest, NULL);
  if (reader->launched) launch_check(&reader->launch);
}

static bool has_ended(const struct reader *reader) {
  return reader->launched && reader->launch.ended;
}

bool ask_let_run(struct reader *reader, uint64_t ns) {
  for (uint64_t end = now_ns() + ns; !has_ended(reader) && now_ns() < end;) ask_rest(reader);
  return !has_ended(reader);
}

static bool is_alive(struct reader *reader, unsigned slot) {
  struct eventring_domain_info domain = {.size = sizeof domain};
  return eventring_cursor_domain(reader->cursor, slot, &domain) == 0 && domain.alive;
}

/* Of those that were asked and have not ended since. */
static bool some_are_missing(struct ask *ask) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (ask->asked[slot] && !ask->answers[slot] && is_alive(ask->reader, slot)) return true;
  return false;
}

static bool process_lives(struct reader *reader) {
  struct eventring_info info = {.size = sizeof info};
  return !has_ended(reader) && eventring_cursor_info(reader->cursor, &info) >= 0 &&
         info.liveness == EVENTRING_LIVE;
}

static int await_answers(struct ask *ask, uint32_t kinds, uint64_t wait_ns,
                         struct eventring_error *error) {
  eventring_cursor *cursor = ask->reader->cursor;
  struct eventring_error ignored;
  const uint64_t end = now_ns() + wait_ns;
  int status = eventring_cursor_control(cursor, EVENTRING_CHANGE(ASK, .kinds = kinds), error);
  if (status != 0) return status;
  while ((status = eventring_cursor_answers(cursor, ask->answers, error)) == 0) {
    if (!some_are_missing(ask) || !process_lives(ask->reader) || now_ns() >= end) break;
    ask_rest(ask->reader);
  }
  /* it may be gone by now */
  eventring_cursor_control(cursor, EVENTRING_CHANGE(ASK_NO_MORE), &ignored);
  return status;
}

int ask_domains(struct ask *ask, struct reader *reader, uint32_t kinds, uint64_t wait_ns) {
  struct eventring_error error;
  memset(ask, 0, sizeof *ask);
  ask->reader = reader;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    ask->asked[slot] = is_alive(reader, slot);
  if (await_answers(ask, kinds, wait_ns, &error) == 0) return -1;
  return wrong("%s", error.text);
}

void ask_nothing(const struct ask *before) {
  enum { MOST_NS = 500000000 };
  struct ask ask = *before;
  struct eventring_error error;
  memset(ask.answers, 0, sizeof ask.answers);
  await_answers(&ask, 0, MOST_NS, &error); /* when another tool asks, that does the same */
}
