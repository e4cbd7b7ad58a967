/* SPDX-License-Identifier: MIT */
/* span_stack.c: the spans open in one ring, as a reader knows them.
 *
 * The rules are those of doc/FORMAT.md, section 9; the producer follows them, too, for
 * its block headers (producer/open_spans.c). Each context has a stack of its own; a hash
 * table finds it when the context changes. A stack without spans is dropped as soon as
 * another context is entered, and all but one of the dropped stacks are freed. So a file
 * cannot make the reader keep more than EVR_MOST_SPANS stacks. An end is compared with at
 * most FORMAT_END_SEARCH spans: a file full of ends that match nothing costs no more than
 * its length.
 */
#include "format/span_stack.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"
#include "format/format.h"

enum { FIRST_BUCKETS = 16 };

/* ---- Stacks by context ------------------------------------------------------------- */

static struct evr_span_stack **bucket_of(const struct evr_span_stacks *stacks,
                                         uint64_t context) {
  uint64_t hash = context * 0x9e3779b97f4a7c15u;
  return &stacks->bucket[(hash >> 32) & (stacks->buckets - 1)];
}

void evr_spans_init(struct evr_span_stacks *stacks) {
  stacks->present = &stacks->first;
  stacks->homeless.context = UINT64_MAX;
  stacks->none.id = EVR_NO_SPAN;
}

struct evr_span_stack *evr_spans_of(const struct evr_span_stacks *stacks, uint64_t context) {
  if (!context) return (struct evr_span_stack *)&stacks->first;
  if (!stacks->buckets) return NULL;
  struct evr_span_stack *stack = *bucket_of(stacks, context);
  while (stack && stack->context != context) stack = stack->next;
  return stack;
}

static bool grow_buckets(struct evr_span_stacks *stacks) {
  uint32_t old_count = stacks->buckets, count = old_count ? 2 * old_count : FIRST_BUCKETS;
  struct evr_span_stack **old = stacks->bucket;
  struct evr_span_stack **table = calloc(count, sizeof *table);
  if (!table) return false;
  stacks->bucket = table;
  stacks->buckets = count;
  for (uint32_t i = 0; i < old_count; i++)
    for (struct evr_span_stack *stack = old[i], *next; stack; stack = next) {
      struct evr_span_stack **bucket = bucket_of(stacks, stack->context);
      next = stack->next;
      stack->next = *bucket;
      *bucket = stack;
    }
  free(old);
  return true;
}

/* Adds a stack for the context; returns NULL when there is no memory. */
static struct evr_span_stack *add_stack(struct evr_span_stacks *stacks, uint64_t context) {
  if (stacks->stacks >= stacks->buckets && !grow_buckets(stacks) && !stacks->buckets)
    return NULL;
  struct evr_span_stack *stack = stacks->spare ? stacks->spare : calloc(1, sizeof *stack);
  if (!stack) return NULL;
  stacks->spare = NULL;
  struct evr_span_stack **bucket = bucket_of(stacks, context);
  stack->context = context;
  stack->next = *bucket;
  *bucket = stack;
  stacks->stacks++;
  return stack;
}

static void free_spans(struct evr_span_stack *stack) {
  if (stack->room) free(stack->span - 1);
}

static void free_stack(struct evr_span_stack *stack) {
  if (!stack) return;
  free_spans(stack);
  free(stack);
}

/* Drops a stack. Keeps it as the spare if there is none and it is small: where contexts
   change often, the next context soon needs a stack. */
static void drop_stack(struct evr_span_stacks *stacks, struct evr_span_stack *stack) {
  enum { MOST_SPARE = 64 };
  struct evr_span_stack **link = bucket_of(stacks, stack->context);
  while (*link != stack) link = &(*link)->next;
  *link = stack->next;
  stacks->stacks--;
  if (stacks->spare || stack->room > MOST_SPARE) {
    free_stack(stack);
    return;
  }
  *stack = (struct evr_span_stack){.span = stack->span, .room = stack->room};
  stacks->spare = stack;
}

static void leave_present(struct evr_span_stacks *stacks) {
  struct evr_span_stack *stack = stacks->present;
  stacks->present = &stacks->first;
  if (stack == &stacks->homeless) return;
  if (stack != &stacks->first && !stack->count) drop_stack(stacks, stack);
}

void evr_spans_enter_slow(struct evr_span_stacks *stacks, uint64_t context) {
  leave_present(stacks);
  struct evr_span_stack *stack = evr_spans_of(stacks, context);
  if (!stack) stack = add_stack(stacks, context);
  if (!stack) stack = &stacks->homeless;
  stacks->present = stack;
}

struct evr_span_stack *evr_spans_next(const struct evr_span_stacks *stacks,
                                      const struct evr_span_stack *stack) {
  if (!stack) return (struct evr_span_stack *)&stacks->first;
  if (stack != &stacks->first && stack->next) return stack->next;
  uint32_t at = 0;
  if (stack != &stacks->first)
    at = (uint32_t)(bucket_of(stacks, stack->context) - stacks->bucket) + 1;
  while (at < stacks->buckets && !stacks->bucket[at]) at++;
  return at < stacks->buckets ? stacks->bucket[at] : NULL;
}

/* ---- Suspension -------------------------------------------------------------------- */

/* Returns what evr_spans_of returns; faster for the present context, the usual case. */
static struct evr_span_stack *near_stack(const struct evr_span_stacks *stacks, uint64_t context) {
  struct evr_span_stack *present = stacks->present;
  if (present->context == context && present != &stacks->homeless) return present;
  return evr_spans_of(stacks, context);
}

void evr_spans_suspend(struct evr_span_stacks *stacks, uint64_t context, uint64_t ticks) {
  struct evr_span_stack *stack = near_stack(stacks, context);
  if (stack && stack->count && !stack->since) stack->since = ticks;
}

void evr_spans_resume(struct evr_span_stacks *stacks, uint64_t context, uint64_t ticks) {
  struct evr_span_stack *stack = near_stack(stacks, context);
  if (!stack || !stack->since) return;
  if (ticks > stack->since) stack->suspended += ticks - stack->since;
  stack->since = 0;
}

/* ---- Spans ------------------------------------------------------------------------- */

static bool grow_stack(struct evr_span_stacks *stacks, struct evr_span_stack *stack) {
  if (stacks->spans >= EVR_MOST_SPANS || stack == &stacks->homeless) return false;
  struct evr_span *all = stack->room ? stack->span - 1 : NULL;
  uint32_t room = all ? stack->room + 1 : 0;
  if (!EVR_MAKE_ROOM(all, room, stack->count + 1, 8)) return false;
  *all = stacks->none;
  stack->span = all + 1;
  stack->room = room - 1;
  return true;
}

void evr_spans_push(struct evr_span_stacks *stacks, struct evr_span span) {
  struct evr_span_stack *stack = stacks->present;
  if (stack->count == stack->room && !grow_stack(stacks, stack)) {
    stacks->hidden++;
    return;
  }
  stack->span[stack->count++] = span;
  stacks->spans++;
}

void evr_spans_remove(struct evr_span_stacks *stacks, struct evr_span_stack *stack,
                      uint32_t index) {
  stacks->spans--;
  stack->count--;
  memmove(&stack->span[index], &stack->span[index + 1],
          (stack->count - index) * sizeof stack->span[0]);
  if (!stack->count) stack->since = 0; /* only contexts with open spans are suspended */
}

void evr_spans_hide(struct evr_span_stack *stack, uint32_t index) {
  for (; index < stack->count; index++) stack->span[index].within |= EVR_NOT_SEEN;
}

/* Returns the innermost `within`, for the span at `index`, which ends, perhaps with
   others open within it. Each other `within` stays at its depth, while the inner spans
   move out by one. */
static uint64_t take_within(struct evr_span_stack *stack, uint32_t index) {
  uint32_t i = stack->count - 1;
  const uint64_t within = stack->span[i].within;
  for (; i > index; i--) stack->span[i].within = stack->span[i - 1].within;
  return within;
}

bool evr_spans_pop(struct evr_span_stacks *stacks, unsigned id, struct evr_span *begin) {
  struct evr_span_stack *stack = stacks->present;
  for (uint32_t i = stack->count, left = FORMAT_END_SEARCH; i > 0 && left > 0; left--)
    if (stack->span[--i].id == id) {
      *begin = stack->span[i];
      begin->within = take_within(stack, i);
      evr_spans_remove(stacks, stack, i);
      return true;
    }
  if (stacks->hidden) stacks->hidden--;
  return false;
}

void evr_spans_clear(struct evr_span_stacks *stacks) {
  stacks->present = &stacks->first;
  for (uint32_t i = 0; i < stacks->buckets; i++)
    while (stacks->bucket[i]) drop_stack(stacks, stacks->bucket[i]);
  stacks->first.count = 0;
  stacks->first.suspended = stacks->first.since = 0;
  stacks->spans = stacks->hidden = 0;
}

void evr_spans_free(struct evr_span_stacks *stacks) {
  evr_spans_clear(stacks);
  free_spans(&stacks->first);
  free_stack(stacks->spare);
  stacks->spare = NULL;
  free(stacks->bucket);
}
