/* SPDX-License-Identifier: MIT */
/* deletion.c: the file of a recording that somebody has deleted, as a cleaner of /tmp
 * does.
 *
 * Its mappings stay, and so does what is written into them, but nobody finds it by its
 * name any more, and it is gone when the process is. So the process looks at the number
 * of its links at its safepoints and changes of blocks, and with its first event after
 * each EVR_LINK_LOOK_MS (calibration.c), and goes on in a new file (state.c,
 * replace_locked). Where that cannot be made it goes on where it is, and tries again at
 * the next look.
 *
 * While its domains are asleep in C, the helper looks (trigger/helper.c). A new file
 * would be empty, and all that there is would be gone if the process were killed now. So
 * the helper copies the deleted file to its name. The copy stays exact, as nobody writes;
 * and by its pid the process is still reached through its mapping. (A stream, which may
 * be large, is not copied.) The first domain that wakes up removes the copy, and makes
 * the new file.
 *
 * A process that ends before that, by a signal for example, copies what it has to the
 * name, if the file were to stay. Copies are locked as the file was, until the process is
 * gone.
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

/* Looks at the mapping instead, for a program that has closed our descriptor. Returns
   false, too, where /proc does not say. */
static bool is_mapped_as_deleted(const struct evr_recording *r) {
  static const char mark[] = " (deleted)";
  char name[64], path[PATH_MAX];
  snprintf(name, sizeof name, "/proc/self/map_files/%lx-%lx", (unsigned long)r->front,
           (unsigned long)r->front + FORMAT_FRONT_BYTES);
  ssize_t size = readlink(name, path, sizeof path);
  return size > (ssize_t)sizeof mark &&
         memcmp(path + size - (sizeof mark - 1), mark, sizeof mark - 1) == 0;
}

/* Returns 0: the file has a name, 1: it has none, -1: there is no descriptor of the
   file. */
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

/* Tells whether there is a copy; one that was deleted, too, does not count. */
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
