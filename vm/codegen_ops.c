/* SPDX-License-Identifier: MIT */
/* vm/codegen_ops.c: operators; folding of constants.
 *
 * The parser calls op_left between an operator and its right operand, and op_binary after
 * it. op_left keeps a left operand that is a numeral unchanged: the numeral may be
 * folded, or become part of the instruction (with CONSTANT_ON_LEFT, if the operator is
 * commutative). A numeral on the left that needs a register is loaded after the right
 * operand; this order has no visible effect.
 *
 * ADDI with a negative operand is a subtraction: x + -1 with a literal -1 uses ADDK, so
 * that metamethods and messages see the operator that was written.
 */
#include "codegen.h"
#include "compile_state.h"
#include "number.h"

_Static_assert(BINARY_ADD == LUA_OPADD && BINARY_SUB == LUA_OPSUB && BINARY_MUL == LUA_OPMUL &&
                   BINARY_MOD == LUA_OPMOD && BINARY_POW == LUA_OPPOW && BINARY_DIV == LUA_OPDIV &&
                   BINARY_IDIV == LUA_OPIDIV && BINARY_BAND == LUA_OPBAND &&
                   BINARY_BOR == LUA_OPBOR && BINARY_BXOR == LUA_OPBXOR &&
                   BINARY_SHL == LUA_OPSHL && BINARY_SHR == LUA_OPSHR,
               "operators in the order of the arithmetic function");

static const uint8_t register_ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_MOD, OP_POW, OP_DIV, OP_IDIV,
                                       OP_BAND, OP_BOR, OP_BXOR, OP_SHL, OP_SHR};
static const uint8_t constant_ops[] = {OP_ADDK,  OP_SUBK,  OP_MULK, OP_MODK,  OP_POWK, OP_DIVK,
                                       OP_IDIVK, OP_BANDK, OP_BORK, OP_BXORK, OP_SHLK, OP_SHRK};

#define is_arithmetic(op) ((op) <= BINARY_SHR)

/* ---- folding ------------------------------------------------------------- */

/* Tells whether an operation may be folded: some must fail, or choose a metamethod, at
   run time. */
static bool may_fold(int op, const TValue *a, const TValue *b) {
  int64_t ignored;
  switch (op) {
    case LUA_OPBAND:
    case LUA_OPBOR:
    case LUA_OPBXOR:
    case LUA_OPSHL:
    case LUA_OPSHR:
    case LUA_OPBNOT:
      return number_to_int(a, &ignored, FLOAT_EXACT) && number_to_int(b, &ignored, FLOAT_EXACT);
    case LUA_OPDIV: case LUA_OPIDIV: case LUA_OPMOD:
      return is_int(b) ? b->v.i != 0 : b->v.n != 0;
    default: return true;
  }
}

/* Replaces a with the result of the operation, if a constant can have that value. */
static bool fold_constants(FuncState *fs, int op, Expr *a, const Expr *b) {
  TValue x, y, result;
  if (!expr_as_number(a, &x) || !expr_as_number(b, &y) || !may_fold(op, &x, &y)) return false;
  if (!number_arith(fs->cs->L, op, &x, &y, &result)) return false;
  if (is_int(&result)) {
    a->kind = EXPR_INT;
    a->u.i = result.v.i;
    return true;
  }
  /* NaN; zero, which has a sign */
  if (result.v.n != result.v.n || result.v.n == 0) return false;
  a->kind = EXPR_FLOAT;
  a->u.n = result.v.n;
  return true;
}

/* ---- unary operators ----------------------------------------------------- */

static void unary_instruction(FuncState *fs, OpCode op, Expr *e, Position position) {
  int operand = expr_to_any(fs, e);
  expr_release(fs, e);
  e->u.pc = emit_ABC(fs, op, 0, operand, 0);
  e->kind = EXPR_PENDING;
  emit_set_position(fs, position);
}

void op_unary(FuncState *fs, UnaryOp op, Expr *e, Position position) {
  Expr zero = expr_new(EXPR_INT);
  zero.u.i = 0;
  expr_discharge(fs, e);
  switch (op) {
    case UNARY_MINUS:
      if (!fold_constants(fs, LUA_OPUNM, e, &zero)) unary_instruction(fs, OP_UNM, e, position);
      break;
    case UNARY_BNOT:
      if (!fold_constants(fs, LUA_OPBNOT, e, &zero)) unary_instruction(fs, OP_BNOT, e, position);
      break;
    case UNARY_LEN: unary_instruction(fs, OP_LEN, e, position); break;
    case UNARY_NOT: expr_not(fs, e); break;
    default: rt_assert(!"a unary operator");
  }
}

/* ---- operands ------------------------------------------------------------ */

static void swap_exprs(Expr *a, Expr *b) {
  Expr e = *a;
  *a = *b;
  *b = e;
}

/* Tells whether an expression is an integer literal that fits into a byte of an
   instruction. */
static bool is_small_integer(const Expr *e) {
  return e->kind == EXPR_INT && !expr_has_jumps(e) && fits_signed_byte(e->u.i);
}

/* Reads a small integer, or a float with the value of one: equality does not distinguish
   them. */
static bool small_number(const Expr *e, int *value) {
  if (is_small_integer(e)) {
    *value = (int)e->u.i;
    return true;
  }
  if (e->kind != EXPR_FLOAT || expr_has_jumps(e)) return false;
  if (!(e->u.n >= -128 && e->u.n <= 127) || e->u.n != (double)(int)e->u.n) return false;
  *value = (int)e->u.n;
  return true;
}

void op_left(FuncState *fs, BinaryOp op, Expr *left) {
  expr_discharge(fs, left);
  switch (op) {
    case BINARY_AND: expr_jump_unless_true(fs, left); break;
    case BINARY_OR: expr_jump_unless_false(fs, left); break;
    case BINARY_CONCAT: expr_to_next(fs, left); break;
    case BINARY_EQ: case BINARY_NE:
      if (!expr_as_number(left, NULL) && !expr_to_small_constant(fs, left)) expr_to_any(fs, left);
      break;
    case BINARY_LT: case BINARY_LE: case BINARY_GT: case BINARY_GE:
      if (!is_small_integer(left)) expr_to_any(fs, left);
      break;
    default:
      if (!expr_as_number(left, NULL)) expr_to_any(fs, left);
  }
}

/* ---- arithmetic ---------------------------------------------------------- */

/* Emits the instruction of an operator whose operands are no longer needed; the result is
   in left. */
static void finish_binary(FuncState *fs, Expr *left, Expr *right, Instruction ins,
                          Position position) {
  expr_release_two(fs, left, right);
  left->u.pc = emit(fs, ins);
  left->kind = EXPR_PENDING;
  emit_set_position(fs, position);
}

/* Finds the operand of ADDI for x + 3 or x - 3. Its sign says which operator was written,
   so x - 0 cannot be an ADDI. */
static bool add_immediate(BinaryOp op, const Expr *right, int *operand) {
  if (right->kind != EXPR_INT || expr_has_jumps(right)) return false;
  int64_t i = right->u.i;
  if (op == BINARY_ADD && i >= 0 && i <= 127) *operand = (int)i;
  else if (op == BINARY_SUB && i >= 1 && i <= 128) *operand = -(int)i;
  else return false;
  return true;
}

/* Tells whether the operator can take this value as a constant. */
static bool arithmetic_constant(BinaryOp op, const Expr *e) {
  TValue value;
  int64_t ignored;
  if (!expr_as_number(e, &value)) return false;
  return op < BINARY_BAND || number_to_int(&value, &ignored, FLOAT_EXACT);
}

static bool is_commutative(BinaryOp op) {
  return op == BINARY_ADD || op == BINARY_MUL || op == BINARY_BAND || op == BINARY_BOR ||
         op == BINARY_BXOR;
}

static void code_arithmetic(FuncState *fs, BinaryOp op, Expr *left, Expr *right,
                            Position position) {
  int operand;
  Instruction ins;
  if (add_immediate(op, right, &operand)) {
    int reg = expr_to_any(fs, left);
    ins = MAKE_ABC(OP_ADDI, 0, reg, operand + 128);
  } else if (arithmetic_constant(op, right) && expr_to_small_constant(fs, right)) {
    int reg = expr_to_any(fs, left);
    ins = MAKE_ABC(constant_ops[op], 0, reg, right->u.index);
  } else if (is_commutative(op) && arithmetic_constant(op, left) &&
             expr_to_left_constant(fs, left)) {
    int reg = expr_to_any(fs, right);
    ins = MAKE_ABC(constant_ops[op], 0, reg, left->u.index);
  } else {
    int right_reg = expr_to_any(fs, right);
    int left_reg = expr_to_any(fs, left);
    ins = MAKE_ABC(register_ops[op], 0, left_reg, right_reg);
  }
  finish_binary(fs, left, right, ins, position);
}

/* Emits a concatenation. a .. (b .. c) is one instruction over three registers. */
static void code_concat(FuncState *fs, Expr *left, Expr *right, Position position) {
  Instruction *last =
      fs->last_target != (int)fs->ncode && fs->last_pc >= 0 ? &fs->code[fs->last_pc] : NULL;
  if (last && code_op(*last) == OP_CONCAT && (int)INS_A(*last) == left->u.reg + 1) {
    int n = (int)INS_B(*last);
    expr_release(fs, right);
    code_set_A(last, left->u.reg);
    code_set_B(last, n + 1);
  } else {
    emit_ABC(fs, OP_CONCAT, left->u.reg, 2, 0);
    expr_release(fs, right);
    emit_set_position(fs, position);
  }
}

/* ---- comparisons --------------------------------------------------------- */

static void finish_comparison(FuncState *fs, Expr *left, Expr *right, OpCode op, int a, int b,
                              bool condition) {
  expr_release_two(fs, left, right);
  left->u.pc = jump_test(fs, op, a, b, condition);
  left->kind = EXPR_JUMP;
}

static void code_equality(FuncState *fs, Expr *left, Expr *right, bool condition) {
  int number;
  /* a constant goes to the right */
  if (left->kind != EXPR_REGISTER) swap_exprs(left, right);
  int reg = expr_to_any(fs, left);
  if (small_number(right, &number)) {
    finish_comparison(fs, left, right, OP_EQI, reg, number + 128, condition);
  } else if (expr_to_small_constant(fs, right)) {
    finish_comparison(fs, left, right, OP_EQK, reg, right->u.index, condition);
  } else {
    int other = expr_to_any(fs, right);
    finish_comparison(fs, left, right, OP_EQ, reg, other, condition);
  }
}

/* Emits left < right or left <= right. */
static void code_order(FuncState *fs, bool or_equal, Expr *left, Expr *right) {
  if (is_small_integer(right)) {
    int number = (int)right->u.i, reg = expr_to_any(fs, left);
    finish_comparison(fs, left, right, or_equal ? OP_LEI : OP_LTI, reg, number + 128, true);
  } else if (is_small_integer(left)) {
    int number = (int)left->u.i, reg = expr_to_any(fs, right);
    finish_comparison(fs, left, right, or_equal ? OP_GEI : OP_GTI, reg, number + 128, true);
  } else {
    int a = expr_to_any(fs, left), b = expr_to_any(fs, right);
    finish_comparison(fs, left, right, or_equal ? OP_LE : OP_LT, a, b, true);
  }
}

/* ---- all binary operators ------------------------------------------------ */

void op_binary(FuncState *fs, BinaryOp op, Expr *left, Expr *right, Position position) {
  expr_discharge(fs, right);
  if (is_arithmetic(op) && fold_constants(fs, op, left, right)) return;
  switch (op) {
    case BINARY_AND:
      jump_append(fs, &right->false_list, left->false_list);
      *left = *right;
      break;
    case BINARY_OR:
      jump_append(fs, &right->true_list, left->true_list);
      *left = *right;
      break;
    case BINARY_CONCAT:
      expr_to_next(fs, right);
      code_concat(fs, left, right, position);
      break;
    case BINARY_EQ: case BINARY_NE: code_equality(fs, left, right, op == BINARY_EQ); break;
    case BINARY_GT: case BINARY_GE: /* a > b is b < a */
      swap_exprs(left, right);
      code_order(fs, op == BINARY_GE, left, right);
      break;
    case BINARY_LT: case BINARY_LE: code_order(fs, op == BINARY_LE, left, right); break;
    default: code_arithmetic(fs, op, left, right, position);
  }
}
