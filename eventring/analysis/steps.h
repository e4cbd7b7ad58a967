/* SPDX-License-Identifier: MIT */
/* steps.h: the steps of the collector: the topmost spans of class gc of each domain, with
 * why they ran, what they did, and what the program was doing.
 *
 * A step is reported when it is complete: the counter "pause_work" (bytes;
 * doc/eventring.md asks hosts for it) follows its end. A torn step is counted and not
 * reported.
 *
 * Units: nanoseconds of the recording's clock. Errors: none of its own. Threads: one at a
 * time.
 */
#ifndef EVENTRING_ANALYSIS_STEPS_H
#define EVENTRING_ANALYSIS_STEPS_H

#include <stdbool.h>

#include "analysis/shares.h"
#include "eventring/conditions.h"

enum { EVA_STEP_PHASES = 6 };

struct eva_phase {
  uint16_t id;
  uint64_t ns;
};

struct eva_step {
  uint64_t begin_ns, ns;
  int64_t off_cpu; /* ns for which its thread was not on a processor; -1: not measured */
  int64_t work;    /* bytes; -1: not known */
  uint32_t domain, incarnation;
  uint16_t id;     /* id of its definition */
  int reason;      /* id of the definition that says why it ran; -1: unknown */
  int span;        /* id of the innermost span that the program was in; -1: unknown */
  int function;    /* id of the innermost span of the ring of calls: a function; -1:
                      unknown */
  struct eva_phase phase[EVA_STEP_PHASES]; /* the spans directly in it, by id */
  unsigned phases;
};

typedef void eva_step_callback(void *context, const struct eva_step *step);

struct eva_newest_step { /* the newest step of a domain */
  struct eva_step step;  /* the step that is open, or that waits for its work */
  struct eventring_pause pause;
  uint64_t spans_context;
  bool waits;
  uint8_t ring;
};

struct eva_steps {
  eva_step_callback *report;
  void *context;
  uint64_t torn;
  struct eva_newest_step newest[EVENTRING_MAX_DOMAINS];
};

/* Takes an event of class gc, for eva_steps_event. */
void eva_steps_collector_event(struct eva_steps *steps, const struct eva_shares *shares,
                               const struct eventring_event *event);
/* Takes the next event, after `shares` has taken it. If `shares` is NULL, it is not known
   what the program was doing. */
static inline void eva_steps_event(struct eva_steps *steps, const struct eva_shares *shares,
                                   const struct eventring_event *event) {
  if (event->event_class == EVENTRING_CLASS_GC) eva_steps_collector_event(steps, shares, event);
}
/* Returns the step to which the event belongs: a begin in the list of open spans, or an
   end that has not been passed to eva_steps_event yet. NULL: it belongs to none. */
const struct eva_step *eva_steps_open(const struct eva_steps *steps,
                                      const struct eventring_event *event);
/* Reports the steps that wait for their work; an open step is not reported. */
void eva_steps_finish(struct eva_steps *steps);

#endif
