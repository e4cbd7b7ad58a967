/* SPDX-License-Identifier: MIT */
/* plan.h: where the frames of a stack are, so that all of them are copied at once
   (stack.c). */
#ifndef EVENTRING_REMOTE_PLAN_H
#define EVENTRING_REMOTE_PLAN_H

#include "remote/stack.h"

enum { PLAN_SPARE = 16 /* frames beyond the innermost one that are planned as well */ };

/* One thread. The copies point into plan->bytes. */
struct remote_planned {
  uint64_t address;
  uint64_t *frames; /* from the outermost one on that is planned */
  uint64_t *slot_of; /* where the function's value of each was when it was planned */
  size_t count, room;
  uint64_t from;    /* depth of the first one */
  unsigned char *a, *b, *c, *slots, *t, *u;
};

struct remote_plan {
  struct remote_planned threads[REMOTE_THREADS]; /* that which runs first */
  size_t count;
  uint64_t suspended;  /* the thread to be read; 0: that which runs */
  bool is_suspended;
  uint64_t main;       /* the domain's main thread */
  uint64_t current_t, current_u;
  struct iovec *ranges;
  size_t range_count, range_room;
  unsigned char *bytes;
  size_t size, byte_room;
  unsigned char *again; /* prototypes that are compared again */
  size_t again_room;
  struct remote_function *checked[REMOTE_FRAMES];
  bool wrong;  /* the copies do not fit the plan */
  bool unsure; /* which C function runs in a frame: its slot was not read */
  bool gone;
};

/* Follows the links. False: it changed meanwhile, or (`gone`) cannot be read. */
bool remote_plan_make(struct remote_plan *plan, struct remote_host *host, uint64_t domain,
                      uint64_t suspended);
/* Copies A, T, B, C and U. */
bool remote_plan_read(struct remote_plan *plan, struct remote_host *host, uint64_t domain);
/* After that: plans to read the functions' slots where they are now. */
void remote_plan_note(struct remote_plan *plan, const struct remote_host *host);
/* Room for `size` bytes; what was there is gone. */
bool remote_bytes_room(unsigned char **bytes, size_t *room, size_t size);
void remote_plan_free(struct remote_plan *plan);

#endif
