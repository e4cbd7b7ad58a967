/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_convert.c: one value between Lua and C memory. The rules are in the
 * section "Conversions" of doc/FFI.md. Memory may be unaligned (packed structs), so it is
 * always reached with memcpy. */
#include "call.h"
#include "ffi_core.h"
#include "meta.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LOAD(type) ({ type loaded_; memcpy(&loaded_, p, sizeof loaded_); loaded_; })
#define STORE(type, value) \
  do { \
    type stored_ = (type)(value); \
    memcpy(p, &stored_, sizeof stored_); \
  } while (0)

/* ---- numbers ------------------------------------------------------------- */

static CNumber int_number(int64_t i) { return (CNumber){.kind = NUMBER_INT, .v.i = i}; }

bool convert_load_number(const CType *t, const void *p, CNumber *number) {
  switch (t->access) {
    case ACCESS_BOOL: *number = int_number(LOAD(uint8_t) != 0); return true;
    case ACCESS_I8: *number = int_number(LOAD(int8_t)); return true;
    case ACCESS_U8: *number = int_number(LOAD(uint8_t)); return true;
    case ACCESS_I16: *number = int_number(LOAD(int16_t)); return true;
    case ACCESS_U16: *number = int_number(LOAD(uint16_t)); return true;
    case ACCESS_I32: *number = int_number(LOAD(int32_t)); return true;
    case ACCESS_U32: *number = int_number(LOAD(uint32_t)); return true;
    case ACCESS_I64: *number = int_number(LOAD(int64_t)); return true;
    case ACCESS_U64: *number = (CNumber){.kind = NUMBER_UINT, .v.u = LOAD(uint64_t)}; return true;
    case ACCESS_F32: *number = (CNumber){.kind = NUMBER_FLOAT, .v.n = LOAD(float)}; return true;
    case ACCESS_F64: *number = (CNumber){.kind = NUMBER_FLOAT, .v.n = LOAD(double)}; return true;
    case ACCESS_LONG_DOUBLE:
      *number = (CNumber){.kind = NUMBER_LONG_DOUBLE, .ld = LOAD(long double)};
      return true;
    default: return false;
  }
}

bool convert_to_number(const TValue *o, CNumber *number) {
  switch (o->tag) {
    case TAG_INT: *number = int_number(o->v.i); return true;
    case TAG_FLOAT: *number = (CNumber){.kind = NUMBER_FLOAT, .v.n = o->v.n}; return true;
    case TAG_TRUE: case TAG_FALSE: *number = int_number(o->tag == TAG_TRUE); return true;
    default: break;
  }
  const Cdata *cd = cdata_of(o);
  if (cd == NULL) return false;
  char *p;
  const CType *t = cdata_value(cd, &p);
  return convert_load_number(t, p, number);
}

int64_t convert_number_to_int(const CNumber *number) {
  long double n;
  switch (number->kind) {
    case NUMBER_INT: return number->v.i;
    case NUMBER_UINT: return (int64_t)number->v.u;
    case NUMBER_FLOAT: n = number->v.n; break;
    default: n = number->ld;
  }
  if (n > -0x1p63L - 1 && n < 0x1p63L) return (int64_t)n;
  return n >= 0x1p63L && n < 0x1p64L ? (int64_t)(uint64_t)n : 0;
}

double convert_number_to_float(const CNumber *number) {
  switch (number->kind) {
    case NUMBER_INT: return (double)number->v.i;
    case NUMBER_UINT: return (double)number->v.u;
    case NUMBER_FLOAT: return number->v.n;
    default: return (double)number->ld;
  }
}

static long double to_long_double(const CNumber *number) {
  switch (number->kind) {
    case NUMBER_INT: return number->v.i;
    case NUMBER_UINT: return number->v.u;
    case NUMBER_FLOAT: return number->v.n;
    default: return number->ld;
  }
}

/* Tells whether a number fits 64 bits when truncated. */
static bool has_integer(const CNumber *number) {
  if (number->kind <= NUMBER_UINT) return true;
  long double n = to_long_double(number);
  return n > -0x1p63L - 1 && n < 0x1p64L;
}

static bool is_nonzero(const CNumber *number) {
  return number->kind <= NUMBER_UINT ? number->v.i != 0 : to_long_double(number) != 0;
}

#ifdef __x86_64__
#define LONG_DOUBLE_BYTES 10 /* bytes with a value; the rest is padding */
#else
#define LONG_DOUBLE_BYTES sizeof(long double)
#endif

static void store_long_double(void *p, long double value) {
  memset(p, 0, sizeof value);
  memcpy(p, &value, LONG_DOUBLE_BYTES);
}

const char *convert_store_number(const CType *t, void *p, const CNumber *number) {
  if (t->access == ACCESS_BOOL) {
    STORE(uint8_t, is_nonzero(number));
    return NULL;
  }
  if (access_is_integer(t->access) && !has_integer(number))
    return "number has no integer representation";
  switch (t->access) {
    case ACCESS_I8: case ACCESS_U8: STORE(uint8_t, convert_number_to_int(number)); return NULL;
    case ACCESS_I16: case ACCESS_U16: STORE(uint16_t, convert_number_to_int(number)); return NULL;
    case ACCESS_I32: case ACCESS_U32: STORE(uint32_t, convert_number_to_int(number)); return NULL;
    case ACCESS_I64: case ACCESS_U64: STORE(uint64_t, convert_number_to_int(number)); return NULL;
    case ACCESS_F32:
      STORE(float, number->kind == NUMBER_LONG_DOUBLE ? (float)number->ld
                                                      : (float)convert_number_to_float(number));
      return NULL;
    case ACCESS_F64: STORE(double, convert_number_to_float(number)); return NULL;
    case ACCESS_LONG_DOUBLE:
      store_long_double(p, to_long_double(number));
      return NULL;
    default: return "not a number";
  }
}

/* ---- C to Lua ------------------------------------------------------------ */

static void push_scalar_cdata(lua_State *L, CType *t, const void *p) {
  memcpy(cdata_push(L, t, t->size)->address, p, t->size);
}

static void push_long_double(lua_State *L, CType *t, const void *p) {
  long double ld = LOAD(long double);
  double n = (double)ld;
  if ((long double)n != ld && ld == ld) {
    push_scalar_cdata(L, t->plain, p);
  } else {
    set_float(L->top, n);
    L->top++;
  }
}

bool convert_get_scalar(const CType *t, const void *p, TValue *result) {
  switch (t->access) {
    case ACCESS_BOOL: set_bool(result, LOAD(uint8_t) != 0); return true;
    case ACCESS_I8: set_int(result, LOAD(int8_t)); return true;
    case ACCESS_U8: set_int(result, LOAD(uint8_t)); return true;
    case ACCESS_I16: set_int(result, LOAD(int16_t)); return true;
    case ACCESS_U16: set_int(result, LOAD(uint16_t)); return true;
    case ACCESS_I32: set_int(result, LOAD(int32_t)); return true;
    case ACCESS_U32: set_int(result, LOAD(uint32_t)); return true;
    case ACCESS_I64: set_int(result, LOAD(int64_t)); return true;
    case ACCESS_F32: set_float(result, LOAD(float)); return true;
    case ACCESS_F64: set_float(result, LOAD(double)); return true;
    case ACCESS_U64: {
      uint64_t u = LOAD(uint64_t);
      /* the result may share the slot of an operand */
      if (u > (uint64_t)INT64_MAX) return false;
      set_int(result, (int64_t)u);
      return true;
    }
    default: return false;
  }
}

bool convert_set_scalar(const CType *t, void *p, const TValue *value) {
  if (likely(is_int(value))) {
    switch (t->access) {
      case ACCESS_I8: case ACCESS_U8: STORE(uint8_t, value->v.i); return true;
      case ACCESS_I16: case ACCESS_U16: STORE(uint16_t, value->v.i); return true;
      case ACCESS_I32: case ACCESS_U32: STORE(uint32_t, value->v.i); return true;
      case ACCESS_I64: case ACCESS_U64: STORE(uint64_t, value->v.i); return true;
      case ACCESS_F32: STORE(float, value->v.i); return true;
      case ACCESS_F64: STORE(double, value->v.i); return true;
      default: return false;
    }
  }
  if (!is_float(value)) return false;
  if (t->access == ACCESS_F64) STORE(double, value->v.n);
  else if (t->access == ACCESS_F32) STORE(float, value->v.n);
  else return false;
  return true;
}

_Noreturn static COLD void null_reference(lua_State *L, const CType *t) {
  char name[CTYPE_NAME_MAX];
  luaL_error(L, "attempt to use a NULL reference of type '%s'", ctype_name(t, name));
  __builtin_unreachable();
}

void convert_push(lua_State *L, CType *t, void *p, const TValue *owner) {
  if (likely(convert_get_scalar(t, p, L->top))) {
    L->top++;
    return;
  }
  switch (t->access) {
    case ACCESS_U64: push_scalar_cdata(L, t->plain, p); return;
    case ACCESS_LONG_DOUBLE: push_long_double(L, t, p); return;
    case ACCESS_POINTER: cdata_push_pointer(L, t->plain, LOAD(void *), NULL); return;
    case ACCESS_REFERENCE:
      if (LOAD(void *) == NULL) null_reference(L, t);
      convert_push(L, t->element, LOAD(void *), NULL);
      return;
    case ACCESS_AGGREGATE: cdata_push_reference(L, t, p, owner); return;
    default: /* void, function */
      if (t->kind == CKIND_FUNCTION) ccall_push_function(L, NULL, t, p);
  }
}

/* Loads the unit of a bit-field into the low end of a machine word, which is
 * little-endian. A packed bit-field may begin within a byte and extend into a ninth byte;
 * then the bits in the first 8 bytes are its lowest. */
static uint64_t load_unit(const Field *f, const char *p) {
  uint64_t unit = 0;
  memcpy(&unit, p, f->unit > 8 ? 8 : f->unit);
  return unit;
}

static uint64_t load_bits(const Field *f, const char *p) {
  uint64_t bits = load_unit(f, p) >> f->shift;
  return f->unit > 8 ? bits | (uint64_t)(unsigned char)p[8] << (64 - f->shift) : bits;
}

static void store_ninth_byte(const Field *f, char *p, uint64_t value, uint64_t mask) {
  unsigned char bits = (unsigned char)(mask >> (64 - f->shift));
  p[8] = (char)((p[8] & ~bits) | ((unsigned char)(value >> (64 - f->shift)) & bits));
}

static uint64_t bit_mask(const Field *f) {
  return f->bits >= 64 ? UINT64_MAX : ((uint64_t)1 << f->bits) - 1;
}

void convert_push_bits(lua_State *L, const Field *f, const char *p) {
  uint64_t value = load_bits(f, p) & bit_mask(f);
  bool is_signed = !(f->type->flags & CTYPE_UNSIGNED);
  if (is_signed && f->bits < 64 && value >> (f->bits - 1) != 0) value |= ~bit_mask(f);
  if (f->type->kind == CKIND_BOOL) {
    set_bool(L->top, value != 0);
    L->top++;
  } else if (is_signed) {
    set_int(L->top, (int64_t)value);
    L->top++;
  } else {
    convert_push(L, f->type->ffi->basic[BASIC_ULONG], &value, NULL);
  }
}

/* ---- errors -------------------------------------------------------------- */

static const char *value_name(const TValue *o, char *buffer) {
  const Cdata *cd = cdata_of(o);
  if (cd != NULL) return ctype_name(cd->type, buffer);
  if (ctype_of(o) != NULL) return "ctype";
  return type_name(tag_type(o->tag));
}

void convert_error(lua_State *L, const TValue *o, const CType *t, const char *reason,
                   const Blame *blame) {
  char from[CTYPE_NAME_MAX], to[CTYPE_NAME_MAX], message[2 * CTYPE_NAME_MAX + 100];
  int n = snprintf(message, sizeof message, "cannot convert '%s' to '%s'", value_name(o, from),
                   ctype_name(t, to));
  if (reason != NULL) snprintf(message + n, sizeof message - (size_t)n, ": %s", reason);
  const char *name = blame != NULL ? blame->name : NULL;
  const char *open = name != NULL ? " '" : "", *close = name != NULL ? "'" : "";
  if (name == NULL) name = "";
  if (blame != NULL && blame->kind == BLAME_ARGUMENT)
    luaL_error(L, "bad argument #%d%s%s%s to '%s' (%s)", blame->number, open, name, close,
               blame->owner != NULL ? blame->owner : "?", message);
  if (blame != NULL && blame->kind == BLAME_OTHER)
    luaL_error(L, "%s%s%s%s: %s", blame->owner, open, name, close, message);
  luaL_error(L, "%s", message);
  __builtin_unreachable();
}

/* ---- pointers ------------------------------------------------------------ */

static bool same_number_form(const CType *a, const CType *b) {
  bool float_a = a->kind == CKIND_FLOAT, float_b = b->kind == CKIND_FLOAT;
  return a->size == b->size && float_a == float_b &&
         (a->kind == CKIND_BOOL) == (b->kind == CKIND_BOOL);
}

/* Tells whether a `from` may be read as a `to`, behind a pointer. Integers of one size
 * are alike, signed or not; qualifiers may be added, not dropped. */
static bool types_compatible(const CType *from, const CType *to, unsigned depth) {
  if ((from->quals & ~to->quals) != 0 && to->kind != CKIND_FUNCTION) return false;
  if (from->plain == to->plain) return true;
  if (depth == 0 && (from->kind == CKIND_VOID || to->kind == CKIND_VOID)) {
    if (from->kind == CKIND_ARRAY && (from->element->quals & ~to->quals) != 0) return false;
    return true;
  }
  if (is_numeric_type(from) && is_numeric_type(to)) return same_number_form(from, to);
  if (from->kind != to->kind) return false;
  switch (from->kind) {
    case CKIND_POINTER: return depth < 8 && types_compatible(from->element, to->element, depth + 1);
    case CKIND_ARRAY:
      return (from->count == to->count || to->count == COUNT_UNKNOWN) && depth < 8 &&
             types_compatible(from->element, to->element, depth + 1);
    /* C compilers only warn about a conversion between pointers to functions */
    case CKIND_FUNCTION: return true;
    default: return false;
  }
}

bool convert_same_type(const CType *a, const CType *b) {
  for (;; a = a->element, b = b->element) {
    if (a->plain == b->plain) return true;
    if (a->kind != b->kind || (a->kind != CKIND_POINTER && a->kind != CKIND_ARRAY)) return false;
    if (a->kind == CKIND_ARRAY && (a->count != b->count || a->flags != b->flags)) return false;
  }
}

bool convert_pointers_compatible(const CType *from, const CType *to) {
  return types_compatible(from, to, 0);
}

static bool accepts_string(const CType *to) {
  return (to->quals & QUAL_CONST) && (to->kind == CKIND_VOID || to->flags & CTYPE_BYTE);
}

static bool is_file(lua_State *L, const Userdata *u) {
  const TValue *files =
      table_get_str(as_table(&L->domain->registry), string_from_c(L, LUA_FILEHANDLE));
  return is_table(files) && u->metatable == as_table(files);
}

/* Sets *result to the pointer that userdata is passed as: a file of the io library is
 * passed as its FILE, other userdata as its own bytes. A closed file is refused, because
 * its FILE is gone. */
static bool userdata_pointer(lua_State *L, Userdata *u, const CType *to, bool cast, void **result) {
  if (u->kind != USERDATA_PLAIN) return false;
  *result = userdata_payload(u);
  if (!is_file(L, u)) return cast || to->kind == CKIND_VOID;
  const luaL_Stream *stream = *result;
  if (stream->closef == NULL) luaL_error(L, "attempt to use a closed file");
  *result = stream->f;
  return cast || to->kind == CKIND_VOID || to->kind == CKIND_RECORD;
}

/* Sets *result to the pointer that a cdata stands for where a pointer to `to` is
   wanted. */
static bool cdata_pointer(const Cdata *cd, const CType *to, bool cast, void **result) {
  char *p;
  const CType *t = cdata_value(cd, &p);
  switch (t->kind) {
    case CKIND_POINTER:
      if (!cast && !types_compatible(t->element, to, 0)) return false;
      *result = LOAD(void *);
      return true;
    case CKIND_ARRAY:
      if (!cast && !types_compatible(t->element, to, 0) && !types_compatible(t, to, 0))
        return false;
      *result = p;
      return true;
    case CKIND_RECORD: case CKIND_FUNCTION:
      if (!cast && !types_compatible(t, to, 0)) return false;
      *result = p;
      return true;
    case CKIND_INT: case CKIND_ENUM: case CKIND_BOOL: {
      CNumber number;
      if (!cast || !convert_load_number(t, p, &number)) return false;
      *result = (void *)(uintptr_t)convert_number_to_int(&number);
      return true;
    }
    default: return false;
  }
}

static bool to_pointer(lua_State *L, CType *t, const TValue *o, Conversion how, void **result) {
  CType *to = t->element;
  bool cast = how == CONVERT_CAST;
  switch (tag_type(o->tag)) {
    case LUA_TNIL: *result = NULL; return true;
    case LUA_TLIGHTUSERDATA: *result = o->v.p; return true;
    case LUA_TSTRING:
      *result = as_string(o)->data;
      return cast || accepts_string(to);
    case LUA_TFUNCTION:
      if (to->kind != CKIND_FUNCTION) return false;
      *result = how == CONVERT_ARGUMENT ? callback_shared(L, to, o) : callback_new(L, to, o);
      return true;
    case LUA_TNUMBER:
      if (!cast || !is_int(o)) return false;
      *result = (void *)(uintptr_t)o->v.i;
      return true;
    case LUA_TUSERDATA: break;
    default: return false;
  }
  const Cdata *cd = cdata_of(o);
  return cd != NULL ? cdata_pointer(cd, to, cast, result)
                    : userdata_pointer(L, as_userdata(o), to, cast, result);
}

/* ---- Lua to C ------------------------------------------------------------ */

/* Sets *number to the constant of an enum that the string `o` names. */
static bool enum_constant(const CType *t, const TValue *o, CNumber *number) {
  if (!is_string(o)) return false;
  const Symbol *s = ffi_lookup(t->ffi->names, as_string(o));
  if (s == NULL || s->kind != SYMBOL_CONSTANT || s->of_enum != t->plain) return false;
  *number = int_number(s->value);
  return true;
}

/* Converts a value to its address as a number. Only casts do this. */
static bool address_number(lua_State *L, CType *t, const TValue *o, CNumber *number) {
  void *p;
  if (is_function(o) || !is_integer_type(t)) return false;
  CType *void_pointer = ctype_pointer(L, t->ffi->basic[BASIC_VOID]);
  if (!to_pointer(L, void_pointer, o, CONVERT_CAST, &p)) return false;
  *number = int_number((int64_t)(uintptr_t)p);
  return true;
}

static void store_number(lua_State *L, CType *t, void *p, const TValue *o, Conversion how,
                         const Blame *blame) {
  CNumber number;
  if (!convert_to_number(o, &number) && !(t->kind == CKIND_ENUM && enum_constant(t, o, &number)) &&
      !(how == CONVERT_CAST && address_number(L, t, o, &number)))
    convert_error(L, o, t, NULL, blame);
  const char *problem = convert_store_number(t, p, &number);
  if (problem != NULL) convert_error(L, o, t, problem, blame);
}

static void store_reference(lua_State *L, CType *t, void *p, const TValue *o, const Blame *blame) {
  const Cdata *cd = cdata_of(o);
  char *address;
  if (cd == NULL) convert_error(L, o, t, NULL, blame);
  const CType *from = cdata_value(cd, &address);
  if (from->kind == CKIND_POINTER && t->element->plain != from->plain) {
    void *target;
    if (!cdata_pointer(cd, t->element, false, &target)) convert_error(L, o, t, NULL, blame);
    if (target == NULL) convert_error(L, o, t, "the pointer is NULL", blame);
    STORE(void *, target);
  } else {
    bool is_first = from->kind == CKIND_ARRAY && types_compatible(from->element, t->element, 0);
    if (!is_first && !types_compatible(from, t->element, 0)) convert_error(L, o, t, NULL, blame);
    STORE(void *, address);
  }
}

static void store_aggregate(lua_State *L, CType *t, void *p, const TValue *o, Conversion how,
                            const Blame *blame) {
  const Cdata *cd = cdata_of(o);
  if (cd == NULL) {
    if (!is_table(o) && !is_string(o)) convert_error(L, o, t, NULL, blame);
    initialize_from(L, t, p, t->size, o, how);
    return;
  }
  char *from;
  const CType *s = cdata_value(cd, &from);
  if (s->kind == CKIND_POINTER && s->element->plain == t->plain) {
    from = *(char **)from;
    if (from == NULL) convert_error(L, o, t, "the pointer is NULL", blame);
  } else if (s->plain != t->plain) {
    bool alike = s->kind == CKIND_ARRAY && t->kind == CKIND_ARRAY &&
                 s->element->plain == t->element->plain && s->count == t->count;
    if (!alike) convert_error(L, o, t, NULL, blame);
  }
  if (t->size != SIZE_UNKNOWN) memmove(p, from, t->size);
}

void convert_store(lua_State *L, CType *t, void *p, const TValue *o, Conversion how,
                   const Blame *blame) {
  if (likely(convert_set_scalar(t, p, o))) return;
  void *pointer;
  switch (t->access) {
    case ACCESS_POINTER:
      if (!to_pointer(L, t, o, how, &pointer)) convert_error(L, o, t, NULL, blame);
      STORE(void *, pointer);
      return;
    case ACCESS_REFERENCE: store_reference(L, t, p, o, blame); return;
    case ACCESS_AGGREGATE: store_aggregate(L, t, p, o, how, blame); return;
    case ACCESS_NONE: convert_error(L, o, t, NULL, blame);
    default: store_number(L, t, p, o, how, blame);
  }
}

void convert_store_bits(lua_State *L, const Field *f, char *p, const TValue *o) {
  uint64_t value = 0, mask = bit_mask(f) << f->shift;
  if (is_integer_type(f->type)) convert_store(L, f->type, &value, o, CONVERT_IMPLICIT, NULL);
  uint64_t unit = (load_unit(f, p) & ~mask) | (value << f->shift & mask);
  memcpy(p, &unit, f->unit > 8 ? 8 : f->unit);
  if (f->unit > 8) store_ninth_byte(f, p, value, bit_mask(f));
}

void *convert_address(lua_State *L, int arg, bool writes) {
  const TValue *o = argument(L, arg);
  const Cdata *cd = cdata_of(o);
  CType *t = cd != NULL ? cd->type->ffi->basic[BASIC_VOID] : NULL;
  void *p;
  if (cd != NULL) {
    Blame blame = {BLAME_ARGUMENT, arg, NULL, NULL};
    CType *pointer = ctype_pointer(L, writes ? t : ctype_qualified(L, t, QUAL_CONST));
    if (!cdata_pointer(cd, pointer->element, false, &p)) convert_error(L, o, pointer, NULL, &blame);
  } else if (is_string(o) && !writes) {
    p = as_string(o)->data;
  } else if (is_userdata(o) && as_userdata(o)->kind == USERDATA_PLAIN) {
    p = userdata_payload(as_userdata(o));
  } else if (o->tag == TAG_LIGHTUSERDATA) {
    p = o->v.p;
  } else {
    luaL_typeerror(L, arg, writes ? "pointer" : "pointer or string");
    return NULL;
  }
  if (p == NULL) luaL_argerror(L, arg, "the pointer is NULL");
  return p;
}
