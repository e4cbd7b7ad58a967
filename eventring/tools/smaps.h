/* SPDX-License-Identifier: MIT */
/* smaps.h: divides the resident memory of a process, as the kernel counts it, by what is
   mapped. */
#ifndef EVENTRING_TOOL_SMAPS_H
#define EVENTRING_TOOL_SMAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum smaps_kind {
  SMAPS_PROGRAM,   /* the program and its libraries: code, data, zeroed data */
  SMAPS_RECORDING, /* the file of the recording */
  SMAPS_FILES,     /* other files, shared memory */
  SMAPS_STACK,     /* the stack of the main thread */
  SMAPS_MALLOC,    /* the arenas of the C library */
  SMAPS_ANONYMOUS, /* memory mapped by the process for any other use */
  SMAPS_KINDS
};

struct smaps {
  uint64_t resident[SMAPS_KINDS], reserved[SMAPS_KINDS]; /* bytes */
  uint64_t all, all_reserved, swapped;
};

/* Reads /proc/PID/smaps; `recording` is the path of the recording's file, as this process
   sees it. Returns false, with errno, if it cannot be read. */
bool smaps_read(struct smaps *smaps, pid_t pid, const char *recording);

#endif
