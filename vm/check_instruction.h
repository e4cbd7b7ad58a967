/* SPDX-License-Identifier: MIT */
/* vm/check_instruction.h: the facts that the verifier proves, asserted where they are
 * relied on. Builds with asserts only. */
#ifndef SAROS_VM_CHECK_INSTRUCTION_H
#define SAROS_VM_CHECK_INSTRUCTION_H

#include "object.h"

/* Asserts that the frame L->ci may run the instruction at pc, with its registers at base
 * and its constants at k. */
void check_instruction(const lua_State *L, const Instruction *pc, const TValue *base,
                       const TValue *k);
/* Asserts that a round of the generic loop at ra has left the position of a traversal by
 * `next` (execute.c) equal to that of its control variable, or unknown. */
void check_position(const TValue *ra);

#endif
