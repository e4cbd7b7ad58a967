/* SPDX-License-Identifier: MIT */
/* triggers.c: setting triggers (triggers.h, watch.h).
 *
 * Another process writes a list of triggers into the control page (FORMAT.md, section 4).
 * A safepoint that comes 100 ms or more after the last check (gate.c) compares the
 * version and takes a new list; so does the helper (trigger/helper.c), for a program that
 * is asleep in C. A list that is not valid sets none. */
#include "producer/triggers.h"

#include <stdio.h>
#include <string.h>

#include "format/atomics.h"
#include "format/control.h"
#include "format/error.h"
#include "format/sized.h"
#include "format/text.h"
#include "producer/catalogue.h"
#include "producer/domains.h"
#include "producer/outside.h"
#include "producer/producer.h"
#include "producer/watch.h"

/* ---- The table in force ------------------------------------------------------------ */

/* Makes probes take the slow path for the events that triggers watch, after a change of
   the table. */
static void watch_locked(void) {
  struct evr_recording *r = evr_producer.recording;
  evr_catalogue_watch_locked();
  if (r && !r->ended) evr_domains_watch_locked(r);
}

/* Applies triggers that were set: switches on, once, the classes that they need. A class
   that is switched off afterwards stays off. */
static void apply_locked(void) {
  struct evr_recording *r = evr_producer.recording;
  watch_locked();
  if (!r || r->ended) return;
  uint64_t classes = evr_watch_classes();
  uint64_t wanted = __atomic_load_n(&evr_control(r)->wanted, __ATOMIC_RELAXED);
  if (classes & ~wanted) evr_recording_change_gate_locked(r, EVR_ADD, classes);
}

/* Returns the id of the event that says that the trigger fired, or 0 if there is no
   room. */
static unsigned define_event_locked(const struct eventring_condition *condition) {
  char text[560], name[EVENTRING_MAX_NAME + 1];
  size_t size = (size_t)snprintf(text, sizeof text, "trigger ");
  eventring_condition_text(condition, text + size, sizeof text - size);
  evr_text_copy(name, sizeof name, text);
  bool time = condition->unit == EVENTRING_TIME;
  struct eventring_def def = {.name = name, .kind = EVENTRING_DEF_LIFECYCLE,
                              .unit = time ? "ns" : NULL,
                              .doc = "A trigger has fired; value: what fulfilled its condition",
                              .event_class = EVENTRING_CLASS_LIFECYCLE,
                              .ring = EVENTRING_RUNTIME, .payload = EVENTRING_INT};
  int id = evr_catalogue_find_locked(&def, NULL);
  if (id == EVENTRING_E_NOT_FOUND) id = evr_catalogue_define_locked(&def, sizeof def, 1, NULL);
  if (id > 0 && evr_producer.recording)
    evr_catalogue_publish_locked(evr_producer.recording, NULL);
  return id > 0 ? (unsigned)id : 0;
}

static int add_locked(const struct evr_trigger_text *trigger, enum eventring_trigger_owner owner,
                      struct eventring_error *error) {
  return evr_watch_add_locked(trigger, owner, define_event_locked(&trigger->condition), error);
}

/* Replaces the triggers of an owner. Triggers for which there is no room are left out. */
static void replace_locked(const char *list, size_t size, enum eventring_trigger_owner owner) {
  struct evr_trigger_text trigger;
  size_t at = 0;
  evr_watch_remove_locked(0, owner);
  while (evr_trigger_text_next(&trigger, list, size, &at, NULL) > 0)
    add_locked(&trigger, owner, NULL);
}

/* ---- Other processes --------------------------------------------------------------- */

static void take_list_locked(struct evr_recording *r) {
  char list[FORMAT_TRIGGERS_BYTES];
  uint32_t version;
  int size = evr_control_read_list(&evr_control(r)->triggers, list, &version);
  /* Another thread may have taken the list: its triggers must not begin anew. */
  if (size < 0 || version == __atomic_load_n(&r->triggers_seen, __ATOMIC_RELAXED)) return;
  __atomic_store_n(&r->triggers_seen, version, __ATOMIC_RELAXED);
  if (eventring_triggers_check(list, (size_t)size, NULL) < 0) size = 0;
  replace_locked(list, (size_t)size, EVENTRING_BY_CONTROL);
  apply_locked();
}

/* Takes the list at a safepoint. The caller does not hold the mutex. */
static void take_list(struct evr_recording *r) {
  evr_lock();
  if (r == evr_producer.recording && !r->ended) take_list_locked(r);
  evr_unlock();
  evr_helper_do(begin); /* starts a helper if that failed before */
}

void evr_triggers_look(void) {
  evr_lock();
  struct evr_recording *r = evr_producer.recording;
  /* acquire: pairs with the release at the end of evr_control_write_list
     (format/control.c); evr_control_read_list has its own acquire when it reads the
     list */
  bool is_set = r && !r->ended &&
                __atomic_load_n(&evr_control(r)->triggers.version, __ATOMIC_ACQUIRE) !=
                    __atomic_load_n(&r->triggers_seen, __ATOMIC_RELAXED);
  if (is_set && evr_outside_obeys(r, FORMAT_WORD_TRIGGERS)) take_list_locked(r);
  evr_unlock();
}

/* ---- The recording ----------------------------------------------------------------- */

void evr_triggers_begin_locked(const char *list) {
  evr_on_triggers = take_list;
  evr_watch_show(evr_trigger_states(evr_producer.recording));
  if (list) replace_locked(list, strlen(list), EVENTRING_BY_CONFIG);
  if (evr_watch_any()) apply_locked();
}

void evr_triggers_carry_locked(struct evr_recording *next, const struct evr_recording *former) {
  struct format_control *to = evr_control(next);
  char list[FORMAT_TRIGGERS_BYTES];
  uint32_t version;
  evr_watch_show(evr_trigger_states(next)); /* `former` may be unmapped later */
  int size = evr_control_read_list(&evr_control(former)->triggers, list, &version);
  if (size < 0) return; /* the writer of the list is changing it */
  evr_store_words(to->triggers.text, list, sizeof list);
  __atomic_store_n(&to->triggers.bytes, (uint32_t)size, __ATOMIC_RELAXED);
  next->triggers_seen = __atomic_load_n(&former->triggers_seen, __ATOMIC_RELAXED);
  /* release: pairs with the acquire load of the version in evr_control_read_list
     (format/control.c), which then finds the text */
  __atomic_store_n(&to->triggers.version, version, __ATOMIC_RELEASE);
}

void evr_triggers_go_on_locked(void) { watch_locked(); }

void evr_triggers_end_locked(void) {
  evr_watch_show(NULL);
  if (evr_watch_remove_locked(0, EVENTRING_BY_CONTROL)) evr_catalogue_watch_locked();
}

/* ---- The program ------------------------------------------------------------------- */

static int parse_one(struct evr_trigger_text *trigger, const char *text, size_t size,
                     struct eventring_error *error) {
  size_t at = 0;
  int count = eventring_triggers_check(text, size, error);
  if (count < 0) return count;
  if (count != 1)
    return evr_fail(error, EVENTRING_E_CONFIG, 0, "there are %d triggers in this text", count);
  return evr_trigger_text_next(trigger, text, size, &at, error) < 0 ? EVENTRING_E_CONFIG
                                                                     : EVENTRING_OK;
}

int eventring_trigger_set(const char *text, size_t size, struct eventring_error *error) {
  struct evr_trigger_text trigger;
  int status = parse_one(&trigger, text, size, error);
  if (status != EVENTRING_OK) return status;
  evr_producer_follow_now();
  evr_lock();
  status = add_locked(&trigger, EVENTRING_BY_PROGRAM, error);
  if (status > 0) apply_locked();
  evr_unlock();
  evr_helper_do(begin);
  return status;
}

int eventring_trigger_remove(int number) {
  evr_lock();
  bool found = number > 0 && evr_watch_remove_locked(number, 0);
  if (found) watch_locked();
  evr_unlock();
  return found ? EVENTRING_OK : EVENTRING_E_NOT_FOUND;
}

int eventring_trigger_at(unsigned index, struct eventring_trigger *trigger) {
  if (!trigger) return EVENTRING_E_ARGUMENT;
  return evr_watch_describe(index, trigger) ? EVENTRING_OK : EVENTRING_E_NOT_FOUND;
}
