/* vm/verifier_plan.h: what the verifier sees to with each opcode. */
#ifndef SAROS_VM_VERIFIER_PLAN_H
#define SAROS_VM_VERIFIER_PLAN_H

#include <stdint.h>

/* What is to be seen to with an instruction by its opcode; all 0 for what is no opcode. */
typedef struct OpPlan {
  uint8_t length;              /* in words */
  uint8_t jumps;
  uint8_t plain;               /* this, the last column included, is all that matters */
  uint8_t call;                /* CALL: likewise, with neither open arguments nor results */
  uint8_t reads_a, reads_b, reads_c, writes_a, writes_a1; /* 1: this register */
  uint8_t upvalue_a, upvalue_b;
  uint8_t has_constant, constant_shift, constant_is_wide; /* where its index stands, of 8 bits or 16 */
  uint8_t fits;                /* the constant must be of a kind that the opcode wants */
  uint8_t has_key;
} OpPlan;
_Static_assert(sizeof(OpPlan) == 16, "it is looked up by a shift");

extern const OpPlan verifier_plans[256];

#endif
