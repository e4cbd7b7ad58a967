/* SPDX-License-Identifier: MIT */
/* vm/traces.c: trace context of spans and coroutines (W3C Trace Context,
 * <eventring/trace.h>).
 *
 * A span that begins with a `traceparent` has ids; a span inside it has none until the
 * program asks for its header (traces_outgoing). Ids are in the recording as an event
 * `trace` of the span's context. A coroutine that is created while a span with ids is
 * open inherits the span's trace. An event in the coroutine's context says so; it is
 * written before the coroutine's first span, and only if there is one.
 *
 * Ids are kept behind the Context of the thread, which is made anew with room for them
 * when it first needs them. So programs without traces pay nothing: their Contexts have
 * no such room, and the direct functions for begin_span and end_span test no field for
 * traces alone. The ids of open spans are a stack. The end of a span that has ids, or
 * contains a span with ids, takes the slow path (Context.checked), which removes the ids.
 * The ends of all other spans take the fast path.
 *
 * A span is identified by its depth: the number of open spans in its context, counted
 * from the outermost up to the span itself. When a span that is not the innermost ends,
 * the depths of the spans inside it decrease.
 *
 * Torn spans. While the recording is paused, or class user is off, the open spans are
 * torn: readers take a later event as one outside of these spans. So no ids are written
 * for a torn span (ContextTraces.torn). (eventring_trace_place says that recording was
 * interrupted, not when, so a span that began after the interruption may count as torn,
 * too.) Readers know the ids that a torn span already has, so these ids are still used as
 * parents in its outgoing requests.
 *
 * Losses. A reader of the present block of the ring may have lost the events of earlier
 * blocks. So in a new block, ids are written again when they are asked for, and inherited
 * ids are written again before a span begins.
 *
 * Only ids that are recorded are passed on: an id that could not be written never leaves
 * the program, and while nothing is recorded there are no headers (traces_outgoing). A
 * span that should have had ids hides the trace outside of it while it is open, because
 * that trace belongs to another request. So if the span began unrecorded inside a span
 * with ids, or where ids were inherited, the stack of ids has an unknown entry for it,
 * with the depth of the span that contains it. The entry is removed by the span's own end
 * or, if that is missing, by the end of the containing span. All spans outside of the
 * unrecorded span are torn, so its own end does not matter to readers.
 */
#include "traces.h"

#include <string.h>

#include "contexts.h"
#include "func.h"
#include "gc_inline.h"

#define FIRST_ROOM 4
/* one more than the spans that are kept; the additional entry says that there are more */
#define MOST_ROOM (CONTEXT_SPANS + 1)
#define NO_BLOCK UINT64_MAX /* the block of ids that are not written yet */

static uint32_t depth_of(const Context *c) { return c->hidden + c->count; }

static bool is_recorded(const Domain *d) {
  return eventring_enabled(d->rings, EVENTRING_USER, EVENTRING_CLASS_USER);
}

static uint32_t largest(uint32_t a, uint32_t b) { return a > b ? a : b; }

void context_set_checked(Context *c) {
  uint32_t checked = c->has_finalizer;
  if (c->has_traces) {
    const ContextTraces *t = context_traces(c);
    uint32_t depth = t->torn;
    if (t->count > 0) depth = largest(depth, t->of[t->count - 1].depth);
    checked = largest(checked, t->inherits);
    if (depth > c->hidden) checked = largest(checked, depth - c->hidden);
  }
  rt_assert(checked <= CONTEXT_SPANS);
  c->checked = (uint8_t)checked;
}

/* ---- contexts with room for ids ------------------------------------------ */

static size_t bytes_with(unsigned room) {
  return sizeof(Context) + sizeof(ContextTraces) + room * sizeof(SpanTrace);
}

/* Fills a longer context from `old`, or from nothing (NULL). The finalizer of `old` then
 * finds nothing to do. */
static void take_over(Context *c, Context *old, unsigned room) {
  ContextTraces *t = context_traces(c);
  memset(c, 0, sizeof *c + sizeof *t);
  if (old != NULL) {
    *c = *old;
    if (old->has_traces)
      memcpy(t, context_traces(old), bytes_with(context_traces(old)->count) - sizeof *c);
    old->count = 0;
    old->hidden = 0;
    old->has_traces = false;
  }
  c->has_traces = true;
  c->has_finalizer = false;
  t->room = (uint8_t)room;
  context_set_checked(c);
}

/* Gives `owner` a context with room for the ids of `room` spans. L is the running thread;
 * may collect. */
static COLD void make_longer(lua_State *L, lua_State *owner, unsigned room) {
  Domain *d = L->domain;
  gc_make_room(L, bytes_with(room));
  Userdata *u = userdata_new(L, bytes_with(room), 0);
  Context *old = context_find(owner), *c = userdata_payload(u);
  take_over(c, old, room);
  if (old == NULL && owner != d->main_thread) c->id = ++d->contexts;
  set_userdata(owner->stack, u);
  context_follow_marks(owner);
  gc_frame_changed(owner, &owner->base_ci);
  d->traces = true;
}

static unsigned room_of(const Context *c) {
  return c != NULL && c->has_traces ? context_traces(c)->room : 0;
}

static bool has_room(const Context *c) {
  return room_of(c) > 0 && (context_traces(c)->count < room_of(c) || room_of(c) == MOST_ROOM);
}

static unsigned more_room(unsigned room) {
  if (room == 0) return FIRST_ROOM;
  return 2 * room < MOST_ROOM ? 2 * room : MOST_ROOM;
}

void traces_prepare(lua_State *L) {
  for (;;) { /* a finalizer may have used the room */
    const Context *c = context_find(L);
    if (!has_room(c)) make_longer(L, L, more_room(room_of(c)));
    else if (L != L->domain->main_thread && !c->has_finalizer) context_give_finalizer(L);
    else return;
  }
}

/* ---- writing ------------------------------------------------------------- */

/* Checks whether open spans were torn, and sets *block to the present block of the ring.
 * Returns false if the domain cannot be recorded. */
static bool look(Domain *d, Context *c, uint64_t *block) {
  struct eventring_trace_place at = {.size = sizeof at};
  ContextTraces *t = context_traces(c);
  if (eventring_trace_place(d->rings, &at) != EVENTRING_OK) return false;
  *block = at.block;
  if (at.life == t->life) return true;
  t->life = at.life;
  t->torn = depth_of(c);
  t->inherited.block = NO_BLOCK;
  context_set_checked(c);
  return true;
}

/* Writes the ids, in the context. Returns false if that was not possible. */
static bool write_ids(Domain *d, Context *c, SpanTrace *s) {
  eventring_set_context(d->rings, EVENTRING_USER, c->id);
  return eventring_span_trace(d->rings, &s->ids) == EVENTRING_OK && look(d, c, &s->block);
}

void traces_before_begin(Domain *d, Context *c) {
  ContextTraces *t = context_traces(c);
  uint64_t block;
  if (!look(d, c, &block)) return;
  if (t->inherits && depth_of(c) == 0 && t->inherited.block != block)
    /* if the ids cannot be written, the spans are in no trace */
    write_ids(d, c, &t->inherited);
}

/* Adds ids. If the most entries that are kept are there already, the two outermost become
 * a single unknown entry. */
static void add(Context *c, const SpanTrace *s) {
  ContextTraces *t = context_traces(c);
  if (t->count == t->room) {
    t->of[0].is_unknown = true;
    t->of[0].end = EVENTRING_ID_OTHER;
    memmove(t->of + 1, t->of + 2, (--t->count - 1u) * sizeof *t->of);
  }
  t->of[t->count++] = *s;
  context_set_checked(c);
}

/* Writes and keeps the ids of the innermost span. There is room. Returns false if they
   could not be written. */
static bool add_ids(Domain *d, Context *c, const struct eventring_trace *ids) {
  SpanTrace s = {.ids = *ids, .depth = depth_of(c)};
  if (!write_ids(d, c, &s)) return false;
  add(c, &s);
  return true;
}

static void add_unknown(Context *c, uint32_t end) {
  const SpanTrace s = {.is_unknown = true, .end = end, .depth = depth_of(c)};
  add(c, &s);
}

static bool would_hide(const Context *c) {
  if (c == NULL || !c->has_traces) return false;
  return context_traces(c)->count > 0 || context_traces(c)->inherits;
}

bool traces_would_hide(const lua_State *L) { return would_hide(context_find(L)); }

void traces_begun(lua_State *L, const struct eventring_trace *ids) {
  Context *c = context_find(L);
  if (!add_ids(L->domain, c, ids) && would_hide(c)) add_unknown(c, EVENTRING_ID_OTHER);
}

/* Returns a number that is not an id, by which the end of an unrecorded span is known. */
static uint32_t own_end(Domain *d) {
  return EVENTRING_MAX_EVENTS + d->unrecorded_spans++ % (UINT32_MAX - EVENTRING_MAX_EVENTS);
}

uint32_t traces_begun_unrecorded(lua_State *L, unsigned id) {
  const uint32_t end = id != EVENTRING_ID_OTHER ? id : own_end(L->domain);
  traces_prepare(L);
  Context *c = context_find(L);
  if (!would_hide(c)) return end; /* a finalizer has ended the spans */
  add_unknown(c, end);
  context_await_ends(L);
  return end;
}

/* ---- ends ---------------------------------------------------------------- */

static void remove_traces(ContextTraces *t, unsigned from, unsigned to) {
  memmove(&t->of[from], &t->of[to], (t->count - to) * sizeof *t->of);
  t->count = (uint8_t)(t->count - (to - from));
}

void traces_ended(Context *c, uint32_t depth) {
  ContextTraces *t = context_traces(c);
  unsigned inside = t->count;
  while (inside > 0 && t->of[inside - 1].depth > depth) t->of[--inside].depth--;
  /* entries of the span itself, and unknown entries directly inside it */
  unsigned kept = inside;
  while (kept > 0 && t->of[kept - 1].depth == depth) kept--;
  remove_traces(t, kept, inside);
  if (depth <= t->torn) t->torn--;
  context_set_checked(c);
}

/* Removes the innermost span that began unrecorded and has this end, unless it is outside
 * of the depth-th open span: an end closes the innermost span of its name, recorded or
 * not. */
bool traces_end_unrecorded(Context *c, uint32_t end, uint32_t depth) {
  ContextTraces *t = context_traces(c);
  if (end == EVENTRING_ID_OTHER) return false;
  for (unsigned i = t->count; i > 0 && t->of[i - 1].depth >= depth; i--) {
    if (!t->of[i - 1].is_unknown || t->of[i - 1].end != end) continue;
    remove_traces(t, i - 1, i);
    context_set_checked(c);
    return true;
  }
  return false;
}

void traces_ended_unrecorded(lua_State *L, uint32_t end) {
  Context *c = context_find(L);
  if (c != NULL && c->has_traces && traces_end_unrecorded(c, end, 0)) context_ends_came(L);
}

void traces_all_ended(Context *c) {
  ContextTraces *t = context_traces(c);
  t->count = 0;
  t->torn = 0;
  context_set_checked(c);
}

/* ---- what goes out ------------------------------------------------------- */

/* Returns the ids of the nearest enclosing span that has some, or the inherited ones;
 * NULL if there are none, or if they are not known. */
static SpanTrace *nearest(const Context *c) {
  if (c == NULL || !c->has_traces) return NULL;
  ContextTraces *t = context_traces(c);
  if (t->count == 0) return t->inherits ? &t->inherited : NULL;
  return t->of[t->count - 1].is_unknown ? NULL : &t->of[t->count - 1];
}

/* Tells whether the innermost span is known to readers as open, and lacks ids. */
static bool lacks_ids(const Context *c) {
  const SpanTrace *s = nearest(c);
  const uint32_t depth = depth_of(c);
  return s != NULL && c->count > 0 && s->depth != depth && depth > context_traces(c)->torn;
}

/* Gives ids to the innermost span. The parent is the nearest span with ids. That span
 * must be directly outside, or the span directly outside must be torn, so that it cannot
 * get ids any more. */
static void name_innermost(Domain *d, Context *c) {
  const SpanTrace *s = nearest(c);
  const uint32_t outside = depth_of(c) - 1;
  struct eventring_trace ids;
  eventring_trace_child(d->rings, &s->ids, &ids);
  if (s->depth != outside && outside > context_traces(c)->torn)
    memset(ids.parent_id, 0, sizeof ids.parent_id);
  add_ids(d, c, &ids);
}

/* Writes the ids again if the ring is in a new block, for readers that have lost the
 * earlier ones. */
static void write_again(Domain *d, Context *c, uint64_t block) {
  SpanTrace *s = nearest(c);
  if (s->depth == 0 || s->depth != depth_of(c) || s->depth <= context_traces(c)->torn) return;
  if (s->block != block) write_ids(d, c, s);
}

bool traces_outgoing(lua_State *L, struct eventring_trace *ids) {
  Domain *d = L->domain;
  Context *c = context_find(L);
  uint64_t block;
  if (nearest(c) == NULL || !is_recorded(d) || !look(d, c, &block)) return false;
  if (lacks_ids(c)) {
    traces_prepare(L);
    c = context_find(L);
    if (lacks_ids(c)) name_innermost(d, c);
  } else {
    write_again(d, c, block);
  }
  const SpanTrace *s = nearest(c);
  /* a finalizer has ended the span, or all spans */
  if (s == NULL || !is_recorded(d)) return false;
  *ids = s->ids;
  return true;
}

/* ---- what comes in ------------------------------------------------------- */

static void inherit(lua_State *L, lua_State *co, const struct eventring_trace *ids) {
  make_longer(L, co, 0);
  Context *c = context_find(co);
  ContextTraces *t = context_traces(c);
  t->inherits = true;
  t->inherited = (SpanTrace){.ids = *ids, .block = NO_BLOCK};
  memset(t->inherited.ids.parent_id, 0, sizeof t->inherited.ids.parent_id);
  context_set_checked(c);
}

#define SLOTS 4 /* slots of the stack for the values made here */

/* Lets a coroutine inherit the trace. A host may create it with no more than one free
 * slot. If the stack cannot grow any more, nothing is inherited. */
void traces_inherit(lua_State *L, lua_State *co) {
  struct eventring_trace ids;
  if (nearest(context_find(L)) == NULL || !lua_checkstack(L, SLOTS)) return;
  if (traces_outgoing(L, &ids)) inherit(L, co, &ids);
}

void traces_inherit_from(lua_State *L, const struct eventring_trace *ids) { inherit(L, L, ids); }
