/* SPDX-License-Identifier: MIT */
/* window.c: a file mapped for reading.
 *
 * A mapping saves the cost of pread: 1 ns an event, and a call for each ring that is
 * checked for news. One mapping covers all that the file may ever hold (the header says
 * how much). The part beyond the end of the file needs no memory and is not read before
 * the file has grown. Nothing is ever stored through it.
 *
 * The owner of the file may cut it short at any time. The fault is guarded (guard.c):
 * zeros take the place of the whole mapping, including its first word, the magic of the
 * header. So code that has copied something out of a window then checks that the window
 * is still whole. If not, the copy is discarded, pread returns the error of the file, and
 * from then on the file is read with pread. (The same happens if the owner stores zeros
 * into the magic.)
 *
 * A file is read with pread from the start
 *  - where the library would not get the fault: the process has set another handler of
 *    SIGBUS above the library's, or wants no handler of the library (leave_sigbus), or
 *    the thread that opens the cursor blocks the signal;
 *  - on a file system that is not known to be local: on a remote one a mapping may not
 *    show what other machines write;
 *  - under a limit on address space, which belongs to the program;
 *  - when the cursor was opened with EVENTRING_OPEN_UNMAPPED.
 */
#include "reader/window.h"
#include "format/guard.h"

#include <linux/magic.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>

static bool is_local(int fd) {
  static const uint32_t known[] = {
      EXT4_SUPER_MAGIC, TMPFS_MAGIC, RAMFS_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, 0x2fc12fc1 /* ZFS */,
      0xca451a4e /* bcachefs */};
  struct statfs fs;
  if (fstatfs(fd, &fs) != 0) return false;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if ((uint32_t)fs.f_type == known[i]) return true;
  return false;
}

static bool has_limit(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

static bool is_blocked(void) {
  sigset_t now;
  return pthread_sigmask(SIG_BLOCK, NULL, &now) != 0 || sigismember(&now, SIGBUS) != 0;
}

static bool take_guard(void) {
  if (evr_guard_left()) return false;
  if (evr_guard_hold()) return true;
  evr_guard_release();
  return false;
}

void evr_window_open(struct evr_window *window, int fd, uint64_t bytes) {
  window->map = NULL;
  if (has_limit() || is_blocked() || !is_local(fd) || !take_guard()) return;
  void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED && evr_guard_add(map, bytes, PROT_READ, map)) {
    window->map = map;
    window->bytes = bytes;
    return;
  }
  if (map != MAP_FAILED) munmap(map, bytes);
  evr_guard_release();
}

void evr_window_close(struct evr_window *window) {
  if (!window->map) return;
  evr_guard_remove(window->map);
  munmap(window->map, window->bytes);
  window->map = NULL;
  evr_guard_release();
}
