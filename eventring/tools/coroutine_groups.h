/* SPDX-License-Identifier: MIT */
/* coroutine_groups.h: reads the suspended coroutines of a domain of a live process, in
 * groups of equal stacks: a program that leaks coroutines leaks thousands at the same
 * line. */
#ifndef EVENTRING_TOOL_COROUTINE_GROUPS_H
#define EVENTRING_TOOL_COROUTINE_GROUPS_H

#include "remote/coroutines.h"
#include "remote/stack_read.h"

/* Coroutines that are suspended in the same functions at the same instructions and were
   created by the same call. */
struct coroutine_group {
  /* the members of the group, an array, the longest suspended first */
  const struct remote_coroutine *of;
  size_t count;
  uint64_t bytes;       /* bytes of all members together */
  size_t resumed_alike; /* number of members last resumed at the same site as the first,
                           including the first */
  size_t with_spans;    /* number of members with open spans */
};

struct coroutine_groups {
  struct remote_coroutine *all; /* all coroutines, group by group */
  size_t count;
  struct coroutine_group *groups; /* the longest suspended first */
  size_t group_count;
  uint64_t bytes;
  /* number of coroutines that could not be read, since they changed at each attempt */
  uint64_t torn;
  uint64_t searched, heap_bytes;  /* bytes of the heap: searched, and in all */
  bool cut;                       /* the search did not see the whole heap */
};

/* Searches the domain's heap for at most search_ns (0: a minute), and leaves out
   coroutines that have been suspended for less than least_ns. */
void coroutine_groups_read(struct coroutine_groups *groups, struct remote_host *host,
                           uint64_t domain, uint64_t search_ns, uint64_t least_ns);
void coroutine_groups_free(struct coroutine_groups *groups);

/* Reads the stack of one member of a group; it is empty if the members have not begun.
   Returns false if all members that were tried have run or gone in the meantime. */
bool coroutine_group_stack(const struct coroutine_group *group, struct remote_reader *reader,
                           uint64_t now, struct remote_stack *stack);
/* Returns the function that the members of a group will run; NULL if they have begun or
   it is not known. */
const struct remote_function *coroutine_group_function(const struct coroutine_group *group,
                                                       struct remote_functions *functions);

#endif
