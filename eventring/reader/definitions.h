/* SPDX-License-Identifier: MIT */
/* definitions.h: what events refer to. */
#ifndef EVENTRING_DEFINITIONS_H
#define EVENTRING_DEFINITIONS_H

#include "reader/metadata.h"

#pragma GCC visibility push(hidden)

struct evr_definition {
  struct eventring_def def; /* points into text */
  /* For delivery.c, made by evr_definition_prepare: what its events have in common, */
  struct {
    const char *name;
    const struct eventring_def *def;
  } face;
  uint64_t tags;
  /* and the kind and length of its usual event: a begin without payload, else an
     event with a number; what that adds to the tags. */
  uint32_t plain;
  uint64_t plain_tags;
  struct format_definition text;
};
/* Fills in what delivery.c needs. */
void evr_definition_prepare(struct evr_definition *definition);

enum { EVR_DEFINITION_CHUNK = 64 };

struct evr_definitions {
  uint32_t count; /* read so far */
  struct evr_definition *chunk[EVENTRING_MAX_EVENTS / EVR_DEFINITION_CHUNK];
  const struct evr_definition *definition[EVENTRING_MAX_EVENTS]; /* NULL: none */
};

/* Reads anew what events refer to: definitions, control log, conversion of times. To be
   called after the events were seen: what they need was written before them. */
int evr_definitions_catch_up(struct evr_definitions *definitions, struct evr_metadata *meta,
                             struct eventring_error *error);
void evr_definitions_free(struct evr_definitions *definitions);
/* NULL when not defined (or damaged). */
static inline const struct eventring_def *
evr_definition_of(const struct evr_definitions *definitions, unsigned id) {
  const struct evr_definition *d =
      id < EVENTRING_MAX_EVENTS ? definitions->definition[id] : NULL;
  return d ? &d->def : NULL;
}

#pragma GCC visibility pop

#endif /* EVENTRING_DEFINITIONS_H */
