/* SPDX-License-Identifier: MIT */
/* vm/opinfo.c: the table that opinfo.h declares, derived from opcodes.def. */
#include "opinfo.h"

#include "opcode_columns.h"

const OpInfo op_info[OP_COUNT] = {
#define OP(name, format, flags, uses, sets, text) \
  {#name, FORMAT_##format, flags, OP_##name, uses, sets, text},
#define QUICK(name, base, format, flags, uses, sets, text) \
  {#name, FORMAT_##format, flags, OP_##base, uses, sets, text},
#include "opcodes.def"
#undef OP
};

const uint8_t op_walk[OP_COUNT] = {
#define OP(name, format, flags, uses, sets, text) \
  (((flags) & X) ? OPWALK_AUX : 0) | ((sets) == RA ? OPWALK_RA : 0) | \
  (((sets) & ~(uint32_t)RA) != 0 || ((flags) & O) ? OPWALK_MORE : 0),
#include "opcodes.def"
#undef OP
};

#define FINISH(op, flags, sets) \
  ((op) == OP_CONCAT ? FINISH_CONCAT \
   : (op) == OP_CLOSE || (op) == OP_RETURN ? FINISH_AGAIN \
   : (flags) & T ? FINISH_TEST \
   : (sets) & RA ? ((flags) & X ? FINISH_VALUE_AUX : FINISH_VALUE) \
   : (flags) & X ? FINISH_STORE_AUX : FINISH_STORE)
const uint8_t op_finish[OP_COUNT] = {
#define OP(name, format, flags, uses, sets, text) FINISH(OP_##name, flags, sets),
#include "opcodes.def"
#undef OP
};

/* Returns a run of registers. If the run is open, computes its length; a negative length
   becomes 0. */
static RegisterRun register_run(Instruction i, int first, int n, int top) {
  bool open = (op_info[INS_OP(i)].flags & OPFLAG_I) && INS_B(i) == 0;
  if (open) n = top - first;
  return (RegisterRun){first, n > 0 ? n : 0};
}

int op_registers(Instruction i, uint32_t operands, int top, RegisterRun runs[MOST_RUNS]) {
  int a = (int)INS_A(i), b = (int)INS_B(i), c = (int)INS_C(i), n = 0;
  if (operands & RA) runs[n++] = (RegisterRun){a, 1};
  for (uint32_t more = operands & (RA1 | RA2 | RA3 | RA4); more != 0; more &= more - 1)
    runs[n++] = (RegisterRun){a + __builtin_ctz(more), 1};
  if (operands & RB) runs[n++] = (RegisterRun){b, 1};
  if (operands & RC) runs[n++] = (RegisterRun){c, 1};
  if (!(operands & (A_B | A_B0 | A1_B | A_B1 | A_C0 | A4_C))) return n;
  if (operands & A_B) runs[n++] = register_run(i, a, b, top);
  if (operands & A_B0) runs[n++] = register_run(i, a, b - 1, top);
  if (operands & A1_B) runs[n++] = register_run(i, a + 1, b, top);
  if (operands & A_B1) runs[n++] = (RegisterRun){a, b + 1};
  if (operands & A_C0) runs[n++] = (RegisterRun){a, c > 0 ? c - 1 : 0};
  if (operands & A4_C) runs[n++] = (RegisterRun){a + 4, c};
  return n;
}
_Static_assert(OPERAND_RA == 1 && OPERAND_RA4 == 1 << 4, "R[A] to R[A+4] are the lowest bits");

int op_loses_from(Instruction i) {
  const OpInfo *info = &op_info[INS_OP(i)];
  int a = (int)INS_A(i);
  if ((info->sets & LOSES_A) || ((info->flags & O) && INS_C(i) == 0)) return a;
  if (info->sets & LOSES_A1) return a + 1;
  return info->sets & LOSES_A4 ? a + 4 : -1;
}

int op_upvalue(Instruction i) {
  uint32_t uses = op_info[INS_OP(i)].uses;
  return uses & UA ? (int)INS_A(i) : uses & UB ? (int)INS_B(i) : -1;
}

int op_constant(Instruction i) {
  uint32_t uses = op_info[INS_OP(i)].uses;
  if (uses & KB) return (int)INS_B(i);
  if (uses & KC) return (int)INS_C(i);
  return uses & KBx ? (int)INS_Bx(i) : -1;
}

int64_t op_key(Instruction i, uint32_t aux) {
  if (!(op_info[INS_OP(i)].uses & KX)) return -1;
  /* in a field access, the other half of aux is its cache */
  return op_base(i) == OP_LOADKX ? aux : AUX_KEY(aux);
}

int64_t op_jump_target(Instruction i, uint32_t pc) {
  switch (op_base(i)) {
    case OP_JMP: case OP_LOOP: return (int64_t)pc + 1 + INS_sJ(i);
    case OP_LFALSESKIP: return (int64_t)pc + 2;
    case OP_FORPREP: return (int64_t)pc + 2 + INS_Bx(i);
    case OP_TFORPREP: return (int64_t)pc + 1 + INS_Bx(i);
    case OP_FORLOOP: case OP_TFORLOOP: return (int64_t)pc + 1 - (int64_t)INS_Bx(i);
    default: return op_info[INS_OP(i)].flags & T ? (int64_t)pc + 2 : -1;
  }
}

/* ---- pairs --------------------------------------------------------------- */

/* The opcode for a pair of instructions, or 0 if the pair has none (0 is MOVE, which is
   no pair). */
static const uint8_t fused[OP_GENERAL_COUNT][OP_GENERAL_COUNT] = {
#define OP(name, format, flags, uses, sets, text)
#define FUSED(base, next, format, flags, uses, sets) [OP_##base][OP_##next] = OP_##base##_##next,
#include "opcodes.def"
#undef OP
};

/* Pairs whose second instruction must take from its R[B] the value that the first one
   loads. */
static const bool takes_loaded[OP_COUNT] = {
#define OP(name, format, flags, uses, sets, text)
#define FUSED_LOAD(base, next, format, flags, uses, sets) \
  [OP_##base##_##next] = OP_##next == OP_GETFIELD,
#define FUSED(base, next, format, flags, uses, sets)
#include "opcodes.def"
#undef OP
};

/* The distance in words from an instruction to the one that usually runs after it; 0 if a
 * jump leads there. */
static const uint8_t words_to_next[OP_GENERAL_COUNT] = {
#define OP(name, format, flags, uses, sets, text) \
  [OP_##name] = OP_##name == OP_LOOP || OP_##name == OP_FORLOOP ? 0 : (flags) & (X | T) ? 2 : 1,
#define QUICK(name, base, format, flags, uses, sets, text)
#include "opcodes.def"
#undef OP
};

void op_fuse(Instruction *code, uint32_t n) {
  for (uint32_t pc = 0, length; pc < n; pc += length) {
    OpCode op = INS_OP(code[pc]);
    uint32_t next = pc + words_to_next[op];
    length = op_walk[op] & OPWALK_AUX ? 2 : 1;
    if (unlikely(next == pc)) next = (uint32_t)op_jump_target(code[pc], pc);
    if (unlikely(next >= n)) continue;
    OpCode both = (OpCode)fused[op][op_base(code[next])];
    if (takes_loaded[both] && INS_B(code[next]) != INS_A(code[pc])) both = 0;
    code[pc] = (code[pc] & ~(Instruction)0xff) | (Instruction)(both != 0 ? both : op);
  }
}
