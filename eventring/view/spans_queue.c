/* SPDX-License-Identifier: MIT */
/* spans_queue.c: hands spans to a thread.
 *
 * `filled` and `taken` count buffers under the lock. The reader waits when it is BUFFERS
 * ahead of the thread; the thread waits when the reader is not ahead of it. A buffer is a
 * sequence of entries: kind, size, and then the bytes of the entry. */
#include "view/spans_queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 4, BUFFER = 256 << 10 };

enum kind { OWN, BEGIN, SPAN, PLAIN, BATCH, HALVE };

struct entry {
  uint32_t kind, size; /* size: including what is behind it; a multiple of 8 */
};

struct own {
  struct page_owner owner;
  uint32_t track;
};

struct batch { /* `ended` and `opened` are behind it */
  uint64_t earliest_ns, latest_ns;
  uint32_t track, depth_around, ended, opened;
};

struct buffer {
  size_t used;
  union {
    max_align_t aligned;
    char bytes[BUFFER + PAGE_VALUE_ITEM]; /* reading a short value may go beyond it */
  };
};

struct page_spans_queue {
  struct page_spans *spans;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned filled, taken;
  bool has_thread, over;
  int status; /* result of the spans, under the lock */
  struct buffer buffer[BUFFERS];
};

struct page_spans_queue *page_spans_queue_new(struct page_spans *spans) {
  struct page_spans_queue *queue = calloc(1, sizeof *queue);
  if (!queue) return NULL;
  queue->spans = spans;
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->changed, NULL);
  return queue;
}

void page_spans_queue_free(struct page_spans_queue *queue) {
  if (!queue) return;
  page_spans_queue_end(queue);
  pthread_mutex_destroy(&queue->lock);
  pthread_cond_destroy(&queue->changed);
  free(queue);
}

/* ---- Taking ----------------------------------------------------------------------- */

static int take_batch(struct page_spans *spans, const struct batch *from) {
  const struct eventring_brief *ended = (const struct eventring_brief *)(from + 1);
  const struct eventring_batch batch = {
      .ended = ended, .opened = ended + from->ended, .ended_count = from->ended,
      .opened_count = from->opened, .depth_around = from->depth_around,
      .earliest_ns = from->earliest_ns, .latest_ns = from->latest_ns};
  return page_spans_batch(spans, &batch, from->track);
}

static int take_own(struct page_spans *spans, const struct own *from) {
  return page_spans_own(spans, from->track, &from->owner);
}

/* Takes an entry. (This thread copies the value: memory that one thread allocates and
   another one frees makes them wait for each other.) */
static inline int take_entry(struct page_spans *spans, struct entry *entry) {
  void *data = entry + 1;
  switch ((enum kind)entry->kind) {
    case OWN: return take_own(spans, data);
    case BEGIN: return page_spans_begin(spans, data);
    case SPAN: return page_spans_add(spans, data);
    case PLAIN: return page_spans_add_plain(spans, data);
    case BATCH: return take_batch(spans, data);
    case HALVE: return page_spans_halve(spans);
  }
  return EVENTRING_OK;
}

/* Prefetches what the entry at `at` needs in this step, and returns where the
   next one begins. */
static inline size_t look_ahead(const struct page_spans *spans, const struct buffer *buffer,
                                size_t at, int step) {
  if (at >= buffer->used) return at;
  const struct entry *entry = (const struct entry *)(buffer->bytes + at);
  if (entry->kind == PLAIN)
    page_spans_soon(spans, ((const struct page_plain_span *)(entry + 1))->id, step);
  return at + entry->size;
}

static int take_buffer(struct page_spans *spans, struct buffer *buffer) {
  enum { AHEAD = 8 };
  const bool looks = page_spans_names(spans) > AHEAD * AHEAD;
  int status = EVENTRING_OK;
  size_t ahead[2] = {0, 0}; /* position of each step */
  for (int i = 0; i < AHEAD && looks; i++) {
    ahead[0] = look_ahead(spans, buffer, ahead[0], 0);
    if (i >= AHEAD / 2) ahead[1] = look_ahead(spans, buffer, ahead[1], 1);
  }
  for (size_t at = 0; at < buffer->used && status == EVENTRING_OK;) {
    struct entry *entry = (struct entry *)(buffer->bytes + at);
    for (int step = 0; step < 2 && looks; step++)
      ahead[step] = look_ahead(spans, buffer, ahead[step], step);
    status = take_entry(spans, entry);
    at += entry->size;
  }
  buffer->used = 0;
  return status;
}

/* Waits for a full buffer. Returns false if no more will come. */
static bool next_full(struct page_spans_queue *queue) {
  pthread_mutex_lock(&queue->lock);
  while (queue->taken == queue->filled && !queue->over)
    pthread_cond_wait(&queue->changed, &queue->lock);
  const bool more = queue->taken != queue->filled;
  pthread_mutex_unlock(&queue->lock);
  return more;
}

static void *take_all(void *context) {
  struct page_spans_queue *queue = context;
  while (next_full(queue)) {
    const int status = take_buffer(queue->spans, &queue->buffer[queue->taken % BUFFERS]);
    pthread_mutex_lock(&queue->lock);
    if (queue->status == EVENTRING_OK) queue->status = status;
    queue->taken++;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
  }
  return NULL;
}

/* ---- Handing over ----------------------------------------------------------------- */

/* Hands over the buffer, which is full. (Without a thread, this function takes its
   entries.) */
static int turn(struct page_spans_queue *queue) {
  if (!queue->has_thread) {
    queue->over = false;
    queue->has_thread = pthread_create(&queue->thread, NULL, take_all, queue) == 0;
  }
  if (!queue->has_thread) {
    const int status = take_buffer(queue->spans, &queue->buffer[queue->filled % BUFFERS]);
    if (queue->status == EVENTRING_OK) queue->status = status;
    return queue->status;
  }
  pthread_mutex_lock(&queue->lock);
  queue->filled++;
  pthread_cond_signal(&queue->changed);
  while (queue->filled - queue->taken == BUFFERS) pthread_cond_wait(&queue->changed, &queue->lock);
  const int status = queue->status;
  pthread_mutex_unlock(&queue->lock);
  return status;
}

/* Makes an entry. Returns where its `size` bytes go, or NULL when out of memory, also if
   the spans have run out of it. */
static inline void *put(struct page_spans_queue *queue, enum kind kind, size_t size) {
  struct buffer *buffer = &queue->buffer[queue->filled % BUFFERS];
  const size_t all = (sizeof(struct entry) + size + 7) & ~(size_t)7;
  if (__builtin_expect(buffer->used + all > BUFFER, 0)) {
    if (turn(queue) < 0) return NULL;
    buffer = &queue->buffer[queue->filled % BUFFERS];
  }
  struct entry *entry = (struct entry *)(buffer->bytes + buffer->used);
  *entry = (struct entry){kind, (uint32_t)all};
  buffer->used += all;
  return entry + 1;
}

int page_spans_queue_own(struct page_spans_queue *queue, uint32_t track,
                         const struct page_owner *owner) {
  struct own *to = put(queue, OWN, sizeof *to);
  if (!to) return EVENTRING_E_MEMORY;
  *to = (struct own){*owner, track};
  return EVENTRING_OK;
}

/* Copies bytes. (Not inlined: if the compiler knew that there are few, it would choose an
   instruction that is slow to start.) */
static __attribute__((noinline)) void copy_many(void *to, const void *from, size_t size) {
  memcpy(to, from, size);
}

static inline void copy_bytes(char *to, const char *from, size_t size) {
  enum { WORD = sizeof(uint64_t) };
  if (size < WORD || size > 2 * WORD) {
    copy_many(to, from, size);
    return;
  }
  memcpy(to, from, WORD); /* the two copies may overlap */
  memcpy(to + size - WORD, from + size - WORD, WORD);
}

int page_spans_queue_begin(struct page_spans_queue *queue, const struct eventring_event *event,
                           uint32_t track) {
  const size_t size = event->bytes ? event->size : 0, kept = size <= PAGE_MOST_VALUE ? size : 0;
  struct page_span_begin *to = put(queue, BEGIN, sizeof *to + kept);
  if (!to) return EVENTRING_E_MEMORY;
  to->ns = event->ns;
  to->track = track;
  to->depth = event->depth;
  to->said = page_said_of(event);
  if (kept) copy_bytes((char *)(to + 1), event->bytes, kept);
  return EVENTRING_OK;
}

struct page_span *page_spans_queue_span(struct page_spans_queue *queue) {
  return put(queue, SPAN, sizeof(struct page_span));
}

struct page_plain_span *page_spans_queue_plain(struct page_spans_queue *queue) {
  return put(queue, PLAIN, sizeof(struct page_plain_span));
}

int page_spans_queue_batch(struct page_spans_queue *queue, const struct eventring_batch *batch,
                           uint32_t track) {
  /* all spans that ended in the batch began before it */
  if (batch->ended_count == batch->depth - batch->depth_around) return EVENTRING_OK;
  const size_t ended = batch->ended_count * sizeof *batch->ended;
  const size_t opened = batch->opened_count * sizeof *batch->opened;
  struct batch *to = put(queue, BATCH, sizeof *to + ended + opened);
  if (!to) return EVENTRING_E_MEMORY;
  *to = (struct batch){.earliest_ns = batch->earliest_ns, .latest_ns = batch->latest_ns,
                       .track = track, .depth_around = batch->depth_around,
                       .ended = (uint32_t)batch->ended_count,
                       .opened = (uint32_t)batch->opened_count};
  char *behind = (char *)(to + 1);
  if (ended) memcpy(behind, batch->ended, ended);
  if (opened) memcpy(behind + ended, batch->opened, opened);
  return EVENTRING_OK;
}

int page_spans_queue_halve(struct page_spans_queue *queue) {
  return put(queue, HALVE, 0) ? EVENTRING_OK : EVENTRING_E_MEMORY;
}

int page_spans_queue_end(struct page_spans_queue *queue) {
  if (queue->has_thread) {
    pthread_mutex_lock(&queue->lock);
    queue->over = true;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    pthread_join(queue->thread, NULL);
    queue->has_thread = false;
  }
  const int status = take_buffer(queue->spans, &queue->buffer[queue->filled % BUFFERS]);
  if (queue->status == EVENTRING_OK) queue->status = status;
  return queue->status;
}
