/* SPDX-License-Identifier: MIT */
/* recording.h: the recording: a file with its mappings.
 *
 * Recordings have a reference count: the producer, each attached domain and each cursor
 * of this process hold one reference; the file is unmapped when the last is released.
 *
 * Nothing that the producer reads from the file decides where it writes: all positions
 * and counts are also kept in private memory. It reads only the control page.
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
#include "producer/descriptor.h"
#include "producer/extents.h"
#include "producer/footprint.h"
#include "producer/profiles.h"
#include "producer/record_blocks.h"
#include "producer/room.h"
#include "producer/stream.h"

#pragma GCC visibility push(hidden)

struct evr_recording;
struct evr_writer;

struct evr_ring_run { /* a run of places of a ring */
  const struct evr_extent *extent; /* NULL if there is no such run */
  uint32_t at;  /* its first place in the extent */
  uint32_t end; /* places of the ring up to the end of this run */
};

struct evr_ring { /* one ring of a slot; used by the slot's owner while there is one */
  struct evr_block_source source; /* must be first */
  struct evr_writer *writer;      /* NULL if the ring is not made */
  struct evr_recording *recording;
  struct evr_ring_run run[1 + FORMAT_MORE_RUNS];
  unsigned runs;    /* number of runs in use */
  uint16_t slot, index;
  uint32_t blocks;  /* number of places, a power of two; 0 if there are none yet */
  uint32_t ready;   /* number of places that may be written to */
  uint32_t written; /* number of places that have been written to */
  struct evr_room room;
  /* growth.c */
  uint64_t round_ticks; /* when the first place was last written to */
  uint32_t prepared;    /* blocks of run[runs] that are ready, if it has an extent */
  bool refused;         /* there was no room for another run in this round */
};

struct evr_slot { /* guarded by the mutex */
  struct evr_domain *owner;
  uint32_t incarnation;
  const struct evr_extent *extent; /* extent from which the next ring may be taken, or
                                      NULL */
  uint32_t used;                   /* blocks of the extent that belong to rings */
  struct evr_ring ring[EVENTRING_RINGS];
};

enum { EVR_SPARE_ROOTS = 256 };
/* Clock segments that are kept: enough for days, as they become rarer (calibration.c). */
enum { EVR_SEGMENTS = 32, EVR_LAST_SEGMENT = EVR_SEGMENTS - 1 };
struct evr_heap_copy;
struct evr_heaps { /* guarded by the mutex, except the first member; heap_profile.c */
  uint64_t generation; /* atomic: number of the last publication */
  unsigned claimed[2]; /* number of blocks of kind HEAPS, and of kind HEAP_PAGES */
  struct evr_heap_copy *ended, *ended_last; /* first and last of the profiles that have
                                               ended, in the order of their ends */
  struct evr_heap_copy *spare; /* copies of profiles that are gone, whose pages are
                                  free */
  unsigned spare_roots;
  struct format_block *spare_root[EVR_SPARE_ROOTS][2];
};

struct evr_recording {
  unsigned references; /* guarded by the mutex */
  struct evr_descriptor directory; /* directory of the file; none in a forked child */
  struct evr_descriptor rescued;   /* the copy of a deleted file, if there is one */
  char name[NAME_MAX + 1]; /* name of the file */
  char path[PATH_MAX];
  bool closed;    /* writes of others into the control page are ignored */
  uint64_t redacted; /* classes that must not be recorded */
  bool lets_read; /* others of the same user may read the memory of the process */
  uint64_t hold_ns, sample_rate; /* values of the control page at the start */
  bool elsewhere; /* the file is not in the directory where it should be */
  bool in_memory; /* the file is on tmpfs */
  bool locked;    /* the file system has locks */
  uint8_t preserve;     /* enum eventring_preserve */
  unsigned keep;        /* most recordings of this program that stay in the directory; 0:
                           any number */
  bool failed;          /* an error that ends the process was noted */
  uint32_t signal;      /* the number of a signal that was noted, or 0; atomic */
  bool no_cpu_time;
  bool shown;     /* readers can find it */
  bool ended;     /* atomic, changes under the mutex */
  bool announced; /* the event recorder_start is written */
  uint8_t *front; /* header, status, control page, domain table */
  struct format_header header; /* private copy */
  enum format_clock clock;
  struct evr_pair origin;            /* the first readings of the clocks */
  struct evr_pair calibrated;        /* readings of the clocks at the last calibration */
  /* private copy of the last clock segments; while there are fewer segments, the first
     elements are copies */
  struct format_segment segment[EVR_SEGMENTS];
  unsigned calibrations;
  uint64_t multiplier;               /* multiplier of the first segment, accurate to a few
                                        percent */
  uint64_t rate;                     /* atomic: the multiplier of the last segment */
  uint64_t calibrate_at;             /* ticks; UINT64_MAX: never again */
  uint64_t recalibrate_at;           /* ticks; atomic: when lanes take the slow path, to
                                        calibrate or to check the file */
  uint64_t link_at;                  /* ticks; atomic: when the file is to be checked */
  bool deleted;                      /* the file was found without a name; atomic */
  bool deletion_said;                /* the host knows that there is no other file */
  unsigned copy_pause;               /* checks of the helper before it copies again */
  /* The host's function that answers for a domain that is asleep. */
  uint32_t (*answer_aside)(struct eventring_domain *domain, uint32_t kinds);
  uint64_t guard_at;                 /* ticks; atomic: when evr_guard_renew and a check of
                                        tools' triggers are due */
  uint32_t triggers_seen;            /* version of the list on the control page that was
                                        last read; atomic */
  uint64_t gate, wanted;             /* the last valid values seen; atomic */
  unsigned slots;                    /* slots that have been used */
  uint32_t grown;                    /* blocks by which rings have grown */
  uint32_t run_pages;                /* bit n: page n of the run table may be written */
  uint32_t published;                /* definitions that were appended */
  const struct evr_extent *record_extent; /* blocks of records are taken from here */
  uint32_t record_at;    /* the next block for records */
  uint32_t record_ready; /* blocks before this one may be written to */
  uint32_t record_end;   /* the first block behind those for records */
  struct evr_room record_room;
  bool definitions_wait; /* some definitions found no room on the disk yet and will be
                            written later; atomic */
  uint64_t wait_since;   /* when the first of these definitions found no room, ticks */
  const struct evr_extent *ending_extent; /* blocks set aside for records of the end */
  uint32_t ending_at;                     /* the next of these blocks */
  struct evr_records records;
  struct evr_profiles profiles; /* profiles of calls */
  struct evr_extents extents;
  struct evr_streams streams;
  struct evr_room_news room_news;
  struct evr_heaps heaps;
  struct evr_footprints footprints;
  struct format_count total_pages[2]; /* pages of kind TOTALS, and of kind HISTOGRAMS;
                                         under the mutex */
  struct evr_slot slot[EVENTRING_MAX_DOMAINS];
};

static inline struct format_status *evr_status(const struct evr_recording *r) {
  return (struct format_status *)(r->front + FORMAT_STATUS_OFFSET);
}
static inline struct format_control *evr_control(const struct evr_recording *r) {
  return (struct format_control *)(r->front + FORMAT_CONTROL_OFFSET);
}
static inline struct format_trigger *evr_trigger_states(const struct evr_recording *r) {
  return (struct format_trigger *)(r->front + FORMAT_TRIGGER_STATES_OFFSET);
}
static inline struct format_domain *evr_domain_entry(const struct evr_recording *r,
                                                     unsigned slot) {
  return (struct format_domain *)(r->front + FORMAT_DOMAINS_OFFSET) + slot;
}

/* Creates the file and its front. Readers find no recording there until it is shown;
   everything that they need is filled in before that. `elsewhere`: config->directory is a
   substitute, which must be safe (recording_file.c). */
int evr_recording_create(struct evr_recording **recording,
                         const struct eventring_config *config, bool elsewhere,
                         struct eventring_error *error);
/* Sets the gate, and shows the recording to readers. */
void evr_recording_show(struct evr_recording *recording,
                        const struct eventring_config *config);
/* Removes a recording that was created and never shown. */
void evr_recording_discard(struct evr_recording *recording);
struct evr_end { /* how a recording ends */
  enum format_end_reason reason;
  uint32_t detail;
};
/* Marks the file ended and removes it unless it is to be kept. All blocks are complete,
   except those that domains of other threads are writing to. With `in_handler` it is
   async-signal-safe and leaves all blocks unfinished. Returns 0, or the errno with which
   the file could not be removed. */
int evr_recording_end_locked(struct evr_recording *recording, struct evr_end end,
                             bool in_handler);
/* Tells whether the file has been cut short or overwritten. Nothing is recorded any more
   then. */
bool evr_recording_is_lost(const struct evr_recording *recording);
/* Releases the file in a forked child; it still belongs to the parent. Mappings that
   cursors keep are read-only from then on. Async-signal-safe. */
void evr_recording_disown(struct evr_recording *recording);
void evr_recording_hold_locked(struct evr_recording *recording);
void evr_recording_release_locked(struct evr_recording *recording);
/* Makes sure that a slot has its entry in the domain table. */
int evr_recording_use_slot_locked(struct evr_recording *recording, unsigned slot,
                                  struct eventring_error *error);
/* Returns where these bytes of the file are mapped, or NULL. Any thread that holds a
   reference. */
const uint64_t *evr_recording_words(const struct evr_recording *recording, uint64_t offset,
                                    size_t size);

/* ---- calibration.c --------------------------------------------------------------- */

/* Makes the first clock segment. */
void evr_recording_calibrate_first(struct evr_recording *recording);
/* Returns the ns from one moment to another, as readers convert them. Neither moment lies
   in the future. Moments before the kept segments are converted by the oldest kept
   segment. */
uint64_t evr_recording_took_locked(const struct evr_recording *r, uint64_t from_ticks,
                                   uint64_t to_ticks);
/* Adds clock segments when it is time to. */
void evr_recording_recalibrate_locked(struct evr_recording *recording);
/* Returns milliseconds in ticks, accurate to a few percent. Any thread that holds a
   reference. */
uint64_t evr_recording_ticks_of_ms(const struct evr_recording *recording, uint64_t ms);
/* Returns the nanoseconds of CLOCK_MONOTONIC now, as readers convert them. */
uint64_t evr_recording_now_locked(struct evr_recording *recording);

/* ---- ending.c -------------------------------------------------------------------- */

/* Stores in the file what becomes of it at the end: enum eventring_preserve. */
void evr_recording_set_preserve(struct evr_recording *recording, unsigned preserve);
/* Records the error with which the process ends. Returns false when there is no room for
   it. */
bool evr_recording_note_error_locked(struct evr_recording *recording, const char *text,
                                     size_t size);
/* Stores the number of the signal that is about to end the process. Async-signal-safe. */
void evr_recording_note_signal(struct evr_recording *recording, uint32_t number);
/* Returns how the recording ends. If a signal was noted, that signal ends it, however the
   process then got to its exit. */
struct evr_end evr_recording_end_of(const struct evr_recording *recording, struct evr_end end);
/* Tells whether the file is kept at this end. */
bool evr_recording_is_kept(const struct evr_recording *recording, struct evr_end end);

/* ---- deletion.c ------------------------------------------------------------------ */

enum { EVR_LINK_LOOK_MS = 500 };
/* Checks whether somebody has deleted the file, if the last check was a while ago.
   `aside`: on the helper's thread, which always checks, and does not open the file again
   if the program has closed our descriptor. Any thread that holds a reference or the
   mutex. */
void evr_recording_see_link(struct evr_recording *recording, bool aside);
/* Copies the file, if it was deleted, to a new file of its name, or again to the copy
   that an earlier call has made. Async-signal-safe. */
void evr_recording_rescue(struct evr_recording *recording);
/* Copies the deleted file to its name if there is no copy yet, while nobody writes.
   Called by the helper. */
void evr_recording_copy_aside_locked(struct evr_recording *recording);
/* Removes the copy of a deleted file. Async-signal-safe. */
void evr_recording_drop_rescued(struct evr_recording *recording);
/* Handles a deleted file of the present recording, or checks the file. Called without the
   mutex on the thread of a domain or the helper's. The pointer is set at the first start
   (state.c). */
enum evr_look {
  EVR_KNOWN,     /* the deletion was seen */
  EVR_LOOK,
  EVR_LOOK_ASIDE /* check, on the helper's thread */
};
extern void (*evr_on_deleted)(enum evr_look look);

/* ---- kept.c ---------------------------------------------------------------------- */

/* Removes dead recordings of the same program in the directory of this one until at most
   `most` others are left, the oldest first. Recordings with another setting of `preserve`
   stay and are not counted, and so do files that cannot be read. Does nothing for a
   stream, for a recording that is never preserved, or without a bound (keep). */
void evr_recording_limit_kept(const struct evr_recording *recording, size_t most);

/* ---- gate.c ---------------------------------------------------------------------- */

/* Sets the classes wanted at the start. */
void evr_recording_open_gate(struct evr_recording *recording,
                             const struct eventring_config *config);
/* Corrects invalid words of the control page, and notes what was switched. At most every
   100 ms it also checks that the process still has the library's handler of SIGBUS
   (evr_guard_renew). Any thread that holds a reference, without the mutex. */
void evr_recording_check_gate(struct evr_recording *recording);
/* Handles a new list of triggers on the control page; set at the first start
   (triggers.c). */
extern void (*evr_on_triggers)(struct evr_recording *recording);
/* Returns the classes that the recording may have on. */
static inline uint64_t evr_recording_classes(const struct evr_recording *r) {
  return evr_named_classes(r->header.classes) & ~r->redacted;
}
/* Changes the classes wanted; returns those wanted before. */
uint64_t evr_recording_change_gate_locked(struct evr_recording *recording,
                                          enum evr_gate_change change, uint64_t classes);

/* ---- recording_file.c ------------------------------------------------------------ */

/* Creates the file of a recording, locked. Renames a dead recording of the same name. */
int evr_recording_create_file(struct evr_recording *recording,
                              const struct eventring_config *config,
                              struct eventring_error *error);
/* Lists the directories for a recording whose host names none, when the current one
   cannot be used. Stores them in the order in which they are to be tried, and returns
   their number. Under the mutex. */
enum { EVR_SUBSTITUTES = 4 };
unsigned evr_recording_substitutes(const char *directories[EVR_SUBSTITUTES]);
/* Unlinks the file if its name still refers to it. Returns 0, also if the name refers to
   another file, or an errno. Async-signal-safe, as the next two. */
int evr_recording_unlink(const struct evr_recording *recording);
/* Unlinks, as evr_recording_unlink does, another file that was made under this name. */
int evr_recording_unlink_other(const struct evr_recording *recording,
                               const struct evr_descriptor *file);
/* Creates a further file under the name of a deleted one. Returns a descriptor, or -1
   with errno. */
int evr_recording_create_again(const struct evr_recording *recording);

#pragma GCC visibility pop

#endif /* EVENTRING_RECORDING_H */
