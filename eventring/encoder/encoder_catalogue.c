/* SPDX-License-Identifier: MIT */
/* encoder_catalogue.c: what ids, classes and rings stand for (encoder.h has the design). */
#include "encoder/encoder.h"

#include <stdlib.h>
#include <string.h>

#include "format/builtins.h"
#include "format/sized.h"
#include "format/text.h"

/* What a later definition of the same name is compared with. */
struct encoder_definition {
  uint8_t kind, event_class, payload, measure, quantity;
  char name[EVENTRING_MAX_NAME + 1];
  char unit[EVENTRING_MAX_UNIT + 1];
  char fields[EVENTRING_MAX_FIELDS + 1];
};

void encoder_catalogue_free(eventring_encoder *e) {
  for (uint32_t id = 0; id < e->ids; id++) free(e->definition[id]);
}

/* ---- Names -------------------------------------------------------------------------- */

static int check_text(const char *what, const char *text, size_t least, size_t most,
                      struct eventring_error *error) {
  size_t size = text ? strlen(text) : 0;
  if (size < least || size > most)
    return evr_fail(error, EVENTRING_E_NAME, 0, "%s has %zu to %zu bytes", what, least, most);
  if (evr_text_check(text ? text : "", size) != EVR_TEXT_OK)
    return evr_fail(error, EVENTRING_E_NAME, 0,
                    "%s is not UTF-8, or has a control character", what);
  return EVENTRING_OK;
}

int eventring_encoder_class(eventring_encoder *e, unsigned index, const char *name,
                            struct eventring_error *error) {
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (index >= EVENTRING_MAX_CLASSES)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "there is no class %u", index);
  status = check_text("the name of a class", name, 1, EVENTRING_MAX_CLASS_NAME, error);
  if (status != EVENTRING_OK) return status;
  for (unsigned i = 0; i < EVENTRING_MAX_CLASSES; i++) {
    const char *known = e->header.classes[i];
    bool is_same = strcmp(known, name) == 0;
    if ((i == index && known[0] && !is_same) || (i != index && is_same))
      return evr_fail(error, EVENTRING_E_CONFLICT, 0, "class %u is called %s", i, known);
  }
  evr_text_copy(e->header.classes[index], sizeof e->header.classes[index], name);
  return EVENTRING_OK;
}

int eventring_encoder_ring(eventring_encoder *e, unsigned ring, const char *name,
                           struct eventring_error *error) {
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (ring >= EVENTRING_RINGS)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "there is no ring %u", ring);
  if (name) status = check_text("the name of a ring", name, 1, EVENTRING_MAX_CLASS_NAME, error);
  if (status != EVENTRING_OK) return status;
  memset(e->header.rings[ring], 0, sizeof e->header.rings[ring]);
  evr_text_copy(e->header.rings[ring], sizeof e->header.rings[ring], name);
  return EVENTRING_OK;
}

/* ---- Definitions -------------------------------------------------------------------- */

static int check_definition(const eventring_encoder *e, const struct eventring_def *def,
                            struct eventring_error *error) {
  int status = check_text("the name of an event", def->name, 1, EVENTRING_MAX_NAME, error);
  if (status == EVENTRING_OK)
    status = check_text("a unit", def->unit, 0, EVENTRING_MAX_UNIT, error);
  if (status != EVENTRING_OK) return status;
  if (def->kind < EVENTRING_DEF_SPAN || def->kind > EVENTRING_DEF_FLOW ||
      def->event_class >= EVENTRING_MAX_CLASSES || def->ring >= EVENTRING_RINGS)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "event \"%s\": kind, class or ring is out of range", def->name);
  if (!e->header.classes[def->event_class][0])
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "event \"%s\": class %u has no name",
                    def->name, def->event_class);
  return EVENTRING_OK;
}

/* The entry of the hash table where a definition is or would go. */
static uint16_t *find(eventring_encoder *e, const struct eventring_def *def) {
  uint32_t hash = 2166136261u ^ def->kind ^ (uint32_t)def->event_class << 8;
  for (const char *at = def->name; *at; at++) hash = (hash ^ (uint8_t)*at) * 16777619u;
  hash ^= hash >> 15;
  for (;; hash++) {
    uint16_t *entry = &e->hash[hash % ENCODER_HASH];
    const struct encoder_definition *d = *entry ? e->definition[*entry - 1] : NULL;
    if (!d || (d->kind == def->kind && d->event_class == def->event_class &&
               strcmp(d->name, def->name) == 0))
      return entry;
  }
}

static bool agrees(const struct encoder_definition *d, const struct eventring_def *def) {
  return d->payload == def->payload && d->measure == def->measure && d->quantity == def->quantity &&
         strcmp(d->unit, def->unit ? def->unit : "") == 0 &&
         strncmp(d->fields, def->fields ? def->fields : "", EVENTRING_MAX_FIELDS) == 0;
}

static size_t add_text(char *texts, size_t at, const char *text, size_t most, uint16_t *bytes) {
  size_t size = text ? strlen(text) : 0;
  if (size > most) size = eventring_text_fit(text, size, most);
  if (size) memcpy(texts + at, text, size);
  *bytes = (uint16_t)size;
  return at + size;
}

static int put_definition(eventring_encoder *e, const struct eventring_def *def, unsigned id,
                          struct eventring_error *error) {
  uint64_t words[FORMAT_BLOCK_WORDS] = {0};
  struct format_definition record = {
      .first = format_record(0, 1, id), .kind = def->kind, .event_class = def->event_class,
      .ring = def->ring, .payload = def->payload, .measure = def->measure,
      .quantity = def->quantity};
  char *texts = (char *)words + sizeof record;
  bool dropped;
  size_t size = add_text(texts, 0, def->name, EVENTRING_MAX_NAME, &record.name_bytes);
  size = add_text(texts, size, def->unit, EVENTRING_MAX_UNIT, &record.unit_bytes);
  size = add_text(texts, size, def->doc, EVENTRING_MAX_DOC, &record.doc_bytes);
  size = add_text(texts, size, def->fields, EVENTRING_MAX_FIELDS, &record.fields_bytes);
  memcpy(words, &record, sizeof record);
  return encoder_record(e, FORMAT_DEFINITIONS, words,
                        (unsigned)(sizeof record / 8) + format_text_words(size), &dropped, error);
}

/* Takes the next id for a definition, whose name is not known yet. */
static int add_definition(eventring_encoder *e, const struct eventring_def *def,
                          uint16_t *entry, struct eventring_error *error) {
  struct encoder_definition *d = calloc(1, sizeof *d);
  if (!d) return encoder_fail(e, error, EVENTRING_E_MEMORY, "no memory for a definition");
  unsigned id = e->ids++;
  e->definition[id] = d;
  *entry = (uint16_t)(id + 1);
  d->kind = def->kind;
  d->event_class = def->event_class;
  d->payload = def->payload;
  d->measure = def->measure;
  d->quantity = def->quantity;
  evr_text_copy(d->name, sizeof d->name, def->name);
  evr_text_copy(d->unit, sizeof d->unit, def->unit);
  evr_text_copy(d->fields, sizeof d->fields, def->fields);
  int status = put_definition(e, def, id, error);
  return status == EVENTRING_OK ? (int)id : status;
}

int encoder_define_builtins(eventring_encoder *e, struct eventring_error *error) {
  int status = EVENTRING_OK;
  for (unsigned id = 0; status >= 0 && id < EVR_BUILTINS; id++)
    status = add_definition(e, &evr_builtins[id], find(e, &evr_builtins[id]), error);
  e->ids = EVENTRING_ID_HOST;
  return status < 0 ? status : EVENTRING_OK;
}

static int is_full(eventring_encoder *e) {
  if (e->ids < EVENTRING_MAX_EVENTS) return 0;
  e->records[FORMAT_DEFINITIONS]->dropped++;
  return 1;
}

int eventring_encoder_define_sized(eventring_encoder *e, const struct eventring_def *def,
                                   size_t def_size, struct eventring_error *error) {
  struct eventring_def own;
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (!def) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no definition");
  evr_copy_sized(&own, sizeof own, def, def_size);
  status = check_definition(e, &own, error);
  if (status != EVENTRING_OK) return status;
  uint16_t *entry = find(e, &own);
  if (*entry && agrees(e->definition[*entry - 1], &own)) return *entry - 1;
  if (*entry)
    return evr_fail(error, EVENTRING_E_CONFLICT, 0, "event \"%s\" is defined differently",
                    own.name);
  return is_full(e) ? EVENTRING_ID_OTHER : add_definition(e, &own, entry, error);
}

int eventring_encoder_reserve(eventring_encoder *e, struct eventring_error *error) {
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  return is_full(e) ? EVENTRING_ID_OTHER : (int)e->ids++;
}
