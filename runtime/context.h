/* SPDX-License-Identifier: MIT */
/* runtime/context.h: what a thread has open in the recording (vm/contexts.c). Readers in
 * other processes find it, too (doc/INTROSPECTION.md). */
#ifndef SAROS_RUNTIME_CONTEXT_H
#define SAROS_RUNTIME_CONTEXT_H

#include "eventring/trace.h"
#include "object.h"

#define CONTEXT_SPANS 64 /* most open spans whose ids are kept: an end may close them */

/* The context of a thread. A coroutine gets one when it records an event or inherits a
 * trace; the main thread gets one when it records the begin of a span. A Context is the
 * payload of a userdata without user values in the first slot of the thread's stack. */
typedef struct Context {
  uint64_t id;
  uint32_t hidden;              /* number of outer open spans, which are not in `open` */
  uint16_t count;               /* at most CONTEXT_SPANS */
  bool has_finalizer : 1;
  bool has_traces : 1;          /* struct ContextTraces follows */
  /* the end of any of the first `checked` spans in `open` takes the slow path: the last
   * span of a coroutine, and spans with a trace */
  uint8_t checked;
  uint16_t open[CONTEXT_SPANS]; /* ids of the innermost open spans, outermost first */
} Context;

/* Stands for the context of a thread without one that is in use (lua_State.spans): no
   span begins or ends in it in place. */
HIDDEN extern const Context context_none;

/* The ids of an open span, or the ids that a thread inherits. If `is_unknown` is set, it
 * stands for a span whose ids are not known (vm/traces.c). */
typedef struct SpanTrace {
  struct eventring_trace ids;
  bool is_unknown;
  /* if is_unknown, the id by which its end is recognized, or EVENTRING_ID_OTHER if there
     is none */
  uint32_t end;
  /* number of open spans of the context up to this span, with hidden ones */
  uint32_t depth;
  uint64_t block; /* block of the ring in which the ids were last written */
} SpanTrace;

/* Follows the Context of a thread that has, or has had, a span with a trace, or inherits
 * one. */
typedef struct ContextTraces {
  uint64_t life; /* the value of eventring_trace_place when it was last called */
  uint32_t torn; /* how many of the outermost open spans readers take for closed */
  uint8_t count, room; /* number of elements of `of`, and its room */
  bool inherits;
  SpanTrace inherited;
  SpanTrace of[]; /* open spans with ids, and unknown spans, outermost first */
} ContextTraces;

#define context_traces(c) ((ContextTraces *)(void *)((c) + 1))
_Static_assert(sizeof(Context) % 8 == 0, "alignment of what follows");

#endif
