/* SPDX-License-Identifier: MIT */
/* remove.c: removing a dead recording.
 *
 * The file that is removed is the file that was checked, whatever is renamed at the same
 * time: the directory is held open, the file is opened in it, all checks use that
 * descriptor, and the name is removed in the same directory if it still refers to the
 * same file.
 *
 * The lock is a read lock. A live producer's write lock excludes it, so taking it
 * succeeds only if there is no producer. Processes that check for a producer at the same
 * time do not mistake a read lock for a producer's. Only a file with the magic is locked:
 * a producer writes the magic after it has locked its file, and before that it must find
 * the file unlocked. */
#include "eventring/tools.h"
#include "format/format.h"
#include "format/process.h"
#include "format/unlink_same.h"
#include "reader/locate.h"
#include "reader/packed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct removal {
  const char *path;
  const char *name; /* name of the file in the directory */
  int directory, fd;
  unsigned flags;
  struct evr_packed *packed; /* NULL if the file is plain */
  struct eventring_error *error;
};


static int open_directory(struct removal *r) {
  const char *slash = strrchr(r->path, '/');
  char *directory = slash ? strndup(r->path, (size_t)(slash - r->path) + 1) : strdup(".");
  r->name = slash ? slash + 1 : r->path;
  if (!directory) return evr_fail(r->error, EVENTRING_E_MEMORY, 0, "out of memory");
  r->directory = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
  int cause = errno;
  free(directory);
  if (r->directory >= 0) return EVENTRING_OK;
  return evr_fail(r->error, evr_code_of_errno(cause), cause, "%.300s", r->path);
}

static int check_removable(const struct removal *r) {
  struct stat st;
  size_t length = strlen(r->name), suffix = strlen(EVENTRING_SUFFIX);
  if (length <= suffix || strcmp(r->name + length - suffix, EVENTRING_SUFFIX) != 0)
    return evr_fail(r->error, EVENTRING_E_NAME, 0, "%.300s: not named *%s", r->path,
                    EVENTRING_SUFFIX);
  if (fstat(r->fd, &st) != 0 ||
      (st.st_uid != geteuid() && !(r->flags & EVENTRING_REMOVE_ANY_OWNER)))
    return evr_fail(r->error, EVENTRING_E_PERMISSION, 0, "%.300s: another user's file",
                    r->path);
  return EVENTRING_OK;
}

static bool read_plain(const struct removal *r, void *to, size_t size, uint64_t offset) {
  if (r->packed) return evr_packed_read(r->packed, offset, to, size, NULL) == EVENTRING_OK;
  return pread(r->fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* Checks that the recording need not be kept: that it is neither a saved copy nor
   preserved. (A copy of a dead recording counts as preserved.) */
static int check_unwanted(const struct removal *r, const struct format_header *h) {
  struct format_status status;
  bool is_copy = h->flags & FORMAT_COPY, is_wanted = h->flags & FORMAT_WENT_ON;
  if (r->flags & EVENTRING_REMOVE_SAVED) return EVENTRING_OK;
  if (is_wanted || (is_copy && !(r->flags & EVENTRING_REMOVE_ENDED)))
    return evr_fail(r->error, EVENTRING_E_STATE, 0, "%.300s: a saved copy", r->path);
  if (!(r->flags & EVENTRING_REMOVE_ENDED) &&
      read_plain(r, &status, sizeof status, FORMAT_STATUS_OFFSET) &&
      format_is_preserved(&status))
    return evr_fail(r->error, EVENTRING_E_STATE, 0, "%.300s: preserved at an orderly end",
                    r->path);
  return EVENTRING_OK;
}

/* Checks that no process records into the file, and that the recording may be removed. A
   file with the name and the magic of a recording may be removed even if its header is
   invalid. */
static int check_dead(const struct removal *r) {
  struct format_header h;
  if (!read_plain(r, &h, sizeof h, 0) ||
      memcmp(h.magic, FORMAT_MAGIC, sizeof h.magic) != 0)
    return evr_fail(r->error, EVENTRING_E_NOT_EVENTRING, 0,
                    "%.300s: not an eventring file", r->path);
  if (!evr_hold_dead(r->fd, h.pid, h.process_start))
    return evr_fail(r->error, EVENTRING_E_BUSY, 0, "%.300s: process %d records into it",
                    r->path, (int)h.pid);
  return check_unwanted(r, &h);
}

static int unlink_held(const struct removal *r) {
  struct stat held;
  int cause = fstat(r->fd, &held) == 0
                  ? evr_unlink_same(r->directory, r->name, held.st_dev, held.st_ino)
                  : errno;
  if (!cause) return EVENTRING_OK;
  if (cause == ENOENT)
    return evr_fail(r->error, EVENTRING_E_NOT_FOUND, 0, "%.300s: was replaced or removed",
                    r->path);
  return evr_fail(r->error, evr_code_of_errno(cause), cause, "cannot remove %.300s", r->path);
}

static int remove_held(struct removal *r) {
  int status = check_removable(r);
  if (status == EVENTRING_OK) status = evr_packed_open(&r->packed, r->fd, r->error);
  if (status == EVENTRING_OK) status = check_dead(r);
  evr_packed_close(r->packed);
  return status == EVENTRING_OK ? unlink_held(r) : status;
}

int eventring_remove(const char *path, unsigned flags, struct eventring_error *error) {
  struct removal r = {.path = path, .flags = flags, .error = error};
  const unsigned known =
      EVENTRING_REMOVE_ENDED | EVENTRING_REMOVE_ANY_OWNER | EVENTRING_REMOVE_SAVED;
  if (flags & ~known) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "unknown flags");
  if (!path) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no path");
  int status = open_directory(&r);
  if (status != EVENTRING_OK) return status;
  status = evr_open_regular(r.directory, r.name, path, &r.fd, error);
  if (status == EVENTRING_OK) {
    status = remove_held(&r);
    close(r.fd);
  }
  close(r.directory);
  return status;
}
