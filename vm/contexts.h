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
  if (!is_userdata(L->stack)) return NULL;
  rt_assert(as_userdata(L->stack)->nuservalues == 0);
  return (Context *)(void *)as_userdata(L->stack)->uservalues;
}

/* The same of a thread that has INSTRUMENT_SPANS or INSTRUMENT_MAIN_SPANS: it has one. */
ALWAYS_INLINE Context *context_in_use(const lua_State *L) {
  rt_assert(context_find(L) != NULL);
  return (Context *)(void *)as_userdata(L->stack)->uservalues;
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

/* Those two for direct functions (primitives.h), in parts. The context of L, in which a
 * span may begin without anything being made or marked first; NULL: by
 * context_begin_span. */
ALWAYS_INLINE Context *context_to_begin(const lua_State *L) {
  if (unlikely(!(L->instrumented & (INSTRUMENT_SPANS | INSTRUMENT_MAIN_SPANS)))) return NULL;
  Context *c = context_in_use(L);
  return likely(c->count < CONTEXT_SPANS) ? c : NULL;
}
ALWAYS_INLINE void context_add_span(Context *c, unsigned id) { c->open[c->count++] = (uint16_t)id; }
/* ... and in which this is the innermost open span, and none of those whose end is more
 * than that (Context.checked). */
ALWAYS_INLINE Context *context_to_end(const lua_State *L, unsigned id) {
  if (unlikely(!(L->instrumented & (INSTRUMENT_SPANS | INSTRUMENT_MAIN_SPANS)))) return NULL;
  Context *c = context_in_use(L);
  unsigned last = c->count - 1u;
  if (unlikely(c->count <= c->checked)) return NULL;
  return likely(c->open[last] == id) ? c : NULL;
}
/* The context of L's events, if it has one already. */
ALWAYS_INLINE bool context_is_known(const lua_State *L, uint64_t *id) {
  const Context *c = L == L->domain->main_thread ? NULL : context_find(L);
  *id = c != NULL ? c->id : 0;
  return c != NULL || L == L->domain->main_thread;
}
/* A span of a coroutine ends while nothing is recorded. Never raises. */
void context_forget_span(lua_State *L, unsigned id);
/* From now on ends of spans of L are looked at, until none is awaited. It has a
   context. */
void context_await_ends(lua_State *L);
/* Are there still some? */
void context_ends_came(lua_State *L);

/* Lets the open spans of the coroutine L end when it is collected. It has a context;
 * another one may be in its place afterwards. May collect, and raise when memory is
 * short. */
void context_give_finalizer(lua_State *L);

/* The innermost open span of L, or of the coroutine that waits for it, and so on: its id
 * plus 1; 0: none. */
uint16_t context_innermost_span(const lua_State *L);

/* ---- for the interpreter: coroutines that have INSTRUMENT_SPANS or CALL_SPANS ---- */

/* The coroutine yields, or dies of an error. */
void context_leave(lua_State *co) COLD;
/* It goes on (INSTRUMENT_LEFT). */
void context_continue(lua_State *co) COLD;
/* It has ended, or was closed. */
void context_finish(lua_State *co) COLD;

#endif
