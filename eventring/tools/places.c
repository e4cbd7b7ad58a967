/* SPDX-License-Identifier: MIT */
/* places.c: where to look for the files of dead processes. */
#include "places.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_readable_directory(const char *path) {
  DIR *directory = opendir(path);
  if (directory) closedir(directory);
  return directory != NULL;
}

/* The directory of the environment is searched only if it can be: nobody asked for it by
   name. */
static void take_defaults(struct places *places) {
  const char *prefix = getenv("SAROS_EVENTRING_PREFIX");
  places->directories[places->count++] = ".";
  if (prefix && prefix[0] && is_readable_directory(prefix))
    places->directories[places->count++] = prefix;
}

int places_take(struct places *places, char **words, size_t count,
                bool files_allowed) {
  *places = (struct places){
      .directories = need_zeroed(count + 2, sizeof(char *)),
      .files = need_zeroed(count + 2, sizeof(char *))};
  if (count == 0) take_defaults(places);
  for (size_t i = 0; i < count; i++) {
    if (is_readable_directory(words[i])) {
      places->directories[places->count++] = words[i];
    } else if (files_allowed && errno == ENOTDIR) {
      places->files[places->file_count++] = words[i];
    } else {
      complain("%s: %s", words[i], strerror(errno));
      return STATUS_WRONG;
    }
  }
  return -1;
}

static bool same_directory(const char *a, const char *b) {
  struct stat first, second;
  return stat(a, &first) == 0 && stat(b, &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool places_hold(const struct places *places, const char *path) {
  const char *slash = strrchr(path, '/');
  char *parent = need_copy(slash ? path : ".");
  if (slash) parent[slash > path ? slash - path : 1] = '\0';
  bool holds = false;
  for (size_t i = 0; i < places->count && !holds; i++)
    holds = same_directory(places->directories[i], parent);
  free(parent);
  return holds;
}

void places_free(struct places *places) {
  free(places->directories);
  free(places->files);
}
