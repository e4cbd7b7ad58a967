/* SPDX-License-Identifier: MIT */
/* last_stack.c: the last stacks of domains, as records of kind LAST_STACKS.
 *
 * The kind has a budget of a few blocks, and the oldest is rewritten, so that a process
 * that runs for years keeps the newest stacks of its domains. A block always keeps room
 * for one more record of the greatest size, so that a signal handler needs no new
 * block. */
#include "eventring/stack.h"

#include <errno.h>
#include <string.h>

#include "eventring/calls.h"
#include "format/atomics.h"
#include "format/clock.h"
#include "format/control.h"
#include "format/error.h"
#include "format/text.h"
#include "producer/domains.h"
#include "producer/last_stack.h"
#include "producer/lock.h"
#include "producer/producer.h"
#include "producer/watch.h"

enum { HEAD_WORDS = sizeof(struct format_last_stack) / 8 };

_Static_assert((int)FORMAT_STACK_TEXT == (int)EVENTRING_MAX_STACK_TEXT, "texts");
_Static_assert(FORMAT_STACK_TEXT % 8 == 0, "whole words");

static eventring_stack_wanted *wanted; /* atomic */

/* Returns the size without a last line that does not fit as a whole. */
static size_t whole_lines(const char *text, size_t size) {
  if (size <= FORMAT_STACK_TEXT) return size;
  size = FORMAT_STACK_TEXT;
  while (size > 0 && text[size - 1] != '\n') size--;
  return size;
}

static unsigned fill(uint64_t *words, const struct evr_recording *r, const struct evr_domain *d,
                     const struct eventring_stack_text *stack) {
  char *text = (char *)(words + HEAD_WORDS);
  size_t size = whole_lines(stack->text, stack->size);
  struct format_last_stack head = {
      .first = format_record(0, 1, (uint32_t)d->slot), .ticks = evr_clock_ticks(r->clock),
      .incarnation = r->slot[d->slot].incarnation, .frames = stack->frames,
      .reason = stack->reason, .activity = stack->activity, .bytes = (uint16_t)size,
      .subject = stack->subject, .value = stack->value};
  memset(words, 0, (HEAD_WORDS + FORMAT_STACK_TEXT / 8) * sizeof *words);
  if (size) memcpy(text, stack->text, size);
  evr_text_clean_lines(text, size);
  memcpy(words, &head, sizeof head);
  return HEAD_WORDS + format_text_words(size);
}

static int write_locked(struct evr_domain *d, const struct eventring_stack_text *stack,
                        bool in_handler) {
  struct evr_recording *r = d->recording;
  uint64_t words[HEAD_WORDS + FORMAT_STACK_TEXT / 8];
  if (!r || r->ended) return EVENTRING_E_STATE;
  unsigned size = fill(words, r, d, stack);
  unsigned spare = in_handler ? 0 : HEAD_WORDS + FORMAT_STACK_TEXT / 8;
  if (in_handler && !evr_records_have_room_here_locked(&r->records, FORMAT_LAST_STACKS, size))
    return EVENTRING_E_SPACE;
  return evr_records_append_sparing_locked(&r->records, FORMAT_LAST_STACKS, words, size, spare) ==
                 EVR_APPENDED
             ? EVENTRING_OK
             : EVENTRING_E_SPACE;
}

static bool is_sound(const struct eventring_stack_text *stack) {
  return (stack->text || !stack->size) && stack->reason && stack->reason <= FORMAT_STACK_REASONS &&
         stack->activity <= FORMAT_STACK_ACTIVITIES;
}

int eventring_stack_write(eventring_domain *domain, const struct eventring_stack_text *stack,
                          bool in_handler) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!d || !is_sound(stack)) return EVENTRING_E_ARGUMENT;
  int saved = errno, status = EVENTRING_E_BUSY;
  if (!in_handler) evr_lock();
  if (!in_handler || evr_lock_soon()) {
    status = write_locked(d, stack, in_handler);
    evr_unlock();
  }
  errno = saved;
  return status;
}

/* ---- Requests to the host ---------------------------------------------------------- */

static bool is_any_attached_locked(void) {
  for (const struct evr_domain *d = evr_producer.domains; d; d = d->next)
    if (d->recording) return true;
  return false;
}

bool eventring_stack_ask(bool on) {
  evr_lock();
  struct evr_recording *r = evr_producer.recording;
  bool recorded = r && !r->ended && evr_control(r)->wanted & 1 && is_any_attached_locked();
  if (recorded) evr_control_ask_stacks(evr_control(r), on);
  evr_unlock();
  return recorded;
}

uint32_t eventring_stack_asked(const eventring_domain *domain) {
  const struct evr_domain *d = (const struct evr_domain *)domain;
  const struct evr_recording *r = d ? d->recording : NULL;
  if (!r || __atomic_load_n(&r->ended, __ATOMIC_RELAXED)) return 0;
  const struct format_control *control = evr_control(r);
  /* acquire: pairs with the release of evr_control_request: a domain that sees the bit
     sees the number that evr_control_ask_stacks has set before */
  if (!(__atomic_load_n(&control->requests, __ATOMIC_ACQUIRE) & FORMAT_REQUEST_STACKS))
    return 0;
  return __atomic_load_n(&control->stacks, __ATOMIC_RELAXED);
}

enum { ASKED_NS = 5 * 1000000 /* how long a request of the helper lasts */ };

/* The requests that the helper makes. All members are atomic and relaxed: a change that
   the helper misses, it sees at its next check. */
static struct {
  uint64_t period; /* ns between two requests; 0 if there are none */
  uint64_t due;    /* when the next request begins, or the present one ends */
  bool helped;     /* whether the helper exists */
  bool turned;     /* whether it has called evr_stack_turn, and may sleep for long now */
  bool vain;       /* whether no domain was recorded at the last request */
} asking;
static bool is_asking; /* whether a request of the helper is on; used by it only */

#define STORE(member, value) __atomic_store_n(&asking.member, value, __ATOMIC_RELAXED)
#define LOAD(member) __atomic_load_n(&asking.member, __ATOMIC_RELAXED)

bool eventring_stack_ask_each(uint64_t ns) {
  const bool helped = LOAD(helped);
  if (!helped || (LOAD(period) == ns && !LOAD(vain))) return helped;
  const uint64_t first = evr_monotonic_ns() + EVR_FIRST_LOOK_NS;
  /* A request that is due earlier stays: a call that only changes the period must not
     put it off. */
  if (LOAD(period) == 0 || LOAD(vain) || LOAD(due) > first) STORE(due, first);
  STORE(period, ns);
  STORE(vain, false);
  if (LOAD(turned)) evr_watch_post(0);
  return true;
}

void evr_stack_helped(bool helped) {
  is_asking = false;
  STORE(period, 0);
  STORE(turned, false);
  STORE(vain, false);
  STORE(helped, helped);
}

uint64_t evr_stack_turn(void) {
  const uint64_t now = evr_monotonic_ns(), period = LOAD(period), due = LOAD(due);
  STORE(turned, true);
  if (!is_asking && (!period || LOAD(vain))) return UINT64_MAX;
  if (now < due) return due - now;
  const bool asks = !is_asking;
  is_asking = eventring_stack_ask(asks) && asks;
  const bool vain = asks && !is_asking;
  const uint64_t wait = is_asking ? ASKED_NS : period;
  STORE(vain, vain);
  STORE(due, now + wait);
  return vain ? UINT64_MAX : wait;
}

/* ---- The host's function ----------------------------------------------------------- */

void eventring_stack_keep_host(eventring_domain *domain, void *host) {
  if (domain) ((struct evr_domain *)domain)->host = host;
}

void *eventring_stack_host(const eventring_domain *domain) {
  return domain ? ((const struct evr_domain *)domain)->host : NULL;
}

void eventring_on_stack(eventring_stack_wanted *function) {
  /* release: pairs with the acquire in evr_stack_wanted: a thread that calls the function
     sees what the host has set up before */
  __atomic_store_n(&wanted, function, __ATOMIC_RELEASE);
}

void evr_stack_wanted(struct evr_domain *d, enum eventring_stack_reason reason, int64_t value,
                      bool in_handler) {
  /* acquire: pairs with the release in eventring_on_stack */
  eventring_stack_wanted *function = __atomic_load_n(&wanted, __ATOMIC_ACQUIRE);
  if (function) function((eventring_domain *)d, reason, value, in_handler);
}
