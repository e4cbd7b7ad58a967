/* SPDX-License-Identifier: MIT */
/* decode.h: the begins and ends of a block as spans, in arrays (decode.c). */
#ifndef EVENTRING_DECODE_H
#define EVENTRING_DECODE_H

#include "eventring/tools.h"
#include "format/clock.h"
#include "reader/block.h"

#pragma GCC visibility push(hidden)

/* Of a definition, what is needed here; {0}: its events are not for batches. */
struct evr_batched {
  uint64_t tail;    /* of spans its id in the second half of a struct eventring_brief, of others
                       what is the same in all its points, in that of a struct eventring_point */
  uint64_t classes; /* of spans: the bit of its class */
  uint32_t what;    /* of others: kind and length of the events that are points, of more words where
                       the kind has words of any length */
  bool is_named;    /* a begin with a payload is not for batches: it has an id */
  bool is_measured; /* an end with one word says for how long it was off the processor */
  bool is_linked;   /* of others: the second word of the payload is the role */
  uint64_t value;   /* of others: the word that is the value of a point; 0: it says nothing */
};

/* What the meaning of events depends on, besides their words. */
struct evr_meaning {
  const struct evr_batched *batched; /* definitions, by id */
  unsigned contents;                 /* enum eventring_batch_contents: what a batch may have */
  struct evr_conversion conversion;
};

/* Times of a part, relative to its first event, so that 64 bits suffice:
     ns = from_ns + ((fraction + ticks * multiplier) >> FORMAT_CLOCK_SHIFT) */
struct evr_times {
  uint64_t base_word, ticks; /* of the first event */
  uint64_t from_ns, fraction, multiplier;
  uint64_t bound;            /* ticks from the first event on at which the part must end */
};

static inline __attribute__((always_inline)) uint64_t
evr_times_ticks(const struct evr_times *times, uint64_t word) {
  return (word - times->base_word) >> EVENTRING_WORD_TIME_SHIFT;
}
/* Nanoseconds after the first event. */
static inline __attribute__((always_inline)) uint32_t
evr_times_after(const struct evr_times *times, uint64_t ticks) {
  return (uint32_t)((ticks * times->multiplier + times->fraction) >> FORMAT_CLOCK_SHIFT);
}
static inline uint64_t evr_times_ns(const struct evr_times *times, uint64_t word) {
  return times->from_ns + evr_times_after(times, evr_times_ticks(times, word));
}
/* Of a part whose first event is `word`, at `ticks`, in a segment that ends at `end`; not later
   than `until` (ns). The bound is 0 if it is outside the segment, or later. */
void evr_times_begin(struct evr_times *times, const struct format_segment *segment, uint64_t end,
                     uint64_t word, uint64_t ticks, uint64_t until);

struct evr_mark { /* of a span that began before the part, or is left open */
  uint16_t word;  /* of its end in the part, or its begin, in the block */
  uint16_t brief; /* what it is in the list of those that ended, or are left open */
};

struct evr_part { /* of a block: events that a batch can have */
  struct evr_times times;
  uint32_t from, to;             /* its words */
  uint32_t last;                 /* the word of its last event */
  uint32_t ended, opened, outer; /* spans: these; left open; that ended and began before it */
  uint32_t points, measured;     /* points; those of them that are ends */
  uint32_t within;               /* ns: spans that have ended, in none that began in the part,
                                    since the last end of one that began before it */
  uint64_t classes;              /* a bit for each, of spans */
  bool outside;                  /* a point came after the last end of a span that began before it,
                                    with none open that began in it */
  bool joins;                    /* between the part before it and this one the context changes, and
                                    nothing else happens; `times` are those of that one */
};

static inline uint32_t evr_part_events(const struct evr_part *part) {
  return 2 * part->ended - part->outer + part->opened + part->points - part->measured;
}

/* A part has a word at least for each of its spans. */
struct evr_decoded_room {
  struct eventring_brief brief[FORMAT_BLOCK_WORDS]; /* those that ended; at the end, those left
                                                       open, of each part before that of the one
                                                       before */
  struct evr_mark mark[FORMAT_BLOCK_WORDS];         /* `outer` of them, then `opened` */
  struct eventring_point point[FORMAT_BLOCK_WORDS];
};
struct evr_lists { /* where those of a part begin in a room */
  struct eventring_brief *brief;
  struct evr_mark *mark;
  struct eventring_point *point;
  struct eventring_brief *opened; /* where those left open end */
};
static inline struct evr_lists evr_lists_of(struct evr_decoded_room *room) {
  return (struct evr_lists){room->brief, room->mark, room->point, room->brief + FORMAT_BLOCK_WORDS};
}
/* Where those of the next part begin. */
static inline struct evr_lists evr_lists_after(const struct evr_lists *lists,
                                               const struct evr_part *part) {
  return (struct evr_lists){lists->brief + part->ended, lists->mark + part->outer + part->opened,
                            lists->point + part->points, lists->opened - part->opened};
}

/* Is it a remark that changes the context at most? */
static inline bool evr_remark_is_of_context(uint64_t word) {
  const unsigned id = word_id(word);
  return !word_is_event(word) && (id == FORMAT_REMARK_CONTEXT || id == FORMAT_REMARK_SUSPEND ||
                                  id == FORMAT_REMARK_RESUME);
}

/* Decodes what of the words from part->from on, before `end`, a batch may have; `times` and
   `from` are given. Of spans that began before the part it is not known whether they can be in
   a batch, nor how long they took: `took` is 0, and `within` counts from the end of such a span
   on. False: nothing, not even the first word. */
bool evr_decode_part(const struct evr_batched *batched, unsigned contents, const uint64_t *words,
                     uint32_t end, struct evr_part *part, const struct evr_lists *lists);

enum { EVR_PARTS = 32, EVR_LEAST_PART = 8 /* events that make a part worth while */ };

struct evr_decoded { /* a block */
  uint32_t parts;
  struct evr_decoded_part {
    struct evr_part part;
    uint16_t brief, opened, mark, point; /* as in struct evr_lists, in the room */
  } part[EVR_PARTS];
  struct evr_decoded_room room;
};

/* Returns where those of a part are. */
static inline struct evr_lists evr_decoded_lists(struct evr_decoded *decoded,
                                                 const struct evr_decoded_part *part) {
  struct evr_decoded_room *room = &decoded->room;
  return (struct evr_lists){room->brief + part->brief, room->mark + part->mark,
                            room->point + part->point, room->brief + part->opened};
}

/* Decodes the parts of a block, ascending; what lies between is for others. */
void evr_decode_block(const struct evr_meaning *meaning, const struct evr_block *block,
                      struct evr_decoded *decoded);

#pragma GCC visibility pop

#endif /* EVENTRING_DECODE_H */
