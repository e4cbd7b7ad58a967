/* SPDX-License-Identifier: MIT */
/* locate.c: finding recordings: by path, by pid, by directory.
 *
 * A process records into a file that it maps for writing: /proc/PID/maps names it,
 * wherever it is. (A reader may map the file too, but not for writing.) The file is
 * opened in the first of these ways that leads to it:
 *
 *   /proc/PID/map_files     the mapped file itself, whatever has its name now; for
 *                           users who may checkpoint processes (root)
 *   the path from the       for a process in another mount namespace. Links on the path
 *   process's own root      lead where they lead for that process, never out of its root
 *   the path from here      for a process with another root in this mount namespace: maps
 *                           names files as this process sees them
 *   /proc/PID/fd            what the process has open, for a file that was deleted: its
 *                           producer keeps a descriptor
 *
 * A file that was found by its path may be the wrong one: a file system may have been
 * mounted over the directory, or a file put into its place. So the opened file must be
 * the mapped file: the same inode of the same device.
 *
 * A child of a fork has the mappings of its parent. The recording process is the one
 * whose pid, in its own pid namespace, is the pid in the file's header; its pid in this
 * namespace may differ. The calling process is found like any other (self.c handles what
 * only the calling process can read).
 */
#include "reader/cursor.h"
#include "reader/locate.h"
#include "format/array.h"
#include "format/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ---- By path ----------------------------------------------------------------------- */

enum { READ_ONLY = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC };

/* Checks that a descriptor (or -1 with errno) is one of a regular file. Sets *fd to it;
   otherwise closes it and sets *fd to -1. */
static int check_regular(int opened, const char *path, int *fd, struct eventring_error *error) {
  struct stat st;
  *fd = opened;
  if (opened < 0 && errno == ELOOP)
    return evr_fail(error, EVENTRING_E_NOT_EVENTRING, 0,
                    "%.300s: is a symbolic link, which is not followed", path);
  if (opened < 0) return evr_fail(error, evr_code_of_errno(errno), errno, "%.300s", path);
  if (fstat(opened, &st) == 0 && S_ISREG(st.st_mode)) return EVENTRING_OK;
  close(opened);
  *fd = -1;
  return evr_fail(error, EVENTRING_E_NOT_EVENTRING, 0, "%.300s: not a regular file", path);
}

int evr_open_regular(int directory, const char *name, const char *path, int *fd,
                     struct eventring_error *error) {
  return check_regular(openat(directory, name, READ_ONLY | O_NOFOLLOW), path, fd, error);
}

/* Opens a file by its path. A link at the end of a path is followed only for a reader
   that sets EVENTRING_OPEN_FOLLOW: its user has named the path, and the reader only
   reads. Functions that change or remove a recording follow no link: where others may
   write, in /tmp for example, a link in the place of a recording would redirect the
   change to a file that nobody named. Searches follow no link either: nobody has named
   what they find, and a recording would be found twice. */
int evr_open_file(const char *path, unsigned flags, int *fd, struct eventring_error *error) {
  int nofollow = flags & EVENTRING_OPEN_FOLLOW ? 0 : O_NOFOLLOW;
  struct stat st;
  int status = check_regular(open(path, READ_ONLY | nofollow), path, fd, error);
  bool checks = status == EVENTRING_OK && flags & EVENTRING_OPEN_OWN;
  if (!checks || (fstat(*fd, &st) == 0 && st.st_uid == geteuid())) return status;
  close(*fd);
  *fd = -1;
  return evr_fail(error, EVENTRING_E_PERMISSION, 0, "%.300s: another user's file", path);
}

int evr_open_path(eventring_cursor **cursor, const char *path, unsigned flags,
                  struct eventring_error *error) {
  struct evr_source source = {.fd = -1};
  if (!cursor || !path)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no cursor or no path");
  int status = evr_open_file(path, flags, &source.fd, error);
  if (status != EVENTRING_OK) return status;
  return evr_cursor_open(cursor, source, path, flags, error);
}

/* ---- What a process maps ----------------------------------------------------------- */

struct mapping {
  unsigned long long start, end; /* addresses */
  char path[PATH_MAX]; /* without what /proc appends to the path of a deleted file */
  dev_t device;
  ino_t inode;
  bool deleted;
};

static bool has_suffix(const char *path) {
  size_t length = strlen(path), suffix = strlen(EVENTRING_SUFFIX);
  return length > suffix && strcmp(path + length - suffix, EVENTRING_SUFFIX) == 0;
}

/* Cuts off the mark that /proc appends to the name of a deleted file. Returns false if
   there is no mark. The name of an existing file may end in the same way; then its device
   and inode decide. */
static bool cut_deleted(char *path) {
  static const char mark[] = " (deleted)";
  size_t length = strlen(path), size = sizeof mark - 1;
  if (length <= size || strcmp(path + length - size, mark) != 0) return false;
  path[length - size] = 0;
  return true;
}

/* Parses a line of /proc/PID/maps. Returns false unless it maps the beginning of a
   file. */
static bool parse_mapping(char *line, struct mapping *mapping, bool *writable) {
  unsigned long long offset, inode;
  unsigned major_number, minor_number;
  char rights[8];
  int at = 0;
  line[strcspn(line, "\n")] = 0;
  if (sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &mapping->start, &mapping->end, rights,
             &offset, &major_number, &minor_number, &inode, &at) != 7 ||
      !at || offset != 0 || line[at] != '/')
    return false;
  snprintf(mapping->path, sizeof mapping->path, "%s", line + at);
  mapping->deleted = cut_deleted(mapping->path);
  mapping->device = makedev(major_number, minor_number);
  mapping->inode = inode;
  *writable = rights[1] == 'w';
  return true;
}

/* Finds the name, device and inode that /proc shows for the file that this process maps
   at `start`. */
static bool find_own_mapping(const void *start, struct mapping *mapping) {
  FILE *maps = fopen("/proc/self/maps", "re");
  char *line = NULL;
  size_t room = 0;
  bool found = false, writable;
  while (maps && !found && getline(&line, &room, maps) > 0)
    found = parse_mapping(line, mapping, &writable) && mapping->start == (uintptr_t)start;
  free(line);
  if (maps) fclose(maps);
  return found;
}

/* Tells whether /proc shows the same device and inode for this file as for the mapped
   file. Where a file system presents several file systems as one (btrfs, overlayfs), stat
   and /proc show different numbers. So this process maps the file, too, and looks it up
   in /proc; it does not read the mapping. */
static bool is_named_alike(int fd, const struct mapping *mapping) {
  struct mapping own;
  void *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return false;
  bool alike = find_own_mapping(map, &own) && own.device == mapping->device &&
               own.inode == mapping->inode;
  munmap(map, 1);
  return alike;
}

static bool is_mapped_file(int fd, const struct mapping *mapping) {
  struct stat st;
  if (fstat(fd, &st) != 0) return false;
  return (st.st_dev == mapping->device && st.st_ino == mapping->inode) ||
         is_named_alike(fd, mapping);
}

/* Checks that a descriptor that was opened by a path (or -1 with errno) is one of the
   mapped file. Sets *fd as check_regular does. */
static int check_mapped(int opened, pid_t pid, const struct mapping *mapping, int *fd,
                        struct eventring_error *error) {
  int status = check_regular(opened, mapping->path, fd, error);
  if (status != EVENTRING_OK || is_mapped_file(*fd, mapping)) return status;
  close(*fd);
  *fd = -1;
  return evr_fail(error, EVENTRING_E_NOT_FOUND, 0,
                  "%.300s: not the file that process %d maps", mapping->path, (int)pid);
}

/* Opens a path as the process sees it, from its root. Returns a descriptor, or -1 with
   errno. */
static int open_in_root(pid_t pid, const char *path) {
  char root[PATH_MAX + 32];
  struct open_how how = {.flags = READ_ONLY | O_NOFOLLOW,
                         .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
  int length = snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
  int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  int fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
  int cause = errno;
  close(directory);
  /* Linux before 5.6, or a filter of system calls that does not know openat2: the target
     of a link is checked as well */
  if (fd < 0 && (cause == ENOSYS || cause == EPERM)) {
    snprintf(root + length, sizeof root - (size_t)length, "%s", path);
    return open(root, READ_ONLY | O_NOFOLLOW);
  }
  errno = cause;
  return fd;
}

/* Opens the file that process `pid` has open and maps, whatever became of its name. */
static int open_descriptor(pid_t pid, const struct mapping *mapping, int *fd,
                           struct eventring_error *error) {
  char name[PATH_MAX];
  struct dirent *entry;
  int status = EVENTRING_E_NOT_FOUND;
  snprintf(name, sizeof name, "/proc/%d/fd", (int)pid);
  DIR *directory = opendir(name);
  while (directory && status != EVENTRING_OK && (entry = readdir(directory))) {
    struct stat st;
    if (fstatat(dirfd(directory), entry->d_name, &st, 0) != 0 || st.st_ino != mapping->inode ||
        !S_ISREG(st.st_mode))
      continue;
    int opened = openat(dirfd(directory), entry->d_name, READ_ONLY);
    status = check_mapped(opened, pid, mapping, fd, NULL);
  }
  if (directory) closedir(directory);
  return status == EVENTRING_OK ? status
                                : evr_fail(error, EVENTRING_E_NOT_FOUND, 0,
                                           "%.300s was deleted, and cannot be reached "
                                           "through process %d",
                                           mapping->path, (int)pid);
}

/* Opens the file that process `pid` maps as `mapping`. */
static int open_mapping(pid_t pid, const struct mapping *mapping, int *fd,
                        struct eventring_error *error) {
  char name[96];
  snprintf(name, sizeof name, "/proc/%d/map_files/%llx-%llx", (int)pid, mapping->start,
           mapping->end);
  if (check_regular(open(name, READ_ONLY), name, fd, NULL) == EVENTRING_OK)
    return EVENTRING_OK;
  if (mapping->deleted) return open_descriptor(pid, mapping, fd, error);
  int status = check_mapped(open_in_root(pid, mapping->path), pid, mapping, fd, error);
  if (status == EVENTRING_OK) return status;
  int here = open(mapping->path, READ_ONLY | O_NOFOLLOW);
  return check_mapped(here, pid, mapping, fd, NULL) == EVENTRING_OK ? EVENTRING_OK : status;
}

/* ---- By pid ------------------------------------------------------------------------ */

/* Returns the pid, in its own pid namespace, of the process that records into the file,
   or 0 if the file is no recording or an ended recording. (A process may keep an ended
   recording mapped for a while, beside the next one.) */
static pid_t recorder_of(int fd) {
  struct format_header h;
  uint32_t state;
  bool goes_on = pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h &&
                 memcmp(h.magic, FORMAT_MAGIC, sizeof h.magic) == 0 &&
                 pread(fd, &state, sizeof state, FORMAT_STATUS_OFFSET) ==
                     (ssize_t)sizeof state &&
                 state != FORMAT_ENDED;
  return goes_on ? h.pid : 0;
}

/* Finds the recording that a process maps; fails with E_NOT_FOUND when there is none. */
static int find_by_pid(pid_t pid, struct mapping *mapping, int *fd,
                       struct eventring_error *error) {
  char name[64], *line = NULL;
  size_t room = 0;
  bool writable;
  snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
  FILE *maps = fopen(name, "re");
  if (!maps)
    return errno == ENOENT
               ? evr_fail(error, EVENTRING_E_NOT_FOUND, 0, "no process %d", (int)pid)
               : evr_fail(error, evr_code_of_errno(errno), errno,
                          "cannot inspect process %d", (int)pid);
  int status = evr_fail(error, EVENTRING_E_NOT_FOUND, 0,
                        "process %d does not record", (int)pid);
  errno = 0;
  while (status != EVENTRING_OK && getline(&line, &room, maps) > 0) {
    if (!parse_mapping(line, mapping, &writable) || !writable || !has_suffix(mapping->path))
      continue;
    int found = open_mapping(pid, mapping, fd, error);
    if (found == EVENTRING_OK && recorder_of(*fd)) {
      status = EVENTRING_OK;
    } else if (found == EVENTRING_OK) {
      close(*fd);
      *fd = -1;
    } else if (found != EVENTRING_E_NOT_FOUND) {
      status = found;
    }
  }
  if (status != EVENTRING_OK && ferror(maps))
    status = evr_fail(error, evr_code_of_errno(errno), errno,
                      "cannot inspect process %d", (int)pid);
  free(line);
  fclose(maps);
  return status;
}

int evr_open_pid(eventring_cursor **cursor, pid_t pid, unsigned flags,
                 struct eventring_error *error) {
  struct evr_source source = {.fd = -1};
  struct mapping mapping;
  if (!cursor || pid <= 0)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no cursor or no pid");
  int status = find_by_pid(pid, &mapping, &source.fd, error);
  if (status != EVENTRING_OK) return status;
  status = evr_cursor_open(cursor, source, mapping.path, flags, error);
  if (status == EVENTRING_OK) (*cursor)->process = pid;
  return status;
}

/* ---- Everywhere -------------------------------------------------------------------- */

struct file_id {
  dev_t device;
  ino_t inode;
};

struct discovery {
  int (*callback)(void *, const struct eventring_found *);
  void *context;
  struct file_id *seen;
  uint32_t count, room;
  int result; /* result of the callback that ended the search */
};

/* Tells whether a file was not seen yet, and remembers it. */
static bool first_time(struct discovery *d, int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0) return false;
  for (size_t i = 0; i < d->count; i++)
    if (d->seen[i].device == st.st_dev && d->seen[i].inode == st.st_ino) return false;
  if (!EVR_MAKE_ROOM(d->seen, d->room, d->count, 64)) return false;
  d->seen[d->count++] = (struct file_id){st.st_dev, st.st_ino};
  return true;
}

static void report_found(struct discovery *d, const struct eventring_found *found) {
  d->result = d->callback(d->context, found);
}

static void report_failure(struct discovery *d, const char *path,
                           const struct eventring_error *error) {
  report_found(d, &(struct eventring_found){.path = path, .status = error->code,
                                            .status_text = error->text, .program = "",
                                            .error_text = ""});
}

/* Reports a file that was found. The cursor that is opened owns the descriptor from here
   on. `process` records into the file; 0 if not known. */
static void report_file(struct discovery *d, int fd, const char *path, pid_t process) {
  struct eventring_error error = {0};
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor *cursor;
  struct evr_source source = {.fd = fd};
  int status = evr_cursor_open(&cursor, source, path, EVENTRING_OPEN_NOW, &error);
  if (status == EVENTRING_OK) {
    status = eventring_cursor_info(cursor, &info);
    if (status != EVENTRING_OK) error = *eventring_cursor_error(cursor);
    eventring_close(cursor);
  }
  if (status != EVENTRING_OK) {
    error.code = status;
    report_failure(d, path, &error);
    return;
  }
  report_found(d, &(struct eventring_found){
                .path = path, .pid = info.pid, .liveness = info.liveness,
                .status_text = "", .program = info.program, .state = info.state,
                .start_ns = info.start_ns, .start_wall_ns = info.start_wall_ns,
                .file_size = info.file_size, .disk_size = info.disk_size,
                .process = info.liveness == EVENTRING_LIVE ? process : 0,
                .end_reason = info.end_reason, .end_detail = info.end_detail,
                .preserved = info.preserved, .error_text = info.error_text,
                .no_room = info.no_room, .unrecorded = info.unrecorded});
}

static void look_into_directory(struct discovery *d, const char *directory) {
  char path[PATH_MAX];
  struct eventring_error error;
  DIR *dir = opendir(directory);
  struct dirent *entry;
  while (dir && d->result == 0 && (entry = readdir(dir))) {
    int fd;
    if (!has_suffix(entry->d_name)) continue;
    snprintf(path, sizeof path, "%s%s%s",
             strcmp(directory, ".") == 0 ? "" : directory,
             strcmp(directory, ".") == 0 ? "" : "/", entry->d_name);
    if (evr_open_regular(AT_FDCWD, path, path, &fd, &error) != EVENTRING_OK)
      report_failure(d, path, &error);
    else if (first_time(d, fd))
      report_file(d, fd, path, 0);
    else
      close(fd);
  }
  if (dir) closedir(dir);
}

/* Tells whether the process itself records. A child of a fork may only have inherited the
   mappings. */
static bool records_itself(pid_t pid, int fd) {
  pid_t own = evr_process_own_pid(pid);
  return own == 0 || own == recorder_of(fd);
}

static void look_at_processes(struct discovery *d) {
  struct mapping mapping;
  struct dirent *entry;
  DIR *proc = opendir("/proc");
  while (proc && d->result == 0 && (entry = readdir(proc))) {
    int fd = -1;
    long pid = strtol(entry->d_name, NULL, 10);
    if (pid <= 0 || find_by_pid((pid_t)pid, &mapping, &fd, NULL) != EVENTRING_OK)
      continue;
    if (records_itself((pid_t)pid, fd) && first_time(d, fd))
      report_file(d, fd, mapping.path, (pid_t)pid);
    else
      close(fd);
  }
  if (proc) closedir(proc);
}

int eventring_discover(const char *const *directories, size_t count,
                       int (*callback)(void *context,
                                       const struct eventring_found *found),
                       void *context) {
  struct discovery d = {.callback = callback, .context = context};
  if (!callback) return EVENTRING_E_ARGUMENT;
  look_at_processes(&d);
  if (!directories || !count)
    look_into_directory(&d, ".");
  else
    for (size_t i = 0; i < count && d.result == 0; i++)
      look_into_directory(&d, directories[i]);
  free(d.seen);
  return d.result ? d.result : (int)d.count;
}
