/* SPDX-License-Identifier: MIT */
/* remote.c: controlling the recording of another process.
 *
 * The control page is mapped for writing only while it is changed (control_page.h), after
 * the file was checked like any other (metadata.c) and found to have a live producer.
 * control.c has the rules for the contents of the page and its changes.
 */
#include "reader/control_page.h"
#include "reader/cursor.h"
#include "reader/locate.h"
#include "reader/process_directory.h"
#include "conditions/trigger_text.h"
#include "eventring/calls.h"
#include "eventring/conditions.h"
#include "format/atomics.h"
#include "format/clock.h"
#include "format/control.h"

#include <stdlib.h>
#include <string.h>

static const enum evr_gate_change changes[] = {
    [EVENTRING_CONTROL_PAUSE] = EVR_PAUSE, [EVENTRING_CONTROL_RESUME] = EVR_RESUME,
    [EVENTRING_CONTROL_ENABLE] = EVR_ADD, [EVENTRING_CONTROL_DISABLE] = EVR_REMOVE};

static const char does_not_sample[] = "its program does not sample allocations";

static int check_obeyed(const struct evr_metadata *meta, enum eventring_control what,
                        struct eventring_error *error) {
  switch (what) {
    case EVENTRING_CONTROL_HOLD:
      return evr_control_page_obeys(meta, FORMAT_WORD_HOLD, "its rings cannot grow", error);
    case EVENTRING_CONTROL_SAMPLE:
    case EVENTRING_CONTROL_RATE:
      return evr_control_page_obeys(meta, FORMAT_WORD_SAMPLE_RATE, does_not_sample, error);
    case EVENTRING_CONTROL_PROFILE:
      return evr_control_page_obeys(meta, FORMAT_WORD_CALL_PROFILE,
                                    "its process keeps no profiles of calls", error);
    case EVENTRING_CONTROL_STACKS:
      return evr_control_page_obeys(meta, FORMAT_WORD_STACKS, "its process writes no stacks",
                                    error);
    case EVENTRING_CONTROL_TRIGGERS:
      return evr_control_page_obeys(meta, FORMAT_WORD_TRIGGERS, "it has no triggers", error);
    case EVENTRING_CONTROL_SPANS:
      return evr_control_page_obeys(
          meta, FORMAT_WORD_SPANS, "its process makes no spans of functions that are named", error);
    default:
      return evr_control_page_obeys(meta, FORMAT_WORD_WANTED, "its process cannot be controlled",
                                    error);
  }
}

/* Returns the classes that can be switched on. */
static uint64_t classes_of(const struct evr_metadata *meta) {
  return evr_named_classes(meta->header.classes) & ~meta->status.redacted;
}

/* Returns the classes of a change that are never recorded. (A change that names all
   existing classes means all classes that can be switched on.) */
static uint64_t redacted_of(const struct evr_metadata *meta,
                            const struct eventring_change *change) {
  const uint64_t redacted = meta->status.redacted, all = evr_named_classes(meta->header.classes);
  const uint64_t lifecycle = EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE);
  switch (change->what) {
    case EVENTRING_CONTROL_ENABLE:
      return (change->classes | lifecycle) == all ? 0 : change->classes & redacted;
    case EVENTRING_CONTROL_SAMPLE: case EVENTRING_CONTROL_RATE:
      return change->rate > 0 ? EVENTRING_CLASS_BIT(EVENTRING_CLASS_ALLOC) & redacted : 0;
    case EVENTRING_CONTROL_SPANS:
      return change->spans && change->spans[0]
                 ? EVENTRING_CLASS_BIT(EVENTRING_CLASS_CALLS) & redacted
                 : 0;
    default: return 0;
  }
}

static int check_change(const struct evr_metadata *meta, const struct eventring_change *change,
                        struct eventring_error *error) {
  const enum eventring_control what = change->what;
  const bool samples = what == EVENTRING_CONTROL_SAMPLE || what == EVENTRING_CONTROL_RATE;
  bool lists = what == EVENTRING_CONTROL_ENABLE || what == EVENTRING_CONTROL_DISABLE;
  uint64_t unknown = lists ? change->classes & ~evr_named_classes(meta->header.classes) : 0;
  if (what < EVENTRING_CONTROL_PAUSE || what > EVENTRING_CONTROL_LINES)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "unknown request %d", (int)what);
  if (unknown)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "class %d has no name in this recording", __builtin_ctzll(unknown));
  if (samples && !(change->rate >= 0 && change->rate <= 1))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "a rate of samples must be 0 to 1");
  if (meta->source.packed)
    return evr_fail(error, EVENTRING_E_STATE, 0, "%.300s: a compressed copy", meta->path);
  if (evr_metadata_liveness(meta) != EVENTRING_LIVE)
    return evr_fail(error, EVENTRING_E_STATE, 0,
                    "%.300s: no live process records into it", meta->path);
  if (samples && !meta->header.classes[EVENTRING_CLASS_ALLOC][0])
    return evr_fail(error, EVENTRING_E_STATE, 0, "%.300s: %s", meta->path, does_not_sample);
  const uint64_t redacted = redacted_of(meta, change);
  if (redacted)
    return evr_fail(error, EVENTRING_E_STATE, 0, "class %s must not be recorded in this process, "
                    "which was started so", meta->header.classes[__builtin_ctzll(redacted)]);
  return check_obeyed(meta, what, error);
}

static void set_rate(struct format_control *control, double rate) {
  uint64_t bits;
  memcpy(&bits, &rate, sizeof bits);
  /* release, which has no partner and could be relaxed: the process loads the rate
     relaxed (eventring_memory_rate in allocations.c, word_of in follow.c), and nothing
     else is reached through it */
  __atomic_store_n(&control->sample_rate, bits, __ATOMIC_RELEASE);
}

/* Sets the rate first and then switches class ALLOC, because the process reads the rate
   when it sees the class on. */
static void set_sampling(const struct evr_metadata *meta, struct format_control *control,
                         double rate) {
  set_rate(control, rate);
  evr_control_change(control, (enum format_clock)meta->header.clock,
                     classes_of(meta),
                     rate > 0 ? EVR_ADD : EVR_REMOVE,
                     EVENTRING_CLASS_BIT(EVENTRING_CLASS_ALLOC));
}

/* Writes the list of names first and then switches class CALLS, because the process reads
   the list when it sees the class on. */
static void set_spans(const struct evr_metadata *meta, struct format_control *control,
                      const char *names) {
  const bool on = names && names[0];
  evr_control_write_list(&control->spans, names);
  evr_control_change(control, (enum format_clock)meta->header.clock,
                     classes_of(meta), on ? EVR_ADD : EVR_REMOVE,
                     EVENTRING_CLASS_BIT(EVENTRING_CLASS_CALLS));
  evr_control_request(control, FORMAT_REQUEST_SPANS);
}

struct page_change {
  const struct evr_metadata *meta;
  const struct eventring_change *change;
};

static bool changes_calls(const struct eventring_change *change) {
  const bool lists = change->what == EVENTRING_CONTROL_ENABLE ||
                     change->what == EVENTRING_CONTROL_DISABLE;
  return lists && change->classes >> EVENTRING_CLASS_CALLS & 1;
}

/* Makes a change that has been checked. */
static int change_page(struct format_control *page, void *context) {
  const struct page_change *p = context;
  const struct eventring_change *change = p->change;
  switch (change->what) {
    case EVENTRING_CONTROL_TRIGGERS:
      evr_control_write_list(&page->triggers, change->triggers);
      break;
    case EVENTRING_CONTROL_SPANS:
      set_spans(p->meta, page, change->spans);
      break;
    case EVENTRING_CONTROL_SAMPLE:
      set_sampling(p->meta, page, change->rate);
      break;
    case EVENTRING_CONTROL_RATE:
      set_rate(page, change->rate);
      break;
    case EVENTRING_CONTROL_HOLD:
      __atomic_store_n(&page->hold_ns, change->hold_ns, __ATOMIC_RELAXED);
      break;
    case EVENTRING_CONTROL_PROFILE:
      evr_control_profile(page, change->on);
      break;
    case EVENTRING_CONTROL_STACKS:
      evr_control_ask_stacks(page, change->on);
      break;
    case EVENTRING_CONTROL_LINES:
      evr_control_ask_lines(page, change->on);
      break;
    default:
      /* a request to switch all calls on or off empties the list of functions */
      if (changes_calls(change)) evr_control_write_list(&page->spans, NULL);
      evr_control_change(page, (enum format_clock)p->meta->header.clock,
                         classes_of(p->meta), changes[change->what],
                         change->classes);
  }
  /* the process must install the code that writes these events */
  if (change->what == EVENTRING_CONTROL_ENABLE && changes_calls(change))
    evr_control_request(page, FORMAT_REQUEST_SPANS);
  return EVENTRING_OK;
}

/* Checks the directories for copies. A directory is made at the first copy, so its parent
   has to be there. */
static int check_directories(const eventring_cursor *cursor, const char *list,
                             struct eventring_error *error) {
  const pid_t pid = cursor->process > 0 ? cursor->process : cursor->meta.header.pid;
  struct evr_trigger_text trigger;
  size_t at = 0;
  int status = EVENTRING_OK;
  while (status == EVENTRING_OK &&
         evr_trigger_text_next(&trigger, list, strlen(list), &at, NULL) > 0)
    if (trigger.directory[0])
      status = evr_process_can_write(pid, evr_source_descriptor(&cursor->meta.source),
                                     trigger.directory, error);
  return status;
}

/* Checks the names of functions, which are separated by commas. */
static int check_names(const char *names, struct eventring_error *error) {
  if (names && strlen(names) > EVENTRING_MAX_CALL_NAMES)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "the names of functions have more than %d bytes "
                    "together",
                    EVENTRING_MAX_CALL_NAMES);
  for (const char *at = names; at && *at; at++)
    if ((unsigned char)*at < ' ' || *at == 0x7f)
      return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                      "a name of a function has a control character");
  return EVENTRING_OK;
}

static int check_list(const char *list, struct eventring_error *error) {
  int count = list ? eventring_triggers_check(list, strlen(list), error) : 0;
  return count < 0 ? count : EVENTRING_OK;
}

int eventring_cursor_control_check(eventring_cursor *cursor, const struct eventring_change *change,
                                   struct eventring_error *error) {
  int status = EVENTRING_OK;
  if (!change) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no change");
  if (change->what == EVENTRING_CONTROL_TRIGGERS) status = check_list(change->triggers, error);
  if (change->what == EVENTRING_CONTROL_SPANS) status = check_names(change->spans, error);
  if (status == EVENTRING_OK) status = evr_control_page_check(cursor, error);
  if (status == EVENTRING_OK) status = check_change(&cursor->meta, change, error);
  if (status == EVENTRING_OK && change->what == EVENTRING_CONTROL_TRIGGERS && change->triggers)
    status = check_directories(cursor, change->triggers, error);
  return status;
}

int eventring_cursor_control(eventring_cursor *cursor, const struct eventring_change *change,
                             struct eventring_error *error) {
  if (change && change->what == EVENTRING_CONTROL_ASK)
    return evr_ask(cursor, change->kinds, error);
  if (change && change->what == EVENTRING_CONTROL_ASK_NO_MORE)
    return evr_ask_no_more(cursor, error);
  int status = eventring_cursor_control_check(cursor, change, error);
  if (status != EVENTRING_OK) return status;
  struct page_change p = {&cursor->meta, change};
  return evr_control_page_act_on(&cursor->meta, change_page, &p, error);
}

int eventring_control(const char *path, const struct eventring_change *change,
                      struct eventring_error *error) {
  eventring_cursor *cursor;
  int status = evr_open_path(&cursor, path, 0, error);
  if (status != EVENTRING_OK) return status;
  status = eventring_cursor_control(cursor, change, error);
  eventring_close(cursor);
  return status;
}
