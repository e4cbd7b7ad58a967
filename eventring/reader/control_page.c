/* SPDX-License-Identifier: MIT */
/* control_page.c: see control_page.h. Callers have checked that a live process records
 * into the file. */
#include "reader/control_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/guard.h"

enum { PAGE_BYTES = FORMAT_DOMAINS_OFFSET - FORMAT_CONTROL_OFFSET };

int evr_control_page_check(const eventring_cursor *cursor, struct eventring_error *error) {
  if (!cursor) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no cursor");
  if (!(cursor->flags & EVENTRING_OPEN_FOLLOW)) return EVENTRING_OK;
  return evr_fail(error, EVENTRING_E_PERMISSION, 0,
                  "%.300s: opened through what may be a symbolic link, only to be read",
                  cursor->meta.path);
}

int evr_control_page_obeys(const struct evr_metadata *meta, enum format_control_word word,
                           const char *why, struct eventring_error *error) {
  uint64_t obeys = meta->status.obeys;
  if (obeys >> word & 1) return EVENTRING_OK;
  if (!obeys)
    why = "its process takes no requests from other processes (REMOTE=0 in its settings)";
  else if (!(obeys & ~(1u << FORMAT_WORD_WANTED)))
    why = "its process takes no such requests from other processes: it has privileges of its own "
          "or is not dumpable (it can be paused and resumed, and its classes switched)";
  return evr_fail(error, EVENTRING_E_STATE, 0, "%.300s: %s", meta->path, why);
}

static int act_guarded(void *page, evr_control_page_act *action, void *context,
                       struct eventring_error *error) {
  if (!evr_guard_add(page, PAGE_BYTES, PROT_READ | PROT_WRITE, page))
    return evr_fail(error, EVENTRING_E_FULL, 0, "too many mappings");
  evr_guard_hold();
  int status = action(page, context);
  evr_guard_remove(page);
  evr_guard_release();
  return status;
}

/* Maps the page through `fd`, which is open for writing, and acts on it. */
static int act_on_file(const struct evr_metadata *meta, int fd, evr_control_page_act *action,
                       void *context, struct eventring_error *error) {
  char byte;
  void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                    FORMAT_CONTROL_OFFSET);
  if (page == MAP_FAILED)
    return evr_fail(error, EVENTRING_E_SYSTEM, errno, "cannot map %.300s", meta->path);
  int status = act_guarded(page, action, context, error);
  munmap(page, PAGE_BYTES);
  if (status == EVENTRING_OK && pread(fd, &byte, 1, FORMAT_CONTROL_OFFSET) != 1)
    return evr_fail(error, EVENTRING_E_TRUNCATED, 0, "%.300s was cut short", meta->path);
  return status;
}

int evr_control_page_act_on(const struct evr_metadata *meta, evr_control_page_act *action,
                            void *context, struct eventring_error *error) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", evr_source_descriptor(&meta->source));
  int fd = open(name, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return evr_fail(error, evr_code_of_errno(errno), errno, "cannot write to %.300s",
                    meta->path);
  int status = act_on_file(meta, fd, action, context, error);
  close(fd);
  return status;
}
