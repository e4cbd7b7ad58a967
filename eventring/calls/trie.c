/* SPDX-License-Identifier: MIT */
/* trie.c: the trie of calls: its stacks, and entries and exits. <eventring/calls.h> says
 * what a trie is; its nodes are in nodes.c.
 *
 * Stacks. The first frames of a stack lie in the structure, further ones in segments. The
 * lowest element of the stack and of each segment holds no frame of its own: in the stack
 * it has the node below which the frames are, in a segment it repeats the frame before.
 * So the frame below the innermost one is always the element before it, and `top - 1 ==
 * base` says that this segment has no frame.
 *
 * Exhaustion. `current` is never NULL: in a flat call (flat.c) it is a flat node, and
 * `charge` is the lost time of the nearest function that is not flat; frames keep both,
 * so an exit restores both. When out of memory, frames are only counted (`unpushed`),
 * their calls are flat, and their time goes to `nowhere`. While the innermost call is
 * flat or has no frame, `base` is the innermost frame: every exit takes the slow path.
 *
 * Budget. Nodes, stacks and segments draw on one pool. Nodes leave a quarter of it to
 * stacks and segments, which may take all that nodes have not taken: 200,000 frames, at
 * 40 bytes, are half of the usual budget. The reserve for flat nodes is not in the pool.
 */
#include "calls/inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  LEAST_BUDGET = 65536,
  SEGMENT_BYTES = 1024,
  FIRST_FRAMES = sizeof(((eventring_calls_stack *)NULL)->first) /
                 sizeof(struct eventring_calls_frame)
};

struct eventring_calls_segment {
  struct eventring_calls_segment *before, *after;
  struct eventring_calls_frame frames[];
};
enum {
  SEGMENT_FRAMES = (SEGMENT_BYTES - sizeof(struct eventring_calls_segment)) /
                   sizeof(struct eventring_calls_frame)
};

/* ---- stacks ------------------------------------------------------------------------ */

static void init_stack(eventring_calls_stack *stack) {
  memset(stack, 0, sizeof *stack);
  stack->first[0].id = NO_ID;
  stack->base = stack->first;
  stack->top = stack->first + 1;
  stack->limit = stack->first + FIRST_FRAMES;
}

eventring_calls_stack *eventring_calls_stack_new(eventring_calls *calls) {
  eventring_calls_stack *stack = evc_lines_take(&calls->inside->stacks);
  if (stack) init_stack(stack);
  return stack;
}

static void free_segments(eventring_calls *calls, struct eventring_calls_segment *segment) {
  while (segment) {
    struct eventring_calls_segment *after = segment->after;
    evc_lines_give_back(&calls->inside->segments, segment);
    segment = after;
  }
}

void eventring_calls_stack_free(eventring_calls *calls, eventring_calls_stack *stack) {
  free_segments(calls, stack->more);
  evc_lines_give_back(&calls->inside->stacks, stack);
}

/* Returns the lowest element of a segment, or of the stack if `segment` is NULL. */
static struct eventring_calls_frame *bottom_of(const eventring_calls_stack *stack,
                                               struct eventring_calls_segment *segment) {
  return segment ? segment->frames : (struct eventring_calls_frame *)stack->first;
}

static void enter_segment(eventring_calls_stack *stack, struct eventring_calls_segment *segment) {
  stack->segment = segment;
  stack->base = bottom_of(stack, segment);
  stack->limit = stack->base + (segment ? (size_t)SEGMENT_FRAMES : (size_t)FIRST_FRAMES);
}

/* Returns the segment after the present one, perhaps a new one, or NULL if there is no
   room. */
static struct eventring_calls_segment *segment_after(eventring_calls *calls,
                                                     eventring_calls_stack *stack) {
  struct eventring_calls_segment **link =
      stack->segment ? &stack->segment->after : &stack->more;
  if (*link) return *link;
  struct eventring_calls_segment *made = evc_lines_take(&calls->inside->segments);
  if (!made) return NULL;
  made->before = stack->segment;
  made->after = NULL;
  return *link = made;
}

/* Makes the time go to `nowhere` from now on. */
static void go_nowhere(eventring_calls *calls) {
  evc_settle(calls);
  if (!evc_is_flat(calls->current)) calls->charge = evc_lost_ticks(calls);
  calls->current = &calls->inside->nowhere;
  evc_begin_settling(calls);
  calls->stack->base = calls->stack->top - 1;
}

/* Makes room for a frame when the segment is full; returns true if there is room now. If
   not, counts the frame only; calls within it are flat. */
static bool make_room(eventring_calls *calls) {
  eventring_calls_stack *stack = calls->stack;
  struct eventring_calls_segment *segment =
      stack->unpushed ? NULL : segment_after(calls, stack);
  if (!segment) {
    go_nowhere(calls);
    stack->unpushed++;
    return false;
  }
  segment->frames[0] = stack->top[-1];
  enter_segment(stack, segment);
  stack->top = segment->frames + 1;
  return true;
}

bool eventring_calls_extend(eventring_calls *calls, uint64_t id) {
  if (make_room(calls)) return true;
  evc_lost_of(calls)->calls++;
  evc_flat_of(calls->inside, id)->count++;
  return false;
}

/* Returns the innermost frame, after going back to its segment, or NULL if there is
   none. */
static struct eventring_calls_frame *innermost(eventring_calls_stack *stack) {
  if (stack->top - 1 == bottom_of(stack, stack->segment)) {
    if (!stack->segment) return NULL;
    enter_segment(stack, stack->segment->before);
    stack->top = stack->limit;
  }
  return stack->top - 1;
}

/* Sets `current`, `charge` and `base` from the innermost frame. */
static void go_on_below(eventring_calls *calls) {
  eventring_calls_stack *stack = calls->stack;
  calls->current = stack->top[-1].node;
  calls->charge = stack->top[-1].charge;
  evc_begin_settling(calls);
  stack->base = evc_is_flat(calls->current) ? stack->top - 1 : bottom_of(stack, stack->segment);
}

static void pop_unpushed(eventring_calls *calls) {
  eventring_calls_stack *stack = calls->stack;
  if (--stack->unpushed > 0) return;
  evc_settle(calls);
  go_on_below(calls);
}

void eventring_calls_tally_slow(eventring_calls *calls,
                                const struct eventring_calls_frame *frame, uint64_t now) {
  uint64_t at_entry = frame->suspended & ~EVENTRING_CALLS_OPEN;
  uint64_t suspended = calls->stack->suspended - at_entry;
  uint64_t duration = now - frame->entered - suspended;
  if (suspended != 0 && !(frame->id & HIDDEN))
    evc_rest(calls->inside, frame->node)->suspended += suspended;
  if (frame->suspended & EVENTRING_CALLS_OPEN) return;
  eventring_calls_tally(calls, frame->node, (int64_t)duration < 0 ? 0 : duration);
}

static void pop(eventring_calls *calls, uint64_t now) {
  evc_settle(calls);
  eventring_calls_tally_slow(calls, calls->stack->top - 1, now);
  calls->stack->top--;
  go_on_below(calls);
}

/* Tells whether there is a frame with this id, in this segment or a lower one. */
static bool has_frame(const eventring_calls_stack *stack, uint64_t id) {
  struct eventring_calls_segment *segment = stack->segment;
  const struct eventring_calls_frame *frame = stack->top, *base = bottom_of(stack, segment);
  for (;;) {
    while (--frame != base)
      if (frame->id == id) return true;
    if (!segment) return false;
    segment = segment->before;
    base = bottom_of(stack, segment);
    frame = base + (segment ? (size_t)SEGMENT_FRAMES : (size_t)FIRST_FRAMES);
  }
}

void eventring_calls_exit_slow(eventring_calls *calls, uint64_t id, uint64_t now) {
  eventring_calls_stack *stack = calls->stack;
  if (stack->unpushed) { /* their ids are not known: take the innermost one */
    pop_unpushed(calls);
    return;
  }
  if (!has_frame(stack, id)) return;
  for (bool found = false; !found;) {
    found = innermost(stack)->id == id;
    pop(calls, now);
  }
}

void eventring_calls_enter_as(eventring_calls *calls, uint64_t id, uint64_t now,
                              eventring_calls_enter_how how) {
  eventring_calls_stack *stack = calls->stack;
  const bool is_hidden = how == EVENTRING_CALLS_ENTER_HIDDEN;
  eventring_calls_charge(calls, now);
  if (stack->top == stack->limit && !make_room(calls)) {
    if (!is_hidden) evc_rest(calls->inside, evc_flat_of(calls->inside, id))->open++;
    return;
  }
  if (!is_hidden) {
    if (!evc_descend(calls, id)) stack->base = stack->top;
    evc_rest(calls->inside, calls->current)->open++;
  }
  *stack->top++ = (struct eventring_calls_frame){is_hidden ? id | HIDDEN : id, calls->current,
                                                 calls->charge, now,
                                                 stack->suspended | EVENTRING_CALLS_OPEN};
}

size_t evc_depth(const eventring_calls *calls) {
  const eventring_calls_stack *stack = calls->stack;
  const struct eventring_calls_segment *segment = stack->segment;
  size_t depth = (size_t)(stack->top - (segment ? segment->frames : stack->first)) - 1;
  if (!segment) return depth + stack->unpushed;
  while ((segment = segment->before)) depth += SEGMENT_FRAMES - 1;
  return depth + FIRST_FRAMES - 1 + stack->unpushed;
}

/* ---- switches ---------------------------------------------------------------------- */

/* Finds the nodes of the frames from `frame` to `top`, below the node of the frame at
   `frame` - 1. */
static void move_frames(eventring_calls *calls, struct eventring_calls_frame *frame,
                        const struct eventring_calls_frame *top) {
  for (; frame < top; frame++) {
    if (!(frame->id & HIDDEN)) evc_descend(calls, frame->id);
    frame->node = calls->current;
    frame->charge = calls->charge;
  }
}

/* Moves the frames of the running stack below another node, which is the current one. */
static void move_stack(eventring_calls *calls) {
  eventring_calls_stack *stack = calls->stack;
  struct eventring_calls_segment *segment = stack->segment ? stack->more : NULL;
  stack->first[0].node = calls->current;
  stack->first[0].charge = calls->charge;
  move_frames(calls, stack->first + 1, segment ? stack->first + FIRST_FRAMES : stack->top);
  for (; segment; segment = segment == stack->segment ? NULL : segment->after) {
    segment->frames[0].node = calls->current;
    segment->frames[0].charge = calls->charge;
    move_frames(calls, segment->frames + 1,
                segment == stack->segment ? stack->top : segment->frames + SEGMENT_FRAMES);
  }
}

void eventring_calls_switch(eventring_calls *calls, eventring_calls_stack *to,
                            eventring_calls_switch_how how, uint64_t now) {
  eventring_calls_stack *from = calls->stack;
  eventring_calls_charge(calls, now);
  if (from == to) return;
  evc_settle(calls);
  calls->stack = to;
  if (how == EVENTRING_CALLS_LEAVE) from->left = now;
  if (to->left != 0 && (int64_t)(now - to->left) > 0) to->suspended += now - to->left;
  to->left = 0;
  if (!to->first[0].node) how = EVENTRING_CALLS_RESUME; /* the stack never ran */
  if (how == EVENTRING_CALLS_RESUME &&
      (to->first[0].node != calls->current || to->first[0].charge != calls->charge))
    move_stack(calls);
  go_on_below(calls);
  if (to->unpushed) go_nowhere(calls);
}

/* ---- tries ------------------------------------------------------------------------- */

static void init_memory(struct eventring_calls_inside *in, size_t budget) {
  in->budget = in->pool = budget;
  evc_lines_init(&in->stacks, budget, sizeof(eventring_calls_stack));
  evc_lines_init(&in->segments, budget, SEGMENT_BYTES);
  evc_lines_init(&in->wides, budget / 16, sizeof(struct evc_wide));
  evc_lines_draw_on(&in->stacks, &in->pool, in->stacks.block_bytes);
  evc_lines_draw_on(&in->segments, &in->pool, in->segments.block_bytes);
  evc_lines_draw_on(&in->wides, &in->pool, in->wides.block_bytes);
}

static struct eventring_calls_node *make_root(struct eventring_calls_inside *in) {
  struct eventring_calls_node *root = evc_make_node(in, EVENTRING_CALLS_ROOT, NO_ID);
  init_stack(&in->first);
  in->first.first[0].node = root;
  in->first.first[0].charge = root ? &root->exclusive : NULL;
  return root;
}

eventring_calls *eventring_calls_new(size_t budget) {
  eventring_calls *calls = calloc(1, sizeof *calls);
  struct eventring_calls_inside *in = calloc(1, sizeof *in);
  if (calls && in) {
    calls->inside = in;
    calls->first_stack = &in->first;
    in->none = (struct eventring_calls_node){.id = NO_ID, .last = &in->none};
    in->nowhere = (struct eventring_calls_node){
        .id = NO_ID, .last = &in->none, .parent = EVENTRING_CALLS_FLAT, .least = UINT64_MAX};
    if (budget < LEAST_BUDGET) budget = LEAST_BUDGET;
    init_memory(in, budget);
    if (evc_init_nodes(in, budget / 4 * 3) && make_root(in)) {
      calls->stack = &in->first;
      go_on_below(calls);
      return calls;
    }
    eventring_calls_free(calls);
    return NULL;
  }
  free(calls);
  free(in);
  return NULL;
}

void eventring_calls_free(eventring_calls *calls) {
  if (!calls) return;
  struct eventring_calls_inside *in = calls->inside;
  evc_end_nodes(in);
  evc_lines_end(&in->wides);
  evc_lines_end(&in->stacks);
  evc_lines_end(&in->segments);
  free(in);
  free(calls);
}

void eventring_calls_start(eventring_calls *calls, uint64_t now) { calls->last_ticks = now; }

size_t evc_used(const eventring_calls *calls) {
  const struct eventring_calls_inside *in = calls->inside;
  return in->budget - in->pool - in->reserved;
}
