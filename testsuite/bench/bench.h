/* SPDX-License-Identifier: MIT */
/* bench.h: what the parts of eventring_bench share: samples, rows, loops.
 *
 * Each part measures its loops alternately, in rounds, and reports rows. A row is a
 * series of samples, in nanoseconds per iteration. Where that makes sense, it is compared
 * with samples of a pair of bare clock reads (bench_pair) taken in the same rounds. A row
 * shows its least sample with the ratio to the pair's least sample, and its median with
 * the median of the ratios of each round, which is affected less by what else the machine
 * did. "over" is the median of the differences to a base, such as the empty loop. A bar
 * is a limit that the project has set itself, for the median.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "eventring/probe.h"

enum { LOOPS = 16000, SAMPLES_MAX = 4096 };

/* What is between two probes must not be moved across them. */
#define SEPARATE() __asm__ volatile("" ::: "memory")
#define KEEP(x) __asm__ volatile("" ::"r"(x))
/* A loop that is measured: its alignment must not depend on its neighbours. */
#define LOOP __attribute__((noinline, aligned(64)))

struct options {
  int rounds;             /* number of times that everything is repeated */
  bool brief;             /* streams are short */
  const char *disk, *shm; /* where recordings go; `shm` is NULL if there is no such
                             place */
  const char *saros;      /* the interpreter; NULL for no guest programs */
  const char *folder;     /* the folder of the bench's sources */
  const char *lttng;      /* the program with LTTng-UST's tracepoints, or NULL */
  const char *self;       /* path of this program */
};
extern struct options bench;

/* ---- Samples --------------------------------------------------------------- */

struct series {
  double at[SAMPLES_MAX];
  int count;
};
void sample(struct series *series, double value);
double least(const struct series *series);
double median(const struct series *series);

uint64_t wall_ns(void);
/* Returns the processor time of the calling thread, which other processes do not
   affect. */
uint64_t cpu_ns(void);

/* A loop. time_of runs a loop once and returns ns of processor time per iteration. */
typedef void bench_loop(eventring_domain *domain);
double time_of(bench_loop *loop, eventring_domain *domain);

bench_loop bench_empty, bench_pair, bench_span;

/* ---- Rows -------------------------------------------------------------------- */

enum bar {
  NO_BAR,
  BAR_RATIO, /* the limit is a ratio to the pair */
  BAR_VALUE, /* in the row's unit */
  BAR_OVER   /* the limit is in the row's unit, above the base (such as an empty loop) */
};

/* Begins a table. */
void table(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A row. `unit` is the unit of the samples, "ns" or "us"; `pair` the pair of the same
   rounds, for the ratio, or NULL; `base` what is subtracted for the column "over", or
   NULL. */
struct row {
  const char *unit;
  const struct series *pair, *base;
  enum bar kind;
  double bar;
};
void report(const struct row *row, const struct series *series, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints a remark below the table. */
void remark(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Makes all rows be printed as JSON (called before the first row); output_end ends the
   output. */
void output_json(void);
void output_end(void);

/* ---- The recording --------------------------------------------------------------- */

enum { SPAN_ID = EVENTRING_ID_HOST, COUNTER_ID, USER_SPAN_ID };
extern unsigned user_span_id, counter_id; /* not constants for the compiler */
extern unsigned event_id, int_event_id, double_event_id, string_event_id;
void register_events(void);
/* Starts a recording, or ends the program with a message. */
void start_recording(const char *directory);
/* Returns the name of the recording's place: a disk file, or /dev/shm. */
const char *place_name(const char *directory);

/* ---- Parts ------------------------------------------------------------------------ */

void bench_probes(void);    /* probe_bench.c: one thread, no reader, all probes */
void bench_writers(void);   /* writers.c: threads, places, readers beside them */
/* Measures two producers, as a part of bench_streams (two.c). `place` is the directory's
   name in the report. */
void bench_two_producers(const char *directory, const char *place);
void bench_streams(void);   /* streams.c: recordings that lose nothing */
void bench_reading(void);   /* reading.c: what reading costs */
void bench_starting(void);  /* starting.c: starting a recording, and a trivial program */
void bench_children(void);  /* children.c: guest programs, LTTng-UST */
int trivial_program(int argc, char **argv); /* starting.c: the trivial program */

#endif
