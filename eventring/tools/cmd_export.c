/* SPDX-License-Identifier: MIT */
/* cmd_export.c: `eventring export`: a recording in the format of another tool. */
#include <stdlib.h>
#include <string.h>

#include "events_export.h"
#include "export/otlp_resource.h"
#include "formats.h"
#include "heap_export.h"
#include "heap_query.h"

struct export_command {
  struct heap_query h;
  const char *to, *output;
  char *resource;
  uint64_t every_ns;
};

enum { EVERY_NS = 1000 * 1000 * 1000, LEAST_EVERY_NS = 1000 * 1000, NOT_SAID = 1 };

static bool has_series(const char *format) { return strcmp(format, "openmetrics") == 0; }
static bool is_otlp(const char *format) { return strncmp(format, "otlp", 4) == 0; }

static bool is_of_metrics(const char *format) { return strncmp(format, "otlp_metrics", 12) == 0; }

static bool asks_for_a_part(const struct query *q) {
  return time_window_is_asked_for(&q->window) || q->domain != UINT64_MAX;
}

static bool asks_for_heap(const struct heap_query *h) {
  return h->live || h->allocated || h->peak || h->temporary || h->survived || h->q.top;
}

static int read_words(const struct command *self, int count, char **words,
                      struct export_command *c, struct operands *operands) {
  char formats[FORMATS_ROOM + 40];
  snprintf(formats, sizeof formats, "all events: %s; the heap profile: %s", formats_of_events(),
           formats_of_profiles());
  const struct option_spec specs[] = {
      {"to", 0, OPTION_TEXT, &c->to, "FORMAT", formats},
      {"output", 'o', OPTION_TEXT, &c->output, "FILE",
       "write to FILE, which must not exist; of all events: FILE.gz"},
      {"every", 0, OPTION_SECONDS, &c->every_ns, "N",
       "openmetrics: a sample of each series each N seconds (1); 0: only the last"},
      {"resource", 0, OPTION_LIST, &c->resource, "KEY=VALUE,...",
       "otlp...: attributes of the process, before those of OTEL_RESOURCE_ATTRIBUTES"},
      HEAP_MEASURE_SPECS(&c->h),
      QUERY_CHOICE_SPECS(&c->h.q)};
  int status = options_parse(self, OPTION_SPECS(specs), count, words, operands);
  if (goes_on(status)) status = heap_query_check(self, &c->h);
  if (goes_on(status) && !c->to)
    status = usage_error(self, "--to FORMAT is missing: %s, %s", formats_of_profiles(),
                         formats_of_events());
  if (goes_on(status) && !format_of_profiles(c->to) && !format_of_events(c->to))
    status = usage_error(self, "`--to %s': must be one of %s, %s", c->to, formats_of_profiles(),
                         formats_of_events());
  if (goes_on(status) && format_of_events(c->to) && asks_for_heap(&c->h))
    status = usage_error(self, "`--to %s' exports all events: no --live, --allocated, --peak, "
                         "--temporary, --survived or --top", c->to);
  if (goes_on(status) && c->every_ns != NOT_SAID && !has_series(c->to))
    status = usage_error(self, "--every goes with --to openmetrics");
  if (goes_on(status) && is_of_metrics(c->to) && asks_for_a_part(&c->h.q))
    status = usage_error(self,
                         "`--to %s' is of the whole recording: no --since, --until, --last or "
                         "--domain",
                         c->to);
  if (goes_on(status) && c->resource && !is_otlp(c->to))
    status =
        usage_error(self, "--resource goes with --to otlp, otlp_metrics and otlp_profiles, and "
                          "their _json");
  if (goes_on(status) && c->resource && !otlp_resource_is_valid(c->resource))
    status = usage_error(self, "--resource: must be %s", OTLP_RESOURCE_FORM);
  if (goes_on(status) && c->every_ns > NOT_SAID && c->every_ns < LEAST_EVERY_NS)
    status = usage_error(self, "--every: must be at least 1ms");
  if (goes_on(status) && c->every_ns == NOT_SAID) c->every_ns = EVERY_NS;
  if (goes_on(status) && !c->output) status = usage_error(self, "-o FILE is missing");
  return goes_on(status) ? require_target(self, operands, true) : status;
}

static int export_heap(struct export_command *c, const struct operands *operands) {
  int status = heap_query_read(&c->h, operands);
  if (!goes_on(status)) return status;
  status = heap_export(c->h.heap, heap_query_main(&c->h), c->h.q.reader.cursor, c->resource,
                       c->to, c->output);
  return heap_query_close(&c->h, status);
}

int command_export(const struct command *self, int count, char **words) {
  struct export_command c = {.h = HEAP_QUERY_NEW, .every_ns = NOT_SAID};
  struct operands operands;
  int status = read_words(self, count, words, &c, &operands);
  if (goes_on(status))
    status = format_of_events(c.to)
                 ? events_export(&c.h.q, &operands, c.to, c.output, c.every_ns, c.resource)
                 : export_heap(&c, &operands);
  free(c.resource);
  return status;
}
