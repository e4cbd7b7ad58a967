/* SPDX-License-Identifier: MIT */
/* renamed_host.c: a host whose events have unusual names (test_quantities.sh). Tools know
 * their meaning by their quantities alone. It records COUNT pauses, and a heap of bytes
 * that grows to MOST and shrinks again. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "eventring.h"
#include "eventring/conditions.h"
#include "eventring/probe.h"

enum { STOP = EVENTRING_ID_HOST, FRESH, KEPT, SIZE, EFFORT, AWAY, ROUND, ROUNDED };

#define COUNTER(text, in, what, of) \
  {.name = text, .unit = in, .kind = EVENTRING_DEF_COUNTER, .event_class = EVENTRING_CLASS_GC, \
   .ring = EVENTRING_RUNTIME, .payload = EVENTRING_INT, .measure = EVENTRING_##what, \
   .quantity = EVENTRING_QUANTITY_##of}
#define LIFECYCLE(text, of) \
  {.name = text, .kind = EVENTRING_DEF_LIFECYCLE, .event_class = EVENTRING_CLASS_LIFECYCLE, \
   .ring = EVENTRING_RUNTIME, .payload = EVENTRING_INT, .quantity = EVENTRING_QUANTITY_##of}

static const struct eventring_def catalogue[] = {
    {.name = "stop", .kind = EVENTRING_DEF_SPAN, .event_class = EVENTRING_CLASS_GC,
     .ring = EVENTRING_RUNTIME, .measure = EVENTRING_OFF_CPU},
    COUNTER("fresh", "words", DIFFERENCE, ALLOCATED),
    COUNTER("kept", "bytes", DIFFERENCE, PROMOTED),
    COUNTER("size", "bytes", LEVEL, HEAP),
    COUNTER("effort", "bytes", DIFFERENCE, PAUSE_WORK),
    COUNTER("away", "ns", DIFFERENCE, OFF_CPU),
    LIFECYCLE("round", CYCLE_BEGIN),
    LIFECYCLE("rounded", CYCLE_END)};

static void count(eventring_domain *domain, unsigned id, int64_t number) {
  eventring_counter(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, id, number);
}

static void pause_once(eventring_domain *domain, int round, int64_t heap) {
  count(domain, AWAY, 1000);
  const uint64_t begun = eventring_off_cpu_begin();
  eventring_begin(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, STOP);
  nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  eventring_end_off_cpu(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, STOP,
                        eventring_off_cpu_since(begun));
  count(domain, EFFORT, 4096 + round);
  count(domain, FRESH, 100);
  count(domain, KEPT, 80);
  count(domain, SIZE, heap);
}

int main(int argc, char **argv) {
  struct eventring_error error = {0};
  struct eventring_config config;
  if (argc != 3) return fprintf(stderr, "usage: renamed_host COUNT MOST\n"), 2;
  const int pauses = atoi(argv[1]);
  const int64_t most = atoll(argv[2]);
  eventring_config_init(&config);
  config.program = "renamed";
  if (eventring_register_table(catalogue, sizeof catalogue / sizeof *catalogue, NULL, &error) < 0 ||
      eventring_config_from_env(&config, "SAROS_EVENTRING", &error) < 0 ||
      eventring_start(&config, &error) < 0)
    return fprintf(stderr, "renamed_host: %s\n", error.text), 1;
  eventring_domain *domain = eventring_domain_start("main", &error);
  if (!domain) return fprintf(stderr, "renamed_host: %s\n", error.text), 1;
  eventring_lifecycle(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_LIFECYCLE, ROUND, 1);
  for (int i = 0; i < pauses; i++) pause_once(domain, i, i == pauses / 2 ? most : most / 4);
  if (pauses % 2 == 0)
    eventring_lifecycle(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_LIFECYCLE, ROUNDED, 1);
  eventring_triggers_wait(5000000000);
  eventring_domain_stop(domain);
  eventring_stop();
  return 0;
}
