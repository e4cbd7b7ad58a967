/* SPDX-License-Identifier: MIT */
/* vm/codegen.h: emitting instructions and turning expressions into code
 * (design: top of codegen.c).
 */
#ifndef SAROS_VM_CODEGEN_H
#define SAROS_VM_CODEGEN_H

#include "compile_state.h"

typedef enum BinaryOp { /* arithmetic first, in the order of LUA_OPADD.. */
  BINARY_ADD, BINARY_SUB, BINARY_MUL, BINARY_MOD, BINARY_POW, BINARY_DIV, BINARY_IDIV,
  BINARY_BAND, BINARY_BOR, BINARY_BXOR, BINARY_SHL, BINARY_SHR,
  BINARY_CONCAT,
  BINARY_EQ, BINARY_LT, BINARY_LE, BINARY_NE, BINARY_GT, BINARY_GE,
  BINARY_AND, BINARY_OR,
  BINARY_NONE
} BinaryOp;

typedef enum UnaryOp { UNARY_MINUS, UNARY_BNOT, UNARY_NOT, UNARY_LEN, UNARY_NONE } UnaryOp;

/* ---- instructions (codegen.c) -------------------------------------------- */

/* Emits an instruction; returns the position of its word. */
int emit(FuncState *fs, Instruction ins);
int emit_ABC(FuncState *fs, OpCode op, int a, int b, int c);
int emit_ABx(FuncState *fs, OpCode op, int a, int bx);
int emit_with_aux(FuncState *fs, OpCode op, int a, int b, int c, uint32_t aux);
/* Gives the last instruction another position in the source. */
void emit_set_position(FuncState *fs, Position position);
void emit_nil(FuncState *fs, int first, int n);
void emit_int(FuncState *fs, int reg, int64_t i);
/* Emits a return of nresults values from `first` on (LUA_MULTRET: up to top). */
void emit_return(FuncState *fs, int first, int nresults);
/* Emits R[table][stored + i] := the n values above table (LUA_MULTRET: up to top). */
void emit_setlist(FuncState *fs, int table, uint32_t stored, int n);
void emit_table_size(FuncState *fs, int pc, uint32_t narray, uint32_t nhash);

/* ---- jumps --------------------------------------------------------------- */

int jump_new(FuncState *fs);                        /* an open unconditional jump */
void jump_back(FuncState *fs, int target);          /* LOOP to an earlier position */
/* Marks the current position as a target, and returns it. */
int jump_label(FuncState *fs);
void jump_append(FuncState *fs, int *list, int other);
void jump_patch(FuncState *fs, int list, int target);
void jump_patch_here(FuncState *fs, int list);
/* Sets Bx of a for instruction at pc so that it reaches target. */
void jump_fix_for(FuncState *fs, int pc, int target, bool backwards);
void codegen_finish(FuncState *fs);                 /* last pass over the code */

/* ---- registers ----------------------------------------------------------- */

void reg_check(FuncState *fs, int n);   /* makes room for n more, or raises */
void reg_reserve(FuncState *fs, int n);

/* ---- constants ----------------------------------------------------------- */

uint32_t constant_string(FuncState *fs, String *s);

/* ---- expressions --------------------------------------------------------- */

/* Sets the number of results of a call or vararg (LUA_MULTRET: all). */
void expr_set_results(FuncState *fs, Expr *e, int nresults);
void expr_one_result(FuncState *fs, Expr *e);
/* Turns a variable or a call into a value. */
void expr_discharge(FuncState *fs, Expr *e);
void expr_to_next(FuncState *fs, Expr *e);    /* into the next free register */
int expr_to_any(FuncState *fs, Expr *e);      /* into some register; returns it */
void expr_to_any_or_upvalue(FuncState *fs, Expr *e);
/* Loads an expression, unless it is a constant. */
void expr_to_value(FuncState *fs, Expr *e);
/* Tells whether an expression is a compile-time constant, and sets *value. */
bool expr_as_constant(CompileState *cs, const Expr *e, TValue *value);
void expr_store(FuncState *fs, Expr *variable, Expr *e);
void expr_index(FuncState *fs, Expr *table, Expr *key);
void expr_self(FuncState *fs, Expr *e, String *method);
void expr_release(FuncState *fs, Expr *e);    /* frees its register */
bool expr_is_true(FuncState *fs, Expr *e);    /* whether it is a constant that is true */
void expr_jump_unless_true(FuncState *fs, Expr *e);  /* falls through if it is true */
void expr_jump_unless_false(FuncState *fs, Expr *e); /* falls through if it is false */

/* ---- operators (codegen_ops.c) ------------------------------------------- */

void op_unary(FuncState *fs, UnaryOp op, Expr *e, Position position);
/* Prepares the left operand, after the operator, before the right operand. */
void op_left(FuncState *fs, BinaryOp op, Expr *left);
/* Emits a binary operator; the result is in left. */
void op_binary(FuncState *fs, BinaryOp op, Expr *left, Expr *right, Position position);

/* ---- shared between codegen.c and codegen_ops.c -------------------------- */

#define fits_signed_byte(i) ((uint64_t)(i) + 128 <= 255) /* sB, sC */
void expr_not(FuncState *fs, Expr *e); /* the operator `not` */
/* Tells whether an expression is a numeral without jumps; value may be NULL. */
bool expr_as_number(const Expr *e, TValue *value);
/* Makes an expression EXPR_CONSTANT with an index <= 255, if it can be one. */
bool expr_to_small_constant(FuncState *fs, Expr *e);
/* Makes a left operand EXPR_CONSTANT with an index <= 255 and CONSTANT_ON_LEFT, if it can
 * be one. */
bool expr_to_left_constant(FuncState *fs, Expr *e);
void expr_release_two(FuncState *fs, Expr *a, Expr *b);
int jump_test(FuncState *fs, OpCode op, int a, int b, int c); /* test and its jump */
#define code_op(ins) ((unsigned)((ins) & 0xff)) /* also OP_TESTJMP */
ALWAYS_INLINE void code_set_A(Instruction *ins, int a) {
  *ins = (*ins & ~0xff00u) | (Instruction)a << 8;
}
ALWAYS_INLINE void code_set_B(Instruction *ins, int b) {
  *ins = (*ins & ~0xff0000u) | (Instruction)b << 16;
}
ALWAYS_INLINE void code_set_C(Instruction *ins, int c) {
  *ins = (*ins & ~0xff000000u) | (Instruction)c << 24;
}
ALWAYS_INLINE void code_set_op(Instruction *ins, unsigned op) { *ins = (*ins & ~0xffu) | op; }

#endif
