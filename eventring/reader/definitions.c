/* SPDX-License-Identifier: MIT */
/* definitions.c: the records of a file that its events refer to, read and checked. */
#include "reader/definitions.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"
#include "format/text.h"

struct take { /* what taking a record needs */
  struct evr_definitions *definitions;
  struct evr_metadata *meta;
};

/* ---- Definitions ------------------------------------------------------------------------ */

static bool definition_is_valid(const struct format_definition *d, unsigned words) {
  size_t bytes = (size_t)d->name_bytes + d->unit_bytes + d->doc_bytes + d->fields_bytes;
  return record_number(d->first) < EVENTRING_MAX_EVENTS && d->kind >= EVENTRING_DEF_SPAN &&
         d->kind <= EVENTRING_DEF_FLOW && d->event_class < EVENTRING_MAX_CLASSES &&
         d->ring < EVENTRING_RINGS && d->name_bytes >= 1 &&
         d->name_bytes <= EVENTRING_MAX_NAME && d->unit_bytes <= EVENTRING_MAX_UNIT &&
         d->doc_bytes <= EVENTRING_MAX_DOC && d->fields_bytes <= EVENTRING_MAX_FIELDS &&
         bytes <= (words - sizeof *d / 8) * 8;
}

/* Copies a text of the record and makes it harmless; where the next one begins. */
static const char *take_text(char *to, const char *from, size_t bytes) {
  memcpy(to, from, bytes);
  to[bytes] = 0;
  evr_text_clean_bytes(to, bytes);
  return from + bytes;
}

static struct evr_definition *definition_place(struct evr_definitions *definitions,
                                               unsigned id) {
  struct evr_definition **chunk = &definitions->chunk[id / EVR_DEFINITION_CHUNK];
  if (!*chunk) *chunk = calloc(EVR_DEFINITION_CHUNK, sizeof **chunk);
  return *chunk ? *chunk + id % EVR_DEFINITION_CHUNK : NULL;
}

static int take_definition(const struct take *take, const uint64_t *record, unsigned words,
                           struct eventring_error *error) {
  struct evr_definitions *definitions = take->definitions;
  struct format_definition d;
  if (words >= sizeof d / 8) memcpy(&d, record, sizeof d);
  if (words < sizeof d / 8 || !definition_is_valid(&d, words)) {
    evr_note_damage(&take->meta->damage, "a definition of id %u is not valid",
                    record_number(*record));
    return EVENTRING_OK;
  }
  unsigned id = record_number(d.first);
  if (definitions->definition[id]) return EVENTRING_OK; /* the first one holds */
  struct evr_definition *to = definition_place(definitions, id);
  if (!to) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for the definitions");
  const char *text = (const char *)record + sizeof d;
  text = take_text(to->name, text, d.name_bytes);
  text = take_text(to->unit, text, d.unit_bytes);
  text = take_text(to->doc, text, d.doc_bytes);
  take_text(to->fields, text, d.fields_bytes);
  to->def = (struct eventring_def){
      .name = to->name, .unit = to->unit, .doc = to->doc, .fields = to->fields,
      .kind = d.kind, .event_class = d.event_class, .ring = d.ring, .payload = d.payload,
      .measure = d.measure, .quantity = d.quantity, .id = (uint16_t)id};
  to->since_ticks = d.since_ticks;
  if (d.since_ticks > definitions->newest_since_ticks)
    definitions->newest_since_ticks = d.since_ticks;
  evr_definition_prepare(to);
  definitions->batched[id] = evr_definition_batched(to);
  definitions->definition[id] = to;
  definitions->count++;
  return EVENTRING_OK;
}

/* ---- Lives ------------------------------------------------------------------------------- */

static struct evr_life *life_at(const struct evr_definitions *definitions, uint32_t n) {
  return &definitions->lives[(definitions->lives_first + n) % EVR_MAX_LIVES];
}

/* From the latest on: most searches are for one that began recently. */
const struct evr_life *evr_definitions_life(const struct evr_definitions *definitions,
                                            unsigned slot, uint32_t incarnation) {
  for (uint32_t n = definitions->lives_count; n-- > 0;) {
    const struct evr_life *life = life_at(definitions, n);
    if (life->slot == slot && life->incarnation == incarnation) return life;
  }
  return NULL;
}

/* NULL: no memory. */
static struct evr_life *add_life(struct evr_definitions *definitions) {
  if (definitions->lives_count < EVR_MAX_LIVES &&
      !EVR_MAKE_ROOM(definitions->lives, definitions->lives_room, definitions->lives_count, 16))
    return NULL;
  if (definitions->lives_count == EVR_MAX_LIVES) {
    definitions->lives_first = (definitions->lives_first + 1) % EVR_MAX_LIVES;
    definitions->lives_count--;
  }
  return life_at(definitions, definitions->lives_count++);
}

/* Does the record have the words of its type, and its name room in it? */
static bool life_is_valid(const uint64_t *record, unsigned words) {
  if (record_number(*record) >= EVENTRING_MAX_DOMAINS || words < 3) return false;
  if (record_type(*record) == FORMAT_LIFE_STOP) return true;
  return words >= 4 && record[3] <= EVENTRING_MAX_DOMAIN_NAME && record[3] <= (words - 4) * 8;
}

static int take_life(const struct take *take, const uint64_t *record, unsigned words,
                     struct eventring_error *error) {
  struct evr_definitions *definitions = take->definitions;
  unsigned type = record_type(*record), slot = record_number(*record);
  if (!life_is_valid(record, words)) {
    evr_note_damage(&take->meta->damage, "a life of domain %u is not valid", slot);
    return EVENTRING_OK;
  }
  uint32_t incarnation = (uint32_t)record[1];
  struct evr_life *life = (struct evr_life *)evr_definitions_life(definitions, slot, incarnation);
  if (type == FORMAT_LIFE_STOP) {
    if (life) life->stop_ticks = record[2];
    return EVENTRING_OK;
  }
  if (!life) {
    life = add_life(definitions);
    if (!life) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for the domains");
    *life = (struct evr_life){.slot = slot, .incarnation = incarnation};
  }
  if (type == FORMAT_LIFE_START) {
    unsigned named = 4 + format_text_words(record[3]);
    life->process = words > named ? (uint32_t)record[named] : 0;
    life->tid = (int32_t)(record[1] >> 32);
    life->start_ticks = record[2];
  }
  take_text(life->name, (const char *)(record + 4), record[3]);
  return EVENTRING_OK;
}

/* ---- The end --------------------------------------------------------------------------- */

static bool ending_is_valid(const uint64_t *record, unsigned words) {
  struct format_ending ending;
  unsigned head = sizeof ending / 8;
  if (words < head) return false;
  memcpy(&ending, record, sizeof ending);
  return ending.bytes <= EVENTRING_MAX_END_TEXT && ending.bytes <= (words - head) * (uint64_t)8;
}

static int take_ending(const struct take *take, const uint64_t *record, unsigned words) {
  struct evr_ending *to = &take->definitions->ending;
  struct format_ending ending;
  unsigned head = sizeof ending / 8;
  if (!ending_is_valid(record, words)) {
    evr_note_damage(&take->meta->damage, "the record of an error is not valid");
    return EVENTRING_OK;
  }
  memcpy(&ending, record, sizeof ending);
  to->ticks = ending.ticks;
  to->bytes = (uint32_t)ending.bytes;
  to->whole = record_number(ending.first);
  memcpy(to->text, record + head, ending.bytes);
  to->text[ending.bytes] = 0;
  evr_text_clean_lines(to->text, ending.bytes);
  return EVENTRING_OK;
}

/* ---- Processes ------------------------------------------------------------------------- */

static bool process_is_valid(const uint64_t *record, unsigned words, struct format_process *p) {
  if (words < sizeof *p / 8) return false;
  memcpy(p, record, sizeof *p);
  size_t bytes = (size_t)p->program_bytes + p->source_bytes + p->error_bytes;
  return p->program_bytes <= EVENTRING_MAX_PROGRAM && p->source_bytes <= EVENTRING_MAX_SOURCE &&
         p->error_bytes <= EVENTRING_MAX_END_TEXT && bytes <= (words - sizeof *p / 8) * 8;
}

/* NULL: no memory. */
static struct evr_process *add_process(struct evr_definitions *definitions) {
  if (!EVR_MAKE_ROOM(definitions->processes, definitions->processes_room, definitions->processes_count, 16))
    return NULL;
  return &definitions->processes[definitions->processes_count++];
}

static int take_process(const struct take *take, const uint64_t *record, unsigned words,
                        struct eventring_error *error) {
  struct evr_definitions *definitions = take->definitions;
  struct format_process p;
  if (!process_is_valid(record, words, &p) ||
      record_number(p.first) != definitions->processes_count + 1) {
    evr_note_damage(&take->meta->damage, "the record of process %u is not valid",
                    record_number(*record));
    return EVENTRING_OK;
  }
  char *said = p.error_bytes ? calloc(1, p.error_bytes + (size_t)1) : NULL;
  struct evr_process *to = p.error_bytes && !said ? NULL : add_process(definitions);
  if (!to) {
    free(said);
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for the processes");
  }
  *to = (struct evr_process){.record = p, .error = said};
  const char *text = (const char *)record + sizeof p;
  text = take_text(to->program, text, p.program_bytes);
  text = take_text(to->source, text, p.source_bytes);
  if (said) {
    memcpy(said, text, p.error_bytes);
    evr_text_clean_lines(said, p.error_bytes);
  }
  return EVENTRING_OK;
}

/* ---- Their logs of switches ------------------------------------------------------------ */

const struct evr_log *evr_definitions_log(const struct evr_definitions *definitions,
                                          const struct evr_metadata *meta, uint32_t process) {
  static const struct format_switch none[FORMAT_LOG_ENTRIES];
  static const struct evr_log empty = {none, 0, 0};
  if (!process) return &meta->log;
  const struct evr_process_log *log =
      process <= definitions->logs_count ? definitions->logs[process - 1] : NULL;
  return log ? &log->log : &empty;
}

/* NULL: no memory. */
static struct evr_process_log *log_of(struct evr_definitions *definitions, uint32_t process) {
  if (process > definitions->logs_count) {
    struct evr_process_log **grown =
        realloc(definitions->logs, process * sizeof *definitions->logs);
    if (!grown) return NULL;
    memset(grown + definitions->logs_count, 0,
           (process - definitions->logs_count) * sizeof *grown);
    definitions->logs = grown;
    definitions->logs_count = process;
  }
  struct evr_process_log **log = &definitions->logs[process - 1];
  if (!*log && (*log = calloc(1, sizeof **log)) != NULL) (*log)->log.entry = (*log)->entry;
  return *log;
}

static bool logged_is_valid(const uint64_t *record, unsigned words) {
  return words >= sizeof(struct format_switch_record) / 8 && record_number(*record) &&
         record_number(*record) <= EVR_MOST_PROCESSES;
}

static int take_logged(const struct take *take, const uint64_t *record, unsigned words,
                       struct eventring_error *error) {
  if (!logged_is_valid(record, words)) {
    evr_note_damage(&take->meta->damage, "a switch of classes is not valid");
    return EVENTRING_OK;
  }
  struct evr_process_log *p = log_of(take->definitions, record_number(*record));
  if (!p) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for the log of a process");
  uint32_t n = p->log.told;
  p->entry[n % FORMAT_LOG_ENTRIES] =
      (struct format_switch){(uint64_t)n + 1, record[1], record[2], record[3]};
  p->log.told = p->log.written = n + 1;
  return EVENTRING_OK;
}

/* ---- All of them --------------------------------------------------------------------------- */

/* A segment that cannot follow is passed over: times are off, and all else is sound. */
static int take_segment(const struct take *take, const uint64_t *record, unsigned words,
                        struct eventring_error *error) {
  struct format_segment segment = {0}; /* which is not valid */
  struct eventring_error cause = {0};
  if (words >= sizeof segment / 8) memcpy(&segment, record, sizeof segment);
  int status = evr_metadata_add_segment(take->meta, &segment, &cause);
  if (status != EVENTRING_E_CORRUPT) {
    if (status != EVENTRING_OK) *error = cause;
    return status;
  }
  evr_note_damage(&take->meta->damage, "%s", cause.text);
  return EVENTRING_OK;
}

static int take_stack(const struct take *take, enum format_kind kind, const uint64_t *record,
                      unsigned words, struct eventring_error *error) {
  if (!evr_stacks_record_valid(kind, record, words))
    evr_note_damage(&take->meta->damage, "a record of kind %d, number %u, is not valid", kind,
                    record_number(*record));
  else if (!evr_stacks_take(&take->definitions->stacks, kind, record, words))
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for functions and stacks");
  return EVENTRING_OK;
}

static int take_last_stack(const struct take *take, const uint64_t *record, unsigned words,
                           struct eventring_error *error) {
  if (!evr_last_stack_valid(record, words))
    evr_note_damage(&take->meta->damage, "the record of a last stack is not valid");
  else if (!evr_last_stack_take(take->definitions->last_stacks, record))
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for last stacks");
  return EVENTRING_OK;
}

static int take_record(void *context, enum format_kind kind, const uint64_t *record,
                       unsigned words, struct eventring_error *error) {
  const struct take *take = context;
  unsigned type = record_type(*record);
  if (kind == FORMAT_DEFINITIONS && type == 1) return take_definition(take, record, words, error);
  if (kind == FORMAT_CLOCK && type == 1) return take_segment(take, record, words, error);
  if (kind == FORMAT_LIVES && type >= FORMAT_LIFE_START && type <= FORMAT_LIFE_RENAME)
    return take_life(take, record, words, error);
  if (kind == FORMAT_ENDINGS && type == 1) return take_ending(take, record, words);
  if (kind == FORMAT_PROCESSES && type == 1) return take_process(take, record, words, error);
  if (kind == FORMAT_SWITCHES && type == FORMAT_LOGGED)
    return take_logged(take, record, words, error);
  if (kind == FORMAT_LAST_STACKS && type == 1)
    return take_last_stack(take, record, words, error);
  if (evr_stacks_knows(kind, type)) return take_stack(take, kind, record, words, error);
  if (type != 1 && kind != FORMAT_PROFILES) take->definitions->unknown++;
  return EVENTRING_OK;
}

bool evr_record_is_valid(unsigned kind, const uint64_t *record, unsigned words) {
  struct format_definition d;
  unsigned type = record_type(*record);
  if (kind == FORMAT_DEFINITIONS && type == 1) {
    if (words < sizeof d / 8) return false;
    memcpy(&d, record, sizeof d);
    return definition_is_valid(&d, words);
  }
  if (kind == FORMAT_LIVES && type >= FORMAT_LIFE_START && type <= FORMAT_LIFE_RENAME)
    return life_is_valid(record, words);
  if (kind == FORMAT_ENDINGS && type == 1) return ending_is_valid(record, words);
  if (kind == FORMAT_LAST_STACKS && type == 1) return evr_last_stack_valid(record, words);
  if (kind == FORMAT_SWITCHES && type == FORMAT_LOGGED) return logged_is_valid(record, words);
  if (kind == FORMAT_PROCESSES && type == 1)
    return process_is_valid(record, words, &(struct format_process){0});
  return evr_stacks_record_valid(kind, record, words);
}

int evr_definitions_catch_up(struct evr_definitions *definitions, struct evr_metadata *meta,
                             struct eventring_error *error) {
  struct take take = {definitions, meta};
  struct eventring_error own;
  int status = evr_metadata_catch_up(meta, error);
  if (status == EVENTRING_OK)
    status = evr_record_scan(&definitions->scan, meta, take_record, &take, error ? error : &own);
  if (status == EVENTRING_OK && !meta->conversion.segments)
    status = evr_fail(error, EVENTRING_E_CORRUPT, 0, "there is no clock segment");
  return status;
}

void evr_definitions_free(struct evr_definitions *definitions) {
  for (size_t i = 0; i < EVENTRING_MAX_EVENTS / EVR_DEFINITION_CHUNK; i++)
    free(definitions->chunk[i]);
  evr_stacks_free(&definitions->stacks);
  for (size_t i = 0; i < EVENTRING_MAX_DOMAINS; i++) free(definitions->last_stacks[i]);
  free(definitions->lives);
  for (uint32_t i = 0; i < definitions->processes_count; i++) free(definitions->processes[i].error);
  free(definitions->processes);
  for (uint32_t i = 0; i < definitions->logs_count; i++) free(definitions->logs[i]);
  free(definitions->logs);
  evr_record_scan_free(&definitions->scan);
}
