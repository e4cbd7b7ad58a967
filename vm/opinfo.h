/* vm/opinfo.h: what opcodes.def says of each instruction, as a table. */
#ifndef SAROS_VM_OPINFO_H
#define SAROS_VM_OPINFO_H

#include "opcodes.h"

typedef struct OpInfo {
  const char *name;
  uint8_t format; /* OpFormat */
  uint8_t flags;  /* OPFLAG_* */
  const char *text;
} OpInfo;

extern const OpInfo op_info[OP_COUNT];

/* Words of an instruction: 2 with aux, else 1. */
ALWAYS_INLINE int op_length(OpCode op) {
  return op < OP_COUNT && (op_info[op].flags & OPFLAG_X) ? 2 : 1;
}

#endif
