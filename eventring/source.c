/* source.c: copies of bytes and blocks, out of a file or of our own mapping.
 *
 * Reading a block that its producer may be overwriting (the producer's steps
 * W1 .. W6 stand in ring.c):
 *
 *   R0  the caller has loaded the ring's head, acquire, and found the block's
 *       number or more: W4 of this block has happened (pairs with W5)
 *   R1  load the sequence, acquire: it must be the wanted one (pairs with W4)
 *   R2  walk: load each event word, acquire (pairs with the release in W6, so
 *       that the payload of an event whose word is seen is seen too); stop at the
 *       first zero
 *   R3  copy words, relaxed
 *   R4  acquire fence (pairs with W2: had R3 seen any store of a later W3, then
 *       R5 would see W1 or a later sequence)
 *   R5  load the sequence again, relaxed: still the wanted one, else all that was
 *       copied is thrown away
 *
 * Only then is anything interpreted (the walk looks at lengths only, bounded by
 * the block). Through pread the order of loads within one call is unknown, so
 * each step is a call of its own with an acquire fence between: one to learn
 * the committed length (R1, R2), one to copy (R3), one to check (R5). A complete
 * block does not need the first. The kernel copies aligned 64-bit words whole.
 */
#include "recorder.h"
#include "reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void evr_source_close(struct evr_source *source) {
  if (source->fd >= 0) close(source->fd);
  source->fd = -1;
  if (source->own) {
    evr_lock();
    evr_recording_release_locked(source->own);
    evr_unlock();
  }
  source->own = NULL;
}

/* ---- Bytes ----------------------------------------------------------------------- */

static int read_file(const struct evr_source *source, uint64_t offset, void *to,
                     size_t size, struct eventring_error *error) {
  while (size) {
    ssize_t got = pread(source->fd, to, size, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return evr_fail(error, EVENTRING_E_SYSTEM, errno, "cannot read the file");
    if (got == 0)
      return evr_fail(error, EVENTRING_E_TRUNCATED, 0,
                      "the file ends before offset %llu",
                      (unsigned long long)(offset + size));
    to = (char *)to + got;
    offset += (uint64_t)got;
    size -= (size_t)got;
  }
  return EVENTRING_OK;
}

/* Where these bytes are mapped; NULL: nowhere. */
static const uint64_t *own_words(const struct evr_recording *r, uint64_t offset,
                                 size_t size) {
  if (offset + size <= FORMAT_FRONT_BYTES)
    return (const uint64_t *)(r->front + offset);
  if (offset < FORMAT_RINGS_OFFSET)
    return (const uint64_t *)(r->catalogue + (offset - FORMAT_CATALOGUE_OFFSET));
  uint64_t stride = r->header.domain_stride;
  uint64_t slot = (offset - FORMAT_RINGS_OFFSET) / stride;
  if (slot >= EVENTRING_MAX_DOMAINS) return NULL;
  uint8_t *map = __atomic_load_n(&r->slot[slot].map, __ATOMIC_ACQUIRE);
  return map ? (const uint64_t *)(map + (offset - FORMAT_RINGS_OFFSET) % stride)
             : NULL;
}

static void copy_words(uint64_t *to, const uint64_t *from, size_t count) {
  for (size_t i = 0; i < count; i++)
    to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

int evr_source_read(const struct evr_source *source, uint64_t offset, void *to,
                    size_t size, struct eventring_error *error) {
  if (!source->own) return read_file(source, offset, to, size, error);
  const uint64_t *from = own_words(source->own, offset, size);
  if (!from) return evr_fail(error, EVENTRING_E_TRUNCATED, 0, "not mapped");
  copy_words(to, from, size / 8);
  return EVENTRING_OK;
}

/* ---- Blocks ----------------------------------------------------------------------- */

/* First event word, as far as the header can be believed. */
static uint32_t first_event(uint16_t open) {
  if (open > FORMAT_MAX_OPEN) open = FORMAT_MAX_OPEN;
  return FORMAT_BLOCK_HEADER_WORDS + open * (uint32_t)FORMAT_OPEN_WORDS;
}

/* Walks copied words up to `bound`; the length of what is committed. Sets *sound
   to false when an event would reach beyond the block. */
static uint32_t walk(const uint64_t *words, uint32_t bound, bool *sound) {
  uint32_t at = first_event(((const struct format_block *)words)->open);
  while (at < bound && words[at]) {
    uint32_t next = at + 1 + word_length(words[at]);
    if (next > FORMAT_BLOCK_WORDS) {
      *sound = false;
      break;
    }
    at = next;
  }
  return at;
}

/* The structure of a block whose copy is known to be of one piece. */
static bool is_valid(const struct evr_block *block, unsigned slot, unsigned ring,
                     bool complete) {
  const struct format_block *h = evr_block_header(block);
  return h->kind == FORMAT_BLOCK_EVENTS && h->domain == slot && h->ring == ring &&
         h->incarnation > 0 && h->open <= FORMAT_MAX_OPEN &&
         h->events_before / FORMAT_BLOCK_WORDS < h->sequence &&
         (h->committed == 0 ? !complete : h->committed == block->have);
}

static enum evr_read own_block(const struct evr_source *source, uint64_t offset,
                               uint64_t sequence, struct evr_block *block,
                               bool *sound) {
  const uint64_t *from = own_words(source->own, offset, FORMAT_BLOCK_BYTES);
  if (!from) return EVR_READ_GONE;
  evr_testpoint(R1);
  if (__atomic_load_n(from, __ATOMIC_ACQUIRE) != sequence)               /* R1 */
    return EVR_READ_GONE;
  uint64_t *to = block->words;
  evr_testpoint(R2);
  copy_words(to, from, FORMAT_BLOCK_HEADER_WORDS);
  uint32_t at = first_event(((struct format_block *)to)->open);
  copy_words(to + 8, from + 8, at - 8);
  while (at < FORMAT_BLOCK_WORDS) {
    uint64_t word = __atomic_load_n(&from[at], __ATOMIC_ACQUIRE);        /* R2 */
    if (!word) break;
    uint32_t next = at + 1 + word_length(word);
    if (next > FORMAT_BLOCK_WORDS) {
      *sound = false;
      break;
    }
    to[at] = word;
    evr_testpoint(R3);
    copy_words(to + at + 1, from + at + 1, next - at - 1);               /* R3 */
    at = next;
  }
  block->have = at;
  /* `committed` may have been stored while we walked: what was walked counts */
  evr_testpoint(R4);
  evr_fence_acquire();                               /* R4 */
  evr_testpoint(R5);
  if (__atomic_load_n(from, __ATOMIC_RELAXED) != sequence)               /* R5 */
    return EVR_READ_GONE;
  return EVR_READ_OK;
}

static enum evr_read file_block(const struct evr_source *source, uint64_t offset,
                                uint64_t sequence, bool complete,
                                struct evr_block *block, bool *sound,
                                struct eventring_error *error) {
  uint64_t again;
  evr_testpoint(R1);
  if (read_file(source, offset, block->words, FORMAT_BLOCK_BYTES, error) != 0)
    return EVR_READ_FAILED;
  if (block->words[0] != sequence) return EVR_READ_GONE;                 /* R1 */
  block->have = walk(block->words, FORMAT_BLOCK_WORDS, sound);           /* R2 */
  evr_fence_acquire();
  evr_testpoint(R3);
  if (!complete && block->have > first_event(evr_block_header(block)->open)) {
    if (read_file(source, offset, block->words, (size_t)block->have * 8, error) != 0)
      return EVR_READ_FAILED;                                            /* R3 */
    evr_fence_acquire();                             /* R4 */
  }
  evr_testpoint(R5);
  if (read_file(source, offset, &again, sizeof again, error) != 0)
    return EVR_READ_FAILED;
  if (again != sequence) return EVR_READ_GONE;                           /* R5 */
  bool same = true;
  if (walk(block->words, block->have, &same) != block->have) *sound = false;
  return EVR_READ_OK;
}

enum evr_read evr_source_block(const struct evr_source *source, uint64_t offset,
                               uint64_t sequence, unsigned slot, unsigned ring,
                               bool complete, struct evr_block *block,
                               struct eventring_error *error) {
  bool sound = true;
  enum evr_read status =
      source->own ? own_block(source, offset, sequence, block, &sound)
                  : file_block(source, offset, sequence, complete, block, &sound,
                               error);
  if (status != EVR_READ_OK) return status;
  struct format_block *h = (struct format_block *)block->words;
  if (!complete) h->committed = 0; /* perhaps just being stored: not needed */
  return sound && is_valid(block, slot, ring, complete) ? EVR_READ_OK
                                                        : EVR_READ_CORRUPT;
}

bool evr_source_has_more(const struct evr_source *source, uint64_t offset,
                         uint64_t sequence, uint32_t have) {
  uint64_t words[2] = {0, 0};
  if (have >= FORMAT_BLOCK_WORDS) return false;
  if (source->own) {
    const uint64_t *from = own_words(source->own, offset, FORMAT_BLOCK_BYTES);
    return from && __atomic_load_n(&from[have], __ATOMIC_RELAXED) != 0;
  }
  (void)sequence;
  if (read_file(source, offset + (uint64_t)have * 8, words, 8, NULL) != 0) return true;
  return words[0] != 0;
}
