/* SPDX-License-Identifier: MIT */
/* packed_file.c: the plain file that a packed one stands for.
 *
 * Opening goes from packet to packet, by their headers, and notes in a map which packet
 * has which bytes (packed_map.c). A frame is unpacked when some of its bytes are read;
 * the last few unpacked ones are kept.
 *
 * Where no valid packet begins, a packet is missing: its bytes were reserved, but it is
 * not written yet, will never be written, or is damaged. The next valid packet is found
 * by its magic, at multiples of the alignment; the bytes before it are a gap. Each
 * refresh searches the gaps again, and the bytes after the last packet, because writes
 * finish in any order.
 *
 * A frame that cannot be unpacked while its file is being written may be one whose write
 * is under way. It is treated as missing until the next refresh, a few times. After that,
 * and at once in a file into which nobody writes, the packet no longer counts, and the
 * older bytes that it has replaced count again. To find these bytes, all headers are read
 * once more. With too many such packets this would take too long; then the bytes of such
 * a packet are zeros. This is reported as damage, unless the write of the packet may have
 * been under way when the writer was killed: then the packet is among the newest ones,
 * and no packet is marked as the last. A gap that does not begin with zeros is damage,
 * too.
 *
 * Memory is bounded: a packet has at most 4 MiB, the cache at most CACHED packets, the
 * map at most the extents of the file. Only one thread at a time may use an evr_packed,
 * as with a cursor. */
#include "reader/packed_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/format.h"
#include "format/packed.h"
#include "format/process.h"
#include "reader/packed_map.h"
#include "reader/unpack.h"

enum {
  /* a recorder makes two packets of a buffer of events, and rings are at different
     offsets */
  CACHED = 16,
  /* most packets that are remembered because their frame could not be unpacked */
  MOST_DOUBTS = 64,
  MOST_TRIES = 3,   /* tries at such a packet while its file is being written */
  IN_FLIGHT = 128,  /* packets that a writer has under way, at most */
  WINDOW = 65536    /* bytes that a search reads at once */
};

struct cached { /* a packet that has been unpacked */
  uint64_t packet;
  uint8_t *bytes; /* NULL if the slot is free */
  uint32_t count;
  bool is_bad;    /* it could not be unpacked */
  uint64_t used;  /* when it was used last, counted in reads */
};

struct doubt { /* a packet that could not be unpacked */
  uint64_t packet;
  unsigned tries;
  bool is_waiting; /* it is tried again at the next refresh */
};

struct gap { /* bytes of the file in which no packet was found */
  uint64_t from, to;
};

struct gaps {
  struct gap *list;
  size_t count, room;
};

struct evr_packed {
  int fd;
  void *unpacker;
  uint64_t plain_bytes;
  uint64_t next; /* where the next packet may begin */
  uint64_t newest; /* greatest sequence of a packet found */
  bool is_final;   /* nobody wrote any more when the file was scanned */
  bool is_whole;   /* the last packet is present, so the writer was not killed */
  struct gaps gaps;
  struct evr_packed_map map;
  struct cached cache[CACHED];
  uint64_t reads;
  uint8_t *frame; /* room for one frame */
  size_t frame_room;
  struct doubt doubt[MOST_DOUBTS];
  unsigned doubts;
  bool no_memory; /* memory ran out while scanning */
  struct eventring_error damage;
};

/* ---- The file -------------------------------------------------------------------- */

/* Returns how many bytes were read, fewer than `size` only at the end of the file, or -1
   with errno. */
static ssize_t read_at(int fd, uint64_t offset, void *to, size_t size) {
  size_t at = 0;
  while (at < size) {
    ssize_t got = pread(fd, (char *)to + at, size - at, (off_t)(offset + at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    at += (size_t)got;
  }
  return (ssize_t)at;
}

struct packet {
  struct packet_header header;
  struct packet_extent extents[PACKET_MOST_EXTENTS];
};

/* Reads the header of a packet that lies before `end`. Returns whether it is valid. */
static bool read_packet(const struct evr_packed *p, uint64_t at, uint64_t end,
                        struct packet *packet) {
  struct packet_header *h = &packet->header;
  if (at + sizeof *h > end || read_at(p->fd, at, h, sizeof *h) != (ssize_t)sizeof *h ||
      !evr_packet_header_valid(h) || packet_length(h) > end - at)
    return false;
  ssize_t size = (ssize_t)(h->extents * sizeof *packet->extents);
  return read_at(p->fd, at + sizeof *h, packet->extents, (size_t)size) == size &&
         evr_packet_valid(h, packet->extents);
}

/* ---- Packets that cannot be unpacked --------------------------------------------- */

static struct doubt *doubt_of(struct evr_packed *p, uint64_t packet) {
  for (unsigned i = 0; i < p->doubts; i++)
    if (p->doubt[i].packet == packet) return &p->doubt[i];
  return NULL;
}

/* Drops the doubt about a packet that could be unpacked after all. */
static void forget_doubt(struct evr_packed *p, uint64_t packet) {
  struct doubt *doubt = p->doubts ? doubt_of(p, packet) : NULL;
  if (doubt) *doubt = p->doubt[--p->doubts];
}

/* Tells whether a packet is left out, for now or for good. */
static bool is_doubted(struct evr_packed *p, uint64_t packet) {
  const struct doubt *doubt = p->doubts ? doubt_of(p, packet) : NULL;
  return doubt && (doubt->is_waiting || doubt->tries >= MOST_TRIES);
}

static void note_damage(struct evr_packed *p, uint64_t from, const char *what) {
  if (p->damage.code) return;
  evr_fail(&p->damage, EVENTRING_E_CORRUPT, 0,
           "the compressed file is damaged at offset %llu: %s", (unsigned long long)from, what);
}

/* ---- Finding packets ------------------------------------------------------------- */

static void take_packet(struct evr_packed *p, uint64_t at, const struct packet *packet) {
  if (packet->header.sequence > p->newest) p->newest = packet->header.sequence;
  if (packet->header.flags & PACKET_IS_LAST) p->is_whole = true;
  struct evr_packed_extent extent = {.sequence = packet->header.sequence, .packet = at};
  if (packet->header.plain_bytes > p->plain_bytes) p->plain_bytes = packet->header.plain_bytes;
  for (uint32_t i = 0; i < packet->header.extents; i++) {
    extent.offset = packet->extents[i].offset;
    extent.bytes = packet->extents[i].bytes;
    if (!evr_packed_map_add(&p->map, &extent)) p->no_memory = true;
    extent.from += extent.bytes;
  }
}

/* Returns the first offset from `at` on at which the file has data, or `end` if there is
   none before it. */
static uint64_t skip_hole(int fd, uint64_t at, uint64_t end) {
  off_t data = lseek(fd, (off_t)at, SEEK_DATA);
  if (data < 0) return errno == ENXIO ? end : at;
  return (uint64_t)data < at ? at : (uint64_t)data - (uint64_t)data % PACKET_ALIGNMENT;
}

/* Finds the first valid packet from `at` on. Returns where it begins, or `end` if there
   is none. */
static uint64_t find_packet(const struct evr_packed *p, uint64_t at, uint64_t end,
                            struct packet *packet) {
  uint8_t window[WINDOW];
  while (at < end) {
    at = skip_hole(p->fd, at, end);
    if (at >= end) break;
    ssize_t got = read_at(p->fd, at, window, sizeof window);
    for (ssize_t i = 0; i + PACKET_ALIGNMENT <= got; i += PACKET_ALIGNMENT)
      if (memcmp(window + i, PACKET_MAGIC, sizeof packet->header.magic) == 0 &&
          read_packet(p, at + (uint64_t)i, end, packet))
        return at + (uint64_t)i;
    if (got < PACKET_ALIGNMENT) break;
    at += (uint64_t)got - (uint64_t)got % PACKET_ALIGNMENT;
  }
  return end;
}

static void add_gap(struct evr_packed *p, struct gaps *gaps, uint64_t from, uint64_t to) {
  if (gaps->count == gaps->room) {
    size_t room = gaps->room ? 2 * gaps->room : 16;
    struct gap *grown = realloc(gaps->list, room * sizeof *grown);
    if (!grown) {
      p->no_memory = true;
      return;
    }
    gaps->list = grown;
    gaps->room = room;
  }
  gaps->list[gaps->count++] = (struct gap){from, to};
}

/* Takes the packets from `at` on, and notes the gaps between them. Returns where the last
   packet ends. */
static uint64_t scan(struct evr_packed *p, uint64_t at, uint64_t end, struct gaps *gaps) {
  struct packet packet;
  while (at < end && !p->no_memory) {
    uint64_t found = read_packet(p, at, end, &packet)
                         ? at : find_packet(p, at + PACKET_ALIGNMENT, end, &packet);
    if (found >= end) break;
    if (found > at) add_gap(p, gaps, at, found);
    at = found + packet_length(&packet.header);
    if (is_doubted(p, found)) add_gap(p, gaps, found, at);
    else take_packet(p, found, &packet);
  }
  return at;
}

/* Tells whether a packet may be one whose write was interrupted by the end of the
   writer. */
static bool is_recent(const struct evr_packed *p, const struct packet_header *h) {
  return !p->is_whole && evr_packet_header_valid(h) && h->sequence + IN_FLIGHT > p->newest;
}

/* Tells whether only the first pages of a packet were written, so that its last extent is
   zeros. */
static bool lacks_last_extent(const struct evr_packed *p, uint64_t at,
                              const struct packet_header *h) {
  struct packet_extent last, zeros = {0};
  uint64_t offset = at + sizeof *h + (h->extents - 1) * sizeof last;
  return is_recent(p, h) && read_at(p->fd, offset, &last, sizeof last) == sizeof last &&
         !memcmp(&last, &zeros, sizeof last);
}

/* Notes damage, unless an unfinished write may have left the gap. A range that was
   reserved and never written begins with zeros, and so does that of a packet that could
   not be written completely. The last packet of the file may be cut off. A packet whose
   write was interrupted may have only its beginning. */
static void check_gap(struct evr_packed *p, uint64_t from, uint64_t file_bytes, bool is_last) {
  struct packet packet, zeros = {0};
  if (read_at(p->fd, from, &packet.header, sizeof packet.header) != sizeof packet.header ||
      !memcmp(&packet.header, &zeros.header, sizeof zeros.header) ||
      read_packet(p, from, file_bytes, &packet) /* the packet is left out */ ||
      lacks_last_extent(p, from, &packet.header) ||
      (is_last && evr_packet_header_valid(&packet.header) &&
       packet_length(&packet.header) > file_bytes - from))
    return;
  note_damage(p, from, "no packet begins there");
}

static void check_gaps(struct evr_packed *p, uint64_t file_bytes) {
  for (size_t i = 0; i < p->gaps.count && !p->damage.code; i++)
    check_gap(p, p->gaps.list[i].from, file_bytes, false);
  if (p->next < file_bytes) check_gap(p, p->next, file_bytes, !p->is_whole);
}

/* Scans the file after the last packet, and searches all gaps again. */
static int scan_all(struct evr_packed *p, struct eventring_error *error) {
  struct gaps before = p->gaps;
  struct stat st;
  bool is_final = evr_file_locked(p->fd) == 0;
  if (fstat(p->fd, &st) != 0)
    return evr_fail(error, EVENTRING_E_SYSTEM, errno, "cannot tell the size of the file");
  p->no_memory = false;
  p->gaps = (struct gaps){0};
  for (size_t i = 0; i < before.count; i++) {
    uint64_t at = scan(p, before.list[i].from, before.list[i].to, &p->gaps);
    if (at < before.list[i].to) add_gap(p, &p->gaps, at, before.list[i].to);
  }
  free(before.list);
  p->next = scan(p, p->next, (uint64_t)st.st_size, &p->gaps);
  if (!evr_packed_map_settle(&p->map) || p->no_memory)
    return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory for the packets of the file");
  if (is_final && !p->is_final) check_gaps(p, (uint64_t)st.st_size);
  p->is_final = is_final;
  return EVENTRING_OK;
}

/* Reads all headers again. */
static int rescan(struct evr_packed *p, struct eventring_error *error) {
  evr_packed_map_clear(&p->map);
  p->gaps.count = 0;
  p->next = sizeof(struct packed_header);
  return scan_all(p, error);
}

/* Takes new packets. A packet that was incomplete may be complete by now, even if its
   writer has ended since. */
int evr_packed_refresh(struct evr_packed *p, struct eventring_error *error) {
  bool any = false;
  for (unsigned i = 0; i < p->doubts; i++) {
    any |= p->doubt[i].is_waiting;
    p->doubt[i].is_waiting = false;
  }
  return p->is_final && !any ? EVENTRING_OK : scan_all(p, error);
}

/* ---- Unpacking ------------------------------------------------------------------- */

static struct cached *slot_for(struct evr_packed *p, uint64_t packet) {
  struct cached *oldest = &p->cache[0];
  for (unsigned i = 0; i < CACHED; i++) {
    struct cached *slot = &p->cache[i];
    if (slot->used && slot->packet == packet) return slot;
    if (slot->used < oldest->used) oldest = slot;
  }
  free(oldest->bytes);
  *oldest = (struct cached){.packet = packet};
  return oldest;
}

static bool need_frame_room(struct evr_packed *p, size_t size) {
  if (size <= p->frame_room) return true;
  uint8_t *grown = realloc(p->frame, size);
  if (!grown) return false;
  p->frame = grown;
  p->frame_room = size;
  return true;
}

/* Unpacks a packet into its slot of the cache. Returns 0, E_CORRUPT if it cannot be
   unpacked, or E_MEMORY. */
static int unpack(struct evr_packed *p, struct cached *slot) {
  struct packet packet;
  if (!read_packet(p, slot->packet, UINT64_MAX, &packet)) return EVENTRING_E_CORRUPT;
  const struct packet_header *h = &packet.header;
  slot->bytes = malloc(h->bytes);
  slot->count = h->bytes;
  if (!slot->bytes || !need_frame_room(p, h->frame_bytes)) return EVENTRING_E_MEMORY;
  if (read_at(p->fd, slot->packet + packet_frame_at(h), p->frame, h->frame_bytes) !=
          (ssize_t)h->frame_bytes ||
      !evr_unpack(p->unpacker, p->frame, h->frame_bytes, slot->bytes, h->bytes))
    return EVENTRING_E_CORRUPT;
  return EVENTRING_OK;
}

/* Tells whether the write of a packet may have been under way when the writer was
   killed. */
static bool may_be_unfinished(const struct evr_packed *p, uint64_t at) {
  struct packet packet;
  return read_packet(p, at, UINT64_MAX, &packet) && is_recent(p, &packet.header);
}

/* Leaves a packet out, for now or for good. Returns true if the map must be made again.
   p->is_final was determined before the frame was read; the writer may have finished and
   ended since. */
static bool leave_out(struct evr_packed *p, uint64_t packet) {
  bool is_written = !p->is_final;
  struct doubt *doubt = doubt_of(p, packet);
  if (!doubt && p->doubts < MOST_DOUBTS) {
    doubt = &p->doubt[p->doubts++];
    *doubt = (struct doubt){.packet = packet};
  }
  if (doubt) {
    /* a write under way may take any time: a missing packet is not damage before later
       writes are done */
    doubt->tries = !is_written ? MOST_TRIES : may_be_unfinished(p, packet) ? 0 : doubt->tries + 1;
    doubt->is_waiting = doubt->tries < MOST_TRIES;
  }
  if ((!doubt || !doubt->is_waiting) && !may_be_unfinished(p, packet))
    note_damage(p, packet, "what a packet has is lost");
  return doubt != NULL;
}

/* Returns a packet's bytes, or NULL on failure. Then *status is E_MEMORY or another error
   of the scan, 0 if the map has changed, or E_CORRUPT if the packet is damaged and too
   many are left out already. */
static const struct cached *unpacked(struct evr_packed *p, uint64_t packet, int *status,
                                     struct eventring_error *error) {
  struct cached *slot = slot_for(p, packet);
  *status = EVENTRING_OK;
  if (!slot->used) {
    *status = unpack(p, slot);
    if (*status == EVENTRING_OK) forget_doubt(p, packet);
  }
  slot->used = ++p->reads;
  if (*status == EVENTRING_E_MEMORY) {
    slot->used = 0;
    evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory to unpack the file");
    return NULL;
  }
  if (*status == EVENTRING_OK && !slot->is_bad) return slot;
  bool is_left_out = !slot->is_bad && leave_out(p, packet);
  slot->is_bad = true;
  if (is_left_out) slot->used = 0; /* when the packet counts again, it is tried again */
  *status = is_left_out ? rescan(p, error) : EVENTRING_E_CORRUPT;
  return NULL;
}

/* ---- Reading --------------------------------------------------------------------- */

/* Copies bytes from `offset` on: up to the end of an extent, or zeros up to the next
   extent. Returns how many bytes, 0 if the map has changed, or an error. */
static ssize_t read_part(struct evr_packed *p, uint64_t offset, uint8_t *to, size_t size,
                         struct eventring_error *error) {
  const struct evr_packed_extent *e = evr_packed_map_find(&p->map, offset);
  int status;
  if (!e || e->offset > offset) {
    if (e && e->offset - offset < size) size = (size_t)(e->offset - offset);
    memset(to, 0, size);
    return (ssize_t)size;
  }
  uint64_t within = offset - e->offset, from = e->from + within;
  if (e->bytes - within < size) size = (size_t)(e->bytes - within);
  const struct cached *packet = unpacked(p, e->packet, &status, error);
  if (!packet && status == EVENTRING_OK) return 0; /* the map has changed */
  if (!packet && status != EVENTRING_E_CORRUPT) return status;
  if (packet && from + size <= packet->count) memcpy(to, packet->bytes + from, size);
  else memset(to, 0, size);
  return (ssize_t)size;
}

int evr_packed_read(struct evr_packed *p, uint64_t offset, void *to, size_t size,
                    struct eventring_error *error) {
  uint8_t *at = to;
  if (offset > p->plain_bytes || size > p->plain_bytes - offset)
    return evr_fail(error, EVENTRING_E_TRUNCATED, 0, "the file ends before offset %llu",
                    (unsigned long long)(offset + size));
  while (size) {
    ssize_t got = read_part(p, offset, at, size, error);
    if (got < 0) return (int)got;
    offset += (uint64_t)got;
    at += got;
    size -= (size_t)got;
  }
  return EVENTRING_OK;
}

bool evr_packed_is_hole(const struct evr_packed *p, uint64_t offset, uint64_t size) {
  const struct evr_packed_extent *e = evr_packed_map_find(&p->map, offset);
  return !e || e->offset >= offset + size;
}

uint64_t evr_packed_bytes(const struct evr_packed *p) { return p->plain_bytes; }

void evr_packed_take_damage(struct evr_packed *p, struct eventring_error *damage) {
  if (p->damage.code && !damage->code) *damage = p->damage;
  if (damage->code) p->damage.code = 0;
}

/* ---- Opening --------------------------------------------------------------------- */

static int check_header(const struct packed_header *h, struct eventring_error *error) {
  if (h->byte_order == __builtin_bswap32(FORMAT_BYTE_ORDER))
    return evr_fail(error, EVENTRING_E_BYTE_ORDER, 0,
                    "recorded on a machine with another byte order");
  if (h->version != PACKED_VERSION || h->compression != PACKED_ZSTD)
    return evr_fail(error, EVENTRING_E_VERSION, 0,
                    "compressed in a way (version %u, method %u) that this reader does not know",
                    h->version, h->compression);
  if (h->byte_order != FORMAT_BYTE_ORDER || h->checksum != evr_packed_header_checksum(h))
    return evr_fail(error, EVENTRING_E_CORRUPT, 0, "the header of the compressed file is damaged");
  return EVENTRING_OK;
}

static int make(struct evr_packed **packed, int fd, struct eventring_error *error) {
  struct evr_packed *p = calloc(1, sizeof *p);
  if (!p) return evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory to unpack the file");
  p->fd = fd;
  p->unpacker = evr_unpack_new();
  int status = p->unpacker ? rescan(p, error)
                           : evr_fail(error, EVENTRING_E_MEMORY, 0, "no memory to unpack the file");
  if (status == EVENTRING_OK) *packed = p;
  else evr_packed_close(p);
  return status;
}

int evr_packed_open(struct evr_packed **packed, int fd, struct eventring_error *error) {
  struct packed_header h;
  *packed = NULL;
  if (read_at(fd, 0, &h, sizeof h) != (ssize_t)sizeof h ||
      memcmp(h.magic, PACKED_MAGIC, sizeof h.magic) != 0)
    return EVENTRING_OK;
  int status = check_header(&h, error);
  if (status == EVENTRING_OK) status = evr_unpack_load(error);
  return status == EVENTRING_OK ? make(packed, fd, error) : status;
}

void evr_packed_close(struct evr_packed *p) {
  if (!p) return;
  for (unsigned i = 0; i < CACHED; i++) free(p->cache[i].bytes);
  evr_unpack_free(p->unpacker);
  evr_packed_map_clear(&p->map);
  free(p->gaps.list);
  free(p->frame);
  free(p);
}
