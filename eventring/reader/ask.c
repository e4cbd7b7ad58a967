/* SPDX-License-Identifier: MIT */
/* ask.c: asks the process of a recording (<eventring/question.h>).
 *
 * The process that asks writes its pid into the word `asker` by compare-and-exchange,
 * unless another process that is alive holds it. Then it clears the answers and publishes
 * the number of the question. At their safepoints hosts only test a bit of the word
 * `requests`, because that is cheap; when it is set, they read the question. */
#include "eventring/question.h"

#include "format/control.h"
#include "reader/control_page.h"
#include "reader/cursor.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

struct asking {
  enum format_clock clock;
  uint32_t kinds;
  int32_t asker; /* the process that asks already */
  uint32_t *answers;
};

static bool is_alive(int32_t pid) { return pid > 0 && (kill(pid, 0) == 0 || errno == EPERM); }

static int open_question(struct format_control *page, void *context) {
  struct format_question *q = &page->question;
  struct asking *a = context;
  int32_t before = __atomic_load_n(&q->asker, __ATOMIC_RELAXED), own = (int32_t)getpid();
  if (before != own && is_alive(before) && __atomic_load_n(&q->number, __ATOMIC_RELAXED)) {
    a->asker = before;
    return EVENTRING_E_STATE;
  }
  /* acquire: pairs with the release in close_question by the previous asker, which makes
     visible that its question is closed, and its number in `last`. Nothing pairs with the
     release half */
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
  /* release: pairs with the acquire loads of the number in eventring_question_open and
     is_open (producer/question.c), which then see the kinds and the empty answers */
  __atomic_store_n(&q->number, number, __ATOMIC_RELEASE);
  /* after the number has been published */
  evr_control_request(page, FORMAT_REQUEST_QUESTION);
  return EVENTRING_OK;
}

static int read_answers(struct format_control *page, void *context) {
  const struct format_question *q = &page->question;
  struct asking *a = context;
  /* acquire: pairs with the releases in eventring_question_answer and publish
     (producer/question.c): what an answer refers to was written before it */
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    a->answers[slot] = __atomic_load_n(&q->answers[slot], __ATOMIC_ACQUIRE);
  return EVENTRING_OK;
}

static int close_question(struct format_control *page, void *context) {
  struct format_question *q = &page->question;
  int32_t own = (int32_t)getpid();
  (void)context;
  if (__atomic_load_n(&q->asker, __ATOMIC_RELAXED) != own) return EVENTRING_OK;
  __atomic_store_n(&q->number, 0, __ATOMIC_RELAXED);
  __atomic_fetch_and(&page->requests, ~(uint32_t)FORMAT_REQUEST_QUESTION,
                     __ATOMIC_RELAXED);
  /* release: pairs with the acquire of the exchange in open_question, by the next
     asker */
  __atomic_compare_exchange_n(&q->asker, &own, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  return EVENTRING_OK;
}

static int check_cursor(eventring_cursor *cursor, struct eventring_error *error) {
  int status = evr_control_page_check(cursor, error);
  if (status != EVENTRING_OK) return status;
  const struct evr_metadata *meta = &cursor->meta;
  if (meta->source.packed || evr_metadata_liveness(meta) != EVENTRING_LIVE)
    return evr_fail(error, EVENTRING_E_STATE, 0, "%.300s: no live process records into it",
                    meta->path);
  return evr_control_page_obeys(meta, FORMAT_WORD_QUESTION, "its program answers no questions",
                                error);
}

static int act_on(eventring_cursor *cursor, evr_control_page_act *action, struct asking *a,
                  struct eventring_error *error) {
  int status = check_cursor(cursor, error);
  if (status != EVENTRING_OK) return status;
  status = evr_control_page_act_on(&cursor->meta, action, a, error);
  if (status == EVENTRING_E_STATE)
    evr_fail(error, status, 0, "%.300s: process %d asks already", cursor->meta.path,
             (int)a->asker);
  return status;
}

int evr_ask(eventring_cursor *cursor, uint32_t kinds, struct eventring_error *error) {
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

int evr_ask_no_more(eventring_cursor *cursor, struct eventring_error *error) {
  struct asking a = {0};
  return act_on(cursor, close_question, &a, error);
}
