/* SPDX-License-Identifier: MIT */
/* packed.c: headers of a packed recording, made and checked. */
#include "format/packed.h"

#include <string.h>

#include "format/checksum.h"
#include "format/format.h"

/* ---- Checking ---------------------------------------------------------------------- */

static void add(struct evr_sums *sums, const void *bytes, size_t size) {
  uint64_t words[PACKET_MOST_EXTENTS * sizeof(struct packet_extent) / 8];
  memcpy(words, bytes, size);
  evr_sums_add(sums, words, (uint32_t)(size / sizeof *words));
}

uint32_t evr_packed_header_checksum(const struct packed_header *header) {
  struct packed_header h = *header;
  struct evr_sums sums = {0};
  h.checksum = 0;
  add(&sums, &h, sizeof h);
  return evr_sums_checksum(&sums);
}

uint32_t evr_packet_checksum(const struct packet_header *header,
                             const struct packet_extent *extents) {
  struct packet_header h = *header;
  struct evr_sums sums = {0};
  h.checksum = 0;
  add(&sums, &h, sizeof h);
  add(&sums, extents, h.extents * sizeof *extents);
  return evr_sums_checksum(&sums);
}

bool evr_packet_header_valid(const struct packet_header *h) {
  return memcmp(h->magic, PACKET_MAGIC, sizeof h->magic) == 0 && h->sequence &&
         h->plain_bytes <= format_block_offset(FORMAT_MAX_BLOCKS) && h->extents &&
         h->extents <= PACKET_MOST_EXTENTS && h->bytes && h->bytes <= PACKET_MOST_BYTES &&
         h->frame_bytes && h->frame_bytes <= PACKET_MOST_FRAME;
}

static bool extent_is_valid(const struct packet_extent *e, uint64_t plain_bytes) {
  return e->bytes && e->bytes % FORMAT_BLOCK_BYTES == 0 && e->offset % FORMAT_BLOCK_BYTES == 0 &&
         e->bytes <= plain_bytes && e->offset <= plain_bytes - e->bytes;
}

bool evr_packet_valid(const struct packet_header *h, const struct packet_extent *extents) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < h->extents; i++) {
    if (!extent_is_valid(&extents[i], h->plain_bytes)) return false;
    bytes += extents[i].bytes;
  }
  return bytes == h->bytes && evr_packet_checksum(h, extents) == h->checksum;
}

/* ---- Making ------------------------------------------------------------------------ */

void eventring_packed_header(void *to) {
  struct packed_header h = {.version = PACKED_VERSION, .byte_order = FORMAT_BYTE_ORDER,
                            .compression = PACKED_ZSTD};
  memcpy(h.magic, PACKED_MAGIC, sizeof h.magic);
  h.checksum = evr_packed_header_checksum(&h);
  memcpy(to, &h, sizeof h);
}

size_t eventring_packet_header(void *to, uint64_t sequence, uint64_t plain_bytes,
                               const struct eventring_piece *pieces, size_t count,
                               size_t frame_bytes, bool is_last) {
  struct packet_header h = {.sequence = sequence, .plain_bytes = plain_bytes,
                            .extents = (uint32_t)count, .frame_bytes = (uint32_t)frame_bytes,
                            .flags = is_last ? PACKET_IS_LAST : 0};
  struct packet_extent extents[PACKET_MOST_EXTENTS];
  if (!to || !pieces || !count || count > PACKET_MOST_EXTENTS || frame_bytes > PACKET_MOST_FRAME)
    return 0;
  memcpy(h.magic, PACKET_MAGIC, sizeof h.magic);
  for (size_t i = 0; i < count; i++) {
    if (pieces[i].size > (size_t)PACKET_MOST_BYTES - h.bytes) return 0;
    extents[i] = (struct packet_extent){pieces[i].offset, (uint32_t)pieces[i].size, 0};
    h.bytes += (uint32_t)pieces[i].size;
  }
  h.checksum = evr_packet_checksum(&h, extents);
  if (!evr_packet_header_valid(&h) || !evr_packet_valid(&h, extents)) return 0;
  memcpy(to, &h, sizeof h);
  memcpy((uint8_t *)to + sizeof h, extents, count * sizeof *extents);
  return packet_frame_at(&h);
}
