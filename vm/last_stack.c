/* SPDX-License-Identifier: MIT */
/* vm/last_stack.c: writes the stack of a domain into the recording, so that a process
 * that is killed leaves a record of what it did.
 *
 * A stack is written in each period (SAROS_EVENTRING_STACKS, 1 s by default, 0 for
 * never), at the next safepoint; after a step of the collector of STEP_NS or more; when a
 * trigger fires; at an error without a handler; when memory is short; and in the handler
 * of a signal that ends the process.
 *
 * While the process records, the helper of the library asks for stacks in each period
 * (eventring_stack_ask_each): it sets a bit in the word that safepoints test anyway
 * (probes.h), and clears the bit soon after. Other processes set the bit, too. So nothing
 * is added to the code that a program executes. Where there is no helper (without /proc),
 * a domain checks the time whenever it collects.
 *
 * In a signal handler anything may be half done. Frames are filled in an order that keeps
 * their list valid at each moment (frame.h), but memory may be damaged if the signal is
 * SIGSEGV. So the handler reads everything with process_vm_readv, which fails where a
 * load would trap, and reads only frames, closures, prototypes and their names.
 */
#include "last_stack.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "debuginfo.h"
#include "eventring/calls.h"
#include "eventring/introspection.h"
#include "eventring/stack.h"
#include "frame.h"
#include "function_names.h"
#include "func.h"
#include "introspection.h"
#include "peer.h"
#include "position.h"
#include "probes.h"
#include "thread.h"

#define NS_PER_S 1000000000.0
#define LEAST_PERIOD_NS 10000000
/* the least time between two shortages of memory that are noted */
#define MEMORY_NS 100000000
#define MOST_NAME 128
enum { MOST_FRAMES = 64, DOMAIN_SLOTS = 4096 };

typedef struct Text {
  char bytes[EVENTRING_MAX_STACK_TEXT];
  size_t size;
  uint32_t frames;
  bool full;
} Text;

/* ---- describing ---------------------------------------------------------- */

/* Writes the digits of a line number at the end of `text`, and returns where they begin.
   Writes "" for 0. */
static const char *line_text(char text[static 16], uint32_t line) {
  char *at = text + 15;
  *at = '\0';
  for (; line != 0; line /= 10) *--at = (char)('0' + line % 10);
  return at;
}

static void put_line(Text *t, const char *name, const char *source, uint32_t line) {
  char room[16];
  const char *number = line_text(room, line);
  t->frames++;
  size_t names = strlen(name), sources = strlen(source), digits = strlen(number);
  if (t->full || t->size + names + sources + digits + 3 > sizeof t->bytes) {
    t->full = true;
    return;
  }
  char *to = t->bytes + t->size;
  const struct { const char *text; size_t size; char end; } parts[] = {
    {name, names, '\t'}, {source, sources, '\t'}, {number, digits, '\n'}};
  for (int i = 0; i < 3; i++) {
    for (size_t k = 0; k < parts[i].size; k++)
      *to++ = parts[i].text[k] == '\t' || parts[i].text[k] == '\n' ? '?' : parts[i].text[k];
    *to++ = parts[i].end;
  }
  t->size = (size_t)(to - t->bytes);
}

static void put_frame(Text *t, lua_State *L, CallInfo *frame) {
  char name[FUNCTION_NAME_SIZE] = "?", source[LUA_IDSIZE] = "?";
  uint32_t line = 0, last_line = 0, column = 0;
  if (t->full) {
    t->frames++;
    return;
  }
  frame_name(L, frame, name, source, &line, &last_line);
  if (is_lua_frame(frame)) {
    const Prototype *p = frame_closure(frame)->p;
    const ptrdiff_t pc = frame->u.lua.pc - p->code - 1;
    frame_position(p, pc > 0 ? (uint32_t)pc : 0, &line, &column);
  }
  put_line(t, name, source, line);
}

static void describe(Text *t, const Domain *d) {
  for (lua_State *co = d->current; co != NULL; co = co->resumer)
    for (CallInfo *frame = co->ci; frame != &co->base_ci; frame = frame->prev)
      put_frame(t, co, frame);
}

/* ---- describing in a handler --------------------------------------------- */

static bool peek(const void *from, void *to, size_t size) {
  const struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
  return syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0) == (long)size;
}

/* Reads at most MOST_NAME - 1 bytes of a string; returns their number, or 0 if it cannot
   be read. */
static size_t peek_string(const String *s, char *text) {
  String head;
  text[0] = '\0';
  if (s == NULL || !peek(s, &head, offsetof(String, data))) return 0;
  size_t size = string_len(&head);
  if (size >= MOST_NAME) size = MOST_NAME - 1;
  if (!peek(s->data, text, size)) return 0;
  text[size] = '\0';
  return size;
}

static void put_source(const Prototype *p, char *source) {
  char text[MOST_NAME];
  const size_t size = peek_string(p->source, text);
  strcpy(source, "?");
  if (size > 0) chunk_id(source, text, size);
}

static void put_name(const Prototype *p, char *name) {
  const char *known = p->line_defined == 0 ? MAIN_CHUNK_NAME : ANONYMOUS_NAME;
  if (p->line_defined == 0 || peek_string(p->name, name) == 0) strcpy(name, known);
}

static void peek_lua_frame(Text *t, const CallInfo *frame) {
  TValue function;
  LuaClosure closure;
  Prototype p;
  char source[LUA_IDSIZE], name[MOST_NAME];
  Position position = 0;
  if (!peek(frame->func, &function, sizeof function) || function.tag != TAG_LUA_CLOSURE ||
      !peek(function.v.p, &closure, offsetof(LuaClosure, p) + sizeof closure.p) ||
      !peek(closure.p, &p, sizeof p)) {
    put_line(t, "?", "?", 0);
    return;
  }
  const ptrdiff_t pc = frame->u.lua.pc - p.code - 1;
  put_source(&p, source);
  put_name(&p, name);
  if (pc < 0 || pc >= (ptrdiff_t)p.npositions ||
      !peek(p.positions + pc, &position, sizeof position))
    position = 0;
  put_line(t, name, source, position_line(position));
}

static void describe_in_handler(Text *t, const Domain *d) {
  lua_State *co = NULL;
  peek(&d->current, &co, sizeof co);
  for (int threads = 0; co != NULL && threads < MOST_FRAMES; threads++) {
    CallInfo frame, *at;
    if (!peek(&co->ci, &at, sizeof at)) return;
    for (int n = 0; at != NULL && at != &co->base_ci && n < MOST_FRAMES; n++) {
      if (!peek(at, &frame, sizeof frame)) return;
      if (frame.status & CALL_C) put_line(t, "(a C function)", "[C]", 0);
      else peek_lua_frame(t, &frame);
      at = frame.prev;
    }
    if (!peek(&co->resumer, &co, sizeof co)) return;
  }
}

/* ---- writing ------------------------------------------------------------- */

static void say_activity(const Domain *d, struct eventring_stack_text *stack) {
  const Peer *peer = d->peer;
  stack->activity = d->gc.in_finalizers ? EVENTRING_ACTIVITY_FINALIZING
                    : d->gc.running     ? EVENTRING_ACTIVITY_COLLECTING
                                        : EVENTRING_ACTIVITY_RUNNING;
  if (__atomic_load_n(&peer->wait_kind, __ATOMIC_RELAXED) == 0) return;
  stack->activity = EVENTRING_ACTIVITY_WAITING;
  stack->subject = __atomic_load_n(&peer->wait_id, __ATOMIC_RELAXED);
}

static void write_stack(Domain *d, int reason, int64_t value, bool in_handler) {
  Text t;
  t.size = t.frames = 0;
  t.full = false;
  struct eventring_stack_text stack = {.reason = (uint8_t)reason, .value = value};
  if (eventring_domain_slot(d->rings) < 0) return;
  if (in_handler) describe_in_handler(&t, d);
  else describe(&t, d);
  say_activity(d, &stack);
  stack.text = t.bytes;
  stack.size = t.size;
  stack.frames = t.frames;
  /* a stack that finds no room is left out; the program continues */
  eventring_stack_write(d->rings, &stack, in_handler);
}

void last_stack_note(Domain *d, int reason, int64_t value) {
  static _Thread_local struct timespec last; /* time of the last shortage of memory */
  struct timespec now;
  if (d->current == NULL) return;
  if (reason == EVENTRING_STACK_MEMORY) {
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    const int64_t passed = (int64_t)(now.tv_sec - last.tv_sec) * 1000000000 +
                           (now.tv_nsec - last.tv_nsec);
    if (passed < MEMORY_NS) return;
    last = now;
  }
  write_stack(d, reason, value, false);
}

/* Returns the domain of the calling thread, or NULL if it has none. */
static Domain *domain_of_thread(void) {
  const int tid = (int)syscall(SYS_gettid);
  Domain *d;
  for (unsigned n = 0; n < DOMAIN_SLOTS && introspection_domain(n, &d); n++) {
    Peer *peer;
    int its;
    /* domains of other threads may end during the search */
    if (d != NULL && peek(&d->peer, &peer, sizeof peer) && peek(&peer->tid, &its, sizeof its) &&
        its == tid)
      return d;
  }
  return NULL;
}

/* Handles a request for a stack. The stack of an error itself is written where its
   handler runs, before the stack is unwound. */
static void wanted(eventring_domain *domain, enum eventring_stack_reason reason, int64_t value,
                   bool in_handler) {
  if (reason == EVENTRING_STACK_ERROR) return;
  Domain *d = in_handler ? NULL : eventring_stack_host(domain);
  /* `domain` may be one with which C code records on this thread, too; the search takes
     20 us */
  if (d == NULL) d = domain_of_thread();
  if (d != NULL) write_stack(d, reason, value, in_handler);
}

/* ---- periods ------------------------------------------------------------- */

static uint64_t period_ns; /* 0 for never; constant */

/* Reads the period: "1", "0.5", "250ms". A wrong value is reported once. */
static void read_period(void) {
  const char *text = secure_getenv("SAROS_EVENTRING_STACKS");
  char *end;
  eventring_on_stack(wanted);
  period_ns = 1000000000;
  if (text == NULL || *text == '\0') return;
  const double number = strtod(text, &end);
  const double ns = number * (strcmp(end, "ms") == 0 ? 1e6 : NS_PER_S);
  const bool known =
      end != text && (*end == '\0' || strcmp(end, "s") == 0 || strcmp(end, "ms") == 0);
  if (known && (ns == 0 || (ns >= LEAST_PERIOD_NS && ns <= 3600 * NS_PER_S))) {
    period_ns = (uint64_t)ns;
    return;
  }
  fprintf(stderr, "saros: warning: SAROS_EVENTRING_STACKS is not 0 or a time from 10ms to 3600s; "
                  "stacks are recorded each second\n");
}

/* Writes a stack if the period has passed. */
static void write_if_due(Domain *d) {
  const uint64_t now = monotonic_ns();
  if (now - d->stack_ns < period_ns) return;
  d->stack_ns = now;
  write_stack(d, EVENTRING_STACK_PERIOD, 0, false);
}

/* Obeys a request for a stack, at a safepoint or a collection. */
static void obey(Domain *d) {
  eventring_stack_keep_host(d->rings, d);
  if (eventring_domain_slot(d->rings) < 0 || d->current == NULL) return;
  /* the recording may be new, and safepoints then test no word in it yet */
  if (d->gc.running && d->hooks.profile_obey != NULL) d->hooks.profile_obey(d);
  if (period_ns != 0 && !eventring_stack_ask_each(period_ns)) write_if_due(d);
  const uint32_t number = eventring_stack_asked(d->rings);
  if (number == 0 || number == d->stack_asked) return;
  d->stack_asked = number;
  write_stack(d, EVENTRING_STACK_PERIOD, 0, false);
}

void last_stack_attach(lua_State *L) {
  static pthread_once_t read = PTHREAD_ONCE_INIT;
  pthread_once(&read, read_period);
  L->domain->hooks.stack_obey = obey;
  L->domain->hooks.stack_note = last_stack_note;
  obey(L->domain);
}
