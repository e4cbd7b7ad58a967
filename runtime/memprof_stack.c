/* SPDX-License-Identifier: MIT */
/* runtime/memprof_stack.c: call stacks, interned.
 *
 * A stack is captured as pairs of a function's number and the index of its instruction (a
 * key for each frame): the frames of the running thread, then those of the thread that
 * resumed it, and so on. Keys lie outermost first. They contain no text yet, and nothing
 * refers to the heap. A stack that was seen before is found by a hash of its keys, of 128
 * bits: two stacks with the same hash are taken for the same stack. (Comparing the keys
 * as well would take a fifth of the time of a capture. The hash begins with the seed of
 * the sampler.) For a new stack, lines and names are looked up at once
 * (RuntimeHooks.frame_position, frame_name), since its functions may be gone when
 * somebody asks for them.
 *
 * Most stacks have most frames in common with the one captured before. So the frames of
 * the main thread are noted. CallInfo.entries counts the functions that began in a frame,
 * so a Lua frame with the same count and the same instruction is the same activation,
 * waiting at the same point. Then its callers are unchanged, too, and the walk ends
 * there. (The count would be equal after exactly 2^32 calls in one frame between two
 * samples.) Notes become invalid when frames are given back (memprof_frames_gone) and
 * when sampling begins.
 *
 * Stacks are forgotten when nobody needs them (memprof_forget.c). There is room for
 * MEMPROF_MOST_STACKS and MEMPROF_MOST_FRAMES (some 24 MiB). Samples of further stacks
 * have no stack, and are counted.
 *
 * Lua functions are identified by Prototype.function_id, C functions by their address. A
 * frame without a function in its slot is shown as "?".
 */
#include <stdlib.h>
#include <string.h>

#include "func.h"
#include "memprof_internal.h"
#include "thread.h"

#define LEAST_BUCKETS 256
#define NO_PC UINT32_MAX
#define MOST_NOTED 256 /* the most frames noted; a deeper stack is walked each time */
#define RELEASED_AT_ONCE 1024 /* stacks that are freed after each minor collection */

/* ---- growing ------------------------------------------------------------- */

static bool grow(void *items, uint32_t *room, uint32_t n, size_t item_size) {
  if (n < *room) return true;
  uint32_t more = *room == 0 ? 64 : 2 * *room;
  while (more <= n) more *= 2;
  void *grown = realloc(*(void **)items, more * item_size);
  if (grown == NULL) return false;
  *(void **)items = grown;
  *room = more;
  return true;
}

/* ---- functions ----------------------------------------------------------- */

/* Returns a free index, or 0 if out of memory. */
static uint32_t new_function(Stacks *s) {
  uint32_t function = s->free_function;
  if (function != 0) s->free_function = s->functions[function].line;
  else if (grow(&s->functions, &s->functions_room, s->nfunctions, sizeof *s->functions))
    function = s->nfunctions++;
  return function;
}

/* Adds a function: the prototype with that number, or a C function if the number is 0.
 * Returns its index, or 0 if out of memory. */
static uint32_t add_function(lua_State *L, Stacks *s, CallInfo *frame, uint32_t number,
                             const void *f_of_c) {
  char name[FUNCTION_NAME_SIZE], source[LUA_IDSIZE];
  uint32_t line = 0, last_line = 0;
  snprintf(name, sizeof name, "?");
  snprintf(source, sizeof source, "?");
  if (L->domain->hooks.frame_name != NULL)
    L->domain->hooks.frame_name(L, frame, name, source, &line, &last_line);
  MemprofFunction f = {.name = strdup(name), .source = strdup(source), .line = line,
                       .last_line = last_line, .number = number, .f = f_of_c};
  uint32_t function = f.name != NULL && f.source != NULL ? new_function(s) : 0;
  if (function == 0) {
    free(f.name);
    free(f.source);
    return 0;
  }
  s->functions[function] = f;
  return function;
}

static void put_number(Stacks *s, NumberIndex entry) {
  uint32_t at = hash_word(entry.number) & s->numbers_mask;
  while (s->numbers[at].number != 0) at = (at + 1) & s->numbers_mask;
  s->numbers[at] = entry;
}

static bool widen_numbers(Stacks *s) {
  if (s->numbers_used < s->numbers_mask / 2) return true;
  uint32_t mask = s->numbers_mask == 0 ? LEAST_BUCKETS - 1 : 2 * s->numbers_mask + 1;
  NumberIndex *wider = calloc((size_t)mask + 1, sizeof *wider), *former = s->numbers;
  if (wider == NULL) return s->numbers_used < s->numbers_mask;
  uint32_t n = former != NULL ? s->numbers_mask + 1 : 0;
  s->numbers = wider;
  s->numbers_mask = mask;
  for (uint32_t i = 0; i < n; i++)
    if (former[i].number != 0) put_number(s, former[i]);
  free(former);
  return true;
}

static uint32_t function_of_number(lua_State *L, Stacks *s, CallInfo *frame, uint32_t number) {
  if (!widen_numbers(s)) return 0;
  uint32_t at = hash_word(number) & s->numbers_mask;
  for (; s->numbers[at].number != 0; at = (at + 1) & s->numbers_mask)
    if (s->numbers[at].number == number) return s->numbers[at].function;
  uint32_t function = add_function(L, s, frame, number, NULL);
  if (function == 0) return 0;
  s->numbers[at] = (NumberIndex){number, function};
  s->numbers_used++;
  return function;
}

static void put_c_function(Stacks *s, CNumber entry) {
  uint32_t at = hash_word((uintptr_t)entry.f) & s->c_mask;
  while (s->c_functions[at].f != NULL) at = (at + 1) & s->c_mask;
  s->c_functions[at] = entry;
}

static bool widen_c_functions(Stacks *s) {
  if (s->c_used < s->c_mask / 2) return true;
  uint32_t mask = s->c_mask == 0 ? LEAST_BUCKETS - 1 : 2 * s->c_mask + 1;
  CNumber *wider = calloc((size_t)mask + 1, sizeof *wider), *former = s->c_functions;
  if (wider == NULL) return s->c_used < s->c_mask;
  uint32_t n = former != NULL ? s->c_mask + 1 : 0;
  s->c_functions = wider;
  s->c_mask = mask;
  for (uint32_t i = 0; i < n; i++)
    if (former[i].f != NULL) put_c_function(s, former[i]);
  free(former);
  return true;
}

/* Returns the index of the frame's C function, or 0 if nothing is known of the frame. */
SAMPLE_PATH static uint32_t function_of_c(lua_State *L, Stacks *s, CallInfo *frame) {
  const void *f = c_function_identity(frame->func);
  if (f == NULL) return 0;
  uint32_t at = hash_word((uintptr_t)f) & s->c_mask;
  if (s->c_functions != NULL)
    for (; s->c_functions[at].f != NULL; at = (at + 1) & s->c_mask)
      if (s->c_functions[at].f == f) return s->c_functions[at].function;
  if (!widen_c_functions(s)) return 0;
  uint32_t function = add_function(L, s, frame, 0, f);
  if (function == 0) return 0;
  put_c_function(s, (CNumber){f, function});
  s->c_used++;
  return function;
}

/* ---- keys ---------------------------------------------------------------- */

ALWAYS_INLINE StackKey key_of(lua_State *L, Stacks *s, CallInfo *frame) {
  if (!is_lua_frame(frame)) return (StackKey){function_of_c(L, s, frame), NO_PC};
  Prototype *p = frame_closure(frame)->p;
  ptrdiff_t pc = frame->u.lua.pc - p->code - 1;
  if (unlikely(p->function_id == 0)) prototype_number(p);
  return (StackKey){p->function_id, pc > 0 ? (uint32_t)pc : 0};
}

/* Adds a key to the hash of a stack, whose innermost frame comes last. */
ALWAYS_INLINE StackHash add_to_hash(StackHash hash, StackKey key) {
  uint64_t word = (uint64_t)key.function << 32 | key.pc;
  uint64_t a = (hash.a ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  uint64_t b = (hash.b + word) * UINT64_C(0xD6E8FEB86659FD93);
  return (StackHash){a ^ a >> 29, b ^ b >> 32};
}

static StackHash hash_keys(const Stacks *s, const StackKey *keys, uint32_t n) {
  StackHash hash = s->notes[0].hash;
  for (uint32_t i = 0; i < n; i++) hash = add_to_hash(hash, keys[i]);
  return hash;
}

/* ---- new stacks ---------------------------------------------------------- */

/* Looks up lines and names of the frames that were captured. */
static void resolve_frames(lua_State *L, Stacks *s, const StackKey *keys, uint32_t n,
                           MemprofFrame *to) {
  uint32_t i = 0;
  for (lua_State *co = L; co != NULL; co = co->resumer)
    for (CallInfo *frame = co->ci; frame != &co->base_ci; frame = frame->prev, i++) {
      if (i == n) return;
      StackKey key = keys[n - 1 - i];
      to[i] = (MemprofFrame){.function = key.function};
      if (key.pc == NO_PC) continue;
      to[i].function = function_of_number(co, s, frame, key.function);
      if (co->domain->hooks.frame_position != NULL)
        co->domain->hooks.frame_position(frame_closure(frame)->p, key.pc, &to[i].line,
                                         &to[i].column);
    }
}

static bool widen_buckets(Stacks *s) {
  if (s->nstacks < s->mask / 2) return true;
  uint32_t mask = 2 * s->mask + 1;
  uint32_t *wider = calloc((size_t)mask + 1, sizeof *wider);
  if (wider == NULL) return s->nstacks < s->mask;
  for (uint32_t i = 1; i < s->nstacks; i++) {
    if (s->stacks[i].depth == 0) continue;
    uint32_t at = (uint32_t)s->stacks[i].hash.a & mask;
    while (wider[at] != 0) at = (at + 1) & mask;
    wider[at] = i;
  }
  free(s->buckets);
  s->buckets = wider;
  s->mask = mask;
  return true;
}

/* Makes room for a stack. Returns true if there is a free number. */
static bool room_for_stack(Stacks *s) {
  if (s->free_stack != 0) return true;
  return s->nstacks < MEMPROF_MOST_STACKS && widen_buckets(s) &&
         grow(&s->stacks, &s->stacks_room, s->nstacks, sizeof *s->stacks);
}

static uint32_t new_stack(Stacks *s) {
  uint32_t stack = s->free_stack;
  if (stack == 0) return s->nstacks++;
  s->free_stack = s->stacks[stack].next;
  return stack;
}

static void count_new(Stacks *s, uint32_t frames) {
  if (s->new_stacks > 0) s->new_stacks--;
  s->new_frames -= frames < s->new_frames ? frames : s->new_frames;
}

static NOINLINE uint32_t add_stack(lua_State *L, Stacks *s, StackHash hash, const StackKey *keys,
                                   uint32_t n) {
  count_new(s, n);
  InternedStack new = {.hash = hash, .depth = (uint16_t)n,
                       .found = s->forgetting.phase != FORGET_NOTHING};
  if (n <= MEMPROF_MOST_FRAMES - s->nframes && room_for_stack(s))
    new.keys = malloc(n * (sizeof *keys + sizeof(MemprofFrame)));
  if (new.keys == NULL) {
    s->unknown++;
    return 0;
  }
  uint32_t at = (uint32_t)hash.a & s->mask;
  while (s->buckets[at] != 0) at = (at + 1) & s->mask;
  memcpy(new.keys, keys, n * sizeof *keys);
  resolve_frames(L, s, keys, n, frames_of(&new));
  for (uint32_t i = 0; i < n; i++) s->functions[frames_of(&new)[i].function].frames++;
  uint32_t stack = new_stack(s);
  s->stacks[stack] = new;
  s->nframes += n;
  s->in_use++;
  s->buckets[at] = stack;
  return stack;
}

/* ---- capturing ----------------------------------------------------------- */

SAMPLE_PATH
static uint32_t find_stack(lua_State *L, Stacks *s, StackHash hash, const StackKey *keys,
                           uint32_t n) {
  for (uint32_t at = (uint32_t)hash.a & s->mask; s->buckets[at] != 0; at = (at + 1) & s->mask) {
    InternedStack *stack = &s->stacks[s->buckets[at]];
    if (stack->hash.a == hash.a && stack->hash.b == hash.b) {
      rt_assert(stack->depth == n && memcmp(stack->keys, keys, n * sizeof *keys) == 0);
      stack->found = true;
      return s->buckets[at];
    }
  }
  return add_stack(L, s, hash, keys, n);
}

/* Captures any stack. */
static uint32_t capture_all(lua_State *L, Stacks *s, uint32_t depth) {
  StackKey *end = s->keys + MEMPROF_MAX_DEPTH, *first = end, *last = end - depth;
  for (lua_State *co = L; co != NULL; co = co->resumer)
    for (CallInfo *frame = co->ci; frame != &co->base_ci && first > last; frame = frame->prev)
      *--first = key_of(co, s, frame);
  uint32_t n = (uint32_t)(end - first);
  return n > 0 ? find_stack(L, s, hash_keys(s, first, n), first, n) : 0;
}

static const Instruction no_instruction; /* for frames that are not Lua frames */

/* Notes the frames of L that differ from their notes, from the innermost frame outwards.
 * Returns the number of unchanged frames, counted from the outermost. */
static uint32_t note_changed(lua_State *L, Stacks *s) {
  CallInfo *frame = L->ci;
  uint32_t i = frame->depth, noted = s->noted;
  for (; i > 0; i--, frame = frame->prev) {
    NotedFrame *note = &s->notes[i];
    if (i <= noted && note->entries == frame->entries && note->pc == frame->u.lua.pc) break;
    note->pc = is_lua_frame(frame) ? frame->u.lua.pc : &no_instruction;
    note->entries = frame->entries;
    note->stack = 0;
    s->noted_keys[i - 1] = key_of(L, s, frame);
  }
  return i;
}

static void hash_noted(Stacks *s, uint32_t unchanged, uint32_t n) {
  StackHash hash = s->notes[unchanged].hash;
  for (uint32_t i = unchanged; i < n; i++)
    s->notes[i + 1].hash = hash = add_to_hash(hash, s->noted_keys[i]);
}

/* Captures the innermost `depth` frames of a stack of n. */
static uint32_t capture_part(lua_State *L, Stacks *s, uint32_t n, uint32_t depth, bool changed) {
  if (!changed && s->latest_depth == depth && s->latest != 0) return s->latest;
  const StackKey *keys = s->noted_keys + (n - depth);
  s->latest = find_stack(L, s, hash_keys(s, keys, depth), keys, depth);
  s->latest_depth = depth;
  return s->latest;
}

/* Captures the stack of the main thread, at most `depth` frames of it. */
static uint32_t capture_noted(lua_State *L, Stacks *s, uint32_t depth) {
  uint32_t n = L->ci->depth;
  if (depth == 0 || n == 0) return 0;
  uint32_t unchanged = note_changed(L, s);
  bool changed = unchanged != n || s->noted != n;
  if (unchanged < n) hash_noted(s, unchanged, n);
  s->noted = n;
  if (depth < n) return capture_part(L, s, n, depth, changed);
  NotedFrame *note = &s->notes[n];
  if (note->stack != 0) s->stacks[note->stack].found = true;
  else note->stack = find_stack(L, s, note->hash, s->noted_keys, n);
  if (changed) s->latest = 0;
  return note->stack;
}

SAMPLE_PATH uint32_t stacks_capture(lua_State *L, Stacks *s, uint32_t depth) {
  if (depth > MEMPROF_MAX_DEPTH) depth = MEMPROF_MAX_DEPTH;
  if (unlikely(s->new_stacks == 0 || s->new_frames == 0)) stacks_forget(L->domain->memprof);
  if (L != L->domain->main_thread || L->ci->depth > MOST_NOTED) return capture_all(L, s, depth);
  uint32_t stack = capture_noted(L, s, depth);
  rt_assert(stack == 0 || stack == capture_all(L, s, depth));
  return stack;
}

/* ---- reading ------------------------------------------------------------- */

const MemprofFrame *memprof_stack(const Domain *d, uint32_t stack, uint32_t *depth) {
  Stacks *s = &d->memprof->stacks;
  *depth = 0;
  if (stack == 0 || stack >= s->nstacks) return NULL;
  s->asked = stack;
  *depth = s->stacks[stack].depth;
  return *depth > 0 ? frames_of(&s->stacks[stack]) : NULL;
}

uint32_t memprof_stacks_age(const Domain *d) { return d->memprof->stacks.age; }

const MemprofFunction *memprof_function(const Domain *d, uint32_t function) {
  return &d->memprof->stacks.functions[function];
}

/* ---- beginning and end --------------------------------------------------- */

bool stacks_init(Stacks *s, uint64_t seed) {
  *s = (Stacks){.nstacks = 1, .mask = LEAST_BUCKETS - 1};
  stacks_await_new(s);
  s->keys = malloc(MEMPROF_MAX_DEPTH * sizeof *s->keys);
  s->noted_keys = malloc(MOST_NOTED * sizeof *s->noted_keys);
  s->notes = malloc((MOST_NOTED + 1) * sizeof *s->notes);
  s->buckets = calloc(LEAST_BUCKETS, sizeof *s->buckets);
  if (s->keys == NULL || s->noted_keys == NULL || s->notes == NULL || s->buckets == NULL ||
      !grow(&s->functions, &s->functions_room, 0, sizeof *s->functions))
    return false;
  s->notes[0] = (NotedFrame){.hash = {seed, ~seed}, .pc = &no_instruction};
  s->functions[0] = (MemprofFunction){.name = strdup("?"), .source = strdup("?")};
  s->nfunctions = 1;
  return s->functions[0].name != NULL && s->functions[0].source != NULL;
}

void stacks_free(Stacks *s) {
  for (uint32_t i = 0; i < s->nfunctions; i++) {
    free(s->functions[i].name);
    free(s->functions[i].source);
  }
  free(s->functions);
  free(s->keys);
  free(s->noted_keys);
  free(s->notes);
  for (uint32_t i = 1; i < s->nstacks; i++) free(s->stacks[i].keys);
  free(s->forgetting.recorded);
  free(s->stacks);
  free(s->buckets);
  free(s->c_functions);
  free(s->numbers);
}

Stacks *stacks_set_aside(Stacks *s, uint64_t seed) {
  Stacks fresh, *aside = aligned_alloc(_Alignof(Stacks), sizeof *aside);
  if (!stacks_init(&fresh, seed) || aside == NULL) {
    stacks_free(&fresh);
    free(aside);
    return NULL;
  }
  fresh.age = s->age + 1;
  fresh.unknown = s->unknown;
  *aside = *s;
  *s = fresh;
  return aside;
}

/* Frees the newest stacks first: they are at the end of malloc's memory, which malloc
 * returns to the system. */
bool stacks_release(Stacks *aside, size_t *bytes) {
  for (int n = 0; n < RELEASED_AT_ONCE && aside->nstacks > 1; n++) {
    const InternedStack *stack = &aside->stacks[--aside->nstacks];
    *bytes += stack->depth * (sizeof(StackKey) + sizeof(MemprofFrame));
    free(stack->keys);
  }
  if (aside->nstacks > 1) return false;
  stacks_free(aside);
  free(aside);
  return true;
}
