/* SPDX-License-Identifier: MIT */
/* vm/compile.c: compilation of a chunk, from the call to the closure.
 *
 * One pass: the parser (parser.c, statements.c) pulls tokens from the lexer, resolves
 * names through scope.c and emits code through codegen.c into the FuncState of the
 * innermost function. When a function ends, its arrays are copied in their final size
 * into heap parts that its Prototype owns.
 *
 * Nothing here collects or calls guest code, so Strings and Prototypes made on the way
 * need no anchor. All scratch memory is in the arena of the CompileState; errors unwind
 * by longjmp to compile_source, which frees the arena and raises again.
 */
#include "compile_state.h"

#include <string.h>

#include "arena.h"
#include "call.h"
#include "codegen.h"
#include "compiler.h"
#include "domain.h"
#include "func.h"
#include "gc.h"
#include "heap.h"
#include "opinfo.h"
#include "scope.h"
#include "str.h"
#include "thread.h"
#include "throw.h"
#include "verifier.h"

/* ---- errors -------------------------------------------------------------- */

void compile_error(CompileState *cs, const char *message) {
  lexer_error(&cs->lexer, message, cs->lexer.token.kind);
}

void compile_error_semantic(CompileState *cs, const char *message) {
  lexer_error(&cs->lexer, message, TOKEN_NONE);
}

void compile_error_limit(FuncState *fs, uint32_t limit, const char *what) {
  lua_State *L = fs->cs->L;
  const char *where = "main function";
  if (fs->line_defined) where = string_format(L, "function at line %d", fs->line_defined)->data;
  compile_error(fs->cs,
                string_format(L, "too many %s (limit is %d) in %s", what, (int)limit, where)->data);
}

void compile_enter_level(CompileState *cs) {
  uint32_t n = ++cs->L->domain->ncalls;
  /* handlers of the error of this limit get some more levels */
  if (unlikely(n == MAX_C_CALLS || n >= MAX_C_CALLS + MAX_C_CALLS / 8))
    error_run(cs->L, "C stack overflow");
}

void compile_leave_level(CompileState *cs) {
  cs->L->domain->ncalls--;
}

/* ---- functions ----------------------------------------------------------- */

/* Clears the state that a finished function left; its arrays are kept. */
static void reset_function(FuncState *fs) {
  if (fs->k_index) memset(fs->k_index, 0, fs->k_index_size * sizeof *fs->k_index);
  fs->ncode = fs->nk = fs->nprotos = fs->nlocals = fs->nupvalues = 0;
  fs->nactive = 0;
  fs->free_reg = 0;
  fs->nparams = 0;
  fs->is_vararg = fs->has_captured = false;
  fs->last_line_defined = 0;
  fs->block = NULL;
}

FuncState *compile_open_function(CompileState *cs, ScopeBlock *block, int line_defined) {
  FuncState *fs = cs->spare;
  if (fs) cs->spare = fs->outer;
  else fs = arena_alloc(&cs->arena, sizeof *fs);
  reset_function(fs);
  fs->cs = cs;
  fs->outer = cs->fs;
  fs->max_stack = 2; /* metamethod calls rely on two registers */
  fs->last_pc = -1;
  fs->last_target = 0;
  fs->first_var = cs->nvars;
  fs->first_label = cs->nlabels;
  fs->line_defined = line_defined;
  fs->name = cs->name;
  cs->name = NULL;
  cs->fs = fs;
  scope_enter(fs, block, false);
  return fs;
}

uint32_t compile_add_prototype(FuncState *fs, Prototype *p) {
  if (fs->nprotos > MAX_INDEX_Bx) compile_error_limit(fs, MAX_INDEX_Bx, "functions");
  fs->protos =
      arena_grow(&fs->cs->arena, fs->protos, fs->nprotos, &fs->proto_capacity, sizeof *fs->protos);
  fs->protos[fs->nprotos] = p;
  return fs->nprotos++;
}

/* Makes a heap part with a copy of an array of the arena. */
static void *final_array(lua_State *L, Prototype *p, const void *array, size_t count,
                         size_t element_size) {
  if (count == 0) return NULL;
  void *part = heap_alloc_code(L, count * element_size, p);
  return memcpy(part, array, count * element_size);
}

static Prototype *make_prototype(FuncState *fs) {
  lua_State *L = fs->cs->L;
  Prototype *p = prototype_new(L);
  p->nparams = fs->nparams;
  p->is_vararg = fs->is_vararg;
  p->max_stack = (uint8_t)fs->max_stack;
  p->has_names = 1;
  p->pad = 0;
  p->line_defined = (uint32_t)fs->line_defined;
  p->last_line_defined = (uint32_t)fs->last_line_defined;
  p->function_id = 0;
  p->source = fs->cs->source;
  p->name = fs->name;
  /* each length is set together with its array: memory may run short in between */
  p->code = final_array(L, p, fs->code, fs->ncode, sizeof *fs->code);
  p->ncode = fs->ncode;
  p->positions = final_array(L, p, fs->positions, fs->ncode, sizeof *fs->positions);
  p->npositions = fs->ncode;
  p->k = fs->nk > 0 ? final_array(L, p, fs->k, fs->nk, sizeof *fs->k) : prototype_no_constants(p);
  p->nconstants = fs->nk;
  p->p = final_array(L, p, fs->protos, fs->nprotos, sizeof *fs->protos);
  p->nprotos = fs->nprotos;
  p->locals = final_array(L, p, fs->locals, fs->nlocals, sizeof *fs->locals);
  p->nlocals = fs->nlocals;
  p->upvalues = final_array(L, p, fs->upvalues, fs->nupvalues, sizeof *fs->upvalues);
  p->nupvalues = (uint8_t)fs->nupvalues;
  return p;
}

#ifdef SAROS_DEBUG
static bool code_verifies(const Prototype *p) {
  const char *error = verify_prototype(NULL, p);
  return error == NULL || error == verify_no_memory;
}
#endif

Prototype *compile_close_function(CompileState *cs) {
  FuncState *fs = cs->fs;
  emit_return(fs, scope_registers(fs), 0);
  scope_leave(fs);
  codegen_finish(fs);
  Prototype *p = make_prototype(fs);
  rt_assert(code_verifies(p));
  op_fuse(p->code, p->ncode);
  gc_note_code(cs->L->domain, p);
  cs->fs = fs->outer;
  fs->outer = cs->spare;
  cs->spare = fs;
  return p;
}

/* ---- chunks -------------------------------------------------------------- */

typedef struct SourceText {
  const char *text;
  size_t size;
  const char *name;
  CompileState cs;
  LuaClosure *result;
} SourceText;

static void compile_text(lua_State *L, void *ud) {
  SourceText *source = ud;
  CompileState *cs = &source->cs;
  cs->source = string_from_c(L, source->name);
  cs->env_name = string_new(L, "_ENV", 4);
  cs->name = NULL;
  lexer_init(&cs->lexer, &cs->arena, source->text, source->size, source->name);
  Prototype *p = parse_chunk(cs);
  source->result = lua_closure_new(L, p);
  source->result->upvalues[0] = upvalue_new_closed(L);
}

LuaClosure *compile_source(lua_State *L, const char *source, size_t size, const char *name) {
  SourceText text = {.text = source, .size = size, .name = name};
  uint32_t ncalls = L->domain->ncalls;
  text.cs.L = L;
  arena_init(&text.cs.arena, L);
  int status = vm_protect_raw(L, compile_text, &text);
  arena_free(&text.cs.arena);
  L->domain->ncalls = ncalls;
  if (status != LUA_OK) error_throw(L, status);
  stack_check(L, 1);
  set_lua_closure(L->top, text.result);
  L->top++;
  return text.result;
}
