/* SPDX-License-Identifier: MIT */
/* eventring_place_test.c: the file of a recording: its name, what may be in its place,
   what may prevent its creation, and who else may want a recording in the same
   process. */
#include "eventring_common.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

/* ---- What can prevent the file ---------------------------------------------------- */

static void expect_start(const char *directory, int code, const char *text) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  struct eventring_error error = {0};
  config.directory = directory;
  int status = eventring_start(&config, &error);
  if (status != code) fail_msg("%d (%s) instead of %d", status, error.text, code);
  assert_int_equal(error.code, code);
  if (!strstr(error.text, text)) fail_msg("\"%s\" does not say \"%s\"", error.text, text);
  assert_int_equal(eventring_state(), EVENTRING_STOPPED);
}

static void bad_directories(void **state) {
  char longer[5000];
  memset(longer, 'd', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  expect_start("nowhere/at/all", EVENTRING_E_DIRECTORY, "nowhere/at/all");
  expect_start("/dev/null", EVENTRING_E_DIRECTORY, "/dev/null");
  expect_start(longer, EVENTRING_E_DIRECTORY, "ddd");
  expect_start("/proc/self", EVENTRING_E_DIRECTORY, "/proc/");
  if (geteuid() == 0) return; /* root may write anywhere */
  mkdir("locked", 0500);
  expect_start("locked", EVENTRING_E_PERMISSION, "locked");
  rmdir("locked");
}

static void things_in_the_files_place(void **state) {
  FILE *f = fopen("precious", "w");
  fputs("precious", f);
  fclose(f);
  assert_int_equal(symlink("precious", file_name()), 0);
  expect_start(NULL, EVENTRING_E_EXISTS, "symbolic link");
  unlink(file_name());
  char text[16] = "";
  f = fopen("precious", "r");
  assert_non_null(fgets(text, sizeof text, f));
  fclose(f);
  assert_string_equal(text, "precious");
  unlink("precious");
  mkdir(file_name(), 0700);
  expect_start(NULL, EVENTRING_E_EXISTS, "not a regular file");
  rmdir(file_name());
  mkfifo(file_name(), 0600);
  expect_start(NULL, EVENTRING_E_EXISTS, "not a regular file");
  unlink(file_name());
}

/* Returns the path of the only other recording in the working directory. */
static const char *renamed_file(void) {
  static char found[NAME_MAX + 1];
  DIR *directory = opendir(".");
  const struct dirent *entry;
  int count = 0;
  assert_non_null(directory);
  while ((entry = readdir(directory)))
    if (strstr(entry->d_name, EVENTRING_SUFFIX) && strcmp(entry->d_name, file_name()) != 0) {
      snprintf(found, sizeof found, "%s", entry->d_name);
      count++;
    }
  closedir(directory);
  assert_int_equal(count, 1);
  return found;
}

/* Checks that a file that is no recording, at the path of the new file, is renamed to a
   name with the time of its last change. */
static void a_dead_file_is_renamed(void **state) {
  const struct timespec times[2] = {{.tv_sec = 1234567}, {.tv_sec = 1234567}};
  char expected[64];
  FILE *f = fopen(file_name(), "w");
  fputs("old contents", f);
  fclose(f);
  assert_int_equal(utimensat(AT_FDCWD, file_name(), times, 0), 0);
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_cursor *cursor = open_file(file_name(), 0);
  struct log log = {0};
  assert_int_equal(poll_log(cursor, &log, 0), 0);
  clear_log(&log);
  eventring_close(cursor);
  snprintf(expected, sizeof expected, "%d-1234567.eventring", (int)getpid());
  struct stat st;
  assert_int_equal(stat(expected, &st), 0); /* neither replaced nor written to */
  assert_int_equal(st.st_size, 12);
  eventring_stop();
  unlink(expected);
}

/* Checks that a dead recording is renamed: when a container is started again, its process
   has the same pid as before. */
static void a_dead_recording_is_renamed(void **state) {
  for (int round = 0; round < 3; round++) {
    struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
    config.preserve = true;
    assert_int_equal(eventring_start(&config, NULL), 0);
    eventring_domain *d = start_domain(round ? "second" : "first");
    eventring_user_begin(d, T_FLOOD);
    eventring_domain_stop(d);
    eventring_stop();
    if (!round) continue;
    eventring_cursor *cursor = open_file(renamed_file(), 0);
    struct eventring_info info = {.size = sizeof info};
    struct eventring_domain_info domain = {.size = sizeof domain};
    eventring_cursor_info(cursor, &info);
    assert_int_equal(info.pid, getpid());
    assert_int_equal(eventring_cursor_domain(cursor, 0, &domain), 0);
    assert_string_equal(domain.name, round == 1 ? "first" : "second");
    eventring_close(cursor);
    unlink(renamed_file());
  }
  unlink(file_name());
}

/* ---- Names ------------------------------------------------------------------------ */

static void expect_name(const char *pattern, const char *expected) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  struct eventring_error error = {0};
  config.name = pattern;
  if (eventring_start(&config, &error) != 0) fail_msg("%s: %s", pattern, error.text);
  const char *name = strrchr(own_path(), '/') + 1;
  if (strcmp(name, expected) != 0) fail_msg("%s: %s instead of %s", pattern, name, expected);
  assert_true(exists(expected));
  eventring_stop();
  assert_false(exists(expected));
}

static void names_by_template(void **state) {
  char expected[512], host[256] = "", longest[512];
  gethostname(host, sizeof host - 1);
  expect_name(NULL, file_name());
  expect_name("", file_name());
  expect_name("%p", file_name());
  expect_name("service", "service.eventring");
  expect_name("service.eventring", "service.eventring");
  expect_name("%n", "unit.eventring"); /* the name in test_config */
  expect_name("100%%", "100%.eventring");
  expect_name("\xc3\xa4 b", "\xc3\xa4 b.eventring");
  snprintf(expected, sizeof expected, "%s-unit-%d.eventring", host, (int)getpid());
  expect_name("%h-%n-%p", expected);
  memset(longest, 'x', 210);
  longest[210] = 0;
  strcpy(stpcpy(expected, longest), EVENTRING_SUFFIX);
  expect_name(longest, expected);

  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  config.name = "at-%t";
  time_t before = time(NULL);
  assert_int_equal(eventring_start(&config, NULL), 0);
  long long at = atoll(strrchr(own_path(), '/') + 4);
  assert_true(at >= before && at <= time(NULL));
  eventring_stop();
}

static void bad_names(void **state) {
  char longer[512];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  const char *const bad[][2] = {{"a/b", "slash"}, {"%x", "after %"}, {"x%", "after %"},
                                {"a\nb", "control"}, {".eventring", "empty"},
                                {longer, "210 bytes"}};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
    struct eventring_error error = {0};
    config.name = bad[i][0];
    assert_int_equal(eventring_start(&config, &error), EVENTRING_E_CONFIG);
    if (!strstr(error.text, bad[i][1])) fail_msg("%s: %s", bad[i][0], error.text);
    assert_int_equal(eventring_state(), EVENTRING_STOPPED);
  }
}

/* Checks a host's name for itself with any characters. */
static void names_of_odd_programs(void **state) {
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  config.name = "%n";
  config.program = "bin/a\nb\x7f";
  assert_int_equal(eventring_start(&config, NULL), 0);
  assert_string_equal(strrchr(own_path(), '/') + 1, "bin_a?b?.eventring");
  eventring_stop();
}

/* ---- Other hosts in the process --------------------------------------------------- */

/* Checks that a second host registers after the first and records into the same file. */
static void two_hosts(void **state) {
  const struct eventring_def other[] = {{.name = "theirs", .kind = EVENTRING_DEF_SPAN,
                                         .event_class = EVENTRING_CLASS_USER,
                                         .ring = EVENTRING_USER}};
  unsigned base = 0;
  struct eventring_error error = {0};
  assert_int_equal(eventring_register_table(other, 1, NULL, &error), EVENTRING_E_CONFLICT);
  assert_int_equal(eventring_register_table(other, 1, &base, &error), 0);
  assert_true(base >= T_NAMES);
  start_recording(EVENTRING_MIN_WSIZE);
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE + 1);
  config.program = "another";
  assert_int_equal(eventring_start(&config, &error), EVENTRING_JOINED);
  eventring_domain *d = start_domain("main");
  eventring_user_begin(d, base);
  eventring_user_begin(d, T_FLOOD);
  assert_int_equal(eventring_stop(), EVENTRING_JOINED); /* the recording belongs to the
                                                           other host, too */
  assert_int_equal(eventring_state(), EVENTRING_RUNNING);
  assert_true(exists(file_name()));
  eventring_user_end(d, T_FLOOD);
  eventring_cursor *cursor = open_self(0);
  struct log log = {0};
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor_info(cursor, &info);
  assert_string_equal(info.program, "unit");
  poll_log(cursor, &log, 0);
  drop_builtins(&log);
  assert_int_equal(log.count, 3);
  assert_string_equal(eventring_cursor_def(cursor, log.seen[0].event.id)->name, "theirs");
  assert_string_equal(eventring_cursor_def(cursor, log.seen[1].event.id)->name, "flood");
  clear_log(&log);
  eventring_close(cursor);
  eventring_domain_stop(d);
  assert_int_equal(eventring_stop(), EVENTRING_OK);
  assert_int_equal(eventring_stop(), EVENTRING_OK);
  assert_false(exists(file_name()));
}

#ifdef LM_ID_NEWLM /* only glibc has dlmopen */
/* Checks a second copy of the library, as in a program whose plug-in brings its own. */
static void two_copies(void **state) {
  char path[4096], second[64];
  const char *build = getenv("BUILDDIR");
  snprintf(path, sizeof path, "%s/.libs/libeventring.so", build ? build : ".");
  void *copy = dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL);
  if (!copy) skip(); /* a build without shared libraries */
  int (*start)(const struct eventring_config *, struct eventring_error *) =
      (int (*)(const struct eventring_config *, struct eventring_error *))dlsym(copy,
                                                                                "eventring_start");
  int (*stop)(void) = (int (*)(void))dlsym(copy, "eventring_stop");
  assert_true(start && stop);
  struct eventring_config config = test_config(EVENTRING_MIN_WSIZE);
  snprintf(second, sizeof second, "%d.2.eventring", (int)getpid());
  for (int round = 0; round < 2; round++) {
    start_recording(EVENTRING_MIN_WSIZE);
    assert_int_equal(start(&config, NULL), 0);
    assert_true(exists(file_name()) && exists(second));
    if (round) stop(); else eventring_stop();
    assert_int_equal(exists(file_name()), round);
    assert_int_equal(exists(second), !round);
    if (round) eventring_stop(); else stop();
    assert_false(exists(file_name()) || exists(second));
  }
  dlclose(copy);
}
#endif

static void another_process_holds_the_name(void **state) {
  /* as by a process with our pid in another pid namespace */
  int pipe_fd[2];
  char byte;
  assert_int_equal(pipe(pipe_fd), 0);
  const char *name = file_name();
  pid_t child = fork();
  if (child == 0) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    if (fcntl(fd, F_OFD_SETLK, &lock) != 0 || write(pipe_fd[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  assert_int_equal(read(pipe_fd[0], &byte, 1), 1);
  expect_start(NULL, EVENTRING_E_EXISTS, "in use");
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  assert_true(exists(name));
  start_recording(EVENTRING_MIN_WSIZE);
  eventring_stop();
  close(pipe_fd[0]);
  close(pipe_fd[1]);
}

/* Room for the front and the first blocks of records, but not for a ring of 2^16
   words. */
enum { SIZE_WITHOUT_RINGS = FORMAT_FRONT_BYTES + 32 * FORMAT_BLOCK_BYTES };

static void limits_on_size(void **state) {
  struct rlimit old, limit;
  getrlimit(RLIMIT_FSIZE, &old);
  limit = old;
  limit.rlim_cur = 10000;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  expect_start(NULL, EVENTRING_E_LIMIT, "eventring");
  assert_false(exists(file_name()));
  limit.rlim_cur = SIZE_WITHOUT_RINGS;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  start_recording(16);
  struct eventring_error error = {0};
  eventring_domain *d = eventring_domain_start("main", &error);
  assert_int_equal(error.code, EVENTRING_OK);
  eventring_user_begin(d, T_FLOOD); /* the event is counted, and waits for room */
  assert_int_equal(eventring_domain_slot(d), 0);
  eventring_domain_stop(d);
  setrlimit(RLIMIT_FSIZE, &old);
  eventring_stop();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_directories),
      cmocka_unit_test(things_in_the_files_place),
      cmocka_unit_test(a_dead_file_is_renamed),
      cmocka_unit_test(a_dead_recording_is_renamed),
      cmocka_unit_test(names_by_template),
      cmocka_unit_test(bad_names),
      cmocka_unit_test(names_of_odd_programs),
      cmocka_unit_test(two_hosts),
#ifdef LM_ID_NEWLM
      cmocka_unit_test(two_copies),
#endif
      cmocka_unit_test(another_process_holds_the_name),
      cmocka_unit_test(limits_on_size),
  };
  register_test_events();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
