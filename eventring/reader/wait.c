/* SPDX-License-Identifier: MIT */
/* wait.c: sleeps until a poll has something to do.
 *
 * The producer makes no system call, so nothing wakes a reader: it sleeps, checks, and
 * sleeps again. A check does what a poll does before it delivers (evr_cursor_has_news):
 * it compares the ends of the rings, and tests whether the producer still lives. The time
 * from one check to the next is the cursor's pace:
 *
 *  - it grows by a quarter with each check that finds nothing and with each poll that
 *    found little, up to SLOWEST: an idle reader checks 125 times a second, so news waits
 *    for at most 8 ms;
 *  - it halves, down to FASTEST, when a poll has delivered more than an eighth of a ring,
 *    so that a flood does not overtake the reader. After more than half a ring the next
 *    check is immediate.
 *
 * So a steady trickle of events costs 125 polls a second and not a whole processor:
 * eventring_wait sleeps even if there was news just after the last poll. It does not
 * sleep when the last poll was ended by its maximum or by a callback, nor after the
 * producer's end.
 */
#include "reader/cursor.h"

#include <errno.h>
#include <time.h>

enum { /* nanoseconds */
  FASTEST = 50 * 1000,
  FIRST = 500 * 1000,
  SLOWEST = 8000 * 1000
};

static void slow_down(struct evr_pace *pace) {
  if (!pace->ns) pace->ns = FIRST;
  pace->ns += pace->ns / 4;
  if (pace->ns > SLOWEST) pace->ns = SLOWEST;
}

/* Sets the pace by the number of events that the last poll delivered. Returns when to
   check next. */
static uint64_t next_look(struct evr_pace *pace, uint64_t ring_words) {
  uint64_t delivered = pace->delivered;
  pace->delivered = 0;
  if (delivered > ring_words / 8)
    pace->ns = pace->ns / 2 > FASTEST ? pace->ns / 2 : FASTEST;
  else if (delivered < ring_words / 32)
    slow_down(pace);
  return delivered > ring_words / 2 ? 0 : pace->looked + pace->ns;
}

/* Sleeps until a time. Returns false if a signal came. */
static bool sleep_until(uint64_t ns) {
  struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                          .tv_nsec = (long)(ns % 1000000000)};
  return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != EINTR;
}

int eventring_wait(eventring_cursor *c, uint64_t timeout_ns) {
  if (!c) return EVENTRING_E_ARGUMENT;
  if (c->busy) return EVENTRING_E_BUSY;
  if (c->pace.unfinished) return 1;
  uint64_t now = evr_monotonic_ns();
  uint64_t deadline = timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
  uint64_t look = next_look(&c->pace, (uint64_t)1 << c->meta.header.wsize);
  for (;;) {
    if (look > deadline) look = deadline;
    if (look > now && !sleep_until(look)) return EVENTRING_E_INTERRUPTED;
    c->pace.looked = now = evr_monotonic_ns();
    if (evr_cursor_has_news(c)) return 1;
    if (now >= deadline) return 0;
    slow_down(&c->pace);
    look = now + c->pace.ns;
  }
}
