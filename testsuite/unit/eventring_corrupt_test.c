/* SPDX-License-Identifier: MIT */
/* eventring_corrupt_test.c: hostile and damaged files: an error that says so, never a
   crash, never a hang.
 *
 *   eventring_corrupt_test [MUTATIONS [SEED]]     (default 3000, less in slow builds; 1)
 */
#include "eventring_common.h"

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

/* ---- The sample: a wrapped user ring, a runtime ring that is not, two domains ---- */

static void write_sample(void) {
  start_recorder(EVENTRING_MIN_WSIZE);
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
  eventring_stop_preserve(true);
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

/* Only what is not a hole is written: most of the file is empty. */
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

/* ---- Reading to the end --------------------------------------------------------------- */

static int read_bytes(void *context, const struct eventring_event *event) {
  uint64_t *sum = context;
  for (size_t i = 0; i < event->size; i++) *sum += ((const uint8_t *)event->bytes)[i];
  *sum += strlen(event->name) + event->flags + event->depth;
  if (event->flags & EVENTRING_MATCHED) assert_true(event->ns >= event->begin_ns);
  return 0;
}

/* Uses everything there is; returns the first error, or OK. */
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
  struct eventring_callbacks callbacks = {.event = read_bytes};
  for (int polls = 0; polls < 50; polls++) {
    status = eventring_poll(cursor, &callbacks, &sum, 0);
    if (status < 0 && first == EVENTRING_OK) first = status;
    if (status == 0 || (status < 0 && eventring_finished(cursor))) break;
  }
  struct eventring_info info;
  eventring_cursor_info(cursor, &info);
  for (unsigned slot = 0; slot < 4; slot++) {
    struct eventring_domain_info d;
    struct eventring_ring_info r;
    eventring_cursor_domain(cursor, slot, &d);
    eventring_cursor_ring(cursor, slot, EVENTRING_USER, &r);
  }
  eventring_open_spans(cursor, read_bytes, &sum);
  unlink("copy.eventring");
  eventring_snapshot(cursor, "copy.eventring", NULL);
  eventring_close(cursor);
  return first;
}

static void the_sample_is_sound(void **state) {
  (void)state;
  write_file(original, original_size);
  assert_int_equal(read_all(mutant_path, 0), EVENTRING_OK);
  assert_int_equal(read_all("copy.eventring", EVENTRING_OPEN_MERGED), EVENTRING_OK);
}

/* ---- One field at a time ----------------------------------------------------------------- */

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
  (void)state;
  static const size_t geometry[] = {16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 76, 80, 88, 96, 108};
  assert_int_equal(with_bytes(0, "\x89PNG", 4), EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(with_u32(8, 2), EVENTRING_E_VERSION);
  assert_int_equal(with_u32(12, 0x04030201), EVENTRING_E_BYTE_ORDER);
  assert_int_equal(with_u32(12, 0), EVENTRING_E_CORRUPT);
  for (size_t i = 0; i < sizeof geometry / sizeof geometry[0]; i++) {
    assert_int_equal(with_u32(geometry[i], 0), EVENTRING_E_CORRUPT);
    assert_int_equal(with_u32(geometry[i], 0xffffffff), EVENTRING_E_CORRUPT);
  }
}

static void status_fields(void **state) {
  (void)state;
  const size_t at = FORMAT_STATUS_OFFSET;
  assert_int_equal(with_u32(at, 7), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u32(at + 4, 129), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u32(at + 4, 128), EVENTRING_E_TRUNCATED);
  assert_int_equal(with_u32(at + 8, 8193), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u32(at + 8, 8192), EVENTRING_E_CORRUPT); /* not there */
  assert_int_equal(with_u32(at + 12, 0), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u32(at + 12, 5), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u64(at + 48, 0), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u64(at + 48, UINT64_MAX), EVENTRING_E_CORRUPT);
}

static void block_fields(void **state) {
  (void)state;
  const size_t at = FORMAT_RINGS_OFFSET; /* first block of the runtime ring */
  assert_int_equal(with_u64(at, 99), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u32(at + 8, 3), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u32(at + 12, 5), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u32(at + 16, 0), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u32(at + 20, 65), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u64(at + 40, UINT64_MAX), EVENTRING_E_CORRUPT);
  /* an event that would reach beyond its block, at the very end of one */
  size_t user = at + (8 << EVENTRING_MIN_WSIZE);
  assert_int_equal(with_u64(user + 4096 - 8, 4 | 127 << 3), EVENTRING_E_CORRUPT);
  /* a word in the place of an event that is none */
  assert_int_equal(with_u64(at + 64, (uint64_t)1 << 40), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u64(FORMAT_DOMAINS_OFFSET + 64, UINT64_MAX), EVENTRING_E_CORRUPT);
  assert_int_equal(with_u64(FORMAT_DOMAINS_OFFSET + 72, (uint64_t)1 << 63),
                   EVENTRING_E_CORRUPT);
  assert_int_equal(with_u32(FORMAT_CATALOGUE_OFFSET + 64 + 16 * 240, 0), EVENTRING_OK);
  assert_int_equal(with_u32(FORMAT_CATALOGUE_OFFSET + 4096 + 64, 0xffffff), EVENTRING_E_CORRUPT);
}

static void cut_short(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 7, 8, 100, 999, 1000, 4096, 5000, 8192, 12287,
                                 12288, 20000, 65536, 65600, 70000, 2162687, 2162688,
                                 2162700, 2170000, 2200000};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    if (sizes[i] >= original_size) continue;
    write_file(original, sizes[i]);
    int status = read_all(mutant_path, 0);
    assert_int_equal(status, sizes[i] < 8 ? EVENTRING_E_NOT_EVENTRING
                                          : EVENTRING_E_TRUNCATED);
  }
}

static void cut_short_while_attached(void **state) {
  (void)state;
  struct log log = {0};
  write_file(original, original_size);
  eventring_cursor *cursor = open_file(mutant_path, 0);
  assert_true(poll_log(cursor, &log, 10) == 10);
  assert_int_equal(truncate(mutant_path, FORMAT_RINGS_OFFSET), 0);
  for (int i = 0; i < 10; i++) poll_log(cursor, &log, 0);
  assert_int_equal(truncate(mutant_path, 0), 0);
  int status = poll_log(cursor, &log, 0);
  assert_int_equal(status, EVENTRING_E_TRUNCATED);
  assert_true(eventring_cursor_error(cursor)->text[0]);
  clear_log(&log);
  eventring_close(cursor);
}

static void not_a_recording(void **state) {
  (void)state;
  struct eventring_error error;
  eventring_cursor *cursor;
  assert_int_equal(eventring_open_path(&cursor, "/dev/null", 0, &error), EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(eventring_open_path(&cursor, "/", 0, &error), EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(eventring_open_path(&cursor, "/etc/passwd", 0, &error), EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(eventring_open_path(&cursor, "nowhere", 0, &error), EVENTRING_E_NOT_FOUND);
  assert_non_null(strstr(error.text, "nowhere"));
  write_file(original, original_size);
  unlink("link.eventring");
  assert_int_equal(symlink(mutant_path, "link.eventring"), 0);
  assert_int_equal(eventring_open_path(&cursor, "link.eventring", 0, &error), EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(mkfifo("fifo.eventring", 0600), 0);
  assert_int_equal(eventring_open_path(&cursor, "fifo.eventring", 0, &error), EVENTRING_E_NOT_EVENTRING);
  unlink("link.eventring");
  unlink("fifo.eventring");
}

/* ---- At random --------------------------------------------------------------------------------- */

/* A place where something is. */
static size_t random_place(const uint8_t *bytes) {
  for (int attempt = 0; attempt < 64; attempt++) {
    size_t at = random64() % original_size & ~(size_t)7;
    static const size_t from[] = {0, 4096, 8192, 12288, 65536, FORMAT_RINGS_OFFSET,
                                  FORMAT_RINGS_OFFSET + 16384};
    if (attempt < 8) at = from[random64() % 7] + (random64() % 512 & ~(uint64_t)7);
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
}

static void random_mutations(void **state) {
  (void)state;
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
      cmocka_unit_test(status_fields),       cmocka_unit_test(block_fields),
      cmocka_unit_test(cut_short),           cmocka_unit_test(cut_short_while_attached),
      cmocka_unit_test(not_a_recording),     cmocka_unit_test(random_mutations),
  };
  const char *slowness = getenv("TEST_SLOWNESS");
  if (slowness && atoi(slowness) > 1) mutations /= atoi(slowness);
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
