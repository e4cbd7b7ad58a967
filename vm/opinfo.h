/* SPDX-License-Identifier: MIT */
/* vm/opinfo.h: the facts of opcodes.def about each instruction, as a table. */
#ifndef SAROS_VM_OPINFO_H
#define SAROS_VM_OPINFO_H

#include "opcodes.h"

/* The columns `uses` and `sets`, explained in opcodes.def. */
enum {
  OPERAND_RA = 1 << 0, OPERAND_RA1 = 1 << 1, OPERAND_RA2 = 1 << 2, OPERAND_RA3 = 1 << 3,
  OPERAND_RA4 = 1 << 4, OPERAND_RB = 1 << 5, OPERAND_RC = 1 << 6,
  OPERAND_A_B = 1 << 7, OPERAND_A_B0 = 1 << 8, OPERAND_A1_B = 1 << 9, OPERAND_A_B1 = 1 << 10,
  OPERAND_A_C0 = 1 << 11, OPERAND_A4_C = 1 << 12,
  OPERAND_UA = 1 << 13, OPERAND_UB = 1 << 14, OPERAND_PBx = 1 << 15,
  OPERAND_KB = 1 << 16, OPERAND_KC = 1 << 17, OPERAND_KBx = 1 << 18, OPERAND_KX = 1 << 19,
  OPERAND_TABLE = 1 << 20, OPERAND_NUMERIC = 1 << 21, OPERAND_GENERIC = 1 << 22,
  OPERAND_LOSES_A = 1 << 23, OPERAND_LOSES_A1 = 1 << 24, OPERAND_LOSES_A4 = 1 << 25,
  OPERAND_SCRATCH_A2 = 1 << 26, OPERAND_PENDING_A = 1 << 27, OPERAND_PENDING_A3 = 1 << 28,
  OPERAND_ON_JUMP = 1 << 29, OPERAND_ON_NEXT = 1 << 30
};

typedef struct OpInfo {
  const char *name;
  uint8_t format; /* OpFormat */
  uint8_t flags;  /* OPFLAG_* */
  uint8_t base;   /* OpCode: itself, or the base of a QUICK one */
  uint32_t uses, sets; /* OPERAND_* */
  const char *text;
} OpInfo;

HIDDEN extern const OpInfo op_info[OP_COUNT];

/* Facts for a search in code for the writes of a register, in a byte. */
enum {
  OPWALK_AUX = 1,  /* two words */
  OPWALK_RA = 2,   /* R[A] is the only register that it sets */
  OPWALK_MORE = 4  /* it sets other registers, or calls, which may change registers */
};
HIDDEN extern const uint8_t op_walk[OP_COUNT];

/* How an instruction that waited for a metamethod continues when that has returned. */
typedef enum OpFinish {
  FINISH_STORE,     /* the instruction is done; it takes no value */
  FINISH_STORE_AUX, /* like FINISH_STORE, for an instruction of two words */
  FINISH_VALUE,     /* the value goes into R[A] */
  FINISH_VALUE_AUX, /* like FINISH_VALUE, for an instruction of two words */
  FINISH_TEST,      /* the value decides whether the instruction jumps */
  FINISH_CONCAT,    /* the value is joined to the rest */
  FINISH_AGAIN      /* the instruction runs again, for the next variable to close */
} OpFinish;
HIDDEN extern const uint8_t op_finish[OP_COUNT];

/* Registers that follow each other. */
typedef struct RegisterRun {
  int first, n;
} RegisterRun;

#define MOST_RUNS 7

/* Finds the registers that `operands`, a column of the instruction, names; returns the
 * number of runs. The values of an instruction with open operands end at register
 * `top`. */
int op_registers(Instruction i, uint32_t operands, int top, RegisterRun runs[MOST_RUNS]);
/* Returns the first of the registers that lose their values, or -1. */
int op_loses_from(Instruction i);
/* Returns the upvalue that an instruction reads or writes, or -1. */
int op_upvalue(Instruction i);
/* Returns the index of the constant that an instruction names in its own word, or -1. */
int op_constant(Instruction i);
/* Returns the index of the constant that an instruction names in aux, its second word, or
   -1. */
int64_t op_key(Instruction i, uint32_t aux);
/* Returns where an instruction may lead besides the next one, or -1 if nowhere. A test
   skips the word behind it. */
int64_t op_jump_target(Instruction i, uint32_t pc);

/* Gives pairs of instructions that run one after the other their common opcodes. Before
 * this call, the code has general opcodes only. */
void op_fuse(Instruction *code, uint32_t n);

/* The instruction itself, or the one it replaces. */
#define op_base(i) ((OpCode)op_info[INS_OP(i)].base)

/* Returns the number of words of an instruction: 2 with aux, otherwise 1. */
ALWAYS_INLINE int op_length(OpCode op) {
  return op < OP_COUNT && (op_info[op].flags & OPFLAG_X) ? 2 : 1;
}

#endif
