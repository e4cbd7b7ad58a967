/* SPDX-License-Identifier: MIT */
/* control.c: the control page, changed by the recording process and by tools.
 *
 * The gate is one 64-bit word: in its low half the classes in force, which
 * probes test, in its high half the classes wanted. Pausing clears the low
 * half; resuming copies the high half down. Everyone changes it by
 * compare-and-exchange.
 *
 * A gate is well formed when its low half is 0 or equals the high half, and the
 * high half has some class and only classes that have a name (class lifecycle is
 * always among them when we write it). Any process of the user may have stored
 * anything, so the producer looks at the gate where it is slow anyhow (at block
 * transitions and safe points): a malformed one is replaced by the last well-formed
 * one that it saw, and counted in the status page for readers to tell. Until then
 * probes may be on or off as the garbage says; no value can do more than that.
 *
 * What a probe does not write while its class is off is gone, and a reader must
 * not take an end that comes after the gap for the end of a begin before it (of
 * another span of the same id, perhaps). So whoever switches classes on first
 * appends the time and these classes to the log of the page. Events that were
 * suppressed happened before the gate opened, hence before any event that is
 * recorded again; a reader that tears all spans of these classes begun before
 * the logged time can not mismatch any.
 */
#include "format/control.h"

#include "format/atomics.h"
#include "format/clock.h"

static void log_switch(struct format_control *control, enum format_clock clock,
                       uint32_t classes) {
  uint32_t n = __atomic_fetch_add(&control->switches, 1, __ATOMIC_ACQ_REL);
  struct format_switch *entry = &control->log[n % FORMAT_LOG_ENTRIES];
  __atomic_store_n(&entry->what, 0, __ATOMIC_RELAXED);
  /* release fence: whoever sees the new ticks sees the entry invalid or new;
     pairs with the acquire fence in evr_control_entry */
  evr_fence_release();
  __atomic_store_n(&entry->ticks, evr_clock_ticks(clock), __ATOMIC_RELAXED);
  __atomic_store_n(&entry->what, (uint64_t)(n + 1) << 32 | classes,
                   __ATOMIC_RELEASE);
}

bool evr_gate_valid(uint64_t gate, uint32_t named) {
  uint32_t wanted = (uint32_t)(gate >> 32), force = (uint32_t)gate;
  return wanted && !(wanted & ~named) && (!force || force == wanted);
}

static uint64_t changed(uint64_t gate, uint32_t named, enum evr_gate_change change,
                        uint32_t classes) {
  uint32_t wanted = (uint32_t)(gate >> 32);
  bool paused = (uint32_t)gate == 0;
  switch (change) {
  case EVR_PAUSE:
    paused = true;
    break;
  case EVR_RESUME:
    paused = false;
    break;
  case EVR_SET:
    wanted = classes;
    break;
  case EVR_ADD:
    wanted |= classes;
    break;
  case EVR_REMOVE:
    wanted &= ~classes;
    break;
  }
  /* never 0: a recording with nothing on must not look paused */
  wanted = (wanted & named) | EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE);
  return (uint64_t)wanted << 32 | (paused ? 0 : wanted);
}

/* Exchanges the gate; false, and *gate is what it is now, when another was
   quicker. */
static bool exchange(struct format_control *control, enum format_clock clock,
                     uint64_t *gate, uint64_t next) {
  uint32_t switched_on = (uint32_t)next & ~(uint32_t)*gate;
  if (switched_on) log_switch(control, clock, switched_on);
  /* release: the log entry comes before the first event let through */
  return __atomic_compare_exchange_n(&control->gate, gate, next, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

uint64_t evr_control_change(struct format_control *control,
                            enum format_clock clock, uint32_t named,
                            enum evr_gate_change change, uint32_t classes) {
  uint64_t gate = __atomic_load_n(&control->gate, __ATOMIC_RELAXED);
  while (!exchange(control, clock, &gate, changed(gate, named, change, classes)))
    continue;
  return gate;
}

bool evr_control_repair(struct format_control *control, enum format_clock clock,
                        uint64_t bad, uint64_t good) {
  return exchange(control, clock, &bad, good);
}

bool evr_control_entry(const struct format_control *control, uint32_t n,
                       struct format_switch *entry) {
  const struct format_switch *from = &control->log[n % FORMAT_LOG_ENTRIES];
  entry->what = __atomic_load_n(&from->what, __ATOMIC_ACQUIRE);
  if (entry->what >> 32 != (uint32_t)(n + 1)) return false;
  entry->ticks = __atomic_load_n(&from->ticks, __ATOMIC_RELAXED);
  evr_fence_acquire();
  return __atomic_load_n(&from->what, __ATOMIC_RELAXED) == entry->what;
}

uint32_t evr_named_classes(
    const char names[EVENTRING_MAX_CLASSES][EVENTRING_MAX_CLASS_NAME + 1]) {
  uint32_t classes = 0;
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++)
    if (names[i][0]) classes |= EVENTRING_CLASS_BIT(i);
  return classes;
}
