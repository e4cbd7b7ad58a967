/* SPDX-License-Identifier: MIT */
/* source.c: copies bytes out of a mapping, out of a file with pread, or out of a packed
 * file.
 *
 * A mapping is memory that a recording of this process has lent (format/lent_memory.h),
 * or a window on a file (window.c). The owner of a file may cut it short at any moment: a
 * copy out of a window counts only if the window is still whole afterwards, else it is
 * repeated with pread.
 */
#include "reader/source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/atomics.h"

int evr_source_open(struct evr_source *source, struct eventring_error *error) {
  if (evr_source_lent(source) || source->packed) return EVENTRING_OK;
  return evr_packed_open(&source->packed, source->fd, error);
}

void evr_source_close(struct evr_source *source) {
  evr_packed_close(source->packed);
  source->packed = NULL;
  evr_window_close(&source->window);
  if (source->fd >= 0) close(source->fd);
  source->fd = -1;
  if (evr_source_lent(source)) source->memory.release(source->memory.recording);
  source->memory = (struct evr_memory){0};
}

int evr_source_descriptor(const struct evr_source *source) {
  return evr_source_lent(source) ? source->memory.descriptor(source->memory.recording)
                                 : source->fd;
}

/* ---- The file -------------------------------------------------------------------- */

int evr_source_refresh(const struct evr_source *source, struct eventring_error *error) {
  return source->packed ? evr_packed_refresh(source->packed, error) : EVENTRING_OK;
}

int evr_source_bytes(const struct evr_source *source, uint64_t *bytes,
                     struct eventring_error *error) {
  struct stat st;
  if (source->packed) {
    *bytes = evr_packed_bytes(source->packed);
    return EVENTRING_OK;
  }
  if (fstat(source->fd, &st) != 0)
    return evr_fail(error, EVENTRING_E_SYSTEM, errno, "cannot tell the size of the file");
  *bytes = (uint64_t)st.st_size;
  return EVENTRING_OK;
}

uint64_t evr_source_data_from(const struct evr_source *source, uint64_t offset) {
  if (source->packed || source->fd < 0) return offset;
  off_t data = lseek(source->fd, (off_t)offset, SEEK_DATA);
  if (data < 0) return errno == ENXIO ? UINT64_MAX : offset;
  return (uint64_t)data;
}

bool evr_source_is_hole(const struct evr_source *source, uint64_t offset, uint64_t size) {
  if (source->packed) return evr_packed_is_hole(source->packed, offset, size);
  return evr_source_data_from(source, offset) - offset >= size;
}

void evr_source_take_damage(const struct evr_source *source, struct eventring_error *damage) {
  if (source->packed) evr_packed_take_damage(source->packed, damage);
}

/* ---- Bytes ----------------------------------------------------------------------- */

int evr_source_read_file(const struct evr_source *source, uint64_t offset, void *to,
                         size_t size, struct eventring_error *error) {
  if (source->packed) return evr_packed_read(source->packed, offset, to, size, error);
  while (size) {
    ssize_t got = pread(source->fd, to, size, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return evr_fail(error, EVENTRING_E_SYSTEM, errno, "cannot read the file");
    if (got == 0 && source->is_short) {
      memset(to, 0, size);
      return EVENTRING_OK;
    }
    if (got == 0)
      return evr_fail(error, EVENTRING_E_TRUNCATED, 0,
                      "the file ends before offset %llu",
                      (unsigned long long)(offset + size));
    to = (char *)to + got;
    offset += (uint64_t)got;
    size -= (size_t)got;
  }
  return EVENTRING_OK;
}

bool evr_source_read_pieces(const struct evr_source *source, uint64_t offset,
                            const struct iovec *piece, unsigned count) {
  size_t size = 0;
  if (!source->packed && !source->is_short) {
    for (unsigned i = 0; i < count; i++) size += piece[i].iov_len;
    return preadv(source->fd, piece, (int)count, (off_t)offset) == (ssize_t)size;
  }
  for (unsigned i = 0; i < count; offset += piece[i++].iov_len)
    if (evr_source_read_file(source, offset, piece[i].iov_base, piece[i].iov_len, NULL) !=
        EVENTRING_OK)
      return false;
  return true;
}

const uint64_t *evr_source_words(const struct evr_source *source, uint64_t offset,
                                 size_t size) {
  if (evr_source_lent(source))
    return source->memory.words_at(source->memory.recording, offset, size);
  if (!source->window.map || offset + size > source->window.bytes) return NULL;
  return (const uint64_t *)(source->window.map + offset);
}

int evr_source_read(const struct evr_source *source, uint64_t offset, void *to,
                    size_t size, struct eventring_error *error) {
  const uint64_t *from = evr_source_words(source, offset, size);
  if (from && evr_source_mapped(source)) {
    evr_copy_words(to, from, size / 8);
    if (evr_source_mapped(source)) return EVENTRING_OK;
  }
  if (evr_source_lent(source)) return evr_fail(error, EVENTRING_E_TRUNCATED, 0, "not mapped");
  return evr_source_read_file(source, offset, to, size, error);
}

static void copy_rings(const uint64_t *table, unsigned count,
                       struct format_ring (*rings)[EVENTRING_RINGS]) {
  const struct format_domain *entry = (const struct format_domain *)table;
  for (unsigned slot = 0; slot < count; slot++)
    evr_copy_words((uint64_t *)rings[slot], (const uint64_t *)entry[slot].ring,
                   sizeof rings[slot] / 8);
}

/* Copies the rings. Out of a file the whole table is read, in one call. */
int evr_source_rings(const struct evr_source *source, unsigned count,
                     struct format_ring (*rings)[EVENTRING_RINGS],
                     struct eventring_error *error) {
  struct format_domain table[EVENTRING_MAX_DOMAINS];
  size_t size = count * sizeof table[0];
  if (evr_source_mapped(source)) {
    copy_rings(evr_source_words(source, FORMAT_DOMAINS_OFFSET, size), count, rings);
    if (evr_source_mapped(source)) return EVENTRING_OK;
  }
  int status = evr_source_read_file(source, FORMAT_DOMAINS_OFFSET, table, size, error);
  for (unsigned slot = 0; status == EVENTRING_OK && slot < count; slot++)
    memcpy(rings[slot], table[slot].ring, sizeof rings[slot]);
  return status;
}
