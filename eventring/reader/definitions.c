/* SPDX-License-Identifier: MIT */
/* definitions.c: the records of a file that its events refer to, read and checked. */
#include "reader/definitions.h"

#include <stdlib.h>
#include <string.h>

#include "format/array.h"
#include "format/records.h"
#include "format/text.h"

struct take { /* the context of taking records */
  struct evr_definitions *definitions;
  struct evr_metadata *meta;
};

/* ---- Definitions ------------------------------------------------------------------- */

static bool definition_is_valid(const uint64_t *record) {
  struct format_definition d;
  memcpy(&d, record, sizeof d);
  return record_number(d.first) < EVENTRING_MAX_EVENTS && d.kind >= EVENTRING_DEF_SPAN &&
         d.kind <= EVENTRING_DEF_FLOW && d.event_class < EVENTRING_MAX_CLASSES &&
         d.ring < EVENTRING_RINGS && d.name_bytes >= 1;
}

/* Copies a text of the record and makes it harmless. Returns where the next one
   begins. */
static const char *take_text(char *to, const char *from, size_t bytes) {
  memcpy(to, from, bytes);
  to[bytes] = 0;
  evr_text_clean_bytes(to, bytes);
  return from + bytes;
}

static struct evr_definition *room_for(struct evr_definitions *definitions, unsigned id) {
  struct evr_definition **chunk = &definitions->chunk[id / EVR_DEFINITION_CHUNK];
  if (!*chunk) *chunk = calloc(EVR_DEFINITION_CHUNK, sizeof **chunk);
  return *chunk ? *chunk + id % EVR_DEFINITION_CHUNK : NULL;
}

static int take_definition(const struct take *take, const uint64_t *record,
                           struct eventring_error *error) {
  struct evr_definitions *definitions = take->definitions;
  struct format_definition d;
  memcpy(&d, record, sizeof d);
  unsigned id = record_number(d.first);
  if (definitions->definition[id]) return EVENTRING_OK; /* the first definition counts */
  struct evr_definition *to = room_for(definitions, id);
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

/* ---- Lives ------------------------------------------------------------------------- */

static struct evr_life *life_at(const struct evr_definitions *definitions, uint32_t n) {
  return &definitions->lives[(definitions->lives_first + n) % EVR_MAX_LIVES];
}

/* Searches from the latest life back, because most searches are for a recent life. */
const struct evr_life *evr_definitions_life(const struct evr_definitions *definitions,
                                            unsigned slot, uint32_t incarnation) {
  for (uint32_t n = definitions->lives_count; n-- > 0;) {
    const struct evr_life *life = life_at(definitions, n);
    if (life->slot == slot && life->incarnation == incarnation) return life;
  }
  return NULL;
}

/* Returns room for a new life, or NULL when out of memory. If there are EVR_MAX_LIVES
   lives already, drops the oldest. */
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

static int take_life(const struct take *take, const uint64_t *record, unsigned words,
                     struct eventring_error *error) {
  struct evr_definitions *definitions = take->definitions;
  unsigned type = record_type(*record), slot = record_number(*record);
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

/* ---- The end ----------------------------------------------------------------------- */

static int take_ending(const struct take *take, const uint64_t *record) {
  struct evr_ending *to = &take->definitions->ending;
  struct format_ending ending;
  memcpy(&ending, record, sizeof ending);
  to->ticks = ending.ticks;
  to->bytes = (uint32_t)ending.bytes;
  to->whole = record_number(ending.first);
  memcpy(to->text, record + sizeof ending / 8, ending.bytes);
  to->text[ending.bytes] = 0;
  evr_text_clean_lines(to->text, ending.bytes);
  return EVENTRING_OK;
}

/* ---- Processes --------------------------------------------------------------------- */

/* Returns room for the next process, or NULL when out of memory. */
static struct evr_process *add_process(struct evr_definitions *definitions) {
  if (!EVR_MAKE_ROOM(definitions->processes, definitions->processes_room,
                     definitions->processes_count, 16))
    return NULL;
  return &definitions->processes[definitions->processes_count++];
}

static int take_process(const struct take *take, const uint64_t *record,
                        struct eventring_error *error) {
  struct evr_definitions *definitions = take->definitions;
  struct format_process p;
  memcpy(&p, record, sizeof p);
  if (record_number(p.first) != definitions->processes_count + 1) {
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

/* ---- Logs of switches of processes
   ---------------------------------------------------- */

const struct evr_log *evr_definitions_log(const struct evr_definitions *definitions,
                                          const struct evr_metadata *meta, uint32_t process) {
  static const struct format_switch none[FORMAT_LOG_ENTRIES];
  static const struct evr_log empty = {none, 0, 0};
  if (!process) return &meta->log;
  const struct evr_process_log *log =
      process <= definitions->logs_count ? definitions->logs[process - 1] : NULL;
  return log ? &log->log : &empty;
}

/* Returns the log of a process, made at first use, or NULL when out of memory. */
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

static int take_logged(const struct take *take, const uint64_t *record,
                       struct eventring_error *error) {
  struct evr_process_log *p = log_of(take->definitions, record_number(*record));
  if (!p) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for the log of a process");
  uint32_t n = p->log.told;
  p->entry[n % FORMAT_LOG_ENTRIES] =
      (struct format_switch){(uint64_t)n + 1, record[1], record[2], record[3]};
  p->log.told = p->log.written = n + 1;
  return EVENTRING_OK;
}

/* ---- All of them ------------------------------------------------------------------- */

/* Takes a clock segment. A segment that cannot follow the previous segment is noted as
   damage and skipped: times after it are wrong then, but everything else is valid. */
static int take_segment(const struct take *take, const uint64_t *record,
                        struct eventring_error *error) {
  struct format_segment segment;
  struct eventring_error cause = {0};
  memcpy(&segment, record, sizeof segment);
  int status = evr_metadata_add_segment(take->meta, &segment, &cause);
  if (status != EVENTRING_E_CORRUPT) {
    if (status != EVENTRING_OK) *error = cause;
    return status;
  }
  evr_note_damage(&take->meta->damage, "%s", cause.text);
  return EVENTRING_OK;
}

static int take_last_stack(const struct take *take, const uint64_t *record,
                           struct eventring_error *error) {
  if (evr_last_stack_take(take->definitions->last_stacks, record)) return EVENTRING_OK;
  return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for last stacks");
}

/* Tells whether a record with a valid form (`records.def`) has possible values. Covers
   the kinds that are taken in this file. */
static bool is_possible(unsigned kind, const uint64_t *record) {
  uint32_t number = record_number(*record);
  switch (kind) {
    case FORMAT_DEFINITIONS: return definition_is_valid(record);
    case FORMAT_LIVES: return number < EVENTRING_MAX_DOMAINS;
    case FORMAT_SWITCHES: return number && number <= EVR_MOST_PROCESSES;
    case FORMAT_LAST_STACKS: return evr_last_stack_valid(record);
    default: return evr_stacks_record_valid(kind, record);
  }
}

bool evr_record_is_valid(unsigned kind, const uint64_t *record, unsigned words) {
  const struct format_form *form = evr_record_form(kind, record_type(*record));
  return form && evr_record_fits(form, record, words) && is_possible(kind, record);
}

static int take_record(void *context, enum format_kind kind, const uint64_t *record,
                       unsigned words, struct eventring_error *error) {
  const struct take *take = context;
  const struct format_form *form = evr_record_form(kind, record_type(*record));
  if (!form) {
    take->definitions->unknown++;
    return EVENTRING_OK;
  }
  if (kind == FORMAT_PROFILES) return EVENTRING_OK; /* profiles.c reads them */
  if (!evr_record_is_valid(kind, record, words)) {
    evr_note_damage(&take->meta->damage, "a record of kind %d, number %u, is not valid", kind,
                    record_number(*record));
    return EVENTRING_OK;
  }
  switch (kind) {
    case FORMAT_DEFINITIONS: return take_definition(take, record, error);
    case FORMAT_CLOCK: return take_segment(take, record, error);
    case FORMAT_LIVES: return take_life(take, record, words, error);
    case FORMAT_ENDINGS: return take_ending(take, record);
    case FORMAT_PROCESSES: return take_process(take, record, error);
    case FORMAT_SWITCHES: return take_logged(take, record, error);
    case FORMAT_LAST_STACKS: return take_last_stack(take, record, error);
    default: break;
  }
  if (evr_stacks_take(&take->definitions->stacks, kind, record)) return EVENTRING_OK;
  return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for functions and stacks");
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
