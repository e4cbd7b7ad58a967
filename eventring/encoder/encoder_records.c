/* SPDX-License-Identifier: MIT */
/* encoder_records.c: blocks of records; domains and processes (encoder.h has the design). */
#include "encoder/encoder.h"

#include <stdlib.h>
#include <string.h>

#include "format/checksum.h"
#include "format/sized.h"
#include "format/text.h"

/* ---- Blocks ------------------------------------------------------------------------- */

/* Blocks that a kind may have: in a stream, more of those that come and go. */
static uint64_t budget_of(enum format_kind kind) {
  switch (kind) {
#define BUDGET(name, number, budget, full) \
  case number: \
    return number == FORMAT_LIVES ? ENCODER_MOST_LIVES : (budget);
    FORMAT_RECORD_KINDS(BUDGET)
#undef BUDGET
  default:
    return 0;
  }
}

static int end_block(eventring_encoder *e, struct encoder_records *r,
                     struct eventring_error *error) {
  uint64_t place;
  if (!r->at) return EVENTRING_OK;
  int status = encoder_claim(e, &e->record_unit, &e->record_used, &place, error);
  if (status != EVENTRING_OK) return status;
  memset(r->words + r->at, 0, (FORMAT_BLOCK_WORDS - r->at) * sizeof r->words[0]);
  r->words[FORMAT_SEAL_WORD] = evr_seal(r->at, evr_checksum(r->words, r->at));
  r->at = 0;
  return encoder_put(e, format_block_offset(place), r->words, FORMAT_BLOCK_BYTES, error);
}

static void begin_block(struct encoder_records *r, enum format_kind kind) {
  struct format_block *h = (struct format_block *)r->words;
  *h = (struct format_block){.sequence = ++r->sequence, .kind = (uint16_t)kind,
                             .before = r->records};
  r->at = FORMAT_BLOCK_HEADER_WORDS;
}

int encoder_record(eventring_encoder *e, enum format_kind kind, const uint64_t *record,
                   unsigned words, bool *dropped, struct eventring_error *error) {
  struct encoder_records *r = e->records[kind];
  *dropped = false;
  if (!r) e->records[kind] = r = calloc(1, sizeof *r);
  if (!r) return encoder_fail(e, error, EVENTRING_E_MEMORY, "no memory for records");
  if (!r->at || r->at + words > FORMAT_BLOCK_WORDS) {
    if (r->sequence >= budget_of(kind)) {
      r->dropped++;
      *dropped = true;
      return EVENTRING_OK;
    }
    int status = end_block(e, r, error);
    if (status != EVENTRING_OK) return status;
    begin_block(r, kind);
  }
  memcpy(r->words + r->at, record, words * sizeof *record);
  r->words[r->at] = format_record(words, record_type(*record), record_number(*record));
  r->at += words;
  r->records++;
  return EVENTRING_OK;
}

static struct encoder_records *records_of(eventring_encoder *e, enum format_kind kind) {
  if (!e->records[kind]) e->records[kind] = calloc(1, sizeof *e->records[kind]);
  return e->records[kind];
}

int encoder_put_block(eventring_encoder *e, enum format_kind kind, uint64_t *words, uint32_t end,
                      struct eventring_error *error) {
  struct encoder_records *r = records_of(e, kind);
  uint64_t place;
  if (!r) return encoder_fail(e, error, EVENTRING_E_MEMORY, "no memory for records");
  int status = encoder_claim(e, &e->record_unit, &e->record_used, &place, error);
  if (status != EVENTRING_OK) return status;
  words[FORMAT_SEAL_WORD] = evr_seal(end, evr_checksum(words, end));
  r->records++;
  return encoder_put(e, format_block_offset(place), words, FORMAT_BLOCK_BYTES, error);
}

int encoder_drop(eventring_encoder *e, enum format_kind kind, struct eventring_error *error) {
  struct encoder_records *r = records_of(e, kind);
  if (!r) return encoder_fail(e, error, EVENTRING_E_MEMORY, "no memory for records");
  r->dropped++;
  return EVENTRING_OK;
}

int encoder_records_end(eventring_encoder *e, struct eventring_error *error) {
  int status = EVENTRING_OK;
  for (unsigned kind = 0; status == EVENTRING_OK && kind < FORMAT_KINDS; kind++)
    if (e->records[kind]) status = end_block(e, e->records[kind], error);
  return status;
}

/* ---- Domains ------------------------------------------------------------------------ */

static int put_life(eventring_encoder *e, enum format_life type,
                    const struct eventring_domain_info *d, struct eventring_error *error) {
  uint64_t words[FORMAT_BLOCK_WORDS] = {0};
  bool dropped, starts = type == FORMAT_LIFE_START, stops = type == FORMAT_LIFE_STOP;
  size_t bytes = stops ? 0 : strlen(d->name);
  unsigned count = stops ? 3 : 4 + format_text_words(bytes);
  words[0] = format_record(0, type, d->slot);
  words[1] = d->incarnation | (starts ? (uint64_t)(uint32_t)d->tid << 32 : 0);
  words[2] = stops ? d->stop_ns : d->start_ns;
  if (!stops) words[3] = bytes;
  memcpy(words + 4, d->name, bytes);
  if (starts && d->process) words[count++] = d->process;
  return encoder_record(e, FORMAT_LIVES, words, count, &dropped, error);
}

static void put_entry(struct format_domain *entry, const struct eventring_domain_info *d) {
  *entry = (struct format_domain){
      .version = entry->version + 2, .incarnation = d->incarnation, .tid = d->tid,
      .state = d->alive ? FORMAT_SLOT_ALIVE : FORMAT_SLOT_FREE, .start_ticks = d->start_ns,
      .stop_ticks = d->alive ? 0 : d->stop_ns, .process = d->process};
  evr_text_copy(entry->name, sizeof entry->name, d->name);
}

static int check_domain(const eventring_encoder *e, const struct eventring_domain_info *d,
                        struct eventring_error *error) {
  if (d->slot >= EVENTRING_MAX_DOMAINS || !d->incarnation ||
      d->incarnation < e->domain[d->slot].incarnation)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "slot or incarnation of a domain");
  if (d->start_ns < e->header.start_ns || d->start_ns > INT64_MAX || d->stop_ns > INT64_MAX ||
      (!d->alive && d->stop_ns < d->start_ns))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "the times of a domain are not possible");
  if (evr_text_check(d->name, strlen(d->name)) != EVR_TEXT_OK)
    return evr_fail(error, EVENTRING_E_NAME, 0,
                    "the name of a domain is not UTF-8, or has a control character");
  return EVENTRING_OK;
}

int eventring_encoder_domain_sized(eventring_encoder *e,
                                   const struct eventring_domain_info *domain,
                                   size_t domain_size, struct eventring_error *error) {
  struct eventring_domain_info d = {0};
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (domain) evr_copy_sized(&d, sizeof d, domain, domain_size);
  d.name[EVENTRING_MAX_DOMAIN_NAME] = 0;
  status = check_domain(e, &d, error);
  if (status != EVENTRING_OK) return status;
  struct format_domain *entry = &e->domain[d.slot];
  bool is_new = d.incarnation != entry->incarnation, was_alive = is_new || entry->state;
  if (is_new) status = put_life(e, FORMAT_LIFE_START, &d, error);
  else if (strcmp(d.name, entry->name) != 0)
    status = put_life(e, FORMAT_LIFE_RENAME, &d, error);
  if (status == EVENTRING_OK && was_alive && !d.alive)
    status = put_life(e, FORMAT_LIFE_STOP, &d, error);
  if (status != EVENTRING_OK) return status;
  if (!is_new) { /* the record of its start says the same */
    d.start_ns = entry->start_ticks;
    d.tid = entry->tid;
    d.process = entry->process;
    if (!was_alive) d.alive = false, d.stop_ns = entry->stop_ticks;
  }
  put_entry(entry, &d);
  if (d.slot >= e->slots) e->slots = d.slot + 1;
  return EVENTRING_OK;
}

int encoder_complete_domains(eventring_encoder *e, struct eventring_error *error) {
  int status = EVENTRING_OK;
  for (unsigned i = 0; status == EVENTRING_OK && i < ENCODER_RINGS; i++) {
    const struct encoder_ring *ring = e->ring[i];
    if (!ring || e->domain[ring->slot].incarnation || !ring->position.incarnation) continue;
    struct eventring_domain_info d = {.slot = ring->slot,
                                      .incarnation = ring->position.incarnation, .alive = true,
                                      .start_ns = e->header.start_ns};
    status = eventring_encoder_domain(e, &d, error);
  }
  return status;
}

/* ---- Processes ---------------------------------------------------------------------- */

static int check_process(const eventring_encoder *e, const struct eventring_process *p,
                         struct eventring_error *error) {
  if (p->start_ns < e->header.start_ns || p->start_ns > INT64_MAX)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "the times of a process are not possible");
  if (evr_text_check(p->program, strlen(p->program)) != EVR_TEXT_OK ||
      evr_text_check(p->source, strlen(p->source)) != EVR_TEXT_OK)
    return evr_fail(error, EVENTRING_E_NAME, 0,
                    "a name of a process is not UTF-8, or has a control character");
  return EVENTRING_OK;
}

static size_t add_text(char *texts, size_t at, const char *text, uint16_t *bytes) {
  size_t size = strlen(text);
  memcpy(texts + at, text, size);
  *bytes = (uint16_t)size;
  return at + size;
}

int eventring_encoder_process_sized(eventring_encoder *e,
                                    const struct eventring_process *process,
                                    size_t process_size, struct eventring_error *error) {
  struct eventring_process p = {0};
  uint64_t words[FORMAT_BLOCK_WORDS] = {0};
  bool dropped;
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (!process) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no process");
  evr_copy_sized(&p, sizeof p, process, process_size);
  p.program[EVENTRING_MAX_PROGRAM] = p.source[EVENTRING_MAX_SOURCE] = 0;
  p.error_text[EVENTRING_MAX_END_TEXT] = 0;
  evr_text_clean_lines(p.error_text, strlen(p.error_text));
  status = check_process(e, &p, error);
  if (status != EVENTRING_OK) return status;
  struct format_process record = {
      .first = format_record(0, 1, e->processes + 1), .pid = p.pid,
      .liveness = (uint32_t)p.liveness, .end_reason = (uint32_t)p.end_reason,
      .end_detail = p.end_detail, .start_ticks = p.start_ns, .end_ticks = p.end_ns,
      .start_wall_ns = p.start_wall_ns, .shift_ns = p.shift_ns, .events = p.events,
      .missed = p.missed, .lost = p.lost, .error_ticks = p.error_ns};
  char *texts = (char *)words + sizeof record;
  size_t size = add_text(texts, 0, p.program, &record.program_bytes);
  size = add_text(texts, size, p.source, &record.source_bytes);
  size = add_text(texts, size, p.error_text, &record.error_bytes);
  memcpy(words, &record, sizeof record);
  status = encoder_record(e, FORMAT_PROCESSES, words,
                          (unsigned)(sizeof record / 8) + format_text_words(size), &dropped,
                          error);
  if (status != EVENTRING_OK) return status;
  if (dropped) return evr_fail(error, EVENTRING_E_FULL, 0, "there is no room for more processes");
  return (int)++e->processes;
}

/* ---- The end ------------------------------------------------------------------------ */

int encoder_ending(eventring_encoder *e, const struct eventring_info *info,
                   struct eventring_error *error) {
  uint64_t words[FORMAT_BLOCK_WORDS] = {0};
  size_t size = strnlen(info->error_text, EVENTRING_MAX_END_TEXT);
  uint32_t whole = info->error_bytes > size ? info->error_bytes : (uint32_t)size;
  struct format_ending record = {.first = format_record(0, 1, whole), .ticks = info->error_ns,
                                 .bytes = size};
  bool dropped;
  memcpy(words, &record, sizeof record);
  memcpy(words + sizeof record / 8, info->error_text, size);
  evr_text_clean_lines((char *)(words + sizeof record / 8), size);
  return encoder_record(e, FORMAT_ENDINGS, words,
                        (unsigned)(sizeof record / 8) + format_text_words(size), &dropped,
                        error);
}
