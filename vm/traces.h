/* SPDX-License-Identifier: MIT */
/* vm/traces.h: trace context of spans and coroutines (design: top of traces.c). */
#ifndef SAROS_VM_TRACES_H
#define SAROS_VM_TRACES_H

#include "context.h"
#include "domain.h"
#include "thread.h"

/* ---- spans; L runs ---- */

/* To be called before the begin of a span that gets ids: afterwards context_begin_span
 * and traces_begun neither collect nor raise. May collect, and raise when memory is
 * short. */
void traces_prepare(lua_State *L);
/* The span whose begin was written just now has these ids. Writes them. */
void traces_begun(lua_State *L, const struct eventring_trace *ids);
/* The ids for what L asks of others: the trace of the nearest enclosing span that has
 * one, or that L inherited, and the id of the innermost span, which may get it here.
 * False: there is none, it is not known, or nothing is recorded. May collect, and raise
 * when memory is short. */
bool traces_outgoing(lua_State *L, struct eventring_trace *ids);

/* ---- spans that would have ids, but begin while nothing is recorded ---- */

/* Would such a span hide a trace? If not, nothing need be known of it. */
bool traces_would_hide(const lua_State *L);
/* It has begun; `id` is that of its name if end_span is to end it, otherwise
 * EVENTRING_ID_OTHER. Returns what its end is known by: the id, or a number that is none.
 * May collect, and raise when memory is short. */
uint32_t traces_begun_unrecorded(lua_State *L, unsigned id);
/* It has ended. Does nothing if it is not known any more. */
void traces_ended_unrecorded(lua_State *L, uint32_t end);

/* ---- coroutines and domains ---- */

/* co was created by L, which runs; the same. Only where Domain.traces. */
void traces_inherit(lua_State *L, lua_State *co);
/* The main thread L of a new domain gets what traces_outgoing said in another. The
   same. */
void traces_inherit_from(lua_State *L, const struct eventring_trace *ids);

/* ---- for contexts.c ---- */

/* A span is about to begin in the context, whose class is recorded. Only if it
   has_traces. */
void traces_before_begin(Domain *d, Context *c);
/* One of its open spans has ended, which was the depth-th. The same. */
void traces_ended(Context *c, uint32_t depth);
/* All have. The same. */
void traces_all_ended(Context *c);
/* Does an end that is known by this belong to a span that began unrecorded, inside the
 * depth-th open one? Then that has ended. The same. */
bool traces_end_unrecorded(Context *c, uint32_t end, uint32_t depth);
/* Computes Context.checked anew. */
void context_set_checked(Context *c);

#endif
