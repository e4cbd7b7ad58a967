/* SPDX-License-Identifier: MIT */
/* embed.c: a C program that records what it does, with libeventring.
 *
 *   embed [--workers N] [--jobs N] [--pause-us N]
 *
 * Each worker thread is a domain of its own. It takes jobs, which it prepares, works on
 * and stores. A job and its parts are spans; the size of each job is a counter. The
 * program needs no virtual machine and no collector: the catalogue below has the names of
 * the events and their classes, which tools read from the recording.
 *
 * Build it with `make` in this folder. Watch it while it runs:
 *
 *   EMBED_START=1 ./embed --jobs 100000 --pause-us 100 &
 *   eventring stats $!
 *   eventring control $! --disable detail
 *
 * or launch it recorded to its last event:
 *
 *   eventring stats --env-prefix EMBED -- ./embed
 *
 * At the end the program prints what it did, one "NAME NUMBER" a line, for comparison
 * with the recording.
 */
#include <eventring.h>
#include <eventring/probe.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- What is recorded ---------------------------------------------------- */

/* Classes can be switched one by one, also from outside. */
enum {
  CLASS_JOBS = EVENTRING_CLASS_HOST, /* on by default */
  CLASS_DETAIL                       /* off by default: the parts of a job */
};

/* The first table that a program registers gets its ids from EVENTRING_ID_HOST on,
   so that ids are constants. */
enum { JOB = EVENTRING_ID_HOST, PREPARE, STORE, SIZE, WORKER_DONE };

static const struct eventring_def catalogue[] = {
    {.name = "job", .doc = "one job from beginning to end", .kind = EVENTRING_DEF_SPAN,
     .event_class = CLASS_JOBS, .ring = EVENTRING_RUNTIME},
    {.name = "prepare", .kind = EVENTRING_DEF_SPAN, .event_class = CLASS_DETAIL,
     .ring = EVENTRING_RUNTIME},
    {.name = "store", .kind = EVENTRING_DEF_SPAN, .event_class = CLASS_DETAIL,
     .ring = EVENTRING_RUNTIME},
    {.name = "job_size", .unit = "bytes", .doc = "of the job that was stored",
     .kind = EVENTRING_DEF_COUNTER, .event_class = CLASS_JOBS,
     .ring = EVENTRING_RUNTIME, .payload = EVENTRING_INT},
    {.name = "worker_done", .kind = EVENTRING_DEF_INSTANT, .event_class = CLASS_JOBS,
     .ring = EVENTRING_RUNTIME, .payload = EVENTRING_STRING}};

#define BEGIN(d, class, id) \
  eventring_begin(d, EVENTRING_RUNTIME, (enum eventring_class)(class), id)
#define END(d, class, id) \
  eventring_end(d, EVENTRING_RUNTIME, (enum eventring_class)(class), id)

/* Reports why nothing is recorded. The program goes on without a recording. */
static void warn(void *context, const struct eventring_error *error) {
  (void)context;
  fprintf(stderr, "embed: not recorded: %s\n", error->text);
}

static void start_recording(void) {
  struct eventring_config config;
  struct eventring_error error;
  unsigned first;
  eventring_define_class(CLASS_JOBS, "jobs", true);
  eventring_define_class(CLASS_DETAIL, "detail", false);
  eventring_config_init(&config);
  config.warn = warn;
  if (eventring_register_table(catalogue, sizeof catalogue / sizeof *catalogue, &first,
                               &error) < 0 ||
      eventring_config_from_env(&config, "EMBED", &error) < 0 ||
      eventring_start(&config, &error) < 0)
    warn(NULL, &error);
}

/* ---- What is done -------------------------------------------------------- */

static long workers = 2, jobs = 1000, pause_us = 0;

struct worker {
  pthread_t thread;
  long number;
  unsigned char sum;
};

static void prepare(unsigned char *job, size_t size, long number) {
  memset(job, (int)number, size);
}

static unsigned char store(const unsigned char *job, size_t size) {
  unsigned char sum = 0;
  for (size_t i = 0; i < size; i++) sum = (unsigned char)(sum * 31 + job[i]);
  return sum;
}

static void do_job(struct worker *worker, eventring_domain *domain, long number) {
  unsigned char job[256];
  size_t size = 1 + (size_t)number % sizeof job;
  BEGIN(domain, CLASS_JOBS, JOB);
  BEGIN(domain, CLASS_DETAIL, PREPARE);
  prepare(job, size, number);
  END(domain, CLASS_DETAIL, PREPARE);
  BEGIN(domain, CLASS_DETAIL, STORE);
  worker->sum ^= store(job, size);
  END(domain, CLASS_DETAIL, STORE);
  eventring_counter(domain, EVENTRING_RUNTIME, (enum eventring_class)CLASS_JOBS, SIZE,
                    (int64_t)size);
  END(domain, CLASS_JOBS, JOB);
}

static void *work(void *context) {
  struct worker *worker = context;
  struct timespec pause = {pause_us / 1000000, pause_us % 1000000 * 1000};
  struct eventring_error error;
  char name[32];
  snprintf(name, sizeof name, "worker %ld", worker->number);
  eventring_domain *domain = eventring_domain_start(name, &error);
  for (long i = 0; i < jobs; i++) {
    do_job(worker, domain, i);
    if (pause_us) nanosleep(&pause, NULL);
  }
  eventring_instant_bytes(domain, EVENTRING_RUNTIME, (enum eventring_class)CLASS_JOBS,
                        WORKER_DONE, name, strlen(name));
  eventring_domain_stop(domain);
  return NULL;
}

static void read_options(int argc, char **argv) {
  static const struct { const char *name; long *number; } options[] = {
      {"--workers", &workers}, {"--jobs", &jobs}, {"--pause-us", &pause_us}};
  for (int i = 1; i < argc; i += 2) {
    size_t n = 0;
    while (n < 3 && strcmp(options[n].name, argv[i]) != 0) n++;
    if (n == 3 || i + 1 == argc) {
      fprintf(stderr, "usage: embed [--workers N] [--jobs N] [--pause-us N]\n");
      exit(2);
    }
    *options[n].number = strtol(argv[i + 1], NULL, 10);
  }
}

int main(int argc, char **argv) {
  long sizes = 0;
  read_options(argc, argv);
  start_recording();
  struct worker *all = calloc((size_t)workers + 1, sizeof *all);
  if (!all) return 1;
  for (long i = 0; i < workers; i++) {
    all[i].number = i;
    if (pthread_create(&all[i].thread, NULL, work, &all[i]) != 0) return 1;
  }
  for (long i = 0; i < workers; i++) pthread_join(all[i].thread, NULL);
  eventring_stop();
  free(all);
  for (long i = 0; i < jobs; i++) sizes += 1 + i % 256;
  printf("job %ld\njob_size %ld\nbytes %ld\nworker_done %ld\n", workers * jobs,
         workers * jobs, workers * sizes, workers);
  return 0;
}
