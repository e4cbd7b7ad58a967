/* SPDX-License-Identifier: MIT */
/* search.c: finds the suspended threads of a domain.
 *
 * There is no list of them, so the heap is read from end to end. A thread has a word that
 * points to its domain, which few other words contain, and its type before it. Anything
 * that looks like a thread is read as one, and shown if all its frames are sound
 * (stack_read.c).
 */
#include "remote/search.h"
#include "format/array.h"
#include "format/now.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 18, LEAST = 1 << 12, MOST_CHUNKS = 1 << 20, MOST_THREADS = 1 << 20 };
/* Longest time of a search: a hostile process may have a heap without end. */
#define MOST_NS UINT64_C(60000000000)

static bool add(struct remote_search *search, uint64_t thread) {
  if (search->count == MOST_THREADS) return false;
  if (!EVR_MAKE_ROOM(search->threads, search->room, search->count, 64)) return false;
  search->threads[search->count++] = thread;
  return true;
}

bool remote_is_new(const struct eventring_introspection *at, uint64_t thread,
                   const unsigned char *bytes) {
  const uint64_t stack = remote_word(bytes + at->thread.stack, 8);
  return remote_word(bytes + at->thread.status, 1) == at->coroutine.new_status &&
         remote_word(bytes + at->thread.frame, 8) == thread + at->thread.first_frame &&
         remote_word(bytes + at->coroutine.top, 8) - stack >= 2 * (uint64_t)at->value.size;
}

bool remote_waits(const struct eventring_introspection *at, uint64_t thread,
                  const unsigned char *bytes) {
  return remote_word(bytes + at->thread.type, 1) == at->thread.is_type &&
         (remote_word(bytes + at->thread.status, 1) == at->thread.suspended ||
          remote_is_new(at, thread, bytes)) &&
         remote_word(bytes + at->thread.resumer, 8) == 0 &&
         remote_word(bytes + at->thread.frame, 8) != 0 &&
         remote_word(bytes + at->thread.stack, 8) != 0;
}

/* A part of the process's memory that was read for the search. */
struct piece {
  uint64_t chunk, chunk_size; /* the chunk, or the piece of a chunk, that this is a part
                                 of */
  const unsigned char *lines; /* line marks of the chunk; NULL if not known */
  uint32_t lives; /* coroutine.lives of the domain */
  uint64_t address;
  const uint64_t *words;
  size_t count;
};

/* Tells whether a thread exists: freed memory keeps its contents until it is used
   again. */
static bool exists(const struct eventring_introspection *at, const struct piece *p,
                   uint64_t thread, const unsigned char *bytes) {
  const uint64_t size = at->coroutine.line_size, from = thread - p->chunk;
  if (remote_word(bytes + at->coroutine.state, 1) & at->coroutine.young_mask)
    return (int32_t)((uint32_t)remote_word(bytes + at->coroutine.ran_before, 4) - p->lives) >= 0;
  if (p->lines == NULL) return true;
  for (uint64_t line = from / size; line <= (from + at->coroutine.size - 1) / size; line++)
    if (line * size >= p->chunk_size || p->lines[line] == 0) return false;
  return true;
}

/* Tells whether a suspended thread is there. Most threads lie within the piece in which
   they were found, which was read already. */
static bool is_suspended(struct remote_host *host, const struct piece *p, uint64_t thread) {
  const uint64_t size = host->at.coroutine.size, all = p->count * sizeof *p->words;
  unsigned char bytes[4096];
  const unsigned char *at = bytes;
  if (thread < p->chunk) return false;
  if (thread >= p->address && thread - p->address <= all && all - (thread - p->address) >= size)
    at = (const unsigned char *)p->words + (thread - p->address);
  else if (!remote_read(&host->memory, thread, bytes, size)) return false;
  return remote_waits(&host->at, thread, at) && exists(&host->at, p, thread, at);
}

static bool search_piece(struct remote_host *host, uint64_t domain, const struct piece *p,
                         struct remote_search *search) {
  const struct eventring_introspection *at = &host->at;
  for (size_t i = 0; i < p->count; i++) {
    if (p->words[i] != domain) continue;
    uint64_t thread = p->address + i * sizeof *p->words - at->thread.domain;
    if (thread % at->heap.step == 0 && is_suspended(host, p, thread) && !add(search, thread))
      return false;
  }
  return true;
}

/* Removes a thread that was found: while a host does not run a domain, its main thread
   looks like a thread that has not begun. */
static void forget_thread(struct remote_search *search, uint64_t thread) {
  size_t kept = 0;
  for (size_t i = 0; i < search->count; i++)
    if (search->threads[i] != thread) search->threads[kept++] = search->threads[i];
  search->count = kept;
}

/* The state of a search. */
struct searching {
  struct remote_host *host;
  uint64_t domain, until; /* until: end of the search, in ns of now_ns */
  uint64_t *words;        /* PIECE bytes */
  unsigned char *lines;
  size_t line_count;      /* lines of a chunk */
  unsigned char *pointers; /* pointers of a chunk to its pieces, and data in between */
  uint32_t lives;
  struct remote_search *search;
};

/* Reads at most `size` bytes at an address, fewer if the following memory is not mapped.
 * Returns the number of bytes read, or 0 if nothing is mapped. Memory that was returned
 * to the system reads as zeros. */
static size_t read_words(struct searching *s, uint64_t address, size_t size) {
  while (!remote_read(&s->host->memory, address, s->words, size)) {
    if (size <= LEAST) return 0;
    size = size / 2 > LEAST ? size / 2 / LEAST * LEAST : LEAST;
  }
  return size;
}

/* Searches from `from` to the end of the chunk or piece. A chunk may be mapped only in
 * part, but its first bytes always are. */
static void search_range(struct searching *s, struct piece piece, uint64_t from) {
  struct remote_search *search = s->search;
  for (size_t size; from < piece.chunk_size && !search->cut; from += size) {
    size = piece.chunk_size - from < PIECE ? (size_t)(piece.chunk_size - from) : PIECE;
    search->cut = now_ns() >= s->until;
    if (search->cut) break;
    piece.address = piece.chunk + from;
    piece.count = read_words(s, piece.address, size) / sizeof *s->words;
    if (piece.count > 0) size = piece.count * sizeof *s->words;
    else size = piece.chunk_size - from;
    search->cut = !search_piece(s->host, s->domain, &piece, search);
    search->searched += size;
  }
}

static const unsigned char *read_lines(struct searching *s, uint64_t address, size_t count) {
  return count > 0 && remote_read(&s->host->memory, address, s->lines, count) ? s->lines : NULL;
}

static void search_chunk(struct searching *s, uint64_t chunk) {
  const struct eventring_introspection *at = &s->host->at;
  struct piece piece = {.chunk = chunk, .chunk_size = at->heap.size, .lives = s->lives,
                        .words = s->words};
  piece.lines = read_lines(s, chunk + at->coroutine.lines, s->line_count);
  s->search->bytes += at->heap.size;
  search_range(s, piece, at->heap.used_from);
}

static void search_scattered(struct searching *s, uint64_t chunk) {
  const struct eventring_introspection *at = &s->host->at;
  const uint32_t size = at->heap.piece_size, line = at->coroutine.line_size;
  const size_t lines = line > 0 ? size / line : 0;
  if (at->heap.pieces == 0 ||
      !remote_read(&s->host->memory, chunk + at->heap.piece, s->pointers,
                   (at->heap.pieces - (size_t)1) * at->heap.piece_step + 8))
    return;
  for (uint32_t n = 0; n < at->heap.pieces && !s->search->cut; n++) {
    struct piece piece = {.chunk = remote_word(s->pointers + (size_t)n * at->heap.piece_step, 8),
                          .chunk_size = size, .lives = s->lives, .words = s->words};
    if (piece.chunk == 0 || piece.chunk % 8 != 0) continue;
    piece.lines = read_lines(s, chunk + at->coroutine.lines + n * lines, lines);
    s->search->bytes += size;
    search_range(s, piece, 0);
  }
}

/* Returns the chunk to which the pointer at a location leads, or 0. */
static uint64_t first_chunk(struct searching *s, struct eventring_location where) {
  uint64_t address, chunk;
  return remote_locate(s->host, s->domain, where, &address) &&
                 remote_read_pointer(&s->host->memory, address, &chunk)
             ? chunk
             : 0;
}

/* Searches the chunks of a list from one to another, or to its end. */
static void search_list(struct searching *s, uint64_t chunk, uint64_t end,
                        void search(struct searching *, uint64_t)) {
  const struct eventring_introspection *at = &s->host->at;
  uint64_t next;
  for (int n = 0; chunk != 0 && chunk != end && n < MOST_CHUNKS && !s->search->cut; n++) {
    search(s, chunk);
    if (!remote_read_pointer(&s->host->memory, chunk + at->heap.next, &next) || next == chunk)
      break;
    chunk = next;
  }
}

static void search_chunks(struct searching *s) {
  const struct eventring_introspection *at = &s->host->at;
  uint64_t address, first = first_chunk(s, at->heap.first);
  if (remote_locate(s->host, s->domain, at->coroutine.lives, &address))
    remote_read_u32(&s->host->memory, address, &s->lives);
  search_list(s, first_chunk(s, at->heap.scattered), first, search_scattered);
  search_list(s, first, 0, search_chunk);
}

/* Returns the number of lines of a chunk or of a piece, whichever is greater. */
static size_t most_lines(const struct eventring_introspection *at) {
  const uint32_t most = at->heap.size > at->heap.piece_size ? at->heap.size : at->heap.piece_size;
  return at->coroutine.line_size > 0 ? most / at->coroutine.line_size : 0;
}

void remote_search(struct remote_host *host, uint64_t domain, uint64_t ns,
                   struct remote_search *search) {
  const struct eventring_introspection *at = &host->at;
  struct searching s = {.host = host, .domain = domain, .search = search, .words = malloc(PIECE),
                        .until = now_ns() + (ns != 0 ? ns : MOST_NS)};
  uint64_t main = 0;
  if (at->coroutine.line_size > 0) s.line_count = at->heap.size / at->coroutine.line_size;
  s.lines = malloc(most_lines(at) + 1);
  s.pointers = malloc((size_t)at->heap.pieces * at->heap.piece_step + 8);
  memset(search, 0, sizeof *search);
  search->cut = s.words == NULL || s.lines == NULL || s.pointers == NULL;
  if (!search->cut) search_chunks(&s);
  remote_read_pointer(&host->memory, domain + at->domain.main, &main);
  forget_thread(search, main);
  free(s.words);
  free(s.lines);
  free(s.pointers);
}
