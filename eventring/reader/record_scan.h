/* SPDX-License-Identifier: MIT */
/* record_scan.h: the records of a file, which stay while rings turn over. */
#ifndef EVENTRING_RECORD_SCAN_H
#define EVENTRING_RECORD_SCAN_H

#include "reader/metadata.h"

#pragma GCC visibility push(hidden)

/* The most blocks outside rings that a reader examines: 1 GiB. A producer has at most
   16896 blocks with records, up to 12 blocks beside each ring, and the blocks of rings
   that it is making. Without a limit, a file that is one large hole would take hours to
   read, and all memory. */
enum { EVR_MOST_LOOSE_BLOCKS = 1 << 18 };

struct evr_record_block { /* a claimed block that is in no ring */
  uint32_t block;
  uint16_t kind;     /* 0 if not used yet */
  bool finished;     /* no record will be added to it */
  uint32_t at;       /* index of the next word to read */
  uint64_t sequence; /* its sequence when it was last read */
  uint64_t found;    /* its sequence in this scan */
};

struct evr_record_scan { /* all zero if nothing was read yet */
  struct evr_record_block *blocks; /* in no order */
  uint32_t count, room;
  /* first block of the file that is not in the list; in a file with streams, index of the
     first unit in meta->units.records that is not */
  uint64_t next;
  unsigned runs; /* runs of rings that were known at the last scan */
  uint64_t seen[FORMAT_KINDS]; /* counts of records in the status page at the last scan */
  uint64_t taken[FORMAT_KINDS]; /* number of records handed on */
  uint64_t unknown; /* number of blocks of kinds that this reader does not know */
};

/* Takes a record of a known kind: `words` words from `record` on. Returns 0 or an
   error. */
typedef int evr_take_record(void *context, enum format_kind kind, const uint64_t *record,
                            unsigned words, struct eventring_error *error);

/* Tells whether this reader knows a kind of records. */
bool evr_kind_is_known(unsigned kind);
/* Tells whether the status page, as last read, counts records that were not read. */
bool evr_record_scan_has_news(const struct evr_record_scan *scan,
                              const struct evr_metadata *meta);
/* Hands on the records that were added since the last scan, in order within each kind.
   Notes damage in meta->damage. Fails with E_MEMORY, and with the errors of reading and
   of `take`. */
int evr_record_scan(struct evr_record_scan *scan, struct evr_metadata *meta,
                    evr_take_record *take, void *context, struct eventring_error *error);
void evr_record_scan_free(struct evr_record_scan *scan);

#pragma GCC visibility pop

#endif /* EVENTRING_RECORD_SCAN_H */
