/* SPDX-License-Identifier: MIT */
/* source.h: bytes of a file, or of memory that a recording of this process has lent. All
 * offsets are those of the plain file, also where the file is packed (packed.h). */
#ifndef EVENTRING_SOURCE_H
#define EVENTRING_SOURCE_H

#include <sys/uio.h>

#include "format/atomics.h"
#include "format/format.h"
#include "format/error.h"
#include "format/memory.h"
#include "reader/packed.h"
#include "reader/window.h"

#pragma GCC visibility push(hidden)

struct evr_source {
  int fd;                   /* of the file, or -1 */
  struct evr_memory memory; /* of a recording of this process, if that is lent */
  struct evr_window window; /* on the file */
  struct evr_packed *packed; /* of a packed file; NULL: it is plain */
  bool is_short; /* a dead file that was cut short: zeros are read behind its end */
};

/* Is it memory of this process, and no file? */
static inline bool evr_source_lent(const struct evr_source *source) {
  return source->memory.words_at != NULL;
}

/* Is what it reads mapped? A window may be lost at any moment: to be checked again after
   copying. */
static inline bool evr_source_mapped(const struct evr_source *source) {
  return evr_source_lent(source) || evr_window_is_whole(&source->window);
}

/* Finds out whether the file is packed, unless that is known. 0, or an error of evr_packed_open. */
int evr_source_open(struct evr_source *source, struct eventring_error *error);
void evr_source_close(struct evr_source *source);
/* Takes what a packed file has got since. 0, E_SYSTEM, E_MEMORY. */
int evr_source_refresh(const struct evr_source *source, struct eventring_error *error);
/* Bytes of the file. 0 or E_SYSTEM. */
int evr_source_bytes(const struct evr_source *source, uint64_t *bytes,
                     struct eventring_error *error);
/* Has the file nothing at all at these bytes, or beyond? */
bool evr_source_is_hole(const struct evr_source *source, uint64_t offset, uint64_t size);
/* Where the file has something from `offset` on; UINT64_MAX: nowhere. `offset` if the file system
   does not say, or the file is packed. */
uint64_t evr_source_data_from(const struct evr_source *source, uint64_t offset);
/* Moves what is damaged of a packed file itself to *damage, if that is empty. */
void evr_source_take_damage(const struct evr_source *source, struct eventring_error *damage);
/* Descriptor of the file, which stays the source's; -1: there is none. */
int evr_source_descriptor(const struct evr_source *source);
/* Where these bytes are mapped; NULL: nowhere. Offsets are within the greatest file of
   its geometry, which is what a window covers. */
const uint64_t *evr_source_words(const struct evr_source *source, uint64_t offset,
                                 size_t size);
/* Reads them out of the file with pread. 0, E_TRUNCATED, E_SYSTEM or (packed) E_MEMORY. */
int evr_source_read_file(const struct evr_source *source, uint64_t offset, void *to,
                         size_t size, struct eventring_error *error);
/* The same into several pieces, in one call if the file is plain. Is all of it there? */
bool evr_source_read_pieces(const struct evr_source *source, uint64_t offset,
                            const struct iovec *piece, unsigned count);
static inline void evr_copy_words(uint64_t *to, const uint64_t *from, size_t count) {
  for (size_t i = 0; i < count; i++)
    to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}
/* The same of many words. The string instruction loads quadwords, in any order among
   themselves, after what precedes it and before what follows (as in format/atomics.h). */
static inline void evr_copy_many_words(uint64_t *to, const uint64_t *from, size_t count) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(EVR_TSAN)
  __asm__ __volatile__("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
#else
  evr_copy_words(to, from, count);
#endif
}
/* Copies `size` bytes (a multiple of 8) at `offset` (aligned): 0 or an error as above. */
int evr_source_read(const struct evr_source *source, uint64_t offset, void *to,
                    size_t size, struct eventring_error *error);
/* The rings of the first `count` slots: the last part of their entries. */
int evr_source_rings(const struct evr_source *source, unsigned count,
                     struct format_ring (*rings)[EVENTRING_RINGS],
                     struct eventring_error *error);

#pragma GCC visibility pop

#endif /* EVENTRING_SOURCE_H */
