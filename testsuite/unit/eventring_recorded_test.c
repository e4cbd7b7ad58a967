/* SPDX-License-Identifier: MIT */
/* eventring_recorded_test.c: the sums of all events are known, even if the events are
 * gone: in rings that wrap, in streams without room, of domains that ended, of processes
 * that were killed. */
#include "eventring_common.h"
#include "eventring/saver.h"
#include "eventring/tools.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char file[] = "recorded.eventring";

static void start(bool stream, uint64_t most) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  struct eventring_error error;
  config.preserve = true;
  config.warn = NULL;
  if (stream) config.stream = file;
  config.stream_max = most;
  if (eventring_start(&config, &error) != EVENTRING_OK) fail_msg("%s", error.text);
}

/* ---- What was written, and what is recorded --------------------------------------- */

struct sums { /* by id */
  uint64_t count[T_NAMES], ns[T_NAMES], buckets[T_NAMES];
  int64_t integers[T_NAMES];
  double doubles[T_NAMES];
};

static int take(void *context, const struct eventring_recorded *r) {
  struct sums *sums = context;
  if (r->id >= T_NAMES) return 0;
  if (r->id >= EVENTRING_ID_HOST) assert_non_null(r->def);
  sums->count[r->id] = r->count;
  sums->ns[r->id] = r->ns;
  sums->integers[r->id] = r->sum.i;
  sums->doubles[r->id] = r->sum.d;
  for (int n = 0; n < EVENTRING_RECORDED_BUCKETS; n++) sums->buckets[r->id] += r->bucket[n];
  return 0;
}

static const struct eventring_recorded_callbacks taking = {.recorded = take};

static struct sums recorded_of(eventring_cursor *cursor) {
  struct sums sums = {0};
  int status = eventring_cursor_recorded(cursor, false, &taking, &sums);
  if (status) fail_msg("%d: %s", status, eventring_cursor_error(cursor)->text);
  return sums;
}

static struct sums recorded_in(const char *path, unsigned flags) {
  eventring_cursor *cursor = open_file(path, flags);
  struct sums sums = recorded_of(cursor);
  eventring_close(cursor);
  return sums;
}

static void compare(const struct sums *is, const struct sums *should) {
  static const int spans[] = {T_OUTER, T_INNER, T_FLOOD}, others[] = {T_COUNT, T_RATE, T_POINT};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(is->count[spans[i]], should->count[spans[i]]);
    assert_int_equal(is->buckets[spans[i]], should->count[spans[i]]);
    assert_int_equal(is->count[others[i]], should->count[others[i]]);
  }
  assert_int_equal(is->integers[T_COUNT], should->integers[T_COUNT]);
  /* sums of multiples of a half are exact */
  assert_true(is->doubles[T_RATE] == should->doubles[T_RATE]);
}

/* ---- Writing ---------------------------------------------------------------------- */

enum { CONTEXTS = 3 };
static uint64_t seed = 11;
static unsigned below(unsigned n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(seed >> 33) % n;
}

static void write_leaves(eventring_domain *d, int count, struct sums *sums) {
  for (int i = 0; i < count; i++) {
    eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
    eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
  }
  sums->count[T_FLOOD] += (uint64_t)count;
}

/* Writes spans in several contexts, open over many blocks, and counters of both kinds. */
static void write_mixture(eventring_domain *d, int events, struct sums *sums) {
  unsigned open[CONTEXTS] = {0}, context = 0;
  for (int i = 0; i < events; i++) {
    unsigned what = below(100);
    if (what < 20 && open[context] < 6) {
      eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
      open[context]++;
    } else if (what < 40 && open[context]) {
      eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
      open[context]--;
      sums->count[T_FLOOD]++;
    } else if (what < 50) {
      eventring_counter(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_COUNT, i - 1000);
      sums->count[T_COUNT]++;
      sums->integers[T_COUNT] += i - 1000;
    } else if (what < 60) {
      eventring_counter_double(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_RATE, i / 2.0);
      sums->count[T_RATE]++;
      sums->doubles[T_RATE] += i / 2.0;
    } else if (what < 65) {
      eventring_instant(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_POINT);
      sums->count[T_POINT]++;
    } else if (what < 70) {
      eventring_suspend(d, EVENTRING_USER, EVENTRING_CLASS_USER, below(CONTEXTS));
    } else if (what < 80) {
      eventring_set_context(d, EVENTRING_USER, context = below(CONTEXTS));
    } else {
      eventring_begin_int(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, i);
      eventring_begin(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_INNER);
      eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_INNER);
      eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
      sums->count[T_OUTER]++;
      sums->count[T_INNER]++;
    }
  }
  eventring_set_context(d, EVENTRING_USER, 0);
}

/* ---- Copies ----------------------------------------------------------------------- */

static void save_copy(eventring_cursor *cursor, const char *path, bool over) {
  static uint64_t buffer[1 << 15];
  const struct eventring_saver_options options = {0};
  struct eventring_piece piece[64];
  eventring_saver *saver;
  size_t used;
  bool more = true;
  FILE *f = fopen(path, "w+b");
  assert_non_null(f);
  assert_int_equal(eventring_saver_open(&saver, cursor, &options, NULL), 0);
  assert_int_equal(eventring_saver_end(saver, over, NULL), 0);
  while (more) {
    int n = eventring_saver_update(saver, buffer, sizeof buffer, piece, 64, &used, &more, NULL);
    assert_true(n >= 0);
    for (int i = 0; i < n; i++) {
      fseek(f, (long)piece[i].offset, SEEK_SET);
      assert_int_equal(fwrite((uint8_t *)buffer + piece[i].from, piece[i].size, 1, f), 1);
    }
  }
  static uint64_t front[FORMAT_FRONT_BYTES / 8];
  const uint64_t size = eventring_saver_size(saver);
  struct eventring_error error;
  assert_int_equal(ftruncate(fileno(f), (off_t)size), 0);
  assert_int_equal(eventring_saver_front(saver, front, size, true, piece, &error), EVENTRING_OK);
  for (int i = 0; i < 2; i++) {
    fseek(f, (long)piece[i].offset, SEEK_SET);
    assert_int_equal(fwrite((uint8_t *)front + piece[i].from, piece[i].size, 1, f), 1);
  }
  fclose(f);
  eventring_saver_close(saver);
}

/* ---- Tests ------------------------------------------------------------------------ */

/* Checks domains that follow each other in one slot: while recording, in the file, and in
   copies. */
static void check_losses(bool stream) {
  struct sums sums = {0}, is;
  char path[4096];
  start(stream, stream ? EVENTRING_LEAST_STREAM : 0);
  snprintf(path, sizeof path, "%s", own_path());
  eventring_cursor *cursor = open_self(0);
  is = recorded_of(cursor);
  compare(&is, &sums);
  for (int i = 0; i < 3; i++) {
    eventring_domain *d = start_domain("losses");
    write_leaves(d, 1 + (int)below(300), &sums);
    is = recorded_of(cursor);
    compare(&is, &sums);
    write_leaves(d, 30000, &sums);
    write_mixture(d, 30000, &sums);
    is = recorded_of(cursor);
    compare(&is, &sums);
    save_copy(cursor, "copy.eventring", false);
    is = recorded_in("copy.eventring", 0);
    compare(&is, &sums);
    eventring_domain_stop(d);
  }
  eventring_close(cursor);
  eventring_stop();
  for (unsigned flags = 0; flags < 2; flags++) {
    is = recorded_in(path, flags ? EVENTRING_OPEN_UNMAPPED : 0);
    compare(&is, &sums);
  }
  struct log log = {0};
  cursor = open_file(path, 0);
  poll_log(cursor, &log, 0);
  assert_true(log.lost[EVENTRING_USER] + log.before[EVENTRING_USER] > 1000);
  is = recorded_of(cursor);
  compare(&is, &sums);
  save_copy(cursor, "copy.eventring", true);
  is = recorded_in("copy.eventring", 0);
  compare(&is, &sums);
  clear_log(&log);
  eventring_close(cursor);
  unlink(path);
  unlink("copy.eventring");
}

static void test_losses(void **state) {
  check_losses(false);
  check_losses(true);
}

/* Checks that readers get the same sums if nothing is lost. */
static void test_same(void **state) {
  struct sums sums = {0}, is;
  struct log log = {0};
  uint64_t ns[T_NAMES] = {0};
  start(true, 0);
  eventring_domain *d = start_domain("same");
  write_leaves(d, 5000, &sums);
  write_mixture(d, 50000, &sums);
  eventring_domain_stop(d);
  eventring_stop();
  eventring_cursor *cursor = open_file(file, 0);
  poll_log(cursor, &log, 0);
  for (size_t i = 0; i < log.count; i++) {
    const struct eventring_event *e = &log.seen[i].event;
    if (e->id < T_NAMES && eventring_event_took(e) > 0)
      ns[e->id] += (uint64_t)eventring_event_took(e);
  }
  is = recorded_of(cursor);
  compare(&is, &sums);
  static const int spans[] = {T_OUTER, T_INNER, T_FLOOD};
  /* Each time is rounded to a nanosecond, and rates change a little. */
  for (int i = 0; i < 3; i++) {
    uint64_t slack = 2 * is.count[spans[i]] + ns[spans[i]] / 1000;
    assert_in_range(is.ns[spans[i]], ns[spans[i]] > slack ? ns[spans[i]] - slack : 0,
                    ns[spans[i]] + slack);
  }
  clear_log(&log);
  eventring_close(cursor);
  unlink(file);
}

/* Checks that the begin of a span and the end of another one do not count as a span, if
   what lies between them was not recorded: the recording was paused, or the class was
   off. */
static void test_gaps(void **state) {
  struct sums sums = {0}, is;
  start(false, 0);
  eventring_domain *d = start_domain("gaps");
  eventring_cursor *cursor = open_self(0);
  for (int i = 0; i < 200; i++) {
    write_leaves(d, (int)below(20), &sums);
    eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
    if (i % 2) eventring_pause();
    else eventring_switch_classes(EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER), false);
    eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
    eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
    if (i % 2) eventring_resume();
    else eventring_switch_classes(EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER), true);
    if (i % 3) write_leaves(d, (int)below(20), &sums);
    eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
    is = recorded_of(cursor);
    compare(&is, &sums);
  }
  eventring_close(cursor);
  eventring_domain_stop(d);
  eventring_stop();
}

struct many { unsigned first, seen; };

static int check_one_of_many(void *context, const struct eventring_recorded *r) {
  struct many *many = context;
  if (r->id < many->first) return 0;
  many->seen++;
  assert_int_equal(r->count, 3 * (1 + (r->id - many->first) % 3));
  return 0;
}

/* Checks many definitions, more than a page has, in one block and in several. */
static void test_many(void **state) {
  enum { MANY = 1000 };
  static struct eventring_def defs[MANY];
  static char names[MANY][24];
  unsigned first;
  for (int i = 0; i < MANY; i++) {
    snprintf(names[i], sizeof names[i], "many %d", i);
    defs[i] = (struct eventring_def){.name = names[i], .kind = EVENTRING_DEF_SPAN,
                                     .event_class = EVENTRING_CLASS_USER, .ring = EVENTRING_USER};
  }
  assert_int_equal(eventring_register_table(defs, MANY, &first, NULL), EVENTRING_OK);
  start(false, 0);
  eventring_domain *d = start_domain("many");
  for (int round = 0; round < 3; round++)
    for (unsigned i = 0; i < MANY; i++)
      for (unsigned n = 0; n <= i % 3; n++) {
        eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, first + i);
        eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_USER, first + i);
      }
  eventring_cursor *cursor = open_self(0);
  static const struct eventring_recorded_callbacks each_of_many = {.recorded = check_one_of_many};
  struct many many = {.first = first};
  assert_int_equal(eventring_cursor_recorded(cursor, false, &each_of_many, &many), 0);
  assert_int_equal(many.seen, MANY);
  eventring_close(cursor);
  eventring_domain_stop(d);
  eventring_stop();
}

/* ---- A process that is killed ----------------------------------------------------- */

struct shared { /* shared with the child */
  volatile uint64_t ready, spans, values;
  char path[4096];
};

static void write_until_killed(struct shared *shared) {
  start(false, 0);
  eventring_domain *d = start_domain("killed");
  snprintf(shared->path, sizeof shared->path, "%s", own_path());
  for (int64_t i = 0;; i++) {
    eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
    eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_FLOOD);
    shared->spans++;
    if (i % 3 == 0) {
      eventring_counter(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_COUNT, 7);
      shared->values++;
    }
    shared->ready = shared->spans > 3000;
  }
}

static void kill_once(void) {
  struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t child = fork();
  if (child == 0) {
    write_until_killed(shared);
    _exit(0);
  }
  while (!shared->ready) usleep(100);
  usleep(below(2000));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  struct sums is = recorded_in(shared->path, 0);
  assert_in_range(is.count[T_FLOOD], shared->spans, shared->spans + 1);
  assert_int_equal(is.buckets[T_FLOOD], is.count[T_FLOOD]);
  assert_in_range(is.count[T_COUNT], shared->values, shared->values + 1);
  assert_int_equal(is.integers[T_COUNT], 7 * is.count[T_COUNT]);
  unlink(shared->path);
  munmap(shared, sizeof *shared);
}

static void test_killed(void **state) {
  for (int i = 0; i < 60; i++) kill_once();
}

/* ---- While it is written ---------------------------------------------------------- */

static volatile bool is_over;

static void *flood(void *sums) {
  eventring_domain *d = start_domain("flood");
  while (!is_over) write_leaves(d, 100, sums);
  eventring_domain_stop(d);
  return NULL;
}

/* Checks that sums that are read while events are written never decrease, and never
   exceed the final sums. */
static void test_live(void **state) {
  struct sums sums = {0}, is;
  uint64_t before = 0;
  pthread_t thread;
  int found = 0;
  start(false, 0);
  is_over = false;
  eventring_cursor *cursor = open_self(0);
  assert_int_equal(pthread_create(&thread, NULL, flood, &sums), 0);
  for (int i = 0; i < 200; i++) {
    is = (struct sums){0};
    int status = eventring_cursor_recorded(cursor, false, &taking, &is);
    assert_true(status == 0 || status == EVENTRING_E_NOT_FOUND);
    if (status) continue;
    found++;
    assert_int_equal(is.buckets[T_FLOOD], is.count[T_FLOOD]);
    assert_true(is.count[T_FLOOD] >= before);
    before = is.count[T_FLOOD];
  }
  is_over = true;
  pthread_join(thread, NULL);
  is = recorded_of(cursor);
  assert_true(found > 0 && before <= is.count[T_FLOOD]);
  compare(&is, &sums);
  eventring_close(cursor);
  eventring_stop();
}

/* ---- A hostile file --------------------------------------------------------------- */

/* In each ring a word says up to which block the ring's totals go. While `lies` is on,
   the word has changed whenever a reader reads it again, except every LIE_LENGTH-th
   time. */
enum { LIE_LENGTH = 16, WORD_FOLDED = 16 /* offset of the word in its block, in bytes */ };
static bool lies;
static unsigned tries;

ssize_t pread(int fd, void *to, size_t size, off_t offset) {
  static bool is_second = true; /* the very first read does not count as a try */
  ssize_t got = syscall(SYS_pread64, fd, to, size, offset);
  if (!lies || size != 8 || offset % EVENTRING_BLOCK_BYTES != WORD_FOLDED) return got;
  is_second = !is_second;
  if (!is_second) return got;
  uint64_t word;
  memcpy(&word, to, sizeof word);
  word += ++tries % LIE_LENGTH != 0;
  memcpy(to, &word, sizeof word);
  return got;
}

/* Checks that rings share the tries that a reader has, however many rings there are. */
static void test_tries(void **state) {
  enum { THREADS = 40 };
  struct sums sums = {0};
  eventring_domain *domain[THREADS];
  start(false, 0);
  for (int i = 0; i < THREADS; i++) {
    domain[i] = start_domain("d");
    write_leaves(domain[i], 20000, &sums);
  }
  eventring_cursor *cursor = open_file(own_path(), EVENTRING_OPEN_UNMAPPED);
  struct sums is = recorded_of(cursor);
  compare(&is, &sums);
  lies = true;
  assert_int_equal(eventring_cursor_recorded(cursor, false, &taking, &is), EVENTRING_E_NOT_FOUND);
  lies = false;
  assert_in_range(tries, 400, 500); /* some rings were read, and none of the last ones */
  is = recorded_of(cursor);
  compare(&is, &sums);
  eventring_close(cursor);
  for (int i = 0; i < THREADS; i++) eventring_domain_stop(domain[i]);
  eventring_stop();
}

/* ---- Histograms ------------------------------------------------------------------- */

/* The times of spans with reasons, from the events of a lossless stream and from the
   totals in the file. The two are equal to the nanosecond while recording, in a copy, and
   at the end. */
enum { REASONS = 3 };
struct histograms { /* by reason; index 0 is for a reason that is no id */
  uint64_t count[REASONS], ns[REASONS], buckets[REASONS], long_ones[REASONS];
};
static unsigned step, reasons[REASONS];
#define LONG_NS UINT64_C(5000) /* a bound between two buckets */

static unsigned index_of_reason(uint64_t id) {
  for (unsigned i = 1; i < REASONS; i++)
    if (reasons[i] == id) return i;
  assert_int_equal(id, 0);
  return 0;
}

struct counting {
  struct histograms *sums;
  uint64_t open[64];
  unsigned depth;
};

static int count_step(void *context, const struct eventring_event *event) {
  struct counting *c = context;
  if (event->id != step) return 0;
  if (event->kind == EVENTRING_BEGIN) {
    assert_true(c->depth < 64);
    c->open[c->depth++] = event->payload == EVENTRING_INT ? event->value.u : UINT64_MAX;
    return 0;
  }
  const uint64_t reason = c->open[--c->depth];
  if (reason == UINT64_MAX) return 0; /* the span's begin had no reason */
  const unsigned i = index_of_reason(reason < EVENTRING_MAX_EVENTS ? reason : 0);
  const uint64_t took = (uint64_t)eventring_event_took(event);
  c->sums->count[i]++;
  c->sums->ns[i] += took;
  c->sums->long_ones[i] += took > LONG_NS;
  return 0;
}

static int take_histogram(void *context, const struct eventring_histogram *h) {
  struct histograms *sums = context;
  const unsigned i = index_of_reason(h->reason_id);
  assert_int_equal(h->id, step);
  assert_true(i == 0 ? h->reason == NULL : h->reason != NULL && h->reason->id == reasons[i]);
  sums->count[i] += h->count;
  sums->ns[i] += h->ns;
  for (unsigned n = 0; n < EVENTRING_HISTOGRAM_BUCKETS; n++) {
    sums->buckets[i] += h->bucket[n];
    if (n == EVENTRING_HISTOGRAM_BUCKETS - 1 || h->bound[n] > LONG_NS)
      sums->long_ones[i] += h->bucket[n];
  }
  return 0;
}

static void compare_histograms(eventring_cursor *recorded, bool by_domain) {
  static const struct eventring_recorded_callbacks taking_them = {.histogram = take_histogram};
  static const struct eventring_callbacks counting_them = {sizeof counting_them, count_step, NULL};
  struct histograms is = {0}, should = {0};
  struct counting counting = {.sums = &should};
  assert_int_equal(eventring_cursor_recorded(recorded, by_domain, &taking_them, &is), 0);
  eventring_cursor *cursor = open_file(file, 0);
  while (eventring_poll(cursor, &counting_them, &counting, 0) > 0) continue;
  eventring_close(cursor);
  for (int i = 0; i < REASONS; i++) {
    assert_int_equal(is.count[i], should.count[i]);
    assert_int_equal(is.buckets[i], should.count[i]);
    assert_int_equal(is.ns[i], should.ns[i]);
    assert_int_equal(is.long_ones[i], should.long_ones[i]);
  }
}

static void begin_step(eventring_domain *d, unsigned reason) {
  if (reason == REASONS)
    /* 1 << 20 is no id */
    eventring_begin_int(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, step, 1 << 20);
  else if (reason)
    eventring_begin_int(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, step, reasons[reason]);
  else eventring_begin(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, step);
}

/* Writes steps. Some lie within others, some reach over several blocks. */
static void write_steps(eventring_domain *d, int count, struct sums *sums) {
  for (int i = 0; i < count; i++) {
    begin_step(d, below(REASONS + 1));
    if (below(4) == 0) {
      begin_step(d, below(REASONS));
      eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, step);
    }
    for (unsigned n = below(100) == 0 ? 1500 : below(3) * 40; n > 0; n--) {
      eventring_begin_int(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, 1);
      eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
      sums->count[T_OUTER]++;
    }
    eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, step);
  }
}

static void test_histograms(void **state) {
  struct eventring_def defs[REASONS] = {
      {.name = "step", .unit = EVENTRING_UNIT_ID, .kind = EVENTRING_DEF_SPAN,
       .event_class = EVENTRING_CLASS_GC, .ring = EVENTRING_RUNTIME, .payload = EVENTRING_INT},
      {.name = "one reason", .kind = EVENTRING_DEF_INSTANT, .event_class = EVENTRING_CLASS_GC,
       .ring = EVENTRING_RUNTIME},
      {.name = "another", .kind = EVENTRING_DEF_INSTANT, .event_class = EVENTRING_CLASS_GC,
       .ring = EVENTRING_RUNTIME}};
  struct sums sums = {0};
  char copy[] = "copy.eventring";
  assert_int_equal(eventring_register_table(defs, REASONS, &step, NULL), EVENTRING_OK);
  for (unsigned i = 1; i < REASONS; i++) reasons[i] = step + i;
  start(true, 0);
  eventring_domain *d = start_domain("steps");
  eventring_cursor *cursor = open_self(0);
  for (int i = 0; i < 20; i++) {
    write_steps(d, 1 + (int)below(60), &sums);
    compare_histograms(cursor, i % 2);
  }
  save_copy(cursor, copy, false);
  eventring_cursor *copied = open_file(copy, 0);
  compare_histograms(copied, false);
  eventring_close(copied);
  eventring_domain_stop(d);
  compare_histograms(cursor, true);
  eventring_close(cursor);
  eventring_stop();
  cursor = open_file(file, 0);
  compare_histograms(cursor, false);
  eventring_close(cursor);
}

int main(void) {
  register_test_events();
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_losses), cmocka_unit_test(test_same),
                                     cmocka_unit_test(test_killed), cmocka_unit_test(test_live),
                                     cmocka_unit_test(test_many), cmocka_unit_test(test_tries),
                                     cmocka_unit_test(test_gaps),
                                     cmocka_unit_test(test_histograms)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
