/* SPDX-License-Identifier: MIT */
/* ask.c: asks the domains of a live process. */
#include "ask.h"
#include "eventring/tools.h"

#include <stdio.h>
#include <string.h>

#include "format/now.h"

enum {
  REST_MS = 5,
  ASLEEP_MS = 200, /* how long a domain must not have run to count as asleep; otherwise it
                      may reach a safepoint soon */
  ASIDE_MS = 2000, /* how long a thread of the process may take to answer for a sleeping
                      domain */
  ANSWERED_ASIDE = EVENTRING_ASKS_RETAIN | EVENTRING_ASKS_COROUTINES,
  PROMPT_MS = 20   /* how long a running domain may take to answer */
};

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

/* Tells whether a domain that was asked has neither answered nor ended. */
static bool some_are_missing(struct ask *ask) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (ask->asked[slot] && !ask->answers[slot] && is_alive(ask->reader, slot)) return true;
  return false;
}

static int32_t thread_of(const struct ask *ask, unsigned slot) {
  struct eventring_domain_info domain = {.size = sizeof domain};
  return eventring_cursor_domain(ask->reader->cursor, slot, &domain) == 0 ? domain.tid : 0;
}

/* Tells whether all domains that have not answered are asleep, so that waiting is
   useless. (Checks all of them, because a domain's time begins with the first check.) */
static bool are_asleep(struct ask *ask, uint64_t ns) {
  bool all = true;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (!ask->asked[slot] || ask->answers[slot] || !is_alive(ask->reader, slot)) continue;
    struct sleep_watch *watch = &ask->watches[slot];
    all &= sleep_watch_look(watch, ask->pid, thread_of(ask, slot), ASLEEP_MS * UINT64_C(1000000)) &&
           (watch->stopped || now_ns() - watch->since_ns >= ns);
  }
  return all;
}

static void state_of_thread(char text[static DOMAIN_STATE_TEXT], const struct ask *ask,
                            pid_t own_tid) {
  domain_thread_text(text, ask->pid, own_tid);
  if (!text[0]) snprintf(text, DOMAIN_STATE_TEXT, "it waits, or is in C code");
}

void ask_why_silent(char text[static DOMAIN_STATE_TEXT], const struct ask *ask, unsigned slot) {
  state_of_thread(text, ask, thread_of(ask, slot));
}

bool ask_is_silent(char text[static DOMAIN_STATE_TEXT], const struct ask *ask) {
  bool some = false;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    if (ask->asked[slot] && !ask->answers[slot]) {
      ask_why_silent(text, ask, slot);
      return true;
    }
    some |= ask->asked[slot];
  }
  if (!some) state_of_thread(text, ask, ask->own_pid);
  return !some;
}

static bool process_lives(struct reader *reader) {
  struct eventring_info info = {.size = sizeof info};
  return !has_ended(reader) && eventring_cursor_info(reader->cursor, &info) >= 0 &&
         info.liveness == EVENTRING_LIVE;
}

static int await_answers(struct ask *ask, uint32_t kinds, struct ask_patience patience,
                         struct eventring_error *error) {
  eventring_cursor *cursor = ask->reader->cursor;
  struct eventring_error ignored;
  const bool waits_for_sleepers = patience.ns != UINT64_MAX;
  const uint64_t asleep = (kinds & ANSWERED_ASIDE ? ASIDE_MS : ASLEEP_MS) * UINT64_C(1000000);
  const uint64_t begun = now_ns(), most = waits_for_sleepers ? patience.ns : patience.usual;
  int status = eventring_cursor_control(cursor, EVENTRING_CHANGE(ASK, .kinds = kinds), error);
  if (status != 0) return status;
  while ((status = eventring_cursor_answers(cursor, ask->answers, error)) == 0) {
    const uint64_t waited = now_ns() - begun;
    if (!some_are_missing(ask) || !process_lives(ask->reader) || waited >= most) break;
    if (!waits_for_sleepers && waited >= PROMPT_MS * UINT64_C(1000000) &&
        are_asleep(ask, asleep))
      break;
    ask_rest(ask->reader);
  }
  /* the recording may be gone by now */
  eventring_cursor_control(cursor, EVENTRING_CHANGE(ASK_NO_MORE), &ignored);
  return status;
}

static void begin_asking(struct ask *ask, struct reader *reader) {
  struct eventring_info info = {.size = sizeof info};
  *ask = (struct ask){.reader = reader};
  if (eventring_cursor_info(reader->cursor, &info) >= 0) {
    ask->pid = pid_here(&info);
    ask->own_pid = info.pid;
  }
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    ask->asked[slot] = is_alive(reader, slot);
}

static bool has_all(const struct ask *ask) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    if (ask->asked[slot] && !ask->answers[slot]) return false;
  return true;
}

/* Opens the next file of the process if the present one was deleted before all domains
   had answered: the process goes on in another file, in which the question was not asked.
   Returns true if the reader has that file now. */
static bool turn_to_next_file(struct ask *ask) {
  struct reader *reader = ask->reader;
  struct eventring_info info = {.size = sizeof info};
  struct eventring_error ignored;
  eventring_cursor *next;
  if (eventring_cursor_info(reader->cursor, &info) != 0 ||
      info.end_reason != EVENTRING_END_DELETED ||
      eventring_open_pid(&next, ask->pid, EVENTRING_OPEN_NOW, &ignored) != 0)
    return false;
  if (eventring_cursor_liveness(next) != EVENTRING_LIVE) {
    eventring_close(next);
    return false;
  }
  eventring_close(reader->cursor);
  reader->cursor = next;
  return true;
}

int ask_domains(struct ask *ask, struct reader *reader, uint32_t kinds,
                struct ask_patience patience) {
  enum { MOST_FILES = 8 }; /* most files, deleted one after the other, that are
                              followed */
  struct eventring_error error;
  int status, files = 0;
  do {
    begin_asking(ask, reader);
    status = await_answers(ask, kinds, patience, &error);
  } while ((status != 0 || !has_all(ask)) && ++files < MOST_FILES && turn_to_next_file(ask));
  return status == 0 ? STATUS_GO_ON : wrong("%s", error.text);
}

void ask_nothing(const struct ask *before) {
  enum { MOST_NS = 500000000 };
  struct ask ask = *before;
  struct eventring_error error;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    /* only domains with a child are asked again; for a sleeping domain, a thread of the
       process waits for the child */
    ask.asked[slot] &= ask.answers[slot] != 0 && !ask.watches[slot].sleeps;
  memset(ask.answers, 0, sizeof ask.answers);
  memset(ask.watches, 0, sizeof ask.watches);
  /* a question that another tool asks has the same effect */
  await_answers(&ask, 0, (struct ask_patience){UINT64_MAX, MOST_NS}, &error);
}
