/* SPDX-License-Identifier: MIT */
/* search_path.c: finds the directories for the files of dead processes. */
#include "search_path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/state_directory.h"

static bool is_readable_directory(const char *path) {
  DIR *directory = opendir(path);
  if (directory) closedir(directory);
  return directory != NULL;
}

/* Takes a directory from the environment, but only if it can be searched, since the user
   has not named it. */
static void take_default(struct search_path *where, const char *path) {
  if (path && path[0] && is_readable_directory(path))
    *NEED_NEXT(where->directories, where->count) = need_copy(path);
}

/* Takes the folders of services that lie in the machine's folder. */
static void take_services(struct search_path *where, const char *parent) {
  DIR *directory = opendir(parent);
  struct dirent *entry;
  while (directory && (entry = readdir(directory))) {
    char path[PATH_MAX];
    struct stat st;
    int size = snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
    if (entry->d_name[0] != '.' && size < (int)sizeof path && lstat(path, &st) == 0 &&
        S_ISDIR(st.st_mode))
      take_default(where, path);
  }
  if (directory) closedir(directory);
}

static void take_defaults(struct search_path *where) {
  char path[PATH_MAX];
  *NEED_NEXT(where->directories, where->count) = need_copy(".");
  take_default(where, secure_getenv("SAROS_EVENTRING_PREFIX"));
  take_default(where, evr_service_directory(path));
  take_default(where, evr_state_directory(path));
  where->asked = where->count;
  take_default(where, EVR_SYSTEM_DIRECTORY);
  take_services(where, EVR_SYSTEM_DIRECTORY);
  take_default(where, secure_getenv("XDG_RUNTIME_DIR"));
  take_default(where, "/tmp");
}

int search_path_take(struct search_path *where, char **words, size_t count,
                bool files_allowed) {
  *where = (struct search_path){
      .files = need_zeroed(count + 1, sizeof(char *))};
  if (count == 0) take_defaults(where);
  for (size_t i = 0; i < count; i++) {
    if (is_readable_directory(words[i])) {
      *NEED_NEXT(where->directories, where->count) = need_copy(words[i]);
      where->asked = where->count;
    } else if (files_allowed && errno == ENOTDIR) {
      where->files[where->file_count++] = words[i];
    } else {
      return wrong("%s: %s%s", words[i], strerror(errno),
                   errno == ENOTDIR ? " (of a file: `eventring show FILE')" : "");
    }
  }
  return STATUS_GO_ON;
}

static bool same_directory(const char *a, const char *b) {
  struct stat first, second;
  return stat(a, &first) == 0 && stat(b, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

char *directory_of(const char *path) {
  const char *slash = strrchr(path, '/');
  char *directory = need_copy(slash ? path : ".");
  if (slash) directory[slash > path ? slash - path : 1] = '\0';
  return directory;
}

static bool hold(char *const *directories, size_t count, const char *path) {
  char *parent = directory_of(path);
  bool holds = false;
  for (size_t i = 0; i < count && !holds; i++) holds = same_directory(directories[i], parent);
  free(parent);
  return holds;
}

bool search_path_holds(const struct search_path *where, const char *path) {
  return hold(where->directories, where->count, path);
}

bool search_path_concerns(const struct search_path *where, const char *path) {
  struct stat st;
  if (lstat(path, &st) == 0 && st.st_uid == geteuid()) return true;
  return hold(where->directories, where->asked, path);
}

int search_path_discover(const struct search_path *where,
                    int (*callback)(void *context, const struct eventring_found *found),
                    void *context) {
  return eventring_discover((const char *const *)where->directories, where->count, callback,
                            context);
}

void search_path_free(struct search_path *where) {
  for (size_t i = 0; i < where->count; i++) free(where->directories[i]);
  free(where->directories);
  free(where->files);
}
