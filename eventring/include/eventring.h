/* SPDX-License-Identifier: MIT */
/* eventring.h: flight-recorder rings of spans, counters and other events, for a program
 * that records.
 *
 * A program (the *host*: a language runtime, or any program with threads) records what it
 * does in one file, `<pid>.eventring`. Each thread that records is a *domain* and writes
 * into rings of its own; the newest events of a ring overwrite its oldest. A span costs
 * two clock reads and two stores into the ring. doc/FORMAT.md specifies the file.
 *
 * This header starts and stops a recording, defines events and owns domains; the probes
 * that write events are in <eventring/probe.h>. Recordings are read through
 * <eventring/read.h>, in the same process or in another one. Conventions of all headers
 * (errors, threads, texts, times, structures): <eventring/types.h>.
 */
#ifndef EVENTRING_H
#define EVENTRING_H

#include "eventring/types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

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
  EVENTRING_PRESERVE_ON_ERROR = 2 /* remove it, unless the exit status is not 0, an
                                     error was noted (eventring_note_error), or a
                                     signal ends the process (eventring_note_signal) */
};
enum { EVENTRING_DEFAULT_KEEP = 8, EVENTRING_MAX_KEEP = 1000000 };

/* Fill it with eventring_config_init. Members beyond `size` (the program is older
   than the library) have their defaults. */
struct eventring_config {
  size_t size;            /* both set by eventring_config_init: what the program */
  unsigned version;       /* was compiled for */
  enum eventring_start_mode start; /* default: OFF */
  /* directory of the file; NULL or empty for the current directory, or another one where
     that cannot be used (see eventring_start) */
  const char *directory;
  const char *program;    /* name of the host program; NULL for that of the executable */
  unsigned wsize;         /* log2 of the 64-bit words in each ring, EVENTRING_MIN_WSIZE to
                             EVENTRING_MAX_WSIZE; default: EVENTRING_DEFAULT_WSIZE */
  uint8_t preserve;       /* enum eventring_preserve: what becomes of the file when the
                             recording ends; default: ON_ERROR */
  uint64_t classes;       /* class mask at the start; EVENTRING_CLASSES_DEFAULT: the
                             classes that are on by default */
  /* Receives warnings, on the thread that finds the problem. It must not call this
     library. NULL for no warnings. `warn` is called
     - at most once for each domain that cannot be recorded, or no longer (when out of
       memory, for example; also when eventring_domain_start returns the same error);
     - when the file was taken from the recording (eventring_repair_fault);
     - when the recording of a forked child cannot start, or starts elsewhere
       (EVENTRING_ELSEWHERE);
     - once when a ring finds no room on the disk and goes on in the blocks that it has,
       or when a stream finds no room and loses events until there is room again
       (EVENTRING_LOSING);
     - once for each trigger whose copy cannot be saved (EVENTRING_UNSAVED);
     - when the file was deleted and recording goes on in a new one, and once if no new
       file can be made (EVENTRING_DELETED: words of the control page, as
       eventring_calls_word returns them, must be asked for again);
     - with E_LEFT when the recording has ended, also at exit, and its file could not be
       removed. */
  void (*warn)(void *context, const struct eventring_error *error);
  void *warn_context;     /* the first argument of `warn` */
  bool leave_sigbus;      /* do not set a handler of SIGBUS: see eventring_repair_fault */
  /* Template of the file's name, without slash and control characters. The expanded name
     has at most 210 bytes. %p stands for the pid, %n for the program's name, %t for the
     time in seconds since 1970, %h for the host's name, %% for a %. NULL or empty: "%p".
     EVENTRING_SUFFIX is appended where it is missing. The file of a further copy of the
     library in the same process has ".2" and so on before the suffix. A recording of a
     dead process in this place is renamed to <name>-<its start in seconds since
     1970>.eventring. When a live process uses the name, eventring_start fails with
     E_EXISTS. */
  const char *name;
  /* A ring that would hold less than the last hold_ns nanoseconds grows until it holds
     them. All rings together grow by at most grow_bytes bytes, and one ring by at most a
     quarter of that. If hold_ns is 0, rings keep the size that wsize says. If grow_bytes
     is 0, it is EVENTRING_DEFAULT_GROW. */
  uint64_t hold_ns;
  uint64_t grow_bytes;
  /* With preserve ON_ERROR: at most this many recordings of dead processes with the same
     program name stay in the directory: 1 to EVENTRING_MAX_KEEP, or 0 for no bound;
     default: EVENTRING_DEFAULT_KEEP. A start, and an end that keeps the file, remove the
     oldest recordings. They never remove snapshots, files of another user, or recordings
     that were to be preserved ALWAYS. With `keep_preserved` the bound holds with preserve
     ALWAYS, too, and counts and removes recordings that were to be preserved ALWAYS. */
  unsigned keep;
  /* The child of a fork is recorded as its parent was (eventring_fork_pending), unless it
     execs or exits soon. Default: false. */
  bool follow_forks;
  bool no_cpu_time;       /* do not measure for how long threads are not on a processor:
                             eventring_off_cpu_begin returns 0, and definitions of spans
                             do not say OFF_CPU */
  /* A path makes this recording a stream: blocks of events are appended to the file at
     this path (not in `directory`), so that nothing is overwritten. Its last component is
     a template like `name`. The file stays at the end, whatever `preserve` says. While
     the file has no room for more, events are lost and counted; `warn` is called once.
     The path ends before a comma. If `stream` is NULL or empty, there is no stream, only
     rings. Rings that are no streams (stream_rings) are in the same file, used in a
     circle. */
  const char *stream;
  /* most bytes of the file, EVENTRING_LEAST_STREAM or more; 0 for no limit but the
     disk */
  uint64_t stream_max;
  /* bit n: ring n of each domain is a stream; 0 if all rings are */
  uint32_t stream_rings;
  bool has_samples;       /* the host samples allocations as the recording asks for it
                             (eventring_memory_rate); default: false */
  /* rate of samples at the start, 0 (none) to 1, see eventring_memory_parse_rate. If it
     is above 0, class ALLOC is on at the start, whatever `classes` says */
  double sample_rate;
  bool profiles_calls;    /* the host keeps a profile of calls when
                             eventring_calls_word says so (<eventring/calls.h>);
                             default: false */
  /* the host writes spans of class calls for the functions that eventring_calls_names
     lists (<eventring/calls.h>); default: false */
  bool names_calls;
  bool writes_stacks;     /* the host writes stacks when eventring_stack_asked says so
                             (<eventring/stack.h>). Default: false */
  /* A list of triggers, with `;` between them (<eventring/conditions.h>), which replaces
     the list of an earlier recording. NULL or empty for no triggers. */
  const char *triggers;
  bool answers;           /* the host answers questions of tools
                             (<eventring/question.h>); default: false */
  /* other processes cannot change the recording: the library ignores what they write into
     the control page, and their commands report this. Default: false. (In a process with
     privileges that its user does not have, or that is not dumpable, other processes can
     only pause, resume and switch classes.) */
  bool closed;
  /* `keep` bounds recordings that were to be preserved ALWAYS, too; default: false */
  bool keep_preserved;
  /* every process of the same user may read the memory of this process while it records,
     also where kernel.yama.ptrace_scope is 1 (PR_SET_PTRACER of prctl(2), which is 0
     afterwards); default: false */
  bool lets_read;
  /* Answers a question for a domain that is asleep and so reaches no safepoint: see
     <eventring/question.h>. If NULL, such a domain does not answer. */
  uint32_t (*answer_aside)(struct eventring_domain *domain, uint32_t kinds);
  /* Lists what must never be in the file: classes (not lifecycle), and names in quotes,
     such as `calls,"card","tenant*"`. A * at the end of a name stands for any ending; a
     backslash makes the next character stand for itself. Events of these classes are not
     recorded, whoever switches them on. Names are matched in classes USER and CALLS. A
     matching name gets EVENTRING_ID_OTHER when it is registered alone during this
     recording; if it was registered before, or in a table, the file has "(redacted ID)"
     in its place. (Payloads and links of such events are not checked, and neither are
     conditions of triggers.) At most 4095 bytes. The list replaces the list of an earlier
     recording. NULL or empty for no list. */
  const char *redact;
};
#define EVENTRING_CLASSES_DEFAULT 0
#define EVENTRING_LEAST_STREAM ((uint64_t)1 << 20)
#define EVENTRING_DEFAULT_GROW ((uint64_t)64 << 20)

/* Fills *config with the defaults (mode OFF) of the header that the program was compiled
   with. Any thread. */
static inline void eventring_config_init(struct eventring_config *config) {
  memset(config, 0, sizeof *config);
  config->size = sizeof *config;
  config->version = EVENTRING_VERSION;
  config->wsize = EVENTRING_DEFAULT_WSIZE;
  config->preserve = EVENTRING_PRESERVE_ON_ERROR;
  config->classes = EVENTRING_CLASSES_DEFAULT;
  config->keep = EVENTRING_DEFAULT_KEEP;
}

/* Overrides *config with what these environment variables say; `prefix` (at most 100
   bytes) is for instance "SAROS_EVENTRING":
     <prefix>_START     empty or "0": off; "1": on; "standby"
     <prefix>_PREFIX    the directory
     <prefix>_PRESERVE  empty or "onerror": ON_ERROR; "0": NEVER; "1": ALWAYS
     <prefix>_KEEP      0 to EVENTRING_MAX_KEEP; sets keep_preserved
     <prefix>_NAME      the template of the file's name
     <prefix>_CPU_TIME  empty or "1"; "0" sets no_cpu_time
     <prefix>_WSIZE     EVENTRING_MIN_WSIZE to EVENTRING_MAX_WSIZE; without _SECONDS,
                        rings keep this size
     <prefix>_SECONDS   hold_ns in seconds, 0 to 86400, with up to nine decimals
     <prefix>_GROW      grow_bytes, 0 (rings keep their size) or more, with K, M or G for
                        powers of 1024
     <prefix>_CLASSES   comma-separated: names of the classes that shall be on, "all",
                        "none"; with + or - before each, changes to the defaults
     <prefix>_FORK      "0" or "1": sets follow_forks
     <prefix>_REMOTE    "0" sets closed, "allow" lets_read; "1": neither
     <prefix>_REDACT    sets redact
     <prefix>_STREAM    PATH[,max=SIZE][,rings=NAME[+NAME]...]: sets stream, stream_max
                        (as in _GROW) and stream_rings; starts the recording unless
                        _START says otherwise. The path must not contain a comma
     <prefix>_TRIGGER   sets triggers; starts the recording unless _START says otherwise
   Strings are not copied: *config points into the environment. At the first bad variable
   the function stops, sets config->start to OFF and returns E_CONFIG with a text that
   names the variable, its value and what is allowed. A process that runs set-user-id
   ignores the environment. Returns E_ARGUMENT if *config was not made by
   eventring_config_init, or `prefix` is too long. Any thread. */
int eventring_config_from_env(struct eventring_config *config,
                              const char *prefix,
                              struct eventring_error *error);

/* Sets stream, stream_max and stream_rings of *config, as <prefix>_STREAM does, and the
   start mode to ON if it is OFF. *config points into `text`. Returns 0, E_CONFIG with a
   text that says what is allowed, or E_ARGUMENT if *config was not made by
   eventring_config_init. Any thread. */
int eventring_config_stream(struct eventring_config *config, const char *text,
                            struct eventring_error *error);

/* Starts recording as config->start says; OFF does nothing and returns 0. From STANDBY, a
   second call with ON starts recording in the same file. When the process records
   already, the caller joins that recording, which goes on unchanged, and the result is
   EVENTRING_JOINED. So several hosts in one process, such as two language runtimes, need
   not know of each other. Starts and stops are counted, and the last stop ends the
   recording. After that, a new start makes a new file.
     The result is EVENTRING_ELSEWHERE, and *error has a line that names the file and the
     reason, when config->directory is not set and the current directory cannot be used.
     The file is then in the first of these from which no other user but root could remove
     it: $XDG_RUNTIME_DIR, $XDG_STATE_HOME/saros or ~/.local/state/saros (neither in a
     program that runs set-user-id), /var/lib/saros, /tmp.
     Errors: E_LIBRARY (compiled for another version, see eventring_check_version),
     E_ARGUMENT (*config was not made by eventring_config_init), E_CONFIG (a member is out
     of range), E_DIRECTORY, E_PERMISSION, E_EXISTS, E_SPACE, E_LIMIT, E_MEMORY, E_SYSTEM,
     E_STATE (stopped and started again too often while domains of other threads ran no
     probe). Any thread. */
int eventring_start(const struct eventring_config *config,
                    struct eventring_error *error);

/* Ends the recording: marks the file ended, so that attached readers deliver the last
   event and then see the end, and removes it unless it is to be kept. While other hosts
   have joined, the call only takes back one start and returns EVENTRING_JOINED. Domains
   stay valid and record nothing until the next start. Events that other threads write at
   this very moment may be missing. Returns 0, also when nothing was started. Returns
   E_LEFT if the recording has ended but its file could not be removed (`warn` gets a text
   with its name and the reason). Returns E_STATE only in a child made by the clone system
   call itself (eventring_fork_pending). Any thread. At exit the library ends the
   recording in this way itself, and the file has the exit status. */
int eventring_stop(void);

/* Records the error with which the process is about to end: `size` bytes of text, usually
   a message and a traceback, cut to EVENTRING_MAX_END_TEXT bytes at a character boundary;
   control characters except newline and tab, and bytes that are not UTF-8, become '?'. No
   event overwrites it. A later text replaces an earlier one. With preserve ON_ERROR the
   file is then kept whatever the exit status is. Call it before eventring_stop. Returns
   0, E_STATE if nothing is recorded, E_SPACE if the text found no room (the file is kept
   in spite of this), or E_ARGUMENT if there is no text. Any thread. */
int eventring_note_error(const char *text, size_t size);

/* Records the number of the signal that is about to end the process, for handlers that
   restore the default action and raise it again. An exit after this call still counts as
   an end by this signal. The call does nothing else: the recording goes on until the
   process dies. For an orderly end call eventring_end_in_handler next. Any thread,
   async-signal-safe. */
void eventring_note_signal(int number);

/* Defers a signal if this thread holds a mutex of the library. A handler that waits for
   other threads calls it first. Returns true if the signal has interrupted the library
   while it holds a mutex that other threads may wait for. The handler must then return at
   once; the signal is raised again when the mutex is released. Any thread,
   async-signal-safe. */
bool eventring_defer_signal(int number);

/* Ends the recording in a handler of a signal that ends the process, right before the
   default action. Its effect on readers and on the file is that of eventring_stop; with
   preserve ON_ERROR the file is kept if a signal was noted. Nothing is recorded
   afterwards. Any thread, async-signal-safe. */
void eventring_end_in_handler(void);

/* Repairs an access to mapped memory of the library whose file was cut short. Anyone who
   may write to the file of a recording can cut it short; the next store into it then
   raises SIGBUS. Unless config.leave_sigbus is set, eventring_start sets a handler of
   that signal. It replaces the mapped file by anonymous memory and so ends the recording
   for good: the state is STOPPED, and the recording's `warn` is called at the next stop
   or start. It passes on every other SIGBUS to the handler that was there before. A host
   with its own handler sets it before the start. If the host sets a handler later, the
   library sets another one above it, at most seven times, and passes signals on to the
   host's. The library checks for this when it begins a block or at
   eventring_domain_check, if its last check was 100 ms ago. Until then, and with
   leave_sigbus, the host's handler must call this function. Returns true if `address`
   (si_addr) was in memory of the library and the access can be repeated. A thread that
   blocks SIGBUS is not protected. Any thread, async-signal-safe. */
bool eventring_repair_fault(const void *address);

/* Pauses the recording (nothing is recorded; rings and file stay) or resumes it (a
   recording that stands by starts). Spans that are open across the gap are delivered as
   torn. Returns 0, also when the recording is in that state already, or E_STATE when
   stopped. Any thread. */
int eventring_pause(void);
int eventring_resume(void);
/* Returns the state of this process's recording. Any thread. */
enum eventring_state eventring_state(void);

/* Copies the absolute path of the present file into `buffer`, cut to `size` bytes with
   the terminating 0. Returns the full length of the path, 0 when stopped. Any thread. */
size_t eventring_path(char *buffer, size_t size);

/* Switches classes (bits) on or off, also while paused. Leaves the other classes alone,
   because another thread or a tool may be switching them at the same time. Ignores bits
   of classes without a name; class lifecycle stays on. Returns 0, or E_STATE when
   stopped, or when a class to be switched on must not be recorded (config.redact). With
   E_STATE nothing changes. Any thread. */
int eventring_switch_classes(uint64_t classes, bool on);
/* Stores the mask of the classes wanted in *classes. Returns 0, or E_STATE when stopped.
   Any thread. */
int eventring_get_classes(uint64_t *classes);

/* Gives a class of the host its name, and says whether it is on by default. `index` is
   EVENTRING_CLASS_HOST to 63; `name` has 1 to EVENTRING_MAX_CLASS_NAME bytes. A class
   that is defined after a recording was started is off in that recording. For a class
   that the library names, the call says whether this process has events of that class;
   tools offer the class only then. Then `name` is the library's name (the default), or
   NULL when the process writes no events of the class. The process always has the classes
   `lifecycle` and `user`. Returns 0, E_ARGUMENT (index, or not the library's name),
   E_NAME, E_CONFLICT (another class has this name; or `name` is NULL, and events of the
   class are registered) or E_STATE (the name differs from the present one or is NULL, and
   a recording is started or stands by). Any thread. */
int eventring_define_class(unsigned index, const char *name, bool on);
/* Gives a ring of the host, EVENTRING_RING_HOST to 7, its name for readers, which
   otherwise show its number. `name` follows the rules for names of classes. Returns 0,
   E_ARGUMENT (index), E_NAME, E_CONFLICT (another ring has this name) or E_STATE (the
   name is new, and a recording is started or stands by). Any thread. */
int eventring_define_ring(unsigned index, const char *name);
/* Returns the index of the class with this name in this process, E_NOT_FOUND, or E_STATE
   when the library names such a class and this process has none of its events.
   eventring_class_name returns the name of a class, or NULL. Any thread, but not while
   another thread defines classes. */
int eventring_class_by_name(const char *name);
const char *eventring_class_name(unsigned index);

/* Returns the time in nanoseconds on the clock of the recording, or of CLOCK_MONOTONIC
   when stopped. Any thread. */
uint64_t eventring_now(void);

/* Measures for how long a thread was not on a processor (it waited for one, or slept), in
   two calls on the same thread. eventring_off_cpu_begin is called before the measured
   part, a span for instance, and returns the value to pass to eventring_off_cpu_since, or
   0 if nothing is measured (config.no_cpu_time). eventring_off_cpu_since returns the
   nanoseconds off the processor between the two calls, or 0 when `begun` is 0. An
   interruption of less than 2 us does not count. Pairs may be nested; the difference of
   two results of eventring_off_cpu_begin is the time off the processor between them. Each
   call costs about 10 ns as long as the thread is not interrupted. Otherwise, and once in
   a tick of the kernel (1 to 10 ms), a call reads two clocks, one of them by a system
   call. Without usable restartable sequences (glibc before 2.35, valgrind) each call
   reads both clocks. Any thread. */
uint64_t eventring_off_cpu_begin(void);
uint64_t eventring_off_cpu_since(uint64_t begun);

/* -- Catalogue ----------------------------------------------------------- */

/* Registers `count` definitions at consecutive ids, all or none, and stores the first id
   in *first. The ids of the first table of a process begin at EVENTRING_ID_HOST. A host
   whose table is the first may therefore use constants as ids; it then passes NULL as
   `first`, and the call fails with E_CONFLICT when another host has registered events
   before. It may be called before or after the start; definitions stay for the life of
   the process. Returns 0. Errors: E_ARGUMENT (a member is out of range, the class has no
   name, or no probe writes this payload in an event of this kind), E_NAME (a name or
   unit), E_CONFLICT (kind, class and name are defined already), E_FULL (not enough ids
   are left), E_MEMORY. A definition that the file has no room for is counted as dropped;
   its events are "(other)". Any thread. */
int eventring_register_defs(const struct eventring_def *defs, size_t def_size, size_t count,
                            unsigned *first, struct eventring_error *error);
static inline int eventring_register_table(const struct eventring_def *defs, size_t count,
                                           unsigned *first,
                                           struct eventring_error *error) {
  return eventring_register_defs(defs, sizeof *defs, count, first, error);
}

/* Registers one definition and returns its id. Registering the same kind, class and name
   again returns the same id if ring and payload agree, else E_CONFLICT; unit, doc and
   fields of the first registration stay. When all ids are taken, the result is
   EVENTRING_ID_OTHER, and the definition is counted as dropped. For a name in
   config.redact the result is EVENTRING_ID_OTHER, too, and nothing is counted. Errors:
   E_ARGUMENT, E_NAME, E_CONFLICT, E_MEMORY. Any thread; takes a lock, so keep the id. */
int eventring_register_def(const struct eventring_def *def, size_t def_size,
                           struct eventring_error *error);
static inline int eventring_register(const struct eventring_def *def,
                                     struct eventring_error *error) {
  return eventring_register_def(def, sizeof *def, error);
}

/* Registers an event as eventring_register does, of class USER in the user ring: `kind`,
   `name` of `size` bytes (which need not be terminated), `payload`; no unit, no doc. Any
   thread. */
int eventring_register_user(enum eventring_def_kind kind, const char *name,
                            size_t size, enum eventring_payload payload,
                            struct eventring_error *error);

/* Returns the name of the event that this process has registered with this id, valid as
   long as the process lives, or NULL if there is none. Any thread; takes a lock. */
const char *eventring_event_name(unsigned id);

/* Checks a name for an event: 1 to EVENTRING_MAX_NAME bytes of UTF-8 without control
   characters. Returns 0 or E_NAME. Any thread. */
int eventring_check_name(const char *name, size_t size, struct eventring_error *error);

/* -- Domains ------------------------------------------------------------- */

/* Makes the calling thread the owner of a new domain. `name` is cut to
   EVENTRING_MAX_DOMAIN_NAME bytes; NULL counts as "". Never returns NULL: when the domain
   cannot be recorded (E_FULL: the 129th, E_MEMORY, E_SPACE, E_LIMIT ...), *error says
   why, and its probes do nothing. Any thread.
     A thread may have several domains. A signal handler with probes needs a domain of its
   own, because it may interrupt a probe. Start the domain of the handler first, before
   the signal can arrive: the library writes its own events of a thread (recorder_stop,
   pause, resume) into the domain that the thread started last. An event of a handler that
   has interrupted the library, and not just a probe of another domain, is dropped;
   readers count it as lost. */
eventring_domain *eventring_domain_start(const char *name,
                                         struct eventring_error *error);
/* Ends a domain and frees its slot for a later one; the pointer is invalid afterwards.
   Its open spans stay open in the recording. NULL is allowed. Owner.
     A domain that is not stopped ends when its thread exits, after the thread's
   destructors (pthread_key_create) have run; destructors may still use and stop it. After
   that the pointer is invalid. When a thread ends without destructors (by the exit system
   call itself), the slot of its domain stays in use until no other slot is free. */
void eventring_domain_stop(eventring_domain *domain);
/* Keeps the domain when the thread that started it exits, for hosts that continue a
   domain in another thread. From then on one thread at a time may be the owner of the
   domain, and one of these threads must stop it. When recordings start and stop, the
   domain still counts as one of the thread that started it. Owner. */
void eventring_domain_unbind(eventring_domain *domain);
/* Gives a domain another name, cut to EVENTRING_MAX_DOMAIN_NAME bytes. The recording
   keeps the former name with its time. Returns 0, E_NAME (not UTF-8, or a control
   character) or E_ARGUMENT (NULL). Any thread, as long as the domain is not stopped. */
int eventring_domain_rename(eventring_domain *domain, const char *name);
/* Returns the slot of a domain, 0 to 127, or -1 when it is not recorded. Owner. */
int eventring_domain_slot(const eventring_domain *domain);
/* Lets a domain notice a start (also from standby) or a stop of the recording. Hosts call
   it at safepoints; where probes run, no call is needed. Owner. */
void eventring_domain_check(eventring_domain *domain);
/* Returns the bytes of the domain's rings, or 0 when it is not recorded. Owner. */
uint64_t eventring_domain_bytes(const eventring_domain *domain);

/* Tells whether this is a forked child whose recording is yet to start by itself. The
   child of a fork never writes into its parent's file and never removes it. Its domains
   (those of the forking thread) stay valid and record nothing until the host calls
   eventring_start, which makes a file of its own. Spans that are open at the fork end in
   the parent; in the child, their ends are torn. A cursor on the parent's own recording
   (eventring_open_self) goes on reading that in the child.
     With config.follow_forks the child's recording starts by itself, with the settings of
     the parent's recording and the classes that were wanted at the fork. It starts at the
     child's first event in ring EVENTRING_USER, at its first call of
     eventring_domain_start, _start, _pause, _resume, _state, _path, _open_self or a
     function of classes; or, 50 ms or more after the fork, at any other event or at
     eventring_domain_check. If the parent stood by or was paused, the child's recording
     stands by, from eventring_domain_check on. When it cannot start, config.warn is
     called. All hosts that had started the parent's recording count as having started the
     child's. The file name has the child's pid: "-%p" is appended to a template without
     %p.
     A child made by the clone system call itself, past the C library, shares its parent's
     rings. It must not run a probe. It may call eventring_domain_stop and eventring_stop,
     which do nothing there, and it may exec, _exit or exit.
     Returns true in a child as long as its recording is still to start by itself. A host
     that waits for a start from standby at safepoints calls eventring_domain_check there
     until this is false. Any thread. */
bool eventring_fork_pending(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_H */
