/* SPDX-License-Identifier: MIT */
/* gate.c: the classes that a recording records. */
#include <string.h>

#include "format/atomics.h"
#include "format/guard.h"
#include "producer/classes.h"
#include "producer/lock.h"
#include "producer/outside.h"
#include "producer/recording.h"

enum { RUNS = 1 }; /* bit 0 of the word `wanted` */

void evr_recording_open_gate(struct evr_recording *r, const struct eventring_config *config) {
  uint64_t classes = config->classes == EVENTRING_CLASSES_DEFAULT ? evr_default_classes()
                                                                  : config->classes;
  if (config->sample_rate > 0) classes |= EVENTRING_CLASS_BIT(EVENTRING_CLASS_ALLOC);
  classes &= evr_recording_classes(r);
  r->wanted = (classes & ~(uint64_t)RUNS) | (config->start == EVENTRING_START_ON ? RUNS : 0);
  r->gate = format_gate(r->wanted);
  struct format_control *control = evr_control(r);
  __atomic_store_n(&control->wanted, r->wanted, __ATOMIC_RELAXED);
  __atomic_store_n(&control->gate, r->gate, __ATOMIC_RELAXED);
}

/* Checks the word `wanted` and brings the gate in line. `own`: this process has just
   changed the word. */
static void check_gate_locked(struct evr_recording *r, bool own) {
  struct format_control *control = evr_control(r);
  uint64_t wanted = __atomic_load_n(&control->wanted, __ATOMIC_RELAXED);
  bool obeyed = own || !r->closed || wanted == r->wanted;
  if (obeyed && evr_wanted_valid(wanted, evr_recording_classes(r)))
    __atomic_store_n(&r->wanted, wanted, __ATOMIC_RELAXED);
  else if (evr_control_repair(control, r->clock, wanted, r->wanted))
    __atomic_fetch_add(&evr_status(r)->rejected, 1, __ATOMIC_RELAXED);
  evr_control_settle(control, r->clock);
  __atomic_store_n(&r->gate, format_gate(r->wanted), __ATOMIC_RELAXED);
}

void (*evr_on_triggers)(struct evr_recording *recording);

/* Takes over triggers that a tool may have set. */
static void check_triggers(struct evr_recording *r) {
  bool obeys = evr_outside_obeys(r, FORMAT_WORD_TRIGGERS);
  /* acquire: pairs with the release at the end of evr_control_write_list
     (format/control.c); evr_control_read_list has its own acquire when it reads the
     list */
  uint32_t version = __atomic_load_n(&evr_control(r)->triggers.version, __ATOMIC_ACQUIRE);
  if (version == __atomic_load_n(&r->triggers_seen, __ATOMIC_RELAXED) || !evr_on_triggers) return;
  if (obeys) evr_on_triggers(r);
  else __atomic_store_n(&r->triggers_seen, version, __ATOMIC_RELAXED);
}

/* Checks every 100 ms what others may have changed: the handler of SIGBUS (the host),
   triggers and words of the control page (tools). */
static void renew_guard(struct evr_recording *r) {
  enum { INTERVAL_MS = 100 };
  uint64_t now = evr_clock_ticks(r->clock);
  if (__builtin_expect(now < __atomic_load_n(&r->guard_at, __ATOMIC_RELAXED), 1)) return;
  __atomic_store_n(&r->guard_at, now + evr_recording_ticks_of_ms(r, INTERVAL_MS),
                   __ATOMIC_RELAXED);
  evr_guard_renew();
  evr_recording_see_link(r, false);
  check_triggers(r);
  evr_outside_put_back(r);
}

/* Checks the gate. The usual case takes five loads and no lock. */
void evr_recording_check_gate(struct evr_recording *r) {
  renew_guard(r);
  const struct format_control *control = evr_control(r);
  uint64_t gate = __atomic_load_n(&control->gate, __ATOMIC_RELAXED);
  uint64_t wanted = __atomic_load_n(&control->wanted, __ATOMIC_RELAXED);
  if (__builtin_expect(gate == __atomic_load_n(&r->gate, __ATOMIC_RELAXED) &&
                       wanted == __atomic_load_n(&r->wanted, __ATOMIC_RELAXED), 1))
    return;
  evr_lock();
  check_gate_locked(r, false);
  evr_unlock();
}

uint64_t evr_recording_change_gate_locked(struct evr_recording *r,
                                          enum evr_gate_change change, uint64_t classes) {
  uint64_t named = evr_recording_classes(r);
  uint64_t before = evr_control_change(evr_control(r), r->clock, named, change, classes);
  check_gate_locked(r, true);
  return before;
}
