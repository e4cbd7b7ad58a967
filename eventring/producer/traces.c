/* SPDX-License-Identifier: MIT */
/* traces.c: trace context (eventring/trace.h): headers, ids, and the event that has
 * them.
 *
 * Ids come from the generator of the system, 256 bytes at a time, because each call costs
 * as much as a hundred events. A child must not use bytes that were fetched before the
 * fork, so the handler of fork drops them. That handler exists as soon as anything was
 * recorded; before that, no bytes are kept.
 */
#include "eventring/trace.h"

#include <sys/random.h>
#include <unistd.h>

#include "format/atomics.h"
#include "format/clock.h"
#include "format/control.h"
#include "format/sized.h"
#include "producer/domains.h"
#include "producer/producer.h"

_Static_assert(sizeof(struct eventring_trace) == FORMAT_TRACE_BYTES, "payload of `trace`");

/* ---- Headers: version "-" trace "-" span "-" flags --------------------------------- */

enum { AT_TRACE = 3, AT_SPAN = 36, AT_FLAGS = 53 };

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_bytes(const char *text, size_t count, uint8_t *bytes) {
  for (size_t i = 0; i < count; i++) {
    const int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = (uint8_t)(high << 4 | low);
  }
  return true;
}

static bool is_zero(const uint8_t *bytes, size_t count) {
  uint8_t any = 0;
  for (size_t i = 0; i < count; i++) any |= bytes[i];
  return !any;
}

static bool has_dashes(const char *text) {
  return text[AT_TRACE - 1] == '-' && text[AT_SPAN - 1] == '-' && text[AT_FLAGS - 1] == '-';
}

/* Tells whether the header ends correctly: version 00 after the flags; a later version
   may go on behind a dash. */
static bool ends_right(const char *text, size_t size, uint8_t version) {
  if (size == EVENTRING_TRACEPARENT) return true;
  return version > 0 && text[EVENTRING_TRACEPARENT] == '-';
}

int eventring_traceparent_parse(const char *text, size_t size, struct eventring_trace *trace) {
  struct eventring_trace t = {.flags = 0};
  uint8_t version;
  if (!text || !trace || size < EVENTRING_TRACEPARENT || !has_dashes(text) ||
      !read_bytes(text, 1, &version) || version == 0xff || !ends_right(text, size, version) ||
      !read_bytes(text + AT_TRACE, sizeof t.trace_id, t.trace_id) ||
      !read_bytes(text + AT_SPAN, sizeof t.span_id, t.span_id) ||
      !read_bytes(text + AT_FLAGS, 1, &t.flags) || is_zero(t.trace_id, sizeof t.trace_id) ||
      is_zero(t.span_id, sizeof t.span_id))
    return EVENTRING_E_ARGUMENT;
  t.flags &= EVENTRING_TRACE_SAMPLED;
  *trace = t;
  return EVENTRING_OK;
}

static void write_bytes(const uint8_t *bytes, size_t count, char *text) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < count; i++) {
    text[2 * i] = digits[bytes[i] >> 4];
    text[2 * i + 1] = digits[bytes[i] & 15];
  }
}

void eventring_traceparent_format(const struct eventring_trace *trace,
                                  char text[EVENTRING_TRACEPARENT + 1]) {
  memset(text, '-', EVENTRING_TRACEPARENT);
  memset(text, '0', 2);
  write_bytes(trace->trace_id, sizeof trace->trace_id, text + AT_TRACE);
  write_bytes(trace->span_id, sizeof trace->span_id, text + AT_SPAN);
  write_bytes(&trace->flags, 1, text + AT_FLAGS);
  text[EVENTRING_TRACEPARENT] = 0;
}

/* ---- Ids --------------------------------------------------------------------------- */

/* Makes up bytes when the system gives none (a filter of system calls; too early at
   boot). They do not repeat by accident, but an adversary can predict them. */
static void make_up(uint8_t *bytes, size_t count) {
  static uint64_t calls; /* atomic */
  const uint64_t call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  uint64_t state = evr_monotonic_ns() ^ (uint64_t)getpid() << 40 ^ (uint64_t)(uintptr_t)bytes;
  for (size_t i = 0; i < count; i++) {
    uint64_t z = state += 0x9e3779b97f4a7c15u * (call | 1); /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    bytes[i] = (uint8_t)(z >> 56);
  }
}

static void ask_system(uint8_t *bytes, size_t count) {
  if (getrandom(bytes, count, GRND_NONBLOCK) != (ssize_t)count) make_up(bytes, count);
}

static void take_random(struct evr_domain *d, uint8_t *bytes, size_t count) {
  if (!d->recording) {
    ask_system(bytes, count);
    return;
  }
  struct evr_traces *t = &d->traces;
  if (t->left < count) {
    ask_system(t->random, sizeof t->random);
    t->left = sizeof t->random;
  }
  memcpy(bytes, t->random + sizeof t->random - t->left, count);
  t->left -= (uint16_t)count;
}

static void make_id(eventring_domain *domain, uint8_t *id, size_t count) {
  do take_random((struct evr_domain *)domain, id, count);
  while (is_zero(id, count));
}

void eventring_trace_begin(eventring_domain *domain, struct eventring_trace *trace) {
  *trace = (struct eventring_trace){.flags = EVENTRING_TRACE_SAMPLED};
  make_id(domain, trace->trace_id, sizeof trace->trace_id);
  make_id(domain, trace->span_id, sizeof trace->span_id);
}

void eventring_trace_child(eventring_domain *domain, const struct eventring_trace *parent,
                           struct eventring_trace *trace) {
  struct eventring_trace child = *parent;
  memcpy(child.parent_id, parent->span_id, sizeof child.parent_id);
  make_id(domain, child.span_id, sizeof child.span_id);
  *trace = child;
}

/* ---- The event --------------------------------------------------------------------- */

static int event_id(void) {
  static int known; /* 0 if not registered yet; atomic */
  static const struct eventring_def def = {
      .name = FORMAT_TRACE_NAME,
      .doc = "ids of the innermost open span: trace, span, parent, flags",
      .kind = EVENTRING_DEF_INSTANT, .event_class = EVENTRING_CLASS_USER, .ring = EVENTRING_USER,
      .payload = EVENTRING_BYTES};
  const int id = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (__builtin_expect(id > 0, 1)) return id;
  const int new = eventring_register(&def, NULL);
  if (new == EVENTRING_ID_OTHER) return EVENTRING_E_FULL;
  if (new > 0) __atomic_store_n(&known, new, __ATOMIC_RELAXED);
  return new;
}

int eventring_span_trace(eventring_domain *domain, const struct eventring_trace *trace) {
  if (!domain || !trace) return EVENTRING_E_ARGUMENT;
  if (!eventring_enabled(domain, EVENTRING_USER, EVENTRING_CLASS_USER)) return EVENTRING_E_STATE;
  const int id = event_id();
  if (id < 0) return id;
  eventring_emit_bytes(domain, EVENTRING_USER,
                       EVENTRING_TAIL(EVENTRING_INSTANT, (unsigned)id, 0), trace, sizeof *trace);
  return EVENTRING_OK;
}

/* ---- Where a domain writes --------------------------------------------------------- */

/* Tells whether class user was off since the last call, or may have been, according to
   the control log. */
static bool was_off(struct evr_traces *t, const struct format_control *control) {
  /* acquire: pairs with the acq_rel of log_switch (format/control.c), as in
     fold_block (lane.c) */
  const uint32_t now = __atomic_load_n(&control->switches, __ATOMIC_ACQUIRE);
  bool off = now - t->switches > FORMAT_LOG_ENTRIES;
  for (uint32_t n = off ? now : t->switches; n != now; n++) {
    struct format_switch entry;
    off |= !evr_control_entry(control, n, &entry) || entry.classes >> EVENTRING_CLASS_USER & 1;
  }
  t->switches = now;
  return off;
}

static uint64_t life_of(struct evr_domain *d) {
  struct evr_traces *t = &d->traces;
  const bool same = t->recording == d->recording->header.start_ticks &&
                    t->incarnation == d->lanes.incarnation;
  if (was_off(t, d->lanes.control) || !same) t->life++;
  t->recording = d->recording->header.start_ticks;
  t->incarnation = d->lanes.incarnation;
  return t->life;
}

int eventring_trace_place(eventring_domain *domain, struct eventring_trace_place *place) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!d || !place) return EVENTRING_E_ARGUMENT;
  if (!d->recording) {
    evr_producer_follow_now();
    eventring_domain_check(domain);
  }
  if (!d->recording) return EVENTRING_E_STATE;
  const struct evr_writer *writer = d->lanes.writer[EVENTRING_USER];
  const struct eventring_trace_place full = {
      .life = life_of(d), .block = writer ? writer->source->sequence : 0};
  return evr_give(place, &full, sizeof full);
}
