/* SPDX-License-Identifier: MIT */
/* metadata.c: reads and checks the header, status, domains and control page of a file.
 *
 * A field is used only after it was checked here. An invalid header makes opening fail.
 * Damage that is found later is noted once and reported by the poll, which goes on with
 * the undamaged parts. A wrong checksum of the header or the front is noted as damage in
 * the same way, because the fields in use have passed the other checks. end_check.c
 * checks files into which nobody writes any more.
 */
#include "reader/metadata.h"
#include "reader/live_copy.h"
#include "format/array.h"
#include "format/atomics.h"
#include "format/checksum.h"
#include "format/control.h"
#include "format/process.h"
#include "format/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void evr_note_damage(struct eventring_error *damage, const char *format, ...) {
  if (damage->code) return;
  damage->code = EVENTRING_E_CORRUPT;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(damage->text, sizeof damage->text, format, arguments);
  va_end(arguments);
}

void evr_note_backwards(struct eventring_error *damage, unsigned slot, uint64_t sequence) {
  evr_note_damage(damage, "domain %u: block %llu counts backwards", slot,
                  (unsigned long long)sequence);
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

static bool geometry_is_valid(const struct format_header *h) {
  return h->front_bytes == FORMAT_FRONT_BYTES && h->block_bytes == FORMAT_BLOCK_BYTES &&
         (h->layout == FORMAT_FLIGHT_RECORDER || h->layout == FORMAT_STREAM) &&
         h->max_domains == EVENTRING_MAX_DOMAINS && h->rings_per_domain == EVENTRING_RINGS &&
         h->domain_bytes == sizeof(struct format_domain) &&
         h->status_offset == FORMAT_STATUS_OFFSET &&
         h->control_offset == FORMAT_CONTROL_OFFSET &&
         h->domains_offset == FORMAT_DOMAINS_OFFSET &&
         h->blocks_offset == FORMAT_BLOCKS_OFFSET && h->wsize >= EVENTRING_MIN_WSIZE &&
         h->wsize <= EVENTRING_MAX_WSIZE && h->clock >= FORMAT_CLOCK_MONOTONIC &&
         h->clock <= FORMAT_CLOCK_CNTVCT;
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
  meta->header_is_damaged = h->checksum && h->checksum != evr_header_checksum(h);
  if (meta->header_is_damaged)
    evr_note_damage(&meta->damage, "the header is damaged: names and times in it may be wrong");
  evr_text_clean(h->program, sizeof h->program);
  for (int i = 0; i < EVENTRING_RINGS; i++) evr_text_clean(h->rings[i], sizeof h->rings[i]);
  for (int i = 0; i < EVENTRING_MAX_CLASSES; i++)
    evr_text_clean(h->classes[i], sizeof h->classes[i]);
  return EVENTRING_OK;
}

/* ---- Status, control, domains ------------------------------------------------------ */

static bool status_is_valid(const struct evr_metadata *meta, const struct format_status *s) {
  if ((evr_metadata_has_streams(meta) && s->claimed % FORMAT_UNIT) ||
      (s->state != FORMAT_RECORDING && s->state != FORMAT_ENDED) ||
      s->slots > EVENTRING_MAX_DOMAINS || s->slots < meta->status.slots ||
      s->claimed > FORMAT_MAX_BLOCKS || s->claimed < meta->status.claimed)
    return false;
  for (int kind = 0; kind < FORMAT_KINDS; kind++)
    if (s->kind[kind].records < meta->status.kind[kind].records) return false;
  return true;
}

/* Checks that the blocks that are claimed lie within the file. If blocks are missing in a
   dead process's file, notes damage; the rest of the file is read. */
static int check_size(struct evr_metadata *meta, uint64_t claimed, struct eventring_error *error) {
  uint64_t bytes;
  if (evr_source_lent(&meta->source)) return EVENTRING_OK;
  int status = evr_source_bytes(&meta->source, &bytes, error);
  if (status != EVENTRING_OK) return status;
  if (bytes >= format_block_offset(claimed) || meta->source.is_short) return EVENTRING_OK;
  if (meta->source.packed || bytes < FORMAT_BLOCKS_OFFSET ||
      evr_metadata_liveness(meta) == EVENTRING_LIVE)
    return evr_fail(error, EVENTRING_E_TRUNCATED, 0,
                    "the file is shorter than its %llu blocks need",
                    (unsigned long long)claimed);
  evr_note_damage(&meta->damage, "the file was cut short: it has %llu of %llu blocks",
                  (unsigned long long)((bytes - FORMAT_BLOCKS_OFFSET) / FORMAT_BLOCK_BYTES),
                  (unsigned long long)claimed);
  meta->source.is_short = true;
  return EVENTRING_OK;
}

int evr_metadata_check_size(struct evr_metadata *meta, struct eventring_error *error) {
  return check_size(meta, meta->status.claimed, error);
}

static int read_status(struct evr_metadata *meta, struct eventring_error *error) {
  struct format_status now;
  int status = evr_source_refresh(&meta->source, error);
  if (status == EVENTRING_OK)
    status = evr_source_read(&meta->source, FORMAT_STATUS_OFFSET, &now, sizeof now, error);
  /* acquire fence: pairs with the producer's release stores into this page (each names
     this fence): what is counted here can be read */
  evr_fence_acquire();
  if (status == EVENTRING_OK && !status_is_valid(meta, &now))
    status = evr_fail(error, EVENTRING_E_CORRUPT, 0,
                      "the status page holds impossible values");
  if (status == EVENTRING_OK && now.claimed != meta->status.claimed)
    status = check_size(meta, now.claimed, error);
  if (status == EVENTRING_OK) meta->status = now;
  return status;
}

/* ---- Conversion of times ----------------------------------------------------------- */

int evr_metadata_add_segment(struct evr_metadata *meta, const struct format_segment *segment,
                             struct eventring_error *error) {
  struct evr_conversion *c = &meta->conversion;
  const struct format_segment *last = c->segments ? &c->segment[c->segments - 1] : NULL;
  if (!evr_segment_valid(segment, last))
    return evr_fail(error, EVENTRING_E_CORRUPT, 0, "clock segment %u is not valid",
                    c->segments);
  if (!EVR_MAKE_ROOM(meta->segments, meta->segment_room, c->segments, 8))
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for the clock");
  meta->segments[c->segments++] = *segment;
  c->segment = meta->segments;
  meta->segment_end = 0;
  return EVENTRING_OK;
}

void evr_metadata_use_segment(struct evr_metadata *meta, uint64_t ticks) {
  const struct evr_conversion *c = &meta->conversion;
  uint32_t i = evr_segment_at(c, ticks);
  meta->segment = c->segment[i];
  meta->segment_end = i + 1 < c->segments ? c->segment[i + 1].from_ticks : UINT64_MAX;
}

uint64_t evr_metadata_ticks(const struct evr_metadata *meta, uint64_t ns) {
  uint64_t low = meta->header.start_ticks, high = low + 1;
  while (high - low < (uint64_t)1 << 62 && evr_metadata_ns(meta, high) <= ns)
    high += high - low; /* (stops beyond `ns`: far larger ticks would overflow in ns) */
  while (high - low > 1) {
    uint64_t middle = low + (high - low) / 2;
    if (evr_metadata_ns(meta, middle) <= ns) low = middle;
    else high = middle;
  }
  return low;
}

/* ---- Rings ------------------------------------------------------------------------- */

static bool is_stream(const struct evr_metadata *meta, const struct format_ring *ring) {
  return evr_metadata_has_streams(meta) && ring->blocks == FORMAT_STREAM_RING && !ring->first;
}

/* Tells whether `blocks` more blocks can belong to runs. Runs do not overlap, so together
   they have at most as many blocks as are claimed. So the length of the file bounds what
   readers examine, whatever the tables claim. */
static bool has_blocks(const struct evr_metadata *meta, uint32_t blocks) {
  return meta->run_blocks + blocks <= meta->status.claimed;
}

static bool ring_is_valid(const struct evr_metadata *meta, const struct format_ring *ring) {
  return is_stream(meta, ring) ||
         (ring->blocks >= FORMAT_MIN_RING_BLOCKS && ring->blocks <= FORMAT_MAX_RING_BLOCKS &&
          !(ring->blocks & (ring->blocks - 1)) &&
          (uint64_t)ring->first + ring->blocks <= meta->status.claimed &&
          has_blocks(meta, ring->blocks));
}

static bool run_is_valid(const struct evr_metadata *meta, const struct evr_places *places,
                         uint32_t word) {
  uint32_t count = run_places(word);
  return word >> 31 && count > places->count && count <= FORMAT_MAX_RING_BLOCKS &&
         (uint64_t)run_first(word) + count - places->count <= meta->status.claimed &&
         has_blocks(meta, count - places->count);
}

/* Reads the runs of a ring until two readings agree, since the producer may be adding a
   run. */
static bool read_growth(const struct evr_metadata *meta, unsigned slot, unsigned ring,
                        struct format_growth *growth) {
  struct format_runs row[2];
  uint64_t offset = FORMAT_RUNS_OFFSET + slot * sizeof row[0];
  for (int attempt = 0; attempt < 8; attempt++) {
    struct format_runs *now = &row[attempt & 1];
    if (evr_source_read(&meta->source, offset, now, sizeof *now, NULL) != EVENTRING_OK)
      return false;
    /* acquire fence: pairs with the release of the run in producer/growth.c: if one
       reading has the run, the next reading has its `rounds` */
    evr_fence_acquire();
    *growth = now->ring[ring];
    if (attempt && !memcmp(&row[0].ring[ring], &row[1].ring[ring], sizeof *growth)) break;
  }
  return true;
}

static void add_run(struct evr_metadata *meta, struct evr_places *places, uint32_t word) {
  meta->run_blocks += run_places(word) - places->count;
  places->count = run_places(word);
  places->run[places->runs++] = (struct evr_run){run_first(word), places->count};
  meta->run_count++;
}

/* Returns the oldest block that may be present in a ring that has grown. The ring got its
   last run after the last block of a round; earlier rounds are gone (producer/growth.c).
   The head is loaded again, because the run may be newer than the known head. */
static uint64_t floor_of(struct evr_metadata *meta, unsigned slot, unsigned ring,
                         uint32_t rounds) {
  const struct evr_places *places = &meta->places[slot][ring];
  uint64_t before = places->run[places->runs - 2].end, head = 0;
  evr_source_read(&meta->source, evr_metadata_head_offset(slot, ring), &head, sizeof head, NULL);
  if (rounds && rounds * before <= head) return (rounds - 1) * before + 1;
  evr_note_damage(&meta->damage, "domain %u, ring %u: it has grown after %u rounds, which is "
                  "not possible", slot, ring, rounds);
  return 1;
}

/* Takes the runs that a ring has got since it was last read. */
static __attribute__((cold, noinline)) void take_runs(struct evr_metadata *meta, unsigned slot,
                                                      unsigned ring) {
  struct evr_places *places = &meta->places[slot][ring];
  struct format_growth growth;
  evr_testpoint(RUNS);
  if (!read_growth(meta, slot, ring, &growth)) return;
  while (places->runs <= FORMAT_MORE_RUNS) {
    uint32_t word = growth.run[places->runs - 1];
    if (!word) break;
    bool valid = run_is_valid(meta, places, word) ||
                 (read_status(meta, NULL) == EVENTRING_OK && run_is_valid(meta, places, word));
    if (!valid) {
      evr_note_damage(&meta->damage, "domain %u, ring %u: the place of its run %u is not valid",
                      slot, ring, places->runs);
      break;
    }
    add_run(meta, places, word);
  }
  if (places->runs > 1) places->floor = floor_of(meta, slot, ring, growth.rounds);
}

/* Takes the head of a ring. A head that no producer can have reached is damage, and so is
   a head that goes back; then the last valid head is kept. (With such a head, sequence
   numbers would wrap round to blocks already read.) */
static void take_head(struct evr_metadata *meta, unsigned slot, unsigned ring,
                      uint64_t head) {
  uint64_t *known = &meta->ring[slot][ring].head;
  if (__builtin_expect(head > FORMAT_MAX_SEQUENCE || head < *known, 0))
    evr_note_damage(&meta->damage, "domain %u, ring %u: block number %llu is out of range",
                    slot, ring, (unsigned long long)head);
  else
    *known = head;
  struct evr_places *places = &meta->places[slot][ring];
  if (places->count == EVR_STREAM_PLACES)
    meta->units_are_due |= *known >= evr_stretches_end(&meta->units.stream[slot][ring]);
  else if (__builtin_expect(*known > places->sure, 0)) {
    take_runs(meta, slot, ring);
    places->sure = (*known + places->count - 1) / places->count * places->count;
  }
}

/* Takes the entry of a ring in the domain table. Once a ring has a first block, it never
   moves. */
static void take_ring(struct evr_metadata *meta, unsigned slot, unsigned index,
                      const struct format_ring *ring) {
  struct format_ring *known = &meta->ring[slot][index];
  if (__builtin_expect(!known->blocks, 0)) {
    if (!ring->head) return;
    if (!ring_is_valid(meta, ring)) {
      evr_note_damage(&meta->damage, "domain %u, ring %u: its place is not valid", slot,
                      index);
      return;
    }
    known->first = ring->first;
    known->blocks = ring->blocks;
    meta->places[slot][index] = (struct evr_places){
        .count = is_stream(meta, ring) ? EVR_STREAM_PLACES : ring->blocks, .runs = 1,
        .run = {{ring->first, ring->blocks}}, .floor = 1};
    if (!is_stream(meta, ring)) meta->run_blocks += ring->blocks;
    meta->run_count++;
    meta->made[meta->made_count++] = (uint16_t)(slot * EVENTRING_RINGS + index);
  }
  take_head(meta, slot, index, ring->head);
}

uint64_t evr_metadata_head_offset(unsigned slot, unsigned ring) {
  return FORMAT_DOMAINS_OFFSET + slot * sizeof(struct format_domain) +
         offsetof(struct format_domain, ring) + ring * sizeof(struct format_ring);
}

/* Tells whether a ring was made of blocks that were claimed after the status page was
   read. */
static bool is_beyond(const struct evr_metadata *meta, unsigned count,
                      struct format_ring ring[][EVENTRING_RINGS]) {
  for (unsigned i = 0; i < count * EVENTRING_RINGS; i++) {
    const struct format_ring *r = &ring[0][0] + i;
    if (__builtin_expect(!(&meta->ring[0][0])[i].blocks, 0) && r->head && !is_stream(meta, r) &&
        (uint64_t)r->first + r->blocks > meta->status.claimed)
      return true;
  }
  return false;
}

static int read_rings(struct evr_metadata *meta, struct eventring_error *error) {
  struct format_ring ring[EVENTRING_MAX_DOMAINS][EVENTRING_RINGS];
  unsigned count = meta->status.slots;
  int status = evr_source_rings(&meta->source, count, ring, error);
  evr_fence_acquire(); /* R0: pairs with W5 (lane.c) */
  if (status == EVENTRING_OK && is_beyond(meta, count, ring))
    /* the blocks were claimed before the head was stored */
    status = read_status(meta, error);
  for (unsigned slot = 0; status == EVENTRING_OK && slot < count; slot++)
    for (unsigned i = 0; i < EVENTRING_RINGS; i++) take_ring(meta, slot, i, &ring[slot][i]);
  return status;
}

uint64_t evr_metadata_run_end(const struct evr_metadata *meta, uint64_t block) {
  for (unsigned n = 0; n < meta->made_count; n++) {
    const struct evr_places *places = &meta->places[0][0] + meta->made[n];
    uint32_t from = 0;
    /* streams have units, not runs */
    if (places->count == EVR_STREAM_PLACES) continue;
    for (unsigned i = 0; i < places->runs; from = places->run[i++].end) {
      uint64_t first = places->run[i].first, end = first + places->run[i].end - from;
      if (block >= first && block < end) return end;
    }
  }
  return 0;
}

/* Copies one entry. Makes only a few attempts: if a producer died while it changed the
   entry, the entry stays inconsistent. */
int evr_metadata_domain(const struct evr_metadata *meta, unsigned slot,
                        struct format_domain *d, struct eventring_error *error) {
  uint64_t offset = FORMAT_DOMAINS_OFFSET + slot * sizeof *d;
  for (int attempt = 0; attempt < 8; attempt++) {
    uint64_t before, after;
    int status = evr_source_read(&meta->source, offset, &before, sizeof before, error);
    /* acquire fence: pairs with the release of the version in write_entry_locked
       (producer/domains.c), which comes after the stores of the fields */
    evr_fence_acquire();
    if (status == EVENTRING_OK)
      status = evr_source_read(&meta->source, offset, d, sizeof *d, error);
    /* acquire fence: pairs with the release fence in write_entry_locked: if a newer field
       was read, the version has changed */
    evr_fence_acquire();
    if (status == EVENTRING_OK)
      status = evr_source_read(&meta->source, offset, &after, sizeof after, error);
    if (status != EVENTRING_OK) return status;
    if (!(before & 1) && (uint32_t)before == (uint32_t)after) break;
  }
  evr_text_clean(d->name, sizeof d->name);
  return EVENTRING_OK;
}

int evr_metadata_check_front(struct evr_metadata *meta, struct eventring_error *error) {
  uint64_t tables[FORMAT_TABLES_BYTES / 8];
  struct format_status s;
  int status = evr_source_read(&meta->source, FORMAT_STATUS_OFFSET, &s, sizeof s, error);
  if (status == EVENTRING_OK)
    status = evr_source_read(&meta->source, FORMAT_DOMAINS_OFFSET, tables, sizeof tables, error);
  if (status == EVENTRING_OK && s.checksum && s.checksum != evr_front_checksum(&s, tables))
    evr_note_damage(&meta->damage, "the status page or a table is damaged: how far the "
                    "recording goes, and its domains, may be wrong");
  return status;
}

/* ---- Control page ------------------------------------------------------------------ */

static bool is_written(const struct format_control *control, uint32_t n) {
  return control->log[n % FORMAT_LOG_ENTRIES].number == (uint64_t)n + 1;
}

/* Counts the log entries up to the first that is still being written; the next call
   begins with that entry. Skips entries that 64 later entries have replaced. If
   `switches` has gone back, begins again with the oldest entry. */
static uint32_t count_written(const struct format_control *c, uint32_t from) {
  uint32_t oldest = c->switches > FORMAT_LOG_ENTRIES ? c->switches - FORMAT_LOG_ENTRIES : 0;
  if (c->switches - from > FORMAT_LOG_ENTRIES) from = oldest;
  while (from != c->switches && is_written(c, from)) from++;
  return from;
}

static uint32_t first_open(const struct format_control *c, uint32_t from, uint32_t end) {
  if (end - from > FORMAT_LOG_ENTRIES) from = end - FORMAT_LOG_ENTRIES;
  while (from != end && c->log[from % FORMAT_LOG_ENTRIES].until != UINT64_MAX) from++;
  return from;
}

/* Reads the log of the control page. The order of loads within one copy is unknown, so
   there are three copies, in the order of the loads of evr_control_entry: first the
   number, and `until` if it is known; then the other members; then the number again. An
   entry that changed between the copies gets the number 0, like an entry that is being
   written. */
static int read_log(struct evr_metadata *meta, struct eventring_error *error) {
  struct format_switch *log = meta->control.log;
  struct format_switch before[FORMAT_LOG_ENTRIES], after[FORMAT_LOG_ENTRIES];
  const size_t at = FORMAT_CONTROL_OFFSET + offsetof(struct format_control, log);
  int status = evr_source_read(&meta->source, at, before, sizeof before, error);
  if (status != EVENTRING_OK) return status;
  /* acquire fence: pairs with the releases in log_switch and complete_switch
     (format/control.c) */
  evr_fence_acquire();
  status = evr_source_read(&meta->source, at, log, sizeof before, error);
  if (status != EVENTRING_OK) return status;
  /* acquire fence: pairs with the release fence in log_switch */
  evr_fence_acquire();
  status = evr_source_read(&meta->source, at, after, sizeof after, error);
  if (status != EVENTRING_OK) return status;
  for (int i = 0; i < FORMAT_LOG_ENTRIES; i++) {
    log[i].number = before[i].number == after[i].number ? before[i].number : 0;
    log[i].until = before[i].until;
  }
  return EVENTRING_OK;
}

/* Reads the control page, and its log only when an entry was added or is incomplete. */
static int read_control(struct evr_metadata *meta, struct eventring_error *error) {
  struct format_control *c = &meta->control;
  size_t front = offsetof(struct format_control, log);
  int status = evr_source_read(&meta->source, FORMAT_CONTROL_OFFSET, c, front, error);
  if (status != EVENTRING_OK ||
      (c->switches == meta->log.written && meta->switches_open == meta->log.written))
    return status;
  /* acquire fence: pairs with the exchange of the gate in evr_control_settle
     (format/control.c): the log has the entry that precedes the gate that was read */
  evr_fence_acquire();
  status = read_log(meta, error);
  if (status != EVENTRING_OK) return status;
  meta->log = (struct evr_log){c->log, c->switches, count_written(c, meta->log.written)};
  meta->switches_open = first_open(c, meta->switches_open, meta->log.written);
  return EVENTRING_OK;
}

/* ---- All of it --------------------------------------------------------------------- */

bool evr_metadata_stands(const struct evr_metadata *meta) {
  const struct format_status *known = &meta->status;
  const struct format_status *now = (const struct format_status *)evr_source_words(
      &meta->source, FORMAT_STATUS_OFFSET, sizeof *now);
  if (!now || !evr_source_mapped(&meta->source)) return false;
  uint64_t changed = known->kind[FORMAT_EVENTS].records ^ meta->made_count;
  changed |= __atomic_load_n(&now->state, __ATOMIC_RELAXED) ^ known->state;
  changed |= __atomic_load_n(&now->slots, __ATOMIC_RELAXED) ^ known->slots;
  changed |= __atomic_load_n(&now->claimed, __ATOMIC_RELAXED) ^ known->claimed;
  for (int kind = 0; kind < FORMAT_KINDS; kind++)
    changed |= __atomic_load_n(&now->kind[kind].records, __ATOMIC_RELAXED) ^
               known->kind[kind].records;
  return !changed;
}

static uint64_t records_told_of(const struct evr_metadata *meta) {
  uint64_t records = 0;
  for (int kind = FORMAT_EVENTS + 1; kind < FORMAT_KINDS; kind++)
    records += meta->status.kind[kind].records;
  return records;
}

/* Finds new units, if a stream has blocks, or a kind has records, beyond the known
   units. */
static int look_for_units(struct evr_metadata *meta, struct eventring_error *error) {
  uint64_t records = records_told_of(meta);
  bool is_last = meta->over && !meta->units_are_final;
  /* (nothing is added any more; a damaged head would otherwise cause a search at each
     refresh) */
  if (meta->over && !is_last) return EVENTRING_OK;
  if (!meta->units_are_due && !is_last && records == meta->units.looked_records)
    return EVENTRING_OK;
  int status = evr_units_look(&meta->units, &meta->source, meta->status.claimed, meta->over,
                              error);
  if (status != EVENTRING_OK) return status; /* the search remains due */
  meta->units_are_due = false;
  meta->units_are_final = meta->over;
  meta->units.looked_records = records;
  if (meta->units.twice)
    evr_note_damage(&meta->damage, "%llu blocks of streams are there twice",
                    (unsigned long long)meta->units.twice);
  meta->units.twice = 0;
  return EVENTRING_OK;
}

int evr_metadata_refresh(struct evr_metadata *meta, struct eventring_error *error) {
  int status = read_status(meta, error);
  if (meta->is_live_copy) return status; /* the front does not say where its rings are */
  if (status == EVENTRING_OK) status = read_rings(meta, error);
  if (status == EVENTRING_OK && evr_metadata_has_streams(meta))
    status = look_for_units(meta, error);
  meta->heads_are_final = status == EVENTRING_OK && meta->over;
  return status;
}

int evr_metadata_catch_up(struct evr_metadata *meta, struct eventring_error *error) {
  int status = read_status(meta, error);
  return status == EVENTRING_OK ? read_control(meta, error) : status;
}

enum { MOST_GROWN = 1 << 22 }; /* most blocks that a mapping has room for */

/* Returns the size in bytes of the largest file that a producer makes with rings of this
   size. */
static uint64_t most_bytes(const struct format_header *h) {
  uint64_t blocks = 0;
#define ADD_BUDGET(name, kind, budget, full) blocks += (budget) + 16;
  FORMAT_RECORD_KINDS(ADD_BUDGET)
#undef ADD_BUDGET
  uint64_t rings = EVENTRING_MAX_DOMAINS * EVENTRING_RINGS;
  uint64_t grow = h->grow_blocks < MOST_GROWN ? h->grow_blocks : MOST_GROWN;
  return format_block_offset(blocks + grow + rings * (format_ring_blocks(h->wsize) + 16));
}

int evr_metadata_open(struct evr_metadata *meta, bool map, struct eventring_error *error) {
  int status = evr_source_open(&meta->source, error);
  if (status == EVENTRING_OK) status = read_header(meta, error);
  /* the mapped part of a long file would count as memory of this process */
  if (evr_metadata_has_streams(meta) || meta->source.packed) map = false;
  if (status == EVENTRING_OK && !evr_source_lent(&meta->source) && map)
    evr_window_open(&meta->source.window, meta->source.fd, most_bytes(&meta->header));
  if (status == EVENTRING_OK) status = evr_metadata_refresh(meta, error);
  if (status == EVENTRING_OK) status = evr_metadata_catch_up(meta, error);
  return status == EVENTRING_OK ? evr_live_copy_take(meta, error) : status;
}

void evr_metadata_close(struct evr_metadata *meta) {
  evr_units_free(&meta->units);
  evr_source_close(&meta->source);
  free(meta->segments);
}

/* Returns the location of a block of a stream. A block beyond the end of a stretch lies
   in the stretch's last place, which is used by all blocks that found no room. For a
   block before the first stretch, returns a place that holds no block of the stream. */
static struct evr_location place_in_stream(const struct evr_stretches *stretches,
                                           uint64_t sequence) {
  const struct evr_stretch *s = evr_stretches_find(stretches, sequence);
  /* offset 0 has the magic, which is no sequence */
  if (!s) return (struct evr_location){.offset = 0, .row = 1};
  uint64_t at = sequence - s->sequence;
  if (at >= s->blocks) at = s->blocks - 1;
  /* where stretches overlap, the later one counts: the earlier stretch may have a copy of
     the later one's first block, made when that block was the newest */
  uint64_t end = s->sequence + s->blocks;
  if (s + 1 < stretches->list + stretches->count && s[1].sequence < end) end = s[1].sequence;
  return (struct evr_location){.offset = format_block_offset(s->first + at),
                               .row = (uint32_t)(end - s->sequence - at)};
}

uint64_t evr_metadata_after(const struct evr_metadata *meta, unsigned slot, unsigned ring,
                            uint64_t sequence) {
  const struct evr_stretches *stretches = &meta->units.stream[slot][ring];
  uint64_t offset = place_in_stream(stretches, sequence).offset, there = 0;
  evr_source_read(&meta->source, offset, &there, sizeof there, NULL);
  uint64_t after = evr_stretches_after(stretches, sequence);
  uint64_t head = meta->ring[slot][ring].head;
  bool is_newer = there > sequence && there <= head && evr_stretches_find(stretches, sequence);
  /* the place was used again for another block before the next stretch */
  if (is_newer && (there > after || evr_stretches_find(stretches, there) ==
                                        evr_stretches_find(stretches, sequence)))
    return there;
  /* beyond all units a block can only be in the last place, which holds the newest
     block */
  bool is_behind_all = after >= evr_stretches_end(stretches);
  return is_behind_all && !is_newer && head > after ? head : after;
}

/* Returns the greatest sequence below `sequence` whose block may be present. Beyond the
   end of a stretch, only the block in the stretch's last place can be present. */
static uint64_t before_in_stream(const struct evr_metadata *meta,
                                 const struct evr_stretches *stretches, uint64_t sequence) {
  const struct evr_stretch *s = evr_stretches_find(stretches, sequence - 1);
  if (!s) return 0;
  uint64_t last = s->sequence + s->blocks - 1, there = 0;
  if (sequence - 1 <= last) return sequence - 1;
  evr_source_read(&meta->source, format_block_offset(s->first + s->blocks - 1), &there,
                  sizeof there, NULL);
  return there > last && there < sequence ? there : last;
}

uint64_t evr_metadata_before(const struct evr_metadata *meta, unsigned slot, unsigned ring,
                             uint64_t sequence) {
  if (!evr_metadata_is_stream(meta, slot, ring)) return sequence - 1;
  return before_in_stream(meta, &meta->units.stream[slot][ring], sequence);
}

struct evr_location evr_metadata_place(const struct evr_metadata *meta, unsigned slot,
                                       unsigned ring, uint64_t sequence) {
  const struct evr_places *places = &meta->places[slot][ring];
  if (places->count == EVR_STREAM_PLACES)
    return place_in_stream(&meta->units.stream[slot][ring], sequence);
  uint32_t place = (uint32_t)((sequence - 1) & (places->count - 1)), from = 0;
  const struct evr_run *run = places->run;
  for (; place >= run->end; run++) from = run->end;
  return (struct evr_location){
      .offset = format_block_offset((uint64_t)run->first + place - from),
      .row = run->end - place};
}

/* Reads the head of a ring. If a stream has blocks that lie in no unit that can be found,
   returns the former head, since nobody could read those blocks; the next refresh
   fails. */
uint64_t evr_metadata_head(struct evr_metadata *meta, unsigned slot, unsigned ring) {
  uint64_t head, known = meta->ring[slot][ring].head;
  if (!evr_metadata_blocks(meta, slot, ring)) return 0;
  if (meta->is_live_copy) return known;
  if (meta->over && meta->heads_are_final && !meta->units_are_due)
    return known; /* saves a system call for each block */
  if (evr_source_read(&meta->source, evr_metadata_head_offset(slot, ring), &head, sizeof head,
                      NULL) == EVENTRING_OK)
    take_head(meta, slot, ring, head);
  evr_fence_acquire(); /* R0: pairs with W5 (lane.c) */
  if (meta->units_are_due && (read_status(meta, NULL) != EVENTRING_OK ||
                              look_for_units(meta, NULL) != EVENTRING_OK))
    meta->ring[slot][ring].head = known;
  return meta->ring[slot][ring].head;
}

/* Tells whether the process that the header names lives, where the file system shows no
   locks: by its pid and start time. The header has no start time if the producer could
   lock the file. Then the pid alone decides: it may belong to another process by now, but
   a live file that is mistaken for a dead one would not be read again. */
static bool process_lives(const struct format_header *h) {
  uint64_t start = h->pid > 0 ? evr_process_start(h->pid) : 0;
  return start && (!h->process_start || start == h->process_start);
}

/* Tells whether somebody who may write into the file has it open. */
static bool has_writer(const struct evr_metadata *meta) {
  int locked = evr_file_locked(meta->source.fd);
  return locked < 0 ? process_lives(&meta->header) : locked;
}

enum eventring_liveness evr_metadata_liveness(const struct evr_metadata *meta) {
  const struct format_header *h = &meta->header;
  uint32_t state[2];
  if (h->flags & FORMAT_WENT_ON) return EVENTRING_SAVED;
  int status = evr_source_refresh(&meta->source, NULL);
  if (status == EVENTRING_OK)
    status = evr_source_read(&meta->source, FORMAT_STATUS_OFFSET, state, sizeof state, NULL);
  if (status == EVENTRING_E_TRUNCATED) return EVENTRING_DEAD;
  /* acquire fence: pairs with the release of the state in evr_recording_end_locked: a
     reader that sees that the recording has ended sees everything that was written before
     the end */
  evr_fence_acquire();
  if (status == EVENTRING_OK && state[0] == FORMAT_ENDED) return EVENTRING_ENDED;
  if (evr_source_lent(&meta->source)) return EVENTRING_LIVE;
  return has_writer(meta) ? EVENTRING_LIVE : EVENTRING_DEAD;
}

bool evr_metadata_is_settled(const struct evr_metadata *meta) {
  struct format_status s;
  enum eventring_liveness liveness = evr_metadata_liveness(meta);
  if (liveness != EVENTRING_ENDED) return liveness != EVENTRING_LIVE;
  if (evr_source_read(&meta->source, FORMAT_STATUS_OFFSET, &s, sizeof s, NULL) != EVENTRING_OK ||
      s.checksum)
    return true;
  return !evr_source_lent(&meta->source) && !has_writer(meta);
}
