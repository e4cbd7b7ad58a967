/* SPDX-License-Identifier: MIT */
/* traced_host.c: records what its standard input lists, for tests of how traces are
 * handled. It uses the variables TRACED_EVENTRING_*. A line is
 *
 *   context N             the following lines belong to context N (0: none)
 *   leave                 the context is suspended
 *   begin NAME [TEXT]     the begin of a span, with a value
 *   end NAME [TEXT]       its end (TEXT as in its begin)
 *   trace HEX             an event `trace`, of 33 bytes
 *   event NAME [HEX]      an event of the program, with bytes as its value
 *   number X              an event with a number
 *   flow ROLE LINK        begin, step or end of a flow `message`
 *   async ROLE LINK       begin or end of an async span `transfer`
 *   pause                 a step of the collector
 *   spans N NAME          N spans, one after the other
 *   repeat N              the lines up to `again`, N times (not within another `repeat`)
 *   again
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eventring.h"
#include "eventring/probe.h"

enum { PAUSE = EVENTRING_ID_HOST, MOST_LINES = 1000 };

static const struct eventring_def catalogue[] = {
    {.name = "pause", .kind = EVENTRING_DEF_SPAN, .event_class = EVENTRING_CLASS_GC,
     .ring = EVENTRING_RUNTIME}};

static char lines[MOST_LINES][256];
static size_t line_count;
static eventring_domain *domain;
static uint64_t context;

static void die(const char *what, const char *why) {
  fprintf(stderr, "traced_host: %s: %s\n", what, why);
  exit(1);
}

static unsigned id_of(enum eventring_def_kind kind, const char *name,
                      enum eventring_payload payload) {
  struct eventring_error error = {0};
  int id = eventring_register_user(kind, name, strlen(name), payload, &error);
  if (id < 0) die(name, error.text);
  return (unsigned)id;
}

static size_t bytes_of(const char *hex, unsigned char *bytes, size_t room) {
  size_t size = 0;
  unsigned byte;
  for (; size < room && sscanf(hex + 2 * size, "%2x", &byte) == 1; size++)
    bytes[size] = (unsigned char)byte;
  return size;
}

static void event(const char *name, const char *hex) {
  unsigned char bytes[128];
  const size_t size = bytes_of(hex, bytes, sizeof bytes);
  eventring_instant_bytes(domain, EVENTRING_USER, EVENTRING_CLASS_USER,
                          id_of(EVENTRING_DEF_INSTANT, name, EVENTRING_BYTES), bytes, size);
}

static unsigned id_of_span(const char *name, const char *value) {
  return id_of(EVENTRING_DEF_SPAN, name, *value ? EVENTRING_STRING : EVENTRING_NONE);
}

static void begin(const char *name, const char *value) {
  const unsigned id = id_of_span(name, value);
  if (*value)
    eventring_begin_bytes(domain, EVENTRING_USER, EVENTRING_CLASS_USER, id, value, strlen(value));
  else
    eventring_user_begin(domain, id);
}

static enum eventring_role role_of(const char *text) {
  return strcmp(text, "begin") == 0 ? EVENTRING_ROLE_BEGIN
         : strcmp(text, "end") == 0 ? EVENTRING_ROLE_END : EVENTRING_ROLE_STEP;
}

static void linked(enum eventring_def_kind kind, const char *name, const char *role,
                   const char *link) {
  eventring_linked(domain, EVENTRING_USER, EVENTRING_CLASS_USER, id_of(kind, name, EVENTRING_NONE),
                   strtoull(link, NULL, 10), role_of(role));
}

static void spans(unsigned long count, const char *name) {
  const unsigned id = id_of(EVENTRING_DEF_SPAN, name, EVENTRING_NONE);
  for (; count > 0; count--) {
    eventring_user_begin(domain, id);
    eventring_user_end(domain, id);
  }
}

static void run(const char *line) {
  char word[16] = "", first[128] = "", second[128] = "";
  sscanf(line, "%15s %127s %127s", word, first, second);
  if (strcmp(word, "context") == 0) {
    context = strtoull(first, NULL, 10);
    eventring_set_context(domain, EVENTRING_USER, context);
  } else if (strcmp(word, "leave") == 0) {
    eventring_suspend(domain, EVENTRING_USER, EVENTRING_CLASS_USER, context);
  } else if (strcmp(word, "begin") == 0) {
    begin(first, second);
  } else if (strcmp(word, "end") == 0) {
    eventring_user_end(domain, id_of_span(first, second));
  } else if (strcmp(word, "trace") == 0) {
    event("trace", first);
  } else if (strcmp(word, "event") == 0) {
    event(first, second);
  } else if (strcmp(word, "number") == 0) {
    eventring_instant_double(domain, EVENTRING_USER, EVENTRING_CLASS_USER,
                             id_of(EVENTRING_DEF_INSTANT, "number", EVENTRING_DOUBLE),
                             strtod(first, NULL));
  } else if (strcmp(word, "flow") == 0) {
    linked(EVENTRING_DEF_FLOW, "message", first, second);
  } else if (strcmp(word, "async") == 0) {
    linked(EVENTRING_DEF_ASYNC, "transfer", first, second);
  } else if (strcmp(word, "pause") == 0) {
    eventring_begin(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, PAUSE);
    eventring_end(domain, EVENTRING_RUNTIME, EVENTRING_CLASS_GC, PAUSE);
  } else if (strcmp(word, "spans") == 0) {
    spans(strtoul(first, NULL, 10), second);
  } else if (*word && *word != '#') {
    die(word, "what is that?");
  }
}

/* Runs the block that begins at `first`; returns the line after the block. */
static size_t repeat(size_t first) {
  unsigned long times = strtoul(lines[first] + strlen("repeat"), NULL, 10);
  size_t end = first + 1;
  while (end < line_count && strncmp(lines[end], "again", 5) != 0) end++;
  for (; times > 0; times--)
    for (size_t i = first + 1; i < end; i++) run(lines[i]);
  return end + 1;
}

int main(void) {
  struct eventring_config config;
  struct eventring_error error = {0};
  eventring_config_init(&config);
  config.program = "traced";
  if (eventring_register_table(catalogue, 1, NULL, &error) < 0 ||
      eventring_config_from_env(&config, "TRACED_EVENTRING", &error) < 0 ||
      eventring_start(&config, &error) < 0)
    die("start", error.text);
  domain = eventring_domain_start("main", &error);
  while (line_count < MOST_LINES && fgets(lines[line_count], sizeof lines[0], stdin)) line_count++;
  for (size_t i = 0; i < line_count;)
    if (strncmp(lines[i], "repeat", 6) == 0) i = repeat(i);
    else run(lines[i++]);
  eventring_domain_stop(domain);
  eventring_stop();
  return 0;
}
