/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_abi.c: types as libffi sees them.
 *
 * libffi knows only structs of scalars. Unions, bit-fields, packed structs and arrays are
 * passed by value too, so each aggregate is described to libffi by a struct that the
 * calling convention treats in the same way. The rules of x86-64, as gcc has them:
 *   - an aggregate of up to 16 bytes: each word of 8 bytes in a floating-point register
 *     if all of the word is floating, in no register if it is padding, otherwise in a
 *     general register; but all words are in registers, or the whole is in memory;
 *   - a larger aggregate, one with a member that is not aligned, and one with a long
 *     double: in memory. A struct of one long double is returned where a long double is.
 * The rules of arm64:
 *   - up to four members of one floating type and nothing else, padding included: in
 *     floating-point registers;
 *   - otherwise up to 16 bytes in general registers, larger aggregates in memory.
 * On both machines, a struct without members is neither passed nor returned. On x86-64, a
 * struct that has only unnamed bit-fields is passed in a register only, and never
 * returned.
 */
#include "ffi_call.h"

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

/* ---- describing aggregates ------------------------------------------------- */

static ffi_type *new_struct(lua_State *L, const CType *t, size_t n) {
  ffi_type *type = ffi_memory(L, t->ffi, sizeof *type + (n + 1) * sizeof *type->elements);
  type->type = FFI_TYPE_STRUCT;
  type->size = t->size;
  type->alignment = (unsigned short)t->align;
  type->elements = (ffi_type **)(type + 1);
  return type;
}

static ffi_type *repeat_element(lua_State *L, const CType *t, ffi_type *element, size_t n) {
  ffi_type *type = new_struct(L, t, n);
  for (size_t i = 0; i < n; i++) type->elements[i] = element;
  return type;
}

#ifdef __x86_64__

/* ---- x86-64 ---------------------------------------------------------------- */

/* The content of a word; the greater value prevails where two classes meet, except for
   X87. */
typedef enum Class { CLASS_NONE, CLASS_FLOATING, CLASS_X87, CLASS_X87_UP, CLASS_INTEGER,
                     CLASS_MEMORY } Class;

typedef struct Words {
  Class class[2];
  bool in_memory; /* the whole is in memory, whatever the classes are */
} Words;

static Class merge_classes(Class a, Class b) {
  Class least = a < b ? a : b, most = a < b ? b : a;
  bool floating = least != CLASS_NONE && least != most && most <= CLASS_X87_UP;
  return floating ? CLASS_MEMORY : most;
}

static void note_word(Words *words, size_t word, Class class) {
  if (word < 2) words->class[word] = merge_classes(words->class[word], class);
}

static void note_integer(Words *words, size_t offset, size_t size) {
  for (size_t word = offset / 8; word <= (offset + size - 1) / 8; word++)
    note_word(words, word, CLASS_INTEGER);
}

static void classify(Words *words, const CType *t, size_t offset);

/* Returns the size of the integer type that has this many bits. */
static size_t integer_size(unsigned bits) {
  return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

static void classify_integer(Words *words, size_t offset, size_t size) {
  if (offset % size != 0) words->in_memory = true;
  note_integer(words, offset, size);
}

/* Classifies a bit-field. gcc treats a bit-field of a union (also of width 0) as an
 * integer member. It treats a bit-field of a struct so if the bit-field is laid out like
 * an integer member. */
static void classify_bits(Words *words, const Record *r, const Field *f, size_t offset) {
  size_t at = f->offset * 8 + f->shift;
  if (r->is_union || (f->bits != 0 && clayout_fills_unit(f, at)))
    classify_integer(words, offset + (r->is_union ? 0 : at / 8), integer_size(f->bits));
  else if (f->bits != 0)
    note_integer(words, offset + at / 8, (at % 8 + f->bits + 7) / 8);
}

static void classify_record(Words *words, const Record *r, size_t offset) {
  for (uint32_t i = 0; i < r->nfields; i++) {
    const Field *f = &r->fields[i];
    bool is_flexible = f->type->kind == CKIND_ARRAY && f->type->count == COUNT_UNKNOWN;
    if (f->is_const || is_flexible) continue;
    if (f->is_bits) classify_bits(words, r, f, offset);
    else classify(words, f->type, offset + f->offset);
  }
}

/* Classifies an array. All elements have the class of the first one, although a packed
 * element may lie elsewhere in its words. An array without elements, unless it begins a
 * word, has the class that its missing element would have. */
static void classify_array(Words *words, const CType *t, size_t offset) {
  size_t first = offset / 8, end = (offset + t->size + 7) / 8;
  if (offset % 8 == 0 && t->size == 0) return;
  Words element = {{CLASS_NONE, CLASS_NONE}, false};
  classify(&element, t->element, offset);
  words->in_memory |= element.in_memory;
  bool repeats = offset % 8 + t->element->size <= 8;
  for (size_t word = first; word < end && word < 2; word++)
    note_word(words, word, element.class[repeats ? first : word]);
}

/* Classifies an aggregate. The whole goes into memory if it has more than two words,
 * floating types that do not go together, or the second half of a long double without the
 * first. This is decided for each aggregate before the aggregates around it, in which an
 * integer may hide the condition. */
static void classify_aggregate(Words *words, const CType *t, size_t offset) {
  if (offset % 8 + t->size > 16) {
    words->in_memory = true;
    return;
  }
  Words own = {{CLASS_NONE, CLASS_NONE}, false};
  if (t->kind == CKIND_RECORD) classify_record(&own, t->record, offset);
  else classify_array(&own, t, offset);
  bool is_unpaired = own.class[1] == CLASS_X87_UP && own.class[0] != CLASS_X87;
  words->in_memory |= own.in_memory || is_unpaired;
  for (size_t word = 0; word < 2; word++) {
    words->in_memory |= own.class[word] == CLASS_MEMORY;
    note_word(words, word, own.class[word]);
  }
}

static void classify(Words *words, const CType *t, size_t offset) {
  if (is_aggregate(t)) return classify_aggregate(words, t, offset);
  if (t->kind != CKIND_FLOAT) return classify_integer(words, offset, t->size);
  if (offset % t->size != 0) words->in_memory = true;
  bool is_long = t->access == ACCESS_LONG_DOUBLE;
  note_word(words, offset / 8, is_long ? CLASS_X87 : CLASS_FLOATING);
  if (is_long) note_word(words, offset / 8 + 1, CLASS_X87_UP);
}

static Words words_of(const CType *t) {
  Words words = {{CLASS_NONE, CLASS_NONE}, false};
  classify(&words, t, 0);
  return words;
}

static bool fits_registers(const Words *words) {
  for (int i = 0; i < 2; i++)
    if (words->class[i] != CLASS_NONE && words->class[i] != CLASS_FLOATING &&
        words->class[i] != CLASS_INTEGER)
      return false;
  return !words->in_memory;
}

static bool is_long_double(const Words *words) {
  return !words->in_memory && words->class[0] == CLASS_X87 && words->class[1] == CLASS_X87_UP;
}

/* Returns a type that libffi passes in memory, because it has an element larger than the
 * registers. The type has the size of t. */
static ffi_type *in_memory(lua_State *L, const CType *t) {
  ffi_type *part = repeat_element(L, t, &ffi_type_uint64, 8);
  part->size = 64;
  part->alignment = 8;
  return repeat_element(L, t, part, 1);
}

static ffi_type *by_words(lua_State *L, const CType *t, const Words *words) {
  ffi_type *type = new_struct(L, t, 2);
  for (size_t i = 0; i < 2 && words->class[i] != CLASS_NONE; i++)
    type->elements[i] = words->class[i] == CLASS_INTEGER ? &ffi_type_uint64 : &ffi_type_double;
  return type;
}

static ffi_type *describe_record(lua_State *L, const CType *t) {
  Words words = words_of(t);
  return fits_registers(&words) ? by_words(L, t, &words) : in_memory(L, t);
}

/* Tells whether a type has no member with a name, at any depth. */
static bool is_empty(const CType *t) {
  if (t->kind == CKIND_ARRAY)
    return t->count == 0 || t->count == COUNT_UNKNOWN || is_empty(t->element);
  if (t->kind != CKIND_RECORD) return false;
  for (uint32_t i = 0; i < t->record->nfields; i++) {
    const Field *f = &t->record->fields[i];
    bool unnamed_bits = f->is_bits && f->name == NULL;
    if (!f->is_const && !unnamed_bits && !is_empty(f->type)) return false;
  }
  return true;
}

/* Returns the scalar type that a struct is returned as, or NULL. A struct of one long
 * double is returned where a long double is, but libffi returns only the scalar itself
 * there. A struct without members is not returned at all, whatever its size. */
static ffi_type *bare_result(const CType *t) {
  if (is_empty(t)) return &ffi_type_void;
  Words words = words_of(t);
  return is_long_double(&words) ? &ffi_type_longdouble : NULL;
}

typedef struct Registers { unsigned general, floating; } Registers;

/* Takes the registers of a parameter; returns false if it goes into memory. */
static bool take_registers(Registers *left, const Words *words) {
  Registers need = {0, 0};
  if (!fits_registers(words)) return false;
  for (int i = 0; i < 2; i++) {
    need.general += words->class[i] == CLASS_INTEGER;
    need.floating += words->class[i] == CLASS_FLOATING;
  }
  if (need.general > left->general || need.floating > left->floating) return false;
  left->general -= need.general;
  left->floating -= need.floating;
  return true;
}

/* Describes the words that go into registers, of which `left` are left; returns the
 * number of parts. Works around two errors of libffi:
 *  - for a struct whose second word is padding, libffi's callbacks take a register for
 *    that word too: the struct is described as its first word alone;
 *  - for a struct whose first word goes into the last general register and whose second
 *    word is floating, libffi's calls (before 3.4.8) copy both words to the memory of the
 *    general registers, and so overwrite the first floating-point register behind them:
 *    the words are described as two arguments. */
static unsigned assign_words(const Registers *left, const Words *words, ffi_type *whole,
                             ffi_type **types) {
  bool is_split = left->general == 1 && words->class[0] == CLASS_INTEGER &&
                 words->class[1] == CLASS_FLOATING;
  bool is_padded = whole->size > 8 && words->class[1] == CLASS_NONE;
  types[0] = is_split || is_padded ? whole->elements[0] : whole;
  if (is_split) types[1] = whole->elements[1];
  return is_split ? 2 : 1;
}

unsigned abi_assign(const CType *function, ffi_type *const *whole, ffi_type **types,
                    uint8_t *parts) {
  const Signature *s = function->signature;
  Registers left = {6, 8};
  const CType *result = function->element;
  if (result->kind == CKIND_RECORD && bare_result(result) == NULL) {
    Words words = words_of(result);
    if (!fits_registers(&words)) left.general--;
  }
  unsigned n = 0;
  for (uint32_t i = 0; i < s->nparams; i++) {
    const CType *t = s->params[i];
    Words words = words_of(t);
    Registers before = left;
    bool in_registers = take_registers(&left, &words);
    parts[i] = 0;
    if (t->size > 0 && in_registers) {
      parts[i] = (uint8_t)assign_words(&before, &words, whole[i], types + n);
    } else if (t->size > 0 && !is_empty(t)) {
      types[n] = whole[i];
      parts[i] = 1;
    }
    n += parts[i];
  }
  return n;
}

#else

/* ---- arm64 ----------------------------------------------------------------- */

static size_t count_floating(const CType *t, const CType **form);

/* Returns the number of scalar members of a struct; for a union, the largest number that
   a member has. */
static size_t count_members(const Record *r, const CType **form) {
  size_t count = 0;
  for (uint32_t i = 0; i < r->nfields; i++) {
    const Field *f = &r->fields[i];
    if (f->is_const || (f->is_bits && f->bits == 0)) continue;
    size_t n = f->is_bits ? COUNT_UNKNOWN : count_floating(f->type, form);
    if (n > 16) return COUNT_UNKNOWN;
    count = r->is_union ? (n > count ? n : count) : count + n;
  }
  return count;
}

/* Returns the number of scalars in a type if all have one floating type, or COUNT_UNKNOWN
   if there is anything else. */
static size_t count_floating(const CType *t, const CType **form) {
  size_t count = 1;
  if (t->kind == CKIND_RECORD) {
    count = count_members(t->record, form);
  } else if (t->kind == CKIND_ARRAY) {
    if (t->count > 16) return COUNT_UNKNOWN;
    count = t->count == 0 ? 0 : count_floating(t->element, form);
    if (count != COUNT_UNKNOWN) count *= t->count;
  } else {
    if (t->kind != CKIND_FLOAT || (*form != NULL && (*form)->access != t->access))
      return COUNT_UNKNOWN;
    *form = t->plain;
  }
  size_t size = *form == NULL ? 0 : (*form)->size;
  return count <= 16 && count * size == t->size ? count : COUNT_UNKNOWN;
}

static ffi_type *describe_record(lua_State *L, const CType *t) {
  const CType *form = NULL;
  size_t count = count_floating(t, &form), words = (t->size + 7) / 8;
  if (form != NULL && count <= 4) return repeat_element(L, t, scalar_type(form), count);
  return repeat_element(L, t, &ffi_type_uint64, words < 5 ? words : 5);
}

static ffi_type *bare_result(const CType *t) {
  (void)t;
  return NULL;
}

unsigned abi_assign(const CType *function, ffi_type *const *whole, ffi_type **types,
                    uint8_t *parts) {
  const Signature *s = function->signature;
  unsigned n = 0;
  for (uint32_t i = 0; i < s->nparams; i++) {
    parts[i] = s->params[i]->size > 0;
    if (parts[i] > 0) types[n++] = whole[i];
  }
  return n;
}

#endif

/* ---- types ------------------------------------------------------------------- */

static ffi_type *record_type(lua_State *L, CType *t, const char **why) {
  *why = NULL;
  if (t->kind != CKIND_RECORD || !t->record->complete)
    *why = "an incomplete type cannot be passed by value";
  else if (t->record->unsupported != NULL) *why = t->record->unsupported;
  else if (t->size > 65536) *why = "a struct of more than 64 KiB cannot be passed by value";
  if (*why != NULL) return NULL;
  Record *r = t->record; /* r->type does not have the alignment that a typedef adds */
  if (r->abi == NULL) r->abi = describe_record(L, r->type);
  return r->abi;
}

ffi_type *abi_type(lua_State *L, CType *t, const char **why) {
  ffi_type *type = scalar_type(t);
  if (type != NULL) return type;
  type = record_type(L, t, why);
  if (type == NULL || t->record->type->align <= 16) return type;
  *why = "a struct aligned to more than 16 bytes cannot be an argument";
  return NULL;
}

ffi_type *abi_result_type(lua_State *L, CType *t, const char **why) {
  ffi_type *type = t->kind == CKIND_VOID ? &ffi_type_void : scalar_type(t);
  if (type != NULL) return type;
  type = record_type(L, t, why);
  if (type == NULL) return NULL;
  if (t->size == 0) return &ffi_type_void;
  ffi_type *bare = bare_result(t);
  return bare != NULL ? bare : type;
}
