/* vm/opinfo.h: what opcodes.def says of each instruction, as a table. */
#ifndef SAROS_VM_OPINFO_H
#define SAROS_VM_OPINFO_H

#include "opcodes.h"

typedef struct OpInfo {
  const char *name;
  uint8_t format; /* OpFormat */
  uint8_t flags;  /* OPFLAG_* */
  uint8_t base;   /* OpCode: itself, or what a QUICK one stands for */
  const char *text;
} OpInfo;

extern const OpInfo op_info[OP_COUNT];

/* What the fields of an instruction refer to. */
enum {
  REFERS_REG_A = 1, REFERS_REG_B = 2, REFERS_REG_C = 4,
  REFERS_UPVALUE_A = 8, REFERS_UPVALUE_B = 16,
  REFERS_K_B = 32, REFERS_K_C = 64, REFERS_K_Bx = 128, /* at most one of these three */
  REFERS_K_AUX = 256,
  REFERS_PROTO_Bx = 512
};
/* The set of these, read off the description in opcodes.def. */
uint32_t op_references(OpCode op);
/* The index of the constant in the instruction's own word. */
uint32_t op_constant_index(uint32_t references, Instruction i);
/* The index of the constant in its aux word. */
uint32_t op_key_index(OpCode op, uint32_t aux);

/* Words of an instruction: 2 with aux, else 1. */
ALWAYS_INLINE int op_length(OpCode op) {
  return op < OP_COUNT && (op_info[op].flags & OPFLAG_X) ? 2 : 1;
}

#endif
