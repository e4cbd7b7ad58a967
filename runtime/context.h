/* SPDX-License-Identifier: MIT */
/* runtime/context.h: what a thread has open in the recording (vm/contexts.c); readers in other
 * processes find it, too (doc/INTROSPECTION.md). */
#ifndef SAROS_RUNTIME_CONTEXT_H
#define SAROS_RUNTIME_CONTEXT_H

#include "object.h"

#define CONTEXT_SPANS 64 /* open spans of which the ids are kept: those that an end may close */

/* A coroutine has one when it has recorded an event, the main thread when that was the begin of a
 * span. Payload of a userdata, without user values, in the first slot of the thread's stack. */
typedef struct Context {
  uint64_t id;
  uint32_t hidden;              /* open spans outside of those in `open` */
  uint16_t count;
  bool has_finalizer;
  uint16_t open[CONTEXT_SPANS]; /* ids of the innermost open spans, the outermost first */
} Context;

#endif
