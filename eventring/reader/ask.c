/* SPDX-License-Identifier: MIT */
/* ask.c: asks the process of a recording (eventring/question.h).
 *
 * Who asks takes the place of the asker by compare-and-exchange, unless it is taken by a
 * process that lives; then it clears the answers, and publishes the number last. */
#include "eventring/question.h"

#include "format/guard.h"
#include "reader/cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE_BYTES = FORMAT_DOMAINS_OFFSET - FORMAT_CONTROL_OFFSET };

struct asking {
  enum format_clock clock;
  uint32_t kinds;
  int32_t asker; /* who it was, when another asks */
  uint32_t *answers;
};

static bool is_alive(int32_t pid) { return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM); }

static int open_question(struct format_question *q, struct asking *a) {
  int32_t before = __atomic_load_n(&q->asker, __ATOMIC_RELAXED), own = (int32_t)getpid();
  if (before != own && is_alive(before) && __atomic_load_n(&q->number, __ATOMIC_RELAXED)) {
    a->asker = before;
    return EVENTRING_E_STATE;
  }
  if (!__atomic_compare_exchange_n(&q->asker, &before, own, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED)) {
    a->asker = before;
    return EVENTRING_E_STATE;
  }
  uint32_t number = __atomic_load_n(&q->last, __ATOMIC_RELAXED) + 1;
  if (number == 0) number = 1;
  __atomic_store_n(&q->number, 0, __ATOMIC_RELAXED);
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    __atomic_store_n(&q->answers[slot], 0, __ATOMIC_RELAXED);
  __atomic_store_n(&q->last, number, __ATOMIC_RELAXED);
  __atomic_store_n(&q->kinds, a->kinds, __ATOMIC_RELAXED);
  __atomic_store_n(&q->ticks, evr_clock_ticks(a->clock), __ATOMIC_RELAXED);
  __atomic_store_n(&q->number, number, __ATOMIC_RELEASE);
  return EVENTRING_OK;
}

static int read_answers(struct format_question *q, struct asking *a) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    a->answers[slot] = __atomic_load_n(&q->answers[slot], __ATOMIC_ACQUIRE);
  return EVENTRING_OK;
}

static int close_question(struct format_question *q, struct asking *a) {
  int32_t own = (int32_t)getpid();
  (void)a;
  if (__atomic_load_n(&q->asker, __ATOMIC_RELAXED) != own) return EVENTRING_OK;
  __atomic_store_n(&q->number, 0, __ATOMIC_RELAXED);
  __atomic_compare_exchange_n(&q->asker, &own, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  return EVENTRING_OK;
}

typedef int act(struct format_question *q, struct asking *a);

/* In case the file is cut short at that moment the mapping is guarded, as in remote.c. */
static int act_on_page(const struct evr_metadata *meta, int fd, act *action, struct asking *a,
                       struct eventring_error *error) {
  int status = EVENTRING_OK;
  void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                    FORMAT_CONTROL_OFFSET);
  if (page == MAP_FAILED)
    return evr_fail(error, EVENTRING_E_SYSTEM, errno, "cannot map %.300s", meta->path);
  if (evr_guard_add(page, PAGE_BYTES, PROT_READ | PROT_WRITE, page)) {
    evr_guard_hold();
    status = action(&((struct format_control *)page)->question, a);
    evr_guard_remove(page);
    evr_guard_release();
    if (status != EVENTRING_OK)
      evr_fail(error, status, 0, "%.300s: process %d asks already", meta->path, (int)a->asker);
  } else {
    status = evr_fail(error, EVENTRING_E_FULL, 0, "too many mappings");
  }
  munmap(page, PAGE_BYTES);
  return status;
}

static int act_on(eventring_cursor *cursor, act *action, struct asking *a,
                  struct eventring_error *error) {
  char name[64];
  if (!cursor) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no cursor");
  const struct evr_metadata *meta = &cursor->meta;
  if (cursor->flags & EVENTRING_OPEN_FOLLOW) /* locate.c says why */
    return evr_fail(error, EVENTRING_E_PERMISSION, 0,
                    "%.300s: opened through what may be a symbolic link, only to be read",
                    meta->path);
  if (meta->source.packed || evr_metadata_liveness(meta) != EVENTRING_LIVE)
    return evr_fail(error, EVENTRING_E_STATE, 0, "%.300s: no live process records into it",
                    meta->path);
  if (!(meta->status.obeys >> FORMAT_WORD_QUESTION & 1))
    return evr_fail(error, EVENTRING_E_STATE, 0, "%.300s: its program answers no questions",
                    meta->path);
  snprintf(name, sizeof name, "/proc/self/fd/%d", evr_source_descriptor(&meta->source));
  int fd = open(name, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return evr_fail(error, evr_code_of_errno(errno), errno, "cannot write to %.300s", meta->path);
  int status = act_on_page(meta, fd, action, a, error);
  close(fd);
  return status;
}

int eventring_cursor_ask(eventring_cursor *cursor, uint32_t kinds,
                         struct eventring_error *error) {
  struct asking a = {.kinds = kinds};
  if (cursor) a.clock = (enum format_clock)cursor->meta.header.clock;
  return act_on(cursor, open_question, &a, error);
}

int eventring_cursor_answers(eventring_cursor *cursor,
                             uint32_t answers[EVENTRING_MAX_DOMAINS],
                             struct eventring_error *error) {
  struct asking a = {.answers = answers};
  return act_on(cursor, read_answers, &a, error);
}

int eventring_cursor_ask_no_more(eventring_cursor *cursor, struct eventring_error *error) {
  struct asking a = {0};
  return act_on(cursor, close_question, &a, error);
}
