/* SPDX-License-Identifier: MIT */
/* retain_answer.h: reads the lines in which a domain says what holds its objects
 * (vm/question.c writes them for Saros). Another process controls them, so nothing in
 * them is trusted.
 *
 * An answer is valid if and only if
 * - it has no byte 0, its first line is "retain" and RETAIN_ANSWER, its last line is
 *   "end";
 * - fields are separated by tabs, numbers are decimal and below 2^64;
 * - there is one line "total", before any other but the first;
 * - each line "held" comes after a line "kind" or "site", and each line "way" has the
 *   number of an earlier line of these two kinds;
 * - there are at most MOST_KINDS lines "kind" and "site" together, and at most
 *   MOST_HOLDERS lines "held" and "way" together;
 * - there is at most one line "cut";
 * - each line "thread" has the number of one line "shape"; there are at most MOST_HOLDERS
 *   lines "thread" and "shape" together.
 *
 * Lines that begin with another word are ignored. */
#ifndef EVENTRING_TOOL_RETAIN_ANSWER_H
#define EVENTRING_TOOL_RETAIN_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct retain_holder {
  uint64_t objects, bytes, steps;
  const char *path, *shape;
};

struct retain_kind { /* a kind of objects, or a site of sampled blocks */
  bool is_site;
  uint64_t objects, bytes, more_holders;
  const char *name;
  struct retain_holder *holders;
  size_t holder_count;
  /* set by commands */
  uint64_t weight; /* weight by which kinds are ordered */
  size_t order;    /* index of the kind before they were ordered */
  unsigned domain;
};

/* A coroutine, and one of the ways in which it is held. */
struct retain_thread {
  uint64_t address;
  uint64_t shape;               /* number */
};
struct retain_shape {
  uint64_t number, steps;
  const char *path, *shape;
};

struct retain_answer {
  uint64_t objects, bytes, end, walk_ns, fork_ns;
  struct retain_kind *kinds; /* the kinds, and after them the sites */
  size_t kind_count; /* number of kinds and sites */
  size_t holder_count;          /* number of all holders */
  struct retain_thread *threads; /* sorted by address */
  size_t thread_count;
  struct retain_shape *shapes;  /* sorted by number */
  size_t shape_count;
  size_t chosen; /* set by commands: number of chosen kinds and sites, which come first */
  /* what the answer lacks: number of kinds and sites, of ways, of objects without a known
     way, and of objects without a known kind */
  uint64_t cut_kinds, cut_ways, in_no_way, in_no_kind;
};

/* Tells whether the last line has come. */
bool retain_answer_is_over(const char *text, size_t size);
/* Parses `text`, which ends with a byte 0; the strings of the answer point into it.
   Returns false, with an empty answer, if it is not valid. */
bool retain_answer_take(struct retain_answer *a, char *text, size_t size);
/* Returns the way in which a coroutine is held, or NULL if none was found. */
const struct retain_shape *retain_answer_way(const struct retain_answer *a, uint64_t thread);
void retain_answer_free(struct retain_answer *a);

#endif
