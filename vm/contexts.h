/* SPDX-License-Identifier: MIT */
/* vm/contexts.h: coroutines as contexts of the recording (design: top of contexts.c). */
#ifndef SAROS_VM_CONTEXTS_H
#define SAROS_VM_CONTEXTS_H

#include "domain.h"
#include "probes.h"
#include "thread.h"

#define CONTEXT_SPANS 64 /* open spans of which the ids are kept: those that an end may close */

/* Of a coroutine that has recorded an event. Payload of a userdata in the first slot of its
 * stack. */
typedef struct Context {
  uint64_t id;
  uint32_t hidden;              /* open spans outside of those in `open` */
  uint16_t count;
  bool has_finalizer;
  uint16_t open[CONTEXT_SPANS]; /* ids of the innermost open spans, the outermost first */
} Context;

/* The context of a coroutine, NULL: it has none yet. */
ALWAYS_INLINE Context *context_find(const lua_State *L) {
  return is_userdata(L->stack) ? userdata_payload(as_userdata(L->stack)) : NULL;
}

/* For C functions that record an event of the guest, whose class is recorded; L runs.
 * A coroutine gets its context here; may collect, and raise when memory is short. */
Context *context_of_coroutine(lua_State *L);

/* The events that follow in the user ring are those of L. Likewise. */
ALWAYS_INLINE void context_enter(lua_State *L) {
  Domain *d = L->domain;
  uint64_t id = likely(L == d->main_thread) ? 0 : context_of_coroutine(L)->id;
  eventring_set_context(d->rings, EVENTRING_USER, id);
}

/* The same, for the begin and the end of a span, which are noted. */
void context_begin_span(lua_State *L, unsigned id);
void context_end_span(lua_State *L, unsigned id);
/* A span of a coroutine ends while nothing is recorded. Never raises. */
void context_forget_span(lua_State *L, unsigned id);

/* ---- for the interpreter: coroutines that have INSTRUMENT_SPANS or CALL_SPANS ---- */

/* The coroutine yields, or dies of an error. */
void context_leave(lua_State *co) COLD;
/* It goes on (INSTRUMENT_LEFT). */
void context_continue(lua_State *co) COLD;
/* It has ended, or was closed. */
void context_finish(lua_State *co) COLD;

#endif
