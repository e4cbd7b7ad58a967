/* SPDX-License-Identifier: MIT */
/* types.h: the words that a host and a reader share: errors, limits, and what definitions
 * and events are.
 *
 * Conventions of all headers of libeventring
 *  - A function that can fail returns an int: 0 or a positive result on success, else one
 *    of the negative EVENTRING_E_* codes, which the comments write without the prefix
 *    ("E_STATE"). A function that takes a `struct eventring_error *` fills it on failure;
 *    the pointer may be NULL. E_ARGUMENT (a pointer that must not be NULL, a value out of
 *    range) is listed only where it may surprise.
 *  - The library never prints, never exits and never raises a signal.
 *  - Threads: "Any thread" means any thread at any time, but no signal handler unless the
 *    comment says "async-signal-safe". "Owner" means only the thread that started the
 *    domain. Any thread may call a function that takes a cursor, but only one thread at a
 *    time.
 *  - Names and texts are UTF-8. Texts that a function takes are copied, unless it says
 *    otherwise.
 *  - Times are in nanoseconds of CLOCK_MONOTONIC of the recorded machine, in 64 bits. All
 *    readers of a file convert an event to the same time.
 *  - Structures grow only at their end. The first member of a structure that the caller
 *    passes is `size`, its sizeof, which the caller sets (`struct eventring_info info =
 *    {.size = sizeof info};`); 0 is E_ARGUMENT. The library touches no more than this
 *    size, so a program goes on working with later minor versions. Structures that the
 *    library hands out by pointer (events, losses, definitions, files found) have no
 *    `size` and may be longer than the program knows: it may copy the part that it knows.
 *    VERSIONS.md has the whole rule.
 *
 * Usable from C11 and C++11 with gcc or clang.
 */
#ifndef EVENTRING_TYPES_H
#define EVENTRING_TYPES_H

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
#define EVENTRING_MAX_CALL_NAMES 480 /* names of functions, with commas between them */
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
  /* codes of results that are no failures */
  /* another host has started the recording (eventring_start, _stop) */
  EVENTRING_JOINED = 1,
  EVENTRING_ELSEWHERE = 2, /* the file is in another directory (eventring_start) */
  EVENTRING_LOSING = 3,    /* a ring or stream finds no room (eventring_config.warn) */
  EVENTRING_UNSAVED = 4,   /* a trigger's copy cannot be saved (eventring_config.warn) */
  EVENTRING_AGAIN = 5,     /* one more update is needed (eventring_saver_front) */
  EVENTRING_DELETED = 6    /* the file was deleted (eventring_config.warn) */
};

struct eventring_error {
  int code;       /* one of enum eventring_status */
  int sys_errno;  /* errno of the system call that failed, else 0 */
  char text[400]; /* one line without newline: what failed, its subject (path, variable,
                     ...) and why; always terminated */
  char reserved[104];
};

/* Checks that a program compiled with a header of version `compiled_for` can use the
   linked library. Returns 0, or E_LIBRARY with both versions in the text if the majors
   differ (while the major is 0, the minors), or the library is older than the header.
   eventring_start makes this check itself; a program that only reads recordings makes it
   once, first:
     if (eventring_check_version(EVENTRING_VERSION, &error) < 0) ...
   Any thread. */
int eventring_check_version(unsigned compiled_for, struct eventring_error *error);

/* Returns the general text of a code, "unknown error" for a number that is no code; never
   NULL. Any thread, async-signal-safe. */
const char *eventring_strerror(int code);

/* ---- Foreign text ------------------------------------------------------
 *
 * Others choose names, string payloads and paths, and some characters in them must not
 * reach a terminal: control characters, marks of direction, separators of lines and
 * characters without width change what is shown around them. (The names that a cursor
 * returns are UTF-8 without control characters; payloads are as they were recorded.)
 * For all: any thread. */

/* A character of a text. */
struct eventring_character {
  uint32_t code;  /* its code point; 0 when it is not valid */
  uint8_t size;   /* bytes that it takes; 1 when it is not valid */
  bool valid;     /* UTF-8, as of RFC 3629 */
  bool printable; /* valid, and may be shown as it is */
};
/* Returns the character at the start of `text`, which has `size` bytes, 1 or more. */
struct eventring_character eventring_character_at(const void *text, size_t size);
/* Copies text; writes characters that are not printable, bytes that are not UTF-8 and
   backslashes as \xNN for each byte, with two hexadecimal digits. The copy is terminated
   and fits into `room` bytes, 1 or more; 4 * size + 1 are always enough, and what does
   not fit is left out. Returns `safe`. */
char *eventring_printable(char *safe, size_t room, const void *text, size_t size);
/* Returns how many of the `size` bytes of a text to keep where there is room for `room`:
   `room`, or up to three fewer if the last character would be cut. A text that is not
   UTF-8 up to that point is cut after `room` bytes. The library cuts payloads of probes
   in this way. Any thread. */
size_t eventring_text_fit(const void *text, size_t size, size_t room);

/* ---- Vocabulary -------------------------------------------------------- */

/* What a definition in the catalogue stands for. */
enum eventring_def_kind {
  EVENTRING_DEF_SPAN = 1,  /* a begin and an end, which share the definition's id */
  EVENTRING_DEF_COUNTER,   /* a number at a point in time; payload INT, UINT or DOUBLE */
  EVENTRING_DEF_INSTANT,   /* a point in time, with or without payload */
  EVENTRING_DEF_LIFECYCLE, /* start, stop, pause, domains ...; payload INT */
  EVENTRING_DEF_ASYNC,     /* a span that may begin and end in different domains and
                              contexts; begin and end carry the same link */
  EVENTRING_DEF_FLOW       /* a start, steps and an end in any domains and contexts; all
                              events of one flow carry the same link */
};

/* What the number of a counter means, or what the ends of a span say. */
enum eventring_measure {
  EVENTRING_MEASURE_NONE = 0, /* not stated */
  EVENTRING_LEVEL = 1,        /* a present amount: queue length, bytes in use */
  EVENTRING_DIFFERENCE = 2,   /* the amount added since the previous value */
  EVENTRING_RATE = 3,         /* an amount per unit of time */
  /* for spans: for how long the thread was not on a processor (eventring_end_off_cpu) */
  EVENTRING_OFF_CPU = 4
};

/* What an event is about. `pauses`, `diff`, `check` and triggers find events by this,
   whatever their names are. Amounts of memory are in words (8 bytes each) where the unit
   is "words", else in bytes. Events with a quantity are of class gc unless something else
   is said. X(name, text, kind of definition, what it is) */
#define EVENTRING_QUANTITIES(X) \
  X(ALLOCATED, "allocated", COUNTER, "allocated since the value before") \
  X(PROMOTED, "promoted", COUNTER, "of that, what was promoted since the value before") \
  X(HEAP, "heap", COUNTER, "memory in use by the domain") \
  X(PAUSE_WORK, "pause_work", COUNTER, "what the collector did in the pause that ended before") \
  X(OFF_CPU, "off_cpu", COUNTER, "ns for which the thread was not on a processor, between pauses") \
  X(CYCLE_BEGIN, "cycle_begin", LIFECYCLE, "a collection over many pauses begins; its number") \
  X(CYCLE_END, "cycle_end", LIFECYCLE, "it has ended; its number")
enum eventring_quantity {
  EVENTRING_QUANTITY_NONE = 0, /* no quantity that readers know */
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
  /* an event of an async span or a flow; `role` says which part of it */
  EVENTRING_LINKED = 6
  /* 7 is used inside the file only and never delivered */
};

/* What an event of kind LINKED is. */
enum eventring_role {
  EVENTRING_ROLE_BEGIN = 1, /* an async span begins, a flow starts */
  EVENTRING_ROLE_END = 2,   /* an async span or a flow ends */
  EVENTRING_ROLE_STEP = 3   /* a point of a flow between start and end */
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
  EVENTRING_STACK_ID = 8,  /* id of a call stack of the recording */
  EVENTRING_SAMPLE = 9,    /* a sample of an allocation, see eventring_event_memory:
                              `bytes` are its words */
  EVENTRING_RAW = 255      /* the words as they are: they do not match the definition, or
                              are of a kind that this reader does not know. Only in
                              delivered events */
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

/* Classes: groups of events that are switched on and off together. Each is a bit of the
   mask that probes test. The library reserves 0 to 15 and names those below, which are
   the same in every host; 16 to 63 are the host's own, named with
   eventring_define_class. */
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
                                     collector calls. They are not in class gc, whose
                                     spans tools add up as time in the collector */
  EVENTRING_CLASS_HOST = 16      /* the first class of the host's own */
};
#define EVENTRING_CLASS_BIT(c) ((uint64_t)1 << (c))

/* Ids that the library itself defines in every catalogue: lifecycle events of class
   LIFECYCLE in the runtime ring with payload INT, except OTHER. */
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
  EVENTRING_ID_HOST = 16           /* id of the first definition of a host */
};

/* Unit of an integer that is the id of another definition of the same catalogue; tools
   show the name of that definition in its place. */
#define EVENTRING_UNIT_ID "id"

/* A definition: what the id of an event stands for. Kind, class and name together are
   unique in a process. */
struct eventring_def {
  const char *name;   /* 1 to EVENTRING_MAX_NAME bytes of UTF-8, no control characters */
  /* unit of the payload: "ns", "words", ...; at most EVENTRING_MAX_UNIT bytes; NULL if
     none */
  const char *unit;
  const char *doc;    /* one sentence, cut to EVENTRING_MAX_DOC bytes; NULL if none */
  uint8_t kind;       /* enum eventring_def_kind */
  /* class, 0..63, that has a name: one of the library's, or one defined
     (eventring_define_class) before the event is registered */
  uint8_t event_class;
  uint8_t ring; /* enum eventring_ring: the ring into which the host writes the event */
  /* enum eventring_payload. For a span, the payload of its begin: NONE, INT, UINT,
     STRING, BYTES or VALUES. For a counter, INT, UINT or DOUBLE. For a lifecycle event,
     INT. For an async span or a flow, the payload after link and role */
  uint8_t payload;
  uint16_t id;        /* set by the library; ignored on registering */
  uint8_t measure;    /* enum eventring_measure; of a counter or a span */
  uint8_t quantity;   /* enum eventring_quantity, of the kind of this definition */
  /* names of the values of a payload VALUES, separated by commas, cut to
     EVENTRING_MAX_FIELDS bytes; NULL if none */
  const char *fields;
};

/* Tells whether the numbers of a definition's events are in words of 8 bytes. Any
   thread. */
static inline bool eventring_is_in_words(const struct eventring_def *def) {
  return def->unit && strcmp(def->unit, "words") == 0;
}

/* ---- A recording ------------------------------------------------------- */

enum { EVENTRING_MAX_END_TEXT = 2048 }; /* bytes of an error text that ends a process */

enum eventring_state {
  EVENTRING_STOPPED = 0,
  EVENTRING_STANDBY = 1,
  EVENTRING_RUNNING = 2,
  EVENTRING_PAUSED = 3
};

enum eventring_liveness {
  EVENTRING_LIVE = 1,     /* the producer runs */
  EVENTRING_ENDED = 2,    /* it ended in order */
  EVENTRING_DEAD = 3,     /* it died without an orderly end */
  EVENTRING_SAVED = 4     /* the file is a copy of a recording that went on */
};

enum eventring_end_reason { /* why a recording has ended */
  /* the recording has not ended, or was killed, or does not say */
  EVENTRING_END_UNKNOWN = 0,
  EVENTRING_END_STOPPED = 1, /* eventring_stop was called */
  EVENTRING_END_EXIT = 2,    /* the process exited; detail: the exit status */
  /* a signal ended the process; detail: its number, 0 when not known */
  EVENTRING_END_SIGNAL = 3,
  EVENTRING_END_DELETED = 4  /* its file was deleted: the process goes on recording in
                                another file */
};

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_TYPES_H */
