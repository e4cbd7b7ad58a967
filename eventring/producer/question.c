/* SPDX-License-Identifier: MIT */
/* question.c: questions of tools (eventring/question.h).
 *
 * The words of the control page may hold anything. In any case a domain answers once for
 * each number that it sees, and writes only into its own entry.
 *
 * A domain that is asleep in C reaches no safepoint. The helper checks the processor time
 * of each thread. If a thread has not run between two checks, the host may answer for it
 * from a copy of the memory. The copy shows one moment of the domain if the thread has
 * still not run when the copy is complete; otherwise it is thrown away. */
#include "eventring/question.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "producer/domains.h"
#include "producer/outside.h"
#include "producer/producer.h"

static struct format_control *control_of(const struct evr_domain *d) {
  if (!d || !d->recording || __atomic_load_n(&d->lanes.attention, __ATOMIC_RELAXED)) return NULL;
  return evr_control(d->recording);
}

/* Clears the bit that sends hosts here when no question is open any more, because the
   asker is gone. If a question was opened meanwhile, sets the bit again. */
static void clear_call(struct format_control *control) {
  /* seq_cst; its acquire pairs with the release of the asker's evr_control_request: if
     the bit of a new question was cleared here, its number is seen below */
  __atomic_fetch_and(&control->requests, ~(uint32_t)FORMAT_REQUEST_QUESTION,
                     __ATOMIC_SEQ_CST);
  /* seq_cst, both: pair with the same release as the exchange before */
  if (__atomic_load_n(&control->question.number, __ATOMIC_SEQ_CST))
    __atomic_fetch_or(&control->requests, FORMAT_REQUEST_QUESTION, __ATOMIC_SEQ_CST);
}

/* Closes the question if nobody has closed it in time: the asker is gone. */
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

/* Closes a question that must not be answered, so that hosts do not check it again. */
static void refuse(struct format_control *control) {
  /* seq_cst: stays before the exchange in clear_call */
  __atomic_store_n(&control->question.number, 0, __ATOMIC_SEQ_CST);
  clear_call(control);
}

bool eventring_question_open(eventring_domain *domain, struct eventring_question *question) {
  struct evr_domain *d = (struct evr_domain *)domain;
  struct format_control *control = control_of(d);
  if (!control) return false;
  struct format_question *q = &control->question;
  /* acquire: pairs with the release in evr_control_request (format/control.c): a domain
     that sees the bit sees the number that was stored before it */
  bool called = __atomic_load_n(&control->requests, __ATOMIC_ACQUIRE) &
                FORMAT_REQUEST_QUESTION;
  /* acquire: pairs with the release of the number in open_question (reader/ask.c), after
     the kinds and the empty answers */
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

/* ---- For domains that are asleep --------------------------------------------------- */

/* Child processes that answer, until they have ended; used only by the helper. */
static pid_t children[EVENTRING_MAX_DOMAINS];

/* Returns the processor time of a thread: while it is the same, the thread has not run.
   UINT64_MAX: the thread is gone. */
static uint64_t cpu_ns_of(int32_t tid) {
  enum { PER_THREAD = 4, SCHEDULED = 2 }; /* bits of a thread's clock
                                             (clock_getcpuclockid(3)) */
  struct timespec t;
  clockid_t clock = (clockid_t)(~(uint32_t)tid << 3 | PER_THREAD | SCHEDULED);
  if (clock_gettime(clock, &t) != 0) return UINT64_MAX;
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void reap_children(void) {
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS; i++)
    if (children[i] && waitpid(children[i], NULL, WNOHANG | __WCLONE) != 0) children[i] = 0;
}

static bool is_open(const struct evr_recording *r, const struct evr_domain *d) {
  const struct format_question *q = &evr_control(r)->question;
  /* acquire: pairs with the release of the number in open_question (reader/ask.c): the
     empty answers are then seen */
  return __atomic_load_n(&q->number, __ATOMIC_ACQUIRE) != 0 &&
         __atomic_load_n(&q->answers[d->slot], __ATOMIC_RELAXED) == 0;
}

/* Publishes the answer of a copy. Returns false if the domain has run or has answered
   itself meanwhile. */
static bool publish(struct evr_recording *r, const struct evr_domain *d, uint32_t answer) {
  uint32_t none = 0;
  /* release: pairs with the acquire load of the answer in read_answers (reader/ask.c),
     after everything that the answer refers to */
  return cpu_ns_of(d->tid) == d->cpu_ns &&
         __atomic_compare_exchange_n(&evr_control(r)->question.answers[d->slot], &none, answer,
                                     false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static void answer_aside_locked(struct evr_recording *r, struct evr_domain *d) {
  const uint32_t kinds = __atomic_load_n(&evr_control(r)->question.kinds, __ATOMIC_RELAXED);
  if (children[d->slot] || !evr_outside_obeys(r, FORMAT_WORD_QUESTION)) return;
  const uint32_t answer = r->answer_aside((struct eventring_domain *)d, kinds);
  if (answer == 0 || answer > INT32_MAX) return;
  children[d->slot] = (pid_t)answer;
  if (!publish(r, d, answer)) kill((pid_t)answer, SIGKILL);
}

void evr_questions_aside(void) {
  reap_children();
  evr_lock();
  struct evr_recording *r = evr_producer.recording;
  for (struct evr_domain *d = evr_producer.domains; r && r->answer_aside && d; d = d->next) {
    const uint64_t before = d->cpu_ns;
    d->cpu_ns = cpu_ns_of(d->tid);
    if (d->recording == r && !r->ended && d->cpu_ns == before && before != UINT64_MAX &&
        is_open(r, d))
      answer_aside_locked(r, d);
  }
  evr_unlock();
}

void evr_questions_after_fork(void) { memset(children, 0, sizeof children); }

/* ---- The owner's answer ------------------------------------------------------------ */

void eventring_question_answer(eventring_domain *domain,
                               const struct eventring_question *question, uint32_t answer) {
  struct evr_domain *d = (struct evr_domain *)domain;
  struct format_control *control = control_of(d);
  struct format_question *q = control ? &control->question : NULL;
  if (!q || __atomic_load_n(&q->number, __ATOMIC_RELAXED) != question->number) return;
  /* release: pairs with the acquire load in read_answers (reader/ask.c): a tool that sees
     the answer finds what was written for it */
  __atomic_store_n(&q->answers[d->slot], answer, __ATOMIC_RELEASE);
}
