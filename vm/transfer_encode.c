/* SPDX-License-Identifier: MIT */
/* vm/transfer_encode.c: values into messages. (And back: transfer_decode.c.)
 *
 * A message is a graph. It is written breadth first: values refer to objects by number,
 * and the body of each object comes after all that was found before it. So deep
 * structures use no C stack. The decoder makes each object at its "new" token, so it
 * always has the object that a number refers to.
 *
 *  message   values; body of each object with one, in their order; modules
 *  table     count of array values, values; count of pairs, keys and values;
 *            metatable: a value, TOKEN_NIL, or TOKEN_AGREED
 *  function  its upvalues: TOKEN_UPVALUE (new) or TOKEN_OBJECT
 *  upvalue   a value
 *  modules   texts
 *
 * Objects keep their identity within a message: tables, functions, upvalues (also
 * recursive ones), prototypes. Values that belong to a domain are replaced with the
 * receiver's own: the table of globals, loaded modules (values of package.loaded: the
 * receiver requires them), C functions that are fields of loaded modules. C functions
 * without upvalues that are part of this program are the same everywhere.
 *
 * A prototype goes as the binary chunk of string.dump, unstripped: code is copied,
 * since each domain's interpreter writes its caches into it.
 *
 * A large string is copied once, into a block that the receiver's heap takes over.
 *
 * Nothing here raises or allocates in the heap until all memory of the encoder is freed:
 * a failure is noted (encode_fail), and then everything ends quickly.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "compiler.h"
#include "domain.h"
#include "gc.h"
#include "heap.h"
#include "known_names.h"
#include "message.h"
#include "meta.h"
#include "table.h"
#include "thread.h"
#include "throw.h"
#include "transfer.h"

#define STAGED_BYTES 320
#define MODULE_BITS 512
#define FEW_ITEMS 8 /* up to this number, objects are searched for without a hash table */

/* How an object was reached, for the message about a value that cannot be sent. */
typedef enum Step { STEP_ROOT, STEP_FIELD, STEP_KEY, STEP_UPVALUE, STEP_METATABLE } Step;

typedef struct Origin {
  uint32_t parent; /* the number of an item or, for STEP_ROOT, of the value */
  Step step;
  /* the key of STEP_FIELD or STEP_KEY; for STEP_UPVALUE the name, or nil */
  TValue key;
} Origin;

typedef struct Item {
  const GCObject *object;
  Origin origin;
} Item;

typedef struct Encoder {
  lua_State *L;
  const char *root; /* name of the values */
  int nvalues;
  bool function;    /* the first value is the function of a new domain */
  char *data;
  size_t used, room;
  Item *items;
  uint32_t nitems, items_room;
  /* by hash of the address, item + 1, or 0 for a free slot; NULL while there are few
     items */
  uint32_t *hash;
  uint32_t hash_size;
  Origin here;      /* origin of the value being written */
  GcVector channels, large, modules; /* Channel *, LargeHeader *, const String * */
  const char *failed; /* the value that cannot be sent, or NULL */
  bool no_memory;
  bool modules_known; /* module_bits is filled */
  /* a bit, by address, for each loaded module: a quick test, since most tables are not
     modules */
  uint64_t module_bits[MODULE_BITS / 64];
  Origin failed_at;
  char staged[STAGED_BYTES];
  Item few[FEW_ITEMS];
} Encoder;

static bool has_failed(const Encoder *e) { return e->failed != NULL || e->no_memory; }

static void encode_fail(Encoder *e, const char *what) {
  if (has_failed(e)) return;
  e->failed = what;
  e->failed_at = e->here;
}

/* ---- growing memory ------------------------------------------------------ */

/* Makes room for one more element of `size` bytes; the first room may be in the encoder
   itself. Returns false if there is no memory. */
static bool encode_grow(Encoder *e, void *array, const void *own, uint32_t used, uint32_t *room,
                        size_t size) {
  void *old = *(void **)array;
  uint32_t wanted = *room > 0 ? *room * 2 : 4;
  void *grown = realloc(old == own ? NULL : old, wanted * size);
  if (grown == NULL) {
    e->no_memory = true;
    return false;
  }
  if (old == own && old != NULL) memcpy(grown, own, used * size);
  *(void **)array = grown;
  *room = wanted;
  return true;
}

static bool encode_push(Encoder *e, GcVector *v, const void *item) {
  if (v->n == v->capacity) {
    size_t capacity = v->capacity > 0 ? v->capacity * 2 : 4;
    void **items = realloc(v->items, capacity * sizeof *items);
    if (items == NULL) {
      e->no_memory = true;
      return false;
    }
    v->items = items;
    v->capacity = capacity;
  }
  v->items[v->n++] = (void *)item;
  return true;
}

/* Makes room for `size` more bytes of data. Returns false if there is no memory. */
static bool encode_reserve(Encoder *e, size_t size) {
  if (size <= e->room - e->used) return true;
  size_t room = e->room * 2;
  while (room - e->used < size) room *= 2;
  char *data = realloc(e->data == e->staged ? NULL : e->data, room);
  if (data == NULL) {
    e->no_memory = true;
    return false;
  }
  if (e->data == e->staged) memcpy(data, e->staged, e->used);
  e->data = data;
  e->room = room;
  return true;
}

/* ---- bytes --------------------------------------------------------------- */

static void encode_bytes(Encoder *e, const void *bytes, size_t size) {
  if (!encode_reserve(e, size)) return;
  memcpy(e->data + e->used, bytes, size);
  e->used += size;
}

static void encode_byte(Encoder *e, uint8_t byte) {
  if (unlikely(e->used == e->room) && !encode_reserve(e, 1)) return;
  e->data[e->used++] = (char)byte;
}

static void encode_count(Encoder *e, uint64_t n) {
  for (; n >= 0x80; n >>= 7) encode_byte(e, (uint8_t)(n | 0x80));
  encode_byte(e, (uint8_t)n);
}

static void put_text(Encoder *e, const char *text, size_t size) {
  encode_count(e, size);
  encode_bytes(e, text, size);
}

static void put_string_text(Encoder *e, const String *s) { put_text(e, s->data, string_len(s)); }

/* ---- objects ------------------------------------------------------------- */

static uint32_t address_hash(const void *p, uint32_t size) {
  return (uint32_t)(((uintptr_t)p >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (size - 1);
}

static void enter_hash(Encoder *e, uint32_t item) {
  uint32_t at = address_hash(e->items[item].object, e->hash_size);
  while (e->hash[at] != 0) at = (at + 1) & (e->hash_size - 1);
  e->hash[at] = item + 1;
}

/* Keeps the hash table at most half full. Returns false if there is no memory. */
static bool grow_hash(Encoder *e) {
  if (e->nitems < FEW_ITEMS || (e->hash != NULL && e->nitems * 2 < e->hash_size)) return true;
  uint32_t size = e->hash != NULL ? e->hash_size * 2 : FEW_ITEMS * 8;
  uint32_t *hash = calloc(size, sizeof *hash);
  if (hash == NULL) {
    e->no_memory = true;
    return false;
  }
  free(e->hash);
  e->hash = hash;
  e->hash_size = size;
  for (uint32_t i = 0; i < e->nitems; i++) enter_hash(e, i);
  return true;
}

/* Returns the number of the object, or -1. */
static int64_t find_item(const Encoder *e, const void *object) {
  if (e->hash == NULL) {
    for (uint32_t i = 0; i < e->nitems; i++)
      if (e->items[i].object == object) return i;
    return -1;
  }
  uint32_t at = address_hash(object, e->hash_size);
  for (; e->hash[at] != 0; at = (at + 1) & (e->hash_size - 1))
    if (e->items[e->hash[at] - 1].object == object) return e->hash[at] - 1;
  return -1;
}

static void add_item(Encoder *e, const void *object) {
  if (e->nitems == e->items_room &&
      !encode_grow(e, &e->items, e->few, e->nitems, &e->items_room, sizeof(Item)))
    return;
  if (!grow_hash(e)) return;
  e->items[e->nitems] = (Item){(const GCObject *)object, e->here};
  if (e->hash != NULL) enter_hash(e, e->nitems);
  e->nitems++;
}

/* Writes the number of an object that came before. Otherwise gives the object a number,
 * writes the token, and returns false. */
static bool put_known(Encoder *e, const void *object, Token token) {
  int64_t item = find_item(e, object);
  if (item >= 0) {
    encode_byte(e, TOKEN_OBJECT);
    encode_count(e, (uint64_t)item);
    return true;
  }
  encode_byte(e, token);
  add_item(e, object);
  return false;
}

/* ---- modules ------------------------------------------------------------- */

static Table *globals_of(lua_State *L) {
  const TValue *v = table_get_int(as_table(&L->domain->registry), LUA_RIDX_GLOBALS);
  return is_table(v) ? as_table(v) : NULL;
}

/* Finds the next pair from position `at` on; returns the position to continue from, 0 at
 * the end. */
static uint32_t encode_next_pair(const Encoder *e, Table *t, uint32_t at, TValue *pair) {
  return table_iterate(e->L->domain, t, at, &pair[0], &pair[1]);
}

/* Returns the name under which the object is loaded, or NULL. */
static const String *module_name(const Encoder *e, const void *object) {
  Table *loaded = e->L->domain->sharing.loaded;
  TValue pair[2];
  if (loaded == NULL) return NULL;
  for (uint32_t at = 0; (at = encode_next_pair(e, loaded, at, pair)) != 0;)
    if (is_collected(&pair[1]) && pair[1].v.gc == object && is_string(&pair[0]))
      return as_string(&pair[0]);
  return NULL;
}

static uint64_t module_number(Encoder *e, const String *name) {
  for (size_t i = 0; i < e->modules.n; i++)
    if (e->modules.items[i] == name) return i;
  encode_push(e, &e->modules, name);
  return e->modules.n - 1;
}

static void note_modules(Encoder *e) {
  Table *loaded = e->L->domain->sharing.loaded;
  TValue pair[2];
  e->modules_known = true;
  if (loaded == NULL) return;
  for (uint32_t at = 0; (at = encode_next_pair(e, loaded, at, pair)) != 0;) {
    uint32_t bit = address_hash(pair[1].v.p, MODULE_BITS);
    e->module_bits[bit / 64] |= UINT64_C(1) << bit % 64;
  }
}

static bool put_module(Encoder *e, const void *object) {
  if (!e->modules_known) note_modules(e);
  uint32_t bit = address_hash(object, MODULE_BITS);
  if (!(e->module_bits[bit / 64] >> bit % 64 & 1)) return false;
  const String *name = module_name(e, object);
  if (name == NULL) return false;
  encode_byte(e, TOKEN_MODULE);
  encode_count(e, module_number(e, name));
  return true;
}

/* Returns the field of the table that holds the function, or NULL. */
static const String *member_name(const Encoder *e, Table *t, const void *function) {
  TValue pair[2];
  for (uint32_t at = 0; (at = encode_next_pair(e, t, at, pair)) != 0;)
    if (pair[1].tag == TAG_C_CLOSURE && pair[1].v.gc == function && is_string(&pair[0]))
      return as_string(&pair[0]);
  return NULL;
}

static bool put_member(Encoder *e, const void *function) {
  Table *loaded = e->L->domain->sharing.loaded;
  TValue pair[2];
  if (loaded == NULL) return false;
  for (uint32_t at = 0; (at = encode_next_pair(e, loaded, at, pair)) != 0;) {
    const String *name = is_table(&pair[1]) && is_string(&pair[0])
                             ? member_name(e, as_table(&pair[1]), function)
                             : NULL;
    if (name == NULL) continue;
    encode_byte(e, TOKEN_MEMBER);
    encode_count(e, module_number(e, as_string(&pair[0])));
    put_string_text(e, name);
    return true;
  }
  return false;
}

/* Tells whether the function is part of this program, and not of a module that can be
   unloaded. */
static bool is_native(lua_CFunction f) {
  Dl_info ours, theirs;
  return dladdr((const void *)(uintptr_t)&transfer_encode, &ours) != 0 &&
         dladdr((const void *)(uintptr_t)f, &theirs) != 0 && ours.dli_fbase == theirs.dli_fbase;
}

static void put_native(Encoder *e, lua_CFunction f) {
  if (!is_native(f)) {
    encode_fail(e, "function of a C module");
    return;
  }
  encode_byte(e, TOKEN_NATIVE);
  encode_bytes(e, &f, sizeof f);
}

/* ---- values -------------------------------------------------------------- */

static void put_large(Encoder *e, const String *s) {
  size_t size = heap_round(offsetof(String, data) + string_len(s) + 1);
  LargeHeader *large = heap_large_detached(size);
  if (large == NULL) e->no_memory = true;
  if (large == NULL || !encode_push(e, &e->large, large)) {
    heap_large_discard(large);
    return;
  }
  memcpy(large + 1, s, offsetof(String, data) + string_len(s) + 1);
  encode_count(e, e->large.n - 1);
}

static void put_long_string(Encoder *e, const String *s) {
  bool large = heap_is_large(offsetof(String, data) + string_len(s) + 1);
  if (put_known(e, s, large ? TOKEN_LARGE : TOKEN_LONG) || has_failed(e)) return;
  if (large) put_large(e, s);
  else put_string_text(e, s);
}

static int append_code(lua_State *L, const void *bytes, size_t size, void *encoder) {
  (void)L;
  encode_bytes(encoder, bytes, size);
  return has_failed(encoder);
}

static void put_prototype(Encoder *e, const Prototype *p) {
  int64_t item = find_item(e, p);
  encode_byte(e, item >= 0);
  if (item >= 0) {
    encode_count(e, (uint64_t)item);
    return;
  }
  add_item(e, p);
  uint32_t size = 0;
  size_t at = e->used;
  encode_bytes(e, &size, sizeof size);
  chunk_dump(e->L, p, append_code, e, 0);
  if (has_failed(e)) return;
  size = (uint32_t)(e->used - at - sizeof size);
  memcpy(e->data + at, &size, sizeof size);
}

static void put_table(Encoder *e, const Table *t) {
  if (t == globals_of(e->L)) encode_byte(e, TOKEN_GLOBALS);
  else if (!put_module(e, t)) put_known(e, t, TOKEN_TABLE);
}

static void encode_function(Encoder *e, const LuaClosure *f) {
  if (!put_module(e, f) && !put_known(e, f, TOKEN_FUNCTION)) put_prototype(e, f->p);
}

static void put_userdata(Encoder *e, const Userdata *u) {
  if (u->metatable == NULL || u->metatable != e->L->domain->sharing.channel_metatable) {
    encode_fail(e, "userdata");
    return;
  }
  Channel *c = *(Channel **)userdata_payload(u);
  if (c == NULL) {
    encode_fail(e, "channel that was given up");
    return;
  }
  size_t i = 0;
  while (i < e->channels.n && e->channels.items[i] != c) i++;
  if (i == e->channels.n) {
    if (!encode_push(e, &e->channels, c)) return;
    channel_hold_in_flight(c);
  }
  encode_byte(e, TOKEN_CHANNEL);
  encode_count(e, i);
}

static void put_c_closure(Encoder *e, const CClosure *f) {
  if (!put_module(e, f) && !put_member(e, f)) encode_fail(e, "C function with upvalues");
}

static void put_int(Encoder *e, int64_t i) {
  encode_byte(e, TOKEN_INT);
  encode_count(e, (uint64_t)i << 1 ^ (uint64_t)(i >> 63));
}

static void put_value(Encoder *e, const TValue *v) {
  switch (v->tag) {
    case TAG_NIL: encode_byte(e, TOKEN_NIL); break;
    case TAG_FALSE: encode_byte(e, TOKEN_FALSE); break;
    case TAG_TRUE: encode_byte(e, TOKEN_TRUE); break;
    case TAG_INT: put_int(e, v->v.i); break;
    case TAG_FLOAT: encode_byte(e, TOKEN_FLOAT); encode_bytes(e, &v->v.n, sizeof v->v.n); break;
    case TAG_SHORT_STRING: encode_byte(e, TOKEN_SHORT); put_string_text(e, as_string(v)); break;
    case TAG_LONG_STRING: put_long_string(e, as_string(v)); break;
    case TAG_TABLE: put_table(e, as_table(v)); break;
    case TAG_LUA_CLOSURE: encode_function(e, as_lua_closure(v)); break;
    case TAG_C_FUNCTION: put_native(e, v->v.f); break;
    case TAG_C_CLOSURE: put_c_closure(e, as_c_closure(v)); break;
    case TAG_PRIMITIVE:
      encode_byte(e, TOKEN_PRIMITIVE);
      encode_bytes(e, &v->v.p, sizeof v->v.p);
      break;
    case TAG_USERDATA: put_userdata(e, as_userdata(v)); break;
    case TAG_THREAD: encode_fail(e, "coroutine"); break;
    default: encode_fail(e, "light userdata"); break;
  }
}

/* ---- bodies -------------------------------------------------------------- */

static void step_to(Encoder *e, uint32_t parent, Step step, const TValue *key) {
  e->here.parent = parent;
  e->here.step = step;
  e->here.key = *key;
}

static void put_array(Encoder *e, uint32_t item, const Table *t) {
  uint32_t n = t->array_size;
  TValue key = {.tag = TAG_NIL};
  while (n > 0 && is_nil(&t->array[n - 1])) n--;
  encode_count(e, n);
  for (uint32_t i = 0; i < n && !has_failed(e); i++) {
    set_int(&key, (int64_t)i + 1);
    step_to(e, item, STEP_FIELD, &key);
    put_value(e, &t->array[i]);
  }
}

static void put_pairs(Encoder *e, uint32_t item, const Table *t) {
  uint32_t nodes = table_node_count(t), n = 0;
  for (uint32_t i = 0; i < nodes; i++) n += t->node[i].tag != TAG_NIL;
  encode_count(e, n);
  for (uint32_t i = 0; i < nodes && !has_failed(e); i++) {
    const Node *node = &t->node[i];
    if (node->tag == TAG_NIL) continue;
    TValue key = {.v = node->key, .tag = node->key_tag};
    step_to(e, item, STEP_KEY, &key);
    put_value(e, &key);
    step_to(e, item, STEP_FIELD, &key);
    put_value(e, node_value(node));
  }
}

static void put_metatable(Encoder *e, uint32_t item, Table *mt) {
  TValue v = {.tag = TAG_NIL};
  step_to(e, item, STEP_METATABLE, &v);
  if (mt == NULL) {
    encode_byte(e, TOKEN_NIL);
    return;
  }
  set_table(&v, mt);
  Table *agreed = e->L->domain->sharing.metatables;
  const TValue *name = agreed != NULL ? table_get(agreed, &v) : &table_absent;
  if (is_string(name)) {
    encode_byte(e, TOKEN_AGREED);
    put_string_text(e, as_string(name));
  } else if (!is_nil(table_get_str(mt, e->L->domain->meta_names[META_GC]))) {
    encode_fail(e, "table with a finalizer");
  } else {
    put_value(e, &v);
  }
}

static void encode_upvalues(Encoder *e, uint32_t item, const LuaClosure *f) {
  for (int i = 0; i < f->nupvalues; i++) {
    TValue name = {.tag = TAG_NIL};
    if (f->p->upvalues[i].name != NULL) set_string(&name, f->p->upvalues[i].name);
    step_to(e, item, STEP_UPVALUE, &name);
    put_known(e, f->upvalues[i], TOKEN_UPVALUE);
  }
}

static void put_body(Encoder *e, uint32_t i) {
  const Item item = e->items[i];
  switch (item.object->type) {
    case LUA_TTABLE: {
      const Table *t = (const Table *)item.object;
      put_array(e, i, t);
      put_pairs(e, i, t);
      if (!has_failed(e)) put_metatable(e, i, t->metatable);
      break;
    }
    case TYPE_LUA_CLOSURE: encode_upvalues(e, i, (const LuaClosure *)item.object); break;
    case TYPE_UPVALUE:
      e->here = item.origin; /* the path has no step for the upvalue itself */
      put_value(e, ((const UpValue *)item.object)->v);
      break;
    default: break; /* long strings, prototypes */
  }
}

/* ---- the path to a value ------------------------------------------------- */

static bool is_identifier(const String *s) {
  size_t n = string_len(s);
  if (n == 0 || isdigit((unsigned char)s->data[0])) return false;
  for (size_t i = 0; i < n; i++)
    if (!isalnum((unsigned char)s->data[i]) && s->data[i] != '_') return false;
  return true;
}

static void describe_key(char *text, size_t size, const TValue *key) {
  if (is_string(key) && is_identifier(as_string(key)))
    snprintf(text, size, ".%.60s", as_string(key)->data);
  else if (is_string(key)) snprintf(text, size, "[\"%.60s\"]", as_string(key)->data);
  else if (is_int(key)) snprintf(text, size, "[%lld]", (long long)key->v.i);
  else if (is_float(key)) snprintf(text, size, "[%.14g]", key->v.n);
  else if (key->tag == TAG_TRUE || key->tag == TAG_FALSE)
    snprintf(text, size, "[%s]", key->tag == TAG_TRUE ? "true" : "false");
  else snprintf(text, size, "[a %s]", type_name(tag_type(key->tag)));
}

static void describe_root(const Encoder *e, char *text, size_t size, uint32_t which) {
  int first = e->function ? 1 : 0, number = (int)which + 1 - first;
  if (number == 0) snprintf(text, size, "function");
  else if (e->nvalues - first == 1) snprintf(text, size, "%s", e->root);
  else snprintf(text, size, "%s[%d]", e->root, number);
}

static void describe_step(const Encoder *e, char *text, size_t size, const Origin *o) {
  switch (o->step) {
    case STEP_ROOT: describe_root(e, text, size, o->parent); break;
    case STEP_FIELD: describe_key(text, size, &o->key); break;
    case STEP_KEY: snprintf(text, size, ", a key"); break;
    case STEP_UPVALUE:
      snprintf(text, size, ", upvalue %.60s", is_string(&o->key) ? as_string(&o->key)->data : "?");
      break;
    case STEP_METATABLE: snprintf(text, size, ", metatable"); break;
  }
}

/* Inserts `piece` before the present text. If there is no room, inserts dots and returns
   false. */
static bool put_before(char *text, size_t size, const char *piece) {
  size_t length = strlen(piece), used = strlen(text);
  bool fits = length + used + 4 < size;
  if (!fits) piece = "...", length = 3;
  memmove(text + length, text, used + 1);
  memcpy(text, piece, length);
  return fits;
}

/* Writes the path from its root to the value, beginning with the value. */
static void describe_path(const Encoder *e, char *text, size_t size) {
  char piece[128];
  const Origin *o = &e->failed_at;
  text[0] = '\0';
  for (;;) {
    describe_step(e, piece, sizeof piece, o);
    if (!put_before(text, size, piece) || o->step == STEP_ROOT) return;
    o = &e->items[o->parent].origin;
  }
}

/* ---- the whole ----------------------------------------------------------- */

static void encode_begin(Encoder *e, lua_State *L, int n, const char *root, bool function) {
  memset(e, 0, offsetof(Encoder, staged));
  e->L = L;
  e->root = root;
  e->nvalues = n;
  e->function = function;
  e->data = e->staged;
  e->room = sizeof e->staged;
  e->items = e->few;
  e->items_room = FEW_ITEMS;
}

static void encode_release(Encoder *e) {
  for (size_t i = 0; i < e->channels.n; i++) channel_drop_in_flight(e->channels.items[i]);
  for (size_t i = 0; i < e->large.n; i++) heap_large_discard(e->large.items[i]);
  free(e->channels.items);
  free(e->large.items);
  free(e->modules.items);
  if (e->data != e->staged) free(e->data);
  if (e->items != e->few) free(e->items);
  free(e->hash);
}

static void write_all(Encoder *e) {
  const TValue *first = e->L->top - e->nvalues;
  for (int i = 0; i < e->nvalues && !has_failed(e); i++) {
    step_to(e, (uint32_t)i, STEP_ROOT, &table_absent);
    put_value(e, &first[i]);
  }
  for (uint32_t i = 0; i < e->nitems && !has_failed(e); i++) put_body(e, i);
}

/* Makes a message, which takes over the contents of the encoder. */
static Message *encode_seal(Encoder *e) {
  size_t modules_at = e->used;
  for (size_t i = 0; i < e->modules.n; i++) put_string_text(e, e->modules.items[i]);
  Message *m = e->no_memory ? NULL : message_new(e->used);
  if (m == NULL) {
    e->no_memory = true;
    return NULL;
  }
  memcpy(m->bytes, e->data, e->used);
  m->nvalues = (uint32_t)e->nvalues;
  m->nobjects = e->nitems;
  m->nmodules = (uint32_t)e->modules.n;
  m->modules_at = modules_at;
  m->channels = (Channel **)e->channels.items;
  m->nchannels = (uint32_t)e->channels.n;
  m->large = (LargeHeader **)e->large.items;
  m->nlarge = (uint32_t)e->large.n;
  e->channels = e->large = (GcVector){0};
  return m;
}

Message *transfer_try_encode(lua_State *L, int n, const char *root, bool function, char *text,
                             size_t size) {
  Encoder e;
  encode_begin(&e, L, n, root, function);
  write_all(&e);
  Message *m = has_failed(&e) ? NULL : encode_seal(&e);
  if (e.no_memory) snprintf(text, size, "not enough memory");
  else if (e.failed != NULL) {
    char path[400];
    describe_path(&e, path, sizeof path);
    snprintf(text, size, "%s: cannot send a %s", path, e.failed);
  }
  encode_release(&e);
  return m;
}

Message *transfer_encode(lua_State *L, int n, const char *root, bool function) {
  char text[512];
  Message *m = transfer_try_encode(L, n, root, function, text, sizeof text);
  if (m == NULL) error_run(L, "%s", text);
  return m;
}
