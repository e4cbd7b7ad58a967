/* SPDX-License-Identifier: MIT */
/* recording.h: the recording: a file with its mappings.
 *
 * Recordings are counted: the producer, each domain attached and each cursor of the own
 * process hold one reference; the file is unmapped when the last is gone.
 *
 * Nothing that the producer reads from the file decides where it writes: all positions and
 * counts are kept in private memory as well. The one thing it does read is the control
 * page.
 */
#ifndef EVENTRING_RECORDING_H
#define EVENTRING_RECORDING_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "eventring.h"
#include "format/clock.h"
#include "format/control.h"
#include "format/format.h"
#include "producer/block_source.h"

#pragma GCC visibility push(hidden)

struct evr_recording;

struct evr_ring { /* one ring of a slot; the owner's while there is one */
  struct evr_block_source source; /* first */
  const struct evr_recording *recording;
  uint8_t *base;   /* first place */
  uint64_t offset; /* of the first place in the file */
  uint32_t blocks; /* places; a power of two */
  uint32_t ready;  /* of these, may be written to */
};

struct evr_slot { /* guarded by the mutex */
  uint8_t *map;   /* its rings, domain_stride bytes; NULL: not laid out. Never
                     changes once set (release): cursors read it */
  struct evr_domain *owner;
  uint32_t incarnation;
  struct evr_ring *ring; /* EVENTRING_RINGS; NULL: not laid out */
};

struct evr_recording {
  unsigned references; /* guarded by the mutex */
  int fd;              /* of the file; holds the lock; -1 in a forked child */
  int directory;       /* its directory; -1 in a forked child */
  dev_t device;
  ino_t inode;
  char name[32];
  char path[PATH_MAX];
  bool in_memory; /* on tmpfs */
  bool locked;    /* the file system has locks */
  bool preserve;
  bool ended;
  bool announced; /* the event recorder_start is written */
  uint8_t *front;     /* mapped up to the rings: header, status, control, domains */
  uint8_t *catalogue; /* and catalogue, which is filled lazily */
  uint32_t catalogue_blocks;  /* of these, ready to be written */
  struct format_header header; /* private copy */
  enum format_clock clock;
  struct evr_pair origin;           /* of the calibration */
  struct evr_conversion conversion; /* private truth of the status page */
  uint64_t recalibrate_at;          /* ticks; atomic; UINT64_MAX: never again */
  uint64_t gate;                    /* atomic; the last well-formed one seen */
  unsigned laid_out;
  struct evr_slot slot[EVENTRING_MAX_DOMAINS];
};

static inline struct format_status *evr_status(const struct evr_recording *r) {
  return (struct format_status *)(r->front + FORMAT_STATUS_OFFSET);
}
static inline struct format_control *evr_control(const struct evr_recording *r) {
  return (struct format_control *)(r->front + FORMAT_CONTROL_OFFSET);
}
static inline struct format_domain *evr_domain_entry(const struct evr_recording *r,
                                                     unsigned slot) {
  return (struct format_domain *)(r->front + FORMAT_DOMAINS_OFFSET) + slot;
}

/* Creates the file and its front part. Readers find no recording there until it is shown;
   what they are to find then is filled in before. */
int evr_recording_create(struct evr_recording **recording,
                         const struct eventring_config *config,
                         struct eventring_error *error);
/* Sets the clock and the gate, and shows the recording to readers. */
void evr_recording_show(struct evr_recording *recording,
                        const struct eventring_config *config);
/* Takes away what was created and never shown. */
void evr_recording_discard(struct evr_recording *recording);
/* Marks the file ended; takes it away unless preserved. */
void evr_recording_end_locked(struct evr_recording *recording);
/* Has its file been cut short or overwritten? Nothing is recorded any more. */
bool evr_recording_is_lost(const struct evr_recording *recording);
/* In a forked child: lets go of the file. */
void evr_recording_disown(struct evr_recording *recording);
void evr_recording_hold_locked(struct evr_recording *recording);
void evr_recording_release_locked(struct evr_recording *recording);
/* Adds a clock segment when it is time to. */
void evr_recording_recalibrate_locked(struct evr_recording *recording);
/* Reserves disk space and makes the pages mapped at `map` present and writable; 0
   or an errno. */
int evr_recording_make_ready(const struct evr_recording *recording, uint8_t *map,
                             uint64_t offset, uint64_t bytes);
/* Puts the gate right when it is malformed. Any thread that holds the recording. */
void evr_recording_check_gate(struct evr_recording *recording);
/* Changes the gate; returns the one before. */
uint64_t evr_recording_change_gate_locked(struct evr_recording *recording,
                                          enum evr_gate_change change, uint32_t classes);

#pragma GCC visibility pop

#endif /* EVENTRING_RECORDING_H */
