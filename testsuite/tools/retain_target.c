/* SPDX-License-Identifier: MIT */
/* retain_target.c: a host that replies to `eventring retain` with lies.
 *
 *   retain_target HOW [FILE]
 *
 *   file      a child whose reply is the content of FILE at that moment; it ends soon if
 *             that is not complete
 *   endless   a child that writes lines without an end
 *   ends      a child that ends at once
 *   nothing   a child without a file
 *   pipe      a child with a pipe instead of the file
 *   stranger  the number of a process that is no child
 *   huge      a number that no process has
 *   silent    no reply
 *
 * It ends when the file `stop` is there. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eventring.h"
#include "eventring/probe.h"
#include "eventring/question.h"

enum { ANSWER_FD = 3, MOST_ENDLESS = 64 << 20 };

static const char *how, *file;

static bool is_how(const char *name) { return strcmp(how, name) == 0; }

/* ---- the child: system calls only ------------------------------------------------- */

/* Copies the file. Returns true if the file's last line is "end". */
static bool copy_file(int to) {
  static char bytes[65536];
  char last[5] = "";
  ssize_t n;
  int from = open(file, O_RDONLY | O_CLOEXEC);
  while (from >= 0 && (n = read(from, bytes, sizeof bytes)) > 0)
    if (write(to, bytes, (size_t)n) != n) return false;
  lseek(from, -(off_t)sizeof last, SEEK_END);
  return read(from, last, sizeof last) == (ssize_t)sizeof last &&
         memcmp(last, "\nend\n", sizeof last) == 0;
}

static void write_without_end(int to) {
  static const char head[] = "retain\t2\ntotal\t1\t1\t0\t1\t1\n", line[] = "kind\t1\t1\t0\tlie\n";
  if (write(to, head, sizeof head - 1) < 0) return;
  for (size_t n = 0; n < MOST_ENDLESS; n += sizeof line - 1)
    if (write(to, line, sizeof line - 1) < 0) return;
}

_Noreturn static void be_child(void) {
  int pipes[2];
  unsigned seconds = 60;
  if (is_how("ends")) syscall(SYS_exit_group, 0);
  if (is_how("pipe")) {
    if (pipe(pipes) == 0) dup2(pipes[0], ANSWER_FD);
  } else if (is_how("nothing")) {
    close(ANSWER_FD);
  } else {
    int fd = memfd_create("saros-retain", 0);
    dup2(fd, ANSWER_FD);
    if (!is_how("file")) write_without_end(ANSWER_FD);
    else if (!copy_file(ANSWER_FD)) seconds = 0;
  }
  if (seconds) sleep(seconds);
  else usleep(200000);
  for (;;) syscall(SYS_exit_group, 0);
}

/* ---- the host --------------------------------------------------------------------- */

static uint32_t answer(void) {
  if (is_how("stranger")) return (uint32_t)getpid();
  if (is_how("huge")) return UINT32_MAX;
  /* a system call, so that no handler of fork runs */
  long pid = syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
  if (pid == 0) be_child();
  return pid > 0 ? (uint32_t)pid : 1;
}

static void answer_questions(eventring_domain *domain) {
  struct eventring_question question;
  while (access("stop", F_OK) != 0) {
    if (!is_how("silent") && eventring_question_open(domain, &question))
      eventring_question_answer(domain, &question, answer());
    usleep(1000);
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
  }
}

static void fail(const char *text) {
  fprintf(stderr, "retain_target: %s\n", text);
  exit(1);
}

int main(int count, char **words) {
  struct eventring_config config;
  struct eventring_error error;
  if (count < 2) fail("how?");
  how = words[1];
  file = count > 2 ? words[2] : "";
  eventring_config_init(&config);
  if (eventring_config_from_env(&config, "SAROS_EVENTRING", &error) < 0) fail(error.text);
  config.answers = true;
  if (eventring_start(&config, &error) < 0) fail(error.text);
  eventring_domain *domain = eventring_domain_start("main", &error);
  if (error.code) fail(error.text);
  answer_questions(domain);
  eventring_domain_stop(domain);
  eventring_stop();
  return 0;
}
