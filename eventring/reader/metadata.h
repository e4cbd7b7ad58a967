/* SPDX-License-Identifier: MIT */
/* metadata.h: header, status, domains and control page of a file. definitions.h has what
   its events refer to. */
#ifndef EVENTRING_METADATA_H
#define EVENTRING_METADATA_H

#include "format/clock.h"
#include "reader/source.h"
#include "reader/units.h"

#pragma GCC visibility push(hidden)

struct evr_run { /* a run of places of a ring */
  uint32_t first; /* first block of the run in the file */
  uint32_t end;   /* number of the ring's places up to the end of this run */
};

enum { EVR_STREAM_PLACES = FORMAT_MAX_BLOCKS }; /* no file has more blocks than this */

struct evr_places { /* the places of a ring; all zero if the ring is not made */
  uint32_t count; /* a power of two; EVR_STREAM_PLACES if the ring is a stream */
  uint32_t runs;
  struct evr_run run[1 + FORMAT_MORE_RUNS];
  uint64_t floor; /* blocks before this sequence are gone */
  /* the ring can have grown by further runs only when its head is above this; then the
     list of runs is read again */
  uint64_t sure;
};

/* A log of switches (struct format_switch): the log of the control page, or of a process
   whose recording is part of this recording. */
struct evr_log {
  const struct format_switch *entry; /* entry n is at index n % FORMAT_LOG_ENTRIES */
  uint32_t told;    /* number that the next switch will have in the log */
  uint32_t written; /* entries 0 .. written-1 are written */
};

struct evr_metadata {
  struct evr_source source;
  char path[1024];
  struct format_header header; /* as read once, checked, strings terminated */
  struct format_status status; /* as of the last refresh, checked */
  struct evr_conversion conversion;
  struct format_segment *segments; /* the segments of `conversion` */
  uint32_t segment_room;           /* how many there is room for */
  struct format_segment segment; /* the segment used last */
  uint64_t segment_end; /* ticks at which the next segment begins; 0 if not known */
  struct format_control control; /* as of the last refresh */
  struct evr_log log; /* the log of the control page */
  uint32_t switches_open; /* number of the first entry whose `until` was not known */
  bool over;         /* nobody writes into the file any more */
  bool is_live_copy; /* copied while it was written (live_copy.c) */
  bool header_is_damaged; /* its checksum is wrong */
  /* the rings, as last read and checked; `blocks` is 0 if there is no such ring */
  struct format_ring ring[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS];
  /* the places of the rings, as last read and checked */
  struct evr_places places[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS];
  /* the rings that exist, each as slot * EVENTRING_RINGS + ring, in the order in which
     they were found */
  uint16_t made[EVENTRING_MAX_DOMAINS * EVENTRING_RINGS];
  unsigned made_count;
  unsigned run_count; /* number of runs of all rings */
  uint64_t run_blocks; /* number of blocks of all these runs, without streams */
  struct evr_units units; /* where the blocks of streams lie */
  bool units_are_due;     /* a stream has blocks beyond the known units */
  unsigned threads;       /* threads that read the rings (ahead.h) */
  bool heads_are_final;   /* the heads were read when nobody wrote any more */
  bool units_are_final;   /* the units were searched when nobody wrote any more */
  /* the first damage found since damage was last reported */
  struct eventring_error damage;
};

/* Reads and checks everything. The source must be set; path may be NULL. `map` says
   whether the file may be mapped. */
int evr_metadata_open(struct evr_metadata *meta, bool map, struct eventring_error *error);
/* Tells whether the status page is unchanged since it was read, and all rings are known.
   Returns false if the file is not mapped. Does not compare the heads of the rings. */
bool evr_metadata_stands(const struct evr_metadata *meta);
/* Reads again how far the producers have come. */
int evr_metadata_refresh(struct evr_metadata *meta, struct eventring_error *error);
/* Verifies the checksum of the status page, the domain table and the run table of a file
   into which nobody writes any more. A wrong checksum is noted as damage; returns an
   error only if these pages cannot be read. */
int evr_metadata_check_front(struct evr_metadata *meta, struct eventring_error *error);
/* Checks that the file is as long as its blocks need. Fails with E_TRUNCATED; if the
   process is dead, notes the missing part as damage instead. */
int evr_metadata_check_size(struct evr_metadata *meta, struct eventring_error *error);
/* Reads the status page and the control log again. */
int evr_metadata_catch_up(struct evr_metadata *meta, struct eventring_error *error);
/* Adds a segment to the conversion of times. Fails with E_CORRUPT when the segment cannot
   follow the last one, or with E_MEMORY. */
int evr_metadata_add_segment(struct evr_metadata *meta, const struct format_segment *segment,
                             struct eventring_error *error);
void evr_metadata_close(struct evr_metadata *meta);
enum eventring_liveness evr_metadata_liveness(const struct evr_metadata *meta);
/* Tells whether nobody writes into the file any more. An ended recording is not settled
   before all threads of the process have noticed the end. */
bool evr_metadata_is_settled(const struct evr_metadata *meta);
struct evr_location { /* the location of a block in the file */
  uint64_t offset;
  /* number of blocks of the ring that follow one another in the file, from this block
     on */
  uint32_t row;
};
/* Returns where block `sequence` of a ring lies. */
struct evr_location evr_metadata_place(const struct evr_metadata *meta, unsigned slot,
                                    unsigned ring, uint64_t sequence);
/* Tells whether rings of this file may be streams. */
static inline bool evr_metadata_has_streams(const struct evr_metadata *meta) {
  return meta->header.layout == FORMAT_STREAM;
}
static inline bool evr_metadata_is_stream(const struct evr_metadata *meta, unsigned slot,
                                          unsigned ring) {
  return meta->places[slot][ring].count == EVR_STREAM_PLACES;
}
/* Returns the first sequence after `sequence` whose block a stream may have. To be called
   when block `sequence` is not at its place. */
uint64_t evr_metadata_after(const struct evr_metadata *meta, unsigned slot, unsigned ring,
                            uint64_t sequence);
/* Returns the greatest sequence below `sequence` whose block may be present, or 0 if
   there is none. */
uint64_t evr_metadata_before(const struct evr_metadata *meta, unsigned slot, unsigned ring,
                             uint64_t sequence);
/* Returns the number of places of a ring, or 0 if there is no such ring yet. */
static inline uint32_t evr_metadata_blocks(const struct evr_metadata *meta, unsigned slot,
                                           unsigned ring) {
  return meta->places[slot][ring].count;
}
/* Returns the oldest block that a ring can still hold when `head` is its newest. */
static inline uint64_t evr_metadata_oldest(const struct evr_metadata *meta, unsigned slot,
                                           unsigned ring, uint64_t head) {
  const struct evr_places *places = &meta->places[slot][ring];
  const struct evr_stretches *stream = &meta->units.stream[slot][ring];
  if (meta->header.flags & FORMAT_INCOMPLETE && stream->count) return stream->list[0].sequence;
  if (places->count == EVR_STREAM_PLACES) return 1;
  uint64_t oldest = head >= places->count ? head - places->count + 1 : 1;
  return oldest > places->floor ? oldest : places->floor;
}
/* Returns the first block of the file after the run that contains `block`, or 0 if no run
   of a ring contains it. */
uint64_t evr_metadata_run_end(const struct evr_metadata *meta, uint64_t block);
/* Copies one entry of the domain table, consistent in itself. */
int evr_metadata_domain(const struct evr_metadata *meta, unsigned slot,
                        struct format_domain *domain, struct eventring_error *error);
uint64_t evr_metadata_head_offset(unsigned slot, unsigned ring);
/* Reads the number of the newest block of a ring; 0 if there is none. */
uint64_t evr_metadata_head(struct evr_metadata *meta, unsigned slot, unsigned ring);
static inline uint64_t evr_metadata_ns(const struct evr_metadata *meta, uint64_t ticks) {
  return evr_to_ns(&meta->conversion, ticks);
}
/* Returns the last ticks whose time is not after `ns`, or start_ticks if all times are
   after it. */
uint64_t evr_metadata_ticks(const struct evr_metadata *meta, uint64_t ns);
void evr_metadata_use_segment(struct evr_metadata *meta, uint64_t ticks);
/* Converts ticks to a time, as evr_metadata_ns does, but is faster for ascending
   times. */
static inline uint64_t evr_metadata_next_ns(struct evr_metadata *meta, uint64_t ticks) {
  const struct format_segment *s = &meta->segment;
  if (__builtin_expect(ticks < s->from_ticks || ticks >= meta->segment_end, 0)) {
    evr_metadata_use_segment(meta, ticks);
    return evr_metadata_ns(meta, ticks);
  }
  return s->from_ns + (uint64_t)((unsigned __int128)(ticks - s->from_ticks) *
                                 s->multiplier >> FORMAT_CLOCK_SHIFT);
}
/* Notes damage, unless damage has been noted already. */
void evr_note_damage(struct eventring_error *damage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Notes as damage that block `sequence` of `slot` has too small a number of preceding
   events: the blocks before it had more. */
void evr_note_backwards(struct eventring_error *damage, unsigned slot, uint64_t sequence);

#pragma GCC visibility pop

#endif /* EVENTRING_METADATA_H */
