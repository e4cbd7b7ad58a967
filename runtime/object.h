/* SPDX-License-Identifier: MIT */
/* runtime/object.h: values and heap objects.
 *
 * A value (TValue) is 16 bytes: an 8-byte payload, a one-byte tag and four bytes of
 * scratch (`extra`) that belong to the stack slot, not to the value. Copying a value
 * copies only payload and tag (see value_copy), so the interpreter keeps iteration state
 * and to-be-closed links in `extra`.
 *
 * A tag has the Lua type in bits 0-3 (LUA_TNIL..), a variant in bits 4-5, and bit 6 set
 * if the payload points to a collected object. The tag of a collected value without bit 6
 * equals the `type` byte of the object's header.
 *
 * Objects never move. Every object begins with GCHEADER; there is no link field: the
 * sweep frees the lines that were not marked (heap.h). Variable parts (array and hash
 * parts of tables, stacks, code) are separate allocations without header, each owned by
 * exactly one object.
 */
#ifndef SAROS_RUNTIME_OBJECT_H
#define SAROS_RUNTIME_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lua.h" /* public constants and function types (LUA_TNIL, lua_CFunction, ...) */

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define NOINLINE __attribute__((noinline))
#define COLD __attribute__((noinline, cold))
/* Marks data that other files of this library read often. In a shared library, code finds
 * such data without a load from the global offset table. */
#define HIDDEN __attribute__((visibility("hidden")))
/* Marks code that runs for each sample of an allocation. Such code is placed in one
 * section, so that it evicts few cache lines of the program that it interrupts. */
#define SAMPLE_PATH __attribute__((section(".text.hot.sample")))
#define ALWAYS_INLINE static inline __attribute__((always_inline))

#ifdef SAROS_DEBUG
#include <assert.h>
#define rt_assert(x) assert(x)
#else
#define rt_assert(x) ((void)0)
#endif

/* ---- tags ---------------------------------------------------------------- */

#define TYPE_PROTO 9   /* internal types, beyond the public ones */
#define TYPE_UPVALUE 10

#define VARIANT(type, v) ((type) | ((v) << 4))
#define TAG_COLLECTED 0x40

#define TAG_NIL 0x00
#define TAG_FALSE VARIANT(LUA_TBOOLEAN, 0) /* 0x01: the tags <= 1 are nil and false */
#define TAG_TRUE VARIANT(LUA_TBOOLEAN, 1)         /* 0x11 */
#define TAG_LIGHTUSERDATA VARIANT(LUA_TLIGHTUSERDATA, 0)
#define TAG_INT VARIANT(LUA_TNUMBER, 0)           /* 0x03 */
#define TAG_FLOAT VARIANT(LUA_TNUMBER, 1)         /* 0x13 */
#define TYPE_SHORT_STRING VARIANT(LUA_TSTRING, 0) /* object type bytes */
#define TYPE_LONG_STRING VARIANT(LUA_TSTRING, 1)
#define TYPE_LUA_CLOSURE VARIANT(LUA_TFUNCTION, 0)
#define TYPE_C_CLOSURE VARIANT(LUA_TFUNCTION, 2)
#define TAG_SHORT_STRING (TYPE_SHORT_STRING | TAG_COLLECTED)
#define TAG_LONG_STRING (TYPE_LONG_STRING | TAG_COLLECTED)
#define TAG_TABLE (LUA_TTABLE | TAG_COLLECTED)
#define TAG_LUA_CLOSURE (TYPE_LUA_CLOSURE | TAG_COLLECTED)
/* light C function: the payload is its pointer */
#define TAG_C_FUNCTION VARIANT(LUA_TFUNCTION, 1)
#define TAG_C_CLOSURE (TYPE_C_CLOSURE | TAG_COLLECTED)
/* function run inside the interpreter loop: payload is a const Primitive * */
#define TAG_PRIMITIVE VARIANT(LUA_TFUNCTION, 3)
#define TAG_USERDATA (LUA_TUSERDATA | TAG_COLLECTED)
#define TAG_THREAD (LUA_TTHREAD | TAG_COLLECTED)
/* tag of the key of an empty node; the key's object may be gone */
#define TAG_DEADKEY 0x0f

#define tag_type(tag) ((tag) & 0x0f)

/* ---- object header ------------------------------------------------------- */

/* Bits of `gc`; the collector's header gc.h states the invariants. */
#define GC_YOUNG 0x01    /* allocated since the last minor collection */
/* old and not in the remembered set; a store into the object may need the barrier */
#define GC_CLEAN 0x02
#define GC_MARK 0x04     /* colour of the major cycle; its sense flips (Gc.mark_sense) */
#define GC_LARGE 0x08    /* allocated on its own, not in a block */
#define GC_FINALIZE 0x10 /* registered for finalization */
/* the object is the key of ephemerons that wait until it is reached (gc_ephemeron.c) */
#define GC_AWAITED 0x40

#define GCHEADER uint8_t type; uint8_t gc

typedef struct GCObject { GCHEADER; } GCObject;

typedef struct Domain Domain;
typedef struct CallInfo CallInfo;
typedef struct String String;
typedef struct Table Table;
typedef struct Userdata Userdata;
typedef struct LuaClosure LuaClosure;
typedef struct CClosure CClosure;
typedef struct UpValue UpValue;
typedef struct Prototype Prototype;
typedef struct Primitive Primitive;

/* ---- values -------------------------------------------------------------- */

typedef union Payload {
  GCObject *gc;
  void *p;
  lua_CFunction f;
  const Primitive *prim;
  int64_t i;
  double n;
} Payload;

typedef struct TValue {
  Payload v;
  uint8_t tag;
  uint8_t pad[3];
  uint32_t extra; /* scratch of the stack slot; not part of the value */
} TValue;
_Static_assert(sizeof(TValue) == 16, "a value is 16 bytes");

/* Copies payload and tag, never `extra`, and never as one 16-byte move (two narrower
 * stores followed by one wide load would stall). */
ALWAYS_INLINE void value_copy(TValue *to, const TValue *from) {
  to->v = from->v;
  to->tag = from->tag;
}

#define is_nil(o) ((o)->tag == TAG_NIL)
#define is_falsy(o) ((o)->tag <= TAG_FALSE)
#define is_int(o) ((o)->tag == TAG_INT)
#define is_float(o) ((o)->tag == TAG_FLOAT)
#define is_number(o) (tag_type((o)->tag) == LUA_TNUMBER)
#define is_string(o) (tag_type((o)->tag) == LUA_TSTRING)
#define is_short_string(o) ((o)->tag == TAG_SHORT_STRING)
#define is_table(o) ((o)->tag == TAG_TABLE)
#define is_function(o) (tag_type((o)->tag) == LUA_TFUNCTION)
#define is_lua_closure(o) ((o)->tag == TAG_LUA_CLOSURE)
#define is_userdata(o) ((o)->tag == TAG_USERDATA)
#define is_thread(o) ((o)->tag == TAG_THREAD)
#define is_collected(o) ((o)->tag & TAG_COLLECTED)

#define as_string(o) ((String *)(o)->v.gc)
#define as_table(o) ((Table *)(o)->v.gc)
#define as_lua_closure(o) ((LuaClosure *)(o)->v.gc)
#define as_c_closure(o) ((CClosure *)(o)->v.gc)
#define as_userdata(o) ((Userdata *)(o)->v.gc)
#define as_thread(o) ((lua_State *)(o)->v.gc)

#define set_nil(o) ((o)->tag = TAG_NIL)
#define set_bool(o, b) ((o)->tag = (b) ? TAG_TRUE : TAG_FALSE)
ALWAYS_INLINE void set_int(TValue *o, int64_t i) { o->v.i = i; o->tag = TAG_INT; }
ALWAYS_INLINE void set_float(TValue *o, double n) { o->v.n = n; o->tag = TAG_FLOAT; }
ALWAYS_INLINE void set_object(TValue *o, void *obj, uint8_t tag) {
  o->v.gc = (GCObject *)obj;
  o->tag = tag;
}
#define set_table(o, t) set_object(o, t, TAG_TABLE)
#define set_string(o, s) set_object(o, s, (uint8_t)(((String *)(s))->type | TAG_COLLECTED))
#define set_lua_closure(o, c) set_object(o, c, TAG_LUA_CLOSURE)
#define set_c_closure(o, c) set_object(o, c, TAG_C_CLOSURE)
#define set_userdata(o, u) set_object(o, u, TAG_USERDATA)
#define set_thread(o, t) set_object(o, t, TAG_THREAD)
#define set_light(o, ptr) ((o)->v.p = (ptr), (o)->tag = TAG_LIGHTUSERDATA)
#define set_c_function(o, fn) ((o)->v.f = (fn), (o)->tag = TAG_C_FUNCTION)
#define set_primitive(o, pr) ((o)->v.prim = (pr), (o)->tag = TAG_PRIMITIVE)

/* ---- strings ------------------------------------------------------------- */

#define SHORT_STRING_MAX 40 /* bytes; strings up to this length are interned */

/* A link in a chain of the intern table (str.c): the address of a string and, in the
 * upper bits, a filter of the strings from there on. 0 ends the chain. */
typedef uint64_t StringLink;

struct String {
  GCHEADER;
  /* for a short string, index in Domain.event_ids, or 0; for a long string, 1 if `hash`
     is computed */
  uint8_t extra;
  /* length of a short string; STRING_IS_SOUND_CHUNK or 0 for a long string */
  uint8_t short_len;
  uint32_t hash;
  union {
    size_t long_len;  /* long strings */
    StringLink next;  /* short strings: chain in the intern table */
  } u;
  char data[];       /* len bytes and a NUL */
};

/* the string is a binary chunk that needs no verification (vm/chunk.c) */
#define STRING_IS_SOUND_CHUNK 1

ALWAYS_INLINE size_t string_len(const String *s) {
  return s->type == TYPE_SHORT_STRING ? s->short_len : s->u.long_len;
}

/* ---- tables -------------------------------------------------------------- */

/* A node's first 16 bytes have the layout of a TValue (its value). Writes through a
 * TValue * touch only payload and tag, so the key's tag and link are safe. */
typedef struct Node {
  Payload v;
  uint8_t tag;
  uint8_t key_tag;
  uint16_t assumed; /* code relies on this value (assumed.c) */
  int32_t next; /* offset in nodes to the next node of the chain; 0 ends the chain */
  Payload key;
} Node;
_Static_assert(sizeof(Node) == 24, "a node is 24 bytes");
#define node_value(n) ((TValue *)(n))
/* Returns both tags at once: tag in the low byte, key_tag in the high byte. */
ALWAYS_INLINE uint16_t node_tags(const Node *n) {
  uint16_t both;
  __builtin_memcpy(&both, &n->tag, sizeof both);
  return both;
}

/* Table.state */
#define TABLE_CLEARING 1  /* the table is in Gc.clearing (gc_ephemeron.c) */
#define TABLE_CROWDED 2   /* a chain of numbers is too long (table.c) */
#define TABLE_SCATTERED 4 /* numbers are where a secret hash says (table.c) */
/* half as many nodes again, which are not main positions (table.c) */
#define TABLE_ANNEX 8
#define TABLE_ASSUMED 16  /* code may rely on some of its fields (assumed.c) */

struct Table {
  GCHEADER;
  /* bit e is set if metamethod e (metamethods.def, first 8) is known to be absent */
  uint8_t flags;
  uint8_t state;       /* TABLE_CLEARING, ... */
  /* number of main positions - 1 (a power of two minus 1); without a hash part 0, with
   * `node` the shared empty node */
  uint32_t node_mask;
  uint32_t array_size; /* slots of the array part (keys 1..array_size) */
  uint32_t border;     /* hint for the length operator, <= array_size */
  /* bit (hash >> 27) is set for each short-string key inserted since the last rehash, so
   * a clear bit proves absence */
  uint32_t filter;
  uint32_t last_free;  /* all nodes at or above this index are taken */
  TValue *array;
  Node *node;
  Table *metatable;
};
_Static_assert(sizeof(Table) == 48, "a table is 48 bytes");

HIDDEN extern Node table_empty_node; /* the node of every table without a hash part */

/* Returns the number of nodes of the hash part: main positions and the annex. */
ALWAYS_INLINE uint32_t table_node_count(const Table *t) {
  uint32_t n = t->node_mask + 1;
  if (unlikely(t->state & TABLE_ANNEX)) n += n / 2;
  return t->node != &table_empty_node ? n : 0;
}

/* ---- functions ----------------------------------------------------------- */

typedef uint32_t Instruction; /* vm/opcodes.def */

typedef struct UpvalueDesc {
  String *name;     /* may be NULL in stripped code */
  /* 1 for a register of the enclosing function, 0 for one of its upvalues */
  uint8_t in_stack;
  uint8_t index;
  /* attribute of the variable: 0 regular, 1 const, 2 close, 3 compile-time constant */
  uint8_t kind;
} UpvalueDesc;

typedef struct LocalVar {
  String *name;
  uint32_t start_pc; /* first instruction where the variable is active */
  uint32_t end_pc;   /* first instruction where the variable is dead */
} LocalVar;

struct Prototype {
  GCHEADER;
  uint8_t nparams;
  uint8_t is_vararg;
  uint8_t max_stack;   /* registers needed, at least 2, at most 255 */
  uint8_t nupvalues;
  uint8_t has_names;   /* 0 when stripped */
  uint8_t pad;
  uint32_t ncode, nconstants, nprotos, nlocals, npositions;
  uint32_t line_defined, last_line_defined; /* 0 for a main chunk */
  /* number in the domain's profiles of calls (vm/call_profile.h), or 0 */
  uint32_t call_number;
  /* number in recordings and profiles (prototype_number); 0 until one is needed */
  uint32_t function_id;
  Instruction *code;
  /* the constants; the pointer differs in each prototype, even without constants */
  TValue *k;
  Prototype **p;
  UpvalueDesc *upvalues;
  /* position of each code word in the source (position.h, vm/debuginfo.h); npositions ==
   * ncode, or 0 when stripped */
  uint32_t *positions;
  LocalVar *locals;    /* by start_pc; registers are assigned in this order */
  String *source;      /* chunk name; NULL when stripped */
  /* the name by which the function is defined, "f", "M.a.b:c"; NULL if there is none, or
   * when stripped. Used in profiles only: messages have the name in the call */
  String *name;
};

/* The k of a prototype without constants. It must identify the prototype, since a frame's
 * k says which function runs in the frame. */
#define prototype_no_constants(p) ((TValue *)(p))

struct UpValue {
  GCHEADER;
  TValue *v; /* points into a stack while open, to `closed` afterwards */
  union {
    TValue closed;
    struct {
      UpValue *next;     /* next in the thread's list, highest stack slot first */
      lua_State *thread; /* the thread whose stack v points into */
    } open;
  } u;
};
#define upvalue_is_open(uv) ((uv)->v != &(uv)->u.closed)

struct LuaClosure {
  GCHEADER;
  uint8_t nupvalues;
  Prototype *p;
  UpValue *upvalues[];
};

struct CClosure {
  GCHEADER;
  uint8_t nupvalues;
  lua_CFunction f;
  TValue upvalues[];
};

/* ---- userdata ------------------------------------------------------------ */

/* Kinds of userdata. Libraries of this runtime must recognize their own userdata at once,
 * whatever their metatable. */
typedef enum UserdataKind { USERDATA_PLAIN, USERDATA_CDATA, USERDATA_CTYPE } UserdataKind;

struct Userdata {
  GCHEADER;
  uint16_t nuservalues;
  /* UserdataKind: the library of this runtime that made it, or 0; the guest cannot change
   * it */
  uint32_t kind;
  size_t len;        /* bytes of the payload */
  Table *metatable;
  /* its memory outside the heap (gc_external.c), or NULL */
  struct LargeHeader *external;
  TValue uservalues[]; /* followed by the payload, aligned to 16 bytes */
};
_Static_assert(sizeof(Userdata) == 32, "payload alignment");
#define userdata_payload(u) ((void *)&(u)->uservalues[(u)->nuservalues])

#endif
