/* SPDX-License-Identifier: MIT */
/* footprint.h: what the memory of a domain is used for.
 *
 * A host writes rows, with names of its choice. Each row says how many bytes a domain, or
 * the process, uses for one purpose. The recording keeps the latest rows of each domain
 * in two blocks that are written in turns. So a reader, also after a SIGKILL, finds rows
 * of one moment. A host writes rows when it knows the numbers at no cost (after a
 * collection), and when a tool asks (question.h, EVENTRING_ASKS_MEMORY).
 *
 * Rows do not overlap. Memory from malloc is a part of the heap of the C library; a tool
 * learns the size of the whole heap from the system.
 *
 * Threads: a function that takes an `eventring_domain *` is for the owner of the domain;
 * a function that takes an `eventring_pages *` may be called by one thread at a time for
 * each structure.
 */
#ifndef EVENTRING_FOOTPRINT_H
#define EVENTRING_FOOTPRINT_H

#include "eventring.h"
#include "eventring/probe.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum {
  EVENTRING_MAX_FOOTPRINT_NAME = 31, /* bytes of a name */
  EVENTRING_MAX_FOOTPRINT_DOC = 119  /* bytes of the sentence that describes the row */
};

enum eventring_footprint_of { /* whose memory it is */
  EVENTRING_FOOTPRINT_DOMAIN = 0,
  /* memory of no domain: the latest row of this name counts */
  EVENTRING_FOOTPRINT_PROCESS = 1
};
enum eventring_footprint_in { /* where the memory lies */
  EVENTRING_FOOTPRINT_MAPPED = 0, /* in anonymous memory that the host has mapped */
  EVENTRING_FOOTPRINT_MALLOC = 1  /* in memory from malloc */
};

struct eventring_footprint_row {
  const char *name; /* UTF-8 without control characters, not empty */
  const char *doc;  /* UTF-8 without control characters, not empty, or NULL */
  uint64_t resident; /* bytes that are resident now */
  uint64_t reserved; /* bytes that the host has, touched or not: at least `resident` */
  enum eventring_footprint_of of;
  enum eventring_footprint_in in;
};

/* ==== PRODUCER: owner of the domain ===================================== */

/* Bits of `flags`. */
enum {
  EVENTRING_FOOTPRINT_MEASURED = 1, /* `resident` was asked of the system, not reckoned */
  /* ask the C library for the amounts of its heap. This takes a lock of malloc, and time
     in proportion to the number of free pieces: use it for questions, and rarely. Without
     this flag the amounts of the last such call are written */
  EVENTRING_FOOTPRINT_SYSTEM = 2
};

/* Writes the rows of the domain into the recording that it is attached to, in place of
   the former rows. Costs some microseconds. Returns 0, E_STATE if the domain is not
   attached, E_ARGUMENT if a text or a number is wrong, or E_FULL if the rows do not fit
   into a block (some 30 do), or the file has no room. After an error nothing is
   written. */
int eventring_footprint_write(eventring_domain *domain,
                              const struct eventring_footprint_row *rows, size_t count,
                              unsigned flags);

struct eventring_footprint_own { /* bytes that the library has mapped for itself */
  uint64_t domain_resident, domain_reserved;   /* for lanes of the domain */
  uint64_t process_resident, process_reserved; /* for the recording */
};
struct eventring_pages;
/* Fills in the bytes that the library has mapped, without the recording's file (the
   kernel counts it) and without memory from malloc. Returns 0, or E_STATE if the domain
   is not attached. */
int eventring_footprint_own(eventring_domain *domain, struct eventring_pages *pages,
                            struct eventring_footprint_own *own);

/* Finds which pages take memory. A page that was read and never written takes none. Where
   the system does not distinguish such pages (before Linux 6.7 without /proc), they count
   as taking memory. */
struct eventring_pages { /* private to the library, except `size` */
  size_t size; /* bytes of a page */
  int pagemap, memory;
  unsigned how;
};
/* Opens two files of /proc, which are closed on exec. Without these files fewer pages can
   be told apart. */
void eventring_pages_open(struct eventring_pages *pages);
void eventring_pages_close(struct eventring_pages *pages);
/* Stores whether pages take memory: there[i] is 1 if page i, of `count` from `first` on,
   does, else 0. `first` is the beginning of a page. Costs some ns for each page and some
   hundred ns for a call; before Linux 6.7, a page that a fork left shared with a child
   takes a microsecond. A page counts as taking memory when nothing can be found out about
   it. One thread at a time for each `pages`. */
void eventring_pages_there(struct eventring_pages *pages, const void *first, size_t count,
                           unsigned char *there);
/* Returns the bytes of the pages of [from, from + size) that take memory now, the first
   and the last page in proportion. */
uint64_t eventring_pages_resident(struct eventring_pages *pages, const void *from, size_t size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_FOOTPRINT_H */
