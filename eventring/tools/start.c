/* SPDX-License-Identifier: MIT */
/* start.c: starts the recording of a process that was started without one (`eventring
 * control --start`).
 *
 * The request is a structure in the memory of the process (<eventring/introspection.h>),
 * and its word is written last. A process that does not record has no thread of
 * libeventring, so only the threads of its domains obey, at their safepoints. While all
 * domains are asleep in C, the request waits. Nothing wakes them, as a signal would end
 * their system calls (domain_state.c).
 */
#include "start.h"
#include "eventring/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "domain_state.h"
#include "options.h"
#include "reader.h"
#include "remote/host.h"

enum {
  WAIT_MS = 5000,
  LOOK_MS = 5,
  PROMPT_MS = 20, /* time in which a running process obeys */
  ASLEEP_MS = 200 /* time without running after which a thread counts as asleep */
};

/* ---- Is it asleep? ------------------------------------------------------------ */

/* The threads that may obey. */
struct obeyers {
  struct remote_domain domains[REMOTE_DOMAINS];
  struct sleep_watch watches[REMOTE_DOMAINS];
  size_t count;
};

static struct obeyers *find_obeyers(struct remote_host *host) {
  static struct obeyers obeyers;
  memset(obeyers.watches, 0, sizeof obeyers.watches);
  obeyers.count = remote_domains_read(host, obeyers.domains);
  return &obeyers;
}

/* Tells whether all threads that may obey are asleep; called repeatedly. */
static bool are_asleep(struct obeyers *o, pid_t pid) {
  bool all = o->count > 0;
  for (size_t i = 0; i < o->count; i++)
    all &= sleep_watch_look(&o->watches[i], pid, o->domains[i].thread,
                            ASLEEP_MS * UINT64_C(1000000));
  return all;
}

static void say_later(const struct obeyers *o, pid_t pid) {
  char what[DOMAIN_STATE_TEXT];
  domain_thread_text(what, pid, o->domains[0].thread);
  complain("%ld: %s: it starts to record at its next safepoint", (long)pid, what);
}

/* ---- Asking ------------------------------------------------------------------- */

static bool read_request(struct remote_host *host, struct eventring_request *request) {
  return remote_read(&host->memory, host->at.request, request, sizeof *request);
}

/* Waits until the request was obeyed, or until it is known that it will be obeyed later.
   Returns the exit status. */
static int await_reply(struct remote_host *host, uint32_t before) {
  const long pid = (long)host->memory.pid;
  struct obeyers *obeyers = find_obeyers(host);
  struct eventring_request request;
  const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
  for (int waited = 0; waited < WAIT_MS; waited += LOOK_MS) {
    if (!read_request(host, &request)) return wrong("%ld: it has ended", pid);
    if (request.taken_up != before) {
      /* The process counts after it has written the reply (the release add in
         introspection_reply, runtime/introspection.c). The copy that shows the count may
         have read the reply's bytes earlier; a copy that begins now has them. */
      if (!read_request(host, &request)) return wrong("%ld: it has ended", pid);
      if (request.refused == 0) return STATUS_OK;
      return wrong("%ld: it cannot record there: %s", pid, strerror((int)request.refused));
    }
    if (waited >= PROMPT_MS && are_asleep(obeyers, host->memory.pid)) {
      say_later(obeyers, host->memory.pid);
      return STATUS_OK;
    }
    nanosleep(&pause, NULL);
  }
  return wrong("%ld: it has not reached a safepoint within %d s; it starts to record when it does",
               pid, WAIT_MS / 1000);
}

/* Returns an errno for what is wrong with the directory for any user; 0 if nothing is
   wrong, or the directory is not visible from here. (A sleeping process would find such a
   fault only when nobody waits for its answer any more.) */
static int trouble_with(pid_t pid, const char *directory) {
  char path[EVENTRING_REQUEST_PATH + 32];
  snprintf(path, sizeof path, "/proc/%ld/root%s", (long)pid, directory);
  int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0) {
    close(fd);
    return 0;
  }
  return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? errno : 0;
}

static int ask(struct remote_host *host, const char *directory) {
  const long pid = (long)host->memory.pid;
  const uint64_t at = host->at.request;
  const uint32_t word = EVENTRING_REQUEST_START;
  struct eventring_request request;
  if (at == 0 || !read_request(host, &request))
    return wrong("%ld: it cannot be asked to record", pid);
  if (!request.allowed) return wrong("%ld: it is not to be asked (SAROS_EVENTRING_REMOTE=0)", pid);
  const int trouble = trouble_with(host->memory.pid, directory);
  if (trouble) return wrong("%ld: it cannot record there: %s", pid, strerror(trouble));
  uint32_t before = request.taken_up;
  if (!remote_write(&host->memory, at + offsetof(struct eventring_request, directory), directory,
                    strlen(directory) + 1) ||
      !remote_write(&host->memory, at + offsetof(struct eventring_request, word), &word,
                    sizeof word))
    return wrong("%ld: its memory cannot be written: %s", pid, strerror(host->memory.error));
  return await_reply(host, before);
}

/* Waits until a process on standby has made its rings, at its next safepoint. */
static void await_rings(eventring_cursor *cursor) {
  static struct remote_host host;
  struct eventring_info info = {.size = sizeof info};
  const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
  struct obeyers *obeyers = NULL;
  for (int waited = 0; waited < WAIT_MS; waited += LOOK_MS) {
    if (eventring_cursor_info(cursor, &info) < 0 || info.liveness != EVENTRING_LIVE ||
        info.domains_laid_out > 0)
      return;
    if (waited >= PROMPT_MS && !obeyers) {
      if (!remote_host_open(&host, pid_here(&info))) return;
      obeyers = find_obeyers(&host);
    }
    if (obeyers && are_asleep(obeyers, pid_here(&info))) return say_later(obeyers, pid_here(&info));
    nanosleep(&pause, NULL);
  }
}

/* Resumes the recording of a process. Returns the exit status, or STATUS_GO_ON if it has
   no recording. */
static int resume(pid_t pid) {
  struct eventring_error error;
  eventring_cursor *cursor;
  if (eventring_open_pid(&cursor, pid, EVENTRING_OPEN_NOW, &error) != 0) return STATUS_GO_ON;
  int status = eventring_cursor_control(cursor, EVENTRING_CHANGE(RESUME), &error);
  if (status != 0) complain("%s", error.text);
  else await_rings(cursor);
  eventring_close(cursor);
  return status == 0 ? STATUS_OK : STATUS_WRONG;
}

/* Writes an absolute path into `path`, since the process has its own current directory.
   Returns false if it is too long. */
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
  if (!goes_on(status)) return status;
  static struct remote_host host;
  if (!remote_host_open(&host, pid)) return wrong("%ld: %s", (long)pid, host.error);
  return ask(&host, path);
}

bool start_is_due(pid_t pid, char text[static START_TEXT]) {
  static struct remote_host host;
  struct eventring_request request;
  char what[DOMAIN_STATE_TEXT];
  if (!remote_host_open(&host, pid) || host.at.request == 0 || !read_request(&host, &request))
    return false;
  const bool stands = request.word & EVENTRING_REQUEST_START;
  if (!stands && !request.refused) return false;
  if (stands) {
    const struct obeyers *o = find_obeyers(&host);
    domain_thread_text(what, pid, o->count > 0 ? o->domains[0].thread : pid);
    snprintf(text, START_TEXT, "it was asked to and starts at its next safepoint%s%s",
             what[0] ? ": " : "", what);
  } else {
    snprintf(text, START_TEXT, "it was asked to and could not: %s",
             strerror((int)request.refused));
  }
  return true;
}
