/* SPDX-License-Identifier: MIT */
/* thread_exit.h: what is to be done when a thread ends. */
#ifndef EVENTRING_THREAD_EXIT_H
#define EVENTRING_THREAD_EXIT_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Has `end` called when the calling thread exits, in the last round but one of the
   destructors of thread-specific data: those of the host come before it, but for such as
   put themselves off as long. It is not called when the thread ends in another way than by returning,
   pthread_exit or cancellation, nor for the main thread when the process exits, nor when
   the C library has no key left. Each time with the same `end`. */
void evr_thread_at_exit(void (*end)(void));
/* Is there no thread of this number (gettid) in this process any more? */
bool evr_thread_is_gone(int32_t tid);

#pragma GCC visibility pop

#endif /* EVENTRING_THREAD_EXIT_H */
