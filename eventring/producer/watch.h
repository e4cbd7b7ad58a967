/* SPDX-License-Identifier: MIT */
/* watch.h: the triggers of this process: what they watch, and what was seen.
 *
 * A trigger is an entry of a table. The probes of rings with events that an entry is
 * about take the slow path (evr_watched_rings, lane.h), which calls evr_watch_event for
 * each. The values compared there are atomics, because another thread may change the
 * entry meanwhile; a value that seems to fulfil the condition is checked again under the
 * lock of the table. An entry that fires becomes due, and the helper of trigger/ makes
 * the copy.
 */
#ifndef EVENTRING_WATCH_H
#define EVENTRING_WATCH_H

#include "conditions/trigger_text.h"
#include "format/format.h"

#pragma GCC visibility push(hidden)

/* ---- What a domain has seen: its owner's ------------------------------------------- */

enum { EVR_WATCHED_OPEN = 32 }; /* most open spans; when there are more, the oldest are
                                   dropped */

struct evr_watching { /* all zero: nothing seen */
  struct eventring_pause pause; /* the pause so far, in ticks */
  uint32_t depth;      /* spans of class gc that are open */
  uint16_t open_count;
  uint32_t switches_seen; /* entries of the control log that were applied */
  int64_t heap;         /* bytes; its share of the sum of all domains */
  struct {
    uint64_t context, since; /* ticks */
    uint16_t id;
  } open[EVR_WATCHED_OPEN]; /* the oldest first */
};

struct evr_watched { /* an event as it was written */
  uint64_t context, tail, ticks;
  const uint64_t *payload;
  uint64_t rate; /* the multiplier of the clock */
  bool no_cpu_time; /* ends do not say for how long the thread was off the processor */
};
/* Compares an event. Returns the entries that fired, bit n for entry n. Uses the times of
   the events, so durations agree with those that readers show. */
uint64_t evr_watch_event(struct evr_watching *watching, const struct evr_watched *event);
/* Drops the open spans that the entries of the control log up to `now` tear at an event
   (doc/FORMAT.md, section 4): what followed their begins was not recorded. To be called
   before the event is compared, if `now`, which was loaded with acquire, is not
   `switches_seen`. */
void evr_watch_switched(struct evr_watching *watching, const struct format_control *control,
                        uint32_t now, uint64_t ticks);
/* Resets the open spans and the heap of a domain. */
void evr_watch_forget(struct evr_watching *watching);
/* Returns the id of the event of an entry that has just fired, or 0 if it has none, and
   stores the value. */
unsigned evr_watch_fired(unsigned entry, int64_t *value);
/* Makes these entries due and wakes the helper. Async-signal-safe. */
void evr_watch_post(uint64_t entries);
/* Compares an error or a signal, which is no event (subject ERROR or SIGNAL). Returns the
   entries that fired. With in_handler it is async-signal-safe, and fires nothing when the
   lock is not free. */
uint64_t evr_watch_happened(enum eventring_subject subject, double value, bool in_handler);

/* ---- The table --------------------------------------------------------------------- */

/* Adds an entry, whose event has this id. Returns its number, or E_FULL. Under the mutex;
   call evr_catalogue_watch_locked afterwards. */
int evr_watch_add_locked(const struct evr_trigger_text *text, enum eventring_trigger_owner owner,
                         unsigned event_id, struct eventring_error *error);
/* Removes the entries with this number (0: any) and this owner (0: any). Returns how
   many. Under the mutex; call evr_catalogue_watch_locked afterwards. */
unsigned evr_watch_remove_locked(int number, enum eventring_trigger_owner owner);
/* Tells whether there is any trigger. */
bool evr_watch_any(void);
/* Returns the classes that the entries need. */
uint64_t evr_watch_classes(void);
/* Begins to determine which rings are watched, before all definitions are passed to
   evr_watch_define_locked again. */
void evr_watch_begin_locked(void);
/* Determines whether events of a definition are watched. Under the mutex. */
void evr_watch_define_locked(unsigned id, const struct eventring_def *def);
/* Takes, or releases, the lock of the table around a fork; evr_watch_after_fork renews
   the table in the child, whose only thread holds the lock. */
void evr_watch_lock(void);
void evr_watch_unlock(void);
void evr_watch_after_fork(void);

/* ---- For the helper ---------------------------------------------------------------- */

extern uint32_t evr_watch_work; /* futex: raised when an entry is due, or to end the
                                   helper */
struct evr_watch_job {
  unsigned entry;
  int number; /* number of the trigger */
  enum eventring_subject subject;
  char directory[EVENTRING_MAX_TRIGGER_TEXT + 1];
  uint64_t room; /* bytes that the copy may have */
};
/* Takes the next entry that is due, which becomes busy. Returns false when there is
   none. */
bool evr_watch_take(struct evr_watch_job *job);
/* Notes that the copy of a job was made, with `bytes` bytes, or failed with `status`.
   Returns true when the failure is to be reported. */
bool evr_watch_done(const struct evr_watch_job *job, uint64_t bytes, int status);
/* Tells whether an entry is due or busy. Async-signal-safe. */
bool evr_watch_is_busy(void);
/* Shows the state of all entries in this table from now on; it has FORMAT_TRIGGER_STATES
   entries, all 0. If `table` is NULL, no state is shown. */
void evr_watch_show(struct format_trigger *table);
/* Describes the entry at `index` among those that are set. Returns false when there is
   none. */
bool evr_watch_describe(unsigned index, struct eventring_trigger *trigger);

#pragma GCC visibility pop

#endif /* EVENTRING_WATCH_H */
