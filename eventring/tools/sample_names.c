/* SPDX-License-Identifier: MIT */
/* sample_names.c: functions that are known by their texts alone. */
#include "sample_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct remote_function **place_of(const struct sample_names *names,
                                         const struct remote_function *f) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char *c = f->name; *c; c++) hash = (hash ^ (uint8_t)*c) * 0x100000001b3;
  for (const char *c = f->source; *c; c++) hash = (hash ^ (uint8_t)*c) * 0x100000001b3;
  for (uint64_t at = hash ^ hash >> 29;; at++) {
    struct remote_function **place = &names->functions[at & (names->places - 1)];
    if (!*place || (strcmp((*place)->name, f->name) == 0 &&
                    strcmp((*place)->source, f->source) == 0))
      return place;
  }
}

static void make_room(struct sample_names *names) {
  if (2 * (names->count + 1) <= names->places) return;
  struct sample_names before = *names;
  names->places = names->places ? 2 * names->places : 256;
  names->functions = need_zeroed(names->places, sizeof(struct remote_function *));
  for (size_t i = 0; i < before.places; i++)
    if (before.functions[i]) *place_of(names, before.functions[i]) = before.functions[i];
  free(before.functions);
}

const struct remote_function *sample_name(struct sample_names *names, const char *name,
                                          const char *source, bool is_c) {
  struct remote_function f = {.is_c = is_c};
  snprintf(f.name, sizeof f.name, "%s", name);
  snprintf(f.source, sizeof f.source, "%s", source);
  make_room(names);
  struct remote_function **place = place_of(names, &f);
  if (!*place) {
    *place = need_zeroed(1, sizeof f);
    **place = f;
    names->count++;
  }
  return *place;
}

void sample_names_free(struct sample_names *names) {
  for (size_t i = 0; i < names->places; i++) free(names->functions[i]);
  free(names->functions);
  *names = (struct sample_names){0};
}
