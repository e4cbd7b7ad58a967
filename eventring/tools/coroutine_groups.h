/* SPDX-License-Identifier: MIT */
/* coroutine_groups.h: the suspended coroutines of a domain of a live process, in groups
 * of equal stacks: a program that leaks coroutines leaks thousands that stand in the same
 * line. */
#ifndef EVENTRING_TOOL_COROUTINE_GROUPS_H
#define EVENTRING_TOOL_COROUTINE_GROUPS_H

#include "remote/coroutines.h"
#include "remote/stack.h"

/* Coroutines that stand in the same functions at the same instructions and were created
   by the same call. */
struct coroutine_group {
  /* its members, one behind the other, the longest suspended first */
  const struct remote_coroutine *of;
  size_t count;
  uint64_t bytes;       /* of all of them */
  size_t resumed_alike; /* last resumed where the first one was, itself included */
  size_t with_spans;    /* that have spans open */
};

struct coroutine_groups {
  struct remote_coroutine *all; /* in the order of the groups' members */
  size_t count;
  struct coroutine_group *groups; /* the longest suspended first */
  size_t group_count;
  uint64_t bytes;
  uint64_t torn;                  /* coroutines that changed each time they were read */
  uint64_t searched, heap_bytes;  /* bytes of the heap */
  bool cut;                       /* the search did not see all of the heap */
};

/* Searches the domain's heap for at most search_ns (0: a minute), and leaves out
   coroutines that are suspended for less than least_ns. */
void coroutine_groups_read(struct coroutine_groups *groups, struct remote_host *host,
                           uint64_t domain, uint64_t search_ns, uint64_t least_ns);
void coroutine_groups_free(struct coroutine_groups *groups);

/* Reads the stack of one member of a group; it is empty if they have not begun. Returns
   false if all members that were tried have run, or are gone, meanwhile. */
bool coroutine_group_stack(const struct coroutine_group *group, struct remote_reader *reader,
                           uint64_t now, struct remote_stack *stack);
/* Returns the function that the members of a group will run if they have not begun; NULL
   if it is not known, or they have. */
const struct remote_function *coroutine_group_function(const struct coroutine_group *group,
                                                       struct remote_functions *functions);

#endif
