/* SPDX-License-Identifier: MIT */
/* eventring_packed_test.c: compares packed files, packet by packet, with the plain files
   that they represent. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dlfcn.h>
#include <zstd.h>

#include "cases.h"
#include "format/packed.h"
#include "reader/packed_file.h"
#include "reader/unpack.h"

enum {
  BLOCK = EVENTRING_BLOCK_BYTES,
  BLOCKS = 700,
  PLAIN = BLOCKS * BLOCK,
  PACKETS = 200,
  MOST_PIECES = 8,
  MOST_RUN = 6, /* most blocks of a piece */
  ROOM = MOST_PIECES * MOST_RUN * BLOCK
};

struct one { /* a packet */
  struct eventring_piece piece[MOST_PIECES];
  size_t count;
  uint8_t *bytes; /* bytes of the pieces */
  size_t size;
  uint8_t *packet;
  size_t length;
  uint64_t place; /* offset of the packet in the file */
};

static struct one all[PACKETS];
static uint8_t expected[PLAIN], found[PLAIN];
static int fd = -1;
static uint64_t file_end;
static bool is_finished; /* whether the last packet says that the file is finished */

/* ---- Making ----------------------------------------------------------------------- */

static uint64_t state = 88172645463325252u;
static uint64_t draw(uint64_t below) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state % below;
}

/* Fills the blocks of a packet: random, all equal, or zeros. */
static void fill(uint8_t *to, size_t size) {
  unsigned how = (unsigned)draw(3);
  uint8_t byte = (uint8_t)draw(256);
  for (size_t i = 0; i < size; i++) to[i] = how == 0 ? (uint8_t)draw(256) : how == 1 ? byte : 0;
}

static size_t compress(const uint8_t *from, size_t size, uint8_t *to, size_t room, bool sums) {
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, sums);
  size_t frame = ZSTD_compress2(context, to, room, from, size);
  ZSTD_freeCCtx(context);
  assert_false(ZSTD_isError(frame));
  return frame;
}

/* Makes the bytes of a packet with these pieces. */
static void pack(struct one *p, uint64_t sequence) {
  size_t header = eventring_packet_header_bytes(p->count);
  size_t room = header + ZSTD_compressBound(p->size) + 2 * PACKET_ALIGNMENT;
  p->packet = calloc(1, room);
  size_t frame = compress(p->bytes, p->size, p->packet + header, room - header, true);
  assert_int_equal(eventring_packet_header(p->packet, sequence, PLAIN, p->piece, p->count, frame,
                                           sequence == PACKETS && is_finished),
                   header);
  p->length = (header + frame + PACKET_ALIGNMENT - 1) / PACKET_ALIGNMENT * PACKET_ALIGNMENT;
}

static void make(struct one *p, uint64_t sequence) {
  memset(p, 0, sizeof *p);
  p->bytes = malloc(ROOM);
  p->count = 1 + draw(MOST_PIECES);
  for (size_t i = 0; i < p->count; i++) {
    size_t size = (1 + draw(MOST_RUN)) * BLOCK;
    p->piece[i] = (struct eventring_piece){
        .offset = draw(BLOCKS - MOST_RUN) * BLOCK, .from = p->size, .size = size};
    fill(p->bytes + p->size, size);
    p->size += size;
  }
  pack(p, sequence);
}

static void make_all(bool finished) {
  is_finished = finished;
  for (size_t i = 0; i < PACKETS; i++) make(&all[i], i + 1);
}

static void free_all(void) {
  for (size_t i = 0; i < PACKETS; i++) free(all[i].bytes), free(all[i].packet);
}

static void begin_file(void) {
  uint8_t header[EVENTRING_PACKED_HEADER_BYTES];
  fd = memfd_create("packed", 0);
  assert_true(fd >= 0);
  eventring_packed_header(header);
  assert_int_equal(pwrite(fd, header, sizeof header, 0), sizeof header);
  file_end = sizeof header;
}

static void give_place(struct one *p) {
  p->place = file_end;
  file_end += p->length;
}

static void write_packet(const struct one *p) {
  assert_int_equal(pwrite(fd, p->packet, p->length, (off_t)p->place), p->length);
}

/* Writes all packets, in an order in which threads may finish them. The last packet is
   written after all others. */
static void write_all(void) {
  begin_file();
  for (size_t from = 0; from < PACKETS; from += 8) {
    size_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    for (size_t i = 0; i < 7; i++) {
      size_t with = draw(7), kept = order[i];
      order[i] = order[with], order[with] = kept;
    }
    for (size_t i = 0; i < 8; i++) {
      give_place(&all[from + order[i]]);
      write_packet(&all[from + order[i]]);
    }
  }
}

/* ---- Comparing -------------------------------------------------------------------- */

/* Computes the plain file with all packets except those for which `without` is true. */
static void expect(const bool *without) {
  memset(expected, 0, sizeof expected);
  for (size_t i = 0; i < PACKETS; i++)
    for (size_t k = 0; k < all[i].count && !(without && without[i]); k++)
      memcpy(expected + all[i].piece[k].offset, all[i].bytes + all[i].piece[k].from,
             all[i].piece[k].size);
}

static struct evr_packed *open_file(void) {
  struct evr_packed *packed;
  struct eventring_error error;
  assert_int_equal(evr_packed_open(&packed, fd, &error), 0);
  assert_non_null(packed);
  return packed;
}

static int damage_of(struct evr_packed *packed) {
  struct eventring_error damage = {0};
  evr_packed_take_damage(packed, &damage);
  return damage.code;
}

static void read_all(struct evr_packed *packed) {
  for (size_t at = 0, size; at < PLAIN; at += size) {
    size = 1 + draw(20 * BLOCK);
    if (size > PLAIN - at) size = PLAIN - at;
    assert_int_equal(evr_packed_read(packed, at, found + at, size, NULL), 0);
  }
  assert_memory_equal(found, expected, PLAIN);
}

static int check_file(const bool *without) {
  struct evr_packed *packed = open_file();
  expect(without);
  read_all(packed);
  int damage = damage_of(packed);
  evr_packed_close(packed);
  return damage;
}

/* ---- Sound files ------------------------------------------------------------------ */

static void test_any_order(void **unused) {
  write_all();
  assert_int_equal(check_file(NULL), 0);
  struct evr_packed *packed = open_file();
  assert_int_equal(evr_packed_bytes(packed), PLAIN);
  assert_int_equal(evr_packed_read(packed, PLAIN - 8, found, 16, NULL), EVENTRING_E_TRUNCATED);
  assert_int_equal(evr_packed_read(packed, UINT64_MAX, found, 16, NULL), EVENTRING_E_TRUNCATED);
  for (size_t i = 0; i < 2000; i++) { /* reads from any place */
    size_t at = draw(PLAIN - 64);
    assert_int_equal(evr_packed_read(packed, at, found, 64, NULL), 0);
    assert_memory_equal(found, expected + at, 64);
  }
  evr_packed_close(packed);
  close(fd);
}

/* Locks the file, so that evr_file_locked finds a writer, also for the
   file in /proc/self/fd. */
static int lock_file(void) {
  char name[64];
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  int writer = open(name, O_RDWR);
  assert_true(writer >= 0);
  assert_int_equal(fcntl(writer, F_OFD_SETLK, &lock), 0);
  return writer;
}

/* Checks a file to which packets are added while it is read: later packets before earlier
   ones, and some in two parts. */
static void test_while_written(void **unused) {
  bool without[PACKETS];
  begin_file();
  int writer = lock_file();
  struct evr_packed *packed = open_file();
  memset(without, true, sizeof without);
  for (size_t from = 0; from < PACKETS; from += 4) {
    for (size_t i = 0; i < 4; i++) give_place(&all[from + i]);
    for (size_t i = 4; i-- > 0;) {
      struct one *p = &all[from + i];
      size_t part = i % 2 ? 0 : p->length / 2;
      assert_int_equal(pwrite(fd, p->packet, part, (off_t)p->place), part);
      /* A write may take long, so a packet that is not written yet is tried more often
         than a damaged one; but the last packet is written after all others. */
      int looks = i == 0 && from + 4 < PACKETS ? 6 : 1;
      for (int look = 0; look < looks; look++) {
        assert_int_equal(evr_packed_refresh(packed, NULL), 0);
        expect(without);
        if (evr_packed_bytes(packed)) read_all(packed);
      }
      write_packet(p);
      without[from + i] = false;
      assert_int_equal(evr_packed_refresh(packed, NULL), 0);
      expect(without);
      read_all(packed);
    }
  }
  assert_int_equal(damage_of(packed), 0);
  evr_packed_close(packed);
  close(writer);
  close(fd);
}

/* When the reader checks for the n-th time (writer_goes_at) whether there is a writer,
   the writer finishes its last packet and goes away. */
static int writer_goes_at, questions, last_writer;
int __real_evr_file_locked(int fd);
int __wrap_evr_file_locked(int file) {
  if (writer_goes_at && ++questions == writer_goes_at) {
    write_packet(&all[PACKETS - 1]);
    close(last_writer);
  }
  return __real_evr_file_locked(file);
}

/* Checks a writer that goes away when half of the last packet has been read. */
static void test_writer_goes(void **unused) {
  static const uint8_t zeros[MOST_PIECES * ROOM];
  bool was_asked = true;
  for (writer_goes_at = 1; was_asked; writer_goes_at++) {
    bool without[PACKETS] = {false};
    const struct one *last = &all[PACKETS - 1];
    write_all();
    size_t part = eventring_packet_header_bytes(last->count) + 5;
    without[PACKETS - 1] = true;
    assert_int_equal(pwrite(fd, zeros, last->length - part, (off_t)(last->place + part)),
                     last->length - part);
    last_writer = lock_file();
    questions = 0;
    struct evr_packed *packed = open_file();
    assert_int_equal(evr_packed_read(packed, 0, found, PLAIN, NULL), 0);
    for (unsigned refreshes = 0; refreshes < 2; refreshes++)
      assert_int_equal(evr_packed_refresh(packed, NULL), 0);
    was_asked = questions >= writer_goes_at;
    expect(was_asked ? NULL : without);
    read_all(packed);
    assert_int_equal(damage_of(packed), 0);
    evr_packed_close(packed);
    if (!was_asked) close(last_writer);
    close(fd);
  }
  assert_true(writer_goes_at > 3); /* it is asked at opening, and while the frame is not
                                      whole */
  writer_goes_at = 0;
}

/* ---- Damage ----------------------------------------------------------------------- */

static void flip(uint64_t at) {
  uint8_t byte;
  assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
  byte ^= (uint8_t)(1u << draw(8));
  assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
}

/* Tells whether a packet has bytes that no later one has replaced. */
static bool is_needed(size_t which) {
  static size_t owner[BLOCKS];
  bool needed = false;
  for (size_t i = 0; i < PACKETS; i++)
    for (size_t k = 0; k < all[i].count; k++)
      for (size_t b = 0; b < all[i].piece[k].size / BLOCK; b++)
        owner[all[i].piece[k].offset / BLOCK + b] = i + 1;
  for (size_t b = 0; b < BLOCKS; b++) needed |= owner[b] == which + 1;
  return needed;
}

/* Checks that with a damaged packet only the packet's bytes are lost, which is reported
   if they are read; older bytes in the same places are valid. */
static void test_damaged_packet(void **unused) {
  size_t step = slowness() > 1 ? 13 : 3;
  /* if the writer was killed, the newest packets may have been under way */
  for (size_t i = 0; i < PACKETS - (is_finished ? 1 : 130); i += step) {
    bool without[PACKETS] = {false}, in_header = i % 2;
    size_t header = eventring_packet_header_bytes(all[i].count);
    without[i] = true;
    write_all();
    flip(all[i].place + (in_header ? draw(header) : header + 9));
    assert_int_equal(check_file(without),
                     in_header || is_needed(i) ? EVENTRING_E_CORRUPT : EVENTRING_OK);
    close(fd);
  }
}

static void test_many_damaged(void **unused) {
  bool without[PACKETS] = {false};
  write_all();
  for (size_t i = 0; i < 60; i++) {
    without[i] = true;
    flip(all[i].place + eventring_packet_header_bytes(all[i].count) + 9);
  }
  assert_int_equal(check_file(without), EVENTRING_E_CORRUPT);
  /* more packets than were left out: reads give zeros, and do not fail */
  for (size_t i = 60; i < PACKETS; i++)
    flip(all[i].place + eventring_packet_header_bytes(all[i].count) + 9);
  struct evr_packed *packed = open_file();
  for (unsigned round = 0; round < 3; round++)
    assert_int_equal(evr_packed_read(packed, 0, found, PLAIN, NULL), 0);
  assert_int_equal(damage_of(packed), EVENTRING_E_CORRUPT);
  evr_packed_close(packed);
  close(fd);
}

/* Checks a packet whose writer was killed, or that could not be written. */
static void test_unwritten(void **unused) {
  static const uint8_t zeros[PACKET_ALIGNMENT];
  bool without[PACKETS] = {false};
  write_all();
  for (size_t i = 7; i < PACKETS; i += 40) {
    without[i] = true;
    assert_int_equal(pwrite(fd, zeros, sizeof zeros, (off_t)all[i].place), sizeof zeros);
  }
  assert_int_equal(check_file(without), 0);
  close(fd);
}

static void test_cut_off(void **unused) {
  write_all();
  for (unsigned i = 0; i < 50; i++) {
    bool without[PACKETS] = {false};
    file_end -= 1 + draw(file_end / 60);
    assert_int_equal(ftruncate(fd, (off_t)file_end), 0);
    for (size_t k = 0; k < PACKETS; k++) without[k] = all[k].place + all[k].length > file_end;
    struct evr_packed *packed = open_file();
    expect(without);
    read_all(packed);
    assert_int_equal(damage_of(packed), 0);
    evr_packed_close(packed);
  }
  close(fd);
}

/* ---- Hostile files ---------------------------------------------------------------- */

/* Puts a packet with a correct checksum at the end of the file, whatever its header
   contains. */
static void add_hostile(struct packet_header *h, const struct packet_extent *extents,
                        const void *frame, size_t frame_bytes) {
  static struct packet_extent none[PACKET_MOST_EXTENTS + 1];
  uint8_t zeros[PACKET_ALIGNMENT] = {0};
  memcpy(h->magic, PACKET_MAGIC, sizeof h->magic);
  if (!extents) extents = none;
  h->checksum = h->extents <= PACKET_MOST_EXTENTS ? evr_packet_checksum(h, extents) : 0;
  size_t size = h->extents * sizeof *extents;
  if (h->extents > PACKET_MOST_EXTENTS) size = sizeof none;
  uint64_t at = file_end;
  assert_int_equal(pwrite(fd, h, sizeof *h, (off_t)at), sizeof *h);
  assert_int_equal(pwrite(fd, extents, size, (off_t)(at += sizeof *h)), size);
  assert_int_equal(pwrite(fd, frame, frame_bytes, (off_t)(at += size)), frame_bytes);
  assert_int_equal(pwrite(fd, zeros, sizeof zeros, (off_t)(at += frame_bytes)), sizeof zeros);
  file_end = (at + PACKET_ALIGNMENT) / PACKET_ALIGNMENT * PACKET_ALIGNMENT;
}

static void test_hostile(void **unused) {
  static uint8_t room[PACKET_MOST_BYTES + BLOCK], frame[ZSTD_COMPRESSBOUND(sizeof room)];
  size_t bomb = compress(room, sizeof room, frame, sizeof frame, true);
  const struct packet_extent one = {0, BLOCK, 0}, far = {(uint64_t)1 << 60, BLOCK, 0};
  const struct packet_extent odd = {100, BLOCK, 0}, wraps = {UINT64_MAX - BLOCK + 1, BLOCK, 0};
  const struct packet_extent great = {0, PACKET_MOST_BYTES + BLOCK, 0};
  uint32_t b = (uint32_t)bomb;
#define LIE(number, plain, count, all, frame) \
  {.sequence = number, .plain_bytes = plain, .extents = count, .bytes = all, .frame_bytes = frame}
  const struct { struct packet_header h; const struct packet_extent *e; } lies[] = {
      {LIE(900, PLAIN, 1, BLOCK, b), &one},
      {LIE(901, PLAIN, 1, BLOCK, b), &far},
      {LIE(902, PLAIN, 1, BLOCK, b), &odd},
      {LIE(903, PLAIN, 1, BLOCK, b), &wraps},
      {LIE(904, PLAIN, 1, great.bytes, b), &great},
      {LIE(905, PLAIN, 0, BLOCK, b), NULL},
      {LIE(906, PLAIN, 1, BLOCK, UINT32_MAX), &one},
      {LIE(907, UINT64_MAX, 1, BLOCK, b), &one},
      {LIE(908, PLAIN, UINT32_MAX, BLOCK, b), NULL},
      {LIE(909, PLAIN, 257, BLOCK, b), NULL},
      {LIE(0, PLAIN, 1, BLOCK, b), &one},
      {LIE(910, PLAIN, 1, 2 * BLOCK, b), &one}};
  write_all();
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    struct packet_header h = lies[i].h;
    add_hostile(&h, lies[i].e, frame, bomb);
  }
  /* a frame of the right size without a checksum, and a frame that is cut */
  size_t bare = compress(room, BLOCK, frame, sizeof frame, false);
  struct packet_header h = {.sequence = 920, .plain_bytes = PLAIN, .extents = 1, .bytes = BLOCK,
                            .frame_bytes = (uint32_t)bare};
  add_hostile(&h, &one, frame, bare);
  size_t whole = compress(room, BLOCK, frame, sizeof frame, true);
  h.frame_bytes = (uint32_t)whole - 1;
  add_hostile(&h, &one, frame, whole - 1);
  file_end = lseek(fd, 0, SEEK_END);
  check_file(NULL);
  close(fd);
}

/* Checks that changed bytes, wherever they are, do no harm, whatever is read. */
static void test_random_bytes(void **unused) {
  for (unsigned i = 0; i < 60; i++) {
    struct evr_packed *packed;
    write_all();
    for (unsigned k = 0; k < 1u << draw(8); k++) flip(64 + draw(file_end - 64));
    if (evr_packed_open(&packed, fd, NULL) == EVENTRING_OK && packed) {
      for (size_t at = 0; at + BLOCK <= evr_packed_bytes(packed) && at < PLAIN; at += BLOCK)
        assert_int_equal(evr_packed_read(packed, at, found, BLOCK, NULL), 0);
      evr_packed_close(packed);
    }
    close(fd);
  }
}

static void test_header(void **unused) {
  static const struct { size_t at; uint32_t value; int code; } cases[] = {
      {offsetof(struct packed_header, version), 2, EVENTRING_E_VERSION},
      {offsetof(struct packed_header, compression), 2, EVENTRING_E_VERSION},
      {offsetof(struct packed_header, byte_order), 0x04030201, EVENTRING_E_BYTE_ORDER},
      {offsetof(struct packed_header, byte_order), 1, EVENTRING_E_CORRUPT},
      {offsetof(struct packed_header, reserved), 1, EVENTRING_E_CORRUPT}};
  struct evr_packed *packed;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct eventring_error error;
    begin_file();
    assert_int_equal(pwrite(fd, &cases[i].value, 4, (off_t)cases[i].at), 4);
    assert_int_equal(evr_packed_open(&packed, fd, &error), cases[i].code);
    assert_null(packed);
    close(fd);
  }
  begin_file(); /* the file has no packet */
  packed = open_file();
  assert_int_equal(evr_packed_bytes(packed), 0);
  assert_int_equal(evr_packed_read(packed, 0, found, 8, NULL), EVENTRING_E_TRUNCATED);
  evr_packed_close(packed);
  assert_int_equal(pwrite(fd, "other", 5, 0), 5); /* not a packed file at all */
  assert_int_equal(evr_packed_open(&packed, fd, NULL), 0);
  assert_null(packed);
  close(fd);
}

/* ---- Errors of making packets ----------------------------------------------------- */

static void test_making(void **unused) {
  uint8_t to[4096];
  struct eventring_piece piece = {.offset = 0, .size = BLOCK};
  assert_int_equal(eventring_packet_header(to, 1, BLOCK, &piece, 1, 100, false), 80);
  assert_int_equal(eventring_packet_header(to, 0, BLOCK, &piece, 1, 100, false), 0);
  assert_int_equal(eventring_packet_header(to, 1, BLOCK - 1, &piece, 1, 100, false), 0);
  assert_int_equal(eventring_packet_header(to, 1, BLOCK, &piece, 0, 100, false), 0);
  assert_int_equal(eventring_packet_header(to, 1, BLOCK, &piece, 257, 100, false), 0);
  assert_int_equal(eventring_packet_header(to, 1, BLOCK, &piece, 1, SIZE_MAX, false), 0);
  piece.size = (size_t)PACKET_MOST_BYTES + BLOCK;
  assert_int_equal(eventring_packet_header(to, 1, 2 * piece.size, &piece, 1, 100, false), 0);
  piece.size = SIZE_MAX - BLOCK + 1;
  assert_int_equal(eventring_packet_header(to, 1, UINT64_MAX, &piece, 1, 100, false), 0);
}

/* ---- Without the library ---------------------------------------------------------- */

static bool hide_library;
void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags) {
  return __real_dlopen(hide_library && name ? "libnothere.so.1" : name, flags);
}

/* Checks a program without the library. This test runs before all others, in the first
   round, since the library stays once it is loaded. */
static void test_no_library(void **unused) {
  int status;
  if (is_finished) return;
  pid_t child = fork();
  if (child == 0) {
    struct evr_packed *packed;
    struct eventring_error error = {0};
    hide_library = true;
    begin_file();
    int code = evr_packed_open(&packed, fd, &error);
    _exit(code == EVENTRING_E_SYSTEM && !packed && strstr(error.text, "libzstd.so.1") &&
                  strstr(error.text, "libzstd1") ? 0 : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_library), cmocka_unit_test(test_any_order),
      cmocka_unit_test(test_while_written), cmocka_unit_test(test_writer_goes),
      cmocka_unit_test(test_damaged_packet), cmocka_unit_test(test_many_damaged),
      cmocka_unit_test(test_unwritten), cmocka_unit_test(test_cut_off),
      cmocka_unit_test(test_hostile), cmocka_unit_test(test_random_bytes),
      cmocka_unit_test(test_header), cmocka_unit_test(test_making)};
  int failed = 0;
  for (int finished = 0; finished < 2; finished++) {
    make_all(finished);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    free_all();
  }
  return failed;
}
