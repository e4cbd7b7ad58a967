/* SPDX-License-Identifier: MIT */
/* runtime/gc_thread.c: what a thread refers to.
 *
 * A stack has no write barrier: a thread that runs, or that was written to, is in the
 * remembered set, and each minor collection examines it again. That examination is
 * bounded by what the thread did since the last one, not by the depth of its stack:
 *
 *   The watermark. Each scan sets CALL_SCANNED in the frames in use. Activating a frame
 *   gives it a new status, without the flag, and so does moving its function up, above
 *   extra arguments. So the highest frame with the flag was there at the last scan. Only
 *   this frame and the frames above it can have run since, and all slots below it still
 *   refer to old objects. Slots below it can be written from elsewhere in two ways:
 *   through an open upvalue, which has a write barrier of its own, and by debug.setlocal,
 *   which clears the flags (gc_frame_changed).
 *
 *   Pieces. A thread may have put much on its stack since the last scan: a piece of a
 *   minor collection notes a slot and leaves the slots above it to the next piece, which
 *   begins at the noted slot, or at the watermark if that is lower by then. The slots of
 *   the current frame cannot be divided, since they may be written to before the next
 *   piece.
 *
 *   Short-lived large strings. A large string in a variable of the running function has
 *   usually been replaced by the next minor collection. If such strings were promoted,
 *   the program would need a major cycle for each few megabytes of them. So a string that
 *   nothing else refers to stays young. The next scan examines the frame with the
 *   variable again, and promotes the string unless the same function is running then.
 *
 *   The window is the part of the stack up to stack_last + EXTRA_STACK; all slots behind
 *   it are nil. Each scan sets the slots from the top to the window's end to nil, so that
 *   no slot of any stack ever refers to reclaimed memory. Then it narrows the window
 *   (lowers stack_last) to a little more than what the frames may use without a check.
 *
 * A minor scan while a major cycle marks leaves the slots below the watermark to the
 * major marking, which goes through the whole thread in pieces: slots upwards, frames
 * downwards from the current one, open upvalues downwards. References that get into the
 * part already passed are in the active frames, which the minor scans examine; the step
 * that ends the marking (gc_mark_atomic) begins with a minor scan.
 *
 * A few frames beyond the current one are kept for reuse.
 *
 * When it ran. A minor collection scans a thread if it ran since the last one. So the
 * scan notes the two collections between which the thread ran (ran_after, ran_before).
 * They tell for how long a coroutine is suspended, and cost nothing where coroutines are
 * switched.
 */
#include "gc_internal.h"

#include "gc.h"
#include "heap.h"
#include "memprof.h"
#include "thread.h"

#define FRAME_WORK 32    /* to examine a frame */
#define NIL_WORK 2       /* to set a slot to nil, a store to the next address */
#define SPARE_FRAMES 64  /* frames kept beyond the current one */
#define PIECE_FRAMES 256
/* A piece of a minor collection scans at least that many slots, which takes 0.1 to 0.2
 * ms; in a step that is bounded in time it scans no more. */
#define SLOTS_AT_ONCE 16384
/* successive pieces that leave slots: after that many the rest is scanned at once, since
 * the program may go on to fill more slots than a piece scans */
#define MOST_PIECES 64
#define NIL_AT_ONCE 65536   /* slots that a piece sets to nil */
#define SMALL_THREAD 256 /* slots, frames: scanned at once by the major marking */
#define VERIFIED_SLOTS 256

ALWAYS_INLINE size_t all_slots(const lua_State *co) {
  return (size_t)(co->stack_end + EXTRA_STACK - co->stack);
}

/* ---- frames -------------------------------------------------------------- */

static void mark_frame(Domain *d, CallInfo *ci, ScanKind kind) {
  mark_part(d, ci, sizeof *ci, kind);
}

/* Restarts the major marking's scan of frames when it would go on in frames that are cut
 * off. */
static void restart_partial(Domain *d, const lua_State *co) {
  for (size_t i = 0; i < d->gc.partial.n; i++) {
    GcPartial *p = &d->gc.partial.items[i];
    if (p->object == (const GCObject *)co && p->stage == 1 && p->at.frame->depth > co->nci)
      p->at.frame = co->ci;
  }
}

/* Marks the frames kept for reuse and cuts off the others. */
static void scan_spare_frames(Domain *d, lua_State *co, ScanKind kind) {
  CallInfo *last = co->ci;
  for (int i = 0; i < SPARE_FRAMES && last->next != NULL; i++) {
    last = last->next;
    mark_frame(d, last, kind);
  }
  if (last->next == NULL) return;
  co->nci = last->depth;
  if (is_marking(d)) restart_partial(d, co);
  if (unlikely(d->heap.watched)) memprof_frames_gone(d, last->next);
  last->next = NULL;
}

/* Raises the thread's reach to the top of a frame that may use slots beyond the registers
 * of a Lua function: that of a C function, and that of a Lua function while a hook runs
 * for it or its variables are closed, since both push onto its frame. */
static void note_reach(lua_State *co, const CallInfo *ci) {
  if (is_lua_frame(ci) && !(ci->status & (CALL_CLOSING | CALL_HOOKED))) return;
  uint32_t reach = (uint32_t)(ci->top - co->stack);
  if (reach > co->reach) co->reach = reach;
}

/* Marks and flags the frames from the current one down to the watermark; returns the
 * frame there. *limit gets the highest slot that they may use. */
static CallInfo *scan_active_frames(Domain *d, lua_State *co, ScanKind kind, TValue **limit) {
  CallInfo *ci = co->ci;
  for (;; ci = ci->prev) {
    if (ci->top > *limit) *limit = ci->top;
    note_reach(co, ci);
    if (ci->status & CALL_SCANNED) return ci;
    ci->status |= CALL_SCANNED;
    if (ci->prev == NULL) return ci;
    d->gc.step_work += FRAME_WORK;
    mark_frame(d, ci, kind);
  }
}

void gc_frame_changed(lua_State *L, CallInfo *ci) {
  for (CallInfo *above = L->ci; above != ci->prev; above = above->prev)
    above->status &= ~(uint32_t)CALL_SCANNED;
  gc_thread_resumed(L, L);
}

/* ---- the minor marking --------------------------------------------------- */

/* Leaves the rest of the thread to the next piece of the minor collection. */
static void leave_rest(Domain *d, lua_State *co) {
  d->gc.minor_thread_left = 1;
  /* slots from here on are left */
  if (co->unscanned == 0) co->unscanned = (uint32_t)(co->top - co->stack);
  if (!(co->gc & GC_CLEAN)) return; /* it is in the remembered set */
  co->gc &= (uint8_t)~GC_CLEAN;
  gc_remember_thread(d, co);
}

/* Sets the slots between the top and the window's end to nil and narrows the window;
 * returns the work. `limit` covers the frames from the watermark on. A Lua frame calls
 * from within its registers, so the Lua frames below the watermark use no slot that is
 * more than UINT8_MAX + 1 beyond the watermark's function; other frames have noted what
 * they asked for (`reach`). A piece of a collection that finds many slots does the last
 * NIL_AT_ONCE of them. */
static size_t narrow_window(Domain *d, lua_State *co, TValue *limit, const CallInfo *watermark) {
  TValue *end = co->stack_last + EXTRA_STACK, *from = co->top;
  if (limit < watermark->func + UINT8_MAX + 1) limit = watermark->func + UINT8_MAX + 1;
  if (limit < co->stack + co->reach) limit = co->stack + co->reach;
  if (end - limit > 2 * NIL_AT_ONCE && d->gc.minor_most != SIZE_MAX) {
    from = end - NIL_AT_ONCE;
    limit = from;
  }
  for (TValue *v = from; v < end; v++) set_nil(v);
  stack_narrow_window(co, limit);
  if (from > co->top) leave_rest(d, co);
  return (size_t)(end - from) * NIL_WORK;
}

/* Returns how many slots below the watermark are verified: all if the verifier is on.
 * Otherwise none, except in debug builds, which verify the next VERIFIED_SLOTS. */
static size_t slots_to_verify(const Domain *d, size_t below) {
#ifdef SAROS_DEBUG
  return d->gc.verify || below < VERIFIED_SLOTS ? below : VERIFIED_SLOTS;
#else
  return d->gc.verify ? below : 0;
#endif
}

/* Returns where a scan from `from` ends: at co->top, or, in a piece of a collection, at
 * an earlier slot below the current frame. That slot is noted in co->unscanned. */
static TValue *end_of_piece(Domain *d, lua_State *co, TValue *from) {
  size_t most = d->gc.minor_most, done = d->gc.step_work;
  size_t slots = done < most ? (most - done) / sizeof(TValue) : 0;
  if (slots < SLOTS_AT_ONCE || d->gc.step_until != 0) slots = SLOTS_AT_ONCE;
  if (most == SIZE_MAX || d->gc.thread_pieces >= MOST_PIECES) slots = SIZE_MAX / sizeof(TValue);
  co->unscanned = 0;
  if (co->ci->func <= from || (size_t)(co->ci->func - from) <= slots) return co->top;
  co->unscanned = (uint32_t)(from + slots - co->stack);
  leave_rest(d, co);
  return from + slots;
}

/* ---- large strings of the running function ------------------------------- */

/* Returns the frame that runs: the current one, or the Lua frame that called a C
 * function. */
static CallInfo *running_frame(const lua_State *co) {
  CallInfo *ci = co->ci;
  return !is_lua_frame(ci) && ci->prev != NULL && is_lua_frame(ci->prev) ? ci->prev : ci;
}

/* Tells whether a large young string may stay young. It is promoted if something else
 * refers to it. */
static bool may_stay_young(Domain *d, const TValue *v) {
  if (v->tag != TAG_LONG_STRING || !is_young(v->v.gc)) return false;
  size_t size = string_bytes((const String *)v->v.gc);
  if (!heap_is_large(size)) return false;
  LargeHeader *large = heap_large_of(v->v.gc);
  if (large->stays) return true;
  if (size > d->gc.stay_most) return false;
  d->gc.stay_most -= size;
  large->stays = 1;
  return true;
}

/* Visits the slots of the running frame. The next minor collection is to scan them again
 * if a string in them stays young. */
static void visit_running(Domain *d, lua_State *co, CallInfo *running, const TValue *from) {
  bool stay = false;
  for (const TValue *v = from; v < co->top; v++) {
    if (!is_collected(v)) continue;
    if (may_stay_young(d, v)) stay = true;
    else visit(d, v->v.gc, SCAN_MINOR);
  }
  if (stay && running != co->ci) co->ci->status &= ~(uint32_t)CALL_SCANNED;
}

/* Visits the thread's slots from the watermark on that are in use. */
static void visit_slots(Domain *d, lua_State *co, TValue *from, TValue *to) {
  CallInfo *running = running_frame(co);
  TValue *frame = co == d->gc.caller && to == co->top ? running->func : to;
  if (frame < from) frame = from;
  visit_values(d, from, (size_t)(frame - from), SCAN_MINOR);
  if (frame < to) visit_running(d, co, running, frame);
}

/* Visits the functions that created and resumed the thread, because readers in other
 * processes read these functions as long as the thread exists. */
ALWAYS_INLINE void visit_origin(Domain *d, const lua_State *co, ScanKind kind) {
  VISIT(d, co->created_in, kind);
  VISIT(d, co->resumed_in, kind);
}

size_t gc_scan_thread_minor(Domain *d, lua_State *co) {
  if (co->stack == NULL) return 0; /* being made */
  mark_part(d, co->stack, all_slots(co) * sizeof(TValue), SCAN_MINOR);
  TValue *limit = co->top;
  CallInfo *watermark = scan_active_frames(d, co, SCAN_MINOR, &limit);
  TValue *from = watermark->func;
  if (unlikely(co->unscanned > 0) && co->stack + co->unscanned < from)
    from = co->stack + co->unscanned;
  size_t verified = slots_to_verify(d, (size_t)(from - co->stack));
  if (unlikely(verified > 0)) gc_verify_watermark(d, co, from, verified);
  TValue *to = end_of_piece(d, co, from);
  visit_slots(d, co, from, to);
  size_t work = (size_t)(to - from) * sizeof(TValue) + narrow_window(d, co, limit, watermark);
  for (UpValue *uv = co->open_upvalues; uv != NULL && uv->v >= from; uv = uv->u.open.next)
    visit(d, (GCObject *)uv, SCAN_MINOR);
  VISIT(d, co->resumer, SCAN_MINOR);
  visit_origin(d, co, SCAN_MINOR);
  co->ran_after = d->gc.ticks.all_scanned;
  co->ran_before = d->gc.ticks.scanned;
  scan_spare_frames(d, co, SCAN_MINOR);
  return work;
}

/* ---- the major marking --------------------------------------------------- */

static size_t scan_slots_piece(Domain *d, lua_State *co, GcPartial *p) {
  size_t from = p->first, n = (size_t)(co->top - co->stack);
  n = n > from ? n - from : 0;
  if (n > d->gc.piece) n = d->gc.piece;
  p->first += (uint32_t)n;
  visit_values(d, co->stack + from, n, SCAN_MAJOR);
  return n * sizeof(TValue);
}

static size_t scan_frames_piece(Domain *d, GcPartial *p) {
  size_t n = 0;
  for (; n < PIECE_FRAMES && p->at.frame->prev != NULL; n++, p->at.frame = p->at.frame->prev)
    mark_frame(d, p->at.frame, SCAN_MAJOR);
  return n * sizeof(CallInfo);
}

/* Scans the next open upvalues. If the upvalue at which the last piece ended was closed,
 * it has left the list, and so have all above it: the scan starts anew. A piece ends at
 * an old upvalue: a young one may be reclaimed before the next piece. */
static size_t scan_upvalues_piece(Domain *d, const lua_State *co, GcPartial *p) {
  UpValue *uv = p->at.upvalue;
  size_t n = 0;
  if (uv == NULL || !upvalue_is_open(uv)) uv = co->open_upvalues;
  for (; uv != NULL && (n < d->gc.piece || is_young(uv)); n++, uv = uv->u.open.next)
    visit(d, (GCObject *)uv, SCAN_MAJOR);
  /* must exist when the marking goes on */
  if (uv != NULL) visit(d, (GCObject *)uv, SCAN_MAJOR);
  p->at.upvalue = uv;
  return n * sizeof(UpValue);
}

bool gc_scan_thread_piece(Domain *d, GcPartial *p, size_t *work) {
  lua_State *co = (lua_State *)p->object;
  switch (p->stage) {
    case 0:
      if ((*work = scan_slots_piece(d, co, p)) > 0) return false;
      scan_spare_frames(d, co, SCAN_MAJOR);
      p->at.frame = co->ci;
      p->stage = 1;
      return false;
    case 1:
      *work = scan_frames_piece(d, p);
      if (p->at.frame->prev != NULL) return false;
      p->at.upvalue = NULL;
      p->stage = 2;
      return false;
    default:
      *work = scan_upvalues_piece(d, co, p);
      return p->at.upvalue == NULL;
  }
}

size_t gc_scan_thread_major(Domain *d, lua_State *co) {
  if (co->stack == NULL) return sizeof(lua_State);
  mark_part(d, co->stack, all_slots(co) * sizeof(TValue), SCAN_MAJOR);
  VISIT(d, co->resumer, SCAN_MAJOR);
  visit_origin(d, co, SCAN_MAJOR);
  GcPartial p = {.object = (GCObject *)co};
  bool deep = co->top - co->stack > SMALL_THREAD || co->ci->depth > SMALL_THREAD;
  if (deep && GC_TRY_PUSH(d, &d->gc.partial, p)) return sizeof(lua_State);
  size_t total = sizeof(lua_State), work;
  bool done;
  do {
    work = 0;
    done = gc_scan_thread_piece(d, &p, &work);
    total += work;
  } while (!done);
  return total;
}
