/* producer.h: the producing side, inside libeventring.
 *
 * One recorder a process (`evr_recorder`), guarded by one mutex, which nobody
 * holds on the path of an event. It has at most one *recording* that goes on: a
 * file with its mappings. Recordings are counted: the recorder, each domain
 * attached and each cursor of the own process hold one reference; the file is
 * unmapped when the last is gone.
 *
 * A domain belongs to the thread that started it. Its lanes are written by that
 * thread only, with two exceptions that any thread holding the mutex may store:
 * `gate` (which classes pass) and `limit` = NULL, which sends the next probe
 * into the slow path. The owner that sets a new limit checks `attention`
 * afterwards, so that the request can't be lost (publish_limit in ring.c).
 *
 *   recorder stopped        gate -> a zero word, limit NULL
 *   standby or running,
 *   domain not yet attached gate -> control word of the recording, limit NULL:
 *                           the first probe that passes attaches the domain
 *   attached                gate -> control word, limit: end of the block
 *   could not be attached   gate -> a zero word, until the next start
 *
 * Nothing that the producer reads from the file decides where it writes: all
 * positions and counts are kept in private memory as well. The one thing it
 * does read is the control page.
 */
#ifndef EVENTRING_PRODUCER_H
#define EVENTRING_PRODUCER_H

#include <limits.h>
#include <pthread.h>

#include "eventring/probe.h"
#include "format/atomics.h"
#include "format/clock.h"
#include "format/control.h"
#include "format/error.h"
#include "format/guard.h"
#include "format/process.h"
#include "producer/classes.h"
#include "producer/openspans.h"

#pragma GCC visibility push(hidden)

struct evr_slot { /* guarded by the mutex */
  uint8_t *map;   /* its rings, domain_stride bytes; NULL: not laid out. Never
                     changes once set (release): cursors read it */
  struct evr_domain *owner;
  uint32_t incarnation;
  uint64_t sequence[EVENTRING_RINGS]; /* of the newest block, while free */
  uint64_t events[EVENTRING_RINGS];   /* written so far, while free */
  uint32_t ready[EVENTRING_RINGS];    /* blocks that may be written to; the owner's
                                         while there is one */
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

/* What the owner keeps of one ring beyond the lane. */
struct evr_ring {
  uint8_t *base;          /* first block */
  uint64_t *end;          /* of the present block: what limit is when no one
                             wants attention; NULL: no block yet */
  uint64_t *first;        /* its first event word */
  uint64_t sequence;      /* of the present block */
  uint64_t events_before; /* events in the ring before this block */
  uint64_t base_ticks;    /* that times in the block refer to from here on */
  uint64_t block_ticks;   /* the same as the block's header has it */
  uint32_t switches_seen; /* entries of the control log that `open` knows */
  uint32_t careful;       /* events that are still to take the slow path (ring.c, Signals) */
  uint64_t dropped;       /* events of handlers of signals that had no place (ring.c) */
  uint64_t dropped_seen;  /* of these, those that events_before has */
  struct evr_open_spans open; /* at the start of the present block */
};

struct evr_domain {
  struct eventring_domain hot; /* first: this is what the host has */
  struct evr_ring ring[EVENTRING_RINGS];
  struct evr_recording *recording; /* attached to; owner, under the mutex */
  int slot;
  uint32_t incarnation;
  uint32_t attention;   /* atomic: the recording has ended, let go */
  bool failed;          /* could not be attached to the present recording */
  bool writing;         /* the slow path is at work (ring.c, Signals) */
  pthread_t owner;
  int32_t tid;
  char name[EVENTRING_MAX_DOMAIN_NAME + 1];
  struct evr_domain *next; /* list of the recorder; under the mutex */
};

struct evr_listener { /* of the host, for what it can not be told by a result */
  void (*warn)(void *context, const struct eventring_error *error);
  void *context;
};

struct evr_recorder {
  pthread_mutex_t mutex;
  struct evr_recording *recording; /* that goes on, or NULL */
  struct evr_domain *domains;
  struct evr_recording *ended[8]; /* kept mapped while another thread's probe may
                                     still hold a pointer to their gate */
  unsigned ended_count;
  bool forked;
  struct evr_listener listener;
};
extern struct evr_recorder evr_recorder;

void evr_lock(void);
void evr_unlock(void);
/* Is this thread between evr_lock and evr_unlock? Read by probes in handlers of signals that
   interrupt it there; so it must be there without an allocation. */
extern __thread bool evr_locking __attribute__((tls_model("initial-exec")));

/* ---- file.c: the file of a recording -------------------------------- */

/* Creates the file, its front part and its catalogue. */
int evr_recording_create(struct evr_recording **recording,
                         const struct eventring_config *config,
                         struct eventring_error *error);
/* Marks the file ended; takes it away unless preserved. */
void evr_recording_end_locked(struct evr_recording *recording);
/* Has its file been cut short or overwritten? Nothing is recorded any more. */
bool evr_recording_is_lost(const struct evr_recording *recording);
/* In a forked child: lets go of the file. */
void evr_recording_disown(struct evr_recording *recording);
void evr_recording_hold_locked(struct evr_recording *recording);
void evr_recording_release_locked(struct evr_recording *recording);
/* Makes sure that a slot has rings. No block of them is ready yet. */
int evr_recording_lay_out_locked(struct evr_recording *recording, unsigned slot,
                                 struct eventring_error *error);
/* Adds a clock segment when it is time to. */
void evr_recording_recalibrate_locked(struct evr_recording *recording);
/* Reserves disk space and makes the pages mapped at `map` present and writable; 0
   or an errno. */
int evr_recording_make_ready(const struct evr_recording *recording, uint8_t *map,
                             uint64_t offset, uint64_t bytes);
/* Makes more blocks of a ring ready, of which some are not. Owner, no lock. */
int evr_recording_grow(struct evr_recording *recording, unsigned slot,
                       enum eventring_ring ring, struct eventring_error *error);

/* ---- catalogue.c ---------------------------------------------------------- */

/* Class of each id of this process (also of those not yet defined: USER). */
extern uint8_t evr_class_of[EVENTRING_MAX_EVENTS];
/* Writes the definitions that the recording does not have yet. */
int evr_catalogue_publish_locked(struct evr_recording *recording,
                                 struct eventring_error *error);

/* ---- ring.c ---------------------------------------------------------------- */

/* Makes a lane of a domain ready to write into its slot. On failure it is as
   before. Owner. */
int evr_ring_open(struct evr_domain *domain, enum eventring_ring ring,
                  struct eventring_error *error);
/* Completes the present block; nothing is written afterwards. Owner. */
void evr_ring_close(struct evr_domain *domain, enum eventring_ring ring);
/* Writes an event into an attached domain. When its ring can not grow the event is
   dropped and the domain recorded no further. Owner. */
void evr_ring_write(struct evr_domain *domain, enum eventring_ring ring,
                    uint64_t tail, uint64_t ticks, const uint64_t *payload,
                    size_t words);
uint64_t evr_ring_emitted(const struct evr_domain *domain,
                          enum eventring_ring ring);

/* ---- state.c ---------------------------------------------------------------- */

/* Brings a domain up to date with the recorder. True when it is attached. Owner,
   without the mutex. */
bool evr_domain_settle(struct evr_domain *domain);
/* Ends the recording of a domain, whose host is told why. Owner, without the mutex. */
void evr_domain_give_up(struct evr_domain *domain, const struct eventring_error *error);
/* Puts the gate right when it is malformed. Any thread that holds the recording. */
void evr_recording_check_gate(struct evr_recording *recording);
/* Writes one of the library's own lifecycle events. Owner. */
void evr_emit_builtin(struct evr_domain *domain, enum eventring_builtin_id id,
                      int64_t data);

#pragma GCC visibility pop

#endif /* EVENTRING_PRODUCER_H */
