/* SPDX-License-Identifier: MIT */
/* _moments.c: preloaded into `eventring`, makes events happen at moments that are too
 * short to be hit from outside:
 *
 *   MOMENT=directory-SIGNAL   the signal arrives when the new directory has been made
 *   MOMENT=exec               the child waits before exec until the file go-on is there,
 *                             and makes the file before-exec
 *   MOMENT=kill               when the first signal is passed on, SIGHUP arrives
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_moment(const char *name) {
  const char *moment = getenv("MOMENT");
  return moment && strcmp(moment, name) == 0;
}

char *mkdtemp(char *template) {
  char *(*next)(char *) = (char *(*)(char *))dlsym(RTLD_NEXT, "mkdtemp");
  char *made = next(template);
  if (is_moment("directory-INT")) raise(SIGINT);
  if (is_moment("directory-TERM")) raise(SIGTERM);
  return made;
}

int execvp(const char *file, char *const argv[]) {
  int (*next)(const char *, char *const[]) =
      (int (*)(const char *, char *const[]))dlsym(RTLD_NEXT, "execvp");
  bool waits = is_moment("exec");
  unsetenv("LD_PRELOAD");
  unsetenv("MOMENT");
  if (waits) close(open("before-exec", O_CREAT | O_WRONLY, 0600));
  while (waits && access("go-on", F_OK) != 0) usleep(1000);
  return next(file, argv);
}

int kill(pid_t pid, int number) {
  static volatile bool again;
  int (*next)(pid_t, int) = (int (*)(pid_t, int))dlsym(RTLD_NEXT, "kill");
  int status = next(pid, number);
  if (is_moment("kill") && !again) {
    again = true;
    raise(SIGHUP);
  }
  return status;
}
