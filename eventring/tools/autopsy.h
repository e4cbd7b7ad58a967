/* SPDX-License-Identifier: MIT */
/* autopsy.h: the parts of `eventring autopsy`. */
#ifndef EVENTRING_TOOL_AUTOPSY_H
#define EVENTRING_TOOL_AUTOPSY_H

#include "analysis/so_far.h"
#include "analysis/steps.h"
#include "heap_view.h"
#include "query.h"

enum { AUTOPSY_NOTES = 1000, AUTOPSY_OPEN = 16, AUTOPSY_SITES = 5, AUTOPSY_BRIEF_SITES = 2 };

/* Something that happened: a span or an event. */
struct note {
  uint64_t ns, duration; /* time of an event, or begin of a span; duration of a span that
                            has ended */
  uint64_t context;
  uint32_t domain, depth;
  uint16_t id;
  uint8_t kind, event_class, payload;
  bool is_open, may_be_over; /* of an open span */
  struct eva_so_far so_far; /* of an open span */
  const char *name; /* valid as long as the cursor */
  union {
    int64_t i;
    uint64_t u;
    double d;
  } value;
  char text[64]; /* a payload that is text, as far as it fits */
};

/* The longest spans (a heap with the shortest first), or the newest events (a circle). */
struct notes {
  struct note note[AUTOPSY_NOTES];
  size_t count, most, next;
};

struct gauge { /* How much memory is in use, by one counter of one domain. */
  uint32_t domain, incarnation;
  uint16_t id;
  const char *unit;
  int64_t last, greatest;
};

struct cycle {
  bool open;
  uint32_t domain;
  int64_t number;
  uint64_t since;
};

struct ring {
  uint32_t domain;
  uint8_t ring;
  struct eventring_ring_info info;
  uint64_t reach_ns;  /* how far the ring reaches back from the end */
  uint64_t overwritten, bytes;
  uint64_t needed;    /* bytes that would hold hold_ns; 0: not known */
  unsigned wsize;     /* log2 of the number of the ring's words */
};

struct autopsy {
  struct query q;
  uint64_t last_ns, hold_ns;
  bool brief;
  uint64_t end_ns;  /* the last moment that the recording knows of */
  uint64_t from_ns; /* where the last seconds begin */
  struct eva_steps steps;
  struct eva_step longest, newest_step;
  uint64_t steps_last, gc_last_ns;
  struct gauge *gauge;
  size_t gauge_count;
  struct cycle cycle[EVENTRING_MAX_DOMAINS];
  struct notes longest_spans, newest_points;
  uint64_t noted;     /* number of events in the last seconds */
  struct note last[AUTOPSY_NOTES]; /* those of these events that are shown, by time */
  size_t lasts;
  struct eva_known known;
  struct note open[AUTOPSY_OPEN];
  size_t opens;
  uint64_t open_count;
  struct ring *ring;
  size_t ring_count;
  struct eva_heap *heap;   /* filled by autopsy_read_sites */
  bool has_sites;          /* whether the heap was sampled */
  struct heap_view sites;
};

/* Takes an event of the last seconds. */
void autopsy_note(struct autopsy *a, const struct eventring_event *event);
/* Chooses which events of the last seconds to show. */
void autopsy_sort(struct autopsy *a);

/* Fills the figures of a ring from its info. */
void autopsy_measure_ring(const struct autopsy *a, struct ring *ring);

/* Reads which lines of the program had allocated live blocks, in a recording that has
   been read. */
void autopsy_read_sites(struct autopsy *autopsy);
void autopsy_free_sites(struct autopsy *autopsy);
/* Returns the number of lines of the program that had allocated live blocks. */
size_t autopsy_sites(const struct autopsy *autopsy);

/* The view that --json prints, and the views of the tables in the text. */
view_function autopsy_view, autopsy_open_view, autopsy_last_view, autopsy_memory_view,
    autopsy_ring_view, autopsy_site_view;
void autopsy_open_rows(struct view_to *to, const void *autopsy);
void autopsy_last_rows(struct view_to *to, const void *autopsy);
void autopsy_memory_rows(struct view_to *to, const void *autopsy);
void autopsy_ring_rows(struct view_to *to, const void *autopsy);
void autopsy_site_rows(struct view_to *to, const void *autopsy);

#endif
