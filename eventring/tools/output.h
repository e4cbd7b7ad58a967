/* SPDX-License-Identifier: MIT */
/* output.h: one file that a recorder writes.
 *
 * An output has a saver, which makes the bytes, and a writer, which writes them. Buffers
 * belong to the recorder: a file that is being finished and the next one share them.
 *
 * An update (newest blocks, records) fills buffers as well. Its front is made when the
 * last of it has been handed out, and written when everything before it is written. The
 * last update ends the file.
 *
 * A packed file (writer/pack.h) gets a packet for each front, and up to three for each
 * buffer: what begins a unit, the other events, and records. A reader that opens the file
 * needs the headers of all units, and must unpack what is packed with them; so that is
 * little. The bytes of a packet get a place, at the end of the file, when their number is
 * known, and are then written like any other job; until then threads compress them. A
 * packet that could not be written is lost as a whole.
 *
 * The name: a file without its front is no recording. So it is called PATH.partial until
 * the first front is written, some milliseconds after it was begun: if the recorder is
 * killed, there is either no PATH or one that can be read.
 *
 * A full disk: what makes the rest a readable file, the front and the first records, has
 * its space from the beginning: in a plain file in its place; in a packed file as some
 * space behind its end, which only the packets of the first and the last update may take.
 * Packets of records are separate for that. */
#ifndef EVENTRING_TOOL_OUTPUT_H
#define EVENTRING_TOOL_OUTPUT_H

#include "recorder.h"
#include "writer/pack.h"

enum { PIECES = 128, /* of a buffer */
       /* of its pieces, as they are packed; also the most that a packet has */
       PARTS = 256 };

struct output;
struct buffer;
struct piece_job {
  struct write_job job;
  struct pack_job pack;          /* of a packed file */
  struct eventring_piece *piece; /* one, or those of a packet if the file is packed */
  unsigned count;                /* of the pieces */
  struct buffer *buffer;
  uint64_t update; /* number of the update before whose front it was submitted */
  int no_room;     /* why the file is not long enough for its end; 0: it is */
  bool failed;     /* it failed, and waits for those before it */
  bool is_vital;   /* it may take what is reserved */
  struct piece_job *before, *after; /* under way */
};

struct buffer {
  uint8_t *bytes;
  uint8_t *packet;     /* room for its packets in a packed file; NULL: the file is
                          plain */
  unsigned pending;    /* jobs that are not finished */
  struct eventring_piece pieces[PARTS];
  struct piece_job jobs[PIECES];
};

struct buffers {
  struct buffer *all;
  unsigned count;
  size_t bytes; /* of each */
};
bool buffers_make(struct buffers *buffers, unsigned count, size_t bytes, bool packed);
void buffers_free(struct buffers *buffers);
/* Returns a buffer that is free, or NULL if all are being written. */
struct buffer *buffers_take(struct buffers *buffers);

enum update_state {
  UPDATE_NONE,
  UPDATE_FILLING, /* newest blocks and records are being copied */
  UPDATE_WAITING, /* for what the front announces */
  UPDATE_WRITING  /* the front is being written */
};

struct output {
  char *path;
  /* PATH.partial, its name until the front was written; NULL: it has its own */
  char *partial;
  int fd;
  dev_t device;      /* of the file, and its inode */
  ino_t inode;
  bool regular;      /* it has a size */
  uint64_t began;    /* CLOCK_MONOTONIC, ns */
  /* bytes: of a plain file, its length; of a packed file, up to the end of the last
     packet that was written */
  uint64_t extended;
  uint64_t ended_bytes; /* that the file has when it is done */
  uint64_t first_bytes; /* that it had after the first update: records of the whole run */
  eventring_saver *saver;
  struct writer *writer;
  struct packer *packer; /* NULL: the file is plain */
  struct piece_job *oldest, *newest; /* under way, in the order of submission */
  unsigned jobs;         /* under way */
  uint64_t packets;      /* that were begun */
  uint64_t reserved;     /* of a packed file: up to where it has its space */
  bool cannot_reserve;   /* its file system cannot reserve */
  uint64_t packed_bytes; /* of the file, with what is being written */
  uint64_t coming_bytes; /* that packets which are being compressed may take */
  struct recorder_result *result; /* of the recorder: errors are reported once */
  struct buffer front;
  enum update_state update;
  uint64_t updates;      /* number of the present update */
  unsigned before_front; /* jobs of this update that are not finished */
  uint64_t next_update;
  bool has_header;       /* the magic was written */
  bool has_begin;        /* the first word of the file is not 0 */
  bool was_cut;          /* by another program */
  bool last_update, done;
  bool again;            /* the front that is being written is not the last one */
  uint64_t failures, failures_said; /* jobs that failed; those of them that the last
                                       update said */
  unsigned repeated, last_fronts;   /* last updates, and their fronts, that were not the
                                       last */
  bool front_failed;                /* the front that was written last has failed */
};

/* Makes the file `path`, and its writer and packer as the options say. Returns NULL after
   a message, or without a message if something has the name already and `exists` is not
   NULL. */
struct output *output_open(const char *path, const struct recorder_options *options,
                           struct recorder_result *result, bool *exists);
/* Returns how much the packets of a buffer with `bytes` take at most. */
size_t output_packed_room(size_t bytes);
/* Returns the bytes of the file when it is done; before that, the bytes that were handed
   out, as far as they are known if it is packed. */
uint64_t output_bytes(const struct output *output);
/* Removes the file that output_open made. */
void output_discard(struct output *output);
/* Hands out the pieces of a buffer. */
void output_submit(struct output *output, struct buffer *buffer,
                   const struct eventring_piece *pieces, int count);
/* Takes back what is written; waits for it, at most `timeout_ns`. */
void output_reap(struct output *output, uint64_t timeout_ns);
/* Tells whether another buffer may be handed out. */
bool output_may_submit(const struct output *output);
/* Tells whether anything is being written. */
bool output_is_busy(const struct output *output);
/* Continues an update if one is under way or due. */
void output_step(struct output *output, struct buffers *buffers, uint64_t now);
/* Waits until the file, and its name in its directory, are on their disk. Returns 0 or an
   errno. */
int output_sync(int fd, const char *path);
/* Frees everything but the file. */
void output_free(struct output *output);

void report_write_error(struct recorder_result *result, const char *path, int error);
void report_read_error(struct recorder_result *result, const struct eventring_error *error);

#endif /* EVENTRING_TOOL_OUTPUT_H */
