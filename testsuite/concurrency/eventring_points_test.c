/* SPDX-License-Identifier: MIT */
/* eventring_points_test.c: forces the races of the block transition.
 *
 *   eventring_points_test [ROUNDS]       (default 2)
 *
 * The library is compiled with EVENTRING_TESTPOINTS, and with a clock that tests set;
 * here this is the clock of the system. Each step of the producer (W1 .. W6) and each of
 * a reader (R1 .. R5) is tried alone, and each step of the producer together with one of
 * a reader, which changes from round to round. Readers read own rings, a mapped file, and
 * a file that is not mapped. The producer is held once at its step until the readers have
 * polled, and a reader is held once at its step until the producer has filled the whole
 * ring. What is read must be whole, and emitted = missed + delivered + lost to the unit.
 * Meant for ThreadSanitizer, too.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "eventring/tools.h"
#include "producer/domains.h"
#include "format/atomics.h"
#include "format/format.h"
#include "eventring/probe.h"

#define CHECK(condition) \
  ((condition) ? (void)0 \
               : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

/* The clock of the library (test_clock.h) is the system's. */
#if defined(__x86_64__)
uint64_t test_clock_ticks(void);
uint64_t test_clock_ticks(void) { return __builtin_ia32_rdtsc(); }
#endif
int test_clock_gettime(clockid_t clock, struct timespec *time);
int test_clock_gettime(clockid_t clock, struct timespec *time) {
  return clock_gettime(clock, time);
}

/* How a cursor reads: the mappings of this process, a file that it maps, or
   one with pread. */
enum way { OWN, WINDOW, CALLS, WAYS };

enum { SPAN = EVENTRING_ID_HOST, COUNT, READERS = WAYS, EVENTS = 3000, WAIT_MS = 20 };

/* log2 of the words of a ring: the smallest, or a larger one, for which blocks are read
   ahead */
static unsigned wsize;
static int writer_step, reader_step; /* the steps at which the threads are held, or -1;
                                        set between rounds */
static bool done;                    /* atomic: the writer is done */
static unsigned polls, transitions;  /* atomic: the waiting threads watch these */
static unsigned held;                /* atomic: number of times that a thread was held */
static __thread bool is_writer, has_been_held;

static unsigned now(const unsigned *counter) {
  return __atomic_load_n(counter, __ATOMIC_RELAXED);
}
static void one_more(unsigned *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

static uint64_t clock_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Holds a thread until the counter has grown by `by`, but no longer than WAIT_MS, and not
   after the writer is done. */
static void hold(const unsigned *counter, unsigned by) {
  unsigned from = now(counter);
  uint64_t until = clock_ms() + WAIT_MS;
  one_more(&held);
  while (now(counter) - from < by && clock_ms() < until &&
         !__atomic_load_n(&done, __ATOMIC_RELAXED))
    sched_yield();
}

/* A block whose number is missing once, from a reader's R3 to its R4. No producer causes
   this. It tests that a block that is refused among several is read again alone before it
   is reported as damaged. */
static struct {
  int fd;
  off_t offset;
  uint64_t sequence; /* number of the block; 0 if nothing is to be done */
} absent;

static void show_absent(enum evr_step step) {
  uint64_t number = step == EVR_R3 ? 0 : absent.sequence;
  CHECK(pwrite(absent.fd, &number, sizeof number, absent.offset) == sizeof number);
  if (step == EVR_R4) absent.sequence = 0;
}

/* Domains that are still to start and stop while a reader is held between its two reads
   of a block of records, some at each hold. So the block that is read may be finished
   between these reads. */
static unsigned lives;
enum { LIVES_AT_ONCE = 7 };

static void write_lives(void) {
  for (int n = 0; lives && n < LIVES_AT_ONCE; n++, lives--) {
    eventring_domain *d = eventring_domain_start("short", NULL);
    CHECK(d);
    eventring_domain_stop(d);
  }
}

/* The last span during whose begin the writer has changed blocks, and the time of the
   change. */
static struct {
  int64_t now; /* number of the span being written; 0 if nothing is to be noted */
  int64_t number;
  uint64_t ns;
} change;

/* The events that are still to be written while a reader is held between a ring's head
   and its runs: the ring grows in between. */
static eventring_domain *growing;
static int64_t growth_from, growth_to;

static void write_numbers(eventring_domain *d, int64_t from, int64_t to) {
  for (int64_t n = from; n < to; n++) {
    eventring_begin_int(d, EVENTRING_USER, EVENTRING_CLASS_USER, SPAN, n);
    eventring_user_counter(d, COUNT, n);
    eventring_user_end(d, SPAN);
  }
}

static void write_growth(void) {
  int64_t from = growth_from;
  growth_from = growth_to;
  write_numbers(growing, from, growth_to);
}

/* Number of further events that are written at each block that is copied; the ring grows
   meanwhile. */
static int64_t growth_step;

static void write_growth_step(void) {
  int64_t from = growth_from;
  growth_from = from + growth_step < growth_to ? from + growth_step : growth_to;
  write_numbers(growing, from, growth_from);
}

static void note_change(void) {
  change.number = change.now;
  change.ns = eventring_now();
}

void eventring_testpoint(enum evr_step step) {
  if (change.now && step == EVR_W5) note_change();
  if (step == EVR_RECORDS) write_lives();
  if (step == EVR_RUNS && !growth_step && growth_from < growth_to) write_growth();
  if (step == EVR_R1 && growth_step && growth_from < growth_to) write_growth_step();
  if (absent.sequence && (step == EVR_R3 || step == EVR_R4)) show_absent(step);
  if (is_writer && step == EVR_W5) one_more(&transitions);
  if (has_been_held || (int)step != (is_writer ? writer_step : reader_step)) return;
  has_been_held = true; /* only once until the reader's next poll or the writer's next 500
                           spans */
  if (is_writer) hold(&polls, 2 * READERS);
  else hold(&transitions, 1 + (1u << wsize) / FORMAT_BLOCK_WORDS); /* once round */
}

/* ---- The writer ------------------------------------------------------------------- */

static uint64_t written;
static pthread_barrier_t barrier;

static void *write_events(void *argument) {
  (void)argument;
  eventring_domain *d = eventring_domain_start("writer", NULL);
  pthread_barrier_wait(&barrier); /* readers open */
  pthread_barrier_wait(&barrier);
  is_writer = true;
  for (int64_t n = 0; n < EVENTS; n++) {
    eventring_begin_int(d, EVENTRING_USER, EVENTRING_CLASS_USER, SPAN, n);
    eventring_user_counter(d, COUNT, n);
    eventring_user_end(d, SPAN);
    if (n % 500 == 0) has_been_held = false;
    if (n % 50 == 0) sched_yield();
  }
  is_writer = false;
  written = evr_domain_emitted(d, EVENTRING_USER);
  /* release: pairs with the acquire load in read_events. The events and `written` come
     before it. */
  __atomic_store_n(&done, true, __ATOMIC_RELEASE);
  pthread_barrier_wait(&barrier); /* readers finish */
  eventring_domain_stop(d);
  return NULL;
}

/* ---- Readers ---------------------------------------------------------------------- */

struct reader {
  pthread_t thread;
  enum way way;
  int64_t last;   /* number of the last event */
  bool following; /* nothing was lost since the last event */
  uint64_t real, lost;
};

static int check_event(void *context, const struct eventring_event *e) {
  struct reader *r = context;
  if (e->ring != EVENTRING_USER || e->flags & EVENTRING_SYNTHETIC) return 0;
  r->real++;
  CHECK(!(e->flags & EVENTRING_UNKNOWN) && (e->id == SPAN || e->id == COUNT));
  if (e->kind == EVENTRING_END) {
    CHECK(e->flags & EVENTRING_MATCHED && e->ns >= e->begin_ns);
    return 0;
  }
  CHECK(e->value.i >= 0 && e->value.i < EVENTS && e->value.i >= r->last);
  if (r->following) CHECK(e->value.i == r->last + (e->kind == EVENTRING_BEGIN));
  r->last = e->value.i;
  r->following = true;
  return 0;
}

static int check_loss(void *context, const struct eventring_loss *loss) {
  struct reader *r = context;
  if (loss->ring != EVENTRING_USER) return 0;
  r->lost += loss->count;
  r->following = false;
  return 0;
}

static eventring_cursor *open_cursor(enum way way) {
  char path[4096];
  eventring_cursor *cursor = NULL;
  eventring_path(path, sizeof path);
  unsigned flags = way == CALLS ? EVENTRING_OPEN_UNMAPPED : 0;
  CHECK((way == OWN ? eventring_open_self(&cursor, 0, NULL)
                    : eventring_open_path(&cursor, path, flags, NULL)) == EVENTRING_OK);
  return cursor;
}

/* Checks that the count of emitted events never decreases, even when the newest block is
   overwritten while it is being read. */
static void check_emitted(eventring_cursor *cursor, uint64_t *before) {
  struct eventring_ring_info info = {.size = sizeof info};
  if (eventring_cursor_ring(cursor, 0, EVENTRING_USER, &info) != EVENTRING_OK) return;
  CHECK(info.emitted >= *before && info.missed + info.delivered + info.lost <= info.emitted);
  *before = info.emitted;
}

static void check_status(int status, const struct reader *r, eventring_cursor *cursor) {
  if (status >= 0) return;
  fprintf(stderr, "writer held at %d, reader (way %d) at %d: %s\n", writer_step, r->way,
          reader_step, eventring_cursor_error(cursor)->text);
  abort();
}

static void *read_events(void *argument) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, check_event, check_loss};
  struct reader *r = argument;
  struct eventring_ring_info info = {.size = sizeof info};
  uint64_t emitted = 0;
  pthread_barrier_wait(&barrier);
  eventring_cursor *cursor = open_cursor(r->way);
  pthread_barrier_wait(&barrier);
  /* acquire: pairs with the release store in write_events. The polls after the loop see
     all events, and `written`. */
  while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
    has_been_held = false;
    check_status(eventring_poll(cursor, &callbacks, r, 0), r, cursor);
    has_been_held = false;
    check_emitted(cursor, &emitted);
    one_more(&polls);
  }
  has_been_held = true;
  while (eventring_poll(cursor, &callbacks, r, 0) > 0) continue;
  CHECK(eventring_cursor_ring(cursor, 0, EVENTRING_USER, &info) == EVENTRING_OK);
  CHECK(written == 3 * EVENTS && info.emitted == written);
  CHECK(info.missed + info.delivered + info.lost == written);
  CHECK(info.delivered == r->real && info.missed + info.lost == r->lost);
  pthread_barrier_wait(&barrier);
  eventring_close(cursor);
  return NULL;
}

/* ---- All pairs -------------------------------------------------------------------- */

static void race(int at_writer, int at_reader) {
  struct eventring_config config;
  pthread_t writer;
  struct reader readers[READERS] = {{.way = OWN, .last = -1}, {.way = WINDOW, .last = -1},
                                    {.way = CALLS, .last = -1}};
  writer_step = at_writer;
  reader_step = at_reader;
  done = false;
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.wsize = wsize;
  CHECK(eventring_start(&config, NULL) == EVENTRING_OK);
  pthread_barrier_init(&barrier, NULL, READERS + 1);
  pthread_create(&writer, NULL, write_events, NULL);
  for (int i = 0; i < READERS; i++)
    pthread_create(&readers[i].thread, NULL, read_events, &readers[i]);
  for (int i = 0; i < READERS; i++) pthread_join(readers[i].thread, NULL);
  pthread_join(writer, NULL);
  pthread_barrier_destroy(&barrier);
  eventring_stop();
}

/* ---- A number that is away for a moment ------------------------------------------- */

/* Returns the offset of a block of the user ring of slot 0. */
static off_t block_offset(int fd, uint64_t sequence) {
  struct format_ring ring;
  off_t at = FORMAT_DOMAINS_OFFSET + (off_t)offsetof(struct format_domain, ring[EVENTRING_USER]);
  CHECK(pread(fd, &ring, sizeof ring, at) == sizeof ring && sequence <= ring.blocks);
  return (off_t)format_block_offset(ring.first + sequence - 1);
}

/* Checks blocks that are read ahead: a block that has another number afterwards is no
   damage. */
static void number_away(void) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, check_event, check_loss};
  enum { WSIZE = EVENTRING_MIN_WSIZE + 3, NUMBERS = 1000, BLOCK = 3 };
  struct eventring_config config;
  struct reader r = {.last = -1};
  char path[4096];
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.wsize = WSIZE;
  CHECK(eventring_start(&config, NULL) == EVENTRING_OK);
  eventring_domain *d = eventring_domain_start("away", NULL);
  write_numbers(d, 0, NUMBERS);
  eventring_path(path, sizeof path);
  absent.fd = open(path, O_RDWR);
  absent.offset = block_offset(absent.fd, BLOCK);
  eventring_cursor *cursor = open_cursor(CALLS);
  absent.sequence = BLOCK;
  CHECK(eventring_poll(cursor, &callbacks, &r, 0) >= 3 * NUMBERS);
  CHECK(!absent.sequence && r.real == 3 * NUMBERS && r.lost == 0);
  eventring_close(cursor);
  close(absent.fd);
  eventring_domain_stop(d);
  eventring_stop();
}

/* ---- A block of records that is finished between two reads ------------------------ */

/* Checks that a block that is finished between two reads is not damage, and that none of
   its records is missed. */
static void block_finished_while_read(void) {
  enum { FIRST = 3, MORE = 100 * LIVES_AT_ONCE };
  static const struct eventring_callbacks callbacks = {sizeof callbacks, check_event, check_loss};
  struct eventring_config config;
  struct reader r = {.last = -1};
  struct eventring_domain_info life = {.size = sizeof life};
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  CHECK(eventring_start(&config, NULL) == EVENTRING_OK);
  lives = FIRST;
  write_lives();
  eventring_cursor *cursor = open_cursor(CALLS);
  CHECK(eventring_poll(cursor, &callbacks, &r, 0) >= 0);
  lives = 1;
  write_lives(); /* there is something new, so the block is read again */
  for (lives = MORE; lives;) CHECK(eventring_poll(cursor, &callbacks, &r, 0) >= 0);
  CHECK(eventring_poll(cursor, &callbacks, &r, 0) >= 0);
  for (uint32_t n = 1; n <= FIRST + 1 + MORE; n++)
    CHECK(eventring_cursor_life(cursor, 0, n, &life) == EVENTRING_OK &&
          strcmp(life.name, "short") == 0);
  eventring_close(cursor);
  eventring_stop();
}

/* ---- A ring that grows between the loads of its head and of its runs -------------- */

/* Checks that runs that are newer than the head that the reader knows are no damage, and
   that nothing is lost except what was overwritten. */
static void grows_while_read(enum way way) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, check_event, check_loss};
  enum { FEW = 10 };
  struct eventring_config config;
  struct eventring_ring_info info = {.size = sizeof info};
  struct reader r = {.way = way, .last = -1};
  int status;
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.wsize = EVENTRING_MIN_WSIZE;
  /* The ring grows as soon as it may, whatever the rate. */
  config.hold_ns = 3600 * 1000000000ull;
  CHECK(eventring_start(&config, NULL) == EVENTRING_OK);
  growing = eventring_domain_start("growing", NULL);
  write_numbers(growing, 0, FEW);
  growth_from = FEW;
  growth_to = EVENTS;
  eventring_cursor *cursor = open_cursor(way);
  while ((status = eventring_poll(cursor, &callbacks, &r, 0)) > 0) continue;
  check_status(status, &r, cursor);
  CHECK(growth_from == EVENTS);
  CHECK(eventring_cursor_ring(cursor, 0, EVENTRING_USER, &info) == EVENTRING_OK);
  CHECK(info.emitted == 3 * EVENTS && info.blocks > 4);
  CHECK(info.missed + info.delivered + info.lost == info.emitted);
  CHECK(info.delivered == r.real && info.missed + info.lost == r.lost);
  eventring_close(cursor);
  eventring_domain_stop(growing);
  eventring_stop();
}

/* ---- A ring that grows while it is copied ----------------------------------------- */

static void check_copy(const char *path) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, check_event, check_loss};
  struct reader r = {.way = WINDOW, .last = -1};
  struct eventring_ring_info info = {.size = sizeof info};
  eventring_cursor *copy = NULL;
  int status;
  CHECK(eventring_open_path(&copy, path, 0, NULL) == EVENTRING_OK);
  while ((status = eventring_poll(copy, &callbacks, &r, 0)) > 0) continue;
  check_status(status, &r, copy);
  CHECK(eventring_cursor_error(copy)->code == 0);
  CHECK(eventring_cursor_ring(copy, 0, EVENTRING_USER, &info) == EVENTRING_OK);
  CHECK(info.delivered == r.real && info.missed + info.lost == r.lost);
  CHECK(r.real + r.lost == info.emitted);
  eventring_close(copy);
}

/* Checks that the copy has no damage, whatever the ring does between two of its
   blocks. */
static void grows_while_copied(enum way way, int64_t before, int64_t step) {
  struct eventring_config config;
  char path[64];
  snprintf(path, sizeof path, "points-%ld.copy", (long)getpid());
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.wsize = EVENTRING_MIN_WSIZE;
  config.hold_ns = 3600 * 1000000000ull;
  CHECK(eventring_start(&config, NULL) == EVENTRING_OK);
  growing = eventring_domain_start("growing", NULL);
  write_numbers(growing, 0, before);
  eventring_cursor *cursor = open_cursor(way);
  growth_from = before;
  growth_to = EVENTS;
  growth_step = step;
  CHECK(eventring_snapshot(cursor, path, NULL) == EVENTRING_OK);
  CHECK(growth_from > before);
  growth_from = growth_to; /* the rest is not written */
  growth_step = 0;
  check_copy(path);
  CHECK(remove(path) == 0);
  eventring_close(cursor);
  eventring_domain_stop(growing);
  eventring_stop();
}

/* ---- A span does not last as long as the change of blocks before it --------------- */

static int check_begin(void *context, const struct eventring_event *e) {
  if (e->id != SPAN || e->kind != EVENTRING_BEGIN || e->value.i != change.number) return 0;
  CHECK(e->ns >= change.ns);
  ++*(unsigned *)context;
  return 0;
}

static void begins_after_the_change(void) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, check_begin, NULL};
  struct eventring_config config;
  unsigned found = 0;
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  CHECK(eventring_start(&config, NULL) == EVENTRING_OK);
  eventring_domain *d = eventring_domain_start("changes", NULL);
  for (change.now = 1; change.number == 0; change.now++) { /* a block holds whole spans */
    eventring_begin_int(d, EVENTRING_USER, EVENTRING_CLASS_USER, SPAN, change.now);
    eventring_user_end(d, SPAN);
  }
  change.now = 0;
  eventring_cursor *cursor = open_cursor(OWN);
  CHECK(eventring_poll(cursor, &callbacks, &found, 0) > 0 && found == 1);
  eventring_close(cursor);
  eventring_domain_stop(d);
  eventring_stop();
}

int main(int argc, char **argv) {
  static const struct eventring_def defs[] = {
      {.name = "span", .kind = EVENTRING_DEF_SPAN, .event_class = EVENTRING_CLASS_USER,
       .ring = EVENTRING_USER, .payload = EVENTRING_INT},
      {.name = "count", .kind = EVENTRING_DEF_COUNTER, .event_class = EVENTRING_CLASS_USER,
       .ring = EVENTRING_USER, .payload = EVENTRING_INT}};
  unsigned first;
  int rounds = argc > 1 ? atoi(argv[1]) : 2;
  CHECK(eventring_register_table(defs, 2, &first, NULL) == EVENTRING_OK && first == SPAN);
  number_away();
  block_finished_while_read();
  begins_after_the_change();
  for (enum way way = OWN; way < WAYS; way++) grows_while_read(way);
  for (enum way way = OWN; way < WAYS; way++)
    for (int64_t before = 10; before < 1000; before += 90)
      for (int64_t step = 5; step < 1000; step *= 3) grows_while_copied(way, before, step);
  for (int round = 0; round < rounds; round++) {
    wsize = EVENTRING_MIN_WSIZE + 2 * (unsigned)(round % 2); /* 4 blocks, 16 blocks */
    for (int w = EVR_W1; w <= EVR_W6; w++) race(w, -1);
    for (int r = EVR_R1; r <= EVR_R5; r++) race(-1, r);
    for (int w = EVR_W1; w <= EVR_W6; w++) race(w, EVR_R1 + (w + round) % 5);
  }
  printf("%u times held, %u transitions, %u polls\n", now(&held), now(&transitions), now(&polls));
  CHECK(now(&held) > (unsigned)rounds * 17);
  return 0;
}
