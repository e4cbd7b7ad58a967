/* SPDX-License-Identifier: MIT */
/* eventring.h: flight-recorder rings of span, counter and other events.
 *
 * A program (the *host*: a language runtime, or any program with threads)
 * records what it does in the rings of one file, `<pid>.eventring`, at the
 * cost of two clock reads and two stores a span. The same library reads such
 * files: those of its own process, of another live process, of a dead one, or
 * saved copies. doc/FORMAT.md specifies the file.
 *
 * Conventions of this header
 *  - A function that can fail returns an int: 0 or a positive result when it
 *    succeeds, else one of the negative EVENTRING_E_* codes. Where it takes a
 *    `struct eventring_error *` (which may be NULL), it fills it on failure.
 *  - The library never prints, never exits and never raises a signal.
 *  - "Any thread" says that a function may be called by any thread at any
 *    time; "owner" that only the thread that started the domain may call it.
 *  - Times are nanoseconds of CLOCK_MONOTONIC of the recorded machine, in 64
 *    bits. All readers of one file convert one event to one same time.
 *
 *  - Structures grow at their end only. A function that takes one of the caller's is an
 *    inline wrapper here, which tells the library the size that the program was compiled
 *    with (the functions ..._sized, for bindings of other languages): the library touches
 *    no more than that, so a program goes on working with later minor versions.
 *    Structures that the library hands out by pointer (events, losses, definitions, files
 *    found) may be longer than the program knows; it may copy what it knows of one.
 *    struct eventring_error has one size for good.
 *
 * Usable from C11 and C++11 with gcc or clang.
 */
#ifndef EVENTRING_H
#define EVENTRING_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
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

#define EVENTRING_MAX_DOMAINS 128  /* domains recorded at once */
#define EVENTRING_MAX_EVENTS 8192  /* event definitions in one catalogue */
#define EVENTRING_MAX_CLASSES 64   /* bits of the class mask */
#define EVENTRING_MAX_NAME 95      /* bytes of an event's name */
#define EVENTRING_MAX_UNIT 23      /* bytes of a unit */
#define EVENTRING_MAX_DOC 119      /* bytes of a description */
#define EVENTRING_MAX_FIELDS 119   /* bytes of the names of a payload's values */
#define EVENTRING_MAX_VALUES 15    /* values of one payload */
#define EVENTRING_MAX_CLASS_NAME 15
#define EVENTRING_MAX_PROGRAM 255  /* bytes of the host program's name kept */
#define EVENTRING_MAX_DOMAIN_NAME 47
#define EVENTRING_MAX_PAYLOAD 1008 /* bytes of a string or bytes payload; a
                                      longer one is cut and marked */
#define EVENTRING_MIN_WSIZE 11     /* log2 of the words in a ring: 16 KiB */
#define EVENTRING_MAX_WSIZE 24     /*                              128 MiB */
#define EVENTRING_DEFAULT_WSIZE 15 /*                              256 KiB */
#define EVENTRING_SUFFIX ".eventring"

/* The version of the library that is linked, as EVENTRING_VERSION. Any thread. */
unsigned eventring_library_version(void);

/* ---- Errors ------------------------------------------------------------ */

/* X(name, value, text) */
#define EVENTRING_ERRORS(X) \
  X(OK, 0, "no error") \
  X(E_ARGUMENT, -1, "invalid argument") \
  X(E_MEMORY, -2, "out of memory") \
  X(E_SYSTEM, -3, "system call failed") \
  X(E_DIRECTORY, -4, "the directory of the recording cannot be used") \
  X(E_EXISTS, -5, "something that is not ours is in the recording's place") \
  X(E_SPACE, -6, "no room on the disk for the recording") \
  X(E_LIMIT, -7, "a resource limit forbids the recording") \
  X(E_STATE, -8, "not possible in the recorder's present state") \
  X(E_CONFIG, -9, "invalid setting") \
  X(E_FULL, -10, "the table is full") \
  X(E_CONFLICT, -11, "the name is already defined differently") \
  X(E_NAME, -12, "invalid or too long a name") \
  X(E_NOT_FOUND, -13, "no recording found") \
  X(E_PERMISSION, -14, "permission denied") \
  X(E_NOT_EVENTRING, -15, "not an eventring file") \
  X(E_VERSION, -16, "format version not known to this reader") \
  X(E_BYTE_ORDER, -17, "recorded with another byte order") \
  X(E_CORRUPT, -18, "the file is corrupt") \
  X(E_TRUNCATED, -19, "the file is truncated") \
  X(E_BUSY, -20, "in use by a call in progress, or by a live process") \
  X(E_CLOSED, -21, "already closed") \
  X(E_LIBRARY, -22, "the library is not of the version compiled for") \
  X(E_INTERRUPTED, -23, "interrupted by a signal")

enum eventring_status {
#define EVENTRING_ENUM(name, value, text) EVENTRING_##name = value,
  EVENTRING_ERRORS(EVENTRING_ENUM)
#undef EVENTRING_ENUM
  EVENTRING_STATUS_END = 1 /* not a code; closes the list */
};

struct eventring_error {
  int code;       /* one of enum eventring_status */
  int sys_errno;  /* errno of the system call that failed, else 0 */
  char text[400]; /* one line without newline: what failed, its subject (path,
                     variable, ...) and why; always terminated */
  char reserved[104];
};

/* Can a program that was compiled with a header of version `compiled_for` use the
   library that is linked? 0, or E_LIBRARY with both versions in the text: when the
   majors differ (while the major is 0: the minors too), or the library is older
   than the header. eventring_start does this by itself; a program that only reads
   recordings calls it once, before anything else:
     if (eventring_check_version(EVENTRING_VERSION, &error) < 0) ...
   Any thread. */
int eventring_check_version(unsigned compiled_for, struct eventring_error *error);

/* The general text of a code; never NULL, "unknown error" for others.
   Any thread. */
const char *eventring_strerror(int code);

/* ---- Vocabulary -------------------------------------------------------- */

/* What a definition in the catalogue stands for. */
enum eventring_def_kind {
  EVENTRING_DEF_SPAN = 1,  /* begin and end share the definition's id */
  EVENTRING_DEF_COUNTER,   /* a value at a time; payload INT, UINT or DOUBLE */
  EVENTRING_DEF_INSTANT,     /* a point in time, with or without a payload */
  EVENTRING_DEF_LIFECYCLE, /* start, stop, pause, domains ...; payload INT */
  EVENTRING_DEF_ASYNC,     /* a span that may begin and end in different domains and
                              contexts; both have the same link */
  EVENTRING_DEF_FLOW       /* from a point through others to an end: those of one flow
                              have the same link */
};

/* What the value of a counter is. */
enum eventring_measure {
  EVENTRING_MEASURE_NONE = 0,  /* not said */
  EVENTRING_LEVEL = 1,         /* how much there is: queue length, bytes in use */
  EVENTRING_DIFFERENCE = 2,    /* what was added since the value before */
  EVENTRING_RATE = 3           /* so much a unit of time */
};

/* What a delivered event is. */
enum eventring_kind {
  EVENTRING_BEGIN = 1,
  EVENTRING_END = 2,
  EVENTRING_COUNTER = 3,
  EVENTRING_INSTANT = 4,
  EVENTRING_LIFECYCLE = 5,
  EVENTRING_LINKED = 6 /* of an async span or a flow: `role` says which end */
  /* 7 never reaches a consumer */
};

/* What an event of kind LINKED is. */
enum eventring_role {
  EVENTRING_ROLE_BEGIN = 1, /* an async span begins, a flow starts */
  EVENTRING_ROLE_END = 2,
  EVENTRING_ROLE_STEP = 3
};

/* How the payload of an event is to be understood. */
enum eventring_payload {
  EVENTRING_NONE = 0,
  EVENTRING_INT = 1,    /* int64_t */
  EVENTRING_UINT = 2,   /* uint64_t */
  EVENTRING_DOUBLE = 3, /* IEEE 754 double */
  EVENTRING_STRING = 4, /* bytes, meant as UTF-8 text */
  EVENTRING_BYTES = 5,  /* bytes */
  EVENTRING_VALUES = 6, /* several of the kinds above */
  EVENTRING_STRING_ID = 7, /* id of a string of the recording */
  EVENTRING_STACK_ID = 8,  /* id of a call stack of the recording */
  EVENTRING_RAW = 255   /* not what the definition says, or of a kind that this reader does
                           not know: the words themselves */
};

/* The rings of a domain. An event of one never overwrites those of another. A ring
   that nothing is written into takes no space. */
enum eventring_ring {
  EVENTRING_RUNTIME = 0,   /* the host's own rare and vital events */
  EVENTRING_USER = 1,      /* events of the program that runs */
  EVENTRING_ALLOC = 2,     /* samples of allocations */
  EVENTRING_CALLS = 3,     /* calls */
  EVENTRING_RING_HOST = 4, /* first of the host's own */
  EVENTRING_RINGS = 8
};

/* Classes: the bits of the mask that probes test. Those below are the same in
   every host; 16..63 are the host's own, named with eventring_define_class. */
enum eventring_class {
  EVENTRING_CLASS_LIFECYCLE = 0, /* "lifecycle" */
  EVENTRING_CLASS_GC = 1,        /* "gc" */
  EVENTRING_CLASS_DOMAIN = 2,    /* "domain" */
  EVENTRING_CLASS_USER = 3,      /* "user" */
  EVENTRING_CLASS_LOAD = 4,      /* "load": parsing, compiling, modules */
  EVENTRING_CLASS_CALLS = 5,     /* "calls", off by default */
  EVENTRING_CLASS_ALLOC = 6,     /* "alloc", off by default */
  EVENTRING_CLASS_IO = 7,        /* "io" */
  EVENTRING_CLASS_HOST = 16      /* first of the host's own */
};
#define EVENTRING_CLASS_BIT(c) ((uint64_t)1 << (c))

/* Ids that the library itself defines in every catalogue (kind LIFECYCLE,
   class LIFECYCLE, runtime ring, payload INT). */
enum eventring_builtin_id {
  EVENTRING_ID_RECORDER_START = 0, /* "recorder_start"; data: pid */
  EVENTRING_ID_RECORDER_STOP = 1,  /* "recorder_stop"; data: pid */
  EVENTRING_ID_PAUSE = 2,          /* "pause"; data: class mask before */
  EVENTRING_ID_RESUME = 3,         /* "resume"; data: class mask after */
  EVENTRING_ID_DOMAIN_START = 4,   /* "domain_start"; data: incarnation */
  EVENTRING_ID_DOMAIN_STOP = 5,    /* "domain_stop"; data: incarnation */
  EVENTRING_ID_OTHER = 6,          /* "(other)", of kind EVENT: stands for events whose
                                      name found no room or was never registered */
  EVENTRING_ID_HOST = 16           /* id of the first definition of the host */
};

/* ==== PRODUCER ==========================================================
 *
 * One recorder a process. Order of calls in a host:
 *
 *   eventring_register_table(...)          its catalogue, before or after start
 *   eventring_config_init / _from_env      what is wanted
 *   eventring_start                        makes the file (or standby page)
 *   eventring_domain_start                 in each thread that records
 *   ... probes (probe.h), register, pause, resume ...
 *   eventring_domain_stop                  in the same thread
 *   eventring_stop                         orderly end
 *
 * Domains may be started before the recorder: they record nothing until it
 * starts, and pick it up by themselves at their next probe. No failure leaves
 * anything half done: a host may ignore all results and runs on untraced.
 */

typedef struct eventring_domain eventring_domain; /* see probe.h */

enum eventring_start_mode {
  EVENTRING_START_OFF = 0,
  EVENTRING_START_ON = 1,
  EVENTRING_START_STANDBY = 2 /* header and control page only: rings appear
                                 when started from inside or outside */
};

/* Members beyond `struct_size` (the program is older than the library) have their
   defaults. */
struct eventring_config {
  size_t struct_size;     /* both set by eventring_config_init: what the program */
  unsigned version;       /* was compiled for */
  enum eventring_start_mode start;
  const char *directory;  /* of the file; NULL: the current directory */
  const char *program;    /* name of the host program; NULL: the file name of
                             the executable */
  unsigned wsize;         /* log2 of the 64-bit words in each ring */
  bool preserve;          /* keep the file at an orderly stop */
  uint64_t classes;       /* class mask at start; EVENTRING_CLASSES_DEFAULT:
                             the classes that are on by default */
  /* Called (on whichever thread meets it, at most once for each domain) when
     a domain cannot be recorded, as when the disk is full (also when
     eventring_domain_start returns the same error), or cannot be recorded any
     further; and when the file was taken from the recording
     (eventring_repair_fault).
     NULL: nothing is said. It must not call this library. */
  void (*warn)(void *context, const struct eventring_error *error);
  void *warn_context;
  bool leave_sigbus; /* do not set a handler of SIGBUS: see
                        eventring_repair_fault */
  /* Template of the file's name; NULL or empty: "%p", the pid. %n stands for the program's
     name, %t for the time in seconds since 1970, %h for the host's name and %% for a %.
     EVENTRING_SUFFIX is appended where it is missing. No slash, no control characters, at
     most 210 bytes. A further copy of the library in the process has ".2" and so on before
     the suffix. What a dead process left in the place is renamed to
     <name>-<seconds since 1970 of its start>.eventring; a name that a live process uses is
     EVENTRING_E_EXISTS. */
  const char *name;
};
#define EVENTRING_CLASSES_DEFAULT 0

/* Fills *config with the defaults (mode OFF). It is compiled into the program, so
   that the library knows what the program takes its structures to be; it writes no
   more than `struct_size` bytes. */
void eventring_config_init_for(struct eventring_config *config, size_t struct_size,
                               unsigned compiled_for);
static inline void eventring_config_init(struct eventring_config *config) {
  eventring_config_init_for(config, sizeof *config, EVENTRING_VERSION);
}

/* Overrides *config from the environment variables <prefix>_START (empty or
   "0": off; "1": on; "standby"), <prefix>_PREFIX (directory), <prefix>_PRESERVE
   (empty, "0" or "1"), <prefix>_NAME (template), <prefix>_WSIZE (EVENTRING_MIN_WSIZE ..
   EVENTRING_MAX_WSIZE), <prefix>_CLASSES (comma-separated class names that are
   to be on, "all", "none", or each with + or - before it to change the
   defaults). `prefix` is for instance "SAROS_EVENTRING". Strings are not
   copied: they point into the environment. All variables are looked at; at the
   first bad one the result is EVENTRING_E_CONFIG with a text that names the
   variable, its value and what is allowed, and config->start is OFF. A process
   that runs set-user-id ignores the environment. */
int eventring_config_from_env(struct eventring_config *config,
                              const char *prefix,
                              struct eventring_error *error);

/* Starts recording as config->start says (OFF: does nothing, returns 0). From STANDBY, a
   second call with ON starts recording in the same file. A process that records already
   goes on as it does: the caller has joined, and the result is EVENTRING_JOINED. So several
   hosts in one process, such as two language runtimes, need not know of each other; starts
   and stops are counted, and the last stop ends the recording. After the end it may be
   started again (a new file). Errors: E_LIBRARY (compiled for another version,
   see eventring_check_version), E_CONFIG (a field out of range),
   E_DIRECTORY, E_PERMISSION, E_EXISTS, E_SPACE, E_LIMIT, E_MEMORY, E_SYSTEM.
   Any thread. */
enum { EVENTRING_JOINED = 1 };
int eventring_start(const struct eventring_config *config,
                    struct eventring_error *error);

/* Orderly end: marks the file ended so that attached readers deliver the last
   event and then see the end, and removes it unless preserved. While other hosts have
   joined, it only takes back one start, and the result is EVENTRING_JOINED. Domains stay
   valid and record nothing until a next start; events that other threads
   write at this very moment may be missing. Stopping what is not started is
   no error. Any thread. */
int eventring_stop(void);

/* Like eventring_stop but keeps (true) or removes (false) the file whatever
   the configuration said. */
int eventring_stop_preserve(bool preserve);

/* For handlers of signals that end the process, just before they let the default
   action happen: what eventring_stop means for readers and for the file, with
   nothing but what a signal handler may do. Nothing is recorded afterwards. */
void eventring_end_in_handler(void);

/* The file of a recording may be cut short by whoever may write to it; the next
   store into it raises SIGBUS. eventring_start sets a handler of that signal
   (unless leave_sigbus), which puts anonymous memory in the file's place, ends
   recording for good (the state is STOPPED then, and the `warn` of that recording
   is told when the recorder is stopped or started again), and passes on every
   other SIGBUS to the handler that was there before. A host that has a handler of its own calls
   this from it: true when the address (si_addr) was ours and the access can be
   done again. Async-signal-safe. A thread that blocks SIGBUS is not protected. */
bool eventring_repair_fault(const void *address);

/* Recording stands still / goes on, with rings and file in place. Spans that
   are open across the gap are delivered as torn. E_STATE when not started; no
   error when already so. Any thread. */
int eventring_pause(void);
int eventring_resume(void);

enum eventring_state {
  EVENTRING_STOPPED = 0,
  EVENTRING_STANDBY = 1,
  EVENTRING_RUNNING = 2,
  EVENTRING_PAUSED = 3
};
enum eventring_state eventring_state(void); /* Any thread. */

/* Copies the absolute path of the present file into buffer (cut to size,
   terminated); returns its full length, 0 when stopped. Any thread. */
size_t eventring_path(char *buffer, size_t size);

/* The class mask wanted (also while paused), and its change. Bits of classes
   without a name are ignored, and class lifecycle stays on. E_STATE when stopped.
   Any thread. */
int eventring_get_classes(uint64_t *classes);
int eventring_set_classes(uint64_t classes);
/* The same for some classes, without touching the others that another thread or a
   tool may be switching at this moment. */
int eventring_enable_classes(uint64_t classes);
int eventring_disable_classes(uint64_t classes);

/* Names a class of the host (index EVENTRING_CLASS_HOST .. 63) and says
   whether it is on by default. Before eventring_start; names are compared as
   bytes; at most EVENTRING_MAX_CLASS_NAME long. */
int eventring_define_class(unsigned index, const char *name, bool on);
/* Index of a class by its name in this process, or E_NOT_FOUND; and the name of an
   index, or NULL. Any thread. */
int eventring_class_by_name(const char *name);
const char *eventring_class_name(unsigned index);

/* Nanoseconds now, on the clock of the recording (CLOCK_MONOTONIC when
   stopped). Any thread. */
uint64_t eventring_now(void);

/* -- Catalogue ----------------------------------------------------------- */

/* Unit of an integer that is the id of another definition of the same catalogue: tools
   show that one's name in its place. */
#define EVENTRING_UNIT_ID "id"

struct eventring_def {
  const char *name;   /* 1 .. EVENTRING_MAX_NAME bytes, no control characters */
  const char *unit;   /* of the payload: "ns", "words", ...; NULL: none */
  const char *doc;    /* one sentence; NULL: none; longer ones are cut */
  uint8_t kind;       /* enum eventring_def_kind */
  uint8_t event_class;/* class index, 0..63 */
  uint8_t ring;       /* enum eventring_ring: where the host writes it */
  uint8_t payload;    /* enum eventring_payload; of a span: of its begin */
  uint16_t id;        /* set by the library; ignored on registering */
  uint8_t measure;    /* enum eventring_measure; of a counter */
  const char *fields; /* payload VALUES: the names of the values, separated by commas;
                         NULL: none */
};

/* Registers `count` definitions at consecutive ids, all or none; *first gets
   the first id. The first table registered in a process starts at
   EVENTRING_ID_HOST, so that a host with one table may use constants. The
   strings are copied. Before or after start; what is registered stays for the
   life of the process. `first` may be NULL only for a host that relies on constants: then it
   is E_CONFLICT when another host has registered events before. Errors: E_FULL, E_NAME,
   E_ARGUMENT, E_CONFLICT (a name of the same kind and class exists already), E_MEMORY,
   E_SPACE. Any thread. */
int eventring_register_table_sized(const struct eventring_def *defs, size_t def_size,
                                   size_t count, unsigned *first,
                                   struct eventring_error *error);
static inline int eventring_register_table(const struct eventring_def *defs, size_t count,
                                           unsigned *first,
                                           struct eventring_error *error) {
  return eventring_register_table_sized(defs, sizeof *defs, count, first, error);
}

/* Registers one definition; returns its id. Registering the same name, kind and class again
   returns the same id when ring and payload agree, else E_CONFLICT; unit and doc of the
   first stay. When all ids are taken it returns EVENTRING_ID_OTHER, which is counted.
   Errors: E_NAME, E_ARGUMENT, E_CONFLICT, E_MEMORY, E_SPACE. Any thread; takes a lock: keep
   the id. */
int eventring_register_sized(const struct eventring_def *def, size_t def_size,
                             struct eventring_error *error);
static inline int eventring_register(const struct eventring_def *def,
                                     struct eventring_error *error) {
  return eventring_register_sized(def, sizeof *def, error);
}

/* A user event of class USER in the user ring, registered by kind and name:
   what eventring_register does with these fields. `size` bytes of name. */
int eventring_register_user(enum eventring_def_kind kind, const char *name,
                            size_t size, enum eventring_payload payload,
                            struct eventring_error *error);

/* Is this a name for an event: 1 to EVENTRING_MAX_NAME bytes of UTF-8 without control
   characters? 0, or E_NAME. Any thread. */
int eventring_check_name(const char *name, size_t size, struct eventring_error *error);

/* -- Domains ------------------------------------------------------------- */

/* Makes the calling thread the owner of a new domain named `name` (cut to
   EVENTRING_MAX_DOMAIN_NAME bytes; NULL: ""). Never returns NULL: when it
   cannot be recorded (129th domain, out of memory, disk full) it returns a
   domain whose probes do nothing, and fills *error.
     A thread may have several: its handlers of signals need one of their own, for they
   may interrupt a probe. That is started first, before the signal can come; what
   the library itself tells of the thread goes to the last one started. An event
   of a handler that interrupts the library (not a probe of another domain) is
   dropped, and counts as lost. */
eventring_domain *eventring_domain_start(const char *name,
                                         struct eventring_error *error);
/* Ends a domain: its spans still open stay open in the recording; the slot is
   free for a next domain. Owner. The pointer is invalid afterwards.
     A domain that is not stopped ends when its thread exits, after the thread's
   destructors (of pthread_key_create) have run; destructors may still use and stop it.
   Afterwards the pointer is invalid. A thread that ends without destructors (by the
   system call itself) leaves its slot in use until no other is free. */
void eventring_domain_stop(eventring_domain *domain);
/* The domain does not end when the thread that started it exits. For hosts that go on
   with a domain in another thread: one thread at a time may then be its owner, and stops
   it. For the recorder's start and stop it stays a domain of the thread that started it.
   Owner. */
void eventring_domain_unbind(eventring_domain *domain);
/* Gives a domain another name (cut to EVENTRING_MAX_DOMAIN_NAME bytes); the former one
   stays in the recording with the times. 0, E_NAME (not UTF-8, or a control character) or
   E_ARGUMENT. Any thread, while the domain is not stopped. */
int eventring_domain_rename(eventring_domain *domain, const char *name);
/* Slot of a domain in the file, 0..127; -1 when it is not being recorded.
   Owner. */
int eventring_domain_slot(const eventring_domain *domain);
/* Lets a domain take up what was asked of the recorder from elsewhere (start
   from standby, stop). Not necessary where probes run; for hosts with safe
   points. Owner. */
void eventring_domain_check(eventring_domain *domain);
/* Bytes of the rings that the domain is recorded in; 0 when it is not. Owner. */
uint64_t eventring_domain_bytes(const eventring_domain *domain);
/* Events written by this domain into a ring since its slot was first used
   (of all incarnations), exact. Owner. 0 when not recorded. */
uint64_t eventring_domain_emitted(const eventring_domain *domain,
                                  enum eventring_ring ring);

/* In the child of fork(): true when this process was forked from one that
   recorded and has not started a recording of its own. The child never writes
   to its parent's rings; its domains (of the forking thread) stay valid and
   silent; the host may call eventring_start to have a file of its own. (A child
   made by the clone system call itself, past the C library, has its parent's
   rings: no probe may run in it, and of this library only what ends a domain or the
   recording, which then does nothing. So it may exec, _exit, or exit.) */
bool eventring_forked(void);

/* ==== CONSUMER ==========================================================
 *
 * A cursor reads all rings of one file from the oldest event still there on.
 * Cursors are independent, invisible to the producer, and each used by one
 * thread at a time.
 */

typedef struct eventring_cursor eventring_cursor;

/* Flags for opening. */
enum {
  EVENTRING_OPEN_MERGED = 1, /* deliver the events of all rings of one poll
                                merged by time (otherwise ring by ring) */
  EVENTRING_OPEN_NOW = 2,    /* skip what is already in the rings: start at the
                                present; spans open now are delivered first */
  EVENTRING_OPEN_UNMAPPED = 4 /* see below */
};

/* A file of a local file system is mapped, for reading, when the cursor is opened. Should
   someone cut it short, a poll returns E_TRUNCATED: the fault is caught by the library's
   handler of SIGBUS, which is there while such a cursor is, and passes on what is not its
   own. A cursor is polled by threads that have SIGBUS not blocked. Where the handler
   would be in the way, OPEN_UNMAPPED has the file read with system calls instead (1 ns an
   event more; an idle poll takes 0.5 us a ring); so it is by itself where the library
   sees that it can't be guarded or mapped. */

/* Opens the recording of this process (E_STATE when stopped). */
int eventring_open_self(eventring_cursor **cursor, unsigned flags,
                        struct eventring_error *error);
/* Opens the recording of process `pid`, found by what it maps (/proc/PID/maps) and read
   as a file, also that of this process. E_NOT_FOUND: no such process or it does not
   record; E_PERMISSION. */
int eventring_open_pid(eventring_cursor **cursor, pid_t pid, unsigned flags,
                       struct eventring_error *error);
/* Opens a file: of a live or a dead process or a saved copy. Never follows a
   symbolic link at the last component. */
int eventring_open_path(eventring_cursor **cursor, const char *path,
                        unsigned flags, struct eventring_error *error);
/* Opens a PID or a FILE as a command's argument names it: all digits and no
   such file: a pid. */
int eventring_open_any(eventring_cursor **cursor, const char *pid_or_path,
                       unsigned flags, struct eventring_error *error);
/* Closes; NULL is allowed. From within a callback of this cursor's own poll:
   E_BUSY, nothing is done. */
int eventring_close(eventring_cursor *cursor);

/* Flags of a delivered event. */
enum {
  EVENTRING_SYNTHETIC = 1, /* made by the reader, not counted as delivered: the
                              begin of a span that was already open where
                              reading starts (ns: its true begin), or the end of
                              one whose own end was lost (ns: when that was
                              known; always with TORN) */
  EVENTRING_TORN = 2,      /* an end whose begin is unknown, or synthetic end:
                              no duration can be told */
  EVENTRING_MATCHED = 4,   /* an end whose begin is known: begin_ns is valid */
  EVENTRING_TRUNCATED = 8, /* payload was longer than EVENTRING_MAX_PAYLOAD */
  EVENTRING_UNKNOWN = 16   /* no definition of this id, or only a later one: the name is
                              "(other)" */
};

struct eventring_event {
  uint64_t ns;          /* when */
  uint64_t begin_ns;    /* of an end with MATCHED: when it began; of a begin:
                           the same as ns; else 0 */
  uint32_t domain;      /* slot, 0..127 */
  uint32_t incarnation; /* of the slot, from 1 */
  uint16_t id;
  uint8_t ring;         /* enum eventring_ring */
  uint8_t kind;         /* enum eventring_kind */
  uint8_t event_class;
  uint8_t payload;      /* enum eventring_payload of this very event */
  uint16_t flags;
  uint32_t depth;       /* spans of its context that are open in this ring around it (of a
                           begin or an end: around that span) */
  const char *name;     /* valid as long as the cursor; never NULL */
  const struct eventring_def *def; /* NULL when UNKNOWN */
  union {
    int64_t i;  /* INT */
    uint64_t u; /* UINT */
    double d;   /* DOUBLE */
  } value;
  const void *bytes;    /* STRING, BYTES, VALUES, RAW: valid during the callback; not
                           terminated */
  size_t size;          /* bytes there */
  uint64_t context;     /* of the event; 0: none */
  uint64_t suspended_ns; /* of an end with MATCHED: for how long its context was suspended
                            since the begin */
  uint64_t link;        /* LINKED: what events of one async span or flow have in common */
  uint8_t role;         /* LINKED: enum eventring_role; else 0 */
};

/* One of the values of a payload VALUES. */
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
/* Takes the payload of an event apart: its values, at most `room`; returns how many there
   are (one for payloads that are no VALUES, none for NONE and RAW). To be called within the
   callback. */
size_t eventring_event_values(const struct eventring_event *event,
                              struct eventring_value *values, size_t room);

enum { EVENTRING_LOST_BEFORE = 1 /* overwritten before this cursor was opened */ };

struct eventring_loss {
  uint32_t domain;
  uint32_t incarnation; /* of the first block read after the loss */
  uint8_t ring;
  uint8_t flags;        /* EVENTRING_LOST_BEFORE */
  uint64_t count;       /* events, exact */
  uint64_t ns;          /* time from which reading goes on */
};

/* Callbacks may do anything, emitting events and polling other cursors
   included, except polling or closing this cursor (E_BUSY) and leaving by
   longjmp or a C++ exception. A result other than 0 ends the poll after this
   event, which counts as delivered; the next poll goes on after it. */
struct eventring_callbacks {
  int (*event)(void *context, const struct eventring_event *event);
  int (*lost)(void *context, const struct eventring_loss *loss);
};

/* Delivers what the producers had written when it was called, at most `max`
   events (0: no maximum; synthetic ones don't count), in time order within each
   ring. Always returns, whatever the callbacks emit. Either callback may be
   NULL. Returns the number of events delivered (synthetic ones not counted,
   INT_MAX at most), or an error: E_BUSY, E_CORRUPT, E_TRUNCATED, E_SYSTEM,
   E_MEMORY (text: eventring_cursor_error). After an error of the file the cursor
   may be polled again; it goes on where that is possible. */
int eventring_poll_sized(eventring_cursor *cursor,
                         const struct eventring_callbacks *callbacks,
                         size_t callbacks_size, void *context, uint64_t max);
static inline int eventring_poll(eventring_cursor *cursor,
                                 const struct eventring_callbacks *callbacks,
                                 void *context, uint64_t max) {
  return eventring_poll_sized(cursor, callbacks, sizeof *callbacks, context, max);
}

#define EVENTRING_FOREVER UINT64_MAX

/* Blocks until the next poll of this cursor has something to do, at most `timeout_ns`
   nanoseconds (0: only looks; EVENTRING_FOREVER: no limit). Returns
     1  poll now: there are events, the last poll was ended by its maximum or by a
        callback, there is damage to report, or the producer has ended or died (then
        always; eventring_finished becomes true with the poll);
     0  the time is up;
     E_INTERRUPTED  a handler of a signal ran in this thread while it slept, whatever
        SA_RESTART says. A signal that comes between two sleeps is not noticed: a
        program that is to see its handler's flag soon gives a timeout and calls again;
     E_BUSY (from within a callback of this cursor's own poll), E_ARGUMENT.
   The producer notices nothing and does not wake the reader: it sleeps for 0.05 to 8 ms
   at a time, the longer the less there is. News is seen within 10 ms; waiting for an idle
   process takes less than 0.5 % of a processor (a cursor that reads with system calls,
   OPEN_UNMAPPED: 0.5 us more a ring and look, 0.006 % a ring). A reading loop:
     while ((n = eventring_poll(c, &callbacks, context, 0)) >= 0 &&
            !eventring_finished(c) && eventring_wait(c, EVENTRING_FOREVER) > 0) {}
   To be called by the thread that uses the cursor. */
int eventring_wait(eventring_cursor *cursor, uint64_t timeout_ns);

/* The last error of a poll; never NULL. */
const struct eventring_error *
eventring_cursor_error(const eventring_cursor *cursor);

enum eventring_liveness {
  EVENTRING_LIVE = 1,     /* the producer runs */
  EVENTRING_ENDED = 2,    /* it came to an orderly end */
  EVENTRING_DEAD = 3,     /* it died without one */
  EVENTRING_SAVED = 4     /* a snapshot or recording */
};
/* Asks anew each time. */
enum eventring_liveness eventring_cursor_liveness(eventring_cursor *cursor);
/* True when a poll has delivered the last event that will ever be: the end of a reading
   loop (eventring_wait). */
bool eventring_finished(eventring_cursor *cursor);

/* Calls `callback` with a synthetic begin for each span that is open where
   the cursor stands, outermost first, ring by ring. */
int eventring_open_spans(eventring_cursor *cursor,
                         int (*callback)(void *context,
                                         const struct eventring_event *event),
                         void *context);

/* -- What the file says of itself ---------------------------------------- */

struct eventring_info {
  char path[1024];         /* as opened; of a pid: where it was found */
  char program[EVENTRING_MAX_PROGRAM + 1];
  uint32_t version;        /* of the format */
  pid_t pid;               /* of the producer */
  uint64_t process_start;  /* clock ticks after boot, as in /proc/PID/stat */
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
  uint32_t blocks;         /* blocks of a ring */
  uint32_t block_words;    /* words of a block, header included */
  uint32_t events;         /* definitions in the catalogue */
  uint32_t max_domains;
  uint32_t domains_laid_out; /* slots that have rings */
  uint64_t file_size;      /* bytes, apparent */
  uint64_t disk_size;      /* bytes allocated */
  uint64_t control_word;   /* the control word as it stands in the file */
  bool control_malformed;  /* it is none that this library writes: the producer
                              will ignore it */
  uint64_t control_rejected; /* malformed ones that the producer has ignored */
  uint64_t blocks_claimed;   /* of the file */
  uint64_t unknown_blocks;   /* of kinds that this reader does not know; passed over */
  uint64_t unknown_records;  /* of types that it does not know */
  uint64_t names_dropped;    /* definitions that found no room: their events are "(other)" */
  uint64_t lives_dropped;    /* lives of domains that were overwritten by later ones */
};
int eventring_cursor_info_sized(eventring_cursor *cursor, struct eventring_info *info,
                                size_t info_size);
static inline int eventring_cursor_info(eventring_cursor *cursor,
                                        struct eventring_info *info) {
  return eventring_cursor_info_sized(cursor, info, sizeof *info);
}
/* Name of a class in this file, or NULL. Valid as long as the cursor. */
const char *eventring_cursor_class(const eventring_cursor *cursor,
                                   unsigned index);
/* Definition number `id`, or NULL. Valid as long as the cursor. Definitions
   that the producer added since are there after a poll or _cursor_info. */
const struct eventring_def *eventring_cursor_def(const eventring_cursor *cursor,
                                                 unsigned id);

struct eventring_domain_info {
  uint32_t slot;
  uint32_t incarnation; /* number of domains that used the slot so far */
  bool alive;           /* a domain runs in it */
  pid_t tid;            /* of its thread */
  char name[EVENTRING_MAX_DOMAIN_NAME + 1];
  uint64_t start_ns;
  uint64_t stop_ns;     /* 0 while alive */
};
/* Slot 0..127; E_NOT_FOUND when it was never used. */
int eventring_cursor_domain_sized(eventring_cursor *cursor, unsigned slot,
                                  struct eventring_domain_info *info, size_t info_size);
static inline int eventring_cursor_domain(eventring_cursor *cursor, unsigned slot,
                                          struct eventring_domain_info *info) {
  return eventring_cursor_domain_sized(cursor, slot, info, sizeof *info);
}

/* The same of an earlier domain of the slot, by its incarnation: E_NOT_FOUND when there was
   none or its record is gone (of some thousands the latest are kept). */
int eventring_cursor_life_sized(eventring_cursor *cursor, unsigned slot, uint32_t incarnation,
                                struct eventring_domain_info *info, size_t info_size);
static inline int eventring_cursor_life(eventring_cursor *cursor, unsigned slot,
                                        uint32_t incarnation,
                                        struct eventring_domain_info *info) {
  return eventring_cursor_life_sized(cursor, slot, incarnation, info, sizeof *info);
}
/* Name of a ring in this file, or NULL. Valid as long as the cursor. */
const char *eventring_cursor_ring_name(const eventring_cursor *cursor, unsigned ring);

struct eventring_ring_info {
  uint64_t emitted;   /* events written into the ring so far */
  uint64_t available; /* of these, still there to be read */
  uint64_t blocks_written; /* sequence number of the newest block */
  uint64_t oldest_ns; /* time of the oldest event block that is there, or 0 */
  uint64_t newest_ns; /* time of the newest event, or 0 */
  /* of this cursor: emitted = missed + delivered + lost + still to come */
  uint64_t missed;    /* overwritten (or skipped, OPEN_NOW) before it opened; where a
                         ring had gone round by then: before its first poll */
  uint64_t delivered;
  uint64_t lost;
  uint64_t torn;      /* spans delivered as torn */
  uint32_t blocks;    /* of the ring */
};
int eventring_cursor_ring_sized(eventring_cursor *cursor, unsigned slot,
                                enum eventring_ring ring,
                                struct eventring_ring_info *info, size_t info_size);
static inline int eventring_cursor_ring(eventring_cursor *cursor, unsigned slot,
                                        enum eventring_ring ring,
                                        struct eventring_ring_info *info) {
  return eventring_cursor_ring_sized(cursor, slot, ring, info, sizeof *info);
}

struct eventring_totals { /* sums over all rings */
  uint64_t missed, delivered, lost, torn;
};
void eventring_cursor_totals_sized(const eventring_cursor *cursor,
                                   struct eventring_totals *totals, size_t totals_size);
static inline void eventring_cursor_totals(const eventring_cursor *cursor,
                                           struct eventring_totals *totals) {
  eventring_cursor_totals_sized(cursor, totals, sizeof *totals);
}

/* ---- Files: find, copy, remove, control -------------------------------- */

struct eventring_found {
  const char *path;
  pid_t pid;
  enum eventring_liveness liveness;
  int status;              /* 0, or the error with which opening it fails */
  const char *status_text; /* its text, "" when 0 */
  const char *program;     /* "" when status is not 0 */
  uint64_t start_ns;
  int64_t start_wall_ns;
  uint64_t file_size, disk_size;
  enum eventring_state state;
};
/* Calls `callback` for each recording found: those that live processes of
   this machine map, and the *.eventring files in the directories given (NULL,
   0: the current one), each file once. Stops when the callback returns
   non-zero and returns that; else returns the number found. Processes that we
   may not look at are passed over. */
int eventring_discover(const char *const *directories, size_t count,
                       int (*callback)(void *context,
                                       const struct eventring_found *found),
                       void *context);

/* Writes a consistent copy of the recording (header, catalogue and all blocks
   that are valid, as a file that any cursor opens) to `path`, which must not
   exist (E_EXISTS). Does not move the cursor. */
int eventring_snapshot(eventring_cursor *cursor, const char *path,
                       struct eventring_error *error);

/* Removes a recording of a dead process: a regular file, ours, an eventring
   file, named *.eventring, with no live producer (else E_BUSY), whether it came to
   an orderly end or not. The file that was looked at is the one that goes: E_NOT_FOUND
   when another one has its name meanwhile. */
int eventring_remove_dead(const char *path, struct eventring_error *error);

enum {
  EVENTRING_REMOVE_ENDED = 1u,    /* also one preserved at an orderly end */
  EVENTRING_REMOVE_ANY_OWNER = 2u /* also another user's, as far as rights allow */
};
/* The same, but what was preserved at an orderly end and what is another user's is
   removed with the flag only (else E_STATE, E_PERMISSION), a saved copy never
   (E_STATE). */
int eventring_remove(const char *path, unsigned flags, struct eventring_error *error);

/* Control from outside, through the control page that all processes share. Probes
   heed a change at once; what needs the program's own action (the start of what
   stands by) is done at its next safe point: any probe, or where its host calls
   eventring_domain_check. */
enum eventring_control {
  EVENTRING_CONTROL_PAUSE = 1,
  EVENTRING_CONTROL_RESUME = 2, /* also starts what stands by */
  EVENTRING_CONTROL_ENABLE = 3, /* adds the classes */
  EVENTRING_CONTROL_DISABLE = 4 /* takes the classes away; class lifecycle stays */
};
/* Changes the control page of the live recording at `path`, or of the one that
   `cursor` reads (whatever its path means by now). E_ARGUMENT: a class that has no
   name in the recording (nothing is changed); E_STATE: no live process records
   into it; E_PERMISSION, E_NOT_FOUND, E_SYSTEM, and the errors of opening. */
int eventring_control(const char *path, enum eventring_control what,
                      uint64_t classes, struct eventring_error *error);
int eventring_cursor_control(eventring_cursor *cursor, enum eventring_control what,
                             uint64_t classes, struct eventring_error *error);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_H */
