/* SPDX-License-Identifier: MIT */
/* vm/contexts.h: coroutines as contexts of the recording (design: top of contexts.c). */
#ifndef SAROS_VM_CONTEXTS_H
#define SAROS_VM_CONTEXTS_H

#include "context.h"
#include "domain.h"
#include "probes.h"
#include "thread.h"
#include "watch.h"

/* Returns the context of a thread, or NULL if it has none yet. */
ALWAYS_INLINE Context *context_find(const lua_State *L) {
  if (!is_userdata(L->stack)) return NULL;
  rt_assert(as_userdata(L->stack)->nuservalues == 0);
  return (Context *)(void *)as_userdata(L->stack)->uservalues;
}

/* Returns the context of the running coroutine L, and makes it if needed; for C functions
 * that record an event of the guest whose class is recorded. May collect, and raise if
 * memory is short. */
Context *context_of_coroutine(lua_State *L);

/* Makes the context of L the context of the user ring, for the events that follow. May
   collect and raise like context_of_coroutine. */
ALWAYS_INLINE void context_enter(lua_State *L) {
  Domain *d = L->domain;
  uint64_t id = likely(L == d->main_thread) ? 0 : context_of_coroutine(L)->id;
  eventring_set_context(d->rings, EVENTRING_USER, id);
}

/* Enters the context of L and notes the begin or the end of a span in it. */
void context_begin_span(lua_State *L, unsigned id);
void context_end_span(lua_State *L, unsigned id);

/* Returns the context of L if a span may begin in it without anything being made or
 * marked first, or NULL if context_begin_span must be used. Direct functions
 * (primitives.h) use this and context_to_end instead of the functions above. */
ALWAYS_INLINE Context *context_to_begin(const lua_State *L) {
  Context *c = L->spans;
  return likely(c->count < CONTEXT_SPANS) ? c : NULL;
}
/* Notes that span `id` begins in such a context. The first function takes the id, the
   second function makes it count. */
ALWAYS_INLINE void context_note_span(Context *c, uint64_t id) { c->open[c->count] = (uint16_t)id; }
ALWAYS_INLINE void context_add_span(Context *c) { c->count++; }
/* Returns the context of L if span `id` is its innermost open one and its end has no
 * further effects (Context.checked); otherwise NULL. */
ALWAYS_INLINE Context *context_to_end(const lua_State *L, uint64_t id) {
  Context *c = L->spans;
  const size_t count = c->count;
  if (unlikely((uint8_t)count <= c->checked)) return NULL; /* one comparison of bytes */
  return likely(c->open[count - 1] == id) ? c : NULL;
}
/* Makes L->spans follow a change of L's marks or of its context. */
void context_follow_marks(lua_State *L);
/* Sets *id to the context of L's events. Returns false if L has no context yet. */
ALWAYS_INLINE bool context_is_known(const lua_State *L, uint64_t *id) {
  const Context *c = L == L->domain->main_thread ? NULL : context_find(L);
  *id = c != NULL ? c->id : 0;
  return c != NULL || L == L->domain->main_thread;
}
/* Notes that a span of the coroutine L has ended while nothing is recorded. Never
   raises. */
void context_forget_span(lua_State *L, unsigned id);
/* Checks the ends of L's spans from now on, until none is awaited. L has a context. */
void context_await_ends(lua_State *L);
/* Stops checking the ends of L's spans if none is awaited any more. */
void context_ends_came(lua_State *L);

/* Gives the context of the coroutine L a finalizer, which ends its open spans when L is
 * collected. L has a context, which may be replaced with a new one. May collect, and
 * raise if memory is short. */
void context_give_finalizer(lua_State *L);

/* Returns 1 + the id of the innermost open span of L. If L has none, the coroutines that
 * wait for L are searched, from L outwards. Returns 0 if none of them has an open
 * span. */
uint16_t context_innermost_span(const lua_State *L);

/* ---- for the interpreter: coroutines that have INSTRUMENT_SPANS or CALL_SPANS ---- */

/* Notes that the coroutine co yields, or dies of an error. */
void context_leave(lua_State *co) COLD;
/* Notes that a coroutine with INSTRUMENT_LEFT continues. */
void context_continue(lua_State *co) COLD;
/* Notes that the coroutine has ended, or was closed. */
void context_finish(lua_State *co) COLD;

#endif
