/* SPDX-License-Identifier: MIT */
/* kept.c: how many recordings of a program stay in a directory.
 *
 * A program that fails again and again must not fill its disk. So each start of a
 * recording, and each end that keeps one, removes the oldest recordings that dead
 * processes of this user have left: those kept after an error or because the process was
 * killed, and, if the present recording is always preserved, also those that were always
 * preserved. Recordings of live processes, of other programs and with another setting of
 * `preserve` stay, and so do snapshots and all files that are no recordings of this
 * format.
 *
 * As in reader/remove.c, the file that is checked is the one that is removed, and it is
 * locked against a producer meanwhile.
 */
#include "producer/recording.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/array.h"
#include "format/process.h"
#include "format/unlink_same.h"

struct kept_file {
  int64_t start; /* nanoseconds since the epoch */
  char name[NAME_MAX + 1];
};

struct kept_files {
  struct kept_file *file;
  uint32_t count, room;
  size_t held; /* number of other files that count and that their processes still have
                  open */
};

static bool is_recording_of(const struct evr_recording *r, const struct format_header *h) {
  return memcmp(h->magic, r->header.magic, sizeof h->magic) == 0 &&
         h->version == FORMAT_VERSION && h->layout == FORMAT_FLIGHT_RECORDER &&
         memcmp(h->program, r->header.program, sizeof h->program) == 0;
}

static bool is_preserved_alike(const struct evr_recording *r, const struct format_status *s) {
  bool is_always = s->preserve == FORMAT_PRESERVE_ALWAYS;
  if (r->preserve == EVENTRING_PRESERVE_ALWAYS) return is_always;
  return !is_always && !format_is_preserved(s);
}

enum fate {
  STAYS,  /* the file stays and does not count */
  COUNTS, /* the recording has ended, but its process has not */
  MAY_GO
};

/* Decides the fate of a file. A file that may go is locked against producers until `fd`
   is closed. */
static enum fate examine(const struct evr_recording *r, int fd, struct stat *st,
                         int64_t *start) {
  struct format_header h;
  struct format_status status;
  if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode) || st->st_uid != geteuid() ||
      (st->st_dev == r->extents.file.device && st->st_ino == r->extents.file.inode) ||
      pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || !is_recording_of(r, &h) ||
      pread(fd, &status, sizeof status, FORMAT_STATUS_OFFSET) != (ssize_t)sizeof status ||
      !is_preserved_alike(r, &status))
    return STAYS;
  *start = h.start_wall_ns;
  if (evr_hold_dead(fd, h.pid, h.process_start)) return MAY_GO;
  return status.state == FORMAT_ENDED ? COUNTS : STAYS;
}

/* Opens a name; *fd is to be closed unless it is -1. */
static enum fate open_kept(const struct evr_recording *r, const char *name, int *fd,
                           struct stat *st, int64_t *start) {
  *fd = openat(r->directory.fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  return *fd < 0 ? STAYS : examine(r, *fd, st, start);
}

static bool add_file(struct kept_files *files, const char *name, int64_t start) {
  if (!EVR_MAKE_ROOM(files->file, files->room, files->count, 16))
    return false;
  struct kept_file *file = &files->file[files->count++];
  file->start = start;
  strcpy(file->name, name);
  return true;
}

static bool is_name_of_recording(const char *name) {
  size_t length = strlen(name), suffix = strlen(EVENTRING_SUFFIX);
  return length > suffix && length <= NAME_MAX &&
         strcmp(name + length - suffix, EVENTRING_SUFFIX) == 0;
}

/* Counts the names that may belong to kept recordings, without opening any. */
static size_t count_names(DIR *directory) {
  size_t count = 0;
  struct dirent *entry;
  while ((entry = readdir(directory)))
    if (is_name_of_recording(entry->d_name)) count++;
  rewinddir(directory);
  return count;
}

static void find_files(const struct evr_recording *r, DIR *directory, struct kept_files *files) {
  struct dirent *entry;
  while ((entry = readdir(directory))) {
    struct stat st;
    int64_t start;
    int fd;
    if (!is_name_of_recording(entry->d_name)) continue;
    enum fate fate = open_kept(r, entry->d_name, &fd, &st, &start);
    if (fd >= 0) close(fd);
    if (fate == COUNTS) files->held++;
    if (fate == MAY_GO && !add_file(files, entry->d_name, start)) break;
  }
}

static int compare_files(const void *left, const void *right) {
  const struct kept_file *a = left, *b = right;
  if (a->start != b->start) return a->start < b->start ? -1 : 1;
  return strcmp(a->name, b->name);
}

/* Removes the file if it is still the one that was found. */
static void remove_file(const struct evr_recording *r, const struct kept_file *file) {
  struct stat st;
  int64_t start;
  int fd;
  if (open_kept(r, file->name, &fd, &st, &start) == MAY_GO && start == file->start)
    evr_unlink_same(r->directory.fd, file->name, st.st_dev, st.st_ino);
  if (fd >= 0) close(fd);
}

static DIR *open_listing(const struct evr_recording *r) {
  if (!evr_descriptor_holds(&r->directory)) return NULL;
  int fd = openat(r->directory.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
  if (!directory && fd >= 0) close(fd);
  return directory;
}

void evr_recording_limit_kept(const struct evr_recording *r, size_t most) {
  struct kept_files files = {0};
  if (r->preserve == EVENTRING_PRESERVE_NEVER || r->streams.rings || !r->keep) return;
  DIR *directory = open_listing(r);
  if (!directory) return;
  /* + 1: this recording itself */
  if (count_names(directory) > most + 1) find_files(r, directory, &files);
  closedir(directory);
  if (files.count) qsort(files.file, files.count, sizeof *files.file, compare_files);
  for (size_t i = 0; i < files.count && files.count - i + files.held > most; i++)
    remove_file(r, &files.file[i]);
  free(files.file);
}
