/* SPDX-License-Identifier: MIT */
/* timed_host.c: records what its standard input lists, at the times given there, so that
 * the results of a command are known to the nanosecond. A line is
 *
 *   work NS          NS pass on a processor
 *   away NS          NS pass without a processor
 *   begin NAME       the begin of a span of the program
 *   end NAME
 *   pause NS OFF     a pause of the collector; for OFF ns of NS it has no processor
 *   unsaid NS        a pause for which the time without a processor is not measured
 *   repeat N         the lines up to `again`, N times (not within another `repeat`)
 *   again
 *   leave            the domain stops, and another one starts in its place
 *
 * The end of a span whose name begins with `measured` says for how long it had no
 * processor. As in Saros, a pause is preceded by a counter of the time without a
 * processor since the last pause, if there was any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/set_clock.h"
#include "eventring.h"
#include "eventring/probe.h"

enum { PAUSE = EVENTRING_ID_HOST, UNSAID, OFF_CPU, DEFINITIONS, MOST_LINES = 1000 };

static const struct eventring_def catalogue[] = {
    {.name = "pause", .kind = EVENTRING_DEF_SPAN, .event_class = EVENTRING_CLASS_GC,
     .ring = EVENTRING_RUNTIME, .measure = EVENTRING_OFF_CPU},
    {.name = "unsaid", .kind = EVENTRING_DEF_SPAN, .event_class = EVENTRING_CLASS_GC,
     .ring = EVENTRING_RUNTIME},
    {.name = "off_cpu", .unit = "ns", .kind = EVENTRING_DEF_COUNTER,
     .event_class = EVENTRING_CLASS_GC, .ring = EVENTRING_RUNTIME, .payload = EVENTRING_INT,
     .measure = EVENTRING_DIFFERENCE, .quantity = EVENTRING_QUANTITY_OFF_CPU}};

static struct line {
  char word[16], name[64];
  uint64_t number, off;
} lines[MOST_LINES];
static size_t line_count;

static eventring_domain *domain;
/* off_at_begin is off_in_all at the begin of the open measured span */
static uint64_t off_since, off_in_all, off_at_begin;

static void die(const char *what, const char *why) {
  fprintf(stderr, "timed_host: %s: %s\n", what, why);
  exit(1);
}

static void start_domain(void) {
  struct eventring_error error = {0};
  domain = eventring_domain_start("main", &error);
  if (error.code) die("domain", error.text);
  off_since = 0;
}

static void read_lines(void) {
  char text[128];
  while (fgets(text, sizeof text, stdin)) {
    if (line_count == MOST_LINES) die(text, "too many lines");
    struct line *line = &lines[line_count];
    if (sscanf(text, "%15s", line->word) != 1 || line->word[0] == '#') continue;
    if (strcmp(line->word, "begin") == 0 || strcmp(line->word, "end") == 0)
      sscanf(text, "%*s %63s", line->name);
    else
      sscanf(text, "%*s %lu %lu", &line->number, &line->off);
    line_count++;
  }
}

static bool is_measured(const char *name) { return strncmp(name, "measured", 8) == 0; }

static unsigned id_of(const char *name) {
  struct eventring_error error = {0};
  const struct eventring_def def = {
      .name = name, .kind = EVENTRING_DEF_SPAN, .event_class = EVENTRING_CLASS_USER,
      .ring = EVENTRING_USER, .measure = is_measured(name) ? EVENTRING_OFF_CPU : 0};
  int id = is_measured(name) ? eventring_register(&def, &error)
                             : eventring_register_user(EVENTRING_DEF_SPAN, name, strlen(name),
                                                       EVENTRING_NONE, &error);
  if (id < 0) die(name, error.text);
  return (unsigned)id;
}

static void begin_span(const char *name) {
  if (is_measured(name)) off_at_begin = off_in_all;
  eventring_user_begin(domain, id_of(name));
}

static void end_span(const char *name) {
  if (is_measured(name))
    eventring_end_off_cpu(domain, EVENTRING_USER, EVENTRING_CLASS_USER, id_of(name),
                          off_in_all - off_at_begin);
  else
    eventring_user_end(domain, id_of(name));
}

static void pause_for(uint64_t ns, uint64_t off) {
  if (off_since)
    eventring_counter(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, OFF_CPU, (int64_t)off_since);
  off_since = 0;
  eventring_begin(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, PAUSE);
  now_ns += ns;
  off_in_all += off;
  eventring_end_off_cpu(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, PAUSE, off);
}

static void pause_unsaid(uint64_t ns) {
  eventring_begin(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, UNSAID);
  now_ns += ns;
  eventring_end(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, UNSAID);
}

static void run(const struct line *line) {
  const char *word = line->word;
  if (strcmp(word, "work") == 0) {
    now_ns += line->number;
  } else if (strcmp(word, "away") == 0) {
    now_ns += line->number;
    off_since += line->number;
    off_in_all += line->number;
  } else if (strcmp(word, "begin") == 0) {
    begin_span(line->name);
  } else if (strcmp(word, "end") == 0) {
    end_span(line->name);
  } else if (strcmp(word, "pause") == 0) {
    pause_for(line->number, line->off);
  } else if (strcmp(word, "unsaid") == 0) {
    pause_unsaid(line->number);
  } else if (strcmp(word, "leave") == 0) {
    eventring_domain_stop(domain);
    start_domain();
  } else {
    die(word, "what is that?");
  }
}

/* Runs the block that begins at `first`; returns the line after the block. */
static size_t run_block(size_t first) {
  const uint64_t rounds = lines[first - 1].number;
  size_t end = first;
  while (end < line_count && strcmp(lines[end].word, "again") != 0) end++;
  for (uint64_t round = 0; round < rounds; round++)
    for (size_t i = first; i < end; i++) run(&lines[i]);
  return end + 1;
}

int main(void) {
  struct eventring_error error = {0};
  struct eventring_config config;
  read_lines();
  eventring_config_init(&config);
  config.program = "timed";
  if (eventring_register_table(catalogue, sizeof catalogue / sizeof *catalogue, NULL, &error) < 0 ||
      eventring_config_from_env(&config, "SAROS_EVENTRING", &error) < 0 ||
      eventring_start(&config, &error) < 0)
    die("start", error.text);
  start_domain();
  for (size_t i = 0; i < line_count;) {
    if (strcmp(lines[i].word, "repeat") == 0) i = run_block(i + 1);
    else run(&lines[i++]);
  }
  eventring_domain_stop(domain);
  eventring_stop();
  return 0;
}
