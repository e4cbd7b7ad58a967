/* SPDX-License-Identifier: MIT */
/* vm/call_profile.c: the profile of calls of a domain.
 *
 * A profile consists of the watcher of calls of its domain (watch.h), which reports every
 * entry and exit, and of a trie of <eventring/calls.h>, which counts the calls. Each
 * coroutine has a stack in the trie. The stack is found by the address of the coroutine's
 * thread, and is freed when the coroutine has no frame any more. A new thread may begin
 * at the address of a thread that is gone. It is recognized because it was not met when
 * the stack was last met (lua_State.watch differs from ThreadStack.watch), and gets a new
 * stack.
 *
 * At the start, the frames of the running thread and of the threads that wait for it are
 * entered as calls that began earlier, from the outermost thread inwards. The frames of
 * another coroutine are entered when it runs.
 *
 * The runtime's own activities count as functions, too (RuntimeHooks.interlude): the
 * collector, finalizers, waiting for other domains.
 *
 * Time is the clock of recordings. A profile of CPU time subtracts the time for which the
 * thread was not on a processor (eventring_off_cpu). The subtraction costs a load and a
 * comparison as long as the thread is not interrupted.
 *
 * Spans. While class calls is on, each call is a span in ring calls. Its event is defined
 * at the function's first call, for at most MOST_EVENTS functions. In a domain without a
 * profile, a watcher may exist for spans alone. While other processes have named
 * functions (eventring_calls_names), only calls of the named functions that begin in that
 * time are spans. The frames of such calls are marked (CALL_NAMED), and the stack of
 * their thread lists the functions, so that exactly the ends of these calls are written.
 * (A mark without a function in that list is left from an earlier time.) A coroutine is
 * suspended for readers only if it has such a span open. Without a profile there is no
 * trie in this case, and the call of a function that is not named costs only the check
 * that it is not.
 *
 * The profile is written into the recording whenever a period has passed, by the domain's
 * own thread, when a call is entered or at a safepoint (call_profile_process.c).
 */
#include "call_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "clock.h"
#include "probes.h"
#include "throw.h"

#define SPANS_BUDGET ((size_t)4 << 20)

enum {
  MOST_EVENTS = 4096,
  /* the first wait before the profile is written is period / 64; each next one is twice
     as long */
  FIRST_SHARE = 64,
  WRITING_SHARE = 50 /* at most this part of the time is spent writing */
};

/* The stack of a thread in the trie. */
typedef struct ThreadStack {
  const lua_State *L; /* NULL for a free slot */
  eventring_calls_stack *stack; /* NULL if there was no memory for one */
  uint64_t context;
  /* Domain.watch at the moment when the thread was last met (lua_State.watch was
     equal) */
  uint32_t watch;
  /* position of the thread in the chain, from 1; 0 if it is not in the chain */
  uint32_t depth;
  /* the functions of the thread's marked frames (CALL_NAMED), the outermost first */
  uint32_t *named;
  uint32_t named_count, named_room;
} ThreadStack;

struct CallProfile {
  CallWatcher watcher; /* first */
  Domain *domain;
  eventring_calls *calls;
  bool only_spans; /* the trie only keeps which functions are open */
  CalledFunctions *functions;
  bool cpu, inline_clock, paused; /* paused: the watch begins or ends */
  bool spans;
  /* names of the functions whose calls are spans; "" for all functions */
  char names[EVENTRING_MAX_CALL_NAMES + 1];
  uint32_t names_version;
  /* the watcher exists for spans of named functions alone; the trie is not used */
  bool only_named;
  /* the clock is inline, all functions are profiled, there are no spans: the usual
     case */
  bool plain;
  const char *include, *exclude;
  uint64_t start_ticks, next_write;
  /* ticks between two writings: the present wait, and the most */
  uint64_t wait_ticks, period_ticks;
  /* time for which the thread has not been on a processor, in ns and ticks */
  uint64_t off_ns, off_ticks;
  double ticks_per_ns;
  uint64_t context; /* context of the running thread, set while there are spans */
  uint32_t stack_count, stack_room; /* stack_room is a power of 2 */
  ThreadStack *stacks;
  /* The chain of threads, each of which waits for the next: the outermost first, the
   * running one last. A thread for which `stacks` has no room is left out. */
  const lua_State **chain;
  uint32_t chain_length, chain_room;
};

/* ---- time ---------------------------------------------------------------- */

ALWAYS_INLINE uint64_t clock_now(const CallProfile *p) {
  return likely(p->inline_clock) ? eventring_ticks() : monotonic_ns();
}

static NOINLINE void note_off_cpu(CallProfile *p, uint64_t off) {
  p->off_ns = off;
  p->off_ticks = (uint64_t)((double)off * p->ticks_per_ns);
}

static NOINLINE uint64_t cpu_now(CallProfile *p) {
  const uint64_t off = eventring_off_cpu();
  if (unlikely(off != p->off_ns)) note_off_cpu(p, off); /* the thread was not running */
  return clock_now(p) - p->off_ticks;
}

/* Returns the time of the profile, or 0 in a trie for spans alone: spans have times of
   their own. */
ALWAYS_INLINE uint64_t profile_now(CallProfile *p) {
  if (unlikely(p->only_spans)) return 0;
  return unlikely(p->cpu) ? cpu_now(p) : clock_now(p);
}

/* ---- stacks of threads --------------------------------------------------- */

static uint32_t home_of(const CallProfile *p, const lua_State *L) {
  return (uint32_t)(((uintptr_t)L >> 4) * 0x9e3779b97f4a7c15u >> 40) & (p->stack_room - 1);
}

static ThreadStack *slot_of(const CallProfile *p, const lua_State *L) {
  uint32_t at = home_of(p, L);
  while (p->stacks[at].L != NULL && p->stacks[at].L != L) at = (at + 1) & (p->stack_room - 1);
  return &p->stacks[at];
}

static bool grow_stacks(CallProfile *p) {
  ThreadStack *old = p->stacks;
  const uint32_t room = p->stack_room;
  ThreadStack *grown = calloc(room == 0 ? 64 : room * 2, sizeof *grown);
  if (grown == NULL) return false;
  p->stacks = grown;
  p->stack_room = room == 0 ? 64 : room * 2;
  for (uint32_t i = 0; i < room; i++)
    if (old[i].L != NULL) *slot_of(p, old[i].L) = old[i];
  free(old);
  return true;
}

/* Returns the stack of a thread, or NULL if there is no memory. */
static ThreadStack *stack_of(CallProfile *p, const lua_State *L) {
  if (p->stack_count * 2 >= p->stack_room && !grow_stacks(p)) return NULL;
  ThreadStack *s = slot_of(p, L);
  if (s->L == NULL) {
    const bool is_main = L == p->domain->main_thread;
    *s = (ThreadStack){.L = L, .context = is_main ? 0 : ++p->domain->contexts,
                       .watch = p->domain->watch};
    p->stack_count++;
  }
  if (s->stack == NULL && !p->only_named) s->stack = eventring_calls_stack_new(p->calls);
  return s;
}

static void free_stack(CallProfile *p, ThreadStack *s) {
  if (s->stack != NULL && s->stack != eventring_calls_first_stack(p->calls))
    eventring_calls_stack_free(p->calls, s->stack);
  s->stack = NULL;
}

/* Forgets a thread. The entries behind it move up, so that each is found from its home
   on. */
static void forget_thread(CallProfile *p, ThreadStack *s) {
  const uint32_t mask = p->stack_room - 1;
  uint32_t hole = (uint32_t)(s - p->stacks);
  rt_assert(s->depth == 0);
  free_stack(p, s);
  free(s->named);
  for (uint32_t at = (hole + 1) & mask; p->stacks[at].L != NULL; at = (at + 1) & mask) {
    if (((at - home_of(p, p->stacks[at].L)) & mask) < ((at - hole) & mask)) continue;
    p->stacks[hole] = p->stacks[at];
    hole = at;
  }
  p->stacks[hole] = (ThreadStack){0};
  p->stack_count--;
}

/* ---- threads that wait for each other ------------------------------------- */

/* Adds a thread that begins to run to the chain: the thread that was last in it waits for
 * this one. */
static void join_chain(CallProfile *p, ThreadStack *s) {
  rt_assert(s->depth == 0);
  if (p->chain_length == p->chain_room) {
    const uint32_t room = p->chain_room == 0 ? 16 : p->chain_room * 2;
    const lua_State **grown = realloc(p->chain, room * sizeof *grown);
    if (grown == NULL) return;
    p->chain = grown;
    p->chain_room = room;
  }
  p->chain[p->chain_length++] = s->L;
  s->depth = p->chain_length;
}

/* Cuts the chain to its first `depth` threads. The last of these continues; the threads
   behind it have been left. */
static void cut_chain(CallProfile *p, uint32_t depth) {
  while (p->chain_length > depth) {
    ThreadStack *left = slot_of(p, p->chain[p->chain_length - 1]);
    rt_assert(left->L != NULL && left->depth == p->chain_length);
    left->depth = 0;
    p->chain_length--;
  }
}

/* ---- spans --------------------------------------------------------------- */

static NOINLINE unsigned define_event(CallProfile *p, CalledFunction *f) {
  char name[EVENTRING_MAX_NAME + 1];
  const int size =
      f->line != 0 ? snprintf(name, sizeof name, "%s (%s:%u)", f->name, f->source, f->line)
                   : snprintf(name, sizeof name, "%s", f->name);
  if (size >= (int)sizeof name)
    name[eventring_text_fit(name, sizeof name - 1, sizeof name - 1)] = '\0';
  const struct eventring_def def = {
      .name = name, .kind = EVENTRING_DEF_SPAN, .event_class = EVENTRING_CLASS_CALLS,
      .ring = EVENTRING_CALLS, .payload = EVENTRING_NONE};
  const bool full = p->functions->list[CALLED_OTHER].event >= MOST_EVENTS;
  const int id = full ? EVENTRING_ID_OTHER : eventring_register(&def, NULL);
  if (!full && f != &p->functions->list[CALLED_OTHER]) p->functions->list[CALLED_OTHER].event++;
  return f->event = (uint16_t)(id >= 0 ? id : EVENTRING_ID_OTHER);
}

static NOINLINE void begin_span(CallProfile *p, uint32_t number) {
  CalledFunction *f = &p->functions->list[number];
  if (!eventring_enabled(p->domain->rings, EVENTRING_CALLS, EVENTRING_CLASS_CALLS)) return;
  unsigned id = f->event;
  if (id == 0 || number == CALLED_OTHER) id = number == CALLED_OTHER ? EVENTRING_ID_OTHER
                                                                      : define_event(p, f);
  eventring_set_context(p->domain->rings, EVENTRING_CALLS, p->context);
  eventring_begin(p->domain->rings, EVENTRING_CALLS, EVENTRING_CLASS_CALLS, id);
}

static NOINLINE void end_span(CallProfile *p, uint32_t number) {
  struct eventring_domain *rings = p->domain->rings;
  if (!eventring_enabled(rings, EVENTRING_CALLS, EVENTRING_CLASS_CALLS)) return;
  unsigned id = p->functions->list[number].event;
  if (id == 0 || number == CALLED_OTHER) id = EVENTRING_ID_OTHER;
  eventring_set_context(rings, EVENTRING_CALLS, p->context);
  eventring_end(rings, EVENTRING_CALLS, EVENTRING_CLASS_CALLS, id);
}

/* Writes a switch between threads for the spans: that `to` resumes or, if `to` only
 * waited, that `from` is suspended. The main thread is context 0, as for the user's
 * spans. */
static void switch_spans(CallProfile *p, const lua_State *from, const lua_State *to,
                         bool resumes) {
  struct eventring_domain *rings = p->domain->rings;
  const uint64_t left = p->context;
  p->context = slot_of(p, to)->context; /* 0 if there was no room for `to` */
  if (p->names[0] != '\0' && slot_of(p, resumes ? to : from)->named_count == 0)
    return;
  if (resumes)
    eventring_resume_context(rings, EVENTRING_CALLS, EVENTRING_CLASS_CALLS, p->context);
  else
    eventring_suspend(rings, EVENTRING_CALLS, EVENTRING_CLASS_CALLS, left);
}

/* ---- the watcher --------------------------------------------------------- */

/* Writes the profile at a call, and interrupts the thread so that requests for the
 * profile are obeyed before its next instruction. A domain that mostly sleeps in C code
 * would miss such requests (usually the end of the profile), because it is rarely at a
 * safepoint while the word is raised (call_profile_process.c). */
static NOINLINE void write_at_call(CallProfile *p) {
  Domain *d = p->domain;
  call_profile_write(p, false);
  if (p->only_spans || d->hooks.interrupt == NULL) return;
  __atomic_fetch_or(&d->peer->attention, ATTENTION_QUESTION, __ATOMIC_RELAXED);
  d->hooks.interrupt(d->current);
}

static void enter_function(CallProfile *p, uint32_t number, bool is_open) {
  if (p->only_named) return;
  const uint64_t now = profile_now(p);
  if (unlikely(p->functions->list[number].hidden))
    eventring_calls_enter_as(p->calls, number, now, EVENTRING_CALLS_ENTER_HIDDEN);
  else if (unlikely(is_open))
    eventring_calls_enter_as(p->calls, number, now, EVENTRING_CALLS_ENTER_OPEN);
  else eventring_calls_enter(p->calls, number, now);
  if (unlikely(now >= p->next_write)) write_at_call(p);
}

static void filter(CallProfile *p, uint32_t number) {
  CalledFunction *f = &p->functions->list[number];
  f->named = number >= CALLED_FIRST && called_function_is_named(f, p->names);
  if (number < CALLED_FIRST) return;
  f->hidden = (p->include != NULL && !called_function_matches(f, p->include)) ||
              (p->exclude != NULL && called_function_matches(f, p->exclude));
}

static uint32_t find_function(CallProfile *p, lua_State *L, const CallInfo *frame) {
  if (likely(frame->func->tag == TAG_LUA_CLOSURE)) {
    const uint32_t number = frame_closure(frame)->p->call_number;
    if (likely(number != 0)) return number;
  }
  const uint32_t before = p->functions->count;
  const uint32_t number = called_function_find(p->functions, L, frame);
  if (unlikely(p->functions->count != before))
    for (uint32_t i = before; i < p->functions->count; i++) filter(p, i);
  return number;
}

/* Marks a frame of the thread. Returns false if there is no memory. */
static bool mark_named(CallProfile *p, const lua_State *L, CallInfo *frame, uint32_t number) {
  ThreadStack *s = slot_of(p, L);
  if (s->L == NULL) return false; /* `stacks` had no room for the thread */
  if (s->named_count == s->named_room) {
    const uint32_t room = s->named_room == 0 ? 8 : s->named_room * 2;
    uint32_t *grown = realloc(s->named, room * sizeof *grown);
    if (grown == NULL) return false;
    s->named = grown;
    s->named_room = room;
  }
  s->named[s->named_count++] = number;
  frame->status |= CALL_NAMED;
  return true;
}

/* Removes the mark of a frame. Returns the number of the frame's function (CALLED_FIRST
   or more), or 0 if the frame was not marked, or was marked at an earlier time. */
static uint32_t unmark_named(CallProfile *p, const lua_State *L, CallInfo *frame) {
  if (!(frame->status & CALL_NAMED)) return 0;
  frame->status &= ~(uint32_t)CALL_NAMED;
  ThreadStack *s = slot_of(p, L);
  return s->L != NULL && s->named_count > 0 ? s->named[--s->named_count] : 0;
}

/* Forgets all marks when class calls is off: the ends of the marked calls could not be
   matched. */
static void forget_named(CallProfile *p) {
  for (uint32_t i = 0; i < p->stack_room; i++) p->stacks[i].named_count = 0;
}

static NOINLINE void entered_odd(CallProfile *p, lua_State *L, CallInfo *frame, CallEntry how) {
  if (p->paused) return;
  const uint32_t number = find_function(p, L, frame);
  enter_function(p, number, how == ENTRY_OPEN);
  if (!p->spans) return;
  if (p->names[0] == '\0') {
    if (p->calls->stack->unpushed == 0) begin_span(p, number);
  } else if (p->functions->list[number].named && how != ENTRY_OPEN) {
    if (mark_named(p, L, frame, number)) begin_span(p, number);
  }
}

/* Tells whether the function of a frame is known not to be among the named ones; for use
   where only calls of named functions are spans. */
ALWAYS_INLINE bool is_unnamed(const CallProfile *p, const CallInfo *frame) {
  if (frame->func->tag != TAG_LUA_CLOSURE) return false;
  const uint32_t number = frame_closure(frame)->p->call_number;
  return number != 0 && !p->functions->list[number].named;
}

static void entered(CallWatcher *watcher, lua_State *L, CallInfo *frame, CallEntry how) {
  CallProfile *p = (CallProfile *)watcher;
  if (unlikely(!p->plain || how == ENTRY_OPEN)) {
    if (p->only_named && how != ENTRY_OPEN && is_unnamed(p, frame)) return;
    entered_odd(p, L, frame, how);
    return;
  }
  const uint32_t number = find_function(p, L, frame);
  const uint64_t now = likely(!p->cpu) ? eventring_ticks() : cpu_now(p);
  eventring_calls_enter(p->calls, number, now);
  if (unlikely(now >= p->next_write)) write_at_call(p);
}

/* Ends the span of the innermost call. Something else may be in the slot of the function
 * by now: the stack knows which function it was. A call has no span if the stack had no
 * room for it, or if it was entered before its thread got its stack, which is empty
 * then. */
static void end_any(CallProfile *p) {
  const uint64_t id = p->calls->stack->top[-1].id;
  if (p->calls->stack->unpushed == 0 && id != EVENTRING_CALLS_NO_ID) end_span(p, (uint32_t)id);
}

static NOINLINE void left_odd(CallProfile *p, const lua_State *L, CallInfo *frame) {
  if (p->paused) return;
  const uint32_t named = unmark_named(p, L, frame);
  if (p->spans && named != 0) end_span(p, named);
  else if (p->spans && p->names[0] == '\0') end_any(p);
  if (!p->only_named) eventring_calls_leave(p->calls, profile_now(p));
}

static void left(CallWatcher *watcher, lua_State *L, CallInfo *frame, CallExit how) {
  CallProfile *p = (CallProfile *)watcher;
  (void)how;
  if (likely(p->plain))
    eventring_calls_leave(p->calls, likely(!p->cpu) ? eventring_ticks() : cpu_now(p));
  else if (!p->only_named || (frame->status & CALL_NAMED)) left_odd(p, L, frame);
}

static bool spans_are_on(const Domain *d) {
  return d->rings != NULL && eventring_enabled(d->rings, EVENTRING_CALLS, EVENTRING_CLASS_CALLS);
}

/* Sets `plain`. To be called after a change of a member that `plain` depends on. */
static void choose_way(CallProfile *p) {
  p->plain = !p->paused && !p->spans && !p->only_spans && p->inline_clock &&
             p->include == NULL && p->exclude == NULL;
}

/* Reads the names that other processes have chosen, if there are new ones. */
static void find_names(CallProfile *p) {
  const uint32_t before = p->names_version;
  if (eventring_calls_names(p->domain->rings, p->names, &p->names_version) < 0 ||
      p->names_version == before)
    return;
  for (uint32_t i = 0; i < p->functions->count; i++) filter(p, i);
}

static void find_spans(CallProfile *p, const lua_State *L) {
  if (p->domain->rings != NULL) find_names(p);
  p->spans = spans_are_on(p->domain);
  p->context = slot_of(p, L)->context;
  if (!p->spans) forget_named(p);
}

/* Returns the stack of a thread that is met now. If the thread was not met when its stack
 * was last met, it is a new thread at the same address, and gets a new stack. A thread
 * that was suspended during several watches, each of which took over from the watch
 * before, is still the same thread. */
static ThreadStack *stack_met(CallProfile *p, const lua_State *L) {
  const bool is_new = slot_of(p, L)->L == NULL;
  ThreadStack *s = stack_of(p, L);
  if (s == NULL || is_new) return s;
  if (L->watch == s->watch) {
    s->watch = p->domain->watch;
    return s;
  }
  if (s->depth != 0) cut_chain(p, s->depth - 1);
  forget_thread(p, s);
  return stack_of(p, L);
}

static bool is_over(const lua_State *L) {
  return L->status > LUA_YIELD || (L->status == LUA_OK && L->ci == &L->base_ci);
}

static void forget_if_over(CallProfile *p, const lua_State *L) {
  ThreadStack *s = slot_of(p, L);
  if (s->L != NULL && s->depth == 0 && is_over(L)) forget_thread(p, s);
}

/* Handles a switch between threads. A thread in the chain continues: it waited for
 * `from`, perhaps through others. Any other begins to run within `from`: it is resumed,
 * or its pending variables are closed, or a C function calls something in it. */
static void switched(CallWatcher *watcher, lua_State *from, lua_State *to) {
  CallProfile *p = (CallProfile *)watcher;
  if (unlikely(p->paused)) return;
  ThreadStack *s = stack_met(p, to);
  const bool resumes = s == NULL || s->depth == 0;
  if (unlikely(p->spans)) switch_spans(p, from, to, resumes);
  /* no room: the first stack takes its calls */
  if (unlikely(s == NULL || s->stack == NULL))
    eventring_calls_switch(p->calls, eventring_calls_first_stack(p->calls),
                           EVENTRING_CALLS_LEAVE, profile_now(p));
  else
    eventring_calls_switch(p->calls, s->stack,
                           resumes ? EVENTRING_CALLS_RESUME : EVENTRING_CALLS_LEAVE,
                           profile_now(p));
  if (!resumes) {
    cut_chain(p, s->depth);
    forget_if_over(p, from);
  } else if (s != NULL) {
    join_chain(p, s);
  }
}

/* Handles the begin and the end of an activity of the runtime itself. */
static void interlude(Domain *d, Interlude what, bool begins) {
  static const uint32_t numbers[] = {CALLED_COLLECTOR, CALLED_FINALIZERS, CALLED_WAIT};
  CallProfile *p = call_profile_of(d);
  if (p == NULL || p->paused || p->only_named) return;
  if (begins) enter_function(p, numbers[what], false);
  else eventring_calls_exit(p->calls, numbers[what], profile_now(p));
}

/* ---- start and stop ------------------------------------------------------ */

static void enter_open_frames(CallProfile *p, lua_State *L) {
  for (CallInfo *frame = L->base_ci.next; frame != NULL; frame = frame->next) {
    if (!(frame->status & CALL_WATCHED)) break;
    enter_function(p, find_function(p, L, frame), true);
  }
}

/* Enters the open frames of the threads that wait for each other, the outermost first. */
static void enter_open_threads(CallProfile *p, lua_State *L, const ErrorJump *jump) {
  lua_State *waiting = watch_waiting(L, &jump);
  if (waiting != NULL) enter_open_threads(p, waiting, jump);
  ThreadStack *s = stack_of(p, L);
  if (s == NULL || s->depth != 0) return;
  /* notes that the thread is met already: while it waits, it has run in the watch
     before */
  s->watch = p->domain->watch;
  if (waiting == NULL && !p->only_named) {
    free_stack(p, s);
    s->stack = eventring_calls_first_stack(p->calls);
  }
  join_chain(p, s);
  if (s->stack == NULL && !p->only_named) return;
  if (s->stack != NULL)
    eventring_calls_switch(p->calls, s->stack, EVENTRING_CALLS_RESUME, profile_now(p));
  enter_open_frames(p, L);
}

static char *copy_text(const char *text) { return text != NULL ? strdup(text) : NULL; }

static CalledFunctions *functions_of(Domain *d) {
  if (d->called == NULL) {
    CalledFunctions *f = calloc(1, sizeof *f);
    if (f == NULL || !called_functions_begin(f)) {
      free(f);
      return NULL;
    }
    d->called = f;
  }
  return d->called;
}

static CallProfile *new_profile(Domain *d, const CallProfileOptions *options) {
  CallProfile *p = calloc(1, sizeof *p);
  if (p == NULL) return NULL;
  p->watcher = (CallWatcher){entered, left, switched};
  p->domain = d;
  p->functions = functions_of(d);
  p->inline_clock = eventring_ticks_are_inline();
  p->next_write = UINT64_MAX;
  if (p->functions == NULL || !grow_stacks(p)) {
    call_profile_free(p);
    return NULL;
  }
  p->ticks_per_ns = 1 / eventring_ns_per_tick();
  if (options == NULL) {
    static const CallProfileOptions for_spans = {.budget = SPANS_BUDGET};
    p->only_spans = true;
    options = &for_spans;
  }
  p->calls = eventring_calls_new(options->budget != 0 ? options->budget : CALL_PROFILE_BUDGET);
  p->cpu = options->cpu;
  p->include = copy_text(options->include);
  p->exclude = copy_text(options->exclude);
  p->period_ticks = (uint64_t)((double)(options->period_ns != 0 ? options->period_ns
                                                                : CALL_PROFILE_PERIOD) *
                               p->ticks_per_ns);
  if (p->calls != NULL) return p;
  call_profile_free(p);
  return NULL;
}

/* Takes over the threads of a former watch with their contexts and their open spans, so
   that spans continue when the watch changes. */
static void take_over(CallProfile *p, CallProfile *former) {
  for (uint32_t i = 0; i < former->stack_room; i++) {
    ThreadStack *from = &former->stacks[i];
    if (from->L == NULL || (p->stack_count * 2 >= p->stack_room && !grow_stacks(p))) continue;
    *slot_of(p, from->L) = (ThreadStack){.L = from->L, .context = from->context,
                                         .watch = from->watch,
                                         .named = from->named, .named_count = from->named_count,
                                         .named_room = from->named_room};
    p->stack_count++;
    from->named = NULL;
    from->named_count = from->named_room = 0;
  }
}

/* Installs a profile. `former`: a watch of this domain that has just ended, and had
   spans; or NULL. */
static CallProfile *install(lua_State *L, const CallProfileOptions *options, CallProfile *former,
                            bool *no_memory) {
  Domain *d = L->domain;
  CallProfile *p = new_profile(d, options);
  *no_memory = p == NULL;
  if (p == NULL) return NULL;
  p->paused = true;
  if (former != NULL && former->spans) take_over(p, former);
  if (d->rings != NULL) find_names(p);
  p->only_named = p->only_spans && p->names[0] != '\0';
  if (!watch_calls(L, &p->watcher)) {
    call_profile_free(p);
    return NULL;
  }
  d->hooks.interlude = interlude;
  for (uint32_t i = 0; i < p->functions->count; i++) filter(p, i);
  p->start_ticks = clock_now(p);
  eventring_calls_start(p->calls, profile_now(p));
  enter_open_threads(p, L, d->error_jump);
  find_spans(p, L);
  p->wait_ticks = p->period_ticks / FIRST_SHARE;
  if (!p->only_spans) p->next_write = profile_now(p) + p->wait_ticks;
  p->paused = false;
  choose_way(p);
  return p;
}

static void uninstall(lua_State *L, CallProfile *p) {
  eventring_calls_charge(p->calls, profile_now(p));
  p->paused = true;
  choose_way(p);
  if (L->domain->watcher == &p->watcher) {
    watch_calls_end(L);
    L->domain->hooks.interlude = NULL;
  }
}

CallProfile *call_profile_of(const Domain *d) {
  return d->watcher != NULL && d->watcher->entered == entered ? (CallProfile *)d->watcher : NULL;
}

CallProfile *call_profile_start(lua_State *L, const CallProfileOptions *options,
                                bool *no_memory) {
  CallProfile *old = call_profile_of(L->domain);
  *no_memory = false;
  if (old != NULL && !old->only_spans) return NULL;
  /* the old watch is for spans alone, which the new one writes, too */
  if (old != NULL) uninstall(L, old);
  CallProfile *p = install(L, options, old, no_memory);
  call_profile_free(old);
  return p;
}

/* Changes between spans of all functions and spans of named ones. */
static void change_kind(lua_State *L, CallProfile *p) {
  bool no_memory;
  uninstall(L, p);
  install(L, NULL, p, &no_memory);
  call_profile_free(p);
}

static void check_spans(lua_State *L, CallProfile *former) {
  CallProfile *p = call_profile_of(L->domain);
  bool no_memory;
  if (p != NULL && !p->only_spans) {
    find_spans(p, L);
    choose_way(p);
  } else if (p == NULL && spans_are_on(L->domain)) {
    install(L, NULL, former, &no_memory);
  } else if (p != NULL && !spans_are_on(L->domain)) {
    uninstall(L, p);
    call_profile_free(p);
  } else if (p != NULL) {
    find_names(p);
    if (p->only_named != (p->names[0] != '\0')) change_kind(L, p);
  }
}

void call_profile_stop(lua_State *L, CallProfile *p) {
  uninstall(L, p);
  call_profile_write(p, true);
  check_spans(L, p);
}

void call_profile_check_spans(lua_State *L) { check_spans(L, NULL); }

void call_profile_free(CallProfile *p) {
  if (p == NULL) return;
  eventring_calls_free(p->calls);
  for (uint32_t i = 0; i < p->stack_room; i++) free(p->stacks[i].named);
  free((char *)p->include);
  free((char *)p->exclude);
  free(p->stacks);
  free(p->chain);
  free(p);
}

/* ---- writing ------------------------------------------------------------- */

void call_profile_write(CallProfile *p, bool final) {
  const CalledFunctions *f = p->functions;
  if (p->only_spans) return;
  const uint64_t now = profile_now(p);
  struct eventring_calls_function *list = calloc(f->count, sizeof *list);
  if (!p->paused) eventring_calls_charge(p->calls, now);
  for (uint32_t i = 0; list != NULL && i < f->count; i++)
    list[i] = (struct eventring_calls_function){f->list[i].name, f->list[i].source,
                                                f->list[i].line, f->list[i].kind};
  const struct eventring_profile_source source = {
      .calls = p->calls, .functions = list, .function_count = f->count,
      .flags = (p->cpu ? EVENTRING_PROFILE_CPU : 0) | (final ? EVENTRING_PROFILE_FINAL : 0),
      .start_ticks = p->start_ticks};
  if (list != NULL && p->domain->rings != NULL)
    eventring_calls_write(p->domain->rings, &source, NULL);
  free(list);
  const uint64_t after = profile_now(p);
  const uint64_t rest = (after - now) * WRITING_SHARE;
  p->next_write = after + (rest > p->wait_ticks ? rest : p->wait_ticks);
  p->wait_ticks *= 2;
  if (p->wait_ticks > p->period_ticks) p->wait_ticks = p->period_ticks;
}

void call_profile_write_if_due(CallProfile *p) {
  if (!p->only_spans && !p->paused && profile_now(p) >= p->next_write)
    call_profile_write(p, false);
}

void call_profile_end(CallProfile *p) {
  eventring_calls_charge(p->calls, profile_now(p));
  p->paused = true;
  choose_way(p);
  call_profile_write(p, true);
  call_profile_free(p);
}

/* ---- what others read ---------------------------------------------------- */

const eventring_calls *call_profile_calls(const CallProfile *p) { return p->calls; }
uint64_t call_profile_started(const CallProfile *p) { return p->start_ticks; }
bool call_profile_is_cpu(const CallProfile *p) { return p->cpu; }

size_t call_profile_functions(const CallProfile *p) { return p->functions->count; }

void call_profile_charge(CallProfile *p) {
  if (!p->paused) eventring_calls_charge(p->calls, profile_now(p));
}

const CalledFunction *call_profile_function(const CallProfile *p, uint64_t number) {
  return &p->functions->list[number < p->functions->count ? number : CALLED_OTHER];
}
