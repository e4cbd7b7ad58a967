/* SPDX-License-Identifier: MIT */
/* tools.h: what the command `eventring` and other tools need in addition to
 * <eventring/read.h>. May change in any version (doc/VERSIONS.md).
 *
 * Threads: any thread may call a function that takes an `eventring_cursor *` or an
 * `eventring_profiles *`, but only one thread at a time.
 */
#ifndef EVENTRING_TOOLS_H
#define EVENTRING_TOOLS_H

#include "eventring/calls.h"
#include "eventring/conditions.h"
#include "eventring/footprint.h"
#include "eventring/memory.h"
#include "eventring/question.h"
#include "eventring/read.h"
#include "eventring/stack.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Name of the library's thread in a process that records or stands by. */
#define EVENTRING_HELPER_NAME "eventring help"

/* The order that a poll keeps between rings; within a ring events always come as they
   were written. Frequent changes between rings cost more than the reading itself, so a
   program should not ask for an order that it does not need. */
enum eventring_order {
  EVENTRING_ORDER_OPENED = 0,  /* the order that the flags of the cursor say */
  EVENTRING_ORDER_DOMAINS = 1, /* each domain by itself, its rings merged by time */
  EVENTRING_ORDER_BLOCKS = 2   /* a block at a time, of the ring with the oldest next
                                  event */
};
/* Sets the order of the next polls. Returns 0, E_STATE if the cursor reads backwards or
   is being polled, or E_ARGUMENT. */
int eventring_cursor_order(eventring_cursor *cursor, enum eventring_order order);
/* Returns the time of the oldest event that this poll has still to deliver, in all rings
   but that of the present event, or UINT64_MAX if there is none. For use in a callback,
   with ORDER_BLOCKS. */
uint64_t eventring_cursor_settled(const eventring_cursor *cursor);

/* Lets the next poll begin near `ns`, as eventring_cursor_seek does, but may be called
   after a poll: the rings are then read from `ns` on again. What the cursor knows of the
   file stays, so this costs less than opening another cursor, and much less for a packed
   file. E_STATE if the cursor reads backwards or is being polled. */
int eventring_cursor_again(eventring_cursor *cursor, uint64_t ns);

/* Events in bulk, for programs that read very many: no call and no struct eventring_event
   for each of them. A batch has 1 to EVENTRING_BATCH consecutive events of one ring and
   context (but see BATCH_CONTEXTS). Their times do not decrease, and the last is less
   than 2^32 ns after the first. In place of begins and ends, a batch has spans: those
   that ended in it, and those that it left open. Begins and ends that need a flag other
   than MATCHED are delivered singly. The caller chooses what else a batch may have: */
enum eventring_batch_contents {
  EVENTRING_BATCH_VALUES = 1,    /* begins may have a value, and ends may say for how long
                                    their thread was not on a processor. Without this flag
                                    they have no payload */
  EVENTRING_BATCH_POINTS = 2,    /* numbers of counters without a quantity, instants,
                                    events of flows and of async spans, as `points` */
  EVENTRING_BATCH_SUSPENDED = 4, /* ends of spans that were suspended in between */
  EVENTRING_BATCH_CONTEXTS = 8,  /* events of several contexts. In all contexts but the
                                    first, spans that were open count as begun before the
                                    batch */
  EVENTRING_BATCH_ALL = 15       /* all of these. (Begins and points whose value is the
                                    id of a definition, by EVENTRING_UNIT_ID, are never
                                    in a batch.) */
};
struct eventring_brief {
  uint32_t after;       /* ns from earliest_ns of the batch to its end; for a span that is
                           left open, to its begin */
  uint32_t took;        /* ns that it lasted; 0 if it is left open */
  uint32_t within;      /* ns of the spans directly within it that ended in the batch: at
                           most `took` if it ended */
  /* id of its definition, below EVENTRING_MAX_EVENTS (eventring_cursor_def) */
  uint16_t id;
  /* number of spans around it that began in the batch; 0 if it began before */
  uint8_t depth;
  /* 1 if it began before the batch, else 0. If 1, `outer` has its `took` and `within`,
     and those here are meaningless */
  uint8_t began_before;
};
struct eventring_outer { /* a span that ended in the batch and began before it */
  uint64_t took, within; /* ns; `within` as within_ns of an event */
  /* ns for which its context was suspended, as suspended_ns of an event */
  uint64_t suspended;
};
/* Returns the span's own time, as eventring_event_own does. Any thread. */
static inline int64_t eventring_outer_own(const struct eventring_outer *outer) {
  const uint64_t ran = outer->took - outer->suspended;
  return outer->within <= ran ? (int64_t)(ran - outer->within) : -1;
}
struct eventring_point { /* an event that is no begin, or an end with a payload */
  /* for a counter, its bits; for kind LINKED, the link; for an end, ns for which the
     thread was not on a processor; for an instant, undefined */
  uint64_t value;
  uint32_t after;  /* ns from earliest_ns of the batch */
  uint16_t id;     /* as in struct eventring_brief */
  uint8_t kind;    /* COUNTER, INSTANT, LINKED, or END (the span is in `ended`) */
  uint8_t payload; /* for a counter, INT, UINT or DOUBLE; for kind LINKED, the role */
};
#define EVENTRING_BATCH 512
struct eventring_batch {
  size_t count;                         /* number of events */
  const struct eventring_brief *ended;  /* in the order of their ends */
  const struct eventring_brief *opened; /* the outermost first. If the batch has several
                                           contexts, the spans of the last context come
                                           first */
  const struct eventring_point *points; /* in the order of events. All three are valid
                                           during the callback */
  size_t ended_count, opened_count, point_count;
  const struct eventring_outer *outer;  /* one for each of `ended` that began before the
                                           batch, in the same order: depth - depth_around
                                           of them if the batch has one context */
  uint32_t depth;        /* spans that were open before the batch; those of `ended` that
                            began before it had depth - 1, depth - 2 and so on */
  uint32_t depth_around; /* how many of these are still open: the depth of opened[0];
                            UINT32_MAX: the events are of several contexts, and depth and
                            context are those of the first */
  uint64_t earliest_ns, latest_ns;      /* the times of the first and of the last event */
  uint64_t classes;                     /* a bit for each class of the spans */
  uint64_t context;                     /* as in an event, as are the next three */
  uint32_t domain, incarnation;
  uint8_t ring;
  bool bare;             /* a point occurred while no span was open */
  const eventring_cursor *cursor;
  const struct eventring_written *written;    /* for eventring_batch_each */
};
/* Makes polls deliver batches to `callback`. The callbacks of the poll get all other
   events, in the same order as without batches. Which events come in batches, and how
   large the batches are, is not specified. `contents`: bits of eventring_batch_contents.
   `callback` follows the rules of eventring_callbacks; a result other than 0 ends the
   poll after the batch. NULL: none. E_STATE: the cursor reads backwards, or polls;
   E_MEMORY. The owner of the cursor. */
int eventring_cursor_batches(eventring_cursor *cursor, unsigned contents,
                             int (*callback)(void *context, const struct eventring_batch *batch),
                             void *context);
/* Calls `callback` for each event of the batch in their order, as a poll would without
   batches, until its result is not 0. Returns that result. To be called during the
   callback that gets the batch. */
int eventring_batch_each(const struct eventring_batch *batch,
                         int (*callback)(void *context, const struct eventring_event *event),
                         void *context);

/* A process whose recording is part of this recording (struct eventring_saver_part). */
struct eventring_process {
  char program[EVENTRING_MAX_PROGRAM + 1];
  char source[EVENTRING_MAX_SOURCE + 1]; /* path under which its recording was merged */
  pid_t pid;             /* pid in its own pid namespace */
  enum eventring_liveness liveness; /* that of its own recording, when it was read */
  enum eventring_end_reason end_reason;
  uint32_t end_detail;
  uint64_t start_ns;     /* start of its recording, on the clock of this recording */
  /* end of its recording, on the clock of this recording; 0 if it had not ended, or this
     is not known */
  uint64_t end_ns;
  int64_t start_wall_ns; /* the start, as its recording said: ns since the epoch */
  int64_t shift_ns;      /* ns added to the times of its recording */
  uint64_t events;       /* events that were taken from its recording */
  uint64_t missed, lost; /* events that its recording did not have any more */
  uint64_t error_ns;     /* when it noted an error with which it was about to end, or 0 */
  char error_text[EVENTRING_MAX_END_TEXT + 1];
};
/* Fills *process with process number `number`, from 1 on. E_NOT_FOUND if there are fewer,
   as in a recording of one process, which has none; E_ARGUMENT if `number` is 0. */
int eventring_cursor_process(eventring_cursor *cursor, unsigned number,
                             struct eventring_process *process);

/* ---- Functions, stacks, samples and heap profiles --------------------------- */

/* Ids of stacks and functions are those of a cursor's recording. Texts are valid UTF-8
   without control characters, terminated. These functions fill in what the file had at
   the last poll or eventring_cursor_info. They return 0, or E_NOT_FOUND: the recording
   has no such function or stack (its record found no room, or is damaged). */
struct eventring_function_info {
  const char *name;   /* "": none; valid until the cursor is closed */
  const char *source;
  uint32_t line, last_line;
};
int eventring_cursor_function(const eventring_cursor *cursor, uint32_t id,
                              struct eventring_function_info *info);

/* The innermost frame of a stack; the rest of the stack is the stack `parent`. The
   function returns as above. */
struct eventring_stack_info {
  uint32_t parent;       /* less than the id; 0 for the outermost frame */
  uint32_t function;     /* id of the function; 0 if not known */
  uint32_t line, column; /* 0: not known */
  uint32_t depth;        /* frames, this one included */
};
int eventring_cursor_stack(const eventring_cursor *cursor, uint32_t id,
                           struct eventring_stack_info *info);

/* What an event of class ALLOC says. */
enum eventring_memory_event {
  EVENTRING_MEMORY_OTHER = 0,
  EVENTRING_MEMORY_ALLOC = 1,      /* words of this block were sampled */
  EVENTRING_MEMORY_PROMOTE = 2,    /* the block became old */
  EVENTRING_MEMORY_FREE_YOUNG = 3, /* the block died young */
  EVENTRING_MEMORY_FREE_OLD = 4,   /* the block died old */
  EVENTRING_MEMORY_COLLECTED = 5,  /* a collection is over; `collection` is its number */
  EVENTRING_MEMORY_RATE = 6        /* a profile begins with this rate; 0 if it ends */
};
struct eventring_memory {
  uint64_t block;                /* ALLOC, PROMOTE, FREE_YOUNG, FREE_OLD */
  struct eventring_sample sample; /* ALLOC */
  uint64_t collection;           /* COLLECTED */
  double rate;                   /* RATE */
};
/* Fills *memory from a delivered event and returns what the event says. If it is none of
   these events, returns EVENTRING_MEMORY_OTHER and zeroes *memory. Any thread, within the
   callback. */
enum eventring_memory_event eventring_event_memory(const struct eventring_event *event,
                                                   struct eventring_memory *memory);

/* Fills *sample from an event whose payload is a SAMPLE, whatever its name, and returns
   the number of the block. For any other event both are 0. Any thread, within the
   callback. */
uint64_t eventring_event_sample(const struct eventring_event *event,
                                struct eventring_sample *sample);

/* An amount of memory, out of samples. */
struct eventring_amount {
  uint64_t samples;
  double bytes;        /* estimated: samples / rate, in bytes */
  double objects;      /* estimated: each block counts 1 / (1 - (1 - rate)^words) */
  double bytes_variance; /* square of the standard error of bytes; may be added up */
};
/* A heap profile: of one domain, from a start to a stop. */
struct eventring_heap {
  uint32_t number;       /* number of the profile in this recording */
  uint32_t domain, incarnation;
  bool over;             /* the profile has ended */
  bool torn;             /* it changed while it was read or copied: sums of entries may
                            differ from those here */
  double rate;
  uint32_t word_bytes;
  uint64_t start_ns;     /* the profile covers allocations from this time on */
  uint64_t ns; /* the profile covers allocations up to this time: the last collection */
  uint64_t collections;
  uint64_t words;        /* words allocated, counted */
  uint64_t live_words;   /* words alive, counted; UINT64_MAX if not known */
  struct eventring_amount allocated, live, temporary; /* sums of all entries */
  struct eventring_amount peak; /* the most that was alive after a collection, within 3 %,
                                   and at least `live`; `objects` is not set */
  uint64_t peak_ns;      /* time of the peak */
  uint32_t entries;
  uint64_t lost_entries; /* entries that found no room in the file */
  /* share of the lost entries in the sums */
  struct eventring_amount lost_allocated, lost_live;
};
struct eventring_heap_entry { /* sums by stack, kind, origin and span */
  uint32_t stack;
  uint16_t span;         /* id of a definition, plus 1; 0 if none */
  uint8_t kind, origin;
  struct eventring_amount allocated, live, temporary, peak;
};
struct eventring_heap_callbacks {
  int (*heap)(void *context, const struct eventring_heap *heap);
  int (*entry)(void *context, const struct eventring_heap *heap,
               const struct eventring_heap_entry *entry);
};
/* Reads the heap profiles of the recording as they are now: `heap` for each, and after it
   `entry` for each of its entries; either may be NULL. Stops when a callback returns a
   value other than 0 and returns that; else returns 0, or an error as eventring_poll. The
   stacks that they refer to are known in the callbacks and afterwards. Does not move the
   cursor. */
int eventring_cursor_heaps(eventring_cursor *cursor,
                           const struct eventring_heap_callbacks *callbacks, void *context);

/* ---- What the memory of a domain is used for -------------------------------- */

struct eventring_footprint { /* the footprint of a domain, at one moment */
  uint32_t domain;      /* slot */
  uint32_t incarnation;
  uint64_t ns;          /* when it was written */
  bool measured;
  size_t rows;
  /* The members below are about the process, as the system reported then; UINT64_MAX if
     not known. */
  uint64_t resident, shared; /* bytes; shared: mapped from files, or shared memory */
  uint64_t malloc_used, malloc_free; /* bytes of the arenas of malloc */
  uint64_t malloc_mapped;            /* what malloc has mapped for single allocations */
};

/* Takes a footprint; the rows and their texts are valid during the call. A result other
   than 0 ends the walk and becomes its result. */
typedef int eventring_take_footprint(void *context, const struct eventring_footprint *footprint,
                                     const struct eventring_footprint_row *rows);
/* Calls `take` for the latest footprint of each slot. Returns 0, what `take` returned, or
   an error (eventring_cursor_error). A footprint that is not valid is reported as
   damage. */
int eventring_cursor_footprints(eventring_cursor *cursor, eventring_take_footprint *take,
                                void *context);

/* ---- The last stacks of domains --------------------------------------------- */

struct eventring_last_stack {
  unsigned domain;
  uint32_t incarnation;
  uint64_t ns;
  uint32_t frames;
  uint8_t reason, activity;
  uint32_t subject;
  int64_t value;
  const char *text; /* lines as in eventring_stack_text; NUL. Valid until the next call */
  size_t size;
};

/* Reads the records added since the last call. Returns 0, or an error of reading. */
int eventring_cursor_catch_up(eventring_cursor *cursor, struct eventring_error *error);
/* Fills in the newest stack of the domain in this slot, as of the last poll or catch-up.
   Returns 0, or E_NOT_FOUND. */
int eventring_cursor_last_stack(eventring_cursor *cursor, unsigned domain,
                                struct eventring_last_stack *stack);
/* Calls `on_stack` with each stack that the recording still has, the newest of each
   domain and those before it, in the order in which they were written, until `on_stack`
   returns a value other than 0. Returns 0, or an error of reading. */
int eventring_cursor_last_stacks(eventring_cursor *cursor,
                                 int (*on_stack)(void *context,
                                                 const struct eventring_last_stack *stack),
                                 void *context);
/* Returns "period", "signal" ...; "?": none of enum eventring_stack_reason. Any
   thread. */
static inline const char *eventring_stack_reason_text(unsigned reason) {
  switch (reason) {
#define EVENTRING_CASE(name, number, text) case number: return text;
      EVENTRING_STACK_REASONS(EVENTRING_CASE)
#undef EVENTRING_CASE
    default: return "?";
  }
}

/* ---- Profiles of calls ------------------------------------------------------ */

/* A profile that was read. Times are in ns. */
struct eventring_profile_node {
  uint32_t parent;   /* number of an earlier node; UINT32_MAX: root (number 0) */
  uint32_t function; /* UINT32_MAX: the root */
  /* `inclusive` includes all nodes below this one, and lost_ns */
  uint64_t count, exclusive, inclusive;
  uint64_t least, most, suspended;      /* most 0: no call was entered and left */
  uint64_t lost_calls, lost_ns;         /* number and ns of the flat calls below it */
  uint32_t open;     /* entries of calls that had begun before the profile */
  uint32_t histogram[EVENTRING_CALLS_BUCKETS];
};

struct eventring_profile {
  unsigned slot;
  uint32_t incarnation;
  char domain[EVENTRING_MAX_DOMAIN_NAME + 1];
  uint32_t flags;    /* EVENTRING_PROFILE_* */
  uint64_t number;   /* how many profiles this domain has written, this one included */
  uint64_t start_ns, written_ns;
  uint64_t backwards; /* number of times that the clock went back */
  double ns_per_tick; /* the bounds of buckets are powers of two of ticks */
  uint32_t function_count, node_count, flat_count;
  struct eventring_calls_function *functions;
  struct eventring_profile_node *nodes;
  /* Flat calls (their paths found no room), by function. `function` is UINT32_MAX
     for functions that found no room either. What flat calls called is not known, so
     `inclusive` equals `exclusive`. `parent` is UINT32_MAX. */
  struct eventring_profile_node *flat;
};

struct eventring_profiles {
  size_t count;
  struct eventring_profile *list; /* by slot and incarnation */
  uint64_t damaged; /* blocks of profiles that are not valid or not complete */
};

/* Reads the newest complete profile of each domain. Returns 0, E_MEMORY, or an error of
   reading. `profiles` is to be freed after success. */
int eventring_cursor_profiles(eventring_cursor *cursor, struct eventring_profiles *profiles,
                              struct eventring_error *error);
void eventring_profiles_free(struct eventring_profiles *profiles);

/* ---- Files: find, copy, remove, control -------------------------------- */

/* A file found. Valid during the callback. */
struct eventring_found {
  const char *path;
  pid_t pid;               /* pid of the producer, in its own pid namespace */
  enum eventring_liveness liveness;
  int status;              /* 0, or the error with which opening it fails: then only path
                              and status_text are filled */
  const char *status_text; /* its text, "" when 0 */
  const char *program;     /* "" when status is not 0 */
  uint64_t start_ns;
  int64_t start_wall_ns;
  uint64_t file_size, disk_size;
  enum eventring_state state;
  pid_t process;           /* of a live producer: its pid in the namespace of this
                              process, as eventring_open_pid expects it; 0: not visible
                              from here, or not live */
  enum eventring_end_reason end_reason; /* this and what follows: as in eventring_info */
  uint32_t end_detail;
  bool preserved;
  const char *error_text;  /* "" when no error was noted */
  uint32_t no_room;
  uint32_t unrecorded;
};
/* Calls `callback` once for each recording file found: those that live processes of this
   machine map, and the *.eventring files in the `count` directories (NULL, 0: the current
   one). Stops when the callback returns a value other than 0 and returns that; else
   returns the number of files found. Skips processes that this one may not inspect, and
   directories that it cannot read. Any thread. */
int eventring_discover(const char *const *directories, size_t count,
                       int (*callback)(void *context,
                       const struct eventring_found *found),
                       void *context);

/* Writes a consistent copy of the recording (the front, all records and all valid blocks
   of events) to a new file `path`, mode 0600, which any cursor opens. The file is called
   `path`.part until it is complete. Does not move the cursor. Returns 0, E_EXISTS
   (something is there already), E_NOT_FOUND, E_PERMISSION, E_SPACE, E_LIMIT, E_MEMORY,
   E_SYSTEM, E_CORRUPT or E_TRUNCATED; on failure no file is left. */
int eventring_snapshot(eventring_cursor *cursor, const char *path,
                       struct eventring_error *error);

enum {
  EVENTRING_REMOVE_ENDED = 1u,     /* also a recording preserved at an orderly end, and a
                                      copy of one that had ended or died */
  EVENTRING_REMOVE_ANY_OWNER = 2u, /* also another user's, as far as rights allow */
  EVENTRING_REMOVE_SAVED = 4u      /* also a recording preserved at an orderly end, and
                                      any copy */
};
/* Removes a recording without a live producer. A recording that was preserved at an
   orderly end, a copy, or another user's file is removed only with the flag for it.
   Errors: E_STATE (preserved, or saved), E_NAME (not named *.eventring), E_PERMISSION
   (another user's file, or no right to remove it), E_NOT_EVENTRING (not a regular file,
   or no recording), E_BUSY (a live process records into it), E_NOT_FOUND (no such file,
   or its name was given to another file after the check; only the file that was checked
   is ever removed), E_ARGUMENT (unknown flags), E_MEMORY, E_SYSTEM. Any thread. */
int eventring_remove(const char *path, unsigned flags, struct eventring_error *error);

/* ---- Triggers of a process that records -------------------------------------- */

/* What became of a trigger (<eventring/conditions.h>). */
struct eventring_trigger_state {
  uint32_t number;
  uint16_t event; /* id of its definition, named "trigger CONDITION"; 0 if it has none */
  uint8_t owner;  /* enum eventring_trigger_owner; 0 if not known */
  uint32_t fired, saved, skipped, failed; /* as in struct eventring_trigger */
  uint64_t bytes; /* bytes that its copies take on the disk */
  int error;      /* error of the last copy that failed; 0 if none failed */
};
/* Fills *trigger with the trigger at `index`, from 0 on, of the triggers that the process
   has at the time of the call. Returns 0, E_NOT_FOUND, E_ARGUMENT, or an error of reading
   (eventring_cursor_error). */
int eventring_cursor_trigger(eventring_cursor *cursor, unsigned index,
                             struct eventring_trigger_state *trigger);
/* Writes the condition of a trigger, as in the name of its event; for a trigger that
   another process has set, also when there was no room for the event. Returns its size,
   or 0 if it is not known. */
size_t eventring_cursor_condition(eventring_cursor *cursor,
                                  const struct eventring_trigger_state *trigger,
                                  char text[EVENTRING_MAX_NAME + 1]);

/* ---- Control of a process that records -------------------------------------- */

/* Control from outside, through the control page, which processes share. Probes obey a
   change at once. What the program itself must do (start a recording that stands by)
   happens at its next probe, or when its host calls eventring_domain_check. The program
   notices triggers at its next safepoint, within 100 ms. */
enum eventring_control {
  EVENTRING_CONTROL_PAUSE = 1,
  EVENTRING_CONTROL_RESUME,   /* also starts a recording that stands by */
  EVENTRING_CONTROL_ENABLE,   /* switches `classes` on */
  EVENTRING_CONTROL_DISABLE,  /* switches `classes` off; class lifecycle stays on */
  EVENTRING_CONTROL_HOLD,     /* sets eventring_config.hold_ns to `hold_ns` */
  EVENTRING_CONTROL_SAMPLE,   /* sets the rate of samples of allocations to `rate`, 0
                                 to 1, and switches class ALLOC on or (0) off */
  EVENTRING_CONTROL_PROFILE,  /* `on`: keep a profile of calls; else keep none */
  EVENTRING_CONTROL_STACKS,   /* `on`: each domain writes its stack once, at its next
                                 safepoint (<eventring/stack.h>); else the request ends */
  EVENTRING_CONTROL_TRIGGERS, /* replaces the triggers that other processes have set by
                                 the list `triggers`; NULL or empty: none. Of two callers
                                 at once, the later one wins */
  EVENTRING_CONTROL_ASK,      /* opens a question of `kinds` (<eventring/question.h>) */
  EVENTRING_CONTROL_ASK_NO_MORE, /* closes the question */
  EVENTRING_CONTROL_SPANS,    /* makes spans of class CALLS of the functions named in
                                 `spans`, with commas between them, instead of those named
                                 before, and switches the class on; NULL or empty: makes
                                 none, and switches it off. (ENABLE and DISABLE of the
                                 class mean all functions.) */
  EVENTRING_CONTROL_RATE,     /* sets the rate as SAMPLE does, and leaves class ALLOC
                                 as it is */
  EVENTRING_CONTROL_LINES     /* `on`: domains are to read the request for lines in their
                                 memory (struct eventring_request) at their next
                                 safepoint; else the request ends */
};
struct eventring_change {
  enum eventring_control what;
  union { /* the member that `what` names */
    uint64_t classes; /* bits */
    uint64_t hold_ns;
    double rate;
    bool on;
    const char *triggers;
    const char *spans;
    uint32_t kinds;   /* enum eventring_question_kind */
  };
};
/* Makes a change in C: EVENTRING_CHANGE(PAUSE), EVENTRING_CHANGE(HOLD, .hold_ns =
   1000). */
#define EVENTRING_CHANGE(kind, ...) \
  (&(struct eventring_change){.what = EVENTRING_CONTROL_##kind, __VA_ARGS__})
/* Changes the control page of the live recording at `path`, or of the one that `cursor`
   reads, even if another file has its path now. Returns 0; E_ARGUMENT: no change, a class
   has no name in the recording, or the rate is out of range (nothing is changed);
   E_CONFIG: not a list of triggers; E_DIRECTORY: the process cannot save copies in the
   directory of a trigger, as far as can be checked from here (not checked for a process
   in a container); E_STATE: no live process records into it, its rings can't grow, its
   host does not sample allocations, has no triggers or answers no questions, or another
   tool asks; E_PERMISSION (also of a cursor opened with OPEN_FOLLOW), E_NOT_FOUND,
   E_SYSTEM, E_FULL (too many guarded mappings in this process), E_TRUNCATED, and the
   errors of opening. eventring_control: any thread. */
int eventring_control(const char *path, const struct eventring_change *change,
                      struct eventring_error *error);
int eventring_cursor_control(eventring_cursor *cursor, const struct eventring_change *change,
                             struct eventring_error *error);
/* Checks a change, other than ASK and ASK_NO_MORE, and makes none: a caller with several
   changes can check them all before the first one. Returns what eventring_cursor_control
   would return, except the errors of writing. */
int eventring_cursor_control_check(eventring_cursor *cursor, const struct eventring_change *change,
                                   struct eventring_error *error);

/* Fills in the answers to the question that this process has asked, by slot (see struct
   eventring_domain_info); 0 if the domain of the slot has not answered yet. Returns 0, or
   an error as eventring_cursor_control does. */
int eventring_cursor_answers(eventring_cursor *cursor,
                             uint32_t answers[EVENTRING_MAX_DOMAINS],
                             struct eventring_error *error);

/* Removes the files *.eventring.part of this user from a directory: unfinished copies
   that dead processes have left. Calls `removed` (may be NULL) with the path of each;
   with `dry_run` it only does that, and removes nothing. Returns their number, or
   E_NOT_FOUND, E_PERMISSION, E_SYSTEM when the directory cannot be read. Any thread. */
int eventring_remove_parts(const char *directory, bool dry_run,
                           void (*removed)(void *context, const char *path, uint64_t bytes),
                           void *context);

/* ---- Totals --------------------------------------------------------------------- */

/* What all events of a definition add up to since the recording began, whether the events
   are still present, overwritten, or lost for lack of room. The producer keeps these
   sums. */
#define EVENTRING_RECORDED_BUCKETS 32
struct eventring_recorded {
  const struct eventring_def *def; /* NULL: not known; valid as long as the cursor */
  uint16_t id;
  uint64_t count; /* number of complete spans, or of other events */
  uint64_t ns;    /* for spans: sum of their durations */
  /* for counters, by their payload: sum of their values; integers modulo 2^64 */
  union { int64_t i; uint64_t u; double d; } sum;
  /* for spans: bucket 0 has the number that took less than least_ns, bucket 1 those that
     took at least that and less than twice as long, and so on; the last bucket has all
     others */
  uint64_t bucket[EVENTRING_RECORDED_BUCKETS];
  uint64_t least_ns;
  uint32_t domain; /* slot; EVENTRING_MAX_DOMAINS for all domains together */
  /* for counters, in addition: the last value, of all rings of the domain, and its time,
     which is 0 if not known */
  union { int64_t i; uint64_t u; double d; } last;
  uint64_t last_ns;
  bool negative;   /* for counters: one of the values was negative */
};

/* How long the spans of a definition took that have the same reason: the value of their
   begins, which is the id of a definition (EVENTRING_UNIT_ID). */
#define EVENTRING_HISTOGRAM_BUCKETS 26
struct eventring_histogram {
  const struct eventring_def *def, *reason; /* as in struct eventring_recorded */
  uint16_t id, reason_id;
  uint32_t domain;       /* as in struct eventring_recorded */
  uint64_t count, ns;    /* complete spans, and the sum of their durations */
  const uint64_t *bound; /* of all buckets but the last: the longest ns in it; 100 ns
                            to 10 s, in each recording the same */
  uint64_t bucket[EVENTRING_HISTOGRAM_BUCKETS];
};

struct eventring_recorded_callbacks { /* either may be NULL */
  int (*recorded)(void *context, const struct eventring_recorded *recorded);
  int (*histogram)(void *context, const struct eventring_histogram *histogram);
};
/* Calls `recorded` for each definition of which there was an event, up to now, and then
   `histogram` for each pair of a definition and one of its reasons, until a callback
   returns a value other than 0. `by_domain`: separately for each slot, all its domains
   together. Returns the value of the callback, or 0; E_NOT_FOUND: the file does not have
   all of it (it is of a former version or merged, there was no room, or a live process
   wrote too fast), or, with `by_domain`, it is a copy, which has only the sums over
   domains; E_MEMORY, E_BUSY (during a poll), E_ARGUMENT, and the errors of reading
   (eventring_cursor_error). While a process lives, no figure decreases from one call to
   the next, with any cursor, except a sum with negative values. Where events come so fast
   that a block is full before it can be read, the newest block is left out. Does not move
   the cursor. One thread at a time, as for polls. */
int eventring_cursor_recorded(eventring_cursor *cursor, bool by_domain,
                              const struct eventring_recorded_callbacks *callbacks,
                              void *context);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_TOOLS_H */
