/* SPDX-License-Identifier: MIT */
/* guard.c: the mappings of a recording outlive their file.
 *
 * A process that may write to the file of a recording may also cut it short, or punch a
 * hole into it on a full disk. The next store into a page that has lost its file raises
 * SIGBUS in the recorded program, which must not die of it. Disk space is reserved and
 * sizes are checked beforehand, but nothing can keep a file at its length (seals are for
 * memfds, which have no name in a directory), and copying events out with write() would
 * make each event pay for a rare fault.
 *
 * So each mapping of a file is entered in a table, and a handler of SIGBUS replaces *all*
 * mappings of the recording to which the address belongs by anonymous memory and returns.
 * The store is then repeated and succeeds. The control page is one of these mappings and
 * reads as zero from then on: no class is on, all probes are off, and the recording is
 * over. A reader that maps a file (window.c) is guarded in the same way: its loads return
 * zeros, the first word shows that the mapping is lost, and the file itself gives the
 * error.
 *
 * Cost: nothing for an event; one sigaction at the first start. Drawbacks: the process
 * has a handler of SIGBUS (for good once it has recorded, else as long as it has a
 * window), which passes on foreign faults. A thread that blocks SIGBUS is not protected.
 *
 * A host may set a handler of its own later. While a recording goes on, the library
 * checks at changes of blocks and safepoints, every 100 ms at most (evr_guard_renew),
 * whether its handler is still that of the process; if not, it sets another one, which
 * passes faults on to the host's handler. The host's handler may call the handler that it
 * has replaced. So each handler of the library is a function of its own, with its own
 * predecessor: level 0 passes faults on to the handler from before the recording, level 1
 * to the handler that was set above level 0, and so on. So a foreign fault visits each
 * handler once. After LEVELS levels the library sets no further handler. Then, and until
 * the next check, a host's handler that calls neither its predecessor nor
 * eventring_repair_fault leaves the process without this protection.
 *
 * The handler reads the table on any thread while others enter and remove mappings, so it
 * can take no lock. `start` of an entry is 0 when the entry is free, else the address of
 * the mapping, with bit 0 set while one thread works on the entry:
 *
 *   add     0 -> BUSY (claims it), then the other fields, -> address (release)
 *   remove  address -> 0, by compare-and-exchange: not during a repair, so that no
 *           mapping is replaced after it was unmapped
 *   repair  address -> address | BUSY, mmap over it, -> address
 *
 * While an entry is BUSY, its thread accesses no mapped file and does not fork. So nobody
 * waits forever. A child that another thread forks at that moment lacks the thread, and
 * ends the work on the entry itself.
 */
#include "format/guard.h"

#include "eventring.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

enum { RANGES = 4096, BUSY = 1 };

static struct range {
  uintptr_t start;
  size_t bytes;
  /* the recording of the mapping; all its mappings are lost together */
  const void *group;
  int protection;
} ranges[RANGES];
static unsigned used; /* entries from here on have never been used; atomic */

/* ---- The table ----------------------------------------------------------------- */

static bool claim(struct range *range) {
  uintptr_t expected = 0;
  /* acquire: pairs with the release in remove_entry: all use of the mapping that had this
     entry comes before the new fields */
  return __atomic_compare_exchange_n(&range->start, &expected, BUSY, false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void raise_used(unsigned to) {
  unsigned now = __atomic_load_n(&used, __ATOMIC_RELAXED);
  /* release: pairs with the acquire loads of `used` in evr_guard_remove and
     eventring_repair_fault, which then see the address in each entry below it */
  while (now < to && !__atomic_compare_exchange_n(&used, &now, to, false,
                                                  __ATOMIC_RELEASE, __ATOMIC_RELAXED))
    continue;
}

bool evr_guard_add(void *map, size_t bytes, int protection, const void *group) {
  for (unsigned i = 0; i < RANGES; i++) {
    struct range *range = &ranges[i];
    if (!claim(range)) continue;
    range->bytes = bytes;
    range->group = group;
    range->protection = protection;
    /* release: pairs with the acquire loads of `start` in group_of and replace, which
       then see the other fields */
    __atomic_store_n(&range->start, (uintptr_t)map, __ATOMIC_RELEASE);
    raise_used(i + 1);
    return true;
  }
  return false;
}

/* Sets the entry of a mapping to 0 when no thread repairs it. Returns false if the entry
   belongs to another mapping. */
static bool remove_entry(struct range *range, uintptr_t start) {
  for (;;) {
    uintptr_t expected = start;
    /* acquire: pairs with the release at the end of replace (the repair is over before
       the mapping is unmapped); release: with the acquire in claim */
    if (__atomic_compare_exchange_n(&range->start, &expected, 0, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return true;
    if (expected != (start | BUSY)) return false;
    sched_yield();
  }
}

void evr_guard_remove(void *map) {
  /* acquire: pairs with the release in raise_used */
  unsigned count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (unsigned i = 0; i < count; i++)
    if (remove_entry(&ranges[i], (uintptr_t)map)) return;
}

/* ---- Repair: async-signal-safe ---------------------------------------------------- */

static uintptr_t address_of(uintptr_t start) { return start & ~(uintptr_t)BUSY; }

/* Returns the group of the mapping that holds the address. An access to it has just
   failed, so the mapping is in use and is not removed during the search. */
static const void *group_of(uintptr_t address, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    /* acquire: pairs with the release in evr_guard_add, so that the fields of the entry
       are seen */
    uintptr_t start = address_of(__atomic_load_n(&ranges[i].start, __ATOMIC_ACQUIRE));
    if (start && address - start < ranges[i].bytes) return ranges[i].group;
  }
  return NULL;
}

static bool replace(struct range *range, const void *group) {
  /* acquire, here and below: pairs with the releases in evr_guard_add (the fields of the
     mapping) and at the end of this function (the repair by another thread) */
  uintptr_t start = __atomic_load_n(&range->start, __ATOMIC_ACQUIRE);
  for (;;) {
    if (!address_of(start) || range->group != group) return true;
    start = address_of(start); /* acquire: see the first load of `start` */
    if (__atomic_compare_exchange_n(&range->start, &start, start | BUSY, false,
                                    __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
      break;
    sched_yield(); /* another thread repairs it */
  }
  void *map = mmap((void *)start, range->bytes, range->protection,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  /* release: pairs with the acquire in remove_entry and in replace on another thread: the
     mapping is replaced before it is unmapped or checked again */
  __atomic_store_n(&range->start, start, __ATOMIC_RELEASE);
  return map != MAP_FAILED;
}

bool eventring_repair_fault(const void *address) {
  int saved = errno;
  /* acquire: pairs with the release in raise_used */
  unsigned count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  const void *group = group_of((uintptr_t)address, count);
  bool done = group != NULL;
  for (unsigned i = 0; group && i < count; i++)
    done &= replace(&ranges[i], group);
  errno = saved;
  return done;
}

/* ---- The handler ----------------------------------------------------------------- */

enum { LEVELS = 8 };

/* the actions for SIGBUS before the handlers of each level were set */
static struct sigaction before[LEVELS];
/* number of installed handlers; if not 0, SIGBUS calls the library, directly or through
   other handlers */
static unsigned levels;
static unsigned holders;
static bool started;            /* a recording holds the handler, for good */
static bool left;               /* the host wants no handler */

/* Guards the variables from `before` on. No other mutex of the library is taken while it
   is held. It is held across a fork, so that it is free in the child. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Acts as if the library were not there: calls the handler before, or does what the
   kernel does by default. */
static void pass_on(const struct sigaction *to, int number, siginfo_t *info, void *context) {
  bool by_default = to->sa_handler == SIG_DFL || to->sa_handler == SIG_IGN;
  if (!by_default && to->sa_flags & SA_RESETHAND)
    signal(number, SIG_DFL); /* as the kernel does before it calls such a handler */
  if (!by_default && to->sa_flags & SA_SIGINFO) {
    to->sa_sigaction(number, info, context);
  } else if (to->sa_handler == SIG_IGN && info->si_code <= 0) {
    return; /* sent by a process, and ignored */
  } else if (by_default) {
    signal(number, SIG_DFL);
    if (info->si_code <= 0) raise(number); /* a true fault comes again by itself */
  } else {
    to->sa_handler(number);
  }
}

static void on_bus_error(unsigned level, int number, siginfo_t *info, void *context) {
  bool fault = info->si_code > 0;
  if (!fault || !eventring_repair_fault(info->si_addr))
    pass_on(&before[level], number, info, context);
}

#define HANDLER(level) \
  static void on_bus_error_##level(int number, siginfo_t *info, void *context) { \
    on_bus_error(level, number, info, context); \
  }
HANDLER(0) HANDLER(1) HANDLER(2) HANDLER(3) HANDLER(4) HANDLER(5) HANDLER(6) HANDLER(7)

static void (*const handlers[LEVELS])(int, siginfo_t *, void *) = {
    on_bus_error_0, on_bus_error_1, on_bus_error_2, on_bus_error_3,
    on_bus_error_4, on_bus_error_5, on_bus_error_6, on_bus_error_7};

/* Returns the level of the handler, or LEVELS if it is not the library's. */
static unsigned level_of(const struct sigaction *action) {
  unsigned level = action->sa_flags & SA_SIGINFO ? 0 : LEVELS;
  while (level < LEVELS && action->sa_sigaction != handlers[level]) level++;
  return level;
}

/* Returns the level of the present handler. */
static unsigned present_level(void) {
  struct sigaction now;
  return sigaction(SIGBUS, NULL, &now) == 0 ? level_of(&now) : LEVELS;
}

static bool is_on_top(void) { return present_level() < LEVELS; }

/* Sets the handler of the next level above the present one. A fault may call it at once,
   so its predecessor is noted first. */
static void install(void) {
  struct sigaction action = {.sa_sigaction = handlers[levels],
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
  struct sigaction *below = &before[levels], replaced;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGBUS, NULL, below) != 0 || sigaction(SIGBUS, &action, &replaced) != 0) return;
  levels++;
  /* corrects `*below` if another thread has set a handler just now */
  if (level_of(&replaced) != levels - 1) *below = replaced;
}

static bool is_overridden(void) { return levels > 0 && levels < LEVELS && !is_on_top(); }

static void lock_guard(void) { pthread_mutex_lock(&mutex); }
static void unlock_guard(void) { pthread_mutex_unlock(&mutex); }

/* Ends the work of the parent's other threads on entries. A mapping whose repair has not
   come to its mmap stays as it was: the next fault repairs it. Entries that are being
   used for the first time follow those that have been; the pages of the others, which the
   child would have to copy, are not touched. */
static void unlock_in_child(void) {
  for (unsigned i = 0; i < RANGES && (i < used || ranges[i].start != 0); i++)
    if (ranges[i].start & BUSY) ranges[i].start = address_of(ranges[i].start);
  unlock_guard();
}

static void keep_across_fork(void) { pthread_atfork(lock_guard, unlock_guard, unlock_in_child); }

void evr_guard_prepare_forks(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, keep_across_fork);
}

static void lock_first(void) {
  evr_guard_prepare_forks();
  lock_guard();
}

static bool hold_locked(void) {
  holders++;
  if (levels == 0) install();
  return levels > 0 && is_on_top();
}

bool evr_guard_hold(void) {
  lock_first();
  bool first = hold_locked();
  unlock_guard();
  return first;
}

void evr_guard_start(bool leave) {
  lock_first();
  left = leave;
  if (!leave && !started) {
    started = true;
    hold_locked();
  } else if (!leave && is_overridden()) {
    install();
  }
  unlock_guard();
}

/* Leaves the check to the next call if the mutex is taken: a signal handler may have
   interrupted its holder. */
void evr_guard_renew(void) {
  if (is_on_top() || pthread_mutex_trylock(&mutex) != 0) return;
  if (started && !left && is_overridden()) install();
  unlock_guard();
}

bool evr_guard_left(void) {
  lock_first();
  bool result = left;
  unlock_guard();
  return result;
}

/* Removes the library's handlers from the top. A handler that was set above the library's
   may pass faults on to it, so the library's handler below it stays. */
static void uninstall(void) {
  while (levels > 0 && present_level() == levels - 1 &&
         sigaction(SIGBUS, &before[levels - 1], NULL) == 0)
    levels--;
}

void evr_guard_release(void) {
  lock_guard();
  if (--holders == 0) uninstall();
  unlock_guard();
}

/* Removes the handlers of a library that is unloaded. */
__attribute__((destructor)) static void at_unload(void) { uninstall(); }
