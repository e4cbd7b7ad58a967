/* SPDX-License-Identifier: MIT */
/* encoder.c: opening and finishing; where bytes go (encoder.h has the design). */
#include "encoder/encoder.h"
#include "format/header.h"

#include <stdlib.h>
#include <string.h>

#include "format/checksum.h"
#include "format/control.h"
#include "format/sized.h"
#include "format/text.h"

/* ---- Failures ----------------------------------------------------------------------- */

int encoder_fail(eventring_encoder *e, struct eventring_error *error, int code,
                 const char *text) {
  evr_fail(&e->failure, code, 0, "%s", text);
  return evr_fail(error, code, 0, "%s", text);
}

int encoder_check(eventring_encoder *e, struct eventring_error *error) {
  if (!e) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no encoder");
  if (e->failure.code) {
    if (error) *error = e->failure;
    return e->failure.code;
  }
  if (e->finished) return evr_fail(error, EVENTRING_E_STATE, 0, "the recording is finished");
  return EVENTRING_OK;
}

/* ---- Output ------------------------------------------------------------------------- */

static int write_out(eventring_encoder *e, uint64_t offset, const void *bytes, size_t size,
                     struct eventring_error *error) {
  struct eventring_error cause = {0};
  int status = e->write(e->context, offset, bytes, size, &cause);
  if (status >= 0) {
    if (offset + size > e->end) e->end = offset + size;
    return EVENTRING_OK;
  }
  cause.code = status;
  e->failure = cause;
  if (error) *error = cause;
  return status;
}

static int flush(eventring_encoder *e, struct eventring_error *error) {
  size_t size = e->buffered;
  e->buffered = 0;
  return size ? write_out(e, e->buffer_offset, e->buffer, size, error) : EVENTRING_OK;
}

int encoder_put(eventring_encoder *e, uint64_t offset, const void *bytes, size_t size,
                struct eventring_error *error) {
  bool follows = e->buffered && offset == e->buffer_offset + e->buffered;
  int status = EVENTRING_OK;
  if (!follows || e->buffered + size > sizeof e->buffer) status = flush(e, error);
  if (status != EVENTRING_OK) return status;
  if (!e->buffered) e->buffer_offset = offset;
  memcpy(e->buffer + e->buffered, bytes, size);
  e->buffered += size;
  return EVENTRING_OK;
}

int encoder_claim(eventring_encoder *e, uint64_t *unit, uint32_t *used, uint64_t *block,
                  struct eventring_error *error) {
  if (*used == FORMAT_UNIT) {
    if (e->claimed + FORMAT_UNIT > FORMAT_MAX_BLOCKS)
      return encoder_fail(e, error, EVENTRING_E_FULL, "a recording has at most 4 TiB");
    *unit = e->claimed;
    *used = 0;
    e->claimed += FORMAT_UNIT;
  }
  *block = *unit + (*used)++;
  return EVENTRING_OK;
}

/* ---- Opening ------------------------------------------------------------------------ */

static void set_header(struct format_header *h, const struct eventring_info *info) {
  *h = (struct format_header){
      .layout = FORMAT_STREAM, .pid = info->pid, .clock = FORMAT_CLOCK_MONOTONIC,
      .start_ticks = info->start_ns, .start_ns = info->start_ns,
      .start_wall_ns = info->start_wall_ns,
      .wsize = EVENTRING_DEFAULT_WSIZE,
      .rings = {[EVENTRING_RUNTIME] = "runtime", [EVENTRING_USER] = "user",
                [EVENTRING_ALLOC] = "alloc", [EVENTRING_CALLS] = "calls"},
      .classes = {[EVENTRING_CLASS_LIFECYCLE] = "lifecycle", [EVENTRING_CLASS_USER] = "user"}};
  evr_header_set_constants(h);
  evr_text_copy(h->program, sizeof h->program, info->program);
  evr_text_clean(h->program, sizeof h->program);
}

static int put_clock(eventring_encoder *e, struct eventring_error *error) {
  struct format_segment segment = {
      .first = format_record(sizeof segment / 8, 1, 0), .from_ticks = e->header.start_ticks,
      .from_ns = e->header.start_ns, .multiplier = (uint64_t)1 << FORMAT_CLOCK_SHIFT};
  bool dropped;
  return encoder_record(e, FORMAT_CLOCK, (const uint64_t *)&segment, sizeof segment / 8,
                        &dropped, error);
}

int eventring_encoder_open_sized(eventring_encoder **encoder, const struct eventring_info *info,
                                 size_t info_size, eventring_encoder_write *write,
                                 void *context, struct eventring_error *error) {
  struct eventring_info own;
  if (!encoder || !info || !write)
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no info, or nothing to write with");
  evr_copy_sized(&own, sizeof own, info, info_size);
  own.program[EVENTRING_MAX_PROGRAM] = 0;
  if (!own.start_ns) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no time of the start");
  eventring_encoder *e = calloc(1, sizeof *e);
  if (!e) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for an encoder");
  e->write = write;
  e->context = context;
  e->record_used = FORMAT_UNIT;
  e->latest = own.start_ns;
  set_header(&e->header, &own);
  int status = put_clock(e, error);
  if (status == EVENTRING_OK) status = encoder_define_builtins(e, error);
  if (status != EVENTRING_OK) {
    eventring_encoder_close(e);
    return status;
  }
  *encoder = e;
  return EVENTRING_OK;
}

void eventring_encoder_close(eventring_encoder *e) {
  if (!e) return;
  for (unsigned i = 0; i < ENCODER_RINGS; i++) encoder_ring_free(e->ring[i]);
  for (unsigned kind = 0; kind < FORMAT_KINDS; kind++) free(e->records[kind]);
  encoder_catalogue_free(e);
  encoder_stacks_free(&e->stacks);
  free(e);
}

/* ---- Finishing ---------------------------------------------------------------------- */

static int end_rings(eventring_encoder *e, struct eventring_error *error) {
  int status = EVENTRING_OK;
  for (unsigned i = 0; status == EVENTRING_OK && i < ENCODER_RINGS; i++)
    if (e->ring[i]) status = encoder_ring_end(e, e->ring[i], error);
  return status;
}

static void put_domains(const eventring_encoder *e, struct format_domain *table,
                        uint64_t *streams) {
  memcpy(table, e->domain, sizeof e->domain);
  *streams = 0;
  for (unsigned i = 0; i < ENCODER_RINGS; i++) {
    const struct encoder_ring *ring = e->ring[i];
    if (!ring || !ring->sequence) continue;
    ++*streams;
    table[ring->slot].ring[ring->ring] =
        (struct format_ring){ring->sequence, 0, FORMAT_STREAM_RING};
  }
}

static void put_counts(const eventring_encoder *e, const struct eventring_info *info,
                       struct format_status *s) {
  for (unsigned kind = 0; kind < FORMAT_KINDS; kind++)
    if (e->records[kind])
      s->kind[kind] = (struct format_count){e->records[kind]->records, e->records[kind]->dropped};
  s->kind[FORMAT_EVENTS].dropped = info->events_dropped;
  s->kind[FORMAT_DEFINITIONS].dropped += info->names_dropped;
  s->kind[FORMAT_LIVES].dropped += info->lives_dropped;
}

static void put_control(const eventring_encoder *e, uint64_t classes, struct format_control *c) {
  uint64_t named = evr_named_classes(e->header.classes);
  c->wanted = (classes & named) | EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE);
  c->gate = format_gate(c->wanted);
}

/* The front, the checksums last. */
static void make_front(eventring_encoder *e, const struct eventring_info *info, uint8_t *to) {
  struct format_status *s = (struct format_status *)(to + FORMAT_STATUS_OFFSET);
  struct format_domain *domains = (struct format_domain *)(to + FORMAT_DOMAINS_OFFSET);
  put_counts(e, info, s);
  put_domains(e, domains, &s->kind[FORMAT_EVENTS].records);
  put_control(e, info->classes, (struct format_control *)(to + FORMAT_CONTROL_OFFSET));
  s->state = FORMAT_ENDED;
  s->slots = e->slots;
  s->claimed = e->claimed;
  s->end_ticks = info->end_ns > e->latest ? info->end_ns : e->latest;
  s->end_reason = (uint32_t)info->end_reason;
  s->end_detail = info->end_detail;
  s->preserve = FORMAT_PRESERVE_ALWAYS;
  s->checksum = evr_front_checksum(s, (const uint64_t *)domains);
  e->header.flags = FORMAT_HAS_STREAMS | (e->incomplete ? FORMAT_INCOMPLETE : 0);
  e->header.checksum = evr_header_checksum(&e->header);
  memcpy(to, &e->header, sizeof e->header);
}

/* The last unit reaches up to the end of what is claimed, and the magic comes last. */
static int write_front(eventring_encoder *e, const struct eventring_info *info,
                       struct eventring_error *error) {
  static const uint8_t zeros[8];
  uint64_t size = format_block_offset(e->claimed);
  uint8_t *front = calloc(1, FORMAT_FRONT_BYTES);
  if (!front) return encoder_fail(e, error, EVENTRING_E_MEMORY, "no memory for the front");
  make_front(e, info, front);
  int status = EVENTRING_OK;
  if (e->end < size)
    status = write_out(e, size - sizeof zeros, zeros, sizeof zeros, error);
  if (status == EVENTRING_OK)
    status = write_out(e, FORMAT_STATUS_OFFSET, front + FORMAT_STATUS_OFFSET,
                       FORMAT_FRONT_BYTES - FORMAT_STATUS_OFFSET, error);
  if (status == EVENTRING_OK) status = write_out(e, 0, front, FORMAT_STATUS_OFFSET, error);
  free(front);
  return status;
}

int eventring_encoder_finish_sized(eventring_encoder *e, const struct eventring_info *info,
                                   size_t info_size, struct eventring_error *error) {
  struct eventring_info own;
  int status = encoder_check(e, error);
  if (status != EVENTRING_OK) return status;
  if (!info) return evr_fail(error, EVENTRING_E_ARGUMENT, 0, "no info");
  evr_copy_sized(&own, sizeof own, info, info_size);
  status = encoder_complete_domains(e, error);
  if (status == EVENTRING_OK) status = end_rings(e, error);
  if (status == EVENTRING_OK && own.error_ns) status = encoder_ending(e, &own, error);
  if (status == EVENTRING_OK) status = encoder_records_end(e, error);
  if (status == EVENTRING_OK) status = flush(e, error);
  if (status == EVENTRING_OK) status = write_front(e, &own, error);
  e->finished = status == EVENTRING_OK;
  return status;
}
