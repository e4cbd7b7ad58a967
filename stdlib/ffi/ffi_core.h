/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_core.h: the data of the foreign function interface (doc/FFI.md).
 *
 * Files
 *   ffi_types.c       the type table: making and interning types, their names
 *   ffi_lexer.[ch]    tokens of declarations
 *   ffi_parser.[ch]   declarations and type names; ffi_specifiers.c, ffi_record.c,
 *                     ffi_declarator.c, ffi_expression.c are its parts
 *   ffi_layout.c      sizes and offsets of structs, as gcc lays them out
 *   ffi_convert.c     one value between Lua and C memory
 *   ffi_initialize.c  initializers: of ffi.new and of assignments to aggregates
 *   ffi_cdata.c       cdata objects and access to their parts
 *   ffi_arith.c       operators
 *   ffi_abi.c         types as libffi sees them
 *   ffi_call.c        calls of C functions
 *   ffi_callback.c    guest functions that C calls
 *   ffi_library.c     symbols of libraries
 *   lib_ffi.c         the module
 *
 * Everything belongs to one domain: its Ffi (ffi_open makes it) is found from the
 * module's functions (their first upvalue) and from each type. Nothing is shared
 * between domains and no variable is global.
 *
 * Memory. Types, symbols and what belongs to them are not freed while the domain lives,
 * so pointers to them stay valid. They are in blocks that are userdata, kept alive by the
 * table Ffi.kept; so they are freed with the heap, after the last finalizer, and count
 * for the domain's limit. Only the objects that an erroneous text has made are freed
 * earlier: a journal lists the objects that were kept for the text, and the links from
 * older types to the text's types.
 *
 * Types are interned: two types are the same type if and only if they have the same
 * address. Qualifiers (const, volatile) make a type of their own, whose `plain` is
 * the type without them; a struct, union or enum is one object per declaration.
 *
 * A cdata is a userdata of kind USERDATA_CDATA with a Cdata as payload: a type, and the
 * address where the value is. A cdata that owns its value has it behind the Cdata in the
 * same payload; a reference has the address of a part of another object. Pointers are
 * values like others: their 8 bytes are behind the Cdata. A reference or pointer that was
 * made from another object keeps that object alive by its user value. The C library's
 * memory is never owned by a cdata.
 *
 * Collection. Only collect_point calls gc_check, when everything needed is on the stack.
 * Between two collect_points, objects may be held in C variables.
 */
#ifndef SAROS_STDLIB_FFI_CORE_H
#define SAROS_STDLIB_FFI_CORE_H

#include <pthread.h>

#include "gc_inline.h"
#include "func.h"
#include "lauxlib.h"
#include "str.h"
#include "table.h"

typedef struct Ffi Ffi;
typedef struct CType CType;
typedef struct Record Record;
typedef struct Signature Signature;
typedef struct CallPlan CallPlan;
typedef struct Callback Callback;

/* ---- types --------------------------------------------------------------- */

typedef enum CKind {
  CKIND_VOID, CKIND_BOOL, CKIND_INT, CKIND_FLOAT, CKIND_ENUM,
  CKIND_POINTER, CKIND_REFERENCE, CKIND_ARRAY, CKIND_RECORD, CKIND_FUNCTION
} CKind;

/* How a value of a type is read from memory and written to it. */
typedef enum CAccess {
  ACCESS_NONE, /* void, function */
  ACCESS_BOOL,
  ACCESS_I8, ACCESS_U8, ACCESS_I16, ACCESS_U16, ACCESS_I32, ACCESS_U32, ACCESS_I64, ACCESS_U64,
  ACCESS_F32, ACCESS_F64, ACCESS_LONG_DOUBLE,
  ACCESS_POINTER, ACCESS_REFERENCE,
  ACCESS_AGGREGATE /* array, struct, union: by address */
} CAccess;

#define access_is_integer(a) ((a) >= ACCESS_BOOL && (a) <= ACCESS_U64)
#define access_is_number(a) ((a) >= ACCESS_BOOL && (a) <= ACCESS_LONG_DOUBLE)

#define QUAL_CONST 1
#define QUAL_VOLATILE 2

/* CType.flags */
#define CTYPE_UNSIGNED 1
/* strings convert to arrays of char, signed char and unsigned char */
#define CTYPE_BYTE 2
#define CTYPE_VLA 4      /* array [?] */
/* array [], or [?] as last member, or a struct that ends with one of these */
#define CTYPE_FLEXIBLE 8
#define CTYPE_VLS 16     /* struct whose size is given when it is made */
#define CTYPE_DEFINED 32 /* enum that has been defined */

#define SIZE_UNKNOWN SIZE_MAX
#define COUNT_UNKNOWN SIZE_MAX

struct CType {
  uint8_t kind;     /* CKind */
  uint8_t access;   /* CAccess */
  uint8_t quals;    /* QUAL_* */
  uint8_t flags;    /* CTYPE_* */
  uint32_t align;
  /* size in bytes; SIZE_UNKNOWN if the type is incomplete, or if only an object has a
     size */
  size_t size;
  CType *plain;     /* the type without qualifiers; the type itself if it has none */
  /* the target of a pointer or reference, the element of an array, the integer type of an
     enum, the result of a function */
  CType *element;
  size_t count;     /* elements of an array, or COUNT_UNKNOWN */
  Record *record;
  Signature *signature;
  String *name;     /* text of a basic type; "struct foo" for records and enums */
  CType *pointer_to;   /* types derived from this one, or NULL */
  CType *reference_to;
  CType *qualified[4]; /* qualified forms of a plain type, by quals; [0] is unused */
  CType *next;      /* next type in its bucket of Ffi.derived */
  Table *metatable; /* metatable of ffi.metatype; set in the plain type */
  Table *cdata_metatable; /* if NULL, Ffi.cdata_metatable is used */
  Ffi *ffi;
};

#define is_aggregate(t) ((t)->access == ACCESS_AGGREGATE)
#define is_function_pointer(t) ((t)->kind == CKIND_POINTER && (t)->element->kind == CKIND_FUNCTION)
#define is_integer_type(t) access_is_integer((t)->access)
#define is_numeric_type(t) access_is_number((t)->access)

typedef struct Field {
  String *name;     /* NULL for an anonymous struct or union, or padding */
  CType *type;
  size_t offset;    /* offset in bytes; for a bit-field, of the unit that holds it */
  uint8_t bits;     /* width of a bit-field; 0 if it has none */
  uint8_t shift;    /* position of the lowest bit in the unit */
  uint8_t unit;     /* size in bytes of the unit that is read and written; up to 9 */
  uint8_t is_bits;  /* the field was declared with a width (which may be 0) */
  uint8_t packed;   /* __attribute__((packed)) on the member */
  uint8_t is_const; /* static const; the field has `value`, and is not in memory */
  uint32_t align;   /* the alignment asked for; 0 for the type's own */
  int64_t value;
} Field;

struct Record {
  uint8_t is_union;
  uint8_t complete;
  uint8_t anonymous; /* without a tag */
  /* name of a part of which only the bytes are known: the record itself, or a member at
     any depth; or NULL */
  const char *unsupported;
  uint32_t nfields;
  Field *fields;     /* as declared */
  Field *lookup;     /* hash table by the address of the name, anonymous parts included */
  uint32_t lookup_mask;
  CType *type;
  struct _ffi_type *abi; /* the type for libffi, made on demand (ffi_abi.c) */
};

struct Signature {
  uint32_t nparams;
  bool variadic;
  CallPlan *plan; /* made at the first call */
  CType *params[];
};

/* What an identifier of the ordinary name space stands for. */
typedef enum SymbolKind {
  SYMBOL_TYPEDEF,
  SYMBOL_FUNCTION,
  SYMBOL_VARIABLE,
  SYMBOL_CONSTANT
} SymbolKind;

typedef struct Symbol {
  SymbolKind kind;
  CType *type;
  int64_t value;    /* value of a constant */
  String *name;
  String *link;     /* name for the linker, from __asm__ */
  CType *of_enum;   /* the enum of a constant, or NULL */
  bool internal;    /* a static function or variable of a header: no library has it */
  String **params;  /* names of a function's parameters (each may be NULL), or NULL */
  unsigned event;   /* id of its span in recordings; 0 if it is not registered yet */
} Symbol;

typedef enum BasicType {
#define BASIC(id, name, kind, access, ctype, flags) BASIC_##id,
#include "ffi_basic.def"
#undef BASIC
  BASIC_COUNT
} BasicType;

/* Complex numbers are structs of two members, re and im, which is their layout. */
typedef enum ComplexType {
  COMPLEX_FLOAT,
  COMPLEX_DOUBLE,
  COMPLEX_LDOUBLE,
  COMPLEX_COUNT
} ComplexType;

#define DERIVED_BUCKETS 1024

/* A change that the text being parsed has made outside of its own memory. The journal has
   the changes in order. */
typedef struct JournalNote {
  /* the link that was set, in an older type or in a bucket; if NULL, `kept` is a new key
     of Ffi.kept */
  CType **link;
  CType *former;
  TValue kept;
} JournalNote;

typedef struct Journal {
  JournalNote *notes;
  size_t count, room;
  bool incomplete; /* there was no memory for a note, so nothing is freed */
  char *block;     /* the value of Ffi.block before the text */
  size_t block_left;
} Journal;

struct Ffi {
  Domain *domain;
  CType *basic[BASIC_COUNT];
  CType *complex[COMPLEX_COUNT];
  /* opaque types: integers by whether they are unsigned, floats by whether they are
     complex */
  CType *int128[2], *float128[2], *float16[2];
  CType *derived[DERIVED_BUCKETS]; /* arrays and functions, for interning */
  Table *kept;       /* the objects that must stay: blocks, names, the tables below */
  Table *names;      /* ordinary identifiers -> Symbol (light userdata) */
  Table *tags;       /* struct, union and enum tags -> CType */
  Table *parsed;     /* text of a type -> CType */
  unsigned parsed_count;
  Table *objects;    /* CType -> its ctype object */
  Table *finalizers; /* weak keys: cdata -> function of ffi.gc */
  Table *callbacks;  /* code address -> Callback */
  Table *functions;  /* Callback -> guest function */
  Table *shared;     /* function type -> table: guest function -> code address */
  Table *cdata_metatable;
  Table *ctype_metatable;
  char *block;       /* free part of the newest block */
  size_t block_left;
  Journal *journal;  /* NULL if no text is being parsed */
  /* Calls (ffi_call.c, ffi_callback.c) */
  int saved_errno;
  bool in_call;      /* C code runs on behalf of this domain, on `thread` */
  bool has_error;    /* a callback raised; kept[KEPT_ERROR] is to be raised again */
  /* atomic: a callback was called on a thread or at a moment where it must not; any
     thread writes this flag */
  bool foreign;
  pthread_t thread;
  Callback *all_callbacks;
  /* id of the span of calls through pointers; 0 if it is not registered yet */
  unsigned pointer_event;
};

/* Keys of Ffi.kept that are not objects. */
enum { KEPT_ERROR = 1, KEPT_FIRST };

/* ---- cdata and ctype objects --------------------------------------------- */

typedef struct Cdata {
  CType *type;
  char *address; /* address of the value */
} Cdata;
_Static_assert(sizeof(Cdata) == 16, "values behind it are aligned to 16 bytes");

typedef struct CtypeObject { CType *type; } CtypeObject;

#define cdata_inline(cd) ((char *)((cd) + 1))

/* Returns the cdata that a value is, or NULL. */
ALWAYS_INLINE Cdata *cdata_of(const TValue *o) {
  if (!is_userdata(o) || as_userdata(o)->kind != USERDATA_CDATA) return NULL;
  return (Cdata *)userdata_payload(as_userdata(o));
}

ALWAYS_INLINE CType *ctype_of(const TValue *o) {
  if (!is_userdata(o) || as_userdata(o)->kind != USERDATA_CTYPE) return NULL;
  return ((CtypeObject *)userdata_payload(as_userdata(o)))->type;
}

/* Returns argument n (1..) of the running C function; if it is absent, the address of the
   domain's nil. */
ALWAYS_INLINE TValue *argument(lua_State *L, int n) {
  TValue *o = L->ci->func + n;
  return o < L->top ? o : &L->domain->nil;
}
#define argument_count(L) ((int)((L)->top - (L)->ci->func) - 1)
#define is_absent(L, o) ((o) == &(L)->domain->nil)

/* Lets the collector run. A C function of this library does so only here, at its end,
 * with its results on the stack. */
#define collect_point(L) gc_check(L)

#define FFI_UPVALUE lua_upvalueindex(1)
/* Returns the Ffi that is the running function's first upvalue. */
Ffi *ffi_of_function(lua_State *L);

/* ---- ffi_types.c --------------------------------------------------------- */

/* Returns zeroed memory, aligned to 16, which is never freed. */
void *ffi_memory(lua_State *L, Ffi *ffi, size_t size);
/* Begins the parsing of a text; ffi_journal_end ends it. If the text has failed, the
 * objects that it made are freed, so none of them may be in use. */
void ffi_journal_begin(Ffi *ffi, Journal *j);
void ffi_journal_end(lua_State *L, Ffi *ffi, bool failed);
void ffi_keep(lua_State *L, Ffi *ffi, const TValue *value);
String *ffi_keep_string(lua_State *L, Ffi *ffi, String *s);
/* Returns the light userdata under a name, or NULL. */
void *ffi_lookup(Table *t, String *name);
/* Defines a name; `what` NULL removes it. */
void ffi_define(lua_State *L, Table *t, String *name, void *what);
void ctype_open(lua_State *L, Ffi *ffi);
CType *ctype_new(lua_State *L, Ffi *ffi, CKind kind, CAccess access, size_t size, uint32_t align);
CType *ctype_pointer(lua_State *L, CType *to);
CType *ctype_reference(lua_State *L, CType *to);
CType *ctype_array(lua_State *L, CType *element, size_t count, uint8_t flags);
CType *ctype_function(lua_State *L, CType *result, CType *const *params, uint32_t n, bool variadic);
/* Adds qualifiers to a type; for an array, to its elements. */
CType *ctype_qualified(lua_State *L, CType *t, uint8_t quals);
CType *ctype_record(lua_State *L, Ffi *ffi, bool is_union, String *tag);
CType *ctype_enum(lua_State *L, Ffi *ffi, String *tag);
/* Makes a type of `size` bytes, aligned to `align`, whose contents this module does not
 * know. Messages call it `what` (a literal). It can be a member and appear in signatures,
 * but can neither be passed nor converted. */
CType *ctype_opaque(lua_State *L, Ffi *ffi, const char *name, size_t size, uint32_t align,
                    const char *what);
CType *ctype_aligned(lua_State *L, CType *t, uint32_t align);
/* Completes the qualified forms of a record or enum whose size has become known. */
void ctype_completed(CType *t);
const Field *ctype_field(const CType *record, String *name);
#define CTYPE_NAME_MAX 256
/* Writes the type as C writes it; returns the buffer, of CTYPE_NAME_MAX bytes. */
const char *ctype_name(const CType *t, char *buffer);
const char *ctype_push_name(lua_State *L, const CType *t);
void ctype_push(lua_State *L, CType *t); /* pushes its ctype object */
/* Returns the size of an object of the type with n elements in its variable part, or
 * SIZE_UNKNOWN if the type has none or the size is too large. */
size_t ctype_size_of(const CType *t, size_t n);

/* ---- ffi_layout.c -------------------------------------------------------- */

/* Computes offsets, size and alignment of a record whose fields are all there. `pack` is
 * the greatest alignment of a member, or 0 for no limit; `align` is the least alignment
 * of the record. Returns NULL, or why the record cannot be laid out. */
const char *clayout_record(CType *t, bool packed, uint32_t pack, uint32_t align);
/* Tells whether a bit-field that begins at this bit of its struct is laid out like an
 * ordinary member; gcc then treats it as one. */
bool clayout_fills_unit(const Field *f, uint64_t at);

/* ---- ffi_convert.c ------------------------------------------------------- */

/* A number that is being converted between two types. */
typedef struct CNumber {
  enum { NUMBER_INT, NUMBER_UINT, NUMBER_FLOAT, NUMBER_LONG_DOUBLE } kind;
  union { int64_t i; uint64_t u; double n; } v;
  long double ld; /* NUMBER_LONG_DOUBLE */
} CNumber;

/* Reads a number; returns false if the type is not a number type. */
bool convert_load_number(const CType *t, const void *p, CNumber *number);
/* Converts a Lua number, boolean or numeric cdata; returns false for other values. */
bool convert_to_number(const TValue *o, CNumber *number);
/* Writes a number. Returns NULL, or why it cannot be converted. */
const char *convert_store_number(const CType *t, void *p, const CNumber *number);
/* Converts a number to an integer modulo 2^64; a float is truncated, and becomes 0 if it
   is out of range. The function below converts to a float. */
int64_t convert_number_to_int(const CNumber *number);
double convert_number_to_float(const CNumber *number);

/* Pushes the value of type t at p, in the way that fields and elements are read: numbers
 * and booleans become Lua's, pointers a cdata of their own, aggregates a reference that
 * keeps `owner` (unless it is NULL) alive. */
void convert_push(lua_State *L, CType *t, void *p, const TValue *owner);
/* Reads or writes a number or boolean that has the same form in Lua. Returns false for
 * all other types, and if a value does not convert unchanged. Neither allocates nor
 * raises. */
bool convert_get_scalar(const CType *t, const void *p, TValue *result);
bool convert_set_scalar(const CType *t, void *p, const TValue *value);
void convert_push_bits(lua_State *L, const Field *f, const char *p);

/* What an error of a conversion refers to. */
typedef struct Blame {
  enum { BLAME_NOTHING, BLAME_ARGUMENT, BLAME_OTHER } kind;
  int number;            /* number of the argument */
  const char *name;      /* name of the parameter, member ..., or NULL */
  /* name of the function, or NULL; for BLAME_OTHER the kind of the thing ("member") */
  const char *owner;
} Blame;

typedef enum Conversion {
  CONVERT_IMPLICIT, /* into the program's memory: initializers, assignments */
  CONVERT_CAST,
  CONVERT_ARGUMENT  /* into memory for C: arguments, results of callbacks */
} Conversion;

/* Writes the Lua value to memory of type t; raises if it does not convert. */
void convert_store(lua_State *L, CType *t, void *p, const TValue *o, Conversion how,
                   const Blame *blame);
void convert_store_bits(lua_State *L, const Field *f, char *p, const TValue *o);
/* Raises "cannot convert 'X' to 'Y'", or a message with the reason. */
_Noreturn void convert_error(lua_State *L, const TValue *o, const CType *t, const char *reason,
                             const Blame *blame);
/* Tells whether a pointer to `from` may be used as a pointer to `to` without a cast. */
bool convert_pointers_compatible(const CType *from, const CType *to);
/* Tells whether two types are the same except for qualifiers, at any depth. */
bool convert_same_type(const CType *a, const CType *b);
/* Returns the address that a value stands for, as an argument of type void *: a pointer,
 * array, struct, string, userdata or file; raises for other values. */
void *convert_address(lua_State *L, int arg, bool writes);

/* ---- ffi_initialize.c ---------------------------------------------------- */

/* Initializes zeroed memory of `size` bytes of type t with n values of the stack from
 * index `first` on. */
void initialize(lua_State *L, CType *t, char *p, size_t size, int first, int n);
/* Initializes zeroed memory of `size` bytes of type t from a table or string, for
   assignments to aggregates. */
void initialize_from(lua_State *L, CType *t, char *p, size_t size, const TValue *o, Conversion how);

/* ---- ffi_cdata.c --------------------------------------------------------- */

/* Pushes a new cdata with `size` bytes of its own, not initialized. */
Cdata *cdata_push(lua_State *L, CType *t, size_t size);
/* Pushes a pointer of the pointer type t. It keeps `owner` (or NULL) alive. */
Cdata *cdata_push_pointer(lua_State *L, CType *t, const void *value, const TValue *owner);
/* Pushes a cdata for the value of type t at p. */
Cdata *cdata_push_reference(lua_State *L, CType *t, void *p, const TValue *owner);
bool cdata_is_reference(const Userdata *u);
size_t cdata_size(const Userdata *u); /* size of the object, or SIZE_UNKNOWN */
/* Returns the object that the value at o owns or keeps alive, or NULL. */
const TValue *cdata_owner(const TValue *o);
/* Returns the type and sets *address to the address of the value. For a reference, these
   are of the value that it refers to. */
CType *cdata_value(const Cdata *cd, char **address);
int cdata_new_object(lua_State *L, CType *t, int first_argument);
/* Runs the call of a cdata. cdata_called_name returns the name of the function that a
 * cdata is, or NULL, and sets *symbol, which distinguishes functions of the same name. */
int cdata_call_function(lua_State *L);
const char *cdata_called_name(const Userdata *u, const void **symbol);
/* Pushes the metamethod of a type (or of the target type of a pointer), if it has one. */
bool cdata_push_metamethod(lua_State *L, const CType *t, const char *name);
void cdata_open(lua_State *L, Ffi *ffi);
int cdata_tostring(lua_State *L);
void cdata_set_finalizer(lua_State *L, Ffi *ffi, const TValue *cdata, const TValue *function);

/* ---- ffi_arith.c --------------------------------------------------------- */

extern const luaL_Reg arith_metamethods[];

/* ---- ffi_call.c ---------------------------------------------------------- */

/* Implements __call of function cdata: the function and its arguments are on the
   stack. */
int ccall_cdata(lua_State *L);
/* Pushes a C function as a cdata that knows its symbol. */
void ccall_push_function(lua_State *L, Symbol *symbol, CType *type, void *code);
const Symbol *ccall_symbol(const Userdata *u); /* symbol of a function cdata, or NULL */
/* Raises the error that a callback noted. */
void ccall_raise_pending(lua_State *L, Ffi *ffi);

/* ---- ffi_callback.c ------------------------------------------------------ */

/* Returns the address of C code that calls the guest function at `function`: a new
 * address each time, because the program may free it. Raises. */
void *callback_new(lua_State *L, CType *function_type, const TValue *function);
/* Returns the address of C code for a guest function that is handed to C. There is one
 * address for each function and type; it cannot be freed or set, and is valid until the
 * domain ends. */
void *callback_shared(lua_State *L, CType *function_type, const TValue *function);
Callback *callback_find(Ffi *ffi, void *code);
int callback_free(lua_State *L); /* methods */
int callback_set(lua_State *L);
void callback_close(Ffi *ffi); /* at the end of the domain */

/* ---- ffi_library.c ------------------------------------------------------- */

void clibrary_open(lua_State *L, Ffi *ffi); /* pushes ffi.C */
int clibrary_load(lua_State *L);

#endif
