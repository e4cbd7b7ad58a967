/* SPDX-License-Identifier: MIT */
/* process.h: whether a producer is alive. */
#ifndef EVENTRING_PROCESS_H
#define EVENTRING_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* Returns the start time of a process in clock ticks after boot, or 0. */
uint64_t evr_process_start(pid_t pid);
/* Returns the pid of a process in its own pid namespace, or 0 if it is not known. In a
   container this differs from `pid`, the number in the namespace of the caller. */
pid_t evr_process_own_pid(pid_t pid);
/* Tells whether a live producer has locked the file: 1 yes, 0 no, -1 not known. */
int evr_file_locked(int fd);
/* Keeps producers from locking the file until it is closed. Returns 0 or an errno, which
   is EAGAIN or EACCES when a live producer has the lock. */
int evr_lock_out_producer(int fd);
/* Keeps producers from locking the file until it is closed. Returns false when its
   producer is alive. `pid` and `start` are the pid and the start time in its header. */
bool evr_hold_dead(int fd, pid_t pid, uint64_t start);
/* Takes the producer's lock. Returns 0 or an errno. */
int evr_lock_file(int fd);

#pragma GCC visibility pop

#endif /* EVENTRING_PROCESS_H */
