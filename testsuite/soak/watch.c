/* SPDX-License-Identifier: MIT */
/* watch.c: checks that the reader accounts for every event. For soak.sh.
 *
 *   watch --file FILE              reads a file to its end and compares once
 *   watch --live PID SECONDS OUT   follows a process to its end; every SECONDS it pauses
 *                                  the recording, reads what is there, compares, and
 *                                  resumes. OUT has: COMPARISONS DELIVERED LOST MISSED
 *                                  RESIDENT_KIB
 *
 * For each ring, emitted = missed + delivered + lost must hold. Otherwise, or if the file
 * cannot be read, the status is 1, and the difference is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "eventring/tools.h"

static unsigned long long comparisons;

static void die(const char *what, const struct eventring_error *error) {
  fprintf(stderr, "watch: %s: %s\n", what, error->text);
  exit(1);
}

static int pass(void *context, const struct eventring_event *event) {
  (void)context;
  return event->name == NULL;
}

static void poll_all(eventring_cursor *cursor) {
  const struct eventring_callbacks callbacks = {sizeof callbacks, pass, NULL};
  int n;
  do {
    n = eventring_poll(cursor, &callbacks, NULL, 0);
    if (n < 0) die("poll", eventring_cursor_error(cursor));
  } while (n > 0 && eventring_wait(cursor, 0) > 0 && !eventring_finished(cursor));
}

/* Tells whether all events of ring `ring` of a slot are accounted for. With `shown`, a
   difference is printed. */
static bool is_even(eventring_cursor *cursor, unsigned slot, unsigned ring, bool shown) {
  struct eventring_ring_info info = {.size = sizeof info};
  if (eventring_cursor_ring(cursor, slot, (enum eventring_ring)ring, &info) < 0) return true;
  bool even = info.emitted == info.missed + info.delivered + info.lost;
  if (!even && shown)
    printf("domain %u, ring %u: emitted %llu, missed %llu + delivered %llu + lost %llu\n", slot,
           ring, (unsigned long long)info.emitted, (unsigned long long)info.missed,
           (unsigned long long)info.delivered, (unsigned long long)info.lost);
  return even;
}

static bool are_even(eventring_cursor *cursor, bool shown) {
  struct eventring_info info = {.size = sizeof info};
  bool even = true;
  if (eventring_cursor_info(cursor, &info) < 0) die("info", eventring_cursor_error(cursor));
  for (unsigned slot = 0; slot < info.domains_laid_out; slot++)
    for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++)
      even &= is_even(cursor, slot, ring, shown);
  return even;
}

static void compare(eventring_cursor *cursor) {
  if (!are_even(cursor, true)) exit(1);
  comparisons++;
}

/* ---- A live process --------------------------------------------------------------- */

static bool control(eventring_cursor *cursor, enum eventring_control what) {
  struct eventring_error error;
  const struct eventring_change change = {.what = what};
  if (eventring_cursor_control(cursor, &change, &error) == 0) return true;
  if (eventring_cursor_liveness(cursor) == EVENTRING_LIVE) die("control", &error);
  return false; /* it has just ended */
}

/* Compares while the recording is paused. A probe that was under way when the gate was
   closed still writes its event, even if its thread does not run for a while. */
static void compare_paused(eventring_cursor *cursor) {
  if (!control(cursor, EVENTRING_CONTROL_PAUSE)) return;
  bool even = false;
  for (int tries = 0; tries < 500 && !even; tries++) {
    usleep(20000);
    poll_all(cursor);
    even = are_even(cursor, tries == 499);
  }
  if (!even && eventring_cursor_liveness(cursor) == EVENTRING_LIVE) exit(1);
  comparisons++;
  control(cursor, EVENTRING_CONTROL_RESUME);
}

static unsigned long resident_kib(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%*u %lu", &pages) != 1) abort();
  fclose(file);
  return pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024;
}

static void report(eventring_cursor *cursor, FILE *out) {
  struct eventring_totals totals = {.size = sizeof totals};
  eventring_cursor_totals(cursor, &totals);
  rewind(out);
  fprintf(out, "%llu %llu %llu %llu %lu      \n", comparisons,
          (unsigned long long)totals.delivered, (unsigned long long)totals.lost,
          (unsigned long long)totals.missed, resident_kib());
  fflush(out);
}

static void follow(eventring_cursor *cursor, double seconds, FILE *out) {
  time_t next = time(NULL);
  while (!eventring_finished(cursor)) {
    eventring_wait(cursor, 200000000);
    poll_all(cursor);
    if (time(NULL) >= next && !eventring_finished(cursor)) {
      compare_paused(cursor);
      next = time(NULL) + (time_t)seconds;
    }
    report(cursor, out);
  }
}

int main(int argc, char **argv) {
  struct eventring_error error;
  eventring_cursor *cursor;
  bool live = argc == 5 && strcmp(argv[1], "--live") == 0;
  if (!live && (argc != 3 || strcmp(argv[1], "--file") != 0)) return 2;
  int status = live ? eventring_open_pid(&cursor, (pid_t)atoi(argv[2]), 0, &error)
                    : eventring_open_path(&cursor, argv[2], 0, &error);
  if (status < 0) die(argv[2], &error);
  if (live) {
    FILE *out = fopen(argv[4], "w");
    if (!out) return 1;
    follow(cursor, atof(argv[3]), out);
    compare(cursor);
    report(cursor, out);
    fclose(out);
  } else {
    poll_all(cursor);
    compare(cursor);
  }
  eventring_close(cursor);
  return 0;
}
