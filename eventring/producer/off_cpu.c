/* SPDX-License-Identifier: MIT */
/* off_cpu.c: for how long the calling thread was not on a processor.
 *
 * The time off the processor is what passed on CLOCK_MONOTONIC less what passed on the
 * thread's CPU clock. Reading the latter is a system call (0.3 to 0.5 us). Twice in each
 * step of a collector this would cost too much, and most steps are not interrupted at
 * all. Where restartable sequences (rseq) exist, the kernel shows at no cost whether a
 * thread was interrupted:
 *
 *   The C library registers a `struct rseq` for each thread. A thread that stores the
 *   address of a descriptor (struct rseq_cs) into the field rseq_cs states that it is in
 *   the critical section of that descriptor. When the thread was preempted, has slept,
 *   got a signal or another processor, and the instruction pointer is not in that
 *   section, the kernel stores 0 there before the thread goes on.
 *
 * So the address of a descriptor of an empty section is a mark that lasts as long as the
 * thread stays on its processor. While the mark is there, no time was lost since the
 * clocks were read; when the mark is gone, both clocks are read and it is set again. So
 * there are as many system calls as changes of threads. The clocks still drift apart:
 * interrupts and time taken by a hypervisor need not count as CPU time, and NTP corrects
 * one of the clocks. This drift must not be counted in the next interrupted step, and a
 * longer time taken by a hypervisor must be counted in the right step. So the clocks are
 * also read before and after a step if the last reading was before the last tick of the
 * coarse clock (1 to 10 ms).
 *
 * Other code in the process may use rseq (tcmalloc does). It overwrites the mark, which
 * is then gone. That code loses nothing, because its own sections never contain a call of
 * this function. A signal handler that stores the mark does not harm an interrupted
 * section, because the kernel has aborted the section before it called the handler.
 *
 * Kernels may leave the mark alone when the thread sleeps in a system call (since 6.19: a
 * section must not contain one). That is tried once in a process: by the helper, a while
 * after the start of a recording, or else when the time is first asked for. If it is so,
 * or if there is no rseq (older kernels and C libraries, valgrind), both clocks are read
 * each time; until it is known, too.
 *
 * The descriptor lies in a page that is never unmapped: the kernel reads it as long as a
 * thread has the mark, even if this library was unloaded.
 */
#include "producer/off_cpu.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "eventring/calls.h"

#if __has_include(<sys/rseq.h>) && (defined(__x86_64__) || defined(__aarch64__))
#include <sys/rseq.h>
#define HAVE_RSEQ 1
#endif

enum {
  /* ns: more than the time between the readings of the two clocks, and less than a change
     to another thread and back */
  NOISE = 2000,
  MOST_APART = 5000, /* ns: reading both clocks takes less */
  MOST_TRIES = 4,
  NAP = 20000      /* ns, to find out whether sleeping removes the mark */
};

/* The clocks of this thread, both in ns, read one after the other. */
static __thread struct {
  uint64_t wall, cpu;
  uint64_t tick; /* the coarse clock at that time */
  uint64_t off;  /* time off the processor until then, plus 1; 0 if not read yet */
} clocks;

/* How it is measured; any thread may find that out. LATER: the clocks are read until the
   helper has found it out: a program that ends soon does not wait for that. */
enum manner { UNKNOWN, LATER, MARKED, READ, OFF };
static enum manner manner;

static uint64_t read_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- The mark ---------------------------------------------------------------------- */

#if HAVE_RSEQ

/* The layout that the kernel reads (linux/rseq.h). */
struct descriptor {
  uint32_t version, flags;
  uint64_t start, length, abort;
} __attribute__((aligned(32)));

/* The kernel checks that the signature lies before the abort handler, although an empty
   section never needs a handler. */
struct mark {
  struct descriptor descriptor;
  uint32_t signature;
  uint8_t handler[4];
};

static const struct mark *mark; /* set once */

/* The fields of struct rseq that this needs; its head never changes. */
struct area {
  uint32_t cpu_id_start;
  int32_t cpu_id; /* negative: the thread is not registered */
  uint64_t section;
};

static struct area *own_area(void) {
  char *thread;
#if defined(__x86_64__)
  __asm__("movq %%fs:0, %0" : "=r"(thread));
#else
  __asm__("mrs %0, tpidr_el0" : "=r"(thread));
#endif
  return (struct area *)(thread + __rseq_offset);
}

static bool mark_is_there(void) {
  return __atomic_load_n(&own_area()->section, __ATOMIC_RELAXED) == (uintptr_t)mark;
}

static void set_mark(void) {
  struct area *area = own_area();
  if (area->cpu_id >= 0) __atomic_store_n(&area->section, (uintptr_t)mark, __ATOMIC_RELAXED);
}

/* Makes the page with the mark. If two threads do so at once, one wins. */
static bool make_mark(void) {
  if (__rseq_size == 0 || own_area()->cpu_id < 0) return false;
  struct mark *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return false;
  made->signature = RSEQ_SIG;
  made->descriptor.start = made->descriptor.abort = (uintptr_t)made->handler;
  mprotect(made, sizeof *made, PROT_READ);
  const struct mark *none = NULL;
  /* acq_rel, and acquire on failure: pairs with the same exchange in another thread, so
     that the loser sees the winner's page filled; other threads see it through
     `manner` */
  if (!__atomic_compare_exchange_n(&mark, &none, made, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    munmap(made, sizeof *made);
  return true;
}

/* Tells whether the mark stays while the thread runs, and is removed when it sleeps. (By
   chance it may be removed at once.) */
static bool marks_work(void) {
  const struct timespec nap = {.tv_nsec = NAP};
  bool stays = false;
  if (!make_mark()) return false;
  for (int i = 0; i < 10 && !stays; i++) {
    set_mark();
    stays = mark_is_there();
  }
  set_mark();
  nanosleep(&nap, NULL);
  return stays && !mark_is_there();
}

#else

static bool mark_is_there(void) { return false; }
static void set_mark(void) {}
static bool marks_work(void) { return false; }

#endif

/* ---- Measuring --------------------------------------------------------------------- */

/* Reads both clocks; returns true if nothing came between the two readings. Time between
   them would be counted in the following step. */
static bool read_both(bool marks, uint64_t *wall, uint64_t *cpu) {
  if (marks) set_mark();
  *wall = read_ns(CLOCK_MONOTONIC);
  *cpu = read_ns(CLOCK_THREAD_CPUTIME_ID);
  return marks ? mark_is_there() : read_ns(CLOCK_MONOTONIC) - *wall < MOST_APART;
}

static void read_clocks(bool marks) {
  uint64_t wall, cpu;
  int tries = 0;
  while (!read_both(marks, &wall, &cpu) && ++tries < MOST_TRIES) continue;
  int64_t off = (int64_t)(wall - clocks.wall) - (int64_t)(cpu - clocks.cpu);
  if (!clocks.off) clocks.off = 1;
  else if (off > NOISE) clocks.off += (uint64_t)off;
  clocks.wall = wall;
  clocks.cpu = cpu;
}

/* Finds out how the time is measured, if the manner is `from`. */
static __attribute__((cold, noinline)) enum manner find_manner(enum manner from) {
  enum manner found = marks_work() ? MARKED : READ;
  /* acq_rel: pairs with the acquire loads of `manner`, here and below: a thread that sees
     MARKED sees the mark that make_mark stored */
  __atomic_compare_exchange_n(&manner, &from, found, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return __atomic_load_n(&manner, __ATOMIC_ACQUIRE);
}

/* Changes the manner if it is `from`. */
static void change_manner(enum manner from, enum manner to) {
  /* relaxed: neither says anything of the mark */
  __atomic_compare_exchange_n(&manner, &from, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void evr_off_cpu_find_later(void) { change_manner(UNKNOWN, LATER); }
void evr_off_cpu_find_yourself(void) { change_manner(LATER, UNKNOWN); }
void evr_off_cpu_find(void) {
  if (__atomic_load_n(&manner, __ATOMIC_RELAXED) == LATER) find_manner(LATER);
}

/* Reads the clocks, unless the mark says that they need not be read. */
static void bring_up_to_date(enum manner how) {
  uint64_t tick = read_ns(CLOCK_MONOTONIC_COARSE);
  if (how != MARKED || tick != clocks.tick || !mark_is_there()) read_clocks(how == MARKED);
  clocks.tick = tick;
}

uint64_t eventring_off_cpu_begin(void) {
  /* acquire: pairs with the exchange in find_manner, which follows the store of the
     mark */
  enum manner how = __atomic_load_n(&manner, __ATOMIC_ACQUIRE);
  if (__builtin_expect(how == UNKNOWN, 0)) how = find_manner(UNKNOWN);
  if (how == OFF) return 0;
  bring_up_to_date(how);
  return clocks.off;
}

uint64_t eventring_off_cpu_since(uint64_t begun) {
  /* acquire: as in eventring_off_cpu_begin */
  enum manner how = __atomic_load_n(&manner, __ATOMIC_ACQUIRE);
  if (how == OFF || begun == 0) return 0;
  bring_up_to_date(how);
  return clocks.off > begun ? clocks.off - begun : 0;
}

void evr_off_cpu_measure(bool on) {
  /* acquire, and release below: pair with each other in other threads; only the manner
     itself is passed on */
  enum manner how = __atomic_load_n(&manner, __ATOMIC_ACQUIRE);
  if (!on) __atomic_store_n(&manner, OFF, __ATOMIC_RELEASE);
  else if (how == OFF) __atomic_store_n(&manner, UNKNOWN, __ATOMIC_RELEASE);
}

void evr_off_cpu_after_fork(void) {
  memset(&clocks, 0, sizeof clocks);
  evr_off_cpu_find_yourself();
}

uint64_t eventring_off_cpu(void) {
  /* acquire: as in eventring_off_cpu_begin */
  enum manner how = __atomic_load_n(&manner, __ATOMIC_ACQUIRE);
  if (__builtin_expect(how == MARKED && mark_is_there(), 1)) return clocks.off;
  /* not later: a profile asks at each call */
  if (how == UNKNOWN || how == LATER) how = find_manner(how);
  if (how == OFF) return 0;
  read_clocks(how == MARKED);
  return clocks.off;
}
