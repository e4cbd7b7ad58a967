/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_initialize.c: initializers, from arguments, tables, strings and other
 * cdata. The rules are in the section "Initializers" of doc/FFI.md. */
#include "ffi_core.h"

#include <string.h>

/* Values for the parts of an aggregate in order: arguments or elements of a table. */
typedef struct Source {
  Table *table;        /* the table, or NULL for arguments */
  const TValue *first; /* the first argument */
  int64_t base;        /* first key of the table */
  int64_t n;           /* number of the arguments */
  Conversion how;      /* how each value is converted */
} Source;

static Source table_source(Table *t, Conversion how) {
  return (Source){.table = t, .base = is_nil(table_get_int(t, 0)) ? 1 : 0, .how = how};
}

/* Returns value i (0..), or NULL behind the last one. */
static const TValue *source_at(const Source *s, int64_t i) {
  if (s->table == NULL) return i < s->n ? &s->first[i] : NULL;
  const TValue *o = table_get_int(s->table, s->base + i);
  return is_nil(o) ? NULL : o;
}

_Noreturn static void too_many(lua_State *L, const CType *t) {
  char name[CTYPE_NAME_MAX];
  luaL_error(L, "too many initializers for '%s'", ctype_name(t, name));
  __builtin_unreachable();
}

/* ---- arrays -------------------------------------------------------------- */

static void copy_string(char *p, size_t size, const String *s) {
  /* size with the final zero, which is copied if there is room for it */
  size_t n = string_len(s) + 1;
  memcpy(p, s->data, n < size ? n : size);
}

static void repeat_first(char *p, size_t unit, size_t n) {
  for (size_t i = 1; i < n; i++) memcpy(p + i * unit, p, unit);
}

/* Fills elements with the values of the source from index *at on, and advances *at by
 * their number. */
static void fill_array(lua_State *L, CType *t, char *p, size_t size, const Source *source,
                       int64_t *at) {
  CType *element = t->element;
  size_t room = element->size > 0 ? size / element->size : 0, n = 0;
  const TValue *o;
  while ((o = source_at(source, *at)) != NULL) {
    if (n == room) too_many(L, t);
    initialize_from(L, element, p + n * element->size, element->size, o, source->how);
    n++;
    (*at)++;
  }
  if (n == 1 && !(t->flags & CTYPE_FLEXIBLE)) repeat_first(p, element->size, room);
}

/* ---- structs and unions -------------------------------------------------- */

static size_t part_size(const Field *f, size_t size) {
  bool flexible = f->type->kind == CKIND_ARRAY && f->type->count == COUNT_UNKNOWN;
  return flexible ? (size > f->offset ? size - f->offset : 0) : f->type->size;
}

static void fill_field(lua_State *L, const Field *f, char *p, size_t size, const TValue *o,
                       Conversion how) {
  if (f->is_bits) convert_store_bits(L, f, p + f->offset, o);
  else initialize_from(L, f->type, p + f->offset, part_size(f, size), o, how);
}

/* Fills the members in order of declaration; members of anonymous parts count as the
   struct's own. */
static void fill_in_order(lua_State *L, CType *t, char *p, size_t size, const Source *source,
                          int64_t *at) {
  const Record *r = t->record;
  for (uint32_t i = 0; i < r->nfields; i++) {
    const Field *f = &r->fields[i];
    const TValue *o = source_at(source, *at);
    if (o == NULL) return;
    if (f->is_const || (f->name == NULL && f->is_bits)) continue;
    bool flexible = f->type->kind == CKIND_ARRAY && f->type->count == COUNT_UNKNOWN;
    if (f->name == NULL) {
      fill_in_order(L, f->type, p + f->offset, f->type->size, source, at);
    } else if (flexible && !is_table(o) && !is_string(o) && cdata_of(o) == NULL) {
      /* the array takes all values that are left */
      fill_array(L, f->type, p + f->offset, part_size(f, size), source, at);
    } else {
      fill_field(L, f, p, size, o, source->how);
      (*at)++;
    }
    if (r->is_union) return;
  }
}

/* Fills the members that the table names; returns whether it names one. */
static bool fill_by_name(lua_State *L, CType *t, char *p, size_t size, Table *table,
                         Conversion how) {
  const Record *r = t->record;
  bool any = false;
  for (uint32_t i = 0; i < r->nfields && !(any && r->is_union); i++) {
    const Field *f = &r->fields[i];
    TValue key;
    if (f->is_const) continue;
    if (f->name == NULL) {
      if (!f->is_bits && fill_by_name(L, f->type, p + f->offset, f->type->size, table, how))
        any = true;
      continue;
    }
    set_string(&key, f->name);
    const TValue *o = table_get(table, &key);
    if (is_nil(o)) continue;
    fill_field(L, f, p, size, o, how);
    any = true;
  }
  return any;
}

static void check_complete(lua_State *L, const CType *t) {
  char name[CTYPE_NAME_MAX];
  if (t->kind == CKIND_RECORD && !t->record->complete)
    luaL_error(L, "'%s' is incomplete", ctype_name(t, name));
}

static void from_table(lua_State *L, CType *t, char *p, size_t size, Table *table, Conversion how) {
  Source source = table_source(table, how);
  int64_t at = 0;
  check_complete(L, t);
  if (t->kind == CKIND_ARRAY) fill_array(L, t, p, size, &source, &at);
  else if (source_at(&source, 0) != NULL) fill_in_order(L, t, p, size, &source, &at);
  else fill_by_name(L, t, p, size, table, how);
}

/* ---- entry --------------------------------------------------------------- */

static bool takes_string(const CType *t, const TValue *o) {
  return is_string(o) && t->kind == CKIND_ARRAY && t->element->flags & CTYPE_BYTE;
}

/* Copies a cdata of the same type; an array may have fewer elements. */
static bool copy_object(CType *t, char *p, size_t size, const TValue *o) {
  const Cdata *cd = cdata_of(o);
  char *from;
  if (cd == NULL) return false;
  const CType *s = cdata_value(cd, &from);
  bool arrays =
      s->kind == CKIND_ARRAY && t->kind == CKIND_ARRAY && s->element->plain == t->element->plain;
  if (s->plain != t->plain && !arrays) return false;
  size_t available = cdata_is_reference(as_userdata(o)) ? s->size : cdata_size(as_userdata(o));
  if (available == SIZE_UNKNOWN || (arrays && available > size)) return false;
  memmove(p, from, available < size ? available : size);
  return true;
}

void initialize_from(lua_State *L, CType *t, char *p, size_t size, const TValue *o,
                     Conversion how) {
  if (!is_aggregate(t)) {
    convert_store(L, t, p, o, how, NULL);
  } else if (is_table(o)) {
    from_table(L, t, p, size, as_table(o), how);
  } else if (takes_string(t, o)) {
    copy_string(p, size, as_string(o));
  } else if (!copy_object(t, p, size, o)) {
    if (cdata_of(o) == NULL || t->size == SIZE_UNKNOWN) convert_error(L, o, t, NULL, NULL);
    convert_store(L, t, p, o, how, NULL);
  }
}

void initialize(lua_State *L, CType *t, char *p, size_t size, int first, int n) {
  const TValue *values = argument(L, first);
  if (n == 0) return;
  if (!is_aggregate(t)) {
    if (n > 1) too_many(L, t);
    convert_store(L, t, p, values, CONVERT_IMPLICIT, NULL);
    return;
  }
  check_complete(L, t);
  if (n == 1 && (is_table(values) || takes_string(t, values) || copy_object(t, p, size, values))) {
    if (cdata_of(values) == NULL) initialize_from(L, t, p, size, values, CONVERT_IMPLICIT);
    return;
  }
  Source source = {.first = values, .n = n, .how = CONVERT_IMPLICIT};
  int64_t at = 0;
  if (t->kind == CKIND_ARRAY) fill_array(L, t, p, size, &source, &at);
  else fill_in_order(L, t, p, size, &source, &at);
  if (at < n) too_many(L, t);
}
