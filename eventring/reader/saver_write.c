/* SPDX-License-Identifier: MIT */
/* saver_write.c: writes the pieces of a saver into a file, in order, on one thread. For
 * copies: they may take time, and fail when something cannot be written. */
#include "reader/saver.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* small, so that the bytes that are checked and written stay in a cache of the
   processor */
enum { BUFFER_BYTES = 1 << 18 };

static int fail(struct eventring_error *error, int cause, const char *path) {
  return evr_fail(error, evr_code_of_errno(cause), cause, "cannot write %.300s", path);
}

static int write_piece(int fd, const uint8_t *from, const struct eventring_piece *piece,
                       const char *path, struct eventring_error *error) {
  for (size_t at = 0; at < piece->size;) {
    ssize_t done = pwrite(fd, from + piece->from + at, piece->size - at,
                          (off_t)(piece->offset + at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return fail(error, done < 0 ? errno : ENOSPC, path);
    at += (size_t)done;
  }
  return EVENTRING_OK;
}

/* Writes pieces. `count` is their number, or the error of making them. */
static int write_pieces(const eventring_saver *saver, int fd, int count,
                        const struct eventring_piece *piece, const char *path,
                        struct eventring_error *error) {
  int status = count < 0 ? count : EVENTRING_OK;
  for (int i = 0; status == EVENTRING_OK && i < count; i++)
    status = write_piece(fd, saver->buffer, &piece[i], path, error);
  return status;
}

/* ---- Steps ------------------------------------------------------------------------- */

static int begin(eventring_saver *saver, struct eventring_error *error) {
  saver->buffer = malloc(BUFFER_BYTES);
  if (!saver->buffer) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a copy");
  saver->write_stage = SAVER_WRITE_EVENTS;
  return eventring_saver_end(saver, evr_metadata_liveness(saver->meta) != EVENTRING_LIVE, error);
}

static int write_events(eventring_saver *saver, int fd, const char *path,
                        struct eventring_error *error) {
  struct eventring_piece pieces[SAVER_WRITE_PIECES];
  struct eventring_saver_info info;
  size_t used;
  int count = eventring_saver_fill(saver, saver->buffer, BUFFER_BYTES, pieces,
                                   SAVER_WRITE_PIECES, &used, error);
  int status = write_pieces(saver, fd, count, pieces, path, error);
  if (status != EVENTRING_OK) return status;
  if (saver->full)
    return evr_fail(error, EVENTRING_E_LIMIT, 0, "%.300s: the file would be too long", path);
  eventring_saver_info(saver, &info);
  if (!info.backlog) saver->write_stage = SAVER_WRITE_RECORDS;
  return EVENTRING_OK;
}

static int write_records(eventring_saver *saver, int fd, const char *path,
                         struct eventring_error *error) {
  struct eventring_piece pieces[SAVER_WRITE_PIECES];
  size_t used;
  bool more;
  int count = eventring_saver_update(saver, saver->buffer, BUFFER_BYTES, pieces,
                                     SAVER_WRITE_PIECES, &used, &more, error);
  if (!more) saver->write_stage = SAVER_WRITE_FRONT;
  return write_pieces(saver, fd, count, pieces, path, error);
}

static int write_front(eventring_saver *saver, int fd, const char *path,
                       struct eventring_error *error) {
  struct eventring_piece pieces[2];
  uint64_t size = eventring_saver_size(saver);
  if (ftruncate(fd, (off_t)size) != 0) return fail(error, errno, path);
  int status = eventring_saver_front(saver, saver->buffer, size, true, pieces, error);
  return write_pieces(saver, fd, status < 0 ? status : 2, pieces, path, error);
}

int eventring_saver_write(eventring_saver *saver, int fd, const char *path, bool is_last,
                          bool *more, struct eventring_error *error) {
  struct eventring_error own;
  int status = EVENTRING_OK;
  if (!saver || !path || !more)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no saver, path or more");
  if (!error) error = &own;
  *more = true;
  if (!saver->buffer) status = begin(saver, error);
  if (status != EVENTRING_OK) return status;
  if (saver->write_stage == SAVER_WRITE_EVENTS) return write_events(saver, fd, path, error);
  if (saver->write_stage == SAVER_WRITE_RECORDS) return write_records(saver, fd, path, error);
  *more = false;
  return is_last ? write_front(saver, fd, path, error) : EVENTRING_OK;
}
