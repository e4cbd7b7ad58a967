/* SPDX-License-Identifier: MIT */
/* bench.h: what the parts of eventring_bench share: samples, rows, loops.
 *
 * Each part measures its loops alternated, in rounds, and reports rows. A row is a
 * series of samples, as nanoseconds per iteration, beside those of the pair of bare
 * clock reads (bench_pair) taken in the same rounds, where that makes sense. Shown
 * are the least sample and the median, each with its ratio to the pair's: the least to
 * the least; the median of the ratios of each round, which has less of what else the
 * machine did. "over" is the median of the differences to a base, such as the empty
 * loop. A bar is what the project has set itself; the median is held against it.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "eventring/probe.h"

enum { LOOPS = 16000, SAMPLES_MAX = 4096 };

/* What stands between two probes must not be moved across them. */
#define SEPARATE() __asm__ volatile("" ::: "memory")
#define KEEP(x) __asm__ volatile("" ::"r"(x))
/* A loop that is measured: where it lies must not depend on its neighbours. */
#define LOOP __attribute__((noinline, aligned(64)))

struct options {
  int rounds;             /* of everything that is repeated */
  bool brief;             /* streams are short */
  const char *disk, *shm; /* where recordings go; shm NULL: there is none */
  const char *saros;      /* NULL: no guest programs */
  const char *folder;     /* of the sources of the bench */
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
/* Of the calling thread: what other processes do to the machine is not in it. */
uint64_t cpu_ns(void);

/* One run of a loop, in nanoseconds of processor time per iteration. */
typedef void bench_loop(eventring_domain *domain);
double time_of(bench_loop *loop, eventring_domain *domain);

bench_loop bench_empty, bench_pair, bench_span;

/* ---- Rows -------------------------------------------------------------------- */

enum bar {
  NO_BAR,
  BAR_RATIO, /* to the pair */
  BAR_VALUE, /* in the row's unit */
  BAR_OVER   /* in the row's unit, more than the base (an empty loop, say) */
};

/* Begins a table. */
void table(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What the row is: unit "ns" or "us" (samples are in it); the pair of the same
   rounds, for the ratio, or NULL; what is subtracted for the column "over", or NULL. */
struct row {
  const char *unit;
  const struct series *pair, *base;
  enum bar kind;
  double bar;
};
void report(const struct row *row, const struct series *series, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A line of words below the table. */
void remark(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* All rows as JSON instead (call before the first), and the end of it all. */
void output_json(void);
void output_end(void);

/* ---- The recording --------------------------------------------------------------- */

enum { SPAN_ID = EVENTRING_ID_HOST, COUNTER_ID, USER_SPAN_ID };
extern unsigned user_span_id, counter_id; /* not constants to the compiler */
extern unsigned event_id, int_event_id, double_event_id, string_event_id;
void register_events(void);
/* Ends the program with a message when it fails. */
void start_recording(const char *directory);
/* The name of the recording's place: a disk file, or /dev/shm. */
const char *place_name(const char *directory);

/* ---- Parts ------------------------------------------------------------------------ */

void bench_probes(void);    /* probe_bench.c: one thread, no reader, every kind of probe */
void bench_writers(void);   /* writers.c: threads, places, readers beside them */
/* two.c: a part of bench_streams; `place`: the directory's name in the report */
void bench_two_producers(const char *directory, const char *place);
void bench_streams(void);   /* streams.c: recordings that lose nothing */
void bench_reading(void);   /* reading.c: what reading costs */
void bench_starting(void);  /* starting.c: starting a recording, and a trivial program */
void bench_children(void);  /* children.c: guest programs, LTTng-UST */
int trivial_program(int argc, char **argv); /* starting.c: what is started there */

#endif
