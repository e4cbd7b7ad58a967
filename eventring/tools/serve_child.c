/* SPDX-License-Identifier: MIT */
/* serve_child.c: runs a command for a request (serve_child.h). */
#include "serve_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/now.h"

enum { MOST_WORDS = 24, TICK_MS = 50 };

/* Executes the command, in the child. Async-signal-safe, because the process has
   threads. */
static _Noreturn void execute(char *const *words, int out, int errors, pid_t parent) {
  const int none = open("/dev/null", O_RDONLY);
  sigset_t all;
  sigemptyset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signal(SIGHUP, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == parent && dup2(none, 0) == 0 && dup2(out, 1) == 1 && dup2(errors, 2) == 2)
    execv("/proc/self/exe", words);
  _exit(127);
}

/* Reads what has come of the message; discards what exceeds the room. Returns false at
   its end. */
static bool take_message(struct serve_child *child, int fd, size_t *used) {
  char rest[512];
  const size_t room = SERVE_MESSAGE - 1 - *used;
  ssize_t got = read(fd, room ? child->message + *used : rest, room ? room : sizeof rest);
  if (got > 0 && room) *used += (size_t)got;
  return got > 0 || (got < 0 && errno == EINTR);
}

static void await(struct serve_child *child, pid_t pid, int fd, uint64_t limit_ns,
                  const bool *stop) {
  const uint64_t end = now_ns() + limit_ns;
  size_t used = 0;
  bool reads = true;
  int status;
  for (;;) {
    struct pollfd errors = {.fd = reads ? fd : -1, .events = POLLIN};
    if (poll(&errors, 1, TICK_MS) > 0) reads = take_message(child, fd, &used);
    child->late = now_ns() >= end;
    if (child->late || __atomic_load_n(stop, __ATOMIC_RELAXED)) kill(pid, SIGKILL);
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended < 0 && errno == EINTR) continue;
    if (ended == 0) continue;
    child->status = ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    break;
  }
  /* reads what the command left in the pipe, without waiting, since a grandchild may have
     the pipe open */
  struct pollfd errors = {.fd = fd, .events = POLLIN};
  while (reads && poll(&errors, 1, 0) > 0) reads = take_message(child, fd, &used);
  child->message[used] = '\0';
}

/* Starts a command. Returns the process, or -1 (errno). */
static pid_t start(const char *const *words, int out, int errors) {
  char *list[MOST_WORDS + 2] = {"eventring"};
  for (int i = 0; i < MOST_WORDS && words[i]; i++) list[i + 1] = (char *)words[i];
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) execute(list, out, errors, parent);
  return pid;
}

bool serve_child_run(struct serve_child *child, const char *const *words, int out,
                     uint64_t limit_ns, const bool *stop) {
  int errors[2];
  *child = (struct serve_child){.status = -1};
  if (pipe2(errors, O_CLOEXEC) != 0) return false;
  const pid_t pid = start(words, out, errors[1]);
  const int error = errno;
  close(errors[1]);
  if (pid > 0) await(child, pid, errors[0], limit_ns, stop);
  close(errors[0]);
  errno = error;
  return pid > 0;
}

bool serve_stream_begin(struct serve_stream *stream, const char *const *words) {
  int ends[2];
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  *stream = (struct serve_stream){.fd = -1};
  if (nowhere < 0) return false;
  pid_t pid = -1;
  int error = pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
  if (!error) {
    pid = start(words, ends[1], nowhere);
    error = errno;
    close(ends[1]);
    if (pid < 0) close(ends[0]);
  }
  close(nowhere);
  if (pid > 0) *stream = (struct serve_stream){.pid = pid, .fd = ends[0]};
  errno = error;
  return pid > 0;
}

size_t serve_stream_read(struct serve_stream *stream, char *bytes, size_t room, const bool *stop) {
  struct pollfd output = {.fd = stream->fd, .events = POLLIN};
  while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
    if (poll(&output, 1, TICK_MS) <= 0) continue;
    const ssize_t got = read(stream->fd, bytes, room);
    if (got < 0 && errno == EINTR) continue;
    return got > 0 ? (size_t)got : 0;
  }
  return 0;
}

void serve_stream_end(struct serve_stream *stream) {
  if (!stream->pid) return;
  close(stream->fd);
  kill(stream->pid, SIGKILL);
  while (waitpid(stream->pid, NULL, 0) < 0 && errno == EINTR) continue;
  stream->pid = 0;
}
