/* SPDX-License-Identifier: MIT */
/* trace.h: trace context (W3C Trace Context, level 1): the request that a span belongs
 * to, in a trace that crosses processes.
 *
 * A span that belongs to a trace has ids. A host writes them right after the begin of the
 * span, as an event named `trace` (doc/FORMAT.md, section 9); spans inside it belong to
 * the trace by their position, so they need no ids. For a request that comes in with a
 * header `traceparent`:
 *
 *   struct eventring_trace caller, own;
 *   char header[EVENTRING_TRACEPARENT + 1];
 *   if (eventring_traceparent_parse(text, strlen(text), &caller) < 0)
 *     eventring_trace_begin(domain, &own);          // a new trace, as the standard says
 *   else
 *     eventring_trace_child(domain, &caller, &own);
 *   eventring_user_begin(domain, request);
 *   eventring_span_trace(domain, &own);
 *   eventring_traceparent_format(&own, header);     // of requests that it sends
 *
 * The definition of the event is registered when the first such event is written, so the
 * file of a program without traces does not have it.
 */
#ifndef EVENTRING_TRACE_H
#define EVENTRING_TRACE_H

#include "eventring.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* The ids of a span. These bytes are the payload of the event, so the structure never
   grows, and has no member `size`. */
struct eventring_trace {
  uint8_t trace_id[16]; /* not all zero */
  uint8_t span_id[8];   /* not all zero */
  /* id of the span that this span is in, or that sent the request; all zero if none is
     known */
  uint8_t parent_id[8];
  uint8_t flags;        /* EVENTRING_TRACE_SAMPLED or 0 */
};

enum {
  EVENTRING_TRACE_SAMPLED = 1,
  EVENTRING_TRACEPARENT = 55 /* bytes of a header of version 00 */
};

/* Reads the `size` bytes of a header `traceparent`: its span becomes trace->span_id, and
   trace->parent_id zero. For versions later than 00, ignores what follows the flags, and
   flags other than SAMPLED. Returns 0, or E_ARGUMENT: the header is not valid, *trace is
   unchanged, and the standard says to begin a new trace. Any thread. */
int eventring_traceparent_parse(const char *text, size_t size, struct eventring_trace *trace);

/* Writes the header `traceparent`, of version 00, for requests that this span sends, and
   a terminating 0. Any thread. */
void eventring_traceparent_format(const struct eventring_trace *trace,
                                  char text[EVENTRING_TRACEPARENT + 1]);

/* Fills *trace for a span that begins a trace: random ids, no parent, SAMPLED. Owner. */
void eventring_trace_begin(eventring_domain *domain, struct eventring_trace *trace);
/* Fills *trace for a child of the span *parent: a random id of its own, the rest from
   *parent. The two pointers may be equal. Owner.
     The ids are unpredictable, and differ in children of forks. */
void eventring_trace_child(eventring_domain *domain, const struct eventring_trace *parent,
                           struct eventring_trace *trace);

/* Writes that the innermost open span of the present context of ring USER has these ids,
   in place of earlier ones. If that context has no span open, the ids are those that the
   context has inherited: the trace, and the parent of spans that begin there; parent_id
   must be zero then. Returns 0, E_STATE if class user is not being recorded, E_CONFLICT
   if the program has an event of the same name, class and kind with another payload,
   E_FULL if the catalogue is full, or E_MEMORY. On failure nothing is written. Owner. */
int eventring_span_trace(eventring_domain *domain, const struct eventring_trace *trace);

/* For hosts that keep ids of open spans, such as those of coroutines: where the domain
   writes in ring USER. */
struct eventring_trace_place {
  size_t size; /* sizeof, set by the caller */
  /* if it differs from the value of an earlier call, spans of class user that were open
     at that call are no longer open for readers: the recording was paused, the class was
     off, or this is another recording */
  uint64_t life;
  /* block of the ring. A reader that comes late, or has lost events, begins with some
     block, so the ids of open spans that were written in an earlier block should be
     written again */
  uint64_t block;
};
/* Fills *place. Returns 0, or E_STATE if the domain is not recorded. A domain that is to
   be recorded, also in the child of a fork (eventring_fork_pending), is recorded from
   this call on. Owner. */
int eventring_trace_place(eventring_domain *domain, struct eventring_trace_place *place);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif /* EVENTRING_TRACE_H */
