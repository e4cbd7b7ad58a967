/* openspans.c: the stack of open spans that a block header carries.
 *
 * The probes don't keep it. When a block is full its writer walks the block
 * once, while it is still in the cache, and so learns which spans are open at
 * the start of the next one. The usual block is little but begin-end pairs
 * without anything in between, which leave no trace on the stack: they are
 * passed over two words at a time.
 *
 * Rules (the reader's own stack, spanstack.c, follows the same ones):
 *  - a begin is pushed; when the table is full it is only counted as hidden;
 *  - an end closes, while there are hidden spans, one of those; else the
 *    innermost span of the same id. Other spans stay: those of interleaving
 *    coroutines need not nest. An end that finds none is ignored.
 */
#include "internal.h"

#include <string.h>

static void open_push(struct evr_open_spans *open, uint64_t word, uint64_t ticks) {
  if (open->hidden || open->count == FORMAT_MAX_OPEN) {
    open->hidden++;
    return;
  }
  uint64_t tail = EVENTRING_TAIL(EVENTRING_BEGIN, word_id(word), 0);
  open->span[open->count++] = (struct evr_open_span){tail, ticks};
}

static void open_remove(struct evr_open_spans *open, uint32_t index) {
  open->count--;
  memmove(&open->span[index], &open->span[index + 1],
          (open->count - index) * sizeof open->span[0]);
}

static void open_pop(struct evr_open_spans *open, uint64_t word) {
  if (open->hidden) {
    open->hidden--;
    return;
  }
  for (uint32_t i = open->count; i-- > 0;)
    if (word_id(open->span[i].tail) == word_id(word)) {
      open_remove(open, i);
      return;
    }
}

/* Are these a begin without payload and the end of the same id? Kinds differ by
   one and everything else of the tail agrees. */
static inline bool is_leaf_span(uint64_t first, uint64_t second) {
  uint64_t begin = first & FORMAT_TAIL_MASK;
  return (begin & 0x3ff) == EVENTRING_BEGIN &&
         (second & FORMAT_TAIL_MASK) == begin + (EVENTRING_END - EVENTRING_BEGIN);
}

void evr_open_apply(struct evr_open_spans *open, const uint64_t *words,
                    size_t count, uint64_t base) {
  const uint64_t *end = words + count;
  while (words < end) {
    while (end - words >= 2 && is_leaf_span(words[0], words[1])) words += 2;
    if (words == end) break;
    uint64_t word = *words;
    switch (word_kind(word)) {
    case EVENTRING_BEGIN:
      open_push(open, word, word_ticks(word, base));
      break;
    case EVENTRING_END:
      open_pop(open, word);
      break;
    case FORMAT_WORD_META:
      base = words[1]; /* a rebase: the only remark a producer writes */
      break;
    default:
      break;
    }
    words += 1 + word_length(word);
  }
}

void evr_open_tear(struct evr_open_spans *open, const uint8_t *class_of,
                   uint32_t classes, uint64_t ticks) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < open->count; i++) {
    const struct evr_open_span *span = &open->span[i];
    bool torn = (classes >> class_of[word_id(span->tail)] & 1) && span->ticks < ticks;
    if (!torn) open->span[kept++] = *span;
  }
  open->count = kept;
}
