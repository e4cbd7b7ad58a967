/* SPDX-License-Identifier: MIT */
/* _renames.c: preloaded into a program, runs the command BEFORE_RENAME before the program renames
 * a file, without being preloaded into that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void run_command(void) {
  unsetenv("LD_PRELOAD");
  if (system(getenv("BEFORE_RENAME")) < 0) abort();
}

int rename(const char *from, const char *to) {
  int (*next)(const char *, const char *) =
      (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
  run_command();
  return next(from, to);
}

int renameat2(int in, const char *from, int into, const char *to, unsigned flags) {
  int (*next)(int, const char *, int, const char *, unsigned) =
      (int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2");
  run_command();
  return next(in, from, into, to, flags);
}
