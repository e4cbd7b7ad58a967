/* SPDX-License-Identifier: MIT */
/* strings.h: a table of strings for formats of profiles: each text once, in the order of
 * first use. The table keeps the pointers that it gets. */
#ifndef EVENTRING_EXPORT_STRINGS_H
#define EVENTRING_EXPORT_STRINGS_H

#include <string.h>

#include "format/array.h"
#include "format/table.h"

/* A zeroed struct is empty. */
struct export_strings {
  const char **text;
  size_t count, room;
  struct evr_table table; /* maps a text to its index plus 1 */
  bool failed;            /* no memory */
};

static inline bool export_is_string(const void *context, uintptr_t value, const void *key) {
  const struct export_strings *s = context;
  return strcmp(s->text[value - 1], key) == 0;
}

/* Returns the index of a text, which is added if it is new. */
static inline uint64_t export_string(struct export_strings *s, const char *text) {
  uintptr_t *value = NULL;
  if (EVR_MAKE_ROOM(s->text, s->room, s->count, 256))
    value = evr_table_take(&s->table, evr_hash_text(evr_hash_seed(), text), export_is_string, s,
                           text);
  if (!value) {
    s->failed = true;
    return 0;
  }
  if (!*value) {
    s->text[s->count] = text;
    *value = ++s->count;
  }
  return *value - 1;
}

static inline void export_strings_free(struct export_strings *s) {
  free(s->text);
  evr_table_free(&s->table);
}

#endif
