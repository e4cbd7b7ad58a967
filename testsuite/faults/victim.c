/* SPDX-License-Identifier: MIT */
/* victim.c: a program with a few threads as domains that does things to itself and checks
 * that it survives them, as the tests in this folder require. Needs no virtual machine.
 *
 *   victim fork-exit | fork-exec | fork-record | vfork-exec | threads-fork
 *     forks while it records: the child is silent or has a ring of its own, a program
 *     that it starts has nothing of the recording open, the parent's events are all there
 *   victim fork-follow
 *     forks children that are recorded as their parent is, among busy threads
 *   victim raw-clone
 *     makes children with clone(2) itself, which no handler of fork sees
 *   victim smallest
 *     rings of the least size, payloads of the greatest size and of all kinds
 *   victim full
 *     registers different definitions until there is no room
 *   victim twice
 *     registers one name several times: the same id, or an error
 *   victim foreign-handler
 *     has a SIGBUS handler of its own, under and above the library's
 *   victim later-handler
 *     sets SIGBUS handlers of its own while it records, the last of which calls the
 *     handler that it has replaced
 *
 * Exit status 0: all is as it must be.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eventring/probe.h"
#include "eventring/tools.h"
#include "producer/domains.h"

#define CHECK(condition) \
  ((condition) ? (void)0 \
               : (fprintf(stderr, "victim.c:%d: %s\n", __LINE__, #condition), _exit(1)))

static unsigned count_id, text_id;

static unsigned warnings;
static void count_warning(void *context, const struct eventring_error *error) {
  (void)context;
  CHECK(error->code < 0 && error->text[0]);
  warnings++;
}

static bool follow_forks; /* for the next start */

static void start(unsigned wsize, bool leave_sigbus) {
  struct eventring_config config;
  struct eventring_error error = {0};
  eventring_config_init(&config);
  config.follow_forks = follow_forks;
  config.start = EVENTRING_START_ON;
  config.wsize = wsize;
  config.leave_sigbus = leave_sigbus;
  config.warn = count_warning;
  if (eventring_start(&config, &error) != EVENTRING_OK) {
    fprintf(stderr, "victim: %s\n", error.text);
    exit(1);
  }
}

static int count_event(void *context, const struct eventring_event *event) {
  if (event->id == count_id) ++*(unsigned *)context;
  return 0;
}

/* Returns the number of counters that a reader of the process's own file finds. */
static unsigned counters_seen(void) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, count_event, NULL};
  eventring_cursor *cursor;
  unsigned seen = 0;
  CHECK(eventring_open_self(&cursor, 0, NULL) == EVENTRING_OK);
  CHECK(eventring_poll(cursor, &callbacks, &seen, 0) >= 0);
  eventring_close(cursor);
  return seen;
}

static int status_of(pid_t child) {
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static unsigned files_here(void) {
  char text[16] = "";
  FILE *list = popen("ls | grep -c 'eventring$'", "r");
  CHECK(list && fgets(text, sizeof text, list));
  pclose(list);
  return (unsigned)atoi(text);
}

/* ---- Forks ------------------------------------------------------------------------ */

enum way { FORK_EXIT, FORK_EXEC, FORK_RECORD };

/* Executes this program again, which checks that it has inherited nothing of a recording
   (mode `heir`). */
static void become_heir(void) { execl("/proc/self/exe", "victim", "heir", NULL); }

static void heir(void) {
  char name[64], target[4096];
  for (int fd = 0; fd < 1024; fd++) {
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(name, target, sizeof target - 1);
    if (size < 0) continue;
    target[size] = '\0';
    CHECK(!strstr(target, ".eventring"));
  }
  FILE *maps = fopen("/proc/self/maps", "r");
  CHECK(maps);
  while (fgets(target, sizeof target, maps)) CHECK(!strstr(target, ".eventring"));
  fclose(maps);
}

static void child_part(eventring_domain *d, enum way way) {
  CHECK(eventring_state() == EVENTRING_STOPPED);
  for (int i = 0; i < 100; i++) eventring_user_counter(d, count_id, -1);
  eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, text_id, "child", 5);
  if (way == FORK_EXEC) {
    become_heir();
    _exit(1);
  }
  if (way == FORK_RECORD) {
    start(EVENTRING_MIN_WSIZE, false);
    for (int i = 0; i < 3; i++) eventring_user_counter(d, count_id, i);
    CHECK(counters_seen() == 3 && files_here() == 2);
    eventring_stop();
  }
  _exit(0);
}

static void fork_once(eventring_domain *d, enum way way) {
  pid_t child = fork();
  if (child == 0) child_part(d, way);
  CHECK(status_of(child) == 0);
}

static void forks(enum way way) {
  start(EVENTRING_MIN_WSIZE, false);
  eventring_domain *d = eventring_domain_start("parent", NULL);
  for (int i = 0; i < 20; i++) {
    eventring_user_counter(d, count_id, i);
    fork_once(d, way);
    CHECK(files_here() == 1);
  }
  CHECK(counters_seen() == 20);
  eventring_domain_stop(d);
}

static void vfork_exec(void) {
  start(EVENTRING_MIN_WSIZE, false);
  eventring_domain *d = eventring_domain_start("parent", NULL);
  for (int i = 0; i < 20; i++) {
    eventring_user_counter(d, count_id, i);
    pid_t child = vfork();
    if (child == 0) {
      become_heir();
      _exit(1);
    }
    CHECK(status_of(child) == 0);
  }
  CHECK(counters_seen() == 20 && files_here() == 1);
  eventring_domain_stop(d);
}

/* Checks a child that fork's handlers do not see, which has its parent's rings. However
   it ends, nothing of the recording is touched, marked as ended or taken away. */
static void raw_clone(void) {
  enum { EXIT_AT_ONCE, EXIT, EXEC, STOP, WAYS };
  start(EVENTRING_MIN_WSIZE, false);
  eventring_domain *d = eventring_domain_start("parent", NULL);
  for (int i = 0; i < 20; i++) {
    eventring_user_counter(d, count_id, i);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
      if (i % WAYS == EXEC) become_heir();
      if (i % WAYS == STOP) {
        eventring_domain_stop(d);
        CHECK(eventring_stop() == EVENTRING_E_STATE);
        eventring_end_in_handler();
      }
      if (i % WAYS == EXIT) exit(0);
      _exit(i % WAYS == EXEC);
    }
    CHECK(status_of(child) == 0);
    CHECK(files_here() == 1 && eventring_state() == EVENTRING_RUNNING);
  }
  CHECK(counters_seen() == 20);
  eventring_cursor *cursor;
  char path[4096];
  eventring_path(path, sizeof path);
  CHECK(eventring_open_path(&cursor, path, 0, NULL) == EVENTRING_OK);
  CHECK(eventring_cursor_liveness(cursor) == EVENTRING_LIVE);
  eventring_close(cursor);
  eventring_domain_stop(d);
}

/* Checks that a child that outlives its parent does not keep the parent's recording live.
   The child has none of the parent's descriptors, and so not the lock. The parent is the
   caller's child. */
static void orphan(void) {
  int fd[2];
  char path[4096];
  CHECK(pipe(fd) == 0);
  pid_t parent = fork();
  if (parent == 0) {
    start(EVENTRING_MIN_WSIZE, false);
    eventring_domain_start("parent", NULL);
    pid_t child = fork();
    if (child == 0) {
      sleep(2);
      _exit(0);
    }
    eventring_path(path, sizeof path);
    CHECK(write(fd[1], path, sizeof path) == sizeof path);
    usleep(200000); /* so that fork() has returned in the child */
    kill(getpid(), SIGKILL);
  }
  CHECK(read(fd[0], path, sizeof path) == sizeof path);
  status_of(parent);
  eventring_cursor *cursor;
  CHECK(eventring_open_path(&cursor, path, 0, NULL) == EVENTRING_OK);
  CHECK(eventring_cursor_liveness(cursor) == EVENTRING_DEAD);
  eventring_close(cursor);
  CHECK(eventring_remove(path, EVENTRING_REMOVE_SAVED, NULL) == EVENTRING_OK);
}

static bool stop_flag; /* atomic */

static void *keep_busy(void *argument) {
  eventring_domain *d = eventring_domain_start("busy", NULL);
  char name[32];
  for (int i = 0; !__atomic_load_n(&stop_flag, __ATOMIC_RELAXED); i++) {
    eventring_user_begin(d, 100);
    eventring_user_end(d, 100);
    if (i % 1000) continue; /* so that the mutex is also taken now and then */
    snprintf(name, sizeof name, "%p %d", argument, i / 1000 % 100);
    eventring_register_user(EVENTRING_DEF_INSTANT, name, strlen(name), EVENTRING_NONE, NULL);
  }
  eventring_domain_stop(d);
  return NULL;
}

static void threads_fork(void) {
  pthread_t thread[3];
  start(EVENTRING_MIN_WSIZE, false);
  for (intptr_t i = 0; i < 3; i++)
    pthread_create(&thread[i], NULL, keep_busy, (void *)i);
  eventring_domain *d = eventring_domain_start("parent", NULL);
  for (int i = 0; i < 60; i++) {
    eventring_user_counter(d, count_id, i);
    fork_once(d, (enum way)(i % 3)); /* exit, exec, record */
  }
  __atomic_store_n(&stop_flag, true, __ATOMIC_RELAXED);
  for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
  CHECK(counters_seen() == 60 && files_here() == 1);
  eventring_domain_stop(d);
}

/* ---- Children that are recorded as their parent is -------------------------------- */

/* The ways in which a child goes on, in the order in which they are tried. */
enum going_on { GO_EXEC, GO_STOP, GO_EVENT, GO_CHECK, GO_ASK, GO_GRANDCHILD, WAYS_TO_GO };

static bool own_file(char path[4096]) {
  char name[64];
  snprintf(name, sizeof name, "/%d.eventring", (int)getpid());
  size_t length = eventring_path(path, 4096);
  return length > strlen(name) && strcmp(path + length - strlen(name), name) == 0 &&
         access(path, F_OK) == 0;
}

/* Writes three events. The first starts the recording if it has not started before. */
static void record_as_child(eventring_domain *d) {
  char path[4096];
  for (int i = 0; i < 3; i++) eventring_user_counter(d, count_id, i);
  CHECK(!eventring_fork_pending());
  CHECK(eventring_state() == EVENTRING_RUNNING && own_file(path));
  CHECK(counters_seen() == 3);
  CHECK(eventring_stop() == EVENTRING_OK && access(path, F_OK) != 0);
  eventring_user_counter(d, count_id, 0);
  CHECK(eventring_state() == EVENTRING_STOPPED);
  pid_t child = fork(); /* it records nothing, and follows nothing */
  if (child == 0) _exit(eventring_fork_pending());
  CHECK(status_of(child) == 0);
}

static void go_on(eventring_domain *d, enum going_on how) {
  CHECK(eventring_fork_pending());
  eventring_domain_check(d); /* too early to be noticed */
  eventring_lifecycle(d, EVENTRING_RUNTIME, EVENTRING_CLASS_LIFECYCLE, EVENTRING_ID_HOST, 1);
  if (how == GO_EXEC) {
    become_heir();
    _exit(1);
  }
  if (how == GO_STOP) {
    CHECK(eventring_stop() == EVENTRING_OK && !eventring_fork_pending());
    eventring_user_counter(d, count_id, 0);
    CHECK(eventring_state() == EVENTRING_STOPPED);
    exit(0);
  }
  if (how == GO_CHECK) {
    while (eventring_fork_pending()) eventring_domain_check(d);
    CHECK(eventring_domain_slot(d) == 0);
  }
  if (how == GO_ASK) CHECK(eventring_state() == EVENTRING_RUNNING);
  if (how == GO_GRANDCHILD) {
    pid_t child = fork();
    if (child != 0) CHECK(status_of(child) == 0);
    else CHECK(eventring_fork_pending());
  }
  record_as_child(d);
  exit(0);
}

static void fork_follow(void) {
  pthread_t thread[2];
  follow_forks = true;
  start(EVENTRING_MIN_WSIZE, false);
  for (intptr_t i = 0; i < 2; i++) pthread_create(&thread[i], NULL, keep_busy, (void *)i);
  eventring_domain *d = eventring_domain_start("parent", NULL);
  for (int i = 0; i < 60; i++) {
    eventring_user_counter(d, count_id, i);
    pid_t child = fork();
    if (child == 0) go_on(d, (enum going_on)(i % WAYS_TO_GO));
    CHECK(status_of(child) == 0);
    CHECK(files_here() == 1 && eventring_state() == EVENTRING_RUNNING);
  }
  __atomic_store_n(&stop_flag, true, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
  CHECK(counters_seen() == 60);
  eventring_domain_stop(d);
}

/* ---- Limits ----------------------------------------------------------------------- */

struct payloads {
  uint64_t real, lost, cut;
  int64_t next;
};

static int check_payload(void *context, const struct eventring_event *e) {
  struct payloads *p = context;
  if (e->ring != EVENTRING_USER || e->flags & EVENTRING_SYNTHETIC) return 0;
  p->real++;
  if (e->id != text_id) return 0;
  CHECK(e->size == EVENTRING_MAX_PAYLOAD && e->flags & EVENTRING_TRUNCATED);
  for (size_t i = 1; i < e->size; i++)
    CHECK(((const char *)e->bytes)[i] == ((const char *)e->bytes)[0]);
  p->cut++;
  return 0;
}

static int add_loss(void *context, const struct eventring_loss *loss) {
  struct payloads *p = context;
  if (loss->ring == EVENTRING_USER) p->lost += loss->count;
  return 0;
}

static void smallest(void) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, check_payload, add_loss};
  char text[EVENTRING_MAX_PAYLOAD + 1];
  struct payloads p = {0};
  eventring_cursor *cursor;
  start(EVENTRING_MIN_WSIZE, false);
  eventring_domain *d = eventring_domain_start("small", NULL);
  CHECK(eventring_open_self(&cursor, 0, NULL) == EVENTRING_OK);
  for (int i = 0; i < 5000; i++) {
    /* a deep stack of open spans leaves the least room in a block */
    if (i < 200) eventring_user_begin(d, 100);
    memset(text, 'a' + i % 26, sizeof text);
    eventring_instant_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, text_id, text,
                          sizeof text);
    eventring_user_counter(d, count_id, i);
    if (i % 17 == 0) CHECK(eventring_poll(cursor, &callbacks, &p, 0) >= 0);
  }
  while (eventring_poll(cursor, &callbacks, &p, 0) > 0) continue;
  CHECK(p.real + p.lost == evr_domain_emitted(d, EVENTRING_USER));
  CHECK(p.lost > 0 && p.cut > 1000);
  eventring_close(cursor);
  eventring_domain_stop(d);
}

static int count_others(void *context, const struct eventring_event *event) {
  if (event->id != EVENTRING_ID_OTHER) return 0;
  CHECK(strcmp(event->name, "(other)") == 0);
  ++*(unsigned *)context;
  return 0;
}

/* Checks that names beyond the catalogue share one, and that a table fails as a whole. */
static void full(void) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, count_others, NULL};
  static bool taken[EVENTRING_MAX_EVENTS];
  struct eventring_def table = {.name = "one more", .kind = EVENTRING_DEF_SPAN};
  struct eventring_error error = {0};
  struct eventring_info info = {.size = sizeof info};
  unsigned names = 0, others = 0, first;
  char name[32];
  int id;
  start(EVENTRING_MIN_WSIZE, false);
  for (int i = 0;; i++) {
    int size = snprintf(name, sizeof name, "name %d", i);
    id = eventring_register_user(EVENTRING_DEF_INSTANT, name, (size_t)size,
                                 EVENTRING_NONE, &error);
    if (id == EVENTRING_ID_OTHER) break;
    CHECK(id >= EVENTRING_ID_HOST && id < EVENTRING_MAX_EVENTS && !taken[id]);
    taken[id] = true;
    names++;
  }
  CHECK(names > EVENTRING_MAX_EVENTS - 100);
  CHECK(eventring_register_user(EVENTRING_DEF_COUNTER, name, 4, EVENTRING_INT, &error) ==
        EVENTRING_ID_OTHER);
  CHECK(eventring_register_user(EVENTRING_DEF_INSTANT, "name 0", 6, EVENTRING_NONE, &error) >=
        EVENTRING_ID_HOST);
  CHECK(eventring_register_table(&table, 1, &first, &error) == EVENTRING_E_FULL &&
        error.text[0]);
  eventring_domain *d = eventring_domain_start("full", NULL);
  eventring_instant(d, EVENTRING_USER, EVENTRING_CLASS_USER, EVENTRING_ID_OTHER);
  eventring_user_counter(d, EVENTRING_ID_OTHER, 5);
  eventring_cursor *cursor;
  CHECK(eventring_open_self(&cursor, 0, NULL) == EVENTRING_OK);
  CHECK(strcmp(eventring_cursor_def(cursor, count_id)->name, "count") == 0);
  CHECK(eventring_poll(cursor, &callbacks, &others, 0) > 0 && others == 2);
  CHECK(eventring_cursor_info(cursor, &info) == EVENTRING_OK && info.names_dropped == 2);
  eventring_close(cursor);
  eventring_domain_stop(d);
}

static int register_as(const char *name, enum eventring_def_kind kind,
                       enum eventring_payload payload) {
  return eventring_register_user(kind, name, strlen(name), payload, NULL);
}

static void twice(void) {
  static const struct eventring_callbacks callbacks = {sizeof callbacks, count_event, NULL};
  eventring_cursor *cursor;
  unsigned seen = 0;
  start(EVENTRING_MIN_WSIZE, false);
  eventring_domain *d = eventring_domain_start("twice", NULL);
  int counter = register_as("count", EVENTRING_DEF_COUNTER, EVENTRING_INT);
  int event = register_as("count", EVENTRING_DEF_INSTANT, EVENTRING_NONE);
  CHECK(counter == (int)count_id); /* registered again: the same id */
  CHECK(event >= 0 && event != counter); /* another kind: another id */
  CHECK(register_as("count", EVENTRING_DEF_COUNTER, EVENTRING_DOUBLE) == EVENTRING_E_CONFLICT);
  eventring_user_counter(d, (unsigned)counter, 1);
  eventring_instant(d, EVENTRING_USER, EVENTRING_CLASS_USER, (unsigned)event);
  CHECK(eventring_open_self(&cursor, 0, NULL) == EVENTRING_OK);
  CHECK(eventring_poll(cursor, &callbacks, &seen, 0) > 0 && seen == 1);
  CHECK(strcmp(eventring_cursor_def(cursor, (unsigned)event)->name, "count") == 0);
  eventring_close(cursor);
  eventring_domain_stop(d);
}

/* ---- SIGBUS ----------------------------------------------------------------------- */

static volatile sig_atomic_t foreign_faults;
static char *foreign_page;

static void on_fault(int number, siginfo_t *info, void *context) {
  (void)number;
  (void)context;
  if (eventring_repair_fault(info->si_addr)) return;
  if ((char *)info->si_addr != foreign_page) _exit(9);
  foreign_faults++;
  mmap(foreign_page, 4096, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Causes a fault of the host's own, in a file that the host maps and that is cut
   short. */
static void fault_once(void) {
  int fd = open("foreign", O_RDWR | O_CREAT | O_TRUNC, 0600);
  CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
  foreign_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(foreign_page != MAP_FAILED && ftruncate(fd, 0) == 0);
  *(volatile char *)foreign_page = 1;
  munmap(foreign_page, 4096);
  close(fd);
}

static void cut_own_file(bool leave_sigbus) {
  char path[4096];
  eventring_domain *d = eventring_domain_start("cut", NULL);
  eventring_user_counter(d, count_id, 1);
  eventring_path(path, sizeof path);
  CHECK(truncate(path, 0) == 0);
  for (int i = 0; i < 10000; i++) eventring_user_counter(d, count_id, i);
  CHECK(eventring_state() == EVENTRING_STOPPED);
  unsigned before = warnings;
  start(EVENTRING_MIN_WSIZE, leave_sigbus); /* the start succeeds although the file is
                                               lost */
  CHECK(warnings == before + 1);            /* and the host is warned */
  for (int i = 0; i < 5; i++) eventring_user_counter(d, count_id, i);
  CHECK(eventring_state() == EVENTRING_RUNNING && counters_seen() == 5);
  eventring_domain_stop(d);
  eventring_stop();
  CHECK(files_here() == 0);
}

static void foreign_handler(void) {
  struct sigaction mine = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, now;
  sigaction(SIGBUS, &mine, NULL);
  start(EVENTRING_MIN_WSIZE, true);
  sigaction(SIGBUS, NULL, &now);
  CHECK(now.sa_sigaction == on_fault); /* left alone, as configured */
  cut_own_file(true);
  fault_once();
  CHECK(foreign_faults == 1);
}

static void chained_handler(void) {
  struct sigaction mine = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, now;
  sigaction(SIGBUS, &mine, NULL);
  start(EVENTRING_MIN_WSIZE, false);
  sigaction(SIGBUS, NULL, &now);
  CHECK(now.sa_sigaction != on_fault);
  fault_once();
  CHECK(foreign_faults == 1); /* passed on */
  cut_own_file(false);
  CHECK(foreign_faults == 1);
  fault_once();
  CHECK(foreign_faults == 2);
}

/* Handles a fault without the library. */
static void on_own_fault(int number, siginfo_t *info, void *context) {
  (void)number;
  (void)context;
  if ((char *)info->si_addr != foreign_page) _exit(9);
  foreign_faults++;
  mmap(foreign_page, 4096, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static struct sigaction replaced;
static volatile sig_atomic_t chained;

static void on_fault_chained(int number, siginfo_t *info, void *context) {
  CHECK(++chained < 10); /* otherwise the handlers call each other in a circle */
  replaced.sa_sigaction(number, info, context);
}

/* Records until the library has noticed the handler. */
static void record_until_replaced(eventring_domain *d,
                                  void (*handler)(int, siginfo_t *, void *)) {
  struct sigaction now;
  do {
    for (int i = 0; i < 1000; i++) eventring_user_counter(d, count_id, i);
    usleep(1000);
    sigaction(SIGBUS, NULL, &now);
  } while (now.sa_sigaction == handler);
}

static void later_handler(void) {
  struct sigaction mine = {.sa_sigaction = on_own_fault, .sa_flags = SA_SIGINFO};
  start(EVENTRING_MIN_WSIZE, false);
  eventring_domain *d = eventring_domain_start("later", NULL);
  for (int times = 1; times <= 3; times++) {
    sigaction(SIGBUS, &mine, NULL);
    record_until_replaced(d, on_own_fault);
    fault_once();
    CHECK(foreign_faults == times);
  }
  mine.sa_sigaction = on_fault_chained;
  sigaction(SIGBUS, &mine, &replaced);
  record_until_replaced(d, on_fault_chained);
  fault_once();
  CHECK(foreign_faults == 4 && chained == 1);
  eventring_domain_stop(d);
  cut_own_file(false);
  CHECK(foreign_faults == 4 && chained == 1);
}

/* Checks a tool that changes the control page of another process, whose file is cut short
   between the check and the change. The front is then valid, but the page is missing. */
static void cut_control(void) {
  struct sigaction before, now;
  struct eventring_error error = {0};
  eventring_cursor *cursor;
  char path[64], byte;
  int ready[2];
  CHECK(pipe(ready) == 0);
  pid_t child = fork();
  if (child == 0) {
    start(EVENTRING_MIN_WSIZE, false);
    CHECK(write(ready[1], "x", 1) == 1);
    pause();
  }
  CHECK(read(ready[0], &byte, 1) == 1);
  snprintf(path, sizeof path, "%d.eventring", (int)child);
  CHECK(eventring_open_path(&cursor, path, 0, &error) == EVENTRING_OK);
  CHECK(truncate(path, 8192) == 0);
  sigaction(SIGBUS, NULL, &before);
  CHECK(eventring_cursor_control(cursor, EVENTRING_CHANGE(PAUSE), &error) ==
        EVENTRING_E_TRUNCATED);
  sigaction(SIGBUS, NULL, &now);
  CHECK(now.sa_handler == before.sa_handler); /* the handler is gone */
  eventring_close(cursor);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  unlink(path);
}

/* ---- The program ------------------------------------------------------------------ */

static void fork_exit(void) { forks(FORK_EXIT); }
static void fork_exec(void) { forks(FORK_EXEC); }
static void fork_record(void) { forks(FORK_RECORD); }

int main(int argc, char **argv) {
  static const struct { const char *name; void (*run)(void);
  } modes[] = {{"fork-exit", fork_exit},
               {"fork-exec", fork_exec},
               {"fork-record", fork_record},
               {"fork-follow", fork_follow},
               {"vfork-exec", vfork_exec},
               {"raw-clone", raw_clone},
               {"orphan", orphan},
               {"threads-fork", threads_fork},
               {"smallest", smallest},
               {"full", full},
               {"twice", twice},
               {"heir", heir},
               {"foreign-handler", foreign_handler},
               {"chained-handler", chained_handler},
               {"later-handler", later_handler},
               {"cut-control", cut_control}};
  count_id = (unsigned)eventring_register_user(EVENTRING_DEF_COUNTER, "count", 5,
                                               EVENTRING_INT, NULL);
  text_id = (unsigned)eventring_register_user(EVENTRING_DEF_INSTANT, "text", 4,
                                              EVENTRING_STRING, NULL);
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
    if (argc > 1 && strcmp(argv[1], modes[i].name) == 0) {
      modes[i].run();
      return 0; /* the exit handler stops what still records */
    }
  fprintf(stderr, "usage: victim MODE\n");
  return 2;
}
