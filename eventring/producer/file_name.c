/* SPDX-License-Identifier: MIT */
/* file_name.c: the name of a recording's file, from the template of the configuration.
 *
 * Without a template the name is made without snprintf, whose first call takes longer
 * than making the file.
 */
#include "producer/file_name.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/error.h"

struct text { /* a text that grows in a buffer; too long when `size` reaches `room` */
  char *at;
  size_t size, room;
};

static void add_bytes(struct text *text, const char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++, text->size++)
    if (text->size < text->room) text->at[text->size] = bytes[i];
}

static void add_number(struct text *text, uint64_t number) {
  char digits[20];
  size_t first = sizeof digits;
  do digits[--first] = (char)('0' + number % 10);
  while (number /= 10);
  add_bytes(text, digits + first, sizeof digits - first);
}

/* Adds a text that came from outside: '/' and control characters become '_'. */
static void add_foreign(struct text *text, const char *foreign) {
  for (; *foreign; foreign++) {
    bool harmless = (unsigned char)*foreign >= 32 && *foreign != 127 && *foreign != '/';
    add_bytes(text, harmless ? foreign : "_", 1);
  }
}

static void add_host(struct text *text) {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) != 0 || !host[0]) strcpy(host, "localhost");
  add_foreign(text, host);
}

/* Adds the expansion of a conversion; returns false when there is no such conversion. */
static bool add_conversion(struct text *text, char letter, const struct evr_naming *naming) {
  switch (letter) {
    case 'p': add_number(text, (uint64_t)naming->pid); return true;
    case 't': add_number(text, (uint64_t)time(NULL)); return true;
    case 'n': add_foreign(text, naming->program); return true;
    case 'h': add_host(text); return true;
    case '%': add_bytes(text, "%", 1); return true;
    default: return false;
  }
}

static int bad(const struct evr_naming *naming, struct eventring_error *error,
               const char *why) {
  return evr_fail(error, EVENTRING_E_CONFIG, 0, "name of the file \"%.100s\": %s",
                  naming->pattern, why);
}

static int expand(struct text *text, const struct evr_naming *naming,
                  struct eventring_error *error) {
  for (const char *at = naming->pattern; *at; at++) {
    if (*at == '/') return bad(naming, error, "must not contain a slash");
    if ((unsigned char)*at < 32 || *at == 127)
      return bad(naming, error, "must not contain control characters");
    if (*at != '%')
      add_bytes(text, at, 1);
    else if (!add_conversion(text, *++at, naming))
      return bad(naming, error, "after % must come p, n, t, h or another %");
  }
  return EVENTRING_OK;
}

static bool ends_with_suffix(const struct text *text) {
  size_t suffix = sizeof EVENTRING_SUFFIX - 1;
  return text->size >= suffix && text->size <= text->room &&
         memcmp(text->at + text->size - suffix, EVENTRING_SUFFIX, suffix) == 0;
}

bool evr_split_stream(const char *stream, char directory[PATH_MAX],
                      char name[EVR_MOST_TEMPLATE + 1]) {
  size_t size = strcspn(stream, ",");
  const char *slash = memrchr(stream, '/', size);
  size_t before = slash ? (size_t)(slash - stream) : 0, from = slash ? before + 1 : 0;
  if (slash == stream) before = 1; /* the root directory */
  if (before >= PATH_MAX || size - from > EVR_MOST_TEMPLATE || size == from) return false;
  memcpy(directory, stream, before);
  directory[before] = 0;
  memcpy(name, stream + from, size - from);
  name[size - from] = 0;
  return true;
}

int evr_file_name(char *name, const struct evr_naming *naming,
                  struct eventring_error *error) {
  struct text text = {.at = name, .room = EVR_MOST_NAME};
  int status = EVENTRING_OK;
  if (naming->pattern && naming->pattern[0])
    status = expand(&text, naming, error);
  else
    add_number(&text, (uint64_t)naming->pid);
  if (status != EVENTRING_OK) return status;
  if (ends_with_suffix(&text)) text.size -= sizeof EVENTRING_SUFFIX - 1;
  if (text.size == 0) return bad(naming, error, "is empty");
  if (naming->copy > 1) {
    add_bytes(&text, ".", 1);
    add_number(&text, naming->copy);
  }
  /* with its terminating 0 */
  add_bytes(&text, EVENTRING_SUFFIX, sizeof EVENTRING_SUFFIX);
  if (text.size > text.room) return bad(naming, error, "is too long: at most 210 bytes");
  return EVENTRING_OK;
}
