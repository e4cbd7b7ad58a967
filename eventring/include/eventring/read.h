/* SPDX-License-Identifier: MIT */
/* read.h: reads recordings: of this process, of another process, live or dead, or a saved
 * copy.
 *
 * A cursor reads all rings of one recording, each from its oldest event on. Cursors are
 * independent of each other, and the producer does not know of them. A reading loop: see
 * eventring_wait. Conventions of all headers (errors, threads, texts, times, structures):
 * <eventring/types.h>.
 *
 * Threads: any thread may open a cursor. Any thread may call a function that takes an
 * `eventring_cursor *`, but only one thread at a time. Any thread may call a function
 * that takes an `eventring_event *` while the event is valid.
 */
#ifndef EVENTRING_READ_H
#define EVENTRING_READ_H

#include "eventring/types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef struct eventring_cursor eventring_cursor;

/* Flags for opening, combined with |. */
enum {
  EVENTRING_OPEN_MERGED = 1, /* a poll delivers the events of all rings merged by time;
                                without the flag, ring by ring */
  EVENTRING_OPEN_NOW = 2,    /* skip what is already in the rings and begin at the
                                present; the spans open there are delivered first */
  EVENTRING_OPEN_UNMAPPED = 4, /* see below */
  EVENTRING_OPEN_FOLLOW = 8,   /* open_path, open_any: follow a symbolic link as the last
                                  component (for a path that the user has named). Such a
                                  cursor only reads: eventring_cursor_control refuses
                                  it */
  EVENTRING_OPEN_BACKWARDS = 16, /* deliver the newest event first, see below */
  EVENTRING_OPEN_AHEAD = 32, /* read long streams with a second thread, see below */
  EVENTRING_OPEN_OWN = 64 /* open_path: E_PERMISSION if the file is another user's */
};

/* A cursor with OPEN_BACKWARDS delivers the events that exist at its first poll, from the
   newest to the oldest, merged by time. Events have the same members as when reading
   forwards: an end knows its begin, although the begin is delivered later. Events written
   after the first poll are not delivered. When the oldest event was delivered,
   eventring_finished is true, also if the process lives. Reading backwards takes as
   little memory as reading forwards, and of a long file it reads only what it delivers.
     Losses, and the synthetic events that belong to them, come in their places, in the
     opposite order. What was lost before the oldest event comes last: what a live process
     has overwritten since the first poll, then what is missed (LOST_BEFORE), then a
     synthetic begin of each span that was open there. There are two differences. Where
     more than 64 spans are open at the begin of a block of 4 KiB, the end of a span that
     the block does not list is torn. And after an eventring_cursor_seek, delivery begins
     up to two blocks later than that time, so that nothing before it is left out; what is
     later still is missed, without a call of `lost`. eventring_open_spans gives the spans
     that are open at the end, also before the first poll. With OPEN_NOW, opening fails
     with E_ARGUMENT. */

/* With OPEN_AHEAD, threads of the library copy and check blocks ahead of the poll that
   delivers them: blocks of long streams (1 MiB or more of a ring) of a plain file into
   which nobody writes any more. Where events come in batches (eventring_cursor_batches),
   the threads also decode as many of them as they have time for. There are up to four
   threads at a time. Each takes half a megabyte, for batches up to three and a half; it
   blocks signals and calls no callbacks. A poll or eventring_close ends them. The cursor
   delivers the same events as without threads. With a single processor, or when no thread
   can be started, the cursor reads by itself. */

/* A cursor maps a file of a local file system for reading. If someone cuts the file
   short, a poll returns E_TRUNCATED: the library's handler of SIGBUS catches the fault.
   The handler is set while such a cursor is open, and passes on faults that are not the
   library's own; a thread that polls must not block SIGBUS. If a program cannot accept
   this handler, OPEN_UNMAPPED reads the file with system calls instead (1 ns more for an
   event; an idle poll takes 0.5 us a ring). The library does so by itself when a file
   cannot be mapped or guarded.

   The functions that open a recording return 0 and store the cursor in *cursor; close it
   with eventring_close. Errors of all of them: E_MEMORY, E_SYSTEM, E_LIMIT and the errors
   of the file E_NOT_EVENTRING, E_VERSION, E_BYTE_ORDER, E_CORRUPT, E_TRUNCATED. Any
   thread. */

/* Opens the recording of this process. E_STATE when stopped. */
int eventring_open_self(eventring_cursor **cursor, unsigned flags,
                        struct eventring_error *error);
/* Opens the recording of process `pid`, through the file that the process maps
   (/proc/PID/maps). `pid` is its number in the pid namespace of this process. It may be
   this process, even if it has changed its user and may not open its own file any more.
   E_NOT_FOUND if there is no such process, or it does not record; E_PERMISSION. */
int eventring_open_pid(eventring_cursor **cursor, pid_t pid, unsigned flags,
                       struct eventring_error *error);
/* Opens a file: that of a live or a dead process, or a saved copy. For the file of this
   process, give its absolute path (eventring_path); then it can be opened whatever user
   the process has now. A symbolic link as the last component is not followed
   (E_NOT_EVENTRING) without OPEN_FOLLOW. E_NOT_FOUND, E_PERMISSION. */
int eventring_open_path(eventring_cursor **cursor, const char *path,
                        unsigned flags, struct eventring_error *error);
/* Opens a PID or a FILE, as an argument of a command names it: digits alone are a pid,
   whatever files there are (./4711 is a file). */
int eventring_open_any(eventring_cursor **cursor, const char *pid_or_path,
                       unsigned flags, struct eventring_error *error);
/* Closes a cursor; NULL is allowed. Returns 0; E_BUSY from within a callback of this
   cursor's own poll, and then does nothing. */
int eventring_close(eventring_cursor *cursor);

/* Flags of a delivered event. */
enum {
  /* made by the reader, and not counted as delivered; one of these:
     - The begin of a span that was open where reading begins. `ns` is the time of the
       true begin. The event comes before the loss of what was overwritten by then, in the
       order of times where rings are merged.
     - The begin of a span that was found open after a later loss: the same, but behind
       that loss.
     - The end of a span whose own end was lost; always with TORN. It comes before the
       loss. `begin_ns` is when the span began, `ns` the last time at which it is known to
       have been open: that of the last event of the ring before the loss, or when the
       class of the span was switched off. */
  EVENTRING_SYNTHETIC = 1,
  EVENTRING_TORN = 2,      /* an end whose begin is unknown, or a synthetic end: the
                              duration is unknown, but that of a synthetic end is at least
                              ns - begin_ns */
  EVENTRING_MATCHED = 4,   /* an end whose begin is known: begin_ns is valid */
  EVENTRING_TRUNCATED = 8, /* the payload, or a text among its values, was longer than
                              what was recorded of it */
  EVENTRING_UNKNOWN = 16,  /* the id has no definition, or only one registered after the
                              event: the name is "(other)" */
  EVENTRING_MAY_BE_OVER = 32 /* of eventring_open_spans: the class of the span is off, or
                                was off after the span began, so its end may be missing */
};

/* A delivered event. Valid during the callback; copy what is to be kept. */
struct eventring_event {
  uint64_t ns;          /* time of the event */
  uint32_t domain;      /* slot of its domain, 0..127 */
  uint32_t incarnation; /* incarnation of the slot, from 1 */
  uint16_t id;
  uint8_t ring;         /* enum eventring_ring */
  uint8_t kind;         /* enum eventring_kind */
  uint8_t event_class;  /* 0..63 */
  uint8_t payload;      /* enum eventring_payload, of this event. Of an end: UINT when its
                           definition says OFF_CPU and the thread was interrupted; `value`
                           then says for how many ns (eventring_event_off_cpu) */
  uint16_t flags;
  /* for a begin or an end, number of other spans that its context has open in this ring;
     for other events 0 */
  uint32_t depth;
  const char *name;     /* valid as long as the cursor; never NULL */
  const struct eventring_def *def; /* valid as long as the cursor; NULL when UNKNOWN */
  union {
    int64_t i;  /* INT */
    uint64_t u; /* UINT, STACK_ID */
    double d;   /* DOUBLE */
  } value;
  const void *bytes;    /* STRING, BYTES, VALUES, RAW: valid during the callback; not
                           terminated */
  size_t size;          /* bytes at `bytes` */
  /* for an end with MATCHED, when the span began; for a begin, as ns; else 0 */
  uint64_t begin_ns;
  uint64_t context;     /* context that the event belongs to (probe.h); 0 if none */
  /* for an end with MATCHED, for how long its context was suspended since the begin */
  uint64_t suspended_ns;
  uint64_t within_ns;    /* of an end with MATCHED: for how long the spans directly within
                            it, of its ring and context, ran, not counting suspended time;
                            more than any span can take if not all of it was seen: it
                            began before reading did, events were lost meanwhile, or a
                            span within it was torn (eventring_event_own) */
  /* for kind LINKED, the number that the events of one async span or flow share; such an
     event may have a payload as well */
  uint64_t link;
  uint8_t role;         /* for kind LINKED, enum eventring_role; else 0 */
};

/* Returns how many ns the span that this event ends took, or -1 if the event is no end,
   its begin is unknown, or the true end was lost. */
static inline int64_t eventring_event_took(const struct eventring_event *event) {
  const bool is_whole = event->kind == EVENTRING_END && event->flags & EVENTRING_MATCHED;
  return is_whole ? (int64_t)(event->ns - event->begin_ns) : -1;
}

/* Returns the own time of the span in ns: its duration without the time for which its
   context was suspended or a span directly within it ran. Returns -1 if this is not
   known. */
static inline int64_t eventring_event_own(const struct eventring_event *event) {
  const int64_t ran = eventring_event_took(event) - (int64_t)event->suspended_ns;
  return ran >= 0 && event->within_ns <= (uint64_t)ran ? ran - (int64_t)event->within_ns : -1;
}

/* Returns for how many ns of the span that this event ends the thread was not on a
   processor, or -1 if the event is no end, its begin is unknown, or this was not
   measured. */
static inline int64_t eventring_event_off_cpu(const struct eventring_event *event) {
  if (event->kind != EVENTRING_END || !event->def || !(event->flags & EVENTRING_MATCHED) ||
      event->def->measure != EVENTRING_OFF_CPU)
    return -1;
  if (event->payload == EVENTRING_UINT) return event->value.i;
  return event->payload == EVENTRING_NONE ? 0 : -1;
}

/* One value of a payload of kind VALUES. */
struct eventring_value {
  uint8_t payload; /* enum eventring_payload: INT to BYTES */
  union {
    int64_t i;
    uint64_t u;
    double d;
  } value;
  const void *bytes; /* STRING, BYTES: as in an event */
  size_t size;
};
/* Splits the payload of an event into its values and stores the first `room` of them in
   `values`. Returns how many values there are, which may be more than `room`: 0 for NONE
   and RAW, up to EVENTRING_MAX_VALUES for VALUES, 1 for others. To be called within the
   callback. */
size_t eventring_event_values(const struct eventring_event *event,
                              struct eventring_value *values, size_t room);

enum { EVENTRING_LOST_BEFORE = 1 /* overwritten before this cursor was opened */ };

/* Events of a ring that were overwritten before the cursor could read them. */
struct eventring_loss {
  uint32_t domain;      /* slot of the domain */
  uint32_t incarnation; /* that of the first block read after the loss */
  uint8_t ring;         /* enum eventring_ring */
  uint8_t flags;        /* EVENTRING_LOST_BEFORE or 0 */
  uint64_t count;       /* number of events, exact */
  uint64_t ns;          /* time from which reading goes on */
};

/* Either function may be NULL. A callback may do anything, also write events and poll
   other cursors, except poll or close this cursor (E_BUSY) and leave by longjmp or a C++
   exception. A result other than 0 ends the poll after this event, which counts as
   delivered; the next poll goes on after it. */
struct eventring_callbacks {
  size_t size; /* sizeof of this structure */
  int (*event)(void *context, const struct eventring_event *event);
  int (*lost)(void *context, const struct eventring_loss *loss);
};

/* A context that has open spans was left, or goes on. The time between these two switches
   does not belong to the spans of the context. */
struct eventring_switch {
  uint64_t ns;
  uint64_t context;
  uint32_t domain, incarnation; /* as in an event */
  uint8_t ring;                 /* ring of the open spans */
  bool resumed;                 /* the context goes on */
};
/* Makes polls deliver these switches, too, in their place among the events. (An event of
   a context that was left resumes it without a switch.) `callback` follows the rules of
   eventring_callbacks; NULL ends this. To be called before the first poll of a cursor
   that reads forwards, else E_STATE. */
int eventring_cursor_switches(eventring_cursor *cursor,
                              int (*callback)(void *context,
                                              const struct eventring_switch *change),
                              void *context);

/* Lets polls deliver only the rings whose bit is set (bit n: ring n of each domain; 0:
   all). The other rings are not read, and appear in no count. To be called before the
   first poll, else E_STATE. E_ARGUMENT if there is no such ring. */
int eventring_cursor_select(eventring_cursor *cursor, uint32_t rings);

/* Lets the first poll begin near `ns` (of CLOCK_MONOTONIC): in each ring with the block
   that has the first event from this time on, or up to two blocks earlier. Earlier events
   are missed; spans that are open at the first block get a synthetic begin. Finds the
   place by bisection of the headers of blocks, whatever the length of the recording.
   E_STATE if the cursor was polled, or opened with OPEN_NOW. */
int eventring_cursor_seek(eventring_cursor *cursor, uint64_t ns);

/* Delivers the events that had been written at the time of the call, at most `max` (0: no
   maximum), in the order of each ring. Passes `context` to the callbacks. Always returns,
   even if the callbacks write events. Returns the number of events delivered, at most
   INT_MAX, or an error: E_BUSY, E_CORRUPT, E_TRUNCATED, E_SYSTEM, E_MEMORY, with the text
   in eventring_cursor_error. Neither `max` nor the result counts synthetic events. After
   an error of the file the cursor may be polled again; it goes on where that is possible.
   A poll may end before it has delivered all, without an error: eventring_poll_end says
   so. */
int eventring_poll(eventring_cursor *cursor,
                   const struct eventring_callbacks *callbacks, void *context, uint64_t max);

/* Why a poll ended. */
enum eventring_poll_end {
  EVENTRING_POLL_ALL = 0, /* the poll delivered all that had been written at the call */
  EVENTRING_POLL_STOPPED,    /* `max`, or the result of a callback, ended the poll */
  EVENTRING_POLL_UNREADABLE, /* it met EVENTRING_POLL_BLOCKS blocks that cannot be read:
                                the next poll goes on behind them. So a poll ends even
                                where each block of a file is damaged. The number of such
                                polls is bounded by the blocks of the file; blocks that
                                are known to be lost (FORMAT.md, section 6) do not
                                count */
  EVENTRING_POLL_FAILED      /* the file could not be read, or there was no memory, as
                                the result says. The next poll may go on */
};
enum { EVENTRING_POLL_BLOCKS = 4096 };
/* Returns why the last poll ended. A program that reads a whole recording polls until it
   is EVENTRING_POLL_ALL, or eventring_finished; one poll may not be enough. Before the
   first poll: EVENTRING_POLL_ALL. */
enum eventring_poll_end eventring_poll_end(const eventring_cursor *cursor);

#define EVENTRING_FOREVER UINT64_MAX

/* Blocks until the next poll of this cursor has something to do, at most `timeout_ns`
   nanoseconds (0: checks once; EVENTRING_FOREVER: no limit). Returns
     1  poll now: there are events, the last poll was ended by its maximum, by a callback
        or by unreadable blocks, there is damage to report, or the producer has ended or
        died (from then on always; that poll makes eventring_finished true);
     0  the time is up;
     E_INTERRUPTED  a signal handler ran in this thread while it slept, whatever
        SA_RESTART says. A signal between two sleeps is not noticed: a program that must
        see a flag of its handler soon passes a timeout and calls again;
     E_BUSY (from within a callback of this cursor's own poll), E_ARGUMENT.
   The producer does not wake readers: the function sleeps for 0.05 to 8 ms at a time,
   longer when there is less to read. It sees news within 10 ms and takes less than 0.5 %
   of a processor for an idle process (a cursor with OPEN_UNMAPPED: 0.5 us more for each
   ring and check, 0.006 % a ring). A reading loop:
     while ((n = eventring_poll(c, &callbacks, context, 0)) >= 0 &&
            !eventring_finished(c) && eventring_wait(c, EVENTRING_FOREVER) > 0) {}
*/
int eventring_wait(eventring_cursor *cursor, uint64_t timeout_ns);

/* Returns the last error of the functions that take this cursor and no `error`; never
   NULL. */
const struct eventring_error *
eventring_cursor_error(const eventring_cursor *cursor);
/* Returns E_CORRUPT if damage was found since the last poll, by a saver or a snapshot for
   instance, with the text in eventring_cursor_error; else 0. */
int eventring_cursor_damage(eventring_cursor *cursor);

/* Returns whether the producer runs. Checks this at each call. */
enum eventring_liveness eventring_cursor_liveness(eventring_cursor *cursor);
/* Returns true when a poll has delivered the last event that there will ever be: the end
   of a reading loop (eventring_wait). */
bool eventring_finished(eventring_cursor *cursor);

/* Calls `callback` with a synthetic begin for each span that is open at the cursor's
   position, ring by ring, outermost first within a context. A span with MAY_BE_OVER may
   have ended without a record of it. Stops when the callback returns a value other than 0
   and returns that; else returns 0. E_BUSY from within a callback of this cursor's own
   poll. */
int eventring_open_spans(eventring_cursor *cursor,
                         int (*callback)(void *context,
                                         const struct eventring_event *event),
                         void *context);

/* Returns the classes (bits) whose events after `since_ns` may not all have been
   recorded: those that are off now, and those that were switched on after that time; all
   classes while the recording is paused. If class lifecycle is among them, the whole
   recording was paused. */
uint64_t eventring_cursor_classes_off(eventring_cursor *cursor, uint64_t since_ns);

/* -- What the file says of itself ----------------------------------------
 *
 * These functions return 0, or E_CORRUPT, E_TRUNCATED, E_SYSTEM or E_MEMORY (text:
 * eventring_cursor_error). They do not move the cursor. */

struct eventring_info {
  size_t size;             /* sizeof this structure, set by the caller */
  char path[1024]; /* path as opened; if opened by pid, where the file was found */
  char program[EVENTRING_MAX_PROGRAM + 1];
  uint32_t version;        /* version of the format */
  pid_t pid;               /* pid of the producer, in its own pid namespace */
  /* start of the process in clock ticks after boot (/proc/PID/stat); 0 if not known */
  uint64_t process_start;
  enum eventring_liveness liveness;
  enum eventring_state state;
  uint64_t classes;        /* wanted mask */
  uint64_t classes_known;  /* classes that have a name */
  uint64_t start_ns;       /* monotonic time of the start of the recording */
  int64_t start_wall_ns;   /* the same moment, nanoseconds since the epoch */
  uint64_t end_ns;         /* end of an ended recording, else 0 */
  const char *clock;       /* "tsc", "cntvct" or "monotonic" */
  double clock_hz;         /* ticks per second (the latest calibration) */
  uint32_t wsize;          /* log2 of the words of a ring */
  uint32_t blocks;         /* blocks of a ring of that size */
  uint32_t block_words;    /* words of a block, header included */
  uint32_t events;         /* definitions in the catalogue */
  uint32_t max_domains;    /* slots that the format has */
  uint32_t domains_laid_out; /* slots that have been used */
  uint64_t file_size;      /* bytes, apparent */
  uint64_t disk_size;      /* bytes allocated */
  uint64_t control_word;   /* `wanted` of the control page, as it stands in the file */
  bool control_malformed;  /* the control page is not as this library writes it: the
                              producer will correct it */
  uint64_t control_rejected; /* malformed control words that the producer has corrected */
  uint64_t blocks_claimed;   /* blocks of the file that are in use */
  uint64_t unknown_blocks;   /* blocks of kinds that this reader does not know: skipped */
  uint64_t unknown_records; /* records of types that this reader does not know: skipped */
  uint64_t names_dropped;    /* definitions without room: events are "(other)" */
  uint64_t lives_dropped;    /* lives of domains that later ones have overwritten, or that
                                found no room in a stream */
  uint64_t hold_ns; /* rings grow until they hold this time; 0 if they do not grow */
  uint64_t grow_bytes;       /* bytes by which all rings together may grow */
  pid_t process;             /* pid by which the cursor was opened; 0 if opened by path */
  enum eventring_end_reason end_reason; /* UNKNOWN while the process lives */
  uint32_t end_detail;
  bool preserved;            /* ended, and kept because the configuration says so and not
                                because of an error; or a copy */
  uint64_t error_ns;         /* when the error that ends the process was noted, or 0 */
  uint32_t error_bytes;      /* bytes of the error text before it was cut */
  char error_text[EVENTRING_MAX_END_TEXT + 1]; /* lines of UTF-8; no control characters
                                except newline and tab */
  bool has_streams;          /* some rings are streams: nothing of them is overwritten */
  bool incomplete;           /* a copy of a live process's rings: parts may be missing */
  uint32_t stream_rings;     /* bit n: ring n of some domain exists and is a stream */
  /* events of rings that have not found room for any block yet */
  uint64_t events_dropped;
  uint64_t plain_size;       /* for a compressed file, bytes of its plain file; else 0 */
  uint32_t function_end;     /* one more than the largest id of a function, */
  uint32_t stack_end;        /* and of a stack (<eventring/tools.h>) */
  uint64_t heaps_dropped;    /* heap profiles whose place later domains have used again */
  uint32_t no_room;          /* rings that found no room on the disk when they last tried
                                to grow: they go on in the blocks that they have */
  uint64_t no_room_ns;       /* since when no_room is not 0, or 0 */
  double sample_rate;        /* allocation samples a word; 0 if off */
  bool profile_asked;        /* a profile of calls is to be kept */
  bool profile_kept;         /* the process keeps a profile; it obeys at a safepoint */
  /* functions that other processes have named, with commas between them. While class
     calls is on, their calls are spans; "" means all calls */
  char call_names[EVENTRING_MAX_CALL_NAMES + 1];
  double asked_rate;         /* as sample_rate, but also set while class ALLOC is off: the
                                rate that holds when the class is on again */
  uint32_t unrecorded;       /* domains not recorded because max_domains domains were */
};
/* Fills *info with what the file says now. */
int eventring_cursor_info(eventring_cursor *cursor, struct eventring_info *info);
/* What has a number in a recording, and a name. */
enum eventring_name {
  EVENTRING_NAME_CLASS,       /* a class */
  EVENTRING_NAME_RING,        /* a ring */
  EVENTRING_NAME_MEMORY_KIND, /* a kind of blocks of memory, of samples */
  EVENTRING_NAME_MEMORY_ORIGIN /* an origin of allocations, of samples */
};
/* Returns the name that this file has for the thing with this number, or NULL. Valid as
   long as the cursor. */
const char *eventring_cursor_name(const eventring_cursor *cursor, enum eventring_name of,
                                  unsigned index);
/* Returns the definition with this id, or NULL. Valid as long as the cursor. Definitions
   that the producer adds become visible at the next poll or eventring_cursor_info. */
const struct eventring_def *eventring_cursor_def(const eventring_cursor *cursor,
                                                 unsigned id);

struct eventring_domain_info {
  size_t size;          /* sizeof this structure, set by the caller */
  uint32_t slot;        /* 0..127 */
  uint32_t incarnation; /* number among the domains of the slot, from 1 */
  bool alive;           /* it has not stopped */
  pid_t tid;            /* id of the thread of the domain */
  char name[EVENTRING_MAX_DOMAIN_NAME + 1]; /* the latest name */
  uint64_t start_ns;
  uint64_t stop_ns;     /* 0 while alive */
  /* process that the domain belongs to (eventring_cursor_process); 0 for the process that
     eventring_info describes */
  uint32_t process;
};
/* Fills *info with the domain of a slot, 0 to 127, that has this incarnation, or, with 0,
   the latest. E_NOT_FOUND if there was none, or its record is gone (the latest records,
   some thousands, are kept); E_ARGUMENT if there is no such slot. */
int eventring_cursor_life(eventring_cursor *cursor, unsigned slot, uint32_t incarnation,
                          struct eventring_domain_info *info);
static inline int eventring_cursor_domain(eventring_cursor *cursor, unsigned slot,
                                          struct eventring_domain_info *info) {
  return eventring_cursor_life(cursor, slot, 0, info);
}

struct eventring_ring_info {
  size_t size;        /* sizeof this structure, set by the caller */
  uint64_t emitted;   /* events written into the ring so far */
  /* number of these events that can still be read; for a stream, those not found lost */
  uint64_t available;
  uint64_t blocks_written; /* sequence number of the newest block */
  uint64_t oldest_ns; /* time at which the oldest block still present begins, or 0 */
  uint64_t newest_ns; /* time of the newest event, or 0 */
  /* for this cursor: emitted = missed + delivered + lost + still to be read */
  /* events overwritten (or skipped, OPEN_NOW) before the cursor was opened; in a ring
     that had been filled once by then, before its first poll */
  uint64_t missed;
  uint64_t delivered;
  uint64_t lost;      /* events overwritten since then */
  uint64_t torn;      /* spans delivered as torn */
  uint32_t blocks;    /* blocks of the ring, now; for a stream, blocks_written */
  bool is_stream;
};
/* Fills *info with what is known of a ring. E_NOT_FOUND if the slot has no such ring
   (yet); E_ARGUMENT if slot or ring is out of range. */
int eventring_cursor_ring(eventring_cursor *cursor, unsigned slot,
                          enum eventring_ring ring,
                          struct eventring_ring_info *info);

struct eventring_totals {
  size_t size; /* sizeof this structure, set by the caller */
  /* as in struct eventring_ring_info, summed over all rings */
  uint64_t missed, delivered, lost, torn;
};
/* Fills *totals. Returns 0 or E_ARGUMENT. */
int eventring_cursor_totals(const eventring_cursor *cursor,
                            struct eventring_totals *totals);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_READ_H */
