/* SPDX-License-Identifier: MIT */
/* signals.c: see signals.h. */
#include "signals.h"

#include <pthread.h>
#include <stddef.h>

sigset_t signals_hold(void) {
  sigset_t ours, before;
  sigemptyset(&ours);
  sigaddset(&ours, SIGINT);
  sigaddset(&ours, SIGTERM);
  sigaddset(&ours, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  return before;
}

void signals_release(const sigset_t *before) { pthread_sigmask(SIG_SETMASK, before, NULL); }
