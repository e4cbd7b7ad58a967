/* SPDX-License-Identifier: MIT */
/* catalogue.c: the event definitions of this process and their copy in the file.
 *
 * Definitions are kept for the life of the process, in the order of their ids,
 * in a table that only grows (chunks that never move, so that cursors may keep
 * pointers). A hash table finds them by kind and name; it grows with them, so that a
 * program that defines little touches little memory. Everything is guarded by the
 * producer's mutex.
 */
#include "producer/catalogue.h"

#include <stdlib.h>
#include <string.h>

#include "format/atomics.h"
#include "format/error.h"
#include "format/sized.h"
#include "producer/classes.h"

enum {
  CHUNK = 256, /* definitions: 16 blocks, 64 KiB of the file */
  CHUNKS = EVENTRING_MAX_EVENTS / CHUNK,
  HASH_FIRST = 512 /* entries at first; a power of two */
};

static struct format_definition *chunks[CHUNKS];
static uint32_t defined;             /* ids 0 .. defined-1 are taken */
static uint16_t *hash_table; /* id + 1, or 0 */
static uint32_t hash_size;   /* a power of two; at most half of it is used */

static struct format_definition *definition(unsigned id) {
  return &chunks[id / CHUNK][id % CHUNK];
}

/* ---- Look-up -------------------------------------------------------------- */

static uint32_t hash_of(unsigned kind, const char *name, size_t size) {
  uint32_t hash = 2166136261u ^ kind;
  for (size_t i = 0; i < size; i++) hash = (hash ^ (uint8_t)name[i]) * 16777619u;
  return hash ^ hash >> 15;
}

/* The entry of the hash table where this name is or would go. */
static uint16_t *find(unsigned kind, const char *name, size_t size) {
  uint32_t at = hash_of(kind, name, size) % hash_size;
  for (; hash_table[at]; at = (at + 1) % hash_size) {
    const struct format_definition *d = definition(hash_table[at] - 1u);
    if (d->kind == kind && strlen(d->name) == size && !memcmp(d->name, name, size))
      break;
  }
  return &hash_table[at];
}

static void fill_hash(void) {
  for (unsigned id = 0; id < defined; id++) {
    const struct format_definition *d = definition(id);
    if (d->kind) *find(d->kind, d->name, strlen(d->name)) = (uint16_t)(id + 1);
  }
}

/* Makes the table large enough for so many definitions. */
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

static int check(const struct eventring_def *def, size_t size,
                 struct eventring_error *error) {
  if (size < 1 || size > EVENTRING_MAX_NAME)
    return evr_fail(error, EVENTRING_E_NAME, 0,
                    "event name \"%.100s\" must have 1 to %d bytes",
                    def->name ? def->name : "", EVENTRING_MAX_NAME);
  for (size_t i = 0; i < size; i++)
    if ((uint8_t)def->name[i] < 32 || def->name[i] == 127)
      return evr_fail(error, EVENTRING_E_NAME, 0,
                      "an event name holds a control character");
  if (def->kind < EVENTRING_DEF_SPAN || def->kind > EVENTRING_DEF_LIFECYCLE ||
      def->event_class >= EVENTRING_MAX_CLASSES || def->ring >= EVENTRING_RINGS ||
      def->payload > EVENTRING_BYTES)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "event \"%s\": kind, class, ring or payload out of range",
                    def->name);
  if (def->unit && strlen(def->unit) > EVENTRING_MAX_UNIT)
    return evr_fail(error, EVENTRING_E_NAME, 0,
                    "event \"%s\": unit longer than %d bytes", def->name,
                    EVENTRING_MAX_UNIT);
  return EVENTRING_OK;
}

static bool agrees(const struct format_definition *d,
                   const struct eventring_def *def) {
  return d->event_class == def->event_class && d->ring == def->ring &&
         d->payload == def->payload;
}

/* Copies at most `room` - 1 bytes, not cutting a UTF-8 sequence. */
static void copy_text(char *to, size_t room, const char *from) {
  size_t size = from ? strlen(from) : 0;
  if (size >= room)
    for (size = room - 1; size && ((uint8_t)from[size] & 0xc0) == 0x80;) size--;
  if (size) memcpy(to, from, size);
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

/* The next definition, of no kind as yet; there is room. */
static struct format_definition *append_gap_locked(void) {
  struct format_definition *d = definition(defined);
  memset(d, 0, sizeof *d);
  d->id = (uint16_t)defined++;
  return d;
}

static unsigned append_locked(const struct eventring_def *def, size_t size) {
  struct format_definition *d = append_gap_locked();
  d->kind = def->kind;
  d->event_class = def->event_class;
  d->ring = def->ring;
  d->payload = def->payload;
  memcpy(d->name, def->name, size);
  copy_text(d->unit, sizeof d->unit, def->unit);
  copy_text(d->doc, sizeof d->doc, def->doc);
  *find(def->kind, def->name, size) = (uint16_t)(d->id + 1);
  __atomic_store_n(&evr_class_of[d->id], def->event_class, __ATOMIC_RELAXED);
  return d->id;
}

void evr_catalogue_retract_locked(size_t count) {
  while (count--) {
    defined--;
    definition(defined)->kind = 0;
  }
  memset(hash_table, 0, hash_size * sizeof *hash_table);
  fill_hash();
}

static const struct eventring_def builtin[] = {
#define BUILTIN(n, u, d) \
  {.name = n, .unit = u, .doc = d, .kind = EVENTRING_DEF_LIFECYCLE, \
   .event_class = EVENTRING_CLASS_LIFECYCLE, .ring = EVENTRING_RUNTIME, \
   .payload = EVENTRING_INT}
    [EVENTRING_ID_RECORDER_START] =
        BUILTIN("recorder_start", "pid", "the recording begins"),
    [EVENTRING_ID_RECORDER_STOP] =
        BUILTIN("recorder_stop", "pid", "the recording comes to its orderly end"),
    [EVENTRING_ID_PAUSE] =
        BUILTIN("pause", "classes", "the host pauses the recording"),
    [EVENTRING_ID_RESUME] =
        BUILTIN("resume", "classes", "the host lets the recording go on"),
    [EVENTRING_ID_DOMAIN_START] =
        BUILTIN("domain_start", "incarnation", "a domain is recorded from here on"),
    [EVENTRING_ID_DOMAIN_STOP] =
        BUILTIN("domain_stop", "incarnation", "a domain ends"),
#undef BUILTIN
};

/* Ids below EVENTRING_ID_HOST: the library's own, then gaps of kind 0. */
static int define_builtins_locked(struct eventring_error *error) {
  if (defined) return EVENTRING_OK;
  int status = ensure_room(EVENTRING_ID_HOST, error);
  if (status != EVENTRING_OK) return status;
  for (size_t i = 0; i < sizeof builtin / sizeof builtin[0]; i++)
    append_locked(&builtin[i], strlen(builtin[i].name));
  while (defined < EVENTRING_ID_HOST) append_gap_locked();
  return EVENTRING_OK;
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
    if (status == EVENTRING_OK && *find(def.kind, def.name, size))
      status = evr_fail(error, EVENTRING_E_CONFLICT, 0,
                        "event \"%s\" is defined already", def.name);
    if (status != EVENTRING_OK) {
      evr_catalogue_retract_locked(i);
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
  uint16_t *found = find(def->kind, def->name, size);
  if (!*found) return EVENTRING_E_NOT_FOUND;
  if (agrees(definition(*found - 1u), def)) return *found - 1;
  return evr_fail(error, EVENTRING_E_CONFLICT, 0,
                  "event \"%s\" is defined already, with another class, ring "
                  "or payload", def->name);
}

/* ---- The copy in the file ---------------------------------------------------- */

static struct format_catalogue_block *file_block(const struct evr_recording *r,
                                                 unsigned block) {
  return (struct format_catalogue_block *)r->catalogue + block;
}

/* Makes the blocks of all that is defined ready, with some to spare. */
static int allocate_blocks(struct evr_recording *r, struct eventring_error *error) {
  enum { STEP = 2 };
  uint32_t from = r->catalogue_blocks;
  uint32_t to = (defined / FORMAT_DEFINITIONS_PER_BLOCK / STEP + 1) * STEP;
  if (to > FORMAT_CATALOGUE_BLOCKS) to = FORMAT_CATALOGUE_BLOCKS;
  if (to <= from) return EVENTRING_OK;
  uint64_t at = from * (uint64_t)FORMAT_BLOCK_BYTES;
  int failure = evr_recording_make_ready(r, r->catalogue + at,
                                         FORMAT_CATALOGUE_OFFSET + at,
                                         (to - from) * (uint64_t)FORMAT_BLOCK_BYTES);
  if (failure)
    return evr_fail(error, evr_code_of_errno(failure), failure,
                    "%s: no room for the catalogue", r->path);
  r->catalogue_blocks = to;
  return EVENTRING_OK;
}

int evr_catalogue_publish_locked(struct evr_recording *r,
                                 struct eventring_error *error) {
  int status = define_builtins_locked(error);
  struct format_status *published = evr_status(r);
  uint32_t id = __atomic_load_n(&published->definitions, __ATOMIC_RELAXED);
  if (id > defined) return status; /* someone wrote into the file: leave it */
  if (status == EVENTRING_OK) status = allocate_blocks(r, error);
  for (; status == EVENTRING_OK && id < defined; id++) {
    unsigned block = id / FORMAT_DEFINITIONS_PER_BLOCK;
    struct format_catalogue_block *b = file_block(r, block);
    if (id % FORMAT_DEFINITIONS_PER_BLOCK == 0) {
      uint64_t head[2] = {block + 1, FORMAT_BLOCK_CATALOGUE}; /* sequence, kind */
      evr_store_words(b, head, sizeof head);
    }
    evr_store_words(&b->definition[id % FORMAT_DEFINITIONS_PER_BLOCK], definition(id),
                    sizeof *definition(id));
  }
  /* release: pairs with the acquire load of the count by readers, who look at
     no definition beyond it. After a failure nothing new counts: the caller may
     take the definitions back. */
  if (status == EVENTRING_OK)
    __atomic_store_n(&published->definitions, id, __ATOMIC_RELEASE);
  return status;
}
