/* SPDX-License-Identifier: MIT */
/* runtime/probes.h: how the runtime records its own events (events.def) into
 * the rings of a domain, and when the process records at all.
 *
 * The ids of events.def follow the library's own in every catalogue, in order.
 */
#ifndef SAROS_RUNTIME_PROBES_H
#define SAROS_RUNTIME_PROBES_H

#include "domain.h"
#include "eventring/probe.h"

typedef enum EventId {
#define EVENT(id, name, kind, class, unit, doc) EV_##id,
#include "events.def"
#undef EVENT
  EVENT_COUNT
} EventId;

/* Classes of the runtime, named before the recording starts; off by default. */
#define EVENTRING_CLASS_FFI ((enum eventring_class)EVENTRING_CLASS_HOST)
#define EVENTRING_CLASS_GC_DETAIL ((enum eventring_class)(EVENTRING_CLASS_HOST + 1))

/* EV_CLASS_x: class of event x, a constant, so that a probe tests one known bit. */
enum {
#define EVENT(id, name, kind, class, unit, doc) EV_CLASS_##id = EVENTRING_CLASS_##class,
#include "events.def"
#undef EVENT
};

/* EV_RING_x: ring of event x, likewise. */
#define EVENTRING_RING_IO ((enum eventring_ring)EVENTRING_RING_HOST)
#define RING_OF_LIFECYCLE EVENTRING_RUNTIME
#define RING_OF_GC EVENTRING_RUNTIME
#define RING_OF_GC_DETAIL EVENTRING_RUNTIME
#define RING_OF_FINALIZERS EVENTRING_RUNTIME
#define RING_OF_DOMAIN EVENTRING_RUNTIME
#define RING_OF_LOAD EVENTRING_RUNTIME
#define RING_OF_FFI EVENTRING_RUNTIME
#define RING_OF_IO EVENTRING_RING_IO
enum {
#define EVENT(id, name, kind, class, unit, doc) EV_RING_##id = RING_OF_##class,
#include "events.def"
#undef EVENT
};

#define PROBE_RING(id) ((enum eventring_ring)EV_RING_##id)
#define PROBE_CLASS(id) ((enum eventring_class)EV_CLASS_##id)
/* The id of the first of them. Set before the first domain is started: a program that embeds
 * this runtime may have registered events of its own before. */
HIDDEN extern unsigned probes_first_id;
#define PROBE_ID(id) (probes_first_id + EV_##id)

/* Probes; d is the running domain. Spans of one domain nest. */
#define PROBE_BEGIN(d, id) \
  eventring_begin((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id))
#define PROBE_BEGIN_INT(d, id, value) \
  eventring_begin_int((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id), \
      (int64_t)(value))
/* What a NAMED_SPAN deals with: `size` bytes of text. */
#define PROBE_BEGIN_TEXT(d, id, text, size) \
  eventring_begin_bytes((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id), text, size)
#define PROBE_ENABLED(d, id) eventring_enabled((d)->rings, PROBE_RING(id), PROBE_CLASS(id))
/* Why a REASONED_SPAN runs: EV_REASON_x. */
#define PROBE_BEGIN_REASON(d, id, reason) PROBE_BEGIN_INT(d, id, probes_first_id + (reason))
#define PROBE_END(d, id) \
  eventring_end((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id))
/* The end of a REASONED_SPAN: for how many ns the thread was not on a processor. */
#define PROBE_END_OFF_CPU(d, id, ns) \
  eventring_end_off_cpu((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id), ns)
#define PROBE_COUNTER(d, id, value) \
  eventring_counter((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id), (int64_t)(value))
#define PROBE_LIFECYCLE(d, id, value) \
  eventring_lifecycle((d)->rings, PROBE_RING(id), PROBE_CLASS(id), PROBE_ID(id), (int64_t)(value))

/* ---- safepoints ---------------------------------------------------------------
 *
 * Where a domain attaches to a recording that stood by and was started from elsewhere.
 * Every probe is one, and every collection; for programs that run none, the interpreter
 * has more at each back-edge of a loop and each tail call. While a domain waits, the word
 * is the low half of the control word, which becomes nonzero when the recording is
 * started; otherwise it is a word of the runtime that stays 0. */
HIDDEN extern const uint32_t *probes_start_word;
void probes_take_up(Domain *d) __attribute__((cold, noinline));
/* The same, when the word is not 0; also obeys other processes (introspection.h). */
void probes_attend(Domain *d) __attribute__((cold, noinline));

static inline void probes_safe_point(Domain *d) {
  const uint32_t *word = __atomic_load_n(&probes_start_word, __ATOMIC_RELAXED);
  if (__builtin_expect(__atomic_load_n(word, __ATOMIC_RELAXED) != 0, 0)) probes_attend(d);
}

/* The word that safepoints test while no domain waits for a start: when it is not 0, they
 * call RuntimeHooks.profile_obey, and look for questions. NULL: none. The recording that it
 * may lie in ends with it. */
void probes_set_idle_word(const uint32_t *word);

/* Once in each minor collection: obeys requests from elsewhere (a question of a tool is
 * answered before the next instruction), and corrects a malformed control word even if no
 * block of events gets full. */
void probes_collection(Domain *d);

/* ---- recording (probes.c) ------------------------------------------------ */

/* Called before the process's first recording is started; NULL: nothing. Set before
 * probes_begin, by the program that the process runs. */
extern void (*probes_before_start)(void);

/* Answers a question of a tool for a domain that is asleep (vm/question.c): config.answer_aside of
 * libeventring. Set before the first domain starts. */
extern uint32_t (*probes_answer_aside)(struct eventring_domain *rings, uint32_t kinds);

/* Set before probes_begin: what the program was asked for needs a recording, so that one
 * starts if nothing in the environment forbids it. */
extern bool probes_start_asked;

/* Starts recording as the SAROS_EVENTRING_* variables say (doc/eventring.md); it stops when
 * the process exits. Only the first call in a process does anything: the program's own,
 * before its first domain, else that of the first domain (a program that embeds the
 * runtime). `program`: its name in the recording, NULL: that of the executable. `warner`
 * stands before the warning on stderr when it cannot start; the program then runs without
 * recording. */
void probes_begin(const char *program, const char *warner);
/* Starts it from the program; the environment still gives directory and sizes. `stream`:
   text of eventring_config_stream, or NULL. */
int probes_start(const char *stream, struct eventring_error *error);
/* Orderly end of the recording; harmless when there is none. As eventring_stop. */
int probes_stop(void);
/* The same from a handler of the signal that is about to end the process. */
void probes_stop_in_handler(int signal_number);
/* The recording says by which signal, or error, the program is about to end. The first is
 * async-signal-safe. */
void probes_note_signal(int signal_number);
void probes_note_error(const char *text);

/* Makes the calling thread the owner of the domain's rings. */
void probes_domain_start(Domain *d, const char *name);
void probes_domain_stop(Domain *d);

#endif
