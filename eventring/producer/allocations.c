/* SPDX-License-Identifier: MIT */
/* allocations.c: what hosts report about allocations: events, and profiles of domains.
 *
 * The definitions of the events are registered with the first profile of the process. A
 * sample is four words: the event word and three of payload, which format.h describes. */
#include "producer/allocations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/error.h"
#include "format/samples.h"
#include "format/text.h"
#include "producer/domains.h"
#include "producer/lock.h"

/* ---- Names of kinds and origins ---------------------------------------------------- */

typedef char memory_name[EVENTRING_MAX_CLASS_NAME + 1];
static memory_name kind_names[FORMAT_MEMORY_KINDS];     /* under the mutex */
static memory_name origin_names[FORMAT_MEMORY_ORIGINS]; /* under the mutex */

static int set_name(memory_name *names, unsigned count, unsigned index, const char *name) {
  size_t size = name ? strlen(name) : 0;
  if (index >= count) return EVENTRING_E_ARGUMENT;
  if (!size || size > EVENTRING_MAX_CLASS_NAME || evr_text_check(name, size) != EVR_TEXT_OK)
    return EVENTRING_E_NAME;
  evr_lock();
  memcpy(names[index], name, size + 1);
  evr_unlock();
  return EVENTRING_OK;
}

int eventring_memory_name(enum eventring_memory_name of, unsigned number, const char *name) {
  if (of == EVENTRING_MEMORY_KIND) return set_name(kind_names, FORMAT_MEMORY_KINDS, number, name);
  if (of != EVENTRING_MEMORY_ORIGIN) return EVENTRING_E_ARGUMENT;
  return set_name(origin_names, FORMAT_MEMORY_ORIGINS, number, name);
}

static void append_names_locked(struct evr_recording *r, enum format_string type,
                                const memory_name *names, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    size_t bytes = strlen(names[i]);
    uint64_t record[2 + (sizeof(memory_name) + 7) / 8] = {format_record(0, type, i), bytes};
    if (!bytes) continue;
    memcpy(record + 2, names[i], bytes);
    evr_records_append_locked(&r->records, FORMAT_STRINGS, record, 2 + format_text_words(bytes));
  }
}

void evr_memory_publish_locked(struct evr_recording *r) {
  append_names_locked(r, FORMAT_MEMORY_KIND, kind_names, FORMAT_MEMORY_KINDS);
  append_names_locked(r, FORMAT_MEMORY_ORIGIN, origin_names, FORMAT_MEMORY_ORIGINS);
  evr_stacks_publish_locked(r);
}

/* ---- Events ------------------------------------------------------------------------ */

static unsigned event_id[EVENTRING_MEMORY_RATE + 1]; /* 0 if not registered yet; atomic */

static int register_event(const struct evr_memory_event *e, struct eventring_error *error) {
  struct eventring_def def = {
      .name = e->name, .unit = e->unit, .doc = e->doc, .kind = e->kind,
      .event_class = EVENTRING_CLASS_ALLOC, .ring = EVENTRING_ALLOC, .payload = e->payload,
      .measure = e->kind == EVENTRING_DEF_COUNTER ? EVENTRING_LEVEL : EVENTRING_MEASURE_NONE};
  return eventring_register(&def, error);
}

static int register_events(struct eventring_error *error) {
  for (int what = EVENTRING_MEMORY_ALLOC; what <= EVENTRING_MEMORY_RATE; what++) {
    if (__atomic_load_n(&event_id[what], __ATOMIC_RELAXED)) continue;
    int id = register_event(&evr_memory_events[what], error);
    if (id < 0) return id;
    __atomic_store_n(&event_id[what], (unsigned)id, __ATOMIC_RELAXED);
  }
  return EVENTRING_OK;
}

static inline uint64_t tail_of(enum eventring_memory_event what, unsigned words) {
  enum eventring_kind kind =
      what == EVENTRING_MEMORY_RATE ? EVENTRING_COUNTER : EVENTRING_INSTANT;
  return EVENTRING_TAIL(kind, __atomic_load_n(&event_id[what], __ATOMIC_RELAXED), words);
}

static inline bool is_on(const struct evr_domain *d) {
  return eventring_enabled(&d->lanes.hot, EVENTRING_ALLOC, EVENTRING_CLASS_ALLOC);
}

static inline void emit(struct evr_domain *d, enum eventring_memory_event what, uint64_t value) {
  if (is_on(d)) eventring_emit1(&d->lanes.hot, EVENTRING_ALLOC, tail_of(what, 1), value);
}

/* Emits an event as eventring_emit1 does, at a time that was read before. */
static inline void emit_at(struct evr_domain *d, uint64_t tail, uint64_t ticks, uint64_t value) {
  struct eventring_lane *lane = &d->lanes.hot.lane[EVENTRING_ALLOC];
  uint64_t *next = lane->next;
  uint64_t *limit = __atomic_load_n(&lane->limit, __ATOMIC_RELAXED);
  if (__builtin_expect((uintptr_t)next + 16 > (uintptr_t)limit, 0) ||
      __builtin_expect(ticks > lane->expires, 0)) {
    eventring_emit_slow(&d->lanes.hot, EVENTRING_ALLOC, tail, ticks, &value, 1);
    return;
  }
  __atomic_store_n(next + 1, value, __ATOMIC_RELAXED);
  /* release: pairs with the reader's acquire load R2 of this word (reader/block.c), which
     then sees the value */
  __atomic_store_n(next, ticks << EVENTRING_WORD_TIME_SHIFT | tail, __ATOMIC_RELEASE);
  lane->next = next + 2;
  lane->extra++;
}

/* Emits an event as eventring_emit1 does, with three words of payload. */
static inline void emit_sample(struct evr_domain *d, const uint64_t words[3]) {
  struct eventring_lane *lane = &d->lanes.hot.lane[EVENTRING_ALLOC];
  uint64_t tail = tail_of(EVENTRING_MEMORY_ALLOC, 3), ticks = eventring_ticks();
  uint64_t *next = lane->next;
  uint64_t *limit = __atomic_load_n(&lane->limit, __ATOMIC_RELAXED);
  if (__builtin_expect((uintptr_t)next + 32 > (uintptr_t)limit, 0) ||
      __builtin_expect(ticks > lane->expires, 0)) {
    eventring_emit_slow(&d->lanes.hot, EVENTRING_ALLOC, tail, ticks, words, 3);
    return;
  }
  for (int i = 0; i < 3; i++) __atomic_store_n(next + 1 + i, words[i], __ATOMIC_RELAXED);
  /* release: pairs with R2, as in emit_at */
  __atomic_store_n(next, ticks << EVENTRING_WORD_TIME_SHIFT | tail, __ATOMIC_RELEASE);
  lane->next = next + 4;
  lane->extra += 3;
}

/* ---- Public ------------------------------------------------------------------------ */

uint32_t eventring_stack(eventring_domain *domain, const struct eventring_frame *frames,
                         size_t count, eventring_resolve *resolve, void *context) {
  struct evr_domain *d = (struct evr_domain *)domain;
  return evr_stack_find(evr_domain_is_inert(d) ? NULL : &d->stacks, frames, count, resolve,
                        context);
}

int eventring_memory_parse_rate(const char *text, double *rate, struct eventring_error *error) {
  char *end = NULL;
  double value = 0;
  if (text && !strcmp(text, "on")) value = EVENTRING_MEMORY_DEFAULT_RATE;
  else if (text && !strcmp(text, "off")) value = 0;
  else if (text && (text[0] == '.' || (text[0] >= '0' && text[0] <= '9')))
    value = strtod(text, &end);
  else value = -1;
  if ((end && *end) || !(value >= 0 && value <= 1))
    return evr_fail(error, EVENTRING_E_ARGUMENT, 0,
                    "%.100s: a rate of samples must be on, off, or a number from 0 to 1 (the "
                    "samples for each word; 1e-4 is usual)", text ? text : "");
  *rate = value;
  return EVENTRING_OK;
}

double eventring_memory_rate(const eventring_domain *domain) {
  const struct evr_domain *d = (const struct evr_domain *)domain;
  double rate;
  if (!is_on(d) || !d->recording) return 0;
  uint64_t bits = __atomic_load_n(&evr_control(d->recording)->sample_rate, __ATOMIC_RELAXED);
  memcpy(&rate, &bits, sizeof rate);
  return rate > 0 && rate <= 1 ? rate : 0;
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

int eventring_memory_start(eventring_domain *domain, double rate) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!(rate > 0 && rate <= 1)) return EVENTRING_E_ARGUMENT;
  if (evr_domain_is_inert(d)) return EVENTRING_E_MEMORY;
  int status = register_events(NULL);
  if (status != EVENTRING_OK) return status;
  eventring_memory_stop(domain);
  struct evr_heap *heap = evr_heap_new(rate);
  if (!heap) return EVENTRING_E_MEMORY;
  evr_lock();
  d->heap = heap;
  evr_unlock();
  emit(d, EVENTRING_MEMORY_RATE, bits_of(rate));
  return EVENTRING_OK;
}

void eventring_memory_stop(eventring_domain *domain) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!d->heap) return;
  emit(d, EVENTRING_MEMORY_RATE, bits_of(0));
  evr_domain_publish_heap(d, true);
}

EVR_SAMPLE_PATH void eventring_memory_expect(const eventring_domain *domain) {
  const struct evr_domain *d = (const struct evr_domain *)domain;
  const struct eventring_lane *lane = &d->lanes.hot.lane[EVENTRING_ALLOC];
  __builtin_prefetch(lane->gate);
  __builtin_prefetch(lane->next, 1);
  if (d->heap) evr_heap_expect(d->heap);
}

EVR_SAMPLE_PATH
void eventring_memory_sampled(eventring_domain *domain, const struct eventring_sample *sample,
                              struct eventring_tracked *tracked) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!d->heap) {
    *tracked = (struct eventring_tracked){0};
    return;
  }
  evr_heap_allocate(d->heap, sample, tracked);
  if (!is_on(d)) return;
  uint64_t words[3];
  format_put_sample(words, sample, tracked->block);
  emit_sample(d, words);
}

/* Counts the fate of a block; returns false when the block belongs to another profile. */
static inline bool count_fate(struct evr_heap *heap, const struct eventring_fate *fate) {
  if (fate->kind == EVENTRING_FATE_PROMOTED)
    return fate->block->profile == evr_heap_number(heap);
  return evr_heap_release(heap, fate->block);
}

void eventring_memory_fates(eventring_domain *domain, const struct eventring_fate *fates,
                            size_t count) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!d->heap || !count) return;
  bool on = is_on(d);
  uint64_t ticks = on ? eventring_ticks() : 0;
  const uint64_t tail[] = {[EVENTRING_FATE_PROMOTED] = tail_of(EVENTRING_MEMORY_PROMOTE, 1),
                           [EVENTRING_FATE_FREED_YOUNG] = tail_of(EVENTRING_MEMORY_FREE_YOUNG, 1),
                           [EVENTRING_FATE_FREED_OLD] = tail_of(EVENTRING_MEMORY_FREE_OLD, 1)};
  for (size_t i = 0; i < count; i++)
    if (count_fate(d->heap, &fates[i]) && on)
      emit_at(d, tail[fates[i].kind], ticks, fates[i].block->block & FORMAT_BLOCK_NUMBERS);
}

void eventring_memory_collected(eventring_domain *domain,
                                const struct eventring_collection *collection) {
  struct evr_domain *d = (struct evr_domain *)domain;
  if (!d->heap) return;
  emit(d, EVENTRING_MEMORY_COLLECTED, evr_heap_collect(d->heap, collection));
  evr_domain_publish_heap(d, false);
}
