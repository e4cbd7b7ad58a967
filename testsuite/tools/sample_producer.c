/* SPDX-License-Identifier: MIT */
/* sample_producer.c: a program that records known numbers of events.
 *
 * The tests of the `eventring` command compare what it shows with what this program
 * wrote; no virtual machine is needed. It uses the environment variables
 * SAROS_EVENTRING_* (or those of --env-prefix). Without any argument it records a little,
 * reads the recording, and fails if the numbers differ.
 *
 * In each of --rounds rounds each of --domains threads writes
 *
 *   runtime ring   minor { minor_roots {} minor_promote {} }, then the counters
 *                  allocated_words (--words, 1000), promoted_words (10), live_words
 *                  (--live, else the round); every 10th round major_slice { mark {} } and
 *                  the lifecycle event cycle
 *   user ring      --users times request { parse {} }, then the counter load
 *                  (a double), the events tick and note (a string)
 *
 * With one user these are 14 events a round. With --extras there are also, each round,
 *
 *   user ring      in context 1 the span coroutine, which is suspended for --work-us
 *                  while context 2 writes the span other; the async span transfer, link
 *                  100 * domain + round, which the next domain ends in its round of that
 *                  number (with one domain: itself), the flow message with a step; and
 *                  the events sized and unnamed, which have several values
 *                and with --stray, at the end, one begin and one end of transfer alone
 *
 * At the end, on request: --flood N writes N spans `flood` as fast as possible, --open
 * leaves the spans serve { minor_roots open, --die kills the program by itself. With
 * --report it prints, for each domain and ring, how many events it had written, without
 * the domain's own last one.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "eventring.h"
#include "eventring/probe.h"
#include "eventring/read.h"
#include "producer/domains.h"

/* ---- Catalogue ----------------------------------------------------------- */

enum id {
  MINOR = EVENTRING_ID_HOST, MINOR_ROOTS, MINOR_PROMOTE, MAJOR_SLICE, MARK,
  ALLOCATED, PROMOTED, LIVE, CYCLE, SERVE
};

#define SPAN(text, in_class) \
  {.name = text, .kind = EVENTRING_DEF_SPAN, .event_class = in_class, \
   .ring = EVENTRING_RUNTIME}
#define COUNTER(text, meaning, what, of) \
  {.name = text, .unit = "words", .doc = meaning, \
   .kind = EVENTRING_DEF_COUNTER, .event_class = EVENTRING_CLASS_GC, \
   .ring = EVENTRING_RUNTIME, .payload = EVENTRING_INT, .measure = what, \
   .quantity = EVENTRING_QUANTITY_##of}

static const struct eventring_def catalogue[] = {
    SPAN("minor", EVENTRING_CLASS_GC),
    SPAN("minor_roots", EVENTRING_CLASS_GC),
    SPAN("minor_promote", EVENTRING_CLASS_GC),
    SPAN("major_slice", EVENTRING_CLASS_GC),
    SPAN("mark", EVENTRING_CLASS_GC),
    COUNTER("allocated_words", "Allocated since the last minor collection",
            EVENTRING_DIFFERENCE, ALLOCATED),
    COUNTER("promoted_words", "Promoted by this minor collection", EVENTRING_DIFFERENCE,
            PROMOTED),
    COUNTER("live_words", "Alive", EVENTRING_LEVEL, NONE),
    {.name = "cycle", .kind = EVENTRING_DEF_LIFECYCLE,
     .event_class = EVENTRING_CLASS_LIFECYCLE, .ring = EVENTRING_RUNTIME,
     .payload = EVENTRING_INT},
    SPAN("serve", EVENTRING_CLASS_LOAD)};

static int request, parse, flood, load, tick, note;
static int coroutine, other, transfer, message, sized, unnamed;

static void die(const char *what, const struct eventring_error *error) {
  fprintf(stderr, "producer: %s: %s\n", what, error->text);
  exit(3);
}

static int user(enum eventring_def_kind kind, const char *name,
                enum eventring_payload payload) {
  struct eventring_error error;
  int id = eventring_register_user(kind, name, strlen(name), payload, &error);
  if (id < 0) die(name, &error);
  return id;
}

/* Registers an event of several values; `fields` names them, or is NULL. */
static int values(const char *name, const char *fields) {
  struct eventring_error error;
  struct eventring_def def = {
      .name = name, .kind = EVENTRING_DEF_INSTANT, .event_class = EVENTRING_CLASS_USER,
      .ring = EVENTRING_USER, .payload = EVENTRING_VALUES, .fields = fields};
  int id = eventring_register(&def, &error);
  if (id < 0) die(name, &error);
  return id;
}

static void register_extras(void) {
  coroutine = user(EVENTRING_DEF_SPAN, "coroutine", EVENTRING_NONE);
  other = user(EVENTRING_DEF_SPAN, "other", EVENTRING_NONE);
  transfer = user(EVENTRING_DEF_ASYNC, "transfer", EVENTRING_NONE);
  message = user(EVENTRING_DEF_FLOW, "message", EVENTRING_NONE);
  sized = values("sized", "int,uint,double,text");
  unnamed = values("unnamed", NULL);
}

static void register_all(void) {
  struct eventring_error error;
  unsigned first;
  if (eventring_register_table(catalogue, sizeof catalogue / sizeof *catalogue,
                               &first, &error) < 0)
    die("catalogue", &error);
  request = user(EVENTRING_DEF_SPAN, "request", EVENTRING_NONE);
  parse = user(EVENTRING_DEF_SPAN, "parse", EVENTRING_NONE);
  flood = user(EVENTRING_DEF_SPAN, "flood", EVENTRING_NONE);
  load = user(EVENTRING_DEF_COUNTER, "load", EVENTRING_DOUBLE);
  tick = user(EVENTRING_DEF_INSTANT, "tick", EVENTRING_NONE);
  note = user(EVENTRING_DEF_INSTANT, "note", EVENTRING_STRING);
}

/* ---- What is wanted ------------------------------------------------------ */

static struct {
  long domains, rounds, users, flood, pause_us, work_us, hold_ms, status, words, live;
  int open, die, report, extras, stray;
  const char *prefix;
} wanted = {
    .domains = 1, .rounds = 10, .users = 1, .words = 1000, .live = -1, .prefix = "SAROS_EVENTRING"};

static const struct { const char *name; long *number; int *flag; } options[] = {
    {"--domains", &wanted.domains, NULL}, {"--rounds", &wanted.rounds, NULL},
    {"--users", &wanted.users, NULL},     {"--flood", &wanted.flood, NULL},
    {"--pause-us", &wanted.pause_us, NULL}, {"--work-us", &wanted.work_us, NULL},
    {"--hold-ms", &wanted.hold_ms, NULL}, {"--status", &wanted.status, NULL},
    {"--open", NULL, &wanted.open},       {"--die", NULL, &wanted.die},
    {"--report", NULL, &wanted.report}, {"--extras", NULL, &wanted.extras},
    {"--stray", NULL, &wanted.stray}, {"--words", &wanted.words, NULL},
    {"--live", &wanted.live, NULL}};

static void read_words(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    size_t option = 0, count = sizeof options / sizeof *options;
    if (strcmp(argv[i], "--env-prefix") == 0 && i + 1 < argc) {
      wanted.prefix = argv[++i];
      continue;
    }
    while (option < count && strcmp(options[option].name, argv[i]) != 0) option++;
    if (option == count || (options[option].number && i + 1 == argc)) {
      fprintf(stderr, "producer: no option %s\n", argv[i]);
      exit(2);
    }
    if (options[option].flag) *options[option].flag = 1;
    else *options[option].number = strtol(argv[++i], NULL, 10);
  }
}

/* ---- One domain ---------------------------------------------------------- */

static pthread_barrier_t all_have_begun; /* the async spans of this round */

static void rest_us(long us) {
  struct timespec time = {us / 1000000, us % 1000000 * 1000};
  if (us > 0) nanosleep(&time, NULL);
}

/* Keeps the thread busy, so that a span has a length that can be checked. */
static void work_us(long us) {
  uint64_t end = eventring_now() + (uint64_t)us * 1000;
  while (us > 0 && eventring_now() < end) continue;
}

static void gc_span(eventring_domain *d, unsigned id, int begin) {
  (begin ? eventring_begin : eventring_end)(d, EVENTRING_RUNTIME,
                                            EVENTRING_CLASS_GC, id);
}

static void gc_counter(eventring_domain *d, unsigned id, int64_t value) {
  eventring_counter(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, id, value);
}

static void collect(eventring_domain *d, long round) {
  gc_span(d, MINOR, 1);
  gc_span(d, MINOR_ROOTS, 1);
  gc_span(d, MINOR_ROOTS, 0);
  gc_span(d, MINOR_PROMOTE, 1);
  work_us(wanted.work_us);
  gc_span(d, MINOR_PROMOTE, 0);
  gc_span(d, MINOR, 0);
  gc_counter(d, ALLOCATED, wanted.words);
  gc_counter(d, PROMOTED, 10);
  gc_counter(d, LIVE, wanted.live >= 0 ? wanted.live : round);
  if (round % 10 != 9) return;
  gc_span(d, MAJOR_SLICE, 1);
  gc_span(d, MARK, 1);
  gc_span(d, MARK, 0);
  gc_span(d, MAJOR_SLICE, 0);
  eventring_lifecycle(d, EVENTRING_RUNTIME, EVENTRING_CLASS_LIFECYCLE, CYCLE, round);
}

static void use(eventring_domain *d) {
  static const char text[] = "a \"note\"\twith \xC3\xA9";
  for (long i = 0; i < wanted.users; i++) {
    eventring_user_begin(d, (unsigned)request);
    eventring_user_begin(d, (unsigned)parse);
    eventring_user_end(d, (unsigned)parse);
    eventring_user_end(d, (unsigned)request);
  }
  eventring_counter_double(d, EVENTRING_USER, EVENTRING_CLASS_USER,
                           (unsigned)load, 0.5);
  eventring_instant(d, EVENTRING_USER, EVENTRING_CLASS_USER, (unsigned)tick);
  eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, (unsigned)note,
                        text, sizeof text - 1);
}

#define IN_USER(d) d, EVENTRING_USER, EVENTRING_CLASS_USER

/* Writes in two contexts: context 1 is suspended with an open span, while context 2 has a
   span of its own. */
static void use_contexts(eventring_domain *d) {
  eventring_set_context(d, EVENTRING_USER, 1);
  eventring_user_begin(d, (unsigned)coroutine);
  eventring_suspend(IN_USER(d), 1);
  eventring_set_context(d, EVENTRING_USER, 2);
  eventring_user_begin(d, (unsigned)other);
  work_us(wanted.work_us);
  eventring_user_end(d, (unsigned)other);
  eventring_resume_context(IN_USER(d), 1);
  eventring_user_end(d, (unsigned)coroutine);
  eventring_set_context(d, EVENTRING_USER, 0);
}

static void use_links(eventring_domain *d, long domain, long round) {
  uint64_t own = (uint64_t)(100 * domain + round);
  uint64_t theirs = (uint64_t)(100 * ((domain + 1) % wanted.domains) + round);
  eventring_linked(IN_USER(d), (unsigned)transfer, own, EVENTRING_ROLE_BEGIN);
  work_us(wanted.work_us);
  eventring_linked(IN_USER(d), (unsigned)message, own, EVENTRING_ROLE_BEGIN);
  eventring_linked(IN_USER(d), (unsigned)message, own, EVENTRING_ROLE_STEP);
  eventring_linked(IN_USER(d), (unsigned)message, own, EVENTRING_ROLE_END);
  pthread_barrier_wait(&all_have_begun);
  eventring_linked(IN_USER(d), (unsigned)transfer, theirs, EVENTRING_ROLE_END);
}

/* Writes the values -7, 2^63, 0.25 and the text "ab": doc/FORMAT.md, payloads. */
static void use_values(eventring_domain *d) {
  uint64_t words[] = {4 | EVENTRING_INT << 4 | EVENTRING_UINT << 8 | EVENTRING_DOUBLE << 12 |
                          EVENTRING_STRING << 16,
                      (uint64_t)-7, (uint64_t)1 << 63, eventring_double_bits(0.25), 2,
                      'a' | 'b' << 8};
  uint64_t bytes[] = {2 | EVENTRING_BYTES << 4 | EVENTRING_INT << 8, 1, 0xfe, 5};
  if (!eventring_enabled(IN_USER(d))) return;
  eventring_emit_words(d, EVENTRING_USER, EVENTRING_TAIL(EVENTRING_INSTANT, sized, 0), words,
                       sizeof words / 8);
  eventring_emit_words(d, EVENTRING_USER, EVENTRING_TAIL(EVENTRING_INSTANT, unnamed, 0), bytes,
                       sizeof bytes / 8);
}

static void record(eventring_domain *d, long domain) {
  for (long round = 0; round < wanted.rounds; round++) {
    collect(d, round);
    use(d);
    if (wanted.extras) {
      use_contexts(d);
      use_links(d, domain, round);
      use_values(d);
    }
    rest_us(wanted.pause_us);
  }
  for (long i = 0; i < wanted.flood; i++) {
    eventring_user_begin(d, (unsigned)flood);
    eventring_user_end(d, (unsigned)flood);
  }
  if (wanted.stray) {
    uint64_t own = (uint64_t)(1000 + domain);
    eventring_linked(IN_USER(d), (unsigned)transfer, own, EVENTRING_ROLE_END);
    eventring_linked(IN_USER(d), (unsigned)transfer, own, EVENTRING_ROLE_BEGIN);
  }
  if (!wanted.open) return;
  eventring_begin(d, EVENTRING_RUNTIME, EVENTRING_CLASS_LOAD, SERVE);
  gc_span(d, MINOR_ROOTS, 1);
}

static void report(eventring_domain *d) {
  int slot = eventring_domain_slot(d);
  if (!wanted.report) return;
  printf("emitted %d runtime %llu\nemitted %d user %llu\n", slot,
         (unsigned long long)evr_domain_emitted(d, EVENTRING_RUNTIME), slot,
         (unsigned long long)evr_domain_emitted(d, EVENTRING_USER));
  fflush(stdout);
}

static void *run_domain(void *context) {
  char name[32];
  struct eventring_error error = {0};
  snprintf(name, sizeof name, "worker %ld", *(long *)context);
  eventring_domain *d = eventring_domain_start(name, &error);
  if (error.code != 0) fprintf(stderr, "producer: %s\n", error.text);
  record(d, *(long *)context);
  report(d);
  rest_us(wanted.hold_ms * 1000);
  if (wanted.die) kill(getpid(), SIGKILL);
  eventring_domain_stop(d);
  return NULL;
}

/* ---- The program --------------------------------------------------------- */

static void run_all(void) {
  pthread_t threads[EVENTRING_MAX_DOMAINS];
  long numbers[EVENTRING_MAX_DOMAINS];
  if (pthread_barrier_init(&all_have_begun, NULL, (unsigned)wanted.domains) != 0) abort();
  for (long i = 0; i < wanted.domains; i++) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, run_domain, &numbers[i]) != 0) abort();
  }
  for (long i = 0; i < wanted.domains; i++) pthread_join(threads[i], NULL);
}

static int count_minor_ends(void *context, const struct eventring_event *event) {
  if (event->id == MINOR && event->kind == EVENTRING_END &&
      event->flags & EVENTRING_MATCHED)
    ++*(long *)context;
  return 0;
}

/* Checks that a reader finds what was written. Called if there are no arguments. */
static int check_self(void) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, count_minor_ends, NULL};
  struct eventring_error error;
  eventring_cursor *cursor;
  long minors = 0;
  if (eventring_open_self(&cursor, 0, &error) < 0) die("open", &error);
  int events = eventring_poll(cursor, &callbacks, &minors, 0);
  eventring_close(cursor);
  if (events > 0 && minors == wanted.rounds) return 0;
  fprintf(stderr, "producer: read %d events, %ld minor, not %ld\n", events,
          minors, wanted.rounds);
  return 1;
}

int main(int argc, char **argv) {
  struct eventring_config config;
  struct eventring_error error;
  read_words(argc, argv);
  register_all();
  if (wanted.extras) register_extras();
  eventring_config_init(&config);
  if (eventring_config_from_env(&config, wanted.prefix, &error) < 0)
    die("environment", &error);
  if (argc == 1) config.start = EVENTRING_START_ON;
  if (eventring_start(&config, &error) < 0) die("start", &error);
  run_all();
  int status = argc == 1 ? check_self() : (int)wanted.status;
  eventring_stop();
  return status;
}
