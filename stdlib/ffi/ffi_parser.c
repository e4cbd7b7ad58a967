/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_parser.c: declarations of a text, its types and constants (interface and
 * design: ffi_parser.h). */
#include "call.h"
#include "ffi_parser.h"
#include "throw.h"

#include <string.h>

/* ---- what the parts share ------------------------------------------------ */

void cparser_enter(CParser *c) {
  if (++c->depth > MAX_DEPTH) clexer_error(&c->x, "nested too deeply");
}

static void note_parsed(CParser *c, Table *table, String *name, CType *record) {
  Undo *u = ffi_memory(c->x.L, c->x.ffi, sizeof *u);
  *u = (Undo){c->undo, table, name, record};
  c->undo = u;
}

void cparser_define(CParser *c, Table *table, String *name, void *what) {
  ffi_keep_string(c->x.L, c->x.ffi, name);
  note_parsed(c, table, name, NULL);
  ffi_define(c->x.L, table, name, what);
}

void cparser_note_record(CParser *c, CType *record) { note_parsed(c, NULL, NULL, record); }

/* Undoes what an erroneous text declared. */
static void undo_all(CParser *c) {
  for (Undo *u = c->undo; u != NULL; u = u->next) {
    if (u->table != NULL) {
      ffi_define(c->x.L, u->table, u->name, NULL);
    } else if (u->record->kind == CKIND_ENUM) {
      u->record->flags &= (uint8_t)~CTYPE_DEFINED;
    } else {
      Record *r = u->record->record;
      u->record->size = SIZE_UNKNOWN;
      u->record->flags = 0;
      r->complete = 0;
      r->fields = r->lookup = NULL;
      r->nfields = 0;
      ctype_completed(u->record);
    }
  }
}

/* ---- names --------------------------------------------------------------- */

static const char *const symbol_words[] = {"a type", "a function", "a variable", "a constant"};

/* Declares a symbol and returns it, or NULL if the name was declared as the same kind of
 * thing before: the first declaration stays. */
static Symbol *declare_symbol(CParser *c, String *name, CPosition position, SymbolKind kind,
                              CType *type) {
  CLexer *x = &c->x;
  Symbol *s = ffi_lookup(x->ffi->names, name);
  if (s != NULL) {
    if (s->kind != kind)
      clexer_error_at(x, position, "'%s' redefined: it is %s already", name->data,
                      symbol_words[s->kind]);
    return NULL;
  }
  s = ffi_memory(x->L, x->ffi, sizeof *s);
  s->kind = kind;
  s->type = type;
  s->name = s->link = ffi_keep_string(x->L, x->ffi, name);
  cparser_define(c, x->ffi->names, name, s);
  return s;
}

void cparser_define_constant(CParser *c, String *name, CPosition position, CType *type,
                             int64_t value, CType *of_enum) {
  Symbol *s = declare_symbol(c, name, position, SYMBOL_CONSTANT, type);
  if (s != NULL) {
    s->value = value;
    s->of_enum = of_enum;
    return;
  }
  s = ffi_lookup(c->x.ffi->names, name);
  if (s->value != value)
    clexer_error_at(&c->x, position, "'%s' redefined with another value", name->data);
}

/* ---- declarations -------------------------------------------------------- */

static CType *typedef_type(CParser *c, const Specifiers *s, const Declarator *d, CType *t) {
  uint32_t align =
      s->attributes.align > d->attributes.align ? s->attributes.align : d->attributes.align;
  return align == 0 || t->kind == CKIND_FUNCTION ? t : ctype_aligned(c->x.L, t, align);
}

static void static_constant(CParser *c, const Declarator *d, CType *t) {
  CLexer *x = &c->x;
  clexer_expect(x, '=');
  cparser_define_constant(c, d->name, d->position, t, (int64_t)cparser_expression(c).value, NULL);
}

/* Parses a function or variable. Returns NULL if it was declared before. */
static Symbol *parse_external(CParser *c, const Declarator *d, CType *t) {
  CLexer *x = &c->x;
  bool is_function = t->kind == CKIND_FUNCTION;
  if (t->kind == CKIND_VOID) clexer_error_at(x, d->position, "variable of type void");
  SymbolKind kind = is_function ? SYMBOL_FUNCTION : SYMBOL_VARIABLE;
  Symbol *s = declare_symbol(c, d->name, d->position, kind, t);
  if (s == NULL) return NULL;
  if (d->link != NULL) s->link = ffi_keep_string(x->L, x->ffi, d->link);
  if (is_function && d->n > 0 && d->modifiers[0].kind == MOD_FUNCTION)
    s->params = d->modifiers[0].names;
  return s;
}

/* Declares a static variable: one with an integer constant as its value becomes a
   constant; other values are left to C. */
static void static_variable(CParser *c, const Declarator *d, CType *t) {
  CLexer *x = &c->x;
  if (is_integer_type(t) && t->quals & QUAL_CONST) {
    static_constant(c, d, t);
    return;
  }
  if (x->token != '=') clexer_error_at(x, d->position, "only integer constants may be static");
  Symbol *s = parse_external(c, d, t);
  if (s != NULL) s->internal = true;
  clexer_skip_code(x, ",;");
}

/* Parses a declarator with what follows it. Returns true for a function with its body,
   which ends the declaration. */
static bool init_declarator(CParser *c, const Specifiers *s, bool first) {
  CLexer *x = &c->x;
  Declarator d;
  cparser_declarator(c, &d, NAME_REQUIRED);
  CType *t = cparser_declared_type(c, &d, s);
  bool is_function = t->kind == CKIND_FUNCTION;
  Symbol *external = NULL;
  if (s->storage == STORAGE_TYPEDEF)
    declare_symbol(c, d.name, d.position, SYMBOL_TYPEDEF, typedef_type(c, s, &d, t));
  else if (s->storage == STORAGE_STATIC && !is_function) static_variable(c, &d, t);
  else external = parse_external(c, &d, t);
  if (!first || !is_function || s->storage == STORAGE_TYPEDEF || x->token != '{') return false;
  if (s->storage == STORAGE_STATIC && external != NULL) external->internal = true;
  clexer_skip_code(x, "");
  return true;
}

static void static_assertion(CParser *c) {
  CLexer *x = &c->x;
  CPosition position = clexer_position(x);
  clexer_next(x);
  clexer_expect(x, '(');
  Constant v = cparser_expression(c);
  const char *message = "it does not hold";
  if (clexer_accept(x, ',')) {
    if (x->token != CT_STRING) clexer_error(x, "string expected");
    message = x->name->data;
    clexer_next(x);
  }
  if (v.value == 0) clexer_error_at(x, position, "static assertion: %s", message);
  clexer_expect(x, ')');
}

/* Skips `extern "C"`, whose braces are read through; returns whether it was there. */
static bool parse_linkage(CParser *c) {
  CLexer *x = &c->x;
  if (x->token != CT_EXTERN) return false;
  CLexer saved = *x;
  clexer_next(x);
  if (x->token != CT_STRING) {
    *x = saved;
    return false;
  }
  clexer_next(x);
  return true;
}

static void parse_declarations(CParser *c, int end);

static void parse_declaration(CParser *c) {
  CLexer *x = &c->x;
  Specifiers s;
  if (clexer_accept(x, ';')) return;
  if (parse_linkage(c)) {
    if (!clexer_accept(x, '{')) return parse_declaration(c);
    cparser_enter(c);
    parse_declarations(c, '}');
    cparser_leave(c);
    clexer_next(x);
    return;
  }
  if (x->token == CT_STATIC_ASSERT) {
    static_assertion(c);
    clexer_expect(x, ';');
    return;
  }
  cparser_specifiers(c, &s);
  if (x->token == ';' || (s.is_definition && x->token == CT_END)) {
    if (!s.is_definition) clexer_error(x, "name expected");
  } else {
    if (init_declarator(c, &s, true)) return;
    while (clexer_accept(x, ',')) init_declarator(c, &s, false);
  }
  if (x->token != CT_END) clexer_expect(x, ';');
}

static void parse_declarations(CParser *c, int end) {
  char text[CTOKEN_TEXT];
  while (c->x.token != end) {
    if (c->x.token == CT_END) clexer_error(&c->x, "'%s' expected", clexer_token_text(end, text));
    parse_declaration(c);
  }
}

/* ---- entry --------------------------------------------------------------- */

typedef struct Request {
  CParser parser;
  Ffi *ffi;
  const char *text;
  size_t size;
  int parameter, last;
  enum { WANT_DECLARATIONS, WANT_TYPE, WANT_CONSTANT } want;
  CType *type;
  int64_t value;
} Request;

static void parse_text(lua_State *L, void *argument) {
  Request *r = argument;
  CParser *c = &r->parser;
  clexer_init(&c->x, L, r->ffi, r->text, r->size, r->parameter, r->last);
  if (r->want == WANT_DECLARATIONS) {
    parse_declarations(c, CT_END);
  } else if (r->want == WANT_TYPE) {
    r->type = cparser_type_name(c);
    if (c->x.token != CT_END) clexer_error(&c->x, "end expected");
  } else {
    Constant v = cparser_expression(c);
    if (c->x.token != CT_END) clexer_error(&c->x, "end expected");
    r->value = (int64_t)v.value;
    r->type = r->ffi->basic[v.type];
  }
  if (c->x.parameter <= c->x.last_parameter) clexer_error(&c->x, "more parameters than '$'");
}

/* Parses the text. If that fails, its types are undone before anything is collected. */
static void parse_or_undo(lua_State *L, void *argument) {
  Request *r = argument;
  Domain *d = L->domain;
  Journal journal;
  const uint8_t running = d->gc.running;
  ffi_journal_begin(r->ffi, &journal);
  int status = vm_protect_raw(L, parse_text, r);
  if (status != LUA_OK) undo_all(&r->parser);
  ffi_journal_end(L, r->ffi, status != LUA_OK);
  d->gc.running = running; /* the lexer's errors hold the collector */
  if (status != LUA_OK) error_throw(L, status);
}

static void run_parser(lua_State *L, Request *r) {
  r->parser.undo = NULL;
  r->parser.depth = 0;
  r->parser.x.L = L;
  r->parser.x.ffi = r->ffi;
  int status = vm_protect(L, parse_or_undo, r, stack_save(L, L->top), L->errfunc);
  if (status == LUA_OK) return;
  if (status == LUA_ERRMEM || status == LUA_ERRERR) L->top--;
  error_throw(L, status);
}

void cparser_declarations(lua_State *L, Ffi *ffi, const char *text, size_t size, int parameter,
                          int last) {
  Request r = {.ffi = ffi,
               .text = text,
               .size = size,
               .parameter = parameter,
               .last = last,
               .want = WANT_DECLARATIONS};
  run_parser(L, &r);
}

CType *cparser_type(lua_State *L, Ffi *ffi, const char *text, size_t size, int parameter,
                    int last) {
  Request r = {.ffi = ffi,
               .text = text,
               .size = size,
               .parameter = parameter,
               .last = last,
               .want = WANT_TYPE};
  run_parser(L, &r);
  return r.type;
}

int64_t cparser_constant(lua_State *L, Ffi *ffi, const char *text, size_t size, CType **type) {
  Request r = {.ffi = ffi, .text = text, .size = size, .parameter = 1, .want = WANT_CONSTANT};
  run_parser(L, &r);
  *type = r.type;
  return r.value;
}

/* Names that C gets from headers. va_list can only be passed on: as a parameter it is a
 * pointer on the supported machines. */
static const char builtin[] =
    "typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef "
    "unsigned short uint16_t;"
    "typedef int int32_t; typedef unsigned int uint32_t; typedef long int64_t; typedef unsigned "
    "long uint64_t;"
    "typedef long intptr_t, ptrdiff_t, ssize_t, time_t, intmax_t, off_t; typedef unsigned long "
    "uintptr_t, size_t, uintmax_t;"
    "typedef unsigned short char16_t; typedef unsigned int char32_t;"
#ifdef __aarch64__
    "typedef unsigned int wchar_t;"
#else
    "typedef int wchar_t;"
#endif
    "typedef __int128 __int128_t; typedef unsigned __int128 __uint128_t;"
    "typedef float _Float32; typedef double _Float64, _Float32x; typedef long double _Float64x;"
    "typedef void *va_list, *__builtin_va_list, *__gnuc_va_list; typedef struct _IO_FILE FILE;";

static CType *complex_of(lua_State *L, Ffi *ffi, const char *text, const char *name) {
  CType *t = cparser_type(L, ffi, text, strlen(text), 1, 0);
  t->name = ffi_keep_string(L, ffi, string_from_c(L, name));
  t->record->anonymous = 0;
  return t;
}

/* Makes the types of complex numbers, and the types of which only the bytes are known. On
 * x86-64 a complex number is passed as its struct (section 3.2.3 of the psABI), except a
 * result of type complex long double, which is in two registers of the x87. On arm64 all
 * are passed as their struct. */
static void open_extended(lua_State *L, Ffi *ffi) {
  ffi->complex[COMPLEX_FLOAT] = complex_of(L, ffi, "struct { float re, im; }", "_Complex float");
  ffi->complex[COMPLEX_DOUBLE] = complex_of(L, ffi, "struct { double re, im; }", "_Complex double");
  CType *widest = complex_of(L, ffi, "struct { long double re, im; }", "_Complex long double");
  widest->record->unsupported = "a _Complex long double cannot be passed by value";
  ffi->complex[COMPLEX_LDOUBLE] = widest;
  const char *integers = "128-bit integers are not supported";
  ffi->int128[0] = ctype_opaque(L, ffi, "__int128", 16, 16, integers);
  ffi->int128[1] = ctype_opaque(L, ffi, "unsigned __int128", 16, 16, integers);
  const char *wide = "128-bit floats are not supported",
             *narrow = "16-bit floats are not supported";
  ffi->float128[0] = ctype_opaque(L, ffi, "_Float128", 16, 16, wide);
  ffi->float128[1] = ctype_opaque(L, ffi, "_Complex _Float128", 32, 16, wide);
  ffi->float16[0] = ctype_opaque(L, ffi, "_Float16", 2, 2, narrow);
  ffi->float16[1] = ctype_opaque(L, ffi, "_Complex _Float16", 4, 2, narrow);
}

void cparser_open(lua_State *L, Ffi *ffi) {
  open_extended(L, ffi);
  cparser_declarations(L, ffi, builtin, sizeof builtin - 1, 1, 0);
}
