/* SPDX-License-Identifier: MIT */
/* vm/traces.h: trace context of spans and coroutines (design: top of traces.c). */
#ifndef SAROS_VM_TRACES_H
#define SAROS_VM_TRACES_H

#include "context.h"
#include "domain.h"
#include "thread.h"

/* ---- spans; L runs ---- */

/* To be called before the begin of a span that gets ids: afterwards context_begin_span and
 * traces_begun neither collect nor raise. May collect, and raise when memory is short. */
void traces_prepare(lua_State *L);
/* The span whose begin was written just now has these ids. Writes them. */
void traces_begun(lua_State *L, const struct eventring_trace *ids);
/* The ids for what L asks of others: the trace of the nearest enclosing span that has one, or that
 * L inherited, and the id of the innermost span, which may get it here. False: there is none. May
 * collect, and raise when memory is short. */
bool traces_outgoing(lua_State *L, struct eventring_trace *ids);

/* ---- coroutines and domains ---- */

/* co was created by L, which runs; the same. Only where Domain.traces. */
void traces_inherit(lua_State *L, lua_State *co);
/* The main thread L of a new domain gets what traces_outgoing said in another. The same. */
void traces_inherit_from(lua_State *L, const struct eventring_trace *ids);

/* ---- for contexts.c ---- */

/* A span is about to begin in the context, whose class is recorded. Only if it has_traces. */
void traces_before_begin(Domain *d, Context *c);
/* One of its open spans has ended, which was the depth-th. The same. */
void traces_ended(Context *c, uint32_t depth);
/* All have. The same. */
void traces_all_ended(Context *c);
/* Computes Context.checked anew. */
void context_set_checked(Context *c);

#endif
