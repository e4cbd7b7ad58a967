/* SPDX-License-Identifier: MIT */
/* traces.h: the ids of spans that belong to a trace (<eventring/trace.h>). */
#ifndef EVENTRING_ANALYSIS_TRACES_H
#define EVENTRING_ANALYSIS_TRACES_H

#include "eventring/read.h"
#include "eventring/trace.h"

/* Tells whether the event gives the ids of a span, or the ids that its context has
   inherited (doc/FORMAT.md, section 9), and stores them in *ids. To be called during the
   callback. */
static inline bool eva_trace(const struct eventring_event *event, struct eventring_trace *ids) {
  if (event->kind != EVENTRING_INSTANT || event->event_class != EVENTRING_CLASS_USER ||
      event->payload != EVENTRING_BYTES || event->size != sizeof *ids ||
      event->flags & (EVENTRING_TRUNCATED | EVENTRING_UNKNOWN) || strcmp(event->name, "trace") != 0)
    return false;
  memcpy(ids, event->bytes, sizeof *ids);
  return true;
}

#endif /* EVENTRING_ANALYSIS_TRACES_H */
