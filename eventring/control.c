/* control.c: the control page, changed by the recording process and by tools.
 *
 * The gate is one 64-bit word: in its low half the classes in force, which
 * probes test, in its high half the classes wanted. Pausing clears the low
 * half; resuming copies the high half down. Everyone changes it by
 * compare-and-exchange.
 *
 * What a probe does not write while its class is off is gone, and a reader must
 * not take an end that comes after the gap for the end of a begin before it (of
 * another span of the same id, perhaps). So whoever switches classes on first
 * appends the time and these classes to the log of the page. Events that were
 * suppressed happened before the gate opened, hence before any event that is
 * recorded again; a reader that tears all spans of these classes begun before
 * the logged time can not mismatch any.
 */
#include "internal.h"

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

static uint64_t changed(uint64_t gate, enum evr_gate_change change,
                        uint32_t classes) {
  uint32_t wanted = (uint32_t)(gate >> 32), force = (uint32_t)gate;
  bool paused = force != wanted;
  switch (change) {
  case EVR_PAUSE:
    return (uint64_t)wanted << 32;
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
  return (uint64_t)wanted << 32 | (paused ? 0 : wanted);
}

uint64_t evr_control_change(struct format_control *control,
                            enum format_clock clock, enum evr_gate_change change,
                            uint32_t classes) {
  uint64_t gate = __atomic_load_n(&control->gate, __ATOMIC_RELAXED);
  for (;;) {
    uint64_t next = changed(gate, change, classes);
    uint32_t switched_on = (uint32_t)next & ~(uint32_t)gate;
    if (switched_on) log_switch(control, clock, switched_on);
    /* release: the log entry comes before the first event let through */
    if (__atomic_compare_exchange_n(&control->gate, &gate, next, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return gate;
  }
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
