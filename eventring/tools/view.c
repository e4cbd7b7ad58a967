/* SPDX-License-Identifier: MIT */
/* view.c: one table per view (view.h has the design). */
#include "view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/figures.h"
#include "analysis/names.h"
#include "analysis/saturating.h"

/* ---- Values ------------------------------------------------------------------- */

struct view_value view_printf(struct view_to *to, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(to->room, sizeof to->room, format, arguments);
  va_end(arguments);
  return view_text(to->room);
}

static struct view_value stored(enum view_type type, const void *at) {
  const char *text;
  switch (type) {
    case VIEW_BOOL: return (struct view_value){VIEW_BOOL, {.b = *(const bool *)at}};
    case VIEW_U8: return view_uint(*(const uint8_t *)at);
    case VIEW_U16: return view_uint(*(const uint16_t *)at);
    case VIEW_U32: return view_uint(*(const uint32_t *)at);
    case VIEW_UINT: return view_uint(*(const uint64_t *)at);
    case VIEW_I32: return view_int(*(const int32_t *)at);
    case VIEW_INT: return view_int(*(const int64_t *)at);
    case VIEW_DOUBLE: return view_double(*(const double *)at);
    case VIEW_TEXT: text = *(const char *const *)at; return view_text(text ? text : "");
    case VIEW_CHARS: return view_text(at);
    case VIEW_NONE: break;
  }
  return view_none();
}

static const char *def_name(const struct view_to *to, unsigned id) {
  const struct eventring_def *def = to->cursor ? eventring_cursor_def(to->cursor, id) : NULL;
  return def ? def->name : "?";
}

static const char *class_name(const struct view_to *to, unsigned index) {
  const char *name =
      to->cursor ? eventring_cursor_name(to->cursor, EVENTRING_NAME_CLASS, index) : NULL;
  return name ? name : "?";
}

/* Returns the name of the thing whose number is the value; `form` says what kind of
   thing. */
static struct view_value named(const struct view_to *to, enum view_form form,
                               struct view_value value) {
  unsigned n = (unsigned)value.is.u;
  switch (form) {
    case VIEW_DEF: return view_text(def_name(to, n));
    case VIEW_CLASS: return view_text(class_name(to, n));
    case VIEW_RING: return view_text(eva_ring_name(to->cursor, (uint8_t)n));
    case VIEW_LIVENESS: return view_text(eva_liveness_name((enum eventring_liveness)n));
    case VIEW_STATE: return view_text(eva_state_name((enum eventring_state)n));
    case VIEW_DEF_KIND: return view_text(eva_def_kind_name((uint8_t)n));
    case VIEW_PAYLOAD: return view_text(eva_payload_name((uint8_t)n));
    case VIEW_MEASURE: return view_text(eva_measure_name((uint8_t)n));
    case VIEW_QUANTITY: return view_text(eva_quantity_name((uint8_t)n));
    default: return value;
  }
}

static bool is_zero(const struct view_value *value) {
  return value->type == VIEW_TEXT ? !value->is.text[0] : !value->is.u;
}

/* Tells whether the flags make this value count as none. */
static bool is_no_value(const struct view_value *value, unsigned flags) {
  bool negative = value->type == VIEW_INT && value->is.i < 0;
  bool greatest = value->type == VIEW_UINT && value->is.u == UINT64_MAX;
  return (negative && flags & VIEW_NOT_NEGATIVE) || (greatest && flags & VIEW_NO_MAX) ||
         (is_zero(value) && flags & VIEW_NO_0);
}

/* The row of an absent included view, whose columns have no values. */
static const char no_row[1];

static bool is_there(const struct view_column *c, const char *row) {
  if (row == no_row) return false;
  return (!c->known || *(const bool *)(row + c->known - 1)) && (!c->has || c->has(row));
}

static struct view_value value_of(struct view_to *to, const struct view_column *c,
                                  const void *row) {
  bool is_sure = c->flags & VIEW_TEXT_IF && !to->table && row != no_row;
  if (!is_sure && !is_there(c, row)) return view_none();
  struct view_value value =
      c->get ? c->get(to, (const char *)row + c->offset, c)
             : stored(c->type, (const char *)row + c->offset);
  if (value.type == VIEW_NONE || is_no_value(&value, c->flags)) return view_none();
  return named(to, c->form, value);
}

/* ---- Columns ------------------------------------------------------------------ */

static const void *nested_row(struct view_to *to, const struct view_column *c, const void *row) {
  if (!row) return NULL;
  if (c->make) return c->make(to->made.bytes, row), to->made.bytes;
  const char *at = (const char *)row + c->offset;
  return c->flags & VIEW_POINTER ? *(const void *const *)at : at;
}

typedef void visit_column(struct view_to *to, const struct view_column *column, const void *row);

/* Visits the columns; the columns of included views come in place. `row` may be NULL. */
static void each_column(struct view_to *to, view_function *view, const void *row,
                        visit_column *visit) {
  const struct view *v = view();
  for (size_t i = 0; i < v->count; i++) {
    const struct view_column *c = &v->columns[i];
    if (c->form != VIEW_INCLUDE) visit(to, c, row);
    else if (!row || is_there(c, row)) each_column(to, c->view, nested_row(to, c, row), visit);
    else each_column(to, c->view, no_row, visit);
  }
}

/* Tells whether each row of a view is a value, not an object. */
static bool is_bare(view_function *view) {
  return view()->count == 1 && view()->columns[0].key && !view()->columns[0].key[0];
}

static void hand_out(struct view_to *to, view_function *view,
                     void (*rows)(struct view_to *, const void *), const void *row) {
  view_function *before = to->view;
  to->view = view;
  rows(to, row);
  to->view = before;
}

/* ---- JSON --------------------------------------------------------------------- */

static void put_value(struct eva_json *json, const struct view_value *value) {
  switch (value->type) {
    case VIEW_BOOL: eva_json_bool(json, value->is.b); break;
    case VIEW_INT: eva_json_int(json, value->is.i); break;
    case VIEW_DOUBLE: eva_json_double(json, value->is.d); break;
    case VIEW_TEXT: eva_json_string(json, value->is.text); break;
    case VIEW_NONE: eva_json_null(json); break;
    default: eva_json_uint(json, value->is.u); break;
  }
}

static void put_member(struct view_to *to, const struct view_column *c, const void *row);

static void put_row(struct view_to *to, view_function *view, const void *row) {
  eva_json_open_object(&to->json);
  each_column(to, view, row, put_member);
  eva_json_close_object(&to->json);
}

static void put_nested(struct view_to *to, const struct view_column *c, const void *row) {
  struct eva_json *json = &to->json;
  if (!is_there(c, row)) return;
  eva_json_key(json, c->key);
  if (c->form == VIEW_OBJECT) return put_row(to, c->view, nested_row(to, c, row));
  (c->form == VIEW_ROWS ? eva_json_open_array : eva_json_open_object)(json);
  hand_out(to, c->view, c->rows, nested_row(to, c, row));
  (c->form == VIEW_ROWS ? eva_json_close_array : eva_json_close_object)(json);
}

static void put_member(struct view_to *to, const struct view_column *c, const void *row) {
  if (!c->key || row == no_row) return;
  if (c->view) return put_nested(to, c, row);
  struct view_value value = value_of(to, c, row);
  bool left_out = c->flags & VIEW_MAYBE || (c->flags & VIEW_PART && !is_there(c, row));
  if (value.type == VIEW_NONE && left_out) return;
  if (c->key[0]) eva_json_key(&to->json, c->key);
  put_value(&to->json, &value);
}

void view_members(struct eva_json *json, view_function *view, const void *row) {
  struct view_to to = {.json = *json};
  each_column(&to, view, row, put_member);
  *json = to.json;
}

/* ---- Text --------------------------------------------------------------------- */

/* Writes bytes with their sign. (The text without the sign is short enough for the sign
   to fit into a figure.) Returns the text. */
static char *signed_bytes_text(char *figure, int64_t bytes) {
  char *size = bytes ? figure + 1 : figure;
  figure[0] = bytes < 0 ? '-' : '+';
  eva_bytes_text(size, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);
  return figure;
}

static char *change_text(char *figure, double change) {
  snprintf(figure, EVA_FIGURE, "%+.1f %%", 100 * change);
  return figure;
}

static char *number_text(char *figure, enum view_form form, const struct view_value *value) {
  uint64_t u = value->type == VIEW_DOUBLE ? eva_whole(value->is.d) : value->is.u;
  if (value->type == VIEW_DOUBLE && (form == VIEW_SHARE || form == VIEW_PLAIN))
    return form == VIEW_SHARE ? eva_percent_text(figure, (uint64_t)(value->is.d * 1e9), 1000000000)
                              : eva_double_text(figure, value->is.d);
  switch (form) {
    case VIEW_CHANGE: return change_text(figure, value->is.d);
    case VIEW_NS: return eva_duration_text(figure, u);
    case VIEW_BYTES:
      return value->type == VIEW_INT ? signed_bytes_text(figure, value->is.i)
                                     : eva_bytes_text(figure, u);
    case VIEW_WORDS: return eva_bytes_text(figure, eva_times(u, 8));
    case VIEW_WALL: return eva_wall_text(figure, value->is.i);
    case VIEW_COUNT:
      return value->type == VIEW_INT ? eva_signed_text(figure, value->is.i)
                                     : eva_count_text(figure, u);
    default:
      snprintf(figure, EVA_FIGURE, value->type == VIEW_INT ? "%" PRId64 : "%" PRIu64, u);
      return figure;
  }
}

static char *moment_text(char *figure, uint64_t ns, uint64_t start) {
  uint64_t us = (ns > start ? ns - start : start - ns) / 1000;
  snprintf(figure, EVA_FIGURE, "%s%" PRIu64 ".%06" PRIu64 " s", ns < start ? "-" : "",
           us / 1000000, us % 1000000);
  return figure;
}

/* Returns the text of a value, or NULL if there is none. */
static const char *text_of(struct view_to *to, char *figure, const struct view_column *c,
                           const void *row) {
  struct view_value value = value_of(to, c, row);
  bool dashes = c->flags & VIEW_DASH_0 || c->form == VIEW_MOMENT;
  if (value.type == VIEW_NONE || (dashes && is_zero(&value))) return NULL;
  if (value.type == VIEW_TEXT) return value.is.text;
  if (value.type == VIEW_BOOL) return value.is.b ? "yes" : "no";
  if (c->form == VIEW_MOMENT) return moment_text(figure, value.is.u, to->start_ns);
  return number_text(figure, c->form, &value);
}

static void add_title(struct view_to *to, const struct view_column *c, const void *row) {
  (void)row;
  if (!c->title || c->view) return;
  struct table *table = to->table;
  const char **titles = (const char **)table->titles;
  *NEED_NEXT(titles, table->columns) = to->by && strcmp(c->title, VIEW_BY) == 0 ? to->by : c->title;
  table->titles = titles;
}

static void add_cell(struct view_to *to, const struct view_column *c, const void *row) {
  enum { LONG = 32 };
  char figure[EVA_FIGURE];
  if (!c->title || c->view) return;
  const char *text = text_of(to, figure, c, row);
  if (c->flags & VIEW_END && text) table_cell_end(to->table, text, LONG);
  else table_cell(to->table, text);
}

/* Fills a table with rows, and prints it below its heading, if any. */
static void print_table(struct view_to *to, const char *heading, view_function *view,
                        void (*rows)(struct view_to *to, const void *row), const void *row,
                        int indent) {
  struct table table = {.keys = view()->keys ? view()->keys : 1, .is_screen = to->is_screen};
  to->table = &table;
  each_column(to, view, NULL, add_title);
  hand_out(to, view, rows, row);
  if (heading && table.used) {
    fputc('\n', to->out);
    table_wrapped(to->out, heading, 0, 0);
  }
  table_print(&table, to->out, indent);
  free((void *)table.titles);
  to->table = NULL;
}

void view_table(struct view_to *to, view_function *view,
                void (*rows)(struct view_to *to, const void *row), const void *row, int indent) {
  print_table(to, NULL, view, rows, row, indent);
}

void view_section(struct view_to *to, const char *heading, view_function *view,
                  void (*rows)(struct view_to *to, const void *row), const void *row) {
  print_table(to, heading, view, rows, row, 2);
}

static void print_line(struct view_to *to, const struct view_column *c, const void *row) {
  char figure[EVA_FIGURE];
  const char *text = c->title && !c->view ? text_of(to, figure, c, row) : NULL;
  if (text) table_labelled(to->out, c->title, text);
}

void view_lines(struct view_to *to, view_function *view, const void *row) {
  each_column(to, view, row, print_line);
}

/* ---- CSV ---------------------------------------------------------------------- */

static void put_csv_text(FILE *out, const char *text) {
  fputc('"', out);
  /* otherwise a spreadsheet would take it for a formula */
  if (text[0] && strchr("=+-@", text[0])) fputc('\'', out);
  for (size_t part; *text; text += part) {
    part = *text == '"' ? 1 : strcspn(text, "\"");
    if (*text == '"') fputc('"', out);
    print_foreign(out, text, part);
  }
  fputc('"', out);
}

static void put_csv_cell(struct view_to *to, const struct view_column *c, const void *row) {
  char figure[EVA_FIGURE];
  if (!c->key || c->view) return;
  if (to->csv_cells++) fputc(',', to->out);
  struct view_value value = row ? value_of(to, c, row) : view_text(c->key);
  if (value.type == VIEW_TEXT && row) put_csv_text(to->out, value.is.text);
  else if (value.type == VIEW_TEXT) fputs(value.is.text, to->out);
  else if (value.type == VIEW_BOOL) fputs(value.is.b ? "1" : "0", to->out);
  else if (value.type == VIEW_DOUBLE) fprintf(to->out, "%.17g", value.is.d);
  else if (value.type != VIEW_NONE) fputs(number_text(figure, VIEW_PLAIN, &value), to->out);
}

static void put_csv_row(struct view_to *to, view_function *view, const void *row) {
  to->csv_cells = 0;
  each_column(to, view, row, put_csv_cell);
  fputc('\n', to->out);
}

static void put_csv(struct view_to *to, const struct view_column *c, const void *row) {
  if (c->form == VIEW_OBJECT) return each_column(to, c->view, nested_row(to, c, row), put_csv);
  if (!(c->flags & VIEW_MAIN)) return;
  put_csv_row(to, c->view, NULL);
  hand_out(to, c->view, c->rows, nested_row(to, c, row));
}

/* ---- Rows --------------------------------------------------------------------- */

/* Writes a row as an object on a line of its own. */
static void put_line(struct view_to *to, view_function *view, const void *row) {
  bool were_lines = to->are_lines;
  to->are_lines = false;
  eva_json_start(&to->json, to->out);
  eva_json_open_object(&to->json);
  if (!view()->has_version) eva_json_uint_at(&to->json, "version", 1);
  each_column(to, view, row, put_member);
  eva_json_close_object(&to->json);
  eva_json_line(&to->json);
  to->are_lines = were_lines;
}

void view_object(struct view_to *to, view_function *view, const void *row) {
  if (to->as.csv) each_column(to, view, row, put_csv);
  else put_line(to, view, row);
}

void view_row(struct view_to *to, const void *row) {
  if (to->table) each_column(to, to->view, row, add_cell);
  else if (to->as.csv) put_csv_row(to, to->view, row);
  else if (to->are_lines) put_line(to, to->view, row);
  else if (is_bare(to->view)) put_member(to, to->view()->columns, row);
  else put_row(to, to->view, row);
}

void view_named_row(struct view_to *to, const char *name, const void *row) {
  if (!to->table && !to->as.csv) eva_json_key(&to->json, name);
  view_row(to, row);
}

void view_list(struct view_to *to, view_function *view,
               void (*rows)(struct view_to *, const void *), const void *row) {
  if (view_wants_text(&to->as)) return view_table(to, view, rows, row, 0);
  if (to->as.csv) put_csv_row(to, view, NULL);
  to->are_lines = true;
  hand_out(to, view, rows, row);
  to->are_lines = false;
}

/* ---- Rows with their columns -------------------------------------------------- */

static const char *const form_names[] = {
    [VIEW_PLAIN] = "plain", [VIEW_COUNT] = "count", [VIEW_NS] = "ns", [VIEW_MOMENT] = "moment",
    [VIEW_WALL] = "wall", [VIEW_BYTES] = "bytes", [VIEW_WORDS] = "words", [VIEW_SHARE] = "share",
    [VIEW_CHANGE] = "change", [VIEW_DEF] = "def", [VIEW_RING] = "ring", [VIEW_CLASS] = "class",
    [VIEW_LIVENESS] = "liveness", [VIEW_STATE] = "state", [VIEW_DEF_KIND] = "def_kind",
    [VIEW_PAYLOAD] = "payload", [VIEW_MEASURE] = "measure", [VIEW_QUANTITY] = "quantity"};

static void put_column(struct view_to *to, const struct view_column *c, const void *row) {
  struct eva_json *json = &to->json;
  (void)row;
  if (!c->key || c->view) return;
  eva_json_open_object(json);
  eva_json_string_at(json, "key", c->key);
  eva_json_string_at(json, "title", c->title ? c->title + strspn(c->title, TABLE_SIGNS) : NULL);
  eva_json_string_at(json, "form", form_names[c->form]);
  eva_json_string_at(json, "help", c->help);
  eva_json_close_object(json);
}

/* Writes the rows to which `path` leads. Returns whether they were found. */
static bool put_rows_at(struct view_to *to, view_function *view, const char *path,
                        const void *row) {
  struct eva_json *json = &to->json;
  const struct view *v = view();
  for (size_t i = 0; i < v->count; i++) {
    const struct view_column *c = &v->columns[i];
    const size_t size = c->key ? strlen(c->key) : 0;
    if (c->form == VIEW_INCLUDE) {
      if (put_rows_at(to, c->view, path, nested_row(to, c, row))) return true;
    } else if (size && strncmp(path, c->key, size) == 0 && (path[size] == '.' || !path[size])) {
      if (path[size]) return put_rows_at(to, c->view, path + size + 1, nested_row(to, c, row));
      eva_json_key(json, "columns");
      eva_json_open_array(json);
      each_column(to, c->view, NULL, put_column);
      eva_json_close_array(json);
      put_nested(to, &(struct view_column){.key = "rows", .form = VIEW_ROWS, .view = c->view,
                                           .offset = c->offset, .flags = c->flags,
                                           .rows = c->rows}, row);
      return true;
    }
  }
  return false;
}

void view_data(struct view_to *to, struct eva_json *json, view_function *view, const char *path,
               const void *row) {
  to->json = *json;
  put_rows_at(to, view, path, row);
  *json = to->json;
}

/* ---- Schema ------------------------------------------------------------------- */

static const char *unit_of(enum view_form form) {
  switch (form) {
    case VIEW_NS: return "ns";
    case VIEW_MOMENT: return "ns of the recording's clock";
    case VIEW_WALL: return "ns since 1970";
    case VIEW_BYTES: return "bytes";
    case VIEW_WORDS: return "words of 8 bytes";
    default: return NULL;
  }
}

static const char *type_name(const struct view_column *c) {
  if (c->form >= VIEW_DEF) return "string";
  switch (c->type) {
    case VIEW_BOOL: return "boolean";
    case VIEW_DOUBLE: return "number";
    case VIEW_TEXT:
    case VIEW_CHARS: return "string";
    case VIEW_NONE: return NULL; /* any */
    default: return "integer";
  }
}

/* Tells whether a member may be null. (Without VIEW_MAYBE it is always present, and null
   if it has no value.) */
static bool may_be_null(const struct view_column *c) {
  bool has_condition = (c->known || c->has) && !(c->flags & (VIEW_PART | VIEW_TEXT_IF));
  return !(c->flags & VIEW_MAYBE) &&
         (c->get || has_condition || c->flags & (VIEW_NO_0 | VIEW_NOT_NEGATIVE | VIEW_NO_MAX));
}

static void put_type(struct eva_json *json, const struct view_column *c) {
  const char *type = type_name(c);
  if (!type) return;
  bool is_number = strcmp(type, "number") == 0; /* the value may also be "nan", "inf",
                                                   "-inf" */
  eva_json_key(json, "type");
  if (!is_number && !may_be_null(c)) return eva_json_string(json, type);
  eva_json_open_array(json);
  eva_json_string(json, type);
  if (is_number) eva_json_string(json, "string");
  if (may_be_null(c)) eva_json_string(json, "null");
  eva_json_close_array(json);
}

/* The views around a view. If a view contains itself (the rows of a tree), the inner one
   becomes a reference. */
struct outer {
  view_function *view;
  const char *path;
  const struct outer *outer;
};

static void put_schema(struct view_to *to, view_function *view, const char *path);

static void put_nested_schema(struct view_to *to, const struct view_column *c) {
  const char *outer = ((const struct outer *)to->context)->path;
  struct eva_json *json = &to->json;
  const char *inside = c->form == VIEW_ROWS ? "items" : "additionalProperties";
  char path[256];
  snprintf(path, sizeof path, "%s/properties/%s", outer, c->key);
  if (c->form == VIEW_OBJECT) return put_schema(to, c->view, path);
  snprintf(path, sizeof path, "%s/properties/%s/%s", outer, c->key, inside);
  eva_json_string_at(json, "type", c->form == VIEW_ROWS ? "array" : "object");
  eva_json_key(json, inside);
  eva_json_open_object(json);
  if (is_bare(c->view)) put_type(json, c->view()->columns);
  else put_schema(to, c->view, path);
  eva_json_close_object(json);
}

static void put_property(struct view_to *to, const struct view_column *c, const void *row) {
  struct eva_json *json = &to->json;
  (void)row;
  if (!c->key) return;
  eva_json_key(json, c->key);
  eva_json_open_object(json);
  if (c->view) put_nested_schema(to, c);
  else put_type(json, c);
  if (unit_of(c->form)) eva_json_string_at(json, "unit", unit_of(c->form));
  if (c->help) eva_json_string_at(json, "description", c->help);
  eva_json_close_object(json);
}

/* Writes the required members. `sure` is true if the including view always has this
   view. */
static void put_required(struct eva_json *json, view_function *view, bool sure) {
  const struct view *v = view();
  for (size_t i = 0; i < v->count; i++) {
    const struct view_column *c = &v->columns[i];
    bool is_part = c->flags & (VIEW_MAYBE | VIEW_PART) || (c->view && (c->has || c->known));
    if (c->form == VIEW_INCLUDE) put_required(json, c->view, sure && !is_part);
    else if (c->key && sure && !is_part) eva_json_string(json, c->key);
  }
}

static const struct view_column version = {"version", .type = VIEW_UINT};

static void put_schema(struct view_to *to, view_function *view, const char *path) {
  struct eva_json *json = &to->json;
  const struct outer *outer = to->context, here = {view, path, outer};
  bool adds_version = !outer && !view()->has_version;
  for (; outer; outer = outer->outer)
    if (outer->view == view) return eva_json_string_at(json, "$ref", outer->path);
  to->context = &here;
  eva_json_string_at(json, "type", "object");
  eva_json_key(json, "properties");
  eva_json_open_object(json);
  if (adds_version) put_property(to, &version, NULL);
  each_column(to, view, NULL, put_property);
  eva_json_close_object(json);
  eva_json_key(json, "required");
  eva_json_open_array(json);
  if (adds_version) eva_json_string(json, version.key);
  put_required(json, view, true);
  eva_json_close_array(json);
  to->context = here.outer;
}

static void put_any_of(struct view_to *to, view_function *view) {
  char path[32];
  eva_json_key(&to->json, "anyOf");
  eva_json_open_array(&to->json);
  for (unsigned i = 0; view; view = view()->other, i++) {
    snprintf(path, sizeof path, "#/anyOf/%u", i);
    eva_json_open_object(&to->json);
    put_schema(to, view, path);
    eva_json_close_object(&to->json);
  }
  eva_json_close_array(&to->json);
}

void view_schema(view_function *view, const char *command, FILE *out) {
  struct view_to to = {.out = out};
  struct eva_json *json = &to.json;
  eva_json_start(json, out);
  eva_json_open_object(json);
  eva_json_string_at(json, "$schema", "https://json-schema.org/draft/2020-12/schema");
  eva_json_string_at(json, "title", command);
  if (!view()->other) put_schema(&to, view, "#");
  else put_any_of(&to, view);
  eva_json_close_object(json);
  eva_json_line(json);
}
