/* internal.h: what producer and consumer share inside libeventring. */
#ifndef EVENTRING_INTERNAL_H
#define EVENTRING_INTERNAL_H

#include "format.h"

#pragma GCC visibility push(hidden)

/* ---- Fences ---------------------------------------------------------------------
 * ThreadSanitizer does not know fences. In a build for it they are a
 * read-modify-write of one word, which orders more than a fence does: it then
 * finds what no fence could excuse, and reports nothing that a fence does. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EVR_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(EVR_TSAN)
extern uint32_t evr_fence_word;
static inline void evr_fence_acquire(void) {
  (void)__atomic_fetch_add(&evr_fence_word, 0, __ATOMIC_ACQ_REL);
}
static inline void evr_fence_release(void) { evr_fence_acquire(); }
#else
static inline void evr_fence_acquire(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
static inline void evr_fence_release(void) { __atomic_thread_fence(__ATOMIC_RELEASE); }
#endif

/* ---- Test points --------------------------------------------------------------
 * The steps of the block transition by name (ring.c, source.c). A race test that
 * is compiled with EVENTRING_TESTPOINTS holds a thread at one of them. */
enum evr_step {
  EVR_W1, EVR_W2, EVR_W3, EVR_W4, EVR_W5, EVR_W6,
  EVR_R1, EVR_R2, EVR_R3, EVR_R4, EVR_R5, EVR_STEPS
};
#ifdef EVENTRING_TESTPOINTS
void eventring_testpoint(enum evr_step step); /* the test has it: before the step */
#define evr_testpoint(step) eventring_testpoint(EVR_##step)
#else
#define evr_testpoint(step) ((void)0)
#endif

/* Stores whole words into memory that readers may be looking at, each relaxed. */
static inline void evr_store_words(void *to, const void *from, size_t bytes) {
  uint64_t *word = (uint64_t *)to;
  for (size_t i = 0; i < bytes / sizeof *word; i++) {
    uint64_t value;
    __builtin_memcpy(&value, (const char *)from + i * sizeof value, sizeof value);
    __atomic_store_n(&word[i], value, __ATOMIC_RELAXED);
  }
}

/* ---- status.c ---------------------------------------------------------- */

/* Fills *error (may be NULL) from a printf format; when sys_errno is not 0, its
   text is appended. Returns code, so that callers may `return evr_fail(...)`. */
int evr_fail(struct eventring_error *error, int code, int sys_errno,
             const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The code that fits errno of a failed open, mkdir, fallocate ... */
int evr_code_of_errno(int sys_errno);

/* ---- clock.c ----------------------------------------------------------- */

/* The best clock of this machine; looked at once. */
enum format_clock evr_clock_kind(void);
uint64_t evr_clock_ticks(enum format_clock kind);
/* CLOCK_MONOTONIC and CLOCK_REALTIME in nanoseconds. */
uint64_t evr_monotonic_ns(void);
int64_t evr_wall_ns(void);

struct evr_pair { /* one moment on both clocks */
  uint64_t ticks, ns;
};
struct evr_pair evr_clock_pair(enum format_clock kind);
/* Nanoseconds per tick times 2^40 as the processor states it, or 0. */
uint64_t evr_clock_nominal(enum format_clock kind);
/* The same measured between two moments. */
uint64_t evr_clock_measured(struct evr_pair from, struct evr_pair to);

struct evr_conversion {
  uint32_t segments; /* 1 .. FORMAT_CLOCK_SEGMENTS */
  struct format_segment segment[FORMAT_CLOCK_SEGMENTS];
};
uint64_t evr_to_ns(const struct evr_conversion *conversion, uint64_t ticks);
/* "Valid if and only if" of doc/FORMAT.md. */
bool evr_conversion_valid(const struct evr_conversion *conversion);

/* ---- openspans.c: the spans open at a point of a ring ------------------ */

/* Producer side: bounded, as block headers store it. */
struct evr_open_span {
  uint64_t tail; /* event word of the begin: kind, id; length 0, time 0 */
  uint64_t ticks;
};
struct evr_open_spans {
  uint32_t count;
  uint32_t hidden; /* spans inside the listed ones that found no place */
  struct evr_open_span span[FORMAT_MAX_OPEN];
};
/* Applies the events in words[0 .. count-1] to the stack; base is that of the
   block. */
void evr_open_apply(struct evr_open_spans *open, const uint64_t *words,
                    size_t count, uint64_t base);
/* Drops those whose class is among `classes` and that began before `ticks`.
   class_of maps ids to classes. */
void evr_open_tear(struct evr_open_spans *open, const uint8_t *class_of,
                   uint32_t classes, uint64_t ticks);

/* ---- control.c: the control page ---------------------------------------- */

enum evr_gate_change { EVR_PAUSE, EVR_RESUME, EVR_SET, EVR_ADD, EVR_REMOVE };
/* Changes the gate word and logs what goes on; lock-free, any process. Classes
   that are not `named` are ignored. Returns the gate before. */
uint64_t evr_control_change(struct format_control *control,
                            enum format_clock clock, uint32_t named,
                            enum evr_gate_change change, uint32_t classes);
/* Is the gate well formed, in a file whose named classes are these? */
bool evr_gate_valid(uint64_t gate, uint32_t named);
/* Replaces a malformed gate; false when it has changed already. */
bool evr_control_repair(struct format_control *control, enum format_clock clock,
                        uint64_t bad, uint64_t good);
/* Reads entry n of the log; false when it is not (or no longer) there. */
bool evr_control_entry(const struct format_control *control, uint32_t n,
                       struct format_switch *entry);

/* ---- config.c: classes of this process ---------------------------------- */

extern char evr_class_names[EVENTRING_MAX_CLASSES][EVENTRING_MAX_CLASS_NAME + 1];
uint32_t evr_default_classes(void);
/* The classes that have a name in a header's table of them. */
uint32_t evr_named_classes(
    const char names[EVENTRING_MAX_CLASSES][EVENTRING_MAX_CLASS_NAME + 1]);

/* ---- process.c: what /proc says of processes ------------------------------ */

/* Start time of a process in clock ticks after boot, or 0. */
uint64_t evr_process_start(pid_t pid);
/* Is the file locked by a live producer? 1 yes, 0 no, -1 cannot be told. */
int evr_file_locked(int fd);
/* Holds the file, until it is closed, against a producer's lock: EAGAIN or EACCES when a
   live one has it. 0 or an errno. */
int evr_lock_out_producer(int fd);
/* Takes the producer's lock. 0 or an errno. */
int evr_lock_file(int fd);

#pragma GCC visibility pop

#endif /* EVENTRING_INTERNAL_H */
