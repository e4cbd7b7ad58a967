/* SPDX-License-Identifier: MIT */
/* open_spans.c: the spans open at a point of a ring.
 *
 * Probes do not track open spans. When a block is full, the producer walks it once, while
 * it is in the cache, and so finds the spans that are open at the start of the next
 * block, whose header lists them. doc/FORMAT.md, section 9, has the rules; the reader's
 * stacks (span_stack.c) follow the same ones.
 *
 * The table is bounded. Spans are linked in two ways: within their context, for ends, and
 * by age, for the header, which prefers the present context and then the spans that began
 * last. Contexts are found by a hash of their id. A context without open spans is not
 * kept, so a program with a million coroutines has entries only for those with open
 * spans.
 */
#include "producer/open_spans.h"

#include <string.h>

#include "format/law.h"
#include "producer/classes.h"
#include "producer/leaf_spans.h"

/* ---- Contexts ------------------------------------------------------------------- */

static uint16_t *bucket_of(struct evr_open_spans *open, uint64_t id) {
  return &open->bucket[(id * 0x9e3779b97f4a7c15u) >> 56];
}
_Static_assert(EVR_OPEN_BUCKETS == 1 << (64 - 56), "buckets");

static uint16_t find_context(const struct evr_open_spans *open, uint64_t id) {
  uint16_t c = *bucket_of((struct evr_open_spans *)open, id);
  while (c && open->contexts[c].id != id) c = open->contexts[c].next;
  return c;
}

/* Adds a context. There is room: there are never more contexts than spans. */
static uint16_t add_context(struct evr_open_spans *open, uint64_t id) {
  uint16_t c = open->contexts_free, *bucket = bucket_of(open, id);
  if (c) open->contexts_free = open->contexts[c].next;
  else c = ++open->contexts_used;
  open->contexts[c] = (struct evr_open_context){.id = id, .next = *bucket};
  *bucket = c;
  return c;
}

static void remove_context(struct evr_open_spans *open, uint16_t c) {
  uint16_t *link = bucket_of(open, open->contexts[c].id);
  while (*link != c) link = &open->contexts[*link].next;
  *link = open->contexts[c].next;
  open->contexts[c].next = open->contexts_free;
  open->contexts_free = c;
}

static uint64_t ticks_between(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

/* Returns the ticks for which a context has been suspended, up to `ticks`. */
static uint64_t suspended_at(const struct evr_open_context *c, uint64_t ticks) {
  return c->suspended + (c->since ? ticks_between(c->since, ticks) : 0);
}

static void suspend_context(struct evr_open_spans *open, uint64_t id, uint64_t ticks) {
  uint16_t c = find_context(open, id);
  if (c && !open->contexts[c].since) open->contexts[c].since = ticks;
}

static void resume_context(struct evr_open_spans *open, uint64_t id, uint64_t ticks) {
  uint16_t c = find_context(open, id);
  if (!c) return;
  open->contexts[c].suspended = suspended_at(&open->contexts[c], ticks);
  open->contexts[c].since = 0;
}

/* ---- Spans ----------------------------------------------------------------------- */

static void link_span(struct evr_open_spans *open, uint16_t i, uint16_t c) {
  struct evr_open_span *span = &open->spans[i];
  span->context = c;
  span->above = 0;
  span->below = open->contexts[c].top;
  if (span->below) open->spans[span->below].above = i;
  open->contexts[c].top = i;
  span->newer = 0;
  span->older = open->newest;
  if (span->older) open->spans[span->older].newer = i;
  else open->oldest = i;
  open->newest = i;
}

static void unlink_span(struct evr_open_spans *open, uint16_t i) {
  struct evr_open_span *spans = open->spans, *span = &spans[i];
  if (span->above) spans[span->above].below = span->below;
  else open->contexts[span->context].top = span->below;
  if (span->below) spans[span->below].above = span->above;
  if (span->newer) spans[span->newer].older = span->older;
  else open->newest = span->older;
  if (span->older) spans[span->older].newer = span->newer;
  else open->oldest = span->newer;
}

static void remove_span(struct evr_open_spans *open, uint16_t i) {
  struct evr_open_span *span = &open->spans[i];
  unlink_span(open, i);
  if (!open->contexts[span->context].top) remove_context(open, span->context);
  span->older = open->spans_free;
  open->spans_free = i;
  open->count--;
}

static uint16_t take_span(struct evr_open_spans *open) {
  if (open->count == EVR_MAX_OPEN) {
    remove_span(open, open->oldest);
    open->hidden++;
  }
  uint16_t i = open->spans_free;
  if (i) open->spans_free = open->spans[i].older;
  else i = ++open->spans_used;
  open->count++;
  return i;
}

static void open_span(struct evr_open_spans *open, uint64_t word, uint64_t ticks,
                      uint64_t reason) {
  uint16_t i = take_span(open), c = find_context(open, open->context);
  if (!c) c = add_context(open, open->context);
  struct evr_open_span *span = &open->spans[i];
  span->tail = EVENTRING_TAIL(EVENTRING_BEGIN, word_id(word), 0);
  span->ticks = ticks;
  span->reason = reason;
  span->suspended = open->contexts[c].suspended;
  link_span(open, i, c);
}

static bool has_reason(unsigned id) {
  return __atomic_load_n(&evr_has_reason[id], __ATOMIC_RELAXED);
}

/* Closes the innermost span of this id, at its end, among the `depth` innermost spans of
   the present context. */
static void close_span(struct evr_open_spans *open, struct evr_totals *totals, unsigned id,
                       uint64_t ticks, unsigned depth) {
  uint16_t c = find_context(open, open->context), i = c ? open->contexts[c].top : 0;
  for (; i && depth > 0; depth--, i = open->spans[i].below)
    if (word_id(open->spans[i].tail) == id) {
      const struct evr_open_span *span = &open->spans[i];
      evr_totals_span(totals, id, ticks_between(span->ticks, ticks));
      if (span->reason != EVR_NO_REASON)
        evr_totals_reasoned_span(totals, id, span->reason, span->ticks, ticks);
      remove_span(open, i);
      return;
    }
  if (open->hidden) open->hidden--;
}

/* ---- The words of a block ---------------------------------------------------------- */

struct begun { /* a span that the block begins */
  uint64_t word, ticks;
  const uint64_t *words; /* the event that begins the span */
};

/* A walk over the words of a block. Most spans that begin in a block also end in it.
   Spans of the present context are kept here, and move to the table when the context
   changes or the block ends. */
struct walk {
  struct evr_open_spans *open;
  struct evr_totals *totals;
  struct format_position position;
  bool asleep; /* the present context is suspended; its next event resumes it */
  uint32_t count;
  struct begun begun[FORMAT_BLOCK_WORDS];
};

/* Returns the reason of the span, which is the value of its begin, or 0 if the value is
   no id. */
static inline uint64_t reason_of(const struct begun *begun) {
  if (!word_length(begun->word) || !has_reason(word_id(begun->word))) return EVR_NO_REASON;
  return begun->words[1] < EVENTRING_MAX_EVENTS ? begun->words[1] : 0;
}

static void keep_begun(struct walk *walk) {
  for (uint32_t i = 0; i < walk->count; i++) {
    const struct begun *begun = &walk->begun[i];
    open_span(walk->open, begun->word, begun->ticks, reason_of(begun));
  }
  walk->count = 0;
}

/* Adds a span that begins and ends in the block to the totals. */
static inline void add_span(const struct walk *walk, const struct begun *begun, uint64_t ticks) {
  const unsigned id = word_id(begun->word);
  evr_totals_span(walk->totals, id, ticks_between(begun->ticks, ticks));
  const uint64_t reason = reason_of(begun);
  if (reason != EVR_NO_REASON)
    evr_totals_reasoned_span(walk->totals, id, reason, begun->ticks, ticks);
}

/* Ends a span that is not the innermost one. */
static __attribute__((noinline)) void end_other_span(struct walk *walk, unsigned id,
                                                     uint64_t ticks) {
  unsigned depth = FORMAT_END_SEARCH;
  for (uint32_t i = walk->count; i > 0 && depth > 0; depth--)
    if (word_id(walk->begun[--i].word) == id) {
      add_span(walk, &walk->begun[i], ticks);
      walk->count--;
      memmove(&walk->begun[i], &walk->begun[i + 1], (walk->count - i) * sizeof walk->begun[0]);
      return;
    }
  close_span(walk->open, walk->totals, id, ticks, depth);
}

static bool is_suspended(const struct evr_open_spans *open, uint64_t id) {
  uint16_t c = find_context(open, id);
  return c && open->contexts[c].since;
}

static __attribute__((noinline)) void
apply_remark(struct walk *walk, const uint64_t *words, const uint64_t *end) {
  struct evr_open_spans *open = walk->open;
  keep_begun(walk);
  uint64_t ticks = word_ticks(*words, walk->position.base);
  uint64_t context = format_apply_remark(words, end, &walk->position);
  switch (word_id(*words)) {
    case FORMAT_REMARK_SUSPEND:
      suspend_context(open, context, ticks);
      break;
    case FORMAT_REMARK_RESUME:
      resume_context(open, context, ticks);
      break;
    case FORMAT_REMARK_INCARNATION:
      evr_open_clear(open);
      break;
    default:
      break;
  }
  open->context = walk->position.context;
  walk->asleep = is_suspended(open, open->context);
}

static inline void apply_event(struct walk *walk, const uint64_t *words, const uint64_t *end) {
  const uint64_t word = *words;
  uint64_t ticks = word_ticks(word, walk->position.base);
  if (__builtin_expect(walk->asleep, 0)) {
    resume_context(walk->open, walk->open->context, ticks);
    walk->asleep = false;
  }
  if (word_kind(word) == EVENTRING_BEGIN) {
    /* a span whose value does not lie in the block counts as one without a value */
    const bool is_whole = word_length(word) < end - words;
    walk->begun[walk->count++] =
        (struct begun){is_whole ? word : word & ~FORMAT_LENGTH_MASK, ticks, words};
  } else if (word_kind(word) == EVENTRING_END) {
    uint32_t count = walk->count;
    if (count && word_id(walk->begun[count - 1].word) == word_id(word)) {
      add_span(walk, &walk->begun[--walk->count], ticks);
    } else {
      end_other_span(walk, word_id(word), ticks);
    }
  } else if (word_length(word) < end - words) {
    evr_totals_events(walk->totals, words, words + 1 + word_length(word), walk->position.base);
  }
}

/* Counts the leaf spans at the start of words .. end, and then the events that neither
   begin nor end a span. Returns where these events stop. */
static inline const uint64_t *pass_simple(const struct walk *walk, const uint64_t *words,
                                          const uint64_t *end) {
  const uint64_t *others = evr_pass_leaf_spans(words, end);
  if (others != words) evr_totals_leaf_spans(walk->totals, words, others);
  words = others;
  while (words < end && word_is_event(*words) && word_kind(*words) != EVENTRING_BEGIN &&
         word_kind(*words) != EVENTRING_END) {
    if (word_length(*words) >= end - words) return end;
    words = evr_totals_events(walk->totals, words, end, walk->position.base);
  }
  return words;
}

/* Checks the law of the table: the number of spans linked by age is `count`, and each
   span lies in a context. */
static inline bool is_linked(const struct evr_open_spans *open) {
  uint32_t count = 0;
  for (uint16_t i = open->oldest, older = 0; i; older = i, i = open->spans[i].newer, count++)
    if (open->spans[i].older != older || !open->spans[i].context || count > EVR_MAX_OPEN)
      return false;
  return count == open->count && count <= EVR_MAX_OPEN && (count > 0) == (open->newest != 0);
}

/* ---- Classes switched off and on again ---------------------------------------------

   What a class did while it was off is unknown: an end after such a gap may be that of
   another span than the begin before it. So spans are torn before the first event after
   the gap, and are not counted in the totals. */

void evr_open_tear(struct evr_open_spans *open, const uint8_t *class_of, uint64_t classes,
                   uint64_t ticks) {
  for (uint16_t i = open->oldest, newer; i; i = newer) {
    const struct evr_open_span *span = &open->spans[i];
    newer = span->newer;
    if (classes >> class_of[word_id(span->tail)] & 1 && span->ticks < ticks)
      remove_span(open, i);
  }
}

/* Applies the entries to an event, up to the first event after each of them: then the
   entry is one of `passed`. Returns whether there are others. */
static bool tear_at(struct evr_open_spans *open, const struct evr_tears *tears, bool *passed,
                    uint64_t ticks) {
  bool is_left = false;
  for (unsigned i = 0; i < tears->switches.count; i++) {
    const struct format_switch *entry = &tears->switches.entry[i];
    if (passed[i]) continue;
    if (entry->ticks <= ticks) evr_open_tear(open, tears->class_of, entry->classes, entry->until);
    passed[i] = entry->ticks <= ticks && entry->until <= ticks;
    is_left |= !passed[i];
  }
  return is_left;
}

/* Walks the words to which entries of the control log apply, one by one. Returns where
   these words end. */
static __attribute__((cold, noinline)) const uint64_t *
pass_torn(struct walk *walk, const uint64_t *words, const uint64_t *end,
          const struct evr_tears *tears) {
  bool passed[FORMAT_LOG_ENTRIES + 1] = {false}, is_left = true;
  while (words < end && is_left) {
    if (word_is_event(*words)) {
      const uint64_t ticks = word_ticks(*words, walk->position.base);
      keep_begun(walk);
      if (walk->asleep) resume_context(walk->open, walk->open->context, ticks);
      walk->asleep = false;
      is_left = tear_at(walk->open, tears, passed, ticks);
      apply_event(walk, words, end);
    } else {
      apply_remark(walk, words, end);
    }
    words += 1 + word_length(*words);
  }
  return words;
}

/* Walks the words. Another process may have written over them: the walk stays within the
   block. */
void evr_open_apply(struct evr_open_spans *open, struct evr_totals *totals, const uint64_t *words,
                    size_t count, uint64_t base, const struct evr_tears *tears) {
  struct walk walk;
  const uint64_t *end = words + count;
  walk.open = open; /* set without an initializer of `walk`, which would clear the large
                       list */
  walk.totals = totals;
  walk.count = 0;
  walk.position = (struct format_position){.base = base, .context = open->context};
  walk.asleep = is_suspended(open, open->context);
  if (__builtin_expect(tears != NULL, 0)) words = pass_torn(&walk, words, end, tears);
  while (words < end) {
    if (!walk.asleep) words = pass_simple(&walk, words, end);
    if (words >= end) break;
    if (word_is_event(*words)) apply_event(&walk, words, end);
    else apply_remark(&walk, words, end);
    words += 1 + word_length(*words);
  }
  keep_begun(&walk);
  EVR_LAW(is_linked(open));
}

void evr_open_clear(struct evr_open_spans *open) {
  while (open->oldest) remove_span(open, open->oldest);
  open->hidden = 0;
  open->context = 0;
}

/* ---- The list of a header ---------------------------------------------------------- */

static struct format_open entry_of(const struct evr_open_spans *open, uint16_t i,
                                   uint64_t ticks) {
  const struct evr_open_span *span = &open->spans[i];
  const struct evr_open_context *c = &open->contexts[span->context];
  uint64_t suspended = suspended_at(c, ticks) - span->suspended;
  return (struct format_open){.tail = span->tail, .ticks = span->ticks, .context = c->id,
                              .suspended = (suspended & ~FORMAT_OPEN_SUSPENDED) |
                                           (c->since ? FORMAT_OPEN_SUSPENDED : 0)};
}

unsigned evr_open_list(const struct evr_open_spans *open, uint64_t ticks,
                       struct format_open *list, uint32_t *hidden) {
  uint16_t index[FORMAT_MAX_OPEN], present = find_context(open, open->context);
  unsigned own = 0, count;
  uint16_t i = present ? open->contexts[present].top : 0;
  for (; i && own < FORMAT_MAX_OPEN; i = open->spans[i].below) index[own++] = i;
  count = own;
  for (i = own < open->count ? open->newest : 0; i && count < FORMAT_MAX_OPEN;
       i = open->spans[i].older)
    if (open->spans[i].context != present) index[count++] = i;
  /* each part was collected from the innermost span outwards */
  for (unsigned n = 0; n < own; n++) list[n] = entry_of(open, index[own - 1 - n], ticks);
  for (unsigned n = own; n < count; n++)
    list[n] = entry_of(open, index[count - 1 - (n - own)], ticks);
  *hidden = open->count - count + open->hidden;
  return count;
}
