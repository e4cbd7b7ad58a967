/* SPDX-License-Identifier: MIT */
/* writer.h: writes many pieces of a file at once.
 *
 *   writer.c          the rules for all: order, short writes, errors; below them one of
 *   writer_serial.c   pwrite by the caller itself, for comparison
 *   writer_threads.c  pwrite by threads
 *   writer_aio.c      POSIX AIO
 *
 * A job is a piece of memory and an offset in the file. Jobs may be finished in any
 * order, with one exception: jobs that touch the same unit of the file (of a size that
 * the user chooses) are written one after the other, as submitted. If one of these jobs
 * fails, the jobs that wait for it fail, too.
 *
 * Rules: after a short write, the rest is written. After EINTR, the write is tried again;
 * after EAGAIN, or if the queue has no room, it is tried again after a pause that
 * doubles, from 1 ms on, at most ten times. All other errors end the job: `written` says
 * how much was written.
 *
 * A writer and its jobs belong to one thread. Nothing here ends the process or prints. */
#ifndef EVENTRING_TOOL_WRITER_H
#define EVENTRING_TOOL_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum writer_kind { WRITER_SERIAL, WRITER_THREADS, WRITER_AIO, WRITER_KINDS };
extern const char *const writer_names[]; /* names of the kinds; ends with NULL */

struct write_job {
  /* set by the user, and unchanged while the job is under way */
  const void *from;
  size_t size;
  uint64_t offset;
  /* set when the job is finished */
  size_t written;
  int error; /* errno, or 0 if all is written */
  /* used by the writer: */
  struct write_job *before, *after; /* neighbours in the list of jobs under way, in
                                       order */
  uint64_t number;
  bool running;
  unsigned tries;       /* number of failed attempts */
  uint64_t not_before;  /* earliest time of the next attempt (CLOCK_MONOTONIC, ns) */
};

struct writer;
/* Makes a writer with up to `depth` (1 to 64) writes in flight, of a file with units of
   `unit` bytes. Returns NULL, with errno, on failure (ENOSYS: this build or this machine
   lacks the kind). */
struct writer *writer_open(enum writer_kind kind, int fd, unsigned depth, size_t unit);
/* Queues a job. Blocks only with WRITER_SERIAL. */
void writer_submit(struct writer *writer, struct write_job *job);
/* Returns a finished job; waits for one, at most `timeout_ns`. Returns NULL if none is
   finished. */
struct write_job *writer_reap(struct writer *writer, uint64_t timeout_ns);
/* Returns how many jobs were submitted and not returned. */
unsigned writer_jobs(const struct writer *writer);
/* Waits for writes in flight. Jobs that were not returned are forgotten. */
void writer_close(struct writer *writer);

#endif /* EVENTRING_TOOL_WRITER_H */
