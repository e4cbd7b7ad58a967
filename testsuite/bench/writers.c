/* SPDX-License-Identifier: MIT */
/* writers.c: the enabled span with one and two producing threads, with the ring in a file
 * on disk and on /dev/shm, and without a reader, or with a reader that polls now and then
 * or all the time. The reader is a thread that reads the mapping, or a process that reads
 * the file.
 *
 * All combinations take turns, each with a recording of its own. Threads measure their
 * own processor time, so that sharing two processors with the reader does not count as a
 * cost of the probe.
 */
#include "bench.h"
#include "eventring/read.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS_MAX = 2, RUNS = 40, MIN_MS = 40 };

enum reader { NOBODY, EVERY_10_MS, ALWAYS, PROCESS_ALWAYS, READERS };
static const struct {
  const char *name;
  double bar;
} readers[READERS] = {{"no reader", 1.10},
                      {"a reader polls every 10 ms", 1.10},
                      {"a reader polls without pause", 1.30},
                      {"a process polls without pause", 1.30}};

struct configuration {
  const char *place;
  int threads;
  enum reader reader;
  struct series pair, span;
  uint64_t polls, delivered, lost;
};

/* ---- Readers -------------------------------------------------------------------- */

struct poller {
  unsigned pause_us;
  bool stop; /* atomic */
  uint64_t polls;
  struct eventring_totals totals;
};

static int count_event(void *context, const struct eventring_event *event) {
  (void)event;
  ++*(uint64_t *)context;
  return 0;
}

static void poll_until(eventring_cursor *cursor, struct poller *poller) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, count_event, NULL};
  uint64_t count = 0;
  while (!__atomic_load_n(&poller->stop, __ATOMIC_RELAXED)) {
    if (eventring_poll(cursor, &callbacks, &count, 0) < 0) break;
    poller->polls++;
    if (eventring_finished(cursor)) break;
    if (poller->pause_us) usleep(poller->pause_us);
  }
  poller->totals.size = sizeof poller->totals;
  eventring_cursor_totals(cursor, &poller->totals);
  eventring_close(cursor);
}

static void *poll_in_thread(void *argument) {
  eventring_cursor *cursor;
  if (eventring_open_self(&cursor, EVENTRING_OPEN_NOW, NULL) == EVENTRING_OK)
    poll_until(cursor, argument);
  return NULL;
}

/* Starts a process that polls until the recording has ended and reports its figures. */
static pid_t poll_in_process(int *from) {
  static struct poller poller;
  char path[4096];
  int fd[2];
  eventring_path(path, sizeof path);
  if (pipe(fd) != 0) return -1;
  pid_t child = fork();
  if (child == 0) {
    eventring_cursor *cursor;
    if (eventring_open_path(&cursor, path, EVENTRING_OPEN_NOW, NULL) != EVENTRING_OK) _exit(1);
    poll_until(cursor, &poller);
    _exit(write(fd[1], &poller, sizeof poller) != sizeof poller);
  }
  close(fd[1]);
  *from = fd[0];
  return child;
}

/* ---- Writers ---------------------------------------------------------------------- */

struct writer {
  pthread_t thread;
  pthread_barrier_t *barrier;
  struct series pair, span;
};

static void *write_spans(void *argument) {
  struct writer *writer = argument;
  eventring_domain *d = eventring_domain_start("bench", NULL);
  bench_span(d);
  pthread_barrier_wait(writer->barrier);
  uint64_t until = wall_ns() + MIN_MS * 1000000ull;
  for (int i = 0; i < RUNS || wall_ns() < until; i++) {
    sample(&writer->pair, time_of(bench_pair, d));
    sample(&writer->span, time_of(bench_span, d));
  }
  pthread_barrier_wait(writer->barrier);
  eventring_domain_stop(d);
  return NULL;
}

static void run_writers(struct configuration *c) {
  static struct writer writers[THREADS_MAX];
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, (unsigned)c->threads);
  for (int i = 0; i < c->threads; i++) {
    writers[i].barrier = &barrier;
    writers[i].pair.count = writers[i].span.count = 0;
    if (pthread_create(&writers[i].thread, NULL, write_spans, &writers[i]) != 0) exit(1);
  }
  for (int i = 0; i < c->threads; i++) {
    pthread_join(writers[i].thread, NULL);
    for (int n = 0; n < writers[i].span.count; n++) {
      sample(&c->pair, writers[i].pair.at[n]);
      sample(&c->span, writers[i].span.at[n]);
    }
  }
  pthread_barrier_destroy(&barrier);
}

static void add_figures(struct configuration *c, const struct poller *poller) {
  c->polls += poller->polls;
  c->delivered += poller->totals.delivered;
  c->lost += poller->totals.lost;
}

static void run_configuration(struct configuration *c) {
  struct poller poller = {.pause_us = c->reader == EVERY_10_MS ? 10000 : 0};
  pthread_t thread;
  pid_t child = -1;
  int from = -1;
  start_recording(c->place);
  if (c->reader == PROCESS_ALWAYS) child = poll_in_process(&from);
  else if (c->reader != NOBODY && pthread_create(&thread, NULL, poll_in_thread, &poller) != 0)
    exit(1);
  run_writers(c);
  __atomic_store_n(&poller.stop, true, __ATOMIC_RELAXED);
  if (c->reader == EVERY_10_MS || c->reader == ALWAYS) pthread_join(thread, NULL);
  eventring_stop();
  if (child > 0) {
    if (read(from, &poller, sizeof poller) != sizeof poller) poller.polls = 0;
    close(from);
    waitpid(child, NULL, 0);
  }
  add_figures(c, &poller);
}

/* ---- All combinations ------------------------------------------------------------- */

enum { CONFIGURATIONS = 2 * THREADS_MAX * READERS };
static struct configuration configurations[CONFIGURATIONS];

static int list_configurations(void) {
  int count = 0;
  for (int place = 0; place < (bench.shm ? 2 : 1); place++)
    for (int threads = 1; threads <= THREADS_MAX; threads++)
      for (int reader = 0; reader < READERS; reader++) {
        struct configuration *c = &configurations[count++];
        c->place = place ? bench.shm : bench.disk;
        c->threads = threads;
        c->reader = (enum reader)reader;
      }
  return count;
}

void bench_writers(void) {
  int count = list_configurations();
  for (int round = 0; round < bench.rounds; round++)
    for (int i = 0; i < count; i++) run_configuration(&configurations[i]);
  table("An enabled span, by threads, place and reader");
  for (int i = 0; i < count; i++) {
    struct configuration *c = &configurations[i];
    struct row row = {"ns", &c->pair, NULL, BAR_RATIO, readers[c->reader].bar};
    report(&row, &c->span, "%d thread%s, %s, %s", c->threads, c->threads > 1 ? "s" : "",
           place_name(c->place), readers[c->reader].name);
    if (c->reader != NOBODY)
      remark("%llu polls, %llu events read, %llu lost", (unsigned long long)c->polls,
             (unsigned long long)c->delivered, (unsigned long long)c->lost);
  }
}
