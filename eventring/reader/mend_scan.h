/* SPDX-License-Identifier: MIT */
/* mend_scan.h: what the parts of mend.c share while a damaged file is being read:
 *
 *   mend.c         what is shown in the place of the file; opening
 *   mend_blocks.c  which blocks are sound, and what of records can be put right
 *   mend_front.c   header, status page, control page, domain table */
#ifndef EVENTRING_MEND_SCAN_H
#define EVENTRING_MEND_SCAN_H

#include "reader/cursor.h"
#include "reader/mend.h"

#pragma GCC visibility push(hidden)

enum { EVR_MEND_AHEAD = 64 /* blocks that are read at once */ };

struct evr_unfinished { /* a block of events that says so */
  uint64_t sequence; /* 0: it was taken */
  uint32_t block;
  uint16_t slot;
  uint8_t ring;
};

struct evr_scan {
  struct evr_mended *mended;
  struct eventring_repair *report;
  struct eventring_error *error;
  uint64_t blocks, file_bytes;
  bool ended;            /* in order: nothing may be half written */
  unsigned mended_words; /* patches that have words */
  unsigned tried;        /* blocks of records that were to be put right */
  uint64_t unknown[FORMAT_UNIT]; /* blocks of no kind, of the unit that is being read */
  unsigned unknown_count;
  bool has_clock;
  uint64_t start_ticks;  /* of the header; 0: it is doubtful */
  struct format_segment first; /* of the first block of the clock; zeroed: not found */
  struct evr_unfinished *unfinished; /* ascending by block */
  uint32_t unfinished_count, unfinished_room;
  uint64_t *records; /* blocks of records that were taken: kind and sequence, a hash table with */
  uint32_t records_count, records_room; /* room for a power of 2 of them; 0: it is empty */
  bool has_newest[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS]; /* one of them was taken */
  uint64_t words[EVR_MEND_AHEAD][FORMAT_BLOCK_WORDS];
};

static inline struct format_header *evr_mended_header(const struct evr_mended *mended) {
  return (struct format_header *)mended->front;
}
static inline struct format_status *evr_mended_status(const struct evr_mended *mended) {
  return (struct format_status *)((uint8_t *)mended->front + FORMAT_STATUS_OFFSET);
}
static inline struct format_control *evr_mended_control(const struct evr_mended *mended) {
  return (struct format_control *)((uint8_t *)mended->front + FORMAT_CONTROL_OFFSET);
}
static inline struct format_domain *evr_mended_domains(const struct evr_mended *mended) {
  return (struct format_domain *)((uint8_t *)mended->front + FORMAT_DOMAINS_OFFSET);
}

/* Has a block show `words`, NULL: zeros. In the order of the blocks. 0, E_MEMORY or E_CORRUPT (too
   many). */
int evr_mended_patch(struct evr_scan *s, uint64_t block, const uint64_t *words);
/* Is there room for the words of another one? */
bool evr_mended_has_room(const struct evr_scan *s);

/* Puts right the header, as far as that can be proved. 0 or E_VERSION. */
int evr_mend_header(struct evr_scan *s);
void evr_mend_status(struct evr_scan *s);
void evr_mend_control(struct evr_scan *s);
/* Lists the sound blocks, and patches the others. 0, E_MEMORY, E_SYSTEM. */
int evr_mend_blocks(struct evr_scan *s);
/* If no clock was found: makes one that is all the header says. 0 or E_MEMORY. */
int evr_mend_clock(struct evr_scan *s);
/* When all blocks are known: makes the front that of a stream. */
void evr_mend_front(struct evr_scan *s);
/* When the records were read: makes entries of the domain table agree with them. */
void evr_mend_domains(eventring_cursor *c, const struct evr_mended *mended,
                      struct eventring_repair *report);

/* Changes one byte, of words[0 .. count-1] or of *checksum, so that it is their checksum, if
   only one change does that; false: it is not so. Of word `skip`, the bytes that `fixed` has (a
   mask) stay. */
bool evr_mend_byte(uint64_t *words, uint32_t count, uint32_t skip, uint64_t fixed,
                   uint32_t *checksum);

#pragma GCC visibility pop

#endif /* EVENTRING_MEND_SCAN_H */
