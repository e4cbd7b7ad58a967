/* SPDX-License-Identifier: MIT */
/* samples.h: the events of class ALLOC in the file.
 *
 * The payload of a sample is three words:
 *
 *   0  bits 0..31 stack; 32..45 span; 46..51 kind; 52..55 origin
 *   1  bits 0..47 words of the block; 48..63 the low 16 bits of the samples
 *   2  bits 0..39 number of the block; 40..63 the high 24 bits of the samples
 */
#ifndef EVENTRING_SAMPLES_H
#define EVENTRING_SAMPLES_H

#include "eventring/memory.h"
#include "eventring/tools.h"

enum { FORMAT_MEMORY_KINDS = 64, FORMAT_MEMORY_ORIGINS = 16, FORMAT_SAMPLE_WORDS = 3 };
#define FORMAT_BLOCK_NUMBERS (((uint64_t)1 << 40) - 1)
#define FORMAT_SAMPLE_MOST_WORDS (((uint64_t)1 << 48) - 1)

static inline void format_put_sample(uint64_t words[FORMAT_SAMPLE_WORDS],
                                     const struct eventring_sample *s, uint64_t block) {
  uint64_t size = s->words <= FORMAT_SAMPLE_MOST_WORDS ? s->words : FORMAT_SAMPLE_MOST_WORDS;
  words[0] = s->stack | (uint64_t)(s->span & 0x3fff) << 32 | (uint64_t)(s->kind & 63) << 46 |
             (uint64_t)(s->origin & 15) << 52;
  words[1] = size | s->samples << 48;
  words[2] = (block & FORMAT_BLOCK_NUMBERS) | (s->samples >> 16 & 0xffffff) << 40;
}

static inline struct eventring_sample format_sample(const uint64_t words[FORMAT_SAMPLE_WORDS],
                                                    uint64_t *block) {
  *block = words[2] & FORMAT_BLOCK_NUMBERS;
  return (struct eventring_sample){
      .samples = words[1] >> 48 | words[2] >> 40 << 16,
      .words = words[1] & FORMAT_SAMPLE_MOST_WORDS,
      .stack = (uint32_t)words[0], .span = words[0] >> 32 & 0x3fff,
      .kind = words[0] >> 46 & 63, .origin = words[0] >> 52 & 15};
}

/* The library's definitions of class ALLOC, by enum eventring_memory_event. */
struct evr_memory_event {
  const char *name, *unit, *doc;
  uint8_t kind, payload;
};
static const struct evr_memory_event evr_memory_events[] = {
    [EVENTRING_MEMORY_ALLOC] = {"alloc", "", "words of this block were sampled",
                                EVENTRING_DEF_INSTANT, EVENTRING_SAMPLE},
    [EVENTRING_MEMORY_PROMOTE] = {"promote", "block", "the sampled block became old",
                                  EVENTRING_DEF_INSTANT, EVENTRING_UINT},
    [EVENTRING_MEMORY_FREE_YOUNG] = {"free_young", "block", "the sampled block died young",
                                     EVENTRING_DEF_INSTANT, EVENTRING_UINT},
    [EVENTRING_MEMORY_FREE_OLD] = {"free_old", "block", "the sampled block died old",
                                   EVENTRING_DEF_INSTANT, EVENTRING_UINT},
    [EVENTRING_MEMORY_COLLECTED] = {"collected", "", "a collection is over",
                                    EVENTRING_DEF_INSTANT, EVENTRING_UINT},
    [EVENTRING_MEMORY_RATE] = {"memprof_rate", "1/word",
                               "a heap profile begins with this rate; 0: it ends",
                               EVENTRING_DEF_COUNTER, EVENTRING_DOUBLE},
};

#endif /* EVENTRING_SAMPLES_H */
