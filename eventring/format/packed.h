/* SPDX-License-Identifier: MIT */
/* packed.h: the layout of a packed recording (doc/FORMAT.md, section 16).
 *
 * A packed recording stands for a file of the layout of format.h, its plain file. It is a
 * log: a header, then packets. Each packet has the compressed bytes of some extents of
 * the plain file. Where extents of two packets overlap, the packet with the greater
 * sequence counts. */
#ifndef EVENTRING_PACKED_H
#define EVENTRING_PACKED_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eventring/saver.h"

#pragma GCC visibility push(hidden)

#define PACKED_MAGIC "\x89" "EVRPAK\n"
#define PACKET_MAGIC "\x89" "EVRPKT\n"

enum {
  PACKED_VERSION = 1,
  PACKED_ZSTD = 1, /* the compression: each packet has one frame of zstd */
  PACKET_ALIGNMENT = EVENTRING_PACKET_ALIGNMENT,
  PACKET_MOST_EXTENTS = EVENTRING_PACKET_MOST_PIECES,
  PACKET_MOST_BYTES = EVENTRING_PACKET_MOST_BYTES,
  /* incompressible bytes take slightly more than their number */
  PACKET_MOST_FRAME = PACKET_MOST_BYTES + 65536
};

struct packed_header {
  uint8_t magic[8];
  uint32_t version;
  uint32_t byte_order;
  uint32_t compression;
  uint32_t checksum; /* checksum of the header, with this field taken as 0 */
  uint64_t reserved[5];
};
static_assert(sizeof(struct packed_header) == EVENTRING_PACKED_HEADER_BYTES, "");

struct packet_header {
  uint8_t magic[8];
  uint64_t sequence;    /* from 1, in the order in which packets were handed out */
  uint64_t plain_bytes; /* length of the plain file when the packet was handed out */
  uint32_t extents;
  uint32_t bytes;       /* bytes of all extents together */
  uint32_t frame_bytes; /* bytes of the frame, which follows the extents */
  uint32_t checksum;    /* checksum of header and extents, with this field taken as 0 */
  uint32_t flags;
  uint32_t reserved[5];
};
static_assert(sizeof(struct packet_header) == 64, "");

/* Flag of the last packet: all earlier ones were written or have failed. */
enum { PACKET_IS_LAST = 1 };

/* a range of the plain file, in whole blocks of EVENTRING_BLOCK_BYTES */
struct packet_extent {
  uint64_t offset;     /* offset in the plain file */
  uint32_t bytes;
  uint32_t reserved;
};
static_assert(sizeof(struct packet_extent) == 16, "");

uint32_t evr_packed_header_checksum(const struct packed_header *header);
uint32_t evr_packet_checksum(const struct packet_header *header,
                             const struct packet_extent *extents);
/* Tells whether the sizes in the header of a packet are possible. */
bool evr_packet_header_valid(const struct packet_header *header);
/* Tells whether a packet with a valid header is valid, apart from its frame. */
bool evr_packet_valid(const struct packet_header *header, const struct packet_extent *extents);
/* Returns where the frame begins. The next function returns the number of bytes of the
   whole packet. */
static inline size_t packet_frame_at(const struct packet_header *header) {
  return sizeof *header + header->extents * sizeof(struct packet_extent);
}
static inline uint64_t packet_length(const struct packet_header *header) {
  uint64_t bytes = packet_frame_at(header) + (uint64_t)header->frame_bytes;
  return (bytes + PACKET_ALIGNMENT - 1) / PACKET_ALIGNMENT * PACKET_ALIGNMENT;
}

#pragma GCC visibility pop

#endif /* EVENTRING_PACKED_H */
