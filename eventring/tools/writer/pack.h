/* SPDX-License-Identifier: MIT */
/* pack.h: makes packets of a packed recording, in threads.
 *
 * A job is a packet: the pieces of a buffer, compressed with zstd into memory that the
 * user gives. Jobs are finished in any order. The user gives a finished packet its offset
 * in the file, since its size is known only then.
 *
 * A packer and its jobs belong to one thread. Nothing here ends the process or prints. */
#ifndef EVENTRING_TOOL_PACK_H
#define EVENTRING_TOOL_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring/saver.h"

enum { PACK_LEAST_LEVEL = 1, PACK_MOST_LEVEL = 19, PACK_MOST_THREADS = 64 };

struct pack_job {
  /* set by the user, and unchanged while the job is under way */
  const uint8_t *buffer;
  const struct eventring_piece *pieces; /* pieces of `buffer` */
  size_t count;                         /* number of pieces, at least 1 */
  uint64_t sequence, plain_bytes;       /* arguments of eventring_packet_header */
  bool is_last;
  uint8_t *to;
  size_t room; /* bytes at `to`, at least pack_room */
  /* set when the job is finished */
  size_t size; /* bytes of the packet */
  int error;   /* errno, or 0 after success */
  /* used by the packer: */
  struct pack_job *after;
};

/* Tells whether this program was built with zstd. */
bool pack_is_built(void);
/* Returns the most bytes that a packet of `count` pieces with `bytes` bytes takes. */
size_t pack_room(size_t bytes, size_t count);
struct packer;
/* Makes a packer with up to `threads` threads. Returns NULL, with errno, on failure
   (ENOSYS: this build has no zstd). */
struct packer *packer_open(int level, unsigned threads);
/* Queues a job. Blocks only if no thread can be made; then this thread does the job at
   once. */
void packer_submit(struct packer *packer, struct pack_job *job);
/* Returns a finished job; waits for one, at most `timeout_ns`. Returns NULL if none is
   finished. */
struct pack_job *packer_reap(struct packer *packer, uint64_t timeout_ns);
/* Returns how many jobs were submitted and not returned. */
unsigned packer_jobs(const struct packer *packer);
/* Waits for running jobs. Jobs that were not returned are forgotten. */
void packer_close(struct packer *packer);

#endif /* EVENTRING_TOOL_PACK_H */
