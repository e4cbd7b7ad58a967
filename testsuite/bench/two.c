/* SPDX-License-Identifier: MIT */
/* two.c: measures whether a second producer slows the first one down.
 *
 * Each thread times its loop in intervals of 16,000 spans, by its processor time. It
 * drops an interval in which it was taken off its processor, or in which the host of the
 * machine took time (steal). In each round, one thread and two are measured in turn, with
 * three kinds of work: spans into a stream, spans into rings, and as a control the pair
 * of bare clock reads, for which the threads share nothing. If the control costs more
 * with two threads, that is due to the machine. */
#include "bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { INTERVALS = 2000 /* for each thread and round; 0.6 s */ };
static int intervals(void) { return bench.brief ? INTERVALS / 20 : INTERVALS; }

enum doing { STREAM, RINGS, CLOCKS, DOINGS };
static const char *const doings[] = {"a stream", "rings", "nothing shared: the pair"};

static void die(const char *what) {
  fprintf(stderr, "eventring_bench: streams: %s\n", what);
  exit(1);
}

/* ---- One thread ------------------------------------------------------------------- */

struct worker {
  pthread_t thread;
  enum doing doing;
  pthread_barrier_t *begin;
  struct series kept; /* ns for an event, or half a pair */
  unsigned dropped;
};

static long switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Returns the ticks that the host took, from all processors. */
static unsigned long long steal(void) {
  unsigned long long ticks = 0;
  FILE *file = fopen("/proc/stat", "re");
  if (!file) return 0;
  if (fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks) != 1) ticks = 0;
  fclose(file);
  return ticks;
}

static void *work(void *argument) {
  struct worker *w = argument;
  eventring_domain *d = eventring_domain_start("two", NULL);
  bench_loop *loop = w->doing == CLOCKS ? bench_pair : bench_span;
  pthread_barrier_wait(w->begin);
  for (int i = 0; i < intervals(); i++) {
    unsigned long long stolen = steal();
    long before = switches();
    double ns = time_of(loop, d) / 2;
    if (switches() == before && steal() == stolen) sample(&w->kept, ns);
    else w->dropped++;
  }
  eventring_domain_stop(d);
  return NULL;
}

/* ---- One and two ------------------------------------------------------------------ */

static char path[4096];

static void start(const char *directory, enum doing doing) {
  struct eventring_config config;
  struct eventring_error error;
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.directory = directory;
  snprintf(path, sizeof path, "%s/bench-two-%d.eventring", directory, (int)getpid());
  if (doing == STREAM) config.stream = path;
  if (eventring_start(&config, &error) != EVENTRING_OK) die(error.text);
}

/* Returns the median time of an event, over the first thread's intervals that were
   kept. */
static double time_of_first(const char *directory, enum doing doing, unsigned threads,
                            unsigned *dropped) {
  struct worker *workers = calloc(2, sizeof *workers);
  pthread_barrier_t begin;
  if (!workers) die("no memory");
  pthread_barrier_init(&begin, NULL, threads);
  start(directory, doing);
  for (unsigned i = 0; i < threads; i++) {
    workers[i].doing = doing;
    workers[i].begin = &begin;
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) die("no thread");
  }
  for (unsigned i = 0; i < threads; i++) pthread_join(workers[i].thread, NULL);
  eventring_stop();
  if (doing == STREAM) unlink(path);
  pthread_barrier_destroy(&begin);
  double ns = workers[0].kept.count ? median(&workers[0].kept) : 0;
  *dropped += workers[0].dropped;
  free(workers);
  return ns;
}

void bench_two_producers(const char *directory, const char *place) {
  static struct series one[DOINGS], two[DOINGS], ratio[DOINGS];
  unsigned dropped = 0;
  for (int i = 0; i < DOINGS; i++) one[i].count = two[i].count = ratio[i].count = 0;
  for (int round = 0; round < bench.rounds; round++)
    for (int i = 0; i < DOINGS; i++) {
      double first = time_of_first(directory, (enum doing)i, 1, &dropped);
      double both = time_of_first(directory, (enum doing)i, 2, &dropped);
      if (first == 0 || both == 0) continue;
      sample(&one[i], first);
      sample(&two[i], both);
      sample(&ratio[i], both / first);
    }
  for (int i = 0; i < DOINGS; i++)
    if (one[i].count)
      remark("%s, %s: one producer %.2f ns an event, two %.2f; ratio %.3f, least %.3f, of %d "
             "rounds", place, doings[i], median(&one[i]), median(&two[i]), median(&ratio[i]),
             least(&ratio[i]), ratio[i].count);
  remark("%s: %u of %d intervals dropped", place, dropped,
         bench.rounds * DOINGS * 2 * intervals());
}
