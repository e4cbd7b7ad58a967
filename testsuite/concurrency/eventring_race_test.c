/* SPDX-License-Identifier: MIT */
/* eventring_race_test.c: writers that wrap round the smallest rings while readers read
 * them, domains that come and go, pauses, restarts. Meant to run under ThreadSanitizer,
 * too.
 *
 *   eventring_race_test [MILLISECONDS]      (default 400 a part)
 *
 * Part 1: one writer, six readers (own rings, a file mapped and not, each with and
 * without a pause). Writer's pattern: begin(n), count(n), end, with n = 0, 1, ... Each
 * reader checks that numbers only grow, that between losses nothing is missing or
 * changed, that a matched end has the time of the last begin, and, when the writer is
 * done, that emitted = missed + delivered + lost to the unit.
 *
 * Part 2: domains come and go in slots that are reused; readers stay, or attach and
 * detach. Each reader finds that for each ring of each slot, over all incarnations, the
 * sum is at most the number of emitted events while the writers run, and equal to it when
 * they are done.
 *
 * Part 3: domains start and stop, the recording is paused, resumed, stopped and started,
 * while readers come and go: there is nothing to count, but nothing may break.
 *
 * Part 4: two threads start and stop recordings, two note errors: noting an error must
 * not use a recording that the other threads have freed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "eventring/probe.h"
#include "eventring/tools.h"
#include "producer/domains.h"

enum { SPAN = EVENTRING_ID_HOST, COUNT, READERS = 6 };

/* How a cursor reads: the mappings of this process, a file that it maps, or
   one with pread. */
enum way { OWN, WINDOW, CALLS, WAYS };
static const char *const way_names[WAYS] = {"own rings", "file, mapped", "file, read"};

#define CHECK(condition) \
  ((condition) ? (void)0 \
               : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

static bool stop_flag; /* atomic */
static unsigned milliseconds = 400;

static bool stopping(void) { return __atomic_load_n(&stop_flag, __ATOMIC_RELAXED); }
static void set_stopping(bool value) {
  __atomic_store_n(&stop_flag, value, __ATOMIC_RELAXED);
}
static void sleep_us(unsigned us) { usleep(us); }

/* Waits for the threads; after a part of the time rings begin to grow. */
static void let_them_run(void) {
  char path[4096];
  struct eventring_error error = {0};
  usleep(milliseconds * 250);
  CHECK(eventring_path(path, sizeof path) > 0);
  CHECK(eventring_control(path, EVENTRING_CHANGE(HOLD, .hold_ns = 1000000000000), &error) ==
        EVENTRING_OK);
  usleep(milliseconds * 750);
}

static void start_recording(void) {
  struct eventring_config config;
  struct eventring_error error = {0};
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.wsize = EVENTRING_MIN_WSIZE;
  config.grow_bytes = 1 << 20;
  if (eventring_start(&config, &error) < EVENTRING_OK) {
    fprintf(stderr, "%s\n", error.text);
    abort();
  }
}

/* ---- Part 1 ---------------------------------------------------------------------- */

static uint64_t written; /* events of the user ring, when the writer is done */

static void *write_pattern(void *argument) {
  pthread_barrier_t *barrier = argument;
  eventring_domain *d = eventring_domain_start("writer", NULL);
  pthread_barrier_wait(barrier);
  int64_t n = 0;
  do {
    for (int i = 0; i < 64; i++, n++) {
      eventring_begin_int(d, EVENTRING_USER, EVENTRING_CLASS_USER, SPAN, n);
      eventring_user_counter(d, COUNT, n);
      eventring_user_end(d, SPAN);
    }
    if (n % 4096 == 0) sleep_us(300);
  } while (!stopping());
  written = evr_domain_emitted(d, EVENTRING_USER);
  CHECK(written == 3 * (uint64_t)n);
  pthread_barrier_wait(barrier); /* readers finish */
  pthread_barrier_wait(barrier);
  eventring_domain_stop(d);
  return NULL;
}

struct reader {
  pthread_barrier_t *barrier;
  enum way way;
  unsigned pause_us;
  /* State of the callbacks: */
  int64_t last;       /* greatest number seen */
  /* the last event has this number */
  bool known;
  unsigned expected;  /* kind that must come next; 0 after a loss */
  uint64_t begin_ns;  /* time of the begin of the open span; 0 if it was not seen */
  uint64_t last_ns, real, lost, matched;
};

static int check_event(void *context, const struct eventring_event *e) {
  struct reader *r = context;
  if (e->ring != EVENTRING_USER) return 0;
  CHECK(!(e->flags & EVENTRING_UNKNOWN));
  if (e->flags & EVENTRING_SYNTHETIC) {
    if (e->kind == EVENTRING_BEGIN) r->begin_ns = e->ns;
    if (e->kind == EVENTRING_END) r->begin_ns = 0;
    return 0;
  }
  r->real++;
  CHECK(e->ns >= r->last_ns);
  r->last_ns = e->ns;
  CHECK(!r->expected || e->kind == r->expected);
  switch (e->kind) {
    case EVENTRING_BEGIN:
      CHECK(r->known ? e->value.i == r->last + 1 : e->value.i > r->last);
      r->last = e->value.i;
      r->known = true;
      r->begin_ns = e->ns;
      r->expected = EVENTRING_COUNTER;
      break;
    case EVENTRING_COUNTER:
      CHECK(e->id == COUNT);
      CHECK(r->known ? e->value.i == r->last : e->value.i > r->last);
      r->last = e->value.i;
      r->known = true;
      r->expected = EVENTRING_END;
      break;
    default:
      CHECK(e->kind == EVENTRING_END && e->id == SPAN);
      CHECK(e->flags & EVENTRING_MATCHED); /* blocks list what was open */
      CHECK(e->begin_ns == r->begin_ns);
      r->matched++;
      r->begin_ns = 0;
      r->expected = EVENTRING_BEGIN;
      break;
  }
  return 0;
}

static int check_loss(void *context, const struct eventring_loss *loss) {
  struct reader *r = context;
  if (loss->ring != EVENTRING_USER) return 0;
  r->lost += loss->count;
  r->expected = 0;
  r->known = false;
  return 0;
}

static eventring_cursor *open_cursor(enum way way) {
  char path[4096];
  eventring_cursor *cursor = NULL;
  struct eventring_error error = {0};
  eventring_path(path, sizeof path);
  unsigned flags = way == CALLS ? EVENTRING_OPEN_UNMAPPED : 0;
  int status = way == OWN ? eventring_open_self(&cursor, 0, &error)
                          : eventring_open_path(&cursor, path, flags, &error);
  if (status != EVENTRING_OK) fprintf(stderr, "%s\n", error.text);
  return status == EVENTRING_OK ? cursor : NULL;
}

static void *read_pattern(void *argument) {
  struct reader *r = argument;
  struct eventring_callbacks callbacks = {sizeof callbacks, check_event, check_loss};
  eventring_cursor *cursor = open_cursor(r->way);
  struct eventring_ring_info info = {.size = sizeof info};
  CHECK(cursor);
  r->last = -1;
  pthread_barrier_wait(r->barrier);
  while (!stopping()) {
    int n = eventring_poll(cursor, &callbacks, r, 0);
    if (n < 0) fprintf(stderr, "%s\n", eventring_cursor_error(cursor)->text);
    CHECK(n >= 0);
    if (r->pause_us) sleep_us(r->pause_us);
  }
  pthread_barrier_wait(r->barrier); /* the writer is done */
  while (eventring_poll(cursor, &callbacks, r, 0) > 0) {}
  CHECK(eventring_cursor_ring(cursor, 0, EVENTRING_USER, &info) == EVENTRING_OK);
  CHECK(info.emitted == written);
  CHECK(info.missed + info.delivered + info.lost == written);
  CHECK(info.delivered == r->real);
  CHECK(info.missed + info.lost == r->lost);
  printf("%s, pause %4u us: %llu delivered, %llu lost, %llu spans matched\n",
         way_names[r->way], r->pause_us, (unsigned long long)r->real,
         (unsigned long long)r->lost, (unsigned long long)r->matched);
  pthread_barrier_wait(r->barrier);
  eventring_close(cursor);
  return NULL;
}

static void one_writer_many_readers(void) {
  pthread_barrier_t barrier;
  pthread_t writer, thread[READERS];
  struct reader reader[READERS];
  pthread_barrier_init(&barrier, NULL, READERS + 1);
  set_stopping(false);
  start_recording();
  pthread_create(&writer, NULL, write_pattern, &barrier);
  for (int i = 0; i < READERS; i++) {
    reader[i] = (struct reader){.barrier = &barrier, .way = (enum way)(i % WAYS),
                                .pause_us = i < WAYS ? 0 : 700};
    pthread_create(&thread[i], NULL, read_pattern, &reader[i]);
  }
  let_them_run();
  set_stopping(true);
  pthread_join(writer, NULL);
  for (int i = 0; i < READERS; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&barrier);
  eventring_stop();
}

/* ---- Part 2 ---------------------------------------------------------------------- */

enum { COMERS = 3, SITTERS = 2 * WAYS, PER_DOMAIN = 700 };
static uint64_t incarnations; /* atomic */
static bool writers_done;     /* atomic */

static void *come_and_write(void *argument) {
  (void)argument;
  do {
    eventring_domain *d = eventring_domain_start("guest", NULL);
    for (int i = 0; i < PER_DOMAIN; i++) {
      eventring_begin(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, SPAN);
      eventring_user_counter(d, COUNT, i);
      eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, SPAN);
    }
    eventring_domain_stop(d);
    __atomic_fetch_add(&incarnations, 1, __ATOMIC_RELAXED);
  } while (!stopping());
  return NULL;
}

/* Checks the sums of each ring; the sums are exact when nothing is written any more. */
static void check_sums(eventring_cursor *cursor, bool exact) {
  struct eventring_ring_info info = {.size = sizeof info};
  uint64_t counters = 0, lifecycle_and_gc = 0;
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++)
    for (int ring = 0; ring < EVENTRING_RINGS; ring++) {
      if (eventring_cursor_ring(cursor, slot, (enum eventring_ring)ring, &info) != EVENTRING_OK)
        continue;
      uint64_t seen = info.missed + info.delivered + info.lost;
      CHECK(exact ? seen == info.emitted : seen <= info.emitted);
      *(ring == EVENTRING_USER ? &counters : &lifecycle_and_gc) += info.emitted;
    }
  if (!exact) return;
  uint64_t domains = __atomic_load_n(&incarnations, __ATOMIC_RELAXED);
  CHECK(counters == domains * PER_DOMAIN);
  /* The recording's start is counted as well. */
  CHECK(lifecycle_and_gc >= domains * (2 * PER_DOMAIN + 2));
}

struct sitter {
  enum way way;
  bool stays;
  uint64_t attached;
};

static int take_event(void *context, const struct eventring_event *event) {
  (void)event;
  ++*(uint64_t *)context;
  return 0;
}

static void *sit_and_read(void *argument) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, take_event, NULL};
  struct sitter *sitter = argument;
  uint64_t count = 0;
  for (bool done = false; !done; sitter->attached++) {
    eventring_cursor *cursor = open_cursor(sitter->way);
    CHECK(cursor);
    for (int i = 0; sitter->stays ? !done : i < 20; i++) {
      CHECK(eventring_poll(cursor, &callbacks, &count, 0) >= 0);
      check_sums(cursor, false);
      /* acquire: pairs with the release store in slots_used_again. The polls after it see
         all events of the writers. */
      done = __atomic_load_n(&writers_done, __ATOMIC_ACQUIRE);
    }
    while (done && eventring_poll(cursor, &callbacks, &count, 0) > 0) continue;
    check_sums(cursor, done);
    eventring_close(cursor);
  }
  return NULL;
}

static void slots_used_again(void) {
  pthread_t comers[COMERS], threads[SITTERS];
  struct sitter sitters[SITTERS];
  set_stopping(false);
  start_recording();
  for (int i = 0; i < COMERS; i++) pthread_create(&comers[i], NULL, come_and_write, NULL);
  for (int i = 0; i < SITTERS; i++) {
    sitters[i] = (struct sitter){.way = (enum way)(i % WAYS), .stays = i < WAYS};
    pthread_create(&threads[i], NULL, sit_and_read, &sitters[i]);
  }
  usleep(milliseconds * 1000);
  set_stopping(true);
  for (int i = 0; i < COMERS; i++) pthread_join(comers[i], NULL);
  /* release: pairs with the acquire load in sit_and_read. All that the joined writers
     have done comes before it. */
  __atomic_store_n(&writers_done, true, __ATOMIC_RELEASE);
  for (int i = 0; i < SITTERS; i++) pthread_join(threads[i], NULL);
  printf("%llu domains in reused slots; attached %llu and %llu times\n",
         (unsigned long long)incarnations, (unsigned long long)sitters[WAYS].attached,
         (unsigned long long)sitters[WAYS + 1].attached);
  eventring_stop();
}

/* ---- Part 3 ---------------------------------------------------------------------- */

static void *come_and_go(void *argument) {
  (void)argument;
  while (!stopping()) {
    eventring_domain *d = eventring_domain_start("guest", NULL);
    for (int i = 0; i < 3000; i++) {
      eventring_begin(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, SPAN);
      eventring_user_counter(d, COUNT, i);
      eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, SPAN);
    }
    eventring_domain_check(d);
    eventring_domain_stop(d);
  }
  return NULL;
}

static int count_event(void *context, const struct eventring_event *event) {
  CHECK(event->kind >= EVENTRING_BEGIN && event->kind <= EVENTRING_LIFECYCLE);
  ++*(uint64_t *)context;
  return 0;
}

static void *look_now_and_then(void *argument) {
  struct eventring_callbacks callbacks = {sizeof callbacks, count_event, NULL};
  enum way way = *(const enum way *)argument;
  uint64_t count = 0;
  while (!stopping()) {
    eventring_cursor *cursor = NULL;
    char path[4096];
    unsigned flags = EVENTRING_OPEN_MERGED | (way == CALLS ? EVENTRING_OPEN_UNMAPPED : 0);
    if (way != OWN && eventring_path(path, sizeof path))
      eventring_open_path(&cursor, path, flags, NULL);
    else if (way == OWN)
      eventring_open_self(&cursor, EVENTRING_OPEN_MERGED, NULL);
    for (int i = 0; cursor && i < 20; i++) {
      if (eventring_poll(cursor, &callbacks, &count, 0) < 0) {
        fprintf(stderr, "%s: %s\n", way_names[way], eventring_cursor_error(cursor)->text);
        abort();
      }
      sleep_us(100);
    }
    eventring_close(cursor);
  }
  printf("%s: %llu events while things change\n", way_names[way],
         (unsigned long long)count);
  return NULL;
}

static void *change_things(void *argument) {
  unsigned restarts = 0;
  (void)argument;
  for (int i = 0; !stopping(); i++) {
    eventring_pause();
    sleep_us(50);
    eventring_resume();
    eventring_switch_classes(UINT32_MAX & ~EVENTRING_CLASS_BIT(EVENTRING_CLASS_GC), i % 3 != 0);
    (void)eventring_register_user(EVENTRING_DEF_INSTANT,
                                  (const char *)&(char){(char)('a' + i % 26)},
                                  1, EVENTRING_NONE, NULL);
    sleep_us(500);
    if (i % 40 == 39 && restarts < 6) {
      eventring_stop();
      sleep_us(100);
      start_recording();
      restarts++;
    }
  }
  return NULL;
}

static void everything_changes(void) {
  static enum way ways[WAYS] = {OWN, WINDOW, CALLS};
  pthread_t thread[7];
  set_stopping(false);
  start_recording();
  pthread_create(&thread[0], NULL, come_and_go, NULL);
  pthread_create(&thread[1], NULL, come_and_go, NULL);
  pthread_create(&thread[2], NULL, come_and_go, NULL);
  for (int i = 0; i < WAYS; i++) pthread_create(&thread[3 + i], NULL, look_now_and_then, &ways[i]);
  pthread_create(&thread[6], NULL, change_things, NULL);
  usleep(milliseconds * 1000);
  set_stopping(true);
  for (int i = 0; i < 7; i++) pthread_join(thread[i], NULL);
  eventring_stop();
}

/* ---- Part 4 ---------------------------------------------------------------------- */

static void *start_and_stop(void *argument) {
  (void)argument;
  while (!stopping()) {
    start_recording();
    eventring_stop();
  }
  return NULL;
}

static void *note_errors(void *argument) {
  int *noted = argument;
  while (!stopping()) {
    int status = eventring_note_error("why", 3);
    CHECK(status == EVENTRING_OK || status == EVENTRING_E_STATE);
    *noted += status == EVENTRING_OK;
  }
  return NULL;
}

static void errors_between_recordings(void) {
  pthread_t thread[4];
  int noted[2] = {0};
  set_stopping(false);
  for (int i = 0; i < 2; i++) {
    pthread_create(&thread[i], NULL, start_and_stop, NULL);
    pthread_create(&thread[2 + i], NULL, note_errors, &noted[i]);
  }
  usleep(milliseconds * 1000);
  set_stopping(true);
  for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
  printf("errors noted: %d, %d\n", noted[0], noted[1]);
}

int main(int argc, char **argv) {
  static const struct eventring_def defs[] = {
      {.name = "span", .kind = EVENTRING_DEF_SPAN, .event_class = EVENTRING_CLASS_USER,
       .ring = EVENTRING_USER, .payload = EVENTRING_INT},
      {.name = "count", .kind = EVENTRING_DEF_COUNTER, .event_class = EVENTRING_CLASS_USER,
       .ring = EVENTRING_USER, .payload = EVENTRING_INT}};
  unsigned first;
  if (argc > 1) milliseconds = (unsigned)atoi(argv[1]);
  CHECK(eventring_register_table(defs, 2, &first, NULL) == EVENTRING_OK && first == SPAN);
  one_writer_many_readers();
  slots_used_again();
  everything_changes();
  errors_between_recordings();
  return 0;
}
