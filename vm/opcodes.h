/* SPDX-License-Identifier: MIT */
/* vm/opcodes.h: the instruction set as an enum, with field access (opcodes.def says what
 * each instruction does). */
#ifndef SAROS_VM_OPCODES_H
#define SAROS_VM_OPCODES_H

#include "object.h"

typedef enum OpCode {
#define OP(name, format, flags, uses, sets, text) OP_##name,
#include "opcodes.def"
#undef OP
  OP_COUNT
} OpCode;

/* the number of opcodes that are compiled, dumped and loaded: QUICK and FUSED ones
   follow */
#define OP_GENERAL_COUNT OP_ADDF

enum { OPFLAG_X = 1, OPFLAG_T = 2, OPFLAG_I = 4, OPFLAG_O = 8, OPFLAG_S = 16 };
typedef enum OpFormat { FORMAT_ABC, FORMAT_ABx, FORMAT_AsBx, FORMAT_sJ } OpFormat;

#define INS_OP(i) ((OpCode)((i) & 0xff))
#define INS_A(i) (((i) >> 8) & 0xff)
#define INS_B(i) (((i) >> 16) & 0xff)
#define INS_C(i) ((i) >> 24)
#define INS_sB(i) ((int)INS_B(i) - 128)
#define INS_sC(i) ((int)INS_C(i) - 128)
#define INS_Bx(i) ((i) >> 16)
#define INS_sBx(i) ((int32_t)(i) >> 16)
#define INS_sJ(i) ((int32_t)(i) >> 8)
#define AUX_KEY(aux) ((aux) & 0xffff)   /* constant index of a field access */
#define AUX_SLOT(aux) ((aux) >> 16)     /* cached node index of a field access */

#define CONSTANT_ON_LEFT 1 /* TValue.extra of a constant that is a left operand */

/* one less than B and C can count, since they hold one more than a number of values */
#define MAX_REGISTERS 254
#define MAX_INDEX_Bx 0xffff
#define MAX_JUMP ((1 << 23) - 1)

#define MAKE_ABC(o, a, b, c) \
  ((Instruction)(o) | ((Instruction)(a) << 8) | ((Instruction)(b) << 16) | ((Instruction)(c) << 24))
#define MAKE_ABx(o, a, bx) ((Instruction)(o) | ((Instruction)(a) << 8) | ((Instruction)(bx) << 16))
#define MAKE_sJ(o, j) ((Instruction)(o) | ((Instruction)(j) << 8))

#endif
