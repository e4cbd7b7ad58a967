/* SPDX-License-Identifier: MIT */
/* child_answer.c: reads the file in memory that a child of a process writes, and ends the
   child. */
#include "child_answer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask.h"
#include "format/now.h"
#include "parents.h"
#include "retain_answer.h"

enum { ANSWER_FD = 3, MOST_ANSWER = 16 << 20 };

/* Tells whether `child` is a child process of `parent`. (Any process of the user may
   write numbers into the control page.) */
static bool is_child_of(pid_t child, pid_t parent) {
  return process_parent(child, NULL) == parent;
}

static bool is_running_child_of(pid_t child, pid_t parent) {
  char state;
  return process_parent(child, &state) == parent && state != 'Z';
}

/* Kills a child and waits until it has ended, for half a second at most. */
static void end_child(struct reader *reader, pid_t child, pid_t parent) {
  const uint64_t end = now_ns() + 500000000;
  if (!is_child_of(child, parent)) return;
  kill(child, SIGKILL);
  while (is_running_child_of(child, parent) && now_ns() < end) ask_rest(reader);
}

static int open_answer(pid_t child) {
  /* until the child has its file, this descriptor is a file of the program */
  static const char name[] = "/memfd:saros-retain";
  char path[64], target[sizeof name - 1];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)child, ANSWER_FD);
  ssize_t n = readlink(path, target, sizeof target);
  if (n != (ssize_t)sizeof target || memcmp(target, name, sizeof target) != 0) return -1;
  return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* Reads what the child has written so far. Returns true if the text is complete or too
   large. */
static bool read_answer(struct child_answer *a, int fd, size_t most) {
  struct stat file;
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_size <= 0) return false;
  bool too_large = (uint64_t)file.st_size > most;
  if (!too_large) most = (size_t)file.st_size;
  a->text = need_resized(a->text, most + 1, 1);
  ssize_t n = pread(fd, a->text, most, 0);
  a->size = n > 0 ? (size_t)n : 0;
  a->text[a->size] = '\0';
  return too_large || retain_answer_is_over(a->text, a->size);
}

/* Waits for the file, which the child makes some time after it was forked. A child
   without the file is not killed. */
void child_answer_await(struct child_answer *a, struct reader *reader,
                        const struct eventring_info *process, uint32_t number, size_t most,
                        uint64_t end) {
  const pid_t parent = pid_here(process);
  int fd = -1;
  *a = (struct child_answer){.pid = number <= INT32_MAX ? (pid_t)number : 0};
  if (most > MOST_ANSWER) most = MOST_ANSWER;
  if (!is_child_of(a->pid, parent)) a->pid = 0;
  while (a->pid && !a->over && now_ns() < end) {
    if (fd < 0) fd = open_answer(a->pid);
    if (fd >= 0) a->over = read_answer(a, fd, most);
    a->ended = !is_running_child_of(a->pid, parent);
    if (a->over || a->ended) break;
    ask_rest(reader);
  }
  if (fd < 0) return;
  close(fd);
  end_child(reader, a->pid, parent);
  if (a->text) a->text = need_resized(a->text, a->size + 1, 1);
}
