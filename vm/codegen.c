/* SPDX-License-Identifier: MIT */
/* vm/codegen.c: emitting instructions; expressions to registers.
 *
 * Code is made in one pass, while the parser reads. An expression that was read stays an
 * Expr for as long as possible: a constant, a variable, an instruction whose target
 * register is still open (EXPR_PENDING), or a test (EXPR_JUMP); its user decides where it
 * goes. So locals are used in place, results are computed where they are used, and
 * conditions become jumps without ever being values.
 *
 * Registers are a stack: scope_registers(fs) of them belong to active variables; those
 * from there to free_reg are temporaries, released in the reverse order. So the collector
 * needs to scan only the registers below the one that an instruction works on.
 *
 * Jumps whose target is not known form lists: the offset of each leads to the next, and
 * NO_JUMP ends the list. `jump_label` notes that the current position is a target, so
 * that no instruction is merged with the one before it.
 *
 * An instruction can have a second word (aux). Code that needs "the last instruction"
 * uses last_pc, never ncode - 1; a JMP that belongs to the test before it is an
 * OP_TESTJMP until codegen_finish.
 */
#include "codegen.h"

#include <string.h>

#include "arena.h"
#include "compile_state.h"
#include "opinfo.h"
#include "scope.h"

/* ---- instructions -------------------------------------------------------- */

static int add_word(FuncState *fs, uint32_t word) {
  CompileState *cs = fs->cs;
  if (unlikely(fs->ncode >= INT32_MAX)) compile_error_limit(fs, INT32_MAX, "opcodes");
  fs->code = arena_grow(&cs->arena, fs->code, fs->ncode, &fs->code_capacity, sizeof *fs->code);
  fs->positions = arena_grow(&cs->arena, fs->positions, fs->ncode, &fs->position_capacity,
                             sizeof *fs->positions);
  fs->code[fs->ncode] = word;
  fs->positions[fs->ncode] = lexer_last_position(&cs->lexer);
  return (int)fs->ncode++;
}

int emit(FuncState *fs, Instruction ins) {
  return fs->last_pc = add_word(fs, ins);
}

int emit_ABC(FuncState *fs, OpCode op, int a, int b, int c) {
  return emit(fs, MAKE_ABC(op, a, b, c));
}

int emit_ABx(FuncState *fs, OpCode op, int a, int bx) {
  return emit(fs, MAKE_ABx(op, a, (uint32_t)bx & 0xffff));
}

int emit_with_aux(FuncState *fs, OpCode op, int a, int b, int c, uint32_t aux) {
  int pc = emit_ABC(fs, op, a, b, c);
  add_word(fs, aux);
  return pc;
}

void emit_set_position(FuncState *fs, Position position) {
  for (uint32_t pc = (uint32_t)fs->last_pc; pc < fs->ncode; pc++) fs->positions[pc] = position;
}

/* Removes the last instruction, of one word. */
static void remove_last(FuncState *fs) {
  fs->ncode--;
  fs->last_pc = -1;
}

/* Returns the last instruction, or NULL if a jump may lead to the current position. */
static Instruction *last_instruction(FuncState *fs) {
  if (fs->last_pc < 0 || fs->last_target == (int)fs->ncode) return NULL;
  return &fs->code[fs->last_pc];
}

/* Sets registers to nil; joins with a LOADNIL of neighbouring or overlapping registers
   before it. */
void emit_nil(FuncState *fs, int first, int n) {
  int last = first + n - 1;
  Instruction *previous = last_instruction(fs);
  if (previous && code_op(*previous) == OP_LOADNIL) {
    int old_first = (int)INS_A(*previous), old_last = old_first + (int)INS_B(*previous);
    if (first <= old_last + 1 && old_first <= last + 1) {
      if (old_first < first) first = old_first;
      if (old_last > last) last = old_last;
      code_set_A(previous, first);
      code_set_B(previous, last - first);
      return;
    }
  }
  emit_ABC(fs, OP_LOADNIL, first, n - 1, 0);
}

void emit_return(FuncState *fs, int first, int nresults) {
  bool closes = fs->block && fs->block->inside_tbc;
  OpCode op = closes          ? OP_RETURN
              : nresults == 0 ? OP_RETURN0
              : nresults == 1 ? OP_RETURN1
                              : OP_RETURN;
  emit_ABC(fs, op, first, nresults + 1, closes);
}

void emit_setlist(FuncState *fs, int table, uint32_t stored, int n) {
  emit_with_aux(fs, OP_SETLIST, table, n == LUA_MULTRET ? 0 : n, 0, stored);
  fs->free_reg = table + 1;
}

void emit_table_size(FuncState *fs, int pc, uint32_t narray, uint32_t nhash) {
  int log = nhash <= 1 ? 0 : 32 - __builtin_clz(nhash - 1);
  code_set_B(&fs->code[pc], nhash ? log + 1 : 0);
  fs->code[pc + 1] = narray;
}

/* ---- jumps --------------------------------------------------------------- */

static void jump_set_target(FuncState *fs, int pc, int target) {
  int offset = target - (pc + 1);
  if (offset > MAX_JUMP || offset < -MAX_JUMP) compile_error(fs->cs, "control structure too long");
  Instruction *jump = &fs->code[pc];
  *jump = MAKE_sJ(code_op(*jump), offset);
}

static int jump_next(FuncState *fs, int pc) {
  int offset = INS_sJ(fs->code[pc]);
  return offset == NO_JUMP ? NO_JUMP : pc + 1 + offset;
}

int jump_new(FuncState *fs) {
  return emit(fs, MAKE_sJ(OP_JMP, NO_JUMP));
}

int jump_test(FuncState *fs, OpCode op, int a, int b, int c) {
  emit_ABC(fs, op, a, b, c);
  return emit(fs, MAKE_sJ(OP_TESTJMP, NO_JUMP));
}

void jump_back(FuncState *fs, int target) {
  int pc = emit(fs, MAKE_sJ(OP_LOOP, 0));
  jump_set_target(fs, pc, target);
}

int jump_label(FuncState *fs) {
  return fs->last_target = (int)fs->ncode;
}

void jump_append(FuncState *fs, int *list, int other) {
  if (other == NO_JUMP) return;
  if (*list == NO_JUMP) {
    *list = other;
    return;
  }
  int last = *list;
  for (int next; (next = jump_next(fs, last)) != NO_JUMP;) last = next;
  jump_set_target(fs, last, other);
}

/* Returns the test that decides about the jump, or the jump itself. */
static Instruction *jump_control(FuncState *fs, int pc) {
  Instruction *jump = &fs->code[pc];
  return code_op(*jump) == OP_TESTJMP ? jump - 1 : jump;
}

/* Makes a TESTSET deliver its value into reg, or turns it into a plain TEST if the value
 * is not wanted (NO_REGISTER) or is in reg already. Returns false if it is not a
 * TESTSET. */
static bool jump_deliver(FuncState *fs, int pc, int reg) {
  Instruction *test = jump_control(fs, pc);
  if (code_op(*test) != OP_TESTSET) return false;
  int from = (int)INS_B(*test);
  if (reg != NO_REGISTER && reg != from) code_set_A(test, reg);
  else *test = MAKE_ABC(OP_TEST, from, 0, INS_C(*test));
  return true;
}

static void jump_drop_values(FuncState *fs, int list) {
  for (; list != NO_JUMP; list = jump_next(fs, list)) jump_deliver(fs, list, NO_REGISTER);
}

/* Patches a list of jumps: jumps that deliver a value in reg go to value_target, others
   to `elsewhere`. */
static void jump_patch_values(FuncState *fs, int list, int value_target, int reg,
                              int other_target) {
  while (list != NO_JUMP) {
    int next = jump_next(fs, list);
    jump_set_target(fs, list, jump_deliver(fs, list, reg) ? value_target : other_target);
    list = next;
  }
}

void jump_patch(FuncState *fs, int list, int target) {
  jump_patch_values(fs, list, target, NO_REGISTER, target);
}

void jump_patch_here(FuncState *fs, int list) {
  jump_patch(fs, list, jump_label(fs));
}

void jump_fix_for(FuncState *fs, int pc, int target, bool backwards) {
  int offset = target - (pc + 1);
  if (backwards) offset = -offset;
  if (offset > MAX_INDEX_Bx) compile_error(fs->cs, "control structure too long");
  Instruction *ins = &fs->code[pc];
  *ins = MAKE_ABx(code_op(*ins), INS_A(*ins), (uint32_t)offset);
}

/* Returns the final target of a jump; follows jumps that lead to jumps. */
static int jump_final_target(const FuncState *fs, int pc, bool through_loops) {
  for (int hops = 0; hops < 100; hops++) {
    Instruction ins = fs->code[pc];
    if (code_op(ins) != OP_JMP && !(through_loops && code_op(ins) == OP_LOOP)) break;
    pc += INS_sJ(ins) + 1;
  }
  return pc;
}

/* Shortens a chain of jumps. Every jump backwards has to be a LOOP, which the
 * jump of a test cannot be. */
static void finish_jump(FuncState *fs, int pc) {
  Instruction *jump = &fs->code[pc];
  bool conditional = code_op(*jump) == OP_TESTJMP;
  int target = jump_final_target(fs, pc + 1 + INS_sJ(*jump), !conditional);
  code_set_op(jump, !conditional && target <= pc ? OP_LOOP : OP_JMP);
  jump_set_target(fs, pc, target);
}

/* Shortens chains of jumps; sets in returns whether they close upvalues. */
void codegen_finish(FuncState *fs) {
  for (uint32_t pc = 0; pc < fs->ncode; pc += (uint32_t)op_length(INS_OP(fs->code[pc]))) {
    Instruction *ins = &fs->code[pc];
    switch (code_op(*ins)) {
      case OP_RETURN0: case OP_RETURN1:
        if (fs->has_captured) code_set_op(ins, OP_RETURN);
        else break;
        __attribute__((fallthrough));
      case OP_RETURN: case OP_TAILCALL:
        if (fs->has_captured) code_set_C(ins, 1);
        break;
      case OP_JMP: case OP_LOOP: case OP_TESTJMP: finish_jump(fs, (int)pc); break;
      default: break;
    }
  }
}

/* ---- registers ----------------------------------------------------------- */

void reg_check(FuncState *fs, int n) {
  int needed = fs->free_reg + n;
  if (needed <= fs->max_stack) return;
  if (needed > MAX_REGISTERS)
    compile_error(fs->cs, "function or expression needs too many registers");
  fs->max_stack = needed;
}

void reg_reserve(FuncState *fs, int n) {
  reg_check(fs, n);
  fs->free_reg += n;
}

static void reg_release(FuncState *fs, int reg) {
  if (reg < scope_registers(fs)) return;
  fs->free_reg--;
  rt_assert(reg == fs->free_reg);
}

static void reg_release_two(FuncState *fs, int a, int b) {
  reg_release(fs, a > b ? a : b);
  reg_release(fs, a > b ? b : a);
}

void expr_release(FuncState *fs, Expr *e) {
  if (e->kind == EXPR_REGISTER) reg_release(fs, e->u.reg);
}

void expr_release_two(FuncState *fs, Expr *a, Expr *b) {
  if (a->kind == EXPR_REGISTER && b->kind == EXPR_REGISTER) {
    reg_release_two(fs, a->u.reg, b->u.reg);
  } else {
    expr_release(fs, a);
    expr_release(fs, b);
  }
}

/* ---- constants ----------------------------------------------------------- */

static bool same_constant(const TValue *a, const TValue *b) {
  return a->tag == b->tag && a->extra == b->extra &&
         (a->tag <= TAG_FALSE || a->tag == TAG_TRUE || a->v.i == b->v.i);
}

static uint32_t constant_hash(const TValue *v) {
  uint64_t bits = v->tag <= TAG_FALSE || v->tag == TAG_TRUE ? 0 : (uint64_t)v->v.i;
  bits = (bits ^ v->tag ^ v->extra << 8) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(bits >> 32);
}

static uint32_t *constant_slot(FuncState *fs, const TValue *v) {
  uint32_t mask = fs->k_index_size - 1, i = constant_hash(v) & mask;
  while (fs->k_index[i] && !same_constant(&fs->k[fs->k_index[i] - 1], v)) i = (i + 1) & mask;
  return &fs->k_index[i];
}

static void grow_constant_index(FuncState *fs) {
  fs->k_index_size = fs->k_index_size ? fs->k_index_size * 2 : 16;
  fs->k_index = arena_alloc(&fs->cs->arena, fs->k_index_size * sizeof *fs->k_index);
  for (uint32_t i = 0; i < fs->nk; i++) *constant_slot(fs, &fs->k[i]) = i + 1;
}

/* Returns the index of a constant, which is added if it is new. Equal constants share an
   entry; 1 and 1.0 differ by their tags, 0.0 and -0.0 by their bits. */
static uint32_t constant_add(FuncState *fs, const TValue *v) {
  if (fs->nk * 2 >= fs->k_index_size) grow_constant_index(fs);
  uint32_t *slot = constant_slot(fs, v);
  if (*slot) return *slot - 1;
  if (fs->nk >= INT32_MAX / 2) compile_error_limit(fs, INT32_MAX / 2, "constants");
  fs->k = arena_grow(&fs->cs->arena, fs->k, fs->nk, &fs->k_capacity, sizeof *fs->k);
  fs->k[fs->nk] = *v;
  *slot = ++fs->nk;
  return fs->nk - 1;
}

uint32_t constant_string(FuncState *fs, String *s) {
  TValue v = {0};
  set_string(&v, s);
  return constant_add(fs, &v);
}

/* Sets *value to the value of a constant expression; returns false for any other. */
static bool constant_value(const Expr *e, TValue *value) {
  *value = (TValue){0};
  switch (e->kind) {
    case EXPR_NIL: set_nil(value); return true;
    case EXPR_TRUE: set_bool(value, true); return true;
    case EXPR_FALSE: set_bool(value, false); return true;
    case EXPR_INT: set_int(value, e->u.i); return true;
    case EXPR_FLOAT: set_float(value, e->u.n); return true;
    case EXPR_STRING: set_string(value, e->u.s); return true;
    default: return false;
  }
}

static void set_constant(Expr *e, const TValue *value) {
  switch (value->tag) {
    case TAG_NIL: e->kind = EXPR_NIL; break;
    case TAG_FALSE: e->kind = EXPR_FALSE; break;
    case TAG_TRUE: e->kind = EXPR_TRUE; break;
    case TAG_INT: e->kind = EXPR_INT; e->u.i = value->v.i; break;
    case TAG_FLOAT: e->kind = EXPR_FLOAT; e->u.n = value->v.n; break;
    default: e->kind = EXPR_STRING; e->u.s = as_string(value); break;
  }
}

bool expr_as_constant(CompileState *cs, const Expr *e, TValue *value) {
  if (expr_has_jumps(e)) return false;
  if (e->kind != EXPR_COMPTIME) return constant_value(e, value);
  *value = cs->vars[e->u.index].value;
  return true;
}

bool expr_as_number(const Expr *e, TValue *value) {
  TValue ignored;
  if (expr_has_jumps(e) || (e->kind != EXPR_INT && e->kind != EXPR_FLOAT)) return false;
  return constant_value(e, value ? value : &ignored);
}

static bool to_small_constant(FuncState *fs, Expr *e, uint32_t extra) {
  TValue value;
  if (expr_has_jumps(e)) return false;
  if (e->kind == EXPR_CONSTANT) return e->u.index <= 0xff;
  if (!constant_value(e, &value)) return false;
  value.extra = extra;
  uint32_t index = constant_add(fs, &value);
  if (index > 0xff) return false;
  e->kind = EXPR_CONSTANT;
  e->u.index = (int)index;
  return true;
}

bool expr_to_small_constant(FuncState *fs, Expr *e) {
  return to_small_constant(fs, e, 0);
}

bool expr_to_left_constant(FuncState *fs, Expr *e) {
  return to_small_constant(fs, e, CONSTANT_ON_LEFT);
}

static void load_constant(FuncState *fs, int reg, uint32_t index) {
  if (index <= MAX_INDEX_Bx) emit_ABx(fs, OP_LOADK, reg, (int)index);
  else emit_with_aux(fs, OP_LOADKX, reg, 0, 0, index);
}

void emit_int(FuncState *fs, int reg, int64_t i) {
  if (i >= INT16_MIN && i <= INT16_MAX) {
    emit_ABx(fs, OP_LOADI, reg, (int)i);
  } else {
    TValue value = {0};
    set_int(&value, i);
    load_constant(fs, reg, constant_add(fs, &value));
  }
}

static void emit_float(FuncState *fs, int reg, double n) {
  TValue value = {0};
  set_float(&value, n);
  bool minus_zero = n == 0 && value.v.i != 0;
  if (n >= INT16_MIN && n <= INT16_MAX && n == (double)(int)n && !minus_zero)
    emit_ABx(fs, OP_LOADF, reg, (int)n);
  else
    load_constant(fs, reg, constant_add(fs, &value));
}

/* ---- expressions: no longer a variable or a call ------------------------- */

void expr_set_results(FuncState *fs, Expr *e, int nresults) {
  Instruction *ins = &fs->code[e->u.pc];
  code_set_C(ins, nresults + 1);
  if (e->kind == EXPR_VARARG) {
    code_set_A(ins, fs->free_reg);
    reg_reserve(fs, 1);
  }
}

void expr_one_result(FuncState *fs, Expr *e) {
  if (e->kind == EXPR_CALL) { /* compiled with one result */
    e->kind = EXPR_REGISTER;
    e->u.reg = (uint8_t)INS_A(fs->code[e->u.pc]);
  } else if (e->kind == EXPR_VARARG) {
    code_set_C(&fs->code[e->u.pc], 2);
    e->kind = EXPR_PENDING;
  }
}

static void set_pending(Expr *e, int pc) {
  e->kind = EXPR_PENDING;
  e->u.pc = pc;
}

void expr_discharge(FuncState *fs, Expr *e) {
  int table = e->u.at.table, key = e->u.at.key;
  switch (e->kind) {
    case EXPR_COMPTIME: set_constant(e, &fs->cs->vars[e->u.index].value); break;
    case EXPR_LOCAL: {
      uint8_t reg = e->u.local.reg;
      e->kind = EXPR_REGISTER;
      e->u.reg = reg;
      break;
    }
    case EXPR_UPVALUE: set_pending(e, emit_ABC(fs, OP_GETUPVAL, 0, e->u.index, 0)); break;
    case EXPR_INDEX_UP:
      set_pending(e, emit_with_aux(fs, OP_GETTABUP, 0, table, 0, (uint32_t)key));
      break;
    case EXPR_INDEX_INT:
      reg_release(fs, table);
      set_pending(e, emit_ABC(fs, OP_GETI, 0, table, key));
      break;
    case EXPR_INDEX_FIELD:
      reg_release(fs, table);
      set_pending(e, emit_with_aux(fs, OP_GETFIELD, 0, table, 0, (uint32_t)key));
      break;
    case EXPR_INDEX:
      reg_release_two(fs, table, key);
      set_pending(e, emit_ABC(fs, OP_GETTABLE, 0, table, key));
      break;
    case EXPR_CALL: case EXPR_VARARG: expr_one_result(fs, e); break;
    default: break;
  }
}

/* ---- expressions into registers ------------------------------------------ */

/* Loads the value without its jumps; an EXPR_JUMP remains one. */
static void value_to_reg(FuncState *fs, Expr *e, int reg) {
  expr_discharge(fs, e);
  switch (e->kind) {
    case EXPR_NIL: emit_nil(fs, reg, 1); break;
    case EXPR_FALSE: emit_ABC(fs, OP_LOADFALSE, reg, 0, 0); break;
    case EXPR_TRUE: emit_ABC(fs, OP_LOADTRUE, reg, 0, 0); break;
    case EXPR_INT: emit_int(fs, reg, e->u.i); break;
    case EXPR_FLOAT: emit_float(fs, reg, e->u.n); break;
    case EXPR_STRING: load_constant(fs, reg, constant_string(fs, e->u.s)); break;
    case EXPR_CONSTANT: load_constant(fs, reg, (uint32_t)e->u.index); break;
    case EXPR_PENDING: code_set_A(&fs->code[e->u.pc], reg); break;
    case EXPR_REGISTER:
      if (e->u.reg != reg) emit_ABC(fs, OP_MOVE, reg, e->u.reg, 0);
      break;
    default: return; /* a test has no value to load yet */
  }
  e->kind = EXPR_REGISTER;
  e->u.reg = (uint8_t)reg;
}

static void value_to_any(FuncState *fs, Expr *e) {
  if (e->kind == EXPR_REGISTER) return;
  reg_reserve(fs, 1);
  value_to_reg(fs, e, fs->free_reg - 1);
}

static int emit_at_label(FuncState *fs, OpCode op, int reg) {
  jump_label(fs);
  return emit_ABC(fs, op, reg, 0, 0);
}

/* Tells whether some jump of the list delivers no value, so that true or false must be
   loaded. */
static bool list_needs_value(FuncState *fs, int list) {
  for (; list != NO_JUMP; list = jump_next(fs, list))
    if (code_op(*jump_control(fs, list)) != OP_TESTSET) return true;
  return false;
}

static void expr_to_reg(FuncState *fs, Expr *e, int reg) {
  value_to_reg(fs, e, reg);
  if (e->kind == EXPR_JUMP) jump_append(fs, &e->true_list, e->u.pc);
  if (expr_has_jumps(e)) {
    int load_false = NO_JUMP, load_true = NO_JUMP;
    if (list_needs_value(fs, e->true_list) || list_needs_value(fs, e->false_list)) {
      int over = e->kind == EXPR_JUMP ? NO_JUMP : jump_new(fs);
      load_false = emit_at_label(fs, OP_LFALSESKIP, reg);
      load_true = emit_at_label(fs, OP_LOADTRUE, reg);
      jump_patch_here(fs, over);
    }
    int end = jump_label(fs);
    jump_patch_values(fs, e->false_list, end, reg, load_false);
    jump_patch_values(fs, e->true_list, end, reg, load_true);
  }
  expr_set_register(e, reg);
}

void expr_to_next(FuncState *fs, Expr *e) {
  expr_discharge(fs, e);
  expr_release(fs, e);
  reg_reserve(fs, 1);
  expr_to_reg(fs, e, fs->free_reg - 1);
}

int expr_to_any(FuncState *fs, Expr *e) {
  expr_discharge(fs, e);
  if (e->kind == EXPR_REGISTER) {
    if (!expr_has_jumps(e)) return e->u.reg;
    /* a temporary: the jumps may deliver into it */
    if (e->u.reg >= scope_registers(fs)) {
      expr_to_reg(fs, e, e->u.reg);
      return e->u.reg;
    }
  }
  expr_to_next(fs, e);
  return e->u.reg;
}

void expr_to_any_or_upvalue(FuncState *fs, Expr *e) {
  if (e->kind != EXPR_UPVALUE || expr_has_jumps(e)) expr_to_any(fs, e);
}

void expr_to_value(FuncState *fs, Expr *e) {
  if (e->kind == EXPR_JUMP || expr_has_jumps(e)) expr_to_any(fs, e);
  else expr_discharge(fs, e);
}

/* ---- variables: stores, fields, methods ---------------------------------- */

_Static_assert(OP_SETTABUPK == OP_SETTABUP + 1 && OP_SETTABLEK == OP_SETTABLE + 1 &&
                   OP_SETIK == OP_SETI + 1 && OP_SETFIELDK == OP_SETFIELD + 1,
               "each store is followed by its variant with a constant");

/* Emits a store. Its operand C is a register or, in the next opcode (op + 1), a
   constant. */
static void emit_store(FuncState *fs, OpCode op, int a, int b, Expr *value, int aux) {
  int c;
  if (expr_to_small_constant(fs, value)) {
    op++;
    c = value->u.index;
  } else {
    c = expr_to_any(fs, value);
  }
  if (op_info[op].flags & OPFLAG_X) emit_with_aux(fs, op, a, b, c, (uint32_t)aux);
  else emit_ABC(fs, op, a, b, c);
}

void expr_store(FuncState *fs, Expr *variable, Expr *e) {
  int table = variable->u.at.table, key = variable->u.at.key;
  switch (variable->kind) {
    case EXPR_LOCAL:
      expr_release(fs, e);
      expr_to_reg(fs, e, variable->u.local.reg);
      return;
    case EXPR_UPVALUE: emit_ABC(fs, OP_SETUPVAL, expr_to_any(fs, e), variable->u.index, 0); break;
    case EXPR_INDEX_UP: emit_store(fs, OP_SETTABUP, table, 0, e, key); break;
    case EXPR_INDEX_INT: emit_store(fs, OP_SETI, table, key, e, 0); break;
    case EXPR_INDEX_FIELD: emit_store(fs, OP_SETFIELD, table, 0, e, key); break;
    case EXPR_INDEX: emit_store(fs, OP_SETTABLE, table, key, e, 0); break;
    default: rt_assert(!"a variable");
  }
  expr_release(fs, e);
}

/* Returns the constant index of a key that fits into the aux word of a field access, or
   -1. */
static int field_index(FuncState *fs, const Expr *key) {
  if (key->kind != EXPR_STRING || expr_has_jumps(key) || key->u.s->type != TYPE_SHORT_STRING)
    return -1;
  uint32_t index = constant_string(fs, key->u.s);
  return index <= 0xffff ? (int)index : -1;
}

void expr_index(FuncState *fs, Expr *table, Expr *key) {
  int field = field_index(fs, key);
  if (table->kind == EXPR_UPVALUE) {
    if (field >= 0) {
      int upvalue = table->u.index;
      table->kind = EXPR_INDEX_UP;
      table->u.at.table = (uint8_t)upvalue;
      table->u.at.key = field;
      return;
    }
    expr_to_any(fs, table);
  }
  uint8_t reg = table->kind == EXPR_LOCAL ? table->u.local.reg : table->u.reg;
  if (field >= 0) {
    table->kind = EXPR_INDEX_FIELD;
    table->u.at.key = field;
  } else if (key->kind == EXPR_INT && !expr_has_jumps(key) && (uint64_t)key->u.i <= 0xff) {
    table->kind = EXPR_INDEX_INT;
    table->u.at.key = (int)key->u.i;
  } else {
    table->kind = EXPR_INDEX;
    table->u.at.key = expr_to_any(fs, key);
  }
  table->u.at.table = reg;
}

void expr_self(FuncState *fs, Expr *e, String *method) {
  Expr key = expr_string(method);
  int object = expr_to_any(fs, e);
  expr_release(fs, e);
  int base = fs->free_reg;
  reg_reserve(fs, 2); /* the method and its object */
  int field = field_index(fs, &key);
  if (field >= 0) {
    emit_with_aux(fs, OP_SELF, base, object, 0, (uint32_t)field);
  } else {
    int reg = expr_to_any(fs, &key);
    emit_ABC(fs, OP_SELFK, base, object, reg);
    expr_release(fs, &key);
  }
  expr_set_register(e, base);
}

/* ---- conditions ---------------------------------------------------------- */

/* Negates a test: its jump is now taken in the opposite case. */
static void negate_test(FuncState *fs, const Expr *e) {
  *jump_control(fs, e->u.pc) ^= 1u << 24;
}

bool expr_is_true(FuncState *fs, Expr *e) {
  expr_discharge(fs, e);
  return e->kind >= EXPR_TRUE && e->kind <= EXPR_CONSTANT && e->kind != EXPR_FALSE &&
         !expr_has_jumps(e);
}

/* Emits a jump that is taken if the truth of e is `condition`. */
static int jump_when(FuncState *fs, Expr *e, bool condition) {
  if (e->kind == EXPR_PENDING && code_op(fs->code[e->u.pc]) == OP_NOT) {
    int operand = (int)INS_B(fs->code[e->u.pc]);
    remove_last(fs);
    return jump_test(fs, OP_TEST, operand, 0, !condition);
  }
  value_to_any(fs, e);
  expr_release(fs, e);
  return jump_test(fs, OP_TESTSET, NO_REGISTER, e->u.reg, condition);
}

void expr_jump_unless_true(FuncState *fs, Expr *e) {
  int jump = NO_JUMP;
  expr_discharge(fs, e);
  switch (e->kind) {
    case EXPR_JUMP:
      negate_test(fs, e);
      jump = e->u.pc;
      break;
    case EXPR_TRUE: case EXPR_INT: case EXPR_FLOAT: case EXPR_STRING: case EXPR_CONSTANT:
      break; /* always true */
    default: jump = jump_when(fs, e, false);
  }
  jump_append(fs, &e->false_list, jump);
  jump_patch_here(fs, e->true_list);
  e->true_list = NO_JUMP;
}

void expr_jump_unless_false(FuncState *fs, Expr *e) {
  int jump = NO_JUMP;
  expr_discharge(fs, e);
  switch (e->kind) {
    case EXPR_JUMP: jump = e->u.pc; break;
    case EXPR_NIL: case EXPR_FALSE: break; /* always false */
    default: jump = jump_when(fs, e, true);
  }
  jump_append(fs, &e->true_list, jump);
  jump_patch_here(fs, e->false_list);
  e->false_list = NO_JUMP;
}

void expr_not(FuncState *fs, Expr *e) {
  switch (e->kind) {
    case EXPR_NIL: case EXPR_FALSE: e->kind = EXPR_TRUE; break;
    case EXPR_TRUE:
    case EXPR_INT:
    case EXPR_FLOAT:
    case EXPR_STRING:
    case EXPR_CONSTANT: e->kind = EXPR_FALSE; break;
    case EXPR_JUMP: negate_test(fs, e); break;
    default: {
      value_to_any(fs, e);
      expr_release(fs, e);
      set_pending(e, emit_ABC(fs, OP_NOT, 0, e->u.reg, 0));
    }
  }
  int list = e->false_list;
  e->false_list = e->true_list;
  e->true_list = list;
  jump_drop_values(fs, e->false_list); /* a negated value is not needed */
  jump_drop_values(fs, e->true_list);
}
