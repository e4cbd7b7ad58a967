/* SPDX-License-Identifier: MIT */
/* thread_exit.h: what is to be done when a thread ends. */
#ifndef EVENTRING_THREAD_EXIT_H
#define EVENTRING_THREAD_EXIT_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Makes `end` be called when the calling thread exits, in the last round but one of the
   destructors of thread-specific data: after those of the host, except destructors that
   defer themselves as long. `end` is not called when the thread ends other than by
   returning, pthread_exit or cancellation, nor for the main thread when the process
   exits, nor when the C library has no key left. Always pass the same `end`. */
void evr_thread_at_exit(void (*end)(void));
/* Tells whether this process has no thread with this number (gettid) any more. */
bool evr_thread_is_gone(int32_t tid);

#pragma GCC visibility pop

#endif /* EVENTRING_THREAD_EXIT_H */
