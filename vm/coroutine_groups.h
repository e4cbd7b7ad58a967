/* SPDX-License-Identifier: MIT */
/* vm/coroutine_groups.h: the coroutines of a domain that wait, in groups of equal stacks,
 * and who holds them. (`eventring coroutines` reads the same data from outside:
 * eventring/remote/.) */
#ifndef SAROS_VM_COROUTINE_GROUPS_H
#define SAROS_VM_COROUTINE_GROUPS_H

#include "retain.h"
#include "thread.h"

enum { COROUTINE_HOLDERS = 3 };

/* One way in which coroutines of a group are held. */
typedef struct CoroutineHolder {
  /* numbers that the walk gave to the shape of this way and to the first coroutine that
     is held in this way */
  uint32_t shape, first;
  uint64_t count;
} CoroutineHolder;

/* The coroutines that are in the same functions at the same instructions and were created
 * by the same call. All are suspended, or all have not begun. */
typedef struct CoroutineGroup {
  uint64_t key;
  lua_State *longest;        /* the one that has been suspended longest */
  /* count: number of coroutines; bytes: their size with values and frames */
  uint64_t count, bytes;
  /* bounds of the time for which the longest suspended one has not run */
  uint64_t least_ns, most_ns;
  /* bounds of the time for which the shortest suspended one has not run */
  uint64_t shortest_least_ns, shortest_most_ns;
  uint64_t with_spans;       /* number of coroutines that have open spans */
  /* number of `holders`, which are sorted by their coroutines, the most first */
  uint32_t nholders;
  uint64_t otherwise;        /* number of coroutines that none of `holders` holds */
  CoroutineHolder holders[COROUTINE_HOLDERS];
} CoroutineGroup;

typedef struct CoroutineGroups {
  CoroutineGroup *groups;    /* malloc'ed: the longest suspended first */
  size_t n;
  uint64_t count, bytes;
  bool no_memory;
} CoroutineGroups;

/* Groups the coroutines that the walk has visited and that have not run for least_ns. No
 * object may change until the groups are no longer used. */
void coroutine_groups_make(CoroutineGroups *g, const RetainWalk *w, uint64_t least_ns);
void coroutine_groups_free(CoroutineGroups *g);

/* Tells whether the thread is suspended or has not begun. coroutine_is_new tells whether
   it has not begun. */
bool coroutine_waits(const lua_State *co);
bool coroutine_is_new(const lua_State *co);
/* Sets the bounds of the time for which the thread has not run. */
void coroutine_age(const lua_State *co, uint64_t *least_ns, uint64_t *most_ns);

#endif
