/* SPDX-License-Identifier: MIT */
/* catalogue.c: the event definitions of this process and their copy in the file.
 *
 * Definitions stay for the life of the process, in the order of their ids, in a table
 * that only grows (chunks that never move, so that cursors may keep pointers). A hash
 * table finds them by kind, class and name, because a guest may use the names of its
 * host's events in a class of its own. The table grows with the definitions, so a program
 * with few of them touches little memory. The producer's mutex guards everything here.
 */
#include "producer/catalogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/builtins.h"
#include "format/error.h"
#include "format/reasons.h"
#include "format/sized.h"
#include "format/text.h"
#include "producer/classes.h"
#include "producer/lock.h"
#include "producer/redact.h"
#include "producer/watch.h"

enum {
  CHUNK = 64,
  CHUNKS = EVENTRING_MAX_EVENTS / CHUNK,
  HASH_FIRST = 512 /* entries at first; a power of two */
};

struct definition {
  uint8_t kind, event_class, ring, payload; /* kind 0 if no event has this id */
  uint8_t measure, quantity;
  char name[EVENTRING_MAX_NAME + 1];
  char unit[EVENTRING_MAX_UNIT + 1];
  char doc[EVENTRING_MAX_DOC + 1];
  char fields[EVENTRING_MAX_FIELDS + 1];
};

static struct definition *chunks[CHUNKS];
static uint32_t defined;     /* ids 0 .. defined-1 are taken */
static uint16_t *hash_table; /* entries: id + 1, or 0 if free */
static uint32_t hash_size;   /* a power of two; at most half of it is used */

static struct definition *definition(unsigned id) {
  return &chunks[id / CHUNK][id % CHUNK];
}

/* ---- Look-up -------------------------------------------------------------- */

static uint32_t hash_of(unsigned kind, unsigned event_class, const char *name, size_t size) {
  uint32_t hash = 2166136261u ^ kind ^ event_class << 8;
  for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)name[i]) * 16777619u;
  return hash ^ hash >> 15;
}

/* Returns the entry of the hash table where this name is or would go. */
static uint16_t *find(unsigned kind, unsigned event_class, const char *name, size_t size) {
  uint32_t at = hash_of(kind, event_class, name, size) % hash_size;
  for (; hash_table[at]; at = (at + 1) % hash_size) {
    const struct definition *d = definition(hash_table[at] - 1u);
    if (d->kind == kind && d->event_class == event_class && strlen(d->name) == size &&
        !memcmp(d->name, name, size))
      break;
  }
  return &hash_table[at];
}

static void fill_hash(void) {
  for (unsigned id = 0; id < defined; id++) {
    const struct definition *d = definition(id);
    if (d->kind) *find(d->kind, d->event_class, d->name, strlen(d->name)) = (uint16_t)(id + 1);
  }
}

/* Makes the table large enough for `count` definitions. */
static bool grow_hash(size_t count) {
  uint32_t size = hash_size ? hash_size : HASH_FIRST;
  while (size < 2 * count) size *= 2;
  if (size == hash_size) return true;
  uint16_t *table = calloc(size, sizeof *table);
  if (!table) return false;
  free(hash_table);
  hash_table = table;
  hash_size = size;
  fill_hash();
  return true;
}

/* ---- Definition ------------------------------------------------------------ */

static int check_text(const char *what, const char *text, size_t size,
                      struct eventring_error *error) {
  switch (evr_text_check(text, size)) {
    case EVR_TEXT_NOT_UTF8:
      return evr_fail(error, EVENTRING_E_NAME, 0, "%s is not valid UTF-8", what);
    case EVR_TEXT_CONTROL:
      return evr_fail(error, EVENTRING_E_NAME, 0, "%s holds a control character", what);
    default:
      return EVENTRING_OK;
  }
}

int eventring_check_name(const char *name, size_t size, struct eventring_error *error) {
  if (!name || size < 1 || size > EVENTRING_MAX_NAME)
    return evr_fail(error, EVENTRING_E_NAME, 0, "an event name must have 1 to %d bytes",
                    EVENTRING_MAX_NAME);
  return check_text("an event name", name, size, error);
}

static int check_unit(const struct eventring_def *def, struct eventring_error *error) {
  size_t size = def->unit ? strlen(def->unit) : 0;
  if (size > EVENTRING_MAX_UNIT)
    return evr_fail(error, EVENTRING_E_NAME, 0, "event \"%s\": unit longer than %d bytes",
                    def->name, EVENTRING_MAX_UNIT);
  return size ? check_text("a unit", def->unit, size, error) : EVENTRING_OK;
}

static bool measure_fits(const struct eventring_def *def) {
  return def->measure <= EVENTRING_RATE ||
         (def->measure == EVENTRING_OFF_CPU && def->kind == EVENTRING_DEF_SPAN);
}

static bool quantity_fits(const struct eventring_def *def) {
#define KIND_OF(name, text, of, what) [EVENTRING_QUANTITY_##name] = EVENTRING_DEF_##of,
  static const uint8_t kinds[] = {EVENTRING_QUANTITIES(KIND_OF)};
#undef KIND_OF
  return !def->quantity || (def->quantity < sizeof kinds && kinds[def->quantity] == def->kind);
}

static bool in_range(const struct eventring_def *def) {
  return def->kind >= EVENTRING_DEF_SPAN && def->kind <= EVENTRING_DEF_FLOW &&
         def->event_class < EVENTRING_MAX_CLASSES && def->ring < EVENTRING_RINGS &&
         def->payload <= EVENTRING_SAMPLE && measure_fits(def) &&
         quantity_fits(def);
}

#define PAYLOAD_BIT(payload) (1u << EVENTRING_##payload)

/* Returns the bits of the payload kinds that the probes of an event of this kind
   write. */
static unsigned payloads_of(unsigned kind) {
  switch (kind) {
    case EVENTRING_DEF_SPAN:
      return PAYLOAD_BIT(NONE) | PAYLOAD_BIT(INT) | PAYLOAD_BIT(UINT) | PAYLOAD_BIT(STRING) |
             PAYLOAD_BIT(BYTES) | PAYLOAD_BIT(VALUES);
    case EVENTRING_DEF_COUNTER:
      return PAYLOAD_BIT(INT) | PAYLOAD_BIT(UINT) | PAYLOAD_BIT(DOUBLE);
    case EVENTRING_DEF_LIFECYCLE:
      return PAYLOAD_BIT(INT);
    default: /* eventring_emit_words writes any kind */
      return ~0u;
  }
}

/* Checks that a probe can write the event as it is defined. Otherwise the event would
   reach readers without a value, or not at all. */
static int check_use(const struct eventring_def *def, struct eventring_error *error) {
  static const char *const kinds[] = {
      [EVENTRING_DEF_SPAN] = "a span", [EVENTRING_DEF_COUNTER] = "a counter",
      [EVENTRING_DEF_LIFECYCLE] = "a lifecycle event"};
  if (!evr_class_names[def->event_class][0])
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "event \"%s\": class %d is not defined (eventring_define_class)",
                    def->name, def->event_class);
  if (!(payloads_of(def->kind) >> def->payload & 1))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "event \"%s\": no probe writes %s with payload kind %d", def->name,
                    kinds[def->kind], def->payload);
  return EVENTRING_OK;
}

static int check(const struct eventring_def *def, size_t size, struct eventring_error *error) {
  int status = eventring_check_name(def->name, size, error);
  if (status != EVENTRING_OK) return status;
  if (!in_range(def))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "event \"%s\": kind, class, ring, payload, measure or quantity out of range",
                    def->name);
  status = check_use(def, error);
  return status == EVENTRING_OK ? check_unit(def, error) : status;
}

static bool agrees(const struct definition *d, const struct eventring_def *def) {
  return d->ring == def->ring && d->payload == def->payload;
}

static int ensure_room(size_t count, struct eventring_error *error) {
  if (count > EVENTRING_MAX_EVENTS - defined)
    return evr_fail(error, EVENTRING_E_FULL, 0,
                    "the catalogue holds at most %d events", EVENTRING_MAX_EVENTS);
  if (!grow_hash(defined + count))
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for the catalogue");
  /* not cleared as a whole: that would touch pages that a small catalogue never needs */
  for (size_t i = defined / CHUNK; i * CHUNK < defined + count; i++)
    if (!chunks[i] && !(chunks[i] = malloc(CHUNK * sizeof *chunks[i])))
      return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for the catalogue");
  return EVENTRING_OK;
}

static void show_to_watch_locked(unsigned id) {
  const struct definition *d = definition(id);
  evr_watch_define_locked(id, &(struct eventring_def){
                                  .name = d->name, .unit = d->unit, .kind = d->kind,
                                  .event_class = d->event_class, .ring = d->ring,
                                  .payload = d->payload, .measure = d->measure,
                                  .quantity = d->quantity});
}

static unsigned append_locked(const struct eventring_def *def, size_t size) {
  unsigned id = defined++;
  struct definition *d = definition(id);
  *d = (struct definition){.kind = def->kind, .event_class = def->event_class,
                           .ring = def->ring, .payload = def->payload,
                           .measure = def->measure, .quantity = def->quantity};
  memcpy(d->name, def->name, size);
  evr_text_copy(d->unit, sizeof d->unit, def->unit);
  evr_text_copy(d->doc, sizeof d->doc, def->doc);
  evr_text_copy(d->fields, sizeof d->fields, def->fields);
  *find(def->kind, def->event_class, def->name, size) = (uint16_t)(id + 1);
  __atomic_store_n(&evr_class_of[id], def->event_class, __ATOMIC_RELAXED);
  __atomic_store_n(&evr_payload_of[id], (uint8_t)def->payload, __ATOMIC_RELAXED);
  __atomic_store_n(&evr_has_reason[id], evr_has_reasons(def), __ATOMIC_RELAXED);
  show_to_watch_locked(id);
  return id;
}

const char *evr_catalogue_name_locked(unsigned id) {
  return id < defined && definition(id)->kind ? definition(id)->name : NULL;
}

static uint64_t classes_of_events(const char *name, size_t size) {
  uint64_t classes = 0;
  evr_lock();
  for (unsigned id = 0; id < defined; id++) {
    const struct definition *d = definition(id);
    if (d->kind && strlen(d->name) == size && memcmp(d->name, name, size) == 0)
      classes |= EVENTRING_CLASS_BIT(d->event_class);
  }
  evr_unlock();
  return classes;
}

void evr_catalogue_watch_locked(void) {
  evr_watch_begin_locked();
  for (unsigned id = 0; id < defined; id++)
    if (definition(id)->kind) show_to_watch_locked(id);
}

/* Takes back the last `count` definitions. */
static void retract_locked(size_t count) {
  while (count--) {
    defined--;
    definition(defined)->kind = 0;
  }
  memset(hash_table, 0, hash_size * sizeof *hash_table);
  fill_hash();
}

/* Defines the ids below EVENTRING_ID_HOST: the library's own, then gaps of kind 0. */
static int define_builtins_locked(struct eventring_error *error) {
  if (defined) return EVENTRING_OK;
  evr_classes_of_events = classes_of_events;
  int status = ensure_room(EVENTRING_ID_HOST, error);
  if (status != EVENTRING_OK) return status;
  for (size_t i = 0; i < EVR_BUILTINS; i++)
    append_locked(&evr_builtins[i], strlen(evr_builtins[i].name));
  while (defined < EVENTRING_ID_HOST) definition(defined++)->kind = 0;
  return EVENTRING_OK;
}

int evr_catalogue_check_base_locked(bool asks, struct eventring_error *error) {
  int status = define_builtins_locked(error);
  if (status != EVENTRING_OK || asks || defined == EVENTRING_ID_HOST) return status;
  return evr_fail(error, EVENTRING_E_CONFLICT, 0,
                  "events are defined already: the first id is not %d (pass `first' to learn it)",
                  EVENTRING_ID_HOST);
}

int evr_catalogue_define_locked(const struct eventring_def *defs, size_t def_size,
                                size_t count, struct eventring_error *error) {
  int status = define_builtins_locked(error);
  if (status == EVENTRING_OK) status = ensure_room(count, error);
  if (status != EVENTRING_OK) return status;
  unsigned base = defined;
  for (size_t i = 0; i < count; i++) {
    struct eventring_def def;
    evr_copy_sized(&def, sizeof def, (const char *)defs + i * def_size, def_size);
    size_t size = def.name ? strlen(def.name) : 0;
    status = check(&def, size, error);
    if (status == EVENTRING_OK && *find(def.kind, def.event_class, def.name, size))
      status = evr_fail(error, EVENTRING_E_CONFLICT, 0,
                        "event \"%s\" is defined already", def.name);
    if (status != EVENTRING_OK) {
      retract_locked(i);
      return status;
    }
    append_locked(&def, size);
  }
  return (int)base;
}

int evr_catalogue_find_locked(const struct eventring_def *def,
                              struct eventring_error *error) {
  int status = define_builtins_locked(error);
  size_t size = strlen(def->name);
  if (status == EVENTRING_OK) status = check(def, size, error);
  if (status != EVENTRING_OK) return status;
  uint16_t *found = find(def->kind, def->event_class, def->name, size);
  if (!*found) return EVENTRING_E_NOT_FOUND;
  if (agrees(definition(*found - 1u), def)) return *found - 1;
  return evr_fail(error, EVENTRING_E_CONFLICT, 0,
                  "event \"%s\" is defined already, with another ring or payload",
                  def->name);
}

/* ---- The copy in the file ---------------------------------------------------- */

enum { RECORD_WORDS = sizeof(struct format_definition) / 8 +
                      (EVENTRING_MAX_NAME + EVENTRING_MAX_UNIT + EVENTRING_MAX_DOC +
                       EVENTRING_MAX_FIELDS + 7) / 8 };

static size_t add_text(char *texts, size_t at, const char *text, uint16_t *bytes) {
  size_t size = strlen(text);
  memcpy(texts + at, text, size);
  *bytes = (uint16_t)size;
  return at + size;
}

/* Appends a definition; returns false when the disk has no room for it at present. */
static bool append_record(struct evr_recording *r, unsigned id, uint64_t since_ticks) {
  const struct definition *d = definition(id);
  bool measured = d->measure != EVENTRING_OFF_CPU || !r->no_cpu_time;
  uint64_t words[RECORD_WORDS] = {0};
  struct format_definition record = {
      .first = format_record(0, 1, id), .kind = d->kind, .event_class = d->event_class,
      .ring = d->ring, .payload = d->payload, .quantity = d->quantity,
      .measure = measured ? d->measure : EVENTRING_MEASURE_NONE, .since_ticks = since_ticks};
  char *texts = (char *)words + sizeof record, redacted[32];
  const bool is_redacted = evr_redact_has_locked(d->kind, d->event_class, d->payload, d->name);
  snprintf(redacted, sizeof redacted, "(redacted %u)", id);
  size_t size = add_text(texts, 0, is_redacted ? redacted : d->name, &record.name_bytes);
  size = add_text(texts, size, d->unit, &record.unit_bytes);
  size = add_text(texts, size, d->doc, &record.doc_bytes);
  size = add_text(texts, size, d->fields, &record.fields_bytes);
  memcpy(words, &record, sizeof record);
  unsigned count = (unsigned)(sizeof record / 8) + format_text_words(size);
  if (!evr_records_have_block_locked(&r->records, FORMAT_DEFINITIONS, count)) return false;
  evr_records_append_locked(&r->records, FORMAT_DEFINITIONS, words, count);
  return true;
}

/* Notes whether definitions wait for room. When they are written later, they get the time
   at which the first of them found no room, because their events were recorded before. */
static void set_waiting(struct evr_recording *r, bool waits) {
  if (waits && !r->definitions_wait) r->wait_since = evr_clock_ticks(r->clock);
  __atomic_store_n(&r->definitions_wait, waits, __ATOMIC_RELAXED);
}

/* Tells whether the recording gets this definition. A class that must not be recorded has
   no events. Its definitions are left out, because they would show the program's
   names. */
static bool is_written(const struct evr_recording *r, unsigned id) {
  const struct definition *d = definition(id);
  return d->kind && (id < EVENTRING_ID_HOST || !evr_redact_concerns(d->event_class) ||
                     !(r->redacted >> d->event_class & 1));
}

int evr_catalogue_publish_locked(struct evr_recording *r, struct eventring_error *error) {
  int status = define_builtins_locked(error);
  if (status != EVENTRING_OK) return status;
  /* a time before the recording's first event, or before the host gets the id */
  uint64_t since = r->definitions_wait ? r->wait_since : r->shown ? evr_clock_ticks(r->clock) : 0;
  while (r->published < defined && (!is_written(r, r->published) ||
                                    append_record(r, r->published, since)))
    r->published++;
  set_waiting(r, r->published < defined);
  return EVENTRING_OK;
}

void evr_catalogue_finish_locked(struct evr_recording *r) {
  struct eventring_error error;
  if (!r->definitions_wait) return;
  evr_catalogue_publish_locked(r, &error);
  for (; r->published < defined; r->published++)
    if (is_written(r, r->published)) evr_catalogue_drop_locked(r);
}

void evr_catalogue_drop_locked(struct evr_recording *r) {
  evr_records_drop_locked(&r->records, FORMAT_DEFINITIONS);
}
