/* SPDX-License-Identifier: MIT */
/* output.h: one file that a recorder writes.
 *
 * An output has a saver, which makes the bytes, and a writer, which writes them. Buffers
 * belong to the recorder: a file that is being finished and the next one share them.
 *
 * An update (newest blocks, records) fills buffers as well. Its front is made when the last
 * of it has been handed out, and written when everything before it is written. The last
 * update ends the file. */
#ifndef EVENTRING_TOOL_OUTPUT_H
#define EVENTRING_TOOL_OUTPUT_H

#include "recorder.h"

enum { PIECES = 128 /* of a buffer */ };

struct output;
struct buffer;
struct piece_job {
  struct write_job job;
  struct eventring_piece piece;
  struct buffer *buffer;
  uint64_t update; /* number of the update before whose front it was submitted */
};

struct buffer {
  uint8_t *bytes;
  unsigned pending; /* jobs that are not finished */
  struct piece_job jobs[PIECES];
};

struct buffers {
  struct buffer *all;
  unsigned count;
  size_t bytes; /* of each */
};
bool buffers_make(struct buffers *buffers, unsigned count, size_t bytes);
void buffers_free(struct buffers *buffers);
/* NULL: all are being written. */
struct buffer *buffers_take(struct buffers *buffers);

enum update_state {
  UPDATE_NONE,
  UPDATE_FILLING, /* newest blocks and records are being copied */
  UPDATE_WAITING, /* for what the front announces */
  UPDATE_WRITING  /* the front */
};

struct output {
  char *path;
  int fd;
  dev_t device;      /* of the file, and its inode */
  ino_t inode;
  bool regular;      /* it has a size */
  uint64_t began;    /* CLOCK_MONOTONIC, ns */
  uint64_t extended; /* bytes that the file has been made long */
  uint64_t first_bytes; /* that it had after the first update: records of the whole run */
  eventring_saver *saver;
  struct writer *writer;
  struct recorder_result *result; /* of the recorder: errors are reported once */
  struct buffer front;
  enum update_state update;
  uint64_t updates;      /* number of the present update */
  unsigned before_front; /* jobs of it that are not finished */
  uint64_t next_update;
  bool has_header;       /* the magic was written */
  bool last_update, done;
  uint64_t failures, failures_said; /* jobs that failed; by the last update of all */
  unsigned repeated;                /* last updates */
};

/* Makes the file, and its writer (enum writer_kind; -1: the best that there is). NULL after a
   message, or without one if something has the name already and `exists` is not NULL. */
struct output *output_open(const char *path, int writer, unsigned buffers,
                           struct recorder_result *result, bool *exists);
/* Removes the file that output_open made. */
void output_discard(struct output *output);
/* Hands out the pieces of a buffer. */
void output_submit(struct output *output, struct buffer *buffer,
                   const struct eventring_piece *pieces, int count);
/* Takes back what is written; waits for it, at most `timeout_ns`. */
void output_reap(struct output *output, uint64_t timeout_ns);
/* Goes on with an update if one is under way or due. */
void output_step(struct output *output, struct buffers *buffers, uint64_t now);
/* Frees all but the file. */
void output_free(struct output *output);

void report_write_error(struct recorder_result *result, const char *path, int error);
void report_read_error(struct recorder_result *result, const struct eventring_error *error);
uint64_t now_ns(void);

#endif /* EVENTRING_TOOL_OUTPUT_H */
