/* SPDX-License-Identifier: MIT */
/* recorder.h: keeps a live recording in a file, as it goes on.
 *
 * One thread fills buffers out of the rings (eventring_saver) and hands their pieces to a
 * writer (writer/writer.h), which has as many writes in flight as there are buffers. Now
 * and then the newest blocks, the records and the front are written, so that the file can
 * be read at any moment, also when the recorder is killed.
 *
 * What cannot be written is counted as lost, and the recorder goes on: it drains the rings,
 * and what it writes after that may find room again. */
#ifndef EVENTRING_TOOL_RECORDER_H
#define EVENTRING_TOOL_RECORDER_H

#include "follow.h"
#include "writer/writer.h"

struct recorder_options {
  const char *path;      /* of the file, which must not exist yet */
  int writer;            /* enum writer_kind; -1: the best that there is */
  unsigned buffers;      /* 1 to 64 */
  size_t buffer_bytes;   /* 64 KiB to 4 MiB */
  uint64_t limit_ns;     /* of recording; 0: none */
  uint64_t max_bytes;    /* of the file; 0: none */
  bool sync;             /* fsync at the end */
  void (*progress)(void *context); /* called about once a second; may be NULL */
  void *context;
};

enum recorder_end {
  RECORDER_PRODUCER, /* the process ended */
  RECORDER_SIGNAL, RECORDER_TIME, RECORDER_SIZE,
  RECORDER_ERROR     /* the recording cannot be read any more */
};

struct recorder_result {
  enum recorder_end end;
  enum writer_kind writer;
  uint64_t duration_ns;
  uint64_t cpu_ns;      /* of this process */
  uint64_t file_bytes;
  uint64_t waits;       /* fills that found no free buffer */
  uint64_t fills;
  int write_error;      /* the first one; 0: none */
  bool failed;          /* something went wrong, and was reported */
};

struct recorder;
/* Makes the file and all that is needed; NULL after a message. */
struct recorder *recorder_new(struct reader *reader, const struct recorder_options *options);
/* Records to the end. */
void recorder_run(struct recorder *recorder, struct recorder_result *result);
/* What has been saved. */
eventring_saver *recorder_saver(struct recorder *recorder);
void recorder_free(struct recorder *recorder);

#endif /* EVENTRING_TOOL_RECORDER_H */
