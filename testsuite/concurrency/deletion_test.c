/* SPDX-License-Identifier: MIT */
/* deletion_test.c: threads write numbered events while the file of their recording is
   deleted again and again. Each thread goes on in a new file of the same name, no event
   is lost between two files or is in both, and each file says why it ended. Every other
   time all threads are asleep. Then the library puts a copy of the file in its place,
   until a thread goes on. It is also run under ThreadSanitizer. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "eventring.h"
#include "eventring/probe.h"
#include "eventring/read.h"

enum { WRITERS = 3, DELETIONS = 4, PATIENCE_MS = 60000, COUNTER = EVENTRING_ID_HOST };

static uint32_t ended, asleep;     /* atomic */
static uint32_t sleepers;          /* atomic */
static uint64_t written[WRITERS];  /* by the thread of this number */
static uint64_t expected[WRITERS]; /* the next number to be read */
static unsigned warnings;          /* atomic */

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1); \
    } \
  } while (0)

static void sleep_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }

/* Sleeps if asked to, like a program that is asleep in C and does not call the
   library. */
static void sleep_if_asked(void) {
  if (!__atomic_load_n(&asleep, __ATOMIC_RELAXED)) return;
  __atomic_fetch_add(&sleepers, 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(&asleep, __ATOMIC_RELAXED)) sleep_ms(1);
  __atomic_fetch_sub(&sleepers, 1, __ATOMIC_RELAXED);
}

static void *write_events(void *number) {
  uint64_t writer = (uint64_t)(uintptr_t)number, i = 0;
  eventring_domain *d = eventring_domain_start("writer", NULL);
  for (; !__atomic_load_n(&ended, __ATOMIC_RELAXED); i++) {
    eventring_counter(d, EVENTRING_USER, EVENTRING_CLASS_USER, COUNTER,
                      (int64_t)(writer << 32 | i));
    sleep_if_asked();
    if (i % 16 == 0) sleep_ms(1);
    /* The other writers have no safepoints. */
    if (writer == 0 && i % 64 == 0) eventring_domain_check(d);
  }
  written[writer] = i;
  eventring_domain_stop(d);
  return NULL;
}

static int on_event(void *unused, const struct eventring_event *event) {
  (void)unused;
  if (event->ring != EVENTRING_USER || event->kind != EVENTRING_COUNTER) return 0;
  uint64_t value = (uint64_t)event->value.i, writer = value >> 32;
  CHECK(writer < WRITERS);
  if ((value & UINT32_MAX) != expected[writer])
    fprintf(stderr, "writer %d: %d, not %d\n", (int)writer, (int)value, (int)expected[writer]);
  CHECK((value & UINT32_MAX) == expected[writer]);
  expected[writer]++;
  return 0;
}

static void read_all(eventring_cursor *cursor, enum eventring_end_reason reason) {
  static const struct eventring_callbacks callbacks = {.size = sizeof callbacks,
                                                       .event = on_event};
  struct eventring_info info = {.size = sizeof info};
  struct eventring_totals totals = {.size = sizeof totals};
  int count;
  while ((count = eventring_poll(cursor, &callbacks, NULL, 0)) > 0) continue;
  CHECK(count == 0);
  eventring_cursor_info(cursor, &info);
  CHECK(info.liveness == EVENTRING_ENDED);
  CHECK(info.end_reason == reason);
  eventring_cursor_totals(cursor, &totals);
  CHECK(totals.lost == 0 && totals.missed == 0);
  eventring_close(cursor);
}

static void count_warning(void *unused, const struct eventring_error *error) {
  (void)unused;
  CHECK(error->code == EVENTRING_DELETED);
  __atomic_fetch_add(&warnings, 1, __ATOMIC_RELAXED);
}

static void let_all_sleep(void) {
  __atomic_store_n(&asleep, 1, __ATOMIC_RELAXED);
  while (__atomic_load_n(&sleepers, __ATOMIC_RELAXED) < WRITERS) sleep_ms(1);
}

/* Opens the recording of this name when it is no longer the recording that began at
   `former` or, with `same`, when it is a copy of that recording. A file that is still
   being made is no recording yet. */
static eventring_cursor *open_next(const char *path, uint64_t former, bool same, uint64_t *began) {
  eventring_cursor *cursor;
  struct eventring_error error;
  for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms++, sleep_ms(1)) {
    struct eventring_info info = {.size = sizeof info};
    if (eventring_open_path(&cursor, path, 0, &error) != EVENTRING_OK) continue;
    CHECK(eventring_cursor_info(cursor, &info) == EVENTRING_OK);
    *began = info.start_ns;
    if ((info.start_ns == former) == same) return cursor;
    eventring_close(cursor);
  }
  CHECK(!"there is no such file");
  return NULL;
}

static uint64_t count_events(eventring_cursor *cursor) {
  static const struct eventring_callbacks nothing = {.size = sizeof nothing};
  struct eventring_totals totals = {.size = sizeof totals};
  while (eventring_poll(cursor, &nothing, NULL, 0) > 0) continue;
  eventring_cursor_totals(cursor, &totals);
  CHECK(totals.lost == 0 && totals.missed == 0);
  return totals.delivered;
}

/* Deletes the file while all threads are asleep: a copy with the same events takes its
   place. */
static void delete_asleep(const char *path, uint64_t former) {
  uint64_t began;
  let_all_sleep();
  eventring_cursor *cursor = open_next(path, former, true, &began);
  uint64_t events = count_events(cursor);
  eventring_close(cursor);
  for (int i = 0; i < 2; i++) { /* the second time the copy is deleted */
    CHECK(unlink(path) == 0);
    cursor = open_next(path, former, true, &began);
    while (count_events(cursor) < events) { /* the copy is being made */
      eventring_close(cursor);
      cursor = open_next(path, former, true, &began);
    }
    CHECK(count_events(cursor) == events);
    eventring_close(cursor);
  }
  __atomic_store_n(&asleep, 0, __ATOMIC_RELAXED);
}

static void start(void) {
  struct eventring_config config;
  struct eventring_error error;
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.preserve = EVENTRING_PRESERVE_NEVER;
  config.wsize = 18;
  config.warn = count_warning;
  CHECK(eventring_start(&config, &error) == EVENTRING_OK);
}

int main(void) {
  static const struct eventring_def def = {
      .name = "counter", .kind = EVENTRING_DEF_COUNTER, .event_class = EVENTRING_CLASS_USER,
      .ring = EVENTRING_USER, .payload = EVENTRING_INT};
  pthread_t thread[WRITERS];
  eventring_cursor *cursor[DELETIONS + 1];
  char path[4096];
  CHECK(eventring_register_table(&def, 1, NULL, NULL) == EVENTRING_OK);
  start();
  CHECK(eventring_path(path, sizeof path) > 0);
  for (uintptr_t i = 0; i < WRITERS; i++)
    pthread_create(&thread[i], NULL, write_events, (void *)i);
  uint64_t began = 0;
  for (int i = 0; i <= DELETIONS; i++) {
    cursor[i] = open_next(path, began, false, &began);
    sleep_ms(100);
    if (i == DELETIONS) break;
    if (i % 2) delete_asleep(path, began);
    else CHECK(unlink(path) == 0);
  }
  __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < WRITERS; i++) pthread_join(thread[i], NULL);
  CHECK(eventring_stop() == EVENTRING_OK);
  CHECK(access(path, F_OK) != 0);
  for (int i = 0; i <= DELETIONS; i++)
    read_all(cursor[i], i < DELETIONS ? EVENTRING_END_DELETED : EVENTRING_END_STOPPED);
  for (int i = 0; i < WRITERS; i++) CHECK(expected[i] == written[i]);
  CHECK(__atomic_load_n(&warnings, __ATOMIC_RELAXED) == DELETIONS);
  return 0;
}
