/* SPDX-License-Identifier: MIT */
/* search.h: finds the suspended threads (coroutines) of a domain of another process. */
#ifndef EVENTRING_REMOTE_SEARCH_H
#define EVENTRING_REMOTE_SEARCH_H

#include "remote/host.h"

struct remote_search {
  uint64_t *threads; /* addresses, for the caller to free */
  size_t count, room;
  uint64_t searched, bytes; /* bytes of the heap that were searched, and all that were
                               found */
  bool cut;          /* the search ended early: the time was up, or memory ran out */
};

/* Tells whether coroutine.size bytes of memory, which may be anything, are a thread that
   waits to be resumed. remote_is_new tells whether they are a thread that has not begun
   yet. */
bool remote_waits(const struct eventring_introspection *at, uint64_t thread,
                  const unsigned char *bytes);
bool remote_is_new(const struct eventring_introspection *at, uint64_t thread,
                   const unsigned char *bytes);

/* Searches the domain's heap for at most `ns` nanoseconds (a minute if 0). Also finds
   threads that are garbage but not freed yet. */
void remote_search(struct remote_host *host, uint64_t domain, uint64_t ns,
                   struct remote_search *search);

#endif
