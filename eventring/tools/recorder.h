/* SPDX-License-Identifier: MIT */
/* recorder.h: stores a live recording in a file while it goes on.
 *
 * One thread fills buffers from the rings (eventring_saver) and hands their pieces to a
 * writer (writer/writer.h), which has as many writes in flight as there are buffers. Now
 * and then it writes the newest blocks, the records and the front, so that the file can
 * be read at any moment, even if the recorder is killed.
 *
 * What cannot be written is counted as lost, and the recorder goes on draining the rings:
 * what it writes later may find room again.
 *
 * The recording may go on in a next file, at any moment (recorder_switch) or by size or
 * time: each file is complete in itself, and each block of events is in exactly one
 * file. */
#ifndef EVENTRING_TOOL_RECORDER_H
#define EVENTRING_TOOL_RECORDER_H

#include "eventring/saver.h"
#include "reader.h"
#include "writer/writer.h"

struct recorder_options {
  const char *path;      /* path of the file, which must not exist yet; see
                            file_names.h */
  bool numbered;         /* the first file has a number, too */
  uint64_t rotate_bytes; /* size on disk at which the next file begins; 0: none */
  uint64_t rotate_ns;    /* time after which the next file begins; 0: no limit */
  unsigned keep;         /* number of the newest files to keep; 0: all */
  int writer;            /* enum writer_kind; -1: the best available */
  unsigned buffers;      /* 1 to 64 */
  size_t buffer_bytes;   /* 64 KiB to 4 MiB */
  int zstd_level;        /* level of compression; 0 for none */
  unsigned zstd_threads; /* at least 1 */
  uint64_t limit_ns;     /* most ns of recording; 0 if there is no limit */
  uint64_t max_bytes;    /* most bytes of all files on disk; 0 if there is no limit */
  bool sync;             /* fsync at the end */
  /* priority of the thread that drains the rings, 1 to 99; 0: normal */
  unsigned realtime;
  void (*progress)(void *context); /* called about once a second; may be NULL */
  void (*attend)(void *context);   /* called every few milliseconds; may be NULL */
  void *context;
};

enum recorder_end {
  RECORDER_PRODUCER, /* the process ended */
  RECORDER_SIGNAL, RECORDER_TIME, RECORDER_SIZE,
  RECORDER_ERROR     /* the recording became unreadable */
};

struct recorder_result {
  enum recorder_end end;
  uint64_t duration_ns;
  uint64_t file_bytes;  /* of all files */
  unsigned files;
  bool failed;          /* an error occurred and was reported */
  bool write_failed;    /* a write failed, which was reported once */
};

struct recorder;
/* Makes the file and all that is needed. Returns NULL after a message. */
struct recorder *recorder_new(struct reader *reader, const struct recorder_options *options);
/* Records to the end. */
void recorder_run(struct recorder *recorder, struct recorder_result *result);
/* Sets *info to what has been saved, in all files. */
void recorder_info(const struct recorder *recorder, struct eventring_saver_info *info);
/* Sets *ring to what has been saved of the n-th ring. Returns less than 0 if there are
   fewer rings. */
int recorder_ring(const struct recorder *recorder, unsigned n,
                  struct eventring_saver_ring *ring);
uint64_t recorder_bytes(const struct recorder *recorder);

/* The functions below are to be called from options.attend. */
/* Requests a switch to the next file. Each call is one switch. */
void recorder_switch(struct recorder *recorder);
/* Tells whether a switch was requested, or a file is still being finished. */
bool recorder_is_switching(const struct recorder *recorder);
/* Ends the recording, as a signal does. */
void recorder_stop(struct recorder *recorder);
/* Returns how many files were begun. */
unsigned recorder_files(const struct recorder *recorder);
/* Returns the path of the file that is being written. The function below returns the path
   of the last finished file, or NULL. */
const char *recorder_file(const struct recorder *recorder);
const char *recorder_last_file(const struct recorder *recorder);
void recorder_free(struct recorder *recorder);

#endif /* EVENTRING_TOOL_RECORDER_H */
