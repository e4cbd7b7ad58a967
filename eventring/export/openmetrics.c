/* SPDX-License-Identifier: MIT */
/* openmetrics.c: metrics of a recording in the text format of OpenMetrics, for Prometheus (also
 * `promtool tsdb create-blocks-from openmetrics`) and what else reads it.
 *
 * Each definition in each domain is a series; the values are those of the whole recording, or
 * window, with the time of its last event on the wall clock:
 *
 *   eventring_span_seconds     histogram: spans that have ended
 *   eventring_spans_torn       counter: their begin or their end is unknown
 *   eventring_spans_open       gauge
 *   eventring_level            gauge: the last value of a counter
 *   eventring_amount           counter: the sum of a counter of differences
 *   eventring_balance          gauge: the same, of one with negative differences
 *   eventring_events           counter: events at a point in time, async spans, flows
 *   eventring_events_lost      counter, by ring; before="1": before reading began
 *
 * Memory: MOST series; what is beyond is that of domain "others". */
#include "analysis/names.h"
#include "export/events.h"
#include "export/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  BOUNDS = 25,
  MOST = 1 << 14,
  ID_OF_LOSS = EVENTRING_MAX_EVENTS, /* and the ring */
  OTHERS = EVENTRING_MAX_DOMAINS
};

/* Upper bounds of the histogram, 1, 2 and 5 times powers of ten, from 100 ns to 10 s. */
static const struct { uint64_t ns; const char *text; } bounds[BOUNDS] = {
    {100, "1e-07"}, {200, "2e-07"}, {500, "5e-07"}, {1000, "1e-06"}, {2000, "2e-06"},
    {5000, "5e-06"}, {10000, "1e-05"}, {20000, "2e-05"}, {50000, "5e-05"}, {100000, "0.0001"},
    {200000, "0.0002"}, {500000, "0.0005"}, {1000000, "0.001"}, {2000000, "0.002"},
    {5000000, "0.005"}, {10000000, "0.01"}, {20000000, "0.02"}, {50000000, "0.05"},
    {100000000, "0.1"}, {200000000, "0.2"}, {500000000, "0.5"}, {1000000000, "1.0"},
    {2000000000, "2.0"}, {5000000000, "5.0"}, {10000000000, "10.0"}};

struct series {
  const struct eventring_def *def; /* NULL: of events without one, or of a loss */
  uint32_t domain;                 /* slot; OTHERS */
  uint8_t kind, event_class, ring;
  bool falls;                      /* a difference was negative */
  char name[EVENTRING_MAX_DOMAIN_NAME + 1];
  uint64_t count, torn, open, lost, missed;
  uint64_t total_ns;
  double last, sum;
  uint64_t bucket[BOUNDS + 1];
};

struct metrics {
  struct export_run *run;
  struct export_out *out;
  struct series **series; /* in the order of first use */
  uint32_t *index;        /* + 1; by domain and id; of losses by domain and ring */
  uint32_t count, room;
  uint64_t last_ns;
  bool failed;
};

enum { IDS = ID_OF_LOSS + EVENTRING_RINGS, PLACES = IDS * (EVENTRING_MAX_DOMAINS + 1) };

/* ---- Series ------------------------------------------------------------------------------- */

static struct series *make_series(struct metrics *m, uint32_t domain, uint32_t incarnation) {
  if (m->count == m->room) {
    uint32_t room = m->room ? 2 * m->room : 64;
    struct series **grown = realloc(m->series, room * sizeof *grown);
    if (!grown) return NULL;
    m->series = grown;
    m->room = room;
  }
  struct series *series = calloc(1, sizeof *series);
  struct eventring_domain_info info;
  if (!series) return NULL;
  m->series[m->count++] = series;
  series->domain = domain;
  if (domain < OTHERS && eventring_cursor_life(m->run->cursor, domain, incarnation, &info) == 0)
    memcpy(series->name, info.name, sizeof series->name);
  return series;
}

static struct series *series_of(struct metrics *m, uint32_t domain, uint32_t incarnation,
                                unsigned id) {
  domain %= EVENTRING_MAX_DOMAINS;
  id %= IDS;
  if (m->count >= MOST && !m->index[domain * IDS + id]) domain = OTHERS;
  uint32_t *place = &m->index[domain * IDS + id];
  if (*place) return m->series[*place - 1];
  struct series *series = make_series(m, domain, incarnation);
  if (series) *place = m->count;
  else m->failed = true;
  return series;
}

static void count_span(struct series *s, const struct eventring_event *e) {
  int at = 0;
  if (e->flags & EVENTRING_TORN || !(e->flags & EVENTRING_MATCHED)) {
    s->torn++;
    return;
  }
  uint64_t ns = e->ns - e->begin_ns;
  while (at < BOUNDS && ns > bounds[at].ns) at++;
  s->bucket[at]++;
  s->count++;
  s->total_ns += ns;
}

static void count_value(struct series *s, const struct eventring_event *e) {
  double value = e->payload == EVENTRING_DOUBLE ? e->value.d
                 : e->payload == EVENTRING_UINT ? (double)e->value.u : (double)e->value.i;
  s->count++;
  s->last = value;
  s->sum += value;
  if (!(value >= 0)) s->falls = true;
}

static struct series *series_of_event(struct metrics *m, const struct eventring_event *e) {
  unsigned id = e->def ? e->id % ID_OF_LOSS : EVENTRING_ID_OTHER; /* one "(other)" */
  struct series *s = series_of(m, e->domain, e->incarnation, id);
  if (!s) return NULL;
  s->def = e->def ? e->def : s->def;
  s->kind = e->kind == EVENTRING_BEGIN ? EVENTRING_END : e->kind;
  s->event_class = e->event_class;
  s->ring = e->ring;
  return s;
}

static int on_event(void *state, const struct eventring_event *e) {
  struct metrics *m = state;
  if (e->kind == EVENTRING_BEGIN) return 0;
  struct series *s = series_of_event(m, e);
  if (!s) return 1;
  if (e->ns > m->last_ns) m->last_ns = e->ns;
  if (e->kind == EVENTRING_END) count_span(s, e);
  else if (e->kind == EVENTRING_COUNTER) count_value(s, e);
  else s->count++;
  return 0;
}

static int on_open(void *state, const struct eventring_event *e) {
  struct series *s = series_of_event(state, e);
  if (!s) return 1;
  s->open++;
  return 0;
}

static int on_lost(void *state, const struct eventring_loss *loss) {
  struct metrics *m = state;
  struct series *s = series_of(m, loss->domain, loss->incarnation,
                               ID_OF_LOSS + loss->ring % EVENTRING_RINGS);
  if (!s) return 1;
  s->ring = loss->ring;
  if (loss->flags & EVENTRING_LOST_BEFORE) s->missed += loss->count;
  else s->lost += loss->count;
  return 0;
}

/* ---- Text --------------------------------------------------------------------------------- */

static char *put_label(char *to, const char *name, const char *text) {
  to = export_copy(to, name, strlen(name));
  to = EXPORT_TEXT(to, "=\"");
  for (size_t size = strlen(text); size > 0;) {
    struct eventring_character c = eventring_character_at(text, size);
    if (*text == '\n') to = EXPORT_TEXT(to, "\\n");
    else if (!c.valid) to = EXPORT_TEXT(to, "\xEF\xBF\xBD");
    else {
      if (*text == '"' || *text == '\\') *to++ = '\\';
      to = export_copy(to, text, c.size);
    }
    text += c.size, size -= c.size;
  }
  *to++ = '"';
  return to;
}

/* Seconds since 1970, of the last event. */
static char *put_time(struct metrics *m, char *to) {
  const struct eventring_info *info = m->run->info;
  int64_t wall = info->start_wall_ns;
  if (m->last_ns > info->start_ns) wall += (int64_t)(m->last_ns - info->start_ns);
  if (wall < 0) wall = 0;
  *to++ = ' ';
  to = export_uint(to, (uint64_t)wall / 1000000000);
  *to++ = '.';
  to = export_three(to, (unsigned)((uint64_t)wall / 1000000 % 1000));
  *to++ = '\n';
  return to;
}

static char *put_labels(struct metrics *m, char *to, const struct series *s, bool is_loss) {
  char domain[16];
  const char *ring = eventring_cursor_ring_name(m->run->cursor, s->ring);
  const char *class = eventring_cursor_class(m->run->cursor, s->event_class);
  *export_uint(domain, s->domain) = '\0';
  *to++ = '{';
  if (!is_loss) {
    to = put_label(to, "name", s->def ? s->def->name : "(other)");
    to = put_label(EXPORT_TEXT(to, ","), "class", class ? class : "");
    if (s->def && s->def->unit && s->def->unit[0] && s->kind == EVENTRING_COUNTER)
      to = put_label(EXPORT_TEXT(to, ","), "unit", s->def->unit);
    if (s->kind > EVENTRING_COUNTER)
      to = put_label(EXPORT_TEXT(to, ","), "kind",
                     s->def ? eva_def_kind_name(s->def->kind) : "event");
    *to++ = ',';
  }
  to = put_label(to, "domain", s->domain == OTHERS ? "others" : domain);
  to = put_label(EXPORT_TEXT(to, ","), "domain_name", s->name);
  return put_label(EXPORT_TEXT(to, ","), "ring", ring ? ring : "");
}

/* `family{labels,more} value time` */
static void put_sample(struct metrics *m, const char *name, const struct series *s, bool is_loss,
                       const char *more, double value) {
  char *to = export_room(m->out, 4096);
  to = export_copy(to, name, strlen(name));
  to = put_labels(m, to, s, is_loss);
  to = export_copy(to, more, strlen(more));
  to = EXPORT_TEXT(to, "} ");
  if (isnan(value)) to = EXPORT_TEXT(to, "NaN");
  else if (isinf(value)) to = value < 0 ? EXPORT_TEXT(to, "-Inf") : EXPORT_TEXT(to, "+Inf");
  else to = export_double(to, value, 0);
  m->out->at = put_time(m, to);
}

static void put_family(struct metrics *m, const char *name, const char *type, const char *help) {
  char text[256];
  snprintf(text, sizeof text, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
  export_puts(m->out, text);
}

static void put_histogram(struct metrics *m, const struct series *s) {
  uint64_t sum = 0;
  for (int i = 0; i <= BOUNDS; i++) {
    char le[32];
    sum += s->bucket[i];
    snprintf(le, sizeof le, ",le=\"%s\"", i < BOUNDS ? bounds[i].text : "+Inf");
    put_sample(m, "eventring_span_seconds_bucket", s, false, le, (double)sum);
  }
  put_sample(m, "eventring_span_seconds_count", s, false, "", (double)sum);
  put_sample(m, "eventring_span_seconds_sum", s, false, "", (double)s->total_ns / 1e9);
}

static bool is_difference(const struct series *s) {
  return s->kind == EVENTRING_COUNTER && s->def && s->def->measure == EVENTRING_DIFFERENCE;
}
static bool is_span(const struct series *s) { return s->kind == EVENTRING_END; }
static bool is_level(const struct series *s) {
  return s->kind == EVENTRING_COUNTER && !is_difference(s);
}
static bool is_loss(const struct series *s) { return !s->kind; }

/* `s`: each series in turn */
#define EACH(m, s)                                    \
  for (uint32_t n_ = 0; n_ < (m)->count; n_++)        \
    for (struct series *s = (m)->series[n_]; s; s = NULL)

static void put_spans(struct metrics *m) {
  export_puts(m->out, "# TYPE eventring_span_seconds histogram\n"
                      "# UNIT eventring_span_seconds seconds\n"
                      "# HELP eventring_span_seconds Spans that have ended.\n");
  EACH(m, s) if (is_span(s) && s->count) put_histogram(m, s);
  put_family(m, "eventring_spans_torn", "counter", "Spans whose begin or end is unknown.");
  EACH(m, s) if (is_span(s) && s->torn)
    put_sample(m, "eventring_spans_torn_total", s, false, "", (double)s->torn);
  put_family(m, "eventring_spans_open", "gauge", "Spans that are open at the end.");
  EACH(m, s) if (is_span(s) && s->open)
    put_sample(m, "eventring_spans_open", s, false, "", (double)s->open);
}

static void put_values(struct metrics *m) {
  put_family(m, "eventring_level", "gauge", "The last value of a counter.");
  EACH(m, s) if (is_level(s)) put_sample(m, "eventring_level", s, false, "", s->last);
  put_family(m, "eventring_amount", "counter", "What a counter has added up to.");
  EACH(m, s) if (is_difference(s) && !s->falls)
    put_sample(m, "eventring_amount_total", s, false, "", s->sum);
  put_family(m, "eventring_balance", "gauge", "The same, of counters that also take away.");
  EACH(m, s) if (is_difference(s) && s->falls)
    put_sample(m, "eventring_balance", s, false, "", s->sum);
}

static void put_events(struct metrics *m) {
  put_family(m, "eventring_events", "counter", "Events at a point in time.");
  EACH(m, s) if (s->kind > EVENTRING_COUNTER && s->count)
    put_sample(m, "eventring_events_total", s, false, "", (double)s->count);
  put_family(m, "eventring_events_lost", "counter", "Events that were lost.");
  EACH(m, s) if (is_loss(s)) {
    if (s->lost)
      put_sample(m, "eventring_events_lost_total", s, true, ",before=\"0\"", (double)s->lost);
    if (s->missed)
      put_sample(m, "eventring_events_lost_total", s, true, ",before=\"1\"", (double)s->missed);
  }
}

static void *begin(struct export_run *run) {
  struct metrics *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->run = run;
  m->out = run->out;
  m->index = calloc(PLACES, sizeof *m->index);
  if (m->index) return m;
  free(m);
  return NULL;
}

static int finish(void *state) {
  struct metrics *m = state;
  int result = m->failed ? -1 : 0;
  put_spans(m);
  put_values(m);
  put_events(m);
  export_puts(m->out, "# EOF\n");
  EACH(m, s) free(s);
  free(m->series);
  free(m->index);
  free(m);
  return result;
}

const struct export_events export_events_openmetrics = {
    .merged = true, .begin = begin, .event = on_event, .lost = on_lost, .open = on_open,
    .finish = finish};
