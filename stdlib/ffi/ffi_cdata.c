/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_cdata.c: cdata objects and access to their parts (design: ffi_core.h).
 *
 * All cdata share one metatable, so that the type alone decides what an access does;
 * metamethods of ffi.metatype are looked up after the built-in ones. Only a type with
 * __close needs a metatable of its own, a copy with that field, because the language
 * reads __close from the metatable itself. */
#include "call.h"
#include "ffi_core.h"
#include "meta.h"
#include "number.h"
#include "throw.h"

#include <stdio.h>
#include <string.h>

/* ---- making -------------------------------------------------------------- */

static Userdata *new_object(lua_State *L, CType *t, size_t payload, int nuservalues) {
  Userdata *u = userdata_new(L, payload, nuservalues);
  Table *own = t->plain->cdata_metatable;
  u->kind = USERDATA_CDATA;
  u->metatable = own != NULL ? own : t->ffi->cdata_metatable;
  ((Cdata *)userdata_payload(u))->type = t;
  set_userdata(L->top, u);
  L->top++;
  return u;
}

Cdata *cdata_push(lua_State *L, CType *t, size_t size) {
  size_t slack = t->align > 16 ? t->align : 0, total;
  if (__builtin_add_overflow(size, sizeof(Cdata) + slack, &total)) error_memory(L);
  Userdata *u = new_object(L, t, total, 0);
  Cdata *cd = userdata_payload(u);
  cd->address = cdata_inline(cd);
  if (slack != 0) cd->address += -(uintptr_t)cd->address & (t->align - 1);
  return cd;
}

/* Pushes an object with room for `size` bytes that keeps the owner alive. */
static Cdata *push_owned(lua_State *L, CType *t, size_t size, const TValue *owner) {
  Userdata *u = new_object(L, t, sizeof(Cdata) + size, owner != NULL);
  if (owner != NULL) value_copy(&u->uservalues[0], owner);
  return userdata_payload(u);
}

Cdata *cdata_push_pointer(lua_State *L, CType *t, const void *value, const TValue *owner) {
  Cdata *cd = push_owned(L, t, sizeof(void *), owner);
  cd->address = cdata_inline(cd);
  *(const void **)(void *)cd->address = value;
  return cd;
}

Cdata *cdata_push_reference(lua_State *L, CType *t, void *p, const TValue *owner) {
  Cdata *cd = push_owned(L, t, 0, owner);
  cd->address = p;
  return cd;
}

/* ---- access ------------------------------------------------------------- */

bool cdata_is_reference(const Userdata *u) {
  const Cdata *cd = userdata_payload((Userdata *)u);
  return cd->address < cdata_inline(cd) || cd->address > (const char *)cd + u->len;
}

size_t cdata_size(const Userdata *u) {
  const Cdata *cd = userdata_payload((Userdata *)u);
  const CType *t = cd->type->kind == CKIND_REFERENCE ? cd->type->element : cd->type;
  if (!(t->flags & (CTYPE_VLA | CTYPE_VLS)) || cdata_is_reference(u)) return t->size;
  return (size_t)((const char *)cd + u->len - cd->address) -
         (t->align > 16 ? t->align - (size_t)(cd->address - cdata_inline(cd)) : 0);
}

const TValue *cdata_owner(const TValue *o) {
  if (!is_userdata(o)) return is_string(o) ? o : NULL;
  Userdata *u = as_userdata(o);
  if (u->kind != USERDATA_CDATA) return NULL;
  if (u->nuservalues > 0) return &u->uservalues[0];
  const Cdata *cd = userdata_payload(u);
  return cd->type->kind != CKIND_POINTER && cd->type->kind != CKIND_REFERENCE &&
                 !cdata_is_reference(u)
             ? o
             : NULL;
}

CType *cdata_value(const Cdata *cd, char **address) {
  if (unlikely(cd->type->kind == CKIND_REFERENCE)) {
    memcpy(address, cd->address, sizeof *address);
    return cd->type->element;
  }
  *address = cd->address;
  return cd->type;
}

/* ---- metamethods of ffi.metatype ----------------------------------------- */

static Table *metatable_for(const CType *t) {
  while (t->kind == CKIND_POINTER || t->kind == CKIND_REFERENCE) t = t->element;
  return t->plain->metatable;
}

bool cdata_push_metamethod(lua_State *L, const CType *t, const char *name) {
  Table *mt = metatable_for(t);
  if (mt == NULL) return false;
  const TValue *f = table_get_str(mt, string_from_c(L, name));
  if (is_nil(f)) return false;
  value_copy(L->top, f);
  L->top++;
  return true;
}

static int finish_call(lua_State *L, int status, lua_KContext context) {
  (void)status;
  return lua_gettop(L) - (int)context;
}

/* Calls the value on top with all arguments of the running function. */
static int call_with_arguments(lua_State *L, int n, int nresults) {
  lua_insert(L, 1);
  lua_callk(L, n, nresults, 0, finish_call);
  return finish_call(L, LUA_OK, 0);
}

/* ---- elements and members ------------------------------------------------ */

/* Where an access reads or writes. */
typedef struct Location {
  CType *type;        /* type of the element or member */
  char *address;
  const Field *field; /* the member; NULL for an element */
  uint8_t quals;      /* qualifiers of the aggregate */
} Location;

_Noreturn static void index_error(lua_State *L, const CType *t, const TValue *key) {
  char name[CTYPE_NAME_MAX];
  ctype_name(t, name);
  while (t->kind == CKIND_POINTER) t = t->element;
  if (is_string(key) && t->kind == CKIND_RECORD && !t->record->complete)
    luaL_error(L, "'%s' is incomplete", name);
  if (is_string(key)) luaL_error(L, "'%s' has no member named '%s'", name, as_string(key)->data);
  luaL_error(L, "'%s' cannot be indexed with a %s", name, type_name_of(L, key));
  __builtin_unreachable();
}

/* Reads the index of an element: an integer, a float with an integer value, or a numeric
   cdata. Returns false if the key is none of these. */
static bool element_number(const TValue *key, int64_t *i) {
  if (likely(is_int(key))) {
    *i = key->v.i;
    return true;
  }
  if (is_float(key)) return number_float_to_int(key->v.n, i, FLOAT_EXACT);
  CNumber number;
  if (cdata_of(key) == NULL || !convert_to_number(key, &number)) return false;
  *i = convert_number_to_int(&number);
  return true;
}

_Noreturn static COLD void null_error(lua_State *L, const CType *t) {
  char name[CTYPE_NAME_MAX];
  luaL_error(L, "attempt to index a NULL pointer of type '%s'", ctype_name(t, name));
  __builtin_unreachable();
}

static bool find_member(Location *location, CType *record, char *p, const TValue *key) {
  const Field *f = ctype_field(record, as_string(key));
  if (f == NULL) return false;
  location->field = f;
  location->type = f->type;
  location->address = p + f->offset;
  location->quals = record->quals;
  return true;
}

static bool find_element(lua_State *L, Location *location, CType *t, char *p, int64_t i) {
  CType *element = t->element;
  if (unlikely(element->size == SIZE_UNKNOWN) && (element->kind != CKIND_ARRAY || i != 0)) {
    char name[CTYPE_NAME_MAX];
    luaL_error(L, "'%s' cannot be indexed: the size of its elements is unknown",
               ctype_name(t, name));
  }
  location->field = NULL;
  location->type = element;
  location->address = i == 0 ? p : p + (size_t)i * element->size;
  location->quals = 0;
  return true;
}

/* Finds the location of an access. Returns false if the type has no member of that name
 * (a metamethod may have it). */
static bool find_location(lua_State *L, Location *location, const Cdata *cd, const TValue *key) {
  CType *t = cd->type;
  char *p = cd->address;
  int64_t i;
  if (unlikely(t->kind == CKIND_REFERENCE)) t = cdata_value(cd, &p);
  if (t->kind == CKIND_RECORD) return is_string(key) && find_member(location, t, p, key);
  if (t->kind == CKIND_ARRAY) return element_number(key, &i) && find_element(L, location, t, p, i);
  if (t->kind != CKIND_POINTER) return false;
  char *target;
  memcpy(&target, p, sizeof target);
  if (is_string(key)) {
    if (t->element->kind != CKIND_RECORD || ctype_field(t->element, as_string(key)) == NULL)
      return false;
    if (unlikely(target == NULL)) null_error(L, t);
    return find_member(location, t->element, target, key);
  }
  if (!element_number(key, &i)) return false;
  if (unlikely(target == NULL)) null_error(L, t);
  return find_element(L, location, t, target, i);
}

static bool callback_method(lua_State *L, const Cdata *cd, const TValue *key) {
  if (!is_function_pointer(cd->type) || !is_string(key)) return false;
  const char *name = as_string(key)->data;
  lua_CFunction f = strcmp(name, "free") == 0  ? callback_free
                    : strcmp(name, "set") == 0 ? callback_set
                                               : NULL;
  if (f == NULL) return false;
  lua_pushcfunction(L, f);
  return true;
}

/* Runs __index of the type's metatable, for a key that is no member of the type. */
static int index_by_metatable(lua_State *L, const Cdata *cd) {
  const TValue *key = argument(L, 2);
  if (callback_method(L, cd, key)) return 1;
  if (!cdata_push_metamethod(L, cd->type, "__index")) index_error(L, cd->type, key);
  if (is_function(L->top - 1)) return call_with_arguments(L, 2, 1);
  lua_pushvalue(L, 2);
  lua_gettable(L, -2);
  return 1;
}

static void check_cdata(lua_State *L, const Cdata *cd) {
  if (unlikely(cd == NULL)) luaL_typeerror(L, 1, "cdata");
}

static int cdata_index(lua_State *L) {
  const TValue *o = argument(L, 1), *key = argument(L, 2);
  const Cdata *cd = cdata_of(o);
  Location location;
  check_cdata(L, cd);
  if (unlikely(!find_location(L, &location, cd, key))) return index_by_metatable(L, cd);
  CType *t = location.type;
  const Field *f = location.field;
  if (likely(!is_aggregate(t))) {
    if (unlikely(f != NULL && (f->is_bits || f->is_const))) {
      if (f->is_const) convert_push(L, t, (void *)&f->value, NULL);
      else convert_push_bits(L, f, location.address);
    } else {
      convert_push(L, t, location.address, NULL);
    }
  } else {
    if (location.quals != 0) t = ctype_qualified(L, t, location.quals);
    convert_push(L, t, location.address, cdata_owner(o));
  }
  collect_point(L);
  return 1;
}

static int newindex_by_metatable(lua_State *L, const Cdata *cd) {
  const TValue *key = argument(L, 2);
  if (!cdata_push_metamethod(L, cd->type, "__newindex")) index_error(L, cd->type, key);
  if (is_function(L->top - 1)) return call_with_arguments(L, 3, 0);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  lua_settable(L, -3);
  return 0;
}

/* Replaces the location of a member that is a reference with that of its target. A
   location whose reference does not refer to anything yet stays: the access then sets the
   reference. */
static void follow_reference(Location *location) {
  char *target;
  memcpy(&target, location->address, sizeof target);
  if (target == NULL) return;
  location->address = target;
  location->type = location->type->element;
}

static int cdata_newindex(lua_State *L) {
  const TValue *o = argument(L, 1), *key = argument(L, 2), *value = argument(L, 3);
  const Cdata *cd = cdata_of(o);
  Location location;
  check_cdata(L, cd);
  if (unlikely(!find_location(L, &location, cd, key))) return newindex_by_metatable(L, cd);
  const Field *f = location.field;
  if (unlikely(location.type->kind == CKIND_REFERENCE)) follow_reference(&location);
  if (unlikely(((location.quals | location.type->quals) & QUAL_CONST) ||
               (f != NULL && f->is_const)))
    luaL_error(L, "attempt to write to constant location");
  if (unlikely(f != NULL && f->is_bits)) {
    convert_store_bits(L, f, location.address, value);
  } else {
    Blame blame = {f != NULL ? BLAME_OTHER : BLAME_NOTHING, 0, f != NULL ? f->name->data : NULL,
                   "member"};
    convert_store(L, location.type, location.address, value, CONVERT_IMPLICIT, &blame);
  }
  collect_point(L);
  return 0;
}

/* ---- the fast path ----------------------------------------------------------
 *
 * Numbers in arrays and structs are read and written by the interpreter without a call
 * of the metamethod (RuntimeHooks). Unusual cases are left to the metamethod. */

/* Finds the location of a scalar; returns false in unusual cases, or if there is no
 * scalar. */
static bool scalar_location(const Userdata *u, const TValue *key, const CType **type,
                            char **address, uint8_t *quals) {
  const Cdata *cd = userdata_payload((Userdata *)u);
  const CType *t = cd->type;
  char *p = cd->address;
  if (t->kind == CKIND_POINTER) {
    p = *(char **)p;
    if (unlikely(p == NULL)) return false;
    t = t->element;
    if (is_int(key)) {
      if (unlikely(t->size == SIZE_UNKNOWN)) return false;
      *type = t;
      *address = p + (size_t)key->v.i * t->size;
      *quals = t->quals;
      return true;
    }
  }
  if (t->kind == CKIND_RECORD) {
    if (!is_short_string(key)) return false;
    const Field *f = ctype_field(t, as_string(key));
    if (f == NULL || f->is_bits || f->is_const) return false;
    *type = f->type;
    *address = p + f->offset;
    *quals = t->quals | f->type->quals;
    return true;
  }
  if (t->kind != CKIND_ARRAY || !is_int(key) || t != cd->type) return false;
  *type = t->element;
  *address = p + (size_t)key->v.i * t->element->size;
  *quals = t->element->quals;
  return true;
}

static bool cdata_get_scalar(const Userdata *u, const TValue *key, TValue *result) {
  const CType *t;
  char *p;
  uint8_t quals;
  return scalar_location(u, key, &t, &p, &quals) && convert_get_scalar(t, p, result);
}

static bool cdata_set_scalar(const Userdata *u, const TValue *key, const TValue *value) {
  const CType *t;
  char *p;
  uint8_t quals;
  return scalar_location(u, key, &t, &p, &quals) && !(quals & QUAL_CONST) &&
         convert_set_scalar(t, p, value);
}

/* ---- calling ------------------------------------------------------------- */

int cdata_call_function(lua_State *L) {
  const Cdata *cd = cdata_of(argument(L, 1));
  check_cdata(L, cd);
  const CType *t = cd->type->kind == CKIND_REFERENCE ? cd->type->element : cd->type;
  if (likely(t->kind == CKIND_FUNCTION || is_function_pointer(t))) return ccall_cdata(L);
  if (cdata_push_metamethod(L, t, "__call"))
    return call_with_arguments(L, argument_count(L) - 1, LUA_MULTRET);
  char name[CTYPE_NAME_MAX];
  return luaL_error(L, "'%s' cannot be called", ctype_name(t, name));
}

const char *cdata_called_name(const Userdata *u, const void **symbol) {
  const Symbol *s = u->kind == USERDATA_CDATA ? ccall_symbol(u) : NULL;
  *symbol = s;
  return s != NULL ? s->name->data : NULL;
}

/* ---- new objects --------------------------------------------------------- */

static size_t object_size(lua_State *L, CType *t, int *first) {
  char name[CTYPE_NAME_MAX];
  if (t->flags & (CTYPE_VLA | CTYPE_VLS)) {
    lua_Integer n = luaL_checkinteger(L, (*first)++);
    size_t size = n < 0 ? SIZE_UNKNOWN : ctype_size_of(t, (size_t)n);
    if (size == SIZE_UNKNOWN) luaL_argerror(L, *first - 1, "size is out of range");
    return size;
  }
  if (t->size == SIZE_UNKNOWN) luaL_error(L, "the size of '%s' is unknown", ctype_name(t, name));
  return t->size;
}

static void adopt_finalizer(lua_State *L, CType *t) {
  Table *mt = t->plain->metatable;
  if (mt == NULL) return;
  const TValue *gc = table_get_str(mt, L->domain->meta_names[META_GC]);
  if (!is_nil(gc)) cdata_set_finalizer(L, t->ffi, L->top - 1, gc);
}

int cdata_new_object(lua_State *L, CType *t, int first) {
  if (t->kind == CKIND_REFERENCE) t = t->element;
  size_t size = object_size(L, t, &first);
  int n = lua_gettop(L) - first + 1;
  luaL_checkstack(L, 2, "new object");
  Cdata *cd = cdata_push(L, t, size);
  memset(cd->address, 0, size);
  initialize(L, t, cd->address, size, first, n > 0 ? n : 0);
  adopt_finalizer(L, t);
  collect_point(L);
  return 1;
}

/* ---- finalizers ---------------------------------------------------------- */

void cdata_set_finalizer(lua_State *L, Ffi *ffi, const TValue *cdata, const TValue *function) {
  table_set(L, ffi->finalizers, cdata, function);
  if (!is_nil(function)) gc_register_finalizer(L, cdata->v.gc);
}

/* Implements __gc. The finalizer, and the note of the memory that it frees, are removed
 * before the finalizer is called, because it may set another finalizer. */
static int cdata_gc(lua_State *L) {
  const Cdata *cd = cdata_of(argument(L, 1));
  check_cdata(L, cd);
  Ffi *ffi = cd->type->ffi;
  TValue none;
  set_nil(&none);
  const TValue *f = table_get(ffi->finalizers, argument(L, 1));
  if (is_nil(f)) return 0;
  value_copy(L->top, f);
  L->top++;
  cdata_set_finalizer(L, ffi, argument(L, 1), &none);
  gc_set_external(L, as_userdata(argument(L, 1)), 0);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 0);
  return 0;
}

/* ---- text ---------------------------------------------------------------- */

static bool number_text(const CType *t, const char *p, char *buffer, size_t size) {
  CNumber number;
  if (!convert_load_number(t, p, &number)) return false;
  bool is_long = t->size == 8 && is_integer_type(t);
  if (number.kind == NUMBER_UINT) snprintf(buffer, size, "%lluULL", (unsigned long long)number.v.u);
  else if (number.kind == NUMBER_INT)
    snprintf(buffer, size, "%lld%s", (long long)number.v.i, is_long ? "LL" : "");
  else if (number.kind == NUMBER_FLOAT) snprintf(buffer, size, "%.14g", number.v.n);
  else snprintf(buffer, size, "%.18Lg", number.ld);
  return true;
}

/* Implements __tostring: "cdata<int *>: 0x..."; a 64-bit integer gives its digits with LL
 * or ULL; another number has its value instead of the address. */
int cdata_tostring(lua_State *L) {
  const Cdata *cd = cdata_of(argument(L, 1));
  check_cdata(L, cd);
  char *p, value[64], name[CTYPE_NAME_MAX];
  CType *t = cdata_value(cd, &p);
  if (cdata_push_metamethod(L, cd->type, "__tostring")) return call_with_arguments(L, 1, 1);
  bool is_number = number_text(t, p, value, sizeof value);
  if (is_number && t->size == 8 && is_integer_type(t)) {
    lua_pushstring(L, value);
    return 1;
  }
  if (!is_number) {
    if (t->kind == CKIND_POINTER) memcpy(&p, p, sizeof(char *));
    snprintf(value, sizeof value, p == NULL ? "NULL" : "%p", (void *)p);
  }
  if (t->kind != CKIND_POINTER && cdata_push_metamethod(L, t, "__name") && is_string(L->top - 1)) {
    lua_pushfstring(L, "%s: %s", lua_tostring(L, -1), value);
    return 1;
  }
  bool reference = cd->type->kind != CKIND_REFERENCE && t->kind != CKIND_FUNCTION &&
                   cdata_is_reference(as_userdata(argument(L, 1)));
  lua_pushfstring(L, "cdata<%s>: %s",
                  ctype_name(reference ? ctype_reference(L, t) : cd->type, name), value);
  return 1;
}

/* ---- operators that only a metatype has ---------------------------------- */

static int by_metatype(lua_State *L, const char *event, const char *what, int n, int nresults) {
  char name[CTYPE_NAME_MAX];
  const Cdata *cd = cdata_of(argument(L, 1));
  if (cd == NULL) cd = cdata_of(argument(L, 2));
  check_cdata(L, cd);
  for (int i = 1; i <= 2; i++) {
    const Cdata *operand = cdata_of(argument(L, i));
    if (operand != NULL && cdata_push_metamethod(L, operand->type, event)) {
      return call_with_arguments(L, n, nresults);
    }
  }
  return luaL_error(L, "attempt to %s a cdata value of type '%s'", what,
                    ctype_name(cd->type, name));
}

static int cdata_len(lua_State *L) {
  lua_settop(L, 1);
  return by_metatype(L, "__len", "get the length of", 1, 1);
}

static int cdata_concat(lua_State *L) { return by_metatype(L, "__concat", "concatenate", 2, 1); }

static int cdata_pairs(lua_State *L) {
  lua_settop(L, 1);
  return by_metatype(L, "__pairs", "traverse", 1, 3);
}

static const luaL_Reg metamethods[] = {
    {"__index", cdata_index},   {"__newindex", cdata_newindex}, {"__call", cdata_call_function},
    {"__gc", cdata_gc},         {"__tostring", cdata_tostring}, {"__len", cdata_len},
    {"__concat", cdata_concat}, {"__pairs", cdata_pairs},       {NULL, NULL}};

/* Fills the metatable of all cdata. */
void cdata_open(lua_State *L, Ffi *ffi) {
  L->domain->hooks.cdata_get = cdata_get_scalar;
  L->domain->hooks.cdata_set = cdata_set_scalar;
  set_table(L->top, ffi->cdata_metatable);
  L->top++;
  luaL_setfuncs(L, metamethods, 0);
  luaL_setfuncs(L, arith_metamethods, 0);
  lua_pushliteral(L, "cdata");
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "ffi");
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}
