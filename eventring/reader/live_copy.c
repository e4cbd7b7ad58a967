/* SPDX-License-Identifier: MIT */
/* live_copy.c: reads the whole blocks of a file that was copied while its process wrote
 * into it, by cp for example.
 *
 * Such a copy has a front that is older than its blocks: rings have advanced, and grown,
 * since. So the heads and runs of the front do not say where blocks are. The headers of
 * the blocks say where they are: each has the number and the ring of its block, and a
 * checksum that tells whether the block is whole. All blocks of the file are examined
 * once, and the whole ones make stretches (units.h), as in a file that a tool has copied
 * from the rings of a live process (bits 0 and 2 of the header's flags): blocks may be
 * missing anywhere, and `before` of the next block says how many events they had.
 *
 * A file is taken for such a copy when a ring has a whole block with events beyond its
 * head, because a killed producer leaves no such block. (A head that damage made smaller
 * looks the same, and is reported in the same way.) */
#include "reader/live_copy.h"

#include <stdlib.h>

#include "reader/block.h"

struct newest { /* the block of a ring that was being filled when the file was copied */
  uint64_t sequence; /* 0 if there is none */
  uint32_t block;
};

enum { MOST_PLACES = 1 << 18 /* places of all rings that are examined: 1 GiB */ };

/* ---- Recognizing such a copy ------------------------------------------------------- */

static bool copy_block(const struct evr_metadata *meta, uint64_t offset,
                       const struct format_block *h, bool complete, struct evr_block *block) {
  return evr_block_copy(&meta->source, offset, h->sequence, h->domain, h->ring,
                        meta->header.start_ticks, complete, true, block, NULL) == EVR_READ_OK;
}

/* Tells whether the file has a whole block of this ring at `offset`, with events, beyond
   its head. */
static bool is_ahead(const struct evr_metadata *meta, unsigned slot, unsigned ring,
                     uint64_t offset) {
  struct format_block h;
  struct evr_block block;
  return evr_source_read(&meta->source, offset, &h, sizeof h, NULL) == EVENTRING_OK &&
         h.kind == FORMAT_EVENTS && h.domain == slot && h.ring == ring &&
         h.sequence > meta->ring[slot][ring].head && h.sequence <= FORMAT_MAX_SEQUENCE &&
         copy_block(meta, offset, &h, false, &block) && block.have > evr_block_first(&block);
}

static bool ring_is_ahead(const struct evr_metadata *meta, unsigned slot, unsigned ring) {
  uint64_t next = meta->ring[slot][ring].head + 1;
  if (evr_metadata_is_stream(meta, slot, ring))
    return is_ahead(meta, slot, ring, evr_metadata_place(meta, slot, ring, next).offset);
  for (uint32_t place = 1; place <= evr_metadata_blocks(meta, slot, ring); place++)
    if (is_ahead(meta, slot, ring, evr_metadata_place(meta, slot, ring, place).offset))
      return true;
  return false;
}

static uint32_t places_of(const struct evr_metadata *meta, unsigned index) {
  unsigned slot = index / EVENTRING_RINGS, ring = index % EVENTRING_RINGS;
  return evr_metadata_is_stream(meta, slot, ring) ? 1 : evr_metadata_blocks(meta, slot, ring);
}

static bool is_live_copy(const struct evr_metadata *meta) {
  const uint64_t made_by_tools = FORMAT_INCOMPLETE | FORMAT_COPY;
  if (evr_source_lent(&meta->source) || meta->source.packed ||
      meta->header.flags & made_by_tools || meta->status.state != FORMAT_RECORDING ||
      !evr_metadata_is_settled(meta))
    return false;
  uint64_t places = 0;
  for (unsigned n = 0; n < meta->made_count; n++) places += places_of(meta, meta->made[n]);
  if (places > MOST_PLACES) return false;
  for (unsigned n = 0; n < meta->made_count; n++)
    if (ring_is_ahead(meta, meta->made[n] / EVENTRING_RINGS, meta->made[n] % EVENTRING_RINGS))
      return true;
  return false;
}

/* ---- Its blocks -------------------------------------------------------------------- */

/* Takes a block of events: adds it to a stretch if it is whole, or notes it if it is the
   newest of its ring. */
static int take_events(struct evr_metadata *meta, uint32_t at, const struct format_block *h,
                       struct newest *newest, struct eventring_error *error) {
  struct evr_block block;
  if (h->domain >= meta->status.slots || h->ring >= EVENTRING_RINGS ||
      h->sequence > FORMAT_MAX_SEQUENCE)
    return EVENTRING_OK;
  struct newest *of_ring = &newest[h->domain * EVENTRING_RINGS + h->ring];
  uint64_t offset = format_block_offset(at);
  if (copy_block(meta, offset, h, true, &block))
    return evr_units_add(&meta->units, h->domain, h->ring, h->sequence, at, error);
  if (h->sequence > of_ring->sequence && copy_block(meta, offset, h, false, &block))
    *of_ring = (struct newest){h->sequence, at};
  return EVENTRING_OK;
}

static int take_block(struct evr_metadata *meta, uint32_t at, struct newest *newest,
                      uint32_t *records, struct eventring_error *error) {
  struct format_block h;
  int status = evr_source_read(&meta->source, format_block_offset(at), &h, sizeof h, error);
  if (status != EVENTRING_OK || !h.sequence) return status;
  if (h.kind == FORMAT_EVENTS) return take_events(meta, at, &h, newest, error);
  uint32_t unit = at - at % FORMAT_UNIT;
  if (*records == unit) return EVENTRING_OK;
  *records = unit;
  return evr_units_add_records(&meta->units, unit, error);
}

/* Returns the first block from `at` on where the file has data. */
static uint64_t next_data(const struct evr_metadata *meta, uint64_t at) {
  uint64_t data = evr_source_data_from(&meta->source, format_block_offset((uint32_t)at));
  return (data - FORMAT_BLOCKS_OFFSET) / FORMAT_BLOCK_BYTES;
}

static int take_blocks(struct evr_metadata *meta, struct newest *newest,
                       struct eventring_error *error) {
  uint64_t bytes = 0, end;
  uint32_t records = UINT32_MAX;
  int status = evr_source_bytes(&meta->source, &bytes, error);
  end = bytes > FORMAT_BLOCKS_OFFSET ? (bytes - FORMAT_BLOCKS_OFFSET) / FORMAT_BLOCK_BYTES : 0;
  if (end > FORMAT_MAX_BLOCKS) end = FORMAT_MAX_BLOCKS;
  for (uint64_t at = 0; status == EVENTRING_OK && at < end; at++) {
    if (at % FORMAT_UNIT == 0) at = next_data(meta, at);
    if (at < end) status = take_block(meta, (uint32_t)at, newest, &records, error);
  }
  return status;
}

/* ---- Its rings --------------------------------------------------------------------- */

static int take_newest(struct evr_metadata *meta, const struct newest *newest,
                       struct eventring_error *error) {
  int status = EVENTRING_OK;
  for (unsigned i = 0; status == EVENTRING_OK && i < EVENTRING_MAX_DOMAINS * EVENTRING_RINGS; i++) {
    const struct evr_stretches *s = &(&meta->units.stream[0][0])[i];
    if (newest[i].sequence && newest[i].sequence >= evr_stretches_end(s))
      status = evr_units_add(&meta->units, i / EVENTRING_RINGS, i % EVENTRING_RINGS,
                             newest[i].sequence, newest[i].block, error);
  }
  evr_units_sort(&meta->units); /* duplicate blocks do no harm */
  return status;
}

static void set_ring(struct evr_metadata *meta, unsigned index) {
  struct format_ring *ring = &(&meta->ring[0][0])[index];
  const struct evr_stretches *s = &(&meta->units.stream[0][0])[index];
  uint64_t end = evr_stretches_end(s);
  if (!ring->blocks && !end) return;
  if (!ring->blocks) meta->made[meta->made_count++] = (uint16_t)index;
  *ring = (struct format_ring){.head = end ? end - 1 : 0, .blocks = FORMAT_STREAM_RING};
  (&meta->places[0][0])[index] =
      (struct evr_places){.count = EVR_STREAM_PLACES, .runs = 1, .floor = 1};
}

int evr_live_copy_take(struct evr_metadata *meta, struct eventring_error *error) {
  if (!is_live_copy(meta)) return EVENTRING_OK;
  struct newest *newest = calloc(EVENTRING_MAX_DOMAINS * EVENTRING_RINGS, sizeof *newest);
  if (!newest) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for a cursor");
  evr_units_clear(&meta->units);
  int status = take_blocks(meta, newest, error);
  if (status == EVENTRING_OK) status = take_newest(meta, newest, error);
  free(newest);
  if (status != EVENTRING_OK) return status;
  for (unsigned i = 0; i < EVENTRING_MAX_DOMAINS * EVENTRING_RINGS; i++) set_ring(meta, i);
  meta->header.layout = FORMAT_STREAM;
  meta->header.flags |= FORMAT_INCOMPLETE | FORMAT_WENT_ON;
  meta->is_live_copy = meta->over = meta->heads_are_final = true;
  evr_note_damage(&meta->damage, "it was copied while it was written: blocks that changed "
                  "meanwhile are not there");
  return EVENTRING_OK;
}
