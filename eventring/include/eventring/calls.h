/* SPDX-License-Identifier: MIT */
/* calls.h: an exact profile of calls, for any host.
 *
 * A host reports each entry of a function and each exit, with the time; this library
 * keeps a *trie* of calls: a node for each path of functions from the root, with the
 * number of calls, their total, shortest and longest time, and a histogram of durations.
 * The host chooses the clock; times are in its units (*ticks*). eventring_ticks is the
 * usual clock.
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
 * went back.
 *
 * Flows of control. Each coroutine has its own stack (eventring_calls_stack_new). The
 * frames of a coroutine lie below the function that resumes it. The time while a
 * coroutine is suspended belongs to none of its frames, and is counted apart.
 *
 * Recursion. A path has the same function at most twice: if the function is entered once
 * more, the node of its innermost activation on the path is used again. So the first node
 * of the function has the calls from outside, and the second node has all recursive
 * calls, direct or indirect, however deep. Counts and exclusive times stay exact, and
 * inclusive times contain everything once. Recursive calls are timed one by one: `most`
 * and the histogram include nested calls like any others.
 *
 * When the budget is used up the trie is full, and no path is added any more. A call on a
 * path that has no node is *flat*, and so are all calls within it. A sixteenth of the
 * budget is reserved for flat calls: one node for each function, which is on no path and
 * has the count, exclusive time and durations of the function's flat calls
 * (eventring_calls_flat_at). Functions that find no room there share one node. So the
 * counts of all nodes and flat nodes add up to the number of calls, and their exclusive
 * times to the time since the start. Each node also has the time and the number of the
 * flat calls below it (eventring_calls_lost_below). So the inclusive times of the trie
 * stay exact; views show flat calls as a child "(path not kept)". What a flat call itself
 * called is not known, so it has no inclusive time.
 *
 * Threads: a trie (`eventring_calls *`) belongs to one thread. A signal handler that may
 * interrupt one of these functions must not call any of them.
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
  EVENTRING_CALLS_BUCKETS = 25, /* buckets of a histogram */
  EVENTRING_CALLS_FIRST = 7,    /* log2 of the bound of the first bucket, in ticks */
  EVENTRING_CALLS_NEAR = 6      /* buckets that are stored in the node itself */
};

/* Time and number of flat calls below a node. */
struct eventring_calls_lost {
  uint64_t ticks, calls;
};

/* One path of functions, in one cache line. A call that takes less than 4096 ticks and is
   not suspended touches only this; eventring_calls_rest_of returns the rest of the
   node. */
struct eventring_calls_node {
  uint64_t id;        /* id of the function, as the host chose it */
  uint64_t exclusive; /* ticks in the function itself */
  uint64_t count;     /* number of entries, without those from before the start */
  /* ticks of the shortest and of the longest call; `most` is 0 if no call was entered and
     left */
  uint64_t least, most;
  struct eventring_calls_node *last; /* private: the node that was entered from it last */
  uint32_t parent;    /* number of the parent node; EVENTRING_CALLS_ROOT for the root */
  uint16_t near[EVENTRING_CALLS_NEAR]; /* private: the first buckets */
};

/* The rest of a node. */
struct eventring_calls_rest {
  uint64_t suspended; /* ticks for which calls that have ended were suspended */
  uint32_t open;      /* entries of calls that began before the start */
  uint32_t carried;   /* private */
  /* private: the other buckets */
  uint16_t far[EVENTRING_CALLS_BUCKETS - EVENTRING_CALLS_NEAR];
  uint16_t repeats;   /* number of nodes of this function above it on the path */
};
#define EVENTRING_CALLS_ROOT UINT32_MAX
#define EVENTRING_CALLS_FLAT (UINT32_MAX - 1) /* the parent of a flat node */

struct eventring_calls_frame { /* private */
  uint64_t id;
  struct eventring_calls_node *node;
  uint64_t *charge;   /* where the time of the function itself is added */
  uint64_t entered;
  /* ticks for which the stack had been suspended when the frame was entered;
     EVENTRING_CALLS_OPEN for a call that was open at the start */
  uint64_t suspended;
};
#define EVENTRING_CALLS_OPEN ((uint64_t)1 << 63)
/* id of the root, and of flat calls without a node */
#define EVENTRING_CALLS_NO_ID UINT64_MAX

/* The stack of a flow of control. Private. */
typedef struct eventring_calls_stack {
  struct eventring_calls_frame *top;   /* behind the innermost frame */
  struct eventring_calls_frame *limit; /* `top` must not go beyond this */
  /* the lowest place of the segment, or the innermost frame if its call is flat: an exit
     at this place takes the slow path */
  struct eventring_calls_frame *base;
  uint64_t suspended;  /* ticks for which the stack was suspended, in total */
  uint64_t left;       /* when the stack was left; 0 if it was not left */
  uint64_t unpushed;   /* number of frames that found no room, above all others */
  /* the segment that `top` is in; NULL for the first frames */
  struct eventring_calls_segment *segment;
  struct eventring_calls_segment *more;    /* the first of its segments */
  struct eventring_calls_frame first[5];
} eventring_calls_stack;

/* A trie, with its open calls. Only `backwards` is for hosts. */
typedef struct eventring_calls {
  struct eventring_calls_node *current;
  uint64_t *charge;
  uint64_t last_ticks;
  eventring_calls_stack *stack; /* the stack that runs */
  uint64_t backwards;           /* number of times that the clock went back */
  struct eventring_calls_inside *inside;
  eventring_calls_stack *first_stack;
} eventring_calls;

/* Makes a trie that takes at most `budget` bytes (a budget below 64 KiB counts as 64 KiB;
   memory is touched as it is needed). Returns NULL when out of memory. The trie is
   started. Any thread. */
eventring_calls *eventring_calls_new(size_t budget);
void eventring_calls_free(eventring_calls *calls);
/* Starts the measurement of time at `now`. */
void eventring_calls_start(eventring_calls *calls, uint64_t now);

/* Returns the number of nodes, the root included. eventring_calls_node_at returns a node:
   the root is number 0, and parents come before children. */
size_t eventring_calls_count(const eventring_calls *calls);
const struct eventring_calls_node *eventring_calls_node_at(const eventring_calls *calls,
                                                           size_t number);
/* Returns time and number of the flat calls below the node. Covers the flat calls that
   have no flat call above them on their path, with everything that they called. */
struct eventring_calls_lost eventring_calls_lost_below(const eventring_calls *calls,
                                                       const struct eventring_calls_node *node);
const struct eventring_calls_rest *eventring_calls_rest_of(const eventring_calls *calls,
                                                           const struct eventring_calls_node *node);

/* Returns the flat node with this number, counted from 0, or NULL if there are fewer (a
   trie that was never full has none). Each function with flat calls has a flat node. The
   last flat node belongs to the functions that found no room, and its id is
   EVENTRING_CALLS_NO_ID. When this returns, `exclusive` of the node has all ticks up to
   the last report. A flat node has a rest like any node, without repeats. */
const struct eventring_calls_node *eventring_calls_flat_at(const eventring_calls *calls,
                                                           size_t number);

/* Makes a stack, without frames, for another flow of control. Returns NULL if there is no
   room. */
eventring_calls_stack *eventring_calls_stack_new(eventring_calls *calls);
/* Frees a stack, which must not be the running stack, nor the first of the trie. */
void eventring_calls_stack_free(eventring_calls *calls, eventring_calls_stack *stack);

typedef enum eventring_calls_switch_how {
  EVENTRING_CALLS_RESUME, /* the running stack resumes the other and waits for it */
  /* the running stack is suspended, or has ended, and control passes to the other; a
     stack that never ran is resumed nevertheless */
  EVENTRING_CALLS_LEAVE
} eventring_calls_switch_how;
/* Switches to this stack, which runs from now on. */
void eventring_calls_switch(eventring_calls *calls, eventring_calls_stack *to,
                            eventring_calls_switch_how how, uint64_t now);
/* Returns the stack of a trie that runs first. */
static inline eventring_calls_stack *eventring_calls_first_stack(eventring_calls *calls) {
  return calls->first_stack;
}

/* Completes, out of line, the work of the inline functions below. */
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

/* Enters the function `id`, any number below 2^63. */
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
  /* the call began before the start: its duration is not known */
  EVENTRING_CALLS_ENTER_OPEN,
  /* the call gets no node: its time is added to its caller's */
  EVENTRING_CALLS_ENTER_HIDDEN
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

/* Ends the innermost open call of the function with this id, and all calls within it.
   Does nothing if there is none. */
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
  EVENTRING_CALLS_CODE = 0,   /* a function of the language that the host runs */
  EVENTRING_CALLS_NATIVE = 1, /* a function of C */
  EVENTRING_CALLS_HOST = 2    /* no function: work of the host, such as a collection */
};
/* Texts are UTF-8, and are cut to 200 bytes, at their beginning. */
struct eventring_calls_function {
  const char *name;
  const char *source; /* a file, or empty */
  uint32_t line;      /* 0 if not known */
  uint32_t kind;      /* enum eventring_calls_function_kind */
};

enum {
  EVENTRING_PROFILE_CPU = 1,    /* times are processor times, not those of a clock */
  EVENTRING_PROFILE_FINAL = 2   /* the profile was ended, and nothing comes after it */
};

/* The profile of a domain. */
struct eventring_profile_source {
  const eventring_calls *calls; /* ids are indexes of `functions` */
  const struct eventring_calls_function *functions;
  uint32_t function_count;
  uint32_t flags;               /* EVENTRING_PROFILE_* */
  uint64_t start_ticks;         /* ticks at which the profile began */
};

/* Writes the profile of a domain into the recording, where it replaces the profile that
   was written before. The former profile stays until the new one is complete, so that a
   process that is killed leaves one of the two. The time for this grows with the number
   of nodes, about 0.1 us for each. Returns 0, E_STATE (the domain is not recorded),
   E_MEMORY or E_LIMIT (there is no room, and the former profile stays). Owner. */
int eventring_calls_write(eventring_domain *domain, const struct eventring_profile_source *source,
                          struct eventring_error *error);

/* Returns the word of the control page by which others ask for a profile (FORMAT.md,
   section 4: requests); or NULL if the domain is not recorded. The pointer is valid
   as long as the recording. Owner. */
const uint32_t *eventring_calls_word(const eventring_domain *domain);
/* Fills in `names` with the functions whose calls are to be spans while class calls is
   on: names with commas between them, as other processes have chosen
   (EVENTRING_CONTROL_SPANS), or "" for all functions. *version is the version of the list
   that the host has seen, 0 at first. If there is a newer list, sets `names` and
   *version; else leaves them as they are. The host decides what a name means. Returns 0,
   E_STATE (the domain is not recorded, or may not be asked from outside) or E_BUSY (the
   list is being changed; bit 1 of the word is set when the change is complete). Owner. */
int eventring_calls_names(const eventring_domain *domain, char names[EVENTRING_MAX_CALL_NAMES + 1],
                          uint32_t *version);
/* Sleeps until the word of eventring_calls_word asks for something, at most `ns`
   nanoseconds (0: only checks). Returns whether the word asks for something. For a host
   whose safepoints test another word while it keeps a profile. A request for a profile
   does not count once bit 3 says that the profile is kept, and a request to end it does
   not count once that bit is clear. Requests by programs that do not wake the waiter, and
   requests in a recording that begins during the call, are seen within a second. Any
   thread. */
bool eventring_calls_wait(uint64_t ns);
/* Returns the nanoseconds for which the calling thread was not on a processor, counted
   from an arbitrary moment, or 0 if this is not measured. Costs a few ns if the thread
   was not interrupted since the last call. */
uint64_t eventring_off_cpu(void);
/* Returns whether eventring_ticks reads the clock of recordings. If it does not, the
   clock of recordings is CLOCK_MONOTONIC in ns. Any thread. */
bool eventring_ticks_are_inline(void);
/* Returns the ns of a tick, to within a few percent at least. Any thread. */
double eventring_ns_per_tick(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_CALLS_H */
