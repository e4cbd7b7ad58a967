/* SPDX-License-Identifier: MIT */
#include "os_thread.h"

#include <signal.h>
#include <time.h>

static void block_signals(int unblocked, sigset_t *before) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  sigset_t blocked;
  sigfillset(&blocked);
  for (size_t n = 0; n < sizeof faults / sizeof faults[0]; n++) sigdelset(&blocked, faults[n]);
  if (unblocked != 0) sigdelset(&blocked, unblocked);
  pthread_sigmask(SIG_SETMASK, &blocked, before);
}

static int start(pthread_t *thread, int state, void *(*run)(void *), void *argument,
                 size_t stack_bytes, int unblocked) {
  pthread_attr_t attributes;
  sigset_t before;
  int failure = pthread_attr_init(&attributes);
  if (failure != 0) return failure;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_attr_setdetachstate(&attributes, state);
  block_signals(unblocked, &before);
  failure = pthread_create(thread, &attributes, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return failure;
}

int os_thread_start(void *(*run)(void *), void *argument, size_t stack_bytes, int unblocked) {
  pthread_t thread;
  return start(&thread, PTHREAD_CREATE_DETACHED, run, argument, stack_bytes, unblocked);
}

int os_thread_start_joinable(pthread_t *thread, void *(*run)(void *), void *argument,
                             size_t stack_bytes) {
  return start(thread, PTHREAD_CREATE_JOINABLE, run, argument, stack_bytes, 0);
}

void os_thread_rest(uint64_t ns) {
  const struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u),
                                .tv_nsec = (long)(ns % 1000000000u)};
  nanosleep(&time, NULL);
}
