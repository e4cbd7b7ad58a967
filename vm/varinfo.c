/* SPDX-License-Identifier: MIT */
/* vm/varinfo.c: names for values, found in the bytecode.
 *
 * An error message names the variable that a value came from. The code before the failing
 * instruction is searched backwards for the instruction that loaded the register last,
 * mostly a few words before. Jumps are not followed: if a forward jump may have skipped
 * the load, the load proves nothing, so all code before it is searched for such a jump.
 * The operand of the loading instruction has the name. Only strings of the prototype are
 * returned, so the names live as long as it does.
 */
#include "varinfo.h"

#include <string.h>

#include "domain.h"
#include "func.h"
#include "known_names.h"
#include "opcodes.h"
#include "opinfo.h"
#include "thread.h"

/* ---- which instruction set a register ------------------------------------ */

static NOINLINE bool sets_among_others(Instruction i, int reg) {
  RegisterRun runs[MOST_RUNS];
  int loses_from = op_loses_from(i), n = op_registers(i, op_info[INS_OP(i)].sets, 0, runs);
  /* a call may have changed all registers from loses_from on */
  if (loses_from >= 0 && reg >= loses_from) return true;
  for (int j = 0; j < n; j++)
    if (reg >= runs[j].first && reg < runs[j].first + runs[j].n) return true;
  return false;
}

ALWAYS_INLINE bool sets_register(Instruction i, int reg) {
  uint8_t walk = op_walk[INS_OP(i)];
  return ((walk & OPWALK_RA) && (int)INS_A(i) == reg) ||
         (unlikely(walk & OPWALK_MORE) && sets_among_others(i, reg));
}

/* Returns an index at or before pc where an instruction certainly begins. A word is the
 * second one of an instruction only if the word before it has the opcode of an
 * instruction of two words. The nearest word for which that is not so begins an
 * instruction. */
static int run_start(const Prototype *p, int pc) {
  while (pc > 0 && op_length(INS_OP(p->code[pc - 1])) > 1) pc--;
  return pc;
}

/* Returns the start of the instruction that the word pc belongs to. */
static int instruction_start(const Prototype *p, int pc) {
  int next = run_start(p, pc), start;
  for (start = next; next <= pc; next += op_length(INS_OP(p->code[next]))) start = next;
  return start;
}

/* Tells whether a jump before `at` leads over it: to a target after `at`, up to pc. */
static bool may_be_skipped(const Prototype *p, int at, int pc) {
  for (int from = 0; from < at;) {
    int end = from + 16 < at ? from + 16 : at;
    uint32_t any = 0;
    for (int w = from; w < end; w++) any |= INS_OP(p->code[w]) == OP_JMP;
    for (int w = from; any && w < end; w++) {
      if (INS_OP(p->code[w]) != OP_JMP || instruction_start(p, w) != w) continue;
      int target = w + 1 + INS_sJ(p->code[w]);
      if (target > at && target <= pc) return true;
    }
    from = end;
  }
  return false;
}

/* Returns the last instruction in [from, to) that sets the register, or -1. */
ALWAYS_INLINE int last_setter(const Prototype *p, int from, int to, int reg) {
  int found = -1;
  for (int at = from; at < to; at += op_length(INS_OP(p->code[at])))
    if (INS_OP(p->code[at]) != OP_JMP && sets_register(p->code[at], reg)) found = at;
  return found;
}

/* Returns the instruction before pc that set the register, or -1 if that is not certain.
 * The code is examined in runs (run_start), each of them once, whatever its length. */
static int find_setter(const Prototype *p, int pc, int reg) {
  for (int end = pc, start; end > 0; end = start) {
    start = run_start(p, end - 1);
    int setter = last_setter(p, start, end, reg);
    if (setter >= 0) return may_be_skipped(p, setter, pc) ? -1 : setter;
  }
  return -1;
}

/* ---- names of values ----------------------------------------------------- */

static const char *upvalue_name(const Prototype *p, uint32_t index) {
  const String *name = p->upvalues[index].name;
  return name ? name->data : "?";
}

static const char *constant_name(const Prototype *p, uint32_t index) {
  const TValue *k = &p->k[index];
  return is_string(k) ? as_string(k)->data : NULL;
}

/* Finds a name that needs no search in a table: a local, an upvalue, a constant. Returns
 * its kind, or NULL. If none of these has the name, sets *setter to the instruction that
 * set the register. */
static const char *simple_name(const Prototype *p, int pc, int reg, const char **name,
                               int *setter) {
  *setter = -1;
  for (;;) {
    *name = local_name(p, reg + 1, (uint32_t)pc);
    if (*name) return "local";
    pc = find_setter(p, pc, reg);
    if (pc < 0) return NULL;
    Instruction i = p->code[pc];
    switch (op_base(i)) {
      case OP_MOVE:
        if (INS_B(i) >= INS_A(i)) return NULL;
        reg = (int)INS_B(i); /* continue with the source of the MOVE */
        continue;
      case OP_GETUPVAL:
        *name = upvalue_name(p, INS_B(i));
        return "upvalue";
      case OP_LOADK: case OP_LOADKX:
        *name = constant_name(p, op_base(i) == OP_LOADK ? INS_Bx(i) : p->code[pc + 1]);
        return *name ? "constant" : NULL;
      default:
        *setter = pc;
        return NULL;
    }
  }
}

/* Returns the key in a register if it is a constant string, otherwise "?". */
static const char *key_name(const Prototype *p, int pc, int reg) {
  const char *name;
  int setter;
  const char *kind = simple_name(p, pc, reg, &name, &setter);
  return kind && *kind == 'c' ? name : "?";
}

/* Returns "global" if the table is the variable _ENV, otherwise "field". */
static const char *field_kind(const char *table_name) {
  return table_name && strcmp(table_name, "_ENV") == 0 ? "global" : "field";
}

static const char *register_field_kind(const Prototype *p, int pc, int table) {
  const char *name;
  int setter;
  const char *kind = simple_name(p, pc, table, &name, &setter);
  bool is_variable = kind && (*kind == 'l' || *kind == 'u');
  return field_kind(is_variable ? name : NULL);
}

const char *varinfo_of_register(const Prototype *p, int pc, int reg, const char **name) {
  pc = instruction_start(p, pc);
  const char *kind = simple_name(p, pc, reg, name, &pc);
  if (kind || pc < 0) return kind;
  Instruction i = p->code[pc];
  switch (op_base(i)) {
    case OP_GETTABUP:
      *name = constant_name(p, AUX_KEY(p->code[pc + 1]));
      return field_kind(upvalue_name(p, INS_B(i)));
    case OP_GETFIELD:
      *name = constant_name(p, AUX_KEY(p->code[pc + 1]));
      return register_field_kind(p, pc, (int)INS_B(i));
    case OP_GETTABLE:
      *name = key_name(p, pc, (int)INS_C(i));
      return register_field_kind(p, pc, (int)INS_B(i));
    case OP_GETI:
      *name = "integer index";
      return "field";
    case OP_SELF:
      *name = constant_name(p, AUX_KEY(p->code[pc + 1]));
      return "method";
    case OP_SELFK:
      *name = key_name(p, pc, (int)INS_C(i));
      return "method";
    default: return NULL;
  }
}

/* ---- names of called functions ------------------------------------------- */

_Static_assert(OP_SHR - OP_ADD == META_SHR - META_ADD && OP_SHRK - OP_ADDK == META_SHR - META_ADD,
               "arithmetic in one order in both tables");

/* Returns the metamethod that an instruction may call, or META_COUNT. */
static Metamethod metamethod_of(Instruction i) {
  OpCode op = op_base(i);
  if (op >= OP_ADD && op <= OP_SHR) return (Metamethod)(META_ADD + (op - OP_ADD));
  if (op >= OP_ADDK && op <= OP_SHRK) return (Metamethod)(META_ADD + (op - OP_ADDK));
  switch (op) {
    case OP_ADDI: return INS_sC(i) < 0 ? META_SUB : META_ADD;
    case OP_GETTABUP:
    case OP_GETTABLE:
    case OP_GETI:
    case OP_GETFIELD:
    case OP_SELF:
    case OP_SELFK: return META_INDEX;
    case OP_SETTABUP: case OP_SETTABUPK: case OP_SETTABLE: case OP_SETTABLEK:
    case OP_SETI: case OP_SETIK: case OP_SETFIELD: case OP_SETFIELDK: return META_NEWINDEX;
    case OP_UNM: return META_UNM;
    case OP_BNOT: return META_BNOT;
    case OP_LEN: return META_LEN;
    case OP_CONCAT: return META_CONCAT;
    case OP_EQ: return META_EQ;
    case OP_LT: case OP_LTI: case OP_GTI: return META_LT;
    case OP_LE: case OP_LEI: case OP_GEI: return META_LE;
    case OP_CLOSE: case OP_RETURN: return META_CLOSE;
    default: return META_COUNT;
  }
}

const char *varinfo_of_call(lua_State *L, const Prototype *p, int pc, const char **name) {
  pc = instruction_start(p, pc);
  Instruction i = p->code[pc];
  switch (op_base(i)) {
    case OP_CALL: case OP_TAILCALL: return varinfo_of_register(p, pc, (int)INS_A(i), name);
    case OP_TFORCALL:
      *name = "for iterator";
      return "for iterator";
    default: {
      Metamethod event = metamethod_of(i);
      if (event == META_COUNT) return NULL;
      *name = L->domain->meta_names[event]->data + 2; /* without the underscores */
      return "metamethod";
    }
  }
}
