/* SPDX-License-Identifier: MIT */
/* memory_lines.h: finds what the memory of a process is used for, from what the host
 * reports for its domains and what the kernel counts (memory_lines.c). */
#ifndef EVENTRING_TOOL_MEMORY_LINES_H
#define EVENTRING_TOOL_MEMORY_LINES_H

#include "ask.h"
#include "eventring/footprint.h"

enum memory_source {
  MEMORY_MAPPED, /* memory that the host maps, as the host reports it */
  MEMORY_MALLOC, /* memory in the C library's heap, as the host reports it */
  MEMORY_SYSTEM  /* memory counted by the kernel or the C library */
};
extern const char *const memory_source_names[];

struct memory_line {
  int domain; /* slot, or -1 for the process */
  enum memory_source source;
  char name[EVENTRING_MAX_FOOTPRINT_NAME + 1], doc[EVENTRING_MAX_FOOTPRINT_DOC + 1];
  uint64_t resident, reserved;
};

struct memory_domain {
  uint32_t slot, incarnation;
  char name[EVENTRING_MAX_DOMAIN_NAME + 1];
  bool said;     /* the domain has reported its memory */
  bool measured; /* the domain has asked the system for the resident part */
  bool answered; /* the domain has answered just now; else its last report is shown */
  uint64_t ns;   /* time of the report */
  uint64_t resident;
};

struct memory_lines {
  struct memory_line *lines;
  size_t count;
  struct memory_domain *domains; /* domains that live, or lived when the process died */
  size_t domain_count;
  bool from_kernel;  /* the sums are from /proc/PID/smaps; else they are as recorded */
  uint64_t resident, reserved, swapped; /* bytes of the process; UINT64_MAX if not
                                           known */
  uint64_t attributed;
  uint64_t ns;       /* time of the latest figures of the recording; 0: none */
  /* bytes of the C library's heap, as recorded, and when; UINT64_MAX if not known */
  uint64_t malloc_used, malloc_free, malloc_mapped, malloc_ns;
};

/* Reads what is recorded. Returns 0 or an error of the cursor. */
int memory_lines_read(struct memory_lines *m, eventring_cursor *cursor, const struct ask *ask);
/* Adds what the kernel counts for a live process. Returns false, with errno, if the
   kernel reports nothing. */
bool memory_lines_add_live(struct memory_lines *m, pid_t pid, const char *recording);
/* Adds the lines of memory_lines_add_live from what is recorded. */
void memory_lines_add_recorded(struct memory_lines *m);
void memory_lines_free(struct memory_lines *m);

#endif
