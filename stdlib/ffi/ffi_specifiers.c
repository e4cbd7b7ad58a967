/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_specifiers.c: the beginning of a declaration: basic types, qualifiers,
 * storage classes, attributes, enums, names of types. */
#include "ffi_parser.h"
#include "object.h"

#include <stdio.h>
#include <string.h>

/* ---- attributes ---------------------------------------------------------- */

/* Skips the parenthesized arguments of an attribute that has no meaning here. */
static void skip_arguments(CParser *c) {
  CLexer *x = &c->x;
  unsigned depth = 0;
  do {
    if (x->token == CT_END) clexer_error(x, "')' expected");
    if (x->token == '(') depth++;
    else if (x->token == ')') depth--;
    clexer_next(x);
  } while (depth > 0);
}

static uint32_t parse_power(CParser *c, const char *what) {
  CLexer *x = &c->x;
  CPosition position = clexer_position(x);
  size_t value = cparser_count(c, 1 << 28, what);
  if (value == 0 || (value & (value - 1)) != 0)
    clexer_error_at(x, position, "%s is no power of two", what);
  return (uint32_t)value;
}

static uint32_t parse_alignment(CParser *c) { return parse_power(c, "alignment"); }

/* Tells whether an attribute's name is `text`, alone or between double underscores. */
static bool is_attribute(const String *name, const char *text) {
  size_t n = strlen(text), size = string_len(name);
  if (size == n + 4 && memcmp(name->data, "__", 2) == 0)
    return memcmp(name->data + 2, text, n) == 0;
  return size == n && memcmp(name->data, text, n) == 0;
}

/* gcc's names of the modes of numbers, from the documentation of the attribute. */
static const struct { const char *name; Mode mode; } modes[] = {
  {"QI", {MODE_INTEGER, 1}}, {"byte", {MODE_INTEGER, 1}}, {"HI", {MODE_INTEGER, 2}},
  {"SI", {MODE_INTEGER, 4}}, {"DI", {MODE_INTEGER, 8}}, {"TI", {MODE_INTEGER, 16}},
  {"word", {MODE_INTEGER, 8}}, {"pointer", {MODE_INTEGER, 8}},
  {"unwind_word", {MODE_INTEGER, 8}}, {"libgcc_cmp_return", {MODE_INTEGER, 8}},
  {"libgcc_shift_count", {MODE_INTEGER, 8}}, {"HF", {MODE_FLOAT, 2}}, {"SF", {MODE_FLOAT, 4}},
  {"DF", {MODE_FLOAT, 8}}, {"XF", {MODE_FLOAT, 10}}, {"TF", {MODE_FLOAT, 16}},
  {"SC", {MODE_COMPLEX, 4}}, {"DC", {MODE_COMPLEX, 8}}, {"XC", {MODE_COMPLEX, 10}}};

static Mode parse_mode(CParser *c) {
  CLexer *x = &c->x;
  Mode mode = {MODE_NONE, 0};
  clexer_expect(x, '(');
  if (x->token != CT_NAME) clexer_error(x, "mode expected");
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (is_attribute(x->name, modes[i].name)) mode = modes[i].mode;
  if (mode.kind == MODE_NONE) clexer_error(x, "mode '%s' is not supported", x->name->data);
  clexer_next(x);
  clexer_expect(x, ')');
  return mode;
}

static void one_attribute(CParser *c, Attributes *a) {
  CLexer *x = &c->x;
  const String *name = x->name;
  if (x->token != CT_NAME && x->token <= CT_FIRST_KEYWORD) clexer_error(x, "attribute expected");
  clexer_next(x);
  if (is_attribute(name, "packed")) {
    a->packed = true;
  } else if (is_attribute(name, "aligned")) {
    uint32_t align = 16;
    if (clexer_accept(x, '(')) {
      align = parse_alignment(c);
      clexer_expect(x, ')');
    }
    if (align > a->align) a->align = align;
  } else if (is_attribute(name, "mode")) {
    a->mode = parse_mode(c);
  } else if (is_attribute(name, "vector_size")) {
    clexer_expect(x, '(');
    a->vector = parse_power(c, "size of a vector");
    clexer_expect(x, ')');
  } else if (x->token == '(') {
    skip_arguments(c);
  }
}

/* Parses __attribute__((...)), _Alignas(...) and calling conventions, as many as there
   are. */
void cparser_attributes(CParser *c, Attributes *a) {
  CLexer *x = &c->x;
  for (;;) {
    if (clexer_accept(x, CT_CALLCONV) || clexer_accept(x, CT_EXTENSION)) continue;
    if (clexer_accept(x, CT_ATTRIBUTE)) {
      clexer_expect(x, '(');
      clexer_expect(x, '(');
      while (x->token != ')') {
        if (x->token != ',') one_attribute(c, a);
        if (!clexer_accept(x, ',')) break;
      }
      clexer_expect(x, ')');
      clexer_expect(x, ')');
    } else if (clexer_accept(x, CT_ALIGNAS)) {
      clexer_expect(x, '(');
      uint32_t align = cparser_at_type(c) ? cparser_type_name(c)->align : parse_alignment(c);
      clexer_expect(x, ')');
      if (align > a->align) a->align = align;
    } else {
      return;
    }
  }
}

static CType *integer_of(Ffi *ffi, uint32_t size, bool is_unsigned) {
  switch (size) {
    case 1: return ffi->basic[is_unsigned ? BASIC_UCHAR : BASIC_SCHAR];
    case 2: return ffi->basic[is_unsigned ? BASIC_USHORT : BASIC_SHORT];
    case 4: return ffi->basic[is_unsigned ? BASIC_UINT : BASIC_INT];
    case 8: return ffi->basic[is_unsigned ? BASIC_ULONG : BASIC_LONG];
    default: return ffi->int128[is_unsigned];
  }
}

static CType *float_of(Ffi *ffi, uint32_t size) {
  switch (size) {
    case 2: return ffi->float16[0];
    case 4: return ffi->basic[BASIC_FLOAT];
    case 8: return ffi->basic[BASIC_DOUBLE];
    case 10: return ffi->basic[BASIC_LDOUBLE];
    default: return ffi->float128[0];
  }
}

static CType *of_mode(CParser *c, CPosition position, CType *t, Mode mode) {
  Ffi *ffi = c->x.ffi;
  bool is_pointer = t->kind == CKIND_POINTER && mode.kind == MODE_INTEGER && mode.size == t->size;
  if (is_pointer) return t;
  switch (mode.kind) {
    case MODE_INTEGER:
      if (!is_integer_type(t)) break;
      return integer_of(ffi, mode.size, t->flags & CTYPE_UNSIGNED);
    case MODE_FLOAT:
      if (t->kind != CKIND_FLOAT) break;
      return float_of(ffi, mode.size);
    default:
      return ffi->complex[mode.size == 4 ? COMPLEX_FLOAT : mode.size == 8 ? COMPLEX_DOUBLE
                                                                          : COMPLEX_LDOUBLE];
  }
  clexer_error_at(&c->x, position, "attribute 'mode' of a type that it does not fit");
}

static bool has_vectors(const CType *t) {
  const Ffi *ffi = t->ffi;
  const CType *plain = t->plain;
  return t->kind == CKIND_INT || t->kind == CKIND_FLOAT || t->kind == CKIND_ENUM ||
         plain == ffi->int128[0] || plain == ffi->int128[1] || plain == ffi->float128[0] ||
         plain == ffi->float16[0];
}

/* Makes a vector type. Each declaration makes a new type: nothing can be done with
   vectors, so their types need not be equal. */
static CType *vector_of(CParser *c, CPosition position, CType *t, uint32_t size) {
  char name[CTYPE_NAME_MAX], text[2 * CTYPE_NAME_MAX];
  if (!has_vectors(t)) clexer_error_at(&c->x, position, "no vector has this type");
  if (size < t->size)
    clexer_error_at(&c->x, position, "size of a vector is less than that of its type");
  snprintf(text, sizeof text, "vector(%u) of %s", size, ctype_name(t->plain, name));
  CType *v = ctype_opaque(c->x.L, c->x.ffi, text, size, size, "vectors are not supported");
  return ctype_qualified(c->x.L, v, t->quals);
}

/* Applies the attribute to the numbers that a type is made of, wherever it is written: to
 * the target of a pointer, the elements of an array, the result of a function. */
static CType *with_vectors(CParser *c, CPosition position, CType *t, uint32_t size) {
  lua_State *L = c->x.L;
  if (t->kind != CKIND_POINTER && t->kind != CKIND_REFERENCE && t->kind != CKIND_ARRAY &&
      t->kind != CKIND_FUNCTION)
    return vector_of(c, position, t, size);
  CType *of = with_vectors(c, position, t->element, size);
  switch (t->kind) {
    case CKIND_POINTER: return ctype_qualified(L, ctype_pointer(L, of), t->quals);
    case CKIND_REFERENCE: return ctype_reference(L, of);
    case CKIND_ARRAY: return ctype_array(L, of, t->count, t->flags);
    default:
      return ctype_function(L, of, t->signature->params, t->signature->nparams,
                            t->signature->variadic);
  }
}

CType *cparser_modified(CParser *c, CPosition position, CType *t, const Attributes *a) {
  uint8_t quals = t->quals;
  if (a->mode.kind != MODE_NONE) t = of_mode(c, position, t->plain, a->mode);
  t = ctype_qualified(c->x.L, t, quals);
  return a->vector != 0 ? with_vectors(c, position, t, a->vector) : t;
}

/* ---- enums --------------------------------------------------------------- */

/* Returns the type that holds all constants, as gcc chooses it. */
static BasicType enum_type(int64_t least, int64_t most, bool beyond) {
  if (least < 0) return least >= INT32_MIN && most <= INT32_MAX && !beyond ? BASIC_INT : BASIC_LONG;
  return beyond || most > UINT32_MAX ? BASIC_ULONG : BASIC_UINT;
}

static void enum_body(CParser *c, CType *t) {
  CLexer *x = &c->x;
  Ffi *ffi = x->ffi;
  int64_t least = 0, most = 0;
  bool beyond = false; /* some constant is beyond int64_t */
  Constant next = {0, BASIC_INT};
  clexer_expect(x, '{');
  do {
    if (x->token == '}') break;
    String *name = x->name;
    CPosition position = clexer_position(x);
    clexer_expect(x, CT_NAME);
    Attributes ignored = {.align = 0};
    cparser_attributes(c, &ignored);
    if (clexer_accept(x, '=')) next = cparser_expression(c);
    int64_t value = (int64_t)next.value;
    bool high = value < 0 && (next.type == BASIC_ULONG || next.type == BASIC_ULLONG);
    if (high) beyond = true;
    else if (value < least) least = value;
    else if (value > most) most = value;
    bool is_int = !high && value >= INT32_MIN && value <= INT32_MAX;
    CType *type = ffi->basic[is_int ? BASIC_INT : high ? BASIC_ULONG : BASIC_LONG];
    cparser_define_constant(c, name, position, type, value, t);
    next.value++;
    if (next.type == BASIC_INT && next.value == (uint64_t)INT32_MAX + 1) next.type = BASIC_LONG;
  } while (clexer_accept(x, ','));
  clexer_expect(x, '}');
  CType *base = ffi->basic[enum_type(least, most, beyond)];
  t->element = base;
  t->access = base->access;
  t->size = base->size;
  t->align = base->align;
  t->flags = base->flags | CTYPE_DEFINED;
  ctype_completed(t);
}

static CType *enum_specifier(CParser *c) {
  CLexer *x = &c->x;
  Ffi *ffi = x->ffi;
  Attributes ignored = {.align = 0};
  cparser_attributes(c, &ignored);
  String *tag = NULL;
  CPosition position = clexer_position(x);
  CType *t = NULL;
  if (x->token == CT_NAME) {
    tag = x->name;
    t = ffi_lookup(ffi->tags, tag);
    clexer_next(x);
    if (t != NULL && t->kind != CKIND_ENUM)
      clexer_error_at(x, position, "'%s' is no enum", tag->data);
  }
  if (t == NULL) {
    t = ctype_enum(x->L, ffi, tag);
    if (tag != NULL) cparser_define(c, ffi->tags, tag, t);
  }
  if (x->token != '{') {
    if (tag == NULL) clexer_error(x, "'{' expected");
    /* an opaque enum has the size of int, as most enums have */
    if (t->size == SIZE_UNKNOWN) {
      t->size = t->element->size;
      t->align = t->element->align;
    }
    return t;
  }
  if (t->flags & CTYPE_DEFINED) clexer_error_at(x, position, "'%s' redefined", t->name->data);
  cparser_note_record(c, t);
  cparser_enter(c);
  enum_body(c, t);
  cparser_leave(c);
  return t;
}

/* ---- basic types --------------------------------------------------------- */

/* The number of occurrences of each word of an arithmetic type. */
typedef struct Words {
  unsigned n_void, n_bool, n_char, n_short, n_int, n_long, n_float, n_double, n_signed, n_unsigned;
  unsigned n_complex, n_int128, n_float128, n_float16;
} Words;

static unsigned *word_count(Words *w, int token) {
  switch (token) {
    case CT_VOID: return &w->n_void;
    case CT_BOOL: return &w->n_bool;
    case CT_CHAR: return &w->n_char;
    case CT_SHORT: return &w->n_short;
    case CT_INT: return &w->n_int;
    case CT_LONG: return &w->n_long;
    case CT_FLOAT: return &w->n_float;
    case CT_DOUBLE: return &w->n_double;
    case CT_SIGNED: return &w->n_signed;
    case CT_UNSIGNED: return &w->n_unsigned;
    case CT_COMPLEX: return &w->n_complex;
    case CT_INT128: return &w->n_int128;
    case CT_FLOAT128: return &w->n_float128;
    case CT_FLOAT16: return &w->n_float16;
    default: return NULL;
  }
}

/* Returns the type that the words make, or BASIC_COUNT if they make none. */
static BasicType basic_of(const Words *w) {
  unsigned sign = w->n_signed + w->n_unsigned;
  unsigned others = w->n_void + w->n_bool + w->n_char + w->n_short + w->n_float + w->n_double;
  if (sign > 1 || w->n_int > 1 || others > 1 || w->n_long > 2) return BASIC_COUNT;
  bool u = w->n_unsigned > 0;
  if (w->n_void + w->n_bool + w->n_float > 0) {
    if (sign + w->n_int + w->n_long > 0) return BASIC_COUNT;
    return w->n_void ? BASIC_VOID : w->n_bool ? BASIC_BOOL : BASIC_FLOAT;
  }
  if (w->n_double)
    return sign + w->n_int > 0 || w->n_long > 1 ? BASIC_COUNT
           : w->n_long                          ? BASIC_LDOUBLE
                                                : BASIC_DOUBLE;
  if (w->n_char)
    return w->n_int + w->n_long > 0 ? BASIC_COUNT
           : u                      ? BASIC_UCHAR
           : w->n_signed            ? BASIC_SCHAR
                                    : BASIC_CHAR;
  if (w->n_short) return w->n_long > 0 ? BASIC_COUNT : u ? BASIC_USHORT : BASIC_SHORT;
  if (w->n_long == 2) return u ? BASIC_ULLONG : BASIC_LLONG;
  if (w->n_long == 1) return u ? BASIC_ULONG : BASIC_LONG;
  return u ? BASIC_UINT : BASIC_INT;
}

static unsigned plain_words(const Words *w) {
  return w->n_void + w->n_bool + w->n_char + w->n_short + w->n_int + w->n_long + w->n_float +
         w->n_double;
}

static CType *complex_type(Ffi *ffi, const Words *w) {
  Words part = *w;
  part.n_complex = 0;
  /* gcc's type if there is no other word */
  if (plain_words(w) == 0) part.n_double = 1;
  if (w->n_complex > 1 || w->n_signed + w->n_unsigned > 0) return NULL;
  switch (basic_of(&part)) {
    case BASIC_FLOAT: return ffi->complex[COMPLEX_FLOAT];
    case BASIC_DOUBLE: return ffi->complex[COMPLEX_DOUBLE];
    case BASIC_LDOUBLE: return ffi->complex[COMPLEX_LDOUBLE];
    default: return NULL;
  }
}

/* Returns the type that the words make, or NULL if they make none. */
static CType *type_of_words(Ffi *ffi, const Words *w) {
  unsigned wide = w->n_int128 + w->n_float128 + w->n_float16, sign = w->n_signed + w->n_unsigned;
  if (wide > 0) {
    bool one = wide == 1 && plain_words(w) == 0;
    if (!one || (w->n_int128 ? w->n_complex : sign) > 0 || sign + w->n_complex > 1) return NULL;
    return w->n_int128     ? ffi->int128[w->n_unsigned]
           : w->n_float128 ? ffi->float128[w->n_complex]
                           : ffi->float16[w->n_complex];
  }
  if (w->n_complex > 0) return complex_type(ffi, w);
  BasicType basic = basic_of(w);
  return basic == BASIC_COUNT ? NULL : ffi->basic[basic];
}

/* ---- specifiers ---------------------------------------------------------- */

static const Symbol *type_symbol(CParser *c) {
  if (c->x.token != CT_NAME) return NULL;
  const Symbol *s = ffi_lookup(c->x.ffi->names, c->x.name);
  return s != NULL && s->kind == SYMBOL_TYPEDEF ? s : NULL;
}

bool cparser_at_type(CParser *c) {
  Words words;
  switch (c->x.token) {
    case CT_CONST: case CT_VOLATILE: case CT_STRUCT: case CT_UNION: case CT_ENUM: case CT_TYPE:
    case CT_ATTRIBUTE: case CT_EXTENSION: case CT_ATOMIC: return true;
    default: return word_count(&words, c->x.token) != NULL || type_symbol(c) != NULL;
  }
}

static void set_storage(CParser *c, Specifiers *s, Storage storage) {
  if (s->storage != STORAGE_NONE && s->storage != storage)
    clexer_error(&c->x, "two storage classes");
  s->storage = storage;
  clexer_next(&c->x);
}

/* Parses _Atomic: _Atomic(T) has the bytes of T; without a '(' the word qualifies the
   rest. */
static void atomic_type(CParser *c, Specifiers *s) {
  CLexer *x = &c->x;
  clexer_next(x);
  if (x->token != '(') return;
  if (s->type != NULL) clexer_error(x, "two types");
  clexer_next(x);
  s->type = cparser_type_name(c);
  clexer_expect(x, ')');
}

/* Parses a token that is neither a type nor a storage class; returns whether there was
   one. */
static bool parse_qualifier(CParser *c, Specifiers *s, uint8_t *quals) {
  CLexer *x = &c->x;
  switch (x->token) {
    case CT_CONST: *quals |= QUAL_CONST; break;
    case CT_VOLATILE: *quals |= QUAL_VOLATILE; break;
    case CT_RESTRICT: case CT_INLINE: case CT_REGISTER: case CT_AUTO: case CT_THREAD: break;
    case CT_ATOMIC: atomic_type(c, s); return true;
    case CT_TYPEDEF: set_storage(c, s, STORAGE_TYPEDEF); return true;
    case CT_EXTERN: set_storage(c, s, STORAGE_EXTERN); return true;
    case CT_STATIC: set_storage(c, s, STORAGE_STATIC); return true;
    case CT_ATTRIBUTE:
    case CT_ALIGNAS:
    case CT_CALLCONV:
    case CT_EXTENSION: cparser_attributes(c, &s->attributes); return true;
    default: return false;
  }
  clexer_next(x);
  return true;
}

/* Parses a struct, union, enum, `$` or a typedef's name; returns its type, or NULL if
   there is none of these. */
static CType *whole_type(CParser *c, Specifiers *s) {
  CLexer *x = &c->x;
  const Symbol *symbol;
  int token = x->token;
  switch (token) {
    case CT_STRUCT: case CT_UNION: case CT_ENUM:
      clexer_next(x);
      s->is_definition = true;
      return token == CT_ENUM ? enum_specifier(c) : cparser_record(c, token == CT_UNION);
    case CT_TYPE: {
      CType *t = x->type;
      clexer_next(x);
      return t;
    }
    default:
      symbol = type_symbol(c);
      if (symbol == NULL) return NULL;
      clexer_next(x);
      return symbol->type;
  }
}

void cparser_specifiers(CParser *c, Specifiers *s) {
  CLexer *x = &c->x;
  Words words = {0};
  uint8_t quals = 0;
  bool any_words = false;
  CPosition position = clexer_position(x);
  memset(s, 0, sizeof *s);
  for (;;) {
    if (parse_qualifier(c, s, &quals)) continue;
    unsigned *count = word_count(&words, x->token);
    if (count != NULL) {
      if (s->type != NULL) clexer_error(x, "two types");
      (*count)++;
      any_words = true;
      clexer_next(x);
      if (words.n_complex == 0 && type_of_words(x->ffi, &words) == NULL)
        clexer_error_at(x, position, "these words make no type");
      continue;
    }
    if (s->type != NULL || any_words) break;
    s->type = whole_type(c, s);
    if (s->type == NULL) break;
  }
  if (s->type == NULL) {
    if (!any_words && x->token == CT_NAME) clexer_error(x, "unknown type '%s'", x->name->data);
    if (!any_words) clexer_error(x, "type expected");
    s->type = type_of_words(x->ffi, &words);
    if (s->type == NULL) clexer_error_at(x, position, "these words make no type");
  }
  s->type = ctype_qualified(x->L, s->type, quals);
}
