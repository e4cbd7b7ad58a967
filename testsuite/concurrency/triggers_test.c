/* SPDX-License-Identifier: MIT */
/* triggers_test.c: threads with domains fire triggers while others set and remove them,
   from within and through the control page, with two tools at once, and while recordings
   begin and end. It is also run under ThreadSanitizer, and under AddressSanitizer with
   its check for leaks at exit: at exit triggers are set, and nothing waits for the
   helper. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "eventring/conditions.h"
#include "eventring/probe.h"
#include "eventring/tools.h"

enum { WRITERS = 3, ROUNDS = 12 };
enum { COUNTER = EVENTRING_ID_HOST, SPAN, PAUSE, HEAP };

static uint32_t ended; /* atomic */

static void die(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

static bool goes_on(void) { return !__atomic_load_n(&ended, __ATOMIC_RELAXED); }
static void sleep_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }

static void *write_events(void *name) {
  eventring_domain *d = eventring_domain_start(name, NULL);
  for (int64_t i = 0; goes_on(); i++) {
    eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, SPAN);
    eventring_counter(d, EVENTRING_USER, EVENTRING_CLASS_USER, COUNTER, i % 100);
    eventring_begin(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, PAUSE);
    eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, PAUSE);
    eventring_counter(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, HEAP, i % 1000);
    eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_USER, SPAN);
    eventring_domain_check(d);
    if (i % 64 == 0) sleep_ms(1);
  }
  eventring_domain_stop(d);
  return NULL;
}

static void *set_and_remove(void *unused) {
  static const char *const texts[] = {
      "counter(\"counter\") > 50, cooldown=5ms", "span(\"span\") >= 0ns, cooldown=5ms, max=20",
      "pause >= 0ns, cooldown=20ms, max=20, dir=copies", "heap > 4K, cooldown=5ms, max=20",
      "error", "signal"};
  struct eventring_trigger t;
  for (unsigned i = 0; goes_on(); i++) {
    const char *text = texts[i % 6];
    int number = eventring_trigger_set(text, strlen(text), NULL);
    if (number < 0 && number != EVENTRING_E_FULL) die("set", eventring_strerror(number));
    for (unsigned k = 0; eventring_trigger_at(k, &t) == 0; k++) {}
    sleep_ms(2);
    if (number > 0 && i % 3) eventring_trigger_remove(number);
    if (i % 8 == 0) eventring_note_error("x", 1);
    if (number == EVENTRING_E_FULL && eventring_trigger_at(0, &t) == 0)
      eventring_trigger_remove(t.number);
  }
  (void)unused;
  return NULL;
}

static void *control(void *text) {
  while (goes_on()) {
    char path[4096];
    eventring_cursor *cursor;
    if (eventring_path(path, sizeof path) &&
        eventring_open_path(&cursor, path, 0, NULL) == EVENTRING_OK) {
      eventring_cursor_control(cursor, EVENTRING_CHANGE(TRIGGERS, .triggers = text), NULL);
      eventring_close(cursor);
    }
    sleep_ms(7);
  }
  return NULL;
}

static void start(void) {
  struct eventring_config config;
  struct eventring_error error;
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.preserve = EVENTRING_PRESERVE_NEVER;
  config.triggers = "pause >= 0ns, max=2; counter(\"counter\") == 7, max=2";
  int status = eventring_start(&config, &error);
  if (status < 0 && status != EVENTRING_E_STATE) die("start", error.text);
}

/* Checks that each copy reads as a recording. Returns the number of copies. */
static unsigned check_copies(void) {
  struct dirent *entry;
  unsigned count = 0;
  DIR *directory = opendir(".");
  while (directory && (entry = readdir(directory)) != NULL) {
    struct eventring_error error;
    eventring_cursor *cursor;
    if (!strstr(entry->d_name, "-trigger") || strstr(entry->d_name, ".part")) continue;
    if (eventring_open_path(&cursor, entry->d_name, 0, &error) < 0) die("copy", error.text);
    static const struct eventring_callbacks nothing = {.size = sizeof nothing};
    if (eventring_poll(cursor, &nothing, NULL, 0) < 0)
      die(entry->d_name, eventring_cursor_error(cursor)->text);
    eventring_close(cursor);
    count++;
  }
  if (directory) closedir(directory);
  return count;
}

int main(void) {
  const struct eventring_def defs[] = {
      {.name = "counter", .kind = EVENTRING_DEF_COUNTER, .event_class = EVENTRING_CLASS_USER,
       .ring = EVENTRING_USER, .payload = EVENTRING_INT},
      {.name = "span", .kind = EVENTRING_DEF_SPAN, .event_class = EVENTRING_CLASS_USER,
       .ring = EVENTRING_USER},
      {.name = "pause", .kind = EVENTRING_DEF_SPAN, .event_class = EVENTRING_CLASS_GC,
       .ring = EVENTRING_RUNTIME},
      {.name = "heap_words", .kind = EVENTRING_DEF_COUNTER, .event_class = EVENTRING_CLASS_GC,
       .ring = EVENTRING_RUNTIME, .unit = "words", .payload = EVENTRING_INT,
       .quantity = EVENTRING_QUANTITY_HEAP}};
  static char one[] = "counter(\"counter\") > 90, cooldown=5ms, max=5; error",
              two[] = "heap > 1K, max=5, cooldown=5ms; span(\"span\") > 1s";
  pthread_t thread[WRITERS + 3];
  if (eventring_register_table(defs, 4, NULL, NULL) != EVENTRING_OK) die("register", "failed");
  start();
  for (int i = 0; i < WRITERS; i++) pthread_create(&thread[i], NULL, write_events, "writer");
  pthread_create(&thread[WRITERS], NULL, set_and_remove, NULL);
  pthread_create(&thread[WRITERS + 1], NULL, control, one);
  pthread_create(&thread[WRITERS + 2], NULL, control, two);
  /* until there is a copy, however slow the machine is; the runner ends a test that
     hangs */
  for (int i = 0; i < ROUNDS || !check_copies(); i++) {
    sleep_ms(40);
    if (i % 4 != 3) continue;
    eventring_stop();
    start();
  }
  __atomic_store_n(&ended, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < WRITERS + 3; i++) pthread_join(thread[i], NULL);
  if (eventring_triggers_wait((uint64_t)60000000000) < 0) die("wait", "a copy takes too long");
  if (!check_copies()) die("copies", "there are none");
  return 0; /* at exit triggers are set, and a recording is going on */
}
