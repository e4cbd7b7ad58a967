/* SPDX-License-Identifier: MIT */
/* streams.c: what a stream costs its producer, how fast it fills, and how fast it is
 * read.
 *
 * Each rate is shown with the rate of memcpy into a file of the same kind, or of a read
 * from such a file, in the same run. The last table has the alternatives that were not
 * chosen. They only store words: into blocks of 4 KiB of a mapped file, claimed one at a
 * time, and into four buffers that a thread writes with pwrite. */
#include "bench.h"
#include "eventring/read.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>


#define EVENTS_OF(bytes) ((bytes) / 8)
static const uint64_t GIB = 1ull << 30;
static char path[4096];

static void die(const char *what) {
  fprintf(stderr, "eventring_bench: streams: %s\n", what);
  exit(1);
}

static void start_stream(const char *directory) {
  struct eventring_config config;
  struct eventring_error error;
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  snprintf(path, sizeof path, "%s/bench-stream-%d.eventring", directory, (int)getpid());
  config.stream = path;
  if (eventring_start(&config, &error) != EVENTRING_OK) die(error.text);
}

static void stop_stream(void) {
  eventring_stop();
  unlink(path);
}

/* ---- A span ----------------------------------------------------------------------- */

enum { SPAN_SAMPLES = 60 };

static void sample_spans(struct series *pair, struct series *span) {
  eventring_domain *d = eventring_domain_start("bench", NULL);
  bench_span(d);
  for (int i = 0; i < SPAN_SAMPLES; i++) {
    sample(pair, time_of(bench_pair, d));
    sample(span, time_of(bench_span, d));
  }
  eventring_domain_stop(d);
}

static void measure_span(const char *place) {
  static struct series pair, span, ring_pair, ring_span;
  pair.count = span.count = ring_pair.count = ring_span.count = 0;
  for (int round = 0; round < bench.rounds; round++) {
    start_stream(place);
    sample_spans(&pair, &span);
    stop_stream();
    start_recording(place);
    sample_spans(&ring_pair, &ring_span);
    eventring_stop();
  }
  report(&(struct row){"ns", &pair, NULL, BAR_RATIO, 1.20}, &span, "span into a stream, %s",
         place_name(place));
  report(&(struct row){"ns", &ring_pair, NULL, NO_BAR, 0}, &ring_span, "span into a ring, %s",
         place_name(place));
}

/* ---- How long one probe may take -------------------------------------------------- */

enum { PROBES = 4000000, SLOW_NS = 2000 };

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static long switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw + usage.ru_nvcsw;
}

/* Measures single probes. Probes interrupted by another thread are left out; time that
   the host of this machine takes cannot be recognized. */
static void measure_probes(const char *place) {
  const int probes = bench.brief ? PROBES / 20 : PROBES;
  uint64_t *took = malloc((size_t)probes * sizeof *took), kept = 0, dropped = 0;
  if (!took) die("no memory");
  start_stream(place);
  eventring_domain *d = eventring_domain_start("bench", NULL);
  uint64_t ticks = eventring_ticks(), ns = wall_ns();
  long before = switches();
  for (int i = 0; i < probes; i++) {
    uint64_t from = eventring_ticks();
    eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, SPAN_ID);
    uint64_t t = eventring_ticks() - from;
    bool interrupted = t > 2 * SLOW_NS && switches() != before;
    if (interrupted) before = switches(), dropped++;
    else took[kept++] = t;
    eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_USER, SPAN_ID);
  }
  double scale = (double)(wall_ns() - ns) / (double)(eventring_ticks() - ticks);
  eventring_domain_stop(d);
  stop_stream();
  qsort(took, kept, sizeof *took, by_value);
  remark("%s: of %d begins, median %.0f ns, 99.9 %% %.0f ns, 99.99 %% %.1f us, longest %.1f us; "
         "%llu with a change of threads left out", place_name(place), probes,
         (double)took[kept / 2] * scale, (double)took[kept - kept / 1000] * scale,
         (double)took[kept - kept / 10000] * scale / 1000, (double)took[kept - 1] * scale / 1000,
         (unsigned long long)dropped);
  free(took);
}

/* ---- Rates ------------------------------------------------------------------------ */

struct filler {
  pthread_t thread;
  uint64_t loops;
  double cpu_ns; /* ns of processor time per event */
};

static void *fill(void *argument) {
  struct filler *f = argument;
  eventring_domain *d = eventring_domain_start("bench", NULL);
  uint64_t before = cpu_ns();
  for (uint64_t i = 0; i < f->loops; i++) bench_span(d);
  f->cpu_ns = (double)(cpu_ns() - before) / (double)(f->loops * LOOPS * 2);
  eventring_domain_stop(d);
  return NULL;
}

/* Counts events of the fillers: the recording has some events of its own in another
   ring. */
static int count_event(void *context, const struct eventring_event *event) {
  *(uint64_t *)context += event->ring == EVENTRING_USER && !(event->flags & EVENTRING_SYNTHETIC);
  return 0;
}

static long resident_kib(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  if (fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

struct watched {
  long most;    /* KiB */
  bool over; /* atomic */
};

/* Watches the resident memory until it is asked to end. (If a cancellation ended it, its
   frames would stay poisoned for AddressSanitizer.) */
static void *watch_memory(void *argument) {
  struct watched *watched = argument;
  while (!__atomic_load_n(&watched->over, __ATOMIC_RELAXED)) {
    long now = resident_kib();
    if (now > watched->most) watched->most = now;
    usleep(5000);
  }
  return NULL;
}

struct filled {
  uint64_t events;    /* written */
  double seconds;     /* seconds of wall time */
  double cpu_ns;      /* ns of processor time of a thread, per event */
  long more_resident; /* most resident KiB above those before the recording */
};

static struct filled fill_stream(const char *place, unsigned threads, uint64_t bytes) {
  struct filler filler[2];
  struct filled filled = {0};
  pthread_t watcher;
  long before = resident_kib();
  struct watched watched = {.most = before};
  start_stream(place);
  if (pthread_create(&watcher, NULL, watch_memory, &watched) != 0) die("no thread");
  uint64_t begun = wall_ns();
  for (unsigned i = 0; i < threads; i++) {
    filler[i].loops = EVENTS_OF(bytes) / threads / (2 * LOOPS);
    filled.events += filler[i].loops * 2 * LOOPS;
    if (pthread_create(&filler[i].thread, NULL, fill, &filler[i]) != 0) die("no thread");
  }
  for (unsigned i = 0; i < threads; i++) pthread_join(filler[i].thread, NULL);
  filled.seconds = (double)(wall_ns() - begun) / 1e9;
  __atomic_store_n(&watched.over, true, __ATOMIC_RELAXED);
  pthread_join(watcher, NULL);
  eventring_stop();
  filled.cpu_ns = filler[0].cpu_ns;
  filled.more_resident = watched.most - before;
  return filled;
}

/* Reads the file again, and returns the number of events that the fillers wrote. */
static uint64_t read_again(double *seconds) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, count_event, NULL};
  uint64_t heard = 0, begun = wall_ns();
  eventring_cursor *cursor;
  if (eventring_open_path(&cursor, path, 0, NULL) != EVENTRING_OK) die("cannot read");
  while (eventring_poll(cursor, &callbacks, &heard, 0) > 0) continue;
  eventring_close(cursor);
  *seconds = (double)(wall_ns() - begun) / 1e9;
  return heard;
}

static void measure_rate(const char *place, unsigned threads, uint64_t bytes) {
  struct stat st;
  double reading;
  struct filled filled = fill_stream(place, threads, bytes);
  if (stat(path, &st) != 0) die("no file");
  uint64_t heard = read_again(&reading);
  unlink(path);
  remark("%s, %u thread%s: %.1f M events/s, %.2f ns of processor each; %.2f GiB, %.3f bytes an "
         "event; %lld lost; at most %.1f MiB more resident than before; read at %.1f M events/s",
         place_name(place), threads, threads > 1 ? "s" : "",
         (double)filled.events / filled.seconds / 1e6, filled.cpu_ns,
         (double)st.st_size / (double)GIB, (double)st.st_size / (double)filled.events,
         (long long)(filled.events - heard), (double)filled.more_resident / 1024,
         (double)heard / reading / 1e6);
}

/* Measures how fast `bytes` bytes are written to a file of the same kind, by pwrite of 1
   MiB. */
static void measure_write(const char *place, uint64_t bytes) {
  enum { PIECE = 1 << 20 };
  char *piece = malloc(PIECE);
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || !piece) die("cannot write");
  memset(piece, 1, PIECE);
  uint64_t begun = wall_ns();
  for (uint64_t at = 0; at < bytes; at += PIECE)
    if (pwrite(fd, piece, PIECE, (off_t)at) != PIECE) die("cannot write");
  double writing = (double)(wall_ns() - begun) / 1e9;
  begun = wall_ns();
  for (uint64_t at = 0; at < bytes; at += PIECE)
    if (pread(fd, piece, PIECE, (off_t)at) != PIECE) die("cannot read");
  double reading = (double)(wall_ns() - begun) / 1e9;
  close(fd);
  unlink(path);
  free(piece);
  remark("%s: pwrite of 1 MiB each %.2f GiB/s (%.0f M words/s), pread %.2f GiB/s",
         place_name(place), (double)bytes / (double)GIB / writing,
         (double)bytes / 8e6 / writing, (double)bytes / (double)GIB / reading);
}

/* ---- Alternatives not chosen ------------------------------------------------------ */

enum { BLOCK = 4096, BLOCK_LOOPS = 16384 }; /* 64 MiB */

static void store_block(uint64_t *words) {
  for (int i = 0; i < BLOCK / 8; i++)
    __atomic_store_n(&words[i], eventring_ticks() << 23 | 1, __ATOMIC_RELAXED);
}

static int open_scratch(const char *place) {
  snprintf(path, sizeof path, "%s/bench-stream-%d.tmp", place, (int)getpid());
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) die("cannot create a file");
  unlink(path);
  return fd;
}

static double per_word(uint64_t begun) {
  return (double)(wall_ns() - begun) / BLOCK_LOOPS / (BLOCK / 8);
}

/* Measures the stores alone, into memory that is there. */
static double store_only(const char *place) {
  (void)place;
  static uint64_t words[BLOCK / 8];
  uint64_t begun = wall_ns();
  for (int i = 0; i < BLOCK_LOOPS; i++) store_block(words);
  return per_word(begun);
}

/* Measures a producer that claims, reserves and touches one block at a time. */
static double block_at_a_time(const char *place) {
  int fd = open_scratch(place);
  uint64_t bytes = (uint64_t)BLOCK * BLOCK_LOOPS, claimed = 0;
  uint8_t *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) die("cannot map");
  uint64_t begun = wall_ns();
  for (int i = 0; i < BLOCK_LOOPS; i++) {
    uint64_t at = __atomic_fetch_add(&claimed, BLOCK, __ATOMIC_RELAXED);
    if (posix_fallocate(fd, (off_t)at, BLOCK) != 0) die("no room");
    store_block((uint64_t *)(map + at));
  }
  double ns = per_word(begun);
  munmap(map, bytes);
  close(fd);
  return ns;
}

enum { BUFFER = 1 << 20, BUFFERS = 4 };

struct handed { /* buffers that the producer hands to the thread that writes */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t filled, written; /* buffers */
  bool done;
  int fd;
  uint8_t *buffer[BUFFERS];
};

static void *write_buffers(void *argument) {
  struct handed *h = argument;
  pthread_mutex_lock(&h->lock);
  for (;;) {
    while (h->filled == h->written && !h->done) pthread_cond_wait(&h->changed, &h->lock);
    if (h->filled == h->written) break;
    uint64_t n = h->written;
    pthread_mutex_unlock(&h->lock);
    if (pwrite(h->fd, h->buffer[n % BUFFERS], BUFFER, (off_t)(n * BUFFER)) != BUFFER)
      die("cannot write");
    pthread_mutex_lock(&h->lock);
    h->written++;
    pthread_cond_signal(&h->changed);
  }
  pthread_mutex_unlock(&h->lock);
  return NULL;
}

static double by_writer_thread(const char *place) {
  struct handed h = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER,
                     .fd = open_scratch(place)};
  pthread_t thread;
  for (int i = 0; i < BUFFERS; i++) h.buffer[i] = aligned_alloc(BLOCK, BUFFER);
  if (pthread_create(&thread, NULL, write_buffers, &h) != 0) die("no thread");
  uint64_t begun = wall_ns();
  for (int n = 0; n < BLOCK_LOOPS / (BUFFER / BLOCK); n++) {
    for (int i = 0; i < BUFFER / BLOCK; i++)
      store_block((uint64_t *)(h.buffer[n % BUFFERS] + i * BLOCK));
    pthread_mutex_lock(&h.lock);
    h.filled++;
    pthread_cond_signal(&h.changed);
    while (h.filled - h.written == BUFFERS) pthread_cond_wait(&h.changed, &h.lock);
    pthread_mutex_unlock(&h.lock);
  }
  double ns = per_word(begun);
  pthread_mutex_lock(&h.lock);
  h.done = true;
  pthread_cond_signal(&h.changed);
  pthread_mutex_unlock(&h.lock);
  pthread_join(thread, NULL);
  for (int i = 0; i < BUFFERS; i++) free(h.buffer[i]);
  close(h.fd);
  return ns;
}

/* Measures the whole library, with as many events of one word each. */
static double by_stream(const char *place) {
  start_stream(place);
  eventring_domain *d = eventring_domain_start("bench", NULL);
  bench_span(d);
  uint64_t events = (uint64_t)BLOCK_LOOPS * (BLOCK / 8), loops = events / (2 * LOOPS);
  uint64_t begun = wall_ns();
  for (uint64_t i = 0; i < loops; i++) bench_span(d);
  double ns = (double)(wall_ns() - begun) / (double)(loops * 2 * LOOPS);
  eventring_domain_stop(d);
  stop_stream();
  return ns;
}

static void measure_ways(const char *place) {
  static const struct { const char *name; double (*run)(const char *place); } ways[] = {
      {"stores alone, into memory", store_only},
      {"a block claimed at a time", block_at_a_time},
      {"buffers of 1 MiB, a thread with pwrite", by_writer_thread},
      {"a stream of the library (events, wall time)", by_stream}};
  enum { WAYS = sizeof ways / sizeof ways[0] };
  static struct series series[WAYS];
  for (int i = 0; i < WAYS; i++) series[i].count = 0;
  for (int round = 0; round < (bench.brief ? 1 : 3 * bench.rounds); round++)
    for (int i = 0; i < WAYS; i++) {
      sample(&series[i], ways[i].run(place));
    }
  table("Ways to keep everything, ns a word, file on %s", place_name(place));
  for (int i = 0; i < WAYS; i++)
    if (series[i].count)
      report(&(struct row){"ns", &series[0], NULL, NO_BAR, 0}, &series[i], "%s", ways[i].name);
}

void bench_streams(void) {
  const char *places[] = {bench.disk, bench.shm};
  uint64_t bytes = bench.brief ? GIB / 16 : 2 * GIB;
  table("Streams: a span beside the pair, the helper on any processor");
  for (int i = 0; i < (bench.shm ? 2 : 1); i++) measure_span(places[i]);
  for (int i = 0; i < (bench.shm ? 2 : 1); i++) measure_probes(places[i]);
  for (int i = 0; i < (bench.shm ? 2 : 1); i++) {
    measure_rate(places[i], 1, bytes);
    measure_rate(places[i], 2, bytes);
    measure_write(places[i], bytes);
  }
  for (int i = 0; i < (bench.shm ? 2 : 1); i++)
    bench_two_producers(places[i], place_name(places[i]));
  for (int i = 0; i < (bench.shm ? 2 : 1); i++) measure_ways(places[i]);
}
