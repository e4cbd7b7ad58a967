/* SPDX-License-Identifier: MIT */
/* metadata.c: what a file says of itself, read and checked.
 *
 * A field is used only after the check here has passed. What is wrong with the
 * header is an error of opening; damage found later is remembered once and
 * reported by the poll, which goes on with what is sound.
 */
#include "reader/metadata.h"
#include "format/atomics.h"
#include "format/control.h"
#include "format/process.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void evr_note_damage(struct eventring_error *damage, const char *format, ...) {
  if (damage->code) return;
  damage->code = EVENTRING_E_CORRUPT;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(damage->text, sizeof damage->text, format, arguments);
  va_end(arguments);
}

void evr_clean_text(char *text, size_t room) {
  text[room - 1] = 0;
  for (char *c = text; *c; c++)
    if ((uint8_t)*c < 32 || *c == 127) *c = '?';
}

/* ---- Header ----------------------------------------------------------------------- */

static int check_identity(const struct format_header *h,
                          struct eventring_error *error) {
  if (memcmp(h->magic, FORMAT_MAGIC, sizeof h->magic) != 0)
    return evr_fail(error, EVENTRING_E_NOT_EVENTRING, 0, "not an eventring file");
  if (h->byte_order == __builtin_bswap32(FORMAT_BYTE_ORDER))
    return evr_fail(error, EVENTRING_E_BYTE_ORDER, 0,
                    "recorded on a machine with another byte order");
  if (h->byte_order != FORMAT_BYTE_ORDER)
    return evr_fail(error, EVENTRING_E_CORRUPT, 0, "byte order mark %#x",
                    h->byte_order);
  if (h->version != FORMAT_VERSION)
    return evr_fail(error, EVENTRING_E_VERSION, 0,
                    "format version %u; this reader knows version %d", h->version,
                    FORMAT_VERSION);
  return EVENTRING_OK;
}

/* Version 1 has one geometry; only the size of the rings varies. */
static bool geometry_is_valid(const struct format_header *h) {
  return h->front_bytes == FORMAT_FRONT_BYTES &&
         h->block_bytes == FORMAT_BLOCK_BYTES &&
         (h->layout == FORMAT_FLIGHT_RECORDER || h->layout == FORMAT_SNAPSHOT) &&
         h->max_domains == EVENTRING_MAX_DOMAINS &&
         h->rings_per_domain == EVENTRING_RINGS &&
         h->wsize >= EVENTRING_MIN_WSIZE && h->wsize <= EVENTRING_MAX_WSIZE &&
         h->ring_bytes == format_ring_bytes(h->wsize) &&
         h->domain_stride == format_domain_stride(h->wsize) &&
         h->rings_offset == FORMAT_RINGS_OFFSET &&
         h->catalogue_offset == FORMAT_CATALOGUE_OFFSET &&
         h->catalogue_blocks == FORMAT_CATALOGUE_BLOCKS &&
         h->definition_bytes == sizeof(struct format_definition) &&
         h->status_offset == FORMAT_STATUS_OFFSET &&
         h->control_offset == FORMAT_CONTROL_OFFSET &&
         h->domains_offset == FORMAT_DOMAINS_OFFSET &&
         h->clock >= FORMAT_CLOCK_MONOTONIC && h->clock <= FORMAT_CLOCK_CNTVCT;
}

static int read_header(struct evr_metadata *meta, struct eventring_error *error) {
  struct format_header *h = &meta->header;
  struct eventring_error cause = {0};
  int status = evr_source_read(&meta->source, 0, h, sizeof *h, &cause);
  if (status == EVENTRING_E_TRUNCATED &&
      evr_source_read(&meta->source, 0, h, sizeof h->magic, NULL) != EVENTRING_OK)
    return evr_fail(error, EVENTRING_E_NOT_EVENTRING, 0, "not an eventring file");
  if (status == EVENTRING_E_TRUNCATED &&
      memcmp(h->magic, FORMAT_MAGIC, sizeof h->magic) != 0)
    return evr_fail(error, EVENTRING_E_NOT_EVENTRING, 0, "not an eventring file");
  if (status != EVENTRING_OK)
    return evr_fail(error, status, cause.sys_errno, "%s", cause.text);
  status = check_identity(h, error);
  if (status != EVENTRING_OK) return status;
  if (!geometry_is_valid(h))
    return evr_fail(error, EVENTRING_E_CORRUPT, 0,
                    "the header's sizes and offsets are not those of version %d",
                    FORMAT_VERSION);
  evr_clean_text(h->program, sizeof h->program);
  for (int i = 0; i < EVENTRING_MAX_CLASSES; i++)
    evr_clean_text(h->classes[i], sizeof h->classes[i]);
  meta->blocks = format_ring_blocks(h->wsize);
  return EVENTRING_OK;
}

/* ---- Status, control, domains ------------------------------------------------------- */

static int check_status(struct evr_metadata *meta, struct format_status *s,
                        struct eventring_error *error) {
  struct evr_conversion conversion = {.segments = s->segments};
  memcpy(conversion.segment, s->segment, sizeof conversion.segment);
  if ((s->state != FORMAT_RECORDING && s->state != FORMAT_ENDED) ||
      s->laid_out > EVENTRING_MAX_DOMAINS || s->laid_out < meta->status.laid_out ||
      s->definitions > EVENTRING_MAX_EVENTS ||
      s->definitions < meta->status.definitions ||
      s->segments < meta->conversion.segments || !evr_conversion_valid(&conversion))
    return evr_fail(error, EVENTRING_E_CORRUPT, 0,
                    "the status page holds impossible values");
  meta->conversion = conversion;
  meta->segment_end = 0;
  return EVENTRING_OK;
}

void evr_metadata_use_segment(struct evr_metadata *meta, uint64_t ticks) {
  const struct evr_conversion *c = &meta->conversion;
  uint32_t i = c->segments - 1;
  while (i > 0 && ticks < c->segment[i].from_ticks) i--;
  meta->segment = c->segment[i];
  meta->segment_end = i + 1 < c->segments ? c->segment[i + 1].from_ticks : UINT64_MAX;
}

/* Do the rings that are said to be there fit into the file? */
static int check_size(const struct evr_metadata *meta, uint32_t laid_out,
                      struct eventring_error *error) {
  struct stat st;
  uint64_t end = FORMAT_RINGS_OFFSET + laid_out * meta->header.domain_stride;
  if (evr_source_lent(&meta->source) || !laid_out) return EVENTRING_OK;
  if (fstat(meta->source.fd, &st) != 0 || (uint64_t)st.st_size < end)
    return evr_fail(error, EVENTRING_E_TRUNCATED, 0,
                    "the file is shorter than its %u domains need", laid_out);
  return EVENTRING_OK;
}

int evr_metadata_check_size(const struct evr_metadata *meta, struct eventring_error *error) {
  return check_size(meta, meta->status.laid_out, error);
}

static int read_status(struct evr_metadata *meta, struct eventring_error *error) {
  struct format_status now = meta->status;
  size_t front = offsetof(struct format_status, segment);
  int status = evr_source_read(&meta->source, FORMAT_STATUS_OFFSET, &now, front, error);
  /* pairs with the producer's release stores into this page: what is counted
     here is there to be read */
  evr_fence_acquire();
  if (status == EVENTRING_OK && now.segments != meta->conversion.segments)
    status = evr_source_read(&meta->source, FORMAT_STATUS_OFFSET + front, now.segment,
                             sizeof now.segment, error);
  if (status == EVENTRING_OK) status = check_status(meta, &now, error);
  if (status == EVENTRING_OK && now.laid_out != meta->status.laid_out)
    status = check_size(meta, now.laid_out, error);
  if (status == EVENTRING_OK) meta->status = now;
  return status;
}

/* A head that no producer can have reached is damage, and so is one that goes back: what
   was known before stays. (Sequence numbers after it would wrap round to blocks already
   read.) */
static void take_head(struct evr_metadata *meta, unsigned slot, unsigned ring,
                      uint64_t head) {
  uint64_t *known = &meta->head[slot][ring];
  if (__builtin_expect(head > FORMAT_MAX_SEQUENCE || head < *known, 0))
    evr_note_damage(&meta->damage, "domain %u, ring %u: block number %llu is out of range",
                    slot, ring, (unsigned long long)head);
  else
    *known = head;
}

uint64_t evr_metadata_head_offset(unsigned slot, unsigned ring) {
  return FORMAT_DOMAINS_OFFSET + slot * sizeof(struct format_domain) +
         offsetof(struct format_domain, head) + ring * sizeof(uint64_t);
}

static int read_heads(struct evr_metadata *meta, struct eventring_error *error) {
  uint64_t head[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS];
  unsigned count = meta->status.laid_out;
  int status = evr_source_heads(&meta->source, count, head, error);
  evr_fence_acquire(); /* R0 */
  for (unsigned slot = 0; status == EVENTRING_OK && slot < count; slot++)
    for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++)
      take_head(meta, slot, ring, head[slot][ring]);
  return status;
}

/* Few attempts: a producer that died in the middle left it as it is. */
int evr_metadata_domain(const struct evr_metadata *meta, unsigned slot,
                        struct format_domain *d, struct eventring_error *error) {
  uint64_t offset = FORMAT_DOMAINS_OFFSET + slot * sizeof *d;
  for (int attempt = 0; attempt < 8; attempt++) {
    uint64_t before, after;
    int status = evr_source_read(&meta->source, offset, &before, sizeof before, error);
    evr_fence_acquire();
    if (status == EVENTRING_OK)
      status = evr_source_read(&meta->source, offset, d, sizeof *d, error);
    evr_fence_acquire();
    if (status == EVENTRING_OK)
      status = evr_source_read(&meta->source, offset, &after, sizeof after, error);
    if (status != EVENTRING_OK) return status;
    if (!(before & 1) && (uint32_t)before == (uint32_t)after) break;
  }
  evr_clean_text(d->name, sizeof d->name);
  return EVENTRING_OK;
}

/* ---- Control page --------------------------------------------------------------------- */

static bool is_written(const struct format_control *control, uint32_t n) {
  return control->log[n % FORMAT_LOG_ENTRIES].what >> 32 == (uint32_t)(n + 1);
}

/* The log is read only when something was added. An entry still being written is
   left for the next time: its gate is not open yet. */
static int read_control(struct evr_metadata *meta, struct eventring_error *error) {
  struct format_control *c = &meta->control;
  size_t front = offsetof(struct format_control, log);
  int status = evr_source_read(&meta->source, FORMAT_CONTROL_OFFSET, c, front, error);
  if (status != EVENTRING_OK || c->switches == meta->switches) return status;
  evr_fence_acquire();
  status = evr_source_read(&meta->source, FORMAT_CONTROL_OFFSET + front, c->log,
                           sizeof c->log, error);
  uint32_t n = c->switches;
  for (int i = 0; i < FORMAT_LOG_ENTRIES && n != meta->switches; i++, n--)
    if (is_written(c, n - 1)) break;
  if (n != meta->switches && is_written(c, n - 1)) meta->switches = n;
  return status;
}

/* ---- All of it ------------------------------------------------------------------------------ */

int evr_metadata_refresh(struct evr_metadata *meta, struct eventring_error *error) {
  int status = read_status(meta, error);
  return status == EVENTRING_OK ? read_heads(meta, error) : status;
}

int evr_metadata_catch_up(struct evr_metadata *meta, struct eventring_error *error) {
  int status = read_status(meta, error);
  return status == EVENTRING_OK ? read_control(meta, error) : status;
}

int evr_metadata_open(struct evr_metadata *meta, bool map, struct eventring_error *error) {
  int status = read_header(meta, error);
  if (status == EVENTRING_OK && !evr_source_lent(&meta->source) && map)
    evr_window_open(&meta->source.window, meta->source.fd,
                    FORMAT_RINGS_OFFSET +
                        EVENTRING_MAX_DOMAINS * meta->header.domain_stride);
  if (status == EVENTRING_OK) status = evr_metadata_refresh(meta, error);
  if (status == EVENTRING_OK) status = evr_metadata_catch_up(meta, error);
  return status;
}

void evr_metadata_close(struct evr_metadata *meta) { evr_source_close(&meta->source); }

struct evr_location evr_metadata_place(const struct evr_metadata *meta, unsigned slot,
                                    unsigned ring, uint64_t sequence) {
  uint64_t place = (sequence - 1) & (meta->blocks - 1); /* a power of two */
  return (struct evr_location){
      .offset = FORMAT_RINGS_OFFSET + slot * meta->header.domain_stride +
                ring * meta->header.ring_bytes + place * FORMAT_BLOCK_BYTES,
      .row = meta->blocks - (uint32_t)place};
}

uint64_t evr_metadata_head(struct evr_metadata *meta, unsigned slot, unsigned ring) {
  uint64_t head;
  if (evr_source_read(&meta->source, evr_metadata_head_offset(slot, ring), &head, sizeof head,
                      NULL) == EVENTRING_OK)
    take_head(meta, slot, ring, head);
  evr_fence_acquire(); /* R0 */
  return meta->head[slot][ring];
}

/* Without locks on its file system a process is known by pid and start time. */
static bool process_lives(const struct format_header *h) {
  return h->pid > 0 && h->process_start != 0 &&
         evr_process_start(h->pid) == h->process_start;
}

enum eventring_liveness evr_metadata_liveness(const struct evr_metadata *meta) {
  const struct format_header *h = &meta->header;
  uint32_t state[2];
  if (h->layout == FORMAT_SNAPSHOT) return EVENTRING_SAVED;
  if (evr_source_read(&meta->source, FORMAT_STATUS_OFFSET, state, sizeof state,
                      NULL) != EVENTRING_OK)
    return EVENTRING_DEAD;
  evr_fence_acquire(); /* pairs with evr_recording_end_locked */
  if (state[0] == FORMAT_ENDED) return EVENTRING_ENDED;
  if (evr_source_lent(&meta->source)) return EVENTRING_LIVE;
  int locked = evr_file_locked(meta->source.fd);
  if (locked < 0) locked = process_lives(h);
  return locked ? EVENTRING_LIVE : EVENTRING_DEAD;
}
