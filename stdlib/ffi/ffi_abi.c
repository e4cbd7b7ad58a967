/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_abi.c: types as libffi sees them.
 *
 * libffi knows structs of scalars only. Unions, bit-fields, packed structs and arrays
 * are passed by value too, so each aggregate is described to it by a struct that the
 *   calling convention treats alike. The rules are:
 *   - up to four members of one floating type and nothing else: they go into
 *     floating-point registers (x86-64 up to 16 bytes, arm64 always);
 *   - otherwise up to 16 bytes: word by word, on x86-64 into a floating-point register
 *     when all in that word is floating;
 *   - larger ones: in memory, whatever is in them. On x86-64 small ones too, when a
 *     member is not aligned or shares the place of a long double with others.
 */
#include "ffi_core.h"

#include <ffi.h>
#include <string.h>

static ffi_type *scalar_type(const CType *t) {
  switch (t->access) {
    case ACCESS_BOOL: case ACCESS_U8: return &ffi_type_uint8;
    case ACCESS_I8: return &ffi_type_sint8;
    case ACCESS_I16: return &ffi_type_sint16;
    case ACCESS_U16: return &ffi_type_uint16;
    case ACCESS_I32: return &ffi_type_sint32;
    case ACCESS_U32: return &ffi_type_uint32;
    case ACCESS_I64: return &ffi_type_sint64;
    case ACCESS_U64: return &ffi_type_uint64;
    case ACCESS_F32: return &ffi_type_float;
    case ACCESS_F64: return &ffi_type_double;
    case ACCESS_LONG_DOUBLE: return &ffi_type_longdouble;
    case ACCESS_POINTER: case ACCESS_REFERENCE: return &ffi_type_pointer;
    default: return NULL;
  }
}

/* ---- what an aggregate is made of ---------------------------------------- */

typedef struct Parts {
  const CType *form;  /* floating type of all parts, while `uniform` */
  bool uniform;
  bool long_double;
  bool unaligned;     /* a member is not where its type would have it */
  uint8_t integer[2]; /* words of the first 16 bytes that hold something not floating */
} Parts;

static void note_integer(Parts *parts, size_t offset, size_t size) {
  parts->uniform = false;
  for (size_t word = offset / 8; word <= (offset + size - 1) / 8 && word < 2; word++)
    parts->integer[word] = 1;
}

static void look_at_type(Parts *parts, const CType *t, size_t offset) {
  if (t->kind == CKIND_ARRAY) {
    size_t n = t->count == COUNT_UNKNOWN ? 0 : t->count;
    if (n > 16) n = 16; /* beyond what registers hold, more of the same changes nothing */
    for (size_t i = 0; i < n; i++) look_at_type(parts, t->element, offset + i * t->element->size);
  } else if (t->kind == CKIND_RECORD) {
    const Record *r = t->record;
    for (uint32_t i = 0; i < r->nfields; i++) {
      const Field *f = &r->fields[i];
      if (f->is_const || (f->is_bits && f->bits == 0)) continue;
      if (f->is_bits)
        note_integer(parts, offset + f->offset + f->shift / 8, (f->shift % 8 + f->bits + 7u) / 8);
      else look_at_type(parts, f->type, offset + f->offset);
    }
    return;
  }
  if (t->kind == CKIND_ARRAY) return;
  if (offset % t->plain->size != 0) parts->unaligned = true;
  if (t->kind == CKIND_FLOAT) {
    if (t->access == ACCESS_LONG_DOUBLE) parts->long_double = true;
    if (parts->form == NULL) parts->form = t->plain;
    else if (parts->form != t->plain) parts->uniform = false;
  } else {
    note_integer(parts, offset, t->size);
  }
}

/* ---- describing it ------------------------------------------------------- */

static ffi_type *new_struct(lua_State *L, const CType *t, size_t n) {
  ffi_type *type = ffi_memory(L, t->ffi, sizeof *type + (n + 1) * sizeof *type->elements);
  type->type = FFI_TYPE_STRUCT;
  type->size = t->size;
  type->alignment = (unsigned short)(t->align > 16 ? 16 : t->align);
  type->elements = (ffi_type **)(type + 1);
  return type;
}

static ffi_type *repeat_element(lua_State *L, const CType *t, ffi_type *element, size_t n) {
  ffi_type *type = new_struct(L, t, n);
  for (size_t i = 0; i < n; i++) type->elements[i] = element;
  return type;
}

static ffi_type *by_words(lua_State *L, const CType *t, const Parts *parts) {
  size_t n = (t->size + 7) / 8;
  ffi_type *type = new_struct(L, t, n);
  for (size_t i = 0; i < n; i++) {
#ifdef __x86_64__
    type->elements[i] = parts->integer[i] ? &ffi_type_uint64 : &ffi_type_double;
#else
    (void)parts;
    type->elements[i] = &ffi_type_uint64;
#endif
  }
  return type;
}

/* A small struct that libffi passes in memory: an element larger than the registers
 * causes that; the size is taken from the whole. */
static ffi_type *in_memory(lua_State *L, const CType *t) {
  ffi_type *part = repeat_element(L, t, &ffi_type_uint64, 8);
  part->size = 64;
  return repeat_element(L, t, part, 1);
}

static ffi_type *describe_abi(lua_State *L, const CType *t) {
  Parts parts = {.uniform = true};
  look_at_type(&parts, t, 0);
#ifdef __x86_64__
  if (t->size <= 16 && (parts.unaligned || (parts.long_double && !parts.uniform)))
    return in_memory(L, t);
#endif
  if (parts.uniform && parts.form != NULL && t->size % parts.form->size == 0 &&
      t->size / parts.form->size <= 4)
    return repeat_element(L, t, scalar_type(parts.form), t->size / parts.form->size);
  if (t->size > 16)
    return repeat_element(L, t, &ffi_type_uint64, (t->size + 7) / 8 < 5 ? (t->size + 7) / 8 : 5);
  return by_words(L, t, &parts);
}

void *abi_type(lua_State *L, CType *t, const char **why) {
  if (t->kind == CKIND_VOID) return &ffi_type_void;
  ffi_type *scalar = scalar_type(t);
  if (scalar != NULL) return scalar;
  if (t->kind != CKIND_RECORD || !t->record->complete) {
    *why = "an incomplete type cannot be passed by value";
    return NULL;
  }
  if (t->size == 0 || t->size > 65536) {
    *why = t->size == 0 ? "a struct without members cannot be passed by value"
                        : "a struct of more than 64 KiB cannot be passed by value";
    return NULL;
  }
  if (t->record->abi == NULL) t->record->abi = describe_abi(L, t);
  return t->record->abi;
}

/* On x86-64 a struct of one long double is returned where a long double is, but libffi
 * does this for the bare type only. */
void *abi_result_type(lua_State *L, CType *t, const char **why) {
#ifdef __x86_64__
  if (t->kind == CKIND_RECORD && t->size == 16) {
    Parts parts = {.uniform = true};
    look_at_type(&parts, t, 0);
    if (parts.uniform && parts.long_double) return &ffi_type_longdouble;
  }
#endif
  return abi_type(L, t, why);
}
