/* SPDX-License-Identifier: MIT */
/* vm/check_instruction.c: the facts that the verifier proves, asserted at run time.
 *
 * Builds with asserts call this before each instruction. It uses the same columns of
 * opcodes.def as verifier.c, but examines the registers themselves: each register that is
 * read must hold a value whose object has the type that its tag says; a register for a
 * table or a prepared loop must hold one; a register that a frame may cover must have no
 * open upvalue and must not be pending a close. So if the verifier, the code generator or
 * the interpreter breaks a rule, an assert fails at the instruction that relies on the
 * rule.
 *
 * (A program can break some rules with debug.setlocal, as the manual warns.)
 */
#include "check_instruction.h"

#include "opcodes.h"
#include "opinfo.h"
#include "primitives.h"
#include "table.h"
#include "thread.h"

#ifdef SAROS_DEBUG

/* ---- values -------------------------------------------------------------- */

static bool is_sound(const TValue *o) {
  switch (o->tag) {
    case TAG_NIL: case TAG_FALSE: case TAG_TRUE: case TAG_INT: case TAG_FLOAT:
    case TAG_LIGHTUSERDATA: case TAG_C_FUNCTION: case TAG_PRIMITIVE:
      return true;
    case TAG_SHORT_STRING: case TAG_LONG_STRING: case TAG_TABLE:
    case TAG_LUA_CLOSURE: case TAG_C_CLOSURE: case TAG_USERDATA: case TAG_THREAD:
      return o->v.gc->type == (o->tag & ~TAG_COLLECTED);
    default: return false;
  }
}

/* ---- the frame ----------------------------------------------------------- */

typedef struct Frame {
  const lua_State *L;
  const Prototype *p;
  const TValue *base;
  Instruction i;
  int a;
} Frame;

static bool has_open_from(const Frame *at, int reg) {
  const UpValue *uv = at->L->open_upvalues;
  return uv != NULL && uv->v >= at->base + reg;
}

static bool has_pending_from(const Frame *at, int reg) { return at->L->tbc_list >= at->base + reg; }

static bool is_pending(const Frame *at, int reg) {
  for (const TValue *slot = at->L->tbc_list; slot >= at->base; slot -= slot->extra)
    if (slot == at->base + reg) return true;
  return false;
}

static bool is_numeric_loop(const TValue *ra) {
  return ra[0].tag == ra[1].tag && ra[1].tag == ra[2].tag && is_number(ra);
}

/* ---- what opcodes.def says ----------------------------------------------- */

#define SINGLE_A (OPERAND_RA | OPERAND_RA1 | OPERAND_RA2 | OPERAND_RA3 | OPERAND_RA4)
#define RUNS \
  (OPERAND_A_B | OPERAND_A_B0 | OPERAND_A1_B | OPERAND_A_B1 | OPERAND_A_C0 | OPERAND_A4_C)

ALWAYS_INLINE void check_register(const Frame *at, int reg, bool read) {
  assert(reg < at->p->max_stack);
  if (read) assert(is_sound(&at->base[reg]));
}

static NOINLINE void check_runs(const Frame *at, uint32_t operands, bool read) {
  RegisterRun runs[MOST_RUNS];
  int top = (int)(at->L->top - at->base), n = op_registers(at->i, operands, top, runs);
  bool open = (op_info[INS_OP(at->i)].flags & OPFLAG_I) && INS_B(at->i) == 0;
  for (int j = 0; j < n; j++) {
    int end = runs[j].first + runs[j].n;
    assert(end <= at->p->max_stack || (open && end <= top));
    for (int reg = runs[j].first; read && reg < end; reg++) assert(is_sound(&at->base[reg]));
  }
}

/* Checks the registers that an instruction reads or sets. Handles instructions that name
 * single registers, as most do, without the loops of op_registers, because builds with
 * asserts spend most of their time here. */
ALWAYS_INLINE void check_registers(const Frame *at, uint32_t operands, bool read) {
  if (operands & RUNS) {
    check_runs(at, operands, read);
    return;
  }
  if (operands & OPERAND_RA) check_register(at, at->a, read);
  if (operands & OPERAND_RB) check_register(at, (int)INS_B(at->i), read);
  if (operands & OPERAND_RC) check_register(at, (int)INS_C(at->i), read);
  if (!(operands & (SINGLE_A & ~OPERAND_RA))) return;
  for (int n = 1; n <= 4; n++)
    if (operands & (uint32_t)OPERAND_RA << n) check_register(at, at->a + n, read);
}

static void check_references(const Frame *at, const LuaClosure *f, uint32_t aux) {
  int upvalue = op_upvalue(at->i), constant = op_constant(at->i);
  int64_t key = op_key(at->i, aux);
  if (upvalue >= 0) assert(upvalue < f->nupvalues && is_sound(f->upvalues[upvalue]->v));
  if (constant >= 0) assert((uint32_t)constant < at->p->nconstants);
  if (key >= 0) assert(key < at->p->nconstants);
  if (key >= 0 && op_base(at->i) != OP_LOADKX) assert(is_short_string(&at->p->k[key]));
}

static void check_facts(const Frame *at, uint32_t uses, uint32_t sets) {
  const TValue *ra = at->base + at->a;
  if (uses & OPERAND_TABLE) assert(is_table(ra));
  if (uses & OPERAND_NUMERIC) assert(is_numeric_loop(ra));
  if (sets & OPERAND_SCRATCH_A2) assert(!is_pending(at, at->a + 2));
  if (sets & OPERAND_PENDING_A) assert(!has_pending_from(at, at->a));
  if (sets & OPERAND_PENDING_A3) assert(!has_pending_from(at, at->a + 3));
}

/* Tells whether an instruction without OPFLAG_I leaves the function. */
static bool leaves_function(OpCode op) { return op == OP_RETURN0 || op == OP_RETURN1; }

/* Checks that no register that loses its value is in use. At an exit of the function, no
   register at all may be in use. */
static void check_losses(const Frame *at, uint32_t sets) {
  int from = sets & (OPERAND_ON_JUMP | OPERAND_ON_NEXT) ? -1 : op_loses_from(at->i);
  switch (op_base(at->i)) {
    case OP_RETURN: if (INS_C(at->i) == 0) from = 0; break;
    case OP_RETURN0: case OP_RETURN1: from = 0; break;
    case OP_TAILCALL:
      assert(!has_pending_from(at, 0));
      from = INS_C(at->i) ? -1 : 0; /* a RETURN with C closes upvalues itself */
      break;
    default: break;
  }
  if (from >= 0) assert(!has_open_from(at, from) && !has_pending_from(at, from));
}

#define CONSTANTS_AND_UPVALUES \
  (OPERAND_UA | OPERAND_UB | OPERAND_KB | OPERAND_KC | OPERAND_KBx | OPERAND_KX)
#define FACTS_USED (OPERAND_TABLE | OPERAND_NUMERIC)
#define LOSES (OPERAND_LOSES_A | OPERAND_LOSES_A1 | OPERAND_LOSES_A4)
#define FACTS_SET (OPERAND_SCRATCH_A2 | OPERAND_PENDING_A | OPERAND_PENDING_A3)

void check_instruction(const lua_State *L, const Instruction *pc, const TValue *base,
                       const TValue *k) {
  assert(is_lua_frame(L->ci) && base == L->ci->func + 1);
  const LuaClosure *f = frame_closure(L->ci);
  Frame at = {L, f->p, base, *pc, (int)INS_A(*pc)};
  assert(k == at.p->k && pc >= at.p->code && pc < at.p->code + at.p->ncode);
  assert(INS_OP(*pc) < OP_COUNT);
  assert(base + at.p->max_stack <= L->stack_end + EXTRA_STACK);
  const OpInfo *info = &op_info[INS_OP(*pc)];
  check_registers(&at, info->uses, true);
  check_registers(&at, info->sets, false);
  if (info->uses & CONSTANTS_AND_UPVALUES)
    check_references(&at, f, info->flags & OPFLAG_X ? pc[1] : 0);
  if (info->uses & FACTS_USED || info->sets & FACTS_SET) check_facts(&at, info->uses, info->sets);
  if (info->sets & LOSES || info->flags & (OPFLAG_I | OPFLAG_O) || leaves_function(op_base(*pc)))
    check_losses(&at, info->sets);
  if (INS_OP(*pc) == OP_VARARG) assert(at.p->is_vararg);
  if (INS_OP(*pc) == OP_VARARGPREP) assert(pc == at.p->code);
}

void check_position(const TValue *ra) {
  if (ra->tag != TAG_PRIMITIVE || ra->v.prim->id != PRIM_NEXT || !is_table(ra + 1)) return;
  const uint32_t position = ra[2].extra;
  assert(position == TABLE_POSITION_UNKNOWN ||
         position == table_position_after(as_table(ra + 1), ra + 2));
}

#else
_Static_assert(1, "a translation unit is not empty");
#endif
