/* SPDX-License-Identifier: MIT */
/* source.h: bytes of a file, or of memory that a recording of this process has lent. All
 * offsets are those of the plain file, also where the file is packed (packed_file.h). */
#ifndef EVENTRING_SOURCE_H
#define EVENTRING_SOURCE_H

#include <sys/uio.h>

#include "format/atomics.h"
#include "format/format.h"
#include "format/error.h"
#include "format/lent_memory.h"
#include "reader/packed_file.h"
#include "reader/window.h"

#pragma GCC visibility push(hidden)

struct evr_source {
  int fd;                   /* descriptor of the file, or -1 */
  struct evr_memory memory; /* memory that a recording of this process has lent */
  struct evr_window window; /* mapping of the file */
  /* the packets of a packed file, or NULL if the file is plain */
  struct evr_packed *packed;
  bool is_short; /* the file is dead and was cut short: zeros are read after its end */
};

/* Tells whether the source is memory of this process, and no file. */
static inline bool evr_source_lent(const struct evr_source *source) {
  return source->memory.words_at != NULL;
}

/* Tells whether the source is mapped. A window may be lost at any moment, so this must be
   checked again after copying. */
static inline bool evr_source_mapped(const struct evr_source *source) {
  return evr_source_lent(source) || evr_window_is_whole(&source->window);
}

/* Finds out whether the file is packed, unless that is known. Returns 0 or an error of
   evr_packed_open. */
int evr_source_open(struct evr_source *source, struct eventring_error *error);
void evr_source_close(struct evr_source *source);
/* Takes the new packets of a packed file. Returns 0, E_SYSTEM or E_MEMORY. */
int evr_source_refresh(const struct evr_source *source, struct eventring_error *error);
/* Sets *bytes to the size of the file. Returns 0 or E_SYSTEM. */
int evr_source_bytes(const struct evr_source *source, uint64_t *bytes,
                     struct eventring_error *error);
/* Tells whether the file has no data at all in these bytes, or ends before them. */
bool evr_source_is_hole(const struct evr_source *source, uint64_t offset, uint64_t size);
/* Returns the first offset from `offset` on at which the file has data, or UINT64_MAX
   if there is none. Returns `offset` if the file system does not say, or the file is
   packed. */
uint64_t evr_source_data_from(const struct evr_source *source, uint64_t offset);
/* Moves the damage of the packed file to *damage, unless *damage has some already. */
void evr_source_take_damage(const struct evr_source *source, struct eventring_error *damage);
/* Returns the descriptor of the file, which the source still owns, or -1 (none). */
int evr_source_descriptor(const struct evr_source *source);
/* Returns where these bytes are mapped, or NULL if they are not. The bytes must lie
   within the largest file of this geometry, which a window covers. */
const uint64_t *evr_source_words(const struct evr_source *source, uint64_t offset,
                                 size_t size);
/* Reads bytes out of the file with pread. Returns 0, E_TRUNCATED, E_SYSTEM or (packed)
   E_MEMORY. */
int evr_source_read_file(const struct evr_source *source, uint64_t offset, void *to,
                         size_t size, struct eventring_error *error);
/* Reads bytes of the file into several pieces, in one call if the file is plain. Returns
   false unless all of them are there. */
bool evr_source_read_pieces(const struct evr_source *source, uint64_t offset,
                            const struct iovec *piece, unsigned count);
static inline void evr_copy_words(uint64_t *to, const uint64_t *from, size_t count) {
  for (size_t i = 0; i < count; i++)
    to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}
/* Copies many words, faster than evr_copy_words. The string instruction loads whole
   quadwords. The order of these loads and stores is undefined, but all come after the
   accesses before them and before those after them (as in format/atomics.h). */
static inline void evr_copy_many_words(uint64_t *to, const uint64_t *from, size_t count) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(EVR_TSAN)
  __asm__ __volatile__("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
#else
  evr_copy_words(to, from, count);
#endif
}
/* Copies `size` bytes (a multiple of 8) at `offset` (aligned). Returns 0, or an error of
   evr_source_read_file. */
int evr_source_read(const struct evr_source *source, uint64_t offset, void *to,
                    size_t size, struct eventring_error *error);
/* Copies the rings of the first `count` slots, which are the last part of their
   entries. */
int evr_source_rings(const struct evr_source *source, unsigned count,
                     struct format_ring (*rings)[EVENTRING_RINGS],
                     struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_SOURCE_H */
