/* SPDX-License-Identifier: MIT */
/* search.c: the suspended threads of a domain.
 *
 * Nothing lists them: the heap is read from end to end. A thread has a word that points to
 * its domain, which few other places hold, and its type before it; what looks so is read as
 * a thread, and shown if all of its frames are sound (stack.c).
 */
#include "remote/search.h"
#include "format/array.h"
#include "format/now.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 18, MOST_CHUNKS = 1 << 20, MOST_THREADS = 1 << 20 };
#define MOST_NS UINT64_C(60000000000) /* the heap of a hostile process has no end */

static bool add(struct remote_search *search, uint64_t thread) {
  if (search->count == MOST_THREADS) return false;
  if (!EVR_MAKE_ROOM(search->threads, search->room, search->count, 64)) return false;
  search->threads[search->count++] = thread;
  return true;
}

static bool is_suspended(struct remote_host *host, uint64_t thread) {
  const struct eventring_introspection *at = &host->at;
  unsigned char head[4096];
  if (!remote_read(&host->memory, thread, head, at->thread.head)) return false;
  return remote_word(head + at->thread.type, 1) == at->thread.is_type &&
         remote_word(head + at->thread.status, 1) == at->thread.suspended &&
         remote_word(head + at->thread.resumer, 8) == 0 &&
         remote_word(head + at->thread.frame, 8) != 0 &&
         remote_word(head + at->thread.stack, 8) != 0;
}

static bool search_piece(struct remote_host *host, uint64_t domain, uint64_t address,
                         const uint64_t *words, size_t count, struct remote_search *search) {
  const struct eventring_introspection *at = &host->at;
  for (size_t i = 0; i < count; i++) {
    if (words[i] != domain) continue;
    uint64_t thread = address + i * sizeof *words - at->thread.domain;
    if (thread % at->heap.step == 0 && is_suspended(host, thread) && !add(search, thread))
      return false;
  }
  return true;
}

void remote_search(struct remote_host *host, uint64_t domain, uint64_t ns,
                   struct remote_search *search) {
  const struct eventring_introspection *at = &host->at;
  uint64_t *words = malloc(PIECE), until = now_ns() + (ns != 0 ? ns : MOST_NS), chunk = 0, place;
  memset(search, 0, sizeof *search);
  search->cut = words == NULL;
  if (words == NULL || !remote_place(host, domain, at->heap.first, &place) ||
      !remote_read_pointer(&host->memory, place, &chunk))
    chunk = 0;
  for (int n = 0; chunk != 0 && n < MOST_CHUNKS && !search->cut; n++) {
    search->bytes += at->heap.size;
    for (uint64_t from = at->heap.used_from; from < at->heap.size && !search->cut; from += PIECE) {
      size_t size = at->heap.size - from < PIECE ? (size_t)(at->heap.size - from) : PIECE;
      if (now_ns() >= until) {
        search->cut = true;
        break;
      }
      /* a part of it may have been given back to the system: not an error */
      if (remote_read(&host->memory, chunk + from, words, size))
        search->cut = !search_piece(host, domain, chunk + from, words, size / 8, search);
      search->searched += size;
    }
    uint64_t next = 0;
    if (!remote_read_pointer(&host->memory, chunk + at->heap.next, &next) || next == chunk) break;
    chunk = next;
  }
  free(words);
}
