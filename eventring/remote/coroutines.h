/* SPDX-License-Identifier: MIT */
/* coroutines.h: reads many suspended threads of another process together. */
#ifndef EVENTRING_REMOTE_COROUTINES_H
#define EVENTRING_REMOTE_COROUTINES_H

#include "remote/host.h"

enum { REMOTE_SPANS = 8 /* open spans whose ids are read: the innermost ones */ };

struct remote_coroutine {
  uint64_t address;
  uint64_t key;          /* the same for threads that have called the same functions at
                            the same instructions, in the innermost 256 frames */
  bool is_new;           /* the thread has not begun: the key is for its function */
  uint64_t function;     /* prototype of a new thread, or (`is_c`) its C function; 0 if
                            unknown */
  bool is_c;
  uint64_t created_in;   /* prototype that created it; 0 if not known */
  uint64_t resumed_in;   /* prototype that resumed it last; 0 if it was never resumed, or
                            not by the language */
  uint32_t created_at, resumed_at; /* indices of the instructions behind these calls */
  uint64_t least_ns, most_ns; /* it has not run for at least, and at most, this long */
  uint64_t bytes;        /* bytes that it takes, with its values and frames */
  bool has_context;      /* the thread has recorded events */
  uint64_t context;      /* number of its context */
  uint32_t spans;        /* number of its open spans */
  uint32_t span_count;   /* number of these spans whose ids are known, the outermost
                            first */
  uint16_t span[REMOTE_SPANS];
};

/* Reads the threads of the domain into `out`, which has room for `count`, with some
   system calls for every few hundred. Returns the number of threads read; each is shown
   as it was at one moment of the call. Stores in *torn the number of threads that were
   not read: they ran or changed at every attempt, or memory ran out. */
size_t remote_coroutines_read(struct remote_host *host, uint64_t domain, const uint64_t *threads,
                              size_t count, struct remote_coroutine *out, uint64_t *torn);

#endif
