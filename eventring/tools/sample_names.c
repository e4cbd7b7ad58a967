/* SPDX-License-Identifier: MIT */
/* sample_names.c: functions that are known by their texts alone. */
#include "sample_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_texts(const void *none, uintptr_t value, const void *key) {
  const struct remote_function *a = (const struct remote_function *)value, *b = key;
  (void)none;
  return strcmp(a->name, b->name) == 0 && strcmp(a->source, b->source) == 0;
}

const struct remote_function *sample_name(struct sample_names *names, const char *name,
                                          const char *source, bool is_c) {
  struct remote_function f = {.is_c = is_c};
  snprintf(f.name, sizeof f.name, "%s", name);
  snprintf(f.source, sizeof f.source, "%s", source);
  uint64_t hash = evr_hash_text(evr_hash_text(evr_hash_seed(), f.name), f.source);
  uintptr_t *value = evr_table_take(&names->functions, hash, has_texts, NULL, &f);
  if (!value) no_memory();
  if (!*value) {
    struct remote_function *made = need_zeroed(1, sizeof *made);
    *made = f;
    *value = (uintptr_t)made;
  }
  return (const struct remote_function *)*value;
}

void sample_names_free(struct sample_names *names) {
  for (size_t i = 0; i < names->functions.room; i++)
    free((void *)names->functions.places[i].value);
  evr_table_free(&names->functions);
}
