/* SPDX-License-Identifier: MIT */
/* process.h: whether a producer is alive. */
#ifndef EVENTRING_PROCESS_H
#define EVENTRING_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* Start time of a process in clock ticks after boot, or 0. */
uint64_t evr_process_start(pid_t pid);
/* The number of a process in its own pid namespace, which differs from `pid`, its number
   here, when it runs in a container; 0: not known. */
pid_t evr_process_own_pid(pid_t pid);
/* Is the file locked by a live producer? 1 yes, 0 no, -1 not known. */
int evr_file_locked(int fd);
/* Holds the file, until it is closed, against a producer's lock: EAGAIN or EACCES when a
   live one has it. 0 or an errno. */
int evr_lock_out_producer(int fd);
/* Holds the file against a producer until it is closed. False: its producer is alive. `pid`
   and `start` are what its header says. */
bool evr_hold_dead(int fd, pid_t pid, uint64_t start);
/* Takes the producer's lock. 0 or an errno. */
int evr_lock_file(int fd);

#pragma GCC visibility pop

#endif /* EVENTRING_PROCESS_H */
