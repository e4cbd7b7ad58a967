/* SPDX-License-Identifier: MIT */
/* places.c: where to look for the files of dead processes. */
#include "places.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_readable_directory(const char *path) {
  DIR *directory = opendir(path);
  if (directory) closedir(directory);
  return directory != NULL;
}

enum { MOST_DEFAULTS = 4 };

/* Those of the environment are searched only if they can be: nobody asked for them by
   name. */
static void take_default(struct places *places, const char *path) {
  if (path && path[0] && is_readable_directory(path))
    places->directories[places->count++] = path;
}

static void take_defaults(struct places *places) {
  places->directories[places->count++] = ".";
  take_default(places, secure_getenv("SAROS_EVENTRING_PREFIX"));
  places->asked = places->count;
  take_default(places, secure_getenv("XDG_RUNTIME_DIR"));
  take_default(places, "/tmp");
}

int places_take(struct places *places, char **words, size_t count,
                bool files_allowed) {
  *places = (struct places){
      .directories = need_zeroed(count + MOST_DEFAULTS, sizeof(char *)),
      .files = need_zeroed(count + 1, sizeof(char *))};
  if (count == 0) take_defaults(places);
  for (size_t i = 0; i < count; i++) {
    if (is_readable_directory(words[i])) {
      places->directories[places->count++] = words[i];
      places->asked = places->count;
    } else if (files_allowed && errno == ENOTDIR) {
      places->files[places->file_count++] = words[i];
    } else {
      return wrong("%s: %s", words[i], strerror(errno));
    }
  }
  return -1;
}

static bool same_directory(const char *a, const char *b) {
  struct stat first, second;
  return stat(a, &first) == 0 && stat(b, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static bool hold(const char *const *directories, size_t count, const char *path) {
  const char *slash = strrchr(path, '/');
  char *parent = need_copy(slash ? path : ".");
  if (slash) parent[slash > path ? slash - path : 1] = '\0';
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

void places_free(struct places *places) {
  free(places->directories);
  free(places->files);
}
