/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/lib_ffi.c: the guest module `saros.ffi` (doc/FFI.md; design: ffi_core.h).
 *
 * Where a function takes a type (`ct`), it may be a string with its C name, a ctype
 * object, or a cdata, which stands for its own type. */
#include "ffi_core.h"
#include "ffi_parser.h"
#include "lualib.h"

#include <string.h>

#define REGISTRY_KEY "saros.ffi"
#define PARSED_MOST 2000 /* the most texts of types that are cached */

Ffi *ffi_of_function(lua_State *L) { return lua_touserdata(L, FFI_UPVALUE); }

/* ---- types as arguments -------------------------------------------------- */

/* Returns the type of a text. Parses each text once, since its meaning does not
   change. */
static CType *parse_cached(lua_State *L, Ffi *ffi, String *text) {
  CType *t = ffi_lookup(ffi->parsed, text);
  if (t != NULL) return t;
  t = cparser_type(L, ffi, text->data, string_len(text), 1, 0);
  if (ffi->parsed_count++ >= PARSED_MOST) return t;
  ffi_define(L, ffi->parsed, text, t);
  return t;
}

static CType *check_type(lua_State *L, int arg) {
  Ffi *ffi = ffi_of_function(L);
  const TValue *o = argument(L, arg);
  CType *t = ctype_of(o);
  if (t != NULL) return t;
  if (is_string(o)) return parse_cached(L, ffi, as_string(o));
  const Cdata *cd = cdata_of(o);
  if (cd == NULL) luaL_typeerror(L, arg, "C type");
  return cd->type;
}

static CType *without_reference(CType *t) { return t->kind == CKIND_REFERENCE ? t->element : t; }

static Cdata *check_cdata(lua_State *L, int arg) {
  Cdata *cd = cdata_of(argument(L, arg));
  if (cd == NULL) luaL_typeerror(L, arg, "cdata");
  return cd;
}

/* ---- declarations -------------------------------------------------------- */

/* Implements ffi.cdef(text [, parameters for `$`...]). */
static int ffi_lib_cdef(lua_State *L) {
  size_t size;
  const char *text = luaL_checklstring(L, 1, &size);
  cparser_declarations(L, ffi_of_function(L), text, size, 2, lua_gettop(L));
  return 0;
}

/* Returns the type of a cdata as typeof shows it: a reference if it is a part of
   something else. */
static CType *shown_type(lua_State *L, const TValue *o) {
  const Cdata *cd = cdata_of(o);
  CType *t = cd->type;
  if (t->kind == CKIND_REFERENCE || t->kind == CKIND_FUNCTION ||
      !cdata_is_reference(as_userdata(o)))
    return t;
  return ctype_reference(L, t);
}

/* Implements ffi.typeof(ct [, parameters for `$`...]) -> ctype. */
static int type_of(lua_State *L) {
  const TValue *o = argument(L, 1);
  CType *t;
  if (is_string(o) && lua_gettop(L) > 1)
    t = cparser_type(L, ffi_of_function(L), as_string(o)->data, string_len(as_string(o)), 2,
                     lua_gettop(L));
  else t = cdata_of(o) != NULL ? shown_type(L, o) : check_type(L, 1);
  ctype_push(L, t);
  collect_point(L);
  return 1;
}

/* ---- objects ------------------------------------------------------------- */

/* Implements ffi.new(ct [, number of elements] [, initializers...]) -> cdata. */
static int new_object(lua_State *L) { return cdata_new_object(L, check_type(L, 1), 2); }

/* Implements ctype(...): the type's __new, or ffi.new if there is none. */
static int ctype_call(lua_State *L) {
  CType *t = ctype_of(argument(L, 1));
  if (t == NULL) return luaL_typeerror(L, 1, "ctype");
  if (t->plain->metatable == NULL || !cdata_push_metamethod(L, t, "__new"))
    return cdata_new_object(L, t, 2);
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* Implements ffi.cast(ct, value) -> cdata of a scalar type. */
static int ffi_lib_cast(lua_State *L) {
  CType *t = without_reference(check_type(L, 1));
  luaL_checkany(L, 2);
  if (is_aggregate(t) || t->access == ACCESS_NONE) {
    char name[CTYPE_NAME_MAX];
    return luaL_argerror(L, 1, lua_pushfstring(L, "cannot cast to '%s'", ctype_name(t, name)));
  }
  const TValue *o = argument(L, 2);
  uint64_t value[2] = {0, 0};
  Blame blame = {BLAME_NOTHING, 0, NULL, NULL};
  convert_store(L, t, value, o, CONVERT_CAST, &blame);
  t = t->plain;
  if (t->kind == CKIND_POINTER)
    cdata_push_pointer(L, t, (void *)(uintptr_t)value[0], cdata_owner(o));
  else memcpy(cdata_push(L, t, t->size)->address, value, t->size);
  collect_point(L);
  return 1;
}

/* Implements ffi.addressof(cdata) -> pointer to its value, which keeps it alive. */
static int address_of(lua_State *L) {
  Cdata *cd = check_cdata(L, 1);
  char *p;
  CType *t = cdata_value(cd, &p);
  const TValue *owner = cdata_owner(argument(L, 1));
  if (owner == NULL && t->kind == CKIND_POINTER && p == cdata_inline(cd)) owner = argument(L, 1);
  cdata_push_pointer(L, ctype_pointer(L, t), p, owner);
  collect_point(L);
  return 1;
}

/* ---- about types --------------------------------------------------------- */

/* Implements ffi.sizeof(ct [, number of elements]) -> bytes, or nil if that is
   unknown. */
static int size_of(lua_State *L) {
  const TValue *o = argument(L, 1);
  size_t size;
  if (cdata_of(o) != NULL) {
    size = cdata_size(as_userdata(o));
  } else {
    CType *t = without_reference(check_type(L, 1));
    bool variable = t->flags & (CTYPE_VLA | CTYPE_VLS) && !lua_isnoneornil(L, 2);
    lua_Integer n = variable ? luaL_checkinteger(L, 2) : 0;
    size = variable ? (n < 0 ? SIZE_UNKNOWN : ctype_size_of(t, (size_t)n)) : t->size;
  }
  if (size == SIZE_UNKNOWN) lua_pushnil(L);
  else lua_pushinteger(L, (lua_Integer)size);
  return 1;
}

/* Implements ffi.alignof(ct) -> bytes. */
static int align_of(lua_State *L) {
  lua_pushinteger(L, without_reference(check_type(L, 1))->align);
  return 1;
}

/* Implements ffi.offsetof(ct, member) -> bytes [, bit, width], or nil if there is no such
   member. */
static int offset_of(lua_State *L) {
  CType *t = without_reference(check_type(L, 1));
  luaL_checktype(L, 2, LUA_TSTRING);
  const Field *f = t->kind == CKIND_RECORD ? ctype_field(t, as_string(argument(L, 2))) : NULL;
  if (f == NULL || f->is_const) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, (lua_Integer)f->offset);
  if (!f->is_bits) return 1;
  lua_pushinteger(L, f->shift);
  lua_pushinteger(L, f->bits);
  return 3;
}

/* Implements ffi.istype(ct, value) -> boolean. Qualifiers and references do not matter; a
 * pointer to a struct passes for the struct. */
static int is_type(lua_State *L) {
  CType *t = without_reference(check_type(L, 1));
  const TValue *o = argument(L, 2);
  const Cdata *cd = cdata_of(o);
  CType *other = cd != NULL ? cd->type : ctype_of(o);
  bool same = false;
  if (other != NULL) {
    other = without_reference(other);
    same = convert_same_type(t, other);
    if (!same && t->kind == CKIND_RECORD && other->kind == CKIND_POINTER)
      same = other->element->plain == t->plain;
  }
  lua_pushboolean(L, same);
  return 1;
}

/* Gives a type a copy of the metatable of all cdata, with a __close. */
static void own_metatable(lua_State *L, CType *t, const TValue *close) {
  Ffi *ffi = t->ffi;
  Table *copy = table_new(L, 0, 32);
  TValue entry[2];
  set_table(&entry[0], copy);
  ffi_keep(L, ffi, &entry[0]);
  set_nil(&entry[0]);
  while (table_next(L, ffi->cdata_metatable, entry)) table_set(L, copy, &entry[0], &entry[1]);
  table_set_str(L, copy, L->domain->meta_names[META_CLOSE], close);
  t->plain->cdata_metatable = copy;
}

/* Implements ffi.metatype(ct, metatable) -> ctype, once for each struct or union. */
static int ffi_lib_metatype(lua_State *L) {
  CType *t = without_reference(check_type(L, 1));
  char name[CTYPE_NAME_MAX];
  luaL_checktype(L, 2, LUA_TTABLE);
  if (t->kind != CKIND_RECORD) luaL_argerror(L, 1, "struct or union expected");
  if (t->plain->metatable != NULL)
    luaL_error(L, "'%s' has a metatable already", ctype_name(t, name));
  Table *mt = as_table(argument(L, 2));
  ffi_keep(L, t->ffi, argument(L, 2));
  t->plain->metatable = mt;
  const TValue *close = table_get_str(mt, L->domain->meta_names[META_CLOSE]);
  if (!is_nil(close)) own_metatable(L, t, close);
  ctype_push(L, t);
  collect_point(L);
  return 1;
}

/* ---- memory -------------------------------------------------------------- */

static size_t check_size(lua_State *L, int arg) {
  lua_Integer n;
  CNumber number;
  const TValue *o = argument(L, arg);
  if (cdata_of(o) != NULL && convert_to_number(o, &number)) n = convert_number_to_int(&number);
  else n = luaL_checkinteger(L, arg);
  if (n < 0) luaL_argerror(L, arg, "size is negative");
  return (size_t)n;
}

/* Implements ffi.gc(cdata, function or nil [, bytes that the function frees]) -> cdata.
 * The finalizer is set first, so that it is not lost if there is no memory to note the
 * bytes. */
static int set_gc(lua_State *L) {
  check_cdata(L, 1);
  luaL_checkany(L, 2);
  size_t bytes = lua_isnoneornil(L, 2) || lua_isnoneornil(L, 3) ? 0 : check_size(L, 3);
  lua_settop(L, 2);
  cdata_set_finalizer(L, ffi_of_function(L), argument(L, 1), L->ci->func + 2);
  lua_settop(L, 1);
  gc_set_external(L, as_userdata(argument(L, 1)), bytes);
  collect_point(L);
  return 1;
}

/* Returns the number of bytes up to the zero, within an array if its size is known. */
static size_t text_length(const TValue *o, const char *p) {
  const Cdata *cd = cdata_of(o);
  if (cd == NULL) return strlen(p);
  char *address;
  const CType *t = cdata_value(cd, &address);
  size_t size = t->kind == CKIND_ARRAY && t->count != COUNT_UNKNOWN ? t->size
                : t->kind == CKIND_ARRAY && !cdata_is_reference(as_userdata(o))
                    ? cdata_size(as_userdata(o))
                    : SIZE_UNKNOWN;
  return size == SIZE_UNKNOWN ? strlen(p) : strnlen(p, size);
}

static void check_text(lua_State *L, const TValue *o) {
  const Cdata *cd = cdata_of(o);
  if (cd == NULL) return;
  char *p, name[CTYPE_NAME_MAX];
  const CType *t = cdata_value(cd, &p);
  const CType *element = t->kind == CKIND_POINTER || t->kind == CKIND_ARRAY ? t->element : NULL;
  if (element == NULL || !(element->kind == CKIND_VOID || element->flags & CTYPE_BYTE))
    luaL_argerror(L, 1,
                  lua_pushfstring(L, "'%s' is no text: give its length", ctype_name(t, name)));
}

/* Implements ffi.string(pointer [, length]) -> string; without a length, up to the first
   zero byte. */
static int to_string(lua_State *L) {
  if (lua_isnoneornil(L, 2)) {
    check_text(L, argument(L, 1));
    const char *p = convert_address(L, 1, false);
    lua_pushlstring(L, p, text_length(argument(L, 1), p));
  } else {
    size_t size = check_size(L, 2);
    const char *p = convert_address(L, 1, false);
    lua_pushlstring(L, p, size);
  }
  return 1;
}

static size_t copy_size(lua_State *L) {
  const TValue *from = argument(L, 2);
  if (lua_isnoneornil(L, 3) && is_string(from)) return string_len(as_string(from)) + 1;
  size_t size = check_size(L, 3);
  if (is_string(from) && size > string_len(as_string(from)) + 1)
    luaL_argerror(L, 3, "longer than the string");
  return size;
}

/* Implements ffi.copy(to, from, size), and ffi.copy(to, string), which copies its zero
   byte, too. */
static int ffi_lib_copy(lua_State *L) {
  char *to = convert_address(L, 1, true);
  const char *from = convert_address(L, 2, false);
  memmove(to, from, copy_size(L));
  return 0;
}

/* Implements ffi.fill(to, size [, byte]). */
static int ffi_lib_fill(lua_State *L) {
  char *to = convert_address(L, 1, true);
  memset(to, (int)luaL_optinteger(L, 3, 0), check_size(L, 2));
  return 0;
}

/* Implements ffi.errno([new]) -> errno as the last C call left it. */
static int get_errno(lua_State *L) {
  Ffi *ffi = ffi_of_function(L);
  int old = ffi->saved_errno;
  if (!lua_isnoneornil(L, 1)) ffi->saved_errno = (int)luaL_checkinteger(L, 1);
  lua_pushinteger(L, old);
  return 1;
}

/* ---- values -------------------------------------------------------------- */

/* Implements ffi.tonumber(value) -> number (a large uint64_t or a long double as a
   float), or nil. */
static int to_number(lua_State *L) {
  const TValue *o = argument(L, 1);
  CNumber number;
  luaL_checkany(L, 1);
  if (cdata_of(o) == NULL) {
    if (is_number(o)) {
      lua_pushvalue(L, 1);
    } else if (!is_string(o) ||
               lua_stringtonumber(L, as_string(o)->data) != string_len(as_string(o)) + 1) {
      lua_settop(L, 1);
      lua_pushnil(L);
    }
    return 1;
  }
  if (!convert_to_number(o, &number)) lua_pushnil(L);
  else if (number.kind == NUMBER_INT || (number.kind == NUMBER_UINT && number.v.i >= 0))
    lua_pushinteger(L, number.v.i);
  else lua_pushnumber(L, convert_number_to_float(&number));
  return 1;
}

/* Implements ffi.toretval(cdata) -> its value, as a call of a C function would return
   it. */
static int to_return_value(lua_State *L) {
  Cdata *cd = check_cdata(L, 1);
  char *p;
  CType *t = cdata_value(cd, &p);
  if (is_numeric_type(t)) convert_push(L, t, p, NULL);
  else lua_pushvalue(L, 1);
  return 1;
}

/* Implements ffi.eval(text) -> cdata: the value of a constant expression with its C
   type. */
static int ffi_lib_eval(lua_State *L) {
  size_t size;
  CType *t;
  const char *text = luaL_checklstring(L, 1, &size);
  int64_t value = cparser_constant(L, ffi_of_function(L), text, size, &t);
  memcpy(cdata_push(L, t, t->size)->address, &value, t->size);
  collect_point(L);
  return 1;
}

/* Implements ffi.type(value): like `type`, but "cdata" for cdata and ctypes. */
static int type_name_function(lua_State *L) {
  luaL_checkany(L, 1);
  const TValue *o = argument(L, 1);
  if (cdata_of(o) != NULL || ctype_of(o) != NULL) lua_pushliteral(L, "cdata");
  else lua_pushstring(L, luaL_typename(L, 1));
  return 1;
}

/* Implements ffi.abi(what) -> boolean. */
static int ffi_lib_abi(lua_State *L) {
  static const char *const holds[] = {"64bit", "le", "fpu", "hardfp", "unionval", NULL};
  const char *what = luaL_checkstring(L, 1);
  bool found = false;
  for (int i = 0; holds[i] != NULL; i++)
    if (strcmp(what, holds[i]) == 0) found = true;
  lua_pushboolean(L, found);
  return 1;
}

/* ---- ctype objects ------------------------------------------------------- */

static int ctype_tostring(lua_State *L) {
  CType *t = ctype_of(argument(L, 1));
  char name[CTYPE_NAME_MAX];
  if (t == NULL) return luaL_typeerror(L, 1, "ctype");
  if (t->kind == CKIND_RECORD && cdata_push_metamethod(L, t, "__name") && is_string(L->top - 1))
    return 1;
  lua_pushfstring(L, "ctype<%s>", ctype_name(t, name));
  return 1;
}

/* Implements __index of a ctype: constants of the struct, then the fields of the
   metatype's __index. */
static int ctype_index(lua_State *L) {
  CType *t = ctype_of(argument(L, 1));
  if (t == NULL) return luaL_typeerror(L, 1, "ctype");
  const TValue *key = argument(L, 2);
  char name[CTYPE_NAME_MAX];
  if (t->kind == CKIND_RECORD && is_string(key)) {
    const Field *f = ctype_field(t, as_string(key));
    if (f != NULL && f->is_const) {
      convert_push(L, f->type, (void *)&f->value, NULL);
      collect_point(L);
      return 1;
    }
  }
  if (!cdata_push_metamethod(L, t, "__index"))
    return luaL_error(L, "ctype '%s' has no '%s'", ctype_name(t, name), luaL_tolstring(L, 2, NULL));
  if (lua_isfunction(L, -1)) {
    lua_insert(L, 1);
    lua_call(L, 2, 1);
  } else {
    lua_pushvalue(L, 2);
    lua_gettable(L, -2);
  }
  return 1;
}

static const luaL_Reg ctype_metamethods[] = {
  {"__call", ctype_call}, {"__tostring", ctype_tostring}, {"__index", ctype_index}, {NULL, NULL}};

static void open_ctypes(lua_State *L, Ffi *ffi) {
  set_table(L->top, ffi->ctype_metatable);
  L->top++;
  luaL_setfuncs(L, ctype_metamethods, 0);
  lua_pushliteral(L, "ctype");
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "ffi");
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}

/* ---- opening ------------------------------------------------------------- */

static void close_ffi(void *ffi) { callback_close(ffi); }

static Table *kept_table(lua_State *L, Ffi *ffi) {
  TValue t;
  set_table(&t, table_new(L, 0, 0));
  ffi_keep(L, ffi, &t);
  return as_table(&t);
}

static void make_weak_keys(lua_State *L, Table *t) {
  set_table(L->top, t);
  L->top++;
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

/* Makes the domain's Ffi: a userdata in the registry, whose user value is Ffi.kept. The
 * Ffi is closed after the last finalizer has run, because finalizers may call callbacks.
 * Nothing refers to the Ffi before it is complete, because an allocation may fail at any
 * point. */
static Ffi *make_ffi(lua_State *L) {
  Ffi *ffi = lua_newuserdatauv(L, sizeof *ffi, 1);
  memset(ffi, 0, sizeof *ffi);
  lua_newtable(L);
  ffi->kept = as_table(L->top - 1);
  lua_setiuservalue(L, -2, 1);
  ffi->domain = L->domain;
  Table **tables[] = {&ffi->names,           &ffi->tags,           &ffi->parsed,    &ffi->objects,
                      &ffi->finalizers,      &ffi->callbacks,      &ffi->functions, &ffi->shared,
                      &ffi->cdata_metatable, &ffi->ctype_metatable};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) *tables[i] = kept_table(L, ffi);
  make_weak_keys(L, ffi->finalizers);
  ctype_open(L, ffi);
  cparser_open(L, ffi);
  cdata_open(L, ffi);
  open_ctypes(L, ffi);
  lua_setfield(L, LUA_REGISTRYINDEX, REGISTRY_KEY);
  L->domain->hooks.close_ffi = close_ffi;
  L->domain->hooks.ffi_call = cdata_call_function;
  L->domain->hooks.ffi_name = cdata_called_name;
  L->domain->hooks.ffi = ffi;
  return ffi;
}

#if defined __x86_64__
#define ARCHITECTURE "x64"
#elif defined __aarch64__
#define ARCHITECTURE "arm64"
#else
#define ARCHITECTURE "unknown"
#endif

static const luaL_Reg functions[] = {{"cdef", ffi_lib_cdef},
                                     {"load", clibrary_load},
                                     {"new", new_object},
                                     {"cast", ffi_lib_cast},
                                     {"typeof", type_of},
                                     {"sizeof", size_of},
                                     {"alignof", align_of},
                                     {"offsetof", offset_of},
                                     {"istype", is_type},
                                     {"metatype", ffi_lib_metatype},
                                     {"gc", set_gc},
                                     {"addressof", address_of},
                                     {"string", to_string},
                                     {"copy", ffi_lib_copy},
                                     {"fill", ffi_lib_fill},
                                     {"errno", get_errno},
                                     {"tonumber", to_number},
                                     {"toretval", to_return_value},
                                     {"eval", ffi_lib_eval},
                                     {"type", type_name_function},
                                     {"abi", ffi_lib_abi},
                                     {NULL, NULL}};

int luaopen_ffi(lua_State *L) {
  Ffi *ffi = lua_getfield(L, LUA_REGISTRYINDEX, REGISTRY_KEY) == LUA_TUSERDATA
                 ? lua_touserdata(L, -1)
                 : make_ffi(L);
  lua_settop(L, 0);
  luaL_newlibtable(L, functions);
  lua_pushlightuserdata(L, ffi);
  luaL_setfuncs(L, functions, 1);
  clibrary_open(L, ffi);
  lua_setfield(L, -2, "C");
  cdata_push_pointer(L, ctype_pointer(L, ffi->basic[BASIC_VOID]), NULL, NULL);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "nullptr");
  lua_setfield(L, -2, "NULL");
  lua_pushliteral(L, "Linux");
  lua_setfield(L, -2, "os");
  lua_pushliteral(L, ARCHITECTURE);
  lua_setfield(L, -2, "arch");
  return 1;
}
