/* SPDX-License-Identifier: MIT */
/* self.c: a cursor on the recording of this process. This is the only file that knows
 * both the producer and the reader.
 *
 * A process that has changed its user may be unable to open, by any name, the file that
 * it created before. It reads that file through the memory of its recording.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "producer/producer.h"
#include "reader/cursor.h"
#include "reader/locate.h"

static bool is_stream(const struct evr_source *lent) {
  const struct format_header *h = (const struct format_header *)evr_source_words(
      lent, 0, sizeof *h);
  return h && h->layout == FORMAT_STREAM;
}

/* Opens a cursor on a stream. Only the present chunks of a stream are mapped, so it is
   read from its file, through the descriptor of the recording, which also works if the
   file was renamed or removed; if that fails, through `path`. Closes `lent`. */
static int open_stream(eventring_cursor **cursor, struct evr_source lent, const char *path,
                       unsigned flags, struct eventring_error *error) {
  char name[32];
  struct evr_source source = {.fd = -1};
  int own = evr_source_descriptor(&lent);
  snprintf(name, sizeof name, "/proc/self/fd/%d", own);
  if (own >= 0) source.fd = open(name, O_RDONLY | O_CLOEXEC);
  if (source.fd < 0) source.fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  int failure = errno;
  evr_source_close(&lent);
  if (source.fd < 0)
    return evr_fail(error, evr_code_of_errno(failure), failure, "cannot open %.300s", path);
  return evr_cursor_open(cursor, source, path, flags, error);
}

int eventring_open_self(eventring_cursor **cursor, unsigned flags,
                        struct eventring_error *error) {
  char path[PATH_MAX];
  struct evr_source source = {.fd = -1};
  if (!cursor) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no cursor");
  if (!evr_producer_lend(&source.memory, path))
    return evr_fail(error, EVENTRING_E_STATE, 0, "this process does not record");
  if (is_stream(&source)) return open_stream(cursor, source, path, flags, error);
  return evr_cursor_open(cursor, source, path, flags, error);
}

int eventring_open_pid(eventring_cursor **cursor, pid_t pid, unsigned flags,
                       struct eventring_error *error) {
  int status = evr_open_pid(cursor, pid, flags, error);
  bool own = status == EVENTRING_E_PERMISSION && pid == getpid();
  return own ? eventring_open_self(cursor, flags, error) : status;
}

int eventring_open_path(eventring_cursor **cursor, const char *path, unsigned flags,
                        struct eventring_error *error) {
  char present[PATH_MAX];
  int status = evr_open_path(cursor, path, flags, error);
  bool own = status == EVENTRING_E_PERMISSION &&
             eventring_path(present, sizeof present) > 0 && strcmp(path, present) == 0;
  return own ? eventring_open_self(cursor, flags, error) : status;
}

/* Opens the recording of the process with this number. A number always means a process,
   even if the current directory has a file of that name, because somebody else may have
   put it there. If no such process can be opened but a file has this name, the error says
   how to name the file. */
static int open_number(eventring_cursor **cursor, const char *number, unsigned flags,
                       struct eventring_error *error) {
  struct eventring_error why;
  struct stat st;
  errno = 0;
  long pid = strtol(number, NULL, 10);
  int status = errno == 0 && pid > 0 && pid <= INT_MAX
                   ? eventring_open_pid(cursor, (pid_t)pid, flags, &why)
                   : evr_fail(&why, EVENTRING_E_NOT_FOUND, 0, "no process %.100s", number);
  if (status == EVENTRING_OK || !error) return status;
  *error = why;
  if (lstat(number, &st) == 0)
    evr_fail(error, status, 0, "%.400s (a number is a process; the file of this name is ./%.100s)",
             why.text, number);
  return status;
}

int eventring_open_any(eventring_cursor **cursor, const char *pid_or_path,
                       unsigned flags, struct eventring_error *error) {
  if (!cursor || !pid_or_path)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no pid or path");
  bool is_number = pid_or_path[0] && !pid_or_path[strspn(pid_or_path, "0123456789")];
  return (is_number ? open_number : eventring_open_path)(cursor, pid_or_path, flags, error);
}
