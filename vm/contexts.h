/* SPDX-License-Identifier: MIT */
/* vm/contexts.h: coroutines as contexts of the recording (design: top of contexts.c). */
#ifndef SAROS_VM_CONTEXTS_H
#define SAROS_VM_CONTEXTS_H

#include "context.h"
#include "domain.h"
#include "probes.h"
#include "thread.h"
#include "watch.h"

/* The context of a thread, NULL: it has none yet. */
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

/* The same, for the begin and the end of a span, which are noted. The second of each is
 * quick where L is the main thread. */
void context_begin_span(lua_State *L, unsigned id);
void context_end_span(lua_State *L, unsigned id);
ALWAYS_INLINE void context_begin_main_span(lua_State *L, unsigned id) {
  Domain *d = L->domain;
  Context *c = likely(L == d->main_thread) ? context_find(L) : NULL;
  if (unlikely(c == NULL || c->count == CONTEXT_SPANS)) {
    context_begin_span(L, id);
    return;
  }
  c->open[c->count++] = (uint16_t)id;
  L->instrumented |= INSTRUMENT_MAIN_SPANS;
  eventring_set_context(d->rings, EVENTRING_USER, 0);
}
ALWAYS_INLINE void context_end_main_span(lua_State *L, unsigned id) {
  Domain *d = L->domain;
  Context *c = likely(L == d->main_thread) ? context_find(L) : NULL;
  if (unlikely(c == NULL || c->count == 0 || c->open[c->count - 1] != id)) {
    context_end_span(L, id);
    return;
  }
  if (--c->count == 0 && c->hidden == 0) L->instrumented &= (uint8_t)~INSTRUMENT_MAIN_SPANS;
  eventring_set_context(d->rings, EVENTRING_USER, 0);
}
/* A span of a coroutine ends while nothing is recorded. Never raises. */
void context_forget_span(lua_State *L, unsigned id);

/* The innermost open span of L, or of the coroutine that waits for it, and so on: its id plus
 * 1; 0: none. */
uint16_t context_innermost_span(const lua_State *L);

/* ---- for the interpreter: coroutines that have INSTRUMENT_SPANS or CALL_SPANS ---- */

/* The coroutine yields, or dies of an error. */
void context_leave(lua_State *co) COLD;
/* It goes on (INSTRUMENT_LEFT). */
void context_continue(lua_State *co) COLD;
/* It has ended, or was closed. */
void context_finish(lua_State *co) COLD;

#endif
