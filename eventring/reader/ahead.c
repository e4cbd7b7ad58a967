/* SPDX-License-Identifier: MIT */
/* ahead.c: a thread that reads and decodes the blocks of a ring before they are needed.
 *
 * Copying blocks out of the file and checking them depends only on the file, so a
 * separate thread does it while the reader delivers the events of earlier blocks. The
 * reader says which blocks it will need (only the reader knows where they lie), takes
 * them in the order in which it has asked for them, and treats them like blocks that it
 * reads itself. A block that the thread cannot read, or that is not valid, is read again
 * by the reader, which reports the error.
 *
 * Where events are delivered in batches, the thread decodes them, too (decode.c). It has
 * copies of what decoding depends on: the definitions and the segments of the clock.
 * Definitions never change once they exist. The thread does not know definitions that
 * were added after it started, and leaves their events to the reader. If the clock has
 * got another segment since, the reader decodes the block itself. Decoding is shared: the
 * thread decodes only while it is more than LEAD pieces ahead of the reader, and hands
 * over the other pieces undecoded. So thread and reader take about the same time,
 * whatever the reader does with a batch.
 *
 * The pieces are a circle. Three numbers, which only grow, divide it:
 *
 *   asked   pieces that were asked for          written by the reader
 *   filled  pieces that the thread has read     written by the thread
 *   done    pieces that the reader is done with written by the reader
 *
 * with done <= filled <= asked <= done + PIECES. The pieces from `filled` up to `asked`
 * belong to the thread, the others to the reader. `asked` and `filled` are stored with
 * release, after what was written into the piece, and loaded with acquire by the side
 * that does not write them. `done` is relaxed: the thread uses it only to estimate how
 * far ahead it is. The store of `asked` hands a piece that the reader is done with back
 * to the thread.
 *
 * Reader and thread sleep on a condition variable when they have nothing to do. The
 * thread is woken when half of the pieces are asked for, or when the reader waits. So it
 * works on many pieces at a time, and switches between the threads, which can take longer
 * than a piece, are rare.
 */
#include "reader/ahead.h"

#include "format/law.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECES = 8, LEAD = 2 /* pieces that the reader has left when one is decoded */ };

struct evr_ahead {
  struct evr_ahead_ring ring;
  struct evr_meaning meaning; /* owned; if `batched` is NULL, nothing is decoded */
  uint64_t asked, filled, done;
  bool holds;   /* the reader is using piece `done` */
  bool stopped; /* the reader has told the thread to end; guarded by the mutex */
  bool sleeps;  /* the thread sleeps; guarded by the mutex */
  bool waits;   /* the reader waits; guarded by the mutex */
  /* the process that started the thread: a child of a fork does not have it */
  pid_t process;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t asking, filling; /* the thread and the reader sleep on these */
  struct evr_ahead_piece piece[PIECES];
};

static struct evr_ahead_piece *piece_at(struct evr_ahead *ahead, uint64_t number) {
  return &ahead->piece[number % PIECES];
}

/* ---- The thread ------------------------------------------------------------------ */

static void decode(const struct evr_meaning *meaning, struct evr_ahead_piece *piece) {
  for (unsigned i = 0; i < piece->count; i++)
    if (piece->valid[i]) evr_decode_block(meaning, &piece->block[i], &piece->decoding[i]);
  piece->segments = meaning->conversion.segments;
}

/* Tells whether the reader has enough pieces left to be busy while the thread decodes
   one. */
static bool has_lead(const struct evr_ahead *ahead) {
  return ahead->filled - __atomic_load_n(&ahead->done, __ATOMIC_RELAXED) > LEAD;
}

static void fill(const struct evr_ahead *ahead, struct evr_ahead_piece *piece) {
  const struct evr_ahead_ring *ring = &ahead->ring;
  piece->count = evr_blocks_copy(ring->source, piece->offset, piece->sequence, ring->head_offset,
                                 ring->ring_blocks, piece->block, piece->asked);
  for (unsigned i = 0; i < piece->count; i++)
    piece->valid[i] = evr_block_valid(&piece->block[i], piece->sequence + i, ring->slot,
                                      ring->ring, ring->start_ticks);
  piece->segments = 0;
  if (piece->wanted && ahead->meaning.batched && has_lead(ahead)) decode(&ahead->meaning, piece);
}

/* Sleeps until something is asked for. Returns false when the thread is to end. */
static bool await_work(struct evr_ahead *ahead) {
  pthread_mutex_lock(&ahead->mutex);
  /* acquire: pairs with the release store of `asked` in evr_ahead_ask: a thread that sees
     the new number sees the request in the piece, and the reader has finished with the
     piece's former content */
  while (!ahead->stopped && __atomic_load_n(&ahead->asked, __ATOMIC_ACQUIRE) == ahead->filled) {
    ahead->sleeps = true;
    pthread_cond_wait(&ahead->asking, &ahead->mutex);
  }
  ahead->sleeps = false;
  bool goes_on = !ahead->stopped;
  pthread_mutex_unlock(&ahead->mutex);
  return goes_on;
}

static void report_filled(struct evr_ahead *ahead) {
  pthread_mutex_lock(&ahead->mutex);
  /* release: pairs with the acquire load in filled_now: a reader that sees the new number
     sees what was read into the piece */
  __atomic_store_n(&ahead->filled, ahead->filled + 1, __ATOMIC_RELEASE);
  if (ahead->waits) pthread_cond_signal(&ahead->filling);
  pthread_mutex_unlock(&ahead->mutex);
}

static void *work(void *context) {
  struct evr_ahead *ahead = context;
  while (await_work(ahead)) {
    fill(ahead, piece_at(ahead, ahead->filled));
    report_filled(ahead);
  }
  return NULL;
}

/* ---- The reader ------------------------------------------------------------------ */

static uint64_t filled_now(const struct evr_ahead *ahead) {
  /* acquire: pairs with the release store of `filled` in report_filled */
  return __atomic_load_n(&ahead->filled, __ATOMIC_ACQUIRE);
}

/* Tells whether done <= filled <= asked <= done + PIECES holds, with the value of
   `filled` that the reader sees. */
static inline bool is_lawful(const struct evr_ahead *ahead) {
  uint64_t filled = filled_now(ahead);
  return ahead->done + ahead->holds <= filled && filled <= ahead->asked &&
         ahead->asked - ahead->done <= PIECES;
}

/* Waits until `count` pieces are filled. */
static void await_filled(struct evr_ahead *ahead, uint64_t count) {
  if (filled_now(ahead) >= count) return;
  pthread_mutex_lock(&ahead->mutex);
  ahead->waits = true;
  if (ahead->sleeps) pthread_cond_signal(&ahead->asking);
  while (filled_now(ahead) < count) pthread_cond_wait(&ahead->filling, &ahead->mutex);
  ahead->waits = false;
  pthread_mutex_unlock(&ahead->mutex);
}

static void release(struct evr_ahead *ahead) {
  __atomic_store_n(&ahead->done, ahead->done + ahead->holds, __ATOMIC_RELAXED);
  ahead->holds = false;
}

bool evr_ahead_has_room(const struct evr_ahead *ahead) {
  return ahead->asked - ahead->done < PIECES;
}

void evr_ahead_ask(struct evr_ahead *ahead, uint64_t sequence, uint64_t offset, unsigned count,
                   bool wanted) {
  struct evr_ahead_piece *piece = piece_at(ahead, ahead->asked);
  piece->sequence = sequence;
  piece->offset = offset;
  piece->asked = count;
  piece->wanted = wanted;
  /* release: pairs with the acquire load of `asked` in await_work */
  __atomic_store_n(&ahead->asked, ahead->asked + 1, __ATOMIC_RELEASE);
  EVR_LAW(is_lawful(ahead));
  if (ahead->asked - filled_now(ahead) < PIECES / 2) return;
  pthread_mutex_lock(&ahead->mutex);
  if (ahead->sleeps) pthread_cond_signal(&ahead->asking);
  pthread_mutex_unlock(&ahead->mutex);
}

uint64_t evr_ahead_first(const struct evr_ahead *ahead) {
  uint64_t next = ahead->done + ahead->holds;
  return next < ahead->asked ? ahead->piece[next % PIECES].sequence : 0;
}

struct evr_ahead_piece *evr_ahead_take(struct evr_ahead *ahead) {
  release(ahead);
  await_filled(ahead, ahead->done + 1);
  ahead->holds = true;
  EVR_LAW(is_lawful(ahead));
  return piece_at(ahead, ahead->done);
}

void evr_ahead_forget(struct evr_ahead *ahead) {
  await_filled(ahead, ahead->asked);
  __atomic_store_n(&ahead->done, ahead->asked, __ATOMIC_RELAXED);
  ahead->holds = false;
  EVR_LAW(is_lawful(ahead));
}

/* ---- Its life -------------------------------------------------------------------- */

static bool has_processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > 1;
}

/* Starts the thread with all signals blocked: they are for the program's threads. */
static bool start_thread(struct evr_ahead *ahead) {
  sigset_t all, before;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN + 65536);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = pthread_create(&ahead->thread, &attributes, work, ahead) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (started) pthread_setname_np(ahead->thread, "eventring ahead");
  pthread_attr_destroy(&attributes);
  return started;
}

static void free_all(struct evr_ahead *ahead) {
  free((void *)ahead->meaning.batched);
  free((void *)ahead->meaning.conversion.segment);
  free(ahead);
}

static void destroy(struct evr_ahead *ahead) {
  pthread_cond_destroy(&ahead->filling);
  pthread_cond_destroy(&ahead->asking);
  pthread_mutex_destroy(&ahead->mutex);
  free_all(ahead);
}

/* Returns a copy, or NULL if there is no memory. */
static void *copy_of(const void *from, size_t bytes) {
  void *copy = malloc(bytes);
  return copy ? memcpy(copy, from, bytes) : NULL;
}

static void copy_meaning(struct evr_ahead *ahead, const struct evr_ahead_ring *ring) {
  struct evr_meaning *meaning = &ahead->meaning;
  uint32_t segments = ring->batched ? ring->conversion->segments : 0;
  if (!segments) return;
  meaning->contents = ring->contents;
  struct format_segment *segment =
      copy_of(ring->conversion->segment, segments * sizeof *ring->conversion->segment);
  meaning->conversion = (struct evr_conversion){segment, segments};
  if (segment)
    meaning->batched = copy_of(ring->batched, EVENTRING_MAX_EVENTS * sizeof *ring->batched);
}

struct evr_ahead *evr_ahead_start(const struct evr_ahead_ring *ring) {
  struct evr_ahead *ahead = has_processors() ? calloc(1, sizeof *ahead) : NULL;
  if (!ahead) return NULL;
  ahead->ring = *ring;
  ahead->process = getpid();
  copy_meaning(ahead, ring);
  pthread_mutex_init(&ahead->mutex, NULL);
  pthread_cond_init(&ahead->asking, NULL);
  pthread_cond_init(&ahead->filling, NULL);
  if (start_thread(ahead)) return ahead;
  destroy(ahead);
  return NULL;
}

bool evr_ahead_is_here(const struct evr_ahead *ahead) { return ahead->process == getpid(); }

void evr_ahead_end(struct evr_ahead *ahead) {
  if (!ahead) return;
  if (!evr_ahead_is_here(ahead)) {
    free_all(ahead);
    return;
  }
  pthread_mutex_lock(&ahead->mutex);
  ahead->stopped = true;
  pthread_cond_signal(&ahead->asking);
  pthread_mutex_unlock(&ahead->mutex);
  pthread_join(ahead->thread, NULL);
  destroy(ahead);
}
