/* SPDX-License-Identifier: MIT */
/* saver.h: makes the bytes of another file of a recording, also while it goes on. For
 * tools: free to change in any version (doc/VERSIONS.md).
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
 * which any cursor opens: all blocks of events, of a live process those that could be
 * copied before the producer used their places again, and all records. The recording may
 * be of any layout: rings, streams, a copy. A saver writes nothing itself. It fills
 * buffers of the caller and says in pieces where in the file their bytes belong, so that
 * the caller may write in any way, with many buffers under way. The producer does not
 * notice.
 *
 * A saver is used by one thread at a time, together with its cursor, whose position it
 * neither uses nor moves. A recording loop:
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
 * they were handed out, and not at all if the one before them failed. All other pieces
 * may be written in any order. */

typedef struct eventring_saver eventring_saver;

/* Bytes of the front of a file, of a block, and of a unit: the blocks that a stream gets
   at once, aligned. */
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
  uint64_t offset; /* in the file, in bytes */
  size_t from;     /* first byte in the buffer */
  size_t size;     /* bytes */
  unsigned kind;   /* enum eventring_piece_kind */
};

/* What a saver is to do. Fields that are 0 change nothing. */
struct eventring_saver_options {
  uint64_t max_bytes;  /* the file does not become longer; 0: no limit but 4 TiB */
  uint64_t since_ns;   /* CLOCK_MONOTONIC: each ring begins as after
                          eventring_cursor_seek; what is before that is missed */
  uint64_t until_ns;   /* eventring_saver_end ends each ring with the last block that
                          begins at this time or before */
  uint64_t domains[2]; /* bit d % 64 of domains[d / 64]: slot d is saved; none: all */
  bool checked;        /* each block is checked as a reader checks it: a damaged one is
                          left out, and counted, and of a damaged block of records what
                          readers do not use. Otherwise only headers are, as the rings
                          of a live process want to be copied quickly */
  bool stripped;       /* texts of the program are replaced by letters, as many: names
                          of the program, of domains, of classes and rings of the host,
                          and of definitions of class user and the host's classes, with
                          unit, doc and fields; payloads that are text or bytes or not
                          understood; texts of errors. The same text has the same
                          replacement in the file. Implies `checked` */
  bool keeps_names;    /* of these, names of domains, classes, rings, definitions and
                          functions stay, but not the files that these are in */
  bool copy;           /* the file is a copy of the recording as it is: the front of
                          the last update says so, and of a live process, that it went
                          on. eventring_remove leaves it alone */
  const struct eventring_saver_part *part; /* NULL, or: the file is of several
                                              recordings, and what is saved becomes a
                                              part of it. First comes
                                              eventring_saver_end, which then fails
                                              with E_FULL if there are more than 128
                                              domains at once, then fills and updates;
                                              the last part has the front. Implies
                                              `checked`; not with `stripped`. A failed
                                              write ends the file */
  eventring_saver *behind; /* the saver of the part before this one, after its last
                              update; NULL: this is the first one. It has no file then,
                              and is to be closed */
};
/* A recording, and what becomes of it in the file of several. The structure is read until
   the saver is closed.
     Domains: each slot gets one of the 128 slots, and keeps its incarnations' order. When
     none is left, a slot is used whose domains had all stopped before: their incarnations
     go on counting. A domain is called `PROGRAM[PID] NAME`; what does not fit is cut from
     the program, to 8 bytes, and then from the name. A domain that ran when its process
     ended has stopped then: others go on, and its open spans did not last longer.
     Definitions of the same kind, class and name become one, if they agree in all that
     matters to a reader; if not, a later one is called `NAME (2)`. Classes, kinds and
     origins of memory go by their names; when there is no number left for a class, its
     events are in class user. A ring that is called differently has no name. Functions
     and stacks that agree become one. An id whose events are without definition gets one
     of its own. Links of async spans and flows are numbers of a process: the number of
     the process, less 1, is added to their 16 high bits, so that those of two processes
     do not meet.
     Not kept: all but the last name of a domain; what memory was used for, if it is not
     alone. How long a context was suspended differs by at most one unit of time for each
     time that it was. */
struct eventring_saver_part {
  const char *source;  /* what the recording is called there */
  int64_t shift_ns;    /* is added to its times */
  bool alone;          /* it is the only one: names of domains stay as they are */
  bool shared_links;   /* equal links are those of one flow through several processes */
  unsigned twin;       /* 1, 2, ... among those of the same program and pid, or 0 */
  /* 1, 2, ... of those of one program and pid; 0: the only one */
  unsigned coarse;     /* times are in units of 2^coarse ns, those of the slowest clock */
  uint64_t start_ns;   /* the earliest time that an event may have; not 0 */
  int64_t start_wall_ns;
  const char *program;
  pid_t pid;           /* 0: of several processes */
};
/* Makes a saver of the recording that `cursor` reads. It must be closed before the
   cursor. Returns 0, E_ARGUMENT or E_MEMORY; and with `stripped` or `part` what reading
   fails with. */
int eventring_saver_open(eventring_saver **saver, eventring_cursor *cursor,
                         const struct eventring_saver_options *options,
                         struct eventring_error *error);
void eventring_saver_close(eventring_saver *saver);

/* Copies complete blocks into the buffer (8-byte aligned, at least 4096 bytes), those of
   the ring first that will be overwritten first, up to the heads seen at the beginning of
   the call. `room`: pieces that fit, at least 8. Returns the number of pieces (0: nothing
   was complete) and stores in *used the bytes of the buffer that they cover. Errors:
   E_CORRUPT, E_TRUNCATED, E_SYSTEM, E_MEMORY; E_ARGUMENT. Damaged blocks are left out. */
int eventring_saver_fill(eventring_saver *saver, void *buffer, size_t size,
                         struct eventring_piece *pieces, size_t room, size_t *used,
                         struct eventring_error *error);
/* Copies what fills have left for later (the begin of a 64 KiB of the file, which is
   written whole where that can wait), the newest block of each ring that is not far
   behind, and the records that are new. Parameters, result and errors as above. Stores in
   *more whether the update goes on: the next call continues it. */
int eventring_saver_update(eventring_saver *saver, void *buffer, size_t size,
                           struct eventring_piece *pieces, size_t room, size_t *used,
                           bool *more, struct eventring_error *error);
/* Makes the front, as of the last update, into `buffer` of EVENTRING_FRONT_BYTES.
   `file_bytes`: how long the file is, if it could not be made long enough. `is_last`:
   that update was the last, and the front says so; before that it says that the recording
   goes on. Returns 0; EVENTRING_AGAIN: when it is written another update and front are
   needed (once, at the end of a file that another one goes on with); or an error as
   above. */
int eventring_saver_front(eventring_saver *saver, void *buffer, uint64_t file_bytes,
                          bool is_last, struct eventring_piece pieces[2],
                          struct eventring_error *error);
/* Writes the next part of a copy, up to 256 KiB, into the file `fd`, which is empty at
   first; the first call is eventring_saver_end, with what the liveness of the cursor
   says. *more: the next call goes on. `is_last`: false for all but the last of several
   parts, which has the front. `path`: for messages. In the place of fill, update and
   front. Returns 0 or an error as above, E_LIMIT (the file would be too long), E_SPACE or
   E_SYSTEM (it cannot be written). */
int eventring_saver_write(eventring_saver *saver, int fd, const char *path, bool is_last,
                          bool *more, struct eventring_error *error);
/* Sets the end of the file: where the rings are now. From here on fill copies up to
   there, and an update that begins when nothing is left to fill is the last one. To be
   called when the cursor's liveness is no longer LIVE (`over` true), or earlier. Returns
   0 or an error as above. */
int eventring_saver_end(eventring_saver *saver, bool over, struct eventring_error *error);
/* Ends the file of `saver` with the blocks copied so far, and makes the saver of the next
   file in *next, which goes on with the following block of each ring: each event is in
   one of the two, the blocks that are being filled belong to the next one. The file of
   `saver` still needs its last update and its front, twice (EVENTRING_AGAIN). Both savers
   use the same cursor, one at a time. To be called between two updates or within one, not
   after eventring_saver_end. `max_bytes`: of the next file. Returns 0, E_ARGUMENT,
   E_STATE (the file has ended) or E_MEMORY, with which nothing is changed. */
int eventring_saver_next(eventring_saver *saver, eventring_saver **next, uint64_t max_bytes,
                         struct eventring_error *error);
/* Says what became of a piece, whose buffer is unchanged: of its bytes the first
   `written` are in the file. The others are counted as lost, except events of which an
   earlier copy is there. To be called for each piece when its write has ended. The caller
   has overwritten the first word of a block that was written in part with 0, as far as it
   could. In a packed file a packet is written or not: `written` is piece->size or 0, and
   what was not written is told after what has become of all pieces that were handed out
   before it. */
void eventring_saver_written(eventring_saver *saver, const void *buffer,
                             const struct eventring_piece *piece, size_t written);
/* Returns the bytes that the file has by now, or will have. */
uint64_t eventring_saver_size(const eventring_saver *saver);

/* A file may be packed: compressed, in packets, each of which has the bytes of some
   pieces (FORMAT.md, section 16). Any cursor reads it as it reads the plain file that the
   pieces make. These make its headers; the compression is the caller's. A packed file
   begins with its header. Packets follow at multiples of EVENTRING_PACKET_ALIGNMENT
   bytes, in any order, written like pieces, but without an order among those that are not
   fronts. */
enum {
  EVENTRING_PACKED_HEADER_BYTES = 64,
  EVENTRING_PACKET_ALIGNMENT = 64,
  EVENTRING_PACKET_MOST_PIECES = 256,
  EVENTRING_PACKET_MOST_BYTES = 4 << 20 /* of the pieces of a packet */
};
/* Makes the header of a packed file, EVENTRING_PACKED_HEADER_BYTES. Any thread. */
void eventring_packed_header(void *to);
/* Returns the bytes of the header of a packet. Any thread. */
static inline size_t eventring_packet_header_bytes(size_t pieces) { return 64 + 16 * pieces; }
/* Makes the header of a packet with these pieces, whose `from` does not count.
   `sequence`: number of the packet, from 1, in the order in which its pieces were handed
   out. `plain_bytes`: eventring_saver_size by then. `frame_bytes`: of the frame of zstd
   that follows the header, with the bytes of the pieces one after the other. Zeros up to
   the next multiple of EVENTRING_PACKET_ALIGNMENT end the packet. `is_last`: it is the
   front of the last update. Returns the bytes of the header; 0: a size is out of range.
   Any thread. */
size_t eventring_packet_header(void *to, uint64_t sequence, uint64_t plain_bytes,
                               const struct eventring_piece *pieces, size_t count,
                               size_t frame_bytes, bool is_last);

/* Events: known = missed + saved + lost. */
struct eventring_saver_ring {
  uint32_t domain;     /* slot */
  uint8_t ring;
  uint64_t known;      /* events written into the ring, as far as blocks were copied */
  uint64_t missed;     /* overwritten before the saver came, before since_ns, in
                          earlier files */
  uint64_t saved;      /* in the file */
  uint64_t lost;       /* overwritten before they were copied, damaged, not written, or
                          lost when the recording was made */
  uint64_t unwritten;  /* of these: could not be written */
  uint64_t blocks;     /* copied */
  uint64_t gaps;
  uint64_t lost_ns;    /* between the last event before and the first after each gap */
  uint64_t longest_gap;/* blocks that were overwritten at once, at most */
  uint32_t places;     /* blocks of the ring; 0: it is a stream */
  uint64_t backlog;    /* blocks not copied yet, at the last fill */
  uint64_t damaged;    /* blocks that were there, and not valid */
};
struct eventring_saver_info {
  uint64_t known, missed, saved, lost, unwritten, blocks, gaps; /* of all rings */
  uint64_t lost_ns;   /* time in which any ring lost something */
  uint32_t rings;
  uint64_t backlog;   /* complete blocks not copied yet, by the heads of the last call */
  double fullest;     /* greatest backlog of a ring at the last fill: 0 to 1 */
  bool full;          /* max_bytes is reached: what does not fit is not copied any more */
  uint64_t damaged;   /* blocks of all rings */
  uint32_t domains;   /* of a part: its domains, at its end */
  uint32_t classes_lost; /* its classes for which there was no number left */
};
/* Adds the account of a ring to a sum: the counts that both have. Any thread. */
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
   E_NOT_FOUND: there are fewer; E_ARGUMENT. */
int eventring_saver_ring(eventring_saver *saver, unsigned n,
                         struct eventring_saver_ring *info);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_SAVER_PUBLIC_H */
