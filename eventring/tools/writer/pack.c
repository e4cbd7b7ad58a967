/* SPDX-License-Identifier: MIT */
/* pack.c: makes packets of a packed recording, in threads.
 *
 * One lock guards two queues: of waiting jobs and of finished jobs. A job that finds no
 * idle thread gets a new thread, up to the number allowed. Each thread has a context of
 * its own, which it makes for its first job. */
#include "pack.h"

#include <errno.h>

#ifdef HAVE_LIBZSTD

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "format/now.h"

struct queue {
  struct pack_job *first, *last;
  unsigned count;
};

struct packer {
  int level;
  unsigned threads, most, idle;
  unsigned jobs; /* number of jobs submitted and not returned; used by the user's thread
                    only */
  bool closing;
  struct queue waiting, finished;
  pthread_mutex_t lock; /* guards idle, closing and both queues */
  pthread_cond_t has_work, has_result;
  pthread_t thread[PACK_MOST_THREADS];
};

bool pack_is_built(void) { return true; }

/* ---- Queues ------------------------------------------------------------------- */

static void put(struct queue *queue, struct pack_job *job) {
  job->after = NULL;
  *(queue->last ? &queue->last->after : &queue->first) = job;
  queue->last = job;
  queue->count++;
}

static struct pack_job *take(struct queue *queue) {
  struct pack_job *job = queue->first;
  if (!job) return NULL;
  queue->first = job->after;
  if (!queue->first) queue->last = NULL;
  queue->count--;
  return job;
}

/* ---- A packet ----------------------------------------------------------------- */

static size_t aligned(size_t size) {
  return (size + EVENTRING_PACKET_ALIGNMENT - 1) / EVENTRING_PACKET_ALIGNMENT *
         EVENTRING_PACKET_ALIGNMENT;
}

size_t pack_room(size_t bytes, size_t count) {
  return aligned(eventring_packet_header_bytes(count) + ZSTD_compressBound(bytes));
}

static size_t bytes_of(const struct pack_job *job) {
  size_t bytes = 0;
  for (size_t i = 0; i < job->count; i++) bytes += job->pieces[i].size;
  return bytes;
}

/* Compresses the pieces into one frame. Returns its size, or an error of zstd. */
static size_t make_frame(ZSTD_CCtx *context, const struct pack_job *job, uint8_t *to,
                         size_t room) {
  ZSTD_outBuffer out = {to, room, 0};
  size_t left = ZSTD_CCtx_reset(context, ZSTD_reset_session_only);
  if (!ZSTD_isError(left)) left = ZSTD_CCtx_setPledgedSrcSize(context, bytes_of(job));
  for (size_t i = 0; i < job->count && !ZSTD_isError(left); i++) {
    bool is_last = i + 1 == job->count;
    ZSTD_inBuffer in = {job->buffer + job->pieces[i].from, job->pieces[i].size, 0};
    do left = ZSTD_compressStream2(context, &out, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
    while (!ZSTD_isError(left) && out.pos < out.size && (is_last ? left != 0 : in.pos < in.size));
  }
  return ZSTD_isError(left) ? left : out.pos;
}

static ZSTD_CCtx *make_context(int level) {
  ZSTD_CCtx *context = ZSTD_createCCtx();
  if (!context) return NULL;
  if (!ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)) &&
      !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)))
    return context;
  ZSTD_freeCCtx(context);
  return NULL;
}

/* Makes a packet. (zstd fails only when out of memory, as there is room for the largest
   possible frame.) */
static void pack(ZSTD_CCtx *context, struct pack_job *job) {
  size_t header = eventring_packet_header_bytes(job->count);
  size_t frame = context ? make_frame(context, job, job->to + header, job->room - header) : 0;
  job->error = ENOMEM;
  job->size = 0;
  if (!context || ZSTD_isError(frame)) return;
  job->error = EINVAL;
  if (eventring_packet_header(job->to, job->sequence, job->plain_bytes, job->pieces, job->count,
                              frame, job->is_last) != header)
    return;
  job->error = 0;
  job->size = aligned(header + frame);
  memset(job->to + header + frame, 0, job->size - header - frame);
}

/* ---- Threads ------------------------------------------------------------------ */

static void finish_locked(struct packer *packer, struct pack_job *job) {
  put(&packer->finished, job);
  pthread_cond_signal(&packer->has_result);
}

static void *work(void *of) {
  struct packer *packer = of;
  ZSTD_CCtx *context = NULL;
  pthread_mutex_lock(&packer->lock);
  for (;;) {
    packer->idle++;
    while (!packer->waiting.count && !packer->closing)
      pthread_cond_wait(&packer->has_work, &packer->lock);
    packer->idle--;
    if (packer->closing) break;
    struct pack_job *job = take(&packer->waiting);
    pthread_mutex_unlock(&packer->lock);
    if (!context) context = make_context(packer->level);
    pack(context, job);
    pthread_mutex_lock(&packer->lock);
    finish_locked(packer, job);
  }
  pthread_mutex_unlock(&packer->lock);
  ZSTD_freeCCtx(context);
  return NULL;
}

/* Makes a thread that gets no signals, which are for the user's thread. */
static void make_thread(struct packer *packer) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  if (pthread_create(&packer->thread[packer->threads], NULL, work, packer) == 0)
    packer->threads++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void pack_here(struct packer *packer, struct pack_job *job) {
  ZSTD_CCtx *context = make_context(packer->level);
  pack(context, job);
  ZSTD_freeCCtx(context);
  pthread_mutex_lock(&packer->lock);
  finish_locked(packer, job);
  pthread_mutex_unlock(&packer->lock);
}

/* ---- Jobs --------------------------------------------------------------------- */

void packer_submit(struct packer *packer, struct pack_job *job) {
  packer->jobs++;
  pthread_mutex_lock(&packer->lock);
  bool needs_thread = packer->idle <= packer->waiting.count;
  pthread_mutex_unlock(&packer->lock);
  if (needs_thread && packer->threads < packer->most) make_thread(packer);
  if (!packer->threads) {
    pack_here(packer, job);
    return;
  }
  pthread_mutex_lock(&packer->lock);
  put(&packer->waiting, job);
  pthread_cond_signal(&packer->has_work);
  pthread_mutex_unlock(&packer->lock);
}

struct pack_job *packer_reap(struct packer *packer, uint64_t timeout_ns) {
  uint64_t until = now_ns() + timeout_ns;
  struct timespec deadline = {.tv_sec = (time_t)(until / 1000000000),
                              .tv_nsec = (long)(until % 1000000000)};
  int status = 0;
  if (!packer->jobs) return NULL;
  pthread_mutex_lock(&packer->lock);
  while (timeout_ns && !packer->finished.count && status == 0)
    status = pthread_cond_timedwait(&packer->has_result, &packer->lock, &deadline);
  struct pack_job *job = take(&packer->finished);
  pthread_mutex_unlock(&packer->lock);
  packer->jobs -= job != NULL;
  return job;
}

unsigned packer_jobs(const struct packer *packer) { return packer->jobs; }

/* ---- Opening and closing ------------------------------------------------------ */

struct packer *packer_open(int level, unsigned threads) {
  pthread_condattr_t monotonic;
  struct packer *packer = calloc(1, sizeof *packer);
  if (!packer) return NULL;
  packer->level = level;
  packer->most = threads < PACK_MOST_THREADS ? threads : PACK_MOST_THREADS;
  pthread_mutex_init(&packer->lock, NULL);
  pthread_cond_init(&packer->has_work, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&packer->has_result, &monotonic);
  pthread_condattr_destroy(&monotonic);
  return packer;
}

void packer_close(struct packer *packer) {
  if (!packer) return;
  pthread_mutex_lock(&packer->lock);
  packer->closing = true;
  pthread_cond_broadcast(&packer->has_work);
  pthread_mutex_unlock(&packer->lock);
  for (unsigned i = 0; i < packer->threads; i++) pthread_join(packer->thread[i], NULL);
  pthread_mutex_destroy(&packer->lock);
  pthread_cond_destroy(&packer->has_work);
  pthread_cond_destroy(&packer->has_result);
  free(packer);
}

#else

bool pack_is_built(void) { return false; }

size_t pack_room(size_t bytes, size_t count) {
  return bytes + eventring_packet_header_bytes(count);
}

struct packer *packer_open(int level, unsigned threads) {
  (void)level, (void)threads;
  errno = ENOSYS;
  return NULL;
}

void packer_submit(struct packer *packer, struct pack_job *job) { (void)packer, (void)job; }

struct pack_job *packer_reap(struct packer *packer, uint64_t timeout_ns) {
  (void)packer, (void)timeout_ns;
  return NULL;
}

unsigned packer_jobs(const struct packer *packer) {
  (void)packer;
  return 0;
}

void packer_close(struct packer *packer) { (void)packer; }

#endif
