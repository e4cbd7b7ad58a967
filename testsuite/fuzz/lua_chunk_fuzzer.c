/* SPDX-License-Identifier: MIT */
/* lua_chunk_fuzzer.c: loads binary chunks that were tampered with and, if the verifier
 * accepts them, runs them.
 *
 * The input is a source text, a zero byte, and edits of four bytes each. The text is
 * compiled. Edits that name a field change the functions before they are dumped, so that
 * the result is well-formed and wrong in one place; other edits change bytes of the dump.
 * So the corpus outlives changes of the instruction set, and most inputs get as far as
 * the verifier. An input that begins with a zero byte is taken as the body of a chunk,
 * with a good header before it. */
#include <stdlib.h>
#include <string.h>

#include "domain.h"
#include "thread.h"
#include "lauxlib.h"
#include "lua_harness.h"
#include "lua_mutate.h"
#include "opinfo.h"

#define HEADER_BYTES 35 /* bytes of the header of a chunk (chunk.c) */
#define MOST_FUNCTIONS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

typedef struct Edit {
  uint8_t kind, where_low, where_high, value;
} Edit;

typedef struct Edits {
  const Edit *items;
  size_t n;
} Edits;

enum {
  EDIT_OP, EDIT_A, EDIT_B, EDIT_C, EDIT_WORD, EDIT_COPY, EDIT_HEADER, EDIT_UPVALUE, EDIT_CONSTANT,
  EDITS_OF_FUNCTIONS,
  EDIT_BYTE = EDITS_OF_FUNCTIONS, EDIT_FLIP, EDIT_CUT, EDIT_KINDS
};

/* ---- edits of functions ----------------------------------------------------------- */

static size_t collect_functions(Prototype *p, Prototype **list, size_t n) {
  if (n < MOST_FUNCTIONS) list[n++] = p;
  for (uint32_t i = 0; i < p->nprotos && n < MOST_FUNCTIONS; i++)
    n = collect_functions(p->p[i], list, n);
  return n;
}

static void edit_header(Prototype *p, uint32_t which, uint8_t value) {
  switch (which % 4) {
    case 0: p->nparams = value; break;
    case 1: p->is_vararg = value & 1; break;
    case 2: p->max_stack = value; break;
    default: p->max_stack = (uint8_t)(p->max_stack + (int8_t)value % 4); break;
  }
}

static void edit_upvalue(Prototype *p, uint32_t which, uint8_t value) {
  if (p->nupvalues == 0) return;
  UpvalueDesc *u = &p->upvalues[which / 2 % p->nupvalues];
  if (which & 1) u->in_stack = value;
  else u->index = value;
}

static void edit_constant(Prototype *p, uint32_t which, uint8_t value) {
  if (p->nconstants == 0) return;
  TValue *k = &p->k[which % p->nconstants];
  switch (value % 5) {
    case 0: k->extra ^= 1; break;
    case 1: set_nil(k); break;
    case 2: set_int(k, value); break;
    case 3: set_float(k, value + 0.5); break;
    default: value_copy(k, &p->k[value % p->nconstants]); break;
  }
}

static void edit_word(Instruction *word, int kind, uint8_t value, const Prototype *p) {
  uint8_t bytes[4];
  memcpy(bytes, word, 4);
  switch (kind) {
    case EDIT_OP: bytes[0] = (uint8_t)(value % OP_COUNT); break;
    case EDIT_A: bytes[1] = value; break;
    case EDIT_B: bytes[2] = value; break;
    case EDIT_C: bytes[3] = value; break;
    case EDIT_WORD: bytes[value & 3] = (uint8_t)(bytes[value & 3] + (value >> 2) - 32); break;
    default: memcpy(bytes, &p->code[value % p->ncode], 4); break;
  }
  memcpy(word, bytes, 4);
}

static void edit_function(Prototype *const *functions, size_t n, const Edit *e) {
  uint32_t where = e->where_low | (uint32_t)e->where_high << 8;
  Prototype *p = functions[where % n];
  where /= (uint32_t)n;
  switch (e->kind % EDIT_KINDS) {
    case EDIT_HEADER: edit_header(p, where, e->value); break;
    case EDIT_UPVALUE: edit_upvalue(p, where, e->value); break;
    case EDIT_CONSTANT: edit_constant(p, where, e->value); break;
    default: edit_word(&p->code[where % p->ncode], e->kind % EDIT_KINDS, e->value, p); break;
  }
}

/* Makes a function that can be dumped. The dump goes from instruction to instruction:
 * each must be valid, and the last must have its second word. */
static void make_dumpable(Prototype *p) {
  uint32_t pc = 0, last = 0;
  while (pc < p->ncode) {
    Instruction *i = &p->code[last = pc];
    if (INS_OP(*i) >= OP_COUNT) *i = (*i & ~(Instruction)0xff) | (*i & 0xff) % OP_COUNT;
    pc += (uint32_t)op_length(INS_OP(*i));
  }
  if (pc > p->ncode) p->code[last] = OP_RETURN0;
}

static void edit_functions(lua_State *L, Edits edits) {
  Prototype *functions[MOST_FUNCTIONS];
  size_t n = collect_functions(as_lua_closure(L->top - 1)->p, functions, 0);
  for (size_t i = 0; i < edits.n; i++)
    if (edits.items[i].kind % EDIT_KINDS < EDITS_OF_FUNCTIONS)
      edit_function(functions, n, &edits.items[i]);
  for (size_t i = 0; i < n; i++) make_dumpable(functions[i]);
}

/* ---- edits of the dump ------------------------------------------------------------ */

typedef struct Bytes {
  uint8_t *data;
  size_t size, room;
} Bytes;

static int append(lua_State *L, const void *data, size_t size, void *ud) {
  Bytes *b = ud;
  (void)L;
  if (size > b->room - b->size) {
    b->room = (b->size + size) * 2;
    b->data = realloc(b->data, b->room);
    if (b->data == NULL) abort();
  }
  memcpy(b->data + b->size, data, size);
  b->size += size;
  return 0;
}

static void edit_bytes(Bytes *b, Edits edits) {
  for (size_t i = 0; i < edits.n && b->size > HEADER_BYTES; i++) {
    const Edit *e = &edits.items[i];
    size_t at =
        HEADER_BYTES + (e->where_low | (size_t)e->where_high << 8) % (b->size - HEADER_BYTES);
    switch (e->kind % EDIT_KINDS) {
      case EDIT_BYTE: b->data[at] = e->value; break;
      case EDIT_FLIP: b->data[at] ^= (uint8_t)(1u << (e->value & 7)); break;
      case EDIT_CUT: b->size = at; break;
      default: break;
    }
  }
}

/* ---- one input -------------------------------------------------------------------- */

static Bytes tampered_dump(lua_State *L, const char *text, size_t length, Edits edits) {
  Bytes b = {0};
  if (luaL_loadbufferx(L, text, length, "=fuzz", "t") == LUA_OK) {
    edit_functions(L, edits);
    lua_dump(L, append, &b, edits.n > 0 && (edits.items[0].kind & 0x80));
    edit_bytes(&b, edits);
  }
  lua_settop(L, 0);
  return b;
}

static Bytes raw_chunk(lua_State *L, const uint8_t *body, size_t size) {
  Bytes b = {0};
  if (luaL_loadbufferx(L, "", 0, "=", "t") == LUA_OK) lua_dump(L, append, &b, 1);
  lua_settop(L, 0);
  if (b.size > HEADER_BYTES) b.size = HEADER_BYTES;
  append(L, body, size, &b);
  return b;
}

static void load_and_run(lua_State *L, Bytes b) {
  int status = luaL_loadbufferx(L, (const char *)b.data, b.size, "=chunk", "b");
  free(b.data);
  if (status == LUA_OK) harness_call(L, harness_push_arguments(L));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_State *L = harness_open();
  const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
  size_t text = end != NULL ? (size_t)(end - data) : size;
  size_t rest = end != NULL ? size - text - 1 : 0;
  if (end != NULL && text == 0) {
    load_and_run(L, raw_chunk(L, data + 1, rest));
  } else {
    Edits edits = {(const Edit *)(data + text + 1), rest / sizeof(Edit)};
    Bytes b = tampered_dump(L, (const char *)data, text, edits);
    if (b.size > 0) load_and_run(L, b);
  }
  harness_close(L);
  return 0;
}

/* Mutates an input: mostly new edits, now and then another text. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
  uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
  size_t text = end != NULL ? (size_t)(end - data) : size;
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, room);
  if (seed % 8 == 1 && end == NULL) return mutate_tokens(data, size, room, seed / 8);
  if (end == NULL) {
    if (size + 1 > room) return size;
    data[size++] = 0;
  }
  if (room - text - 1 < sizeof(Edit) || size + sizeof(Edit) > room) return size;
  if (seed % 8 == 2 || size - text - 1 < sizeof(Edit)) { /* one more edit */
    uint64_t bits = seed * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < sizeof(Edit); i++) data[size++] = (uint8_t)(bits >> (24 + 8 * i));
    return size;
  }
  return text + 1 + LLVMFuzzerMutate(data + text + 1, size - text - 1, room - text - 1);
}
