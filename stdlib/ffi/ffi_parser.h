/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_parser.h: C declarations.
 *
 * For the rest of the library:
 *   cparser_declarations  the text of ffi.cdef
 *   cparser_type          the text of a type, as in ffi.new
 * cparser_constant      a constant expression All three raise "input:LINE:COLUMN:
 * message". If a text fails, its declarations before the error are undone.
 *
 * The rest of this header is for the parser's own files. A parser never lets the
 * collector run, so names that only C variables hold stay alive; names kept in the
 * type table go through ffi_keep_string.
 *
 * Grammar: recursive descent, each level counted against MAX_DEPTH. A declarator is
 * read from the name outwards into a list of modifiers, and the type is built from
 * the list's end: `int *(*f[3])(void)` gives [3], *, (void), *.
 */
#ifndef SAROS_STDLIB_FFI_PARSER_H
#define SAROS_STDLIB_FFI_PARSER_H

#include "ffi_core.h"

/* Parses the text of ffi.cdef. The parameters for `$` are at stack indices
   parameter..last. */
void cparser_declarations(lua_State *L, Ffi *ffi, const char *text, size_t size, int parameter,
                          int last);
CType *cparser_type(lua_State *L, Ffi *ffi, const char *text, size_t size, int parameter, int last);
int64_t cparser_constant(lua_State *L, Ffi *ffi, const char *text, size_t size, CType **type);
void cparser_open(lua_State *L, Ffi *ffi); /* size_t, int64_t, ... */

/* ---- between the parser's files ------------------------------------------ */

#include "ffi_lexer.h"

#define MAX_DEPTH 64
#define MAX_MODIFIERS 24
#define MAX_PARAMETERS 120

/* A change to take back if the text has an error. */
typedef struct Undo {
  struct Undo *next;
  Table *table; /* the table where `name` was defined; if NULL, `record` was completed */
  String *name;
  CType *record;
} Undo;

typedef struct CParser {
  CLexer x; /* first */
  Undo *undo;
  unsigned depth;
} CParser;

typedef struct Mode {
  enum { MODE_NONE, MODE_INTEGER, MODE_FLOAT, MODE_COMPLEX } kind;
  uint32_t size; /* size in bytes; for a complex number, of each part */
} Mode;

typedef struct Attributes {
  bool packed;
  uint32_t align;  /* alignment that was asked for, or 0 */
  Mode mode;       /* mode of the declared number */
  uint32_t vector; /* size of a vector in bytes; 0 if it is not a vector */
} Attributes;

typedef enum Storage { STORAGE_NONE, STORAGE_TYPEDEF, STORAGE_EXTERN, STORAGE_STATIC } Storage;

typedef struct Specifiers {
  CType *type;
  Storage storage;
  Attributes attributes;
  bool is_definition; /* a struct, union or enum was named, so no declarator is needed */
} Specifiers;

typedef struct Modifier {
  enum { MOD_POINTER, MOD_REFERENCE, MOD_ARRAY, MOD_FUNCTION } kind;
  uint8_t quals;
  uint8_t flags;    /* flags of an array */
  bool variadic;
  uint32_t nparams;
  size_t count;     /* number of elements of an array */
  CType **params;
  String **names;
  CPosition position;
} Modifier;

typedef struct Declarator {
  String *name;     /* NULL for an abstract declarator */
  String *link;
  CPosition position;
  Attributes attributes;
  unsigned n;
  Modifier modifiers[MAX_MODIFIERS]; /* from the name outwards */
} Declarator;

typedef struct Constant {
  uint64_t value;
  BasicType type;
} Constant;

void cparser_enter(CParser *c); /* enters a deeper level */
#define cparser_leave(c) ((c)->depth--)
void cparser_define(CParser *c, Table *table, String *name, void *what);
void cparser_note_record(CParser *c, CType *record);
/* Defines a constant, unless it exists with the same value. */
void cparser_define_constant(CParser *c, String *name, CPosition position, CType *type,
                             int64_t value, CType *of_enum);

/* ---- ffi_specifiers.c ---- */
bool cparser_at_type(CParser *c);
void cparser_specifiers(CParser *c, Specifiers *s);
void cparser_attributes(CParser *c, Attributes *a);
/* Returns the number type that `mode` makes of t, or the vector of it, or t itself. */
CType *cparser_modified(CParser *c, CPosition position, CType *t, const Attributes *a);

/* Parses a struct or union, behind that word (ffi_record.c). */
CType *cparser_record(CParser *c, bool is_union);

/* ---- ffi_declarator.c ---- */
/* Whether a declarator has a name. It is optional for a parameter. */
typedef enum Naming { NAME_REQUIRED, NAME_FORBIDDEN, NAME_OPTIONAL } Naming;
void cparser_declarator(CParser *c, Declarator *d, Naming naming);
/* Returns the type that the declarator makes of the type of the specifiers. */
CType *cparser_declared_type(CParser *c, const Declarator *d, const Specifiers *s);
CType *cparser_type_name(CParser *c);

/* ---- ffi_expression.c ---- */
Constant cparser_expression(CParser *c);
/* Parses a size or width: an integer from 0 to `most`. */
size_t cparser_count(CParser *c, size_t most, const char *what);

#endif
