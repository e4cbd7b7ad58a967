/* SPDX-License-Identifier: MIT */
/* vm/retain.h: who holds the objects of a domain (design: top of retain.c). */
#ifndef SAROS_VM_RETAIN_H
#define SAROS_VM_RETAIN_H

#include "domain.h"

/* A walk calls no metamethod and no other guest code, changes no object, and takes no
 * memory from malloc or the heap, so it can run in a child that was forked off a process
 * with several threads. */

enum { RETAIN_HOLDERS = 8, RETAIN_KIND_TEXT = 200, RETAIN_PATH_TEXT = 1000 };

typedef struct RetainLimits {
  uint64_t objects; /* the most objects to visit; 0 for RETAIN_MOST_OBJECTS */
  uint64_t ns;      /* the longest time in ns; 0 for no limit */
} RetainLimits;

#define RETAIN_SHAPES (1u << 18) /* numbers of shapes are below it */
#define RETAIN_MOST_OBJECTS ((uint64_t)32 << 20)

typedef enum RetainEnd {
  RETAIN_COMPLETE,
  RETAIN_OUT_OF_OBJECTS, /* there were more objects than the limits allow */
  RETAIN_OUT_OF_TIME,
  RETAIN_OUT_OF_MEMORY
} RetainEnd;

typedef struct RetainAmount {
  uint64_t objects, bytes; /* bytes includes the parts of the objects */
} RetainAmount;

/* Objects of one kind that are held in one way. */
typedef struct RetainHolder {
  RetainAmount amount;
  uint32_t steps;               /* number of steps of the path, without its root */
  char path[RETAIN_PATH_TEXT];  /* a shortest path to one of the objects */
  /* the paths of all the objects, with [*] where they differ */
  char shape[RETAIN_PATH_TEXT];
} RetainHolder;

typedef struct RetainKind {
  RetainAmount amount;
  char name[RETAIN_KIND_TEXT];
  /* the holders that are filled in, the one with the most bytes first */
  uint32_t nholders;
  uint32_t more_holders;        /* the number of further holders */
  RetainHolder holders[RETAIN_HOLDERS];
} RetainKind;

typedef struct RetainWalk RetainWalk;

/* Visits all objects that the domain reaches; outside a collection. Returns NULL if there
   is no memory at all. */
RetainWalk *retain_walk(Domain *d, const RetainLimits *limits);
void retain_end(RetainWalk *w); /* frees it; NULL allowed */
RetainEnd retain_how_it_ended(const RetainWalk *w);
RetainAmount retain_total(const RetainWalk *w);
/* Returns the number of kinds, which are ordered by bytes, the most first; valid until
   retain_end. */
uint32_t retain_kinds(const RetainWalk *w);
/* Describes kind i, from 0, with at most `most` holders. To be called while no object
   changes. */
void retain_describe(RetainWalk *w, uint32_t i, uint32_t most, RetainKind *kind);
/* Returns the number of objects that count only for their kind, because there were too
   many ways. */
uint64_t retain_in_no_way(const RetainWalk *w);
/* Returns the number of objects whose kinds were found after the table of kinds was full:
   they all count as one kind. */
uint64_t retain_in_no_kind(const RetainWalk *w);
/* Returns the number of ways in which objects of kind i are held, ordered by bytes, the
   most first. */
uint32_t retain_ways(const RetainWalk *w, uint32_t i);
/* Calls `each` for the threads that were visited, the nearest to the roots first.
 * `visited` and `shape` are numbers of the walk; `shape` is the same for threads whose
 * ways have the same shape. */
void retain_threads(const RetainWalk *w,
                    void (*each)(void *context, lua_State *co, uint32_t visited, uint32_t shape),
                    void *context);
/* Describes the way to the object with this number; its amount is 0. */
void retain_describe_visited(const RetainWalk *w, uint32_t visited, RetainHolder *holder);
void retain_describe_way(const RetainWalk *w, uint32_t i, uint32_t way, RetainHolder *holder);

/* ---- sites (retain_sites.c) ------------------------------------------------- */

/* The sites where visited objects were allocated; known for some if allocations are
 * sampled. */
typedef struct RetainSites RetainSites;

/* Groups by sites, after the walk and while no object changes. Returns NULL if nothing is
   sampled, or there is no memory. */
RetainSites *retain_sites(RetainWalk *w);
void retain_sites_end(RetainSites *s); /* before retain_end; NULL allowed */
/* Returns the number of sites, the largest first. */
uint32_t retain_site_count(const RetainSites *s);
/* Describes site i like a kind: `name` has its innermost frames; objects are blocks that
 * were sampled, bytes are estimated. */
void retain_describe_site(const RetainSites *s, uint32_t i, uint32_t most, RetainKind *site);
uint32_t retain_site_ways(const RetainSites *s, uint32_t i);
void retain_describe_site_way(const RetainSites *s, uint32_t i, uint32_t way,
                              RetainHolder *holder);

#endif
