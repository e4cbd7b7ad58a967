/* SPDX-License-Identifier: MIT */
/* runtime/context.h: what a thread has open in the recording (vm/contexts.c); readers in other
 * processes find it, too (doc/INTROSPECTION.md). */
#ifndef SAROS_RUNTIME_CONTEXT_H
#define SAROS_RUNTIME_CONTEXT_H

#include "eventring/trace.h"
#include "object.h"

#define CONTEXT_SPANS 64 /* open spans of which the ids are kept: those that an end may close */

/* A coroutine has one when it has recorded an event or inherits a trace, the main thread when it
 * has recorded the begin of a span. Payload of a userdata, without user values, in the first slot
 * of the thread's stack. */
typedef struct Context {
  uint64_t id;
  uint32_t hidden;              /* open spans outside of those in `open` */
  uint16_t count;
  bool has_finalizer : 1;
  bool has_traces : 1;          /* struct ContextTraces follows */
  /* of the first so many of `open` the end takes the slow path: the last span of a coroutine, those
   * with a trace */
  uint8_t checked;
  uint16_t open[CONTEXT_SPANS]; /* ids of the innermost open spans, the outermost first */
} Context;

/* The ids of an open span, or what is inherited; or that there is a span of which the ids are not
 * known (vm/traces.c). */
typedef struct SpanTrace {
  struct eventring_trace ids;
  bool is_unknown;
  uint32_t end;   /* if it is: what its end is known by; EVENTRING_ID_OTHER: nothing */
  uint32_t depth; /* open spans of the context up to this one, hidden ones included */
  uint64_t block; /* of the ring, in which the ids were last written */
} SpanTrace;

/* Behind the Context of a thread that has, or has had, a span with a trace, or inherits one. */
typedef struct ContextTraces {
  uint64_t life; /* eventring_trace_place: of the latest look */
  uint32_t torn; /* the outermost so many open spans are open no more for readers */
  uint8_t count, room; /* of `of` */
  bool inherits;
  SpanTrace inherited;
  SpanTrace of[]; /* open spans with ids, and unknown ones, the outermost first */
} ContextTraces;

#define context_traces(c) ((ContextTraces *)(void *)((c) + 1))
_Static_assert(sizeof(Context) % 8 == 0, "alignment of what follows");

#endif
