/* SPDX-License-Identifier: MIT */
/* stacks.c: interned functions and call stacks, and their copies in the file.
 *
 * Like the catalogue, functions and stacks stay for the life of the process: a host may
 * keep an id, and a recording that begins later gets all known ones before its first
 * event. New ones are written, under the mutex, before their id is returned.
 *
 * Functions are found by their content. Stacks are a tree: a node is a frame and the
 * stack of its caller, so that stacks share their common outer frames. Both tables are
 * hashed, bounded by what the file has room for, and guarded by the producer's mutex.
 *
 * A lock and a step for each frame would be too slow for a sample. So each domain
 * remembers the stacks that it has seen by a hash of all their frames, in a table of its
 * own, which is emptied when it is full. Two stacks with the same 64 bits of hash are
 * taken for one; the hash has a key that a program cannot know, so nobody can construct
 * such a pair.
 */
#include "producer/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "format/array.h"
#include "format/error.h"
#include "format/text.h"
#include "producer/producer.h"

enum {
  FUNCTION_BLOCKS = 2048, STACK_BLOCKS = 4096, /* as in FORMAT_RECORD_KINDS */
  RECORD_WORDS_PER_BLOCK = FORMAT_BLOCK_WORDS - FORMAT_BLOCK_HEADER_WORDS,
  MOST_FUNCTION_WORDS = FUNCTION_BLOCKS * RECORD_WORDS_PER_BLOCK,
  MOST_NODES = STACK_BLOCKS * (RECORD_WORDS_PER_BLOCK / (sizeof(struct format_stack_node) / 8)),
  FUNCTION_WORDS = sizeof(struct format_function) / 8,
  MOST_TEXT_WORDS = (EVENTRING_MAX_FUNCTION_NAME + EVENTRING_MAX_FUNCTION_SOURCE + 7) / 8
};

struct function {
  uint32_t line, last_line;
  uint32_t name_bytes, source_bytes;
  char *texts; /* name, then source; without gaps and not terminated */
};

struct node {
  uint32_t parent, function, position;
  struct eventring_place site;
};

struct index { /* a hash table of ids; open addressing */
  uint32_t *id; /* 0: free */
  uint32_t size; /* a power of two; at most half of it is used */
};

static struct function *functions; /* id n is at n - 1 */
static uint32_t function_count, function_room;
static uint64_t function_words; /* words that their records take */
static struct index function_index;
static struct node *nodes; /* id n is at n - 1 */
static uint32_t node_count, node_room;
static struct index node_index;

/* ---- Hashes ------------------------------------------------------------------------ */

static uint64_t key; /* set once, under the mutex, before the first use */

static void make_key_locked(void) {
  uint64_t random = 0;
  if (key) return;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
    random = evr_monotonic_ns() * 0x9e3779b97f4a7c15 ^ (uintptr_t)&random;
  __atomic_store_n(&key, random | 1, __ATOMIC_RELAXED);
}

static inline uint64_t mix(uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)bytes[i]) * 0x100000001b3;
  return hash;
}

static uint64_t hash_of_function(const struct function *f) {
  uint64_t head = (uint64_t)f->line << 32 | f->name_bytes;
  return mix(hash_bytes(key, f->texts, f->name_bytes + (size_t)f->source_bytes) ^ head,
             0x9e3779b97f4a7c15);
}

static uint64_t hash_of_node(const struct node *n) {
  uint64_t head = (uint64_t)n->parent << 32 | n->function;
  return mix(mix(head ^ key, 0x9e3779b97f4a7c15) ^ n->position, 0xe7037ed1a0b428db);
}

static uint64_t hash_at(const struct index *index, uint32_t id) {
  return index == &function_index ? hash_of_function(&functions[id - 1])
                                  : hash_of_node(&nodes[id - 1]);
}

/* Makes room for one entry more than `count`. */
static bool grow_index(struct index *index, uint32_t count) {
  if (index->size && 2 * (count + 1) <= index->size) return true;
  uint32_t size = index->size ? 2 * index->size : 256;
  uint32_t *id = calloc(size, sizeof *id);
  if (!id) return false;
  for (uint32_t i = 0; i < index->size; i++) {
    if (!index->id[i]) continue;
    uint64_t at = hash_at(index, index->id[i]);
    while (id[at & (size - 1)]) at++;
    id[at & (size - 1)] = index->id[i];
  }
  free(index->id);
  *index = (struct index){id, size};
  return true;
}

/* ---- Records ----------------------------------------------------------------------- */

static void append_function_locked(struct evr_recording *r, uint32_t id) {
  const struct function *f = &functions[id - 1];
  uint64_t words[FUNCTION_WORDS + MOST_TEXT_WORDS] = {0};
  struct format_function record = {.first = format_record(0, 1, id), .line = f->line,
                                   .last_line = f->last_line, .name_bytes = f->name_bytes,
                                   .source_bytes = f->source_bytes};
  size_t bytes = f->name_bytes + (size_t)f->source_bytes;
  memcpy(words, &record, sizeof record);
  if (bytes) memcpy(words + FUNCTION_WORDS, f->texts, bytes);
  evr_records_append_locked(&r->records, FORMAT_FUNCTIONS, words,
                            FUNCTION_WORDS + format_text_words(bytes));
}

static void append_node_locked(struct evr_recording *r, uint32_t id) {
  const struct node *n = &nodes[id - 1];
  struct format_stack_node record = {.first = format_record(0, FORMAT_STACK_NODE, id),
                                     .parent = n->parent, .function = n->function,
                                     .line = n->site.line, .column = n->site.column};
  uint64_t words[sizeof record / 8];
  memcpy(words, &record, sizeof record);
  evr_records_append_locked(&r->records, FORMAT_STACKS, words, sizeof words / 8);
}

void evr_stacks_publish_locked(struct evr_recording *r) {
  for (uint32_t id = 1; id <= function_count; id++) append_function_locked(r, id);
  for (uint32_t id = 1; id <= node_count; id++) append_node_locked(r, id);
}

/* Returns the present recording, or NULL if nothing is recorded. */
static struct evr_recording *present_locked(void) {
  struct evr_recording *r = evr_producer.recording;
  return r && !r->ended && !evr_recording_is_lost(r) && r->header.pid == getpid() ? r : NULL;
}

static void count_dropped_locked(enum format_kind kind) {
  struct evr_recording *r = present_locked();
  if (r) evr_records_drop_locked(&r->records, kind);
}

/* ---- Functions --------------------------------------------------------------------- */

static bool same_function(const struct function *a, const struct function *b) {
  return a->line == b->line && a->last_line == b->last_line && a->name_bytes == b->name_bytes &&
         a->source_bytes == b->source_bytes &&
         !memcmp(a->texts, b->texts, a->name_bytes + (size_t)a->source_bytes);
}

/* Returns the entry of the index where this function is or would go. */
static uint32_t *find_function(const struct function *f) {
  uint64_t at = hash_of_function(f);
  for (;; at++) {
    uint32_t *id = &function_index.id[at & (function_index.size - 1)];
    if (!*id || same_function(&functions[*id - 1], f)) return id;
  }
}

static uint32_t add_function_locked(const struct function *f, uint32_t *entry) {
  size_t bytes = f->name_bytes + (size_t)f->source_bytes;
  unsigned words = FUNCTION_WORDS + format_text_words(bytes);
  char *texts = NULL;
  if (function_words + words > MOST_FUNCTION_WORDS ||
      !EVR_MAKE_ROOM(functions, function_room, function_count, 64) ||
      !(texts = malloc(bytes + 1))) {
    count_dropped_locked(FORMAT_FUNCTIONS);
    return 0;
  }
  memcpy(texts, f->texts, bytes);
  functions[function_count] = *f;
  functions[function_count++].texts = texts;
  function_words += words;
  *entry = function_count;
  struct evr_recording *r = present_locked();
  if (r) append_function_locked(r, function_count);
  return function_count;
}

/* Returns the end of a text that is too long, without cutting a character. */
static const char *fit_end(const char *text, size_t *size, size_t most) {
  if (*size <= most) return text;
  const char *end = text + *size;
  text = end - most;
  while (text < end && ((uint8_t)*text & 0xc0) == 0x80) text++;
  *size = (size_t)(end - text);
  return text;
}

uint32_t eventring_function(const struct eventring_function *from) {
  char texts[EVENTRING_MAX_FUNCTION_NAME + EVENTRING_MAX_FUNCTION_SOURCE + 1];
  size_t name_size = from->name ? from->name_size : 0;
  size_t source_size = from->source ? from->source_size : 0;
  if (name_size > EVENTRING_MAX_FUNCTION_NAME)
    name_size = eventring_text_fit(from->name, name_size, EVENTRING_MAX_FUNCTION_NAME);
  const char *source = fit_end(from->source, &source_size, EVENTRING_MAX_FUNCTION_SOURCE);
  if (name_size) memcpy(texts, from->name, name_size);
  if (source_size) memcpy(texts + name_size, source, source_size);
  evr_text_clean_bytes(texts, name_size);
  evr_text_clean_bytes(texts + name_size, source_size);
  struct function f = {from->line, from->last_line, (uint32_t)name_size, (uint32_t)source_size,
                       texts};
  int saved = errno;
  evr_lock();
  make_key_locked();
  uint32_t id = 0;
  if (grow_index(&function_index, function_count)) {
    uint32_t *entry = find_function(&f);
    id = *entry ? *entry : add_function_locked(&f, entry);
  }
  evr_unlock();
  errno = saved;
  return id;
}

/* ---- The tree of stacks ------------------------------------------------------------ */

static uint32_t *find_node(const struct node *n) {
  uint64_t at = hash_of_node(n);
  for (;; at++) {
    uint32_t *id = &node_index.id[at & (node_index.size - 1)];
    if (!*id) return id;
    const struct node *other = &nodes[*id - 1];
    if (other->parent == n->parent && other->function == n->function &&
        other->position == n->position)
      return id;
  }
}

static uint32_t node_locked(const struct node *n) {
  if (!grow_index(&node_index, node_count)) return 0;
  uint32_t *entry = find_node(n);
  if (*entry) return *entry;
  if (node_count >= MOST_NODES ||
      !EVR_MAKE_ROOM(nodes, node_room, node_count, 256)) {
    count_dropped_locked(FORMAT_STACKS);
    return 0;
  }
  nodes[node_count++] = *n;
  *entry = node_count;
  struct evr_recording *r = present_locked();
  if (r) append_node_locked(r, node_count);
  return node_count;
}

static uint32_t intern(const struct eventring_frame *frames, size_t count,
                       const struct eventring_place *sites) {
  uint32_t id = 0;
  evr_lock();
  make_key_locked();
  for (size_t i = count; i-- > 0;) {
    struct node n = {id, frames[i].function, frames[i].position, sites[i]};
    id = node_locked(&n);
    if (!id) break;
  }
  evr_unlock();
  return id;
}

/* ---- What a domain has seen -------------------------------------------------------- */

struct evr_seen_stack {
  uint64_t hash; /* 0: free */
  uint32_t id, unused;
};
enum { FIRST_SEEN = 256, MOST_SEEN = 1 << 15 };

void evr_stack_cache_free(struct evr_stack_cache *cache) {
  free(cache->seen);
  *cache = (struct evr_stack_cache){0};
}

static inline uint64_t hash_of_frames(const struct eventring_frame *frames, size_t count) {
  uint64_t hash = __atomic_load_n(&key, __ATOMIC_RELAXED) ^ count;
  for (size_t i = 0; i < count; i++) {
    uint64_t frame;
    memcpy(&frame, &frames[i], sizeof frame);
    hash = mix(hash ^ frame, 0x9e3779b97f4a7c15);
    hash ^= (uint64_t)i << 56;
  }
  return hash ? hash : 1;
}

static inline struct evr_seen_stack *find_seen(const struct evr_stack_cache *cache,
                                               uint64_t hash) {
  uint64_t at = hash;
  while (cache->seen[at & (cache->size - 1)].hash &&
         cache->seen[at & (cache->size - 1)].hash != hash)
    at++;
  return &cache->seen[at & (cache->size - 1)];
}

/* Makes room for one more stack; a full table is emptied. Returns false when there is no
   memory. */
static bool make_room(struct evr_stack_cache *cache) {
  if (cache->size && 2 * (cache->count + 1) <= cache->size) return true;
  if (cache->size == MOST_SEEN) {
    memset(cache->seen, 0, cache->size * sizeof *cache->seen);
    cache->count = 0;
    return true;
  }
  uint32_t size = cache->size ? 2 * cache->size : FIRST_SEEN;
  struct evr_stack_cache grown = {calloc(size, sizeof *grown.seen), size, cache->count};
  if (!grown.seen) return false;
  for (uint32_t i = 0; i < cache->size; i++)
    if (cache->seen[i].hash) *find_seen(&grown, cache->seen[i].hash) = cache->seen[i];
  free(cache->seen);
  *cache = grown;
  return true;
}

static __attribute__((cold, noinline)) uint32_t
find_new(struct evr_stack_cache *cache, const struct eventring_frame *frames, size_t count,
         eventring_resolve *resolve, void *context) {
  struct eventring_place sites[EVENTRING_MAX_DEPTH];
  int saved = errno;
  for (size_t i = 0; i < count; i++) sites[i] = resolve(context, i);
  uint32_t id = intern(frames, count, sites); /* makes the key at its first call */
  if (id && cache && make_room(cache)) {
    struct evr_seen_stack *seen = find_seen(cache, hash_of_frames(frames, count));
    if (!seen->hash) cache->count++;
    *seen = (struct evr_seen_stack){hash_of_frames(frames, count), id, 0};
  }
  errno = saved;
  return id;
}

uint32_t evr_stack_find(struct evr_stack_cache *cache, const struct eventring_frame *frames,
                        size_t count, eventring_resolve *resolve, void *context) {
  if (!count) return 0;
  if (count > EVENTRING_MAX_DEPTH) count = EVENTRING_MAX_DEPTH;
  if (cache && cache->size) {
    const struct evr_seen_stack *seen = find_seen(cache, hash_of_frames(frames, count));
    if (__builtin_expect(seen->hash != 0, 1)) return seen->id;
  }
  return find_new(cache, frames, count, resolve, context);
}
