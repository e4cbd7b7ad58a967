/* SPDX-License-Identifier: MIT */
/* stream.h: rings of a recording whose blocks are appended and never used again
   (stream.c). */
#ifndef EVENTRING_STREAM_H
#define EVENTRING_STREAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "eventring/types.h"

#pragma GCC visibility push(hidden)

struct evr_recording;
struct evr_stream_lane;
struct evr_writer;

struct evr_streams { /* the streams of a recording; all zero if it has none */
  uint32_t rings;   /* bit n: ring n of each domain is a stream */
  uint32_t work;    /* futex: raised when there is work for the helper */
  uint32_t stopped; /* atomic: the helper is to end */
  uint32_t has_ended; /* the helper has ended; atomic */
  bool has_helper;
  pthread_t helper;
  uint32_t count;   /* number of lanes; release */
  struct evr_stream_lane *lane[EVENTRING_MAX_DOMAINS * EVENTRING_RINGS];
};

/* Starts the helper. Without it (no thread could be made), lanes do its work. */
void evr_streams_start(struct evr_recording *recording);
/* Ends the helper and waits for that. */
void evr_streams_stop(struct evr_recording *recording);
/* Gives back reserved disk space that was not used, at the end. */
void evr_streams_trim_locked(struct evr_recording *recording);
/* Ends the helper as evr_streams_stop does, without waiting. Async-signal-safe. */
void evr_streams_dismiss(struct evr_recording *recording);
/* Makes the mappings read-only in a forked child. Async-signal-safe. */
void evr_streams_protect(struct evr_recording *recording);
/* Unmaps and frees everything. */
void evr_streams_free(struct evr_recording *recording);
/* Makes the writer of a ring that is a stream. Returns NULL with *error when out of
   memory. */
struct evr_writer *evr_stream_writer_locked(struct evr_recording *recording, unsigned slot,
                                            enum eventring_ring ring,
                                            struct eventring_error *error);
/* Counts all events of lanes that have no block in the file, at the end. */
void evr_streams_count_aside_locked(struct evr_recording *recording);

#pragma GCC visibility pop

#endif /* EVENTRING_STREAM_H */
