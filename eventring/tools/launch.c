/* SPDX-License-Identifier: MIT */
/* launch.c: runs a COMMAND that records itself. */
#include "launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CANNOT_EXECUTE = 126, NO_COMMAND = 127, BY_SIGNAL = 128 };

/* ---- The environment ----------------------------------------------------- */

static void variable_name(char *name, size_t room, const char *prefix,
                          const char *suffix) {
  snprintf(name, room, "%s_%s", prefix, suffix);
}

/* The user's own setting, NULL when unset or empty. */
static const char *setting(const char *prefix, const char *suffix) {
  char name[256];
  variable_name(name, sizeof name, prefix, suffix);
  const char *value = getenv(name);
  return value && value[0] ? value : NULL;
}

static void set(const char *prefix, const char *suffix, const char *value) {
  char name[256];
  variable_name(name, sizeof name, prefix, suffix);
  setenv(name, value, 1);
}

/* A new directory in `base`; NULL after saying why not. */
static char *make_directory(const char *base) {
  char *real = realpath(base, NULL), *name = NULL;
  if (!real || asprintf(&name, "%s/eventring-XXXXXX", real) < 0 ||
      !mkdtemp(name)) {
    complain("cannot make a directory in %s: %s", base, strerror(errno));
    free(name);
    name = NULL;
  }
  free(real);
  return name;
}

static bool choose_directory(struct launch *launch, const char *prefix) {
  const char *wanted = setting(prefix, "PREFIX");
  const char *preserve = setting(prefix, "PRESERVE");
  bool keep = preserve && strcmp(preserve, "0") != 0;
  const char *temporary = getenv("TMPDIR");
  const char *base = wanted ? wanted : keep ? "."
                     : temporary && temporary[0] ? temporary : "/tmp";
  if (keep) launch->keep_in = realpath(base, NULL);
  launch->directory = make_directory(base);
  return launch->directory != NULL;
}

/* ---- Starting ------------------------------------------------------------ */

static volatile sig_atomic_t signal_to_pass_on;

static void note_signal(int number) { signal_to_pass_on = number; }

static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

/* The child: never returns. Writes an errno into the pipe when it cannot execute the
   program. */
static void become(char **command, const struct launch *launch,
                   const char *prefix, int report) {
  set(prefix, "START", "1");
  set(prefix, "PREFIX", launch->directory);
  set(prefix, "PRESERVE", "1");
  set(prefix, "NAME", ""); /* a name of its own for each process */
  execvp(command[0], command);
  int error = errno;
  ssize_t written = write(report, &error, sizeof error);
  _exit(written == sizeof error ? NO_COMMAND : CANNOT_EXECUTE);
}

/* The errno with which exec failed, 0 when it did not. */
static int exec_error(int report) {
  int error = 0;
  ssize_t got;
  do got = read(report, &error, sizeof error);
  while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

static int spawn(struct launch *launch, char **command, const char *prefix) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) < 0) {
    complain("cannot launch %s: %s", command[0], strerror(errno));
    return STATUS_WRONG;
  }
  fflush(NULL);
  launch->pid = fork();
  if (launch->pid == 0) become(command, launch, prefix, report[1]);
  close(report[1]);
  int error = launch->pid < 0 ? errno : exec_error(report[0]);
  close(report[0]);
  if (error == 0) return -1;
  complain("cannot launch %s: %s", command[0], strerror(error));
  if (launch->pid < 0) return STATUS_WRONG;
  waitpid(launch->pid, NULL, 0);
  return error == ENOENT ? NO_COMMAND : CANNOT_EXECUTE;
}

static void release(struct launch *launch) {
  free(launch->command);
  free(launch->directory);
  free(launch->keep_in);
}

int launch_start(struct launch *launch, char **command, const char *prefix) {
  *launch = (struct launch){.command = need_copy(command[0])};
  int status = STATUS_WRONG;
  if (choose_directory(launch, prefix)) {
    status = spawn(launch, command, prefix);
    if (status >= 0) rmdir(launch->directory);
  }
  if (status >= 0) {
    release(launch);
    return status;
  }
  handle(SIGINT, SIG_IGN);
  handle(SIGTERM, note_signal);
  handle(SIGHUP, note_signal);
  /* closing the pipe of the output must not prevent the cleaning up */
  handle(SIGPIPE, SIG_IGN);
  return -1;
}

/* ---- Its files ----------------------------------------------------------- */

/* Calls `visit` with the path of each recording in the new directory until one
   returns true; whether one did. */
static bool each_file(struct launch *launch, bool (*visit)(void *, const char *),
                      void *context) {
  DIR *directory = opendir(launch->directory);
  struct dirent *entry;
  bool found = false;
  char path[PATH_MAX + 256];
  size_t suffix = strlen(EVENTRING_SUFFIX);
  while (directory && !found && (entry = readdir(directory))) {
    size_t length = strlen(entry->d_name);
    if (length <= suffix ||
        strcmp(entry->d_name + length - suffix, EVENTRING_SUFFIX) != 0)
      continue;
    snprintf(path, sizeof path, "%s/%s", launch->directory, entry->d_name);
    found = visit(context, path);
  }
  if (directory) closedir(directory);
  return found;
}

struct opening {
  eventring_cursor **cursor;
  unsigned flags;
  struct eventring_error error; /* of the last failure */
};

static bool try_open(void *context, const char *path) {
  struct opening *opening = context;
  return eventring_open_path(opening->cursor, path, opening->flags,
                             &opening->error) == 0;
}

static bool open_any_file(struct launch *launch, struct opening *opening) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/%ld%s", launch->directory, (long)launch->pid,
           EVENTRING_SUFFIX);
  if (try_open(opening, path)) return true;
  bool own_is_there = access(path, F_OK) == 0; /* being made at this moment */
  if (own_is_there && !launch->ended) return false;
  return each_file(launch, try_open, opening);
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
    bool ended = launch->ended; /* before the search: what it left is there then */
    if (open_any_file(launch, &opening)) return -1;
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
  int number = signal_to_pass_on;
  if (number && !launch->ended) kill(launch->pid, number);
  signal_to_pass_on = 0;
  if (!launch->ended && waitpid(launch->pid, &launch->status, WNOHANG) > 0)
    launch->ended = true;
}

static void keep(struct launch *launch, const char *path) {
  char *target = NULL;
  const char *name = strrchr(path, '/');
  if (!launch->keep_in || asprintf(&target, "%s%s", launch->keep_in, name) < 0 ||
      rename(path, target) < 0)
    complain("kept %s", path);
  else
    complain("kept %s", target);
  free(target);
}

static bool clear_file(void *context, const char *path) {
  struct launch *launch = context;
  eventring_cursor *cursor;
  enum eventring_liveness liveness = EVENTRING_DEAD;
  if (eventring_open_path(&cursor, path, 0, NULL) == 0) {
    liveness = eventring_cursor_liveness(cursor);
    eventring_close(cursor);
  }
  if (liveness == EVENTRING_LIVE)
    complain("left %s: its process still runs", path);
  else if (launch->keep_in || liveness == EVENTRING_DEAD)
    keep(launch, path);
  else if (unlink(path) < 0)
    complain("cannot remove %s: %s", path, strerror(errno));
  return false;
}

static int status_of(const struct launch *launch) {
  if (WIFEXITED(launch->status)) return WEXITSTATUS(launch->status);
  return BY_SIGNAL + WTERMSIG(launch->status);
}

int launch_finish(struct launch *launch) {
  while (!launch->ended) {
    launch_check(launch);
    if (!launch->ended) nap(2000);
  }
  each_file(launch, clear_file, launch);
  /* stays when a file was left in it */
  if (rmdir(launch->directory) < 0 && errno != ENOTEMPTY && errno != EEXIST)
    complain("cannot remove %s: %s", launch->directory, strerror(errno));
  int status = status_of(launch);
  release(launch);
  return status;
}
