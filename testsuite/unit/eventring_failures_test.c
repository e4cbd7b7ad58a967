/* SPDX-License-Identifier: MIT */
/* eventring_failures_test.c: each system call and each allocation of the library fails
 * once.
 *
 * The linker replaces functions of the C library with the functions of CALLS below
 * (-Wl,--wrap, testsuite/unit/eventring.mk). For each function, and each way in which it
 * fails, a scenario is repeated with its first, second ... call failing, until the
 * scenario makes no more calls. Whatever fails: the status is one of the documented codes
 * and has a text, the program goes on, no descriptor stays open, and the same scenario
 * succeeds afterwards.
 */
#include "eventring/saver.h"
#include "eventring/tools.h"
#include "eventring_common.h"
#include "format/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

static const struct eventring_saver_options no_options;

/* ---- What fails ------------------------------------------------------------------- */

#ifdef __GLIBC__
typedef __rlimit_resource_t Resource;
#else
typedef int Resource;
#endif

/* X(name, type of the result, parameters, arguments, result of a failure). Variadic
   functions have the parameters that the library passes. */
#define CALLS(X) \
  X(ftruncate, int, (int fd, off_t size), (fd, size), -1) \
  X(mmap, void *, (void *at, size_t size, int prot, int flags, int fd, off_t from), \
    (at, size, prot, flags, fd, from), MAP_FAILED) \
  X(open, int, (const char *path, int flags, mode_t mode), (path, flags, mode), -1) \
  X(openat, int, (int dir, const char *path, int flags, mode_t mode), (dir, path, flags, mode), \
    -1) \
  X(fcntl, int, (int fd, int command, void *argument), (fd, command, argument), -1) \
  X(unlink, int, (const char *path), (path), -1) \
  X(unlinkat, int, (int dir, const char *path, int flags), (dir, path, flags), -1) \
  X(renameat, int, (int from, const char *old, int to, const char *name), (from, old, to, name), \
    -1) \
  X(fstat, int, (int fd, struct stat *st), (fd, st), -1) \
  X(fstatat, int, (int dir, const char *path, struct stat *st, int flags), \
    (dir, path, st, flags), -1) \
  X(fstatfs, int, (int fd, struct statfs *fs), (fd, fs), -1) \
  X(pread, ssize_t, (int fd, void *to, size_t size, off_t from), (fd, to, size, from), -1) \
  X(pwrite, ssize_t, (int fd, const void *of, size_t size, off_t to), (fd, of, size, to), -1) \
  X(read, ssize_t, (int fd, void *to, size_t size), (fd, to, size), -1) \
  X(posix_fallocate, int, (int fd, off_t from, off_t size), (fd, from, size), injected_errno) \
  X(madvise, int, (void *at, size_t size, int advice), (at, size, advice), -1) \
  X(getrlimit, int, (Resource what, struct rlimit *limit), (what, limit), -1) \
  X(close, int, (int fd), (fd), -1) \
  X(realpath, char *, (const char *path, char *to), (path, to), NULL) \
  X(gethostname, int, (char *name, size_t size), (name, size), -1) \
  X(sigaction, int, (int number, const struct sigaction *new, struct sigaction *old), \
    (number, new, old), -1) \
  X(opendir, DIR *, (const char *path), (path), NULL) \
  X(malloc, void *, (size_t size), (size), NULL) \
  X(calloc, void *, (size_t count, size_t size), (count, size), NULL) \
  X(realloc, void *, (void *old, size_t size), (old, size), NULL) \
  X(posix_memalign, int, (void **at, size_t align, size_t size), (at, align, size), ENOMEM)

enum call {
#define ENUM(name, result, parameters, arguments, failed) CALL_##name,
  CALLS(ENUM)
#undef ENUM
  CALL_syscall,
  CALL_COUNT
};

static const char *const call_names[CALL_COUNT] = {
#define NAME(name, result, parameters, arguments, failed) [CALL_##name] = #name,
    CALLS(NAME)
#undef NAME
    [CALL_syscall] = "syscall"};

static enum call victim = CALL_COUNT;
static unsigned left; /* number of calls up to the one that fails; 0 after it has failed,
                         or if none will */
static int injected_errno;

static void (*before_mmap)(void); /* called before each mmap; NULL for nothing */

static bool fails(enum call call) {
  if (call == CALL_mmap && before_mmap) before_mmap();
  if (call != victim || !left || --left) return false;
  errno = injected_errno;
  return true;
}

/* A call that fails has no effect, except that a failed close has closed the file, as in
   Linux. */
#define WRAP(name, result, parameters, arguments, failed) \
  result __real_##name parameters; \
  result __wrap_##name parameters; \
  result __wrap_##name parameters { \
    if (!fails(CALL_##name)) return __real_##name arguments; \
    if (CALL_##name == CALL_close) (void)__real_##name arguments; \
    return failed; \
  }
CALLS(WRAP)

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
  /* (how often threads wait depends on scheduling) */
  return number != SYS_futex && fails(CALL_syscall) ? -1 : __real_syscall(number, a, b, c, d, e, f);
}

/* ---- Scenarios -------------------------------------------------------------------- */

static void check_status(int status, const struct eventring_error *error) {
  if (status >= 0) return;
  assert_string_not_equal(eventring_strerror(status), "unknown error");
  assert_int_equal(error->code, status);
  assert_true(error->text[0] != 0 && memchr(error->text, 0, sizeof error->text));
}

static struct eventring_config config_of(const char *name) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  config.name = name;
  return config;
}

/* Writes enough events for several blocks into each ring, and registers a definition.
   Probes leave errno as it is, whatever fails. */
static void write_much(eventring_domain *d) {
  static unsigned number;
  char name[32];
  int size = snprintf(name, sizeof name, "of %u", number++ % 1000);
  (void)eventring_register_user(EVENTRING_DEF_SPAN, name, (size_t)size, EVENTRING_NONE, NULL);
  errno = ECHILD;
  for (int i = 0; i < 700; i++) {
    eventring_begin_int(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, i);
    eventring_set_context(d, EVENTRING_USER, (uint64_t)(i / 10 + 1));
    eventring_user_begin(d, T_FLOOD);
    eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_TEXT, "text", 4);
    if (i % 2) eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
  }
  assert_int_equal(errno, ECHILD);
}

static int record(void) {
  struct eventring_config config = config_of("%n-%h");
  struct eventring_error error = {0}, other = {0};
  char path[64];
  int status = eventring_start(&config, &error);
  check_status(status, &error);
  eventring_domain *d = eventring_domain_start("d", &other);
  check_status(other.code, &other);
  eventring_domain *second = eventring_domain_start("second", NULL);
  write_much(d);
  write_much(second);
  eventring_domain_rename(d, "renamed");
  (void)eventring_pause();
  (void)eventring_resume();
  eventring_domain_check(d);
  eventring_path(path, sizeof path);
  eventring_domain_stop(second);
  eventring_domain_stop(d);
  (void)eventring_stop();
  return status ? status : other.code;
}

static int stand_by(void) {
  struct eventring_config config = config_of("standby");
  struct eventring_error error = {0};
  config.start = EVENTRING_START_STANDBY;
  int status = eventring_start(&config, &error);
  check_status(status, &error);
  eventring_domain *d = eventring_domain_start("d", NULL);
  (void)eventring_resume();
  eventring_domain_check(d);
  write_much(d);
  eventring_domain_stop(d);
  eventring_end_in_handler();
  (void)eventring_stop();
  return status;
}

/* Records into rings that grow as soon as they may. */
static int record_and_grow(void) {
  struct eventring_config config = config_of("grows");
  struct eventring_error error = {0};
  config.hold_ns = 3600 * 1000000000ull;
  int status = eventring_start(&config, &error);
  check_status(status, &error);
  eventring_domain *d = eventring_domain_start("d", NULL);
  for (int i = 0; i < 4; i++) write_much(d);
  eventring_domain_stop(d);
  (void)eventring_stop();
  return status;
}

/* Records a stream, which goes on whatever fails. */
static int record_stream(void) {
  struct eventring_config config = config_of(NULL);
  struct eventring_error error = {0}, other = {0};
  config.stream = "./streamed";
  int status = eventring_start(&config, &error);
  check_status(status, &error);
  eventring_domain *d = eventring_domain_start("d", &other);
  check_status(other.code, &other);
  for (int i = 0; i < 20; i++) write_much(d);
  eventring_domain_stop(d);
  (void)eventring_stop();
  __real_unlink("streamed.eventring");
  return status ? status : other.code;
}

enum { SAVED_BYTES = 1 << 20, PIECES = 32 };

/* Makes one round of a saver, and writes a front. */
static int save_round(eventring_saver *saver, uint8_t *buffer, bool is_last) {
  struct eventring_error error = {0};
  struct eventring_piece piece[PIECES];
  size_t used;
  bool more = true;
  int status = eventring_saver_fill(saver, buffer, SAVED_BYTES, piece, PIECES, &used, &error);
  check_status(status, &error);
  for (int i = 0; status >= 0 && more && i < 100; i++)
    status =
        eventring_saver_update(saver, buffer, SAVED_BYTES, piece, PIECES, &used, &more, &error);
  check_status(status, &error);
  if (status >= 0)
    status = eventring_saver_front(saver, buffer, UINT64_MAX, is_last, piece, &error);
  check_status(status, &error);
  return status < 0 ? status : 0;
}

/* Saves the rings of a live recording into one file, and then into another file. */
static int save_live(void) {
  static uint64_t buffer[SAVED_BYTES / 8];
  struct eventring_config config = config_of("saved");
  struct eventring_error error = {0};
  eventring_cursor *cursor = NULL;
  eventring_saver *saver = NULL, *next = NULL;
  int worst = eventring_start(&config, &error);
  check_status(worst, &error);
  eventring_domain *d = eventring_domain_start("d", NULL);
  write_much(d);
  int status = worst < 0 ? worst : eventring_open_path(&cursor, "saved.eventring", 0, &error);
  if (status >= 0) status = eventring_saver_open(&saver, cursor, &no_options, &error);
  check_status(status, &error);
  for (int i = 0; saver && i < 3; i++) {
    write_much(d);
    int round = save_round(saver, (uint8_t *)buffer, false);
    if (round < 0) status = round;
  }
  if (saver && eventring_saver_next(saver, &next, 1 << 22, &error) == EVENTRING_OK) {
    write_much(d);
    int first = save_round(saver, (uint8_t *)buffer, true);
    int second = save_round(next, (uint8_t *)buffer, false);
    if (first < 0 || second < 0) status = first < 0 ? first : second;
    eventring_saver_end(next, false, NULL);
    (void)save_round(next, (uint8_t *)buffer, true);
    eventring_saver_close(next);
  }
  eventring_saver_close(saver);
  eventring_close(cursor);
  eventring_domain_stop(d);
  (void)eventring_stop();
  return status;
}

static void copy_file(const char *from, const char *to) {
  static char bytes[1 << 20];
  int source = __real_open(from, O_RDONLY, 0);
  ssize_t size = __real_read(source, bytes, sizeof bytes);
  __real_close(source);
  int target = __real_open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_int_equal(write(target, bytes, (size_t)size), size);
  __real_close(target);
}

static void remove_set_aside(void) {
  DIR *dir = __real_opendir(".");
  for (struct dirent *entry; (entry = readdir(dir));)
    if (strncmp(entry->d_name, "in-the-way", 10) == 0) __real_unlink(entry->d_name);
  closedir(dir);
}

/* Records to a path at which there is the file of a dead recording. */
static int record_in_its_place(void) {
  struct eventring_config config = config_of("in-the-way");
  struct eventring_error error = {0};
  enum call held = victim;
  victim = CALL_COUNT;
  copy_file("kept.eventring", "in-the-way.eventring");
  victim = held;
  int status = eventring_start(&config, &error);
  check_status(status, &error);
  (void)eventring_stop();
  remove_set_aside();
  return status;
}

/* Allocates nothing; a callback. */
static int pass(void *context, const struct eventring_event *event) {
  return event->name == NULL;
}
static int poll_all(eventring_cursor *cursor) {
  const struct eventring_callbacks callbacks = {sizeof callbacks, pass, NULL};
  return eventring_poll(cursor, &callbacks, NULL, 0);
}

static int read_kept(unsigned flags) {
  struct eventring_error error = {0};
  struct eventring_info info = {.size = sizeof info};
  struct eventring_ring_info ring = {.size = sizeof ring};
  struct eventring_domain_info domain = {.size = sizeof domain};
  eventring_cursor *cursor;
  int status = eventring_open_path(&cursor, "kept.eventring", flags, &error);
  check_status(status, &error);
  if (status < 0) return status;
  status = poll_all(cursor);
  check_status(status, eventring_cursor_error(cursor));
  for (unsigned i = 0; i < EVENTRING_RINGS; i++)
    (void)eventring_cursor_ring(cursor, 0, (enum eventring_ring)i, &ring);
  (void)eventring_cursor_info(cursor, &info);
  (void)eventring_cursor_domain(cursor, 0, &domain);
  (void)eventring_cursor_life(cursor, 1, 1, &domain);
  (void)eventring_open_spans(cursor, pass, NULL);
  (void)eventring_wait(cursor, 0);
  (void)eventring_cursor_liveness(cursor);
  eventring_close(cursor);
  return status < 0 ? status : 0;
}
static int read_mapped(void) { return read_kept(0); }
static int read_merged(void) { return read_kept(EVENTRING_OPEN_MERGED); }
static int read_unmapped(void) { return read_kept(EVENTRING_OPEN_UNMAPPED); }

struct heard { uint64_t events, lost; };

static int count_event(void *context, const struct eventring_event *event) {
  ((struct heard *)context)->events += !(event->flags & EVENTRING_SYNTHETIC);
  return 0;
}

static int count_loss(void *context, const struct eventring_loss *loss) {
  ((struct heard *)context)->lost += loss->count;
  return 0;
}

/* Polls until there are no more events, however often a poll fails. Returns the first
   failure. */
static int poll_to_the_end(eventring_cursor *cursor, struct heard *heard) {
  const struct eventring_callbacks callbacks = {sizeof callbacks, count_event, count_loss};
  int worst = 0, status;
  do {
    status = eventring_poll(cursor, &callbacks, heard, 0);
    check_status(status, eventring_cursor_error(cursor));
    if (status < 0 && !worst) worst = status;
  } while (status != 0);
  return worst;
}

/* A stream at two moments, and at its end. The stream has some more units each time, few
   enough for MOST_CALLS to reach beyond them. */
enum { MOMENTS = 3, MOST_EVENTS_OF_BLOCK = 512 };
static struct moment { char *bytes; size_t size; } stream_at[MOMENTS];
static uint64_t events_of_stream;

/* Copies the file of a stream. It grows in another thread, so the size that the file
   states must be right for the copy. */
static struct moment moment_of(const char *path) {
  struct stat before, after;
  struct moment moment = {NULL, 0};
  int fd = __real_open(path, O_RDONLY, 0);
  assert_true(fd >= 0);
  assert_int_equal(__real_fstat(fd, &after), 0);
  do {
    before = after;
    moment.size = (size_t)before.st_size;
    moment.bytes = __real_realloc(moment.bytes, moment.size);
    assert_int_equal(__real_pread(fd, moment.bytes, moment.size, 0), moment.size);
    assert_true(__real_fstat(fd, &after) == 0);
  } while (after.st_size != before.st_size);
  __real_close(fd);
  return moment;
}

static void write_moment(int fd, unsigned n) {
  const struct moment *moment = &stream_at[n];
  assert_int_equal(__real_pwrite(fd, moment->bytes, moment->size, 0), moment->size);
  if (n < MOMENTS - 1) return;
  struct flock unlock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
  assert_int_equal(__real_fcntl(fd, F_OFD_SETLK, &unlock), 0);
}

static int open_growing(void) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  int fd = __real_open("growing.eventring", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_true(fd >= 0 && __real_fcntl(fd, F_OFD_SETLK, &lock) == 0);
  write_moment(fd, 0);
  return fd;
}

/* Reads a stream that grows. A call that fails meanwhile loses at most the block that
   could not be read. This block is counted as lost, and the next poll goes on. */
static int read_stream(void) {
  struct eventring_error error = {0};
  eventring_cursor *cursor = NULL;
  struct heard heard = {0};
  int fd = open_growing(), worst = 0;
  int status = eventring_open_path(&cursor, "growing.eventring", 0, &error);
  check_status(status, &error);
  for (unsigned n = 0; status == 0 && n < MOMENTS; n++) {
    if (n) write_moment(fd, n);
    int polled = poll_to_the_end(cursor, &heard);
    if (!worst) worst = polled;
  }
  eventring_close(cursor);
  __real_close(fd);
  if (status == 0 &&
      (heard.lost > MOST_EVENTS_OF_BLOCK || heard.events + heard.lost != events_of_stream))
    fail_msg("%s fails with %d: status %d (%s), %" PRIu64 " events and %" PRIu64
             " lost of %" PRIu64, victim < CALL_COUNT ? call_names[victim] : "no call",
             injected_errno, worst, eventring_strerror(worst), heard.events, heard.lost,
             events_of_stream);
  return status < 0 ? status : worst;
}

/* Reads a recording of this process, from within and from outside, and controls it. */
static int read_live(void) {
  const uint64_t user = EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER);
  struct eventring_config config = config_of("live");
  struct eventring_error error = {0};
  eventring_cursor *cursor[2] = {NULL, NULL};
  int worst = eventring_start(&config, &error);
  check_status(worst, &error);
  eventring_domain *d = eventring_domain_start("d", NULL);
  write_much(d);
  for (int outside = 0; outside < 2; outside++) {
    int status = outside ? eventring_open_pid(&cursor[1], getpid(), EVENTRING_OPEN_NOW, &error)
                         : eventring_open_self(&cursor[0], 0, &error);
    check_status(status, &error);
    if (status < 0) {
      cursor[outside] = NULL;
      worst = status;
      continue;
    }
    write_much(d);
    status = poll_all(cursor[outside]);
    check_status(status, eventring_cursor_error(cursor[outside]));
    if (status < 0) worst = status;
    status = eventring_cursor_control(cursor[outside],
                                      EVENTRING_CHANGE(DISABLE, .classes = user), &error);
    check_status(status, &error);
    if (status < 0) worst = status;
  }
  int status = eventring_control("live.eventring", EVENTRING_CHANGE(PAUSE), &error);
  check_status(status, &error);
  if (status < 0) worst = status;
  (void)eventring_resume();
  eventring_close(cursor[0]);
  eventring_close(cursor[1]);
  eventring_domain_stop(d);
  (void)eventring_stop();
  return worst;
}

static int copy_kept(void) {
  struct eventring_error error = {0};
  eventring_cursor *cursor;
  __real_unlink("copy.eventring");
  int status = eventring_open_path(&cursor, "kept.eventring", 0, &error);
  check_status(status, &error);
  if (status < 0) return status;
  status = eventring_snapshot(cursor, "copy.eventring", &error);
  check_status(status, &error);
  if (status < 0 && victim != CALL_unlink) assert_int_not_equal(access("copy.eventring", F_OK), 0);
  eventring_close(cursor);
  return status;
}

static int remove_copy(void) {
  struct eventring_error error = {0};
  enum call held = victim;
  victim = CALL_COUNT;
  copy_file("kept.eventring", "./removed.eventring");
  victim = held;
  int status = eventring_remove("./removed.eventring", EVENTRING_REMOVE_ENDED, &error);
  check_status(status, &error);
  if (status < 0) assert_int_equal(access("removed.eventring", F_OK), 0);
  return status;
}

static int count_found(void *context, const struct eventring_found *found) {
  *(int *)context += found->path != NULL;
  return 0;
}
static int discover(void) {
  int found = 0;
  int status = eventring_discover(NULL, 0, count_found, &found);
  return status < 0 ? status : status == found ? 0 : EVENTRING_E_STATE;
}

static const struct scenario {
  const char *name;
  int (*run)(void);
} scenarios[] = {{"record", record}, {"stand_by", stand_by},
                 {"record_and_grow", record_and_grow}, {"record_stream", record_stream},
                 {"save_live", save_live},
                 {"record_in_its_place", record_in_its_place}, {"read_mapped", read_mapped},
                 {"read_merged", read_merged}, {"read_unmapped", read_unmapped},
                 {"read_stream", read_stream},
                 {"read_live", read_live}, {"copy_kept", copy_kept},
                 {"remove_copy", remove_copy}, {"discover", discover}};

/* ---- Each call of each scenario fails --------------------------------------------- */

static unsigned open_descriptors(void) {
  unsigned count = 0;
  DIR *dir = __real_opendir("/proc/self/fd");
  while (readdir(dir)) count++;
  closedir(dir);
  return count;
}

/* Most calls of one function in a scenario that fail, one after the other. */
enum { MOST_CALLS = 250 };

/* Returns the number of the next call to fail. In a plain build each call fails in turn.
   In a slow build, after the first 16, fewer and fewer calls fail: later calls are
   mostly rounds of one loop. */
static unsigned after(unsigned n) { return slowness() == 1 ? n + 1 : n + 1 + n / 16 * 2; }

static void fail_one_after_the_other(const struct scenario *s, enum call call, int number) {
  unsigned before = open_descriptors();
  for (unsigned n = 1; n <= MOST_CALLS; n = after(n)) {
    victim = call;
    left = n;
    injected_errno = number;
    (void)s->run();
    bool reached = left == 0;
    victim = CALL_COUNT;
    if (open_descriptors() != before)
      fail_msg("%s: call %u of %s fails with %d: descriptors %u, before %u", s->name, n,
               call_names[call], number, open_descriptors(), before);
    if (eventring_state() != EVENTRING_STOPPED)
      fail_msg("%s: call %u of %s fails with %d: not stopped", s->name, n, call_names[call],
               number);
    if (!reached) break;
  }
  int status = s->run();
  if (status != 0) fail_msg("%s after failures of %s: %d", s->name, call_names[call], status);
}

static void fail_all(enum call call, int number) {
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
    fail_one_after_the_other(&scenarios[i], call, number);
}

static void keep_one(void) {
  struct eventring_config config = config_of("kept");
  config.preserve = true;
  assert_int_equal(eventring_start(&config, NULL), 0);
  eventring_domain *d = start_domain("d"), *second = start_domain("second");
  write_much(d);
  write_much(second);
  eventring_domain_stop(second);
  eventring_domain_stop(d);
  eventring_stop();
}

static void keep_stream(void) {
  struct eventring_config config = config_of(NULL);
  struct heard heard = {0};
  eventring_cursor *cursor;
  config.stream = "./a-stream";
  assert_int_equal(eventring_start(&config, NULL), 0);
  eventring_domain *d = start_domain("d");
  for (unsigned n = 0; n < MOMENTS; n++) {
    for (int i = 0; i < 8; i++) write_much(d);
    if (n < MOMENTS - 1) stream_at[n] = moment_of("a-stream.eventring");
  }
  eventring_domain_stop(d);
  eventring_stop();
  stream_at[MOMENTS - 1] = moment_of("a-stream.eventring");
  assert_int_equal(eventring_open_path(&cursor, "a-stream.eventring", 0, NULL), 0);
  assert_int_equal(poll_to_the_end(cursor, &heard), 0);
  eventring_close(cursor);
  events_of_stream = heard.events;
  assert_true(heard.events >= MOMENTS * 8 * 700 * 3 && !heard.lost);
}

static void without_failures(void **state) {
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
    int status = scenarios[i].run();
    if (status != 0) fail_msg("%s: %d", scenarios[i].name, status);
  }
}

static void calls_that_fail(void **state) {
  for (int call = 0; call < CALL_COUNT; call++) fail_all((enum call)call, EIO);
}

/* Checks causes that the library distinguishes. */
static void causes_that_matter(void **state) {
  static const struct { enum call call; int number; } causes[] = {
      {CALL_open, EACCES}, {CALL_open, EMFILE}, {CALL_openat, EACCES}, {CALL_openat, ENOENT},
      {CALL_openat, EEXIST}, {CALL_ftruncate, ENOSPC}, {CALL_ftruncate, EFBIG},
      {CALL_pwrite, EINTR}, {CALL_pwrite, ENOSPC}, {CALL_pread, EINTR},
      {CALL_posix_fallocate, EINTR}, {CALL_posix_fallocate, ENOSPC}, {CALL_syscall, EINVAL},
      {CALL_syscall, EEXIST}, {CALL_syscall, ENOENT}, {CALL_fcntl, EAGAIN},
      {CALL_fcntl, EINVAL}, {CALL_fcntl, ENOLCK}, {CALL_mmap, ENOMEM},
      {CALL_unlinkat, ENOENT}, {CALL_unlinkat, EACCES}, {CALL_fstatat, ENOENT},
      {CALL_fstatat, EACCES}};
  for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
    fail_all(causes[i].call, causes[i].number);
}

/* ---- Calls without an injected failure -------------------------------------------- */

static volatile sig_atomic_t signals;
static void note_signal(int number) { signals += number == SIGBUS; }
static void note_more(int number, siginfo_t *info, void *context) {
  signals += number == SIGBUS && info && context;
}

/* Checks that a signal that was sent, and is no fault, is passed on to the previous
   handler. */
static void signals_are_passed_on(void **state) {
  struct sigaction held;
  __real_sigaction(SIGBUS, NULL, &held);
  const struct sigaction before[] = {{.sa_handler = note_signal}, {.sa_handler = SIG_IGN},
                                     {.sa_sigaction = note_more, .sa_flags = SA_SIGINFO}};
  for (size_t i = 0; i < 3; i++) {
    eventring_cursor *cursor;
    assert_int_equal(__real_sigaction(SIGBUS, &before[i], NULL), 0);
    assert_int_equal(eventring_open_path(&cursor, "kept.eventring", 0, NULL), 0);
    raise(SIGBUS);
    eventring_close(cursor);
  }
  assert_int_equal(signals, 2);
  __real_sigaction(SIGBUS, &held, NULL);
}

/* What a repair that is held in its mmap, and the thread that forks, tell each other. */
static sem_t is_in_repair, may_go_on;

static void hold_repair(void) {
  before_mmap = NULL;
  sem_post(&is_in_repair);
  while (sem_wait(&may_go_on) != 0) continue;
}

static void *read_byte(void *byte) {
  return (void *)(uintptr_t)*(volatile char *)byte;
}

/* Checks that a child can remove a mapping that another thread of its parent was
   repairing when the child was forked. */
static void forked_during_a_repair(void **state) {
  (void)state;
  char name[] = "repaired.XXXXXX";
  pthread_t reader;
  int fd = mkstemp(name), status;
  void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0); /* beyond the file's end */
  assert_true(fd >= 0 && map != MAP_FAILED && evr_guard_add(map, 4096, PROT_READ, map));
  evr_guard_hold();
  evr_guard_renew(); /* cmocka sets a handler for each test */
  assert_true(sem_init(&is_in_repair, 0, 0) == 0 && sem_init(&may_go_on, 0, 0) == 0);
  before_mmap = hold_repair;
  assert_int_equal(pthread_create(&reader, NULL, read_byte, map), 0);
  assert_int_equal(sem_wait(&is_in_repair), 0);
  pid_t child = fork();
  if (child == 0) {
    alarm(60); /* ends a child that waits for ever */
    evr_guard_remove(map);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  sem_post(&may_go_on);
  assert_int_equal(pthread_join(reader, NULL), 0);
  evr_guard_remove(map);
  evr_guard_release();
  munmap(map, 4096);
  close(fd);
  unlink(name);
}

/* Checks what happens when all guarded mappings of a process are taken: recording and
   control fail, reading goes on without a mapping. */
static void no_guard_is_left(void **state) {
  enum { MOST = 5000 };
  static char mapping[MOST];
  struct eventring_config config = config_of("guards");
  struct eventring_error error = {0};
  int count = 0;
  assert_int_equal(eventring_start(&config, &error), 0);
  while (count < MOST && evr_guard_add(&mapping[count], 1, PROT_READ, mapping)) count++;
  assert_true(count > 0 && count < MOST);
  assert_int_equal(read_mapped(), 0);
  assert_int_equal(eventring_control("guards.eventring", EVENTRING_CHANGE(PAUSE), &error),
                   EVENTRING_E_FULL);
  eventring_domain *d = eventring_domain_start("d", &error);
  write_much(d);
  eventring_domain_stop(d);
  eventring_stop();
  /* there may have been some mappings before */
  while (evr_guard_add(&mapping[count], 1, PROT_READ, mapping)) count++;
  assert_true(eventring_start(&config, &error) < 0);
  check_status(error.code, &error);
  while (count-- > 0) evr_guard_remove(&mapping[count]);
  evr_guard_remove(mapping); /* `mapping` is not in the list */
  assert_int_equal(eventring_start(&config, &error), 0);
  eventring_stop();
}

static int set_up_all(void **state) {
  char directory[] = "failures.XXXXXX";
  if (!mkdtemp(directory) || chdir(directory) != 0) return -1;
  register_test_events();
  keep_one();
  keep_stream();
  return 0;
}

static int remove_all(void **state) {
  char path[4096];
  DIR *dir = __real_opendir(".");
  for (struct dirent *entry; dir && (entry = readdir(dir));) __real_unlink(entry->d_name);
  closedir(dir);
  return getcwd(path, sizeof path) && chdir("..") == 0 ? rmdir(path) : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_failures), cmocka_unit_test(signals_are_passed_on),
      cmocka_unit_test(forked_during_a_repair),
      cmocka_unit_test(no_guard_is_left),
      cmocka_unit_test(calls_that_fail), cmocka_unit_test(causes_that_matter)};
  return cmocka_run_group_tests(tests, set_up_all, remove_all);
}
