/* SPDX-License-Identifier: MIT */
/* decode.h: the begins and ends of a block as spans, in arrays (decode.c). */
#ifndef EVENTRING_DECODE_H
#define EVENTRING_DECODE_H

#include "eventring/tools.h"
#include "format/clock.h"
#include "reader/block.h"

#pragma GCC visibility push(hidden)

/* What decoding needs of a definition; {0} if its events are not for batches. */
struct evr_batched {
  /* the id of a span, at its position in the second half of a struct eventring_brief; for
     other definitions, what all points share of the second half of a struct
     eventring_point */
  uint64_t tail;
  uint64_t classes; /* the bit of the class; only for spans */
  /* except for spans: kind and length of the events that are points; events of a kind
     with any number of words are points with more words, too */
  uint32_t what;
  /* the payload of a begin is an id; a begin with a payload is not for batches */
  bool is_named;
  /* an end with one payload word says for how long its thread was off the processor */
  bool is_measured;
  bool is_linked;   /* except for spans: the second word of the payload is the role */
  /* except for spans: index of the word that is the value of a point, or 0 if there is
     none */
  uint64_t value;
};

/* What the meaning of events depends on, besides their words. */
struct evr_meaning {
  const struct evr_batched *batched; /* definitions, by id */
  unsigned contents;                 /* enum eventring_batch_contents */
  struct evr_conversion conversion;
};

/* Times of a part, relative to its first event, so that 64 bits suffice:
     ns = from_ns + ((fraction + ticks * multiplier) >> FORMAT_CLOCK_SHIFT) */
struct evr_times {
  uint64_t base_word, ticks; /* base of the event words; ticks of the first event */
  uint64_t from_ns, fraction, multiplier;
  uint64_t bound; /* the part must end before this many ticks after the first event */
};

static inline __attribute__((always_inline)) uint64_t
evr_times_ticks(const struct evr_times *times, uint64_t word) {
  return (word - times->base_word) >> EVENTRING_WORD_TIME_SHIFT;
}
/* Converts `ticks` after the first event to nanoseconds after it. */
static inline __attribute__((always_inline)) uint32_t
evr_times_after(const struct evr_times *times, uint64_t ticks) {
  return (uint32_t)((ticks * times->multiplier + times->fraction) >> FORMAT_CLOCK_SHIFT);
}
static inline uint64_t evr_times_ns(const struct evr_times *times, uint64_t word) {
  return times->from_ns + evr_times_after(times, evr_times_ticks(times, word));
}
/* Sets the times of a part whose first event is `word`, at `ticks`, in a segment that
   ends at `end`. The part has nothing later than `until` (ns). The bound is 0 if the
   event is outside the segment or later than `until`. */
void evr_times_begin(struct evr_times *times, const struct format_segment *segment, uint64_t end,
                     uint64_t word, uint64_t ticks, uint64_t until);

struct evr_mark { /* a span that began before the part, or is left open */
  uint16_t word;  /* index of the word of its end, or of its begin if it is left open */
  /* index of the span in the list of spans that ended, or of spans left open */
  uint16_t brief;
};

struct evr_part { /* a part of a block, with events that a batch can have */
  struct evr_times times;
  uint32_t from, to;             /* indices of its words in the block */
  uint32_t last;                 /* index of the word of its last event */
  /* number of spans that ended, that are left open, and that ended but began before the
     part */
  uint32_t ended, opened, outer;
  uint32_t points, measured;     /* number of points; number of these that are ends */
  /* ns: time of the spans that ended after the last end of a span that began before the
     part, and lie in no span that began in it */
  uint32_t within;
  uint64_t classes;              /* bits of the classes of the spans */
  /* a point lies outside all spans that began in the part, and after the last end of a
     span that began before the part */
  bool outside;
  /* only the context changes between the previous part and this part, which has the
     `times` of the previous part */
  bool joins;
};

static inline uint32_t evr_part_events(const struct evr_part *part) {
  return 2 * part->ended - part->outer + part->opened + part->points - part->measured;
}

/* The lists of all parts of a block. Each span has at least one word in its part. */
struct evr_decoded_room {
  /* the spans that ended, from the beginning on; the spans left open, from the end down,
     part after part */
  struct eventring_brief brief[FORMAT_BLOCK_WORDS];
  /* marks of each part: of its outer spans, then of its opened spans */
  struct evr_mark mark[FORMAT_BLOCK_WORDS];
  struct eventring_point point[FORMAT_BLOCK_WORDS];
};
struct evr_lists { /* where the lists of a part begin in a room */
  struct eventring_brief *brief;
  struct evr_mark *mark;
  struct eventring_point *point;
  struct eventring_brief *opened; /* the end of the list of spans left open */
};
static inline struct evr_lists evr_lists_of(struct evr_decoded_room *room) {
  return (struct evr_lists){room->brief, room->mark, room->point, room->brief + FORMAT_BLOCK_WORDS};
}
/* Returns where the lists of the next part begin. */
static inline struct evr_lists evr_lists_after(const struct evr_lists *lists,
                                               const struct evr_part *part) {
  return (struct evr_lists){lists->brief + part->ended, lists->mark + part->outer + part->opened,
                            lists->point + part->points, lists->opened - part->opened};
}

/* Tells whether a word is a remark that changes at most the context. */
static inline bool evr_remark_is_of_context(uint64_t word) {
  const unsigned id = word_id(word);
  return !word_is_event(word) && (id == FORMAT_REMARK_CONTEXT || id == FORMAT_REMARK_SUSPEND ||
                                  id == FORMAT_REMARK_RESUME);
}

/* Decodes the events that a batch may have, from word part->from up to `end`; the caller
   has set `times` and `from`. Whether a span that began before the part can be in a
   batch, and how long it took, is not known here: its `took` is 0, and `within` counts
   from its end on. Returns false if there is nothing to decode, not even the first
   word. */
bool evr_decode_part(const struct evr_batched *batched, unsigned contents, const uint64_t *words,
                     uint32_t end, struct evr_part *part, const struct evr_lists *lists);

enum { EVR_PARTS = 32, EVR_LEAST_PART = 8 /* words that make a part worthwhile */ };

struct evr_decoded { /* the decoded parts of a block */
  uint32_t parts;
  struct evr_decoded_part {
    struct evr_part part;
    /* indices of the part's lists in the room, as in struct evr_lists */
    uint16_t brief, opened, mark, point;
  } part[EVR_PARTS];
  struct evr_decoded_room room;
};

/* Returns the lists of a part. */
static inline struct evr_lists evr_decoded_lists(struct evr_decoded *decoded,
                                                 const struct evr_decoded_part *part) {
  struct evr_decoded_room *room = &decoded->room;
  return (struct evr_lists){room->brief + part->brief, room->mark + part->mark,
                            room->point + part->point, room->brief + part->opened};
}

/* Decodes the parts of a block, in ascending order. Events between the parts are left to
   the reader. */
void evr_decode_block(const struct evr_meaning *meaning, const struct evr_block *block,
                      struct evr_decoded *decoded);

#pragma GCC visibility pop

#endif /* EVENTRING_DECODE_H */
