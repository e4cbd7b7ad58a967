/* SPDX-License-Identifier: MIT */
/* start.c: has a process record that was started without (`eventring control --start`).
 *
 * The request is a structure in the memory of the process (<eventring/introspection.h>),
 * its word written last.
 */
#include "start.h"
#include "eventring/tools.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "remote/host.h"

enum { WAIT_MS = 5000, LOOK_MS = 5 };

static bool read_request(struct remote_host *host, struct eventring_request *request) {
  return remote_read(&host->memory, host->at.request, request, sizeof *request);
}

/* Until it was taken up. */
static int await_reply(struct remote_host *host, uint32_t before) {
  const long pid = (long)host->memory.pid;
  struct eventring_request request;
  const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
  for (int waited = 0; waited < WAIT_MS; waited += LOOK_MS) {
    if (!read_request(host, &request)) return wrong("%ld: it has ended", pid);
    if (__atomic_load_n(&request.taken_up, __ATOMIC_ACQUIRE) != before) {
      if (request.refused == 0) return STATUS_OK;
      return wrong("%ld: it cannot record there: %s", pid, strerror((int)request.refused));
    }
    nanosleep(&pause, NULL);
  }
  return wrong("%ld: it has not reached a safepoint within %d s; it starts to record when it does",
               pid, WAIT_MS / 1000);
}

static int ask(struct remote_host *host, const char *directory) {
  const long pid = (long)host->memory.pid;
  const uint64_t at = host->at.request;
  const uint32_t word = EVENTRING_REQUEST_START;
  struct eventring_request request;
  if (at == 0 || !read_request(host, &request))
    return wrong("%ld: it cannot be asked to record", pid);
  if (!request.allowed) return wrong("%ld: it is not to be asked (SAROS_EVENTRING_REMOTE=0)", pid);
  uint32_t before = request.taken_up;
  if (!remote_write(&host->memory, at + offsetof(struct eventring_request, directory), directory,
                    strlen(directory) + 1) ||
      !remote_write(&host->memory, at + offsetof(struct eventring_request, word), &word,
                    sizeof word))
    return wrong("%ld: its memory cannot be written: %s", pid, strerror(host->memory.error));
  return await_reply(host, before);
}

/* -1: it has no recording. */
static int resume(pid_t pid) {
  struct eventring_error error;
  eventring_cursor *cursor;
  if (eventring_open_pid(&cursor, pid, EVENTRING_OPEN_NOW, &error) != 0) return -1;
  int status = eventring_cursor_control(cursor, EVENTRING_CHANGE(RESUME), &error);
  if (status != 0) complain("%s", error.text);
  eventring_close(cursor);
  return status == 0 ? STATUS_OK : STATUS_WRONG;
}

/* Into `path`, since the process has a current directory of its own. */
static bool absolute(char path[EVENTRING_REQUEST_PATH], const char *directory) {
  char here[EVENTRING_REQUEST_PATH];
  if (!directory) directory = ".";
  if (!getcwd(here, sizeof here)) here[0] = '\0';
  int length = directory[0] == '/'
                   ? snprintf(path, EVENTRING_REQUEST_PATH, "%s", directory)
                   : snprintf(path, EVENTRING_REQUEST_PATH, "%s/%s", here, directory);
  return length >= 0 && length < EVENTRING_REQUEST_PATH;
}

int start_recording(const struct command *self, pid_t pid, const char *directory) {
  static char path[EVENTRING_REQUEST_PATH];
  if (!absolute(path, directory)) return usage_error(self, "--directory: too long a path");
  int status = resume(pid);
  if (status >= 0) return status;
  static struct remote_host host;
  if (!remote_host_open(&host, pid)) return wrong("%ld: %s", (long)pid, host.error);
  return ask(&host, path);
}
