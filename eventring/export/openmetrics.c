/* SPDX-License-Identifier: MIT */
/* openmetrics.c: metrics of a recording in the text format of OpenMetrics, for Prometheus
 * (also `promtool tsdb create-blocks-from openmetrics`) and other readers of the format.
 *
 * Each definition in each domain is a series:
 *
 *   eventring_span_seconds     histogram: spans that have ended
 *   eventring_spans_torn       counter: spans whose begin or end is unknown
 *   eventring_spans_open       gauge, at the end only
 *   eventring_level            gauge: the last value of a counter
 *   eventring_amount           counter: the sum of a counter of differences
 *   eventring_balance          gauge: this sum, if some differences are negative
 *   eventring_events           counter: events at a point in time, async spans, flows
 *   eventring_events_lost      counter, by ring; before="1": before reading began
 *
 * The rings of a live process hold only the newest events, and the next export would find
 * other ones. So the text for a live process is that of `eventring metrics` (metrics.h):
 * the totals of what was recorded, one sample each, without a time, since such a text is
 * scraped.
 *
 * A series has a sample every `every_ns` from the start of the recording on, as if it had
 * been scraped then, and one at its last event; the times are those of the wall clock. A
 * count begins with 0 at the sample before its first event, so that rates are right from
 * the beginning.
 *
 * The format groups all samples of a series, so they are kept until the end: `now` is
 * what the series has counted so far, `points` are copies of it, one for each instant
 * from instant `first` on. Memory is bounded. There are at most MOST series; the events
 * of further series count in the series of domain "others". There are at most MOST_POINTS
 * points in all, and at most MOST_INSTANTS instants. When there would be more, every
 * other instant is dropped, and from then on instants are twice as far apart.
 *
 * The text is bounded, too, by how much was recorded: otherwise a small file with a few
 * events over a long time, or in many domains, would make a text a thousand times as
 * long. All samples but the last of each series take at most FREE_BYTES and
 * BYTES_AN_EVENT for each event; beyond that, every other instant is dropped. If the last
 * samples alone would take more, no new series is begun, and its events count in the
 * series of "others". `bytes` of a series is the size of one of its points as text.
 */
#include "analysis/figures.h"
#include "analysis/names.h"
#include "eventring/tools.h"
#include "export/event_formats.h"
#include "export/metrics.h"
#include "export/text_write.h"
#include "format/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  BOUNDS = METRICS_BOUNDS,
  MOST = 1 << 14,
  MOST_POINTS = 1 << 17,
  MOST_INSTANTS = 1 << 12,
  FREE_BYTES = 32 << 20,
  BYTES_AN_EVENT = 128,
  SAMPLE = 4096,   /* most bytes of a line */
  OFTEN = 1 << 14, /* number of events between two reports of progress */
  ID_OF_LOSS = EVENTRING_MAX_EVENTS, /* an index of a loss is this plus the ring */
  OTHERS = EVENTRING_MAX_DOMAINS
};

struct values {
  uint64_t count, torn, open, lost, missed;
  uint64_t total_ns;
  double last, sum;
  uint64_t bucket[BOUNDS + 1];
};

struct series {
  const struct eventring_def *def; /* NULL for events without a definition, and for a
                                      loss */
  uint32_t domain;                 /* slot, or OTHERS */
  uint8_t kind, event_class, ring;
  bool falls;                      /* a difference was negative */
  char name[EVENTRING_MAX_DOMAIN_NAME + 1];
  struct values now, *points;
  uint32_t first, count, room; /* points: instants first to first + count - 1 */
  uint32_t bytes;
};

struct history {
  struct export_run *run;
  struct export_out *out;
  struct series **series; /* all series in the order of first use */
  uint32_t *index;        /* index plus 1, by domain and id; losses by domain and ring */
  uint32_t count, room;
  uint64_t seen;
  uint64_t first_ns, last_ns; /* times of the first and last event; 0 if none yet */
  uint64_t every_ns, next_ns; /* 0 if there are no instants */
  uint64_t instant[MOST_INSTANTS]; /* ns, multiples of every_ns from the start on */
  uint32_t instants, points;
  uint64_t bytes, bytes_an_instant; /* bytes of all points, and of one point of each
                                       series */
  bool failed;
};

enum { IDS = ID_OF_LOSS + EVENTRING_RINGS, INDEX_SIZE = IDS * (EVENTRING_MAX_DOMAINS + 1) };

static uint64_t bytes_allowed(const struct history *m) {
  return FREE_BYTES + BYTES_AN_EVENT * m->seen;
}

/* ---- Series ----------------------------------------------------------------------- */

static struct series *make_series(struct history *m, uint32_t domain, uint32_t incarnation) {
  if (!EVR_MAKE_ROOM(m->series, m->room, m->count, 64)) return NULL;
  struct series *series = calloc(1, sizeof *series);
  struct eventring_domain_info info = {.size = sizeof info};
  if (!series) return NULL;
  m->series[m->count++] = series;
  series->domain = domain;
  series->first = m->instants;
  if (domain < OTHERS && eventring_cursor_life(m->run->cursor, domain, incarnation, &info) == 0)
    memcpy(series->name, info.name, sizeof series->name);
  return series;
}

static struct series *series_of(struct history *m, uint32_t domain, uint32_t incarnation,
                                unsigned id) {
  domain %= EVENTRING_MAX_DOMAINS;
  id %= IDS;
  bool is_full = m->count >= MOST || 2 * m->bytes_an_instant > bytes_allowed(m);
  if (is_full && !m->index[domain * IDS + id]) domain = OTHERS;
  uint32_t *entry = &m->index[domain * IDS + id];
  if (*entry) return m->series[*entry - 1];
  struct series *series = make_series(m, domain, incarnation);
  if (series) *entry = m->count;
  else m->failed = true;
  return series;
}

/* ---- Instants --------------------------------------------------------------------- */

/* Drops every other instant; those at multiples of twice the distance stay. */
static void thin(struct history *m) {
  uint64_t start = m->run->info->start_ns, distance = 2 * m->every_ns;
  /* number: for each instant, how many of the instants before it stay */
  uint32_t number[MOST_INSTANTS + 1], kept = 0;
  for (uint32_t i = 0; i < m->instants; i++) {
    number[i] = kept;
    if ((m->instant[i] - start) % distance == 0) m->instant[kept++] = m->instant[i];
  }
  number[m->instants] = kept;
  m->points = 0;
  m->bytes = 0;
  for (uint32_t n = 0; n < m->count; n++) {
    struct series *s = m->series[n];
    uint32_t to = 0;
    for (uint32_t i = 0; i < s->count; i++)
      if (number[s->first + i + 1] > number[s->first + i]) s->points[to++] = s->points[i];
    s->first = number[s->first];
    s->count = to;
    m->points += to;
    m->bytes += (uint64_t)to * s->bytes;
  }
  m->instants = kept;
  m->every_ns = distance;
  if ((m->next_ns - start) % distance)
    m->next_ns = m->next_ns < UINT64_MAX - distance ? m->next_ns + distance / 2 : 0;
}

static bool add_point(struct series *s) {
  if (!EVR_MAKE_ROOM(s->points, s->room, s->count, 4)) return false;
  s->points[s->count++] = s->now;
  return true;
}

static void take_instant(struct history *m) {
  if (m->instants == MOST_INSTANTS || m->points + m->count > MOST_POINTS ||
      m->bytes + m->bytes_an_instant > bytes_allowed(m)) {
    thin(m);
    return; /* thin may have dropped this instant, too */
  }
  for (uint32_t n = 0; n < m->count && !m->failed; n++)
    if (!add_point(m->series[n])) m->failed = true;
  m->points += m->count;
  m->bytes += m->bytes_an_instant;
  m->instant[m->instants++] = m->next_ns;
  m->next_ns = m->next_ns < UINT64_MAX - m->every_ns ? m->next_ns + m->every_ns : 0;
}

/* Takes the instants that are due. Called with the time of each event, before the event
   is counted. */
static void note_time(struct history *m, uint64_t ns) {
  uint64_t start = m->run->info->start_ns;
  if (!m->first_ns) {
    m->first_ns = ns;
    if (m->every_ns && ns >= start)
      m->next_ns = ns - (ns - start) % m->every_ns + m->every_ns;
  }
  /* if there were more instants than MOST_INSTANTS, thin would drop every other one
     anyway */
  while (m->next_ns && ns > m->next_ns && (ns - m->next_ns) / m->every_ns >= MOST_INSTANTS) thin(m);
  while (m->next_ns && ns > m->next_ns && !m->failed) take_instant(m);
  if (ns > m->last_ns) m->last_ns = ns;
}

/* ---- Labels ----------------------------------------------------------------------- */

static char *put_label(char *to, const char *name, const char *text) {
  to = export_copy(to, name, strlen(name));
  to = EXPORT_TEXT(to, "=\"");
  to = export_text(to, text, strlen(text), "\"\\", "");
  *to++ = '"';
  return to;
}

static char *put_labels(struct history *m, char *to, const struct series *s, bool is_loss) {
  char domain[16];
  const char *ring = eventring_cursor_name(m->run->cursor, EVENTRING_NAME_RING, s->ring);
  const char *class = eventring_cursor_name(m->run->cursor, EVENTRING_NAME_CLASS, s->event_class);
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

static bool is_difference(const struct series *s) {
  return s->kind == EVENTRING_COUNTER && s->def && s->def->measure == EVENTRING_DIFFERENCE;
}
static bool is_span(const struct series *s) { return s->kind == EVENTRING_END; }
static bool is_level(const struct series *s) {
  return s->kind == EVENTRING_COUNTER && !is_difference(s);
}
static bool is_loss(const struct series *s) { return !s->kind; }

/* Adds the size of a series' text to the size of an instant, once the labels are known.
   REST is for the name of the family, a bound, a value and a time. */
static void weigh(struct history *m, struct series *s) {
  enum { REST = 80, LINES = BOUNDS + 3 };
  char text[SAMPLE];
  if (s->bytes) return;
  uint32_t line = (uint32_t)(put_labels(m, text, s, is_loss(s)) - text) + REST;
  s->bytes = is_span(s) ? line * LINES : line;
  m->bytes_an_instant += s->bytes;
}

/* ---- Counting --------------------------------------------------------------------- */

static void count_span(struct values *s, const struct eventring_event *e) {
  const int64_t took = eventring_event_took(e);
  int at = 0;
  if (took < 0) {
    s->torn++;
    return;
  }
  while (at < BOUNDS && (uint64_t)took > metrics_bounds[at].ns) at++;
  s->bucket[at]++;
  s->count++;
  s->total_ns += (uint64_t)took;
}

static void count_value(struct series *s, const struct eventring_event *e) {
  double value = e->payload == EVENTRING_DOUBLE ? e->value.d
                 : e->payload == EVENTRING_UINT ? (double)e->value.u : (double)e->value.i;
  s->now.count++;
  s->now.last = value;
  s->now.sum += value;
  if (!(value >= 0)) s->falls = true;
}

static struct series *series_of_event(struct history *m, const struct eventring_event *e) {
  unsigned id = e->def ? e->id % ID_OF_LOSS : EVENTRING_ID_OTHER; /* these all count as
                                                                     "(other)" */
  struct series *s = series_of(m, e->domain, e->incarnation, id);
  if (!s) return NULL;
  s->def = e->def ? e->def : s->def;
  s->kind = e->kind == EVENTRING_BEGIN ? EVENTRING_END : e->kind;
  s->event_class = e->event_class;
  s->ring = e->ring;
  weigh(m, s);
  return s;
}

/* Returns the series of the losses of a ring of a domain, or NULL. */
static struct series *series_of_ring(struct history *m, uint32_t domain, uint32_t incarnation,
                                     uint8_t ring) {
  struct series *s = series_of(m, domain, incarnation, ID_OF_LOSS + ring % EVENTRING_RINGS);
  if (s) s->ring = ring;
  return s;
}

static int on_event(void *state, const struct eventring_event *e) {
  struct history *m = state;
  if (e->kind == EVENTRING_BEGIN) return 0;
  note_time(m, e->ns);
  struct series *s = series_of_event(m, e);
  if (!s) return 1;
  if (e->kind == EVENTRING_END) count_span(&s->now, e);
  else if (e->kind == EVENTRING_COUNTER) count_value(s, e);
  else s->now.count++;
  if (++m->seen % OFTEN == 0) m->run->progress(m->run->progress_context);
  return m->run->error[0] != '\0';
}

static int on_open(void *state, const struct eventring_event *e) {
  struct series *s = series_of_event(state, e);
  if (!s) return 1;
  s->now.open++;
  return 0;
}

static int on_lost(void *state, const struct eventring_loss *loss) {
  struct history *m = state;
  if (m->first_ns) note_time(m, loss->ns);
  struct series *s = series_of_ring(m, loss->domain, loss->incarnation, loss->ring);
  if (!s) return 1;
  weigh(m, s);
  if (loss->flags & EVENTRING_LOST_BEFORE) s->now.missed += loss->count;
  else s->now.lost += loss->count;
  return 0;
}

/* ---- Text ------------------------------------------------------------------------- */

/* Returns a time as milliseconds since 1970, which is what Prometheus keeps. (Both times
   may be any number.) */
static uint64_t wall_ms(const struct history *m, uint64_t ns) {
  const struct eventring_info *info = m->run->info;
  uint64_t wall = info->start_wall_ns > 0 ? (uint64_t)info->start_wall_ns : 0;
  uint64_t past = ns > info->start_ns ? ns - info->start_ns : 0;
  return (past < UINT64_MAX - wall ? wall + past : UINT64_MAX) / 1000000;
}

static char *put_time(char *to, uint64_t ms) {
  *to++ = ' ';
  to = export_uint(to, ms / 1000);
  *to++ = '.';
  to = export_three(to, (unsigned)(ms % 1000));
  *to++ = '\n';
  return to;
}

/* Writes a sample: `family{labels,more} value time`. */
static void put_sample(struct history *m, const char *name, const struct series *s, bool is_loss,
                       const char *more, double value, uint64_t ms) {
  char *to = export_room(m->out, SAMPLE);
  to = export_copy(to, name, strlen(name));
  to = put_labels(m, to, s, is_loss);
  to = export_copy(to, more, strlen(more));
  to = EXPORT_TEXT(to, "} ");
  if (isnan(value)) to = EXPORT_TEXT(to, "NaN");
  else if (isinf(value)) to = value < 0 ? EXPORT_TEXT(to, "-Inf") : EXPORT_TEXT(to, "+Inf");
  else to = export_double(to, value, 0);
  m->out->at = put_time(to, ms);
}

static void put_family(struct history *m, const char *name, const char *type, const char *help) {
  char text[256];
  snprintf(text, sizeof text, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
  export_puts(m->out, text);
}

/* Writes the values of one moment. */
typedef void put_values(struct history *m, const struct series *s, const struct values *v,
                        uint64_t ms);

/* Writes for each bound how many times it covers; returns the number of all times. */
static uint64_t put_buckets(struct history *m, const struct series *s, const struct values *v,
                            uint64_t ms, const char *name, const char *label) {
  uint64_t sum = 0;
  for (int i = 0; i <= BOUNDS; i++) {
    char bound[32];
    sum += v->bucket[i];
    snprintf(bound, sizeof bound, ",%s=\"%s\"", label,
             i < BOUNDS ? metrics_bounds[i].text : "+Inf");
    put_sample(m, name, s, false, bound, (double)sum, ms);
  }
  return sum;
}

static void put_histogram(struct history *m, const struct series *s, const struct values *v,
                          uint64_t ms) {
  uint64_t sum = put_buckets(m, s, v, ms, "eventring_span_seconds_bucket", "le");
  put_sample(m, "eventring_span_seconds_count", s, false, "", (double)sum, ms);
  put_sample(m, "eventring_span_seconds_sum", s, false, "", (double)v->total_ns / 1e9, ms);
}

#define PUT(function, name, is_loss, more, value)                                       \
  static void function(struct history *m, const struct series *s, const struct values *v, \
                       uint64_t ms) {                                                   \
    put_sample(m, name, s, is_loss, more, (double)(value), ms);                         \
  }
PUT(put_torn, "eventring_spans_torn_total", false, "", v->torn)
PUT(put_level, "eventring_level", false, "", v->last)
PUT(put_amount, "eventring_amount_total", false, "", v->sum)
PUT(put_balance, "eventring_balance", false, "", v->sum)
PUT(put_count, "eventring_events_total", false, "", v->count)
PUT(put_lost, "eventring_events_lost_total", true, ",before=\"0\"", v->lost)
PUT(put_missed, "eventring_events_lost_total", true, ",before=\"1\"", v->missed)

/* Writes all samples of a series: first those before the millisecond of the last sample,
   then the last sample. */
static void put_series(struct history *m, const struct series *s, put_values *put, bool counts) {
  static const struct values nothing;
  uint64_t end = wall_ms(m, m->last_ns), before = 0;
  uint64_t zero = wall_ms(m, s->first ? m->instant[s->first - 1] : m->first_ns);
  if (counts && m->every_ns && zero < end) put(m, s, &nothing, before = zero);
  for (uint32_t i = 0; i < s->count; i++) {
    uint64_t ms = wall_ms(m, m->instant[s->first + i]);
    if (ms > before && ms < end) put(m, s, &s->points[i], before = ms);
  }
  put(m, s, &s->now, end);
}

/* Runs the statement that follows for each series, as `s`. */
#define EACH(m, s)                                    \
  for (uint32_t n_ = 0; n_ < (m)->count; n_++)        \
    for (struct series *s = (m)->series[n_]; s; s = NULL)

static void put_open(struct history *m) {
  put_family(m, "eventring_spans_open", "gauge", "Spans that are open at the end.");
  EACH(m, s) if (is_span(s) && s->now.open)
    put_sample(m, "eventring_spans_open", s, false, "", (double)s->now.open,
               wall_ms(m, m->last_ns));
}

static void put_levels(struct history *m) {
  put_family(m, "eventring_level", "gauge", "The last value of a counter.");
  EACH(m, s) if (is_level(s)) put_series(m, s, put_level, false);
}

static void put_spans(struct history *m) {
  export_puts(m->out, "# TYPE eventring_span_seconds histogram\n"
                      "# UNIT eventring_span_seconds seconds\n"
                      "# HELP eventring_span_seconds Spans that have ended.\n");
  EACH(m, s) if (is_span(s) && s->now.count) put_series(m, s, put_histogram, true);
  put_family(m, "eventring_spans_torn", "counter", "Spans whose begin or end is unknown.");
  EACH(m, s) if (is_span(s) && s->now.torn) put_series(m, s, put_torn, true);
  put_open(m);
}

static void put_counters(struct history *m) {
  put_levels(m);
  put_family(m, "eventring_amount", "counter", "What a counter has added up to.");
  EACH(m, s) if (is_difference(s) && !s->falls) put_series(m, s, put_amount, true);
  put_family(m, "eventring_balance", "gauge", "The same, of counters that also take away.");
  EACH(m, s) if (is_difference(s) && s->falls) put_series(m, s, put_balance, true);
}

static void put_events(struct history *m) {
  put_family(m, "eventring_events", "counter", "Events at a point in time.");
  EACH(m, s) if (s->kind > EVENTRING_COUNTER && s->now.count) put_series(m, s, put_count, true);
  put_family(m, "eventring_events_lost", "counter", "Events that were lost.");
  EACH(m, s) if (is_loss(s)) {
    if (s->now.lost) put_series(m, s, put_lost, true);
    if (s->now.missed) put_series(m, s, put_missed, true);
  }
}

/* ---- A live process --------------------------------------------------------------- */

/* Writes the metrics of a live process. Returns 0, or -1 when out of memory. */
static int put_present(struct history *m) {
  struct metrics *metrics = metrics_new(METRICS_NAMES);
  char *text = NULL;
  size_t size = 0;
  FILE *out = metrics ? open_memstream(&text, &size) : NULL;
  const struct eventring_info *info = m->run->info;
  const pid_t pid = info->process ? info->process : info->pid;
  struct eva_usage usage;
  int status = out ? metrics_add(metrics, m->run->cursor, pid,
                                 eva_usage_of(pid, &usage) ? &usage : NULL)
                   : EVENTRING_E_MEMORY;
  if (status < 0 && status != EVENTRING_E_MEMORY)
    snprintf(m->run->error, sizeof m->run->error, "%s",
             eventring_cursor_error(m->run->cursor)->text);
  if (out && metrics_write(metrics, out, METRICS_OPENMETRICS) < 0) status = EVENTRING_E_MEMORY;
  if (out && fclose(out) != 0) status = EVENTRING_E_MEMORY;
  if (status != EVENTRING_E_MEMORY) export_put(m->out, text, size);
  free(text);
  metrics_free(metrics);
  return status == EVENTRING_E_MEMORY ? -1 : 0;
}

static void *begin(struct export_run *run) {
  struct history *m = calloc(1, sizeof *m);
  if (!m) return NULL;
  m->run = run;
  m->out = run->out;
  m->every_ns = run->every_ns;
  m->index = calloc(INDEX_SIZE, sizeof *m->index);
  if (m->index) return m;
  free(m);
  return NULL;
}

static void tell_of_thinning(struct history *m) {
  if (m->every_ns == m->run->every_ns) return;
  snprintf(m->run->note, sizeof m->run->note,
           "a sample each %s instead of each %s: there would be too many (--every)",
           eva_duration(m->every_ns), eva_duration(m->run->every_ns));
}

static int finish(void *state) {
  struct history *m = state;
  int result = m->failed ? -1 : 0;
  if (eventring_cursor_liveness(m->run->cursor) == EVENTRING_LIVE) {
    if (result == 0) result = put_present(m);
  } else {
    put_spans(m);
    put_counters(m);
    put_events(m);
    tell_of_thinning(m);
    export_puts(m->out, "# EOF\n");
  }
  EACH(m, s) {
    free(s->points);
    free(s);
  }
  free(m->series);
  free(m->index);
  free(m);
  return result;
}

const struct export_events export_events_openmetrics = {
    .merged = true, .begin = begin, .event = on_event, .lost = on_lost, .open = on_open,
    .finish = finish};
