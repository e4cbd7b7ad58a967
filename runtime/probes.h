/* SPDX-License-Identifier: MIT */
/* runtime/probes.h: how the runtime records its own events (events.def) into the rings of
 * a domain, and when the process records.
 *
 * In every catalogue the ids of events.def follow those of the library, in their order.
 */
#ifndef SAROS_RUNTIME_PROBES_H
#define SAROS_RUNTIME_PROBES_H

#include "domain.h"
#include "eventring/probe.h"

typedef enum EventId {
#define EVENT(id, name, form, class, unit, doc) EV_##id,
#include "events.def"
  EVENT_COUNT
} EventId;

/* Classes of the runtime. They are named before the recording starts and are off by
 * default. */
#define EVENTRING_CLASS_FFI ((enum eventring_class)EVENTRING_CLASS_HOST)
#define EVENTRING_CLASS_GC_DETAIL ((enum eventring_class)(EVENTRING_CLASS_HOST + 1))

/* EV_CLASS_x is the class of event x, a constant, so that a probe tests one known bit. */
enum {
#define EVENT(id, name, form, class, unit, doc) EV_CLASS_##id = EVENTRING_CLASS_##class,
#include "events.def"
};

/* EV_RING_x is the ring of event x, a constant, so that a probe writes to a known
   ring. */
#define EVENTRING_RING_IO ((enum eventring_ring)EVENTRING_RING_HOST)
enum {
#define EVENT_CLASS(class, ring, name) RING_OF_##class = ring,
#include "events.def"
};
enum {
#define EVENT(id, name, form, class, unit, doc) EV_RING_##id = RING_OF_##class,
#include "events.def"
};

#define PROBE_RING(id) ((enum eventring_ring)EV_RING_##id)
#define PROBE_CLASS(id) ((enum eventring_class)EV_CLASS_##id)
/* The id of the first event of events.def. Set before the first domain starts: a program
 * that embeds this runtime may have registered events of its own before. */
HIDDEN extern unsigned probes_first_id;
#define PROBE_ID(id) (probes_first_id + EV_##id)

/* Probes; d is the running domain. The spans of a domain nest. */
#define PROBE_BEGIN(d, id) \
  eventring_begin((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id))
#define PROBE_BEGIN_INT(d, id, value) \
  eventring_begin_int((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id), \
      (int64_t)(value))
/* Begins a NAMED_SPAN. `size` bytes of text name its subject. */
#define PROBE_BEGIN_TEXT(d, id, text, size) \
  eventring_begin_bytes((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id), text, size)
#define PROBE_ENABLED(d, id) eventring_enabled((d)->rings, PROBE_RING(id), PROBE_CLASS(id))
/* Begins a REASONED_SPAN. The reason is an EV_REASON_x. */
#define PROBE_BEGIN_REASON(d, id, reason) PROBE_BEGIN_INT(d, id, probes_first_id + (reason))
#define PROBE_END(d, id) \
  eventring_end((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id))
/* Ends a REASONED_SPAN. The thread was not on a processor for `ns`. */
#define PROBE_END_OFF_CPU(d, id, ns) \
  eventring_end_off_cpu((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id), ns)
#define PROBE_COUNTER(d, id, value) \
  eventring_counter((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id), (int64_t)(value))
#define PROBE_LIFECYCLE(d, id, value) \
  eventring_lifecycle((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id), (int64_t)(value))

/* ---- safepoints ---------------------------------------------------------------
 *
 * A safepoint is where a domain attaches to a recording that was on standby and was
 * started from outside. Every probe and every collection is a safepoint. For programs
 * that run neither, the interpreter has more safepoints: each back-edge of a loop and
 * each tail call tests one word. While a domain waits for a start, this is the low half
 * of the control word, which becomes nonzero when the recording is started. Otherwise it
 * is the word given to probes_set_idle_word, or the word of introspection_request, which
 * other processes may set. */
HIDDEN extern const uint32_t *probes_start_word;
void probes_take_up(Domain *d) __attribute__((cold, noinline));
/* Calls probes_take_up for a safepoint whose word is not 0; also obeys other processes
 * (introspection.h). */
void probes_attend(Domain *d) __attribute__((cold, noinline));

static inline void probes_safe_point(Domain *d) {
  const uint32_t *word = __atomic_load_n(&probes_start_word, __ATOMIC_RELAXED);
  if (unlikely(__atomic_load_n(word, __ATOMIC_RELAXED) != 0)) probes_attend(d);
}

/* Sets the word that safepoints test while no domain waits for a start. When it is not 0,
 * safepoints call RuntimeHooks.profile_obey and check for questions. NULL stands for no
 * word. The word may be in a recording; it is no longer used when the recording ends. */
void probes_set_idle_word(const uint32_t *word);

/* Obeys requests from outside, once in each minor collection (a question of a tool is
 * answered before the next instruction). Also corrects a malformed control word, even if
 * no block of events becomes full. */
void probes_collection(Domain *d);

/* ---- recording (probes.c) ------------------------------------------------ */

/* Called before the process's first recording is started, unless it is NULL. Set before
 * probes_begin, by the program that the process runs. */
extern void (*probes_before_start)(void);

/* Answers a question of a tool for a domain that is asleep (vm/question.c):
 * config.answer_aside of libeventring. Set before the first domain starts. */
extern uint32_t (*probes_answer_aside)(struct eventring_domain *rings, uint32_t kinds);

/* True if an option of the program needs a recording: it starts unless the environment
 * forbids it. Set before probes_begin. */
extern bool probes_start_asked;

/* Starts recording as the SAROS_EVENTRING_* variables say (doc/eventring.md); recording
 * stops when the process exits. Only the first call in a process has an effect. The
 * program makes it before its first domain starts; in a program that embeds the runtime,
 * the first domain does. `program` is the program's name in the recording, or NULL for
 * the name of the executable. If recording cannot start, a warning on stderr begins with
 * `warner`, and the program runs without a recording. */
void probes_begin(const char *program, const char *warner);
/* Starts recording at the request of the program; the environment still gives directory
 * and sizes. `stream` is a text for eventring_config_stream, or NULL. Returns 0, or an
 * error code of libeventring. */
int probes_start(const char *stream, struct eventring_error *error);
/* Ends the recording in order; harmless if there is none. Returns what eventring_stop
 * returns. */
int probes_stop(void);
/* Ends the recording in order. For the handler of a signal that is about to end the
 * process. */
void probes_stop_in_handler(int signal_number);
/* Records by which signal, or error, the program is about to end. probes_note_signal is
 * async-signal-safe. */
void probes_note_signal(int signal_number);
void probes_note_error(const char *text);

/* Starts the recording of the domain; probes_domain_stop ends it. The calling thread owns
 * the domain's rings; another thread may become the owner (eventring_domain_unbind). */
void probes_domain_start(Domain *d, const char *name);
void probes_domain_stop(Domain *d);

#endif
