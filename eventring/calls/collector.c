/* SPDX-License-Identifier: MIT */
/* collector.c: the tries of threads that have ended, and copies at one moment of those of
 * threads that go on.
 *
 * A trie is copied when it is posted, so its thread may go on or end, and nobody waits
 * for a thread to stop. A mutex guards everything. Each copy takes a part of the budget:
 * what it needs, plus half of that for later merges.
 */
#include "calls/collector.h"
#include "calls/inside.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "calls/segments.h"

enum {
  COPY_LEAST = 65536, /* least bytes of a copy */
  NODE_BYTES = 320,   /* part of the budget for a node of a copy and its table entries */
  NODE_WORDS = 11,    /* words of a serialized node, besides its histogram */
  BLOCK_WORDS = 3
};

struct posted {
  uint64_t thread;
  eventring_calls *calls;
};

struct evc_collector {
  pthread_mutex_t mutex;
  size_t budget, used;
  struct evc_lines lines;
  struct evc_array posts; /* elements: struct posted */
  uint64_t refused;
  size_t next;            /* number of the trie to be serialized next */
  uint64_t *words;        /* the buffer */
  size_t room;
};

evc_collector *evc_collector_new(size_t budget) {
  evc_collector *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  pthread_mutex_init(&c->mutex, NULL);
  c->budget = budget;
  evc_lines_init(&c->lines, (size_t)1 << 20, 1024);
  evc_array_init(&c->posts, &c->lines, sizeof(struct posted));
  return c;
}

static void forget_all(evc_collector *c) {
  for (size_t i = 0; i < c->posts.size; i++)
    eventring_calls_free(((struct posted *)evc_array_at(&c->posts, i))->calls);
  evc_array_trim(&c->posts, c->posts.size);
  c->used = c->next = 0;
  c->refused = 0;
}

void evc_collector_reset(evc_collector *c) {
  pthread_mutex_lock(&c->mutex);
  forget_all(c);
  pthread_mutex_unlock(&c->mutex);
}

void evc_collector_free(evc_collector *c) {
  if (!c) return;
  forget_all(c);
  evc_lines_end(&c->lines);
  pthread_mutex_destroy(&c->mutex);
  free(c->words);
  free(c);
}

static eventring_calls *copy_of_thread(evc_collector *c, uint64_t thread) {
  struct evc_position at = evc_array_begin(&c->posts);
  for (struct posted *post; (post = evc_position_element(at)); evc_position_advance(&at))
    if (post->thread == thread) return post->calls;
  return NULL;
}

/* Begins a copy; NULL if there is no room. */
static eventring_calls *begin_copy(evc_collector *c, uint64_t thread,
                                   size_t nodes) {
  size_t bytes = nodes * NODE_BYTES / 2 * 3;
  if (bytes < COPY_LEAST) bytes = COPY_LEAST;
  if (bytes > c->budget - c->used) bytes = c->budget - c->used;
  if (bytes < COPY_LEAST) return NULL;
  eventring_calls *calls = eventring_calls_new(bytes);
  struct posted *post = calls ? evc_array_append(&c->posts) : NULL;
  if (!post) {
    eventring_calls_free(calls);
    return NULL;
  }
  *post = (struct posted){thread, calls};
  c->used += bytes;
  return calls;
}

enum evc_posted evc_post(evc_collector *c, const eventring_calls *calls, uint64_t thread) {
  enum evc_posted result = EVC_REFUSED;
  pthread_mutex_lock(&c->mutex);
  eventring_calls *copy = copy_of_thread(c, thread);
  if (!copy) copy = begin_copy(c, thread, eventring_calls_count(calls) +
                                          evc_flat_count(calls));
  if (!copy) c->refused++;
  else if (evc_merge(copy, calls)) result = EVC_POSTED;
  else result = EVC_PARTLY;
  pthread_mutex_unlock(&c->mutex);
  return result;
}

size_t evc_collected(evc_collector *c) {
  pthread_mutex_lock(&c->mutex);
  size_t count = c->posts.size;
  pthread_mutex_unlock(&c->mutex);
  return count;
}

uint64_t evc_refused(evc_collector *c) {
  pthread_mutex_lock(&c->mutex);
  uint64_t count = c->refused;
  pthread_mutex_unlock(&c->mutex);
  return count;
}

/* ---- serializing ------------------------------------------------------------------- */

static size_t put_node(uint64_t *to, const eventring_calls *calls,
                       const struct eventring_calls_node *node) {
  size_t buckets = EVENTRING_CALLS_BUCKETS;
  uint64_t histogram[EVENTRING_CALLS_BUCKETS];
  struct eventring_calls_lost lost = {0, 0};
  if (!evc_is_flat(node)) lost = eventring_calls_lost_below(calls, node);
  const struct eventring_calls_rest *rest = eventring_calls_rest_of(calls, node);
  evc_histogram(calls, node, histogram);
  while (buckets > 0 && histogram[buckets - 1] == 0) buckets--;
  const uint64_t words[NODE_WORDS] = {
      NODE_WORDS + buckets,
      evc_is_flat(node) ? UINT64_MAX - 1
      : node->parent != EVENTRING_CALLS_ROOT ? node->parent : UINT64_MAX,
      node->id, node->count, node->exclusive, node->least, node->most,
      rest->suspended, lost.calls, lost.ticks, rest->open};
  memcpy(to, words, sizeof words);
  for (size_t i = 0; i < buckets; i++) to[NODE_WORDS + i] = histogram[i];
  return NODE_WORDS + buckets;
}

static bool make_room(evc_collector *c, size_t words) {
  if (words <= c->room) return true;
  uint64_t *more = realloc(c->words, words * sizeof *more);
  if (!more) return false;
  c->words = more;
  c->room = words;
  return true;
}

static struct evc_buffer put_trie(evc_collector *c, const struct posted *post) {
  size_t paths = eventring_calls_count(post->calls), at = BLOCK_WORDS;
  size_t count = paths + evc_flat_count(post->calls);
  if (!make_room(c, BLOCK_WORDS + count * (NODE_WORDS + EVENTRING_CALLS_BUCKETS)))
    return (struct evc_buffer){NULL, 0};
  for (size_t i = 0; i < count; i++)
    at += put_node(c->words + at, post->calls,
                   i < paths ? eventring_calls_node_at(post->calls, i)
                             : eventring_calls_flat_at(post->calls, i - paths));
  c->words[0] = at;
  c->words[1] = post->thread;
  c->words[2] = count;
  return (struct evc_buffer){c->words, at};
}

struct evc_buffer evc_serialize(evc_collector *c) {
  struct evc_buffer buffer = {NULL, 0};
  pthread_mutex_lock(&c->mutex);
  const struct posted *post = evc_array_at(&c->posts, c->next);
  if (post) buffer = put_trie(c, post);
  c->next = buffer.words ? c->next + 1 : 0;
  pthread_mutex_unlock(&c->mutex);
  return buffer;
}
