/* SPDX-License-Identifier: MIT */
/* os_thread.h: threads that the runtime starts by itself: those of domains, and small ones
 * that keep a time. */
#ifndef SAROS_OS_THREAD_H
#define SAROS_OS_THREAD_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define OS_THREAD_SMALL ((size_t)64 << 10) /* stack of a thread that calls little */

/* Starts a detached thread with a stack of so many bytes. All signals are blocked in it, but
 * those for faults of the thread itself, among them the SIGBUS that libeventring handles, and
 * `unblocked` (0: none). Returns 0, or the error of pthread_create. */
int os_thread_start(void *(*run)(void *), void *argument, size_t stack_bytes, int unblocked);

/* The same, for a thread that is to be joined; nothing but faults is unblocked. */
int os_thread_start_joinable(pthread_t *thread, void *(*run)(void *), void *argument,
                             size_t stack_bytes);

/* Sleeps for so long, or until a signal comes. */
void os_thread_rest(uint64_t ns);

#endif /* SAROS_OS_THREAD_H */
