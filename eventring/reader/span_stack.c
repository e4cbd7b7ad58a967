/* SPDX-License-Identifier: MIT */
/* span_stack.c: the spans open in one ring, as a reader knows them.
 *
 * The rules are those of format.h (Open spans), with more room. Spans that began after
 * hidden ones are known here, where a header has no place for them: an end looks among
 * these first. It looks at no more than 64 spans, so that a file full of ends that match
 * nothing costs no more than its length.
 */
#include "reader/span_stack.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SPANS = 16384, SEARCH = 64 };

static bool grow_span_stack(struct evr_span_stack *stack) {
  if (stack->count >= MAX_SPANS) return false;
  uint32_t room = stack->room ? 2 * stack->room : 16;
  struct evr_span *span = realloc(stack->span, room * sizeof *span);
  if (!span) return false;
  stack->span = span;
  stack->room = room;
  return true;
}

void evr_span_push_slow(struct evr_span_stack *stack, struct evr_span span) {
  if (grow_span_stack(stack)) {
    stack->span[stack->count++] = span;
    return;
  }
  if (!stack->hidden) stack->mark = stack->count;
  if (stack->mark == stack->count) stack->hidden++;
}

void evr_span_remove(struct evr_span_stack *stack, uint32_t index) {
  stack->count--;
  if (stack->hidden && index < stack->mark) stack->mark--;
  memmove(&stack->span[index], &stack->span[index + 1],
          (stack->count - index) * sizeof stack->span[0]);
}

/* Innermost span of this id in span[low .. high-1], or -1. */
static int64_t find_span(const struct evr_span_stack *stack, unsigned id, uint32_t low,
                         uint32_t high) {
  for (uint32_t i = high, left = SEARCH; i > low && left > 0; left--)
    if (stack->span[--i].id == id) return i;
  return -1;
}

bool evr_span_pop_slow(struct evr_span_stack *stack, unsigned id,
                       struct evr_span *begin) {
  uint32_t low = stack->hidden ? stack->mark : 0;
  int64_t at = find_span(stack, id, low, stack->count);
  if (at < 0 && stack->hidden) {
    stack->hidden--;
    return false;
  }
  if (at < 0) return false;
  *begin = stack->span[at];
  evr_span_remove(stack, (uint32_t)at);
  return true;
}

void evr_span_clear(struct evr_span_stack *stack) {
  stack->count = stack->hidden = stack->mark = 0;
}
