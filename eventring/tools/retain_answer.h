/* SPDX-License-Identifier: MIT */
/* retain_answer.h: the lines in which a domain says what holds its objects (vm/question.c
 * has them for Saros). Another process chose them, so nothing in them is trusted.
 *
 * An answer is valid if and only if
 * - it has no byte 0, its first line is "retain" and RETAIN_ANSWER, its last line is
 *   "end";
 * - fields are separated by tabs, numbers are decimal and below 2^64;
 * - there is one line "total", before any other but the first;
 * - each line "held" comes after a line "kind" or "site", and each line "way" has the
 *   number of one before it;
 * - there are at most MOST_KINDS of these, and MOST_HOLDERS of those all together;
 * - there is at most one line "cut";
 * - each line "thread" has the number of one line "shape"; there are at most MOST_HOLDERS
 *   of both together.
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

struct retain_kind { /* of objects; or a site, of blocks that were sampled */
  bool is_site;
  uint64_t objects, bytes, more_holders;
  const char *name;
  struct retain_holder *holders;
  size_t holder_count;
  /* for commands that ask: */
  uint64_t weight; /* by which it is ordered */
  size_t order;    /* where it stood before */
  unsigned domain;
};

/* A coroutine, and one of the ways. */
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
  struct retain_kind *kinds; /* and behind them the sites */
  size_t kind_count; /* of both */
  size_t holder_count;          /* of all */
  struct retain_thread *threads; /* in the order of their addresses */
  size_t thread_count;
  struct retain_shape *shapes;  /* in the order of their numbers */
  size_t shape_count;
  size_t chosen; /* for commands that ask: how many kinds and sites they want, the first
                    ones */
  /* what the answer does not have: kinds and sites, ways, and objects of which no way, or
     no kind, is known */
  uint64_t cut_kinds, cut_ways, in_no_way, in_no_kind;
};

/* Tells whether the last line is there. */
bool retain_answer_is_over(const char *text, size_t size);
/* Takes `text` apart, behind which there is a byte 0; the strings of the answer lie in
   it. Returns false, with an empty answer, if it is not valid. */
bool retain_answer_take(struct retain_answer *a, char *text, size_t size);
/* Returns the way in which a coroutine is held, or NULL if nothing that was reached holds
   it. */
const struct retain_shape *retain_answer_way(const struct retain_answer *a, uint64_t thread);
void retain_answer_free(struct retain_answer *a);

#endif
