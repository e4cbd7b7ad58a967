/* SPDX-License-Identifier: MIT */
/* saver.h: turns a recording into the bytes of another file, also while it goes on. For
 * tools: may change in any version (doc/VERSIONS.md).
 *
 * Threads: a function that takes an `eventring_saver *` may be called by one thread at a
 * time, and by none while another thread calls a function that takes its cursor.
 */
#ifndef EVENTRING_SAVER_PUBLIC_H
#define EVENTRING_SAVER_PUBLIC_H

#include "eventring/read.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- Saving a recording, also while it goes on ---------------------------
 *
 * A saver turns a recording into the bytes of another file, a stream (see FORMAT.md),
 * which any cursor opens. The file has all records and all blocks of events. For a live
 * process, it has the blocks that could be copied before the producer overwrote them. The
 * recording may be of any layout: rings, streams, a copy. A saver writes nothing itself.
 * It fills buffers of the caller and describes, as pieces, where in the file their bytes
 * belong. So the caller may write in any way, with many buffers in flight. The producer
 * does not notice.
 *
 * A saver and its cursor are used by one thread at a time. The saver neither uses nor
 * moves the cursor's position. A recording loop:
 *
 *   eventring_saver_fill     as often as possible: whole blocks of events
 *   eventring_saver_update   now and then, and at the end, until there is no more: the
 *                            newest blocks, records, losses
 *   eventring_saver_front    after that: the first 64 KiB of the file. They are written
 *                            after all pieces that were handed out before, and after the
 *                            file has been made eventring_saver_size bytes long; then the
 *                            file can be read, whatever happens to its writer. Of the two
 *                            pieces the second, which has the magic, is written last, and
 *                            is needed the first time and at the end only.
 *
 * Pieces that touch the same unit of the file are to be written in the order in which
 * they were handed out, and not at all if the piece before them failed. All other pieces
 * may be written in any order. */

typedef struct eventring_saver eventring_saver;

/* Bytes of the front of a file, of a block, and of a unit (the aligned group of blocks
   that a stream gets at once). */
enum {
  EVENTRING_FRONT_BYTES = 65536,
  EVENTRING_BLOCK_BYTES = 4096,
  EVENTRING_UNIT_BYTES = 16 * EVENTRING_BLOCK_BYTES
};

enum eventring_piece_kind {
  EVENTRING_PIECE_EVENTS = 0,  /* whole blocks of events */
  EVENTRING_PIECE_NEWEST = 1,  /* the newest block of a ring; a later piece replaces it */
  EVENTRING_PIECE_RECORDS = 2, /* blocks of records, some of which replace earlier ones */
  EVENTRING_PIECE_FRONT = 3
};
struct eventring_piece {
  uint64_t offset; /* offset in the file, in bytes */
  size_t from;     /* first byte in the buffer */
  size_t size;     /* number of bytes */
  unsigned kind;   /* enum eventring_piece_kind */
};

/* What a saver is to do. Fields that are 0 change nothing. */
struct eventring_saver_options {
  uint64_t max_bytes;  /* limit of the length of the file; 0 for 4 TiB */
  uint64_t since_ns;   /* CLOCK_MONOTONIC: each ring begins as after
                          eventring_cursor_seek; what is before that is missed */
  uint64_t until_ns;   /* eventring_saver_end ends each ring with the last block that
                          begins at this time or before */
  /* bit d % 64 of domains[d / 64]: slot d is saved; all bits 0: all slots are */
  uint64_t domains[2];
  bool checked;        /* each block is checked as a reader checks it: a damaged one is
                          left out and counted, and so are those parts of a damaged block
                          of records that readers do not use. Otherwise only headers are
                          checked, because the rings of a live process must be copied
                          quickly */
  bool stripped;       /* texts of the program are replaced by as many letters: names of
                          the program, of domains, of classes and rings of the host, and
                          of definitions of class user and the host's classes, with unit,
                          doc and fields; payloads that are text or bytes or of an unknown
                          form; texts of errors. Equal texts have equal replacements in
                          the file. Implies `checked` */
  bool keeps_names;    /* with stripped: names of domains, classes, rings, definitions and
                          functions stay, but not the files of functions */
  bool copy;           /* the file is a copy of the recording as it is: the front of the
                          last update says so, and, of a live process, that the recording
                          went on. eventring_remove leaves it alone */
  const struct eventring_saver_part *part; /* not NULL: the file holds several recordings,
                                              and what is saved becomes one part of it.
                                              The first call is eventring_saver_end, which
                                              fails with E_FULL if more than 128 domains
                                              ran at once; then come fills and updates;
                                              the last part has the front. Implies
                                              `checked`; not possible with `stripped`. A
                                              failed write ends the file */
  /* the saver of the part before this one, after its last update; NULL if this is the
     first part. That saver then has no file, and must be closed */
  eventring_saver *behind;
};
/* A recording, and what becomes of it in a file of several. The saver reads this
   structure until it is closed.
     Domains: each slot gets one of the 128 slots of the file, and its incarnations keep
     their order. When none is free, a slot is used again whose domains had all stopped
     before; the incarnations go on counting. A domain is called `PROGRAM[PID] NAME`. What
     does not fit is cut from the program, down to 8 bytes, and then from the name. A
     domain that ran when its process ended counts as stopped at that time, and its open
     spans end there, while other processes go on. Definitions of the same kind, class and
     name become one if they agree in all that matters to a reader; if not, a later one is
     called `NAME (2)`. Classes, kinds and origins of memory are matched by their names;
     when no number is left for a class, its events are in class user. A ring with
     different names in different parts has no name. Equal functions and stacks become
     one. An id whose events have no definition gets an id of its own. Links of async
     spans and flows are local to a process: the number of the process, less 1, is added
     to their 16 high bits, so that links of two processes differ.
     Not kept: all names of a domain but the last; footprints, unless the recording is
     alone. For each suspension, the time for which a context was suspended differs by at
     most one unit of time. */
struct eventring_saver_part {
  const char *source;  /* name of the recording in the merged file */
  int64_t shift_ns;    /* ns added to the times of the recording */
  bool alone; /* the recording is the only part: names of domains stay as they are */
  bool shared_links;   /* equal links are those of one flow through several processes */
  unsigned twin;       /* 1, 2, ... among parts of one program and pid, or 0 */
  unsigned coarse;     /* times are in units of 2^coarse ns (the slowest clock's) */
  uint64_t start_ns;   /* the earliest time that an event may have; not 0 */
  int64_t start_wall_ns;
  const char *program;
  pid_t pid;           /* pid of the process; 0 for several processes */
};
/* Makes a saver of the recording that `cursor` reads. It must be closed before the
   cursor. Returns 0, E_ARGUMENT or E_MEMORY; with `stripped` or `part` also the errors of
   reading. */
int eventring_saver_open(eventring_saver **saver, eventring_cursor *cursor,
                         const struct eventring_saver_options *options,
                         struct eventring_error *error);
void eventring_saver_close(eventring_saver *saver);

/* Copies complete blocks into the buffer (8-byte aligned, at least 4096 bytes), up to the
   heads seen at the beginning of the call. Begins with the ring whose blocks will be
   overwritten first. `room` is the number of pieces that fit, at least 8. Returns the
   number of pieces (0 if no block was complete) and stores in *used the number of bytes
   of the buffer that they cover. Errors: E_CORRUPT, E_TRUNCATED, E_SYSTEM, E_MEMORY;
   E_ARGUMENT. Damaged blocks are left out. */
int eventring_saver_fill(eventring_saver *saver, void *buffer, size_t size,
                         struct eventring_piece *pieces, size_t room, size_t *used,
                         struct eventring_error *error);
/* Copies what fills have left for later (a part of 64 KiB of the file, which are written
   whole where that can wait), the newest block of each ring that is not far behind, and
   the new records. Parameters, result and errors are those of eventring_saver_fill.
   Stores in *more whether the update goes on: the next call continues it. */
int eventring_saver_update(eventring_saver *saver, void *buffer, size_t size,
                           struct eventring_piece *pieces, size_t room, size_t *used,
                           bool *more, struct eventring_error *error);
/* Makes the front, as of the last update, in `buffer`, which has EVENTRING_FRONT_BYTES.
   `file_bytes` is the length of the file, if it could not be made long enough. `is_last`
   says that the last update was the final one: the front then says so, and until then
   says that the recording goes on. Returns 0, EVENTRING_AGAIN if another update and front
   are needed after this front is written (once, at the end of a file that is continued in
   another one), or an error of eventring_saver_fill. */
int eventring_saver_front(eventring_saver *saver, void *buffer, uint64_t file_bytes,
                          bool is_last, struct eventring_piece pieces[2],
                          struct eventring_error *error);
/* Writes the next part of a copy, up to 256 KiB, into the file `fd`, which is empty at
   first. Replaces fill, update and front. The call before the first one is
   eventring_saver_end, with `over` from the liveness of the cursor. Sets *more if another
   call is needed. `is_last` is false for all but the last of several recordings, which
   has the front. `path` is for messages. Returns 0, an error of reading, E_LIMIT (the
   file would be too long), E_SPACE or E_SYSTEM (it cannot be written). */
int eventring_saver_write(eventring_saver *saver, int fd, const char *path, bool is_last,
                          bool *more, struct eventring_error *error);
/* Sets the end of the file to the present position of the rings. From then on fills copy
   up to there, and an update that begins when nothing is left to fill is the last one. To
   be called when the cursor's liveness is no longer LIVE (`over` true), or earlier.
   Returns 0 or an error of reading. */
int eventring_saver_end(eventring_saver *saver, bool over, struct eventring_error *error);
/* Ends the file of `saver` with the blocks copied so far, and makes the saver of the next
   file in *next, which goes on with the following block of each ring. Each event is in
   one of the two files; the blocks that are being filled belong to the next one. The file
   of `saver` still needs its last update and its front, twice (EVENTRING_AGAIN). Both
   savers use the same cursor, one at a time. To be called between two updates or within
   one, not after eventring_saver_end. `max_bytes` is the limit of the next file. Returns
   0, E_ARGUMENT, E_STATE (the file has ended) or E_MEMORY; on failure nothing is
   changed. */
int eventring_saver_next(eventring_saver *saver, eventring_saver **next, uint64_t max_bytes,
                         struct eventring_error *error);
/* Reports that the first `written` bytes of a piece are in the file. The rest counts as
   lost, except events of which the file has an earlier copy. To be called for each piece
   when its write has ended, with the buffer unchanged. If a block was written in part,
   the caller has, if possible, overwritten its first word with 0. In a packed file a
   packet is written or not: `written` is piece->size or 0, and a failure is reported
   after the results of all pieces that were handed out before it. */
void eventring_saver_written(eventring_saver *saver, const void *buffer,
                             const struct eventring_piece *piece, size_t written);
/* Returns the size of the file in bytes, with all pieces handed out so far. */
uint64_t eventring_saver_size(const eventring_saver *saver);

/* A file may be packed: compressed, in packets, each of which has the bytes of some
   pieces (FORMAT.md, section 16). Any cursor reads it like the plain file that the pieces
   make. These functions make its headers; the caller compresses. A packed file begins
   with its header. Packets follow at multiples of EVENTRING_PACKET_ALIGNMENT bytes, in
   any order. They are written like pieces, but only fronts must be written in order. */
enum {
  EVENTRING_PACKED_HEADER_BYTES = 64,
  EVENTRING_PACKET_ALIGNMENT = 64,
  EVENTRING_PACKET_MOST_PIECES = 256,
  EVENTRING_PACKET_MOST_BYTES = 4 << 20 /* bytes of the pieces of a packet */
};
/* Makes the header of a packed file, EVENTRING_PACKED_HEADER_BYTES. Any thread. */
void eventring_packed_header(void *to);
/* Returns the bytes of the header of a packet. Any thread. */
static inline size_t eventring_packet_header_bytes(size_t pieces) { return 64 + 16 * pieces; }
/* Makes the header of a packet with these pieces; ignores their `from`. `sequence`:
   number of the packet, from 1, in the order in which its pieces were handed out.
   `plain_bytes`: eventring_saver_size at that time. `frame_bytes`: of the frame of zstd
   that follows the header, with the bytes of the pieces one after the other. Zeros up to
   the next multiple of EVENTRING_PACKET_ALIGNMENT end the packet. `is_last`: the packet
   is the front of the last update. Returns the bytes of the header; 0: a size is out of
   range. Any thread. */
size_t eventring_packet_header(void *to, uint64_t sequence, uint64_t plain_bytes,
                               const struct eventring_piece *pieces, size_t count,
                               size_t frame_bytes, bool is_last);

/* Events: known = missed + saved + lost. */
struct eventring_saver_ring {
  uint32_t domain;     /* slot */
  uint8_t ring;
  uint64_t known;      /* events written into the ring, as far as blocks were copied */
  /* events overwritten before the saver was opened, earlier than since_ns, or in earlier
     files */
  uint64_t missed;
  uint64_t saved;      /* events in the file */
  /* events overwritten before they were copied, damaged, not written, or lost when the
     recording was made */
  uint64_t lost;
  uint64_t unwritten;  /* number of the lost events that could not be written */
  uint64_t blocks;     /* blocks copied */
  uint64_t gaps;
  /* ns, summed over gaps: time from the last event before the gap to the first event
     after it */
  uint64_t lost_ns;
  uint64_t longest_gap;/* most blocks that were overwritten at once */
  uint32_t places;     /* blocks of the ring; 0 if it is a stream */
  uint64_t backlog;    /* blocks not copied yet, at the last fill */
  uint64_t damaged;    /* blocks that were present, but not valid */
};
struct eventring_saver_info {
  uint64_t known, missed, saved, lost, unwritten, blocks, gaps; /* sums over all rings */
  uint64_t lost_ns;   /* ns in which any ring lost something */
  uint32_t rings;
  uint64_t backlog;   /* complete blocks not copied yet, by the heads of the last call */
  double fullest;     /* greatest backlog of a ring at the last fill: 0 to 1 */
  bool full;          /* max_bytes is reached: nothing more that does not fit is copied */
  uint64_t damaged;   /* damaged blocks of all rings */
  uint32_t domains;   /* for a part: its domains, at its end */
  uint32_t classes_lost; /* for a part: its classes for which there was no number left */
};
/* Adds the account of a ring to a sum. Any thread. */
static inline void eventring_saver_add(struct eventring_saver_info *sum,
                                       const struct eventring_saver_ring *ring) {
  sum->known += ring->known;
  sum->missed += ring->missed;
  sum->saved += ring->saved;
  sum->lost += ring->lost;
  sum->unwritten += ring->unwritten;
  sum->blocks += ring->blocks;
  sum->gaps += ring->gaps;
  sum->damaged += ring->damaged;
}
void eventring_saver_info(eventring_saver *saver, struct eventring_saver_info *info);
/* Fills *info with the account of the n-th ring, in the order in which they were found.
   E_NOT_FOUND if there are fewer; E_ARGUMENT. */
int eventring_saver_ring(eventring_saver *saver, unsigned n,
                         struct eventring_saver_ring *info);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_SAVER_PUBLIC_H */
