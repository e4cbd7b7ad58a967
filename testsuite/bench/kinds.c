/* SPDX-License-Identifier: MIT */
/* kinds.c: writes a recording of one kind of events, for benchmarks of its readers.
 *
 *   kinds KIND EVENTS FOLDER|ring
 *
 * writes FOLDER/KIND.eventring: a stream of about EVENTS events; with `ring` it writes
 * into rings as the variables SAROS_EVENTRING_* say, for a recorder beside it (eventring
 * record -- kinds ...). One thread writes into all domains, in an order that a generator
 * with a fixed seed draws, so the structure of a recording is the same each time; the
 * times are real. */
#include "eventring/probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAINS = 8, CONTEXTS = 8, MOST_DEPTH = 6, STRINGS = 16 };

static uint64_t state = 0x9E3779B97F4A7C15;

static uint32_t draw(uint32_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)((state >> 32) * below >> 32);
}

static void die(const char *what) {
  fprintf(stderr, "kinds: %s\n", what);
  exit(1);
}

/* ---- Definitions ------------------------------------------------------------------ */

static unsigned plain_id[4], int_id[4], text_id[4], counter_id[4], double_id, event_id[2],
    async_id, flow_id, collection_id, heap_id;

static unsigned user(enum eventring_def_kind kind, const char *name,
                     enum eventring_payload payload) {
  int id = eventring_register_user(kind, name, strlen(name), payload, NULL);
  if (id < 0) die("cannot register");
  return (unsigned)id;
}

static unsigned host(enum eventring_def_kind kind, const char *name, enum eventring_payload payload,
                     enum eventring_measure measure) {
  const struct eventring_def def = {.kind = kind, .ring = EVENTRING_RUNTIME, .name = name,
                                    .event_class = EVENTRING_CLASS_GC, .payload = payload,
                                    .measure = measure};
  int id = eventring_register(&def, NULL);
  if (id < 0) die("cannot register");
  return (unsigned)id;
}

static void define(void) {
  static const char *const names[] = {"request", "parse", "query", "row"};
  char name[32];
  for (int i = 0; i < 4; i++) {
    plain_id[i] = user(EVENTRING_DEF_SPAN, names[i], EVENTRING_NONE);
    snprintf(name, sizeof name, "%s of", names[i]);
    int_id[i] = user(EVENTRING_DEF_SPAN, name, EVENTRING_INT);
    snprintf(name, sizeof name, "%s at", names[i]);
    text_id[i] = user(EVENTRING_DEF_SPAN, name, EVENTRING_STRING);
    snprintf(name, sizeof name, "%ss", names[i]);
    counter_id[i] = user(EVENTRING_DEF_COUNTER, name, EVENTRING_INT);
  }
  double_id = user(EVENTRING_DEF_COUNTER, "load", EVENTRING_DOUBLE);
  event_id[0] = user(EVENTRING_DEF_INSTANT, "retry", EVENTRING_INT);
  event_id[1] = user(EVENTRING_DEF_INSTANT, "note", EVENTRING_STRING);
  async_id = user(EVENTRING_DEF_ASYNC, "delivery", EVENTRING_NONE);
  flow_id = user(EVENTRING_DEF_FLOW, "message", EVENTRING_NONE);
  collection_id = host(EVENTRING_DEF_SPAN, "collection", EVENTRING_NONE, EVENTRING_OFF_CPU);
  heap_id = host(EVENTRING_DEF_COUNTER, "heap", EVENTRING_INT, EVENTRING_LEVEL);
}

/* ---- Flows of control ------------------------------------------------------------- */

struct flow { /* a context of a domain */
  unsigned open[MOST_DEPTH];
  unsigned depth, at;
};
static eventring_domain *domain[DOMAINS];
static struct flow flows[DOMAINS][CONTEXTS];
static unsigned present[DOMAINS]; /* the present context of each domain */

enum value { NOTHING, INTEGER, TEXT, EACH /* any of these, depending on the depth */ };

static const char *text_of(uint32_t n) {
  static const char *const texts[STRINGS] = {
      "/", "/a", "/index", "/index.html", "/users/4711/orders", "select name from users", "GET",
      "POST", "ok", "timeout", "retry after 3", "a", "no such file or directory", "500", "", "eof"};
  return texts[n % STRINGS];
}

static void begin_value(eventring_domain *d, enum value value, unsigned n) {
  const char *text;
  switch (value) {
    case INTEGER:
      eventring_begin_int(d, EVENTRING_USER, EVENTRING_CLASS_USER, int_id[n], draw(100000));
      break;
    case TEXT:
      text = text_of(draw(STRINGS));
      eventring_begin_bytes(d, EVENTRING_USER, EVENTRING_CLASS_USER, text_id[n], text,
                            strlen(text));
      break;
    default: eventring_user_begin(d, plain_id[n]); break;
  }
}

static unsigned id_of(enum value value, unsigned n) {
  return (value == INTEGER ? int_id : value == TEXT ? text_id : plain_id)[n];
}

static enum value value_at(enum value value, unsigned n) {
  return value == EACH ? (enum value)(n % EACH) : value;
}

static void begin_span(unsigned slot, enum value value, unsigned n) {
  struct flow *flow = &flows[slot][present[slot]];
  begin_value(domain[slot], value_at(value, n), n);
  flow->open[flow->depth++] = n;
}

static void end_span(unsigned slot, enum value value) {
  struct flow *flow = &flows[slot][present[slot]];
  unsigned n = flow->open[--flow->depth];
  eventring_user_end(domain[slot], id_of(value_at(value, n), n));
}

/* Writes the next begin or end of a loop that serves requests. Two of three requests have
   no query. */
static void step(unsigned slot, enum value value) {
  enum { END = 4 };
  static const uint8_t loop[] = {0, 1, END, END, 0, 1, END, END, 0, 1, END, 2, 3, END, END, END};
  struct flow *flow = &flows[slot][present[slot]];
  unsigned next = loop[flow->at++ % sizeof loop];
  if (next == END) end_span(slot, value);
  else begin_span(slot, value, next);
}

/* Writes a begin or an end, at random. */
static void step_anywhere(unsigned slot, enum value value) {
  const struct flow *flow = &flows[slot][present[slot]];
  unsigned n = flow->depth < 3 ? flow->depth : 3;
  if (flow->depth < MOST_DEPTH && (!flow->depth || draw(MOST_DEPTH) >= flow->depth))
    begin_span(slot, value, n);
  else
    end_span(slot, value);
}

/* Leaves the context and goes on in a random one. */
static void change_context(unsigned slot) {
  eventring_domain *d = domain[slot];
  if (flows[slot][present[slot]].depth)
    eventring_suspend(d, EVENTRING_USER, EVENTRING_CLASS_USER, present[slot] + 1);
  present[slot] = draw(CONTEXTS);
  eventring_set_context(d, EVENTRING_USER, present[slot] + 1);
  if (flows[slot][present[slot]].depth)
    eventring_resume_context(d, EVENTRING_USER, EVENTRING_CLASS_USER, present[slot] + 1);
}

/* ---- Kinds ------------------------------------------------------------------------ */

static void plain(uint64_t i, unsigned slot) {
  (void)i;
  step(slot, NOTHING);
}

static void drawn(uint64_t i, unsigned slot) {
  (void)i;
  step_anywhere(slot, NOTHING);
}

static void ints(uint64_t i, unsigned slot) {
  (void)i;
  step(slot, INTEGER);
}

static void strings(uint64_t i, unsigned slot) {
  (void)i;
  step(slot, TEXT);
}

static void contexts(uint64_t i, unsigned slot) {
  if (i % 13 == 0) change_context(slot);
  step(slot, NOTHING);
}

static void links(uint64_t i, unsigned slot) {
  eventring_domain *d = domain[slot];
  uint64_t link = i / 4;
  switch (i % 4) {
    case 0:
      eventring_linked(d, EVENTRING_USER, EVENTRING_CLASS_USER, async_id, link,
                       EVENTRING_ROLE_BEGIN);
      break;
    case 1:
      eventring_linked(d, EVENTRING_USER, EVENTRING_CLASS_USER, flow_id, link,
                       draw(2) ? EVENTRING_ROLE_BEGIN : EVENTRING_ROLE_STEP);
      break;
    case 2:
      eventring_linked(d, EVENTRING_USER, EVENTRING_CLASS_USER, async_id, link, EVENTRING_ROLE_END);
      break;
    default: step(slot, NOTHING); break;
  }
}

static void counters(uint64_t i, unsigned slot) {
  if (i % 5 == 4)
    eventring_counter_double(domain[slot], EVENTRING_USER, EVENTRING_CLASS_USER, double_id,
                             (double)draw(1000) / 1000);
  else
    eventring_user_counter(domain[slot], counter_id[draw(4)], draw(1000));
}

static void events(uint64_t i, unsigned slot) {
  const char *text = text_of(draw(STRINGS));
  if (i % 2)
    eventring_instant_bytes(domain[slot], EVENTRING_USER, EVENTRING_CLASS_USER, event_id[1], text,
                            strlen(text));
  else
    eventring_instant_int(domain[slot], EVENTRING_USER, EVENTRING_CLASS_USER, event_id[0],
                          draw(1000));
}

/* Writes spans with and without values, counters, events, and a collector. */
static void mixed(uint64_t i, unsigned slot) {
  eventring_domain *d = domain[slot];
  uint32_t n = draw(32);
  if (n == 0) {
    eventring_begin(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, collection_id);
    eventring_end_off_cpu(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, collection_id, draw(4) ? 0 : 9);
    eventring_counter(d, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, heap_id, draw(100000));
  } else if (n < 4) {
    counters(i, slot);
  } else if (n == 5) {
    events(i, slot);
  } else {
    step(slot, EACH);
  }
}

static const struct kind {
  const char *name;
  void (*write)(uint64_t i, unsigned slot);
  unsigned domains;
} kinds[] = {{"plain", plain, 1},       {"drawn", drawn, 1},       {"ints", ints, 1},
             {"strings", strings, 1},   {"contexts", contexts, 1}, {"links", links, 1},
             {"counters", counters, 1}, {"events", events, 1},     {"mixed", mixed, 1},
             {"plain2", plain, 2},      {"plain4", plain, 4},      {"plain8", plain, 8},
             {"mixed2", mixed, 2},      {"mixed8", mixed, 8},      {"contexts2", contexts, 2},
             {"ints4", ints, 4},        {"links4", links, 4}};

static const struct kind *kind_named(const char *name) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
  die("no such kind");
  return NULL;
}

/* ---- The recording ---------------------------------------------------------------- */

static void start(const char *folder, const char *name, bool is_ring) {
  static char path[4096];
  struct eventring_config config;
  struct eventring_error error;
  eventring_config_init(&config);
  snprintf(path, sizeof path, "%s/%s.eventring", folder, name);
  if (is_ring) {
    if (eventring_config_from_env(&config, "SAROS_EVENTRING", &error) < 0) die(error.text);
  } else {
    config.start = EVENTRING_START_ON;
    config.stream = path;
  }
  if (eventring_start(&config, &error) < 0) die(error.text);
}

int main(int argc, char **argv) {
  if (argc < 4) die("usage: kinds KIND EVENTS FOLDER|ring");
  const struct kind *kind = kind_named(argv[1]);
  const uint64_t count = strtoull(argv[2], NULL, 10);
  define();
  start(argv[3], kind->name, strcmp(argv[3], "ring") == 0);
  for (unsigned n = 0; n < kind->domains; n++) {
    domain[n] = eventring_domain_start("bench", NULL);
    if (kind->write == contexts) eventring_set_context(domain[n], EVENTRING_USER, 1);
  }
  for (uint64_t i = 0; i < count; i++)
    kind->write(i, kind->domains > 1 ? draw(kind->domains) : 0);
  for (unsigned n = 0; n < kind->domains; n++) eventring_domain_stop(domain[n]);
  return eventring_stop() < 0;
}
