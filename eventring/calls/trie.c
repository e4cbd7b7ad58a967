/* SPDX-License-Identifier: MIT */
/* trie.c: the trie of calls and its stacks (what it is: <eventring/calls.h>).
 *
 * Memory. Nodes are blocks of one allocator, so a node has a number and parents come
 * before their children. A hash table with a place for 1.5 nodes each finds the child of a
 * node by its id: it is one mapping that never grows, so that no call waits for that.
 * Before the table, a node is asked for the child that it entered last. Stacks, and the
 * segments of those with many frames, have allocators of their own.
 *
 * Stacks. The first frames of a stack lie in it, further ones in segments. The lowest
 * place of the stack and of each segment has no frame of its own: that of the stack has
 * the node below which its frames are, that of a segment repeats the frame before. So the
 * frame below the innermost one is always the place before it, and `top - 1 == base` says
 * that there is none in this segment.
 *
 * Exhaustion. `current` is never NULL. In a call that has no node it is `nowhere`, and
 * `charge` is the lost time of the nearest function that has one; frames keep both, so
 * everything finds its way back. Without memory for a frame, frames are only counted
 * (`unpushed`); `base` then says that every exit takes the slow path.
 */
#include "eventring/calls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "calls/lines.h"

#define NO_ID UINT64_MAX
#define HIDDEN ((uint64_t)1 << 63) /* in the id of a frame that has no node of its own */

_Static_assert(sizeof(struct eventring_calls_node) == 3 * EVC_LINE, "node");

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

struct eventring_calls_inside {
  struct evc_lines nodes, stacks, segments;
  struct eventring_calls_node **table; /* of the nodes, by parent and id */
  size_t places;                       /* of the table: a power of 2 */
  unsigned shift;                      /* 64 - log2(places) */
  struct eventring_calls_node none;    /* the last child of a node that has no child */
  struct eventring_calls_node nowhere; /* where calls are that have no node */
  eventring_calls_stack first;
};

/* ---- nodes --------------------------------------------------------------------------- */

static size_t hash(const struct eventring_calls_inside *in,
                   const struct eventring_calls_node *parent, uint64_t id) {
  uint64_t mixed = (id + (uint64_t)(uintptr_t)parent) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 29) * 0xd6e8feb86659fd93u;
  return mixed >> in->shift;
}

/* The place of the child in the table, or the one where it belongs. */
static struct eventring_calls_node **place_of(const struct eventring_calls_inside *in,
                                              const struct eventring_calls_node *parent,
                                              uint64_t id) {
  size_t at = hash(in, parent, id);
  for (;; at = (at + 1) & (in->places - 1)) {
    const struct eventring_calls_node *node = in->table[at];
    if (!node || (node->id == id && node->parent == parent)) return &in->table[at];
  }
}

static struct eventring_calls_node *make_node(struct eventring_calls_inside *in,
                                              struct eventring_calls_node *parent,
                                              uint64_t id) {
  struct eventring_calls_node *node = evc_lines_take(&in->nodes);
  if (!node) return NULL;
  node->id = id;
  node->parent = parent;
  node->last = &in->none;
  node->least = UINT64_MAX;
  return node;
}

/* Finds or makes it; NULL: no room. */
static struct eventring_calls_node *child_of(struct eventring_calls_inside *in,
                                             struct eventring_calls_node *parent,
                                             uint64_t id) {
  struct eventring_calls_node **place = place_of(in, parent, id);
  if (!*place) *place = make_node(in, parent, id);
  if (*place) parent->last = *place;
  return *place;
}

/* Sets `current` and `charge` to those of the callee. False: it has no node. */
static bool descend(eventring_calls *calls, uint64_t id) {
  struct eventring_calls_inside *in = calls->inside;
  struct eventring_calls_node *parent = calls->current;
  if (parent == &in->nowhere) return false;
  struct eventring_calls_node *child = child_of(in, parent, id);
  calls->current = child ? child : &in->nowhere;
  calls->charge = child ? &child->exclusive : &parent->lost.ticks;
  return child != NULL;
}

/* The lost ones that the time goes to. */
static struct eventring_calls_lost *lost_of(eventring_calls *calls) {
  return (struct eventring_calls_lost *)(void *)calls->charge;
}

void eventring_calls_find(eventring_calls *calls, uint64_t id) {
  if (!descend(calls, id)) lost_of(calls)->calls++;
}

void eventring_calls_halve(struct eventring_calls_node *node, unsigned bucket) {
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; i++) node->histogram[i] /= 2;
  node->histogram[bucket] = 1u << 31;
}

size_t eventring_calls_count(const eventring_calls *calls) {
  const struct evc_lines *nodes = &calls->inside->nodes;
  return nodes->used / nodes->block_bytes;
}

const struct eventring_calls_node *eventring_calls_node_at(const eventring_calls *calls,
                                                           size_t number) {
  const struct evc_lines *nodes = &calls->inside->nodes;
  return (const struct eventring_calls_node *)(const void *)(nodes->memory +
                                                             number * nodes->block_bytes);
}

size_t eventring_calls_number(const eventring_calls *calls,
                              const struct eventring_calls_node *node) {
  const struct evc_lines *nodes = &calls->inside->nodes;
  return (size_t)((const char *)node - nodes->memory) / nodes->block_bytes;
}

const struct eventring_calls_node *
eventring_calls_child(const eventring_calls *calls, const struct eventring_calls_node *parent,
                      uint64_t id) {
  return *place_of(calls->inside, parent, id);
}

static bool is_below(const struct eventring_calls_node *node,
                     const struct eventring_calls_node *above) {
  while (node && node != above) node = node->parent;
  return node != NULL;
}

uint64_t eventring_calls_inclusive(const eventring_calls *calls,
                                   const struct eventring_calls_node *node) {
  uint64_t sum = 0;
  size_t count = eventring_calls_count(calls);
  for (size_t i = eventring_calls_number(calls, node); i < count; i++) {
    const struct eventring_calls_node *n = eventring_calls_node_at(calls, i);
    if (is_below(n, node)) sum += n->exclusive + n->lost.ticks;
  }
  return sum;
}

/* ---- stacks -------------------------------------------------------------------------- */

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

eventring_calls_stack *eventring_calls_first_stack(eventring_calls *calls) {
  return &calls->inside->first;
}

static void enter_segment(eventring_calls_stack *stack, struct eventring_calls_segment *segment) {
  stack->segment = segment;
  stack->base = segment ? segment->frames : stack->first;
  stack->limit = stack->base + (segment ? (size_t)SEGMENT_FRAMES : (size_t)FIRST_FRAMES);
}

/* The segment after the present one; NULL: no room. */
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

/* There is no room for a frame: its call, and those within it, are lost ones. */
static void count_unpushed(eventring_calls *calls) {
  eventring_calls_stack *stack = calls->stack;
  struct eventring_calls_node *nowhere = &calls->inside->nowhere;
  if (calls->current != nowhere) {
    calls->charge = &calls->current->lost.ticks;
    calls->current = nowhere;
  }
  lost_of(calls)->calls++;
  stack->unpushed++;
  stack->base = stack->top - 1;
}

/* The segment is full: true if there is room now. */
bool eventring_calls_extend(eventring_calls *calls) {
  eventring_calls_stack *stack = calls->stack;
  struct eventring_calls_segment *segment =
      stack->unpushed ? NULL : segment_after(calls, stack);
  if (!segment) {
    count_unpushed(calls);
    return false;
  }
  segment->frames[0] = stack->top[-1];
  enter_segment(stack, segment);
  stack->top = segment->frames + 1;
  return true;
}

/* The innermost frame; goes back to the segment that has it. NULL: there is none. */
static struct eventring_calls_frame *innermost(eventring_calls_stack *stack) {
  if (stack->top - 1 == stack->base) {
    if (!stack->segment) return NULL;
    enter_segment(stack, stack->segment->before);
    stack->top = stack->limit;
  }
  return stack->top - 1;
}

static void go_on_below(eventring_calls *calls) {
  calls->current = calls->stack->top[-1].node;
  calls->charge = calls->stack->top[-1].charge;
}

static void pop_unpushed(eventring_calls *calls) {
  eventring_calls_stack *stack = calls->stack;
  if (--stack->unpushed > 0) return;
  enter_segment(stack, stack->segment);
  go_on_below(calls);
}

void eventring_calls_tally_slow(eventring_calls *calls,
                                const struct eventring_calls_frame *frame, uint64_t now) {
  uint64_t at_entry = frame->suspended & ~EVENTRING_CALLS_OPEN;
  uint64_t suspended = calls->stack->suspended - at_entry;
  uint64_t duration = now - frame->entered - suspended;
  if (!(frame->id & HIDDEN)) frame->node->suspended += suspended;
  if (frame->suspended & EVENTRING_CALLS_OPEN) return;
  eventring_calls_tally(frame->node, (int64_t)duration < 0 ? 0 : duration);
}

static void pop(eventring_calls *calls, uint64_t now) {
  eventring_calls_tally_slow(calls, calls->stack->top - 1, now);
  calls->stack->top--;
  go_on_below(calls);
}

/* Is there a frame with this id, in this segment or a lower one? */
static bool has_frame(const eventring_calls_stack *stack, uint64_t id) {
  const struct eventring_calls_segment *segment = stack->segment;
  const struct eventring_calls_frame *frame = stack->top, *base = stack->base;
  for (;;) {
    while (--frame != base)
      if (frame->id == id) return true;
    if (!segment) return false;
    segment = segment->before;
    base = segment ? segment->frames : stack->first;
    frame = base + (segment ? (size_t)SEGMENT_FRAMES : (size_t)FIRST_FRAMES);
  }
}

void eventring_calls_exit_slow(eventring_calls *calls, uint64_t id, uint64_t now) {
  eventring_calls_stack *stack = calls->stack;
  if (stack->unpushed) { /* whose ids are not known: an exit is the innermost one's */
    pop_unpushed(calls);
    return;
  }
  if (!has_frame(stack, id)) return;
  for (bool found = false; !found;) {
    found = innermost(stack)->id == id;
    pop(calls, now);
  }
}

void eventring_calls_enter_open(eventring_calls *calls, uint64_t id, uint64_t now) {
  eventring_calls_stack *stack = calls->stack;
  eventring_calls_charge(calls, now);
  if (stack->top == stack->limit && !eventring_calls_extend(calls)) return;
  descend(calls, id);
  calls->current->open++;
  *stack->top++ = (struct eventring_calls_frame){
      id, calls->current, calls->charge, now, stack->suspended | EVENTRING_CALLS_OPEN};
}

void eventring_calls_enter_hidden(eventring_calls *calls, uint64_t id, uint64_t now) {
  eventring_calls_stack *stack = calls->stack;
  eventring_calls_charge(calls, now);
  if (stack->top == stack->limit && !eventring_calls_extend(calls)) return;
  *stack->top++ = (struct eventring_calls_frame){
      id | HIDDEN, calls->current, calls->charge, now, stack->suspended | EVENTRING_CALLS_OPEN};
}

size_t eventring_calls_depth(const eventring_calls *calls) {
  const eventring_calls_stack *stack = calls->stack;
  const struct eventring_calls_segment *segment = stack->segment;
  size_t depth = (size_t)(stack->top - (segment ? segment->frames : stack->first)) - 1;
  if (!segment) return depth + stack->unpushed;
  while ((segment = segment->before)) depth += SEGMENT_FRAMES - 1;
  return depth + FIRST_FRAMES - 1 + stack->unpushed;
}

/* ---- switches ------------------------------------------------------------------------ */

/* The frames from `frame` to `top`, behind that at `frame` - 1, find their nodes. */
static void move_frames(eventring_calls *calls, struct eventring_calls_frame *frame,
                        const struct eventring_calls_frame *top) {
  for (; frame < top; frame++) {
    if (!(frame->id & HIDDEN)) descend(calls, frame->id);
    frame->node = calls->current;
    frame->charge = calls->charge;
  }
}

/* Frames of the running stack lie below another node from now on, the current one. */
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

/* `current` and `charge` are those of the innermost frame of the running stack. */
static void go_on(eventring_calls *calls) {
  go_on_below(calls);
  if (!calls->stack->unpushed || calls->current == &calls->inside->nowhere) return;
  calls->charge = &calls->current->lost.ticks;
  calls->current = &calls->inside->nowhere;
}

void eventring_calls_switch(eventring_calls *calls, eventring_calls_stack *to,
                            eventring_calls_switch_how how, uint64_t now) {
  eventring_calls_stack *from = calls->stack;
  eventring_calls_charge(calls, now);
  if (from == to) return;
  calls->stack = to;
  if (how == EVENTRING_CALLS_LEAVE) from->left = now;
  if (to->left != 0 && (int64_t)(now - to->left) > 0) to->suspended += now - to->left;
  to->left = 0;
  if (how == EVENTRING_CALLS_RESUME &&
      (to->first[0].node != calls->current || to->first[0].charge != calls->charge))
    move_stack(calls);
  go_on(calls);
}

/* ---- tries --------------------------------------------------------------------------- */

/* Of the budget a quarter is for stacks; table and nodes share the rest. */
static bool make_table(struct eventring_calls_inside *in, size_t budget) {
  size_t for_nodes = budget / 4 * 3, node = sizeof(struct eventring_calls_node);
  unsigned log = 8;
  while (log < 40 && ((size_t)1 << log) / 3 * 2 < for_nodes / (node + 16)) log++;
  in->places = (size_t)1 << log;
  in->shift = 64 - log;
  size_t table = in->places * sizeof *in->table;
  size_t count = for_nodes > table ? (for_nodes - table) / node : 1;
  evc_lines_init(&in->nodes, count * node, node);
  evc_lines_init(&in->stacks, budget / 8, sizeof(eventring_calls_stack));
  evc_lines_init(&in->segments, budget / 8, SEGMENT_BYTES);
  void *made = mmap(NULL, table, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return false;
  in->table = made;
  return true;
}

static struct eventring_calls_node *make_root(struct eventring_calls_inside *in) {
  struct eventring_calls_node *root = make_node(in, NULL, NO_ID);
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
    in->none.id = in->nowhere.id = NO_ID;
    in->none.last = in->nowhere.last = &in->none;
    if (make_table(in, budget < LEAST_BUDGET ? LEAST_BUDGET : budget) && make_root(in)) {
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
  evc_lines_end(&in->nodes);
  evc_lines_end(&in->stacks);
  evc_lines_end(&in->segments);
  if (in->table) munmap(in->table, in->places * sizeof *in->table);
  free(in);
  free(calls);
}

void eventring_calls_start(eventring_calls *calls, uint64_t now) { calls->last_ticks = now; }

size_t eventring_calls_used(const eventring_calls *calls) {
  const struct eventring_calls_inside *in = calls->inside;
  return in->nodes.used + in->stacks.used + in->segments.used +
         eventring_calls_count(calls) * sizeof *in->table;
}

/* ---- merging ------------------------------------------------------------------------- */

static void add_histograms(struct eventring_calls_node *to,
                           const struct eventring_calls_node *from) {
  for (unsigned i = 0; i < EVENTRING_CALLS_BUCKETS; i++) {
    uint64_t sum = (uint64_t)to->histogram[i] + from->histogram[i];
    to->histogram[i] = sum > UINT32_MAX ? UINT32_MAX : (uint32_t)sum;
  }
}

static void add_node(struct eventring_calls_node *to, const struct eventring_calls_node *from) {
  to->exclusive += from->exclusive;
  to->count += from->count;
  to->open += from->open;
  to->suspended += from->suspended;
  to->lost.ticks += from->lost.ticks;
  to->lost.calls += from->lost.calls;
  if (from->least < to->least) to->least = from->least;
  if (from->most > to->most) to->most = from->most;
  add_histograms(to, from);
}

static void add_lost(struct eventring_calls_node *to, const struct eventring_calls_node *from) {
  to->lost.ticks += from->exclusive + from->lost.ticks;
  to->lost.calls += from->count + from->lost.calls;
}

bool eventring_calls_merge(eventring_calls *into, const eventring_calls *from) {
  struct eventring_calls_inside *in = into->inside;
  size_t count = eventring_calls_count(from);
  bool whole = true;
  struct eventring_calls_node **map = calloc(count, sizeof *map);
  if (!map) {
    struct eventring_calls_node *root = (void *)in->nodes.memory;
    for (size_t i = 0; i < count; i++) add_lost(root, eventring_calls_node_at(from, i));
    return false;
  }
  map[0] = (void *)in->nodes.memory;
  add_node(map[0], eventring_calls_node_at(from, 0));
  for (size_t i = 1; i < count; i++) { /* the low bit: it stands for an ancestor */
    const struct eventring_calls_node *node = eventring_calls_node_at(from, i);
    uintptr_t above = (uintptr_t)map[eventring_calls_number(from, node->parent)];
    struct eventring_calls_node *parent = (void *)(above & ~(uintptr_t)1);
    struct eventring_calls_node *to = above & 1 ? NULL : child_of(in, parent, node->id);
    if (to) {
      add_node(to, node);
    } else {
      add_lost(parent, node);
      whole = false;
    }
    map[i] = to ? to : (void *)((uintptr_t)parent | 1);
  }
  free(map);
  return whole;
}
