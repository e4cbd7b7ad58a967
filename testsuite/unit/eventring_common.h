/* SPDX-License-Identifier: MIT */
/* eventring_common.h: what the unit programs of libeventring share. */
#ifndef EVENTRING_COMMON_H
#define EVENTRING_COMMON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "eventring/read.h"
#include "format/format.h"
#include "eventring/probe.h"
#include "producer/domains.h"

#define UNUSED __attribute__((unused))

/* Ids of the test's own table, registered first in the process. */
enum {
  T_OUTER = EVENTRING_ID_HOST, /* span, gc, runtime, begin carries INT */
  T_INNER,                     /* span, gc, runtime */
  T_FLOOD,                     /* span, user, user */
  T_COUNT,                     /* counter INT, user, user */
  T_RATE,                      /* counter DOUBLE, gc, runtime */
  T_POINT,                     /* event, user */
  T_TEXT,                      /* event STRING, user */
  T_DATA,                      /* event BYTES, user */
  T_SIZE,                      /* event UINT, user */
  T_LIFE,                      /* lifecycle */
  T_CALL,                      /* span, calls (off by default), user */
  T_NAMES
};

static UNUSED void register_test_events(void) {
#define DEF(n, k, c, r, p) \
  {.name = n, .kind = EVENTRING_DEF_##k, .event_class = EVENTRING_CLASS_##c, \
   .ring = EVENTRING_##r, .payload = EVENTRING_##p}
  static const struct eventring_def defs[] = {
      DEF("outer", SPAN, GC, RUNTIME, INT),   DEF("inner", SPAN, GC, RUNTIME, NONE),
      DEF("flood", SPAN, USER, USER, NONE),   DEF("count", COUNTER, USER, USER, INT),
      DEF("rate", COUNTER, GC, RUNTIME, DOUBLE), DEF("point", INSTANT, USER, USER, NONE),
      DEF("text", INSTANT, USER, USER, STRING), DEF("data", INSTANT, USER, USER, BYTES),
      DEF("size", INSTANT, USER, USER, UINT), DEF("life", LIFECYCLE, LIFECYCLE, RUNTIME, INT),
      DEF("call", SPAN, CALLS, USER, NONE)};
#undef DEF
  unsigned first = 0;
  struct eventring_error error = {0};
  if (eventring_register_table(defs, sizeof defs / sizeof defs[0], &first, &error) !=
          EVENTRING_OK || first != T_OUTER) {
    fprintf(stderr, "cannot register: %s\n", error.text);
    exit(1);
  }
}

static UNUSED struct eventring_config test_config(unsigned wsize) {
  struct eventring_config config;
  eventring_config_init(&config);
  config.start = EVENTRING_START_ON;
  config.wsize = wsize;
  config.program = "unit";
  return config;
}

static UNUSED void start_recording(unsigned wsize) {
  struct eventring_config config = test_config(wsize);
  struct eventring_error error = {0};
  if (eventring_start(&config, &error) != EVENTRING_OK) fail_msg("%s", error.text);
}

/* Starts a recording whose file stays at the end. */
static UNUSED void start_preserved(unsigned wsize) {
  struct eventring_config config = test_config(wsize);
  struct eventring_error error = {0};
  config.preserve = EVENTRING_PRESERVE_ALWAYS;
  if (eventring_start(&config, &error) != EVENTRING_OK) fail_msg("%s", error.text);
}

static UNUSED eventring_domain *start_domain(const char *name) {
  struct eventring_error error = {0};
  eventring_domain *domain = eventring_domain_start(name, &error);
  if (error.code) fail_msg("%s", error.text);
  return domain;
}

static UNUSED const char *own_path(void) {
  static char path[4096];
  eventring_path(path, sizeof path);
  return path;
}

/* Returns the offset in a file of block `sequence` of a ring, by the domain table. */
static UNUSED uint64_t ring_block_offset(const char *path, unsigned slot, unsigned ring,
                                         uint64_t sequence) {
  struct format_domain domain;
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, (long)(FORMAT_DOMAINS_OFFSET + slot * sizeof domain), SEEK_SET);
  assert_int_equal(fread(&domain, sizeof domain, 1, file), 1);
  fclose(file);
  const struct format_ring *r = &domain.ring[ring];
  assert_int_not_equal(r->blocks, 0);
  return format_block_offset(r->first + (sequence - 1) % r->blocks);
}

static UNUSED eventring_cursor *open_self(unsigned flags) {
  eventring_cursor *cursor;
  struct eventring_error error = {0};
  if (eventring_open_self(&cursor, flags, &error) != EVENTRING_OK)
    fail_msg("%s", error.text);
  return cursor;
}

static UNUSED eventring_cursor *open_file(const char *path, unsigned flags) {
  eventring_cursor *cursor;
  struct eventring_error error = {0};
  if (eventring_open_path(&cursor, path, flags, &error) != EVENTRING_OK)
    fail_msg("%s", error.text);
  return cursor;
}

/* ---- Collecting what a poll delivers ------------------------------------------- */

struct seen {
  struct eventring_event event;
  uint8_t bytes[EVENTRING_MAX_PAYLOAD];
};
struct log {
  struct seen *seen; /* all events, real and synthetic, in order */
  size_t count, room;
  uint64_t lost[EVENTRING_RINGS], before[EVENTRING_RINGS];
  uint64_t events[EVENTRING_RINGS]; /* number of real events, by ring */
};

static UNUSED int log_event(void *context, const struct eventring_event *event) {
  struct log *log = context;
  if (log->count == log->room) {
    log->room = log->room ? 2 * log->room : 256;
    log->seen = realloc(log->seen, log->room * sizeof *log->seen);
    if (!log->seen) abort();
  }
  struct seen *s = &log->seen[log->count++];
  s->event = *event;
  if (event->size && event->size <= sizeof s->bytes)
    memcpy(s->bytes, event->bytes, event->size);
  if (!(event->flags & EVENTRING_SYNTHETIC)) log->events[event->ring]++;
  return 0;
}

static UNUSED int log_loss(void *context, const struct eventring_loss *loss) {
  struct log *log = context;
  *(loss->flags & EVENTRING_LOST_BEFORE ? &log->before[loss->ring]
                                        : &log->lost[loss->ring]) += loss->count;
  return 0;
}

static UNUSED int poll_log(eventring_cursor *cursor, struct log *log, uint64_t max) {
  struct eventring_callbacks callbacks = {sizeof callbacks, log_event, log_loss};
  return eventring_poll(cursor, &callbacks, log, max);
}

static UNUSED void clear_log(struct log *log) {
  free(log->seen);
  *log = (struct log){0};
}

/* Removes the library's own lifecycle events. */
static UNUSED void drop_builtins(struct log *log) {
  size_t kept = 0;
  for (size_t i = 0; i < log->count; i++)
    if (log->seen[i].event.id >= EVENTRING_ID_HOST) log->seen[kept++] = log->seen[i];
  log->count = kept;
}

static UNUSED uint64_t emitted(const eventring_cursor *cursor, unsigned slot,
                               enum eventring_ring ring) {
  struct eventring_ring_info info = {.size = sizeof info};
  assert_int_equal(eventring_cursor_ring((eventring_cursor *)cursor, slot, ring, &info),
                   EVENTRING_OK);
  return info.emitted;
}

#endif /* EVENTRING_COMMON_H */
