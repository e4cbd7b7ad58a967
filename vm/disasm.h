/* SPDX-License-Identifier: MIT */
/* vm/disasm.h: bytecode as text, for people and tests. */
#ifndef SAROS_VM_DISASM_H
#define SAROS_VM_DISASM_H

#include <stdio.h>

#include "object.h"

/* Writes one line for the instruction at word pc; returns its number of words. */
int disassemble_instruction(FILE *out, const Prototype *p, uint32_t pc);
/* Writes a function with its constants, locals and upvalues; if `nested`, also the
 * functions inside it. */
void disassemble(FILE *out, const Prototype *p, bool nested);

#endif
