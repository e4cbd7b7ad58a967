/* SPDX-License-Identifier: MIT */
/* question.c: questions of tools (eventring/question.h).
 *
 * The words of the control page may hold anything: whatever they are, a domain answers once
 * for each number that it sees, and writes into its own place only. */
#include "eventring/question.h"

#include "producer/domains.h"
#include "producer/outside.h"
#include "producer/recording.h"

static struct format_control *control_of(const struct evr_domain *d) {
  if (!d || !d->recording || __atomic_load_n(&d->lanes.attention, __ATOMIC_RELAXED)) return NULL;
  return evr_control(d->recording);
}

/* The bit that sends hosts here stands although no question is open: whoever asked is gone.
   One that was opened meanwhile gets it back. */
static void clear_call(struct format_control *control) {
  __atomic_fetch_and(&control->call_profile, ~(uint32_t)FORMAT_PROFILE_QUESTION,
                     __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&control->question.number, __ATOMIC_SEQ_CST))
    __atomic_fetch_or(&control->call_profile, FORMAT_PROFILE_QUESTION, __ATOMIC_SEQ_CST);
}

/* Nobody has closed it: whoever asked is gone. */
static void close_if_old(const struct evr_domain *d, struct format_question *q,
                         uint32_t number) {
  const struct evr_recording *r = d->recording;
  uint64_t asked = __atomic_load_n(&q->ticks, __ATOMIC_RELAXED);
  uint64_t passed = evr_clock_ticks(r->clock) - asked;
  __extension__ typedef unsigned __int128 wide;
  uint64_t ns = (uint64_t)((wide)passed * r->multiplier >> FORMAT_CLOCK_SHIFT);
  if (ns / 1000000000 < EVENTRING_QUESTION_SECONDS) return;
  __atomic_compare_exchange_n(&q->number, &number, 0, false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
}

/* Nobody is answered: hosts are not to come again for this one. */
static void refuse(struct format_control *control) {
  __atomic_store_n(&control->question.number, 0, __ATOMIC_SEQ_CST);
  clear_call(control);
}

bool eventring_question_open(eventring_domain *domain, struct eventring_question *question) {
  struct evr_domain *d = (struct evr_domain *)domain;
  struct format_control *control = control_of(d);
  if (!control) return false;
  struct format_question *q = &control->question;
  /* acquire: who sees the bit sees the number that was stored before it */
  bool called = __atomic_load_n(&control->call_profile, __ATOMIC_ACQUIRE) &
                FORMAT_PROFILE_QUESTION;
  /* acquire: pairs with the release of who asks; the kinds and the empty answers are there */
  uint32_t number = __atomic_load_n(&q->number, __ATOMIC_ACQUIRE);
  if (__builtin_expect(number == 0, 1)) {
    if (__builtin_expect(called, 0)) clear_call(control);
    return false;
  }
  if (!evr_outside_obeys(d->recording, FORMAT_WORD_QUESTION)) {
    refuse(control);
    return false;
  }
  if (__atomic_load_n(&q->answers[d->slot], __ATOMIC_RELAXED) != 0) {
    close_if_old(d, q, number);
    return false;
  }
  question->number = number;
  question->kinds = __atomic_load_n(&q->kinds, __ATOMIC_RELAXED);
  return true;
}

void eventring_question_answer(eventring_domain *domain,
                               const struct eventring_question *question, uint32_t answer) {
  struct evr_domain *d = (struct evr_domain *)domain;
  struct format_control *control = control_of(d);
  struct format_question *q = control ? &control->question : NULL;
  if (!q || __atomic_load_n(&q->number, __ATOMIC_RELAXED) != question->number) return;
  __atomic_store_n(&q->answers[d->slot], answer, __ATOMIC_RELEASE);
}
