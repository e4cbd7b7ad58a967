/* vm/opinfo.c: the table that opinfo.h declares, derived from opcodes.def. */
#include "opinfo.h"

#include <string.h>

enum { A = OPFLAG_A, X = OPFLAG_X, T = OPFLAG_T, I = OPFLAG_I, O = OPFLAG_O };

const OpInfo op_info[OP_COUNT] = {
#define OP(name, format, flags, text) {#name, FORMAT_##format, flags, OP_##name, text},
#define QUICK(name, base, format, flags, text) {#name, FORMAT_##format, flags, OP_##base, text},
#include "opcodes.def"
#undef OP
};

uint32_t op_references(OpCode op) {
  static const struct { const char *text; uint32_t flag; } patterns[] = {
    {"R[A", REFERS_REG_A}, {"R[B]", REFERS_REG_B}, {"R[C]", REFERS_REG_C},
    {"U[A]", REFERS_UPVALUE_A}, {"U[B]", REFERS_UPVALUE_B},
    {"K[B]", REFERS_K_B}, {"K[C]", REFERS_K_C}, {"K[Bx]", REFERS_K_Bx}, {"K[aux]", REFERS_K_AUX},
    {"P[Bx]", REFERS_PROTO_Bx},
  };
  uint32_t references = 0;
  for (unsigned i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
    if (strstr(op_info[op].text, patterns[i].text)) references |= patterns[i].flag;
  return references;
}

uint32_t op_constant_index(uint32_t references, Instruction i) {
  return references & REFERS_K_B ? INS_B(i) : references & REFERS_K_C ? INS_C(i) : INS_Bx(i);
}

uint32_t op_key_index(OpCode op, uint32_t aux) {
  return op == OP_LOADKX ? aux : AUX_KEY(aux);
}
