/* SPDX-License-Identifier: MIT */
/* deletion.c: what happens when somebody deletes the file of a recording, as a cleaner of
 * /tmp does.
 *
 * The mappings stay, and so does what is written into them. But nobody finds the file by
 * its name any more, and the file is gone when the process ends. So the process checks
 * the file's number of links at safepoints and changes of blocks, and with its first
 * event after each EVR_LINK_LOOK_MS (calibration.c). If the file was deleted, the process
 * goes on in a new file (state.c, replace_locked). If no new file can be made, it goes on
 * in the old file and tries again at the next check.
 *
 * While all domains are asleep in C, the helper checks (trigger/helper.c). A new file
 * would be empty, and all events so far would be lost if the process were killed. So the
 * helper copies the deleted file to its name. The copy stays exact, because nobody
 * writes. Tools that are given the pid still find the recording through the mapping of
 * the process. (A stream, which may be large, is not copied.) The first domain that wakes
 * up removes the copy and makes the new file.
 *
 * A process that ends before it has a new file, by a signal for example, copies the
 * deleted file to its name if the file would have been kept. Copies are locked like the
 * file, until the process is gone.
 */
#include "producer/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/copy_file.h"
#include "format/process.h"

void (*evr_on_deleted)(enum evr_look look);

/* ---- Is it deleted? ---------------------------------------------------------------- */

/* Tells by the mapping whether the file is deleted, for a program that has closed our
   descriptor. Also returns false if /proc does not say. */
static bool is_mapped_as_deleted(const struct evr_recording *r) {
  static const char mark[] = " (deleted)";
  char name[64], path[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/map_files/%lx-%lx", (unsigned long)r->front,
           (unsigned long)r->front + FORMAT_FRONT_BYTES);
  ssize_t size = readlink(name, path, sizeof path);
  return size > (ssize_t)sizeof mark &&
         memcmp(path + size - (sizeof mark - 1), mark, sizeof mark - 1) == 0;
}

/* Returns 0 if the file has a name, 1 if it has none, and -1 if there is no descriptor of
   the file. */
static int is_deleted(const struct evr_descriptor *file) {
  struct stat st;
  int fd = __atomic_load_n(&file->fd, __ATOMIC_RELAXED);
  if (fd < 0 || fstat(fd, &st) != 0 || st.st_dev != file->device || st.st_ino != file->inode)
    return -1;
  return st.st_nlink == 0;
}

void evr_recording_see_link(struct evr_recording *r, bool aside) {
  uint64_t now = evr_clock_ticks(r->clock);
  if (!aside && now < __atomic_load_n(&r->link_at, __ATOMIC_RELAXED)) return;
  __atomic_store_n(&r->link_at, now + evr_recording_ticks_of_ms(r, EVR_LINK_LOOK_MS),
                   __ATOMIC_RELAXED);
  if (__atomic_load_n(&r->ended, __ATOMIC_RELAXED)) return;
  int deleted = is_deleted(&r->extents.file);
  if (deleted < 0 && (aside || evr_descriptor_use(&r->extents.file, r->path) < 0))
    deleted = is_mapped_as_deleted(r);
  if (deleted > 0) __atomic_store_n(&r->deleted, true, __ATOMIC_RELAXED);
}

/* ---- Copying it out: async-signal-safe --------------------------------------------- */

static bool make_copy(struct evr_recording *r) {
  int fd = evr_recording_create_again(r);
  if (fd < 0 || evr_descriptor_set(&r->rescued, fd) != 0) return false;
  evr_lock_file(fd);
  return true;
}

/* Tells whether there is a copy that was not itself deleted. */
static bool has_copy(struct evr_recording *r) {
  if (is_deleted(&r->rescued) > 0) evr_descriptor_close(&r->rescued);
  return evr_descriptor_holds(&r->rescued);
}

void evr_recording_rescue(struct evr_recording *r) {
  int saved = errno;
  if (is_deleted(&r->extents.file) > 0 && (has_copy(r) || make_copy(r)) &&
      !evr_copy_file(r->extents.file.fd, r->rescued.fd))
    evr_recording_drop_rescued(r);
  errno = saved;
}

void evr_recording_copy_aside_locked(struct evr_recording *r) {
  enum { PAUSE_LOOKS = 60 };
  if (r->streams.rings || has_copy(r)) return;
  if (r->copy_pause > 0) {
    r->copy_pause--;
    return;
  }
  evr_recording_rescue(r);
  /* the disk is full */
  if (!evr_descriptor_holds(&r->rescued)) r->copy_pause = PAUSE_LOOKS;
}

void evr_recording_drop_rescued(struct evr_recording *r) {
  if (r->rescued.fd < 0) return;
  evr_recording_unlink_other(r, &r->rescued);
  evr_descriptor_close(&r->rescued);
}
