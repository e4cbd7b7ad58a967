/* SPDX-License-Identifier: MIT */
/* autopsy.h: the parts of `eventring autopsy`. */
#ifndef EVENTRING_TOOL_AUTOPSY_H
#define EVENTRING_TOOL_AUTOPSY_H

#include "analysis/so_far.h"
#include "analysis/steps.h"
#include "heap_view.h"
#include "question.h"

enum { AUTOPSY_NOTES = 1000, AUTOPSY_OPEN = 16 };

/* Something that happened. */
struct note {
  uint64_t ns, duration; /* of a span: its begin; of a span that has ended */
  uint64_t context;
  uint32_t domain, depth;
  uint16_t id;
  uint8_t kind, event_class, payload;
  bool may_be_over; /* of an open span */
  struct eva_so_far so_far; /* the same */
  const char *name; /* valid as long as the cursor */
  union {
    int64_t i;
    uint64_t u;
    double d;
  } value;
  char text[64]; /* of a payload that is text: what fits */
};

struct notes { /* the longest spans (a heap, the shortest first), or the newest (a circle) */
  struct note note[AUTOPSY_NOTES];
  size_t count, most, next;
};

struct gauge { /* how much memory is in use, by one counter of one domain */
  uint32_t domain, incarnation;
  uint16_t id;
  int64_t last, greatest;
};

struct cycle {
  bool open;
  int64_t number;
  uint64_t since;
};

struct ring {
  uint32_t domain;
  uint8_t ring;
  struct eventring_ring_info info;
};

struct autopsy {
  struct question q;
  uint64_t last_ns, hold_ns;
  bool brief;
  uint64_t end_ns;  /* the last moment that the recording knows of, ... */
  uint64_t from_ns; /* ... where the last seconds begin */
  struct eva_steps steps;
  struct eva_step longest, newest_step;
  uint64_t steps_last, gc_last_ns;
  struct gauge *gauge;
  size_t gauge_count, gauge_room;
  struct cycle cycle[EVENTRING_MAX_DOMAINS];
  struct notes longest_spans, newest_points;
  uint64_t noted;     /* events of the last seconds */
  struct note last[AUTOPSY_NOTES]; /* what is shown of them, by time */
  size_t lasts;
  struct eva_known known;
  struct note open[AUTOPSY_OPEN];
  size_t opens;
  uint64_t open_count;
  struct ring *ring;
  size_t ring_count;
  struct eva_heap *heap;   /* autopsy_sites.c: */
  bool has_sites;          /* it was sampled */
  struct heap_view sites;
};

/* Takes an event of the last seconds. */
void autopsy_note(struct autopsy *a, const struct eventring_event *event);
/* Chooses what is shown of them. */
void autopsy_sort(struct autopsy *a);
void autopsy_print_last(const struct autopsy *a);

/* For how long the ring reaches back from the end; how many bytes of ring would hold hold_ns (0:
   not known), and the log2 of their words. */
uint64_t autopsy_reach(const struct autopsy *a, const struct ring *ring);
uint64_t autopsy_needed(const struct autopsy *a, const struct ring *ring);
unsigned autopsy_wsize(uint64_t bytes);
const char *autopsy_ring_name(const struct autopsy *a, const struct ring *ring);

void autopsy_print_json(const struct autopsy *a);

/* What was alive by line: of a recording that was read. */
void autopsy_read_sites(struct autopsy *autopsy);
void autopsy_free_sites(struct autopsy *autopsy);
void autopsy_print_sites(const struct autopsy *autopsy);
void autopsy_put_sites(struct eva_json *json, const struct autopsy *autopsy);

#endif
