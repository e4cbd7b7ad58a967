/* SPDX-License-Identifier: MIT */
/* copy.c: another recording, out of one. */
#include "copy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/units.h"
#include "follow.h"
#include "new_file.h"

enum { BUFFER_BYTES = 1 << 20, PIECES = 128 };

struct copy {
  const char *path;
  int fd;
  struct new_file file;
  eventring_saver *saver;
  uint8_t *buffer;
  struct eventring_piece pieces[PIECES];
};

/* ---- Writing ------------------------------------------------------------------------ */

static bool fail(const struct copy *copy, int error) {
  return complain("cannot write %s: %s", copy->path, strerror(error));
}

static bool write_piece(struct copy *copy, const uint8_t *from,
                        const struct eventring_piece *piece) {
  for (size_t at = 0; at < piece->size;) {
    ssize_t done = pwrite(copy->fd, from + piece->from + at, piece->size - at,
                          (off_t)(piece->offset + at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return fail(copy, done < 0 ? errno : ENOSPC);
    at += (size_t)done;
  }
  return true;
}

/* `count`: pieces, or an error that was met. */
static bool write_pieces(struct copy *copy, int count, const struct eventring_error *error) {
  if (count < 0) complain("%s", error->text);
  if (reader_is_stopped()) return complain("interrupted; %s is removed", copy->path);
  for (int i = 0; i < count; i++)
    if (!write_piece(copy, copy->buffer, &copy->pieces[i])) return false;
  return count >= 0;
}

/* ---- What is written ---------------------------------------------------------------- */

static bool write_events(struct copy *copy) {
  struct eventring_saver_info info;
  struct eventring_error error;
  do {
    size_t used;
    int count = eventring_saver_fill(copy->saver, copy->buffer, BUFFER_BYTES, copy->pieces,
                                     PIECES, &used, &error);
    if (!write_pieces(copy, count, &error)) return false;
    eventring_saver_info(copy->saver, &info);
  } while (info.backlog && !info.full);
  if (info.full) complain("%s: the file would be too long", copy->path);
  return !info.full;
}

static bool write_records(struct copy *copy) {
  struct eventring_error error;
  bool more = true;
  while (more) {
    size_t used;
    int count = eventring_saver_update(copy->saver, copy->buffer, BUFFER_BYTES, copy->pieces,
                                       PIECES, &used, &more, &error);
    if (!write_pieces(copy, count, &error)) return false;
  }
  return true;
}

bool copy_write(struct copy *copy, eventring_saver *saver, bool over) {
  struct eventring_error error;
  copy->saver = saver;
  if (eventring_saver_end(saver, over, &error) < 0) return complain("%s", error.text);
  return write_events(copy) && write_records(copy);
}

static bool write_front(struct copy *copy) {
  struct eventring_error error;
  uint64_t size = eventring_saver_size(copy->saver);
  if (ftruncate(copy->fd, (off_t)size) != 0) return fail(copy, errno);
  if (eventring_saver_front(copy->saver, copy->buffer, size, copy->pieces, &error) < 0)
    return complain("%s", error.text);
  return write_pieces(copy, 2, &error);
}

/* ---- All of it ---------------------------------------------------------------------- */

struct copy *copy_begin(const char *path) {
  struct copy *copy = need_zeroed(1, sizeof *copy);
  copy->path = path;
  copy->fd = new_file_create(&copy->file, path);
  if (copy->fd < 0) {
    free(copy);
    return NULL;
  }
  copy->buffer = need_zeroed(1, BUFFER_BYTES);
  return copy;
}

bool copy_end(struct copy *copy, bool done) {
  done = done && write_front(copy);
  if (close(copy->fd) != 0 && done) done = fail(copy, errno);
  if (done) done = new_file_keep(&copy->file);
  else new_file_drop(&copy->file);
  free(copy->buffer);
  free(copy);
  return done;
}

static bool write_file(const char *path, eventring_saver *saver, bool over) {
  struct copy *copy = copy_begin(path);
  return copy && copy_end(copy, copy_write(copy, saver, over));
}

bool report_damage(eventring_cursor *cursor) {
  if (eventring_cursor_damage(cursor) == EVENTRING_OK) return false;
  complain("%s", eventring_cursor_error(cursor)->text);
  return true;
}

enum copy_status copy_recording(eventring_cursor *cursor, const struct copy_options *options,
                                struct eventring_saver_info *info, uint64_t *bytes) {
  struct eventring_error error;
  eventring_saver *saver;
  bool over = eventring_cursor_liveness(cursor) != EVENTRING_LIVE;
  if (eventring_saver_open(&saver, cursor, &options->saver, &error) < 0) {
    complain("%s", error.text);
    return COPY_FAILED;
  }
  reader_catch_signals(true);
  bool done = write_file(options->path, saver, over);
  reader_catch_signals(false);
  eventring_saver_info(saver, info);
  *bytes = eventring_saver_size(saver);
  eventring_saver_close(saver);
  if (!done) return COPY_FAILED;
  bool damaged = report_damage(cursor);
  if (info->damaged) complain_damaged(info->damaged);
  return damaged || info->damaged ? COPY_DAMAGED : COPY_DONE;
}

void print_copy(const char *path, const struct eventring_saver_info *info, uint64_t bytes) {
  complain("%s: %s events, %s", path, eva_count(info->saved), eva_bytes(bytes));
  if (info->missed)
    complain("%s events before them are not there", eva_count(info->missed));
  if (info->lost)
    complain("%s events among them are lost", eva_count(info->lost));
}
