/* SPDX-License-Identifier: MIT */
/* vm/traces.h: trace context of spans and coroutines (design: top of traces.c). */
#ifndef SAROS_VM_TRACES_H
#define SAROS_VM_TRACES_H

#include "context.h"
#include "domain.h"
#include "thread.h"

/* ---- spans of L, the running thread ---- */

/* Prepares the begin of a span that gets ids, so that context_begin_span and traces_begun
 * then neither collect nor raise. This function itself may collect, and raise if memory
 * is short. */
void traces_prepare(lua_State *L);
/* Writes the ids of the span whose begin has just been written. */
void traces_begun(lua_State *L, const struct eventring_trace *ids);
/* Sets *ids to those for outgoing requests of L: the trace of the nearest enclosing span
 * that has one, or else the trace that L inherited, and the id of the innermost span. If
 * that span has no id yet, it may be given one here. Returns false if there is no
 * trace, if it is not known, or if nothing is recorded. May collect, and raise if memory
 * is short. */
bool traces_outgoing(lua_State *L, struct eventring_trace *ids);

/* ---- spans that would have ids, but begin while nothing is recorded ---- */

/* Tells whether a span that begins unrecorded would hide a trace. If not, the span need
   not be noted. */
bool traces_would_hide(const lua_State *L);
/* Notes that a span that would have ids has begun unrecorded. `id` is the id of its name
 * if end_span is to end it, otherwise EVENTRING_ID_OTHER. Returns the number that stands
 * for its end: `id`, or for EVENTRING_ID_OTHER a number that is no event's id. May
 * collect, and raise if memory is short. */
uint32_t traces_begun_unrecorded(lua_State *L, unsigned id);
/* Notes that the unrecorded span with this number has ended. Does nothing if the span is
   not known any more. */
void traces_ended_unrecorded(lua_State *L, uint32_t end);

/* ---- coroutines and domains ---- */

/* Lets co, a coroutine that the running thread L has created, inherit the trace of L. To
 * be called only if Domain.traces is set. May collect, and raise if memory is short. */
void traces_inherit(lua_State *L, lua_State *co);
/* Lets the main thread L of a new domain inherit the ids that traces_outgoing set in
   another domain. May collect, and raise if memory is short. */
void traces_inherit_from(lua_State *L, const struct eventring_trace *ids);

/* ---- for contexts.c ---- */

/* Writes inherited ids if needed, before a span begins in the context. Called only while
 * the class of the span is recorded. This and the functions below, except
 * context_set_checked, are called only if the context has_traces. */
void traces_before_begin(Domain *d, Context *c);
/* Notes that the depth-th open span of the context has ended. */
void traces_ended(Context *c, uint32_t depth);
/* Notes that all open spans of the context have ended. */
void traces_all_ended(Context *c);
/* Tells whether the end with this number belongs to a span that began unrecorded, inside
 * the depth-th open span; if so, notes that the span has ended. */
bool traces_end_unrecorded(Context *c, uint32_t end, uint32_t depth);
/* Recomputes Context.checked. */
void context_set_checked(Context *c);

#endif
