/* SPDX-License-Identifier: MIT */
/* metrics.c: what recordings say at one moment (metrics.h).
 *
 * Each finding makes a point: a metric, labels and a value. A point goes to a sink: the
 * text of Prometheus, or the sink that the caller gave to metrics_new_sink. The text
 * groups all samples of a metric, so each metric has a stream in memory, to which the
 * samples of all recordings are written in turn.
 */
#include "export/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names.h"
#include "export/text_write.h"
#include "format/reasons.h"

const struct metrics_bound metrics_bounds[METRICS_BOUNDS] = {
    {100, "1e-07"}, {200, "2e-07"}, {500, "5e-07"}, {1000, "1e-06"}, {2000, "2e-06"},
    {5000, "5e-06"}, {10000, "1e-05"}, {20000, "2e-05"}, {50000, "5e-05"}, {100000, "0.0001"},
    {200000, "0.0002"}, {500000, "0.0005"}, {1000000, "0.001"}, {2000000, "0.002"},
    {5000000, "0.005"}, {10000000, "0.01"}, {20000000, "0.02"}, {50000000, "0.05"},
    {100000000, "0.1"}, {200000000, "0.2"}, {500000000, "0.5"}, {1000000000, "1.0"},
    {2000000000, "2.0"}, {5000000000, "5.0"}, {10000000000, "10.0"}};

/* Bounds outside this range are not shown for the steps of the collector. */
enum { LEAST_STEP_NS = 10000, MOST_STEP_NS = 1000000000 };

static const struct metrics_family table[METRICS] = {
#define METRIC(id, name, type, help) {name, METRICS_##type, help},
#include "export/metrics.def"
};
static const char *const type_names[] = {
    [METRICS_GAUGE] = "gauge", [METRICS_COUNTER] = "counter", [METRICS_HISTOGRAM] = "histogram",
    [METRICS_SUMMARY] = "summary"};

const struct metrics_family *metrics_family(enum metric metric) { return &table[metric]; }

/* The sums of the events with one name, over all domains of a recording. */
struct sums {
  const struct eventring_def *def; /* NULL for the sums of "(other)" */
  uint64_t count, ns;
  double amount;
  bool negative;
};

struct family {
  FILE *out;
  char *text;
  size_t size;
};

struct metrics {
  unsigned most_names;
  metrics_sink *sink; /* takes the points; if NULL, they become text */
  void *context;      /* the first argument of the sink */
  struct family family[METRICS];
  bool failed; /* no memory */
  /* For the recording that is being added: */
  eventring_cursor *cursor;
  char *labels; /* pid="12",program="x" */
  uint64_t alive[EVENTRING_MAX_DOMAINS]; /* when the domain began; 0 if none runs there */
  unsigned first_other;                  /* ids from this one on are "(other)" */
  struct sums *sums;                     /* in the order of first use; the first elements
                                            are the sums of "(other)", by kind */
  uint32_t count, room;
  uint16_t of[EVENTRING_MAX_EVENTS];     /* index in `sums`, plus 1 */
};

enum { OTHERS = EVENTRING_DEF_FLOW + 1, NANO = 1000000000 };
static const char other_name[] = "(other)";

struct metrics *metrics_new(unsigned most_names) {
  struct metrics *m = calloc(1, sizeof *m);
  if (m) m->most_names = most_names;
  return m;
}

struct metrics *metrics_new_sink(unsigned most_names, metrics_sink *sink, void *context) {
  struct metrics *m = metrics_new(most_names);
  if (!m) return NULL;
  m->sink = sink;
  m->context = context;
  return m;
}

static void forget(struct metrics *m) {
  for (int i = 0; i < METRICS; i++) {
    if (m->family[i].out) fclose(m->family[i].out);
    free(m->family[i].text);
    m->family[i] = (struct family){0};
  }
  m->failed = false;
}

void metrics_free(struct metrics *m) {
  if (!m) return;
  forget(m);
  free(m->sums);
  free(m);
}

/* ---- Text ------------------------------------------------------------------------- */

static void put_label(FILE *out, const char *name, const char *text) {
  fprintf(out, "%s=\"", name);
  export_write_text(out, text, "\"\\", "");
  fputc('"', out);
}

/* Begins a sample: writes `name` + `suffix`, the labels of the recording and those of the
   point. Returns the stream, or NULL when out of memory. */
static FILE *begin_sample(struct metrics *m, const struct metrics_point *p, const char *suffix) {
  struct family *f = &m->family[p->metric];
  if (!f->out) f->out = open_memstream(&f->text, &f->size);
  if (!f->out) {
    m->failed = true;
    return NULL;
  }
  fprintf(f->out, "%s%s{%s", table[p->metric].name, suffix, m->labels);
  for (unsigned i = 0; i < p->labels; i++) {
    fputc(',', f->out);
    put_label(f->out, p->label[i].name, metrics_label_text(p, i));
  }
  return f->out;
}

static void end_uint(FILE *out, uint64_t value) {
  fprintf(out, "} %llu\n", (unsigned long long)value);
}

static void end_double(FILE *out, double value) {
  char text[32];
  if (isnan(value)) fputs("} NaN\n", out);
  else if (isinf(value)) fputs(value < 0 ? "} -Inf\n" : "} +Inf\n", out);
  else fprintf(out, "} %.*s\n", (int)(export_double(text, value, 0) - text), text);
}

/* Ends a sample whose value is a time. Writes all digits, so that sums agree
   to the nanosecond. */
static void end_seconds(FILE *out, uint64_t ns) {
  fprintf(out, "} %llu.%09u\n", (unsigned long long)(ns / NANO), (unsigned)(ns % NANO));
}

static void put_number_text(struct metrics *m, const struct metrics_point *p) {
  FILE *out = begin_sample(m, p, table[p->metric].type == METRICS_COUNTER ? "_total" : "");
  if (!out) return;
  if (p->form == METRICS_UINT) end_uint(out, p->value.u);
  else if (p->form == METRICS_DOUBLE) end_double(out, p->value.d);
  else end_seconds(out, p->value.u);
}

/* Tells whether this bound is shown for steps. */
bool metrics_has_bound(int i) {
  return metrics_bounds[i].ns >= LEAST_STEP_NS && metrics_bounds[i].ns <= MOST_STEP_NS;
}

static void put_buckets_text(struct metrics *m, const struct metrics_point *p) {
  uint64_t sum = 0;
  for (int i = 0; i <= METRICS_BOUNDS; i++) {
    const bool is_last = i == METRICS_BOUNDS;
    sum += p->bucket[i];
    if (!is_last && !metrics_has_bound(i)) continue;
    FILE *out = begin_sample(m, p, "_bucket");
    if (!out) return;
    fputc(',', out);
    put_label(out, "le", is_last ? "+Inf" : metrics_bounds[i].text);
    end_uint(out, sum);
  }
}

static void put_distribution_text(struct metrics *m, const struct metrics_point *p) {
  if (p->bucket) put_buckets_text(m, p);
  FILE *out = begin_sample(m, p, "_count");
  if (out) end_uint(out, p->count);
  out = begin_sample(m, p, "_sum");
  if (out) end_seconds(out, p->value.u);
}

/* ---- Points ----------------------------------------------------------------------- */

static void put(struct metrics *m, const struct metrics_point *p) {
  if (m->sink) m->failed |= m->sink(m->context, p) != 0;
  else if (p->form == METRICS_DISTRIBUTION) put_distribution_text(m, p);
  else put_number_text(m, p);
}

/* Adds a label to a point. The text must stay valid until the point is put. */
static struct metrics_point *label(struct metrics_point *p, const char *name, const char *text) {
  p->label[p->labels++] = (struct metrics_label){name, text};
  return p;
}

static struct metrics_point point(enum metric metric) {
  return (struct metrics_point){.metric = metric};
}

static struct metrics_point point_of_domain(enum metric metric, unsigned domain) {
  struct metrics_point p = point(metric);
  snprintf(p.domain, sizeof p.domain, "%u", domain);
  /* NULL: the domain is p.domain, which stays right if the point is copied */
  label(&p, "domain", NULL);
  return p;
}

static void put_uint(struct metrics *m, struct metrics_point *p, uint64_t value) {
  p->form = METRICS_UINT;
  p->value.u = value;
  put(m, p);
}

static void put_double(struct metrics *m, struct metrics_point *p, double value) {
  p->form = METRICS_DOUBLE;
  p->value.d = value;
  put(m, p);
}

static void put_seconds(struct metrics *m, struct metrics_point *p, uint64_t ns) {
  p->form = METRICS_SECONDS;
  p->value.u = ns;
  put(m, p);
}

/* Puts a distribution. `bucket`: the counts of the buckets, the last one beyond all
   bounds; NULL if not known. */
static void put_distribution(struct metrics *m, struct metrics_point *p, uint64_t count,
                             uint64_t ns, const uint64_t *bucket) {
  p->form = METRICS_DISTRIBUTION;
  p->count = count;
  p->value.u = ns;
  p->bucket = bucket;
  put(m, p);
}

static void put_count(struct metrics *m, enum metric metric, uint64_t value) {
  struct metrics_point p = point(metric);
  put_uint(m, &p, value);
}

/* ---- Names of the program --------------------------------------------------------- */

static const char *class_name(const struct metrics *m, const struct eventring_def *def) {
  const char *name = eventring_cursor_name(m->cursor, EVENTRING_NAME_CLASS, def->event_class);
  return name ? name : "";
}

/* Tells whether the program, not the runtime, has defined the name. Only such names are
   limited (most_names), since a program may define any number of them. */
static bool is_of_program(const struct eventring_def *def) {
  return def->event_class == EVENTRING_CLASS_USER || def->event_class == EVENTRING_CLASS_CALLS ||
         def->event_class >= EVENTRING_CLASS_HOST;
}

static bool is_other(const struct metrics *m, const struct eventring_def *def) {
  return (is_of_program(def) && def->id >= m->first_other) || strcmp(def->name, other_name) == 0;
}

/* Returns the sums of a definition, or NULL when out of memory. */
static struct sums *sums_of(struct metrics *m, const struct eventring_def *def) {
  if (is_other(m, def)) return &m->sums[def->kind];
  if (m->of[def->id]) return &m->sums[m->of[def->id] - 1];
  if (m->count == m->room) {
    struct sums *more = realloc(m->sums, 2 * (size_t)m->room * sizeof *more);
    if (!more) {
      m->failed = true;
      return NULL;
    }
    m->sums = more;
    m->room *= 2;
  }
  m->sums[m->count++] = (struct sums){.def = def};
  m->of[def->id] = (uint16_t)m->count;
  return &m->sums[m->count - 1];
}

static double number(const struct eventring_def *def, const void *value) {
  union { int64_t i; uint64_t u; double d; } v;
  memcpy(&v, value, sizeof v);
  if (def->payload == EVENTRING_DOUBLE) return v.d;
  return def->payload == EVENTRING_UINT ? (double)v.u : (double)v.i;
}

static bool is_difference(const struct eventring_def *def) {
  return def->kind == EVENTRING_DEF_COUNTER && def->measure == EVENTRING_DIFFERENCE;
}

static bool is_level(const struct eventring_def *def) {
  return def->kind == EVENTRING_DEF_COUNTER && def->measure != EVENTRING_DIFFERENCE;
}

static void put_level(struct metrics *m, const struct eventring_recorded *r) {
  if (is_other(m, r->def) || !m->alive[r->domain] || r->last_ns < m->alive[r->domain]) return;
  struct metrics_point p = point_of_domain(METRIC_LEVEL, r->domain);
  label(label(&p, "name", r->def->name), "class", class_name(m, r->def));
  put_double(m, &p, number(r->def, &r->last));
}

static void add_named(struct metrics *m, const struct eventring_recorded *r) {
  if (is_level(r->def)) {
    put_level(m, r);
    return;
  }
  struct sums *sums = sums_of(m, r->def);
  if (!sums) return;
  sums->count += r->count;
  sums->ns += r->ns;
  if (!is_difference(r->def)) return;
  sums->amount += number(r->def, &r->sum);
  sums->negative |= r->negative;
}

static struct metrics_point point_of_name(const struct metrics *m, enum metric metric,
                                          const struct sums *sums) {
  struct metrics_point p = point(metric);
  label(&p, "name", sums->def ? sums->def->name : other_name);
  label(&p, "class", sums->def ? class_name(m, sums->def) : "");
  return p;
}

static void put_named(struct metrics *m) {
  for (uint32_t i = 0; i < m->count; i++) {
    const struct sums *sums = &m->sums[i];
    const unsigned kind = i < OTHERS ? i : sums->def->kind;
    if (!sums->count) continue;
    if (kind == EVENTRING_DEF_SPAN) {
      struct metrics_point p = point_of_name(m, METRIC_SPANS, sums);
      put_distribution(m, &p, sums->count, sums->ns, NULL);
    } else if (kind == EVENTRING_DEF_COUNTER) {
      struct metrics_point p =
          point_of_name(m, sums->negative ? METRIC_BALANCE : METRIC_AMOUNT, sums);
      put_double(m, &p, sums->amount);
    } else {
      struct metrics_point p = point_of_name(m, METRIC_EVENTS, sums);
      label(&p, "kind", eva_def_kind_name((enum eventring_def_kind)kind));
      put_uint(m, &p, sums->count);
    }
  }
}

/* ---- The collector ---------------------------------------------------------------- */

static uint64_t bytes(const struct eventring_def *def, uint64_t value) {
  return eventring_is_in_words(def) ? 8 * value : value;
}

static void put_phase(struct metrics *m, const struct eventring_recorded *r) {
  struct metrics_point p = point_of_domain(METRIC_PHASES, r->domain);
  put_distribution(m, label(&p, "phase", r->def->name), r->count, r->ns, NULL);
}

static void add_of_collector(struct metrics *m, const struct eventring_recorded *r) {
  if (r->def->kind != EVENTRING_DEF_SPAN) {
    add_named(m, r);
  } else if (!evr_has_reasons(r->def)) {
    put_phase(m, r);
  } else {
    struct metrics_point p = point_of_domain(METRIC_COLLECTIONS, r->domain);
    put_uint(m, label(&p, "step", r->def->name), r->count);
  }
}

static void put_of_domain(struct metrics *m, enum metric metric, unsigned domain, uint64_t value) {
  struct metrics_point p = point_of_domain(metric, domain);
  put_uint(m, &p, value);
}

static bool add_quantity(struct metrics *m, const struct eventring_recorded *r) {
  switch (r->def->quantity) {
    case EVENTRING_QUANTITY_ALLOCATED:
      put_of_domain(m, METRIC_ALLOCATED, r->domain, bytes(r->def, r->sum.u));
      return true;
    case EVENTRING_QUANTITY_PROMOTED:
      put_of_domain(m, METRIC_PROMOTED, r->domain, bytes(r->def, r->sum.u));
      return true;
    case EVENTRING_QUANTITY_HEAP:
      if (m->alive[r->domain] && r->last_ns >= m->alive[r->domain])
        put_of_domain(m, METRIC_HEAP, r->domain, bytes(r->def, r->last.u));
      return true;
    case EVENTRING_QUANTITY_CYCLE_END:
      put_of_domain(m, METRIC_CYCLES, r->domain, r->count);
      return true;
    default:
      return false;
  }
}

static int take_recorded(void *context, const struct eventring_recorded *r) {
  struct metrics *m = context;
  if (!r->def || !r->count || r->domain >= EVENTRING_MAX_DOMAINS) return 0;
  if (add_quantity(m, r)) return m->failed;
  if (r->def->event_class == EVENTRING_CLASS_GC) add_of_collector(m, r);
  else add_named(m, r);
  return m->failed;
}

static int take_histogram(void *context, const struct eventring_histogram *h) {
  struct metrics *m = context;
  if (!h->def || !h->count || h->def->event_class != EVENTRING_CLASS_GC ||
      h->domain >= EVENTRING_MAX_DOMAINS)
    return 0;
  struct metrics_point p = point_of_domain(METRIC_STEPS, h->domain);
  label(label(&p, "step", h->def->name), "reason", h->reason ? h->reason->name : "");
  put_distribution(m, &p, h->count, h->ns, h->bucket);
  return m->failed;
}

/* ---- Memory ----------------------------------------------------------------------- */

struct row_of_process { /* a row that belongs to no domain: only the latest footprint
                           counts */
  char name[EVENTRING_MAX_FOOTPRINT_NAME + 1];
  uint64_t ns, resident, reserved;
};
struct footprints {
  struct metrics *m;
  struct row_of_process row[64];
  unsigned count;
};

/* Puts one row of a footprint. `domain` is -1 for a row of the process. */
static void put_row(struct metrics *m, int domain, const char *name, uint64_t resident,
                    uint64_t reserved) {
  for (int i = 0; i < 2; i++) {
    const enum metric metric = i ? METRIC_RESERVED : METRIC_FOOTPRINT;
    struct metrics_point p =
        domain >= 0 ? point_of_domain(metric, (unsigned)domain) : point(metric);
    if (domain < 0) label(&p, "domain", "");
    put_uint(m, label(&p, "use", name), i ? reserved : resident);
  }
}

static void note_row(struct footprints *f, const struct eventring_footprint_row *row,
                     uint64_t ns) {
  unsigned i = 0;
  while (i < f->count && strcmp(f->row[i].name, row->name) != 0) i++;
  if (i == sizeof f->row / sizeof f->row[0] || (i < f->count && f->row[i].ns > ns)) return;
  if (i == f->count) f->count++;
  f->row[i] =
      (struct row_of_process){.ns = ns, .resident = row->resident, .reserved = row->reserved};
  snprintf(f->row[i].name, sizeof f->row[i].name, "%s", row->name);
}

static int take_footprint(void *context, const struct eventring_footprint *footprint,
                          const struct eventring_footprint_row *rows) {
  struct footprints *f = context;
  if (footprint->domain >= EVENTRING_MAX_DOMAINS || !f->m->alive[footprint->domain]) return 0;
  for (size_t i = 0; i < footprint->rows; i++) {
    if (rows[i].of == EVENTRING_FOOTPRINT_PROCESS) note_row(f, &rows[i], footprint->ns);
    else put_row(f->m, (int)footprint->domain, rows[i].name, rows[i].resident, rows[i].reserved);
  }
  return f->m->failed;
}

static int add_memory(struct metrics *m) {
  struct footprints f = {.m = m};
  int status = eventring_cursor_footprints(m->cursor, take_footprint, &f);
  for (unsigned i = 0; i < f.count; i++)
    put_row(m, -1, f.row[i].name, f.row[i].resident, f.row[i].reserved);
  return status < 0 ? status : 0;
}

/* ---- The process ------------------------------------------------------------------ */

static void add_process(struct metrics *m, const struct eventring_info *info,
                        const struct eva_usage *usage) {
  struct metrics_point p = point(METRIC_INFO);
  put_uint(m, label(label(&p, "state", eva_state_name(info->state)), "path", info->path), 1);
  p = point(METRIC_START);
  put_seconds(m, &p, info->start_wall_ns > 0 ? (uint64_t)info->start_wall_ns : 0);
  put_count(m, METRIC_DROPPED, info->events_dropped);
  put_count(m, METRIC_NO_ROOM, info->no_room);
  if (!usage) return;
  p = point(METRIC_CPU);
  put_seconds(m, &p, usage->cpu_ns);
  put_count(m, METRIC_RESIDENT, usage->resident);
  put_count(m, METRIC_THREADS, usage->threads);
}

static void add_rings(struct metrics *m, unsigned slot) {
  for (unsigned ring = 0; ring < EVENTRING_RINGS; ring++) {
    struct eventring_ring_info info = {.size = sizeof info};
    if (eventring_cursor_ring(m->cursor, slot, (enum eventring_ring)ring, &info) != 0) continue;
    const char *name = eventring_cursor_name(m->cursor, EVENTRING_NAME_RING, ring);
    const uint64_t gone = info.emitted > info.available ? info.emitted - info.available : 0;
    for (int i = 0; i < 2; i++) {
      struct metrics_point p = point_of_domain(i ? METRIC_OVERWRITTEN : METRIC_WRITTEN, slot);
      put_uint(m, label(&p, "ring", name ? name : ""),
               !i ? info.emitted : info.is_stream ? 0 : gone);
    }
  }
}

/* Returns when the last domain stopped, or UINT64_MAX if the recording goes on, or a
   domain was running when it ended. */
static uint64_t last_stop(struct metrics *m, const struct eventring_info *recording) {
  uint64_t last = 0;
  if (!recording->end_ns) return UINT64_MAX;
  for (unsigned slot = 0; slot < recording->domains_laid_out; slot++) {
    struct eventring_domain_info info = {.size = sizeof info};
    if (eventring_cursor_domain(m->cursor, slot, &info) != 0) continue;
    if (info.alive) return UINT64_MAX;
    if (info.stop_ns > last) last = info.stop_ns;
  }
  return last;
}

/* Adds the domains. Domains that run have levels. If the recording has ended, domains
   that ran until its end, and stopped right before, have levels too. */
static void add_domains(struct metrics *m, const struct eventring_info *recording) {
  const unsigned slots = recording->domains_laid_out;
  const uint64_t last = last_stop(m, recording);
  memset(m->alive, 0, sizeof m->alive);
  for (unsigned slot = 0; slot < slots && slot < EVENTRING_MAX_DOMAINS; slot++) {
    struct eventring_domain_info info = {.size = sizeof info};
    if (eventring_cursor_domain(m->cursor, slot, &info) != 0) continue;
    add_rings(m, slot);
    if (!info.alive && info.stop_ns < last) continue;
    m->alive[slot] = info.start_ns ? info.start_ns : 1;
    char thread[24];
    snprintf(thread, sizeof thread, "%ld", (long)info.tid);
    struct metrics_point p = point_of_domain(METRIC_DOMAIN, slot);
    put_uint(m, label(label(&p, "name", info.name), "thread", thread), 1);
  }
}

/* Chooses which names of the program get series of their own: those defined first. */
static void choose_names(struct metrics *m) {
  unsigned names = 0, others = 0;
  m->first_other = EVENTRING_MAX_EVENTS;
  for (unsigned id = 0; id < EVENTRING_MAX_EVENTS; id++) {
    const struct eventring_def *def = eventring_cursor_def(m->cursor, id);
    if (!def || !is_of_program(def)) continue;
    if (names == m->most_names && m->first_other == EVENTRING_MAX_EVENTS) m->first_other = id;
    if (names < m->most_names) names++;
    else others++;
  }
  put_count(m, METRIC_OTHER_NAMES, others);
}

static bool prepare_sums(struct metrics *m) {
  enum { ROOM = 64 };
  if (!m->sums) {
    m->sums = calloc(ROOM, sizeof *m->sums);
    m->room = m->sums ? ROOM : 0;
  }
  if (!m->sums) return false;
  memset(m->sums, 0, OTHERS * sizeof *m->sums);
  memset(m->of, 0, sizeof m->of);
  m->count = OTHERS;
  return true;
}

/* Makes the labels of a recording, which are valid while it is being added. Returns false
   when out of memory. */
static bool make_labels(struct metrics *m, pid_t pid, const char *program) {
  size_t size;
  FILE *out = open_memstream(&m->labels, &size);
  if (!out) return false;
  fprintf(out, "pid=\"%ld\",", (long)pid);
  put_label(out, "program", program);
  if (fclose(out) == 0) return true;
  free(m->labels);
  m->labels = NULL;
  return false;
}

static int add_recording(struct metrics *m, const struct eventring_info *info,
                         const struct eva_usage *usage) {
  static const struct eventring_recorded_callbacks callbacks = {take_recorded, take_histogram};
  add_process(m, info, usage);
  add_domains(m, info);
  choose_names(m);
  int status = add_memory(m);
  if (status == 0) status = eventring_cursor_recorded(m->cursor, true, &callbacks, m);
  put_named(m);
  put_count(m, METRIC_INCOMPLETE, status == EVENTRING_E_NOT_FOUND);
  return status == EVENTRING_E_NOT_FOUND ? 0 : status;
}

int metrics_add(struct metrics *m, eventring_cursor *cursor, pid_t pid,
                const struct eva_usage *usage) {
  struct eventring_info info = {.size = sizeof info};
  int status = eventring_cursor_info(cursor, &info);
  if (status != 0) return status;
  m->cursor = cursor;
  if (!prepare_sums(m) || !make_labels(m, pid, info.program)) {
    m->failed = true;
    return EVENTRING_E_MEMORY;
  }
  status = add_recording(m, &info, usage);
  free(m->labels);
  m->labels = NULL;
  if (m->failed) return EVENTRING_E_MEMORY;
  return status < 0 ? status : 0;
}

/* ---- All of it -------------------------------------------------------------------- */

static void put_head(FILE *out, enum metric metric, enum metrics_format format) {
  const char *suffix =
      format == METRICS_PROMETHEUS && table[metric].type == METRICS_COUNTER ? "_total" : "";
  fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", table[metric].name, suffix, table[metric].help,
          table[metric].name, suffix, type_names[table[metric].type]);
}

int metrics_write(struct metrics *m, FILE *out, enum metrics_format format) {
  for (int i = 0; i < METRICS && !m->failed; i++) {
    struct family *f = &m->family[i];
    if (!f->out) continue;
    if (fflush(f->out) != 0) m->failed = true;
    put_head(out, (enum metric)i, format);
    fwrite(f->text, 1, f->size, out);
  }
  if (format == METRICS_OPENMETRICS) fputs("# EOF\n", out);
  int status = m->failed ? EVENTRING_E_MEMORY : 0;
  forget(m);
  return status;
}
