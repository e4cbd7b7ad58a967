/* SPDX-License-Identifier: MIT */
/* output.h: writes one file for a recorder.
 *
 * An output has a saver, which makes the bytes, and a writer, which writes them. The
 * recorder owns the buffers; a file that is being finished and the next file share them.
 *
 * An update (newest blocks, records) fills buffers as well. Its front is made when all of
 * the update has been handed out, and written when everything before it is written. The
 * last update ends the file.
 *
 * A packed file (writer/pack.h) gets a packet for each front, and up to three for each
 * buffer: the beginnings of units, the other events, and records. A reader that opens the
 * file needs the headers of all units, and must unpack all that is packed with the
 * headers, so little else is packed with them. Threads compress a packet. When its size
 * is known, it gets an offset at the end of the file and is written like any other job. A
 * packet that could not be written is lost as a whole.
 *
 * The name: a file without its front is no recording. So it is called PATH.partial until
 * its first front is written, some milliseconds after it was begun. If the recorder is
 * killed, PATH either does not exist or can be read.
 *
 * A full disk: the front and the first records, without which the rest is not readable,
 * have their space from the beginning. In a plain file this space is at their offsets. In
 * a packed file it is behind the end, and only the packets of the first and the last
 * update may use it. This is why records have packets of their own. */
#ifndef EVENTRING_TOOL_OUTPUT_H
#define EVENTRING_TOOL_OUTPUT_H

#include "recorder.h"
#include "writer/pack.h"

enum { PIECES = 128, /* most pieces of a buffer */
       /* most parts of a buffer's pieces as they are packed, and of one packet */
       PARTS = 256 };

struct output;
struct buffer;
struct piece_job {
  struct write_job job;
  struct pack_job pack;          /* the packet, in a packed file */
  struct eventring_piece *piece; /* one piece; in a packed file, the pieces of a packet */
  unsigned count;                /* number of these pieces */
  struct buffer *buffer;
  uint64_t update; /* number of the update whose front comes after this job */
  int no_room;     /* errno if the file could not be made long enough for the job, else
                      0 */
  bool failed;     /* the job has failed, and waits for earlier jobs */
  bool is_vital;   /* the job may take the reserve */
  struct piece_job *before, *after; /* in the list of those under way */
};

struct buffer {
  uint8_t *bytes;
  uint8_t *packet;     /* room for the buffer's packets; NULL if the file is plain */
  unsigned pending;    /* number of unfinished jobs */
  struct eventring_piece pieces[PARTS];
  struct piece_job jobs[PIECES];
};

struct buffers {
  struct buffer *all;
  unsigned count;
  size_t bytes; /* bytes of each buffer */
};
bool buffers_make(struct buffers *buffers, unsigned count, size_t bytes, bool packed);
void buffers_free(struct buffers *buffers);
/* Returns a buffer that is free, or NULL if all are being written. */
struct buffer *buffers_take(struct buffers *buffers);

enum update_state {
  UPDATE_NONE,
  UPDATE_FILLING, /* newest blocks and records are being copied */
  UPDATE_WAITING, /* the data that the front announces are being written */
  UPDATE_WRITING  /* the front is being written */
};

struct output {
  char *path;
  /* PATH.partial, the file's name until its front was written; NULL after that */
  char *partial;
  int fd;
  dev_t device;      /* device and inode of the file */
  ino_t inode;
  bool regular;      /* the file is a regular file, with a size */
  uint64_t began;    /* CLOCK_MONOTONIC, ns */
  /* length of a plain file, or end of the last written packet of a packed file */
  uint64_t extended;
  uint64_t ended_bytes; /* size of the finished file */
  uint64_t first_bytes; /* size of the file after the first update, which has records of
                           the whole run */
  eventring_saver *saver;
  struct writer *writer;
  struct packer *packer; /* NULL: the file is plain */
  struct piece_job *oldest, *newest; /* jobs under way, in the order of submission */
  unsigned jobs;         /* number of jobs under way */
  uint64_t packets;      /* number of packets begun */
  uint64_t reserved;     /* in a packed file, the end of the allocated space */
  bool cannot_reserve;   /* the file system cannot reserve space */
  uint64_t packed_bytes; /* size of the file, with what is being written */
  uint64_t coming_bytes; /* most bytes of packets that are being compressed */
  struct recorder_result *result; /* the recorder's result, since an error is reported
                                     once for all files */
  struct buffer front;
  enum update_state update;
  uint64_t updates;      /* number of the present update */
  unsigned before_front; /* number of unfinished jobs of this update */
  uint64_t next_update;
  bool has_header;       /* the magic was written */
  bool has_begin;        /* the first word of the file is not 0 */
  bool was_cut;          /* another program has truncated the file */
  bool last_update, done;
  bool again;            /* another front has to follow the one being written */
  uint64_t failures, failures_said; /* number of failed jobs, and of those that the last
                                       update has recorded */
  unsigned repeated, last_fronts;   /* number of last updates, and of their fronts, that
                                       had to be repeated */
  bool front_failed;                /* the front that was written last has failed */
};

/* Makes the file `path`, and its writer and packer as the options say. Returns NULL after
   a message; without a message if the name exists and `exists` is not NULL. */
struct output *output_open(const char *path, const struct recorder_options *options,
                           struct recorder_result *result, bool *exists);
/* Returns the most bytes that the packets of a buffer with `bytes` take. */
size_t output_packed_room(size_t bytes);
/* Returns the size of the file when it is done; before that, the bytes handed out, for a
   packed file as far as known. */
uint64_t output_bytes(const struct output *output);
/* Removes the file that output_open made. */
void output_discard(struct output *output);
/* Hands out the pieces of a buffer. */
void output_submit(struct output *output, struct buffer *buffer,
                   const struct eventring_piece *pieces, int count);
/* Takes back what was written; waits for it at most `timeout_ns`. */
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
