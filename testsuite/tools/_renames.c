/* SPDX-License-Identifier: MIT */
/* _renames.c: preloaded into a program, runs the command BEFORE_RENAME (without
   preloading itself into the command) before the program renames a file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

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

/* Intercepts renameat2 by its number, because musl has no such function. All calls have
   six arguments for the kernel. */
long syscall(long number, ...) {
  long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  long words[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) words[i] = va_arg(list, long);
  va_end(list);
  if (number == SYS_renameat2) run_command();
  return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
