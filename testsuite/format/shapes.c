/* SPDX-License-Identifier: MIT */
/* shapes.c: a program that records what the programs of other tests seldom record, for
 * readers written from doc/FORMAT.md:
 *
 *   shapes [--rounds N] [--die | --wait]
 *
 * Each round writes into ring user: ten contexts that nest spans, leave them open, are
 * suspended and go on in turn, with up to 300 spans open at once; async spans and a flow
 * between domains; events with several values; and the classes user and load switched off
 * and on with spans open. Meanwhile short-lived domains follow each other in another
 * slot; some of them are renamed. With --die, the process kills itself at the end. With
 * --wait, it prints `ready` and waits for the end of its input, while a span and two
 * contexts are open.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eventring.h"
#include "eventring/probe.h"

static int work, inner, load, note, request, message, sized, step;

static void check(int status, const struct eventring_error *error) {
  if (status >= 0) return;
  fprintf(stderr, "shapes: %s\n", error->text);
  exit(3);
}

static int defined(enum eventring_def_kind kind, const char *name, enum eventring_payload payload,
                   const char *fields) {
  struct eventring_error error;
  struct eventring_def def = {.name = name, .kind = kind, .event_class = EVENTRING_CLASS_USER,
                              .ring = EVENTRING_USER, .payload = payload, .fields = fields};
  int id = eventring_register(&def, &error);
  check(id, &error);
  return id;
}

static int defined_step(void) {
  struct eventring_error error;
  struct eventring_def def = {.name = "step", .kind = EVENTRING_DEF_SPAN,
                              .event_class = EVENTRING_CLASS_USER, .ring = EVENTRING_USER,
                              .measure = EVENTRING_OFF_CPU};
  int id = eventring_register(&def, &error);
  check(id, &error);
  return id;
}

static void define_all(void) {
  step = defined_step();
  work = defined(EVENTRING_DEF_SPAN, "work", EVENTRING_INT, NULL);
  inner = defined(EVENTRING_DEF_SPAN, "inner", EVENTRING_NONE, NULL);
  load = defined(EVENTRING_DEF_COUNTER, "load", EVENTRING_DOUBLE, NULL);
  note = defined(EVENTRING_DEF_INSTANT, "note", EVENTRING_STRING, NULL);
  request = defined(EVENTRING_DEF_ASYNC, "request", EVENTRING_NONE, NULL);
  message = defined(EVENTRING_DEF_FLOW, "message", EVENTRING_NONE, NULL);
  sized = defined(EVENTRING_DEF_INSTANT, "sized", EVENTRING_VALUES, "int,uint,,text");
}

#define IN_USER(d) d, EVENTRING_USER, EVENTRING_CLASS_USER

/* ---- Contexts --------------------------------------------------------------------- */

enum { CONTEXTS = 10, DEEPEST = 30 };

struct contexts {
  unsigned depth[CONTEXTS]; /* number of open spans */
  int suspended[CONTEXTS];
};

/* Returns a random number below `below`, which decides which context is next and what it
   does. The sequence is always the same, and has no short period. */
static unsigned draw(unsigned below) {
  static uint64_t state = 0x5a05;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state % below);
}

static void leave_context(eventring_domain *d, struct contexts *c, unsigned context) {
  if (!c->depth[context] || draw(3) == 0) return; /* without a suspension */
  eventring_suspend(IN_USER(d), context + 1);
  c->suspended[context] = 1;
}

static void enter_context(eventring_domain *d, struct contexts *c, unsigned context) {
  if (c->suspended[context]) eventring_resume_context(IN_USER(d), context + 1);
  else eventring_set_context(d, EVENTRING_USER, context + 1);
  c->suspended[context] = 0;
}

static void run_context(eventring_domain *d, struct contexts *c, unsigned context) {
  for (unsigned n = draw(8); n > 0; n--) {
    if (draw(5) < 4 && c->depth[context] < DEEPEST) {
      if (draw(2)) eventring_begin_int(IN_USER(d), (unsigned)work, -(int64_t)n);
      else eventring_user_begin(d, (unsigned)inner);
      c->depth[context]++;
    } else if (c->depth[context]) {
      /* the span that ends here need not be open */
      eventring_user_end(d, (unsigned)(draw(2) ? work : inner));
      c->depth[context]--;
    }
  }
  eventring_counter_double(IN_USER(d), (unsigned)load, 0.1 * context);
  uint64_t begun = eventring_off_cpu_begin();
  eventring_user_begin(d, (unsigned)step);
  if (draw(50) == 0) usleep(1);
  eventring_end_off_cpu(IN_USER(d), (unsigned)step, eventring_off_cpu_since(begun));
}

static void run_contexts(eventring_domain *d, struct contexts *c) {
  for (int turn = 0; turn < 20; turn++) {
    unsigned context = draw(CONTEXTS);
    enter_context(d, c, context);
    run_context(d, c, context);
    leave_context(d, c, context);
  }
  eventring_set_context(d, EVENTRING_USER, 0);
}

/* ---- Links, values, classes ------------------------------------------------------- */

static void link_all(eventring_domain *d, uint64_t round) {
  uint64_t link = round % 2 ? round : UINT64_MAX - round;
  eventring_linked(IN_USER(d), (unsigned)request, link, EVENTRING_ROLE_BEGIN);
  eventring_linked(IN_USER(d), (unsigned)message, link, EVENTRING_ROLE_BEGIN);
  eventring_linked(IN_USER(d), (unsigned)message, link, EVENTRING_ROLE_STEP);
  eventring_linked(IN_USER(d), (unsigned)message, link, EVENTRING_ROLE_END);
  if (round % 3) eventring_linked(IN_USER(d), (unsigned)request, link, EVENTRING_ROLE_END);
}

static void say_values(eventring_domain *d, uint64_t round) {
  char text[2000];
  uint64_t words[] = {4 | EVENTRING_INT << 4 | EVENTRING_UINT << 8 | EVENTRING_DOUBLE << 12 |
                          EVENTRING_STRING << 16,
                      (uint64_t)-7, UINT64_MAX - round, eventring_double_bits(0.25), 2,
                      'a' | 'b' << 8};
  memset(text, 'x', sizeof text);
  eventring_instant_bytes(IN_USER(d), (unsigned)note, text, round % 50 ? round % 9 : sizeof text);
  if (!eventring_enabled(IN_USER(d))) return;
  eventring_emit_words(d, EVENTRING_USER, EVENTRING_TAIL(EVENTRING_INSTANT, sized, 0), words,
                       sizeof words / sizeof words[0]);
}

static void switch_classes(uint64_t round) {
  uint64_t classes = 1ull << EVENTRING_CLASS_USER;
  if (round % 7 == 3 && eventring_switch_classes(classes, false) < 0) abort();
  if (round % 7 == 4 && eventring_switch_classes(classes, true) < 0) abort();
}

/* ---- Domains ---------------------------------------------------------------------- */

static eventring_domain *start_domain(const char *name) {
  struct eventring_error error = {0};
  eventring_domain *d = eventring_domain_start(name, &error);
  check(error.code, &error);
  return d;
}

static void *live_shortly(void *context) {
  uint64_t round = *(uint64_t *)context;
  char name[32];
  snprintf(name, sizeof name, "short %llu", (unsigned long long)round);
  eventring_domain *d = start_domain(name);
  eventring_set_context(d, EVENTRING_USER, round);
  for (unsigned i = 0; i < round % 5; i++) eventring_user_begin(d, (unsigned)inner);
  if (round % 4 == 1) eventring_domain_rename(d, "renamed");
  for (unsigned i = 0; i < round % 3; i++) eventring_user_end(d, (unsigned)inner);
  eventring_linked(IN_USER(d), (unsigned)request, round, EVENTRING_ROLE_END);
  eventring_domain_stop(d);
  return NULL;
}

static void let_one_live(uint64_t round) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, live_shortly, &round) != 0) abort();
  pthread_join(thread, NULL);
}

static void record(eventring_domain *d, uint64_t rounds) {
  struct contexts contexts = {{0}, {0}};
  for (uint64_t round = 0; round < rounds; round++) {
    run_contexts(d, &contexts);
    link_all(d, round);
    say_values(d, round);
    switch_classes(round);
    let_one_live(round);
  }
}

static void wait_for_end_of_input(void) {
  char byte;
  printf("ready\n");
  fflush(stdout);
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
}

int main(int argc, char **argv) {
  struct eventring_config config;
  struct eventring_error error;
  uint64_t rounds = 100;
  int die = 0, wait = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) rounds = strtoull(argv[++i], NULL, 10);
    else if (strcmp(argv[i], "--die") == 0) die = 1;
    else if (strcmp(argv[i], "--wait") == 0) wait = 1;
    else return 2;
  }
  define_all();
  eventring_config_init(&config);
  check(eventring_config_from_env(&config, "SAROS_EVENTRING", &error), &error);
  check(eventring_start(&config, &error), &error);
  eventring_domain *d = start_domain("main");
  record(d, rounds);
  if (wait) wait_for_end_of_input();
  if (die) kill(getpid(), SIGKILL);
  eventring_domain_stop(d);
  eventring_stop();
  return 0;
}
