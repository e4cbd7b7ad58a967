/* SPDX-License-Identifier: MIT */
/* plan.h: finds where the frames of a stack are, so that all can be copied at once
   (stack_read.c). */
#ifndef EVENTRING_REMOTE_PLAN_H
#define EVENTRING_REMOTE_PLAN_H

#include "remote/stack_read.h"

enum { PLAN_SPARE = 16 /* planned positions beyond the innermost frame */ };

/* One thread. The copies point into plan->bytes. */
struct remote_planned {
  uint64_t address;
  uint64_t *frames; /* the outermost planned frame first */
  uint64_t *slot_of; /* for each frame, where its function's value was when planned */
  size_t count, room;
  uint64_t from;    /* depth of the first planned frame */
  unsigned char *a, *b, *c, *slots, *t, *u;
};

struct remote_plan {
  struct remote_planned threads[REMOTE_THREADS]; /* the running thread first */
  size_t count;
  uint64_t suspended;  /* the thread to read; 0: the running thread */
  bool is_suspended;
  uint64_t main;       /* the domain's main thread */
  uint64_t current_t, current_u;
  struct iovec *ranges;
  size_t range_count, range_room;
  unsigned char *bytes;
  size_t size, byte_room;
  unsigned char *again; /* copies of prototypes, to compare with a second reading */
  size_t again_room;
  struct remote_function *checked[REMOTE_FRAMES];
  bool wrong;  /* the copies do not fit the plan */
  bool unsure; /* the C function of a frame is unsure, as its slot was not read */
  bool gone;
};

/* Makes a plan by following the links. Returns false if the stack changed in the
   meantime, or (`gone`) is unreadable. */
bool remote_plan_make(struct remote_plan *plan, struct remote_host *host, uint64_t domain,
                      uint64_t suspended);
/* Copies A, T, B, C and U (stack_read.c). */
bool remote_plan_read(struct remote_plan *plan, struct remote_host *host, uint64_t domain);
/* Plans to read the functions' slots at their present addresses. To be called after
   remote_plan_read. */
void remote_plan_note(struct remote_plan *plan, const struct remote_host *host);
/* Makes room for `size` bytes; the former contents are lost. Returns false when out of
   memory. */
bool remote_bytes_room(unsigned char **bytes, size_t *room, size_t size);
void remote_plan_free(struct remote_plan *plan);

#endif
