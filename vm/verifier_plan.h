/* SPDX-License-Identifier: MIT */
/* vm/verifier_plan.h: what the verifier checks of each opcode. */
#ifndef SAROS_VM_VERIFIER_PLAN_H
#define SAROS_VM_VERIFIER_PLAN_H

#include <stdint.h>

/* The checks of an instruction, by its opcode; all 0 for invalid opcodes. */
typedef struct OpPlan {
  uint8_t length;              /* length in words */
  uint8_t jumps;
  /* on a path, the instruction only reads and writes the registers of the next line */
  uint8_t plain;
  /* 1 if it reads (writes) this register */
  uint8_t reads_a, reads_b, reads_c, writes_a, writes_a1;
  /* it is a CALL; only one with neither open arguments nor open results is run fast */
  uint8_t call;
  /* its form is valid if its operands, described by the fields below, are valid */
  uint8_t simple;
  /* names_a: it names R[A] to R[A + above_a - 1]; if above_a is 0, A is only a level,
     which may be max_stack */
  uint8_t names_a, above_a;
  uint8_t upvalue_a, upvalue_b;
  /* it has a constant whose index begins at bit constant_shift and has 8 bits or, if
     constant_is_wide, 16 */
  uint8_t has_constant, constant_shift, constant_is_wide;
  /* the constant must be of the kind that the opcode expects */
  uint8_t fits;
  uint8_t has_key;
  uint8_t has_more;            /* any of the fields from run_of_b to test is set */
  uint8_t run_of_b, beyond_b;  /* a run that ends before R[A + B + beyond_b - 1] */
  uint8_t run_of_c;            /* a run that ends before R[A + C - 1] */
  /* its values are open if B (C) is 0; its form is not simple then */
  uint8_t takes_open, leaves_open;
  uint8_t has_function;        /* P[Bx] */
  uint8_t has_size;            /* see sizes_fit in verifier.c */
  uint8_t test;                /* a JMP follows */
  uint8_t unused[4];
} OpPlan;
_Static_assert(sizeof(OpPlan) == 32, "it is looked up by a shift");

extern const OpPlan verifier_plans[256];

#endif
