/* SPDX-License-Identifier: MIT */
/* eventring_corrupt_test.c: hostile and damaged files: a reader reports an error, and
 * never crashes or hangs.
 *
 *   eventring_corrupt_test [MUTATIONS [SEED]]     (default 3000, less in slow builds; 1)
 */
#include "eventring/tools.h"
#include "eventring_common.h"

#include "format/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

static uint8_t *original;
static size_t original_size;
static int mutations = 3000;
static uint64_t seed = 1;

static uint64_t random64(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return seed;
}

/* ---- The sample: a wrapped user ring, an unwrapped runtime ring, two domains ---- */

static void write_sample(void) {
  start_preserved(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("one");
  eventring_domain *other = start_domain("two");
  eventring_begin_int(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, 5);
  for (int i = 0; i < 1500; i++) {
    eventring_user_begin(d, T_FLOOD);
    eventring_user_counter(d, T_COUNT, i);
    if (i % 5 == 0)
      eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_TEXT, "text", 4);
    eventring_user_end(d, T_FLOOD);
    if (i % 9 == 0) eventring_user_begin(d, T_FLOOD);
  }
  eventring_user_counter(other, T_COUNT, 1);
  eventring_pause();
  eventring_resume();
  eventring_domain_stop(other);
  char path[4096];
  snprintf(path, sizeof path, "%s", own_path());
  eventring_domain_stop(d);
  eventring_stop();
  FILE *f = fopen(path, "rb");
  struct stat st;
  if (!f || fstat(fileno(f), &st) != 0) exit(1);
  original_size = (size_t)st.st_size;
  original = malloc(original_size);
  if (!original || fread(original, 1, original_size, f) != original_size) exit(1);
  fclose(f);
  unlink(path);
}

static const char *mutant_path = "mutant.eventring";

/* Writes a file without its holes, which are most of the file. */
static void write_file(const uint8_t *bytes, size_t size) {
  static const uint8_t zeros[4096];
  int fd = open(mutant_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(ftruncate(fd, (off_t)size), 0);
  for (size_t at = 0; at < size; at += sizeof zeros) {
    size_t piece = size - at < sizeof zeros ? size - at : sizeof zeros;
    if (memcmp(bytes + at, zeros, piece) == 0) continue;
    assert_int_equal(pwrite(fd, bytes + at, piece, (off_t)at), (int)piece);
  }
  close(fd);
}

/* ---- Reading to the end ----------------------------------------------------------- */

static int read_bytes(void *context, const struct eventring_event *event) {
  uint64_t *sum = context;
  for (size_t i = 0; i < event->size; i++) *sum += ((const uint8_t *)event->bytes)[i];
  *sum += strlen(event->name) + event->flags + event->depth;
  if (event->flags & EVENTRING_MATCHED) assert_true(event->ns >= event->begin_ns);
  return 0;
}

/* Uses all functions of a reader; returns the first error, or OK. */
static int read_all(const char *path, unsigned flags) {
  struct eventring_error error = {0};
  eventring_cursor *cursor;
  int status = eventring_open_path(&cursor, path, flags, &error), first = EVENTRING_OK;
  if (status != EVENTRING_OK) {
    assert_int_equal(error.code, status);
    assert_true(error.text[0]);
    return status;
  }
  uint64_t sum = 0;
  struct eventring_callbacks callbacks = {sizeof callbacks, read_bytes, NULL};
  for (int polls = 0; polls < 50; polls++) {
    status = eventring_poll(cursor, &callbacks, &sum, 0);
    if (status < 0 && first == EVENTRING_OK) first = status;
    if (status == 0 || (status < 0 && eventring_finished(cursor))) break;
  }
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor_info(cursor, &info);
  for (unsigned slot = 0; slot < 4; slot++) {
    struct eventring_domain_info d = {.size = sizeof d};
    struct eventring_ring_info r = {.size = sizeof r};
    eventring_cursor_domain(cursor, slot, &d);
    eventring_cursor_ring(cursor, slot, EVENTRING_USER, &r);
    eventring_cursor_life(cursor, slot, 1 + slot % 2, &d);
  }
  eventring_open_spans(cursor, read_bytes, &sum);
  unlink("copy.eventring");
  eventring_snapshot(cursor, "copy.eventring", NULL);
  eventring_close(cursor);
  return first;
}

static void the_sample_is_sound(void **state) {
  write_file(original, original_size);
  assert_int_equal(read_all(mutant_path, 0), EVENTRING_OK);
  assert_int_equal(read_all("copy.eventring", EVENTRING_OPEN_MERGED), EVENTRING_OK);
}

/* ---- One field at a time ---------------------------------------------------------- */

static int with_bytes(size_t offset, const void *bytes, size_t size) {
  uint8_t saved[64];
  memcpy(saved, original + offset, size);
  memcpy(original + offset, bytes, size);
  write_file(original, original_size);
  memcpy(original + offset, saved, size);
  return read_all(mutant_path, 0);
}
static int with_u32(size_t offset, uint32_t value) {
  return with_bytes(offset, &value, sizeof value);
}
static int with_u64(size_t offset, uint64_t value) {
  return with_bytes(offset, &value, sizeof value);
}

static void header_fields(void **state) {
  static const size_t geometry[] = {16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 76, 112};
  assert_int_equal(with_bytes(0, "\x89PNG", 4), EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(with_u32(8, 2), EVENTRING_E_VERSION);
  assert_int_equal(with_u32(8, 4), EVENTRING_E_VERSION);
  assert_int_equal(with_u32(12, 0x04030201), EVENTRING_E_BYTE_ORDER);
  assert_int_equal(with_u32(12, 0), EVENTRING_E_CORRUPT);
  for (size_t i = 0; i < sizeof geometry / sizeof geometry[0]; i++) {
    assert_int_equal(with_u32(geometry[i], 0), EVENTRING_E_CORRUPT);
    assert_int_equal(with_u32(geometry[i], 0xffffffff), EVENTRING_E_CORRUPT);
  }
}

static void status_fields(void **state) {
  const size_t at = FORMAT_STATUS_OFFSET;
  uint64_t claimed;
  memcpy(&claimed, original + at + offsetof(struct format_status, claimed), sizeof claimed);
  assert_int_equal(with_u32(at, 7), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u32(at, 0), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u32(at + 4, 129), EVENTRING_E_CORRUPT);
  /* a possible value, but not the original one */
  assert_int_equal(with_u32(at + 4, 128), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u64(at + 8, UINT64_MAX), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u64(at + 8, claimed + 1), EVENTRING_E_CORRUPT);
  /* this makes the place of the rings unknown */
  assert_int_equal(with_u64(at + 8, 1), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u64(at + 8, 0), EVENTRING_E_CORRUPT);
}

/* Checks a file that is one hole and claims 64 GiB: neither time nor memory grow with the
   claimed size. */
static void a_hole_that_is_claimed(void **state) {
  const uint64_t claimed = 1 << 24;
  struct eventring_error error;
  struct eventring_callbacks callbacks = {sizeof callbacks, read_bytes, NULL};
  uint64_t sum = 0;
  eventring_cursor *cursor;
  write_file(original, original_size);
  int fd = open(mutant_path, O_RDWR);
  assert_int_equal(pwrite(fd, &claimed, sizeof claimed, FORMAT_STATUS_OFFSET + 8), 8);
  assert_int_equal(ftruncate(fd, (off_t)format_block_offset(claimed)), 0);
  close(fd);
  clock_t before = clock();
  assert_int_equal(eventring_open_path(&cursor, mutant_path, EVENTRING_OPEN_UNMAPPED, &error), 0);
  assert_int_equal(eventring_poll(cursor, &callbacks, &sum, 0), EVENTRING_E_CORRUPT);
  assert_true(strstr(eventring_cursor_error(cursor)->text, "in no ring"));
  assert_true(sum > 0); /* the rings are sound */
  unlink("copy.eventring");
  assert_int_equal(eventring_snapshot(cursor, "copy.eventring", NULL), 0);
  eventring_close(cursor);
  assert_true(clock() - before < 10 * CLOCKS_PER_SEC);
  unlink("copy.eventring");
}

/* ---- The places of rings ---------------------------------------------------------- */

static struct format_ring user_ring(void) {
  struct format_domain domain;
  memcpy(&domain, original + FORMAT_DOMAINS_OFFSET, sizeof domain);
  return domain.ring[EVENTRING_USER];
}

static int with_user_ring(uint64_t head, uint32_t first, uint32_t blocks) {
  const struct format_ring ring = {.head = head, .first = first, .blocks = blocks};
  return with_bytes(FORMAT_DOMAINS_OFFSET +
                        offsetof(struct format_domain, ring[EVENTRING_USER]),
                    &ring, sizeof ring);
}

static void ring_places(void **state) {
  const struct format_ring r = user_ring();
  static const uint32_t sizes[] = {0, 1, 2, 3, 5, 12, 1 << 16, 0x80000000, 0xffffffff};
  assert_int_equal(with_user_ring(r.head, r.first, r.blocks), EVENTRING_OK);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    assert_int_equal(with_user_ring(r.head, r.first, sizes[i]), EVENTRING_E_CORRUPT);
  /* the blocks at this place are records */
  assert_int_equal(with_user_ring(r.head, 0, r.blocks), EVENTRING_E_CORRUPT);
  assert_int_equal(with_user_ring(r.head, 0xfffffffe, r.blocks), EVENTRING_E_CORRUPT);
  assert_int_equal(with_user_ring(r.head, r.first - 4, r.blocks), EVENTRING_E_CORRUPT);
  assert_int_equal(with_user_ring(UINT64_MAX, r.first, r.blocks), EVENTRING_E_CORRUPT);
  assert_int_equal(with_user_ring((uint64_t)1 << 63, r.first, r.blocks), EVENTRING_E_CORRUPT);
  assert_int_equal(with_user_ring(r.head + 1, r.first, r.blocks), EVENTRING_E_CORRUPT);
  /* the ring is said to have no blocks, but has some */
  assert_int_equal(with_user_ring(0, 0, 0), EVENTRING_E_CORRUPT);
}

/* ---- Blocks of events ------------------------------------------------------------- */

static size_t user_block(uint64_t sequence) {
  const struct format_ring r = user_ring();
  return format_block_offset(r.first + (sequence - 1) % r.blocks);
}

/* Corrects the checksum of a block for the length that it states. */
static void seal(uint8_t *block) {
  uint64_t words[FORMAT_BLOCK_WORDS];
  uint32_t committed;
  memcpy(words, block, sizeof words);
  committed = (uint32_t)words[FORMAT_SEAL_WORD];
  if (committed < FORMAT_BLOCK_HEADER_WORDS || committed > FORMAT_BLOCK_WORDS) return;
  words[FORMAT_SEAL_WORD] = evr_seal(committed, evr_checksum(words, committed));
  memcpy(block, words, sizeof words);
}

/* Returns what a reader finds in a block with a changed field and a correct checksum. */
static int with_sealed(size_t block, size_t offset, uint64_t value, size_t size) {
  uint8_t saved[FORMAT_BLOCK_BYTES];
  memcpy(saved, original + block, sizeof saved);
  memcpy(original + block + offset, &value, size);
  seal(original + block);
  write_file(original, original_size);
  memcpy(original + block, saved, sizeof saved);
  return read_all(mutant_path, 0);
}
#define WITH(block, field, value) \
  with_sealed(block, offsetof(struct format_block, field), value, \
              sizeof(((struct format_block *)0)->field))

static void block_fields(void **state) {
  const uint64_t head = user_ring().head;
  assert_true(head > 4);
  for (int newest = 0; newest < 2; newest++) {
    const size_t at = user_block(newest ? head : head - 1);
    assert_int_equal(WITH(at, sequence, head), newest ? EVENTRING_OK : EVENTRING_E_CORRUPT);
    assert_int_equal(WITH(at, sequence, 99999), EVENTRING_E_CORRUPT);
    assert_int_equal(WITH(at, sequence, 0), EVENTRING_E_CORRUPT);
    assert_int_equal(WITH(at, kind, FORMAT_DEFINITIONS), EVENTRING_E_CORRUPT);
    assert_int_equal(WITH(at, domain, 5), EVENTRING_E_CORRUPT);
    assert_int_equal(WITH(at, ring, EVENTRING_RUNTIME), EVENTRING_E_CORRUPT);
    assert_int_equal(WITH(at, incarnation, 0), EVENTRING_E_CORRUPT);
    assert_int_equal(WITH(at, open, 65), EVENTRING_E_CORRUPT);
    assert_int_equal(WITH(at, before, UINT64_MAX), EVENTRING_E_CORRUPT);
    assert_int_equal(WITH(at, base_ticks, 0), EVENTRING_E_CORRUPT); /* before the start */
  }
}

/* Checks the checksums of complete blocks, also where an event with another number would
   be as valid. */
static void checksums(void **state) {
  const uint64_t head = user_ring().head;
  for (uint64_t s = head - 3; s <= head; s++) {
    const size_t at = user_block(s);
    struct format_block h;
    memcpy(&h, original + at, sizeof h);
    assert_true(h.committed > 100);
    size_t end = at + 8 * (size_t)h.committed;
    const uint8_t other = original[end - 1] ^ 1;
    assert_int_equal(with_bytes(end - 1, &other, 1), EVENTRING_E_CORRUPT);
    assert_int_equal(with_u32(at + 52, h.checksum ^ 1), EVENTRING_E_CORRUPT);
    assert_int_equal(with_u32(at + 48, h.committed - 1), EVENTRING_E_CORRUPT);
    assert_int_equal(with_u32(at + 48, 513), EVENTRING_E_CORRUPT);
    /* the newest block of a dead process has no checksum */
    assert_int_equal(with_u64(at + 48, 0), s == head ? EVENTRING_OK : EVENTRING_E_CORRUPT);
  }
}

static void event_words(void **state) {
  const size_t at = user_block(user_ring().head);
  struct format_block h;
  memcpy(&h, original + at, sizeof h);
  size_t first = 64 + h.open * sizeof(struct format_open) + h.open_brief * 8u;
  /* a word that is no event, in the place of one */
  assert_int_equal(with_sealed(at, first, (uint64_t)1 << 40, 8), EVENTRING_E_CORRUPT);
  /* an event that would reach beyond its block */
  assert_int_equal(with_sealed(at, 8 * (h.committed - 1u), 4 | 127 << 3, 8), EVENTRING_E_CORRUPT);
  /* an unknown remark is skipped; a remark without its payload has no meaning */
  uint64_t word;
  memcpy(&word, original + at + first, sizeof word);
  uint64_t time = word >> EVENTRING_WORD_TIME_SHIFT << EVENTRING_WORD_TIME_SHIFT;
  unsigned length = word_length(word);
  for (unsigned id = 0; id < 8; id++)
    assert_int_equal(
        with_sealed(at, first, time | EVENTRING_TAIL(FORMAT_WORD_REMARK, id, length), 8),
        EVENTRING_OK);
}

/* ---- Blocks of records ------------------------------------------------------------ */

/* Returns the offset of the first block of a kind. */
static size_t record_block(enum format_kind kind) {
  for (size_t at = FORMAT_BLOCKS_OFFSET; at < original_size; at += FORMAT_BLOCK_BYTES) {
    struct format_block h;
    memcpy(&h, original + at, sizeof h);
    if (h.sequence == 1 && h.kind == kind) return at;
  }
  fail_msg("no block of kind %d", kind);
  return 0;
}

static void definition_fields(void **state) {
  const size_t at = record_block(FORMAT_DEFINITIONS), first = 64;
#define DEFINED_WITH(field, value) \
  with_sealed(at, first + offsetof(struct format_definition, field), value, \
              sizeof(((struct format_definition *)0)->field))
  assert_int_equal(DEFINED_WITH(first, 0), EVENTRING_E_CORRUPT); /* the block is longer */
  /* A record without words. */
  assert_int_equal(DEFINED_WITH(first, (uint64_t)1 << 16), EVENTRING_E_CORRUPT);
  assert_int_equal(DEFINED_WITH(first, format_record(1, 1, 0)), EVENTRING_E_CORRUPT);
  assert_int_equal(DEFINED_WITH(first, format_record(65535, 1, 0)), EVENTRING_E_CORRUPT);
  assert_int_equal(DEFINED_WITH(kind, 0), EVENTRING_E_CORRUPT);
  assert_int_equal(DEFINED_WITH(kind, 7), EVENTRING_E_CORRUPT);
  assert_int_equal(DEFINED_WITH(event_class, 64), EVENTRING_E_CORRUPT);
  assert_int_equal(DEFINED_WITH(ring, 8), EVENTRING_E_CORRUPT);
  assert_int_equal(DEFINED_WITH(payload, 77), EVENTRING_OK); /* this kind of payload is
                                                                not known */
  assert_int_equal(DEFINED_WITH(name_bytes, 0), EVENTRING_E_CORRUPT);
  assert_int_equal(DEFINED_WITH(name_bytes, 96), EVENTRING_E_CORRUPT);
  assert_int_equal(DEFINED_WITH(name_bytes, 0xffff), EVENTRING_E_CORRUPT);
  assert_int_equal(DEFINED_WITH(unit_bytes, 24), EVENTRING_E_CORRUPT);
  assert_int_equal(DEFINED_WITH(doc_bytes, 120), EVENTRING_E_CORRUPT);
  /* the record ends before these bytes */
  assert_int_equal(DEFINED_WITH(fields_bytes, 119), EVENTRING_E_CORRUPT);
  uint32_t words = record_words(*(const uint64_t *)(original + at + first));
  assert_int_equal(DEFINED_WITH(first, format_record(words, 1, 8192)), EVENTRING_E_CORRUPT);
  /* this word is the checksum */
  assert_int_equal(with_u32(at + first + 32, 0x12345678), EVENTRING_E_CORRUPT);
}

static void clock_and_lives(void **state) {
  const size_t clock = record_block(FORMAT_CLOCK), lives = record_block(FORMAT_LIVES);
  const size_t multiplier = 64 + offsetof(struct format_segment, multiplier);
  assert_int_equal(with_sealed(clock, multiplier, 0, 8), EVENTRING_E_CORRUPT);
  assert_int_equal(with_sealed(clock, multiplier, (uint64_t)1 << 56, 8), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u64(clock, 0), EVENTRING_E_CORRUPT); /* no conversion of times */
  const uint64_t life = *(const uint64_t *)(original + lives + 64);
  assert_int_equal(with_sealed(lives, 64, format_record(record_words(life), 1, 128), 8),
                   EVENTRING_E_CORRUPT);
  /* a name longer than its record */
  assert_int_equal(with_sealed(lives, 64 + offsetof(struct format_life_record, name_bytes),
                               UINT64_MAX, 8), EVENTRING_E_CORRUPT);
}

/* Checks that no value in the control page counts as damage. */
static void control_page(void **state) {
  const size_t at = FORMAT_CONTROL_OFFSET;
  static const uint64_t words[] = {0, 1, 2, 63, 64, 65, 0xffffffff, (uint64_t)1 << 63, UINT64_MAX};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    for (size_t offset = 0; offset < 48; offset += 8)
      assert_int_equal(with_u64(at + offset, words[i]), EVENTRING_OK);
    for (size_t offset = 1024; offset < 1024 + 3 * 32; offset += 8)
      assert_int_equal(with_u64(at + offset, words[i]), EVENTRING_OK);
  }
}

static void cut_short(void **state) {
  static const size_t sizes[] = {0, 1, 7, 8, 100, 999, 1000, 4096, 5000, 8192, 12287,
                                 12288, 20000, 65535, 65536, 65600, 70000, 131071, 131072,
                                 140000, 170000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    if (sizes[i] >= original_size) continue;
    write_file(original, sizes[i]);
    int status = read_all(mutant_path, 0);
    int expected = sizes[i] < FORMAT_BLOCKS_OFFSET ? EVENTRING_E_TRUNCATED : EVENTRING_E_CORRUPT;
    assert_int_equal(status, sizes[i] < 8 ? EVENTRING_E_NOT_EVENTRING : expected);
  }
}

static void cut_short_while_attached(void **state) {
  struct log log = {0};
  write_file(original, original_size);
  eventring_cursor *cursor = open_file(mutant_path, 0);
  assert_true(poll_log(cursor, &log, 10) == 10);
  assert_int_equal(truncate(mutant_path, FORMAT_BLOCKS_OFFSET), 0);
  for (int i = 0; i < 10; i++) poll_log(cursor, &log, 0);
  assert_int_equal(truncate(mutant_path, 0), 0);
  int status = poll_log(cursor, &log, 0);
  assert_int_equal(status, EVENTRING_E_TRUNCATED);
  assert_true(eventring_cursor_error(cursor)->text[0]);
  clear_log(&log);
  eventring_close(cursor);
}

static void not_a_recording(void **state) {
  struct eventring_error error;
  eventring_cursor *cursor;
  assert_int_equal(eventring_open_path(&cursor, "/dev/null", 0, &error), EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(eventring_open_path(&cursor, "/", 0, &error), EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(eventring_open_path(&cursor, "/etc/passwd", 0, &error),
                   EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(eventring_open_path(&cursor, "nowhere", 0, &error), EVENTRING_E_NOT_FOUND);
  assert_non_null(strstr(error.text, "nowhere"));
  write_file(original, original_size);
  unlink("link.eventring");
  assert_int_equal(symlink(mutant_path, "link.eventring"), 0);
  assert_int_equal(eventring_open_path(&cursor, "link.eventring", 0, &error),
                   EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(eventring_open_path(&cursor, "link.eventring", EVENTRING_OPEN_FOLLOW, &error),
                   EVENTRING_OK);
  assert_int_equal(eventring_cursor_control(cursor, EVENTRING_CHANGE(PAUSE), &error),
                   EVENTRING_E_PERMISSION);
  assert_int_equal(eventring_close(cursor), EVENTRING_OK);
  assert_int_equal(mkfifo("fifo.eventring", 0600), 0);
  assert_int_equal(eventring_open_path(&cursor, "fifo.eventring", 0, &error),
                   EVENTRING_E_NOT_EVENTRING);
  unlink("link.eventring");
  unlink("fifo.eventring");
}

/* ---- At random -------------------------------------------------------------------- */

/* Returns a random place with something in it. */
static size_t random_place(const uint8_t *bytes) {
  const uint64_t blocks = (original_size - FORMAT_BLOCKS_OFFSET) / FORMAT_BLOCK_BYTES;
  for (int attempt = 0; attempt < 64; attempt++) {
    size_t at = random64() % original_size & ~(size_t)7;
    static const size_t from[] = {0, 4096, 8192, 9216, 12288};
    if (attempt < 4) at = from[random64() % 5] + (random64() % 512 & ~(uint64_t)7);
    else if (attempt < 8)
      at = format_block_offset(random64() % blocks) + (random64() % 512 & ~(uint64_t)7);
    if (at < original_size && (bytes[at] || attempt == 63)) return at;
  }
  return 0;
}

static void mutate(uint8_t *bytes, size_t *size) {
  static const uint64_t extremes[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63, 0x7fffffff,
                                      0xffffffff, 512, 4096};
  for (uint64_t count = 1 + random64() % 6; count; count--) {
    size_t at = random_place(bytes);
    switch (random64() % 6) {
      case 0: bytes[at + random64() % 8] ^= (uint8_t)(1 << random64() % 8); break;
      case 1: memcpy(bytes + at, &extremes[random64() % 8], 8); break;
      case 2: memcpy(bytes + at, &extremes[random64() % 8], 4); break;
      case 3: { uint64_t r = random64(); memcpy(bytes + at, &r, 8); break; }
      case 4: memmove(bytes + at, bytes + random_place(bytes), 8); break;
      case 5: if (random64() % 8 == 0) *size = random64() % original_size; break;
    }
  }
  if (random64() % 4) /* corrects the checksum, so that it does not protect the reader */
    for (size_t at = FORMAT_BLOCKS_OFFSET; at < original_size; at += FORMAT_BLOCK_BYTES)
      seal(bytes + at);
}

static void random_mutations(void **state) {
  uint8_t *bytes = malloc(original_size);
  assert_non_null(bytes);
  int codes[32] = {0};
  double slowest = 0;
  for (int i = 0; i < mutations; i++) {
    size_t size = original_size;
    memcpy(bytes, original, original_size);
    mutate(bytes, &size);
    write_file(bytes, size);
    struct timespec a, b;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    int status = read_all(mutant_path, (i % 2 ? EVENTRING_OPEN_MERGED : 0) |
                                           (i % 5 ? 0 : EVENTRING_OPEN_UNMAPPED));
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    double seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    if (seconds > slowest) slowest = seconds;
    assert_true(status <= 0 && status > -32);
    codes[-status]++;
  }
  printf("%d mutations: %d read without complaint, %d corrupt, %d truncated, slowest %.3f s\n",
         mutations, codes[0], codes[-EVENTRING_E_CORRUPT], codes[-EVENTRING_E_TRUNCATED],
         slowest);
  assert_true(slowest < 2);
  free(bytes);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_sample_is_sound), cmocka_unit_test(header_fields),
      cmocka_unit_test(status_fields),
      cmocka_unit_test(a_hole_that_is_claimed), cmocka_unit_test(ring_places),
      cmocka_unit_test(block_fields),        cmocka_unit_test(checksums),
      cmocka_unit_test(event_words),         cmocka_unit_test(definition_fields),
      cmocka_unit_test(clock_and_lives),     cmocka_unit_test(control_page),
      cmocka_unit_test(cut_short),           cmocka_unit_test(cut_short_while_attached),
      cmocka_unit_test(not_a_recording),     cmocka_unit_test(random_mutations),
  };
  mutations /= slowness();
  if (argc > 1) mutations = atoi(argv[1]);
  if (argc > 2) seed = strtoull(argv[2], NULL, 0) | 1;
  register_test_events();
  write_sample();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  free(original);
  unlink(mutant_path);
  unlink("copy.eventring");
  return failed;
}
