/* SPDX-License-Identifier: MIT */
/* os_thread.h: threads that the runtime starts by itself: the threads of domains, and
 * small threads that wait for a time. */
#ifndef SAROS_OS_THREAD_H
#define SAROS_OS_THREAD_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define OS_THREAD_SMALL ((size_t)64 << 10) /* stack of a thread with few nested calls */

/* Starts a detached thread with a stack of `stack_bytes`. In the thread all signals are
 * blocked except signals for its own faults, among them the SIGBUS that libeventring
 * handles, and except the signal `unblocked` (0 for none). Returns 0, or the error of
 * pthread_create. */
int os_thread_start(void *(*run)(void *), void *argument, size_t stack_bytes, int unblocked);

/* Starts a thread as os_thread_start does, but the thread must be joined, and only
 * signals for faults are unblocked. */
int os_thread_start_joinable(pthread_t *thread, void *(*run)(void *), void *argument,
                             size_t stack_bytes);

/* Sleeps for `ns` nanoseconds, or until a signal comes. */
void os_thread_rest(uint64_t ns);

#endif /* SAROS_OS_THREAD_H */
