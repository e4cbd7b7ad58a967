/* SPDX-License-Identifier: MIT */
/* _older.c: a program compiled with an older header, whose structures end earlier. It
 * gets the members that it knows, and nothing after its structures is touched.
 * test_older_header.sh makes the header. With an argument it prints the sizes of the
 * structures. */
#include <eventring.h>
#include <eventring/probe.h>
#include <eventring/read.h>

#include <stdio.h>
#include <string.h>

#define SIZES(X) X(config) X(def) X(callbacks) X(info) X(domain_info) X(ring_info) X(totals)

static void print_sizes(void) {
#define PRINT(name) printf(#name " %zu\n", sizeof(struct eventring_##name));
  SIZES(PRINT)
}

/* A structure, and guard bytes behind it. */
#define GUARDED(type) struct { struct type it; unsigned char behind[256]; }
#define ARM(guarded) memset(&(guarded), 0xa5, sizeof(guarded))
#define SIZE(guarded) ((guarded).it.size = sizeof (guarded).it)

static int intact(const unsigned char *behind, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (behind[i] != 0xa5) return 0;
  return 1;
}

static int failures;
static void check(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "FAILED: %s\n", what);
  failures++;
}
#define CHECK(condition) check(condition, #condition)
#define UNTOUCHED(guarded) check(intact((guarded).behind, 256), "behind " #guarded)

static long events;
static int count(void *context, const struct eventring_event *event) {
  events++;
  return context != &events || event->name == NULL;
}

static GUARDED(eventring_config) config;
static GUARDED(eventring_error) error;
static GUARDED(eventring_info) info;
static GUARDED(eventring_domain_info) domain;
static GUARDED(eventring_ring_info) ring;
static GUARDED(eventring_totals) totals;
static GUARDED(eventring_callbacks) callbacks;

static void record(void) {
  static const struct eventring_def defs[] = {
      {.name = "first", .kind = EVENTRING_DEF_INSTANT},
      {.name = "second", .kind = EVENTRING_DEF_SPAN}};
  unsigned first = 0;
  ARM(config), ARM(error);
  eventring_config_init(&config.it);
  UNTOUCHED(config);
  CHECK(eventring_config_from_env(&config.it, "OLDER", &error.it) == 0);
  UNTOUCHED(config);
  config.it.start = EVENTRING_START_ON;
  CHECK(eventring_register_table(defs, 2, &first, &error.it) == 0 && first == EVENTRING_ID_HOST);
  CHECK(eventring_register(&defs[1], &error.it) == (int)first + 1);
  CHECK(eventring_start(&config.it, &error.it) == 0);
  CHECK(eventring_start(&config.it, &error.it) == EVENTRING_JOINED);
  UNTOUCHED(error);
  eventring_domain *d = eventring_domain_start("older", NULL);
  for (int i = 0; i < 10; i++)
    eventring_instant(d, EVENTRING_RUNTIME, EVENTRING_CLASS_LIFECYCLE, first);
}

/* Checks that nothing is filled in a structure without its size. */
static void refuse_no_size(eventring_cursor *cursor) {
  info.it.size = domain.it.size = ring.it.size = totals.it.size = callbacks.it.size = 0;
  CHECK(eventring_cursor_info(cursor, &info.it) == EVENTRING_E_ARGUMENT);
  CHECK(eventring_cursor_domain(cursor, 0, &domain.it) == EVENTRING_E_ARGUMENT);
  CHECK(eventring_cursor_life(cursor, 0, 1, &domain.it) == EVENTRING_E_ARGUMENT);
  CHECK(eventring_cursor_ring(cursor, 0, EVENTRING_RUNTIME, &ring.it) == EVENTRING_E_ARGUMENT);
  CHECK(eventring_cursor_totals(cursor, &totals.it) == EVENTRING_E_ARGUMENT);
  CHECK(eventring_poll(cursor, &callbacks.it, &events, 0) == EVENTRING_E_ARGUMENT);
}

static void read_back(void) {
  eventring_cursor *cursor;
  ARM(info), ARM(domain), ARM(ring), ARM(totals), ARM(callbacks);
  callbacks.it = (struct eventring_callbacks){.size = sizeof callbacks.it, .event = count};
  SIZE(info), SIZE(domain), SIZE(ring), SIZE(totals);
  CHECK(eventring_open_self(&cursor, 0, &error.it) == 0);
  CHECK(eventring_poll(cursor, &callbacks.it, &events, 0) == events && events >= 12);
  CHECK(eventring_cursor_info(cursor, &info.it) == 0 && info.it.wsize == config.it.wsize);
  CHECK(eventring_cursor_domain(cursor, 0, &domain.it) == 0);
  CHECK(strcmp(domain.it.name, "older") == 0);
  CHECK(eventring_cursor_ring(cursor, 0, EVENTRING_RUNTIME, &ring.it) == 0);
  CHECK(ring.it.delivered == (uint64_t)events);
  eventring_cursor_totals(cursor, &totals.it);
  CHECK(totals.it.delivered == (uint64_t)events && totals.it.lost == 0);
  CHECK(info.it.size == sizeof info.it && totals.it.size == sizeof totals.it);
  UNTOUCHED(info), UNTOUCHED(domain), UNTOUCHED(ring), UNTOUCHED(totals);
  refuse_no_size(cursor);
  eventring_close(cursor);
}

int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) {
    print_sizes();
    return 0;
  }
  record();
  read_back();
  CHECK(eventring_stop() == EVENTRING_JOINED);
  CHECK(eventring_stop() == 0);
  return failures ? 1 : 0;
}
