/* SPDX-License-Identifier: MIT */
/* definitions.c: the catalogue of a file, read and checked. */
#include "reader/definitions.h"

#include <stdlib.h>

static bool definition_is_valid(const struct format_definition *d, unsigned id) {
  return d->id == id && d->kind <= EVENTRING_DEF_LIFECYCLE &&
         d->event_class < EVENTRING_MAX_CLASSES && d->ring < EVENTRING_RINGS &&
         d->name[sizeof d->name - 1] == 0 && (d->kind == 0 || d->name[0]);
}

static void take_definition(struct evr_definitions *definitions, unsigned id,
                            const struct format_definition *from,
                            struct eventring_error *damage) {
  struct evr_definition *to =
      &definitions->chunk[id / EVR_DEFINITION_CHUNK][id % EVR_DEFINITION_CHUNK];
  to->text = *from;
  if (!definition_is_valid(from, id)) {
    evr_note_damage(damage, "definition %u of the catalogue is not valid", id);
    return;
  }
  if (from->kind == 0) return; /* a gap */
  evr_clean_text(to->text.name, sizeof to->text.name);
  evr_clean_text(to->text.unit, sizeof to->text.unit);
  evr_clean_text(to->text.doc, sizeof to->text.doc);
  to->def = (struct eventring_def){
      .name = to->text.name, .unit = to->text.unit, .doc = to->text.doc,
      .kind = from->kind, .event_class = from->event_class, .ring = from->ring,
      .payload = from->payload, .id = (uint16_t)id};
  evr_definition_prepare(to);
  definitions->definition[id] = to;
}

static int make_chunk(struct evr_definitions *definitions, unsigned id,
                      struct eventring_error *error) {
  struct evr_definition **chunk = &definitions->chunk[id / EVR_DEFINITION_CHUNK];
  if (*chunk || (*chunk = calloc(EVR_DEFINITION_CHUNK, sizeof **chunk))) return EVENTRING_OK;
  return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for the catalogue");
}

static int read_definitions(struct evr_definitions *definitions, struct evr_metadata *meta,
                            struct eventring_error *error) {
  struct format_catalogue_block block;
  for (unsigned id = definitions->count; id < meta->status.definitions;) {
    unsigned number = id / FORMAT_DEFINITIONS_PER_BLOCK;
    int status = evr_source_read(
        &meta->source, FORMAT_CATALOGUE_OFFSET + number * (uint64_t)sizeof block,
        &block, sizeof block, error);
    if (status == EVENTRING_OK) status = make_chunk(definitions, id, error);
    if (status != EVENTRING_OK) return status;
    if (block.sequence != number + 1 || block.kind != FORMAT_BLOCK_CATALOGUE)
      evr_note_damage(&meta->damage, "block %u of the catalogue is not valid", number + 1);
    do
      take_definition(definitions, id, &block.definition[id % FORMAT_DEFINITIONS_PER_BLOCK],
                      &meta->damage);
    while (++id % FORMAT_DEFINITIONS_PER_BLOCK && id < meta->status.definitions);
    definitions->count = id;
  }
  return EVENTRING_OK;
}

int evr_definitions_catch_up(struct evr_definitions *definitions, struct evr_metadata *meta,
                             struct eventring_error *error) {
  int status = evr_metadata_catch_up(meta, error);
  return status == EVENTRING_OK ? read_definitions(definitions, meta, error) : status;
}

void evr_definitions_free(struct evr_definitions *definitions) {
  for (size_t i = 0; i < EVENTRING_MAX_EVENTS / EVR_DEFINITION_CHUNK; i++)
    free(definitions->chunk[i]);
}
