/* SPDX-License-Identifier: MIT */
/* decode.c: the begins and ends of a block as spans, in arrays.
 *
 * Most events are begins, ends of the innermost span, counters, instants, and events of
 * flows and async spans, none earlier than the event before. A part of a block with only
 * such events is decoded without the state of the reader: from the words, the definitions
 * and the clock. So another thread can do it in advance (ahead.c). batch.c adds what
 * depends on more: whether an end whose begin is not in the part ends the innermost open
 * span, how long that span took, and how far the reader may go.
 *
 * Spans that contain no other span, often half of all spans, are decoded in one step. The
 * value of a begin is skipped: a user who needs the value asks for the events
 * (eventring_batch_each).
 */
#include "reader/decode.h"

#include <stddef.h>
#include <string.h>

_Static_assert(EVENTRING_BATCH >= FORMAT_BLOCK_WORDS, "a batch is of one block");
_Static_assert(EVENTRING_END == EVENTRING_BEGIN + 1, "ticks_of_leaf");
_Static_assert(FORMAT_CLOCK_SHIFT >= 32, "ns of a part: what is left of 64 bits");

#define FIELD_AT(member, at) \
  _Static_assert(offsetof(struct eventring_brief, member) == \
                     offsetof(struct eventring_brief, within) + (at), "tail")
FIELD_AT(id, 4);
FIELD_AT(depth, 6);
FIELD_AT(began_before, 7);
#define POINT_FIELD_AT(member, at) \
  _Static_assert(offsetof(struct eventring_point, member) == \
                     offsetof(struct eventring_point, after) + (at), "tail of a point")
POINT_FIELD_AT(id, 4);
POINT_FIELD_AT(kind, 6);
POINT_FIELD_AT(payload, 7);
#define BEGAN_BEFORE ((uint64_t)1 << 56)
enum { MOST_DEPTH = UINT8_MAX }; /* most spans begun in a part that may be open at once */

void evr_times_begin(struct evr_times *times, const struct format_segment *segment, uint64_t end,
                     uint64_t word, uint64_t ticks, uint64_t until) {
  const uint64_t one = (uint64_t)1 << FORMAT_CLOCK_SHIFT;
  /* a division is slow, so this is an estimate: a quarter of the ticks that fit, or
     more */
  const int spare = segment->multiplier ? __builtin_clzll(segment->multiplier) : 63;
  times->base_word = word & ~FORMAT_TAIL_MASK;
  times->ticks = ticks;
  times->multiplier = segment->multiplier;
  times->from_ns = times->fraction = times->bound = 0;
  if (ticks < segment->from_ticks || ticks >= end) return;
  unsigned __int128 first =
      (unsigned __int128)(ticks - segment->from_ticks) * segment->multiplier;
  times->from_ns = segment->from_ns + (uint64_t)(first >> FORMAT_CLOCK_SHIFT);
  times->fraction = (uint64_t)first & (one - 1);
  if (until < times->from_ns) return;
  uint64_t bound = end - ticks, most = (uint64_t)1 << spare >> 1;
  if (until - times->from_ns < UINT64_MAX >> FORMAT_CLOCK_SHIFT && times->multiplier) {
    most = ((until - times->from_ns + 1) << FORMAT_CLOCK_SHIFT) - 1 - times->fraction;
    most = most / times->multiplier + 1;
  }
  times->bound = bound < most ? bound : most;
}

/* ---- A part ---------------------------------------------------------------------- */

struct begun { /* a span that began in the part */
  uint64_t tail;
  const uint64_t *word; /* the event word of its begin */
  uint32_t after;       /* time of its begin, as in struct eventring_brief */
  /* ns: time of the spans before it that lie directly within its parent */
  uint32_t before;
  uint64_t padding;     /* makes the size a power of 2, for depth_tail */
};
#define NO_TAIL UINT64_MAX

/* Returns the depth at `top`, shifted to the position of the depth in the tail. The
   distance in bytes is the depth times the size of an entry, so one shift is enough. */
static inline __attribute__((always_inline)) uint64_t depth_tail(const struct begun *bottom,
                                                                 const struct begun *top) {
  _Static_assert(sizeof *top == 32, "shift");
  return (uint64_t)((const char *)top - (const char *)bottom) << (48 - 5);
}

/* Returns the definition of an event. The shift yields the id times the size of an entry
   in one step. */
static inline __attribute__((always_inline)) const struct evr_batched *
batched_at(const struct evr_batched *batched, uint64_t word) {
  enum { SHIFT = EVENTRING_WORD_ID_SHIFT - 5, SIZE = sizeof *batched };
  _Static_assert(SIZE == 32, "SHIFT");
  const uint64_t bytes = word >> SHIFT & (uint64_t)(EVENTRING_MAX_EVENTS - 1) * SIZE;
  return (const struct evr_batched *)((const char *)batched + bytes);
}

/* Keeps the compiler from holding `variable` in a register: there are too few, and adding
   and comparing work as well in memory. */
#define KEEP_IN_MEMORY(variable) __asm__("" : "+m"(variable))

/* Returns the time of the event that follows a begin, at `next`, if it is the end of the
   same span and has no payload; else UINT64_MAX. */
static inline __attribute__((always_inline)) uint64_t
ticks_of_leaf(const struct evr_times *times, const uint64_t *begin, const uint64_t *next,
              const uint64_t *last) {
  bool is_leaf = next <= last && ((*next - (*begin & ~FORMAT_LENGTH_MASK)) & FORMAT_TAIL_MASK) ==
                                     EVENTRING_END - EVENTRING_BEGIN;
  return is_leaf ? evr_times_ticks(times, *next) : UINT64_MAX;
}

static inline __attribute__((always_inline)) void
set_brief(struct eventring_brief *brief, uint32_t after, uint32_t took, uint64_t tail) {
  brief->after = after;
  brief->took = took;
  memcpy(&brief->within, &tail, sizeof tail);
}

/* Lists the spans that are left open. */
static void list_opened(struct evr_part *part, const uint64_t *words, const struct begun *bottom,
                        const struct begun *top, uint32_t within, struct eventring_brief *end,
                        struct evr_mark *mark) {
  struct eventring_brief *brief = end - (top - bottom);
  part->within = top == bottom ? within : bottom->before;
  part->opened = (uint32_t)(top - bottom);
  for (const struct begun *begun = bottom; begun < top; begun++, brief++, mark++) {
    uint32_t in_it = begun + 1 == top ? within : begun[1].before;
    set_brief(brief, begun->after, 0, begun->tail | depth_tail(bottom, begun) | in_it);
    *mark = (struct evr_mark){(uint16_t)(begun->word - words), (uint16_t)(begun - bottom)};
  }
}

/* What a part has besides its spans. These members change rarely, or cost one store an
   event, so they are kept in memory. */
struct rest {
  const uint64_t *last; /* the last event of the part */
  struct evr_mark *outer;
  struct eventring_point *point;
  uint32_t measured;
  bool outside;
};

static inline __attribute__((always_inline)) void
put_point(struct eventring_point *point, uint64_t value, uint64_t tail, uint32_t after) {
  tail |= after;
  point->value = value;
  KEEP_IN_MEMORY(point->value); /* two stores: joining them takes longer */
  memcpy(&point->after, &tail, sizeof tail);
}

/* Tells whether an event that is neither a begin nor an end is one of the points of its
   definition. */
static inline __attribute__((always_inline)) bool
is_point(const struct evr_batched *definition, uint64_t word) {
  const uint64_t usual = definition->what, what = word & FORMAT_WHAT_MASK;
  if (!((word ^ usual) & FORMAT_WHAT_MASK)) return true; /* no event has kind 0 */
  return word_kind(word) == (usual & 7) && word_kind(word) != EVENTRING_COUNTER && what > usual;
}

/* Adds an event that is a point. Returns how many words the event has. */
static inline __attribute__((always_inline)) uint64_t
take_point(struct eventring_point *point, const struct evr_batched *definition,
           const uint64_t *at, uint32_t after) {
  uint64_t tail = definition->tail;
  if (definition->is_linked && at[2] <= UINT8_MAX) tail |= at[2] << 56;
  put_point(point, at[definition->value], tail, after);
  return 1 + word_length(*at);
}

/* Adds the point at *at and the points after it that have the usual form of their
   definitions. Points come in rows, and a row costs less here than in the loop of
   decode_part. Sets *at, *ticks and *after to the next event. Returns false if the part
   ends before that event. */
static inline __attribute__((always_inline)) bool
take_points(const struct evr_times *times, const struct evr_batched *batched,
            const uint64_t *last, const uint64_t **at, uint64_t *ticks, uint32_t *after,
            struct rest *rest) {
  const struct evr_batched *definition = batched_at(batched, **at);
  struct eventring_point *point = rest->point;
  const uint64_t *next = *at, *taken;
  uint64_t before = *ticks, now;
  bool goes_on;
  do {
    taken = next;
    next += take_point(point++, definition, taken, *after);
    now = before;
    goes_on = false;
    if (next > last) break;
    now = evr_times_ticks(times, *next);
    goes_on = now < times->bound && now >= before;
    if (!goes_on) break;
    *after = evr_times_after(times, now);
    before = now;
    definition = batched_at(batched, *next);
  } while (is_point(definition, *next));
  rest->point = point;
  rest->last = taken;
  *at = next;
  *ticks = now;
  return goes_on;
}

/* Adds the end, with a payload, of a span that began in the part. Returns false if a
   batch cannot have this end. */
static bool take_measured(struct rest *rest, const struct evr_batched *definition,
                          const uint64_t *at, uint32_t after, uint32_t took) {
  if (word_length(*at) > 1 || !definition->is_measured) return false;
  put_point(rest->point++, at[1] < took ? at[1] : took,
            (uint64_t)word_id(*at) << 32 | (uint64_t)EVENTRING_END << 48, after);
  rest->measured++;
  return true;
}

/* Decodes the events of a part, up to the first event that a batch cannot have. Returns
   false if the part is empty. The state of the loop is in as few locals as possible, so
   that they stay in registers. `contents` is a constant. */
static inline __attribute__((always_inline)) bool
decode_part(const struct evr_batched *definitions, const unsigned contents, const uint64_t *words,
            uint32_t end, struct evr_part *part, const struct evr_lists *lists) {
  const uint64_t *at = words + part->from, *const last = words + end - 1;
  struct evr_times times = part->times;
  struct rest rest = {.last = at, .outer = lists->mark, .point = lists->point};
  struct begun begun[1 + MOST_DEPTH], *const bottom = begun + 1, *top = bottom;
  const struct begun *const deepest = bottom + MOST_DEPTH;
  struct eventring_brief *next = lists->brief;
  const struct evr_batched *batched = definitions;
  uint64_t word, classes = 0, ticks = 0;
  uint32_t after = 0, within = 0;
  begun[0].tail = NO_TAIL;
  do {
    word = *at;
    const uint64_t before = ticks;
    ticks = evr_times_ticks(&times, word);
    if (ticks >= times.bound || ticks < before) break;
    after = evr_times_after(&times, ticks);
  timed:
    KEEP_IN_MEMORY(batched);
    const uint64_t kind = word & 7;
    const struct evr_batched *const definition = batched_at(batched, word);
    const uint64_t tail = definition->tail;
    KEEP_IN_MEMORY(times);
    KEEP_IN_MEMORY(rest);
    if (kind == EVENTRING_BEGIN) {
      if (!definition->classes) break;
      const uint64_t length = word_length(word);
      if (length && (!(contents & EVENTRING_BATCH_VALUES) || definition->is_named)) break;
      const uint64_t *const following =
          contents & EVENTRING_BATCH_VALUES ? at + 1 + length : at + 1;
      const uint64_t end_ticks = ticks_of_leaf(&times, at, following, last);
      classes |= definition->classes;
      if (end_ticks < times.bound && end_ticks >= ticks) {
        ticks = end_ticks;
        const uint32_t end_after = evr_times_after(&times, ticks), took = end_after - after;
        set_brief(next, end_after, took, tail | depth_tail(bottom, top));
        within += took;
        next++;
        rest.last = following;
        at = following + 1;
      } else {
        if (__builtin_expect(top == deepest, 0)) break;
        top->after = after;
        top->before = within;
        top->tail = tail;
        top->word = at;
        top++;
        within = 0;
        rest.last = at;
        at = following;
      }
    } else if (kind == EVENTRING_END) {
      const uint64_t *const following = at + 1 + word_length(word);
      if (__builtin_expect(top[-1].tail == tail, 1)) {
        const uint32_t took = after - top[-1].after;
        if (__builtin_expect(following != at + 1, 0) &&
            (!(contents & EVENTRING_BATCH_VALUES) ||
             !take_measured(&rest, definition, at, after, took)))
          break;
        top--;
        set_brief(next, after, took, tail | depth_tail(bottom, top) | within);
        within = top->before + took;
      } else {
        if (top != bottom || !definition->classes || following != at + 1) break;
        *rest.outer++ = (struct evr_mark){(uint16_t)(at - words), (uint16_t)(next - lists->brief)};
        set_brief(next, after, 0, tail | BEGAN_BEFORE | within);
        within = 0;
        rest.outside = false;
      }
      classes |= definition->classes;
      next++;
      rest.last = at;
      at = following;
    } else {
      if (!(contents & EVENTRING_BATCH_POINTS) || !is_point(definition, word)) break;
      rest.outside |= top == bottom;
      if (take_points(&times, batched, last, &at, &ticks, &after, &rest)) {
        word = *at;
        goto timed;
      }
      break;
    }
  } while (at <= last);
  part->to = (uint32_t)(at - words);
  part->last = (uint32_t)(rest.last - words);
  part->ended = (uint32_t)(next - lists->brief);
  part->outer = (uint32_t)(rest.outer - lists->mark);
  part->points = (uint32_t)(rest.point - lists->point);
  part->measured = rest.measured;
  part->classes = classes;
  part->outside = rest.outside;
  list_opened(part, words, bottom, top, within, lists->opened, rest.outer);
  return part->to > part->from;
}

bool evr_decode_part(const struct evr_batched *batched, unsigned contents, const uint64_t *words,
                     uint32_t end, struct evr_part *part, const struct evr_lists *lists) {
  enum { OF_DECODING = EVENTRING_BATCH_VALUES | EVENTRING_BATCH_POINTS };
  contents &= OF_DECODING;
  if (!contents) return decode_part(batched, 0, words, end, part, lists);
  if (contents == OF_DECODING) return decode_part(batched, OF_DECODING, words, end, part, lists);
  return decode_part(batched, contents, words, end, part, lists);
}

/* ---- A block --------------------------------------------------------------------- */

/* Returns the segment that contains `ticks`, and sets *end to the end of the segment. *at
   keeps the index of the last segment returned. */
static const struct format_segment *segment_of(const struct evr_conversion *conversion,
                                               uint64_t ticks, uint32_t *at, uint64_t *end) {
  const struct format_segment *segment = conversion->segment;
  bool is_last = *at + 1 >= conversion->segments;
  if (ticks < segment[*at].from_ticks || (!is_last && ticks >= segment[*at + 1].from_ticks))
    *at = evr_segment_at(conversion, ticks);
  *end = *at + 1 < conversion->segments ? segment[*at + 1].from_ticks : UINT64_MAX;
  return &segment[*at];
}

/* Sets the times of a part that begins with an event. `before` is the previous part if
   only the context has changed since, else NULL; a part that can join the previous part
   has the times of that part. Returns false if the event cannot begin a part. */
static bool begin_part(const struct evr_meaning *meaning, const uint64_t *words,
                       const struct evr_part *before, uint64_t ticks, uint32_t *segment,
                       struct evr_part *part) {
  const uint64_t word = words[part->from];
  uint64_t end;
  part->joins = false;
  if (before && meaning->contents & EVENTRING_BATCH_CONTEXTS) {
    const uint64_t since = evr_times_ticks(&before->times, word);
    part->times = before->times;
    part->joins = since < before->times.bound &&
                  since >= evr_times_ticks(&before->times, words[before->last]);
    if (part->joins) return true;
  }
  const struct format_segment *in = segment_of(&meaning->conversion, ticks, segment, &end);
  evr_times_begin(&part->times, in, end, word, ticks, UINT64_MAX);
  return part->times.bound != 0;
}

void evr_decode_block(const struct evr_meaning *meaning, const struct evr_block *block,
                      struct evr_decoded *decoded) {
  const uint64_t *words = block->words;
  struct format_position position = evr_block_start(block);
  struct evr_lists lists = evr_lists_of(&decoded->room);
  /* the previous part if only changes of context follow it, else NULL */
  const struct evr_part *before = NULL;
  uint32_t at = evr_block_first(block), segment = 0;
  decoded->parts = 0;
  while (at < block->have && decoded->parts < EVR_PARTS) {
    const uint64_t word = words[at];
    uint32_t next = at + 1 + word_length(word);
    if (word_is_event(word)) {
      struct evr_decoded_part *to = &decoded->part[decoded->parts];
      struct evr_part *part = &to->part;
      part->from = at;
      const bool is_part = begin_part(meaning, words, before, word_ticks(word, position.base),
                                      &segment, part) &&
                           evr_decode_part(meaning->batched, meaning->contents, words, block->have,
                                           part, &lists);
      if (is_part) next = part->to;
      before = NULL;
      if (is_part && (part->joins || next - at >= EVR_LEAST_PART)) {
        to->brief = (uint16_t)(lists.brief - decoded->room.brief);
        to->opened = (uint16_t)(lists.opened - decoded->room.brief);
        to->mark = (uint16_t)(lists.mark - decoded->room.mark);
        to->point = (uint16_t)(lists.point - decoded->room.point);
        decoded->parts++;
        lists = evr_lists_after(&lists, part);
        before = part;
      }
    } else {
      if (!evr_remark_is_of_context(word)) before = NULL;
      format_apply_remark(words + at, words + block->have, &position);
    }
    at = next;
  }
}
