/* SPDX-License-Identifier: MIT */
/* decode.h: the begins and ends of a block as spans, in arrays (decode.c). */
#ifndef EVENTRING_DECODE_H
#define EVENTRING_DECODE_H

#include "eventring/tools.h"
#include "format/clock.h"
#include "reader/block.h"

#pragma GCC visibility push(hidden)

/* What decoding needs of a definition; {0}: its events are not for batches. */
struct evr_batched {
  /* spans: the id, at its place in the second half of a struct eventring_brief; others:
     the second half of a struct eventring_point, as far as all their points share it */
  uint64_t tail;
  uint64_t classes; /* spans: the bit of the class */
  /* others: kind and length of the events that are points; where the kind has words of
     any length, events with more words are points, too */
  uint32_t what;
  /* the payload of a begin is an id: a begin that has one is not for batches */
  bool is_named;
  bool is_measured; /* an end with one word says for how long it was off the processor */
  bool is_linked;   /* others: the second word of the payload is the role */
  /* others: the word that is the value of a point; 0: it has none */
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
  uint64_t base_word, ticks; /* of the first event */
  uint64_t from_ns, fraction, multiplier;
  uint64_t bound;            /* ticks from the first event on; the part must end before */
};

static inline __attribute__((always_inline)) uint64_t
evr_times_ticks(const struct evr_times *times, uint64_t word) {
  return (word - times->base_word) >> EVENTRING_WORD_TIME_SHIFT;
}
/* Returns how many nanoseconds after the first event `ticks` are. */
static inline __attribute__((always_inline)) uint32_t
evr_times_after(const struct evr_times *times, uint64_t ticks) {
  return (uint32_t)((ticks * times->multiplier + times->fraction) >> FORMAT_CLOCK_SHIFT);
}
static inline uint64_t evr_times_ns(const struct evr_times *times, uint64_t word) {
  return times->from_ns + evr_times_after(times, evr_times_ticks(times, word));
}
/* Sets the times of a part whose first event is `word`, at `ticks`, in a segment that
   ends at `end`. The part has nothing later than `until` (ns). The bound is 0 if the
   event is outside the segment or later than that. */
void evr_times_begin(struct evr_times *times, const struct format_segment *segment, uint64_t end,
                     uint64_t word, uint64_t ticks, uint64_t until);

struct evr_mark { /* of a span that began before the part, or is left open */
  uint16_t word;  /* of its end in the part, or of its begin if left open */
  uint16_t brief; /* its index in the list of those that ended, or are left open */
};

struct evr_part { /* of a block: events that a batch can have */
  struct evr_times times;
  uint32_t from, to;             /* its words */
  uint32_t last;                 /* the word of its last event */
  /* spans: how many ended; are left open; ended but began before the part */
  uint32_t ended, opened, outer;
  uint32_t points, measured;     /* how many points; how many of them are ends */
  /* ns: spans that have ended since the last end of a span that began before the part,
     and lie in none that began in it */
  uint32_t within;
  uint64_t classes;              /* a bit for each class of the spans */
  /* a point lies behind the last end of a span that began before the part, and outside
     all spans that began in it */
  bool outside;
  /* only the context changes between the previous part and this one; `times` are those of
     the previous part */
  bool joins;
};

static inline uint32_t evr_part_events(const struct evr_part *part) {
  return 2 * part->ended - part->outer + part->opened + part->points - part->measured;
}

/* The lists of all parts of a block. Each span has at least one word in its part. */
struct evr_decoded_room {
  /* from the beginning on: the spans that ended; from the end down: the spans left open,
     part after part */
  struct eventring_brief brief[FORMAT_BLOCK_WORDS];
  /* of each part: `outer`, then `opened` */
  struct evr_mark mark[FORMAT_BLOCK_WORDS];
  struct eventring_point point[FORMAT_BLOCK_WORDS];
};
struct evr_lists { /* where the lists of a part begin in a room */
  struct eventring_brief *brief;
  struct evr_mark *mark;
  struct eventring_point *point;
  struct eventring_brief *opened; /* where those left open end */
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
   has set `times` and `from`. It is not known here whether a span that began before the
   part can be in a batch, or how long it took: its `took` is 0, and `within` counts from
   the end of such a span on. Returns false if there is nothing to decode, not even the
   first word. */
bool evr_decode_part(const struct evr_batched *batched, unsigned contents, const uint64_t *words,
                     uint32_t end, struct evr_part *part, const struct evr_lists *lists);

enum { EVR_PARTS = 32, EVR_LEAST_PART = 8 /* words that make a part worthwhile */ };

struct evr_decoded { /* what was decoded of a block */
  uint32_t parts;
  struct evr_decoded_part {
    struct evr_part part;
    uint16_t brief, opened, mark, point; /* indices in the room, as in struct evr_lists */
  } part[EVR_PARTS];
  struct evr_decoded_room room;
};

/* Returns where the lists of a part are. */
static inline struct evr_lists evr_decoded_lists(struct evr_decoded *decoded,
                                                 const struct evr_decoded_part *part) {
  struct evr_decoded_room *room = &decoded->room;
  return (struct evr_lists){room->brief + part->brief, room->mark + part->mark,
                            room->point + part->point, room->brief + part->opened};
}

/* Decodes the parts of a block, in ascending order. What lies between them is left to the
   reader. */
void evr_decode_block(const struct evr_meaning *meaning, const struct evr_block *block,
                      struct evr_decoded *decoded);

#pragma GCC visibility pop

#endif /* EVENTRING_DECODE_H */
