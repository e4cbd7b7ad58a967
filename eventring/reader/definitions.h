/* definitions.h: what events refer to. */
#ifndef EVENTRING_DEFINITIONS_H
#define EVENTRING_DEFINITIONS_H

#include "format/format.h"

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
enum { EVR_DEFINITION_CHUNK = 64 };
/* Fills in what delivery.c needs. */
void evr_definition_prepare(struct evr_definition *definition);

#pragma GCC visibility pop

#endif /* EVENTRING_DEFINITIONS_H */
