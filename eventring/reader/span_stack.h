/* SPDX-License-Identifier: MIT */
/* span_stack.h: the spans open in one ring, as a reader knows them. */
#ifndef EVENTRING_SPAN_STACK_H
#define EVENTRING_SPAN_STACK_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct evr_span {
  uint64_t ticks;
  uint64_t ns;
  uint32_t id;
};
struct evr_span_stack {
  struct evr_span *span;
  uint32_t count, room;
  uint32_t hidden; /* open spans of which only the number is known ... */
  uint32_t mark;   /* ... they lie between span[mark-1] and span[mark] */
};
void evr_span_push_slow(struct evr_span_stack *stack, struct evr_span span);
bool evr_span_pop_slow(struct evr_span_stack *stack, unsigned id,
                       struct evr_span *begin);
static inline void evr_span_push(struct evr_span_stack *stack, struct evr_span span) {
  if (__builtin_expect(stack->count == stack->room, 0))
    evr_span_push_slow(stack, span);
  else
    stack->span[stack->count++] = span;
}
/* Closes a span by an end of this id: true when its begin is known, which is
   then in *begin. */
static inline bool evr_span_pop(struct evr_span_stack *stack, unsigned id,
                                struct evr_span *begin) {
  uint32_t top = stack->count;
  if (__builtin_expect(stack->hidden || !top || stack->span[top - 1].id != id, 0))
    return evr_span_pop_slow(stack, id, begin);
  *begin = stack->span[top - 1];
  stack->count = top - 1;
  return true;
}
void evr_span_remove(struct evr_span_stack *stack, uint32_t index);
void evr_span_clear(struct evr_span_stack *stack);

#pragma GCC visibility pop

#endif /* EVENTRING_SPAN_STACK_H */
