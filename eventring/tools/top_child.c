/* SPDX-License-Identifier: MIT */
/* top_child.c: runs a command in a child, and reads its text. */
#include "top_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/now.h"
#include "query.h"
#include "text_table.h"

enum { MOST_TEXT = 1 << 20, PART = 1 << 14 };

/* Sets signals and files as for a command started from a shell, without input. */
static void become_command(int out, pid_t parent) {
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH, SIGCONT};
  sigset_t none;
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) signal(signals[i], SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(STATUS_WRONG);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  /* a group of its own: ^C and ^Z of the terminal are for the screen */
  setpgid(0, 0);
}

static _Noreturn void run(const char *const *words, size_t columns) {
  char name[] = "eventring", *line[TOP_CHILD_WORDS + 2] = {name};
  int count = 1;
  for (; words[count - 1]; count++) line[count] = need_copy(words[count - 1]);
  table_set_page(columns);
  query_heads_are_brief();
  const int status = run_command_line(count, line);
  fflush(stdout);
  _exit(status);
}

bool top_child_start(struct top_child *child, const char *const *words, size_t columns) {
  int ends[2];
  const pid_t parent = getpid();
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  fflush(stdout);
  fflush(stderr);
  const pid_t pid = fork();
  if (pid == 0) {
    become_command(ends[1], parent);
    run(words, columns);
  }
  const int error = errno;
  close(ends[1]);
  if (pid < 0) close(ends[0]);
  errno = error;
  if (pid < 0) return false;
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  free(child->text);
  *child = (struct top_child){.pid = pid, .fd = ends[0], .began_ns = now_ns(),
                              .text = need_zeroed(1, 1)};
  return true;
}

/* Keeps a part of the text. Drops what is too much, which must be read so that the child
   ends. */
static void keep(struct top_child *child, const char *part, size_t size) {
  if (child->size + size > MOST_TEXT) size = MOST_TEXT - child->size;
  child->text = need_resized(child->text, child->size + size + 1, 1);
  memcpy(child->text + child->size, part, size);
  child->size += size;
  child->text[child->size] = '\0';
}

static void read_text(struct top_child *child) {
  char part[PART];
  ssize_t got;
  while (child->fd >= 0 && (got = read(child->fd, part, sizeof part)) != 0) {
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0) break;
    keep(child, part, (size_t)got);
  }
  if (child->fd >= 0) close(child->fd);
  child->fd = -1;
}

static bool reap(struct top_child *child, int flags) {
  struct rusage used;
  int status;
  pid_t pid;
  while ((pid = wait4(child->pid, &status, flags, &used)) < 0 && errno == EINTR) continue;
  if (pid == 0) return false;
  child->pid = 0;
  child->ended_ns = now_ns();
  if (pid < 0) return true;
  child->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  child->cpu_ns = ((uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec) * 1000000000u +
                  ((uint64_t)used.ru_utime.tv_usec + (uint64_t)used.ru_stime.tv_usec) * 1000u;
  return true;
}

bool top_child_read(struct top_child *child) {
  if (!child->pid) return false;
  read_text(child);
  return child->fd < 0 && reap(child, WNOHANG);
}

void top_child_end(struct top_child *child) {
  if (child->pid) {
    kill(child->pid, SIGTERM);
    kill(child->pid, SIGCONT);
    if (child->fd >= 0) close(child->fd);
    reap(child, 0);
  }
  free(child->text);
  *child = (struct top_child){0};
}
