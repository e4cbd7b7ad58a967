/* SPDX-License-Identifier: MIT */
/* vm/verifier_plan.h: what the verifier checks of each opcode. */
#ifndef SAROS_VM_VERIFIER_PLAN_H
#define SAROS_VM_VERIFIER_PLAN_H

#include <stdint.h>

/* The checks of an instruction, by its opcode; all 0 for invalid opcodes. */
typedef struct OpPlan {
  uint8_t length;              /* in words */
  uint8_t jumps;
  /* on a path, it only reads and writes these registers: */
  uint8_t plain;
  uint8_t reads_a, reads_b, reads_c, writes_a, writes_a1; /* 1 for this register */
  /* a CALL that does only this, with neither open arguments nor results */
  uint8_t call;
  /* its form is valid if the form of its operands is: */
  uint8_t simple;
  /* R[A] to R[A + above_a - 1]; 0: A is only a level, which may be max_stack */
  uint8_t names_a, above_a;
  uint8_t upvalue_a, upvalue_b;
  /* the position of its index, of 8 bits or 16 */
  uint8_t has_constant, constant_shift, constant_is_wide;
  /* the constant must be of the kind that the opcode expects */
  uint8_t fits;
  uint8_t has_key;
  uint8_t has_more;            /* any of these: */
  uint8_t run_of_b, beyond_b;  /* a run that ends before R[A + B + beyond_b - 1] */
  uint8_t run_of_c;            /* a run that ends before R[A + C - 1] */
  uint8_t takes_open, leaves_open; /* if B (C) is 0, which is not simple */
  uint8_t has_function;        /* P[Bx] */
  uint8_t has_size;            /* see sizes_fit in verifier.c */
  uint8_t test;                /* a JMP follows */
  uint8_t unused[4];
} OpPlan;
_Static_assert(sizeof(OpPlan) == 32, "it is looked up by a shift");

extern const OpPlan verifier_plans[256];

#endif
