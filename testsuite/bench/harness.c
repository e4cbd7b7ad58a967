/* SPDX-License-Identifier: MIT */
/* harness.c: samples, and their presentation as text or JSON. See bench.h. */
#include "bench.h"

#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <time.h>

/* ---- Samples --------------------------------------------------------------- */

void sample(struct series *series, double value) {
  if (series->count < SAMPLES_MAX) series->at[series->count++] = value;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double rank_of(const double *values, int count, int rank) {
  static double sorted[SAMPLES_MAX];
  if (!count) return 0;
  memcpy(sorted, values, (size_t)count * sizeof sorted[0]);
  qsort(sorted, (size_t)count, sizeof sorted[0], compare);
  return sorted[rank];
}

double least(const struct series *s) { return rank_of(s->at, s->count, 0); }
double median(const struct series *s) { return rank_of(s->at, s->count, s->count / 2); }

/* Returns the median of the ratios of samples taken in the same round. What the machine
   did in a round affected both samples. */
static double median_ratio(const struct series *a, const struct series *b) {
  static double ratios[SAMPLES_MAX];
  if (a->count != b->count) return median(a) / median(b);
  for (int i = 0; i < a->count; i++) ratios[i] = a->at[i] / b->at[i];
  return rank_of(ratios, a->count, a->count / 2);
}

static double median_difference(const struct series *a, const struct series *b) {
  static double differences[SAMPLES_MAX];
  if (a->count != b->count) return median(a) - median(b);
  for (int i = 0; i < a->count; i++) differences[i] = a->at[i] - b->at[i];
  return rank_of(differences, a->count, a->count / 2);
}

static uint64_t read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
uint64_t wall_ns(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t cpu_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

double time_of(bench_loop *loop, eventring_domain *domain) {
  uint64_t start = cpu_ns();
  loop(domain);
  return (double)(cpu_ns() - start) / LOOPS;
}

/* ---- Loops that several parts use ------------------------------------------------ */

LOOP void bench_empty(eventring_domain *d) {
  (void)d;
  for (int i = 0; i < LOOPS; i++) SEPARATE();
}

LOOP void bench_pair(eventring_domain *d) {
  (void)d;
  for (int i = 0; i < LOOPS; i++) {
    uint64_t begin = eventring_ticks();
    KEEP(begin);
    SEPARATE();
    uint64_t end = eventring_ticks();
    KEEP(end);
    SEPARATE();
  }
}

LOOP void bench_span(eventring_domain *d) {
  for (int i = 0; i < LOOPS; i++) {
    eventring_begin(d, EVENTRING_USER, EVENTRING_CLASS_USER, SPAN_ID);
    SEPARATE();
    eventring_end(d, EVENTRING_USER, EVENTRING_CLASS_USER, SPAN_ID);
    SEPARATE();
  }
}

/* ---- Text ------------------------------------------------------------------------- */

static bool json, first_row = true;
static char title[160];
static unsigned bars, met, met_by_least;

void table(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(title, sizeof title, format, arguments);
  va_end(arguments);
  if (json) return;
  printf("\n%s\n%-58s %9s %7s %9s %7s %8s\n", title, "", "least", "ratio", "median", "ratio",
         "over");
}

void remark(const char *format, ...) {
  va_list arguments;
  if (json) return;
  va_start(arguments, format);
  printf("  ");
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
}

struct figures {
  double least, median, least_ratio, median_ratio, least_over, median_over;
};

static struct figures figures_of(const struct row *row, const struct series *series) {
  struct figures f = {.least = least(series), .median = median(series)};
  if (row->pair) {
    f.least_ratio = f.least / least(row->pair);
    f.median_ratio = median_ratio(series, row->pair);
  }
  if (row->base) {
    f.least_over = f.least - least(row->base);
    f.median_over = median_difference(series, row->base);
  }
  return f;
}

static const char *verdict(const struct row *row, const struct figures *f) {
  double low = row->kind == BAR_RATIO  ? f->least_ratio
               : row->kind == BAR_OVER ? f->least_over
                                       : f->least;
  double middle = row->kind == BAR_RATIO ? f->median_ratio
                  : row->kind == BAR_OVER ? f->median_over : f->median;
  bars++;
  if (middle <= row->bar) return met++, "met";
  if (low <= row->bar) return met_by_least++, "least only";
  return "MISSED";
}

static void print_number(bool there, int width, int digits, double value) {
  if (there) printf(" %*.*f", width, digits, value);
  else printf(" %*s", width, "");
}

static const char *const bar_names[] = {"", "ratio", "value", "over"};

static void print_row(const char *name, const struct row *row, const struct figures *f) {
  printf("%-58s %9.2f", name, f->least);
  print_number(row->pair, 7, 3, f->least_ratio);
  printf(" %9.2f", f->median);
  print_number(row->pair, 7, 3, f->median_ratio);
  print_number(row->base, 8, 2, f->median_over);
  printf(" %s", row->unit);
  if (row->kind != NO_BAR)
    printf("   bar %s %.2f: %s", bar_names[row->kind], row->bar, verdict(row, f));
  printf("\n");
}

/* ---- JSON ------------------------------------------------------------------------- */

/* Prints a string of JSON. Names are our own, except for paths. */
static void print_string(const char *text) {
  putchar('"');
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') putchar('\\');
    if ((unsigned char)*text >= ' ') putchar(*text);
  }
  putchar('"');
}

static void print_json(const char *name, const struct row *row, const struct figures *f,
                       int samples) {
  printf("%s\n  {\"table\": ", first_row ? "[" : ",");
  first_row = false;
  print_string(title);
  printf(", \"name\": ");
  print_string(name);
  printf(", \"unit\": \"%s\", \"samples\": %d, \"least\": %.3f, \"median\": %.3f", row->unit,
         samples, f->least, f->median);
  if (row->pair)
    printf(", \"least_ratio\": %.4f, \"median_ratio\": %.4f", f->least_ratio, f->median_ratio);
  if (row->base)
    printf(", \"least_over\": %.3f, \"median_over\": %.3f", f->least_over, f->median_over);
  if (row->kind != NO_BAR)
    printf(", \"bar_of\": \"%s\", \"bar\": %.3f, \"verdict\": \"%s\"", bar_names[row->kind],
           row->bar, verdict(row, f));
  printf("}");
}

void output_json(void) { json = true; }

void output_end(void) {
  if (json) printf("%s\n]\n", first_row ? "[" : "");
  else
    printf("\n%u bars: %u met by the median, %u by the least sample only, %u missed\n", bars,
           met, met_by_least, bars - met - met_by_least);
}

void report(const struct row *row, const struct series *series, const char *format, ...) {
  char name[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  if (!series->count) return;
  struct figures f = figures_of(row, series);
  if (json) print_json(name, row, &f, series->count);
  else print_row(name, row, &f);
  fflush(stdout);
}

/* ---- The recording ---------------------------------------------------------------- */

unsigned user_span_id, counter_id, event_id, int_event_id, double_event_id, string_event_id;

static unsigned register_event(const char *name, enum eventring_payload payload) {
  struct eventring_error error = {0};
  int id = eventring_register_user(EVENTRING_DEF_INSTANT, name, strlen(name), payload, &error);
  if (id >= 0) return (unsigned)id;
  fprintf(stderr, "eventring_bench: %s\n", error.text);
  exit(1);
}

void register_events(void) {
  static const struct eventring_def defs[] = {
      {.name = "bench.span", .kind = EVENTRING_DEF_SPAN, .ring = EVENTRING_USER,
       .event_class = EVENTRING_CLASS_USER},
      {.name = "bench.counter", .kind = EVENTRING_DEF_COUNTER, .ring = EVENTRING_USER,
       .event_class = EVENTRING_CLASS_USER, .payload = EVENTRING_INT}};
  unsigned first;
  struct eventring_error error = {0};
  int status = eventring_register_table(defs, 2, &first, &error);
  int id = eventring_register_user(EVENTRING_DEF_SPAN, "bench.user", 10, EVENTRING_NONE, &error);
  if (status < 0 || id < 0 || first != SPAN_ID) {
    fprintf(stderr, "eventring_bench: %s\n", error.text);
    exit(1);
  }
  counter_id = first + 1;
  user_span_id = (unsigned)id;
  event_id = register_event("bench.event", EVENTRING_NONE);
  int_event_id = register_event("bench.int", EVENTRING_INT);
  double_event_id = register_event("bench.double", EVENTRING_DOUBLE);
  string_event_id = register_event("bench.string", EVENTRING_STRING);
}

void start_recording(const char *directory) {
  struct eventring_config config;
  struct eventring_error error = {0};
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.directory = directory;
  if (eventring_start(&config, &error) == EVENTRING_OK) return;
  fprintf(stderr, "eventring_bench: %s\n", error.text);
  exit(1);
}

const char *place_name(const char *directory) {
  struct statfs fs;
  if (statfs(directory, &fs) != 0) return "?";
  if (fs.f_type == TMPFS_MAGIC) return directory == bench.shm ? "/dev/shm" : "tmpfs (not a disk)";
  return "disk file";
}
