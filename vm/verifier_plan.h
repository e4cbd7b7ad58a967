/* SPDX-License-Identifier: MIT */
/* vm/verifier_plan.h: what the verifier checks of each opcode. */
#ifndef SAROS_VM_VERIFIER_PLAN_H
#define SAROS_VM_VERIFIER_PLAN_H

#include <stdint.h>

/* What is to be checked of an instruction by its opcode; all 0 for invalid opcodes. */
typedef struct OpPlan {
  uint8_t length;              /* in words */
  uint8_t jumps;
  /* on a path, it reads and writes these registers and does nothing else: */
  uint8_t plain;
  uint8_t reads_a, reads_b, reads_c, writes_a, writes_a1; /* 1: this register */
  uint8_t call;                /* CALL: likewise, with neither open arguments nor results */
  /* Its form is valid if that of its operands is: */
  uint8_t simple;
  /* R[A] to R[A + above_a - 1]; 0: A is a level, which may be max_stack */
  uint8_t names_a, above_a;
  uint8_t upvalue_a, upvalue_b;
  /* where its index stands, of 8 bits or 16 */
  uint8_t has_constant, constant_shift, constant_is_wide;
  uint8_t fits;                /* the constant must be of a kind that the opcode wants */
  uint8_t has_key;
  uint8_t has_more;            /* any of these: */
  uint8_t run_of_b, beyond_b;  /* a run that ends before R[A + B + beyond_b - 1] */
  uint8_t run_of_c;            /* a run that ends before R[A + C - 1] */
  uint8_t takes_open, leaves_open; /* where B (C) is 0: that is not simple */
  uint8_t has_function;        /* P[Bx] */
  uint8_t has_size;            /* see sizes_fit in verifier.c */
  uint8_t test;                /* a JMP follows */
  uint8_t unused[4];
} OpPlan;
_Static_assert(sizeof(OpPlan) == 32, "it is looked up by a shift");

extern const OpPlan verifier_plans[256];

#endif
