/* SPDX-License-Identifier: MIT */
/* remote.c: controlling the recording of another process.
 *
 * The control page is mapped for writing only for the moment of the change
 * (control_page.h), after the file was checked like any other (metadata.c) and found to have
 * a live producer. control.c has the rules of its contents and changes.
 */
#include "reader/control_page.h"
#include "reader/cursor.h"
#include "reader/locate.h"
#include "eventring/conditions.h"
#include "format/atomics.h"
#include "format/clock.h"
#include "format/control.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    return evr_control_page_obeys(meta, FORMAT_WORD_SAMPLE_RATE, does_not_sample, error);
  case EVENTRING_CONTROL_PROFILE:
    return evr_control_page_obeys(meta, FORMAT_WORD_CALL_PROFILE,
                                  "its process keeps no profiles of calls", error);
  case EVENTRING_CONTROL_STACKS:
    return evr_control_page_obeys(meta, FORMAT_WORD_STACKS, "its process writes no stacks", error);
  case EVENTRING_CONTROL_TRIGGERS:
    return evr_control_page_obeys(meta, FORMAT_WORD_TRIGGERS, "it has no triggers", error);
  default:
    return evr_control_page_obeys(meta, FORMAT_WORD_WANTED, "its process cannot be controlled",
                                  error);
  }
}

static int check_change(const struct evr_metadata *meta, const struct eventring_change *change,
                        struct eventring_error *error) {
  const enum eventring_control what = change->what;
  bool lists = what == EVENTRING_CONTROL_ENABLE || what == EVENTRING_CONTROL_DISABLE;
  uint64_t unknown = lists ? change->classes & ~evr_named_classes(meta->header.classes) : 0;
  if (what < EVENTRING_CONTROL_PAUSE || what > EVENTRING_CONTROL_TRIGGERS)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "unknown request %d", (int)what);
  if (unknown)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "class %d has no name in this recording", __builtin_ctzll(unknown));
  if (what == EVENTRING_CONTROL_SAMPLE && !(change->rate >= 0 && change->rate <= 1))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "a rate of samples must be 0 to 1");
  if (meta->source.packed)
    return evr_fail(error, EVENTRING_E_STATE, 0, "%.300s: a compressed copy", meta->path);
  if (evr_metadata_liveness(meta) != EVENTRING_LIVE)
    return evr_fail(error, EVENTRING_E_STATE, 0,
                    "%.300s: no live process records into it", meta->path);
  if (what == EVENTRING_CONTROL_SAMPLE && !meta->header.classes[EVENTRING_CLASS_ALLOC][0])
    return evr_fail(error, EVENTRING_E_STATE, 0, "%.300s: %s", meta->path, does_not_sample);
  return check_obeyed(meta, what, error);
}

/* The rate is there before the class is on: the process reads both. */
static void set_sampling(const struct evr_metadata *meta, struct format_control *control,
                         double rate) {
  uint64_t bits;
  memcpy(&bits, &rate, sizeof bits);
  __atomic_store_n(&control->sample_rate, bits, __ATOMIC_RELEASE);
  evr_control_change(control, (enum format_clock)meta->header.clock,
                     evr_named_classes(meta->header.classes),
                     rate > 0 ? EVR_ADD : EVR_REMOVE,
                     EVENTRING_CLASS_BIT(EVENTRING_CLASS_ALLOC));
}

static void change_profile(struct format_control *control, bool on) {
  if (on) __atomic_fetch_or(&control->call_profile, FORMAT_PROFILE_CALLS, __ATOMIC_RELAXED);
  else
    __atomic_fetch_and(&control->call_profile, ~(uint32_t)FORMAT_PROFILE_CALLS,
                       __ATOMIC_RELAXED);
}

enum { TAKE_OVER_MS = 100 };

/* A writer makes the version odd. One that has died meanwhile is taken over from. */
static uint32_t open_triggers(struct format_control *control) {
  uint32_t version = __atomic_load_n(&control->triggers_version, __ATOMIC_ACQUIRE), stuck = version;
  uint64_t since = evr_monotonic_ns();
  while (true) {
    bool odd = version & 1;
    if (version != stuck) since = evr_monotonic_ns();
    stuck = version;
    if (odd && evr_monotonic_ns() - since < TAKE_OVER_MS * (uint64_t)1000000) {
      nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
      version = __atomic_load_n(&control->triggers_version, __ATOMIC_ACQUIRE);
    } else if (__atomic_compare_exchange_n(&control->triggers_version, &version,
                                           version + (odd ? 2 : 1), false, __ATOMIC_SEQ_CST,
                                           __ATOMIC_ACQUIRE)) {
      return version + (odd ? 2 : 1);
    }
  }
}

static void write_triggers(struct format_control *control, const char *list) {
  uint64_t words[FORMAT_TRIGGERS_BYTES / 8] = {0};
  const size_t size = list ? strlen(list) : 0;
  if (size) memcpy(words, list, size);
  uint32_t version = open_triggers(control);
  evr_fence_release(); /* pairs with the acquire fence of triggers.c: who sees a word of this
                          list sees the odd version */
  __atomic_store_n(&control->triggers_bytes, (uint32_t)size, __ATOMIC_RELAXED);
  evr_store_words(control->triggers, words, sizeof words);
  /* one that was taken over from, and is not dead, has changed the list: nobody takes it */
  __atomic_compare_exchange_n(&control->triggers_version, &version, version + 1, false,
                              __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

struct page_change {
  const struct evr_metadata *meta;
  const struct eventring_change *change;
};

/* Of a change that was checked. */
static int change_page(struct format_control *page, void *context) {
  const struct page_change *p = context;
  const struct eventring_change *change = p->change;
  switch (change->what) {
  case EVENTRING_CONTROL_TRIGGERS:
    write_triggers(page, change->triggers);
    break;
  case EVENTRING_CONTROL_SAMPLE:
    set_sampling(p->meta, page, change->rate);
    break;
  case EVENTRING_CONTROL_HOLD:
    __atomic_store_n(&page->hold_ns, change->hold_ns, __ATOMIC_RELAXED);
    break;
  case EVENTRING_CONTROL_PROFILE:
    change_profile(page, change->on);
    break;
  case EVENTRING_CONTROL_STACKS:
    evr_control_ask_stacks(page, change->on);
    break;
  default:
    evr_control_change(page, (enum format_clock)p->meta->header.clock,
                       evr_named_classes(p->meta->header.classes), changes[change->what],
                       change->classes);
  }
  /* it must install what writes these events */
  if (change->what == EVENTRING_CONTROL_ENABLE && change->classes >> EVENTRING_CLASS_CALLS & 1)
    __atomic_fetch_or(&page->call_profile, FORMAT_PROFILE_SPANS, __ATOMIC_RELAXED);
  return EVENTRING_OK;
}

static int check_list(const char *list, struct eventring_error *error) {
  int count = list ? eventring_triggers_check(list, strlen(list), error) : 0;
  return count < 0 ? count : EVENTRING_OK;
}

int eventring_cursor_control(eventring_cursor *cursor, const struct eventring_change *change,
                             struct eventring_error *error) {
  if (!change) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no change");
  if (change->what == EVENTRING_CONTROL_ASK) return evr_ask(cursor, change->kinds, error);
  if (change->what == EVENTRING_CONTROL_ASK_NO_MORE) return evr_ask_no_more(cursor, error);
  int status = EVENTRING_OK;
  if (change->what == EVENTRING_CONTROL_TRIGGERS) status = check_list(change->triggers, error);
  if (status == EVENTRING_OK) status = evr_control_page_check(cursor, error);
  if (status == EVENTRING_OK) status = check_change(&cursor->meta, change, error);
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
