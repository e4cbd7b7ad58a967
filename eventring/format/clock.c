/* SPDX-License-Identifier: MIT */
/* clock.c: the clock of a recording.
 *
 * Probes read raw ticks of the cheapest clock that can be trusted: the time stamp counter
 * of x86-64 if the processor reports it as invariant and the kernel has not removed it
 * from its list of clock sources; the virtual counter of arm64; else CLOCK_MONOTONIC,
 * which means the slow path for each event. Readers convert ticks to ns.
 *
 * The processor states how many nanoseconds a tick has (CPUID leaf 0x15, often empty in
 * virtual machines, or CNTFRQ_EL0); else the library measures it against CLOCK_MONOTONIC.
 * Starting must be quick, so the first measurement is rough (as long as the start itself
 * took) and is refined while the program runs. A refinement must not change earlier
 * conversions, nor make time jump. So it adds a segment that begins a little in the
 * future, where the former segment ends, with a rate that reaches CLOCK_MONOTONIC at the
 * next refinement. Refinements become rarer, down to one an hour, and never end, because
 * temperature and adjustments of CLOCK_MONOTONIC change the rate.
 *
 * Not covered: a machine that reports its counter as invariant but restarts it from zero
 * when it resumes from sleep. Events after that have wrong times.
 */
#include "format/clock.h"

#include "eventring/probe.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif
#endif

static uint64_t timespec_ns(const struct timespec *t) {
  return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

uint64_t evr_monotonic_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return timespec_ns(&t);
}

int64_t evr_wall_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)timespec_ns(&t);
}

/* In a virtual machine each CPUID instruction takes some 10 us; the C library has stored
   the results of most of them. */
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
static bool processor_says_invariant(void) { return CPU_FEATURE_PRESENT(INVARIANT_TSC); }

/* Tells whether this is a virtual machine. Virtual machines leave CPUID leaf 0x15, which
   has the frequency, empty. */
static bool is_virtual(void) {
  return __x86_get_cpuid_feature_leaf(CPUID_INDEX_1)->cpuid_array[2] >> 31;
}
#elif defined(__x86_64__)
static bool processor_says_invariant(void) {
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}

static bool is_virtual(void) { return false; }
#endif

#if defined(__x86_64__)

/* Tells whether the kernel lists "tsc" as a clock source: it removes an unstable one. */
static bool kernel_lists_tsc(void) {
  char list[256];
  int fd = open("/sys/devices/system/clocksource/clocksource0/"
                "available_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true; /* no sysfs here: trust the processor */
  ssize_t length = read(fd, list, sizeof list - 1);
  close(fd);
  if (length <= 0) return true;
  list[length] = 0;
  return strstr(list, "tsc") != NULL;
}
#endif

static enum format_clock detected;

static void detect(void) {
#if defined(__x86_64__)
  detected = processor_says_invariant() && kernel_lists_tsc()
                 ? FORMAT_CLOCK_TSC : FORMAT_CLOCK_MONOTONIC;
#elif defined(__aarch64__)
  detected = FORMAT_CLOCK_CNTVCT;
#else
  detected = FORMAT_CLOCK_MONOTONIC;
#endif
}

enum format_clock evr_clock_kind(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, detect);
  return detected;
}

uint64_t evr_clock_ticks(enum format_clock kind) {
  return kind == FORMAT_CLOCK_MONOTONIC ? evr_monotonic_ns() : eventring_ticks();
}

/* Reads one clock between two readings of the other, a few times, and returns the pair
   with the shortest interval. */
struct evr_pair evr_clock_pair(enum format_clock kind) {
  struct evr_pair best = {0, 0};
  uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < 4; i++) {
    uint64_t before = evr_clock_ticks(kind);
    uint64_t ns = evr_monotonic_ns();
    uint64_t width = evr_clock_ticks(kind) - before;
    if (width < narrowest) {
      narrowest = width;
      best = (struct evr_pair){before + width / 2, ns};
    }
  }
  if (kind == FORMAT_CLOCK_MONOTONIC) best.ticks = best.ns;
  return best;
}

/* Returns the nanoseconds per tick, times 2^40, of a frequency in Hz. */
static uint64_t multiplier_of_hz(uint64_t hz) {
  return (uint64_t)(((unsigned __int128)1000000000u << FORMAT_CLOCK_SHIFT) / hz);
}

uint64_t evr_clock_nominal(enum format_clock kind) {
  if (kind == FORMAT_CLOCK_MONOTONIC) return (uint64_t)1 << FORMAT_CLOCK_SHIFT;
#if defined(__x86_64__)
  unsigned denominator, numerator, crystal, d;
  if (!is_virtual() && __get_cpuid(0x15, &denominator, &numerator, &crystal, &d) && denominator &&
      numerator && crystal)
    return multiplier_of_hz((uint64_t)crystal * numerator / denominator);
#elif defined(__aarch64__)
  uint64_t hz;
  __asm__ __volatile__("mrs %0, cntfrq_el0" : "=r"(hz));
  if (hz) return multiplier_of_hz(hz);
#endif
  return 0;
}

uint64_t evr_clock_measured(struct evr_pair from, struct evr_pair to) {
  if (to.ticks <= from.ticks || to.ns <= from.ns) return 0;
  return (uint64_t)(((unsigned __int128)(to.ns - from.ns) << FORMAT_CLOCK_SHIFT) /
                    (to.ticks - from.ticks));
}

/* ---- Conversion ------------------------------------------------------------------ */

uint32_t evr_segment_at(const struct evr_conversion *conversion, uint64_t ticks) {
  uint32_t low = 0, high = conversion->segments; /* `low` begins at `ticks` or before */
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (conversion->segment[middle].from_ticks <= ticks) low = middle;
    else high = middle;
  }
  return low;
}

uint64_t evr_to_ns(const struct evr_conversion *conversion, uint64_t ticks) {
  const struct format_segment *s = &conversion->segment[evr_segment_at(conversion, ticks)];
  return ticks < s->from_ticks ? s->from_ns : evr_segment_ns(s, ticks);
}

bool evr_segment_valid(const struct format_segment *s, const struct format_segment *before) {
  return s->multiplier != 0 && !(s->multiplier >> 56) &&
         (!before || (s->from_ticks > before->from_ticks && s->from_ns >= before->from_ns));
}

/* Returns what the clock will say at `ticks` if it goes on at this rate from `now`. */
static uint64_t extrapolated_ns(uint64_t multiplier, struct evr_pair now, uint64_t ticks) {
  return now.ns + (uint64_t)((unsigned __int128)(ticks - now.ticks) * multiplier >>
                             FORMAT_CLOCK_SHIFT);
}

bool evr_next_segments(const struct format_segment *last, struct evr_pair then,
                       struct evr_pair now, uint64_t lead, uint64_t interval,
                       struct format_segment next[2]) {
  uint64_t rate = evr_clock_measured(then, now), begin = now.ticks + lead;
  if (!rate) return false;
  if (begin <= last->from_ticks) begin = last->from_ticks + 1;
  uint64_t from_ns = evr_segment_ns(last, begin);
  uint64_t target = extrapolated_ns(rate, now, begin + interval);
  /* the clock is ahead by more than the interval: it goes as slowly as possible */
  uint64_t multiplier = 1;
  if (target > from_ns)
    multiplier = (uint64_t)(((unsigned __int128)(target - from_ns) << FORMAT_CLOCK_SHIFT) /
                            interval);
  next[0] = (struct format_segment){.from_ticks = begin, .from_ns = from_ns,
                                    .multiplier = multiplier ? multiplier : 1};
  next[1] = (struct format_segment){.from_ticks = begin + interval,
                                    .from_ns = evr_segment_ns(&next[0], begin + interval),
                                    .multiplier = rate};
  return evr_segment_valid(&next[0], last) && evr_segment_valid(&next[1], &next[0]);
}
