/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_declarator.c: declarators: pointers, arrays, functions around a name. */
#include "ffi_parser.h"
#include "str.h"

#include <string.h>

static Modifier *add_modifier(CParser *c, Declarator *d, int kind) {
  if (d->n == MAX_MODIFIERS) clexer_error(&c->x, "declarator has too many parts");
  Modifier *m = &d->modifiers[d->n++];
  memset(m, 0, sizeof *m);
  m->kind = kind;
  m->position = clexer_position(&c->x);
  return m;
}

/* ---- parameters ---------------------------------------------------------- */

/* Returns the type that a parameter is passed as: arrays and functions are passed as
   pointers; qualifiers of the copy have no meaning. */
static CType *parameter_type(lua_State *L, CType *t) {
  if (t->kind == CKIND_ARRAY) return ctype_pointer(L, t->element);
  if (t->kind == CKIND_FUNCTION) return ctype_pointer(L, t);
  return t->plain;
}

/* Parses one parameter. Returns false for the list `(void)`. */
static bool one_parameter(CParser *c, CType **type, String **name, bool first) {
  CLexer *x = &c->x;
  Specifiers s;
  Declarator d;
  CPosition position = clexer_position(x);
  cparser_specifiers(c, &s);
  if (s.storage != STORAGE_NONE) clexer_error_at(x, position, "a parameter has no storage class");
  cparser_declarator(c, &d, NAME_OPTIONAL);
  CType *t = cparser_declared_type(c, &d, &s);
  if (t->kind == CKIND_VOID) {
    if (first && d.name == NULL && x->token == ')') return false;
    clexer_error_at(x, position, "parameter of type void");
  }
  *type = parameter_type(x->L, t);
  *name = ffi_keep_string(x->L, x->ffi, d.name);
  return true;
}

/* Parses a parameter list, behind its '('. */
static void parse_parameters(CParser *c, Modifier *m) {
  CLexer *x = &c->x;
  CType *types[MAX_PARAMETERS];
  String *names[MAX_PARAMETERS];
  uint32_t n = 0;
  cparser_enter(c);
  while (x->token != ')') {
    if (clexer_accept(x, CT_ELLIPSIS)) {
      m->variadic = true;
      break;
    }
    if (n == MAX_PARAMETERS) clexer_error(x, "more than %d parameters", MAX_PARAMETERS);
    if (!one_parameter(c, &types[n], &names[n], n == 0)) break;
    n++;
    if (!clexer_accept(x, ',')) break;
    if (x->token == ')') clexer_error(x, "parameter expected");
  }
  clexer_expect(x, ')');
  cparser_leave(c);
  m->nparams = n;
  m->params = ffi_memory(x->L, x->ffi, (n + 1) * sizeof *types);
  m->names = ffi_memory(x->L, x->ffi, (n + 1) * sizeof *names);
  if (n == 0) return;
  memcpy(m->params, types, n * sizeof *types);
  memcpy(m->names, names, n * sizeof *names);
}

/* ---- parts of a declarator ----------------------------------------------- */

/* Parses the bound of an array, behind '['. The first bound of a parameter has no
 * meaning: the parameter is a pointer, whatever expression is there. */
static void array_bound(CParser *c, Modifier *m, bool is_parameter) {
  CLexer *x = &c->x;
  while (clexer_accept(x, CT_STATIC) || clexer_accept(x, CT_CONST) ||
         clexer_accept(x, CT_RESTRICT) || clexer_accept(x, CT_VOLATILE)) {}
  m->count = COUNT_UNKNOWN;
  if (is_parameter) clexer_skip_code(x, "]");
  else if (clexer_accept(x, '?')) m->flags = CTYPE_VLA;
  else if (x->token == ']') m->flags = CTYPE_FLEXIBLE;
  else m->count = cparser_count(c, PTRDIFF_MAX, "array size");
  clexer_expect(x, ']');
}

static void parse_suffixes(CParser *c, Declarator *d, Naming naming) {
  CLexer *x = &c->x;
  for (;;) {
    if (x->token == '[') {
      Modifier *m = add_modifier(c, d, MOD_ARRAY);
      clexer_next(x);
      array_bound(c, m, naming == NAME_OPTIONAL && d->n == 1);
    } else if (x->token == '(') {
      Modifier *m = add_modifier(c, d, MOD_FUNCTION);
      clexer_next(x);
      parse_parameters(c, m);
    } else {
      return;
    }
  }
}

/* Parses the pointers before a declarator, the outermost last. Attributes between the
 * pointers are ignored, except for the size of a vector. */
static unsigned parse_pointers(CParser *c, Modifier *list, uint32_t *vector) {
  CLexer *x = &c->x;
  unsigned n = 0;
  for (;;) {
    Attributes a = {.align = 0};
    cparser_attributes(c, &a);
    if (a.vector != 0) *vector = a.vector;
    if (x->token == '*' || x->token == '&') {
      if (n == MAX_MODIFIERS) clexer_error(x, "declarator has too many parts");
      memset(&list[n], 0, sizeof *list);
      list[n].kind = x->token == '*' ? MOD_POINTER : MOD_REFERENCE;
      list[n++].position = clexer_position(x);
    } else if (n > 0 && x->token == CT_CONST) {
      list[n - 1].quals |= QUAL_CONST;
    } else if (n > 0 && x->token == CT_VOLATILE) {
      list[n - 1].quals |= QUAL_VOLATILE;
    } else if (n == 0 || x->token != CT_RESTRICT) {
      return n;
    }
    clexer_next(x);
  }
}

static void declarator_part(CParser *c, Declarator *d, Naming naming);

/* Tells whether a '(' begins a declarator in parentheses, rather than the parameters of
   an abstract declarator. */
static bool is_parenthesis(CParser *c, Naming naming) {
  CLexer *x = &c->x;
  if (x->token != '(') return false;
  if (naming == NAME_REQUIRED) return true;
  CLexer saved = *x;
  clexer_next(x);
  bool inner = x->token == '*' || x->token == '&' || x->token == '(' || x->token == '[' ||
               x->token == CT_CALLCONV || x->token == CT_ATTRIBUTE ||
               (x->token == CT_NAME && !cparser_at_type(c));
  *x = saved;
  return inner;
}

static void declarator_part(CParser *c, Declarator *d, Naming naming) {
  CLexer *x = &c->x;
  Modifier list[MAX_MODIFIERS];
  cparser_enter(c);
  unsigned n = parse_pointers(c, list, &d->attributes.vector);
  if (is_parenthesis(c, naming)) {
    clexer_next(x);
    declarator_part(c, d, naming);
    clexer_expect(x, ')');
  } else if (x->token == CT_NAME && naming != NAME_FORBIDDEN) {
    d->name = x->name;
    d->position = clexer_position(x);
    clexer_next(x);
  } else if (naming == NAME_REQUIRED) {
    clexer_error(x, "name expected");
  }
  parse_suffixes(c, d, naming);
  while (n > 0) {
    Modifier *m = add_modifier(c, d, MOD_POINTER);
    *m = list[--n];
  }
  cparser_leave(c);
}

static void link_name(CParser *c, Declarator *d) {
  CLexer *x = &c->x;
  if (!clexer_accept(x, CT_ASM)) return;
  clexer_expect(x, '(');
  if (x->token != CT_STRING) clexer_error(x, "string expected");
  d->link = x->name;
  clexer_next(x);
  while (x->token == CT_STRING) { /* adjacent strings are one string */
    lua_State *L = x->L;
    char text[512];
    size_t a = string_len(d->link), b = string_len(x->name);
    if (a + b > sizeof text) clexer_error(x, "string is too long");
    memcpy(text, d->link->data, a);
    memcpy(text + a, x->name->data, b);
    d->link = string_new(L, text, a + b);
    clexer_next(x);
  }
  clexer_expect(x, ')');
}

void cparser_declarator(CParser *c, Declarator *d, Naming naming) {
  d->name = d->link = NULL;
  d->position = clexer_position(&c->x);
  d->attributes = (Attributes){.align = 0};
  d->n = 0;
  declarator_part(c, d, naming);
  cparser_attributes(c, &d->attributes);
  link_name(c, d);
  cparser_attributes(c, &d->attributes);
}

/* ---- types --------------------------------------------------------------- */

static CType *array_type(CParser *c, const Modifier *m, CType *t) {
  CLexer *x = &c->x;
  if (t->kind == CKIND_FUNCTION || t->kind == CKIND_REFERENCE || t->kind == CKIND_VOID)
    clexer_error_at(x, m->position, "array of %s",
                    t->kind == CKIND_VOID       ? "void"
                    : t->kind == CKIND_FUNCTION ? "functions"
                                                : "references");
  if (t->flags & CTYPE_VLS || t->size == SIZE_UNKNOWN)
    clexer_error_at(x, m->position, "array of a type of unknown size");
  if (m->count != COUNT_UNKNOWN && t->size > 0 && m->count > PTRDIFF_MAX / t->size)
    clexer_error_at(x, m->position, "array is too large");
  return ctype_array(x->L, t, m->count, m->flags);
}

static CType *function_type(CParser *c, const Modifier *m, CType *t) {
  if (t->kind == CKIND_FUNCTION || t->kind == CKIND_ARRAY)
    clexer_error_at(&c->x, m->position, "function that returns %s",
                    t->kind == CKIND_ARRAY ? "an array" : "a function");
  return ctype_function(c->x.L, t->plain, m->params, m->nparams, m->variadic);
}

CType *cparser_declared_type(CParser *c, const Declarator *d, const Specifiers *s) {
  lua_State *L = c->x.L;
  CType *t = cparser_modified(c, d->position, s->type, &s->attributes);
  for (unsigned i = d->n; i-- > 0;) {
    const Modifier *m = &d->modifiers[i];
    switch (m->kind) {
      case MOD_POINTER: case MOD_REFERENCE:
        if (t->kind == CKIND_REFERENCE)
          clexer_error_at(&c->x, m->position, "pointer or reference to a reference");
        t = m->kind == MOD_POINTER ? ctype_qualified(L, ctype_pointer(L, t), m->quals)
                                   : ctype_reference(L, t);
        break;
      case MOD_ARRAY: t = array_type(c, m, t); break;
      default: t = function_type(c, m, t);
    }
  }
  return cparser_modified(c, d->position, t, &d->attributes);
}

CType *cparser_type_name(CParser *c) {
  Specifiers s;
  Declarator d;
  cparser_specifiers(c, &s);
  if (s.storage != STORAGE_NONE) clexer_error(&c->x, "a type's name has no storage class");
  cparser_declarator(c, &d, NAME_FORBIDDEN);
  return cparser_declared_type(c, &d, &s);
}
