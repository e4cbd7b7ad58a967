/* SPDX-License-Identifier: MIT */
/* calls.h: an exact profile of calls, for any host.
 *
 * A host reports each entry of a function and each exit, with the time; this library
 * keeps a *trie* of calls: a node for each path of functions from the root, with the
 * number of calls, their time, the shortest and the longest, and a histogram of
 * durations. Times are of any clock that the host likes, in its units (*ticks*);
 * eventring_ticks is the usual one.
 *
 *   eventring_calls *calls = eventring_calls_new(16 << 20);
 *   eventring_calls_start(calls, eventring_ticks());
 *   eventring_calls_enter(calls, MY_FUNCTION, eventring_ticks());
 *   ...
 *   eventring_calls_exit(calls, MY_FUNCTION, eventring_ticks());
 *
 * How time is counted. Between two reports the time goes to the node that is current:
 * that is its *exclusive* time. The inclusive time of a node is the sum of exclusive and
 * lost times of its subtree. So inclusive and exclusive times always agree, also while
 * functions are open, and the exclusive times of all nodes add up to the time since the
 * start. A clock that goes back counts as standing still; `backwards` counts how often it
 * did.
 *
 * Flows of control. Each coroutine has a stack of its own (eventring_calls_stack_new).
 * The frames of a coroutine lie below the function that resumes it. The time while a
 * coroutine is suspended belongs to none of its frames, and is counted apart.
 *
 * Recursion. A path has the same function at most twice: if the function is entered once
 * more, the node of its innermost activation on the path is used again. So the first node
 * has the calls from outside, and the second has all recursive calls, direct or indirect,
 * however deep. Counts and exclusive times stay exact, and inclusive times contain
 * everything once. Recursive calls are timed one by one: `most` and the histogram include
 * nested ones like any other.
 *
 * When the budget is used up the trie is full, and no path is added any more. A call on a
 * path that is not there is *flat*, and so is all that it calls. A sixteenth of the
 * budget is reserved for flat calls: one node for each function, which is on no path and
 * has the count, exclusive time and durations of the function's flat calls
 * (eventring_calls_flat_at). Functions that find no room there share one node. So the
 * counts of all nodes and flat nodes add up to the number of calls, and their exclusive
 * times to the time since the start. Each node also has the time and the number of the
 * flat calls below it (eventring_calls_lost_below). So the inclusive times of the trie
 * stay exact; views show flat calls as a child "(path not kept)". What a flat call itself
 * called is not known, so it has no inclusive time.
 *
 * Threads: a trie (`eventring_calls *`) belongs to one thread. None of its functions is
 * for signal handlers that may interrupt another one.
 */
#ifndef EVENTRING_CALLS_H
#define EVENTRING_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum {
  EVENTRING_CALLS_BUCKETS = 25, /* of a histogram */
  EVENTRING_CALLS_FIRST = 7,    /* log2 of the bound of the first bucket, in ticks */
  EVENTRING_CALLS_NEAR = 6      /* buckets that lie in the node itself */
};

/* Time and number of flat calls below a node. */
struct eventring_calls_lost {
  uint64_t ticks, calls;
};

/* One path of functions, in one cache line. A call that takes less than 4096 ticks and is
   not suspended touches nothing else; eventring_calls_rest_of has the rest. */
struct eventring_calls_node {
  uint64_t id;        /* of the function, as the host chose it */
  uint64_t exclusive; /* ticks in the function itself */
  uint64_t count;     /* entries, those from before the start not counted */
  uint64_t least, most; /* ticks of a call, the shortest and the longest; most 0: none was
                           entered and left */
  struct eventring_calls_node *last; /* private: what it entered last */
  uint32_t parent;    /* number of a node; EVENTRING_CALLS_ROOT: it is the root */
  uint16_t near[EVENTRING_CALLS_NEAR]; /* private: the first buckets */
};

/* The rest of a node. */
struct eventring_calls_rest {
  uint64_t suspended; /* ticks for which calls that are over were suspended */
  uint32_t open;      /* entries of calls that began before the start */
  uint32_t carried;   /* private */
  uint16_t far[EVENTRING_CALLS_BUCKETS - EVENTRING_CALLS_NEAR]; /* private: others */
  uint16_t repeats;   /* nodes of this function above it on the path */
};
#define EVENTRING_CALLS_ROOT UINT32_MAX
#define EVENTRING_CALLS_FLAT (UINT32_MAX - 1) /* the parent of a flat node */

struct eventring_calls_frame { /* private */
  uint64_t id;
  struct eventring_calls_node *node;
  uint64_t *charge;   /* where the time of the function itself goes */
  uint64_t entered;
  uint64_t suspended; /* of the stack when the frame was entered; EVENTRING_CALLS_OPEN: a
                         call that was open at the start */
};
#define EVENTRING_CALLS_OPEN ((uint64_t)1 << 63)
#define EVENTRING_CALLS_NO_ID UINT64_MAX /* of the root; of flat calls without a node */

/* The stack of a flow of control. Private. */
typedef struct eventring_calls_stack {
  struct eventring_calls_frame *top;   /* behind the innermost frame */
  struct eventring_calls_frame *limit; /* top may not go beyond it */
  struct eventring_calls_frame *base;  /* the lowest place of the segment, or the
                                          innermost frame if its call is flat: an exit
                                          there takes the slow path */
  uint64_t suspended;  /* ticks for which it was suspended, all together */
  uint64_t left;       /* when it was left; 0: it was not left */
  uint64_t unpushed;   /* frames that found no room, above all others */
  struct eventring_calls_segment *segment; /* that it is in; NULL: the first frames */
  struct eventring_calls_segment *more;    /* the first of its segments */
  struct eventring_calls_frame first[5];
} eventring_calls_stack;

/* A trie and what is open in it. Only `backwards` is for hosts. */
typedef struct eventring_calls {
  struct eventring_calls_node *current;
  uint64_t *charge;
  uint64_t last_ticks;
  eventring_calls_stack *stack; /* that runs */
  uint64_t backwards;           /* times that the clock went back */
  struct eventring_calls_inside *inside;
  eventring_calls_stack *first_stack;
} eventring_calls;

/* Makes a trie that takes at most `budget` bytes (a smaller budget counts as 64 KiB;
   memory is touched as it is needed). Returns NULL when out of memory. The trie is
   started. Any thread. */
eventring_calls *eventring_calls_new(size_t budget);
void eventring_calls_free(eventring_calls *calls);
/* Starts the time: it counts from now on. */
void eventring_calls_start(eventring_calls *calls, uint64_t now);

/* Returns the number of nodes, the root included, or a node: the root is 0, and parents
   come before children. */
size_t eventring_calls_count(const eventring_calls *calls);
const struct eventring_calls_node *eventring_calls_node_at(const eventring_calls *calls,
                                                           size_t number);
/* Returns time and number of the flat calls below the node. Counts those that have no
   flat call above them on their path, with everything that they called. */
struct eventring_calls_lost eventring_calls_lost_below(const eventring_calls *calls,
                                                       const struct eventring_calls_node *node);
const struct eventring_calls_rest *eventring_calls_rest_of(const eventring_calls *calls,
                                                           const struct eventring_calls_node *node);

/* Returns the flat node with this number, counted from 0; NULL: there are fewer (a trie
   that was never full has none). Each function with flat calls has one; the last one, if
   there are any, belongs to functions that found no room, and its id is
   EVENTRING_CALLS_NO_ID. When this returns, `exclusive` of the node has all ticks up to
   the last report. A flat node has a rest like any node, without repeats. */
const struct eventring_calls_node *eventring_calls_flat_at(const eventring_calls *calls,
                                                           size_t number);

/* Makes a stack, without frames, for a further flow of control; NULL: there is no
   room. */
eventring_calls_stack *eventring_calls_stack_new(eventring_calls *calls);
/* Frees a stack; it must not be the running one, nor the first of the trie. */
void eventring_calls_stack_free(eventring_calls *calls, eventring_calls_stack *stack);

typedef enum eventring_calls_switch_how {
  EVENTRING_CALLS_RESUME, /* the running one resumes it and waits for it */
  EVENTRING_CALLS_LEAVE   /* the running one is suspended, or over, and gives it control;
                             a stack that never ran is resumed all the same */
} eventring_calls_switch_how;
/* Switches to this stack, which runs from now on. */
void eventring_calls_switch(eventring_calls *calls, eventring_calls_stack *to,
                            eventring_calls_switch_how how, uint64_t now);
/* Returns the stack of a trie that runs first. */
static inline eventring_calls_stack *eventring_calls_first_stack(eventring_calls *calls) {
  return calls->first_stack;
}

/* Completes, out of line, what the functions below begin. */
void eventring_calls_find(eventring_calls *calls, uint64_t id);
bool eventring_calls_extend(eventring_calls *calls, uint64_t id);
void eventring_calls_exit_slow(eventring_calls *calls, uint64_t id, uint64_t now);
void eventring_calls_tally_slow(eventring_calls *calls, const struct eventring_calls_frame *frame,
                                uint64_t now);
void eventring_calls_carry(eventring_calls *calls, struct eventring_calls_node *node,
                           unsigned bucket);
void eventring_calls_tally_far(eventring_calls *calls, struct eventring_calls_node *node,
                               unsigned bucket);

/* Charges the current function with the time up to now. */
static inline void eventring_calls_charge(eventring_calls *calls, uint64_t now) {
  uint64_t passed = now - calls->last_ticks;
  if (__builtin_expect((int64_t)passed < 0, 0)) {
    calls->backwards++;
    passed = 0;
  }
  calls->last_ticks = now;
  *calls->charge += passed;
}

/* Enters the function `id`, which begins. `id` is any number below 2^63. */
static inline void eventring_calls_enter(eventring_calls *calls, uint64_t id, uint64_t now) {
  eventring_calls_stack *stack = calls->stack;
  struct eventring_calls_node *child = calls->current->last;
  eventring_calls_charge(calls, now);
  if (__builtin_expect(stack->top == stack->limit, 0) && !eventring_calls_extend(calls, id)) return;
  struct eventring_calls_frame *frame = stack->top;
  if (__builtin_expect(child->id == id, 1)) {
    calls->current = child;
    calls->charge = &child->exclusive;
  } else {
    eventring_calls_find(calls, id);
  }
  calls->current->count++;
  frame->id = id;
  frame->node = calls->current;
  frame->charge = calls->charge;
  frame->entered = now;
  frame->suspended = stack->suspended;
  stack->top = frame + 1;
}

typedef enum eventring_calls_enter_how {
  EVENTRING_CALLS_ENTER_OPEN,  /* it began before the start: its duration is not known */
  EVENTRING_CALLS_ENTER_HIDDEN /* it gets no node: its time is its caller's */
} eventring_calls_enter_how;
/* Enters a function that is no ordinary call. It ends like any other. */
void eventring_calls_enter_as(eventring_calls *calls, uint64_t id, uint64_t now,
                              eventring_calls_enter_how how);

static inline void eventring_calls_tally(eventring_calls *calls,
                                         struct eventring_calls_node *node, uint64_t duration) {
  if (duration < node->least) node->least = duration;
  if (duration > node->most) node->most = duration;
  unsigned bucket = 63u - (unsigned)__builtin_clzll(duration | 64) - 6;
  if (bucket >= EVENTRING_CALLS_NEAR) eventring_calls_tally_far(calls, node, bucket);
  else if (__builtin_expect(++node->near[bucket] == 0, 0))
    eventring_calls_carry(calls, node, bucket);
}

/* Ends the innermost function that is open with this id, and all that it called; if there
   is none, does nothing. */
static inline void eventring_calls_exit(eventring_calls *calls, uint64_t id, uint64_t now) {
  eventring_calls_stack *stack = calls->stack;
  struct eventring_calls_frame *frame = stack->top - 1;
  eventring_calls_charge(calls, now);
  if (__builtin_expect(frame == stack->base || frame->id != id, 0)) {
    eventring_calls_exit_slow(calls, id, now);
    return;
  }
  uint64_t duration = now - frame->entered;
  if (__builtin_expect(frame->suspended != stack->suspended || (int64_t)duration < 0, 0))
    eventring_calls_tally_slow(calls, frame, now);
  else eventring_calls_tally(calls, frame->node, duration);
  stack->top = frame;
  calls->current = frame[-1].node;
  calls->charge = frame[-1].charge;
}

/* Ends the innermost function, whatever its id. */
static inline void eventring_calls_leave(eventring_calls *calls, uint64_t now) {
  eventring_calls_exit(calls, calls->stack->top[-1].id, now);
}

/* ---- in a recording ---------------------------------------------------------------- */

enum eventring_calls_function_kind {
  EVENTRING_CALLS_CODE = 0,   /* of the language that the host runs */
  EVENTRING_CALLS_NATIVE = 1, /* of C */
  EVENTRING_CALLS_HOST = 2    /* none: work of the host, such as a collection */
};
/* Texts are UTF-8, and are cut to 200 bytes, at their beginning. */
struct eventring_calls_function {
  const char *name;
  const char *source; /* a file, or empty */
  uint32_t line;      /* 0: not known */
  uint32_t kind;      /* enum eventring_calls_function_kind */
};

enum {
  EVENTRING_PROFILE_CPU = 1,    /* times are of the processor, not of the clock */
  EVENTRING_PROFILE_FINAL = 2   /* nothing comes after it: the profile was ended */
};

/* The profile of a domain. */
struct eventring_profile_source {
  const eventring_calls *calls; /* ids are indexes of `functions` */
  const struct eventring_calls_function *functions;
  uint32_t function_count;
  uint32_t flags;               /* EVENTRING_PROFILE_* */
  uint64_t start_ticks;         /* when it began */
};

/* Writes the profile of a domain into the recording, where it replaces the one that was
   written before. The former one stays until the new one is complete, so that a process
   that is killed leaves one of them. The time for this grows with the number of nodes,
   about 0.1 us for each. Returns 0, E_STATE (the domain is not recorded), E_MEMORY or
   E_LIMIT (there is no room: the former one stays). Owner. */
int eventring_calls_write(eventring_domain *domain, const struct eventring_profile_source *source,
                          struct eventring_error *error);

/* Returns the word of the control page by which others ask for a profile (FORMAT.md,
   section 4: call_profile); NULL: the domain is not recorded. It is valid as long as the
   recording. Owner. */
const uint32_t *eventring_calls_word(const eventring_domain *domain);
/* Fills in `names` with the functions whose calls are to be spans while class calls is
   on: names with commas between them, as other processes have chosen
   (EVENTRING_CONTROL_SPANS); "": all functions. *version is the version of the list that
   the host has seen, 0 at first. If there is a newer list, fills in both; else leaves
   both as they are. The host decides what a name means. Returns 0; E_STATE (the domain is
   not recorded, or may not be asked from outside), E_BUSY (the list is being changed: bit
   1 of the word is set when that is done). Owner. */
int eventring_calls_names(const eventring_domain *domain, char names[EVENTRING_MAX_CALL_NAMES + 1],
                          uint32_t *version);
/* Sleeps until the word of eventring_calls_word asks for something, at most `ns`
   nanoseconds (0: only checks). Returns whether it asks. For a host whose safepoints test
   another word while it keeps a profile. A request for a profile does not count once bit
   3 says that the profile is kept, and a request to end it does not count once that bit
   is clear. Requests by programs that do not wake the waiter, and those in a recording
   that begins meanwhile, are seen within a second. Any thread. */
bool eventring_calls_wait(uint64_t ns);
/* Returns the nanoseconds for which the calling thread was not on a processor, from some
   moment on. It costs a few ns if the thread was not interrupted since the last call. 0:
   it is not measured. */
uint64_t eventring_off_cpu(void);
/* Returns whether eventring_ticks reads the clock of recordings. Where it does not, the
   clock of recordings is CLOCK_MONOTONIC in ns. Any thread. */
bool eventring_ticks_are_inline(void);
/* Returns how many ns a tick is, to within a few percent at least. Any thread. */
double eventring_ns_per_tick(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_CALLS_H */
