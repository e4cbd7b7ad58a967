/* SPDX-License-Identifier: MIT */
/* file_names.c: makes the names of the files of one recording. */
#include "file_names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_device(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISCHR(st.st_mode);
}

/* Writes a name with its %i replaced. Returns whether there was one. */
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

/* Returns a name with a text before its suffix. */
static char *with_text(const char *name, const char *text) {
  size_t length = strlen(name), suffix = strlen(EVENTRING_SUFFIX);
  bool has = length > suffix && strcmp(name + length - suffix, EVENTRING_SUFFIX) == 0 &&
             name[length - suffix - 1] != '/';
  int stem = (int)(has ? length - suffix : length);
  size_t room = length + strlen(text) + 2;
  char *path = need_zeroed(room, 1);
  snprintf(path, room, "%.*s.%s%s", stem, name, text, name + stem);
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
  char text[16];
  snprintf(text, sizeof text, "%u", number);
  char *path = with_text(name, text);
  free(name);
  return path;
}

/* Writes a template with its %p replaced; anything else remains. Returns whether there
   was a %p. */
static bool expand_process(const char *template, const char *process, FILE *out) {
  bool found = false;
  for (const char *at = template; *at; at++) {
    bool is_process = at[0] == '%' && at[1] == 'p';
    found |= is_process;
    if (is_process) fputs(process, out);
    else putc(*at, out);
    if (at[0] == '%' && at[1] == '%') putc('%', out);
    at += is_process || (at[0] == '%' && at[1] == '%');
  }
  return found;
}

static bool has(const char *template, char what) {
  for (const char *at = template; (at = strchr(at, '%')) != NULL; at += 1 + (at[1] == '%'))
    if (at[1] == what) return true;
  return false;
}

bool file_name_has_process(const char *template) { return has(template, 'p'); }
bool file_name_has_number(const char *template) { return has(template, 'i'); }

char *file_name_of_process(const char *template, pid_t pid, unsigned again) {
  char *name = NULL, process[48];
  size_t size;
  if (is_device(template)) return need_copy(template);
  if (again > 1) snprintf(process, sizeof process, "%ld-%u", (long)pid, again);
  else snprintf(process, sizeof process, "%ld", (long)pid);
  FILE *out = open_memstream(&name, &size);
  if (!out) no_memory();
  bool has_process = expand_process(template, process, out);
  if (fclose(out) != 0) no_memory();
  if (has_process) return name;
  char *path = with_text(name, process);
  free(name);
  return path;
}
