/* SPDX-License-Identifier: MIT */
/* runtime/memprof_forget.c: forgets stacks that nobody needs any more (memprof_stack.c).
 *
 * A program that makes chunks, or that lives long, has ever new stacks. So when as many are
 * new as were kept the last time, and LEAST_NEW at least, those are forgotten that
 *   - no tracked block has, and no callback that is due,
 *   - were not found again since then: what recurs stays, so that its lines and names are not
 *     looked up each time,
 *   - are not the one that was asked for last (memprof_stack), which may be in use;
 * and functions that no stack has. The work is in proportion to the stacks that there are, so
 * that each new one pays for two of them at most.
 *
 * Numbers of stacks and functions do not change; those that are forgotten are given again,
 * and Stacks.age says that this may have happened. Frames are copied together. All memory is
 * taken first: without it nothing is forgotten until as many are new again.
 *
 * It happens before a stack is captured: neither keys nor a number are on their way then. */
#include <stdlib.h>
#include <string.h>

#include "memprof_internal.h"

#define LEAST_NEW 4096         /* stacks */
#define LEAST_NEW_FRAMES 65536

typedef struct Forgetting {
  uint8_t *stacks, *functions; /* 1: is kept */
  uint8_t *recorded;           /* bits: by numbers in recordings, up to most_recorded */
  uint32_t most_recorded;
  StackKey *known;
  MemprofFrame *frames;
  uint32_t nframes, room;
  CNumber *c_functions;
  NumberIndex *numbers;
} Forgetting;

/* ---- which are kept ------------------------------------------------------- */

static void keep_of_block(const Memprof *m, Forgetting *f, const Tracked *t) {
  if (t->subscriber == SUBSCRIBER_GUEST) {
    if (t->guest.stack < m->stacks.nstacks) f->stacks[t->guest.stack] = 1;
    return;
  }
  uint32_t number = ((const struct eventring_tracked *)t->recording)->stack;
  if (number <= f->most_recorded) f->recorded[number / 8] |= (uint8_t)(1 << number % 8);
}

static void keep_of_list(const Memprof *m, Forgetting *f, const Ids *ids, size_t first) {
  for (size_t i = first; i < ids->n; i++) keep_of_block(m, f, &m->tracked[ids->items[i]]);
}

static bool is_recorded(const Forgetting *f, uint32_t number) {
  return number != 0 && (f->recorded[number / 8] >> number % 8 & 1);
}

static void keep_stacks(const Memprof *m, Forgetting *f) {
  const Stacks *s = &m->stacks;
  keep_of_list(m, f, &m->young, 0);
  keep_of_list(m, f, &m->old, 0);
  keep_of_list(m, f, &m->queue, m->queue_first);
  f->stacks[s->asked] = 1;
  for (uint32_t i = 1; i < s->nstacks; i++)
    f->stacks[i] |= s->stacks[i].found || is_recorded(f, s->stacks[i].recorded);
}

static void keep_functions(const Stacks *s, Forgetting *f) {
  f->functions[0] = 1;
  for (uint32_t i = 1; i < s->nstacks; i++) {
    const InternedStack *stack = &s->stacks[i];
    for (uint32_t k = 0; f->stacks[i] && k < stack->depth; k++)
      f->functions[s->frames[stack->first + k].function] = 1;
    if (f->stacks[i]) f->nframes += stack->depth;
  }
}

/* ---- forgetting ----------------------------------------------------------- */

static void move_frames(const Stacks *s, Forgetting *f, InternedStack *stack, uint32_t to) {
  memcpy(f->known + to, s->known + stack->first, stack->depth * sizeof *f->known);
  memcpy(f->frames + to, s->frames + stack->first, stack->depth * sizeof *f->frames);
  stack->first = to;
}

static void add_to_buckets(Stacks *s, uint32_t i) {
  uint32_t at = (uint32_t)s->stacks[i].hash & s->mask;
  while (s->buckets[at] != 0) at = (at + 1) & s->mask;
  s->buckets[at] = i;
}

static void forget_stacks(Stacks *s, Forgetting *f) {
  s->nframes = s->kept = s->free_stack = 0;
  memset(s->buckets, 0, ((size_t)s->mask + 1) * sizeof *s->buckets);
  for (uint32_t i = s->nstacks; --i > 0;) {
    InternedStack *stack = &s->stacks[i];
    if (f->stacks[i] && stack->depth > 0) {
      move_frames(s, f, stack, s->nframes);
      s->nframes += stack->depth;
      stack->found = false;
      add_to_buckets(s, i);
      s->kept++;
    } else {
      *stack = (InternedStack){.first = s->free_stack};
      s->free_stack = i;
    }
  }
  free(s->known);
  free(s->frames);
  s->known = f->known;
  s->frames = f->frames;
  s->frames_room = f->room;
  f->known = NULL;
  f->frames = NULL;
}

static void forget_c_functions(Stacks *s, Forgetting *f) {
  s->c_used = 0;
  for (uint32_t i = 0; s->c_functions != NULL && i <= s->c_mask; i++) {
    CNumber entry = s->c_functions[i];
    if (entry.f == NULL || !f->functions[entry.function]) continue;
    f->c_functions[s->c_used++] = entry;
  }
  if (s->c_functions != NULL)
    memset(s->c_functions, 0, ((size_t)s->c_mask + 1) * sizeof *s->c_functions);
  for (uint32_t i = 0; i < s->c_used; i++) stacks_put_c_function(s, f->c_functions[i]);
}

static void forget_numbers(Stacks *s, Forgetting *f) {
  s->numbers_used = 0;
  for (uint32_t i = 0; s->numbers != NULL && i <= s->numbers_mask; i++) {
    NumberIndex entry = s->numbers[i];
    if (entry.number == 0 || !f->functions[entry.function]) continue;
    f->numbers[s->numbers_used++] = entry;
  }
  if (s->numbers != NULL)
    memset(s->numbers, 0, ((size_t)s->numbers_mask + 1) * sizeof *s->numbers);
  for (uint32_t i = 0; i < s->numbers_used; i++) stacks_put_number(s, f->numbers[i]);
}

static void forget_functions(Stacks *s, Forgetting *f) {
  forget_c_functions(s, f);
  forget_numbers(s, f);
  s->free_function = 0;
  for (uint32_t i = s->nfunctions; --i > 0;) {
    MemprofFunction *function = &s->functions[i];
    if (f->functions[i]) continue;
    free(function->name);
    free(function->source);
    *function = (MemprofFunction){.line = s->free_function};
    s->free_function = i;
  }
}

/* ---- memory --------------------------------------------------------------- */

static void find_most_recorded(const Stacks *s, Forgetting *f) {
  for (uint32_t i = 1; i < s->nstacks; i++)
    if (s->stacks[i].recorded > f->most_recorded) f->most_recorded = s->stacks[i].recorded;
}

static bool take_marks(const Stacks *s, Forgetting *f) {
  find_most_recorded(s, f);
  f->stacks = calloc(s->nstacks, 1);
  f->functions = calloc(s->nfunctions, 1);
  f->recorded = calloc((size_t)f->most_recorded / 8 + 1, 1);
  f->c_functions = malloc(((size_t)s->c_used + 1) * sizeof *f->c_functions);
  f->numbers = malloc(((size_t)s->numbers_used + 1) * sizeof *f->numbers);
  return f->stacks != NULL && f->functions != NULL && f->recorded != NULL &&
         f->c_functions != NULL && f->numbers != NULL;
}

/* How many may be new before the next time: while there is room, as many as were kept. */
static uint32_t how_many_new(uint32_t kept, uint32_t least, uint32_t most) {
  uint32_t room = most - kept > most / 4 ? most - kept : most / 4;
  uint32_t new = kept > least ? kept : least;
  return new < room ? new : room;
}

void stacks_await_new(Stacks *s) {
  s->new_stacks = how_many_new(s->kept, LEAST_NEW, MEMPROF_MOST_STACKS);
  s->new_frames = how_many_new(s->nframes, LEAST_NEW_FRAMES, MEMPROF_MOST_FRAMES);
}

static bool take_frames(Forgetting *f) {
  f->room = f->nframes + LEAST_NEW_FRAMES;
  f->known = malloc(f->room * sizeof *f->known);
  f->frames = malloc(f->room * sizeof *f->frames);
  return f->known != NULL && f->frames != NULL;
}

static void free_all(Forgetting *f) {
  free(f->stacks);
  free(f->functions);
  free(f->recorded);
  free(f->known);
  free(f->frames);
  free(f->c_functions);
  free(f->numbers);
}

void stacks_forget(Memprof *m) {
  Stacks *s = &m->stacks;
  Forgetting f = {0};
  if (take_marks(s, &f)) {
    keep_stacks(m, &f);
    keep_functions(s, &f);
    if (take_frames(&f)) {
      forget_stacks(s, &f);
      forget_functions(s, &f);
      stacks_forget_notes(s);
      s->latest = s->latest_depth = 0;
      s->age++;
    }
  }
  free_all(&f);
  stacks_await_new(s);
}
