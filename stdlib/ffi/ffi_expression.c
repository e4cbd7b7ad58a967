/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_expression.c: constant expressions of C, with C's types: int, unsigned,
 * long and long long, and the conversions between them. */
#include "ffi_parser.h"

/* ---- types --------------------------------------------------------------- */

static bool is_wide(BasicType t) { return t >= BASIC_LONG; }
static bool is_unsigned(BasicType t) {
  return t == BASIC_UINT || t == BASIC_ULONG || t == BASIC_ULLONG;
}

/* Returns a value in the form of its type: values of 32 bits are sign- or
   zero-extended. */
static Constant of_type(uint64_t value, BasicType type) {
  if (!is_wide(type))
    value = is_unsigned(type) ? (uint32_t)value : (uint64_t)(int64_t)(int32_t)value;
  return (Constant){value, type};
}

static BasicType common_type(BasicType a, BasicType b) {
  BasicType low = a < b ? a : b, high = a < b ? b : a;
  return low == BASIC_ULONG && high == BASIC_LLONG ? BASIC_ULLONG : high;
}

/* ---- binary operators ---------------------------------------------------- */

static const struct { int token; uint8_t level; } operators[] = {
  {CT_OR, 1}, {CT_AND, 2}, {'|', 3}, {'^', 4}, {'&', 5}, {CT_EQUAL, 6}, {CT_NOT_EQUAL, 6},
  {'<', 7}, {'>', 7}, {CT_LESS_EQUAL, 7}, {CT_GREATER_EQUAL, 7},
  {CT_SHIFT_LEFT, 8}, {CT_SHIFT_RIGHT, 8}, {'+', 9}, {'-', 9}, {'*', 10}, {'/', 10}, {'%', 10}};

static unsigned level_of(int token) {
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (operators[i].token == token) return operators[i].level;
  return 0;
}

static Constant make_truth(bool holds) { return (Constant){holds, BASIC_INT}; }

static bool constant_less(Constant a, Constant b, BasicType type) {
  return is_unsigned(type) ? a.value < b.value : (int64_t)a.value < (int64_t)b.value;
}

static Constant compare_constants(int token, Constant a, Constant b, BasicType type) {
  a = of_type(a.value, type);
  b = of_type(b.value, type);
  switch (token) {
    case CT_EQUAL: return make_truth(a.value == b.value);
    case CT_NOT_EQUAL: return make_truth(a.value != b.value);
    case '<': return make_truth(constant_less(a, b, type));
    case '>': return make_truth(constant_less(b, a, type));
    case CT_LESS_EQUAL: return make_truth(!constant_less(b, a, type));
    default: return make_truth(!constant_less(a, b, type));
  }
}

static uint64_t divide_constants(CParser *c, CPosition position, int token, Constant a, Constant b,
                                 BasicType type) {
  a = of_type(a.value, type);
  b = of_type(b.value, type);
  if (b.value == 0) clexer_error_at(&c->x, position, "division by zero");
  if (is_unsigned(type)) return token == '/' ? a.value / b.value : a.value % b.value;
  /* the least integer divided by -1 would trap */
  if (b.value == UINT64_MAX) return token == '/' ? -a.value : 0;
  int64_t x = (int64_t)a.value, y = (int64_t)b.value;
  return (uint64_t)(token == '/' ? x / y : x % y);
}

static Constant shift_constant(int token, Constant a, Constant b) {
  unsigned bits = is_wide(a.type) ? 64 : 32, by = (unsigned)b.value & (bits - 1);
  if (token == CT_SHIFT_LEFT) return of_type(a.value << by, a.type);
  if (is_unsigned(a.type)) return of_type(a.value >> by, a.type);
  return of_type((uint64_t)((int64_t)a.value >> by), a.type);
}

static Constant apply_binary(CParser *c, CPosition position, int token, Constant a, Constant b) {
  BasicType type = common_type(a.type, b.type);
  switch (token) {
    case CT_OR: return make_truth(a.value != 0 || b.value != 0);
    case CT_AND: return make_truth(a.value != 0 && b.value != 0);
    case '|': return of_type(a.value | b.value, type);
    case '^': return of_type(a.value ^ b.value, type);
    case '&': return of_type(a.value & b.value, type);
    case CT_SHIFT_LEFT: case CT_SHIFT_RIGHT: return shift_constant(token, a, b);
    case '+': return of_type(a.value + b.value, type);
    case '-': return of_type(a.value - b.value, type);
    case '*': return of_type(a.value * b.value, type);
    case '/': case '%': return of_type(divide_constants(c, position, token, a, b, type), type);
    default: return compare_constants(token, a, b, type);
  }
}

/* ---- operands ------------------------------------------------------------ */

static Constant parse_unary(CParser *c);

static Constant size_constant(size_t size) { return (Constant){size, BASIC_ULONG}; }

/* ---- types of operands, for sizeof ---------------------------------------- */

static CType *operand_type(CParser *c);

static CType *element_type(CParser *c, CPosition position, CType *t) {
  if (t->kind != CKIND_POINTER && t->kind != CKIND_ARRAY)
    clexer_error_at(&c->x, position, "neither a pointer nor an array");
  return t->element;
}

/* Parses the name of a member, behind '.' or '->'; returns its type. */
static CType *member_type(CParser *c, CType *t) {
  CLexer *x = &c->x;
  CPosition position = clexer_position(x);
  String *name = x->name;
  clexer_expect(x, CT_NAME);
  const Field *f = t->kind == CKIND_RECORD ? ctype_field(t, name) : NULL;
  if (f == NULL) clexer_error_at(x, position, "no member '%s'", name->data);
  if (f->is_bits) clexer_error_at(x, position, "a bit-field ('%s') has no size", name->data);
  return f->type;
}

/* Parses the members and elements behind an operand; returns the type. */
static CType *postfix_type(CParser *c, CType *t) {
  CLexer *x = &c->x;
  for (;;) {
    CPosition position = clexer_position(x);
    if (clexer_accept(x, '.')) {
      t = member_type(c, t);
    } else if (clexer_accept(x, CT_ARROW)) {
      t = member_type(c, element_type(c, position, t));
    } else if (clexer_accept(x, '[')) {
      t = element_type(c, position, t);
      cparser_expression(c);
      clexer_expect(x, ']');
    } else {
      return t;
    }
  }
}

static CType *named_type(CParser *c) {
  CLexer *x = &c->x;
  const Symbol *s = ffi_lookup(x->ffi->names, x->name);
  if (s == NULL) clexer_error(x, "'%s' is not declared", x->name->data);
  clexer_next(x);
  return postfix_type(c, s->type);
}

/* Parses the text behind a '(': a cast with its operand, or an operand. Returns the
   type. */
static CType *parenthesized_type(CParser *c) {
  CLexer *x = &c->x;
  bool is_cast = cparser_at_type(c);
  CType *t = is_cast ? cparser_type_name(c) : operand_type(c);
  clexer_expect(x, ')');
  if (!is_cast) return postfix_type(c, t);
  operand_type(c);
  return t;
}

/* Parses an operand, which need not be constant, as in `((T *)0)->member`; returns its
   type. */
static CType *operand_type(CParser *c) {
  CLexer *x = &c->x;
  CPosition position = clexer_position(x);
  CType *t;
  cparser_enter(c);
  switch (x->token) {
    case CT_NUMBER:
      t = x->ffi->basic[x->value_type];
      clexer_next(x);
      break;
    case CT_NAME: t = named_type(c); break;
    case '(':
      clexer_next(x);
      t = parenthesized_type(c);
      break;
    case '*':
      clexer_next(x);
      t = element_type(c, position, operand_type(c));
      break;
    case '&':
      clexer_next(x);
      t = ctype_pointer(x->L, operand_type(c));
      break;
    default: clexer_error(x, "type expected");
  }
  cparser_leave(c);
  return t;
}

static Constant size_of(CParser *c, bool alignment) {
  CLexer *x = &c->x;
  clexer_next(x);
  CPosition position = clexer_position(x);
  clexer_expect(x, '(');
  CType *t = cparser_at_type(c) ? cparser_type_name(c) : operand_type(c);
  if (t->kind == CKIND_REFERENCE) t = t->element;
  if (alignment) {
    const CType *of = t;
    while (of->kind == CKIND_ARRAY) of = of->element;
    if (of->kind == CKIND_RECORD && !of->record->complete)
      clexer_error_at(x, position, "the alignment of this type is unknown");
    clexer_expect(x, ')');
    return size_constant(t->align);
  }
  if (t->size == SIZE_UNKNOWN) clexer_error_at(x, position, "the size of this type is unknown");
  clexer_expect(x, ')');
  return size_constant(t->size);
}

/* Converts a value to an integer type of the language. */
static Constant convert_constant(CParser *c, CPosition position, Constant v, const CType *t) {
  if (t->kind == CKIND_ENUM) t = t->element;
  switch (t->access) {
    case ACCESS_BOOL: return make_truth(v.value != 0);
    case ACCESS_I8: return (Constant){(uint64_t)(int64_t)(int8_t)v.value, BASIC_INT};
    case ACCESS_U8: return (Constant){(uint8_t)v.value, BASIC_INT};
    case ACCESS_I16: return (Constant){(uint64_t)(int64_t)(int16_t)v.value, BASIC_INT};
    case ACCESS_U16: return (Constant){(uint16_t)v.value, BASIC_INT};
    case ACCESS_I32: return of_type(v.value, BASIC_INT);
    case ACCESS_U32: return of_type(v.value, BASIC_UINT);
    case ACCESS_I64:
      return of_type(v.value, t == c->x.ffi->basic[BASIC_LLONG] ? BASIC_LLONG : BASIC_LONG);
    case ACCESS_U64:
      return of_type(v.value, t == c->x.ffi->basic[BASIC_ULLONG] ? BASIC_ULLONG : BASIC_ULONG);
    default: clexer_error_at(&c->x, position, "cast to a type that is no integer");
  }
}

static Constant parse_parenthesis(CParser *c) {
  CLexer *x = &c->x;
  CPosition position = clexer_position(x);
  clexer_next(x);
  if (cparser_at_type(c)) {
    const CType *t = cparser_type_name(c)->plain;
    clexer_expect(x, ')');
    return convert_constant(c, position, parse_unary(c), t);
  }
  Constant v = cparser_expression(c);
  clexer_expect(x, ')');
  return v;
}

static Constant parse_named(CParser *c) {
  CLexer *x = &c->x;
  const Symbol *s = ffi_lookup(x->ffi->names, x->name);
  if (s == NULL) clexer_error(x, "'%s' is not declared", x->name->data);
  if (s->kind != SYMBOL_CONSTANT) clexer_error(x, "'%s' is no constant", x->name->data);
  CPosition position = clexer_position(x);
  clexer_next(x);
  return convert_constant(c, position, (Constant){(uint64_t)s->value, BASIC_LONG}, s->type->plain);
}

static Constant parse_operand(CParser *c) {
  CLexer *x = &c->x;
  switch (x->token) {
    case CT_NUMBER: {
      Constant v = {x->value, x->value_type};
      clexer_next(x);
      return v;
    }
    case CT_NAME: return parse_named(c);
    case '(': return parse_parenthesis(c);
    case CT_SIZEOF: return size_of(c, false);
    case CT_ALIGNOF: return size_of(c, true);
    default: clexer_error(x, "constant expected");
  }
}

static Constant parse_unary(CParser *c) {
  CLexer *x = &c->x;
  int token = x->token;
  cparser_enter(c);
  Constant v;
  switch (token) {
    case '+': case '-': case '~': case '!':
      clexer_next(x);
      v = parse_unary(c);
      if (token == '!') v = make_truth(v.value == 0);
      else if (token == '-') v = of_type(-v.value, v.type);
      else if (token == '~') v = of_type(~v.value, v.type);
      break;
    default: v = parse_operand(c);
  }
  cparser_leave(c);
  return v;
}

/* ---- expressions --------------------------------------------------------- */

static Constant operators_above(CParser *c, unsigned level) {
  CLexer *x = &c->x;
  cparser_enter(c);
  Constant a = parse_unary(c);
  for (unsigned found; (found = level_of(x->token)) > level;) {
    int token = x->token;
    CPosition position = clexer_position(x);
    clexer_next(x);
    a = apply_binary(c, position, token, a, operators_above(c, found));
  }
  cparser_leave(c);
  return a;
}

Constant cparser_expression(CParser *c) {
  CLexer *x = &c->x;
  Constant v = operators_above(c, 0);
  if (!clexer_accept(x, '?')) return v;
  cparser_enter(c);
  Constant yes = cparser_expression(c);
  clexer_expect(x, ':');
  Constant no = cparser_expression(c);
  cparser_leave(c);
  return of_type(v.value != 0 ? yes.value : no.value, common_type(yes.type, no.type));
}

size_t cparser_count(CParser *c, size_t most, const char *what) {
  CPosition position = clexer_position(&c->x);
  Constant v = cparser_expression(c);
  if (!is_unsigned(v.type) && (int64_t)v.value < 0)
    clexer_error_at(&c->x, position, "%s is negative", what);
  if (v.value > most) clexer_error_at(&c->x, position, "%s is too large", what);
  return v.value;
}
