/* SPDX-License-Identifier: MIT */
/* writer.c: the rules of writing (writer.h), for all backends.
 *
 * The jobs under way are a list in the order of submission; jobs that are `running` are
 * in flight. A job is started when no earlier job touches one of its units and the
 * backend has room. Finished jobs leave the list and wait to be returned. */
#include "backend.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "format/now.h"

enum { MOST_TRIES = 10, FIRST_PAUSE_NS = 1000 * 1000 };

struct job_list {
  struct write_job *first, *last;
  unsigned count;
};

struct writer {
  struct write_backend *backend;
  unsigned depth, running;
  size_t unit;
  uint64_t submitted;
  struct job_list under_way, finished;
};

/* ---- Lists -------------------------------------------------------------------- */

static void append(struct job_list *list, struct write_job *job) {
  job->before = list->last;
  job->after = NULL;
  *(list->last ? &list->last->after : &list->first) = job;
  list->last = job;
  list->count++;
}

static void take_out(struct job_list *list, struct write_job *job) {
  *(job->before ? &job->before->after : &list->first) = job->after;
  *(job->after ? &job->after->before : &list->last) = job->before;
  list->count--;
}

/* ---- Order -------------------------------------------------------------------- */

static bool share_a_unit(const struct writer *writer, const struct write_job *a,
                         const struct write_job *b) {
  uint64_t last_of_a = a->offset + (a->size ? a->size - 1 : 0);
  uint64_t last_of_b = b->offset + (b->size ? b->size - 1 : 0);
  return a->offset / writer->unit <= last_of_b / writer->unit &&
         b->offset / writer->unit <= last_of_a / writer->unit;
}

static bool must_wait(const struct writer *writer, const struct write_job *job) {
  for (const struct write_job *other = job->before; other; other = other->before)
    if (share_a_unit(writer, other, job)) return true;
  return false;
}

/* Finishes a job. If it failed, jobs that wait for it fail, too. */
static void finish(struct writer *writer, struct write_job *job, int error) {
  job->error = error;
  take_out(&writer->under_way, job);
  append(&writer->finished, job);
  struct write_job *later = error ? writer->under_way.first : NULL;
  while (later) {
    bool waits = later->number > job->number && share_a_unit(writer, job, later);
    if (waits) finish(writer, later, error);
    later = waits ? writer->under_way.first : later->after;
  }
}

/* ---- Starting ----------------------------------------------------------------- */

/* Tries a job again after a pause, or finishes it after too many tries. */
static void postpone(struct writer *writer, struct write_job *job, int error) {
  if (++job->tries > MOST_TRIES) {
    finish(writer, job, error);
    return;
  }
  job->not_before = now_ns() + ((uint64_t)FIRST_PAUSE_NS << (job->tries - 1));
}

static void start(struct writer *writer, struct write_job *job) {
  int error = writer->backend->start(writer->backend, (const char *)job->from + job->written,
                                     job->size - job->written, job->offset + job->written, job);
  job->running = error == 0;
  writer->running += job->running;
  if (error == EAGAIN)
    postpone(writer, job, error);
  else if (error)
    finish(writer, job, error);
}

static void start_all(struct writer *writer) {
  struct write_job *job = writer->under_way.first;
  while (job && writer->running < writer->depth) {
    struct write_job *next = job->after;
    bool due = !job->not_before || job->not_before <= now_ns();
    if (!job->running && due && !must_wait(writer, job)) {
      unsigned finished = writer->finished.count;
      start(writer, job);
      if (writer->finished.count != finished) next = writer->under_way.first;
    }
    job = next;
  }
}

void writer_submit(struct writer *writer, struct write_job *job) {
  job->written = 0;
  job->error = 0;
  job->running = false;
  job->tries = 0;
  job->not_before = 0;
  job->number = writer->submitted++;
  append(&writer->under_way, job);
  start_all(writer);
}

/* ---- Results ------------------------------------------------------------------ */

/* Takes the result of a write. A write of nothing means that there is no room. */
static void take_result(struct writer *writer, struct write_job *job, ssize_t result) {
  job->running = false;
  writer->running--;
  if (result > 0) {
    job->written += (size_t)result;
    job->tries = 0;
    job->not_before = 0;
    if (job->written >= job->size) finish(writer, job, 0);
  } else if (result == -EAGAIN) {
    postpone(writer, job, EAGAIN);
  } else if (result != -EINTR) {
    finish(writer, job, result < 0 ? (int)-result : ENOSPC);
  }
}

/* Returns the time until the first job that was postponed is due; at most
   `timeout_ns`. */
static uint64_t wait_of(const struct writer *writer, uint64_t timeout_ns) {
  uint64_t now = timeout_ns ? now_ns() : 0;
  if (!timeout_ns) return 0;
  for (const struct write_job *job = writer->under_way.first; job; job = job->after) {
    if (job->running || !job->not_before) continue;
    uint64_t left = job->not_before > now ? job->not_before - now : 1;
    if (left < timeout_ns) timeout_ns = left;
  }
  return timeout_ns;
}

static void nap(uint64_t ns) {
  struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                          .tv_nsec = (long)(ns % 1000000000)};
  nanosleep(&time, NULL);
}

/* Takes the results that have come, and waits for one if there is none. */
static void collect(struct writer *writer, uint64_t wait_ns) {
  void *token;
  ssize_t result;
  if (!writer->running) {
    if (wait_ns && writer->under_way.count) nap(wait_ns);
    return;
  }
  while (writer->running &&
         writer->backend->collect(writer->backend, wait_ns, &token, &result)) {
    take_result(writer, token, result);
    wait_ns = 0;
  }
}

struct write_job *writer_reap(struct writer *writer, uint64_t timeout_ns) {
  uint64_t deadline = timeout_ns ? now_ns() + timeout_ns : 0;
  for (;;) {
    collect(writer, writer->finished.count ? 0 : wait_of(writer, timeout_ns));
    start_all(writer);
    struct write_job *job = writer->finished.first;
    if (job) {
      take_out(&writer->finished, job);
      return job;
    }
    uint64_t now = timeout_ns ? now_ns() : 0;
    if (!writer->under_way.count || now >= deadline) return NULL;
    timeout_ns = deadline - now;
  }
}

unsigned writer_jobs(const struct writer *writer) {
  return writer->under_way.count + writer->finished.count;
}

/* ---- Opening and closing ------------------------------------------------------ */

struct writer *writer_open(enum writer_kind kind, int fd, unsigned depth, size_t unit) {
  struct writer *writer = calloc(1, sizeof *writer);
  if (!writer) return NULL;
  writer->unit = unit;
  writer->depth = kind == WRITER_SERIAL ? 1 : depth;
  writer->backend = write_backend_open(kind, fd, writer->depth);
  if (writer->backend) return writer;
  int error = errno;
  free(writer);
  errno = error;
  return NULL;
}

void writer_close(struct writer *writer) {
  const uint64_t second = 1000000000;
  void *token;
  ssize_t result;
  if (!writer) return;
  while (writer->running)
    if (writer->backend->collect(writer->backend, second, &token, &result)) writer->running--;
  writer->backend->close(writer->backend);
  free(writer);
}
