/* SPDX-License-Identifier: MIT */
/* eventring.h: flight-recorder rings of spans, counters and other events.
 *
 * A program (the *host*: a language runtime, or any program with threads) records what it
 * does in one file, `<pid>.eventring`. Each thread that records is a *domain* and writes
 * into rings of its own; the newest events of a ring overwrite its oldest. A span costs
 * two clock reads and two stores into the ring. The same library reads such files: the
 * recording of its own process, of another live process or of a dead one, or a saved
 * copy. doc/FORMAT.md specifies the file.
 *
 * This header has two parts. PRODUCER: start and stop a recording, define events, own
 * domains; the probes that write events are in <eventring/probe.h>. READER: open a
 * recording, read its events, ask what it holds, copy, remove and control recordings.
 *
 * The header is long because the whole interface is documented here, in one place.
 *
 * Conventions of this header
 *  - A function that can fail returns an int: 0 or a positive result on success, else one
 *    of the negative EVENTRING_E_* codes, which the comments write without the prefix
 *    ("E_STATE"). A function that takes a `struct eventring_error *` fills it on failure;
 *    the pointer may be NULL. E_ARGUMENT (a pointer that must not be NULL, a value out of
 *    range) is listed only where it may surprise.
 *  - The library never prints, never exits and never raises a signal.
 *  - Threads: "Any thread" means any thread at any time, but no signal handler unless the
 *    comment says "async-signal-safe". "Owner" means only the thread that started the
 *    domain. A function that takes a cursor may be called by one thread at a time,
 *    whichever.
 *  - Names and texts are UTF-8. Texts that a function takes are copied, unless it says
 *    otherwise.
 *  - Times are in nanoseconds of CLOCK_MONOTONIC of the recorded machine, in 64 bits. All
 *    readers of a file convert an event to the same time.
 *  - Structures grow only at their end. A function that takes a structure of the caller's
 *    is an inline wrapper, which passes the size that the program was compiled with to a
 *    function `..._sized` (bindings of other languages call that one). The library
 *    touches no more than this size, so a program goes on working with later minor
 *    versions. Structures that the library hands out by pointer (events, losses,
 *    definitions, files found) may be longer than the program knows: it may copy the part
 *    that it knows. struct eventring_error never changes its size.
 *
 * Usable from C11 and C++11 with gcc or clang.
 */
#ifndef EVENTRING_H
#define EVENTRING_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- Version and limits ------------------------------------------------ */

#define EVENTRING_VERSION_MAJOR 0
#define EVENTRING_VERSION_MINOR 1
#define EVENTRING_VERSION_PATCH 0
#define EVENTRING_VERSION \
  (EVENTRING_VERSION_MAJOR * 10000 + EVENTRING_VERSION_MINOR * 100 + \
   EVENTRING_VERSION_PATCH)

/* Sizes of texts are in bytes, without a terminating 0. */
#define EVENTRING_MAX_DOMAINS 128    /* domains recorded at once */
#define EVENTRING_MAX_EVENTS 8192    /* definitions in a catalogue; ids are below it */
#define EVENTRING_MAX_CLASSES 64     /* bits of the class mask */
#define EVENTRING_MAX_NAME 95        /* name of an event */
#define EVENTRING_MAX_UNIT 23        /* unit of a payload */
#define EVENTRING_MAX_DOC 119        /* description of an event */
#define EVENTRING_MAX_FIELDS 119     /* names of a payload's values, with the commas */
#define EVENTRING_MAX_VALUES 15      /* values in a payload of kind VALUES */
#define EVENTRING_MAX_CLASS_NAME 15  /* name of a class */
#define EVENTRING_MAX_PROGRAM 255    /* name of the host program */
#define EVENTRING_MAX_DOMAIN_NAME 47 /* name of a domain */
#define EVENTRING_MAX_SOURCE 255     /* name of a recording that became part of another */
#define EVENTRING_MAX_PAYLOAD 1008   /* bytes of a payload of kind STRING or BYTES; a
                                        longer one is cut and its event marked
                                        TRUNCATED */
#define EVENTRING_MIN_WSIZE 11       /* log2 of the 64-bit words of a ring: 16 KiB */
#define EVENTRING_MAX_WSIZE 24       /*                                    128 MiB */
#define EVENTRING_DEFAULT_WSIZE 15   /*                                    256 KiB */
#define EVENTRING_SUFFIX ".eventring"

/* Returns the version of the linked library, in the form of EVENTRING_VERSION. Any
   thread, async-signal-safe. */
unsigned eventring_library_version(void);

/* ---- Errors ------------------------------------------------------------ */

/* X(name, value, text) */
#define EVENTRING_ERRORS(X) \
  X(OK, 0, "no error") \
  X(E_ARGUMENT, -1, "invalid argument") \
  X(E_MEMORY, -2, "out of memory") \
  X(E_SYSTEM, -3, "system call failed") \
  X(E_DIRECTORY, -4, "the directory of the recording cannot be used") \
  X(E_EXISTS, -5, "something else is in the place of the recording") \
  X(E_SPACE, -6, "no room on the disk for the recording") \
  X(E_LIMIT, -7, "a resource limit forbids the recording") \
  X(E_STATE, -8, "not possible in the present state") \
  X(E_CONFIG, -9, "invalid setting") \
  X(E_FULL, -10, "the table is full") \
  X(E_CONFLICT, -11, "the name is already defined differently") \
  X(E_NAME, -12, "the name is invalid or too long") \
  X(E_NOT_FOUND, -13, "no recording found") \
  X(E_PERMISSION, -14, "permission denied") \
  X(E_NOT_EVENTRING, -15, "not an eventring file") \
  X(E_VERSION, -16, "this reader does not know the version of the format") \
  X(E_BYTE_ORDER, -17, "recorded with another byte order") \
  X(E_CORRUPT, -18, "the file is corrupt") \
  X(E_TRUNCATED, -19, "the file is truncated") \
  X(E_BUSY, -20, "in use by a call in progress, or by a live process") \
  X(E_CLOSED, -21, "already closed") \
  X(E_LIBRARY, -22, "the library has another version than the program was compiled for") \
  X(E_INTERRUPTED, -23, "interrupted by a signal") \
  X(E_LEFT, -24, "the recording has ended, but its file could not be removed")

enum eventring_status {
#define EVENTRING_ENUM(name, value, text) EVENTRING_##name = value,
  EVENTRING_ERRORS(EVENTRING_ENUM)
#undef EVENTRING_ENUM
  EVENTRING_STATUS_END = 1 /* not a code; closes the list */
};

struct eventring_error {
  int code;       /* one of enum eventring_status */
  int sys_errno;  /* errno of the system call that failed, else 0 */
  char text[400]; /* one line without newline: what failed, its subject (path, variable,
                     ...) and why; always terminated */
  char reserved[104];
};

/* Checks that a program compiled with a header of version `compiled_for` can use the
   linked library. Returns 0, or E_LIBRARY with both versions in the text: the majors
   differ (while the major is 0: the minors), or the library is older than the header.
   eventring_start makes this check itself; a program that only reads recordings makes it
   once, first:
     if (eventring_check_version(EVENTRING_VERSION, &error) < 0) ...
   Any thread. */
int eventring_check_version(unsigned compiled_for, struct eventring_error *error);

/* Returns the general text of a code, "unknown error" for a number that is no code; never
   NULL. Any thread, async-signal-safe. */
const char *eventring_strerror(int code);

/* ---- Foreign text ------------------------------------------------------ */

/* Names, string payloads and paths are chosen by others, and not everything in them may
   reach a terminal: control characters, marks of direction, separators of lines and
   characters without width change what is shown around them. (The names that a cursor
   returns are UTF-8 without control characters; payloads are as they were recorded.) Any
   thread. */

/* A character of a text. */
struct eventring_character {
  uint32_t code;  /* its code point; 0 when it is not valid */
  uint8_t size;   /* bytes that it takes; 1 when it is not valid */
  bool valid;     /* UTF-8, as of RFC 3629 */
  bool printable; /* valid, and none of those that must not be shown as they are */
};
/* Returns the character at `text`, of which `size` bytes, 1 or more, are there. */
struct eventring_character eventring_character_at(const void *text, size_t size);
/* Copies text with what is not printable, bytes that are not UTF-8 and backslashes as \xNN,
   two digits for each byte. The copy is terminated and fits into `room` bytes, 1 or more; 4 *
   size + 1 are always enough, and what does not fit is left out. Returns `safe`. */
char *eventring_printable(char *safe, size_t room, const void *text, size_t size);
/* Returns how many of the `size` bytes of a text to keep where there is room for `room`: up
   to three fewer than that where the last character would be cut. What is not UTF-8 up to
   there is cut after `room` bytes. The library cuts payloads of probes in this way. Any
   thread. */
size_t eventring_text_fit(const void *text, size_t size, size_t room);

/* ---- Vocabulary -------------------------------------------------------- */

/* What a definition in the catalogue stands for. */
enum eventring_def_kind {
  EVENTRING_DEF_SPAN = 1,  /* a begin and an end, which share the definition's id */
  EVENTRING_DEF_COUNTER,   /* a number at a time; payload INT, UINT or DOUBLE */
  EVENTRING_DEF_INSTANT,   /* a point in time, with or without payload */
  EVENTRING_DEF_LIFECYCLE, /* start, stop, pause, domains ...; payload INT */
  EVENTRING_DEF_ASYNC,     /* a span that may begin and end in different domains and
                              contexts; begin and end carry the same link */
  EVENTRING_DEF_FLOW       /* a start, steps and an end in any domains and contexts; all
                              events of one flow carry the same link */
};

/* What the number of a counter means; of a span: what its ends say. */
enum eventring_measure {
  EVENTRING_MEASURE_NONE = 0, /* not stated */
  EVENTRING_LEVEL = 1,        /* a present amount: queue length, bytes in use */
  EVENTRING_DIFFERENCE = 2,   /* what was added since the value before */
  EVENTRING_RATE = 3,         /* an amount per unit of time */
  EVENTRING_OFF_CPU = 4       /* of a span: for how long its thread was not on a processor
                                 (eventring_end_off_cpu) */
};

/* What an event is about, where readers know more of it than its name: whatever a host calls
   its events, `pauses`, `diff`, `check` and triggers find them by this. Those that are amounts
   of memory have the unit "words" (8 bytes each), else they are in bytes; those of class gc
   unless it is said. X(name, text, kind of definition, what it is) */
#define EVENTRING_QUANTITIES(X) \
  X(ALLOCATED, "allocated", COUNTER, "allocated since the value before") \
  X(PROMOTED, "promoted", COUNTER, "of that, what was promoted since the value before") \
  X(HEAP, "heap", COUNTER, "memory in use by the domain") \
  X(PAUSE_WORK, "pause_work", COUNTER, "what the collector did in the pause that ended before") \
  X(OFF_CPU, "off_cpu", COUNTER, "ns for which the thread was not on a processor, between pauses") \
  X(CYCLE_BEGIN, "cycle_begin", LIFECYCLE, "a collection over many pauses begins; its number") \
  X(CYCLE_END, "cycle_end", LIFECYCLE, "it has ended; its number")
enum eventring_quantity {
  EVENTRING_QUANTITY_NONE = 0, /* nothing that readers know of */
#define EVENTRING_ENUM(name, text, kind, what) EVENTRING_QUANTITY_##name,
  EVENTRING_QUANTITIES(EVENTRING_ENUM)
#undef EVENTRING_ENUM
};

/* What a delivered event is. */
enum eventring_kind {
  EVENTRING_BEGIN = 1,
  EVENTRING_END = 2,
  EVENTRING_COUNTER = 3,
  EVENTRING_INSTANT = 4,
  EVENTRING_LIFECYCLE = 5,
  EVENTRING_LINKED = 6 /* of an async span or a flow; `role` says which part of it */
  /* 7 is used inside the file only and never delivered */
};

/* What an event of kind LINKED is. */
enum eventring_role {
  EVENTRING_ROLE_BEGIN = 1, /* an async span begins, a flow starts */
  EVENTRING_ROLE_END = 2,   /* it ends */
  EVENTRING_ROLE_STEP = 3   /* a point between, of a flow */
};

/* What the payload of an event is. */
enum eventring_payload {
  EVENTRING_NONE = 0,
  EVENTRING_INT = 1,       /* int64_t */
  EVENTRING_UINT = 2,      /* uint64_t */
  EVENTRING_DOUBLE = 3,    /* IEEE 754 double */
  EVENTRING_STRING = 4,    /* text; readers do not check that it is UTF-8 */
  EVENTRING_BYTES = 5,     /* bytes */
  EVENTRING_VALUES = 6,    /* up to EVENTRING_MAX_VALUES values of the kinds 1 to 5 */
  EVENTRING_STRING_ID = 7, /* id of a string of the recording */
  EVENTRING_STACK_ID = 8,  /* id of a call stack of the recording */
  EVENTRING_SAMPLE = 9,    /* a sample of an allocation, see eventring_event_memory: `bytes`
                              are its words */
  EVENTRING_RAW = 255      /* the words as they are: not what the definition says, or of a
                              kind that this reader does not know. Delivered only */
};

/* The rings of a domain, up to 8. An event in one ring never overwrites an event in
   another. A ring takes space from its first event on. */
enum eventring_ring {
  EVENTRING_RUNTIME = 0,   /* the host's own rare and vital events */
  EVENTRING_USER = 1,      /* events of the program that the host runs */
  EVENTRING_ALLOC = 2,     /* samples of allocations */
  EVENTRING_CALLS = 3,     /* calls */
  EVENTRING_RING_HOST = 4, /* 4 to 7 are the host's own */
  EVENTRING_RINGS = 8
};

/* Classes: groups of events that are switched on and off together, the bits of the mask
   that probes test. The library reserves 0 to 15 and names those below, the same in every
   host; 16 to 63 are the host's own, named with eventring_define_class. */
enum eventring_class {
  EVENTRING_CLASS_LIFECYCLE = 0, /* "lifecycle" */
  EVENTRING_CLASS_GC = 1,        /* "gc" */
  EVENTRING_CLASS_DOMAIN = 2,    /* "domain" */
  EVENTRING_CLASS_USER = 3,      /* "user" */
  EVENTRING_CLASS_LOAD = 4,      /* "load": parsing, compiling, modules */
  EVENTRING_CLASS_CALLS = 5,     /* "calls", off by default */
  EVENTRING_CLASS_ALLOC = 6,     /* "alloc", off by default */
  EVENTRING_CLASS_IO = 7,        /* "io" */
  EVENTRING_CLASS_FINALIZERS = 8, /* "finalizers": finalizers and destructors that a
                                     collector calls. Not in class gc, of which tools add
                                     up the spans as time in the collector */
  EVENTRING_CLASS_HOST = 16      /* first of the host's own */
};
#define EVENTRING_CLASS_BIT(c) ((uint64_t)1 << (c))

/* Ids that the library itself defines in every catalogue: lifecycle events of class
   LIFECYCLE in the runtime ring with payload INT, but for OTHER. */
enum eventring_builtin_id {
  EVENTRING_ID_RECORDER_START = 0, /* "recorder_start", payload: pid */
  EVENTRING_ID_RECORDER_STOP = 1,  /* "recorder_stop", payload: pid */
  EVENTRING_ID_PAUSE = 2,          /* "pause", payload: class mask before */
  EVENTRING_ID_RESUME = 3,         /* "resume", payload: class mask after */
  EVENTRING_ID_DOMAIN_START = 4,   /* "domain_start", payload: incarnation */
  EVENTRING_ID_DOMAIN_STOP = 5,    /* "domain_stop", payload: incarnation */
  EVENTRING_ID_OTHER = 6,          /* "(other)", an instant of class USER in the user
                                      ring: stands for events whose name found no room or
                                      was never registered */
  EVENTRING_ID_HOST = 16           /* id of the host's first definition */
};

/* ==== PRODUCER ==========================================================
 *
 * A process has at most one recording at a time. Order of calls in a host:
 *
 *   eventring_register_table(...)          the events it defines, before or after start
 *   eventring_config_init / _from_env      the settings
 *   eventring_start                        makes the file
 *   eventring_domain_start                 in each thread that records
 *   ... probes (probe.h), register, pause, resume ...
 *   eventring_domain_stop                  in the same thread
 *   eventring_stop                         the orderly end
 *
 * Domains may be started before the recording: they record nothing until it starts, and
 * attach to it at their next probe. No failure leaves anything half done: a host may
 * ignore all results and then runs without being recorded.
 */

typedef struct eventring_domain eventring_domain; /* see probe.h */

enum eventring_start_mode {
  EVENTRING_START_OFF = 0,
  EVENTRING_START_ON = 1,
  EVENTRING_START_STANDBY = 2 /* makes the file without rings; the recording waits until
                                 this process or a tool starts it */
};

enum eventring_preserve {
  EVENTRING_PRESERVE_NEVER = 0,   /* remove the file at an orderly end */
  EVENTRING_PRESERVE_ALWAYS = 1,  /* keep it */
  EVENTRING_PRESERVE_ON_ERROR = 2 /* remove it, unless the exit status is not 0, an error
                                     was noted (eventring_note_error), or a signal ends the
                                     process that is none of SIGTERM, SIGINT and SIGHUP
                                     (eventring_note_signal) */
};
enum { EVENTRING_DEFAULT_KEEP = 8, EVENTRING_MAX_KEEP = 1000000 };

/* Fill it with eventring_config_init. Members beyond `struct_size` (the program is older
   than the library) have their defaults. */
struct eventring_config {
  size_t struct_size;     /* both set by eventring_config_init: what the program */
  unsigned version;       /* was compiled for */
  enum eventring_start_mode start; /* default: OFF */
  const char *directory;  /* of the file; NULL or empty: the current directory, or where
                             that cannot be used $XDG_RUNTIME_DIR or /tmp */
  const char *program;    /* name of the host program; NULL: the file name of the
                             executable */
  unsigned wsize;         /* log2 of the 64-bit words in each ring, EVENTRING_MIN_WSIZE to
                             EVENTRING_MAX_WSIZE; default: EVENTRING_DEFAULT_WSIZE */
  uint8_t preserve;       /* enum eventring_preserve: what becomes of the file when the
                             recording ends; default: ON_ERROR */
  uint64_t classes;       /* class mask at the start; EVENTRING_CLASSES_DEFAULT: the
                             classes that are on by default */
  /* Called when a domain cannot be recorded, or cannot be recorded any further (the disk
     is full, for example; also when eventring_domain_start returns the same error), on
     the thread that finds out, at most once for each domain; when the file was taken
     from the recording (eventring_repair_fault); when the recording of a forked child
     cannot start or starts elsewhere (the code is EVENTRING_ELSEWHERE); once when a stream
     finds no room and events are lost (EVENTRING_LOSING); once for each trigger of which
     a copy cannot be saved (EVENTRING_UNSAVED); and with E_LEFT
     when the recording has ended, also at exit, and its file could not be removed. It must
     not call this library. NULL: no warnings. */
  void (*warn)(void *context, const struct eventring_error *error);
  void *warn_context;     /* the first argument of `warn` */
  bool leave_sigbus;      /* do not set a handler of SIGBUS: see eventring_repair_fault */
  /* Template of the file's name, without slash and control characters. The name that it
     expands to has at most 210 bytes. %p stands for the pid, %n for the program's name, %t
     for the time in seconds since 1970, %h for the host's name, %% for a %. NULL or empty:
     "%p". EVENTRING_SUFFIX is appended where it is missing. The file of a further copy of
     the library in the same process has ".2" and so on before the suffix. A recording of a
     dead process in this place is renamed to <name>-<its start in seconds since
     1970>.eventring. When a live process uses the name, eventring_start fails with
     E_EXISTS. */
  const char *name;
  /* Rings that would hold less than the last hold_ns nanoseconds grow, until they hold them
     or the rings have grown by grow_bytes bytes together, one ring by a quarter of that at
     most. 0: rings keep the size that wsize says; grow_bytes 0: EVENTRING_DEFAULT_GROW. */
  uint64_t hold_ns;
  uint64_t grow_bytes;
  /* With preserve ON_ERROR: at most this many recordings of dead processes with the same
     name of the program stay in the directory, 1 to EVENTRING_MAX_KEEP; default:
     EVENTRING_DEFAULT_KEEP. At a start, and at an end that keeps the file, the oldest are
     removed; never those that were to be preserved ALWAYS, snapshots, and what is another
     user's. */
  unsigned keep;
  /* The child of a fork is recorded as its parent was (eventring_forked), unless it execs
     or exits soon. Default: false. */
  bool follow_forks;
  bool no_cpu_time;       /* do not measure for how long threads are not on a processor:
                             eventring_off_cpu_begin returns 0, and definitions of spans
                             do not say OFF_CPU */
  /* A path makes this recording a stream: its file is there and not in `directory`, with a
     name that is a template like `name`, and blocks of events are appended to it, so that
     nothing is overwritten. The file stays at the end, whatever `preserve` says. While there
     is no room for more, events are lost, and counted; `warn` is called once. The path ends
     before a comma. NULL or empty: rings. Rings without a stream (stream_rings) are in the
     same file, used in a circle. */
  const char *stream;
  uint64_t stream_max;    /* bytes that the file may have, EVENTRING_LEAST_STREAM or more; 0: no
                             limit but the disk */
  uint32_t stream_rings;  /* bit n: ring n of each domain is a stream; 0: all are */
  bool has_samples;       /* the host samples allocations as the recording asks for it
                             (eventring_memory_rate); default: false */
  double sample_rate;     /* at which it is to begin, 0 (not at all) to 1, see
                             eventring_memory_parse_rate. Above 0, class ALLOC is on at the
                             start, whatever `classes` says */
  bool profiles_calls;    /* the host keeps a profile of calls when eventring_calls_word says
                             so (<eventring/calls.h>). Default: false */
  bool writes_stacks;     /* the host writes stacks when eventring_stack_asked says so
                             (<eventring/stack.h>). Default: false */
  /* A list of triggers, with `;` between them (<eventring/conditions.h>), which replaces the
     one of an earlier recording. NULL or empty: none. */
  const char *triggers;
  bool answers;           /* the host answers questions of tools (<eventring/question.h>).
                             Default: false */
  bool closed;            /* other processes change nothing: what they write into the control
                             page is ignored, and their commands say so. Default: false. (In a
                             process with privileges that its user does not have, or that is not
                             dumpable, they can pause and resume and switch classes, no more.) */
};
#define EVENTRING_CLASSES_DEFAULT 0
#define EVENTRING_LEAST_STREAM ((uint64_t)1 << 20)
#define EVENTRING_DEFAULT_GROW ((uint64_t)64 << 20)

/* Fills *config with the defaults (mode OFF). The inline function is compiled into the
   program, so that the library learns the size and version that the program knows; it
   writes at most `struct_size` bytes. Any thread. */
void eventring_config_init_for(struct eventring_config *config, size_t struct_size,
                               unsigned compiled_for);
static inline void eventring_config_init(struct eventring_config *config) {
  eventring_config_init_for(config, sizeof *config, EVENTRING_VERSION);
}

/* Overrides *config with what these environment variables say; `prefix` (at most 100
   bytes) is for instance "SAROS_EVENTRING":
     <prefix>_START     empty or "0": off; "1": on; "standby"
     <prefix>_PREFIX    the directory
     <prefix>_PRESERVE  empty or "onerror": ON_ERROR; "0": NEVER; "1": ALWAYS
     <prefix>_KEEP      1 to EVENTRING_MAX_KEEP
     <prefix>_NAME      the template of the file's name
     <prefix>_CPU_TIME  empty or "1"; "0" sets no_cpu_time
     <prefix>_WSIZE     EVENTRING_MIN_WSIZE to EVENTRING_MAX_WSIZE; without _SECONDS, rings
                        keep this size
     <prefix>_SECONDS   hold_ns in seconds, 0 to 86400, with up to nine decimals
     <prefix>_GROW      grow_bytes, 0 (rings keep their size) or more, with K, M or G for
                        powers of 1024
     <prefix>_CLASSES   comma-separated: names of the classes that shall be on, "all",
                        "none"; with + or - before each, changes to the defaults
     <prefix>_FORK      "0" or "1": sets follow_forks
     <prefix>_STREAM    PATH[,max=SIZE][,rings=NAME[+NAME]...]: sets stream, stream_max (as
                        in _GROW) and stream_rings; starts the recording unless _START says
                        otherwise. The path must not contain a comma
     <prefix>_TRIGGER   sets triggers; starts the recording unless _START says otherwise
   Strings are not copied: *config points into the environment. At the first bad variable
   the function stops, sets config->start to OFF and returns E_CONFIG with a text that
   names the variable, its value and what is allowed. A process that runs set-user-id
   ignores the environment. E_ARGUMENT: *config was not made by eventring_config_init, or
   `prefix` is too long. Any thread. */
int eventring_config_from_env(struct eventring_config *config,
                              const char *prefix,
                              struct eventring_error *error);

/* Sets stream, stream_max and stream_rings of *config, as <prefix>_STREAM does, and the start
   mode to ON if it is OFF. *config points into `text`. E_CONFIG, with a text that says what
   is allowed. E_ARGUMENT: *config was not made by eventring_config_init. Any thread. */
int eventring_config_stream(struct eventring_config *config, const char *text,
                            struct eventring_error *error);

/* Starts recording as config->start says; OFF does nothing and returns 0. From STANDBY, a
   second call with ON starts recording in the same file. When the process records
   already, that recording goes on unchanged, the caller has joined it, and the result is
   EVENTRING_JOINED: several hosts in one process, such as two language runtimes, need not
   know of each other. Starts and stops are counted, and the last stop ends the recording.
   After that, a new start makes a new file. The result is EVENTRING_ELSEWHERE, and *error
   has a line that names the file and the reason, when config->directory is not set, the
   current directory cannot be used, and the file is in $XDG_RUNTIME_DIR (not in a program
   that runs set-user-id) or in /tmp: the first of them that no other user but root could
   remove the file from. Errors: E_LIBRARY (compiled for another
   version, see eventring_check_version), E_ARGUMENT (*config was not made by
   eventring_config_init), E_CONFIG (a member is out of range), E_DIRECTORY, E_PERMISSION,
   E_EXISTS, E_SPACE, E_LIMIT, E_MEMORY, E_SYSTEM, E_STATE (stopped and started again too
   often while domains of other threads had no probe). Any thread. */
enum { EVENTRING_JOINED = 1, EVENTRING_ELSEWHERE = 2, EVENTRING_LOSING = 3,
       EVENTRING_UNSAVED = 4 };
int eventring_start(const struct eventring_config *config,
                    struct eventring_error *error);

/* Ends the recording: marks the file ended, so that attached readers deliver the last
   event and then see the end, and removes it unless it is to be kept. While other
   hosts have joined, the call only takes back one start and returns EVENTRING_JOINED.
   Domains stay valid and record nothing until the next start. Events that other threads
   write at this very moment may be missing. Returns 0, also when nothing was started;
   E_LEFT: the recording has ended, but its file could not be removed (`warn` gets a text
   that names it and says why); E_STATE only in a child made by the clone system call
   itself (eventring_forked). Any thread. At exit the library does the same, and the file
   says the exit status. */
int eventring_stop(void);

/* As eventring_stop, but keeps (true) or removes (false) the file, whatever the
   configuration says. Any thread. */
int eventring_stop_preserve(bool preserve);

/* Records the error with which the process is about to end: `size` bytes of text, usually
   a message and a traceback, cut to EVENTRING_MAX_END_TEXT bytes at a character boundary;
   control characters except newline and tab, and bytes that are not UTF-8, become '?'. No
   event overwrites it. Of several texts the last holds. With preserve ON_ERROR the file is
   then kept whatever the exit status is. Call it before eventring_stop. Returns 0;
   E_STATE: nothing is recorded; E_SPACE: the text found no room (the file is kept all the
   same); E_ARGUMENT: no text. Any thread. */
enum { EVENTRING_MAX_END_TEXT = 2048 };
int eventring_note_error(const char *text, size_t size);

/* Records the number of the signal that is about to end the process, for handlers that
   restore the default action and raise it again. An exit after it still counts as an end
   by this signal. It does nothing else: the recording goes on until the process dies. For
   an orderly end call eventring_end_in_handler after it. Any thread, async-signal-safe. */
void eventring_note_signal(int number);

/* For handlers of signals that wait for other threads, called first: true if the signal has
   interrupted this library on this thread while it holds a mutex, for which other threads may
   wait. Then the handler is to return at once; the signal is raised again when the mutex is
   released. Any thread, async-signal-safe. */
bool eventring_defer_signal(int number);

/* For handlers of signals that end the process, called right before the default action:
   has the effect of eventring_stop on readers and on the file, which with preserve
   ON_ERROR is kept if a signal other than SIGTERM, SIGINT and SIGHUP was noted. Nothing is
   recorded afterwards. Any thread, async-signal-safe. */
void eventring_end_in_handler(void);

/* Anyone who may write to the file of a recording can cut it short; the next store into
   it then raises SIGBUS. Unless config.leave_sigbus is set, eventring_start sets a
   handler of that signal. It puts anonymous memory in the place of the file and so ends
   the recording for good: the state is STOPPED, and the recording's `warn` is called at
   the next stop or start. It passes on every other SIGBUS to the handler that was there
   before. A host that has a handler of its own sets it before the start. Where it sets
   one later, the library sets its own above that, at most seven times, and passes on to
   it: when it begins a block or at eventring_domain_check, if it has not looked for 100
   ms. Until then, and with leave_sigbus, the host's handler calls this function. Returns true if
   `address` (si_addr) was in memory of the library and the access can be repeated. A
   thread that blocks SIGBUS is not protected. Any thread, async-signal-safe. */
bool eventring_repair_fault(const void *address);

/* Pause: nothing is recorded; rings and file stay. Resume: recording goes on, or starts
   if it stands by. Spans that are open across the gap are delivered as torn. Return 0,
   also when that is the state already; E_STATE when stopped. Any thread. */
int eventring_pause(void);
int eventring_resume(void);

enum eventring_state {
  EVENTRING_STOPPED = 0,
  EVENTRING_STANDBY = 1,
  EVENTRING_RUNNING = 2,
  EVENTRING_PAUSED = 3
};
/* The state of this process's recording. Any thread. */
enum eventring_state eventring_state(void);

/* Copies the absolute path of the present file into `buffer`, cut to `size` bytes with
   the terminating 0. Returns the full length of the path, 0 when stopped. Any thread. */
size_t eventring_path(char *buffer, size_t size);

/* Get and set the mask of the classes wanted, also while paused. Bits of classes without
   a name are ignored, and class lifecycle stays on. Return 0, or E_STATE when stopped.
   Any thread. */
int eventring_get_classes(uint64_t *classes);
int eventring_set_classes(uint64_t classes);
/* Switch the given classes on or off and leave the others alone, which another thread or
   a tool may be switching at this moment. Return 0, or E_STATE when stopped. Any
   thread. */
int eventring_enable_classes(uint64_t classes);
int eventring_disable_classes(uint64_t classes);

/* Names a class of the host and says whether it is on by default. `index` is
   EVENTRING_CLASS_HOST to 63; `name` has 1 to EVENTRING_MAX_CLASS_NAME bytes. A recording
   has the classes that were defined when it was started: one that is defined later is off
   in it.
   For a class that the library names, it says whether this process has it, so that it is
   offered only where it has events: `name` is the library's, as at the start, or NULL when
   the process writes none of its events. `lifecycle` and `user` are always there.
   Returns 0, E_ARGUMENT (index, or not the library's name), E_NAME, E_CONFLICT (another
   class has this name; or events of a class to be taken out are registered) or E_STATE (the
   class has another name or is to be taken out, and a recording is started or stands by).
   Any thread. */
int eventring_define_class(unsigned index, const char *name, bool on);
/* Names a ring of the host, EVENTRING_RING_HOST to 7, for readers, who else show its
   number. `name` is as that of a class. Returns 0, E_ARGUMENT (index), E_NAME, E_CONFLICT
   (another ring has this name) or E_STATE (the name is new, and a recording is started or
   stands by). Any thread. */
int eventring_define_ring(unsigned index, const char *name);
/* Returns the index of the class with this name in this process, E_NOT_FOUND, or E_STATE
   when the library names such a class and this process has none of its events; and the
   name of a class, or NULL. Any thread, but not while another defines classes. */
int eventring_class_by_name(const char *name);
const char *eventring_class_name(unsigned index);

/* Returns the time in nanoseconds on the clock of the recording; of CLOCK_MONOTONIC when
   stopped. Any thread. */
uint64_t eventring_now(void);

/* For how long a thread was not on a processor (it waited for one, or slept), in two
   calls on the same thread. The first is made before what is to be measured, a span for
   instance, and returns what the second gets; 0: it is not measured (config.no_cpu_time).
   The second returns the nanoseconds in between; 0 when begun is 0. Less than 2 us in one
   go does not count. Such pairs may be nested; the difference of two results of the first
   is the time off the processor between them. Each call costs about 10 ns as long as the
   thread is not interrupted, otherwise two readings of clocks, one of them a system call;
   that each time where the kernel has no restartable sequences that can be used (glibc
   before 2.35, valgrind). Any thread. */
uint64_t eventring_off_cpu_begin(void);
uint64_t eventring_off_cpu_since(uint64_t begun);

/* -- Catalogue ----------------------------------------------------------- */

/* Unit of an integer that is the id of another definition of the same catalogue; tools
   show the name of that definition in its place. */
#define EVENTRING_UNIT_ID "id"

/* A definition: what the id of an event stands for. Kind, class and name together are
   unique in a process. */
struct eventring_def {
  const char *name;   /* 1 to EVENTRING_MAX_NAME bytes of UTF-8, no control characters */
  const char *unit;   /* of the payload: "ns", "words", ...; at most EVENTRING_MAX_UNIT
                         bytes; NULL: none */
  const char *doc;    /* one sentence, cut to EVENTRING_MAX_DOC bytes; NULL: none */
  uint8_t kind;       /* enum eventring_def_kind */
  uint8_t event_class;/* class, 0..63, one with a name: of the library's or defined
                         (eventring_define_class) before the event is registered */
  uint8_t ring;       /* enum eventring_ring: where the host writes it */
  uint8_t payload;    /* enum eventring_payload. Of a span: of its begin; NONE, INT, UINT,
                         STRING, BYTES or VALUES. Of a counter: INT, UINT or DOUBLE. Of a
                         lifecycle event: INT. Of an async span or a flow: what follows
                         link and role */
  uint16_t id;        /* set by the library; ignored on registering */
  uint8_t measure;    /* enum eventring_measure; of a counter or a span */
  uint8_t quantity;   /* enum eventring_quantity, of the kind of this definition */
  const char *fields; /* payload VALUES: the names of the values, separated by commas, cut
                         to EVENTRING_MAX_FIELDS bytes; NULL: none */
};

/* Is the number of its events in words, of 8 bytes each? */
static inline bool eventring_is_in_words(const struct eventring_def *def) {
  return def->unit && strcmp(def->unit, "words") == 0;
}

/* Registers `count` definitions at consecutive ids, all or none, and stores the first id
   in *first. The ids of the first table of a process begin at EVENTRING_ID_HOST. A host
   whose table is the first may therefore use constants; it then passes NULL as `first`,
   and the call fails with E_CONFLICT when another host has registered events before. May
   be called before or after the start; definitions stay for the life of the process.
   Returns 0. Errors: E_ARGUMENT (a member is out of range, the class has no name, or no
   probe writes this payload in an event of this kind), E_NAME (a name or unit),
   E_CONFLICT (kind, class and name are defined already), E_FULL (not enough ids are
   left), E_MEMORY. A definition that the file has no room for is counted as dropped; its
   events are "(other)". Any thread. */
int eventring_register_table_sized(const struct eventring_def *defs, size_t def_size,
                                   size_t count, unsigned *first,
                                   struct eventring_error *error);
static inline int eventring_register_table(const struct eventring_def *defs, size_t count,
                                           unsigned *first,
                                           struct eventring_error *error) {
  return eventring_register_table_sized(defs, sizeof *defs, count, first, error);
}

/* Registers one definition and returns its id. The same kind, class and name again return
   the same id when ring and payload agree, else E_CONFLICT; unit, doc and fields of the
   first stay. When all ids are taken, the result is EVENTRING_ID_OTHER, and the
   definition is counted as dropped. Errors: E_ARGUMENT, E_NAME, E_CONFLICT, E_MEMORY. Any
   thread; takes a lock, so keep the id. */
int eventring_register_sized(const struct eventring_def *def, size_t def_size,
                             struct eventring_error *error);
static inline int eventring_register(const struct eventring_def *def,
                                     struct eventring_error *error) {
  return eventring_register_sized(def, sizeof *def, error);
}

/* As eventring_register, for an event of class USER in the user ring: `kind`, `name` of
   `size` bytes (which need not be terminated), `payload`; no unit, no doc. Any thread. */
int eventring_register_user(enum eventring_def_kind kind, const char *name,
                            size_t size, enum eventring_payload payload,
                            struct eventring_error *error);

/* Returns the name of the event that this process has registered with this id, valid as long
   as the process lives; NULL: none. Any thread; takes a lock. */
const char *eventring_event_name(unsigned id);

/* Checks a name for an event: 1 to EVENTRING_MAX_NAME bytes of UTF-8 without control
   characters. Returns 0 or E_NAME. Any thread. */
int eventring_check_name(const char *name, size_t size, struct eventring_error *error);

/* -- Domains ------------------------------------------------------------- */

/* Makes the calling thread the owner of a new domain. `name` is cut to
   EVENTRING_MAX_DOMAIN_NAME bytes; NULL: "". Never returns NULL: when the domain cannot
   be recorded (E_FULL: the 129th, E_MEMORY, E_SPACE, E_LIMIT ...), *error says why, and
   its probes do nothing. Any thread.
     A thread may have several domains. A signal handler with probes needs a domain of its
   own, because it may interrupt a probe. Start that one first, before the signal can
   arrive: the library writes its own events of a thread (recorder_stop, pause, resume)
   into the domain that the thread started last. An event of a handler that has
   interrupted the library, and not just a probe of another domain, is dropped; readers
   count it as lost. */
eventring_domain *eventring_domain_start(const char *name,
                                         struct eventring_error *error);
/* Ends a domain and frees its slot for a later one; the pointer is invalid afterwards.
   Its open spans stay open in the recording. NULL is allowed. Owner.
     A domain that is not stopped ends when its thread exits, after the thread's
   destructors (pthread_key_create) have run; destructors may still use and stop it. After
   that the pointer is invalid. A thread that ends without destructors (by the system call
   itself) leaves its slot in use until no other is free. */
void eventring_domain_stop(eventring_domain *domain);
/* Keeps the domain when the thread that started it exits. For hosts that continue a
   domain in another thread: one thread at a time may then be its owner, and one of them
   stops it. For the start and stop of recordings it remains a domain of the thread that
   started it. Owner. */
void eventring_domain_unbind(eventring_domain *domain);
/* Gives a domain another name, cut to EVENTRING_MAX_DOMAIN_NAME bytes. The recording
   keeps the former name with its time. Returns 0, E_NAME (not UTF-8, or a control
   character) or E_ARGUMENT (NULL). Any thread, as long as the domain is not stopped. */
int eventring_domain_rename(eventring_domain *domain, const char *name);
/* Returns the slot of a domain, 0 to 127; -1 when it is not recorded. Owner. */
int eventring_domain_slot(const eventring_domain *domain);
/* Lets a domain notice what happened elsewhere: a start, also from standby, or a stop.
   For the safepoints of hosts; not needed where probes run. Owner. */
void eventring_domain_check(eventring_domain *domain);
/* Returns the bytes of the domain's rings; 0 when it is not recorded. Owner. */
uint64_t eventring_domain_bytes(const eventring_domain *domain);
/* Returns the exact number of events written into a ring of the domain's slot since the
   slot was first used, by all incarnations; 0 when the domain is not recorded. Owner. */
uint64_t eventring_domain_emitted(const eventring_domain *domain,
                                  enum eventring_ring ring);

/* In the child of a fork: returns true when the parent recorded and the child has no
   recording of its own yet. The child never writes into its parent's file and never
   removes it. Its domains (those of the forking thread) stay valid and record nothing
   until the host calls eventring_start, which makes a file of its own. Spans that are
   open at the fork end in the parent; in the child, their ends are torn. A cursor on the
   parent's own recording (eventring_open_self) goes on reading that in the child. Any
   thread.
     With config.follow_forks such a recording starts by itself, with the settings of the
   parent's and the classes that were wanted at the fork: at the child's first event in
   ring EVENTRING_USER, its first call of eventring_domain_start, _start, _pause, _resume,
   _state, _path, _open_self or a function of classes; or, 50 ms or more after the fork,
   at any other event or at eventring_domain_check. If the parent stood by or was paused, the
   child's recording stands by, from eventring_domain_check on. When it cannot start,
   config.warn is called. It counts as started by all hosts that had started the parent's.
   Its file has the child's pid in its name: where the template has no %p, "-%p" is
   appended.
     A child made by the clone system call itself, past the C library, shares its parent's
   rings. It must not run a probe. It may call eventring_domain_stop and eventring_stop,
   which do nothing there, and it may exec, _exit or exit. */
bool eventring_forked(void);
/* In the child of a fork: true as long as its recording is still to start by itself. A
   host that waits for a start from standby at safepoints calls eventring_domain_check
   there until this is false. Any thread. */
bool eventring_fork_pending(void);

/* ==== READER ============================================================
 *
 * A cursor reads all rings of one recording, each from its oldest event on. Cursors are
 * independent of each other, the producer does not know of them, and each is used by one
 * thread at a time. A reading loop: see eventring_wait.
 */

typedef struct eventring_cursor eventring_cursor;

/* Flags for opening, combined with |. */
enum {
  EVENTRING_OPEN_MERGED = 1, /* a poll delivers the events of all rings merged by time;
                                without the flag, ring by ring */
  EVENTRING_OPEN_NOW = 2,    /* skip what is already in the rings and begin at the
                                present; the spans open there are delivered first */
  EVENTRING_OPEN_UNMAPPED = 4, /* see below */
  EVENTRING_OPEN_FOLLOW = 8,   /* open_path, open_any: follow a symbolic link as the last
                                  component, which the user has named. Such a cursor
                                  only reads: eventring_cursor_control refuses it */
  EVENTRING_OPEN_BACKWARDS = 16, /* deliver the newest event first, see below */
  EVENTRING_OPEN_AHEAD = 32, /* read long streams with a second thread, see below */
  EVENTRING_OPEN_OWN = 64 /* open_path: E_PERMISSION if the file is another user's */
};

/* A cursor with OPEN_BACKWARDS delivers what is there at its first poll, each ring from its
   newest event to its oldest, merged: the latest first. An event is what it is forwards: an
   end knows its begin, which comes later. What is written afterwards is not delivered; when the
   oldest event was, eventring_finished is true, also if the process lives. It takes as little
   memory as reading forwards, and reads of a long file what is delivered.
     Losses, and the synthetic events behind them, come in their places, in the opposite order.
   What was lost before the oldest event comes last: what a live process has overwritten since
   the first poll, then what is missed (LOST_BEFORE), then a synthetic begin of each span that
   was open there. Two things are not as they are forwards: of more than 64 spans that
   are open where a block of 4 KiB begins, the end of one that the block does not list is
   torn, and an eventring_cursor_seek lets it begin up to two blocks behind that time, so that
   nothing before it is left out; what is behind is missed, without a call of `lost`.
   eventring_open_spans gives those at the end, also before the first poll. With OPEN_NOW
   opening fails with E_ARGUMENT. */

/* With OPEN_AHEAD, a poll lets threads of the library copy and check the blocks of long streams
   (1 MiB or more of a ring) of a plain file into which nobody writes any more, while it
   delivers the blocks before. Where events come in batches (eventring_cursor_batches), the
   threads decode as many of them as they have time for, too. There are up to four at a time, each
   with half a megabyte, for batches up to two and a half, no signals, and no callbacks; a poll or
   eventring_close ends them. What is delivered is the same. Where there is one processor, or no
   thread can be started, the cursor reads by itself. */

/* A cursor maps a file of a local file system for reading. If someone cuts the file
   short, a poll returns E_TRUNCATED: the library's handler of SIGBUS catches the fault.
   It is set while such a cursor is open, and passes on what is not the library's own; a
   thread that polls must not block SIGBUS. Where the handler would be in the way,
   OPEN_UNMAPPED reads the file with system calls instead (1 ns more for an event; an idle
   poll takes 0.5 us a ring). The library does so by itself where it sees that a file
   cannot be mapped or guarded.

   The functions that open return 0 and the cursor in *cursor, to be closed with
   eventring_close. Errors of all of them: E_MEMORY, E_SYSTEM, E_LIMIT and the errors of
   the file E_NOT_EVENTRING, E_VERSION, E_BYTE_ORDER, E_CORRUPT, E_TRUNCATED. Any
   thread. */

/* Opens the recording of this process. E_STATE when stopped. */
int eventring_open_self(eventring_cursor **cursor, unsigned flags,
                        struct eventring_error *error);
/* Opens the recording of process `pid`, which may be this one (also when it has changed
   its user and may not open its own file any more), through the file that the process
   maps (/proc/PID/maps). `pid` is its number in the pid namespace of this process.
   E_NOT_FOUND: no such process, or it does not record; E_PERMISSION. */
int eventring_open_pid(eventring_cursor **cursor, pid_t pid, unsigned flags,
                       struct eventring_error *error);
/* Opens a file: of a live or a dead process, or a saved copy; this process's own by its
   absolute path (eventring_path), whatever its user is now. A symbolic link as the last
   component is not followed (E_NOT_EVENTRING) without OPEN_FOLLOW. E_NOT_FOUND,
   E_PERMISSION. */
int eventring_open_path(eventring_cursor **cursor, const char *path,
                        unsigned flags, struct eventring_error *error);
/* Opens a PID or a FILE, as an argument of a command names it: digits alone are a pid, whatever
   files there are (./4711 is a file). */
int eventring_open_any(eventring_cursor **cursor, const char *pid_or_path,
                       unsigned flags, struct eventring_error *error);
/* Closes a cursor; NULL is allowed. Returns 0; E_BUSY from within a callback of this
   cursor's own poll, and then does nothing. */
int eventring_close(eventring_cursor *cursor);

/* Flags of a delivered event. */
enum {
  EVENTRING_SYNTHETIC = 1, /* made by the reader and not counted as delivered: the begin
                              of a span that was open where reading begins (ns: its true
                              begin; before the loss of what was overwritten by then, at
                              its place in a merged order; or, if it was found open after
                              a later loss, behind that), or the end of a span whose own
                              end was lost (always with TORN; begin_ns: when it began; ns:
                              up to when it is known to have been open: the last event of
                              the ring before the loss, or when its class was switched
                              off). Such ends come before the loss */
  EVENTRING_TORN = 2,      /* an end whose begin is unknown, or a synthetic end: the
                              duration is unknown; of a synthetic one it is at least
                              ns - begin_ns */
  EVENTRING_MATCHED = 4,   /* an end whose begin is known: begin_ns is valid */
  EVENTRING_TRUNCATED = 8, /* the payload, or a text among its values, was longer than
                              what was recorded of it */
  EVENTRING_UNKNOWN = 16,  /* the id has no definition, or only one registered after the
                              event: the name is "(other)" */
  EVENTRING_MAY_BE_OVER = 32 /* of eventring_open_spans: the class of the span is off as the
                              file stands now, or was since it began: its end may not have
                              been recorded */
};

/* A delivered event. Valid during the callback; copy what is to be kept. */
struct eventring_event {
  uint64_t ns;          /* its time */
  uint32_t domain;      /* slot, 0..127 */
  uint32_t incarnation; /* of the slot, from 1 */
  uint16_t id;
  uint8_t ring;         /* enum eventring_ring */
  uint8_t kind;         /* enum eventring_kind */
  uint8_t event_class;  /* 0..63 */
  uint8_t payload;      /* enum eventring_payload, of this event. Of an end: UINT when its
                           definition says OFF_CPU and the thread was interrupted; `value`
                           is then for how many ns
                           (eventring_event_off_cpu) */
  uint16_t flags;
  uint32_t depth;       /* of a begin or an end: other spans that its context has open in
                           this ring; of other events 0 */
  const char *name;     /* valid as long as the cursor; never NULL */
  const struct eventring_def *def; /* valid as long as the cursor; NULL when UNKNOWN */
  union {
    int64_t i;  /* INT */
    uint64_t u; /* UINT, STRING_ID, STACK_ID */
    double d;   /* DOUBLE */
  } value;
  const void *bytes;    /* STRING, BYTES, VALUES, RAW: valid during the callback, not
                           terminated */
  size_t size;          /* of these, in bytes */
  uint64_t begin_ns;    /* of an end with MATCHED: when the span began; of a begin: the
                           same as ns; else 0 */
  uint64_t context;     /* that the event belongs to (probe.h); 0: none */
  uint64_t suspended_ns; /* of an end with MATCHED: for how long its context was suspended
                            since the begin */
  uint64_t within_ns;    /* of an end with MATCHED: for how long the spans directly within it, of
                            its ring and context, ran, without what they were suspended for; more
                            than any span takes if not all of it was seen: it began before reading
                            did, events were lost meanwhile, or a span in it was torn
                            (eventring_event_own) */
  uint64_t link;        /* of kind LINKED: the number that the events of one async span or
                           flow share; such an event may have a payload as well */
  uint8_t role;         /* of kind LINKED: enum eventring_role; else 0 */
};

/* Returns how many ns the span took that this event ends, if that is known of all of it; -1: the
   event is no end, or the begin is unknown or the end was lost. */
static inline int64_t eventring_event_took(const struct eventring_event *event) {
  const bool is_whole = event->kind == EVENTRING_END && event->flags & EVENTRING_MATCHED;
  return is_whole ? (int64_t)(event->ns - event->begin_ns) : -1;
}

/* Returns how many of them are its own: without those for which its context was suspended, and
   those in which a span directly within it ran; -1: that is not known. */
static inline int64_t eventring_event_own(const struct eventring_event *event) {
  const int64_t ran = eventring_event_took(event) - (int64_t)event->suspended_ns;
  return ran >= 0 && event->within_ns <= (uint64_t)ran ? ran - (int64_t)event->within_ns : -1;
}

/* Returns for how many ns the thread was not on a processor within the span that this
   event ends; -1: the event is no end, the begin is unknown, or it was not measured. */
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
   `values`. Returns how many there are, also beyond `room`: 0 for NONE and RAW, up to
   EVENTRING_MAX_VALUES for VALUES, 1 for others. To be called within the callback. */
size_t eventring_event_values(const struct eventring_event *event,
                              struct eventring_value *values, size_t room);

enum { EVENTRING_LOST_BEFORE = 1 /* overwritten before this cursor was opened */ };

/* Events of a ring that were overwritten before the cursor could read them. */
struct eventring_loss {
  uint32_t domain;      /* slot */
  uint32_t incarnation; /* of the first block read after the loss */
  uint8_t ring;         /* enum eventring_ring */
  uint8_t flags;        /* EVENTRING_LOST_BEFORE or 0 */
  uint64_t count;       /* events, exact */
  uint64_t ns;          /* time from which reading goes on */
};

/* Either may be NULL. A callback may do anything, also write events and poll other
   cursors, except poll or close this cursor (E_BUSY) and leave by longjmp or a C++
   exception. A result other than 0 ends the poll after this event, which counts as
   delivered; the next poll goes on after it. */
struct eventring_callbacks {
  int (*event)(void *context, const struct eventring_event *event);
  int (*lost)(void *context, const struct eventring_loss *loss);
};

/* A context that has open spans was left, or goes on (what happens between the two does not
   belong to these spans). */
struct eventring_switch {
  uint64_t ns;
  uint64_t context;
  uint32_t domain, incarnation; /* as in an event */
  uint8_t ring;                 /* of the open spans */
  bool resumed;                 /* it goes on */
};
/* Makes polls deliver these, too, in their place among the events. (An event of a context that
   was left resumes it without that.) `callback`: as those of eventring_callbacks; NULL: none.
   Before the first poll, and of a cursor that reads forwards, else E_STATE. */
int eventring_cursor_switches(eventring_cursor *cursor,
                              int (*callback)(void *context,
                                              const struct eventring_switch *change),
                              void *context);

/* Begins and ends of spans in bulk, for those who read very many: no call and no struct
   eventring_event for each of them. A batch has consecutive events of one ring and context, 1 to
   EVENTRING_BATCH: no flag would be set in them but MATCHED in the ends, none has a payload, none
   is earlier than the one before, and the context was not suspended since the begins. They are
   given as the spans that ended in the batch, and those that it left open. A batch takes less than
   2^32 ns from its first event to its last one. */
struct eventring_brief {
  uint32_t after;       /* ns from earliest_ns of the batch on: its end; of one that is left open,
                           its begin */
  uint32_t took;        /* ns from its begin on; 0 of one that is left open */
  uint32_t within;      /* ns of the spans directly within it that ended in the batch: at most
                           `took` of one that ended */
  uint16_t id;          /* below EVENTRING_MAX_EVENTS, of a definition: eventring_cursor_def */
  uint8_t event_class;
  uint8_t began_before; /* 1: before the batch, else 0. Then `outer` has `took` and `within`, which
                           say nothing here */
};
struct eventring_outer { /* a span that ended in the batch and began before it */
  uint64_t took, within; /* ns; `within` as within_ns of an event */
};
/* Returns its own time, as eventring_event_own. */
static inline int64_t eventring_outer_own(const struct eventring_outer *outer) {
  return outer->within <= outer->took ? (int64_t)(outer->took - outer->within) : -1;
}
#define EVENTRING_BATCH 512
struct eventring_batch {
  size_t count;                         /* of its events */
  const struct eventring_brief *ended;  /* in the order of their ends */
  const struct eventring_brief *opened; /* the outermost first; both valid during the callback */
  size_t ended_count, opened_count;
  const struct eventring_outer *outer;  /* of those of `ended` that began before the batch, in their
                                           order: depth - depth_around of them */
  uint32_t depth;        /* spans that were open before the batch: those of `ended` that began
                            before it had the depths below, one after the other */
  uint32_t depth_around; /* those of them that are still open: the depth of opened[0] */
  uint64_t earliest_ns, latest_ns;      /* the times of the first and of the last event */
  uint64_t classes;                     /* a bit for each class of which there are some */
  uint64_t context;                     /* as in an event, like the following */
  uint32_t domain, incarnation;
  uint8_t ring;
  const eventring_cursor *cursor;
  const struct eventring_written *written;    /* for eventring_batch_each */
};
/* Makes polls deliver such events to `callback`, in their place among the others, which the
   callbacks of the poll get as before. Which of the events come in batches, and in how large
   ones, is not specified. `callback`: as those of eventring_callbacks; its result ends the poll
   after the batch. NULL: none. E_STATE: the cursor reads backwards, or polls; E_MEMORY. The
   owner of the cursor. */
int eventring_cursor_batches(eventring_cursor *cursor,
                             int (*callback)(void *context, const struct eventring_batch *batch),
                             void *context);
/* Calls `callback` for each event of the batch in their order, as a poll would without batches,
   until its result is not 0. Returns that. During the callback that has the batch. */
int eventring_batch_each(const struct eventring_batch *batch,
                         int (*callback)(void *context, const struct eventring_event *event),
                         void *context);

/* Lets polls deliver only the rings whose bit is set (bit n: ring n of each domain; 0: all):
   the others are not even read, and count nowhere. Before the first poll, else E_STATE;
   E_ARGUMENT: there is no such ring. */
int eventring_cursor_select(eventring_cursor *cursor, uint32_t rings);

/* Lets the first poll begin near `ns` (of CLOCK_MONOTONIC): in each ring with the block that
   has its first event from then on, or up to two blocks before it. What is before that is
   missed; spans that are open there get a synthetic begin. Finds the place by bisection of
   the headers of blocks, whatever the length of the recording. E_STATE: the cursor was
   polled, or opened with OPEN_NOW. The owner of the cursor. */
int eventring_cursor_seek(eventring_cursor *cursor, uint64_t ns);

/* Delivers the events that had been written when it was called, at most `max` (0: no
   maximum), in the order of each ring. `context` is passed to the callbacks. Always
   returns, whatever the callbacks write. Returns the number of events delivered, at most
   INT_MAX, or an error: E_BUSY, E_CORRUPT, E_TRUNCATED, E_SYSTEM, E_MEMORY, with the text
   in eventring_cursor_error. Neither `max` nor the result counts synthetic events. After
   an error of the file the cursor may be polled again; it goes on where that is
   possible. It may end before it has delivered all, of which neither the result nor an error
   is a sign: eventring_poll_end says so. */
int eventring_poll_sized(eventring_cursor *cursor,
                         const struct eventring_callbacks *callbacks,
                         size_t callbacks_size, void *context, uint64_t max);
static inline int eventring_poll(eventring_cursor *cursor,
                                 const struct eventring_callbacks *callbacks,
                                 void *context, uint64_t max) {
  return eventring_poll_sized(cursor, callbacks, sizeof *callbacks, context, max);
}

/* Why a poll ended. */
enum eventring_poll_end {
  EVENTRING_POLL_ALL = 0,    /* it delivered all that had been written when it was called */
  EVENTRING_POLL_STOPPED,    /* `max`, or the result of a callback */
  EVENTRING_POLL_UNREADABLE, /* it met EVENTRING_POLL_BLOCKS blocks that cannot be read: the next
                                poll goes on behind them. A poll that ended so has ended all the
                                same where each block of a file is damaged. A file has only as
                                many polls of this kind as it has blocks for them; those that
                                are known to be lost (FORMAT.md, section 6) do not count */
  EVENTRING_POLL_FAILED      /* the file could not be read, or there was no memory: the result
                                says so. The next poll may go on */
};
enum { EVENTRING_POLL_BLOCKS = 4096 };
/* Returns why the last poll ended. Who reads a whole recording polls until it is
   EVENTRING_POLL_ALL, or eventring_finished; one poll may not be enough. Before the first poll:
   EVENTRING_POLL_ALL. */
enum eventring_poll_end eventring_poll_end(const eventring_cursor *cursor);

#define EVENTRING_FOREVER UINT64_MAX

/* Blocks until the next poll of this cursor has something to do, at most `timeout_ns`
   nanoseconds (0: checks once; EVENTRING_FOREVER: no limit). Returns
     1  poll now: there are events, the last poll was ended by its maximum, by a callback or
        by unreadable blocks, there is damage to report, or the producer has ended or died
        (from then on always; that poll makes eventring_finished true);
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
/* Returns E_CORRUPT if something was found damaged since the last poll, by a saver or a snapshot
   for instance, with the text in eventring_cursor_error; 0: nothing. */
int eventring_cursor_damage(eventring_cursor *cursor);

enum eventring_liveness {
  EVENTRING_LIVE = 1,     /* the producer runs */
  EVENTRING_ENDED = 2,    /* it ended in order */
  EVENTRING_DEAD = 3,     /* it died without that */
  EVENTRING_SAVED = 4     /* the file is a snapshot */
};
/* Returns whether the producer runs, checked at each call. */
enum eventring_liveness eventring_cursor_liveness(eventring_cursor *cursor);
/* Returns true when a poll has delivered the last event that there will ever be: the end
   of a reading loop (eventring_wait). */
bool eventring_finished(eventring_cursor *cursor);

/* Calls `callback` with a synthetic begin for each span that is open at the cursor's
   position, ring by ring, outermost first within a context; those with MAY_BE_OVER are open
   as far as is known. Stops when the callback
   returns a value other than 0 and returns that; else returns 0. E_BUSY from within a
   callback of this cursor's own poll. */
int eventring_open_spans(eventring_cursor *cursor,
                         int (*callback)(void *context,
                                         const struct eventring_event *event),
                         void *context);

/* Returns the classes (bits) of which events that occurred after `since_ns` may not have been
   recorded: those that are off as the file stands now, and those that were switched on after
   that time; all while the recording is paused. What class lifecycle is among was paused. */
uint64_t eventring_cursor_classes_off(eventring_cursor *cursor, uint64_t since_ns);

/* -- What the file says of itself ----------------------------------------
 *
 * These functions return 0, or E_CORRUPT, E_TRUNCATED, E_SYSTEM or E_MEMORY (text:
 * eventring_cursor_error). They do not move the cursor. */

enum eventring_end_reason { /* by what a recording has ended */
  EVENTRING_END_UNKNOWN = 0, /* it has not, or the process was killed, or it does not say */
  EVENTRING_END_STOPPED = 1, /* eventring_stop */
  EVENTRING_END_EXIT = 2,    /* the process exited; detail: the exit status */
  EVENTRING_END_SIGNAL = 3   /* a signal; detail: its number, 0 when not known */
};

struct eventring_info {
  char path[1024];         /* as opened; of a pid: where it was found */
  char program[EVENTRING_MAX_PROGRAM + 1];
  uint32_t version;        /* of the format */
  pid_t pid;               /* of the producer, in its own pid namespace */
  uint64_t process_start;  /* clock ticks after boot, as in /proc/PID/stat; 0: not
                              known */
  enum eventring_liveness liveness;
  enum eventring_state state;
  uint64_t classes;        /* wanted mask */
  uint64_t classes_known;  /* classes that have a name */
  uint64_t start_ns;       /* monotonic time of the start of the recording */
  int64_t start_wall_ns;   /* the same moment, nanoseconds since the epoch */
  uint64_t end_ns;         /* of an ended recording, else 0 */
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
                              producer will put it right */
  uint64_t control_rejected; /* malformed control words that the producer has put right */
  uint64_t blocks_claimed;   /* blocks of the file that are in use */
  uint64_t unknown_blocks;   /* blocks of kinds that this reader does not know: skipped */
  uint64_t unknown_records;  /* records of types that it does not know: skipped */
  uint64_t names_dropped;    /* definitions that found no room: their events are
                                "(other)" */
  uint64_t lives_dropped;    /* lives of domains that were overwritten by later ones, or found
                                no room in a stream */
  uint64_t hold_ns;          /* rings grow until they hold this time; 0: they do not grow */
  uint64_t grow_bytes;       /* by which they may grow, all together */
  pid_t process;             /* the pid by which the cursor was opened; 0: by path */
  enum eventring_end_reason end_reason; /* UNKNOWN while the process lives */
  uint32_t end_detail;
  bool preserved;            /* ended, and kept because it was configured so, and not
                                because of an error */
  uint64_t error_ns;         /* when an error was noted with which the process ends; 0:
                                none */
  uint32_t error_bytes;      /* of its text before it was cut */
  char error_text[EVENTRING_MAX_END_TEXT + 1]; /* lines of UTF-8, without control characters
                                except newline and tab */
  bool has_streams;          /* some rings are streams: nothing of them is overwritten */
  bool incomplete;           /* a copy of a live process's rings: parts may be missing */
  uint32_t stream_rings;     /* bit n: ring n of a domain is there and is a stream */
  uint64_t events_dropped;   /* of streams that never found room for a block; known at the end */
  uint64_t plain_size;       /* of a compressed file: bytes of what it stands for; 0: plain */
};
/* Fills *info with what the file says now. */
int eventring_cursor_info_sized(eventring_cursor *cursor, struct eventring_info *info,
                                size_t info_size);
static inline int eventring_cursor_info(eventring_cursor *cursor,
                                        struct eventring_info *info) {
  return eventring_cursor_info_sized(cursor, info, sizeof *info);
}
/* Returns the name of a class in this file, or NULL. Valid as long as the cursor. */
const char *eventring_cursor_class(const eventring_cursor *cursor,
                                   unsigned index);
/* Returns the definition with this id, or NULL. Valid as long as the cursor. Definitions
   that the producer has added are there after the next poll or eventring_cursor_info. */
const struct eventring_def *eventring_cursor_def(const eventring_cursor *cursor,
                                                 unsigned id);

struct eventring_domain_info {
  uint32_t slot;        /* 0..127 */
  uint32_t incarnation; /* number among the domains of the slot, from 1 */
  bool alive;           /* it has not stopped */
  pid_t tid;            /* of its thread */
  char name[EVENTRING_MAX_DOMAIN_NAME + 1]; /* the latest */
  uint64_t start_ns;
  uint64_t stop_ns;     /* 0 while alive */
  uint32_t process;     /* that it belongs to: eventring_cursor_process; 0: the one that
                           eventring_info describes */
};
/* Fills *info with the latest domain of a slot, 0 to 127. E_NOT_FOUND: the slot was never
   used; E_ARGUMENT: no such slot. */
int eventring_cursor_domain_sized(eventring_cursor *cursor, unsigned slot,
                                  struct eventring_domain_info *info, size_t info_size);
static inline int eventring_cursor_domain(eventring_cursor *cursor, unsigned slot,
                                          struct eventring_domain_info *info) {
  return eventring_cursor_domain_sized(cursor, slot, info, sizeof *info);
}

/* Fills *info with the domain of a slot that has this incarnation. E_NOT_FOUND: there was
   none, or its record is gone (the latest, some thousands, are kept). */
int eventring_cursor_life_sized(eventring_cursor *cursor, unsigned slot,
                                uint32_t incarnation, struct eventring_domain_info *info,
                                size_t info_size);
static inline int eventring_cursor_life(eventring_cursor *cursor, unsigned slot,
                                        uint32_t incarnation,
                                        struct eventring_domain_info *info) {
  return eventring_cursor_life_sized(cursor, slot, incarnation, info, sizeof *info);
}
/* Returns the name of a ring in this file, or NULL. Valid as long as the cursor. */
const char *eventring_cursor_ring_name(const eventring_cursor *cursor, unsigned ring);

/* A process whose recording is part of this one (struct eventring_saver_part). */
struct eventring_process {
  char program[EVENTRING_MAX_PROGRAM + 1];
  char source[EVENTRING_MAX_SOURCE + 1]; /* what its recording was called, a path */
  pid_t pid;             /* in its own pid namespace */
  enum eventring_liveness liveness; /* of its own recording, when that was read */
  enum eventring_end_reason end_reason;
  uint32_t end_detail;
  uint64_t start_ns;     /* of its recording, on the clock of this one */
  uint64_t end_ns;       /* the same; 0: it had not ended, or that is not known */
  int64_t start_wall_ns; /* the start, as its recording said: nanoseconds since the epoch */
  int64_t shift_ns;      /* what was added to the times of its recording */
  uint64_t events, missed, lost; /* taken from there; what was not there */
  uint64_t error_ns;     /* when it noted an error with which it was about to end; 0: none */
  char error_text[EVENTRING_MAX_END_TEXT + 1];
};
/* Fills *process with process number `number`, from 1 on. E_NOT_FOUND: there are fewer, as
   in a recording of one process, which has none; E_ARGUMENT: 0. */
int eventring_cursor_process_sized(eventring_cursor *cursor, unsigned number,
                                   struct eventring_process *process, size_t process_size);
static inline int eventring_cursor_process(eventring_cursor *cursor, unsigned number,
                                           struct eventring_process *process) {
  return eventring_cursor_process_sized(cursor, number, process, sizeof *process);
}

struct eventring_ring_info {
  uint64_t emitted;   /* events written into the ring so far */
  uint64_t available; /* of these, still there to be read; of a stream: without those that this
                         cursor has found lost */
  uint64_t blocks_written; /* sequence number of the newest block */
  uint64_t oldest_ns; /* time at which the oldest block that is there begins, or 0 */
  uint64_t newest_ns; /* time of the newest event, or 0 */
  /* of this cursor: emitted = missed + delivered + lost + still to be read */
  uint64_t missed;    /* overwritten (or skipped, OPEN_NOW) before the cursor was opened;
                         in a ring that had been filled once by then: before its first
                         poll */
  uint64_t delivered;
  uint64_t lost;      /* overwritten since */
  uint64_t torn;      /* spans delivered as torn */
  uint32_t blocks;    /* of the ring, now; of a stream: blocks_written */
  bool is_stream;
};
/* Fills *info with what is known of a ring. E_NOT_FOUND: the slot has no such ring (yet);
   E_ARGUMENT: slot or ring is out of range. */
int eventring_cursor_ring_sized(eventring_cursor *cursor, unsigned slot,
                                enum eventring_ring ring,
                                struct eventring_ring_info *info, size_t info_size);
static inline int eventring_cursor_ring(eventring_cursor *cursor, unsigned slot,
                                        enum eventring_ring ring,
                                        struct eventring_ring_info *info) {
  return eventring_cursor_ring_sized(cursor, slot, ring, info, sizeof *info);
}

struct eventring_totals {
  uint64_t missed, delivered, lost, torn; /* as above, summed over all rings */
};
/* Fills *totals. */
void eventring_cursor_totals_sized(const eventring_cursor *cursor,
                                   struct eventring_totals *totals, size_t totals_size);
static inline void eventring_cursor_totals(const eventring_cursor *cursor,
                                           struct eventring_totals *totals) {
  eventring_cursor_totals_sized(cursor, totals, sizeof *totals);
}

/* ---- Saving a recording, also while it goes on ---------------------------
 *
 * A saver turns a recording into the bytes of another file, a stream (see FORMAT.md), which
 * any cursor opens: all blocks of events, of a live process those that could be copied before
 * the producer used their places again, and all records. The recording may be of any layout:
 * rings, streams, a copy. It writes nothing itself. It fills
 * buffers of the caller and says in pieces where in the file their bytes belong, so that
 * the caller may write in any way, with many buffers under way. The producer does not
 * notice.
 *
 * A saver is used by one thread at a time, together with its cursor, whose position it
 * neither uses nor moves. A recording loop:
 *
 *   eventring_saver_fill     as often as possible: whole blocks of events
 *   eventring_saver_update   now and then, and at the end, until there is no more: the
 *                            newest blocks, records, losses
 *   eventring_saver_front    after that: the first 64 KiB of the file. They are written
 *                            after all pieces that were handed out before, and after the
 *                            file has been made eventring_saver_size bytes long; then the
 *                            file can be read, whatever happens to its writer. Of the two
 *                            pieces the second, which has the magic, is written last, and
 *                            is needed the first time and at the end only.
 *
 * Pieces that touch the same unit of the file are to be written in the order in which they
 * were handed out, and not at all if the one before them failed. All other
 * pieces may be written in any order. */

typedef struct eventring_saver eventring_saver;

/* Bytes of the front of a file, of a block, and of a unit: the blocks that a stream gets at
   once, aligned. */
enum {
  EVENTRING_FRONT_BYTES = 65536,
  EVENTRING_BLOCK_BYTES = 4096,
  EVENTRING_UNIT_BYTES = 16 * EVENTRING_BLOCK_BYTES
};

enum eventring_piece_kind {
  EVENTRING_PIECE_EVENTS = 0,  /* whole blocks of events */
  EVENTRING_PIECE_NEWEST = 1,  /* the newest block of a ring; a later piece replaces it */
  EVENTRING_PIECE_RECORDS = 2, /* blocks of records, some of which replace earlier ones */
  EVENTRING_PIECE_FRONT = 3
};
struct eventring_piece {
  uint64_t offset; /* in the file, in bytes */
  size_t from;     /* first byte in the buffer */
  size_t size;     /* bytes */
  unsigned kind;   /* enum eventring_piece_kind */
};

/* What a saver is to do. Fields that are 0 change nothing. */
struct eventring_saver_options {
  uint64_t max_bytes;  /* the file does not become longer; 0: no limit, which means 4 TiB */
  uint64_t since_ns;   /* CLOCK_MONOTONIC: each ring begins as after eventring_cursor_seek;
                          what is before that is missed */
  uint64_t until_ns;   /* eventring_saver_end ends each ring with the last block that begins at
                          this time or before */
  uint64_t domains[2]; /* bit d % 64 of domains[d / 64]: domain d (slot) is saved; none: all */
  bool checked;        /* each block is checked as a reader checks it: a damaged one is left out,
                          and counted, and of a damaged block of records what readers do not
                          use. Otherwise only headers are, as the rings of a live process want
                          to be copied quickly */
  bool stripped;       /* texts of the program are replaced by letters, as many: names of the
                          program, of domains, of classes and rings of the host, and of
                          definitions of class user and the host's classes, with unit, doc and
                          fields; payloads that are text or bytes or not understood; texts of
                          errors. The same text has the same replacement in the file. Implies
                          `checked` */
  bool keeps_names;    /* of these, names of domains, classes, rings, definitions and functions stay, but
                          not the files that these are in */
  const struct eventring_saver_part *part; /* NULL, or: the file is of several recordings, and
                          what is saved becomes a part of it: eventring_saver_end, which then
                          fails with E_FULL if there are more than 128 domains at once, comes
                          first, then fills and updates; the last part has the front. Implies
                          `checked`; not with `stripped`. What cannot be written ends the file */
  eventring_saver *behind; /* the saver of the part before this one, after its last update; NULL:
                          this is the first one. It has no file then, and is to be closed */
};
/* A recording, and what becomes of it in the file of several. The structure is read until the
   saver is closed.
   Domains: each slot gets one of the 128 slots, and keeps its incarnations' order. When none is
   left, a slot is used whose domains had all stopped before: their incarnations go on counting. A
   domain is called `PROGRAM[PID] NAME`; what does not fit is cut from the program, to 8 bytes, and
   then from the name. A domain that ran when its process ended has stopped then: others go on, and
   its open spans did not last longer.
   Definitions of the same kind, class and name become one, if they agree in all that matters to a
   reader; if not, a later one is called `NAME (2)`. Classes, kinds and origins of memory go by their
   names; when there is no number left for a class, its events are in class user. A ring that is
   called differently has no name. Functions and stacks that agree are one. An id whose events are
   without definition gets one of its own.
   Links of async spans and flows are numbers of a process. The number of the process, less 1, is
   added to their 16 high bits, so that those of two processes do not meet.
   Not kept: all but the last name of a domain; what memory was used for, if it is not alone. How long a context was suspended differs by at most
   one unit of time for each time that it was. */
struct eventring_saver_part {
  const char *source;  /* what the recording is called there */
  int64_t shift_ns;    /* is added to its times */
  bool alone;          /* it is the only one: names of domains stay as they are */
  bool shared_links;   /* equal links are those of one flow through several processes */
  unsigned twin;       /* 1, 2, ... among those of the same program and pid; 0: the only one */
  /* of the file, the same for all parts: */
  unsigned coarse;     /* times are in units of 2^coarse ns, as the slowest clock has them */
  uint64_t start_ns;   /* the earliest time that an event may have; not 0 */
  int64_t start_wall_ns;
  const char *program;
  pid_t pid;           /* 0: of several processes */
};
/* Makes a saver of the recording that `cursor` reads. It must be closed before the cursor.
   Returns 0, E_ARGUMENT or E_MEMORY; and with `stripped` or `part` what reading fails with. */
int eventring_saver_open_sized(eventring_saver **saver, eventring_cursor *cursor,
                               const struct eventring_saver_options *options,
                               size_t options_size, struct eventring_error *error);
static inline int eventring_saver_open(eventring_saver **saver, eventring_cursor *cursor,
                                       const struct eventring_saver_options *options,
                                       struct eventring_error *error) {
  return eventring_saver_open_sized(saver, cursor, options, sizeof *options, error);
}
void eventring_saver_close(eventring_saver *saver);

/* Copies complete blocks into the buffer (8-byte aligned, at least 4096 bytes), those of the
   ring first that will be overwritten first, up to the heads seen at the beginning of the
   call. `room`: pieces that fit, at least 8. Returns the number of pieces (0: nothing was
   complete) and stores in *used the bytes of the buffer that they cover. Errors: E_CORRUPT,
   E_TRUNCATED, E_SYSTEM, E_MEMORY; E_ARGUMENT. Damaged blocks are left out. */
int eventring_saver_fill(eventring_saver *saver, void *buffer, size_t size,
                         struct eventring_piece *pieces, size_t room, size_t *used,
                         struct eventring_error *error);
/* Copies what fills have left for later (the begin of a 64 KiB of the file, which is written
   whole where that can wait), the newest block of each ring that is not far behind, and the
   records that are new.
   Parameters, result and errors as above. Stores in *more whether the update goes on: the
   next call continues it. */
int eventring_saver_update(eventring_saver *saver, void *buffer, size_t size,
                           struct eventring_piece *pieces, size_t room, size_t *used,
                           bool *more, struct eventring_error *error);
/* Makes the front, as of the last update, into `buffer` of EVENTRING_FRONT_BYTES.
   `file_bytes`: how long the file is, if it could not be made long enough. Returns 0;
   EVENTRING_AGAIN: when it is written another update and front are needed (once, at the end
   of a file that another one goes on with); or an error as above. */
enum { EVENTRING_AGAIN = 1 };
int eventring_saver_front(eventring_saver *saver, void *buffer, uint64_t file_bytes,
                          struct eventring_piece pieces[2], struct eventring_error *error);
/* Sets the end of the file: where the rings are now. From here on fill copies up to there, the
   next update is the last, and the front says that the recording has ended. To be called
   when the cursor's liveness is no longer LIVE (`over` true), or earlier. Returns 0 or an
   error as above. */
int eventring_saver_end(eventring_saver *saver, bool over, struct eventring_error *error);
/* Ends the file of `saver` with the blocks copied so far, and makes the saver of the next
   file in *next, which goes on with the following block of each ring: each event is in one
   of the two, the blocks that are being filled belong to the next one. The file of `saver`
   still needs its last update and its front, twice (EVENTRING_AGAIN). Both savers use the
   same cursor, one at a time. To be called between two updates or within one, not after
   eventring_saver_end. `max_bytes`: of the next file. Returns 0, E_ARGUMENT, E_STATE (the
   file has ended) or E_MEMORY, with which nothing is changed. */
int eventring_saver_next(eventring_saver *saver, eventring_saver **next, uint64_t max_bytes,
                         struct eventring_error *error);
/* Says what became of a piece, whose buffer is unchanged: of its bytes the first `written` are
   in the file. The others are counted as lost, but for events of which an earlier copy is
   there. To be called for each piece when its write has ended. The caller has overwritten the
   first word of a block that was written in part with 0, as far as it could. In a packed file a
   packet is written or not: `written` is piece->size or 0, and what was not written is told
   after what has become of all pieces that were handed out before it. */
void eventring_saver_written(eventring_saver *saver, const void *buffer,
                             const struct eventring_piece *piece, size_t written);
/* Bytes that the file has by now, or will have. */
uint64_t eventring_saver_size(const eventring_saver *saver);

/* A file may be packed: compressed, in packets, each of which has the bytes of some pieces
   (FORMAT.md, section 16). Any cursor reads it as it reads the plain file that the pieces
   make. These make its headers; the compression is the caller's. A packed file begins with
   its header. Packets follow at multiples of EVENTRING_PACKET_ALIGNMENT bytes, in any order,
   written like pieces, but without an order among those that are not fronts. */
enum {
  EVENTRING_PACKED_HEADER_BYTES = 64,
  EVENTRING_PACKET_ALIGNMENT = 64,
  EVENTRING_PACKET_MOST_PIECES = 256,
  EVENTRING_PACKET_MOST_BYTES = 4 << 20 /* of the pieces of a packet */
};
/* Makes the header of a packed file, EVENTRING_PACKED_HEADER_BYTES. */
void eventring_packed_header(void *to);
/* Bytes of the header of a packet. */
static inline size_t eventring_packet_header_bytes(size_t pieces) { return 64 + 16 * pieces; }
/* Makes the header of a packet with these pieces, whose `from` does not count.
   `sequence`: number of the packet, from 1, in the order in which its pieces were handed out.
   `plain_bytes`: eventring_saver_size by then. `frame_bytes`: of the frame of zstd that
   follows the header, with the bytes of the pieces one after the other. Zeros up to the next
   multiple of EVENTRING_PACKET_ALIGNMENT end the packet. `is_last`: it is the front of the
   last update. Returns the bytes of the header; 0: a size is out of range. Any thread. */
size_t eventring_packet_header(void *to, uint64_t sequence, uint64_t plain_bytes,
                               const struct eventring_piece *pieces, size_t count,
                               size_t frame_bytes, bool is_last);

/* Events: known = missed + saved + lost. */
struct eventring_saver_ring {
  uint32_t domain;     /* slot */
  uint8_t ring;
  uint64_t known;      /* events written into the ring, as far as blocks were copied */
  uint64_t missed;     /* overwritten before the saver came, before since_ns, or of the files
                          before */
  uint64_t saved;      /* in the file */
  uint64_t lost;       /* overwritten before they were copied, damaged, not written, or lost
                          when the recording was made */
  uint64_t unwritten;  /* of these: could not be written */
  uint64_t blocks;     /* copied */
  uint64_t gaps;
  uint64_t lost_ns;    /* between the last event before and the first after each gap */
  uint64_t longest_gap;/* blocks that were overwritten at once, at most */
  uint32_t places;     /* blocks of the ring; 0: it is a stream */
  uint64_t backlog;    /* blocks not copied yet, at the last fill */
  uint64_t damaged;    /* blocks that were there, and not valid */
};
struct eventring_saver_info {
  uint64_t known, missed, saved, lost, unwritten, blocks, gaps; /* of all rings */
  uint64_t lost_ns;   /* time in which any ring lost something */
  uint32_t rings;
  uint64_t backlog;   /* complete blocks that were not copied yet, by the heads of the last
                         call */
  double fullest;     /* greatest backlog of a ring at the last fill, 0 to 1 of its blocks */
  bool full;          /* max_bytes is reached: what does not fit is not copied any more */
  uint64_t damaged;   /* blocks of all rings */
  uint32_t domains;   /* of a part: that it had, at its end; */
  uint32_t classes_lost; /* its classes for which there was no number left */
};
/* Adds the account of a ring to a sum: the counts that both have. */
static inline void eventring_saver_add(struct eventring_saver_info *sum,
                                       const struct eventring_saver_ring *ring) {
  sum->known += ring->known;
  sum->missed += ring->missed;
  sum->saved += ring->saved;
  sum->lost += ring->lost;
  sum->unwritten += ring->unwritten;
  sum->blocks += ring->blocks;
  sum->gaps += ring->gaps;
  sum->damaged += ring->damaged;
}
void eventring_saver_info_sized(eventring_saver *saver, struct eventring_saver_info *info,
                                size_t info_size);
static inline void eventring_saver_info(eventring_saver *saver,
                                        struct eventring_saver_info *info) {
  eventring_saver_info_sized(saver, info, sizeof *info);
}
/* Fills *info with the account of the n-th ring, in the order in which they were found.
   E_NOT_FOUND: there are not so many; E_ARGUMENT. */
int eventring_saver_ring_sized(eventring_saver *saver, unsigned n,
                               struct eventring_saver_ring *info, size_t info_size);
static inline int eventring_saver_ring(eventring_saver *saver, unsigned n,
                                       struct eventring_saver_ring *info) {
  return eventring_saver_ring_sized(saver, n, info, sizeof *info);
}

/* ---- Files: find, copy, remove, control -------------------------------- */

/* A file found. Valid during the callback. */
struct eventring_found {
  const char *path;
  pid_t pid;               /* of the producer, in its own pid namespace */
  enum eventring_liveness liveness;
  int status;              /* 0, or the error with which opening it fails: then only path
                              and status_text are filled */
  const char *status_text; /* its text, "" when 0 */
  const char *program;     /* "" when status is not 0 */
  uint64_t start_ns;
  int64_t start_wall_ns;
  uint64_t file_size, disk_size;
  enum eventring_state state;
  pid_t process;           /* of a live producer: its pid in the namespace of this process,
                              as eventring_open_pid takes it; 0: it is not visible from
                              here, or not live */
  enum eventring_end_reason end_reason; /* this and what follows: as in eventring_info */
  uint32_t end_detail;
  bool preserved;
  const char *error_text;  /* "" when no error was noted */
};
/* Calls `callback` for each recording found, each file once: those that live processes of
   this machine map, and the *.eventring files in the `count` directories (NULL, 0: the
   current one). Stops when the callback returns a value other than 0 and returns that;
   else returns the number of files found. Skips processes that this one may not inspect,
   and directories that it cannot read. Any thread. */
int eventring_discover(const char *const *directories, size_t count,
                       int (*callback)(void *context,
                                       const struct eventring_found *found),
                       void *context);

/* Writes a consistent copy of the recording (the front, all records and all valid blocks
   of events) to a new file `path`, mode 0600, which any cursor opens. Does not move the
   cursor. Returns 0, E_EXISTS (something is there already), E_NOT_FOUND, E_PERMISSION,
   E_SPACE, E_LIMIT, E_MEMORY, E_SYSTEM, E_CORRUPT or E_TRUNCATED; on failure no file is
   left. */
int eventring_snapshot(eventring_cursor *cursor, const char *path,
                       struct eventring_error *error);

enum {
  EVENTRING_REMOVE_ENDED = 1u,     /* also one preserved at an orderly end */
  EVENTRING_REMOVE_ANY_OWNER = 2u, /* also another user's, as far as rights allow */
  EVENTRING_REMOVE_SAVED = 4u      /* also one preserved at an orderly end, and a saved copy */
};
/* Removes a recording without a live producer. One that was preserved at an orderly end, a saved
   copy, or another user's is removed with the flag only. Errors: E_STATE (preserved, or saved),
   E_NAME (not named *.eventring), E_PERMISSION (another user's file, or no right to
   remove it), E_NOT_EVENTRING (not a regular file, or no recording), E_BUSY (a live
   process records into it), E_NOT_FOUND (no such file, or another one has got its name
   since it was checked: exactly the file that was checked is removed), E_ARGUMENT (unknown
   flags), E_MEMORY, E_SYSTEM. Any thread. */
int eventring_remove(const char *path, unsigned flags, struct eventring_error *error);

/* Control from outside, through the control page that all processes share. Probes obey a
   change at once. What the program itself must do (start a recording that stands by)
   happens at its next probe, or where its host calls eventring_domain_check. */
enum eventring_control {
  EVENTRING_CONTROL_PAUSE = 1,
  EVENTRING_CONTROL_RESUME = 2, /* also starts a recording that stands by */
  EVENTRING_CONTROL_ENABLE = 3, /* switches `classes` on */
  EVENTRING_CONTROL_DISABLE = 4, /* switches `classes` off; class lifecycle stays on */
  EVENTRING_CONTROL_HOLD = 5,   /* sets eventring_config.hold_ns to `classes` nanoseconds */
  EVENTRING_CONTROL_SAMPLE = 6,  /* sets the rate of samples of allocations to the double with
                                    the bits `classes`, 0 to 1, and switches class ALLOC on
                                    or (0) off */
  EVENTRING_CONTROL_PROFILE = 7, /* `classes` 1: keep a profile of calls; 0: do not */
  EVENTRING_CONTROL_STACKS = 8   /* `classes` 1: each domain writes its stack once, at its next
                                    safepoint (<eventring/stack.h>); 0: they need no more */
};
/* Change the control page of the live recording at `path`, or of the one that `cursor`
   reads, whatever has its path now. `classes` is a mask, used by ENABLE and DISABLE, or the
   time of HOLD.
   Return 0; E_ARGUMENT: a class has no name in the recording, or the rate is out of range
   (nothing is changed); E_STATE: no live process records into it, its rings can't grow, or
   its host does not sample allocations; E_PERMISSION (also
   of a cursor opened with OPEN_FOLLOW), E_NOT_FOUND, E_SYSTEM, E_FULL (too many guarded
   mappings in this process), E_TRUNCATED, and the errors of opening. eventring_control:
   any thread. */
int eventring_control(const char *path, enum eventring_control what,
                      uint64_t classes, struct eventring_error *error);
int eventring_cursor_control(eventring_cursor *cursor, enum eventring_control what,
                             uint64_t classes, struct eventring_error *error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_H */
