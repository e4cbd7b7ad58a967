/* SPDX-License-Identifier: MIT */
/* rows.c: a recording as rows of tables.
 *
 * The row of a span is made when it ends; until then the value of its begin is kept
 * (tracks.h). The begin and the end of an async span are separate rows of `events`: they
 * may come from different rings, and a query joins them by name and link. */
#include "export/rows.h"
#include "eventring/tools.h"

#include <stdlib.h>
#include <string.h>

#include "eventring/memory.h"
#include "analysis/names.h"
#include "analysis/so_far.h"
#include "export/text_write.h"
#include "export/tracks.h"

/* ---- The vocabulary --------------------------------------------------------------- */

/* All tables and columns in one list; the columns of each table follow its own entry. */
enum column {
#define TABLE(name, summary) FIRST_##name,
#define COLUMN(table, name, type, meaning) AT_##table##_##name,
#include "export/tables.def"
  COLUMNS
};
static const struct export_column all_columns[COLUMNS + 1] = {
#define TABLE(name, summary) {NULL, NULL, summary},
#define COLUMN(table, name, type, meaning) {#name, #type, meaning},
#include "export/tables.def"
};
static const struct { const char *name; int first; } all_tables[] = {
#define TABLE(name, summary) {#name, FIRST_##name},
#include "export/tables.def"
};
/* The index of a column in its table. */
#define IN(table, column) (AT_##table##_##column - FIRST_##table - 1)

const char *export_table_name(enum export_table table) { return all_tables[table].name; }
const char *export_table_summary(enum export_table table) {
  return all_columns[all_tables[table].first].meaning;
}
const struct export_column *export_table_columns(enum export_table table, int *count) {
  const struct export_column *first = &all_columns[all_tables[table].first + 1];
  for (*count = 0; first[*count].name;) ++*count;
  return first;
}

/* ---- Cells ------------------------------------------------------------------------ */

struct slot { /* the name of its domain */
  uint32_t incarnation;
  char name[EVENTRING_MAX_DOMAIN_NAME + 1];
};

struct export_rows {
  eventring_cursor *cursor;
  uint32_t wanted;
  uint32_t used; /* bits of the columns that are used */
  uint64_t until;
  bool is_open;           /* an open span was passed: `known` is valid */
  struct eva_known known; /* up to when spans of each domain are known to be open */
  export_row *row;
  void *context;
  bool failed;            /* no memory */
  struct export_tracks tracks; /* tracks, which keep the values of begins */
  struct slot slot[EVENTRING_MAX_DOMAINS];
  struct export_cell cells[EXPORT_MOST_COLUMNS];
  char text[EXPORT_VALUE]; /* text of a value, as UTF-8 */
};

static void introduce(void *context, struct export_track *track) { (void)context, (void)track; }

struct export_rows *export_rows_new(eventring_cursor *cursor, uint32_t wanted, uint64_t until,
                                    export_row *row, void *context) {
  struct export_rows *r = calloc(1, sizeof *r);
  if (!r) return NULL;
  r->cursor = cursor;
  r->wanted = wanted;
  r->used = UINT32_MAX;
  r->until = until;
  r->row = row;
  r->context = context;
  if (export_tracks_open(&r->tracks, introduce, r) == 0) return r;
  free(r);
  return NULL;
}

void export_rows_use(struct export_rows *r, uint32_t columns) { r->used = columns; }

void export_rows_free(struct export_rows *r) {
  if (!r) return;
  export_tracks_close(&r->tracks);
  free(r);
}

bool export_rows_failed(const struct export_rows *r) { return r->failed; }

static int no_memory(struct export_rows *r) {
  r->failed = true;
  return -1;
}

static bool wants(const struct export_rows *r, enum export_table table) {
  return r->wanted >> table & 1;
}

static bool uses(const struct export_rows *r, int column) { return r->used >> column & 1; }

static void clear(struct export_rows *r) { memset(r->cells, 0, sizeof r->cells); }

static void set_int(struct export_rows *r, int at, uint64_t value) {
  r->cells[at] = (struct export_cell){.type = EXPORT_INTEGER, .number.i = (int64_t)value};
}
/* Sets a cell to a number; if that is 0, leaves the cell NULL. */
static void set_some(struct export_rows *r, int at, uint64_t value) {
  if (value) set_int(r, at, value);
}
static void set_text(struct export_rows *r, int at, const char *text) {
  if (text)
    r->cells[at] = (struct export_cell){.type = EXPORT_STRING, .text = text, .size = strlen(text)};
}

static const char *domain_name(struct export_rows *r, uint32_t domain, uint32_t incarnation) {
  struct slot *slot = &r->slot[domain % EVENTRING_MAX_DOMAINS];
  struct eventring_domain_info info = {.size = sizeof info};
  if (slot->incarnation == incarnation) return slot->name;
  *slot = (struct slot){.incarnation = incarnation};
  if (eventring_cursor_life(r->cursor, domain, incarnation, &info) == 0 ||
      (eventring_cursor_domain(r->cursor, domain, &info) == 0 && info.incarnation == incarnation))
    memcpy(slot->name, info.name, sizeof slot->name);
  return slot->name;
}

/* ---- Values: cells as bytes, which can be kept ------------------------------------ */

/* Returns the cell of a single value; a text is put into r->text. Unsigned numbers that
   are too large become REAL. */
static struct export_cell cell_of_value(struct export_rows *r, const struct eventring_value *v) {
  struct export_cell cell = {.type = EXPORT_STRING, .text = r->text};
  char *end = r->text;
  switch (v->payload) {
    case EVENTRING_NONE: return (struct export_cell){.type = EXPORT_NULL};
    case EVENTRING_DOUBLE:
      return (struct export_cell){.type = EXPORT_REAL, .number.d = v->value.d};
    case EVENTRING_UINT: case EVENTRING_STACK_ID:
      if (v->value.i < 0)
        return (struct export_cell){.type = EXPORT_REAL, .number.d = (double)v->value.u};
      /* fall through */
    case EVENTRING_INT:
      return (struct export_cell){.type = EXPORT_INTEGER, .number.i = v->value.i};
    case EVENTRING_STRING: end = export_utf8(end, v->bytes, v->size); break;
    default: end = export_hex(end, v->bytes, v->size); break;
  }
  cell.size = (size_t)(end - r->text);
  return cell;
}

/* Returns the cell of an event's value; several values, or values with names, become one
   text. */
static struct export_cell cell_of(struct export_rows *r, const struct eventring_event *e) {
  struct eventring_value value = {.payload = e->payload, .value.u = e->value.u,
                                  .bytes = e->bytes, .size = e->size};
  if (e->payload == EVENTRING_VALUES && !export_is_single(e, &value)) {
    char *end = export_json_value(r->text, e);
    return (struct export_cell){.type = EXPORT_STRING, .text = r->text,
                                .size = (size_t)(end - r->text)};
  }
  return cell_of_value(r, &value);
}

/* Keeps the value of a begin: type, then number or text. */
static void hold(struct export_rows *r, struct export_track *track,
                 const struct eventring_event *e) {
  char kept[1 + EXPORT_VALUE];
  struct export_cell cell = cell_of(r, e);
  kept[0] = (char)cell.type;
  if (cell.type == EXPORT_STRING) memcpy(kept + 1, cell.text, cell.size);
  else memcpy(kept + 1, &cell.number, cell.size = sizeof cell.number);
  export_hold(&r->tracks, track, e->depth, kept, 1 + cell.size);
}

static void set_held(struct export_rows *r, struct export_track *track,
                     const struct eventring_event *e, int at) {
  size_t size;
  const char *kept = export_held(&r->tracks, track, e->depth, &size);
  if (!kept) return;
  struct export_cell *cell = &r->cells[at];
  cell->type = (uint8_t)kept[0];
  if (cell->type == EXPORT_STRING) cell->text = kept + 1, cell->size = size - 1;
  else memcpy(&cell->number, kept + 1, sizeof cell->number);
}

/* ---- Events ----------------------------------------------------------------------- */

static int emit(struct export_rows *r, enum export_table table) {
  const int result = r->row(r->context, table, r->cells);
  return result < 0 ? no_memory(r) : result;
}

/* Sets a cell to a text, which is only looked up if the column is used. */
#define SET_TEXT(r, at, text) \
  do { \
    if (uses(r, at)) set_text(r, at, text); \
  } while (0)
/* Sets the columns that several tables have. */
#define SET_RING(r, table, e)                                                       \
  do {                                                                              \
    set_int(r, IN(table, domain), (e)->domain);                                     \
    SET_TEXT(r, IN(table, domain_name), domain_name(r, (e)->domain, (e)->incarnation)); \
    set_int(r, IN(table, incarnation), (e)->incarnation);                           \
    SET_TEXT(r, IN(table, ring), eva_ring_name((r)->cursor, (e)->ring));            \
  } while (0)
#define SET_NAME(r, table, e)                                                       \
  do {                                                                              \
    SET_TEXT(r, IN(table, name), (e)->name);                                        \
    SET_TEXT(r, IN(table, class),                                                   \
             eventring_cursor_name((r)->cursor, EVENTRING_NAME_CLASS, (e)->event_class)); \
    SET_RING(r, table, e);                                                          \
    set_some(r, IN(table, context), (e)->context);                                  \
  } while (0)

static void set_span(struct export_rows *r, const struct eventring_event *e) {
  clear(r);
  SET_NAME(r, spans, e);
  set_int(r, IN(spans, depth), e->depth);
  set_some(r, IN(spans, suspended_ns), e->suspended_ns);
  int64_t off_cpu = eventring_event_off_cpu(e);
  if (off_cpu >= 0) set_int(r, IN(spans, off_cpu_ns), (uint64_t)off_cpu);
}

static int put_span(struct export_rows *r, struct export_track *track,
                    const struct eventring_event *e) {
  bool is_made = e->flags & EVENTRING_SYNTHETIC; /* the end of the span is not known */
  const int64_t took = eventring_event_took(e);
  set_span(r, e);
  if (took >= 0 || is_made) set_int(r, IN(spans, begin_ns), e->begin_ns);
  set_int(r, IN(spans, end_ns), e->ns);
  if (took >= 0) set_int(r, IN(spans, duration_ns), (uint64_t)took);
  if (e->flags & EVENTRING_TORN) set_text(r, IN(spans, torn), is_made ? "end" : "begin");
  set_held(r, track, e, IN(spans, value));
  int result = emit(r, EXPORT_TABLE_spans);
  export_track_ended(&r->tracks, e);
  return result;
}

static int take_span(struct export_rows *r, const struct eventring_event *e) {
  if (!wants(r, EXPORT_TABLE_spans)) return 0;
  struct export_track *track = export_track_of(&r->tracks, e);
  if (!track) return no_memory(r);
  if (e->kind == EVENTRING_END) return put_span(r, track, e);
  if (e->payload != EVENTRING_NONE && uses(r, IN(spans, value))) hold(r, track, e);
  return 0;
}

static int put_counter(struct export_rows *r, const struct eventring_event *e) {
  if (!wants(r, EXPORT_TABLE_counters)) return 0;
  clear(r);
  set_int(r, IN(counters, ns), e->ns);
  SET_NAME(r, counters, e);
  if (uses(r, IN(counters, value))) r->cells[IN(counters, value)] = cell_of(r, e);
  if (e->def && e->def->unit && e->def->unit[0])
    set_text(r, IN(counters, unit), e->def->unit);
  return emit(r, EXPORT_TABLE_counters);
}

static int put_sample(struct export_rows *r, const struct eventring_event *e) {
  struct eventring_sample sample;
  uint64_t block = eventring_event_sample(e, &sample);
  const struct eventring_def *span =
      sample.span ? eventring_cursor_def(r->cursor, sample.span - 1u) : NULL;
  if (!wants(r, EXPORT_TABLE_samples)) return 0;
  clear(r);
  set_int(r, IN(samples, ns), e->ns);
  set_int(r, IN(samples, domain), e->domain);
  set_int(r, IN(samples, incarnation), e->incarnation);
  set_int(r, IN(samples, block), block);
  set_int(r, IN(samples, words), sample.words);
  set_int(r, IN(samples, samples), sample.samples);
  set_text(r, IN(samples, kind),
           eventring_cursor_name(r->cursor, EVENTRING_NAME_MEMORY_KIND, sample.kind));
  set_text(r, IN(samples, origin),
           eventring_cursor_name(r->cursor, EVENTRING_NAME_MEMORY_ORIGIN, sample.origin));
  set_some(r, IN(samples, stack), sample.stack);
  if (span) set_text(r, IN(samples, span), span->name);
  return emit(r, EXPORT_TABLE_samples);
}

static int put_point(struct export_rows *r, const struct eventring_event *e) {
  if (!wants(r, EXPORT_TABLE_events)) return 0;
  clear(r);
  set_int(r, IN(events, ns), e->ns);
  set_text(r, IN(events, kind), e->kind == EVENTRING_LINKED ? eva_role_name(e->role)
                                                            : eva_kind_name(e->kind));
  SET_NAME(r, events, e);
  if (e->kind == EVENTRING_LINKED) set_int(r, IN(events, link), e->link);
  if (uses(r, IN(events, value))) r->cells[IN(events, value)] = cell_of(r, e);
  return emit(r, EXPORT_TABLE_events);
}

int export_rows_event(void *rows, const struct eventring_event *e) {
  struct export_rows *r = rows;
  if (e->kind <= EVENTRING_END) return take_span(r, e);
  if (e->kind == EVENTRING_COUNTER) return put_counter(r, e);
  return e->payload == EVENTRING_SAMPLE ? put_sample(r, e) : put_point(r, e);
}

int export_rows_open(void *rows, const struct eventring_event *e) {
  struct export_rows *r = rows;
  if (!wants(r, EXPORT_TABLE_spans)) return 0;
  struct export_track *track = export_track_of(&r->tracks, e);
  if (!track) return no_memory(r);
  if (!r->is_open) eva_known_find(&r->known, r->cursor, r->until);
  r->is_open = true;
  const struct eva_so_far so_far = eva_so_far(&r->known, r->cursor, e);
  set_span(r, e);
  set_int(r, IN(spans, begin_ns), e->ns);
  if (so_far.known) set_int(r, IN(spans, so_far_ns), so_far.ns);
  set_held(r, track, e, IN(spans, value));
  return emit(r, EXPORT_TABLE_spans);
}

int export_rows_lost(void *rows, const struct eventring_loss *loss) {
  struct export_rows *r = rows;
  if (!wants(r, EXPORT_TABLE_losses)) return 0;
  clear(r);
  set_int(r, IN(losses, ns), loss->ns);
  SET_RING(r, losses, loss);
  set_int(r, IN(losses, count), loss->count);
  set_int(r, IN(losses, before), loss->flags & EVENTRING_LOST_BEFORE ? 1 : 0);
  return emit(r, EXPORT_TABLE_losses);
}

/* ---- What is not an event --------------------------------------------------------- */

static int put_domains(struct export_rows *r, const struct eventring_info *info) {
  for (unsigned slot = 0; slot < EVENTRING_MAX_DOMAINS; slot++) {
    struct eventring_domain_info domain = {.size = sizeof domain};
    struct eventring_process process;
    if (eventring_cursor_domain(r->cursor, slot, &domain) != 0) continue;
    bool is_part = domain.process &&
                   eventring_cursor_process(r->cursor, domain.process, &process) == 0;
    clear(r);
    set_int(r, IN(domains, domain), slot);
    set_int(r, IN(domains, incarnation), domain.incarnation);
    set_text(r, IN(domains, name), domain.name);
    set_some(r, IN(domains, tid), (uint64_t)domain.tid);
    set_int(r, IN(domains, pid), (uint64_t)(is_part ? process.pid : info->pid));
    set_text(r, IN(domains, program), is_part ? process.program : info->program);
    set_int(r, IN(domains, start_ns), domain.start_ns);
    set_some(r, IN(domains, stop_ns), domain.stop_ns);
    int result = emit(r, EXPORT_TABLE_domains);
    if (result) return result;
  }
  return 0;
}

static int put_stacks(struct export_rows *r) {
  struct eventring_info info = {.size = sizeof info};
  eventring_cursor_info(r->cursor, &info);
  for (uint32_t id = 1; id < info.stack_end; id++) {
    struct eventring_stack_info stack;
    struct eventring_function_info function;
    if (eventring_cursor_stack(r->cursor, id, &stack) != 0) continue;
    clear(r);
    set_int(r, IN(stacks, stack), id);
    set_some(r, IN(stacks, parent), stack.parent);
    set_int(r, IN(stacks, depth), stack.depth);
    if (eventring_cursor_function(r->cursor, stack.function, &function) == 0) {
      set_text(r, IN(stacks, function), function.name);
      set_text(r, IN(stacks, source), function.source);
    }
    set_some(r, IN(stacks, line), stack.line);
    int result = emit(r, EXPORT_TABLE_stacks);
    if (result) return result;
  }
  return 0;
}

static int put_recording(struct export_rows *r, const struct eventring_info *info) {
  struct eventring_totals totals = {.size = sizeof totals};
  eventring_cursor_totals(r->cursor, &totals);
  clear(r);
  set_text(r, IN(recording, program), info->program);
  set_some(r, IN(recording, pid), (uint64_t)info->pid);
  set_int(r, IN(recording, start_ns), info->start_ns);
  set_int(r, IN(recording, start_wall_ns), (uint64_t)info->start_wall_ns);
  set_some(r, IN(recording, end_ns), info->end_ns);
  set_int(r, IN(recording, delivered), totals.delivered);
  set_int(r, IN(recording, missed), totals.missed);
  set_int(r, IN(recording, lost), totals.lost);
  return emit(r, EXPORT_TABLE_recording);
}

int export_rows_end(struct export_rows *r) {
  struct eventring_info info = {.size = sizeof info};
  int result = 0;
  eventring_cursor_info(r->cursor, &info);
  if (wants(r, EXPORT_TABLE_domains)) result = put_domains(r, &info);
  if (!result && wants(r, EXPORT_TABLE_stacks)) result = put_stacks(r);
  if (!result && wants(r, EXPORT_TABLE_recording)) result = put_recording(r, &info);
  return result;
}
