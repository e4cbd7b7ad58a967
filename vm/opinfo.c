/* vm/opinfo.c: the table that opinfo.h declares, derived from opcodes.def. */
#include "opinfo.h"

enum { A = OPFLAG_A, X = OPFLAG_X, T = OPFLAG_T, I = OPFLAG_I, O = OPFLAG_O };

const OpInfo op_info[OP_COUNT] = {
#define OP(name, format, flags, text) {#name, FORMAT_##format, flags, text},
#include "opcodes.def"
#undef OP
};
