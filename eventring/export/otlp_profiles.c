/* SPDX-License-Identifier: MIT */
/* otlp_profiles.c: a profile in OTLP (ProfilesData of v1development: a draft, which later
 * versions may change).
 *
 * A Profile has one kind of values, so there is one Profile for each kind, with the
 * samples that are not 0. All refer to the same tables, whose first elements are empty. A
 * location stands for a stack of the profile, by its innermost frame. The index of a
 * function is its index in the profile plus one. */
#include <inttypes.h>
#include <stdlib.h>

#include "export/export.h"
#include "export/otlp_resource.h"
#include "export/strings.h"

struct attribute { const char *key, *text; };

struct profiles {
  const struct export_profile *p;
  struct otlp_text t, stacks; /* stacks: the table, which grows with the samples */
  struct export_strings strings;
  uint32_t *index;            /* by stack: its index in the table `stacks`; 0 if none
                                 yet */
  uint32_t stack_count;
  struct evr_table labels;    /* indices in the table of attributes */
  struct attribute *attribute;
  size_t attribute_count, attribute_room;
  bool failed;
};

static uint64_t rounded(double value) {
  return value > 0 && value < 0x1p62 ? (uint64_t)(value + 0.5) : 0;
}

/* ---- Samples ---------------------------------------------------------------------- */

static uint32_t stack_of(struct profiles *x, uint32_t stack) {
  struct otlp_text *t = &x->stacks;
  if (!stack || x->index[stack]) return stack ? x->index[stack] : 0;
  const size_t item = otlp_item(t, OTLP_STACKS), list = otlp_open_packed(t, OTLP_STACK_LOCATIONS);
  for (uint32_t at = stack; at; at = x->p->stacks[at].parent)
    otlp_pack(t, OTLP_STACK_LOCATIONS, at);
  otlp_close_packed(t, list);
  otlp_close(t, item);
  return x->index[stack] = ++x->stack_count;
}

static bool is_attribute(const void *context, uintptr_t value, const void *key) {
  const struct attribute *a = &((const struct profiles *)context)->attribute[value - 1], *b = key;
  return strcmp(a->key, b->key) == 0 && strcmp(a->text, b->text) == 0;
}

static uint64_t attribute_of(struct profiles *x, const struct export_label *label) {
  const struct attribute a = {label->key, label->text};
  const uint64_t hash = evr_hash_text(evr_hash_text(evr_hash_seed(), a.key), a.text);
  uintptr_t *value = NULL;
  if (EVR_MAKE_ROOM(x->attribute, x->attribute_room, x->attribute_count, 16))
    value = evr_table_take(&x->labels, hash, is_attribute, x, &a);
  if (!value) {
    x->failed = true;
    return 0;
  }
  if (!*value) {
    x->attribute[x->attribute_count] = a;
    *value = ++x->attribute_count;
  }
  return *value;
}

static void put_labels(struct profiles *x, const struct export_row *row) {
  struct otlp_text *t = &x->t;
  bool has_labels = false;
  for (int i = 0; i < EXPORT_LABELS; i++) has_labels |= row->label[i].key != NULL;
  if (!has_labels) return;
  const size_t list = otlp_open_packed(t, OTLP_SAMPLE_ATTRIBUTES);
  for (int i = 0; i < EXPORT_LABELS; i++)
    if (row->label[i].key) otlp_pack(t, OTLP_SAMPLE_ATTRIBUTES, attribute_of(x, &row->label[i]));
  otlp_close_packed(t, list);
}

static void put_sample(struct profiles *x, const struct export_row *row, uint64_t value) {
  struct otlp_text *t = &x->t;
  const size_t item = otlp_item(t, OTLP_SAMPLES);
  otlp_number(t, OTLP_SAMPLE_STACK, stack_of(x, row->stack));
  put_labels(x, row);
  const size_t list = otlp_open_packed(t, OTLP_SAMPLE_VALUES);
  otlp_pack(t, OTLP_SAMPLE_VALUES, value);
  otlp_close_packed(t, list);
  otlp_close(t, item);
}

static void put_profile(struct profiles *x, size_t v) {
  const struct export_profile *p = x->p;
  struct otlp_text *t = &x->t;
  bool begun = false;
  const size_t profile = otlp_item(t, OTLP_PROFILES), type = otlp_open(t, OTLP_SAMPLE_TYPE);
  otlp_number(t, OTLP_TYPE_NAME, export_string(&x->strings, p->values[v].name));
  otlp_number(t, OTLP_TYPE_UNIT, export_string(&x->strings, p->values[v].unit));
  otlp_close(t, type);
  for (size_t i = 0; i < p->row_count; i++) {
    const uint64_t value = rounded(p->rows[i].value[v]);
    if (!value) continue;
    if (!begun) otlp_open_list(t, OTLP_SAMPLES);
    begun = true;
    put_sample(x, &p->rows[i], value);
  }
  if (begun) otlp_close_list(t);
  otlp_number(t, OTLP_PROFILE_TIME, p->start_wall_ns > 0 ? (uint64_t)p->start_wall_ns : 0);
  otlp_number(t, OTLP_PROFILE_DURATION, p->duration_ns);
  otlp_close(t, profile);
}

/* ---- Tables ----------------------------------------------------------------------- */

/* Begins a table, with its first element. */
static void begin_table(struct profiles *x, enum otlp_field field) {
  otlp_open_list(&x->t, field);
  otlp_close(&x->t, otlp_item(&x->t, field));
}

static void put_locations(struct profiles *x) {
  struct otlp_text *t = &x->t;
  begin_table(x, OTLP_LOCATIONS);
  for (uint32_t i = 1; i < x->p->stack_count; i++) {
    const size_t item = otlp_item(t, OTLP_LOCATIONS);
    otlp_open_list(t, OTLP_LOCATION_LINES);
    const size_t line = otlp_item(t, OTLP_LOCATION_LINES);
    otlp_number(t, OTLP_LINE_FUNCTION, (uint64_t)x->p->stacks[i].function + 1);
    otlp_number(t, OTLP_LINE_NUMBER, x->p->stacks[i].line);
    otlp_close(t, line);
    otlp_close_list(t);
    otlp_close(t, item);
  }
  otlp_close_list(t);
}

static void put_functions(struct profiles *x) {
  struct otlp_text *t = &x->t;
  begin_table(x, OTLP_FUNCTIONS);
  for (size_t i = 0; i < x->p->function_count; i++) {
    const struct export_function *f = &x->p->functions[i];
    const size_t item = otlp_item(t, OTLP_FUNCTIONS);
    otlp_number(t, OTLP_FUNCTION_NAME, export_string(&x->strings, f->name[0] ? f->name : "?"));
    otlp_number(t, OTLP_FUNCTION_FILE, export_string(&x->strings, f->source));
    otlp_number(t, OTLP_FUNCTION_LINE, f->line);
    otlp_close(t, item);
  }
  otlp_close_list(t);
}

static void put_attributes(struct profiles *x) {
  struct otlp_text *t = &x->t;
  begin_table(x, OTLP_ATTRIBUTE_TABLE);
  for (size_t i = 0; i < x->attribute_count; i++) {
    const struct attribute *a = &x->attribute[i];
    const size_t item = otlp_item(t, OTLP_ATTRIBUTE_TABLE);
    otlp_number(t, OTLP_TABLE_KEY, export_string(&x->strings, a->key));
    const size_t value = otlp_open(t, OTLP_VALUE);
    otlp_string(t, OTLP_STRING_VALUE, a->text, strlen(a->text));
    otlp_close(t, value);
    otlp_close(t, item);
  }
  otlp_close_list(t);
}

static void put_dictionary(struct profiles *x) {
  struct otlp_text *t = &x->t;
  const size_t dictionary = otlp_open(t, OTLP_DICTIONARY);
  begin_table(x, OTLP_MAPPINGS);
  otlp_close_list(t);
  put_locations(x);
  put_functions(x);
  begin_table(x, OTLP_LINK_TABLE);
  otlp_close_list(t);
  put_attributes(x);
  begin_table(x, OTLP_STACKS);
  otlp_join(t, x->stacks.b.data, x->stacks.b.size);
  otlp_close_list(t);
  otlp_open_list(t, OTLP_STRINGS); /* all strings are known by now */
  for (size_t i = 0; i < x->strings.count; i++)
    otlp_string_item(t, OTLP_STRINGS, x->strings.text[i]);
  otlp_close_list(t);
  otlp_close(t, dictionary);
}

/* Writes what comes before the profiles. `note`: about a list of the environment that was
   ignored; "" if none. */

/* Writes what comes before the profiles. `note`: about a list of the environment that was
   left out; "" if none. */
static void put_head(struct profiles *x, const struct otlp_said *said, const char *note) {
  struct otlp_text *t = &x->t;
  const size_t resource = otlp_open(t, OTLP_RESOURCE);
  otlp_put_resource(t, said, x->p->program, 0);
  otlp_close(t, resource);
  otlp_open_list(t, OTLP_SCOPE_PROFILES);
  const size_t of_scope = otlp_item(t, OTLP_SCOPE_PROFILES), scope = otlp_open(t, OTLP_SCOPE);
  otlp_put_scope(t);
  if (*note) {
    otlp_open_list(t, OTLP_SCOPE_ATTRIBUTES);
    otlp_attribute_string(t, OTLP_SCOPE_ATTRIBUTES, "eventring.note", note);
    otlp_close_list(t);
  }
  otlp_close(t, scope);
  otlp_open_list(t, OTLP_PROFILES);
  for (size_t v = 0; v < x->p->value_count; v++) put_profile(x, v);
  otlp_close_list(t);
  otlp_close(t, of_scope);
  otlp_close_list(t);
}

static int write_profiles(const struct export_profile *p, FILE *out, bool is_json) {
  struct profiles x = {.p = p, .t.is_json = is_json, .stacks.is_json = is_json};
  struct otlp_said said = {0};
  char note[200] = "";
  x.index = calloc(p->stack_count + 1, sizeof *x.index);
  x.failed = !x.index || otlp_said_read(&said, p->resource, note, sizeof note) < 0;
  if (!x.failed) {
    export_string(&x.strings, ""); /* the first string must be empty */
    if (is_json) protobuf_add(&x.t.b, "{", 1);
    otlp_open_list(&x.t, OTLP_RESOURCE_PROFILES);
    const size_t of_process = otlp_item(&x.t, OTLP_RESOURCE_PROFILES);
    put_head(&x, &said, note);
    otlp_close(&x.t, of_process);
    otlp_close_list(&x.t);
    put_dictionary(&x);
    if (is_json) protobuf_add(&x.t.b, "}\n", 2);
    x.failed = x.failed || x.t.b.failed || x.stacks.b.failed || x.strings.failed;
  }
  if (!x.failed) fwrite(x.t.b.data, 1, x.t.b.size, out);
  free(x.t.b.data);
  free(x.stacks.b.data);
  free(x.index);
  free(x.attribute);
  evr_table_free(&x.labels);
  export_strings_free(&x.strings);
  otlp_said_free(&said);
  return x.failed ? -1 : 0;
}

int export_otlp_profiles(const struct export_profile *p, FILE *out) {
  return write_profiles(p, out, false);
}
int export_otlp_profiles_json(const struct export_profile *p, FILE *out) {
  return write_profiles(p, out, true);
}
