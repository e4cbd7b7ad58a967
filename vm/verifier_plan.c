/* SPDX-License-Identifier: MIT */
/* vm/verifier_plan.c: the table that verifier_plan.h declares, derived from
   opcodes.def. */
#include "verifier_plan.h"

#include "opcode_columns.h"
#include "opcodes.h"
#include "opinfo.h"

#define JUMPS(op, flags) \
  (((flags) & OPFLAG_T) || (op) == OP_JMP || (op) == OP_LOOP || (op) == OP_LFALSESKIP || \
   (op) == OP_FORPREP || (op) == OP_FORLOOP || (op) == OP_TFORPREP || (op) == OP_TFORLOOP)
/* The opcodes for which verifier.c has rules beyond opcodes.def. */
#define IS_SPECIAL(op) \
  ((op) == OP_CLOSE || (op) == OP_RETURN0 || (op) == OP_RETURN1 || (op) == OP_VARARGPREP || \
   (op) == OP_LOADKX)
#define PLAIN_USES \
  (OPERAND_RA | OPERAND_RB | OPERAND_RC | OPERAND_UA | OPERAND_UB | OPERAND_KB | OPERAND_KC | \
   OPERAND_KBx | OPERAND_KX)
#define PLAIN_SETS (OPERAND_RA | OPERAND_RA1)
#define IS_PLAIN(op, flags, uses, sets) \
  (((uses) & ~(uint32_t)PLAIN_USES) == 0 && ((sets) & ~(uint32_t)PLAIN_SETS) == 0 && \
   ((flags) & ~(OPFLAG_X | OPFLAG_S)) == 0 && !JUMPS(op, flags) && !IS_SPECIAL(op))

/* The opcodes whose form depends on their operands alone. */
#define IS_SIMPLE(op) \
  (!((op) == OP_VARARGPREP || (op) == OP_VARARG || (op) == OP_TAILCALL || (op) == OP_TFORCALL || \
     (op) == OP_TFORLOOP || (op) == OP_LOADKX || (op) == OP_CLOSE))
#define ABOVE_A(both) \
  ((both)&RA4 ? 5 : (both)&RA3 ? 4 : (both)&RA2 ? 3 : (both)&RA1 ? 2 : (both)&RA ? 1 : 0)
#define RUN_OF_B (A_B | A_B0 | A1_B | A_B1)
#define BEYOND_B(both) ((both) & (A1_B | A_B1) ? 2 : (both) & A_B ? 1 : 0)

#define HAS_SIZE(op) ((op) == OP_NEWTABLE || (op) == OP_SETLIST || (op) == OP_CONCAT)
#define HAS_MORE(op, flags, both) \
  (((both) & (RUN_OF_B | A_C0 | PBx)) != 0 || ((flags) & (I | O | T)) != 0 || HAS_SIZE(op))

const OpPlan verifier_plans[256] = {
#define OP(name, format, flags, uses, sets, text)                         \
  [OP_##name] = {.length = (flags) & X ? 2 : 1,                           \
                 .jumps = JUMPS(OP_##name, flags),                        \
                 .plain = IS_PLAIN(OP_##name, flags, uses, sets),         \
                 .call = OP_##name == OP_CALL,                            \
                 .simple = IS_SIMPLE(OP_##name),                          \
                 .names_a = ABOVE_A((uses) | (sets)) != 0 || OP_##name == OP_RETURN0, \
                 .above_a = ABOVE_A((uses) | (sets)),                     \
                 .has_more = HAS_MORE(OP_##name, flags, (uses) | (sets)), \
                 .run_of_b = (((uses) | (sets)) & RUN_OF_B) != 0,         \
                 .beyond_b = BEYOND_B((uses) | (sets)),                   \
                 .run_of_c = (((uses) | (sets)) & A_C0) != 0,             \
                 .takes_open = ((flags) & I) != 0,                        \
                 .leaves_open = ((flags) & O) != 0,                       \
                 .reads_a = ((uses) & RA) != 0,                           \
                 .reads_b = ((uses) & RB) != 0,                           \
                 .reads_c = ((uses) & RC) != 0,                           \
                 .writes_a = ((sets) & RA) != 0,                          \
                 .writes_a1 = ((sets) & RA1) != 0,                        \
                 .upvalue_a = ((uses) & UA) != 0,                         \
                 .upvalue_b = ((uses) & UB) != 0,                         \
                 .has_constant = ((uses) & (KB | KC | KBx)) != 0,         \
                 .constant_shift = (uses) & KC ? 24 : 16,                 \
                 .constant_is_wide = ((uses) & KBx) != 0,                 \
                 .has_key = ((uses) & KX) != 0,                           \
                 .has_function = ((uses) & PBx) != 0,                     \
                 .has_size = HAS_SIZE(OP_##name),                         \
                 .test = ((flags) & T) != 0,                              \
                 .fits = OP_##name >= OP_ADDK && OP_##name <= OP_SHRK},
/* QUICK opcodes are never loaded */
#define QUICK(name, base, format, flags, uses, sets, text)
#include "opcodes.def"
#undef OP
};
