/* SPDX-License-Identifier: MIT */
/* eventring_stream_test.c: streams lose nothing.
 *
 * Threads write numbered spans into streams, the files are read back, and each number
 * must be there, in order, exactly once. If there was no room, each missing number must
 * be counted.
 *
 * Long, as a list of small tests that share the writers and the reader. */
#include "eventring/tools.h"
#include "eventring_common.h"

#include "producer/extents.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* SPANS are the spans of each thread; E8 of measureme has 120,000 events a thread.
   ThreadSanitizer looks at each step of each thread, and sees the same in fewer. */
#ifdef __SANITIZE_THREAD__
enum { THREADS = 8, SPANS = 15000, STACKS = 2500, CLAIMS = 100000 };
#else
enum { THREADS = 8, SPANS = 60000, STACKS = 10000, CLAIMS = 1000000 };
#endif

static char file[] = "stream.eventring";
static unsigned warnings;
static struct eventring_error last_warning;

static void note_warning(void *context, const struct eventring_error *error) {
  __atomic_fetch_add(&warnings, 1, __ATOMIC_RELAXED);
  last_warning = *error;
}

/* ---- Reading ---------------------------------------------------------------------- */

struct heard { /* what is read of one domain's runtime ring */
  int64_t first, last; /* numbers of the first and last span; -1 if there is none yet */
  uint64_t events, lost, gaps; /* without the library's own events */
  uint64_t others;
};

struct all_heard {
  struct heard of[EVENTRING_MAX_DOMAINS];
  bool in_turn; /* span numbers begin again with each incarnation */
};

static int hear_event(void *context, const struct eventring_event *e) {
  struct all_heard *all = context;
  struct heard *h = &all->of[e->domain];
  if (e->ring != EVENTRING_RUNTIME || e->flags & EVENTRING_SYNTHETIC) return 0;
  h->others += e->id != T_OUTER;
  if (e->id != T_OUTER) return 0;
  h->events++;
  if (e->kind == EVENTRING_END) return 0;
  if (all->in_turn && e->value.i == 0) h->last = -1;
  assert_true(e->value.i > h->last);
  if (!h->lost) assert_int_equal(e->value.i, h->last + 1);
  if (h->last < 0) h->first = e->value.i;
  h->last = e->value.i;
  return 0;
}

static int hear_loss(void *context, const struct eventring_loss *loss) {
  struct heard *h = &((struct all_heard *)context)->of[loss->domain];
  if (loss->ring != EVENTRING_RUNTIME) return 0;
  h->lost += loss->count;
  h->gaps++;
  return 0;
}

static const struct eventring_callbacks hearing = {sizeof hearing, hear_event, hear_loss};

static void clear(struct all_heard *all) {
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++)
    all->of[i] = (struct heard){.first = -1, .last = -1};
}

static void poll_to_end(eventring_cursor *cursor, struct all_heard *all) {
  int status;
  while ((status = eventring_poll(cursor, &hearing, all, 0)) > 0) continue;
  if (status < 0) fail_msg("%s", eventring_cursor_error(cursor)->text);
}

/* Checks that all events that the file says were emitted have been heard, or were
   lost. */
static void check_counts(eventring_cursor *cursor, const struct all_heard *all) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    struct eventring_ring_info info = {.size = sizeof info};
    const struct heard *h = &all->of[slot];
    if (eventring_cursor_ring(cursor, slot, EVENTRING_RUNTIME, &info) != EVENTRING_OK) continue;
    assert_int_equal(info.emitted, h->events + h->others + h->lost);
    assert_int_equal(info.missed + info.lost, h->lost);
  }
}

static void hear_file(const char *path, unsigned flags, struct all_heard *all) {
  clear(all);
  eventring_cursor *cursor = open_file(path, flags);
  poll_to_end(cursor, all);
  check_counts(cursor, all);
  eventring_close(cursor);
}

/* ---- Writing ---------------------------------------------------------------------- */

static void write_spans(eventring_domain *d, int64_t from, int64_t to) {
  for (int64_t n = from; n < to; n++) {
    eventring_begin_int(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, n);
    eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
  }
}

static void *write_in_thread(void *argument) {
  eventring_domain *d = start_domain("writer");
  write_spans(d, 0, SPANS);
  eventring_domain_stop(d);
  return NULL;
}

static struct eventring_config stream_config(const char *path) {
  struct eventring_config config = test_config(EVENTRING_DEFAULT_WSIZE);
  config.stream = path;
  config.warn = note_warning;
  warnings = 0;
  return config;
}

static void start(const struct eventring_config *config) {
  struct eventring_error error;
  if (eventring_start(config, &error) != EVENTRING_OK) fail_msg("%s", error.text);
}

static void start_stream(void) {
  struct eventring_config config = stream_config(file);
  start(&config);
}

static void stop_and_remove(void) {
  eventring_stop();
  unlink(file);
}

/* ---- Everything is there ---------------------------------------------------------- */

static void one_thread(void **state) {
  struct all_heard all = {0};
  start_stream();
  assert_string_equal(strrchr(own_path(), '/') + 1, file);
  eventring_domain *d = start_domain("one");
  write_spans(d, 0, 10 * SPANS);
  eventring_domain_stop(d);
  eventring_stop(); /* the file stays */
  struct stat st;
  assert_int_equal(stat(file, &st), 0);
  /* Chunks prepared ahead are not in the file. */
  assert_true(st.st_blocks * 512 <= 10 * SPANS * 26 + (128 << 10));
  for (unsigned flags = 0; flags <= EVENTRING_OPEN_MERGED; flags += EVENTRING_OPEN_MERGED) {
    hear_file(file, flags, &all);
    assert_int_equal(all.of[0].events, 20 * SPANS);
    assert_int_equal(all.of[0].lost, 0);
  }
  assert_int_equal(warnings, 0);
  unlink(file);
}

static void many_threads(void **state) {
  pthread_t thread[THREADS];
  struct all_heard all = {0};
  start_stream();
  for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, write_in_thread, NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  eventring_stop();
  all.in_turn = true; /* a thread that starts when another has ended gets the slot of that
                         thread */
  hear_file(file, EVENTRING_OPEN_MERGED, &all);
  uint64_t events = 0;
  for (int i = 0; i < EVENTRING_MAX_DOMAINS; i++) events += all.of[i].events;
  assert_int_equal(events, THREADS * 2 * (uint64_t)SPANS);
  unlink(file);
}

/* Checks that domains that come and go use a slot one after the other, and that its
   stream goes on. */
static void domains_in_turn(void **state) {
  enum { TURNS = 500, EACH = 40 };
  struct all_heard all = {.in_turn = true};
  start_stream();
  for (int i = 0; i < TURNS; i++) {
    eventring_domain *d = start_domain("turn");
    write_spans(d, 0, EACH);
    eventring_domain_stop(d);
  }
  eventring_stop();
  hear_file(file, 0, &all);
  assert_int_equal(all.of[0].events, TURNS * 2 * EACH);
  unlink(file);
}

/* Checks that the names of all domains stay, however many there were. */
static void names_stay(void **state) {
#ifdef __SANITIZE_THREAD__
  enum { DOMAINS = 1500 };
#else
  enum { DOMAINS = 9000 }; /* more than a ring's recording has room for */
#endif
  struct all_heard all = {.in_turn = true};
  struct eventring_domain_info life = {.size = sizeof life};
  char name[32];
  start_stream();
  for (int i = 0; i < DOMAINS; i++) {
    snprintf(name, sizeof name, "domain %d", i + 1);
    eventring_domain *d = start_domain(name);
    write_spans(d, 0, 1);
    eventring_domain_stop(d);
  }
  eventring_stop();
  eventring_cursor *cursor = open_file(file, 0);
  clear(&all);
  poll_to_end(cursor, &all);
  for (uint32_t i = 1; i <= DOMAINS; i++) {
    snprintf(name, sizeof name, "domain %u", i);
    assert_int_equal(eventring_cursor_life(cursor, 0, i, &life), EVENTRING_OK);
    assert_string_equal(life.name, name);
  }
  eventring_close(cursor);
  unlink(file);
}

/* ---- Stacks of calls, forwards and backwards -------------------------------------- */

/* Stacks as in measureme's end-to-end test. Each thread writes STACKS stacks, with an
   interval, an integer and an instant on each of their LEVELS: 120,000 events. */
enum { LEVELS = 4, OF_A_LEVEL = 4 /* begin, counter, instant, end */,
       OF_A_STACK = LEVELS * OF_A_LEVEL, WINDOWS = 37 };

static pthread_barrier_t all_started; /* so that each has a slot of its own */

static void *write_stacks(void *argument) {
  eventring_domain *d = start_domain("stacks");
  pthread_barrier_wait(&all_started);
  for (int stack = 0; stack < STACKS; stack++) {
    for (int level = 0; level < LEVELS; level++) {
      eventring_user_begin(d, T_FLOOD);
      eventring_user_counter(d, T_COUNT, stack * LEVELS + level);
      eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_TEXT, "level",
                              (size_t)level + 1);
    }
    for (int level = 0; level < LEVELS; level++) eventring_user_end(d, T_FLOOD);
  }
  eventring_domain_stop(d);
  return NULL;
}

struct stacks {
  uint64_t at[THREADS];     /* events heard of each thread */
  uint64_t first_ns, last_ns;
};

/* Checks that the n-th event of a thread is the expected one. */
static int hear_in_order(void *context, const struct eventring_event *e) {
  struct stacks *heard = context;
  if (e->ring != EVENTRING_USER) return 0;
  assert_true(e->domain < THREADS && !(e->flags & EVENTRING_SYNTHETIC));
  uint64_t at = heard->at[e->domain]++, stack = at / OF_A_STACK, part = at % OF_A_STACK;
  uint64_t level = part / 3;
  bool ends = part >= 3 * LEVELS;
  static const int kinds[] = {EVENTRING_BEGIN, EVENTRING_COUNTER, EVENTRING_INSTANT};
  assert_int_equal(e->kind, ends ? EVENTRING_END : kinds[part % 3]);
  if (e->kind == EVENTRING_BEGIN) assert_int_equal(e->depth, level);
  if (e->kind == EVENTRING_END) assert_int_equal(e->depth, OF_A_STACK - 1 - part);
  if (e->kind == EVENTRING_COUNTER) assert_int_equal(e->value.i, stack * LEVELS + level);
  if (e->kind == EVENTRING_INSTANT) {
    assert_int_equal(e->size, level + 1);
    assert_memory_equal(e->bytes, "level", level + 1);
  }
  if (!heard->first_ns || e->ns < heard->first_ns) heard->first_ns = e->ns;
  if (e->ns > heard->last_ns) heard->last_ns = e->ns;
  return 0;
}

struct window {
  uint64_t from, to;             /* ns */
  uint64_t events;               /* of all windows so far */
  int64_t least[THREADS];        /* by thread: least counter of all windows so far */
  int64_t first[THREADS], last[THREADS]; /* by thread: first and last counter of this
                                            window */
};

static int hear_in_window(void *context, const struct eventring_event *e) {
  struct window *window = context;
  /* events come in the order of time, so all further events are later */
  if (e->ns >= window->to) return 1;
  if (e->ring != EVENTRING_USER || e->ns < window->from || e->flags & EVENTRING_SYNTHETIC) return 0;
  window->events++;
  if (e->kind != EVENTRING_COUNTER) return 0;
  int64_t *first = &window->first[e->domain], *last = &window->last[e->domain];
  if (*first < 0) *first = e->value.i;
  else assert_int_equal(e->value.i, *last + 1);
  *last = e->value.i;
  return 0;
}

/* Reads the windows of time from the last to the first: each window must end, in each
   thread, where the next window began. */
static void hear_backwards(const struct stacks *all) {
  const struct eventring_callbacks callbacks = {sizeof callbacks, hear_in_window, NULL};
  struct window window = {.to = all->last_ns + 1};
  uint64_t step = (all->last_ns - all->first_ns) / WINDOWS + 1;
  for (int i = 0; i < THREADS; i++) window.least[i] = STACKS * LEVELS;
  for (int n = WINDOWS; n-- > 0; window.to = window.from) {
    eventring_cursor *cursor = open_file(file, EVENTRING_OPEN_MERGED);
    window.from = all->first_ns + (uint64_t)n * step;
    for (int i = 0; i < THREADS; i++) window.first[i] = -1;
    assert_int_equal(eventring_cursor_seek(cursor, window.from), EVENTRING_OK);
    int status = eventring_poll(cursor, &callbacks, &window, 0);
    assert_true(status >= 0);
    eventring_close(cursor);
    for (int i = 0; i < THREADS; i++) {
      if (window.first[i] < 0) continue;
      assert_int_equal(window.last[i], window.least[i] - 1);
      window.least[i] = window.first[i];
    }
  }
  for (int i = 0; i < THREADS; i++) assert_int_equal(window.least[i], 0);
  assert_int_equal(window.events, (uint64_t)THREADS * STACKS * OF_A_STACK);
}

static void stacks_of_calls(void **state) {
  pthread_t thread[THREADS];
  start_stream();
  pthread_barrier_init(&all_started, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, write_stacks, NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&all_started);
  eventring_stop();
  struct stacks all;
  for (unsigned flags = 0; flags <= EVENTRING_OPEN_MERGED; flags += EVENTRING_OPEN_MERGED) {
    const struct eventring_callbacks callbacks = {sizeof callbacks, hear_in_order, NULL};
    eventring_cursor *cursor = open_file(file, flags);
    all = (struct stacks){0};
    while (eventring_poll(cursor, &callbacks, &all, 0) > 0) continue;
    eventring_close(cursor);
    for (int i = 0; i < THREADS; i++) assert_int_equal(all.at[i], STACKS * OF_A_STACK);
  }
  hear_backwards(&all);
  unlink(file);
}

/* ---- A time ----------------------------------------------------------------------- */

struct from { /* what is read from a time on */
  uint64_t ns;
  int64_t first, last;
  uint64_t events;
};

static int hear_from(void *context, const struct eventring_event *e) {
  struct from *from = context;
  if (e->flags & EVENTRING_SYNTHETIC || e->id != T_OUTER || e->kind != EVENTRING_BEGIN) return 0;
  from->events += e->ns >= from->ns;
  if (from->first < 0 && e->ns >= from->ns) from->first = e->value.i;
  from->last = e->value.i;
  return 0;
}

/* Checks that all events from a time on are heard, and at most two blocks of earlier
   ones. Events that are left out count as missed. */
static void check_seek(const char *path, uint64_t ns, int64_t first, int64_t last) {
  const struct eventring_callbacks callbacks = {sizeof callbacks, hear_from, NULL};
  struct from from = {.ns = ns, .first = -1};
  struct eventring_ring_info info = {.size = sizeof info};
  eventring_cursor *cursor = open_file(path, 0);
  assert_int_equal(eventring_cursor_seek(cursor, ns), EVENTRING_OK);
  while (eventring_poll(cursor, &callbacks, &from, 0) > 0) continue;
  assert_int_equal(eventring_cursor_seek(cursor, ns), EVENTRING_E_STATE);
  assert_int_equal(from.last, last - 1);
  if (first < last) assert_int_equal(from.first, first);
  assert_int_equal(from.events, last - first);
  assert_int_equal(eventring_cursor_ring(cursor, 0, EVENTRING_RUNTIME, &info), EVENTRING_OK);
  assert_int_equal(info.emitted, info.missed + info.delivered);
  assert_true(info.delivered <= 2 * (uint64_t)(last - first) + 4 * FORMAT_BLOCK_WORDS);
  eventring_close(cursor);
}

static void seek_times(unsigned wsize) {
  enum { MARKS = 20, EACH = 700 };
  struct eventring_config config = stream_config(wsize ? NULL : file);
  uint64_t mark[MARKS];
  char path[4096];
  if (wsize) config.wsize = wsize;
  config.preserve = EVENTRING_PRESERVE_ALWAYS;
  start(&config);
  eventring_path(path, sizeof path);
  eventring_domain *d = start_domain("marked");
  for (int i = 0; i < MARKS; i++) {
    mark[i] = eventring_now();
    write_spans(d, i * EACH, (i + 1) * EACH);
  }
  uint64_t end = eventring_now();
  eventring_domain_stop(d);
  eventring_stop();
  for (int i = 0; i < MARKS; i++) check_seek(path, mark[i], i * EACH, MARKS * EACH);
  check_seek(path, end, MARKS * EACH, MARKS * EACH);
  check_seek(path, 0, 0, MARKS * EACH);
  unlink(path);
}

static void seek_in_a_stream(void **state) {
  seek_times(0);
}

static void seek_in_a_ring(void **state) {
  seek_times(EVENTRING_DEFAULT_WSIZE + 2);
}

/* Checks that a reader within the process gets all events while they are written. */
static void read_by_itself(void **state) {
  struct all_heard all = {0};
  clear(&all);
  start_stream();
  eventring_domain *d = start_domain("self");
  eventring_cursor *cursor = open_self(0), *other = open_file(own_path(), EVENTRING_OPEN_MERGED);
  struct all_heard also = {0};
  clear(&also);
  for (int64_t n = 0; n < 4 * SPANS; n += 1000) {
    write_spans(d, n, n + 1000);
    poll_to_end(cursor, &all);
    if (n % 7000 == 0) poll_to_end(other, &also);
    assert_int_equal(all.of[0].last, n + 999);
  }
  poll_to_end(other, &also);
  assert_int_equal(all.of[0].events, 8 * SPANS);
  assert_int_equal(also.of[0].events, 8 * SPANS);
  check_counts(cursor, &all);
  assert_int_equal(eventring_cursor_liveness(cursor), EVENTRING_LIVE);
  eventring_close(cursor);
  eventring_close(other);
  eventring_domain_stop(d);
  stop_and_remove();
}

static void snapshot_of_a_stream(void **state) {
  struct all_heard all = {0};
  struct eventring_error error;
  start_stream();
  eventring_domain *d = start_domain("copied");
  write_spans(d, 0, SPANS);
  eventring_cursor *cursor = open_self(0);
  if (eventring_snapshot(cursor, "copy.eventring", &error) != EVENTRING_OK)
    fail_msg("%s", error.text);
  eventring_close(cursor);
  write_spans(d, SPANS, 2 * SPANS);
  eventring_domain_stop(d);
  stop_and_remove();
  hear_file("copy.eventring", 0, &all);
  assert_int_equal(all.of[0].events, 2 * SPANS);
  unlink("copy.eventring");
}

/* Checks a recording in which some rings are streams and the others wrap around. */
static void streams_and_rings(void **state) {
  struct eventring_config config = stream_config(file);
  struct eventring_ring_info info = {.size = sizeof info};
  struct all_heard all = {0};
  config.stream_rings = 1u << EVENTRING_RUNTIME;
  config.wsize = EVENTRING_MIN_WSIZE;
  start(&config);
  eventring_domain *d = start_domain("both");
  for (int64_t n = 0; n < SPANS; n++) {
    write_spans(d, n, n + 1);
    eventring_counter(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_COUNT, n);
  }
  eventring_domain_stop(d);
  eventring_stop();
  hear_file(file, EVENTRING_OPEN_MERGED, &all);
  assert_int_equal(all.of[0].events, 2 * SPANS);
  eventring_cursor *cursor = open_file(file, 0);
  assert_int_equal(eventring_cursor_ring(cursor, 0, EVENTRING_USER, &info), EVENTRING_OK);
  assert_int_equal(info.emitted, SPANS);
  assert_true(info.available < SPANS && info.blocks == 4);
  eventring_close(cursor);
  unlink(file);
}

/* ---- No room ---------------------------------------------------------------------- */

/* Checks that events that do not fit are counted, and that the newest events are
   there. */
static void largest_size(void **state) {
  enum { MOST = 1 << 20 };
  struct eventring_config config = stream_config(file);
  struct all_heard all = {0};
  struct stat st;
  config.stream_max = MOST;
  start(&config);
  eventring_domain *d = start_domain("full");
  write_spans(d, 0, 4 * SPANS);
  eventring_domain_stop(d);
  eventring_stop();
  assert_int_equal(stat(file, &st), 0);
  assert_true(st.st_size <= MOST && st.st_size > MOST / 2);
  hear_file(file, 0, &all);
  assert_int_equal(all.of[0].events + all.of[0].lost, 8 * SPANS);
  assert_int_equal(all.of[0].last, 4 * SPANS - 1);
  /* two gaps if the helper was at work on the last chunk while the lane found no room */
  assert_in_range(all.of[0].gaps, 1, 2);
  assert_int_equal(warnings, 1);
  assert_non_null(strstr(last_warning.text, "as large as it may be"));
  struct all_heard copied = {0};
  eventring_cursor *cursor = open_file(file, 0);
  assert_int_equal(eventring_snapshot(cursor, "copy.eventring", NULL), EVENTRING_OK);
  eventring_close(cursor);
  hear_file("copy.eventring", 0, &copied);
  assert_memory_equal(&copied.of[0], &all.of[0], sizeof all.of[0]);
  unlink("copy.eventring");
  unlink(file);
}

/* Checks rings that are made when there is no room any more, not even for one block. */
static void no_room_ever(void **state) {
  struct eventring_config config = stream_config(file);
  struct eventring_error error;
  struct eventring_info info = {.size = sizeof info};
  struct all_heard all = {0};
  config.stream_max = EVENTRING_LEAST_STREAM - 1;
  assert_int_equal(eventring_start(&config, &error), EVENTRING_E_CONFIG);
  assert_non_null(strstr(error.text, "too small"));
  config.stream_max = EVENTRING_LEAST_STREAM;
  start(&config);
  eventring_domain *d = start_domain("full");
  write_spans(d, 0, 2 * SPANS);
  for (int i = 0; i < 1234; i++)
    eventring_counter(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_COUNT, i);
  eventring_domain_stop(d);
  eventring_stop();
  hear_file(file, 0, &all);
  assert_int_equal(all.of[0].events + all.of[0].lost, 4 * SPANS);
  eventring_cursor *cursor = open_file(file, 0);
  assert_int_equal(eventring_cursor_info(cursor, &info), EVENTRING_OK);
  assert_int_equal(info.events_dropped, 1234);
  eventring_close(cursor);
  unlink(file);
}

static void limit_file_size(rlim_t bytes) {
  struct rlimit limit = {bytes, RLIM_INFINITY};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static off_t size_of_file(void) {
  struct stat st;
  assert_int_equal(stat(file, &st), 0);
  return st.st_size;
}

/* Checks that the stream goes on after a time without room. The test knows exactly which
   events are gone. */
static void room_again(void **state) {
  struct all_heard all = {0};
  start_stream();
  eventring_domain *d = start_domain("squeezed");
  write_spans(d, 0, SPANS);
  limit_file_size((rlim_t)size_of_file());
  write_spans(d, SPANS, 10 * SPANS);
  assert_int_equal(warnings, 1);
  limit_file_size(RLIM_INFINITY);
  int64_t end = 10 * SPANS;
  for (int tries = 0; tries < 500; tries++, end += 100) { /* until the writer has noticed
                                                             the room */
    write_spans(d, end, end + 100);
    usleep(1000);
  }
  write_spans(d, end, end + SPANS);
  end += SPANS;
  eventring_domain_stop(d);
  eventring_stop();
  hear_file(file, 0, &all);
  assert_int_equal(all.of[0].events + all.of[0].lost, 2 * end);
  assert_true(all.of[0].lost > SPANS);
  assert_in_range(all.of[0].gaps, 1, 2);
  assert_int_equal(all.of[0].last, end - 1);
  assert_true(all.of[0].events > 4 * SPANS);
  unlink(file);
}

/* Checks a file without room even for a first chunk. */
static void no_room_at_first(void **state) {
  struct all_heard all = {0};
  start_stream();
  limit_file_size((rlim_t)size_of_file());
  eventring_domain *d = start_domain("squeezed");
  write_spans(d, 0, SPANS);
  limit_file_size(RLIM_INFINITY);
  usleep(50000);
  write_spans(d, SPANS, 2 * SPANS);
  eventring_domain_stop(d);
  eventring_stop();
  hear_file(file, 0, &all);
  assert_int_equal(all.of[0].events + all.of[0].others + all.of[0].lost, 4 * SPANS + 2 + 1);
  assert_true(all.of[0].lost >= SPANS && all.of[0].last == 2 * SPANS - 1);
  unlink(file);
}

/* ---- Death ------------------------------------------------------------------------ */

/* Writes spans, and its progress into the pipe, until it is killed. */
static void write_until_killed(int pipe_end) {
  start_stream();
  eventring_domain *d = start_domain("victim");
  for (int64_t n = 0;; n += 100) {
    write_spans(d, n, n + 100);
    if (write(pipe_end, &n, sizeof n) != sizeof n) _exit(1);
  }
}

/* Checks that all that was written before the kill is there. */
static void killed(void **state) {
  enum { KILLS = 60 };
  for (unsigned i = 0; i < KILLS; i += slowness() > 1 ? 4 : 1) {
    int pipe_ends[2], status;
    int64_t n = 0, target = 1 + i * (int64_t)37;
    assert_int_equal(pipe(pipe_ends), 0);
    /* a small pipe: the child does not get far while we wait for a processor */
    assert_true(fcntl(pipe_ends[1], F_SETPIPE_SZ, 4096) >= 4096);
    pid_t child = fork();
    if (child == 0) write_until_killed(pipe_ends[1]);
    close(pipe_ends[1]);
    while (n < target * 100 && read(pipe_ends[0], &n, sizeof n) == sizeof n) continue;
    kill(child, SIGKILL);
    int64_t more;
    while (read(pipe_ends[0], &more, sizeof more) == sizeof more) n = more;
    waitpid(child, &status, 0);
    close(pipe_ends[0]);
    assert_true(WIFSIGNALED(status));
    struct all_heard all = {0};
    hear_file(file, 0, &all);
    assert_true(all.of[0].last >= n + 99);
    assert_int_equal(all.of[0].lost, 0);
    unlink(file);
  }
}

/* ---- Records ---------------------------------------------------------------------- */

/* Checks that a reader that follows a stream learns all definitions, also after a ring
   was added. */
static void names_while_it_is_read(void **state) {
  enum { NAMES = 500 };
  static char name[NAMES][24];
  struct eventring_def def = {.kind = EVENTRING_DEF_COUNTER, .event_class = EVENTRING_CLASS_USER,
                              .ring = EVENTRING_USER, .payload = EVENTRING_INT};
  unsigned id;
  struct all_heard all = {0};
  clear(&all);
  start_stream();
  eventring_domain *d = start_domain("first");
  write_spans(d, 0, 10);
  eventring_cursor *cursor = open_file(own_path(), 0);
  poll_to_end(cursor, &all);
  /* the ring of this counter is new */
  eventring_counter(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_COUNT, 1);
  poll_to_end(cursor, &all);
  for (int n = 0; n < NAMES; n++) {
    snprintf(name[n], sizeof name[n], "defined %d", n);
    def.name = name[n];
    assert_int_equal(eventring_register_table(&def, 1, &id, NULL), EVENTRING_OK);
  }
  eventring_domain_stop(d);
  eventring_stop();
  /* a poll compares how many definitions there are with how many there should be */
  poll_to_end(cursor, &all);
  eventring_close(cursor);
  unlink(file);
}

/* ---- Damage ----------------------------------------------------------------------- */

/* Makes a file whose process was killed. */
static void leave_file(void) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    start_stream();
    write_spans(start_domain("victim"), 0, SPANS);
    raise(SIGKILL);
  }
  waitpid(child, &status, 0);
  assert_true(WIFSIGNALED(status));
}

static void change_file(off_t offset, const void *bytes, size_t size) {
  int fd = open(file, O_RDWR);
  assert_true(fd >= 0);
  assert_int_equal(pwrite(fd, bytes, size, offset), size);
  close(fd);
}

static void read_from_file(off_t offset, void *bytes, size_t size) {
  int fd = open(file, O_RDONLY);
  assert_true(fd >= 0);
  assert_int_equal(pread(fd, bytes, size, offset), size);
  close(fd);
}

/* Reads the file to its end, which takes few polls, and returns the number
   of reported damages. */
static unsigned hear_damaged(struct all_heard *all) {
  unsigned damages = 0;
  int status, polls = 0;
  clear(all);
  eventring_cursor *cursor = open_file(file, 0);
  while ((status = eventring_poll(cursor, &hearing, all, 0)) != 0) {
    damages += status < 0;
    assert_true(++polls < 20);
  }
  eventring_close(cursor);
  return damages;
}

static const off_t first_head = FORMAT_DOMAINS_OFFSET + offsetof(struct format_domain, ring) +
                                EVENTRING_RUNTIME * sizeof(struct format_ring);

/* Checks that a head beyond all blocks hides none of them, and that the reader does not
   walk up to it. */
static void head_too_large(void **state) {
  for (unsigned bit = 20; bit < 56; bit += 5) {
    struct all_heard all = {0};
    uint64_t head;
    leave_file();
    read_from_file(first_head, &head, sizeof head);
    head ^= (uint64_t)1 << bit;
    change_file(first_head, &head, sizeof head);
    assert_int_not_equal(hear_damaged(&all), 0);
    /* The newest block may be missing. */
    assert_in_range(all.of[0].events, 2 * SPANS - 600, 2 * SPANS);
    unlink(file);
  }
}

/* Checks units that no entry of the domain table refers to. */
static void head_gone(void **state) {
  struct all_heard all = {0};
  const uint64_t none = 0;
  leave_file();
  assert_int_equal(hear_damaged(&all), 0);
  change_file(first_head, &none, sizeof none);
  assert_int_not_equal(hear_damaged(&all), 0);
  assert_int_equal(all.of[0].events, 0);
  unlink(file);
}

/* Checks two units that have the same blocks. */
static void unit_twice(void **state) {
  enum { UNIT_BYTES = FORMAT_UNIT * FORMAT_BLOCK_BYTES };
  static uint8_t unit[UNIT_BYTES];
  struct format_block *h = (struct format_block *)unit;
  struct all_heard all = {0};
  uint64_t claimed, more;
  leave_file();
  read_from_file(FORMAT_STATUS_OFFSET + 8, &claimed, sizeof claimed);
  for (uint64_t at = claimed; h->kind != FORMAT_EVENTS;) { /* the newest */
    assert_true(at > 0);
    at -= FORMAT_UNIT;
    read_from_file((off_t)format_block_offset(at), unit, sizeof unit);
  }
  change_file((off_t)format_block_offset(claimed), unit, sizeof unit);
  more = claimed + FORMAT_UNIT;
  change_file(FORMAT_STATUS_OFFSET + 8, &more, sizeof more);
  assert_int_not_equal(hear_damaged(&all), 0);
  unlink(file);
}

/* ---- The helper ------------------------------------------------------------------- */

/* Returns the signals that the helper blocks; 0: there is no helper. */
static uint64_t blocked_by_helper(void) {
  char path[300], text[4096];
  uint64_t blocked = 0;
  DIR *tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
    FILE *status = task->d_name[0] == '.' ? NULL : fopen(path, "r");
    if (!status) continue;
    text[fread(text, 1, sizeof text - 1, status)] = 0;
    fclose(status);
    if (strstr(text, "Name:\teventring\n"))
      blocked = strtoull(strstr(text, "SigBlk:") + 7, NULL, 16);
  }
  closedir(tasks);
  return blocked;
}

/* Checks that the helper does not block SIGBUS. If the file is cut short, SIGBUS is
   raised in the thread that touches it, which may be the helper. (The C library blocks
   all signals while a thread starts.) */
static void helper_takes_faults(void **state) {
  const uint64_t fault = (uint64_t)1 << (SIGBUS - 1), other = (uint64_t)1 << (SIGTERM - 1);
  uint64_t blocked = fault;
  start_stream();
  for (int tries = 0; tries < 2000 && (blocked & fault || !blocked); tries++) {
    usleep(1000);
    blocked = blocked_by_helper();
  }
  stop_and_remove();
  assert_int_equal(blocked & (fault | other), other);
}

/* ---- Claims ----------------------------------------------------------------------- */

enum { CLAIMERS = 8 };

static struct evr_extents extents;
static uint32_t claim_first[CLAIMERS][CLAIMS / CLAIMERS];

/* Returns 16, 32 or 48 blocks for a claim. */
static uint32_t size_of_claim(int claimer, int n) {
  return EVR_EXTENT_UNIT * (1 + (uint32_t)(claimer + n) % 3);
}

static void *claim_much(void *argument) {
  int claimer = (int)(intptr_t)argument;
  for (int n = 0; n < CLAIMS / CLAIMERS; n++)
    if (!evr_extents_take(&extents, size_of_claim(claimer, n), &claim_first[claimer][n]))
      return argument;
  return NULL;
}

/* Checks that claims by eight threads have no gap and no overlap. */
static void claims_are_disjoint(void **state) {
  pthread_t thread[CLAIMERS];
  uint8_t *taken = calloc(1, 48 * (size_t)CLAIMS / EVR_EXTENT_UNIT);
  uint64_t units = 0;
  extents.most = 48 * (uint64_t)CLAIMS;
  for (int i = 0; i < CLAIMERS; i++)
    pthread_create(&thread[i], NULL, claim_much, (void *)(intptr_t)i);
  for (int i = 0; i < CLAIMERS; i++) {
    void *failed;
    pthread_join(thread[i], &failed);
    assert_null(failed);
  }
  for (int i = 0; i < CLAIMERS; i++)
    for (int n = 0; n < CLAIMS / CLAIMERS; n++) {
      uint32_t count = size_of_claim(i, n) / EVR_EXTENT_UNIT;
      assert_int_equal(claim_first[i][n] % EVR_EXTENT_UNIT, 0);
      for (uint32_t k = 0; k < count; k++)
        assert_int_equal(taken[claim_first[i][n] / EVR_EXTENT_UNIT + k]++, 0);
      units += count;
    }
  assert_int_equal(extents.next, units * EVR_EXTENT_UNIT);
  for (uint64_t i = 0; i < units; i++) assert_int_equal(taken[i], 1);
  free(taken);
}

/* Checks that the last claim that fits succeeds, and no further claim. */
static void claims_end(void **state) {
  uint32_t first = 77;
  extents = (struct evr_extents){.most = 40};
  assert_true(evr_extents_take(&extents, 32, &first) && first == 0);
  assert_false(evr_extents_take(&extents, 16, &first));
  assert_false(evr_extents_take(&extents, 48, &first));
  assert_int_equal(extents.next, 32);
}

/* ---- Forks ------------------------------------------------------------------------ */

/* Checks that a child goes on in a file of its own, and does not touch its parent's
   file. */
static void forked(void **state) {
#ifdef __SANITIZE_THREAD__
  /* ThreadSanitizer does not support threads in a forked child, such as
     the stream's helper. */
  skip();
#endif
  struct eventring_config config = stream_config(file);
  struct all_heard all = {0};
  char name[64];
  int status;
  config.follow_forks = true;
  start(&config);
  eventring_domain *d = start_domain("both");
  write_spans(d, 0, SPANS);
  pid_t child = fork();
  if (child == 0) {
    eventring_state(); /* the child must be recorded by now */
    eventring_domain_check(d);
    write_spans(d, 0, SPANS / 2);
    eventring_domain_stop(d);
    _exit(eventring_stop() != 0);
  }
  write_spans(d, SPANS, 2 * SPANS);
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  eventring_domain_stop(d);
  eventring_stop();
  hear_file(file, 0, &all);
  assert_int_equal(all.of[0].events, 4 * SPANS);
  unlink(file);
  snprintf(name, sizeof name, "stream-%d.eventring", (int)child);
  hear_file(name, 0, &all);
  assert_int_equal(all.of[0].events, SPANS);
  unlink(name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(killed), /* first, because the child starts the library */
      cmocka_unit_test(head_too_large), cmocka_unit_test(head_gone),
      cmocka_unit_test(unit_twice), /* and these, because their children also start the
                                       library */
      cmocka_unit_test(helper_takes_faults), cmocka_unit_test(names_while_it_is_read),
      cmocka_unit_test(one_thread), cmocka_unit_test(many_threads),
      cmocka_unit_test(domains_in_turn), cmocka_unit_test(names_stay),
      cmocka_unit_test(stacks_of_calls),
      cmocka_unit_test(seek_in_a_stream), cmocka_unit_test(seek_in_a_ring),
      cmocka_unit_test(read_by_itself),
      cmocka_unit_test(snapshot_of_a_stream), cmocka_unit_test(streams_and_rings),
      cmocka_unit_test(largest_size), cmocka_unit_test(no_room_ever), cmocka_unit_test(room_again),
      cmocka_unit_test(no_room_at_first), cmocka_unit_test(claims_are_disjoint),
      cmocka_unit_test(claims_end), cmocka_unit_test(forked)};
  char directory[] = "stream.XXXXXX";
  if (!mkdtemp(directory) || chdir(directory) != 0) return 1;
  register_test_events();
  signal(SIGXFSZ, SIG_IGN);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return chdir("..") != 0 || rmdir(directory) != 0 || failed;
}
