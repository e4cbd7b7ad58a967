/* SPDX-License-Identifier: MIT */
/* eventring_window_test.c: files that are read through a mapping: when they are mapped,
   what happens to the handler of SIGBUS, and what the owner may do to the files
   meanwhile. */
#include "eventring/tools.h"
#include "eventring_common.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char path[4096];
static eventring_domain *domain;

static void begin(void) {
  start_preserved(EVENTRING_MIN_WSIZE);
  snprintf(path, sizeof path, "%s", own_path());
  domain = start_domain("one");
  for (int i = 0; i < 3000; i++) eventring_user_counter(domain, T_COUNT, i);
}

static void end(void) {
  if (domain) eventring_domain_stop(domain);
  domain = NULL;
  eventring_stop();
  unlink(path);
}

/* Tells whether the file is mapped for reading only. (The producer maps it
   for writing, too.) */
static bool is_mapped(void) {
  char line[4400];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  while (fgets(line, sizeof line, maps))
    found |= strstr(line, " r--s ") && strstr(line, strrchr(path, '/'));
  fclose(maps);
  return found;
}

static bool opens_mapped(unsigned flags) {
  eventring_cursor *cursor = open_file(path, flags);
  struct log log = {0};
  bool mapped = is_mapped();
  assert_true(poll_log(cursor, &log, 0) > 0);
  clear_log(&log);
  eventring_close(cursor);
  assert_false(is_mapped());
  return mapped;
}

/* ---- When the file is mapped ------------------------------------------------------ */

static void mapped_where_it_is_safe(void) {
  assert_true(opens_mapped(0));
  assert_false(opens_mapped(EVENTRING_OPEN_UNMAPPED));
}

static void not_with_the_signal_blocked(void) {
  sigset_t bus, before;
  sigemptyset(&bus);
  sigaddset(&bus, SIGBUS);
  pthread_sigmask(SIG_BLOCK, &bus, &before);
  assert_false(opens_mapped(0));
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  assert_true(opens_mapped(0));
}

static void not_under_a_limit(void) {
  struct rlimit before, limit;
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  limit = before;
  limit.rlim_cur = (rlim_t)1 << 60;
  if (before.rlim_max < limit.rlim_cur) return;
  assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
  bool mapped = opens_mapped(0);
  assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
  assert_false(mapped);
}

static void host_handler(int number) { (void)number; }

static void not_below_another_handler(void) {
  struct sigaction ours, mine = {.sa_handler = host_handler}, now;
  sigaction(SIGBUS, &mine, &ours);
  assert_false(opens_mapped(0));
  sigaction(SIGBUS, NULL, &now);
  assert_true(now.sa_handler == host_handler);
  sigaction(SIGBUS, &ours, NULL);
  assert_true(opens_mapped(0));
}

static void both_ways_alike(void) {
  struct log mapped = {0}, read = {0};
  eventring_cursor *a = open_file(path, 0), *b = open_file(path, EVENTRING_OPEN_UNMAPPED);
  for (int i = 0; i < 20; i++) {
    assert_int_equal(poll_log(a, &mapped, 0), poll_log(b, &read, 0));
    for (int n = 0; n < i; n++) eventring_user_counter(domain, T_COUNT, n);
  }
  assert_int_equal(mapped.count, read.count);
  assert_int_equal(mapped.before[EVENTRING_USER], read.before[EVENTRING_USER]);
  for (size_t i = 0; i < read.count; i++)
    assert_true(mapped.seen[i].event.ns == read.seen[i].event.ns &&
                mapped.seen[i].event.value.i == read.seen[i].event.value.i);
  clear_log(&mapped);
  clear_log(&read);
  eventring_close(a);
  eventring_close(b);
}

/* Checks that a program that only reads is not taken for a recording, whatever it
   maps. */
static void a_reader_is_not_found(void) {
  char copy[] = "copy.eventring";
  eventring_cursor *cursor, *other;
  struct stat st;
  int from = open(path, O_RDONLY), to = open(copy, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_int_equal(fstat(from, &st), 0);
  assert_int_equal(sendfile(to, from, NULL, (size_t)st.st_size), st.st_size);
  close(from);
  close(to);
  end();
  cursor = open_file(copy, 0);
  snprintf(path, sizeof path, "/%s", copy);
  assert_true(is_mapped());
  assert_int_equal(eventring_open_pid(&other, getpid(), 0, NULL), EVENTRING_E_NOT_FOUND);
  eventring_close(cursor);
  unlink(copy);
}

/* ---- What is done to the file ----------------------------------------------------- */

static void read_to_the_end(eventring_cursor *cursor, struct log *log) {
  while (poll_log(cursor, log, 0) > 0) continue;
  assert_int_equal(poll_log(cursor, log, 0), 0);
}

/* Cuts the file to `size`, and checks what two readers report: a reader that had read
   everything, and a reader that had read nothing. */
static void cut(off_t size, bool grows, unsigned flags, int expected) {
  struct log log = {0};
  begin();
  eventring_cursor *idle = open_file(path, flags), *fresh = open_file(path, flags);
  read_to_the_end(idle, &log);
  assert_int_equal(truncate(path, size), 0);
  if (grows) assert_int_equal(truncate(path, 1 << 23), 0);
  assert_int_equal(poll_log(idle, &log, 0), expected);
  assert_true(eventring_cursor_error(idle)->text[0]);
  int status = poll_log(fresh, &log, 0);
  if (status >= 0) status = poll_log(fresh, &log, 0);
  assert_int_equal(status, expected);
  for (int i = 0; i < 5; i++) poll_log(idle, &log, 0);
  eventring_close(idle);
  eventring_close(fresh);
  clear_log(&log);
  end();
}

static void cut_while_attached(void) {
  for (unsigned flags = 0; flags <= EVENTRING_OPEN_UNMAPPED; flags += EVENTRING_OPEN_UNMAPPED) {
    cut(0, false, flags, EVENTRING_E_TRUNCATED);
    cut(4096, false, flags, EVENTRING_E_TRUNCATED);
    cut(FORMAT_BLOCKS_OFFSET, false, flags, EVENTRING_E_TRUNCATED);
    cut(FORMAT_BLOCKS_OFFSET + 4096, false, flags, EVENTRING_E_TRUNCATED);
    cut(0, true, flags, EVENTRING_E_CORRUPT);
  }
}

static void punch(uint64_t offset, uint64_t bytes) {
  static const uint8_t zeros[4096];
  int fd = open(path, O_WRONLY);
  assert_true(fd >= 0);
  for (; bytes; offset += sizeof zeros, bytes -= sizeof zeros)
    assert_int_equal(pwrite(fd, zeros, sizeof zeros, (off_t)offset), sizeof zeros);
  close(fd);
}

static void punch_user_ring(void) {
  punch(ring_block_offset(path, 0, EVENTRING_USER, 1),
        format_ring_blocks(EVENTRING_MIN_WSIZE) * (uint64_t)FORMAT_BLOCK_BYTES);
}

/* Checks the removal of blocks that were read already. A reader notices this at the end
   at the latest. */
static void holes_in_what_was_read(void) {
  for (unsigned flags = 0; flags <= EVENTRING_OPEN_UNMAPPED; flags += EVENTRING_OPEN_UNMAPPED) {
    struct log log = {0};
    begin();
    eventring_cursor *cursor = open_file(path, flags);
    read_to_the_end(cursor, &log);
    punch_user_ring();
    eventring_domain_stop(domain);
    domain = NULL;
    eventring_stop();
    assert_int_equal(poll_log(cursor, &log, 0), EVENTRING_E_CORRUPT);
    assert_non_null(strstr(eventring_cursor_error(cursor)->text, "ring 1"));
    assert_true(eventring_finished(cursor));
    assert_int_equal(poll_log(cursor, &log, 0), 0); /* reported once */
    eventring_close(cursor);
    clear_log(&log);
  }
}

/* Checks the removal of unread blocks that should be there according to the head. This is
   no loss. */
static void holes_in_what_was_not(void) {
  for (unsigned flags = 0; flags <= EVENTRING_OPEN_UNMAPPED; flags += EVENTRING_OPEN_UNMAPPED) {
    struct log log = {0};
    begin();
    eventring_cursor *cursor = open_file(path, flags);
    punch_user_ring();
    assert_int_equal(poll_log(cursor, &log, 0), EVENTRING_E_CORRUPT);
    assert_non_null(strstr(eventring_cursor_error(cursor)->text, "ring 1"));
    punch(FORMAT_DOMAINS_OFFSET, 4096);
    /* The heads have gone back. */
    assert_int_equal(poll_log(cursor, &log, 0), EVENTRING_E_CORRUPT);
    eventring_close(cursor);
    clear_log(&log);
    end();
  }
}

/* ---- While the file is read ------------------------------------------------------- */

static bool done; /* atomic */

enum { FRONT = FORMAT_DOMAINS_OFFSET + 4096, MOST_BLOCKS = 64 };
static uint8_t front[FRONT], blocks[MOST_BLOCKS * FORMAT_BLOCK_BYTES];
static size_t block_bytes; /* bytes of the file's blocks */

static bool copy_parts(int fd, ssize_t (*copy)(int fd, uint8_t *bytes, size_t size, off_t at)) {
  return copy(fd, front, FRONT, 0) == FRONT &&
         copy(fd, blocks, block_bytes, FORMAT_BLOCKS_OFFSET) == (ssize_t)block_bytes;
}
static bool measure_blocks(int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0 || st.st_size < FORMAT_BLOCKS_OFFSET + 8 * FORMAT_BLOCK_BYTES)
    return false;
  block_bytes = (size_t)st.st_size - FORMAT_BLOCKS_OFFSET;
  if (block_bytes > sizeof blocks) block_bytes = sizeof blocks;
  return true;
}
static ssize_t save(int fd, uint8_t *bytes, size_t size, off_t at) {
  return pread(fd, bytes, size, at);
}
static ssize_t restore(int fd, uint8_t *bytes, size_t size, off_t at) {
  return pwrite(fd, bytes, size, at);
}

/* Stores at random into what readers read, cuts the file short, and repairs it. */
static void *do_harm(void *argument) {
  uint64_t seed = (uintptr_t)argument | 1;
  int fd = open(path, O_RDWR);
  bool good = fd >= 0 && measure_blocks(fd) && copy_parts(fd, save);
  while (good && !__atomic_load_n(&done, __ATOMIC_RELAXED)) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    uint64_t offset = seed % 8 < 1 ? FORMAT_STATUS_OFFSET + seed / 8 % 12288
                                   : FORMAT_BLOCKS_OFFSET + seed / 8 % block_bytes;
    uint64_t value = seed & 1024 ? seed : seed % 3;
    good = pwrite(fd, &value, sizeof value, (off_t)(offset & ~(uint64_t)7)) > 0;
    if (seed % 67 == 0) good &= ftruncate(fd, FORMAT_BLOCKS_OFFSET + 8192) == 0;
    if (seed % 31 == 0) good &= copy_parts(fd, restore);
  }
  if (fd >= 0) close(fd);
  return (void *)(uintptr_t)good;
}

static int use_event(void *context, const struct eventring_event *event) {
  uint64_t *sum = context;
  assert_true(event->size <= EVENTRING_MAX_PAYLOAD + 8);
  for (size_t i = 0; i < event->size; i++) *sum += ((const uint8_t *)event->bytes)[i];
  *sum += strlen(event->name);
  if (event->flags & EVENTRING_MATCHED) assert_true(event->ns >= event->begin_ns);
  return 0;
}

static void its_owner_writes_anything(void) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, use_event, NULL};
  pthread_t thread;
  uint64_t sum = 0;
  for (int i = 0; i < 2000; i++)
    eventring_instant_bytes(domain, EVENTRING_USER, EVENTRING_CLASS_USER, T_TEXT, "a text", 6);
  eventring_domain_stop(domain);
  domain = NULL;
  eventring_stop();
  __atomic_store_n(&done, false, __ATOMIC_RELAXED);
  assert_int_equal(pthread_create(&thread, NULL, do_harm, (void *)(uintptr_t)0x5a05), 0);
  unsigned opened = 0;
  for (int i = 0; i < 100000 && opened < 200; i++) {
    eventring_cursor *cursor;
    unsigned flags =
        (i % 2 ? EVENTRING_OPEN_MERGED : 0) | (i % 4 == 3 ? EVENTRING_OPEN_UNMAPPED : 0);
    if (eventring_open_path(&cursor, path, flags, NULL) != EVENTRING_OK) continue;
    opened++;
    for (int polls = 0; polls < 5; polls++) eventring_poll(cursor, &callbacks, &sum, 0);
    eventring_close(cursor);
  }
  __atomic_store_n(&done, true, __ATOMIC_RELAXED);
  void *good;
  pthread_join(thread, &good);
  assert_non_null(good);
  assert_int_equal(opened, 200);
  assert_true(sum > 0);
}

/* ---- The handler ------------------------------------------------------------------ */

/* Checks, in a process that has not recorded yet, that the handler is set while a window
   exists. */
static int handler_comes_and_goes(const char *file) {
  struct sigaction before, during, after;
  eventring_cursor *a, *b;
  sigaction(SIGBUS, NULL, &before);
  if (eventring_open_path(&a, file, 0, NULL) || eventring_open_path(&b, file, 0, NULL)) return 1;
  sigaction(SIGBUS, NULL, &during);
  if (during.sa_handler == before.sa_handler) return 2;
  eventring_close(a);
  sigaction(SIGBUS, NULL, &after);
  if (after.sa_handler != during.sa_handler) return 3;
  eventring_close(b);
  sigaction(SIGBUS, NULL, &after);
  return after.sa_handler == before.sa_handler ? 0 : 4;
}

static void the_handler_goes_with_the_last(void) {
  char command[9000], self[4096];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  assert_true(size > 0);
  self[size] = 0;
  snprintf(command, sizeof command, "'%s' handler '%s'", self, path);
  assert_int_equal(system(command), 0);
}

/* ---- The program ------------------------------------------------------------------ */

static const struct {
  const char *name;
  void (*run)(void);
  bool alone; /* the test makes its recordings itself */
} tests[] = {{"mapped where it is safe", mapped_where_it_is_safe, false},
             {"not with the signal blocked", not_with_the_signal_blocked, false},
             {"not under a limit", not_under_a_limit, false},
             {"not below another handler", not_below_another_handler, false},
             {"both ways alike", both_ways_alike, false},
             {"a reader is not found", a_reader_is_not_found, false},
             {"the handler goes with the last", the_handler_goes_with_the_last, false},
             {"cut while attached", cut_while_attached, true},
             {"holes in what was read", holes_in_what_was_read, true},
             {"holes in what was not", holes_in_what_was_not, true},
             {"its owner writes anything", its_owner_writes_anything, false}};

/* Runs a test in a process of its own, where no other code has set handlers: cmocka's
   runner sets a handler of SIGBUS. (Outside of the runner, cmocka's assertions end the
   process.) */
static int run(size_t i) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    if (!tests[i].alone) begin();
    tests[i].run();
    if (!tests[i].alone) end();
    exit(0);
  }
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  printf("%s: %s\n", tests[i].name, status ? "FAILED" : "ok");
  fflush(stdout);
  return status != 0;
}

int main(int argc, char **argv) {
  int failures = 0;
  if (argc == 3 && strcmp(argv[1], "handler") == 0) return handler_comes_and_goes(argv[2]);
  register_test_events();
  for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) failures += run(i);
  return failures != 0;
}
