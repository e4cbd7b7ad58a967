/* SPDX-License-Identifier: MIT */
/* file_names.c: the names of the files of one recording. */
#include "file_names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_device(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISCHR(st.st_mode);
}

/* Replaces what stands for something; whether %i was there. */
static bool expand(const char *template, unsigned number, FILE *out) {
  bool found = false;
  for (const char *at = template; *at; at++) {
    bool is_number = at[0] == '%' && at[1] == 'i';
    found |= is_number;
    if (is_number) fprintf(out, "%u", number);
    else putc(*at, out);
    at += is_number || (at[0] == '%' && at[1] == '%');
  }
  return found;
}

static char *with_number(const char *name, unsigned number) {
  size_t length = strlen(name), suffix = strlen(EVENTRING_SUFFIX);
  bool has = length > suffix && strcmp(name + length - suffix, EVENTRING_SUFFIX) == 0 &&
             name[length - suffix - 1] != '/';
  int stem = (int)(has ? length - suffix : length);
  size_t room = length + 16;
  char *path = need_zeroed(room, 1);
  snprintf(path, room, "%.*s.%u%s", stem, name, number, name + stem);
  return path;
}

char *file_name(const char *template, bool numbered, unsigned number) {
  char *name = NULL;
  size_t size;
  if (is_device(template)) return need_copy(template);
  FILE *out = open_memstream(&name, &size);
  if (!out) no_memory();
  bool has_number = expand(template, number, out);
  if (fclose(out) != 0) no_memory();
  if (has_number || (number == 1 && !numbered)) return name;
  char *path = with_number(name, number);
  free(name);
  return path;
}
