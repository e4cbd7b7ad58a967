/* SPDX-License-Identifier: MIT */
/* descriptor.h: file descriptors in a process whose program may close them.
 *
 * Programs that become daemons close all descriptors, also those that they do not know.
 * The number then belongs to the next file that the program opens. So a descriptor is
 * used and closed only if it still refers to the file for which it was opened. The
 * numbers 0 to 2 are never used: a program that has closed them would read and write our
 * file as its standard input and output.
 */
#ifndef EVENTRING_DESCRIPTOR_H
#define EVENTRING_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

struct evr_descriptor {
  int fd; /* atomic; -1 if there is none */
  dev_t device;
  ino_t inode;
};

/* Returns a descriptor above 2 for the file of `fd`; closes `fd` if another number is
   needed. Returns -1 with errno on failure, and also for `fd` -1. */
int evr_above_standard(int fd);
/* Takes over a descriptor that was opened. Returns 0; on failure closes the descriptor
   and returns an errno. */
int evr_descriptor_set(struct evr_descriptor *descriptor, int fd);
/* Tells whether the descriptor still refers to its file; evr_descriptor_close closes the
   descriptor if so. Both functions are async-signal-safe. */
bool evr_descriptor_holds(const struct evr_descriptor *descriptor);
void evr_descriptor_close(struct evr_descriptor *descriptor);
/* Returns the number of the descriptor; if the program has closed it, opens the file
   again by its path. Returns -1 if the path refers to another file by now, or there was
   no descriptor. Any thread. */
int evr_descriptor_use(struct evr_descriptor *descriptor, const char *path);

#pragma GCC visibility pop

#endif /* EVENTRING_DESCRIPTOR_H */
