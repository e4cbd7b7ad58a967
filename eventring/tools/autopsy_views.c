/* SPDX-License-Identifier: MIT */
/* autopsy_views.c: the views of `eventring autopsy`, and the heap profile that it
   shows. */
#include <inttypes.h>
#include <string.h>

#include "analysis/names.h"
#include "analysis/reach.h"
#include "analysis/saturating.h"
#include "autopsy.h"
#include "last_stacks.h"

/* ---- What happened ------------------------------------------------------------ */

static bool is_span(const void *row) {
  return ((const struct note *)row)->kind == EVENTRING_END;
}

VIEW_GETTER(kind, struct note) {
  return view_text(row->is_open || is_span(row) ? "span" : eva_kind_name(row->kind));
}

VIEW_GETTER(open_name, struct note) {
  if (!view_is_text(to)) return view_text(row->name);
  return view_printf(to, "%*s%s%s", 2 * (int)(row->depth < 8 ? row->depth : 8), "", row->name,
                     row->may_be_over ? " (or over: class off)" : "");
}

VIEW_GETTER(value, struct note) {
  switch (is_span(row) ? EVENTRING_NONE : row->payload) {
    case EVENTRING_INT: return view_int(row->value.i);
    case EVENTRING_DOUBLE: return view_double(row->value.d);
    case EVENTRING_STRING: return view_text(row->text);
    default: return view_none();
  }
}

/* Returns what to show of an event next to its name. */
VIEW_GETTER(took_or_value, struct note) {
  if (is_span(row)) return view_text(eva_duration_text(to->room, row->duration));
  if (row->payload == EVENTRING_INT) return view_printf(to, "%" PRId64, row->value.i);
  if (row->payload == EVENTRING_DOUBLE)
    return view_text(eva_double_text(to->room, row->value.d));
  return view_text(row->text);
}

VIEW_GETTER(to_the_end, struct note) {
  const struct autopsy *a = to->context;
  uint64_t us = (a->end_ns > row->ns ? a->end_ns - row->ns : 0) / 1000;
  return view_printf(to, "-%" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
}

VIEW(autopsy_open_view, struct note,
    {"ns", NULL, VIEW_MOMENT, ROW(ns)},
    {"domain", "domain", VIEW_PLAIN, ROW(domain)},
    {"context", "?context", VIEW_PLAIN, ROW(context), .flags = VIEW_DASH_0},
    {"kind", NULL, VIEW_PLAIN, VIEW_GET(TEXT, kind)},
    {"name", "<+span", VIEW_PLAIN, VIEW_GET(TEXT, open_name)},
    {"depth", NULL, VIEW_PLAIN, ROW(depth)},
    {"may_be_over", NULL, VIEW_PLAIN, ROW(may_be_over), VIEW_IF(may_be_over),
     .flags = VIEW_PART, .help = "its class was off"},
    {NULL, "for", VIEW_PLAIN, VIEW_GET(TEXT, view_so_far), .offset = offsetof(struct note, so_far)},
    {.form = VIEW_INCLUDE, .offset = offsetof(struct note, so_far), .view = &so_far_view})

VIEW(autopsy_last_view, struct note,
    {"ns", NULL, VIEW_MOMENT, ROW(ns), .help = "of a span: its begin"},
    {NULL, "to the end", VIEW_PLAIN, VIEW_GET(TEXT, to_the_end)},
    {"domain", "domain", VIEW_PLAIN, ROW(domain)},
    {"context", NULL, VIEW_PLAIN, ROW(context)},
    {"kind", "<", VIEW_PLAIN, VIEW_GET(TEXT, kind)},
    {"name", "<+", VIEW_PLAIN, ROW(name)},
    {NULL, "took, value", VIEW_PLAIN, VIEW_GET(TEXT, took_or_value)},
    {"duration_ns", NULL, VIEW_NS, ROW(duration), .has = is_span, .flags = VIEW_PART},
    {"value", NULL, VIEW_PLAIN, VIEW_GET(NONE, value), .flags = VIEW_MAYBE})

void autopsy_open_rows(struct view_to *to, const void *autopsy) {
  enum { BRIEF_OPEN = 2 };
  const struct autopsy *a = autopsy;
  bool is_cut = view_is_text(to) && a->brief && a->opens > BRIEF_OPEN;
  for (size_t i = is_cut ? a->opens - BRIEF_OPEN : 0; i < a->opens; i++) view_row(to, &a->open[i]);
}

void autopsy_last_rows(struct view_to *to, const void *autopsy) {
  const struct autopsy *a = autopsy;
  for (size_t i = 0; i < a->lasts; i++) view_row(to, &a->last[i]);
}

/* ---- Memory and the collector ------------------------------------------------- */

/* Returns the value of a gauge; in text as bytes. */
VIEW_GETTER(gauge_value, struct gauge) {
  int64_t value = column->argument ? row->greatest : row->last;
  uint64_t bytes = value < 0 ? 0 : (uint64_t)value;
  if (!view_is_text(to)) return view_int(value);
  bool is_words = row->unit && strcmp(row->unit, "words") == 0;
  return view_text(eva_bytes_text(to->room, eva_times(bytes, is_words ? 8 : 1)));
}

VIEW(autopsy_memory_view, struct gauge,
    {"domain", "domain", VIEW_PLAIN, ROW(domain)},
    {"name", "<+", VIEW_DEF, ROW(id)},
    {"unit", NULL, VIEW_PLAIN, ROW(unit)},
    {"last", "last", VIEW_PLAIN, VIEW_GET(INT, gauge_value), .argument = 0},
    {"max", "at most", VIEW_PLAIN, VIEW_GET(INT, gauge_value), .argument = 1})

void autopsy_memory_rows(struct view_to *to, const void *autopsy) {
  const struct autopsy *a = autopsy;
  for (size_t i = 0; i < a->gauge_count; i++) view_row(to, &a->gauge[i]);
}

static VIEW(cycle_view, struct cycle,
    {"domain", NULL, VIEW_PLAIN, ROW(domain)},
    {"number", NULL, VIEW_PLAIN, ROW(number)},
    {"since_ns", NULL, VIEW_MOMENT, ROW(since)})

static void open_cycles(struct view_to *to, const void *autopsy) {
  const struct autopsy *a = autopsy;
  for (unsigned d = 0; d < EVENTRING_MAX_DOMAINS; d++)
    if (a->cycle[d].open) view_row(to, &a->cycle[d]);
}

static VIEW(collector_view, struct autopsy,
    {"steps", NULL, VIEW_COUNT, ROW(steps_last)},
    {"total_ns", NULL, VIEW_NS, ROW(gc_last_ns)},
    {"longest_ns", NULL, VIEW_NS, ROW(longest.ns)},
    {"cycles", .form = VIEW_ROWS, .view = &cycle_view, .rows = open_cycles})

/* ---- Rings -------------------------------------------------------------------- */

static unsigned wsize_for(uint64_t bytes) {
  unsigned wsize = EVENTRING_MIN_WSIZE;
  while (wsize < EVENTRING_MAX_WSIZE && (UINT64_C(8) << wsize) < bytes) wsize++;
  return wsize;
}

void autopsy_measure_ring(const struct autopsy *a, struct ring *ring) {
  const struct eventring_ring_info *info = &ring->info;
  uint64_t written = info->blocks_written < info->blocks ? info->blocks_written : info->blocks;
  ring->reach_ns = eva_ring_reach(info, a->end_ns);
  ring->overwritten = info->emitted > info->available ? info->emitted - info->available : 0;
  ring->bytes = info->blocks * UINT64_C(4096);
  if (!ring->reach_ns) return;
  ring->needed =
      eva_whole((double)written * 4096 * (double)a->hold_ns / (double)ring->reach_ns);
  ring->wsize = ring->needed ? wsize_for(ring->needed) : 0;
}

static bool is_ring(const void *row) { return !((const struct ring *)row)->info.is_stream; }
VIEW_GETTER(ring_size, struct ring) {
  return view_text(is_ring(row) ? eva_bytes_text(to->room, row->bytes) : "stream");
}

#define OF_RING .has = is_ring, .flags = VIEW_TEXT_IF | VIEW_DASH_0
VIEW(autopsy_ring_view, struct ring,
    {"domain", "domain", VIEW_PLAIN, ROW(domain)},
    {"ring", "<+ring", VIEW_RING, ROW(ring)},
    {"available", "events", VIEW_COUNT, ROW(info.available)},
    {"emitted", NULL, VIEW_COUNT, ROW(info.emitted)},
    {NULL, "?overwritten", VIEW_COUNT, ROW(overwritten), .flags = VIEW_DASH_0},
    {"lost", "?lost", VIEW_COUNT, ROW(info.lost), .flags = VIEW_DASH_0},
    {"reach_ns", "reaches", VIEW_NS, ROW(reach_ns)},
    {"stream", NULL, VIEW_PLAIN, ROW(info.is_stream)},
    {"bytes", NULL, VIEW_BYTES, ROW(bytes)},
    {NULL, "ring", VIEW_PLAIN, VIEW_GET(TEXT, ring_size)},
    {"needed_bytes", "needed", VIEW_BYTES, ROW(needed), OF_RING, .help = "for --hold"},
    {"wsize", "WSIZE", VIEW_PLAIN, ROW(wsize), OF_RING})

void autopsy_ring_rows(struct view_to *to, const void *autopsy) {
  const struct autopsy *a = autopsy;
  for (size_t i = 0; i < a->ring_count; i++) view_row(to, &a->ring[i]);
}

/* ---- Sites: the lines that had allocated what was alive, by the heap profile ---- */

void autopsy_read_sites(struct autopsy *a) {
  eventring_cursor *cursor = a->q.reader.cursor;
  a->heap = eva_heap_new();
  if (!a->heap) no_memory();
  int status = eva_heap_read(a->heap, cursor);
  if (status == EVENTRING_E_MEMORY) no_memory();
  if (status < 0) {
    complain("%s", eventring_cursor_error(cursor)->text);
    a->q.reader.failed = true;
  }
  a->has_sites = eva_heap_state(a->heap)->most_rate > 0;
  if (a->has_sites) heap_view_make(&a->sites, a->heap, BY_LINE, EVA_LIVE, cursor);
}

void autopsy_free_sites(struct autopsy *a) {
  if (a->has_sites) heap_view_free(&a->sites);
  eva_heap_free(a->heap);
}

struct site {
  const struct heap_view *view;
  const struct heap_node *node;
};

VIEW_GETTER(site_figure, struct site) {
  const struct eva_amount *live = &row->node->total[EVA_LIVE];
  const double figures[] = {live->bytes, eva_amount_error(live), live->objects};
  return view_uint(eva_whole(figures[column->argument]));
}
VIEW_GETTER(label, struct site) {
  heap_label(to->room, row->view, row->node);
  return view_text(to->room);
}
VIEW_GETTER(function, struct site) { return view_text(heap_name(row->view, row->node, to->room)); }
VIEW_GETTER(source, struct site) { return view_text(heap_source(row->view, row->node)); }
VIEW_GETTER(line, struct site) { return view_uint(row->node->line); }
VIEW_GETTER(through, struct site) { return view_text(heap_through(row->view, row->node)); }

VIEW(autopsy_site_view, struct site,
    {"live_bytes", "live", VIEW_BYTES, VIEW_GET(UINT, site_figure), .argument = 0},
    {"error_bytes", "error", VIEW_BYTES, VIEW_GET(UINT, site_figure), .argument = 1},
    {"live_objects", "objects", VIEW_COUNT, VIEW_GET(UINT, site_figure), .argument = 2},
    {NULL, "<+line", VIEW_PLAIN, VIEW_GET(TEXT, label)},
    {"function", NULL, VIEW_PLAIN, VIEW_GET(TEXT, function)},
    {"source", NULL, VIEW_PLAIN, VIEW_GET(TEXT, source)},
    {"line", NULL, VIEW_PLAIN, VIEW_GET(UINT, line)},
    {"through", NULL, VIEW_PLAIN, VIEW_GET(TEXT, through), .flags = VIEW_MAYBE,
     .help = "the function without lines that it called"})

size_t autopsy_sites(const struct autopsy *a) {
  const struct heap_view *v = &a->sites;
  size_t count = 0;
  while (a->has_sites && count + 1 < v->count &&
         v->nodes[v->order[count]].total[EVA_LIVE].samples > 0)
    count++;
  return count;
}

void autopsy_site_rows(struct view_to *to, const void *autopsy) {
  const struct autopsy *a = autopsy;
  const struct heap_view *v = &a->sites;
  uint64_t most = !view_is_text(to) ? a->q.top : a->brief ? AUTOPSY_BRIEF_SITES : AUTOPSY_SITES;
  size_t count = autopsy_sites(a);
  for (size_t i = 0; i < count && i < most; i++)
    view_row(to, &(struct site){v, &v->nodes[v->order[i]]});
}

/* ---- All of it ---------------------------------------------------------------- */

VIEW_GETTER(sampling_ended, struct autopsy) {
  const struct eva_heap_state *state = eva_heap_state(row->heap);
  return state->over ? view_uint(state->over_ns) : view_none();
}

static VIEW(total_view, struct autopsy,
    {"end_ns", NULL, VIEW_MOMENT, ROW(end_ns)},
    {"open", NULL, VIEW_COUNT, ROW(open_count), .help = "spans"},
    {"events", NULL, VIEW_COUNT, ROW(noted), .help = "of the last seconds"})

#define ROWS(what) .form = VIEW_ROWS, .view = &autopsy_##what##_view, .rows = autopsy_##what##_rows
VIEW(autopsy_view, struct autopsy,
    {.form = VIEW_INCLUDE, .offset = offsetof(struct autopsy, q), .view = &query_view},
    {"total", .form = VIEW_OBJECT, .view = &total_view},
    {"open_spans", ROWS(open)},
    {"stacks", .form = VIEW_ROWS, .view = &last_stack_view, .rows = last_stack_rows,
     .offset = offsetof(struct autopsy, q.domain)},
    {"memory", ROWS(memory)},
    {"sites", ROWS(site)},
    {"sites_sampling_ended_ns", NULL, VIEW_MOMENT, VIEW_GET(UINT, sampling_ended)},
    {"collector", .form = VIEW_OBJECT, .view = &collector_view},
    {"rings", ROWS(ring)},
    {"rows", ROWS(last), .flags = VIEW_MAIN})
