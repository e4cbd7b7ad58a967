/* SPDX-License-Identifier: MIT */
/* runtime/memprof_forget.c: forgets stacks that nobody needs any more
 * (memprof_stack.c).
 *
 * A program that makes chunks, or runs for a long time, always has new stacks. So stacks
 * are forgotten when there are as many new stacks as were in use the last time, and at
 * least LEAST_NEW. A stack is forgotten if
 *   - no tracked block has it,
 *   - it was not found again since the last time: a stack that recurs stays, so that its
 *     lines and names are not looked up each time,
 *   - it is not the stack that was asked for last (memprof_stack), which may be in use.
 * Functions that no stack has any more are forgotten, too. The work is in proportion to
 * blocks and stacks, so that each new stack pays for a few of them.
 *
 * The work is done in steps, before a stack is captured, when neither keys nor the number
 * of a stack are in use. A step examines at least LEAST_STEP entries, and so many that at
 * most STEPS steps are needed. While the steps are done, there is room for that many new
 * stacks.
 *
 *   marking    goes through all entries of blocks, by their numbers, which do not change,
 *              and notes their stacks
 *   sweeping   goes through all stacks, and frees those that were not noted
 *
 * A block that becomes tracked during the steps has a stack that was captured during
 * them, and capturing notes the stack: the notes of frames become void at the beginning,
 * so each stack is found again or added, and is noted then. If a stack is found after the
 * sweep has passed it, it was kept; otherwise it is added as a new stack.
 *
 * A block of the recording has only the number of its stack in the recording. Several
 * stacks can have the same number there: if their functions differ but have the same name
 * and lines (a chunk that is loaded again), or if they found no room in the recording.
 * One stack is kept for each number.
 *
 * The numbers of stacks do not change. Numbers of forgotten stacks are given again after
 * the last step, which Stacks.age shows. If there is no memory, nothing is forgotten
 * until there are as many new stacks again. */
#include <stdlib.h>
#include <string.h>

#include "memprof_internal.h"

#define LEAST_NEW 4096         /* stacks */
#define LEAST_NEW_FRAMES 65536
#define LEAST_STEP 64
#define STEPS 1024
#define RESERVED 2048 /* stacks that may be added while others are being forgotten */
#define RESERVED_FRAMES (64 * RESERVED)

/* ---- hash tables ---------------------------------------------------------- */

#define EMPTY UINT32_MAX

static uint32_t home_of_stack(const Stacks *s, uint32_t at) {
  return s->buckets[at] != 0 ? (uint32_t)s->stacks[s->buckets[at]].hash.a & s->mask : EMPTY;
}

static uint32_t home_of_number(const Stacks *s, uint32_t at) {
  uint32_t number = s->numbers[at].number;
  return number != 0 ? hash_word(number) & s->numbers_mask : EMPTY;
}

static uint32_t home_of_c_function(const Stacks *s, uint32_t at) {
  const void *f = s->c_functions[at].f;
  return f != NULL ? hash_word((uintptr_t)f) & s->c_mask : EMPTY;
}

/* Removes an item from a table with open addressing. Later items move up, if that brings
 * them nearer to their home slot. */
static void remove_at(const Stacks *s, uint32_t gap, void *table, size_t size, uint32_t mask,
                      uint32_t (*home_of)(const Stacks *s, uint32_t at)) {
  char *items = table;
  uint32_t home;
  for (uint32_t at = (gap + 1) & mask; (home = home_of(s, at)) != EMPTY; at = (at + 1) & mask) {
    if (((at - home) & mask) < ((at - gap) & mask)) continue;
    memcpy(items + gap * size, items + at * size, size);
    gap = at;
  }
  memset(items + gap * size, 0, size);
}

/* ---- functions ------------------------------------------------------------ */

/* Takes one frame off the count of a function. Forgets the function with its last frame,
 * except function 0: removes it from the table that finds it by its number, or, if it is
 * a C function, by its address. */
static void leave_function(Stacks *s, uint32_t i) {
  MemprofFunction *function = &s->functions[i];
  if (--function->frames > 0 || i == 0) return;
  if (function->number != 0) {
    uint32_t at = hash_word(function->number) & s->numbers_mask;
    while (s->numbers[at].number != function->number) at = (at + 1) & s->numbers_mask;
    remove_at(s, at, s->numbers, sizeof *s->numbers, s->numbers_mask, home_of_number);
    s->numbers_used--;
  } else {
    uint32_t at = hash_word((uintptr_t)function->f) & s->c_mask;
    while (s->c_functions[at].f != function->f) at = (at + 1) & s->c_mask;
    remove_at(s, at, s->c_functions, sizeof *s->c_functions, s->c_mask, home_of_c_function);
    s->c_used--;
    stacks_forget_notes(s); /* a noted key may name the function */
  }
  free(function->name);
  free(function->source);
  *function = (MemprofFunction){.line = s->free_function};
  s->free_function = i;
}

/* ---- steps ---------------------------------------------------------------- */

static void mark_block(Stacks *s, const Tracked *t) {
  Forgetting *f = &s->forgetting;
  if (!(t->flags & (TRACKED_LISTED | TRACKED_QUEUED))) return;
  if (t->subscriber == SUBSCRIBER_GUEST) {
    rt_assert(t->guest.stack < s->nstacks);
    if (t->guest.stack != 0) s->stacks[t->guest.stack].found = true;
    return;
  }
  uint32_t number = tracked_of(t)->stack;
  if (number <= f->most_recorded) f->recorded[number / 8] |= (uint8_t)(1 << number % 8);
}

/* Notes the stacks of some blocks. Returns true if the last block was among them. */
static bool mark_some(const Memprof *m, Stacks *s) {
  Forgetting *f = &s->forgetting;
  for (uint32_t n = f->step; n > 0 && f->at < m->ntracked; n--)
    mark_block(s, &m->tracked[f->at++]);
  return f->at >= m->ntracked;
}

/* Tells whether a block has a stack with that number, and it is the first such stack to
 * be swept. */
static bool take_recorded(Forgetting *f, uint32_t number) {
  uint8_t bit = (uint8_t)(1 << number % 8);
  if (number == 0 || number > f->most_recorded || !(f->recorded[number / 8] & bit)) return false;
  f->recorded[number / 8] &= (uint8_t)~bit;
  return true;
}

static void forget_stack(Stacks *s, uint32_t i) {
  InternedStack *stack = &s->stacks[i];
  Forgetting *f = &s->forgetting;
  uint32_t at = (uint32_t)stack->hash.a & s->mask;
  while (s->buckets[at] != i) at = (at + 1) & s->mask;
  remove_at(s, at, s->buckets, sizeof *s->buckets, s->mask, home_of_stack);
  for (uint32_t k = 0; k < stack->depth; k++) leave_function(s, frames_of(stack)[k].function);
  s->nframes -= stack->depth;
  s->in_use--;
  free(stack->keys);
  *stack = (InternedStack){.next = f->freed};
  if (f->freed == 0) f->freed_last = i;
  f->freed = i;
}

static void sweep_stack(Stacks *s, uint32_t i) {
  InternedStack *stack = &s->stacks[i];
  if (stack->depth == 0) return;
  bool stays = take_recorded(&s->forgetting, stack->recorded);
  if (stays || stack->found || i == s->asked) stack->found = false;
  else forget_stack(s, i);
}

static bool sweep_some(Stacks *s) {
  Forgetting *f = &s->forgetting;
  for (uint32_t n = f->step; n > 0 && f->at < s->nstacks; n--) sweep_stack(s, f->at++);
  return f->at >= s->nstacks;
}

/* ---- beginning and end ---------------------------------------------------- */

/* Returns how many items may be added before forgetting begins again: as many as are in
 * use, if there is room for them. */
static uint32_t how_many_new(uint32_t used, uint32_t least, uint32_t most) {
  uint32_t room = most > used && most - used > most / 4 ? most - used : most / 4;
  uint32_t new = used > least ? used : least;
  return new < room ? new : room;
}

void stacks_await_new(Stacks *s) {
  s->new_stacks = how_many_new(s->in_use, LEAST_NEW, MEMPROF_MOST_STACKS - RESERVED);
  s->new_frames = how_many_new(s->nframes, LEAST_NEW_FRAMES,
                               MEMPROF_MOST_FRAMES - RESERVED_FRAMES);
}

static void begin(const Memprof *m, Stacks *s) {
  uint8_t *recorded = calloc((size_t)s->most_recorded / 8 + 1, 1);
  if (recorded == NULL) {
    stacks_await_new(s);
    return;
  }
  s->forgetting = (Forgetting){.phase = FORGET_MARKING, .at = 1, .recorded = recorded,
                               .most_recorded = s->most_recorded};
  s->forgetting.step = LEAST_STEP + (m->ntracked + s->nstacks) / STEPS;
  stacks_forget_notes(s);
  s->latest = s->latest_depth = 0;
}

static void end(Stacks *s) {
  Forgetting *f = &s->forgetting;
  if (f->freed != 0) {
    s->stacks[f->freed_last].next = s->free_stack;
    s->free_stack = f->freed;
    s->age++;
  }
  free(f->recorded);
  *f = (Forgetting){.phase = FORGET_NOTHING};
  stacks_await_new(s);
}

void stacks_forget(Memprof *m) {
  Stacks *s = &m->stacks;
  Forgetting *f = &s->forgetting;
  switch (f->phase) {
    case FORGET_NOTHING:
      begin(m, s);
      break;
    case FORGET_MARKING:
      if (!mark_some(m, s)) break;
      f->phase = FORGET_SWEEPING;
      f->at = 1;
      break;
    case FORGET_SWEEPING:
      if (sweep_some(s)) end(s);
      break;
  }
}
