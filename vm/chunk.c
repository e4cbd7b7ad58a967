/* SPDX-License-Identifier: MIT */
/* vm/chunk.c: precompiled (binary) chunks.
 *
 * A chunk is a header and the main function.  Numbers of fixed width are in
 * the order of this machine; `count` is an unsigned number in groups of seven
 * bits, lowest first, the highest bit set in all but the last byte.
 *
 *  header    "\x1bLua", version 0x54, format 0, "\x19\x93\r\n\x1a\n",
 *            sizes of Instruction, lua_Integer, lua_Number (a byte each),
 *            lua_Integer 0x5678, lua_Number 370.5, uint32 fingerprint of opcodes.def
 *  main      a byte, the number of upvalues; function
 *  function  string source (absent: the source of the enclosing function)
 *            count line_defined, last_line_defined
 *            bytes nparams, is_vararg, max_stack
 *            count n, n code words (caches of fields are zero)
 *            count n, n constants: byte tag (| 0x80: CONSTANT_ON_LEFT), then
 *            nothing, 8 bytes or a string
 *            count n, n upvalues: bytes in_stack, index, kind
 *            count n, n functions
 *            byte has_names; if 1:
 *              string name, by which it is defined
 *              count n, positions: runs of n lines in all: count of equal lines, count of
 *              the zigzag difference to the ones before
 *              n columns: count of the zigzag difference to the one before; 0 if unknown
 *              count n, n locals: string name, count start_pc, count length
 *              a string for each upvalue
 *  string    count length + 1 (0 if absent), bytes
 *
 * The format is valid only for the build that wrote it: the fingerprint covers names,
 * operands and order of the instructions, and CHUNK_LAYOUT, the number of this
 * description. Nothing that is read is trusted: lengths are compared with the rest
 * of the chunk before memory is taken, and each function is verified (verifier.c)
 * before it can run. While a chunk is read nothing is collected, so nothing needs an
 * anchor.
 *
 * The result of verification depends only on the bytes of the chunk, and the bytes of a
 * string never change. So a string that string.dump has made, or that was loaded once, is
 * marked (STRING_IS_SOUND_CHUNK) and not verified again. This saves time because programs
 * load one string many times, or a string that they have just dumped, to have copies of a
 * function. The mark belongs to the object, not to its contents, and nothing else that a
 * program does sets the mark. So a string with equal bytes, a chunk in pieces or in a
 * file, and a string from another domain are verified. (Code that writes into strings
 * through pointers, in C or with ffi, can harm the interpreter anyway.) Code in messages
 * between domains is written by chunk_dump, and not verified either. Builds with asserts
 * verify everything.
 */
#include <string.h>

#include "compiler.h"
#include "domain.h"
#include "func.h"
#include "gc.h"
#include "heap.h"
#include "opcodes.h"
#include "opinfo.h"
#include "position.h"
#include "str.h"
#include "thread.h"
#include "throw.h"
#include "verifier.h"

#define CHUNK_VERSION 0x54
/* the header is that of the reference implementation; the fingerprint distinguishes our
 * chunks */
#define CHUNK_FORMAT 0
#define CHUNK_LAYOUT 4
#define CHUNK_MARK "\x19\x93\r\n\x1a\n" /* changed by a transfer as text */
#define CHUNK_INTEGER 0x5678
#define CHUNK_NUMBER 370.5
#define LEFT_CONSTANT 0x80 /* a bit in the tag of a constant */
#define MAX_NESTING 200

/* Returns the FNV-1a hash of the layout, and of names, formats and operands of all
   instructions. */
static uint32_t make_fingerprint(void) {
  uint32_t hash = (0x811c9dc5u ^ CHUNK_LAYOUT) * 0x01000193u;
  for (int op = 0; op < OP_COUNT; op++) {
    for (const char *s = op_info[op].name; *s; s++) hash = (hash ^ (unsigned char)*s) * 0x01000193u;
    hash = (hash ^ (op_info[op].format | (uint32_t)op_info[op].flags << 4)) * 0x01000193u;
    hash = (hash ^ op_info[op].uses) * 0x01000193u;
    hash = (hash ^ op_info[op].sets) * 0x01000193u;
  }
  return hash;
}

static uint32_t instruction_fingerprint(void) {
  static uint32_t made; /* 0 if it is not made yet */
  /* each thread computes the same value */
  uint32_t hash = __atomic_load_n(&made, __ATOMIC_RELAXED);
  if (hash == 0) __atomic_store_n(&made, hash = make_fingerprint(), __ATOMIC_RELAXED);
  return hash;
}

/* ==== writing ===================================================================== */

typedef struct Dump {
  lua_State *L;
  lua_Writer writer;
  void *ud;
  bool strip;
  /* what the lua_Writer returned; once it is not 0, nothing more is written */
  int status;
  size_t used;
  char staged[2048];
} Dump;

static void flush_staged(Dump *d) {
  if (d->used && d->status == 0) d->status = d->writer(d->L, d->staged, d->used, d->ud);
  d->used = 0;
}

static void chunk_put(Dump *d, const void *data, size_t size) {
  if (size > sizeof d->staged - d->used) flush_staged(d);
  if (size > sizeof d->staged) {
    if (d->status == 0) d->status = d->writer(d->L, data, size, d->ud);
  } else if (size) {
    memcpy(d->staged + d->used, data, size);
    d->used += size;
  }
}

/* Returns where `most` bytes may be written, at most a few; the caller adds the number
 * written to d->used. */
ALWAYS_INLINE char *room_for(Dump *d, size_t most) {
  if (unlikely(most > sizeof d->staged - d->used)) flush_staged(d);
  return d->staged + d->used;
}

ALWAYS_INLINE void chunk_put_byte(Dump *d, uint8_t byte) {
  *room_for(d, 1) = (char)byte;
  d->used++;
}

#define MOST_COUNT_BYTES 10

static void chunk_put_count(Dump *d, uint64_t count) {
  char *start = room_for(d, MOST_COUNT_BYTES), *p = start;
  for (; count >= 0x80; count >>= 7) *p++ = (char)(count | 0x80);
  *p++ = (char)count;
  d->used += (size_t)(p - start);
}

static void chunk_put_string(Dump *d, const String *s) {
  chunk_put_count(d, s ? (uint64_t)string_len(s) + 1 : 0);
  if (s) chunk_put(d, s->data, string_len(s));
}

static void put_header(Dump *d) {
  int64_t i = CHUNK_INTEGER;
  double n = CHUNK_NUMBER;
  uint32_t fingerprint = instruction_fingerprint();
  chunk_put(d, LUA_SIGNATURE, sizeof LUA_SIGNATURE - 1);
  chunk_put_byte(d, CHUNK_VERSION);
  chunk_put_byte(d, CHUNK_FORMAT);
  chunk_put(d, CHUNK_MARK, sizeof CHUNK_MARK - 1);
  chunk_put_byte(d, sizeof(Instruction));
  chunk_put_byte(d, sizeof i);
  chunk_put_byte(d, sizeof n);
  chunk_put(d, &i, sizeof i);
  chunk_put(d, &n, sizeof n);
  chunk_put(d, &fingerprint, sizeof fingerprint);
}

/* Writes the code with the original opcodes, and without the caches in aux words. */
static void put_code(Dump *d, const Prototype *p) {
  chunk_put_count(d, p->ncode);
  for (uint32_t pc = 0; pc < p->ncode; pc++) {
    Instruction i = p->code[pc];
    const OpInfo *info = &op_info[INS_OP(i)];
    char *to = room_for(d, 2 * sizeof i);
    i = (i & ~(Instruction)0xff) | (Instruction)info->base;
    memcpy(to, &i, sizeof i);
    d->used += sizeof i;
    if (!(info->flags & OPFLAG_X)) continue;
    uint32_t aux = p->code[++pc];
    if (info->uses & OPERAND_KX) aux = (uint32_t)op_key(i, aux);
    memcpy(to + sizeof i, &aux, sizeof aux);
    d->used += sizeof aux;
  }
}

static void put_constants(Dump *d, const Prototype *p) {
  chunk_put_count(d, p->nconstants);
  for (uint32_t i = 0; i < p->nconstants; i++) {
    const TValue *k = &p->k[i];
    uint8_t tag = is_string(k) ? LUA_TSTRING : k->tag;
    chunk_put_byte(d, k->extra ? tag | LEFT_CONSTANT : tag);
    if (is_number(k)) chunk_put(d, &k->v, sizeof k->v);
    else if (is_string(k)) chunk_put_string(d, as_string(k));
  }
}

static void chunk_put_upvalues(Dump *d, const Prototype *p) {
  chunk_put_count(d, p->nupvalues);
  for (uint32_t i = 0; i < p->nupvalues; i++) {
    chunk_put_byte(d, p->upvalues[i].in_stack);
    chunk_put_byte(d, p->upvalues[i].index);
    chunk_put_byte(d, p->upvalues[i].kind);
  }
}

static void put_difference(Dump *d, int64_t difference) {
  chunk_put_count(d, (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63));
}

static void put_lines(Dump *d, const Prototype *p) {
  int64_t before = 0;
  chunk_put_count(d, p->npositions);
  for (uint32_t i = 0, end; i < p->npositions; i = end) {
    const int64_t line = position_line(p->positions[i]);
    for (end = i + 1; end < p->npositions; end++)
      if (position_line(p->positions[end]) != line) break;
    chunk_put_count(d, end - i);
    put_difference(d, line - before);
    before = line;
  }
}

static void put_columns(Dump *d, const Prototype *p) {
  int64_t before = 0;
  for (uint32_t i = 0; i < p->npositions; i++) {
    const int64_t column = position_column(p->positions[i]);
    put_difference(d, column - before);
    before = column;
  }
}

static void put_names(Dump *d, const Prototype *p) {
  bool named = p->has_names && !d->strip;
  chunk_put_byte(d, named);
  if (!named) return;
  chunk_put_string(d, p->name);
  put_lines(d, p);
  put_columns(d, p);
  chunk_put_count(d, p->nlocals);
  for (uint32_t i = 0; i < p->nlocals; i++) {
    chunk_put_string(d, p->locals[i].name);
    chunk_put_count(d, p->locals[i].start_pc);
    chunk_put_count(d, p->locals[i].end_pc - p->locals[i].start_pc);
  }
  for (uint32_t i = 0; i < p->nupvalues; i++) chunk_put_string(d, p->upvalues[i].name);
}

static void chunk_put_function(Dump *d, const Prototype *p, const String *outer_source) {
  chunk_put_string(d, d->strip || p->source == outer_source ? NULL : p->source);
  chunk_put_count(d, p->line_defined);
  chunk_put_count(d, p->last_line_defined);
  chunk_put_byte(d, p->nparams);
  chunk_put_byte(d, p->is_vararg);
  chunk_put_byte(d, p->max_stack);
  put_code(d, p);
  put_constants(d, p);
  chunk_put_upvalues(d, p);
  chunk_put_count(d, p->nprotos);
  for (uint32_t i = 0; i < p->nprotos && d->status == 0; i++)
    chunk_put_function(d, p->p[i], p->source);
  put_names(d, p);
}

int chunk_dump(lua_State *L, const Prototype *p, lua_Writer writer, void *ud, int strip) {
  Dump d = {.L = L, .writer = writer, .ud = ud, .strip = strip != 0};
  put_header(&d);
  chunk_put_byte(&d, p->nupvalues);
  chunk_put_function(&d, p, NULL);
  flush_staged(&d);
  return d.status;
}

/* ==== reading ===================================================================== */

typedef struct Undump {
  lua_State *L;
  const char *cursor, *end;
  const char *name; /* for messages */
  int nesting;
  bool is_sound;    /* verified before */
} Undump;

static _Noreturn void error_format(Undump *u, const char *why) {
  string_format(u->L, "%s: bad binary format (%s)", u->name, why);
  error_throw(u->L, LUA_ERRSYNTAX);
}

static size_t bytes_left(const Undump *u) {
  return (size_t)(u->end - u->cursor);
}

static const char *chunk_get(Undump *u, size_t size) {
  if (size > bytes_left(u)) error_format(u, "truncated chunk");
  const char *data = u->cursor;
  u->cursor += size;
  return data;
}

static uint8_t chunk_get_byte(Undump *u) {
  return (uint8_t)*chunk_get(u, 1);
}

static uint64_t chunk_get_count(Undump *u) {
  uint64_t count = 0;
  if (likely(u->cursor < u->end && (uint8_t)*u->cursor < 0x80)) return (uint8_t)*u->cursor++;
  for (int shift = 0;; shift += 7) {
    uint8_t byte = chunk_get_byte(u);
    if (shift > 56) error_format(u, "integer overflow");
    count |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return count;
  }
}

static uint32_t get_number(Undump *u) {
  uint64_t count = chunk_get_count(u);
  if (count > INT32_MAX) error_format(u, "integer overflow");
  return (uint32_t)count;
}

/* Reads a number of elements, each of which takes at least `least` bytes, and returns
 * it. */
static uint32_t get_length(Undump *u, size_t least) {
  uint32_t n = get_number(u);
  if (n > bytes_left(u) / least) error_format(u, "truncated chunk");
  return n;
}

static String *get_string(Undump *u) {
  uint64_t count = chunk_get_count(u);
  if (count == 0) return NULL;
  if (count - 1 > bytes_left(u)) error_format(u, "truncated chunk");
  return string_new(u->L, chunk_get(u, (size_t)count - 1), (size_t)count - 1);
}

static void check_bytes(Undump *u, const void *expected, size_t size, const char *why) {
  if (memcmp(chunk_get(u, size), expected, size) != 0) error_format(u, why);
}

static void check_byte(Undump *u, uint8_t expected, const char *why) {
  check_bytes(u, &expected, 1, why);
}

static void check_header(Undump *u) {
  int64_t i = CHUNK_INTEGER;
  double n = CHUNK_NUMBER;
  uint32_t fingerprint = instruction_fingerprint();
  check_bytes(u, LUA_SIGNATURE, sizeof LUA_SIGNATURE - 1, "not a binary chunk");
  check_byte(u, CHUNK_VERSION, "version mismatch");
  check_byte(u, CHUNK_FORMAT, "format mismatch");
  check_bytes(u, CHUNK_MARK, sizeof CHUNK_MARK - 1, "corrupted chunk");
  check_byte(u, sizeof(Instruction), "Instruction size mismatch");
  check_byte(u, sizeof i, "lua_Integer size mismatch");
  check_byte(u, sizeof n, "lua_Number size mismatch");
  check_bytes(u, &i, sizeof i, "integer format mismatch");
  check_bytes(u, &n, sizeof n, "float format mismatch");
  check_bytes(u, &fingerprint, sizeof fingerprint, "instruction set mismatch");
}

/* Each of the functions below stores an array and its length in the prototype before it
 * allocates more memory. */

static void get_code(Undump *u, Prototype *p) {
  uint32_t n = get_length(u, sizeof(Instruction));
  p->code = heap_alloc_code(u->L, n * sizeof(Instruction), p);
  p->ncode = n;
  if (n) memcpy(p->code, chunk_get(u, n * sizeof(Instruction)), n * sizeof(Instruction));
}

static void get_constant(Undump *u, TValue *k) {
  uint8_t tag = chunk_get_byte(u);
  k->tag = tag & ~LEFT_CONSTANT;
  k->extra = tag & LEFT_CONSTANT ? CONSTANT_ON_LEFT : 0;
  switch (k->tag) {
    case TAG_NIL: case TAG_FALSE: case TAG_TRUE: break;
    case TAG_INT: case TAG_FLOAT: memcpy(&k->v, chunk_get(u, sizeof k->v), sizeof k->v); break;
    case LUA_TSTRING: {
      k->tag = TAG_NIL;
      String *s = get_string(u);
      if (s == NULL) error_format(u, "bad format for constant string");
      set_string(k, s);
      break;
    }
    default: error_format(u, "bad constant");
  }
}

static void get_constants(Undump *u, Prototype *p) {
  uint32_t n = get_length(u, 1);
  p->k = n > 0 ? heap_alloc_code(u->L, n * sizeof(TValue), p) : prototype_no_constants(p);
  if (n) memset(p->k, 0, n * sizeof(TValue));
  p->nconstants = n;
  for (uint32_t i = 0; i < n; i++) get_constant(u, &p->k[i]);
}

static void chunk_get_upvalues(Undump *u, Prototype *p) {
  uint32_t n = get_length(u, 3);
  if (n > UINT8_MAX) error_format(u, "too many upvalues");
  p->upvalues = heap_alloc_code(u->L, n * sizeof(UpvalueDesc), p);
  p->nupvalues = (uint8_t)n;
  for (uint32_t i = 0; i < n; i++) {
    UpvalueDesc desc = {.name = NULL};
    desc.in_stack = chunk_get_byte(u);
    desc.index = chunk_get_byte(u);
    desc.kind = chunk_get_byte(u);
    p->upvalues[i] = desc;
  }
}

static Prototype *chunk_get_function(Undump *u, String *outer_source);

static void get_functions(Undump *u, Prototype *p) {
  uint32_t n = get_length(u, 1);
  p->p = heap_alloc_code(u->L, n * sizeof *p->p, p);
  if (n) memset(p->p, 0, n * sizeof *p->p);
  p->nprotos = n;
  for (uint32_t i = 0; i < n; i++) p->p[i] = chunk_get_function(u, p->source);
}

static uint64_t get_difference(Undump *u) {
  uint64_t zigzag = chunk_get_count(u);
  return zigzag >> 1 ^ (0 - (zigzag & 1));
}

static void get_lines(Undump *u, Prototype *p) {
  uint32_t n = get_number(u);
  uint64_t line = 0;
  if (n != 0 && n != p->ncode) error_format(u, "wrong number of lines");
  p->positions = heap_alloc_code(u->L, n * sizeof *p->positions, p);
  p->npositions = n;
  for (uint32_t i = 0; i < n;) {
    uint32_t end = i + get_number(u);
    line += get_difference(u);
    if (end <= i || end > n) error_format(u, "wrong number of lines");
    while (i < end) p->positions[i++] = position_make((uint32_t)(line & INT32_MAX), 0);
  }
}

static void get_columns(Undump *u, Prototype *p) {
  uint64_t column = 0;
  for (uint32_t i = 0; i < p->npositions; i++) {
    column += get_difference(u);
    p->positions[i] = position_make(position_line(p->positions[i]), column);
  }
}

static void get_locals(Undump *u, Prototype *p) {
  uint32_t n = get_length(u, 3);
  p->locals = heap_alloc_code(u->L, n * sizeof(LocalVar), p);
  if (n) memset(p->locals, 0, n * sizeof(LocalVar));
  p->nlocals = n;
  for (uint32_t i = 0; i < n; i++) {
    p->locals[i].name = get_string(u);
    p->locals[i].start_pc = get_number(u);
    p->locals[i].end_pc = p->locals[i].start_pc + get_number(u);
  }
}

static void get_names(Undump *u, Prototype *p) {
  p->has_names = chunk_get_byte(u);
  if (!p->has_names) return;
  p->name = get_string(u);
  get_lines(u, p);
  get_columns(u, p);
  get_locals(u, p);
  for (uint32_t i = 0; i < p->nupvalues; i++) p->upvalues[i].name = get_string(u);
}

static void verify_function(Undump *u, const Prototype *p) {
#ifndef SAROS_DEBUG
  if (u->is_sound) return;
#endif
  const char *error = verify_prototype(u->L->domain, p);
  if (error == verify_no_memory) error_memory(u->L);
  rt_assert(!(error && u->is_sound));
  if (error) error_format(u, error);
}

static Prototype *chunk_get_function(Undump *u, String *outer_source) {
  if (++u->nesting > MAX_NESTING) error_format(u, "functions nested too deeply");
  Prototype *p = prototype_new(u->L); /* with all lengths 0 */
  p->source = get_string(u);
  if (p->source == NULL) p->source = outer_source;
  p->line_defined = get_number(u);
  p->last_line_defined = get_number(u);
  p->nparams = chunk_get_byte(u);
  p->is_vararg = chunk_get_byte(u);
  p->max_stack = chunk_get_byte(u);
  get_code(u, p);
  get_constants(u, p);
  chunk_get_upvalues(u, p);
  get_functions(u, p);
  get_names(u, p);
  verify_function(u, p);
  op_fuse(p->code, p->ncode);
  gc_note_code(u->L->domain, p);
  u->nesting--;
  return p;
}

/* Returns the chunk's name as messages show it. */
static const char *display_name(const char *name) {
  if (*name == '@' || *name == '=') return name + 1;
  return *name == LUA_SIGNATURE[0] ? "binary string" : name;
}

LuaClosure *chunk_undump(lua_State *L, const char *data, size_t size, const char *name,
                         bool is_sound) {
  Undump u = {
      .L = L, .cursor = data, .end = data + size, .name = display_name(name), .is_sound = is_sound};
  check_header(&u);
  uint8_t nupvalues = chunk_get_byte(&u);
  Prototype *p = chunk_get_function(&u, NULL);
  if (p->nupvalues != nupvalues) error_format(&u, "wrong number of upvalues");
  LuaClosure *closure = lua_closure_new(L, p);
  for (uint32_t i = 0; i < nupvalues; i++) closure->upvalues[i] = upvalue_new_closed(L);
  stack_check(L, 1);
  set_lua_closure(L->top, closure);
  L->top++;
  return closure;
}
