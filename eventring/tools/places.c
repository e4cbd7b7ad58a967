/* SPDX-License-Identifier: MIT */
/* places.c: where to look for the files of dead processes. */
#include "places.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/state_place.h"

static bool is_readable_directory(const char *path) {
  DIR *directory = opendir(path);
  if (directory) closedir(directory);
  return directory != NULL;
}

/* Takes a directory that comes from the environment, if it can be searched: the user did
   not ask for it by name. */
static void take_default(struct places *places, const char *path) {
  if (path && path[0] && is_readable_directory(path))
    *NEED_NEXT(places->directories, places->count) = need_copy(path);
}

/* Takes the folders of services that lie in that of the machine. */
static void take_services(struct places *places, const char *place) {
  DIR *directory = opendir(place);
  struct dirent *entry;
  while (directory && (entry = readdir(directory))) {
    char path[PATH_MAX];
    struct stat st;
    int size = snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
    if (entry->d_name[0] != '.' && size < (int)sizeof path && lstat(path, &st) == 0 &&
        S_ISDIR(st.st_mode))
      take_default(places, path);
  }
  if (directory) closedir(directory);
}

static void take_defaults(struct places *places) {
  char place[PATH_MAX];
  *NEED_NEXT(places->directories, places->count) = need_copy(".");
  take_default(places, secure_getenv("SAROS_EVENTRING_PREFIX"));
  take_default(places, evr_service_place(place));
  take_default(places, evr_state_place(place));
  places->asked = places->count;
  take_default(places, EVR_SYSTEM_PLACE);
  take_services(places, EVR_SYSTEM_PLACE);
  take_default(places, secure_getenv("XDG_RUNTIME_DIR"));
  take_default(places, "/tmp");
}

int places_take(struct places *places, char **words, size_t count,
                bool files_allowed) {
  *places = (struct places){
      .files = need_zeroed(count + 1, sizeof(char *))};
  if (count == 0) take_defaults(places);
  for (size_t i = 0; i < count; i++) {
    if (is_readable_directory(words[i])) {
      *NEED_NEXT(places->directories, places->count) = need_copy(words[i]);
      places->asked = places->count;
    } else if (files_allowed && errno == ENOTDIR) {
      places->files[places->file_count++] = words[i];
    } else {
      return wrong("%s: %s%s", words[i], strerror(errno),
                   errno == ENOTDIR ? " (of a file: `eventring show FILE')" : "");
    }
  }
  return -1;
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

bool places_hold(const struct places *places, const char *path) {
  return hold(places->directories, places->count, path);
}

bool places_concern(const struct places *places, const char *path) {
  struct stat st;
  if (lstat(path, &st) == 0 && st.st_uid == geteuid()) return true;
  return hold(places->directories, places->asked, path);
}

int places_discover(const struct places *places,
                    int (*callback)(void *context, const struct eventring_found *found),
                    void *context) {
  return eventring_discover((const char *const *)places->directories, places->count, callback,
                            context);
}

void places_free(struct places *places) {
  for (size_t i = 0; i < places->count; i++) free(places->directories[i]);
  free(places->directories);
  free(places->files);
}
