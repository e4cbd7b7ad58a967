/* SPDX-License-Identifier: MIT */
/* control.c: the control page, changed by the recording process and by tools.
 *
 * Two words say what is recorded. `wanted` has the classes that are to be recorded while
 * the recording runs, and in bit 0 whether it runs; all processes change it by
 * compare-and-exchange. `gate`, which probes test, follows from it (format_gate). A
 * process that has changed `wanted` then brings the gate in line: it stores the gate and
 * checks `wanted` again, until nothing has changed in between. All these accesses are
 * sequentially consistent: when two processes change `wanted` at the same time, the
 * process that stores the gate last has seen both changes, or checks again.
 *
 * Any process of the user may store any value here, or die between the two steps. So the
 * producer checks both words on its slow paths (at block transitions and safepoints): it
 * replaces an invalid `wanted` by the last valid value that it saw, counts this in the
 * status page, and brings the gate in line. Until then a bad value may switch probes on
 * or off, but nothing worse.
 *
 * A probe writes nothing while its class is off, and a reader must not match an end after
 * such a gap with a begin before it (the end may be of another span of the same id). So a
 * process that switches classes on first appends the time and these classes to the log of
 * the page, and afterwards adds the time at which the gate was open. A probe that tested
 * the gate before it was closed may still write its begin between these two times, and
 * its end may be suppressed. So when a reader reaches an event later than the first time,
 * it tears all spans of these classes that began before the second time. Then it cannot
 * mismatch any (testsuite/model/control_page.pml). A process that dies between the two
 * stores leaves an entry without a second time: no span of these classes is matched until
 * 64 more entries have pushed it out.
 */
#include "format/control.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/clock.h"

static struct format_switch *log_switch(struct format_control *control,
                                        enum format_clock clock, uint64_t classes) {
  /* acq_rel: pairs with the same operation in another process, which gets another number,
     and with the acquire loads of `switches` in fold_block (lane.c) and was_off
     (traces.c). The entry itself is published by its number */
  uint32_t n = __atomic_fetch_add(&control->switches, 1, __ATOMIC_ACQ_REL);
  struct format_switch *entry = &control->log[n % FORMAT_LOG_ENTRIES];
  __atomic_store_n(&entry->number, 0, __ATOMIC_RELAXED);
  /* release fence: a reader that sees the new ticks or classes also sees that the entry
     is invalid or new; pairs with the acquire fence in evr_control_entry */
  evr_fence_release();
  __atomic_store_n(&entry->ticks, evr_clock_ticks(clock), __ATOMIC_RELAXED);
  __atomic_store_n(&entry->classes, classes, __ATOMIC_RELAXED);
  __atomic_store_n(&entry->until, UINT64_MAX, __ATOMIC_RELAXED);
  /* release: pairs with the acquire load of the number in evr_control_entry, which then
     sees the members stored above */
  __atomic_store_n(&entry->number, (uint64_t)n + 1, __ATOMIC_RELEASE);
  return entry;
}

/* Completes a log entry with the time at which its change was complete, or notes that the
   change was not made. */
static void complete_switch(struct format_switch *entry, enum format_clock clock, bool made) {
  if (!made) __atomic_store_n(&entry->classes, 0, __ATOMIC_RELAXED);
  /* release: pairs with the acquire load of `until` in evr_control_entry, whose process
     then sees the classes */
  __atomic_store_n(&entry->until, evr_clock_ticks(clock), __ATOMIC_RELEASE);
}

enum { TAKE_OVER_MS = 100 };

/* Makes the version odd, for a writer; takes over from a writer that seems to have died.
   Returns the odd version. */
static uint32_t open_list(struct format_list *list) {
  /* acquire, for each load of the version in this function: pairs with the release of the
     previous writer, at the end of evr_control_write_list. Its words are then stored
     before ours */
  uint32_t version = __atomic_load_n(&list->version, __ATOMIC_ACQUIRE), stuck = version;
  uint64_t since = evr_monotonic_ns();
  while (true) {
    bool odd = version & 1;
    if (version != stuck) since = evr_monotonic_ns();
    stuck = version;
    if (odd && evr_monotonic_ns() - since < TAKE_OVER_MS * (uint64_t)1000000) {
      nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
      /* acquire: see the first load of the version */
      version = __atomic_load_n(&list->version, __ATOMIC_ACQUIRE);
    } else if (__atomic_compare_exchange_n(&list->version, &version, version + (odd ? 2 : 1),
                                           false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) {
      /* seq_cst, for its acquire half, which has the partner of the first load; a release
         fence orders the stores that follow */
      return version + (odd ? 2 : 1);
    }
  }
}

void evr_control_write_list(struct format_list *list, const char *text) {
  uint64_t words[FORMAT_LIST_BYTES / 8] = {0};
  const size_t size = text ? strlen(text) : 0;
  if (size) memcpy(words, text, size);
  uint32_t version = open_list(list);
  /* release fence: pairs with the acquire fence of evr_control_read_list: a reader that
     sees a word of this text also sees the odd version */
  evr_fence_release();
  __atomic_store_n(&list->bytes, (uint32_t)size, __ATOMIC_RELAXED);
  evr_store_words(list->text, words, sizeof words);
  /* Fails if another writer has taken over from this writer: the version then stays odd,
     and nobody reads the text, until the other writer ends. release: pairs with the
     acquire loads of the version in evr_control_read_list and open_list */
  __atomic_compare_exchange_n(&list->version, &version, version + 1, false, __ATOMIC_RELEASE,
                              __ATOMIC_RELAXED);
}

int evr_control_read_list(const struct format_list *list, char *text, uint32_t *version) {
  uint64_t words[FORMAT_LIST_BYTES / 8];
  /* acquire: pairs with the release of the version at the end of
     evr_control_write_list */
  *version = __atomic_load_n(&list->version, __ATOMIC_ACQUIRE);
  uint32_t size = __atomic_load_n(&list->bytes, __ATOMIC_RELAXED);
  const uint64_t *from = (const uint64_t *)list->text;
  for (size_t i = 0; i < sizeof words / 8; i++)
    words[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
  evr_fence_acquire(); /* pairs with the release fence of evr_control_write_list */
  if (*version & 1 || *version != __atomic_load_n(&list->version, __ATOMIC_RELAXED)) return -1;
  memcpy(text, words, sizeof words);
  return size <= FORMAT_LIST_BYTES ? (int)size : 0;
}

/* Wakes everyone who waits for `requests`. The futex is not private: a waiter may be
   another process, with its own mapping of the file. */
static void wake(struct format_control *control) {
  syscall(SYS_futex, &control->requests, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void evr_control_request(struct format_control *control, uint32_t bits) {
  /* release: pairs with the acquire loads of `requests` in question.c and last_stack.c:
     a domain that sees the bit sees everything that was written before it */
  __atomic_fetch_or(&control->requests, bits, __ATOMIC_RELEASE);
  wake(control);
}

void evr_control_profile(struct format_control *control, bool on) {
  if (on) {
    evr_control_request(control, FORMAT_REQUEST_CALLS);
    return;
  }
  __atomic_fetch_and(&control->requests, ~(uint32_t)FORMAT_REQUEST_CALLS, __ATOMIC_RELAXED);
  wake(control);
}

/* Bounds the loop: a process that changes the page all the time must not block others. */
enum { ATTEMPTS = 16 };

bool evr_control_settle(struct format_control *control, enum format_clock clock) {
  bool changed = false;
  for (int i = 0; i < ATTEMPTS; i++) {
    /* seq_cst, on both words: pairs with the exchanges of `wanted` in evr_control_change
       and evr_control_repair and of the gate below, by other changers: see the design
       above */
    uint64_t gate = __atomic_load_n(&control->gate, __ATOMIC_SEQ_CST);
    uint64_t next = format_gate(__atomic_load_n(&control->wanted, __ATOMIC_SEQ_CST));
    if (gate == next) return changed;
    changed = true;
    struct format_switch *entry = NULL;
    /* seq_cst below: pairs with the same accesses by other processes. The log entry
       precedes the first event that the new gate lets through */
    if (next & ~gate) entry = log_switch(control, clock, next & ~gate);
    bool made = __atomic_compare_exchange_n(&control->gate, &gate, next, false,
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    if (entry) complete_switch(entry, clock, made);
    /* hosts must install the code that writes these events: they test `requests` at
       their safepoints */
    if (made && (next & ~gate) >> EVENTRING_CLASS_CALLS & 1)
      evr_control_request(control, FORMAT_REQUEST_SPANS);
  }
  return changed;
}

bool evr_wanted_valid(uint64_t wanted, uint64_t named) { return !(wanted & ~named); }

static uint64_t changed_classes(uint64_t wanted, enum evr_gate_change change,
                                uint64_t classes) {
  enum { RUNS = 1 }; /* bit 0 is not a class here */
  switch (change) {
    case EVR_PAUSE:
      return wanted & ~(uint64_t)RUNS;
    case EVR_RESUME:
      return wanted | RUNS;
    case EVR_ADD:
      return wanted | (classes & ~(uint64_t)RUNS);
    case EVR_REMOVE:
      return wanted & ~(classes & ~(uint64_t)RUNS);
  }
  return wanted;
}

uint64_t evr_control_change(struct format_control *control, enum format_clock clock,
                            uint64_t named, enum evr_gate_change change, uint64_t classes) {
  uint64_t wanted = __atomic_load_n(&control->wanted, __ATOMIC_RELAXED), next;
  do
    next = changed_classes(wanted, change, classes) & named;
  /* seq_cst: pairs with the loads of `wanted` in evr_control_settle, of other changers */
  while (!__atomic_compare_exchange_n(&control->wanted, &wanted, next, false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  evr_control_settle(control, clock);
  return wanted;
}

bool evr_control_repair(struct format_control *control, enum format_clock clock,
                        uint64_t bad, uint64_t good) {
  /* seq_cst: pairs with the loads of `wanted` in evr_control_settle, of other changers */
  bool done = __atomic_compare_exchange_n(&control->wanted, &bad, good, false,
                                          __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
  evr_control_settle(control, clock);
  return done;
}

bool evr_control_entry(const struct format_control *control, uint32_t n,
                       struct format_switch *entry) {
  const struct format_switch *from = &control->log[n % FORMAT_LOG_ENTRIES];
  /* acquire: pairs with the release of the number in log_switch */
  entry->number = __atomic_load_n(&from->number, __ATOMIC_ACQUIRE);
  if (entry->number != (uint64_t)n + 1) return false;
  entry->ticks = __atomic_load_n(&from->ticks, __ATOMIC_RELAXED);
  /* acquire: pairs with the release in complete_switch: a reader that sees `until` sees
     the final classes */
  entry->until = __atomic_load_n(&from->until, __ATOMIC_ACQUIRE);
  entry->classes = __atomic_load_n(&from->classes, __ATOMIC_RELAXED);
  /* acquire fence: pairs with the release fence in log_switch: if any of these members is
     from a newer entry, the number has changed */
  evr_fence_acquire();
  return __atomic_load_n(&from->number, __ATOMIC_RELAXED) == entry->number;
}

uint32_t evr_control_switches(const struct format_control *control, uint32_t from, uint32_t now,
                              struct evr_switches *switches) {
  struct format_switch entry;
  uint32_t seen = now;
  switches->count = 0;
  if (now - from > FORMAT_LOG_ENTRIES) {
    /* entries are gone: any class may have been off before the oldest present one */
    from = now - FORMAT_LOG_ENTRIES;
    bool there = evr_control_entry(control, from, &entry);
    switches->entry[switches->count++] =
        (struct format_switch){.classes = UINT64_MAX, .ticks = there ? entry.ticks : 0,
                               .until = there ? entry.ticks : UINT64_MAX};
  }
  for (; from != now; from++) {
    bool there = evr_control_entry(control, from, &entry);
    if (there) switches->entry[switches->count++] = entry;
    if ((!there || entry.until == UINT64_MAX) && seen == now) seen = from;
  }
  return seen;
}

uint64_t evr_named_classes(
    const char names[EVENTRING_MAX_CLASSES][EVENTRING_MAX_CLASS_NAME + 1]) {
  uint64_t classes = 0;
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++)
    if (names[i][0]) classes |= EVENTRING_CLASS_BIT(i);
  return classes;
}

void evr_control_ask_stacks(struct format_control *control, bool on) {
  if (!on) {
    __atomic_fetch_and(&control->requests, ~(uint32_t)FORMAT_REQUEST_STACKS,
                       __ATOMIC_RELAXED);
    return;
  }
  /* skip 0, which means that nothing is asked */
  if (__atomic_add_fetch(&control->stacks, 1, __ATOMIC_RELAXED) == 0)
    __atomic_fetch_add(&control->stacks, 1, __ATOMIC_RELAXED);
  evr_control_request(control, FORMAT_REQUEST_STACKS);
}

void evr_control_ask_lines(struct format_control *control, bool on) {
  if (on) evr_control_request(control, FORMAT_REQUEST_LINES);
  else
    __atomic_fetch_and(&control->requests, ~(uint32_t)FORMAT_REQUEST_LINES, __ATOMIC_RELAXED);
}

bool evr_control_await_change(const uint32_t *word, uint32_t seen, uint64_t ns) {
  const struct timespec most = {.tv_sec = (time_t)(ns / 1000000000u),
                                .tv_nsec = (long)(ns % 1000000000u)};
  return syscall(SYS_futex, word, FUTEX_WAIT, seen, &most, NULL, 0) == 0 || errno == EAGAIN ||
         errno == EINTR || errno == ETIMEDOUT;
}
