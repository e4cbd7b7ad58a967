/* SPDX-License-Identifier: MIT */
/* eventring_lifecycle_test.c: start, stop, standby, domains, fork, settings, discovery,
   snapshots, control from outside. Long, as a list of small tests of one module. */
#include "eventring/tools.h"
#include "eventring_common.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>

static const char *file_name(void) {
  static char name[64];
  snprintf(name, sizeof name, "%d.eventring", (int)getpid());
  return name;
}
static bool exists(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0;
}

/* Room for the front and the first blocks of records, but not for a ring of 2^16
   words. */
enum { SIZE_WITHOUT_RINGS = FORMAT_FRONT_BYTES + 32 * FORMAT_BLOCK_BYTES };

/* ---- Start and stop --------------------------------------------------------------- */

static void nothing_without_start(void **state) {
  eventring_cursor *cursor;
  struct eventring_config config;
  eventring_config_init(&config);
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK); /* the state of the
                                                                     recording is OFF */
  assert_int_equal(eventring_state(), EVENTRING_STOPPED);
  assert_int_equal(eventring_pause(), EVENTRING_E_STATE);
  assert_int_equal(eventring_resume(), EVENTRING_E_STATE);
  assert_int_equal(eventring_open_self(&cursor, 0, NULL), EVENTRING_E_STATE);
  assert_int_equal(eventring_stop(), EVENTRING_OK);
  eventring_domain *d = start_domain("early");
  eventring_user_begin(d, T_FLOOD);
  eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, T_TEXT, "x", 1);
  assert_int_equal(eventring_domain_slot(d), -1);
  eventring_domain_stop(d);
  assert_false(exists(file_name()));
}

static void a_file_comes_and_goes(void **state) {
  struct stat st;
  start_recording(EVENTRING_DEFAULT_WSIZE);
  assert_int_equal(eventring_state(), EVENTRING_RUNNING);
  assert_int_equal(stat(file_name(), &st), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
  assert_true((uint64_t)st.st_blocks * 512 < 256 * 1024); /* sparse */
  struct eventring_config config = test_config(EVENTRING_DEFAULT_WSIZE);
  struct eventring_error error;
  assert_int_equal(eventring_start(&config, &error), EVENTRING_JOINED);
  assert_string_equal(own_path() + strlen(own_path()) - strlen(file_name()), file_name());
  assert_int_equal(eventring_stop(), EVENTRING_JOINED);
  assert_true(exists(file_name()));
  assert_int_equal(eventring_stop(), EVENTRING_OK);
  assert_false(exists(file_name()));
  assert_int_equal(eventring_path(NULL, 0), 0);
}

static void start_later_and_again(void **state) {
  eventring_domain *d = start_domain("main");
  for (int i = 0; i < 3; i++) {
    eventring_user_counter(d, T_COUNT, 1); /* stopped: not recorded */
    start_recording(EVENTRING_MIN_WSIZE);
    eventring_user_counter(d, T_COUNT, 2);
    eventring_cursor *cursor = open_self(0);
    struct log log = {0};
    poll_log(cursor, &log, 0);
    assert_int_equal(log.seen[0].event.id, EVENTRING_ID_RECORDER_START);
    assert_int_equal(log.seen[1].event.id, EVENTRING_ID_DOMAIN_START);
    drop_builtins(&log);
    assert_int_equal(log.count, 1);
    assert_int_equal(log.seen[0].event.value.i, 2);
    clear_log(&log);
    eventring_stop();
    /* an attached reader gets the last event, then the end */
    poll_log(cursor, &log, 0);
    assert_int_equal(log.seen[log.count - 1].event.id, EVENTRING_ID_RECORDER_STOP);
    assert_true(eventring_finished(cursor));
    assert_int_equal(eventring_cursor_liveness(cursor), EVENTRING_ENDED);
    clear_log(&log);
    eventring_close(cursor);
  }
  eventring_domain_stop(d);
}

static void kept_when_preserved(void **state) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  config.preserve = true;
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  eventring_domain *d = start_domain("main");
  eventring_user_begin(d, T_FLOOD);
  eventring_domain_stop(d);
  eventring_stop();
  assert_true(exists(file_name()));
  eventring_cursor *cursor = open_file(file_name(), 0);
  struct log log = {0};
  assert_true(poll_log(cursor, &log, 0) > 0);
  assert_true(eventring_finished(cursor));
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor_info(cursor, &info);
  assert_int_equal(info.liveness, EVENTRING_ENDED);
  assert_true(info.end_ns >= info.start_ns);
  clear_log(&log);
  assert_int_equal(eventring_open_spans(cursor, log_event, &log), 0); /* still open */
  assert_int_equal(log.count, 1);
  assert_int_equal(log.seen[0].event.id, T_FLOOD);
  clear_log(&log);
  eventring_close(cursor);
  assert_int_equal(eventring_remove(file_name(), EVENTRING_REMOVE_SAVED, NULL), EVENTRING_OK);
  assert_false(exists(file_name()));
}

static void standing_by(void **state) {
  struct eventring_config config = test_config(EVENTRING_DEFAULT_WSIZE);
  struct eventring_error error = {0};
  config.start = EVENTRING_START_STANDBY;
  for (int from_outside = 0; from_outside < 2; from_outside++) {
    eventring_domain *d = start_domain("main");
    assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
    eventring_user_counter(d, T_COUNT, 1);
    assert_int_equal(eventring_state(), EVENTRING_STANDBY);
    assert_int_equal(eventring_domain_slot(d), -1);
    eventring_cursor *cursor = open_file(file_name(), 0);
    struct eventring_info info = {.size = sizeof info};
    eventring_cursor_info(cursor, &info);
    assert_int_equal(info.state, EVENTRING_STANDBY);
    if (from_outside) {
      assert_int_equal(eventring_control(file_name(), EVENTRING_CHANGE(RESUME), &error),
                       EVENTRING_OK);
    } else {
      config.start = EVENTRING_START_ON;
      assert_int_equal(eventring_start(&config, &error), EVENTRING_OK);
      config.start = EVENTRING_START_STANDBY;
    }
    eventring_user_counter(d, T_COUNT, 2);
    struct log log = {0};
    poll_log(cursor, &log, 0);
    drop_builtins(&log);
    assert_int_equal(log.count, 1);
    assert_int_equal(log.seen[0].event.value.i, 2);
    clear_log(&log);
    eventring_close(cursor);
    eventring_domain_stop(d);
    eventring_stop();
  }
}

static void controlled_from_outside(void **state) {
  struct eventring_error error = {0};
  uint64_t calls = EVENTRING_CLASS_BIT(EVENTRING_CLASS_CALLS), mask;
  start_recording(EVENTRING_MIN_WSIZE);
  assert_int_equal(eventring_control(file_name(), EVENTRING_CHANGE(PAUSE), &error), 0);
  assert_int_equal(eventring_state(), EVENTRING_STANDBY); /* nothing laid out yet */
  assert_int_equal(eventring_control(file_name(), EVENTRING_CHANGE(RESUME), &error), 0);
  assert_int_equal(eventring_state(), EVENTRING_RUNNING);
  assert_int_equal(eventring_control(file_name(),
                                     EVENTRING_CHANGE(ENABLE, .classes = calls), &error), 0);
  eventring_get_classes(&mask);
  assert_true(mask & calls);
  assert_int_equal(eventring_control(file_name(),
                                     EVENTRING_CHANGE(DISABLE, .classes = calls), &error), 0);
  eventring_get_classes(&mask);
  assert_false(mask & calls);
  assert_int_equal(eventring_control("nowhere", EVENTRING_CHANGE(PAUSE), &error),
                   EVENTRING_E_NOT_FOUND);
  eventring_stop();
}

/* ---- Settings --------------------------------------------------------------------- */

static int from_env(struct eventring_config *config, struct eventring_error *error) {
  eventring_config_init(config);
  *error = (struct eventring_error){0};
  return eventring_config_from_env(config, "T", error);
}

static void settings_from_the_environment(void **state) {
  struct eventring_config c;
  struct eventring_error e;
  assert_int_equal(from_env(&c, &e), EVENTRING_OK);
  assert_int_equal(c.start, EVENTRING_START_OFF);
  setenv("T_START", "1", 1);
  setenv("T_PREFIX", "/somewhere", 1);
  setenv("T_PRESERVE", "1", 1);
  setenv("T_WSIZE", "12", 1);
  setenv("T_CLASSES", "gc,user", 1);
  setenv("T_NAME", "%n-%p", 1);
  assert_int_equal(from_env(&c, &e), EVENTRING_OK);
  assert_int_equal(c.start, EVENTRING_START_ON);
  assert_string_equal(c.directory, "/somewhere");
  assert_true(c.preserve);
  assert_int_equal(c.wsize, 12);
  assert_string_equal(c.name, "%n-%p");
  assert_int_equal(c.classes, 1 << EVENTRING_CLASS_GC | 1 << EVENTRING_CLASS_USER);
  setenv("T_CLASSES", "+calls,-gc", 1);
  assert_int_equal(from_env(&c, &e), EVENTRING_OK);
  assert_true(c.classes & 1 << EVENTRING_CLASS_CALLS);
  assert_false(c.classes & 1 << EVENTRING_CLASS_GC);
  assert_true(c.classes & 1 << EVENTRING_CLASS_USER);
  setenv("T_CLASSES", "+alloc", 1);
  /* The class has no events in this program, ... */
  eventring_define_class(EVENTRING_CLASS_ALLOC, NULL, false);
  assert_int_equal(from_env(&c, &e), EVENTRING_E_CONFIG);
  assert_non_null(strstr(e.text, "class `alloc' has no events in this program; must be"));
  assert_null(strstr(e.text, ", alloc"));
  setenv("T_CLASSES", "all,-alloc", 1); /* ... but may be switched off */
  assert_int_equal(from_env(&c, &e), EVENTRING_OK);
  assert_false(c.classes & 1 << EVENTRING_CLASS_ALLOC);
  assert_true(c.classes & 1 << EVENTRING_CLASS_CALLS);
  eventring_define_class(EVENTRING_CLASS_ALLOC, "alloc", false);
  setenv("T_CLASSES", "+calls,-gc", 1);
  setenv("T_START", "standby", 1);
  assert_int_equal(from_env(&c, &e), EVENTRING_OK);
  assert_int_equal(c.start, EVENTRING_START_STANDBY);
  static const char *const bad[][2] = {
      {"T_START", "yes"}, {"T_START", "2"}, {"T_PRESERVE", "x"}, {"T_WSIZE", "10"},
      {"T_WSIZE", "25"}, {"T_WSIZE", "16k"}, {"T_WSIZE", "-1"},
      {"T_WSIZE", "99999999999999999999"}, {"T_CLASSES", "gc,nonsense"},
      {"T_NAME", "a/b"}, {"T_NAME", "%q"}, {"T_NAME", "end%"}, {"T_NAME", ".eventring"},
      {"T_NAME", "line\nfeed"}, {"T_START", "\033[2J"}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const char *saved = strdup(getenv(bad[i][0]));
    setenv("T_START", "1", 1);
    setenv(bad[i][0], bad[i][1], 1);
    assert_int_equal(from_env(&c, &e), EVENTRING_E_CONFIG);
    assert_int_equal(c.start, EVENTRING_START_OFF);
    assert_non_null(strstr(e.text, bad[i][0]));
    /* The text is one line. */
    for (const char *c = e.text; *c; c++) assert_true((unsigned char)*c >= ' ');
    if (bad[i][1][strcspn(bad[i][1], "\n\033")] == 0) assert_non_null(strstr(e.text, bad[i][1]));
    setenv(bad[i][0], saved, 1);
    free((char *)saved);
  }
  static const char *const all[] = {"T_START", "T_PREFIX", "T_PRESERVE",
                                    "T_WSIZE", "T_CLASSES", "T_NAME"};
  for (int i = 0; i < 6; i++) setenv(all[i], "", 1);
  assert_int_equal(from_env(&c, &e), EVENTRING_OK); /* empty: as if not set */
  assert_int_equal(c.start, EVENTRING_START_OFF);
  assert_null(c.directory);
  for (int i = 0; i < 6; i++) unsetenv(all[i]);
}

static void ring_size_out_of_range(void **state) {
  static const unsigned sizes[] = {0, EVENTRING_MIN_WSIZE - 1, EVENTRING_MAX_WSIZE + 1, 64};
  for (int i = 0; i < 4; i++) {
    struct eventring_config config = test_config(sizes[i]);
    struct eventring_error error = {0};
    assert_int_equal(eventring_start(&config, &error), EVENTRING_E_CONFIG);
    assert_true(error.text[0]);
  }
}

static void unknown_start_mode(void **state) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  struct eventring_error error = {0};
  config.start = (enum eventring_start_mode)3;
  assert_int_equal(eventring_start(&config, &error), EVENTRING_E_CONFIG);
  assert_non_null(strstr(error.text, "start mode 3"));
  assert_int_equal(eventring_state(), EVENTRING_STOPPED);
}

static unsigned warnings;
static void count_warning(void *context, const struct eventring_error *error) {
  assert_true(error->code != 0 && error->text[0]);
  warnings++;
}

static void one_warning_where_there_is_no_room_for_rings(void **state) {
  struct rlimit old, limit;
  struct eventring_config config = test_config(16);
  struct eventring_error error = {0};
  config.warn = count_warning;
  warnings = 0;
  getrlimit(RLIMIT_FSIZE, &old);
  limit = old;
  limit.rlim_cur = SIZE_WITHOUT_RINGS;
  setrlimit(RLIMIT_FSIZE, &limit);
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  eventring_domain *d = eventring_domain_start("main", &error);
  assert_int_equal(error.code, EVENTRING_OK);
  assert_int_equal(eventring_domain_slot(d), 0);
  eventring_user_counter(d, T_COUNT, 0);
  assert_int_equal(warnings, 1);
  eventring_user_counter(d, T_COUNT, 1);
  eventring_domain_check(d);
  assert_int_equal(warnings, 1);
  setrlimit(RLIMIT_FSIZE, &old);
  eventring_domain_stop(d);
  eventring_stop();
}

static void one_warning_where_there_is_no_room_later(void **state) {
  struct rlimit old, limit;
  struct eventring_config config = test_config(16);
  eventring_domain *d = start_domain("main");
  config.start = EVENTRING_START_STANDBY;
  config.warn = count_warning;
  warnings = 0;
  getrlimit(RLIMIT_FSIZE, &old);
  limit = old;
  limit.rlim_cur = SIZE_WITHOUT_RINGS;
  setrlimit(RLIMIT_FSIZE, &limit);
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  eventring_resume();
  for (int i = 0; i < 10; i++) eventring_user_counter(d, T_COUNT, i);
  assert_int_equal(warnings, 1);
  setrlimit(RLIMIT_FSIZE, &old);
  eventring_domain_stop(d);
  eventring_stop();
}

/* Checks that no file is left where there is a descriptor for it only among the standard
   ones, which the library does not use. */
static void no_descriptor(void **state) {
  enum { MOST = STDERR_FILENO + 2 }; /* one for the directory */
  int status;
  pid_t child = fork();
  if (child == 0) {
    const struct rlimit limit = {MOST, MOST};
    const struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
    for (int fd = MOST - 1; fd < 1024; fd++) close(fd);
    close(STDIN_FILENO);
    setrlimit(RLIMIT_NOFILE, &limit);
    const int started = eventring_start(&config, NULL);
    _exit(started >= EVENTRING_OK ? 1 : exists(file_name()) ? 2 : 0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* ---- Domains ---------------------------------------------------------------------- */

static void *own_domain(void *argument) {
  struct eventring_error error = {0};
  eventring_domain *d = eventring_domain_start("thread", &error);
  pthread_barrier_t *barrier = argument;
  eventring_user_counter(d, T_COUNT, 1);
  pthread_barrier_wait(barrier);
  eventring_domain_stop(d);
  return (void *)(intptr_t)error.code;
}

/* Checks a ring that cannot grow any more in its first round (tmpfs, see recording.c). */
static void one_warning_for_a_ring_that_has_no_room_to_grow(void **state) {
  struct rlimit normal, small;
  struct eventring_config config = test_config(EVENTRING_DEFAULT_WSIZE);
  if (access("/dev/shm", W_OK) != 0) skip();
  config.directory = "/dev/shm";
  config.warn = count_warning;
  warnings = 0;
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  eventring_domain *d = start_domain("main");
  eventring_user_counter(d, T_COUNT, -1);
  getrlimit(RLIMIT_FSIZE, &normal);
  small = normal;
  small.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &small);
  for (int i = 0; i < 30000; i++) eventring_user_counter(d, T_COUNT, i);
  setrlimit(RLIMIT_FSIZE, &normal);
  assert_int_equal(warnings, 1);
  assert_int_equal(eventring_domain_slot(d), 0);
  eventring_cursor *cursor = open_file(own_path(), 0);
  struct log log = {0};
  poll_log(cursor, &log, 0); /* the latest events are there, in fewer blocks */
  drop_builtins(&log);
  assert_true(log.count > 0 && log.count < 20000);
  for (size_t i = 0; i < log.count; i++)
    assert_int_equal(log.seen[i].event.value.i, (int64_t)(30000 - log.count + i));
  clear_log(&log);
  eventring_close(cursor);
  eventring_domain_stop(d);
  eventring_domain *next = start_domain("next"); /* the part of the ring that is ready may
                                                    suffice */
  eventring_user_counter(next, T_COUNT, 1);
  assert_int_equal(eventring_domain_slot(next), 0);
  eventring_domain_stop(next);
  eventring_stop();
}

static void the_129th_domain(void **state) {
  enum { THREADS = EVENTRING_MAX_DOMAINS + 1 };
  pthread_t thread[THREADS];
  pthread_barrier_t barrier;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 * 1024);
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_cursor *cursor = open_file(file_name(), EVENTRING_OPEN_MERGED);
  pthread_barrier_init(&barrier, NULL, THREADS);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&thread[i], &attributes, own_domain, &barrier), 0);
  unsigned full = 0;
  for (int i = 0; i < THREADS; i++) {
    void *code;
    pthread_join(thread[i], &code);
    full += (intptr_t)code == EVENTRING_E_FULL;
  }
  assert_int_equal(full, 1);
  struct log log = {0};
  poll_log(cursor, &log, 0);
  assert_int_equal(log.events[EVENTRING_USER], EVENTRING_MAX_DOMAINS);
  clear_log(&log);
  eventring_close(cursor);
  eventring_stop();
  pthread_barrier_destroy(&barrier);
}

/* ---- Recordings that have ended, while another thread may still use them ----------- */

/* Starts a domain and sleeps until `barrier` is passed a second time. */
static void *sleeper(void *barrier) {
  eventring_domain *d = start_domain("sleeper");
  pthread_barrier_wait(barrier);
  pthread_barrier_wait(barrier);
  eventring_domain_stop(d);
  return NULL;
}

static int start_again(void) {
  const struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  return eventring_start(&config, NULL);
}

/* Checks that a recording can always end: there is no new file for a deleted one if it
   would be one too many. */
static void too_many_ended(void **state) {
  enum { PATIENCE_MS = 2000 };
  pthread_t thread;
  pthread_barrier_t barrier;
  unsigned started = 0;
  pthread_barrier_init(&barrier, NULL, 2);
  assert_int_equal(pthread_create(&thread, NULL, sleeper, &barrier), 0);
  pthread_barrier_wait(&barrier);
  while (start_again() == EVENTRING_OK && ++started < 8) eventring_stop();
  assert_int_equal(started, 8);
  eventring_domain *d = start_domain("main");
  unlink(own_path());
  for (int ms = 0; ms < PATIENCE_MS && !exists(own_path()); ms++, usleep(1000))
    eventring_domain_check(d);
  eventring_domain_stop(d);
  assert_int_equal(eventring_stop(), EVENTRING_OK);
  assert_int_equal(start_again(), EVENTRING_E_STATE);
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  pthread_barrier_destroy(&barrier);
  assert_int_equal(start_again(), EVENTRING_OK);
  assert_int_equal(eventring_stop(), EVENTRING_OK);
}

static pthread_barrier_t telling;

static void wait_while_told(void *unused, const struct eventring_error *error) {
  if (error->code != EVENTRING_DELETED) return;
  pthread_barrier_wait(&telling);
  pthread_barrier_wait(&telling);
}

static void *see_deletion(void *unused) {
  eventring_domain *d = start_domain("main");
  char path[4096];
  snprintf(path, sizeof path, "%s", own_path());
  unlink(path);
  while (!exists(path)) {
    eventring_domain_check(d);
    usleep(1000);
  }
  eventring_domain_stop(d);
  return NULL;
}

/* Checks that a child frees ended recordings although another thread of its parent was
   telling the host of a deleted file at the fork. */
static void forked_while_told(void **state) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  pthread_t thread;
  int status;
  config.warn = wait_while_told;
  pthread_barrier_init(&telling, NULL, 2);
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  assert_int_equal(pthread_create(&thread, NULL, see_deletion, NULL), 0);
  pthread_barrier_wait(&telling);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 20; i++)
      if (start_again() != EVENTRING_OK || eventring_stop() != EVENTRING_OK) _exit(1);
    _exit(0);
  }
  pthread_barrier_wait(&telling);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  pthread_join(thread, NULL);
  pthread_barrier_destroy(&telling);
  eventring_stop();
}

/* ---- Fork ------------------------------------------------------------------------- */

static int child_status(pid_t child) {
  int status;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void forked_children(void **state) {
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("parent");
  eventring_user_counter(d, T_COUNT, 1);
  pid_t child = fork();
  if (child == 0) {
    bool silent = eventring_state() == EVENTRING_STOPPED;
    eventring_user_counter(d, T_COUNT, 666);
    _exit(silent && eventring_domain_slot(d) == -1 ? 0 : 1);
  }
  assert_int_equal(child_status(child), 0);
  child = fork();
  if (child == 0) { /* a recording of its own */
    struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
    bool good = eventring_start(&config, NULL) == EVENTRING_OK;
    eventring_user_counter(d, T_COUNT, 667);
    good = good && eventring_domain_slot(d) == 0 && exists(file_name());
    eventring_stop();
    _exit(good && !exists(file_name()) ? 0 : 1);
  }
  assert_int_equal(child_status(child), 0);
  child = fork();
  if (child == 0) exit(0); /* runs the exit handlers: the parent's file stays */
  assert_int_equal(child_status(child), 0);
  assert_true(exists(file_name()));
  eventring_user_counter(d, T_COUNT, 2);
  eventring_cursor *cursor = open_file(file_name(), 0);
  struct log log = {0};
  poll_log(cursor, &log, 0);
  drop_builtins(&log);
  assert_int_equal(log.count, 2);
  assert_int_equal(log.seen[1].event.value.i, 2);
  assert_int_equal(eventring_cursor_liveness(cursor), EVENTRING_LIVE);
  clear_log(&log);
  eventring_close(cursor);
  eventring_domain_stop(d);
  eventring_stop();
}

/* ---- Other processes -------------------------------------------------------------- */

/* Makes a child that records spans until it is killed. Returns the child's pid once it
   records. */
static pid_t spawn_producer(void) {
  int fd[2];
  char byte;
  assert_int_equal(pipe(fd), 0);
  pid_t child = fork();
  if (child == 0) {
    struct eventring_config config = test_config(12);
    if (eventring_start(&config, NULL) != EVENTRING_OK) _exit(1);
    eventring_domain *d = eventring_domain_start("child", NULL);
    for (int64_t i = 0;; i++) {
      eventring_begin_int(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER, i);
      eventring_user_counter(d, T_COUNT, i);
      eventring_end(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, T_OUTER);
      if (i == 1000 && write(fd[1], "x", 1) != 1) _exit(1);
    }
  }
  assert_int_equal(read(fd[0], &byte, 1), 1);
  close(fd[0]);
  close(fd[1]);
  return child;
}

static void killed_at_random_moments(void **state) {
  char path[64];
  for (int i = 0; i < 20; i++) {
    pid_t child = spawn_producer();
    eventring_cursor *cursor;
    struct eventring_error error = {0};
    assert_int_equal(eventring_open_pid(&cursor, child, 0, &error), EVENTRING_OK);
    struct log log = {0};
    for (int k = 0; k <= i % 4; k++) assert_true(poll_log(cursor, &log, 0) >= 0);
    assert_int_equal(eventring_cursor_liveness(cursor), EVENTRING_LIVE);
    usleep((useconds_t)(random() % 3000));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(eventring_cursor_liveness(cursor), EVENTRING_DEAD);
    int n;
    do n = poll_log(cursor, &log, 0);
    while (n > 0);
    assert_int_equal(n, 0);
    assert_true(eventring_finished(cursor));
    clear_log(&log);
    eventring_close(cursor);
    snprintf(path, sizeof path, "%d.eventring", (int)child);
    cursor = open_file(path, 0);
    assert_true(poll_log(cursor, &log, 0) > 0);
    int64_t last = -1;
    for (size_t k = 0; k < log.count; k++) {
      const struct eventring_event *e = &log.seen[k].event;
      if (e->ring != EVENTRING_RUNTIME || e->id != T_OUTER) continue;
      if (e->kind == EVENTRING_BEGIN && !(e->flags & EVENTRING_SYNTHETIC)) {
        if (last >= 0) assert_true(e->value.i == last + 1);
        last = e->value.i;
      }
    }
    assert_true(last >= 1000);
    clear_log(&log);
    eventring_close(cursor);
    assert_int_equal(eventring_remove(path, EVENTRING_REMOVE_SAVED, &error), EVENTRING_OK);
  }
}

static void an_ending_process_tells_its_last_event(void **state) {
  int fd[2];
  char byte;
  assert_int_equal(pipe(fd), 0);
  pid_t child = fork();
  if (child == 0) {
    struct eventring_config config = test_config(12);
    if (eventring_start(&config, NULL) != EVENTRING_OK) _exit(1);
    eventring_domain *d = eventring_domain_start("child", NULL);
    eventring_user_counter(d, T_COUNT, 1);
    close(fd[0]);
    while (write(fd[1], "x", 1) != 1) {}
    usleep(100000);
    eventring_user_counter(d, T_COUNT, 42);
    exit(0); /* the exit handler stops the recording */
  }
  assert_int_equal(read(fd[0], &byte, 1), 1);
  eventring_cursor *cursor;
  struct eventring_error error = {0};
  assert_int_equal(eventring_open_pid(&cursor, child, EVENTRING_OPEN_MERGED, &error), 0);
  struct log log = {0};
  while (poll_log(cursor, &log, 0) >= 0 && !eventring_finished(cursor)) usleep(1000);
  assert_int_equal(child_status(child), 0);
  assert_int_equal(eventring_cursor_liveness(cursor), EVENTRING_ENDED);
  assert_int_equal(log.seen[log.count - 1].event.id, EVENTRING_ID_RECORDER_STOP);
  drop_builtins(&log);
  assert_int_equal(log.seen[log.count - 1].event.value.i, 42);
  char path[64];
  snprintf(path, sizeof path, "%d.eventring", (int)child);
  assert_false(exists(path));
  clear_log(&log);
  eventring_close(cursor);
  close(fd[0]);
  close(fd[1]);
}

struct search {
  pid_t pid;
  unsigned live, dead, bad;
};
static int note_found(void *context, const struct eventring_found *found) {
  struct search *s = context;
  if (found->status) {
    assert_true(found->status_text[0]);
    /* Other recordings come and go on this machine. */
    s->bad += strstr(found->path, "foreign") != NULL;
  } else if (found->pid == s->pid) {
    s->live += found->liveness == EVENTRING_LIVE;
    s->dead += found->liveness == EVENTRING_DEAD;
    assert_string_equal(found->program, "unit");
  }
  return 0;
}

static void discovery(void **state) {
  struct eventring_error error = {0};
  eventring_cursor *cursor;
  char path[64], number[32];
  pid_t child = spawn_producer();
  snprintf(path, sizeof path, "%d.eventring", (int)child);
  snprintf(number, sizeof number, "%d", (int)child);
  struct search search = {.pid = child};
  const char *const elsewhere[] = {"/"};
  assert_true(eventring_discover(elsewhere, 1, note_found, &search) >= 1);
  assert_int_equal(search.live, 1); /* found by its mappings */
  search = (struct search){.pid = child};
  eventring_discover(NULL, 0, note_found, &search);
  assert_int_equal(search.live, 1); /* found only once, though its file is in this
                                       directory as well */
  assert_int_equal(eventring_open_any(&cursor, number, 0, &error), EVENTRING_OK);
  eventring_close(cursor);
  assert_int_equal(eventring_open_any(&cursor, path, 0, &error), EVENTRING_OK);
  eventring_close(cursor);
  assert_int_equal(eventring_remove(path, EVENTRING_REMOVE_SAVED, &error), EVENTRING_E_BUSY);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  FILE *f = fopen("foreign.eventring", "w");
  fputs("not one of them", f);
  fclose(f);
  search = (struct search){.pid = child};
  eventring_discover(NULL, 0, note_found, &search);
  assert_int_equal(search.dead, 1);
  assert_int_equal(search.bad, 1);
  assert_int_equal(eventring_remove("foreign.eventring", 0, &error),
                   EVENTRING_E_NOT_EVENTRING);
  assert_int_equal(eventring_remove(path, EVENTRING_REMOVE_SAVED, &error), EVENTRING_OK);
  assert_int_equal(eventring_open_pid(&cursor, child, 0, &error), EVENTRING_E_NOT_FOUND);
  assert_int_equal(eventring_open_pid(&cursor, 1, 0, &error) == EVENTRING_E_NOT_FOUND ||
                   error.code == EVENTRING_E_PERMISSION, 1);
  unlink("foreign.eventring");
}

/* Checks that the pid leads to the present recording while a thread still uses a
   recording that has ended and stays mapped. */
static void own_pid(void **state) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  struct eventring_info info = {.size = sizeof info};
  struct log log = {0};
  eventring_cursor *ended, *cursor;
  char ended_path[4096];
  assert_int_equal(eventring_open_pid(&cursor, getpid(), 0, NULL), EVENTRING_E_NOT_FOUND);
  config.preserve = true;
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  snprintf(ended_path, sizeof ended_path, "%s", own_path());
  ended = open_self(0);
  eventring_stop();
  assert_int_equal(eventring_open_pid(&cursor, getpid(), 0, NULL), EVENTRING_E_NOT_FOUND);
  assert_int_equal(mkdir("elsewhere", 0700), 0);
  config.directory = "elsewhere";
  assert_int_equal(eventring_start(&config, NULL), EVENTRING_OK);
  eventring_domain *d = start_domain("main");
  eventring_user_counter(d, T_COUNT, 17);
  assert_int_equal(eventring_open_pid(&cursor, getpid(), 0, NULL), EVENTRING_OK);
  assert_int_equal(eventring_cursor_info(cursor, &info), EVENTRING_OK);
  assert_string_equal(info.path, own_path());
  assert_int_equal(info.liveness, EVENTRING_LIVE);
  poll_log(cursor, &log, 0);
  drop_builtins(&log);
  assert_int_equal(log.count, 1);
  assert_int_equal(log.seen[0].event.value.i, 17);
  clear_log(&log);
  eventring_close(cursor);
  eventring_close(ended);
  eventring_domain_stop(d);
  unlink(own_path());
  eventring_stop();
  unlink(ended_path);
  rmdir("elsewhere");
}

/* Checks that a file of streams must have whole units of 16 blocks each. */
static void a_part_of_a_unit_is_not_valid(const char *path) {
  uint64_t claimed;
  struct eventring_error error;
  eventring_cursor *cursor;
  int fd = open(path, O_RDWR);
  const off_t at = FORMAT_STATUS_OFFSET + offsetof(struct format_status, claimed);
  assert_int_equal(pread(fd, &claimed, sizeof claimed, at), sizeof claimed);
  assert_int_equal(claimed % FORMAT_UNIT, 0);
  claimed--;
  assert_int_equal(pwrite(fd, &claimed, sizeof claimed, at), sizeof claimed);
  close(fd);
  assert_int_equal(eventring_open_path(&cursor, path, 0, &error), EVENTRING_E_CORRUPT);
}

static void snapshots(void **state) {
  struct eventring_error error = {0};
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("main");
  for (int i = 0; i < 3000; i++) eventring_user_counter(d, T_COUNT, i);
  eventring_user_begin(d, T_FLOOD);
  for (int own = 0; own < 2; own++) {
    eventring_cursor *cursor = own ? open_self(0) : open_file(file_name(), 0);
    assert_int_equal(eventring_snapshot(cursor, "snap.eventring", &error), EVENTRING_OK);
    assert_int_equal(eventring_snapshot(cursor, "snap.eventring", &error), EVENTRING_E_EXISTS);
    struct log live = {0}, saved = {0};
    poll_log(cursor, &live, 0);
    eventring_cursor *copy = open_file("snap.eventring", 0);
    poll_log(copy, &saved, 0);
    assert_true(eventring_finished(copy));
    struct eventring_info info = {.size = sizeof info};
    assert_int_equal(eventring_cursor_info(copy, &info), EVENTRING_OK);
    assert_int_equal(info.liveness, EVENTRING_SAVED);
    assert_int_equal(info.state, EVENTRING_RUNNING);
    assert_int_equal(info.end_ns, 0);
    assert_int_equal(live.count, saved.count);
    for (size_t i = 0; i < live.count; i++) {
      assert_true(live.seen[i].event.ns == saved.seen[i].event.ns);
      assert_true(live.seen[i].event.value.i == saved.seen[i].event.value.i);
    }
    assert_int_equal(emitted(copy, 0, EVENTRING_USER), 3001);
    clear_log(&live);
    clear_log(&saved);
    eventring_close(copy);
    eventring_close(cursor);
    a_part_of_a_unit_is_not_valid("snap.eventring");
    unlink("snap.eventring");
  }
  eventring_domain_stop(d);
  eventring_stop();
}

static void classes_of_the_host(void **state) {
  assert_int_equal(eventring_define_class(3, "x", true), EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_define_class(16, "", true), EVENTRING_E_NAME);
  assert_int_equal(eventring_define_class(16, "a name too long", true), EVENTRING_OK);
  assert_int_equal(eventring_define_class(16, "a name too long!", true), EVENTRING_E_NAME);
  assert_int_equal(eventring_define_class(16, "jit", true), EVENTRING_OK);
  assert_int_equal(eventring_define_class(17, "gc", true), EVENTRING_E_CONFLICT);
  /* classes of the library: removed, with another default, restored */
  assert_int_equal(eventring_define_class(EVENTRING_CLASS_LIFECYCLE, NULL, false),
                   EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_define_class(EVENTRING_CLASS_LIFECYCLE, "lifecycle", false),
                   EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_define_class(EVENTRING_CLASS_USER, NULL, false),
                   EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_define_class(9, NULL, false), EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_define_class(EVENTRING_CLASS_CALLS, NULL, false),
                   EVENTRING_E_CONFLICT); /* T_CALL is of this class */
  assert_int_equal(eventring_define_class(EVENTRING_CLASS_ALLOC, NULL, true), EVENTRING_OK);
  assert_int_equal(eventring_define_class(EVENTRING_CLASS_IO, "io", false), EVENTRING_OK);
  assert_int_equal(eventring_class_by_name("alloc"), EVENTRING_E_STATE);
  assert_null(eventring_class_name(EVENTRING_CLASS_ALLOC));
  assert_int_equal(eventring_define_class(17, "alloc", true), EVENTRING_E_CONFLICT);
  assert_int_equal(eventring_define_ring(3, "mine"), EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_define_ring(8, "mine"), EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_define_ring(4, "a name too long!"), EVENTRING_E_NAME);
  assert_int_equal(eventring_define_ring(4, "user"), EVENTRING_E_CONFLICT);
  assert_int_equal(eventring_define_ring(4, "mine"), EVENTRING_OK);
  assert_int_equal(eventring_class_by_name("jit"), 16);
  assert_int_equal(eventring_class_by_name("nothing"), EVENTRING_E_NOT_FOUND);
  start_recording(EVENTRING_MIN_WSIZE);
  uint64_t mask;
  eventring_get_classes(&mask);
  assert_true(mask & EVENTRING_CLASS_BIT(16));
  assert_false(mask & EVENTRING_CLASS_BIT(EVENTRING_CLASS_IO));
  assert_int_equal(eventring_switch_classes(UINT64_MAX, true), EVENTRING_OK);
  eventring_get_classes(&mask);
  assert_true(mask & EVENTRING_CLASS_BIT(EVENTRING_CLASS_IO));
  assert_false(mask & EVENTRING_CLASS_BIT(EVENTRING_CLASS_ALLOC));
  assert_int_equal(eventring_define_class(EVENTRING_CLASS_IO, NULL, true), EVENTRING_E_STATE);
  /* It is defined already, with this name. */
  assert_int_equal(eventring_define_ring(4, "mine"), EVENTRING_OK);
  assert_int_equal(eventring_define_ring(5, "late"), EVENTRING_E_STATE);
  assert_int_equal(eventring_define_class(16, "other", true), EVENTRING_E_STATE);
  /* It is defined already, with this name. */
  assert_int_equal(eventring_define_class(16, "jit", true), EVENTRING_OK);
  /* a host that comes later: its class is defined, and off in this recording */
  assert_int_equal(eventring_define_class(18, "late", true), EVENTRING_OK);
  assert_int_equal(eventring_switch_classes(EVENTRING_CLASS_BIT(18), true), EVENTRING_OK);
  eventring_get_classes(&mask);
  assert_false(mask & EVENTRING_CLASS_BIT(18));
  eventring_cursor *cursor = open_file(file_name(), 0);
  assert_string_equal(eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, 16), "jit");
  assert_null(eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, 18));
  assert_null(eventring_cursor_name(cursor, EVENTRING_NAME_CLASS, EVENTRING_CLASS_ALLOC));
  assert_string_equal(eventring_cursor_name(cursor, EVENTRING_NAME_RING, 4), "mine");
  assert_null(eventring_cursor_name(cursor, EVENTRING_NAME_RING, 5));
  eventring_close(cursor);
  eventring_stop();
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_get_classes(&mask);
  assert_true(mask & EVENTRING_CLASS_BIT(18));
  eventring_stop();
  /* the new default applies to other recordings */
  assert_int_equal(eventring_define_class(18, "late", false), EVENTRING_OK);
  assert_int_equal(eventring_define_class(EVENTRING_CLASS_ALLOC, "alloc", false), EVENTRING_OK);
  assert_int_equal(eventring_define_class(EVENTRING_CLASS_IO, "io", true), EVENTRING_OK);
}

/* Checks a table of definitions that a newer header has made longer, and a shorter
   table. */
static void sizes_of_definitions(void **state) {
  const struct { struct eventring_def def; uint64_t more[2]; } table[] = {
      {{.name = "sized 0", .kind = EVENTRING_DEF_INSTANT, .payload = EVENTRING_INT}, {7, 7}},
      {{.name = "sized 1", .kind = EVENTRING_DEF_SPAN}, {7, 7}}};
  const size_t up_to_class = offsetof(struct eventring_def, ring);
  unsigned first;
  assert_int_equal(eventring_register_defs(&table[0].def, sizeof table[0], 2, &first, NULL),
                   0);
  assert_int_equal(eventring_register(&table[0].def, NULL), (int)first);
  assert_int_equal(eventring_register(&table[1].def, NULL), (int)first + 1);
  assert_int_equal(eventring_register_def(&table[1].def, up_to_class, NULL), (int)first + 1);
  /* without the member, the payload is none */
  assert_int_equal(eventring_register_def(&table[0].def, up_to_class, NULL),
                   EVENTRING_E_CONFLICT);
  assert_int_equal(sizeof(struct eventring_error), 512); /* this size must never change */
}

static void errors_have_texts(void **state) {
  for (int code = 0; code >= -24; code--)
    assert_string_not_equal(eventring_strerror(code), "unknown error");
  assert_string_equal(eventring_strerror(-25), "unknown error");
}

static void versions(void **state) {
  struct eventring_error error = {0};
  struct eventring_config config;
  assert_int_equal(eventring_library_version(), EVENTRING_VERSION);
  assert_int_equal(eventring_check_version(EVENTRING_VERSION, &error), 0);
  /* the next patch version */
  assert_int_equal(eventring_check_version(EVENTRING_VERSION + 1, NULL), 0);
  unsigned others[] = {EVENTRING_VERSION + 10000, EVENTRING_VERSION + 100};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    assert_int_equal(eventring_check_version(others[i], &error), EVENTRING_E_LIBRARY);
    assert_non_null(strstr(error.text, "is linked"));
    eventring_config_init(&config);
    config.version = others[i];
    config.start = EVENTRING_START_ON;
    assert_int_equal(eventring_start(&config, &error), EVENTRING_E_LIBRARY);
    assert_int_equal(eventring_state(), EVENTRING_STOPPED);
  }
  /* a structure of another size is not used */
  const size_t no_sizes[] = {0, sizeof(size_t), sizeof config + 8};
  for (size_t i = 0; i < sizeof no_sizes / sizeof *no_sizes; i++) {
    eventring_config_init(&config);
    config.size = no_sizes[i];
    config.start = EVENTRING_START_ON;
    assert_int_equal(eventring_start(&config, &error), EVENTRING_E_ARGUMENT);
    assert_int_equal(eventring_config_from_env(&config, "T", &error), EVENTRING_E_ARGUMENT);
  }
}

enum {
  GATE_OFFSET = FORMAT_CONTROL_OFFSET + offsetof(struct format_control, gate),
  WANTED_OFFSET = FORMAT_CONTROL_OFFSET + offsetof(struct format_control, wanted)
};

static void store_word(const char *path, off_t offset, uint64_t word) {
  int fd = open(path, O_RDWR);
  assert_int_equal(pwrite(fd, &word, sizeof word, offset), sizeof word);
  close(fd);
}

/* Checks that polls go on at once when a process that may write to the file sets the
   number of log entries back, or makes entries unreadable that were read before. */
static void log_goes_back(void **state) {
  enum {
    NUMBER = FORMAT_CONTROL_OFFSET + offsetof(struct format_control, switches),
    LOG = FORMAT_CONTROL_OFFSET + offsetof(struct format_control, log)
  };
  static const uint32_t numbers[] = {10, 0, 120, 60, UINT32_MAX, 1, 1U << 31, 100};
  static const unsigned flags[] = {0, EVENTRING_OPEN_UNMAPPED};
  struct log log[2] = {{0}, {0}};
  eventring_cursor *cursor[2];
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("d");
  for (int i = 0; i < 2; i++) cursor[i] = open_file(file_name(), flags[i]);
  for (int i = 0; i < 100; i++) {
    eventring_switch_classes(EVENTRING_CLASS_BIT(EVENTRING_CLASS_GC), false);
    eventring_switch_classes(EVENTRING_CLASS_BIT(EVENTRING_CLASS_GC), true);
  }
  clock_t before = clock();
  for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
    for (int i = 0; i < 1000; i++)
      eventring_lifecycle(d, EVENTRING_RUNTIME, EVENTRING_CLASS_LIFECYCLE, EVENTRING_ID_OTHER, i);
    for (int i = 0; i < 2; i++) {
      assert_true(poll_log(cursor[i], &log[i], 0) > 0);
      clear_log(&log[i]);
    }
    if (n == 1) store_word(file_name(), LOG, 7);
    store_word(file_name(), NUMBER, numbers[n]);
  }
  assert_true(clock() - before < CLOCKS_PER_SEC);
  for (int i = 0; i < 2; i++) assert_int_equal(eventring_close(cursor[i]), 0);
  eventring_domain_stop(d);
  eventring_stop();
}

/* Checks that a reader that follows takes each switch into account, not only the first
   since the start of a block. */
static void switched_again_and_again(void **state) {
  const uint64_t user = EVENTRING_CLASS_BIT(EVENTRING_CLASS_USER);
  struct log log = {0};
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_domain *d = start_domain("d");
  eventring_cursor *cursor = open_file(file_name(), 0);
  for (int round = 0; round < 5; round++) {
    eventring_user_begin(d, T_FLOOD);
    eventring_switch_classes(user, false);
    eventring_switch_classes(user, true);
    eventring_user_end(d, T_FLOOD);
    poll_log(cursor, &log, 0);
    const struct eventring_event *e = &log.seen[log.count - 1].event;
    assert_int_equal(e->kind, EVENTRING_END);
    assert_int_equal(e->flags, EVENTRING_TORN);
    clear_log(&log);
  }
  eventring_close(cursor);
  eventring_domain_stop(d);
  eventring_stop();
}

/* Checks any values that are written into the control page from outside. */
static void control_words(void **state) {
  struct eventring_error error;
  struct eventring_info info = {.size = sizeof info};
  uint64_t mask, unnamed = EVENTRING_CLASS_BIT(63);
  const uint64_t named = 0x1ff | EVENTRING_CLASS_BIT(EVENTRING_CLASS_HOST);
  const uint32_t gc = EVENTRING_CLASS_BIT(EVENTRING_CLASS_GC);
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_cursor *cursor = open_file(file_name(), 0);
  assert_int_equal(eventring_cursor_control(cursor,
                                            EVENTRING_CHANGE(ENABLE, .classes = unnamed), &error),
                   EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_cursor_control(cursor,
                                            &(struct eventring_change){.what = 99}, &error),
                   EVENTRING_E_ARGUMENT);
  assert_int_equal(eventring_cursor_control(cursor,
                                            EVENTRING_CHANGE(DISABLE, .classes = named), &error),
                   0);
  eventring_get_classes(&mask);
  assert_int_equal(mask, EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE));
  assert_int_equal(eventring_state(), EVENTRING_RUNNING);
  assert_int_equal(eventring_switch_classes(gc | unnamed, true), 0);
  eventring_get_classes(&mask);
  assert_int_equal(mask, gc | EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE));
  eventring_domain *d = eventring_domain_start("d", NULL);
  static const uint64_t malformed[] = {0x8000000000000000, 0x0000000300000001,
                                       0x8000000180000001, 0x00000000ffffffff, UINT64_MAX};
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
    store_word(file_name(), WANTED_OFFSET, malformed[i]);
    assert_int_equal(eventring_cursor_info(cursor, &info), 0);
    assert_true(info.control_malformed);
    eventring_domain_check(d);
    assert_int_equal(eventring_cursor_info(cursor, &info), 0);
    assert_false(info.control_malformed);
    assert_int_equal(info.control_rejected, i + 1);
    eventring_get_classes(&mask);
    assert_int_equal(mask, gc | EVENTRING_CLASS_BIT(EVENTRING_CLASS_LIFECYCLE));
    assert_int_equal(eventring_state(), EVENTRING_RUNNING);
  }
  /* the gate follows from the wanted classes, whatever is stored there */
  static const uint64_t gates[] = {0, UINT64_MAX, 1, (uint64_t)1 << 63};
  for (size_t i = 0; i < sizeof gates / sizeof *gates; i++) {
    store_word(file_name(), GATE_OFFSET, gates[i]);
    eventring_domain_check(d);
    assert_true(eventring_enabled(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC));
    assert_false(eventring_enabled(d, EVENTRING_RUNTIME, EVENTRING_CLASS_USER));
    assert_int_equal(eventring_cursor_info(cursor, &info), 0);
    assert_int_equal(info.control_rejected, sizeof malformed / sizeof *malformed);
  }
  /* no class is on, and the recording does not run: a pause */
  store_word(file_name(), WANTED_OFFSET, 0);
  eventring_domain_check(d);
  assert_int_equal(eventring_state(), EVENTRING_PAUSED);
  assert_int_equal(eventring_cursor_info(cursor, &info), 0);
  assert_false(info.control_malformed);
  eventring_domain_stop(d);
  eventring_close(cursor);
  eventring_stop();
}

/* ---- First touches ---------------------------------------------------------------- */

/* Checks that on a disk no probe touches a page that is not there, not even in the first
   round through a ring. (On tmpfs blocks are prepared as the round reaches them.) */
static void no_first_touch(void **state) {
  struct statfs fs;
  struct rusage before, after;
  if (slowness() > 1) return; /* sanitizers touch pages of their own */
  if (statfs(".", &fs) != 0 || fs.f_type == 0x01021994) return;
  start_recording(EVENTRING_DEFAULT_WSIZE);
  eventring_domain *d = start_domain("touch");
  uint32_t blocks = format_ring_blocks(EVENTRING_DEFAULT_WSIZE);
  eventring_user_begin(d, T_FLOOD);
  eventring_user_end(d, T_FLOOD);
  getrusage(RUSAGE_THREAD, &before);
  for (uint32_t i = 1; i < blocks * (FORMAT_BLOCK_WORDS / 2 - 4); i++) {
    eventring_user_begin(d, T_FLOOD);
    eventring_user_end(d, T_FLOOD);
  }
  getrusage(RUSAGE_THREAD, &after);
  /* the kernel may cause some faults, for example when it writes pages back */
  assert_in_range(after.ru_minflt - before.ru_minflt, 0, blocks / 4);
  eventring_domain_stop(d);
  eventring_stop();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_without_start),
      cmocka_unit_test(a_file_comes_and_goes),
      cmocka_unit_test(start_later_and_again),
      cmocka_unit_test(kept_when_preserved),
      cmocka_unit_test(standing_by),
      cmocka_unit_test(controlled_from_outside),
      cmocka_unit_test(settings_from_the_environment),
      cmocka_unit_test(ring_size_out_of_range),
      cmocka_unit_test(unknown_start_mode),
      cmocka_unit_test(one_warning_where_there_is_no_room_for_rings),
      cmocka_unit_test(one_warning_where_there_is_no_room_later),
      cmocka_unit_test(one_warning_for_a_ring_that_has_no_room_to_grow),
      cmocka_unit_test(the_129th_domain),
      cmocka_unit_test(no_descriptor),
      cmocka_unit_test(too_many_ended), cmocka_unit_test(forked_while_told),
      cmocka_unit_test(forked_children),
      cmocka_unit_test(killed_at_random_moments),
      cmocka_unit_test(an_ending_process_tells_its_last_event),
      cmocka_unit_test(discovery),
      cmocka_unit_test(own_pid),
      cmocka_unit_test(snapshots),
      cmocka_unit_test(classes_of_the_host),
      cmocka_unit_test(sizes_of_definitions),
      cmocka_unit_test(errors_have_texts), cmocka_unit_test(versions),
      cmocka_unit_test(switched_again_and_again),
      cmocka_unit_test(control_words), cmocka_unit_test(log_goes_back),
      cmocka_unit_test(no_first_touch),
  };
  register_test_events();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
