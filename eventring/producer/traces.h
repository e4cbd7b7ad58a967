/* SPDX-License-Identifier: MIT */
/* traces.h: the data of a domain for trace context (traces.c). */
#ifndef EVENTRING_PRODUCER_TRACES_H
#define EVENTRING_PRODUCER_TRACES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "eventring/types.h"
#include "format/format.h"

struct evr_traces { /* owner; zeroed, it is empty */
  uint8_t random[256]; /* random bytes from the system; the last `left` are unused */
  uint16_t left;       /* 0 in the child of a fork (domains.c) */
  uint32_t switches;   /* entries of the control log that were seen */
  uint64_t recording;  /* start of the recording in which `life` was last asked for, in
                          ticks */
  uint32_t incarnation; /* incarnation of the domain in that recording */
  uint64_t life;       /* changes with `recording` and `incarnation`, and after class user
                          was off */
};

/* Tells whether this is the event that carries the ids of a trace and a span. */
static inline bool evr_traces_is_event(unsigned kind, unsigned event_class, unsigned payload,
                                       const char *name) {
  return kind == EVENTRING_DEF_INSTANT && event_class == EVENTRING_CLASS_USER &&
         payload == EVENTRING_BYTES && strcmp(name, FORMAT_TRACE_NAME) == 0;
}

#endif /* EVENTRING_PRODUCER_TRACES_H */
