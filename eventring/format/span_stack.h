/* SPDX-License-Identifier: MIT */
/* span_stack.h: the spans open in one ring, as a reader knows them. */
#ifndef EVENTRING_SPAN_STACK_H
#define EVENTRING_SPAN_STACK_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* most spans of all contexts together; at this number stacks stop growing */
enum { EVR_MOST_SPANS = 65536 };

struct evr_span {
  uint64_t ticks;
  uint64_t ns;
  uint64_t suspended; /* ticks for which its context was suspended before it began */
  /* running time, in ns, of the spans directly within it that have ended; EVR_NOT_SEEN or
     more if a part of that time was not seen */
  uint64_t within;
  uint64_t id;
};
#define EVR_NOT_SEEN ((uint64_t)1 << 63) /* ns: longer than any span */
#define EVR_NO_SPAN UINT64_MAX           /* an id that no event has */

struct evr_span_stack { /* the stack of one context */
  /* the spans, outermost first. Unless `room` is 0, span[-1] has the id EVR_NO_SPAN, so
     that no code has to test whether there is an enclosing span */
  struct evr_span *span;
  uint32_t count, room;
  uint64_t context;
  /* ticks for which the context was suspended since the reader first saw it */
  uint64_t suspended;
  uint64_t since;     /* ticks at which it was suspended; 0 if it is not suspended */
  struct evr_span_stack *next; /* the next stack in its bucket */
};

struct evr_span_stacks { /* the stacks of one ring; zeroed, then to be initialised */
  /* stack of the context of the events that follow; never NULL */
  struct evr_span_stack *present;
  /* hash buckets of the present stack and the stacks of other contexts that have spans */
  struct evr_span_stack **bucket;
  uint32_t buckets;                /* a power of 2, or 0 */
  uint32_t stacks, spans;          /* number of stacks, and of spans in all of them */
  uint32_t hidden;                 /* number of open spans that are not listed */
  struct evr_span_stack first;     /* stack of context 0 */
  struct evr_span_stack homeless;  /* present when out of memory: takes no span */
  struct evr_span none;            /* a span with the id EVR_NO_SPAN */
  struct evr_span_stack *spare;    /* a stack that was dropped, for the next context */
};

void evr_spans_init(struct evr_span_stacks *stacks);
void evr_spans_free(struct evr_span_stacks *stacks);
/* Makes the stack of a context the present one. */
void evr_spans_enter_slow(struct evr_span_stacks *stacks, uint64_t context);
static inline void evr_spans_enter(struct evr_span_stacks *stacks, uint64_t context) {
  if (stacks->present->context != context) evr_spans_enter_slow(stacks, context);
}
/* Notes that a context is left; the next function, that it goes on. */
void evr_spans_suspend(struct evr_span_stacks *stacks, uint64_t context, uint64_t ticks);
void evr_spans_resume(struct evr_span_stacks *stacks, uint64_t context, uint64_t ticks);
/* Begins a span of the present context; evr_spans_pop ends one. evr_spans_pop returns
   true when the begin is known, and stores it in *begin, with `within` of its depth. */
void evr_spans_push(struct evr_span_stacks *stacks, struct evr_span span);
bool evr_spans_pop(struct evr_span_stacks *stacks, unsigned id, struct evr_span *begin);
/* Notes that the spans from `index` on were not seen completely. */
void evr_spans_hide(struct evr_span_stack *stack, uint32_t index);
void evr_spans_remove(struct evr_span_stacks *stacks, struct evr_span_stack *stack,
                      uint32_t index);
/* Drops all spans; the present context is then 0. */
void evr_spans_clear(struct evr_span_stacks *stacks);
/* Returns the stack of a context, or NULL when it has none. */
struct evr_span_stack *evr_spans_of(const struct evr_span_stacks *stacks, uint64_t context);
/* Returns the stack after `stack`, in no particular order: the first stack for NULL, and
   NULL after the last. Spans may be removed from stacks during the walk. */
struct evr_span_stack *evr_spans_next(const struct evr_span_stacks *stacks,
                                      const struct evr_span_stack *stack);

#pragma GCC visibility pop

#endif /* EVENTRING_SPAN_STACK_H */
