/* SPDX-License-Identifier: MIT */
/* launch.c: runs a PROGRAM that records itself. */
#include "launch.h"
#include "analysis/ending.h"
#include "format/copy_file.h"
#include "merge.h"
#include "new_file.h"
#include "signals.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CANNOT_EXECUTE = 126, NO_COMMAND = 127, BY_SIGNAL = 128 };

/* ---- The environment ----------------------------------------------------- */

static void variable_name(char *name, size_t room, const char *prefix,
                          const char *suffix) {
  snprintf(name, room, "%s_%s", prefix, suffix);
}

/* Returns the user's own setting, or NULL if it is unset or empty. */
static const char *setting(const char *prefix, const char *suffix) {
  char name[256];
  variable_name(name, sizeof name, prefix, suffix);
  const char *value = secure_getenv(name);
  return value && value[0] ? value : NULL;
}

static void set(const char *prefix, const char *suffix, const char *value) {
  char name[256];
  variable_name(name, sizeof name, prefix, suffix);
  setenv(name, value, 1);
}

static void unset(const char *prefix, const char *suffix) {
  char name[256];
  variable_name(name, sizeof name, prefix, suffix);
  unsetenv(name);
}

void launch_set_sibling(const char *prefix, const char *name, const char *value, bool replace) {
  static const char suffix[] = "_EVENTRING";
  char variable[256];
  size_t size = strlen(prefix), end = strlen(suffix);
  if (size >= end && strcmp(prefix + size - end, suffix) == 0) size -= end;
  snprintf(variable, sizeof variable, "%.*s_%s", (int)size, prefix, name);
  setenv(variable, value, replace);
}

void launch_add_classes(const char *prefix, const char *list) {
  const char *wanted = setting(prefix, "CLASSES");
  char *both = NULL;
  if (asprintf(&both, "%s%s%s", wanted ? wanted : "", wanted ? "," : "", list) < 0) no_memory();
  set(prefix, "CLASSES", both);
  free(both);
}

/* Tells whether the new directory is ours: where others may rename files, it may have
   been replaced. */
static bool is_ours(int fd) {
  struct stat st;
  bool ours = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 077);
  if (fd >= 0 && !ours) errno = EPERM;
  return ours;
}

/* Makes a new directory in `base`, and opens both. Returns false after a message. */
static bool make_directory(struct launch *launch, const char *base) {
  char *real = realpath(base, NULL);
  launch->base_fd = real ? open(real, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
  if (launch->base_fd >= 0 && asprintf(&launch->directory, "%s/eventring-XXXXXX", real) < 0)
    no_memory();
  bool made = launch->base_fd >= 0 && mkdtemp(launch->directory);
  if (made)
    launch->fd = openat(launch->base_fd, strrchr(launch->directory, '/') + 1,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  made = made && is_ours(launch->fd);
  if (!made) complain("cannot make a directory in %s: %s", base, strerror(errno));
  free(real);
  return made;
}

/* Removes the directory itself, if it still has its name. It stays if a file is left in
   it. */
static void remove_directory(const struct launch *launch) {
  const char *name = strrchr(launch->directory, '/') + 1;
  struct stat ours, named;
  bool same = fstat(launch->fd, &ours) == 0 &&
              fstatat(launch->base_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
              ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
  if (!same) complain("left %s: somebody has put something else there", launch->directory);
  else if (unlinkat(launch->base_fd, name, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY &&
           errno != EEXIST)
    complain("cannot remove %s: %s", launch->directory, strerror(errno));
}

static bool choose_directory(struct launch *launch, const char *prefix) {
  const char *wanted = setting(prefix, "PREFIX");
  const char *preserve = setting(prefix, "PRESERVE");
  bool keep = preserve && strcmp(preserve, "0") != 0;
  launch->only_bad = preserve && strcmp(preserve, "onerror") == 0;
  const char *temporary = secure_getenv("TMPDIR");
  const char *base = wanted ? wanted : temporary && temporary[0] ? temporary : "/tmp";
  const char *stream = setting(prefix, "STREAM");
  launch->keeps = keep;
  launch->keep_in = realpath(wanted ? wanted : ".", NULL);
  launch->stream = stream ? need_copy(stream) : NULL;
  return make_directory(launch, base);
}

/* ---- Starting ------------------------------------------------------------ */

/* Signals. The handler passes on SIGTERM and SIGHUP at once. The process to which they
   are sent exists as long as nobody has waited for it. The handler does not run between
   the wait and the reset of `receiver`, because signals are blocked then. They are also
   blocked from before the directory is made until both the handlers and the child exist;
   signals that are pending then go to the child. */

static volatile sig_atomic_t receiver; /* pid of the process that gets the signals; 0 if
                                          none */

static void pass_on(int number) {
  int saved = errno;
  if (receiver > 0) kill((pid_t)receiver, number);
  errno = saved;
}

static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

/* Sets the handlers, while signals are blocked. The terminal sends SIGINT to the child,
   too; a SIGINT from before the fork is passed on. */
static void handle_signals(pid_t child) {
  sigset_t pending;
  receiver = (sig_atomic_t)child;
  if (sigpending(&pending) == 0 && sigismember(&pending, SIGINT) == 1) kill(child, SIGINT);
  handle(SIGINT, SIG_IGN);
  handle(SIGTERM, pass_on);
  handle(SIGHUP, pass_on);
  /* closing the output pipe must not prevent the cleanup */
  handle(SIGPIPE, SIG_IGN);
}

static void have_it_record(const struct launch *launch, const char *prefix) {
  if (launch->forks) set(prefix, "FORK", "1");
  set(prefix, "START", "1");
  set(prefix, "PREFIX", launch->directory);
  set(prefix, "PRESERVE", "1");
  unset(prefix, "KEEP"); /* keep the files of all processes of the program */
  set(prefix, "NAME", ""); /* a separate file name for each process */
}

/* Becomes the program, in the child. Never returns. Writes an errno into the pipe if it
   cannot execute the program. */
static void become(char **command, const struct launch *launch, const char *prefix,
                   int report, const sigset_t *signals) {
  if (prefix) have_it_record(launch, prefix);
  signals_release(signals);
  execvp(command[0], command);
  int error = errno;
  ssize_t written = write(report, &error, sizeof error);
  _exit(written == sizeof error ? NO_COMMAND : CANNOT_EXECUTE);
}

/* Returns the errno with which exec failed, or 0 if it did not fail. */
static int exec_error(int report) {
  int error = 0;
  ssize_t got;
  do got = read(report, &error, sizeof error);
  while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

/* Waits for the child, with options of waitpid, and stores its status if it has ended. */
static void wait_for(struct launch *launch, int options) {
  sigset_t before = signals_hold();
  if (waitpid(launch->pid, &launch->status, options) > 0) {
    launch->ended = true;
    receiver = 0;
  }
  signals_release(&before);
}

/* Starts the child, while signals are blocked. The mask `signals` is restored in the
   child, and here as soon as the child exists. Returns STATUS_GO_ON, or the exit status
   after a message. */
static int spawn(struct launch *launch, char **command, const char *prefix,
                 const sigset_t *signals) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) < 0)
    return wrong("cannot launch %s: %s", command[0], strerror(errno));
  fflush(NULL);
  launch->pid = fork();
  if (launch->pid == 0) become(command, launch, prefix, report[1], signals);
  int error = launch->pid < 0 ? errno : 0;
  close(report[1]);
  if (launch->pid > 0) {
    handle_signals(launch->pid);
    signals_release(signals);
    error = exec_error(report[0]);
  }
  close(report[0]);
  if (error == 0) return STATUS_GO_ON;
  complain("cannot launch %s: %s", command[0], strerror(error));
  if (launch->pid < 0) return STATUS_WRONG;
  wait_for(launch, 0);
  return error == ENOENT ? NO_COMMAND : CANNOT_EXECUTE;
}

static void release(struct launch *launch) {
  if (launch->base_fd >= 0) close(launch->base_fd);
  if (launch->fd >= 0) close(launch->fd);
  free(launch->command);
  free(launch->directory);
  free(launch->keep_in);
  free(launch->stream);
  free(launch->merged);
}

int launch_start(struct launch *launch, char **command, const char *prefix, bool forks) {
  *launch = (struct launch){.command = need_copy(command[0]), .forks = forks, .base_fd = -1,
                            .fd = -1};
  int status = STATUS_WRONG;
  sigset_t signals = signals_hold();
  if (!prefix || choose_directory(launch, prefix)) {
    status = spawn(launch, command, prefix, &signals);
    if (!goes_on(status) && prefix) remove_directory(launch);
  }
  signals_release(&signals);
  if (goes_on(status)) return STATUS_GO_ON;
  release(launch);
  return status;
}

/* ---- Its files ----------------------------------------------------------- */

static bool is_recording(const char *name) {
  size_t length = strlen(name), suffix = strlen(EVENTRING_SUFFIX);
  return length > suffix && strcmp(name + length - suffix, EVENTRING_SUFFIX) == 0;
}

bool each_recording(const char *name, bool (*visit)(void *, const char *), void *context) {
  DIR *directory = opendir(name);
  struct dirent *entry;
  bool found = false;
  char path[PATH_MAX + 256];
  while (directory && !found && (entry = readdir(directory))) {
    if (!is_recording(entry->d_name)) continue;
    snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
    found = visit(context, path);
  }
  if (directory) closedir(directory);
  return found;
}

struct opening {
  eventring_cursor **cursor;
  unsigned flags;
  struct eventring_error error; /* error of the last failure */
};

static bool try_open(void *context, const char *path) {
  struct opening *opening = context;
  return eventring_open_path(opening->cursor, path, opening->flags,
                             &opening->error) == 0;
}

/* Tells whether the file is the recording of the process with this pid. */
static bool is_of(eventring_cursor *cursor, pid_t pid) {
  struct eventring_info info = {.size = sizeof info};
  return eventring_cursor_info(cursor, &info) == EVENTRING_OK && info.pid == pid;
}

/* Finds the path of the user's stream. Returns false if the path depends on more than the
   process. */
static bool stream_path(const struct launch *launch, char path[PATH_MAX]) {
  const char *from = launch->stream, *end = from + strcspn(from, ",");
  size_t size = 0, suffix = strlen(EVENTRING_SUFFIX);
  for (; from < end && size < PATH_MAX / 2; from++) {
    if (*from != '%') path[size++] = *from;
    else if (*++from == 'p') size += (size_t)sprintf(path + size, "%ld", (long)launch->pid);
    else if (*from == '%') path[size++] = '%';
    else return false;
  }
  path[size] = '\0';
  if (size < suffix || strcmp(path + size - suffix, EVENTRING_SUFFIX) != 0)
    strcpy(path + size, EVENTRING_SUFFIX);
  return true;
}

/* Opens the stream, through the process as long as that runs, else by its name. */
static bool open_stream(struct launch *launch, struct opening *opening) {
  char path[PATH_MAX];
  if (!launch->ended && eventring_open_pid(opening->cursor, launch->pid, opening->flags,
                                           &opening->error) == 0)
    return true;
  if (!stream_path(launch, path) || !try_open(opening, path)) return false;
  if (is_of(*opening->cursor, launch->pid)) return true;
  eventring_close(*opening->cursor);
  return false;
}

static bool open_any_file(struct launch *launch, struct opening *opening) {
  char path[PATH_MAX + 64];
  if (launch->stream && open_stream(launch, opening)) return true;
  snprintf(path, sizeof path, "%s/%ld%s", launch->directory, (long)launch->pid,
           EVENTRING_SUFFIX);
  if (try_open(opening, path)) return true;
  bool own_is_there = access(path, F_OK) == 0; /* it is being made now */
  if (own_is_there && !launch->ended) return false;
  return each_recording(launch->directory, try_open, opening);
}

static void nap(long us) {
  struct timespec time = {.tv_nsec = us * 1000};
  nanosleep(&time, NULL);
}

int launch_open(struct launch *launch, eventring_cursor **cursor,
                unsigned flags) {
  struct opening opening = {.cursor = cursor, .flags = flags};
  for (long us = 200;; us = us < 5000 ? us + us / 4 : us) {
    launch_check(launch);
    bool ended = launch->ended; /* read before the search, so that the files of an ended
                                   program exist by then */
    if (open_any_file(launch, &opening)) return STATUS_GO_ON;
    if (ended) break;
    nap(us);
  }
  if (opening.error.code != 0 && opening.error.code != EVENTRING_E_NOT_FOUND)
    complain("%s", opening.error.text);
  else
    complain("%s recorded nothing", launch->command);
  return STATUS_WRONG;
}

/* ---- The end ------------------------------------------------------------- */

void launch_check(struct launch *launch) {
  if (!launch->ended) wait_for(launch, WNOHANG);
}

void launch_adopt(void) { prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0, 0, 0); }

/* Reaps the processes that have ended, but leaves the command itself to launch_check,
   which keeps its status. */
bool launch_reap_all(struct launch *launch) {
  siginfo_t ended = {0};
  for (;;) {
    launch_check(launch);
    ended.si_pid = 0;
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) return !launch->ended;
    if (!ended.si_pid) return true;
    if (ended.si_pid != launch->pid || launch->ended) waitpid(ended.si_pid, NULL, WNOHANG);
  }
}

enum { MOST_OF_A_NAME = 1000 };

/* Moves a file out to another file system, by copying it. Returns 0 or an errno. */
static int copy_out(const struct launch *launch, const char *name, const char *path) {
  struct stat st;
  struct new_file file;
  if (lstat(path, &st) == 0) return EEXIST;
  int from = openat(launch->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (from < 0) return errno;
  int to = new_file_create(&file, path), error = to < 0 ? EIO : 0;
  if (to >= 0 && !evr_copy_file(from, to)) error = errno ? errno : EIO;
  close(from);
  if (to >= 0) close(to);
  if (to >= 0 && error) new_file_drop(&file);
  else if (to >= 0 && !new_file_keep(&file)) error = EIO;
  if (!error) unlinkat(launch->fd, name, 0);
  return error;
}

/* Moves a file to where preserved files go, under its own name, with a number behind it
   if necessary. Returns the new path, or NULL. */
static char *move_out(const struct launch *launch, const char *name) {
  int stem = (int)(strlen(name) - strlen(EVENTRING_SUFFIX)), error = EEXIST;
  for (int n = 1; error == EEXIST && n < MOST_OF_A_NAME; n++) {
    char again[16] = "", *path;
    if (n > 1) snprintf(again, sizeof again, "-%d", n);
    if (asprintf(&path, "%s/%.*s%s%s", launch->keep_in, stem, name, again, EVENTRING_SUFFIX) < 0)
      no_memory();
    error = rename_new_at(launch->fd, name, AT_FDCWD, path);
    if (error == EXDEV) error = copy_out(launch, name, path);
    if (error == 0) return path;
    free(path);
  }
  complain("cannot move %s/%s to %s: %s", launch->directory, name, launch->keep_in,
           strerror(error));
  return NULL;
}

static void keep(struct launch *launch, const char *name, bool moves) {
  char *target = moves && launch->keep_in ? move_out(launch, name) : NULL;
  if (target) complain("kept %s", target);
  else complain("kept %s/%s", launch->directory, name);
  free(target);
}

/* Returns the info of a file in the open directory. */
static struct eventring_info info_of(const struct launch *launch, const char *name) {
  char path[NAME_MAX + 64];
  eventring_cursor *cursor;
  struct eventring_info info = {.size = sizeof info, .liveness = EVENTRING_DEAD};
  snprintf(path, sizeof path, "/proc/self/fd/%d/%s", launch->fd, name);
  if (eventring_open_path(&cursor, path, 0, NULL) == 0) {
    eventring_cursor_info(cursor, &info);
    eventring_close(cursor);
  }
  return info;
}

/* Tells whether the process of a recording has begun another one, after exec. */
static bool was_replaced(const struct eventring_info *info, const struct eventring_info *all,
                         size_t count) {
  for (size_t i = 0; i < count; i++)
    if (all[i].pid == info->pid && all[i].start_ns > info->start_ns &&
        all[i].liveness != EVENTRING_SAVED)
      return true;
  return false;
}

static void clear_file(struct launch *launch, const char *name, struct eventring_info info,
                       bool was_replaced) {
  const struct eva_ending ending = eva_ending_of(&info);
  bool is_dead = info.liveness == EVENTRING_DEAD && !was_replaced;
  bool is_copy = info.liveness == EVENTRING_SAVED; /* made by a trigger */
  bool wanted = launch->keeps && (!launch->only_bad || eva_ended_badly(&ending));
  if (info.liveness == EVENTRING_LIVE)
    complain("left %s/%s: its process still runs", launch->directory, name);
  else if (wanted || is_copy || is_dead)
    keep(launch, name, wanted || is_copy);
  else if (unlinkat(launch->fd, name, 0) < 0)
    complain("cannot remove %s/%s: %s", launch->directory, name, strerror(errno));
}

static int status_of(const struct launch *launch) {
  if (WIFEXITED(launch->status)) return WEXITSTATUS(launch->status);
  return BY_SIGNAL + WTERMSIG(launch->status);
}

struct file_list {
  char **names;
  size_t count;
};

/* Compares two names, which sorts PID-START.eventring before PID.eventring. */
static int by_length(const void *a, const void *b) {
  size_t x = strlen(*(char *const *)a), y = strlen(*(char *const *)b);
  return x < y ? 1 : x > y ? -1 : strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lists the recordings in the open directory. Returns false after a message. */
static bool list_files(const struct launch *launch, struct file_list *list) {
  int fd = openat(launch->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
  struct dirent *entry;
  *list = (struct file_list){0};
  if (!directory) {
    complain("cannot read %s: %s", launch->directory, strerror(errno));
    if (fd >= 0) close(fd);
    return false;
  }
  while ((entry = readdir(directory)))
    if (is_recording(entry->d_name))
      *NEED_NEXT(list->names, list->count) = need_copy(entry->d_name);
  closedir(directory);
  if (list->count) qsort(list->names, list->count, sizeof *list->names, by_length);
  return true;
}

static void free_list(struct file_list *list) {
  for (size_t i = 0; i < list->count; i++) free(list->names[i]);
  free(list->names);
}

static void clear_files(struct launch *launch) {
  struct file_list list;
  if (launch->merged) unlinkat(launch->fd, launch->merged, 0);
  if (!list_files(launch, &list)) return;
  struct eventring_info *all = need_zeroed(list.count + 1, sizeof *all);
  for (size_t i = 0; i < list.count; i++) all[i] = info_of(launch, list.names[i]);
  for (size_t i = 0; i < list.count; i++)
    clear_file(launch, list.names[i], all[i], was_replaced(&all[i], all, list.count));
  free(all);
  free_list(&list);
}

/* ---- All of it ----------------------------------------------------------- */

static bool is_same_recording(const struct eventring_info *a, const struct eventring_info *b) {
  return b && a->pid == b->pid && a->start_ns == b->start_ns;
}

/* Replaces a list of names by the paths of recordings of processes, without `but` and
   without copies that triggers made. */
static void leave_processes(const struct launch *launch, const struct eventring_info *but,
                            struct file_list *list) {
  size_t kept = 0;
  for (size_t i = 0; i < list->count; i++) {
    char *name = list->names[i], *path;
    const struct eventring_info info = info_of(launch, name);
    if (info.pid && info.liveness != EVENTRING_SAVED && !is_same_recording(&info, but)) {
      if (asprintf(&path, "%s/%s", launch->directory, name) < 0) no_memory();
      list->names[kept++] = path;
    }
    free(name);
  }
  list->count = kept;
}

/* Returns the path of the merged recording, which is named after the command, unlike
   other recordings. */
static char *name_merged(struct launch *launch) {
  const char *slash = strrchr(launch->command, '/');
  char *path;
  if (asprintf(&launch->merged, "%s-%ld", slash ? slash + 1 : launch->command,
               (long)launch->pid) < 0 ||
      asprintf(&path, "%s/%s", launch->directory, launch->merged) < 0)
    no_memory();
  return path;
}

/* Merges a list of two or more recordings. Returns the path, or NULL. */
static char *merge_list(struct launch *launch, const struct file_list *list, bool *failed) {
  static const struct merge_options options = {0};
  struct merge_result result;
  char *path = name_merged(launch);
  if (merge_recordings(path, list->names, list->count, &options, &result) == STATUS_OK) {
    if (result.damaged) *failed = true;
    return path;
  }
  free(path);
  *failed = true;
  return NULL;
}

static void tell_of_several(size_t count, const struct eventring_info *first, bool failed) {
  if (failed) complain("%zu recordings: this is of one of them", count);
  else if (first)
    complain("%zu recordings: that of process %ld came first, what follows is of the others", count,
             (long)first->pid);
  else complain("%zu recordings: this is of all of them", count);
}

char *launch_merge(struct launch *launch, const struct eventring_info *but, bool *failed) {
  struct file_list list;
  char *path = NULL;
  if (!launch->directory || !launch->ended) return NULL;
  if (!list_files(launch, &list)) {
    *failed = true;
    return NULL;
  }
  leave_processes(launch, but, &list);
  const size_t all = list.count + (but ? 1 : 0);
  if (list.count > 1) path = merge_list(launch, &list, failed);
  else if (but && list.count) path = need_copy(list.names[0]);
  if (all > 1 && !launch->merges_silently) tell_of_several(all, but, !path);
  free_list(&list);
  return path;
}

char **launch_recordings(struct launch *launch) {
  struct file_list list = {0};
  if (launch->directory && list_files(launch, &list)) leave_processes(launch, NULL, &list);
  char **paths = need_zeroed(list.count + 1, sizeof *paths);
  for (size_t i = 0; i < list.count; i++) paths[i] = list.names[i];
  free(list.names);
  return paths;
}

int launch_scratch(struct launch *launch) {
  static const char name[] = "scratch";
  int fd = openat(launch->fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0 && unlinkat(launch->fd, name, 0) == 0) return fd;
  complain("cannot make a file in %s: %s", launch->directory, strerror(errno));
  if (fd >= 0) close(fd);
  return -1;
}

static void clear_directory(struct launch *launch) {
  clear_files(launch);
  remove_directory(launch);
}

int launch_finish(struct launch *launch) {
  while (!launch->ended) {
    launch_check(launch);
    if (!launch->ended) nap(2000);
  }
  if (launch->directory) clear_directory(launch);
  int status = status_of(launch);
  release(launch);
  return status;
}
