/* SPDX-License-Identifier: MIT */
/* vm/transfer_decode.c: messages into values (format and design: transfer_encode.c).
 *
 * The first part may run guest code: it gathers the handles of channels and the modules
 * in a table. The second part makes the objects. Nothing is collected while a small
 * message becomes objects, so none of them needs an anchor. A large message has
 * safepoints after each body and within long bodies. Its objects are in a table on the
 * stack until all are complete, since their containers may be weak. Finalizers may run at
 * the safepoints, but a cancel waits until the message has been handed over (peer_mask).
 * The message was written by this program: its contents are asserted, not checked.
 */
#include "api.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "compiler.h"
#include "func.h"
#include "gc_inline.h"
#include "heap.h"
#include "memprof.h"
#include "message.h"
#include "peer.h"
#include "thread.h"
#include "throw.h"
#include "transfer.h"

#ifdef SAROS_STRESS
#define ANCHORED_FROM 64
#else
#define ANCHORED_FROM ((size_t)64 << 10) /* least bytes of a large message */
#endif
#define ELEMENTS_AT_ONCE 256 /* elements of a table between two safepoints */

typedef struct Decoder {
  lua_State *L;
  Message *message;
  const char *cursor;
  Table *references; /* the channels, then the modules; NULL if there are neither */
  GCObject **objects;
  Table *anchor; /* the table that holds the objects of a large message; otherwise NULL */
  uint32_t nobjects;
} Decoder;

/* ---- bytes --------------------------------------------------------------- */

static uint8_t decode_byte(Decoder *d) { return (uint8_t)*d->cursor++; }

static uint64_t decode_count(Decoder *d) {
  uint64_t n = 0;
  for (int shift = 0;; shift += 7) {
    uint8_t byte = decode_byte(d);
    n |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return n;
  }
}

static void decode_bytes(Decoder *d, void *to, size_t size) {
  memcpy(to, d->cursor, size);
  d->cursor += size;
}

static String *get_text(Decoder *d) {
  size_t size = decode_count(d);
  String *s = string_new(d->L, d->cursor, size);
  d->cursor += size;
  return s;
}

/* ---- objects ------------------------------------------------------------- */

static void set_known(TValue *v, GCObject *o) {
  set_object(v, o, o->type | TAG_COLLECTED);
}

static void add_object(Decoder *d, void *object) {
  rt_assert(d->nobjects < d->message->nobjects);
  uint32_t i = d->nobjects++;
  if (d->anchor == NULL) {
    d->objects[i] = object;
    return;
  }
  TValue *slot = &d->anchor->array[i];
  set_known(slot, object);
  gc_barrier_table(d->L, d->anchor, slot, slot);
}

static GCObject *decoded_object(const Decoder *d, uint64_t i) {
  return d->anchor != NULL ? d->anchor->array[i].v.gc : d->objects[i];
}

static void safe_point(Decoder *d) {
  if (d->anchor != NULL) gc_check(d->L);
}

static String *get_large(Decoder *d) {
  LargeHeader **large = &d->message->large[decode_count(d)];
  String *s = heap_large_adopt(d->L->domain, *large);
  if (s == NULL) error_memory(d->L);
  *large = NULL;
  object_init(d->L, s, TYPE_LONG_STRING);
  s->extra = 0; /* the hash was that of the other domain */
  s->short_len = 0;
  s->hash = d->L->domain->seed;
  return s;
}

/* Decodes a function. Loading the code of a prototype makes its first function. */
static LuaClosure *decode_function(Decoder *d) {
  if (decode_byte(d) == 1) {
    LuaClosure *f = lua_closure_new(d->L, (Prototype *)decoded_object(d, decode_count(d)));
    add_object(d, f);
    return f;
  }
  uint32_t size;
  decode_bytes(d, &size, sizeof size);
  /* transfer_encode.c dumped it */
  LuaClosure *f = chunk_undump(d->L, d->cursor, size, "=message", true);
  d->L->top--;
  d->cursor += size;
  add_object(d, f);
  add_object(d, f->p);
  return f;
}

static const TValue *decode_reference(Decoder *d, uint64_t i) {
  return table_get_int(d->references, (int64_t)i + 1);
}

static void get_member(Decoder *d, TValue *v) {
  const TValue *module = decode_reference(d, d->message->nchannels + decode_count(d));
  String *name = get_text(d);
  TValue key;
  set_string(&key, name);
  const TValue *function = is_table(module) ? table_get(as_table(module), &key) : &table_absent;
  if (!is_function(function))
    error_run(d->L, "message needs the function '%s' of a module, which is not there", name->data);
  value_copy(v, function);
}

static void *get_pointer(Decoder *d) {
  void *p;
  decode_bytes(d, &p, sizeof p);
  return p;
}

/* Sets a value to a string (set_string is a macro that uses s twice). */
static void decode_put_string(TValue *v, String *s) { set_string(v, s); }

static void get_value(Decoder *d, TValue *v) {
  lua_State *L = d->L;
  Token token = decode_byte(d);
  switch (token) {
    case TOKEN_NIL: set_nil(v); break;
    case TOKEN_FALSE: case TOKEN_TRUE: set_bool(v, token == TOKEN_TRUE); break;
    case TOKEN_INT: {
      uint64_t n = decode_count(d);
      set_int(v, (int64_t)(n >> 1 ^ (0 - (n & 1))));
      break;
    }
    case TOKEN_FLOAT: decode_bytes(d, &v->v.n, sizeof v->v.n); v->tag = TAG_FLOAT; break;
    case TOKEN_SHORT: decode_put_string(v, get_text(d)); break;
    case TOKEN_LONG: decode_put_string(v, get_text(d)); add_object(d, v->v.gc); break;
    case TOKEN_LARGE: decode_put_string(v, get_large(d)); add_object(d, v->v.gc); break;
    case TOKEN_TABLE: set_table(v, table_new(L, 0, 0)); add_object(d, v->v.gc); break;
    case TOKEN_FUNCTION: set_lua_closure(v, decode_function(d)); break;
    case TOKEN_OBJECT: set_known(v, decoded_object(d, decode_count(d))); break;
    case TOKEN_GLOBALS:
      value_copy(v, table_get_int(as_table(&L->domain->registry), LUA_RIDX_GLOBALS));
      break;
    case TOKEN_CHANNEL: value_copy(v, decode_reference(d, decode_count(d))); break;
    case TOKEN_MODULE:
      value_copy(v, decode_reference(d, d->message->nchannels + decode_count(d)));
      break;
    case TOKEN_MEMBER: get_member(d, v); break;
    case TOKEN_NATIVE: v->v.p = get_pointer(d); v->tag = TAG_C_FUNCTION; break;
    case TOKEN_PRIMITIVE: v->v.p = get_pointer(d); v->tag = TAG_PRIMITIVE; break;
    case TOKEN_UPVALUE: case TOKEN_AGREED: rt_assert(!"not a value"); break;
  }
}

/* ---- bodies -------------------------------------------------------------- */

static void get_array(Decoder *d, Table *t, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    get_value(d, &t->array[i]);
    gc_barrier_table(d->L, t, &t->array[i], &t->array[i]);
    if ((i + 1) % ELEMENTS_AT_ONCE == 0) safe_point(d);
  }
}

static void get_pairs(Decoder *d, Table *t, uint32_t n) {
  TValue key, value;
  for (uint32_t i = 0; i < n; i++) {
    get_value(d, &key);
    get_value(d, &value);
    table_set(d->L, t, &key, &value);
    if ((i + 1) % ELEMENTS_AT_ONCE == 0) safe_point(d);
  }
}

static Table *get_agreed(Decoder *d) {
  String *name = get_text(d);
  TValue key;
  set_string(&key, name);
  Table *agreed = d->L->domain->sharing.metatables;
  const TValue *mt = agreed != NULL ? table_get(agreed, &key) : &table_absent;
  if (!is_table(mt))
    error_run(d->L, "no metatable is agreed on as '%s' in this domain", name->data);
  return as_table(mt);
}

static Table *get_metatable(Decoder *d) {
  if ((Token)*d->cursor == TOKEN_AGREED) {
    d->cursor++;
    return get_agreed(d);
  }
  TValue v;
  get_value(d, &v);
  return is_table(&v) ? as_table(&v) : NULL;
}

/* Decodes a table: count of array values, those values, count of pairs. The size of the
 * hash part comes after the array, so it is set by a second resize. */
static void get_table(Decoder *d, Table *t) {
  uint32_t narray = (uint32_t)decode_count(d);
  if (narray > 0) {
    table_resize(d->L, t, narray, 0);
    get_array(d, t, narray);
  }
  uint32_t npairs = (uint32_t)decode_count(d);
  if (npairs > 0) {
    table_resize(d->L, t, narray, npairs);
    get_pairs(d, t, npairs);
  }
  t->metatable = get_metatable(d);
  if (t->metatable != NULL) gc_barrier_object(d->L, t, t->metatable);
}

static void decode_upvalues(Decoder *d, LuaClosure *f) {
  for (int i = 0; i < f->nupvalues; i++) {
    if (decode_byte(d) == TOKEN_OBJECT) {
      f->upvalues[i] = (UpValue *)decoded_object(d, decode_count(d));
    } else {
      f->upvalues[i] = upvalue_new_closed(d->L);
      add_object(d, f->upvalues[i]);
    }
    gc_barrier_object(d->L, f, f->upvalues[i]);
  }
}

static void get_upvalue(Decoder *d, UpValue *uv) {
  get_value(d, uv->v);
  gc_barrier(d->L, uv, uv->v);
}

static void get_body(Decoder *d, GCObject *o) {
  switch (o->type) {
    case LUA_TTABLE: get_table(d, (Table *)o); break;
    case TYPE_LUA_CLOSURE: decode_upvalues(d, (LuaClosure *)o); break;
    case TYPE_UPVALUE: get_upvalue(d, (UpValue *)o); break;
    default: break;
  }
}

/* ---- the whole ----------------------------------------------------------- */

/* Pushes the module whose name is next. */
static void load_module(Decoder *names) {
  lua_State *L = names->L;
  size_t size = decode_count(names);
  lua_getglobal(L, "require");
  lua_pushlstring(L, names->cursor, size);
  names->cursor += size;
  lua_call(L, 1, 1);
}

/* Pushes the table of channels and modules. */
static void gather_references(Decoder *d) {
  lua_State *L = d->L;
  Message *m = d->message;
  Decoder names = {.L = L, .cursor = m->bytes + m->modules_at};
  lua_createtable(L, (int)(m->nchannels + m->nmodules), 0);
  for (uint32_t i = 0; i < m->nchannels; i++) {
    L->domain->sharing.push_channel(L, m->channels[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  for (uint32_t i = 0; i < m->nmodules; i++) {
    load_module(&names);
    lua_rawseti(L, -2, (lua_Integer)(m->nchannels + i) + 1);
  }
  d->references = api_table(L, -1);
}

static void allocate_objects(Decoder *d) {
  const Message *m = d->message;
  if (m->nobjects == 0) return;
  if (m->size >= ANCHORED_FROM) {
    lua_createtable(d->L, (int)m->nobjects, 0);
    d->anchor = api_table(d->L, -1);
    return;
  }
  d->objects = malloc(m->nobjects * sizeof *d->objects);
  if (d->objects == NULL) error_memory(d->L);
}

/* Moves the n values on top down over the `below` values under them. */
static void move_down(lua_State *L, uint32_t n, int below) {
  if (below == 0) return;
  for (TValue *v = L->top - n; v < L->top; v++) value_copy(v - below, v);
  L->top -= below;
}

static void decode_message(lua_State *L, void *decoder) {
  Decoder *d = decoder;
  Message *m = d->message;
  stack_check(L, (int)m->nvalues + 5);
  if (m->nchannels + m->nmodules > 0) gather_references(d);
  allocate_objects(d);
  TValue *first = L->top;
  for (uint32_t i = 0; i < m->nvalues; i++) set_nil(&first[i]);
  /* the values are on the stack before the bodies are read, since loading code pushes */
  L->top += m->nvalues;
  for (uint32_t i = 0; i < m->nvalues; i++) {
    ptrdiff_t at = stack_save(L, first + i);
    TValue v;
    get_value(d, &v);
    value_copy(stack_restore(L, at), &v);
    first = stack_restore(L, at) - i;
  }
  for (uint32_t i = 0; i < d->nobjects; i++) {
    get_body(d, decoded_object(d, i));
    safe_point(d);
  }
  move_down(L, m->nvalues, (d->references != NULL) + (d->anchor != NULL));
}

int transfer_decode(lua_State *L, Message *m) {
  Decoder d = {.L = L, .message = m, .cursor = m->bytes};
  int n = (int)m->nvalues;
  Peer *peer = L->domain->peer;
  /* loading modules runs guest code; a cancel there would lose the message, which only
     this thread has */
  peer_mask(peer);
  L->ncalls_nonyieldable++;
  MemprofOrigin origin = memprof_set_origin(L->domain, MEMPROF_FROM_MESSAGE);
  int status = vm_protect(L, decode_message, &d, stack_save(L, L->top), L->errfunc);
  memprof_set_origin(L->domain, origin);
  L->ncalls_nonyieldable--;
  peer_unmask(peer);
  free(d.objects);
  message_free(m);
  if (status != LUA_OK) lua_error(L);
  if (L->ci->top < L->top) L->ci->top = L->top;
  gc_check(L);
  return n;
}
