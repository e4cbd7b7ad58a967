/* SPDX-License-Identifier: MIT */
/* pprof.c: the profile.proto of pprof (https://github.com/google/pprof), not compressed.
 *
 * A message of protocol buffers (protobuf.h). Texts are indices into a table of strings.
 * Locations and functions have ids from 1 on. A stack is a location here: locations for
 * each distinct function and line would be fewer, but stacks exist already.
 *
 * Readers add up functions with the same name. So if several functions share a name, the
 * file is added to it, and the line as well if one file has several of these functions.
 * Readers take a function whose two names are equal for C++ code, and cut off <...> and
 * (...); so the system name always includes the site. */
#include "export/export.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "export/protobuf.h"
#include "export/same_names.h"
#include "export/strings.h"

enum { /* fields of messages */
  PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5,
  PROFILE_STRING_TABLE = 6, PROFILE_TIME_NANOS = 9, PROFILE_DURATION_NANOS = 10,
  PROFILE_DEFAULT_SAMPLE_TYPE = 14,
  VALUE_TYPE = 1, VALUE_UNIT = 2,
  SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3,
  LABEL_KEY = 1, LABEL_STR = 2,
  LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION_ID = 1, LINE_LINE = 2,
  FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILENAME = 4,
  FUNCTION_START_LINE = 5
};

/* ---- Messages --------------------------------------------------------------------- */

static void put_values(const struct export_profile *p, struct export_strings *s,
                       struct protobuf *out) {
  struct protobuf m = {0};
  for (size_t i = 0; i < p->value_count; i++) {
    protobuf_add_number(&m, VALUE_TYPE, export_string(s, p->values[i].name));
    protobuf_add_number(&m, VALUE_UNIT, export_string(s, p->values[i].unit));
    protobuf_add_message(out, PROFILE_SAMPLE_TYPE, &m);
  }
  free(m.data);
}

static void put_labels(const struct export_row *row, struct export_strings *s, struct protobuf *m) {
  struct protobuf label = {0};
  for (int i = 0; i < EXPORT_LABELS; i++) {
    if (!row->label[i].key) continue;
    protobuf_add_number(&label, LABEL_KEY, export_string(s, row->label[i].key));
    protobuf_add_number(&label, LABEL_STR, export_string(s, row->label[i].text));
    protobuf_add_message(m, SAMPLE_LABEL, &label);
  }
  free(label.data);
}

static void put_sample(const struct export_profile *p, const struct export_row *row,
                       struct export_strings *s, struct protobuf *m) {
  for (uint32_t at = row->stack; at; at = p->stacks[at].parent)
    protobuf_add_number(m, SAMPLE_LOCATION_ID, at);
  for (size_t v = 0; v < p->value_count; v++) {
    double value = row->value[v];
    protobuf_add_number(m, SAMPLE_VALUE, value > 0 && value < 0x1p62 ? (uint64_t)(value + 0.5) : 0);
  }
  put_labels(row, s, m);
}

static void put_stacks(const struct export_profile *p, struct protobuf *out) {
  struct protobuf m = {0}, line = {0};
  for (uint32_t i = 1; i < p->stack_count; i++) {
    protobuf_add_number(&m, LOCATION_ID, i);
    protobuf_add_number(&line, LINE_FUNCTION_ID, (uint64_t)p->stacks[i].function + 1);
    protobuf_add_number(&line, LINE_LINE, p->stacks[i].line);
    protobuf_add_message(&m, LOCATION_LINE, &line);
    protobuf_add_message(out, PROFILE_LOCATION, &m);
  }
  free(m.data);
  free(line.data);
}

/* Returns the name by which readers identify a function; the caller frees it. Returns
   NULL when out of memory. */
static char *shown_name(const struct export_function *f, enum export_sharing sharing) {
  const char *name = f->name[0] ? f->name : "?";
  char *text = NULL;
  bool has_source = sharing != EXPORT_NAME_ALONE && f->source[0];
  int size = has_source && sharing == EXPORT_NAME_IN_FILE
                 ? asprintf(&text, "%s (%s:%" PRIu32 ")", name, f->source, f->line)
             : has_source ? asprintf(&text, "%s (%s)", name, f->source)
                          : asprintf(&text, "%s", name);
  return size < 0 ? NULL : text;
}

static char *system_name(const struct export_function *f) {
  char *text = NULL;
  int size = asprintf(&text, "%s %s:%" PRIu32, f->name, f->source, f->line);
  return size < 0 ? NULL : text;
}

/* Makes two names for each function. Returns the names, to which the table of strings
   points, or NULL when out of memory. */
static char **names_of(const struct export_profile *p) {
  enum export_sharing *sharing = export_find_same_names(p);
  char **names = calloc(2 * p->function_count + 1, sizeof *names);
  for (size_t i = 0; sharing && names && i < p->function_count; i++) {
    names[2 * i] = shown_name(&p->functions[i], sharing[i]);
    names[2 * i + 1] = system_name(&p->functions[i]);
  }
  bool failed = !sharing;
  free(sharing);
  if (!failed) return names;
  free(names);
  return NULL;
}

static void free_names(const struct export_profile *p, char **names) {
  for (size_t i = 0; names && i < 2 * p->function_count; i++) free(names[i]);
  free(names);
}

static void put_functions(const struct export_profile *p, char *const *names,
                          struct export_strings *s, struct protobuf *out) {
  struct protobuf m = {0};
  for (size_t i = 0; i < p->function_count; i++) {
    const struct export_function *f = &p->functions[i];
    if (!names[2 * i] || !names[2 * i + 1]) {
      out->failed = true;
      break;
    }
    protobuf_add_number(&m, FUNCTION_ID, i + 1);
    protobuf_add_number(&m, FUNCTION_NAME, export_string(s, names[2 * i]));
    protobuf_add_number(&m, FUNCTION_SYSTEM_NAME, export_string(s, names[2 * i + 1]));
    protobuf_add_number(&m, FUNCTION_FILENAME, export_string(s, f->source));
    protobuf_add_number(&m, FUNCTION_START_LINE, f->line);
    protobuf_add_message(out, PROFILE_FUNCTION, &m);
  }
  free(m.data);
}

/* Writes the table of strings. Escapes characters that are not printable, since `go tool
   pprof` prints strings as they are. */
static void put_string_table(const struct export_strings *s, struct protobuf *out) {
  for (size_t i = 0; i < s->count; i++) {
    size_t size = strlen(s->text[i]);
    char *text = malloc(5 * size + 1);
    if (!text) out->failed = true;
    else protobuf_add_part(out, PROFILE_STRING_TABLE, text,
                  (size_t)(export_text(text, s->text[i], size, "", "") - text));
    free(text);
  }
}

static void flush(struct protobuf *b, FILE *out, bool *failed) {
  if (b->size) fwrite(b->data, 1, b->size, out);
  *failed |= b->failed;
  b->size = 0;
}

int export_pprof(const struct export_profile *p, FILE *out) {
  struct protobuf b = {0}, m = {0};
  struct export_strings s = {0};
  char **names = names_of(p);
  bool failed = !names;
  if (failed) return -1;
  export_string(&s, ""); /* the first string must be empty */
  put_values(p, &s, &b);
  for (size_t i = 0; i < p->row_count; i++) {
    put_sample(p, &p->rows[i], &s, &m);
    protobuf_add_message(&b, PROFILE_SAMPLE, &m);
    if (b.size > 1 << 16) flush(&b, out, &failed);
  }
  put_stacks(p, &b);
  put_functions(p, names, &s, &b);
  protobuf_add_number(&b, PROFILE_TIME_NANOS, (uint64_t)p->start_wall_ns);
  protobuf_add_number(&b, PROFILE_DURATION_NANOS, p->duration_ns);
  if (p->value_count)
    protobuf_add_number(&b, PROFILE_DEFAULT_SAMPLE_TYPE,
                        export_string(&s, p->values[p->main_value].name));
  put_string_table(&s, &b);
  flush(&b, out, &failed);
  failed |= s.failed;
  free(b.data);
  free(m.data);
  export_strings_free(&s);
  free_names(p, names);
  return failed ? -1 : 0;
}
