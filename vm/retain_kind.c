/* SPDX-License-Identifier: MIT */
/* vm/retain_kind.c: kinds of objects, and their names (retain.c).
 *
 * Most objects of a program are tables, so "table" says nothing. The kind of a table
 * whose metatable has a __name is that name. The kind of another table with few entries
 * is the set of its string keys, like the fields of a record.
 */
#include <string.h>

#include "retain_walk.h"
#include "str.h"
#include "table.h"

enum { MOST_RECORD_NODES = 32, SHOWN_FIELDS = 4, SHOWN_FIELD_BYTES = 24, SHOWN_NAME_BYTES = 80 };

/* Hashes of tables that are not records. */
enum { TABLE_EMPTY = 1, TABLE_LIST, TABLE_MAP, TABLE_RECORD };

const String *retain_meta_string(const Domain *d, const Table *metatable, int event) {
  if (metatable == NULL) return NULL;
  const TValue *v = table_get_str((Table *)(uintptr_t)metatable, d->meta_names[event]);
  return is_string(v) ? as_string(v) : NULL;
}

/* ---- kinds ----------------------------------------------------------------- */

static bool has_field(const Node *n) {
  return n->tag != TAG_NIL && n->key_tag == TAG_SHORT_STRING;
}

static uint64_t mixed(const void *p) {
  uint64_t h = (uint64_t)(uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15);
  return (h ^ h >> 29) * UINT64_C(0xff51afd7ed558ccd);
}

/* Returns a hash that is the same for the same set of fields. */
static uint64_t table_hash(const Table *t) {
  const uint32_t n = table_node_count(t);
  uint64_t hash = 0;
  uint32_t fields = 0, others = 0;
  if (n > MOST_RECORD_NODES) return TABLE_MAP;
  for (uint32_t i = 0; i < n; i++) {
    if (has_field(&t->node[i])) hash += mixed(t->node[i].key.gc), fields++;
    else others += t->node[i].tag != TAG_NIL;
  }
  if (fields > 0) return hash < TABLE_RECORD ? TABLE_RECORD : hash;
  if (others > 0) return TABLE_MAP;
  return t->array_size > 0 ? TABLE_LIST : TABLE_EMPTY;
}

static KindKey kind_of_table(const RetainWalk *w, const Table *t) {
  const String *name = retain_meta_string(w->d, t->metatable, META_NAME);
  if (name != NULL) return (KindKey){KIND_NAMED_TABLE, (uint64_t)(uintptr_t)name};
  return (KindKey){KIND_TABLE, table_hash(t)};
}

KindKey retain_kind_of(const RetainWalk *w, const GCObject *o) {
  switch (o->type) {
    case LUA_TTABLE: return kind_of_table(w, (const Table *)o);
    case TYPE_LUA_CLOSURE:
      return (KindKey){KIND_FUNCTION, (uint64_t)(uintptr_t)((const LuaClosure *)o)->p};
    case TYPE_C_CLOSURE:
      return (KindKey){KIND_C_FUNCTION, (uint64_t)(uintptr_t)((const CClosure *)o)->f};
    case LUA_TUSERDATA: {
      const String *name = retain_meta_string(w->d, ((const Userdata *)o)->metatable, META_NAME);
      return (KindKey){KIND_USERDATA, (uint64_t)(uintptr_t)name};
    }
    case LUA_TTHREAD: return (KindKey){KIND_THREAD, 0};
    case TYPE_UPVALUE: return (KindKey){KIND_UPVALUE, 0};
    case TYPE_PROTO: return (KindKey){KIND_CODE, 0};
    default: return (KindKey){KIND_STRING, 0};
  }
}

/* ---- names ----------------------------------------------------------------- */

static int compare_names(const String *a, const String *b) {
  size_t la = string_len(a), lb = string_len(b);
  int order = memcmp(a->data, b->data, la < lb ? la : lb);
  return order != 0 ? order : (la > lb) - (la < lb);
}

/* Finds the first fields in the order of their names; returns the number of all
   fields. */
static uint32_t first_fields(const Table *t, const String *fields[SHOWN_FIELDS]) {
  uint32_t n = 0, all = 0;
  for (uint32_t i = 0; i < table_node_count(t); i++) {
    if (!has_field(&t->node[i])) continue;
    const String *name = (const String *)t->node[i].key.gc;
    uint32_t at = n;
    all++;
    while (at > 0 && compare_names(name, fields[at - 1]) < 0) at--;
    if (at == SHOWN_FIELDS) continue;
    if (n < SHOWN_FIELDS) n++;
    memmove(fields + at + 1, fields + at, (n - 1 - at) * sizeof *fields);
    fields[at] = name;
  }
  return all;
}

static void name_record(const Table *t, Text *out) {
  const String *fields[SHOWN_FIELDS];
  uint32_t all = first_fields(t, fields);
  text_add(out, "table {");
  for (uint32_t i = 0; i < all && i < SHOWN_FIELDS; i++) {
    text_add(out, i > 0 ? ", " : "");
    text_add_bytes(out, fields[i]->data, string_len(fields[i]), SHOWN_FIELD_BYTES);
  }
  text_add(out, all > SHOWN_FIELDS ? ", ...}" : "}");
}

static void name_table(uint64_t hash, const Table *t, Text *out) {
  switch (hash) {
    case TABLE_EMPTY: text_add(out, "table (empty)"); break;
    case TABLE_LIST: text_add(out, "table (list)"); break;
    case TABLE_MAP: text_add(out, "table (map)"); break;
    default: name_record(t, out);
  }
}

static void add_name(Text *out, const char *type, const void *name) {
  const String *s = name;
  text_add(out, type);
  if (s == NULL) return;
  text_add(out, " ");
  text_add_bytes(out, s->data, string_len(s), SHOWN_NAME_BYTES);
}

void retain_name_kind(const RetainWalk *w, const Kind *kind, Text *out) {
  const GCObject *o = visited_object(&w->queue[kind->first]);
  const void *of = (const void *)(uintptr_t)kind->key.of;
  switch (kind->key.kind) {
    case KIND_STRING: text_add(out, "string"); break;
    case KIND_NAMED_TABLE: add_name(out, "table", of); break;
    case KIND_TABLE: name_table(kind->key.of, (const Table *)o, out); break;
    case KIND_USERDATA: add_name(out, "userdata", of); break;
    case KIND_FUNCTION: text_add_function(out, of); break;
    case KIND_C_FUNCTION: text_add(out, "C function"); break;
    case KIND_THREAD: text_add(out, "thread"); break;
    case KIND_UPVALUE: text_add(out, "upvalue"); break;
    case KIND_CODE: text_add(out, "code"); break;
    default: text_add(out, "(other kinds)");
  }
}
