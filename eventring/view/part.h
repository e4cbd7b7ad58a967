/* SPDX-License-Identifier: MIT */
/* part.h: a part of the page: what fills one section of its data.
 *
 * The command (tools/cmd_view.c) reads a recording once and makes a page of what the
 * parts hold:
 *
 *   begin   is called before reading; returns the state of the part. A part that takes
 *           samples of a live process starts its thread here.
 *   event   takes each event of `classes` that has a payload, in the order of delivery.
 *           NULL: the part reads nothing, or reads by itself in `finish` (the records of
 *           heap profiles and of profiles of calls).
 *   lost    takes each loss; NULL: the part needs none.
 *   stop    is called when reading is over. The part ends whatever else it does, and
 *           returns the last moment of its data, to which the grid will extend. NULL: the
 *           part has only events.
 *   halve   is called when cells have become twice as long (grid.h). NULL: the part has
 *           nothing by cell (interval of time).
 *   finish  is called after reading, while the process may still live; the cursor stays
 *           open to the end.
 *   write   writes the section's value at a level of reduction. Level 0 has all that was
 *           kept, each further level about half as much, up to `levels`; after that the
 *           section is left out. May be called several times, for any level, until the
 *           page fits. Figures stay exact: what has no row of its own counts in a row
 *           "(other)". Returns false: there is nothing to show.
 *   free    frees the state, which may be NULL.
 *
 * A new part needs: a file that defines `const struct page_part page_part_NAME`; a line
 * PART(NAME) in tools/view_parts.def; there, in the order of reduction, a line LESS(NAME)
 * for each of its levels and one for leaving it out; and the file's name in local.mk. A
 * part that uses the tables of the commands is in tools/, any other one here. The section
 * has the name of the part, with `_' as `:' (page_part_table_heap: "table:heap").
 *
 * Parts that refer to the lists of `head` get their indices from page_name, page_domain
 * and page_track.
 *
 * Errors: write can only run out of memory, for which it sets run->events->status. A
 * callback of the poll returns 0, or EVENTRING_E_MEMORY, which ends the command; begin
 * returns NULL when out of memory. Threads: the thread of the command calls all
 * functions.
 */
#ifndef EVENTRING_VIEW_PART_H
#define EVENTRING_VIEW_PART_H

#include <stdio.h>

#include "analysis/json.h"
#include "eventring/tools.h"
#include "view/grid.h"

struct page_events;

/* What all parts get. */
struct page_run {
  eventring_cursor *cursor;
  struct eventring_info info;     /* as at the begin of reading; from `finish` on, as at
                                     the end */
  struct eventring_totals totals; /* set from finish on */
  struct page_grid grid;
  uint64_t since, until;          /* the window, inclusive; 0, UINT64_MAX: all */
  uint64_t domain;                /* the slot to show; UINT64_MAX: all */
  uint64_t limit;                 /* most bytes of the page; 0: --full */
  bool no_source;                 /* --no-source */
  bool cpu;                       /* --cpu: only samples of threads that run */
  const char *target;             /* PID, FILE or "-- PROGRAM", as a shell reads it */
  const char *prefix;             /* variables that make PROGRAM record */
  const char *command_line;       /* the command line that made the page */
  pid_t live;                     /* the process that is watched; 0 if none */
  struct launch *launch;          /* the launched PROGRAM, else NULL */
  uint64_t seconds_ns;            /* for how long the process is watched; 0: until it
                                     ends */
  /* Prints the value of an event as commands do (" = 12"), or nothing if it has none. */
  void (*print_value)(FILE *out, eventring_cursor *cursor,
                      const struct eventring_event *event);
  struct { /* what was sampled for the page; set by a part in `begin` or `finish` */
    uint64_t hz;    /* stacks a second; 0 if none were taken */
    double rate;    /* sampling rate of allocations; 0 if none */
    double seconds;
    uint64_t begin_ns;          /* when sampling began */
    uint64_t stacks, moving, torn, late, coarse; /* counted as by `profile --json` */
    /* figures by line are there: of calls, of samples that others took, of allocations */
    bool has_calls, has_written, has_allocations;
  } sampled;
  struct page_lists *lists;       /* the lists of `head` (lists.h) */
  struct page_events *events;     /* what takes the events (events.h) */
};

/* What was left out of the page, for head.left_out. */
struct page_left {
  const char *what; /* "spans", "sites", ...; NULL if nothing was left out */
  uint64_t kept, of;
  const char *why;  /* NULL if the limit of the page is the reason */
};

struct page_part {
  const char *name;
  /* The part to which this one refers and whose level it takes; NULL if it has its own
     level. */
  const char *with;
  unsigned levels; /* number of levels of reduction: write gets 0 to levels */
  void *(*begin)(struct page_run *run);
  uint64_t classes; /* bits of the classes that `event` takes */
  int (*event)(void *state, const struct eventring_event *event);
  int (*lost)(void *state, const struct eventring_loss *loss);
  uint64_t (*stop)(void *state);
  void (*halve)(void *state);
  int (*finish)(void *state);
  bool (*write)(void *state, struct eva_json *json, unsigned level, struct page_left *left);
  void (*free)(void *state);
  const struct page_part *also; /* a part to be written again with this one; NULL if
                                   none */
};

static inline bool page_wants_domain(const struct page_run *run, uint32_t slot) {
  return run->domain == UINT64_MAX || run->domain == slot;
}
/* Tells whether the moment is in the window. */
static inline bool page_wants_time(const struct page_run *run, uint64_t ns) {
  return ns >= run->since && ns <= run->until;
}

/* ---- Columns ---------------------------------------------------------------------- */

/* Writes a member that is an array of `count` integers: `value` is an expression in i. */
#define PAGE_COLUMN(json, key, count, value)                                          \
  do {                                                                                \
    eva_json_key(json, key);                                                          \
    eva_json_open_array(json);                                                        \
    for (size_t i = 0; i < (count); i++) eva_json_int(json, (int64_t)(value));        \
    eva_json_close_array(json);                                                       \
  } while (0)

/* Writes an array of differences: each value minus the one before it, the first one minus
   0. */
#define PAGE_DIFFERENCES(json, key, count, value)                                     \
  do {                                                                                \
    int64_t before = 0;                                                               \
    eva_json_key(json, key);                                                          \
    eva_json_open_array(json);                                                        \
    for (size_t i = 0; i < (count); i++) {                                            \
      const int64_t now = (int64_t)(value);                                           \
      eva_json_int(json, (int64_t)((uint64_t)now - (uint64_t)before));                \
      before = now;                                                                   \
    }                                                                                 \
    eva_json_close_array(json);                                                       \
  } while (0)

#endif
