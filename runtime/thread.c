/* SPDX-License-Identifier: MIT */
/* runtime/thread.c: threads, their stacks and frames.
 *
 * A stack is one part: stack_last - stack slots for use after a check, and EXTRA_STACK
 * more for pushes without a check. It moves when it grows or shrinks. Only the code here
 * corrects the pointers into it (frames, open upvalues, top, the list of variables to be
 * closed).
 *
 * Frames are parts, in a list that grows only at its end. The collector shortens the list
 * when it has far more frames than are in use.
 */
#include "thread.h"

#include <string.h>

#include "context.h"
#include "domain.h"
#include "gc.h"
#include "gc_inline.h"
#include "heap.h"
#include "stress.h"
#include "throw.h"

#define ERROR_STACK 200 /* number of slots beyond the limit, to handle the overflow */
#define MAX_STACK STACK_LIMIT
#ifdef SAROS_STRESS
#define SHRINK_FROM BASIC_STACK_SIZE
#else
#define SHRINK_FROM 1024 /* number of slots; smaller stacks are not worth moving */
#endif

/* ---- stacks -------------------------------------------------------------- */

static void correct_pointers(lua_State *L, ptrdiff_t shift) {
#define CORRECT(p) ((p) = (TValue *)((char *)(p) + shift))
  CORRECT(L->top);
  if (L->tbc_list != NULL) CORRECT(L->tbc_list);
  for (UpValue *uv = L->open_upvalues; uv != NULL; uv = uv->u.open.next) CORRECT(uv->v);
  for (CallInfo *ci = L->ci; ci != NULL; ci = ci->prev) {
    CORRECT(ci->func);
    CORRECT(ci->top);
  }
#undef CORRECT
}

static size_t stack_bytes(ptrdiff_t slots) {
  return (size_t)(slots + EXTRA_STACK) * sizeof(TValue);
}

/* Gives the stack another size. In a stress build it always gets a new part. */
static TValue *reallocate_stack(lua_State *L, ptrdiff_t old, ptrdiff_t slots) {
#ifdef SAROS_STRESS
  TValue *to = heap_try_alloc_stack(L, stack_bytes(slots));
  if (to == NULL) return NULL;
  memcpy(to, L->stack, stack_bytes(old < slots ? old : slots));
  heap_free_part(L, L->stack, stack_bytes(old));
  return to;
#else
  return heap_try_grow_stack(L, stack_bytes(old), stack_bytes(slots));
#endif
}

/* Gives the thread a stack of `slots` slots. Returns false if out of memory. */
static bool resize_stack(lua_State *L, ptrdiff_t slots) {
  ptrdiff_t old = L->stack_end - L->stack, window = L->stack_last - L->stack;
  TValue *from = L->stack, *to = reallocate_stack(L, old, slots);
  if (to == NULL) return false;
  if (!heap_part_is_zeroed(to, stack_bytes(slots)))
    for (ptrdiff_t i = old + EXTRA_STACK; i < slots + EXTRA_STACK; i++) set_nil(&to[i]);
  L->stack = to;
  L->stack_end = to + slots;
  L->stack_last = to + (window < slots ? window : slots);
  if (to != from) correct_pointers(L, (char *)to - (char *)from);
  gc_part_changed(L, L);
  return true;
}

/* Lets the thread use n slots from top on, and some more, if the stack has n more. */
static bool widen_window(lua_State *L, ptrdiff_t n) {
  if (L->stack_end - L->top <= n) return false;
  TValue *last =
      L->stack_end - L->top > n + STACK_WINDOW ? L->top + n + STACK_WINDOW : L->stack_end;
  if (last > L->stack_last) {
    gc_stack_widened(L, (size_t)(last - L->stack_last));
    L->stack_last = last;
  }
  return true;
}

void stack_narrow_window(lua_State *L, TValue *used) {
  L->stack_last = L->stack_end - used > STACK_WINDOW ? used + STACK_WINDOW : L->stack_end;
}

static ptrdiff_t slots_in_use(const lua_State *L) {
  const TValue *limit = L->top;
  for (const CallInfo *ci = L->ci; ci != NULL; ci = ci->prev)
    if (ci->top > limit) limit = ci->top;
  return limit - L->stack;
}

/* Returns twice the size of the stack, or the size needed if that is larger; 0 if it is
 * beyond the limit. The first step is smaller: most coroutines need no second one. */
static ptrdiff_t next_size(const lua_State *L, int n) {
  ptrdiff_t needed = L->top - L->stack + n, size = L->stack_end - L->stack;
  size = size < CALLING_STACK_SIZE ? CALLING_STACK_SIZE : 2 * size;
  if (needed >= MAX_STACK) return 0;
  if (size < needed + 1) size = needed + 1;
  return size < MAX_STACK ? size : MAX_STACK;
}

bool stack_try_grow(lua_State *L, int n) {
  if (widen_window(L, n)) return true;
  if (L->stack_end - L->stack > MAX_STACK) return false;
  ptrdiff_t size = next_size(L, n);
  return size != 0 && resize_stack(L, size) && widen_window(L, n);
}

/* Collects everything. Keeps the slots that could be used without a check: the caller
 * relies on these slots. */
static bool collect_in_need(lua_State *L) {
  TValue *last = L->stack_last;
  if (!gc_collect_in_need(L)) return false;
  if (last > L->stack_last) {
    gc_stack_widened(L, (size_t)(last - L->stack_last));
    L->stack_last = last;
  }
  return true;
}

#ifdef SAROS_STRESS
/* Collects everything, now and then, before the stack grows; rules 1 and 2 hold. Does
 * nothing while the program has stopped the collector, since its explicit steps would
 * never see the end of a cycle. Collects seldom, since each time takes as long as the
 * heap is large. */
static void collect_sometimes(lua_State *L) {
  enum { SELDOM = 2048 };
  static _Thread_local uint32_t turn;
  if (stress_collects() && ++turn % SELDOM == 0 && gc_is_running(L->domain)) collect_in_need(L);
}

/* Moves the stack. Moves a large one only now and then, so that the bytes copied in each
 * call are bounded. */
static void move_stack(lua_State *L) {
  static _Thread_local uint32_t turn;
  ptrdiff_t slots = L->stack_end - L->stack;
  if (slots > 2000 && ++turn % (uint32_t)(slots / 500) != 0) return;
  stress_pause();
  resize_stack(L, slots); /* the stack stays where it is if out of memory */
  stress_resume();
}
#endif

static void grow_by(lua_State *L, int n, bool may_collect) {
  /* the stack overflows while an overflow is being handled */
  if (L->stack_end - L->stack > MAX_STACK) error_throw(L, LUA_ERRERR);
  ptrdiff_t size = next_size(L, n), wanted = size != 0 ? size : MAX_STACK + ERROR_STACK;
  if (!resize_stack(L, wanted) &&
      !(may_collect && collect_in_need(L) && resize_stack(L, wanted)))
    error_memory(L);
  widen_window(L, n);
  if (size == 0) error_run(L, "stack overflow");
}

void stack_grow(lua_State *L, int n) {
#ifdef SAROS_STRESS
  if (L->stack_last - L->top > n) {
    move_stack(L);
    return;
  }
#endif
  if (widen_window(L, n)) return;
  grow_by(L, n, false);
}

void stack_grow_or_collect(lua_State *L, int n) {
#ifdef SAROS_STRESS
  if (L->stack_last - L->top > n) {
    collect_sometimes(L);
    move_stack(L);
    return;
  }
#endif
  if (!widen_window(L, n)) grow_by(L, n, true);
}

void stack_shrink(lua_State *L) {
  ptrdiff_t size = L->stack_end - L->stack;
  if (size <= SHRINK_FROM) return;
  /* a lower bound first: walking all frames at each caught error would make the unwinding
   * of nested pcalls quadratic */
  ptrdiff_t at_least = L->ci->top - L->stack;
  if (at_least > MAX_STACK - ERROR_STACK || (at_least >= size / 4 && size <= MAX_STACK)) return;
  ptrdiff_t used = slots_in_use(L);
  if (used > MAX_STACK - ERROR_STACK) return; /* still handling the overflow */
  if (used >= size / 4 && size <= MAX_STACK) return;
  ptrdiff_t wanted = used * 2 > BASIC_STACK_SIZE ? used * 2 : BASIC_STACK_SIZE;
  if (wanted > MAX_STACK) wanted = MAX_STACK;
  /* the stack stays as it is if out of memory */
  if (wanted < size) resize_stack(L, wanted);
}

CallInfo *callinfo_extend(lua_State *L) {
  CallInfo *ci = heap_try_alloc_stack(L, sizeof *ci);
  if (unlikely(ci == NULL) && collect_in_need(L)) ci = heap_try_alloc_stack(L, sizeof *ci);
  if (unlikely(ci == NULL)) error_memory(L);
  memset(ci, 0, sizeof *ci);
  ci->prev = L->ci;
  L->ci->next = ci;
  ci->depth = L->ci->depth + 1;
  L->nci++;
  gc_part_changed(L, L);
  return ci;
}

/* ---- threads ------------------------------------------------------------- */

const Context context_none = {.count = CONTEXT_SPANS, .checked = CONTEXT_SPANS};

size_t thread_bytes(void) { return heap_round(LUA_EXTRASPACE + sizeof(lua_State)); }

/* Makes an empty thread without a stack in `memory`, which has thread_bytes(). */
lua_State *thread_prepare(Domain *d, void *memory) {
  memset(memory, 0, thread_bytes());
  lua_State *L = (lua_State *)((char *)memory + LUA_EXTRASPACE);
  object_init(L, L, LUA_TTHREAD);
  L->domain = d;
  L->ci = &L->base_ci;
  L->spans = (Context *)&context_none;
  L->base_ci.status = CALL_C | CALL_BASE;
  L->status = LUA_OK;
  L->allow_hook = 1;
  return L;
}

/* Gives the thread its first stack. Returns false if out of memory: a thread without a
 * stack is valid but unusable. */
bool thread_make_stack(lua_State *L) {
  TValue *stack = heap_try_alloc_stack(L, stack_bytes(BASIC_STACK_SIZE));
  if (stack == NULL) return false;
  _Static_assert(TAG_NIL == 0, "zero bytes are nil");
  memset(stack, 0, (BASIC_STACK_SIZE + EXTRA_STACK) * sizeof *stack);
  L->stack = stack;
  L->stack_last = L->stack_end = stack + BASIC_STACK_SIZE;
  L->top = stack + 1; /* slot of the base frame's function */
  L->base_ci.func = stack;
  L->base_ci.top = L->top + LUA_MINSTACK;
  return true;
}

lua_State *thread_new(lua_State *L) {
  Domain *d = L->domain;
  lua_State *co = thread_prepare(d, heap_alloc(L, thread_bytes(), MEMPROF_THREAD));
  if (!thread_make_stack(co)) error_memory(L);
  thread_note_site(L->ci, &co->created_in, &co->created_at);
  co->ran_before = (uint32_t)d->gc.stats.minors;
  co->dispatch = L->dispatch;
  co->hook_mask = L->hook_mask;
  co->instrumented = L->instrumented;
  co->hook = L->hook;
  co->base_hook_count = co->hook_count = L->base_hook_count;
  memcpy((char *)co - LUA_EXTRASPACE, (char *)d->main_thread - LUA_EXTRASPACE, LUA_EXTRASPACE);
  return co;
}
