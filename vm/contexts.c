/* SPDX-License-Identifier: MIT */
/* vm/contexts.c: coroutines as contexts of the recording.
 *
 * A domain's main thread is context 0. Its Context says which of its spans are open, for
 * the sampler of allocations (context_innermost_span). A coroutine gets an id, the next
 * one of its domain, with the first event that it records, or when it inherits a trace
 * (traces.c). Ids are not used again.
 *
 * Spans match within their context. A coroutine writes an event when it yields with open
 * spans, and another one when it continues, so that readers know how long its spans were
 * suspended. A coroutine that resumes another one is not left: it waits, as a function
 * waits for one that it calls, and its spans continue. So a span around a loop over a
 * generator contains what the generator does.
 *
 * What it costs. A coroutine without open spans pays nothing for its switches. A
 * coroutine with open spans is marked in lua_State.instrumented, which the interpreter
 * tests anyway.
 *
 *   INSTRUMENT_SPANS  it has open spans: its yields are checked. No other instruction
 *                     becomes slower.
 *   INSTRUMENT_LEFT   it was left with open spans, or with spans that began unrecorded.
 *                     When it continues, it first leaves the native frame that yielded,
 *                     which calls context_continue (vm_call_left). If instead a C
 *                     function continues in its continuation, or an instruction in which
 *                     a hook yielded, the next call or return of a C function calls
 *                     context_continue. To readers, an event before that call has the
 *                     same meaning. Meanwhile a finalizer may have ended the spans, so
 *                     no span begins or ends in place before that call.
 *   CALL_SPANS        in the status of its first frame: the end of that frame is checked.
 *
 * When a coroutine ends or is closed, its open spans end, the innermost first. The spans
 * of a coroutine that died of an error stay open: closing the coroutine closes its
 * variables, and with them eventring.span ends its span. The finalizer of the context
 * ends the spans of a collected coroutine; the suspended time of these spans says how
 * long it did not run.
 *
 * The context is a userdata in the first slot of the coroutine's stack: the function slot
 * of its first frame, which has no function. So the collector needs no rule for it, and a
 * coroutine that records nothing needs no room for it.
 */
#include "contexts.h"

#include <string.h>

#include "gc.h"
#include "traces.h"
#include "watch.h"

/* its address is the key in the registry of the metatable of contexts with a finalizer */
static const char finalizer_key;

/* ---- contexts ------------------------------------------------------------ */

static COLD Context *new_context(lua_State *L) {
  Context *c = lua_newuserdatauv(L, sizeof *c, 0);
  memset(c, 0, sizeof *c);
  c->id = L == L->domain->main_thread ? 0 : ++L->domain->contexts;
  value_copy(L->stack, L->top - 1);
  L->top--;
  context_follow_marks(L);
  gc_frame_changed(L, &L->base_ci);
  return c;
}

Context *context_of_coroutine(lua_State *L) {
  Context *c = context_find(L);
  return likely(c != NULL) ? c : new_context(L);
}

void context_follow_marks(lua_State *L) {
  Context *c = context_find(L);
  const bool is_marked = L->instrumented & (INSTRUMENT_SPANS | INSTRUMENT_MAIN_SPANS);
  const bool is_left = L->instrumented & INSTRUMENT_LEFT;
  L->spans = is_marked && !is_left && c != NULL ? c : (Context *)&context_none;
}

/* ---- open spans ---------------------------------------------------------- */

static bool has_spans(const Context *c) { return c->count + c->hidden > 0; }

/* Tells whether the ends of spans are awaited. If no span is open, the spans among the
   traces began unrecorded. */
ALWAYS_INLINE bool awaits_ends(const Context *c) {
  return has_spans(c) || (unlikely(c->has_traces) && context_traces(c)->count > 0);
}

static void end_open_spans(Domain *d, Context *c) {
  if (c->count > 0 && eventring_enabled(d->rings, EVENTRING_USER, EVENTRING_CLASS_USER)) {
    eventring_set_context(d->rings, EVENTRING_USER, c->id);
    for (unsigned i = c->count; i > 0; i--) eventring_user_end(d->rings, c->open[i - 1]);
  }
  c->count = 0;
  c->hidden = 0;
  if (unlikely(c->has_traces)) traces_all_ended(c);
}

/* Ends the open spans of a collected coroutine. Another finalizer may keep the coroutine
 * alive; if it then continues, its next span needs a finalizer again. */
static int finalize_context(lua_State *L) {
  Context *c = lua_touserdata(L, 1);
  end_open_spans(L->domain, c);
  c->has_finalizer = false;
  context_set_checked(c);
  return 0;
}

COLD void context_give_finalizer(lua_State *L) {
  set_userdata(L->top, as_userdata(L->stack));
  L->top++;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &finalizer_key) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, finalize_context);
    lua_setfield(L, -2, "__gc");
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &finalizer_key);
  }
  Context *c = (Context *)lua_touserdata(L, -2);
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
  c->has_finalizer = true;
  context_set_checked(c);
}

static void push_span(Context *c, unsigned id) {
  if (unlikely(c->count == CONTEXT_SPANS)) {
    memmove(c->open, c->open + 1, (CONTEXT_SPANS - 1) * sizeof c->open[0]);
    c->count--;
    c->hidden++;
    context_set_checked(c);
  }
  c->open[c->count++] = (uint16_t)id;
}

/* Removes a span as readers do (doc/FORMAT.md, section 9). */
static void pop_span(Context *c, unsigned id) {
  unsigned i = c->count;
  if (likely(i > 0 && c->open[i - 1] == id && !c->has_traces)) {
    c->count--;
    return;
  }
  while (i > 0 && c->open[i - 1] != id) i--;
  const uint32_t depth = c->hidden + i;
  if (unlikely(c->has_traces) && traces_end_unrecorded(c, id, i > 0 ? depth : 0)) return;
  if (i > 0) memmove(c->open + i - 1, c->open + i, (--c->count - (i - 1)) * sizeof c->open[0]);
  else if (c->hidden > 0) c->hidden--;
  else return;
  if (unlikely(c->has_traces)) traces_ended(c, depth);
}

static void mark_spans(lua_State *L) {
  if (likely(L == L->domain->main_thread)) {
    L->instrumented |= INSTRUMENT_MAIN_SPANS;
  } else {
    L->instrumented |= INSTRUMENT_SPANS;
    L->base_ci.status |= CALL_SPANS;
  }
  context_follow_marks(L);
}

static void unmark_spans(lua_State *L) {
  if (likely(L == L->domain->main_thread)) {
    L->instrumented &= (uint8_t)~INSTRUMENT_MAIN_SPANS;
  } else {
    L->instrumented &= (uint8_t)~INSTRUMENT_SPANS;
    L->base_ci.status &= ~(uint32_t)CALL_SPANS;
  }
  context_follow_marks(L);
}

void context_await_ends(lua_State *L) { mark_spans(L); }

ALWAYS_INLINE void ends_came(lua_State *L, const Context *c) {
  if (!awaits_ends(c)) unmark_spans(L);
}

void context_ends_came(lua_State *L) { ends_came(L, context_find(L)); }

void context_begin_span(lua_State *L, unsigned id) {
  Domain *d = L->domain;
  Context *c = context_of_coroutine(L);
  if (unlikely(L != d->main_thread && !c->has_finalizer)) {
    context_give_finalizer(L);
    c = context_find(L); /* a finalizer may have made another one */
  }
  mark_spans(L);
  eventring_set_context(d->rings, EVENTRING_USER, c->id);
  if (unlikely(c->has_traces)) traces_before_begin(d, c);
  push_span(c, id);
}

void context_forget_span(lua_State *L, unsigned id) {
  Context *c = context_find(L);
  if (c == NULL) return;
  /* a thread whose spans all ended in place still has its mark, which goes now */
  if (awaits_ends(c)) pop_span(c, id);
  ends_came(L, c);
}

void context_end_span(lua_State *L, unsigned id) {
  context_enter(L);
  context_forget_span(L, id);
}

SAMPLE_PATH uint16_t context_innermost_span(const lua_State *L) {
  for (; L != NULL; L = L->resumer) {
    if (likely(!(L->instrumented & (INSTRUMENT_SPANS | INSTRUMENT_MAIN_SPANS)))) continue;
    const Context *c = context_find(L);
    if (c != NULL && c->count > 0) return (uint16_t)(c->open[c->count - 1] + 1);
  }
  return 0;
}

/* ---- for the interpreter ------------------------------------------------- */

void context_leave(lua_State *co) {
  Domain *d = co->domain;
  const Context *c = context_find(co);
  if (co->instrumented & INSTRUMENT_LEFT) return;
  if (c == NULL || !awaits_ends(c)) {
    /* the mark may be inherited from the thread that made co */
    unmark_spans(co);
    return;
  }
  co->instrumented |= INSTRUMENT_LEFT;
  context_follow_marks(co);
  if (has_spans(c)) eventring_suspend(d->rings, EVENTRING_USER, EVENTRING_CLASS_USER, c->id);
}

void context_continue(lua_State *co) {
  Domain *d = co->domain;
  const Context *c = context_find(co);
  co->instrumented &= (uint8_t)~INSTRUMENT_LEFT;
  if (c == NULL || !awaits_ends(c)) {
    unmark_spans(co); /* the finalizer has ended the spans */
    return;
  }
  context_follow_marks(co);
  if (has_spans(c))
    eventring_resume_context(d->rings, EVENTRING_USER, EVENTRING_CLASS_USER, c->id);
}

void context_finish(lua_State *co) {
  Context *c = context_find(co);
  if (c != NULL) end_open_spans(co->domain, c);
  set_nil(co->stack);
  unmark_spans(co);
  co->instrumented &= (uint8_t)~INSTRUMENT_OWN;
}
