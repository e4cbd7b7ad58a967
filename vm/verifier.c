/* SPDX-License-Identifier: MIT */
/* vm/verifier.c: proves that bytecode cannot harm the interpreter. (The plan of the
 * checks is in verifier_plan.c.)
 *
 * The interpreter trusts its code: it never checks an index, and some instructions use
 * registers that other instructions have prepared. Code from a binary chunk runs only
 * after this file has proved, for every path:
 *
 * 1. Form: each word is an opcode or its aux word; registers, constants,
 *    upvalues and prototypes exist; constants have the kind that the
 *    instruction expects; a test is followed by a JMP, jumps lead to the
 *    start of an instruction, backwards only where there is a safepoint, and
 *    no path runs off the end.
 * 2. Open results (C == 0) are consumed by the very next instruction
 *    (B == 0), which nothing else leads to.
 * 3. A register is read only when it was written in this activation.
 * 4. SETLIST works on a table, FORLOOP on registers that FORPREP has prepared, TFORCALL
 *    on registers that TFORPREP has prepared.
 * 5. Variables to be closed are marked in ascending order; a register with an
 *    open upvalue or a pending close is not covered by the frame of a call,
 *    and the function closes it before it returns.
 *
 * Rules 1 and 2 are checked for each instruction (check_...). Rules 3 to 5 are checked by
 * an abstract run over what each instruction uses and sets according to opcodes.def. The
 * run keeps for each register a set of facts that hold on every path (FACT_...). The
 * state at each jump target is the intersection over all paths to it. If that state
 * changes, the target returns to the list of targets to run from. The list is processed
 * in rounds, from the start of the code to its end. Facts only get fewer, so this ends.
 *
 * Cost.  A fact is a set of registers, a state is a few words; each instruction and each
 * merge takes constant time. Compiled code needs two or three rounds (even the deepest
 * nests of loops that the parser accepts). Code made to lose one fact a round would need
 * a thousand rounds; code that exceeds a budget (STEPS_PER_WORD) is refused.
 *
 * Most instructions are `simple`: their form depends on their operands alone. Most of
 * these are `plain`: they read and write a register or two and do nothing else. A table
 * marks both (verifier_plan.c), and valid ones are passed over quickly
 * (pass_simple_forms, run_plain). All others go to the functions for any instruction,
 * which say what is wrong. If a function has few registers, as nearly all have, the
 * registers that an instruction reads or writes are a set in one word.
 *
 * The file is long because all of its parts work on the same state (Verifier).
 *
 * The code generator follows all of these rules. Builds with asserts verify its code, and
 * assert while it runs what is proved here (check_instruction.c).
 */
#include "verifier.h"

#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "opcodes.h"
#include "opinfo.h"
#include "stress.h"
#include "verifier_plan.h"

const char verify_no_memory[] = "not enough memory";

#define FIRST_FIVE (OPERAND_RA | OPERAND_RA1 | OPERAND_RA2 | OPERAND_RA3 | OPERAND_RA4)
#define ALL_RUNS \
  (OPERAND_A_B | OPERAND_A_B0 | OPERAND_A1_B | OPERAND_A_B1 | OPERAND_A_C0 | OPERAND_A4_C)

typedef enum Fact {
  FACT_WRITTEN,  /* the register holds a value of this activation */
  FACT_TABLE,    /* it holds a table made by NEWTABLE here */
  FACT_NUMERIC,  /* it is the base of a numeric loop that is prepared */
  FACT_GENERIC,  /* it is the base of a generic loop that is prepared */
  FACT_PRIVATE,  /* no upvalue refers to it, and it is not pending a close */
  FACT_NO_CLOSE, /* it is not pending a close */
  FACT_COUNT
} Fact;

/* marks of a word of code */
enum { WORD_START = 1, WORD_TARGET = 2, WORD_PENDING = 4, WORD_REACHED = 8 };

#define MOST_GROUPS 4 /* number of groups of 64 registers */
#define SMALL_CODE 512 /* the most words of code whose marks fit on the C stack */
#define STEPS_PER_WORD 16 /* programs of all kinds need at most 2 */
#define STEPS_AT_LEAST 1000 /* small functions may need any number */

/* The registers for which each fact holds. */
typedef struct State {
  /* v->ngroups adjacent groups for each fact */
  uint64_t holds[FACT_COUNT * MOST_GROUPS];
} State;

typedef struct Verifier {
  Domain *d;            /* the domain that owns the scratch memory; NULL for malloc */
  const Prototype *p;
  uint8_t *marks;       /* marks of each word (WORD_...) */
  /* if false, there are no targets, and no memory for them */
  bool any_jumps;
  uint32_t *state_of;   /* number of a target */
  /* the state of target n begins at n * state_words; valid once the target is
     WORD_REACHED */
  uint64_t *states;
  /* a priority queue of the targets to run from; an element is round << 32 | pc */
  uint64_t *pending;
  State now;            /* before or after the instruction being run */
  int ngroups;
  bool few_registers;   /* there are less than 64 registers, in one group */
  size_t state_words;
  uint32_t ntargets, npending;
  uint64_t running;     /* round and pc of the target that the run started from */
  int64_t steps_left;
  const char *error;    /* the first error found */
} Verifier;

static void reject_code(Verifier *v, const char *what) {
  if (v->error == NULL) v->error = what;
}

static void require_that(Verifier *v, bool condition, const char *what) {
  if (unlikely(!condition)) reject_code(v, what);
}

/* ---- form: operands ------------------------------------------------------ */

static bool is_bitwise_constant(const TValue *k) {
  int64_t ignored;
  return is_number(k) && number_to_int(k, &ignored, FLOAT_EXACT);
}

static bool constant_fits(OpCode op, const TValue *k) {
  if (op >= OP_ADDK && op <= OP_IDIVK) return is_number(k);
  if (op >= OP_BANDK && op <= OP_SHRK) return is_bitwise_constant(k);
  return true;
}

static void check_constant(Verifier *v, OpCode op, uint32_t index) {
  if (index >= v->p->nconstants) reject_code(v, "constant out of range");
  else require_that(v, constant_fits(op, &v->p->k[index]), "constant of the wrong kind");
}

static void check_key(Verifier *v, OpCode op, uint32_t index, uint32_t aux) {
  if (index >= v->p->nconstants) {
    reject_code(v, "constant out of range");
  } else if (op != OP_LOADKX) {
    require_that(v, is_short_string(&v->p->k[index]), "constant of the wrong kind");
    require_that(v, AUX_SLOT(aux) == 0, "cache not empty");
  }
}

/* Checks that the registers of an instruction exist. The values of an instruction with
   open operands end at register `top`. */
static void check_registers(Verifier *v, Instruction i, int top) {
  RegisterRun runs[MOST_RUNS];
  const OpInfo *info = &op_info[INS_OP(i)];
  int last = v->p->max_stack;
  for (int column = 0; column < 2; column++) {
    int n = op_registers(i, column == 0 ? info->uses : info->sets, top, runs);
    for (int j = 0; j < n; j++)
      require_that(v, runs[j].first + runs[j].n <= last, "register out of range");
  }
  switch (INS_OP(i)) {
    case OP_CLOSE: case OP_RETURN0: /* here A is only a level */
      require_that(v, (int)INS_A(i) <= last, "register out of range");
      break;
    case OP_TFORCALL: /* the frame that it calls from */
      require_that(v, (int)INS_A(i) + 7 <= last, "register out of range");
      break;
    default: break;
  }
}

static void check_references(Verifier *v, Instruction i, uint32_t aux) {
  const Prototype *p = v->p;
  OpCode op = INS_OP(i);
  int upvalue = op_upvalue(i), constant = op_constant(i);
  int64_t key = op_key(i, aux);
  require_that(v, upvalue < p->nupvalues, "upvalue out of range");
  if (op_info[op].uses & OPERAND_PBx)
    require_that(v, INS_Bx(i) < p->nprotos, "function out of range");
  if (constant >= 0) check_constant(v, op, (uint32_t)constant);
  if (key >= 0) check_key(v, op, (uint32_t)key, aux);
}

/* Tells whether the sizes are within what code of this length can have requested. */
static bool sizes_fit(const Prototype *p, Instruction i, uint32_t aux) {
  uint64_t limit = (uint64_t)p->ncode * 64;
  if (limit > INT32_MAX) limit = INT32_MAX;
  switch (INS_OP(i)) {
    case OP_NEWTABLE: return aux <= limit && INS_B(i) <= 31 && (1u << INS_B(i)) / 2 <= limit;
    case OP_SETLIST: return aux <= limit;
    case OP_CONCAT: return INS_B(i) >= 2;
    case OP_TFORCALL: return INS_C(i) >= 1;
    default: return true;
  }
}

static void check_sizes(Verifier *v, Instruction i, uint32_t aux) {
  bool of_table = INS_OP(i) == OP_NEWTABLE || INS_OP(i) == OP_SETLIST;
  require_that(v, sizes_fit(v->p, i, aux), of_table ? "table too large" : "bad operand");
}

/* ---- form: order --------------------------------------------------------- */

static bool leaves_open(Instruction i) {
  OpCode op = INS_OP(i);
  return op == OP_TAILCALL || ((op_info[op].flags & OPFLAG_O) && INS_C(i) == 0);
}

static bool takes_open(Instruction i) {
  return (op_info[INS_OP(i)].flags & OPFLAG_I) && INS_B(i) == 0;
}

/* Checks that open results are consumed. `previous` is the instruction before i in the
   code, or NULL. */
static void check_open_results(Verifier *v, const Instruction *previous, Instruction i,
                               uint32_t pc) {
  bool open = previous && leaves_open(*previous);
  require_that(v, open == takes_open(i), "open results not consumed");
  if (!open || !takes_open(i)) return;
  int room = (int)INS_A(*previous) - (int)INS_A(i);
  require_that(v, INS_OP(i) == OP_RETURN ? room >= 0 : room >= 1, "open results not consumed");
  require_that(v, INS_OP(*previous) != OP_TAILCALL || (INS_OP(i) == OP_RETURN && room == 0),
               "tail call without return");
  require_that(v, !(v->marks[pc] & WORD_TARGET), "jump past open results");
}

static void check_vararg(Verifier *v, Instruction i, uint32_t pc) {
  const Prototype *p = v->p;
  bool prepares = INS_OP(i) == OP_VARARGPREP;
  require_that(v, prepares == (pc == 0 && p->is_vararg), "variable arguments not prepared");
  require_that(v, !prepares || INS_A(i) == p->nparams, "variable arguments not prepared");
  require_that(v, INS_OP(i) != OP_VARARG || p->is_vararg, "variable arguments not prepared");
}

static void check_neighbours(Verifier *v, const Instruction *previous, uint32_t pc) {
  const Prototype *p = v->p;
  Instruction i = p->code[pc];
  Instruction next = pc + 1 < p->ncode ? p->code[pc + 1] : 0; /* if i has no aux word */
  if (op_info[INS_OP(i)].flags & OPFLAG_T) {
    require_that(v, pc + 1 < p->ncode && INS_OP(next) == OP_JMP, "test without jump");
    require_that(v, INS_C(i) <= 1, "bad operand");
  }
  if (INS_OP(i) == OP_TFORCALL)
    require_that(v, pc + 1 < p->ncode && INS_OP(next) == OP_TFORLOOP && INS_A(next) == INS_A(i),
                 "loop without end");
  if (INS_OP(i) == OP_TFORLOOP)
    require_that(v, previous && INS_OP(*previous) == OP_TFORCALL, "loop without call");
  if (leaves_open(i)) require_that(v, pc + 1 < p->ncode, "open results not consumed");
}

/* Splits the code into instructions; returns false if that fails. */
static bool find_starts(Verifier *v) {
  const Prototype *p = v->p;
  uint32_t pc = 0, jumps = 0;
  while (pc < p->ncode) {
    const OpPlan *plan = &verifier_plans[INS_OP(p->code[pc])];
    if (plan->length == 0) {
      reject_code(v, "unknown instruction");
      return false;
    }
    v->marks[pc] = WORD_START;
    jumps |= plan->jumps;
    pc += plan->length;
  }
  require_that(v, pc == p->ncode && pc > 0, "truncated instruction");
  v->any_jumps = jumps != 0;
  return v->error == NULL;
}

/* Checks that the target of a jump exists. Variable arguments must not be prepared
   again. */
static void check_target(Verifier *v, Instruction i, uint32_t pc, int64_t target) {
  const Prototype *p = v->p;
  bool exists = target >= (p->is_vararg ? 1 : 0) && target < p->ncode;
  exists = exists && (v->marks[target] & WORD_START);
  require_that(v, exists, "jump to nowhere");
  /* a jump backwards is a LOOP */
  require_that(v, INS_OP(i) != OP_JMP || target > pc, "loop without safe point");
}

static void mark_targets(Verifier *v) {
  const Prototype *p = v->p;
  for (uint32_t pc = 0; pc < p->ncode; pc += verifier_plans[INS_OP(p->code[pc])].length) {
    Instruction i = p->code[pc];
    if (!verifier_plans[INS_OP(i)].jumps) continue;
    int64_t target = op_jump_target(i, pc);
    check_target(v, i, pc, target);
    if (v->error) return;
    v->marks[target] |= WORD_TARGET;
  }
}

ALWAYS_INLINE bool constants_are_sound(const Prototype *p, const OpPlan *plan, Instruction i,
                                       uint32_t aux) {
  if (plan->has_constant) {
    uint32_t constant = i >> plan->constant_shift & (plan->constant_is_wide ? 0xffff : 0xff);
    if (constant >= p->nconstants) return false;
    if (plan->fits && !constant_fits(INS_OP(i), &p->k[constant])) return false;
  }
  if (!plan->has_key) return true;
  return AUX_SLOT(aux) == 0 && aux < p->nconstants && is_short_string(&p->k[aux]);
}

static bool more_is_sound(const Prototype *p, const OpPlan *plan, uint32_t pc, uint32_t aux) {
  const Instruction i = p->code[pc];
  uint32_t a = INS_A(i), b = INS_B(i), c = INS_C(i), last = p->max_stack;
  if (plan->test) return pc + 1 < p->ncode && INS_OP(p->code[pc + 1]) == OP_JMP && c <= 1;
  if ((plan->takes_open && b == 0) || (plan->leaves_open && c == 0)) return false;
  if (plan->run_of_b && a + b + plan->beyond_b > last + 1) return false;
  if (plan->run_of_c && a + c > last + 1) return false;
  if (plan->has_function && INS_Bx(i) >= p->nprotos) return false;
  return !plan->has_size || sizes_fit(p, i, aux);
}

/* Tells whether the form of the instruction at pc, which is simple, is valid. */
ALWAYS_INLINE bool simple_form_is_sound(const Prototype *p, const OpPlan *plan, uint32_t pc) {
  const Instruction i = p->code[pc];
  uint32_t a = INS_A(i), b = INS_B(i), c = INS_C(i), last = p->max_stack;
  bool sound = a + plan->above_a <= last || !plan->names_a;
  sound &= b < last || !plan->reads_b;
  sound &= c < last || !plan->reads_c;
  sound &= a < p->nupvalues || !plan->upvalue_a;
  sound &= b < p->nupvalues || !plan->upvalue_b;
  const uint32_t aux = plan->length == 2 ? p->code[pc + 1] : 0;
  if (plan->has_more) sound &= more_is_sound(p, plan, pc, aux);
  return sound && constants_are_sound(p, plan, i, aux);
}

/* Passes over valid instructions; returns the position of one that may not be valid. Sets
 * *previous to the instruction before that one, which leaves nothing open, or to NULL if
 * there is none. */
static uint32_t pass_simple_forms(const Prototype *p, uint32_t pc, const Instruction **previous) {
  const Instruction *before = *previous;
  while (pc < p->ncode) {
    const OpPlan *plan = &verifier_plans[INS_OP(p->code[pc])];
    if (!plan->simple || !simple_form_is_sound(p, plan, pc)) break;
    before = &p->code[pc];
    pc += plan->length;
  }
  *previous = before;
  return pc;
}

static void check_form(Verifier *v) {
  const Prototype *p = v->p;
  const Instruction *previous = NULL;
  if (!find_starts(v)) return;
  if (v->any_jumps) mark_targets(v);
  for (uint32_t pc = 0; pc < p->ncode && v->error == NULL;) {
    if (previous != NULL ? !leaves_open(*previous) : !p->is_vararg)
      pc = pass_simple_forms(p, pc, &previous);
    if (pc >= p->ncode) break;
    const Instruction *i = &p->code[pc];
    uint32_t length = (uint32_t)op_length(INS_OP(*i)), aux = length == 2 ? i[1] : 0;
    check_registers(v, *i, previous ? (int)INS_A(*previous) : 0);
    check_references(v, *i, aux);
    check_sizes(v, *i, aux);
    check_open_results(v, previous, *i, pc);
    check_vararg(v, *i, pc);
    check_neighbours(v, previous, pc);
    previous = i;
    pc += length;
  }
}

/* ---- the abstract run: sets of registers --------------------------------- */

/* Returns the set of the registers of a group that are in [from, to). */
static uint64_t in_group(int group, int from, int to) {
  from -= group * 64;
  to -= group * 64;
  if (from < 0) from = 0;
  if (to <= from || from >= 64) return 0;
  return (to >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << to) - 1) & ~((UINT64_C(1) << from) - 1);
}

static uint64_t *groups_of(Verifier *v, Fact fact) { return &v->now.holds[fact * v->ngroups]; }

/* Returns the set of the registers in [from, to), 0 <= from, if there is only one
   group. */
ALWAYS_INLINE uint64_t in_one_group(int from, int to) {
  uint64_t below = to >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << to) - 1;
  return from >= 64 ? 0 : below & ~UINT64_C(0) << from;
}

/* Tells whether the fact holds for all registers in [from, to). */
static bool fact_holds(Verifier *v, Fact fact, int from, int to) {
  const uint64_t *groups = groups_of(v, fact);
  if (likely(v->ngroups == 1)) return (in_one_group(from, to) & ~*groups) == 0;
  for (int g = from / 64; g < v->ngroups && g * 64 < to; g++)
    if (in_group(g, from, to) & ~groups[g]) return false;
  return true;
}

static void gain_fact(Verifier *v, Fact fact, int from, int to) {
  uint64_t *groups = groups_of(v, fact);
  if (likely(v->ngroups == 1)) {
    *groups |= in_one_group(from, to);
    return;
  }
  for (int g = from / 64; g < v->ngroups && g * 64 < to; g++) groups[g] |= in_group(g, from, to);
}

static void lose_fact(Verifier *v, Fact fact, int from, int to) {
  uint64_t *groups = groups_of(v, fact);
  if (likely(v->ngroups == 1)) {
    *groups &= ~in_one_group(from, to);
    return;
  }
  for (int g = from / 64; g < v->ngroups && g * 64 < to; g++) groups[g] &= ~in_group(g, from, to);
}

/* ---- the abstract run: registers ----------------------------------------- */

static const char not_written[] = "register read before it is written";

static void reads_registers(Verifier *v, int first, int n) {
  require_that(v, fact_holds(v, FACT_WRITTEN, first, first + n), not_written);
}

ALWAYS_INLINE void reads_set(Verifier *v, uint64_t set) {
  require_that(v, (set & ~v->now.holds[FACT_WRITTEN]) == 0, not_written);
}

/* Removes the facts about a set of few registers; see spoils_registers. */
ALWAYS_INLINE void spoils_set(Verifier *v, uint64_t set) {
  uint64_t *holds = v->now.holds;
  holds[FACT_TABLE] &= ~set;
  holds[FACT_NUMERIC] &= ~(set | set >> 1 | set >> 2);
  holds[FACT_GENERIC] &= ~(set | set >> 1 | set >> 2 | set >> 3);
}

/* Removes the facts about these registers, whose values may have changed. A loop is no
 * longer prepared once one of its first registers has changed. */
static void spoils_registers(Verifier *v, int first, int n) {
  if (n == 0) return;
  if (likely(v->few_registers)) {
    spoils_set(v, in_one_group(first, first + n));
    return;
  }
  lose_fact(v, FACT_TABLE, first, first + n);
  lose_fact(v, FACT_NUMERIC, first > 2 ? first - 2 : 0, first + n);
  lose_fact(v, FACT_GENERIC, first > 3 ? first - 3 : 0, first + n);
}

static void writes_registers(Verifier *v, int first, int n) {
  spoils_registers(v, first, n);
  gain_fact(v, FACT_WRITTEN, first, first + n);
}

/* Removes the values of the registers from `from` on: the frame of a call covers them, or
 * the collector may clear them. */
static void loses_from(Verifier *v, int from) {
  int end = v->p->max_stack;
  if (from >= end) return;
  require_that(v, fact_holds(v, FACT_PRIVATE, from, end), "variable not closed");
  spoils_registers(v, from, end - from);
  lose_fact(v, FACT_WRITTEN, from, end);
}

/* Notes that an upvalue refers to the register from now on, or that the register is
   pending a close. */
static void exposes_register(Verifier *v, int reg) {
  spoils_registers(v, reg, 1);
  lose_fact(v, FACT_PRIVATE, reg, reg + 1);
}

/* Adds a fact about n registers, if no upvalue refers to any of them and none is pending
 * a close. */
static void gains_if_private(Verifier *v, Fact fact, int reg, int n) {
  if (fact_holds(v, FACT_PRIVATE, reg, reg + n)) gain_fact(v, fact, reg, reg + 1);
}

static void closes_to(Verifier *v, int level) {
  gain_fact(v, FACT_PRIVATE, level, v->p->max_stack);
  gain_fact(v, FACT_NO_CLOSE, level, v->p->max_stack);
}

static const char out_of_order[] = "variables to be closed out of order";

static void marks_to_close(Verifier *v, int marked) {
  require_that(v, fact_holds(v, FACT_NO_CLOSE, marked, v->p->max_stack), out_of_order);
  exposes_register(v, marked);
  lose_fact(v, FACT_NO_CLOSE, marked, marked + 1);
}

/* Checks an exit of the function: the fact must hold for all registers. */
static void leaves_with(Verifier *v, Fact fact) {
  require_that(v, fact_holds(v, fact, 0, v->p->max_stack), "variable not closed");
}

/* ---- the abstract run: instructions -------------------------------------- */

static void captures_registers(Verifier *v, Instruction i) {
  const Prototype *inner = v->p->p[INS_Bx(i)];
  int a = (int)INS_A(i);
  for (uint32_t n = 0; n < inner->nupvalues && v->error == NULL; n++) {
    const UpvalueDesc *upvalue = &inner->upvalues[n];
    if (!upvalue->in_stack) {
      require_that(v, upvalue->index < v->p->nupvalues, "upvalue out of range");
    } else {
      require_that(v, upvalue->index < v->p->max_stack, "register out of range");
      if (upvalue->index != a) reads_registers(v, upvalue->index, 1);
      exposes_register(v, upvalue->index);
    }
  }
}

ALWAYS_INLINE uint64_t bit_if(uint8_t condition, uint32_t i) {
  return (uint64_t)condition << (i & 63);
}
/* Returns the i lowest bits, i < 64. */
ALWAYS_INLINE uint64_t bits_below(uint32_t i) { return (UINT64_C(1) << i) - 1; }

/* Returns the set of the registers that `operands`, a column of the instruction, names,
   if there are few registers. */
ALWAYS_INLINE uint64_t register_set(Instruction i, uint32_t operands, int top) {
  uint64_t set = (uint64_t)(operands & FIRST_FIVE) << (INS_A(i) & 63);
  if (!(operands & (OPERAND_RB | OPERAND_RC | ALL_RUNS))) return set;
  set |= bit_if((operands & OPERAND_RB) != 0, INS_B(i));
  set |= bit_if((operands & OPERAND_RC) != 0, INS_C(i));
  if (!(operands & ALL_RUNS)) return set;
  RegisterRun runs[MOST_RUNS];
  int n = op_registers(i, operands & ALL_RUNS, top, runs);
  for (int j = 0; j < n; j++) set |= in_one_group(runs[j].first, runs[j].first + runs[j].n);
  return set;
}

static void relies_on(Verifier *v, Fact fact, int reg, const char *what) {
  require_that(v, fact_holds(v, fact, reg, reg + 1), what);
}

/* Checks the conditions that must hold before i runs. */
static void run_uses(Verifier *v, Instruction i, int top) {
  const OpInfo *info = &op_info[INS_OP(i)];
  RegisterRun runs[MOST_RUNS];
  int a = (int)INS_A(i);
  if (likely(v->few_registers)) {
    reads_set(v, register_set(i, info->uses, top));
  } else {
    int n = op_registers(i, info->uses, top, runs);
    for (int j = 0; j < n; j++) reads_registers(v, runs[j].first, runs[j].n);
  }
  if (info->uses & OPERAND_TABLE) relies_on(v, FACT_TABLE, a, "list for no table");
  if (info->uses & OPERAND_NUMERIC) relies_on(v, FACT_NUMERIC, a, "loop not prepared");
  if (info->uses & OPERAND_GENERIC) relies_on(v, FACT_GENERIC, a, "loop not prepared");
  if (info->uses & OPERAND_PBx) captures_registers(v, i);
  /* a variable to be closed keeps its link in the scratch */
  if (info->sets & OPERAND_SCRATCH_A2) relies_on(v, FACT_NO_CLOSE, a + 2, out_of_order);
  switch (INS_OP(i)) {
    case OP_TAILCALL: leaves_with(v, INS_C(i) ? FACT_NO_CLOSE : FACT_PRIVATE); break;
    case OP_RETURN: if (INS_C(i) == 0) leaves_with(v, FACT_PRIVATE); break;
    case OP_RETURN0: case OP_RETURN1: leaves_with(v, FACT_PRIVATE); break;
    default: break;
  }
}

/* Applies the writes of i to the state; `certain`: on every path. */
static void run_writes(Verifier *v, Instruction i, bool certain) {
  if (likely(v->few_registers)) {
    uint64_t set = register_set(i, op_info[INS_OP(i)].sets, 0);
    spoils_set(v, set);
    if (certain) v->now.holds[FACT_WRITTEN] |= set;
    return;
  }
  RegisterRun runs[MOST_RUNS];
  int n = op_registers(i, op_info[INS_OP(i)].sets, 0, runs);
  for (int j = 0; j < n; j++) {
    if (certain) writes_registers(v, runs[j].first, runs[j].n);
    else spoils_registers(v, runs[j].first, runs[j].n);
  }
}

static void run_gains(Verifier *v, Instruction i) {
  uint32_t sets = op_info[INS_OP(i)].sets;
  int a = (int)INS_A(i);
  if (sets & OPERAND_PENDING_A) marks_to_close(v, a);
  if (sets & OPERAND_PENDING_A3) marks_to_close(v, a + 3);
  if (sets & OPERAND_TABLE) gains_if_private(v, FACT_TABLE, a, 1);
  if (sets & OPERAND_NUMERIC) gains_if_private(v, FACT_NUMERIC, a, 3);
  if (sets & OPERAND_GENERIC) gains_if_private(v, FACT_GENERIC, a, 3);
}

static void run_losses(Verifier *v, Instruction i) {
  int from = op_loses_from(i);
  if (INS_OP(i) == OP_CLOSE) closes_to(v, (int)INS_A(i));
  if (INS_OP(i) == OP_TAILCALL && INS_C(i)) closes_to(v, 0);
  if (from >= 0) loses_from(v, from);
}

/* ---- the abstract run: paths --------------------------------------------- */

static void swap_pending(Verifier *v, uint32_t a, uint32_t b) {
  uint64_t target = v->pending[a];
  v->pending[a] = v->pending[b];
  v->pending[b] = target;
}

/* Adds a target to run from. Targets at or before the present one wait for the next
 * round, which then sees every loss of facts of the present round. */
static void push_pending(Verifier *v, uint32_t target) {
  if (v->marks[target] & WORD_PENDING) return;
  v->marks[target] |= WORD_PENDING;
  uint64_t round = v->running >> 32;
  if (target <= (uint32_t)v->running) round++;
  uint32_t at = v->npending++;
  v->pending[at] = round << 32 | target;
  for (uint32_t parent; at > 0 && v->pending[parent = (at - 1) / 2] > v->pending[at]; at = parent)
    swap_pending(v, at, parent);
}

static uint32_t pop_pending(Verifier *v) {
  uint32_t at = 0, child;
  v->running = v->pending[0];
  v->pending[0] = v->pending[--v->npending];
  for (; (child = 2 * at + 1) < v->npending; at = child) {
    if (child + 1 < v->npending && v->pending[child + 1] < v->pending[child]) child++;
    if (v->pending[at] <= v->pending[child]) break;
    swap_pending(v, at, child);
  }
  uint32_t target = (uint32_t)v->running;
  v->marks[target] &= (uint8_t)~WORD_PENDING;
  return target;
}

/* Intersects the state of a target with the current one. */
static void merge_states(Verifier *v, uint32_t target) {
  uint64_t *known = &v->states[v->state_of[target] * v->state_words], lost = 0;
  if (!(v->marks[target] & WORD_REACHED)) {
    v->marks[target] |= WORD_REACHED;
    memcpy(known, v->now.holds, v->state_words * sizeof *known);
    push_pending(v, target);
    return;
  }
  for (size_t w = 0; w < v->state_words; w++) {
    lost |= known[w] & ~v->now.holds[w];
    known[w] &= v->now.holds[w];
  }
  if (lost) push_pending(v, target);
}

/* Applies what i sets, on each of the paths that follow. A register that i sets on one
 * path only loses its facts on the other path. */
static void run_sets(Verifier *v, Instruction i, uint32_t pc) {
  uint32_t sets = op_info[INS_OP(i)].sets;
  int64_t target = op_jump_target(i, pc);
  if (!(sets & (OPERAND_ON_JUMP | OPERAND_ON_NEXT))) {
    run_losses(v, i);
    run_writes(v, i, true);
    run_gains(v, i);
    if (target >= 0) merge_states(v, (uint32_t)target);
    return;
  }
  run_writes(v, i, false);
  if (sets & OPERAND_ON_NEXT) {
    merge_states(v, (uint32_t)target);
    run_writes(v, i, true);
    run_gains(v, i);
  } else {
    State next = v->now;
    run_writes(v, i, true);
    run_gains(v, i);
    merge_states(v, (uint32_t)target);
    v->now = next;
    run_losses(v, i);
  }
}

static bool goes_on(Instruction i) {
  switch (INS_OP(i)) {
    case OP_JMP: case OP_LOOP: case OP_LFALSESKIP: case OP_TFORPREP:
    case OP_RETURN: case OP_RETURN0: case OP_RETURN1: return false;
    default: return true;
  }
}

ALWAYS_INLINE uint64_t without_last(uint64_t bits, uint32_t i, uint32_t n) {
  return i > n ? bits & bits_below(i - n) : 0;
}

/* Runs instructions that are plain and may run, from pc on, if there are few registers.
 * Returns the position of an instruction that is not plain, or may not run, or is a
 * target. The effect is that of run_uses and run_sets for each instruction. */
static uint32_t run_plain(Verifier *v, uint32_t pc) {
  const Prototype *p = v->p;
  uint64_t written = v->now.holds[FACT_WRITTEN], table = v->now.holds[FACT_TABLE];
  uint64_t numeric = v->now.holds[FACT_NUMERIC], generic = v->now.holds[FACT_GENERIC];
  const uint64_t exposed = bits_below(p->max_stack & 63) & ~v->now.holds[FACT_PRIVATE];
  int64_t steps = v->steps_left;
  do {
    Instruction i = p->code[pc];
    const OpPlan *plan = &verifier_plans[INS_OP(i)];
    uint32_t a = INS_A(i), b = INS_B(i), c = INS_C(i);
    if (!(plan->plain | plan->call) || steps <= 0) break;
    if (plan->call) {
      const uint64_t below = bits_below(a), arguments = bits_below(b & 63) << a;
      if (b == 0 || c == 0 || b > 63 || (arguments & ~written) || (exposed & ~below)) break;
      table &= below;
      numeric = without_last(numeric, a, 2);
      generic = without_last(generic, a, 3);
      written = (written & below) | bits_below(c - 1) << a;
    } else {
      uint64_t reads =
          bit_if(plan->reads_a, a) | bit_if(plan->reads_b, b) | bit_if(plan->reads_c, c);
      uint64_t writes = bit_if(plan->writes_a, a) | bit_if(plan->writes_a1, a + 1);
      if (reads & ~written) break;
      written |= writes;
      if (table | numeric | generic) {
        table &= ~writes;
        numeric &= ~(writes | writes >> 1 | writes >> 2);
        generic &= ~(writes | writes >> 1 | writes >> 2 | writes >> 3);
      }
    }
    steps--;
    pc += plan->length;
  } while (pc < p->ncode && !(v->marks[pc] & WORD_TARGET));
  v->now.holds[FACT_WRITTEN] = written;
  v->now.holds[FACT_TABLE] = table;
  v->now.holds[FACT_NUMERIC] = numeric;
  v->now.holds[FACT_GENERIC] = generic;
  v->steps_left = steps;
  return pc;
}

/* Tells whether the path that has reached pc continues there. */
static bool is_open_path(Verifier *v, uint32_t pc) {
  if (pc >= v->p->ncode) {
    reject_code(v, "code without end");
    return false;
  }
  if (!(v->marks[pc] & WORD_TARGET)) return true;
  merge_states(v, pc);
  return false;
}

/* Runs a test that sets nothing, and the JMP behind it, which ends the path. */
static void run_test(Verifier *v, const OpPlan *plan, Instruction i, uint32_t pc) {
  reads_set(v, bit_if(plan->reads_a, INS_A(i)) | bit_if(plan->reads_b, INS_B(i)));
  require_that(v, (v->steps_left -= 2) >= 0, "too complicated");
  if (v->error) return;
  merge_states(v, pc + 2);
  if (v->marks[pc + 1] & WORD_TARGET) merge_states(v, pc + 1);
  else merge_states(v, (uint32_t)op_jump_target(v->p->code[pc + 1], pc + 1));
}

/* Runs from pc, with the state v->now, up to a target or the end of the path. */
static void run_path(Verifier *v, uint32_t pc) {
  const Prototype *p = v->p;
  int top = 0;
  for (;;) {
    if (v->few_registers) {
      uint32_t next = run_plain(v, pc);
      if (next != pc && !is_open_path(v, next)) return;
      pc = next;
    }
    Instruction i = p->code[pc];
    const OpPlan *plan = &verifier_plans[INS_OP(i)];
    if (plan->test && !plan->writes_a && v->few_registers) {
      run_test(v, plan, i, pc);
      return;
    }
    require_that(v, v->steps_left-- > 0, "too complicated");
    run_uses(v, i, top);
    if (v->error) return;
    run_sets(v, i, pc);
    if (v->error || !goes_on(i)) return;
    top = (int)INS_A(i);
    pc += plan->length;
    if (!is_open_path(v, pc)) return;
  }
}

static void load_state(Verifier *v, uint32_t target) {
  const uint64_t *known = &v->states[v->state_of[target] * v->state_words];
  memcpy(v->now.holds, known, v->state_words * sizeof *known);
}

static void *scratch(const Verifier *v, size_t bytes) {
  return v->d != NULL ? heap_memory(v->d, bytes) : malloc(bytes);
}

static void *scratch_zeroed(const Verifier *v, size_t bytes) {
  return v->d != NULL ? heap_memory_zeroed(v->d, bytes) : calloc(1, bytes);
}

static void discard(const Verifier *v, void *p, size_t bytes) {
  if (p == NULL) return;
  if (v->d != NULL) heap_memory_free(v->d, p, bytes);
  else free(p);
}

static size_t states_bytes(const Verifier *v) {
  return (size_t)v->ntargets * v->state_words * sizeof *v->states + 1;
}

static size_t pending_bytes(const Verifier *v) { return v->ntargets * sizeof *v->pending + 1; }

/* Gives each target a number, in their order. Returns false if there is no memory. */
static bool number_targets(Verifier *v) {
  const uint32_t n = v->p->ncode;
  v->state_of = scratch(v, n * sizeof *v->state_of);
  if (v->state_of == NULL) return false;
  for (uint32_t pc = 0; pc < n; pc++)
    if (v->marks[pc] & WORD_TARGET) v->state_of[pc] = v->ntargets++;
  return true;
}

static bool init_states(Verifier *v) {
  if (!v->any_jumps) return true;
  if (!number_targets(v)) return false;
  v->states = stress_allocation_fails() ? NULL : scratch(v, states_bytes(v));
  v->pending = scratch(v, pending_bytes(v));
  return v->states != NULL && v->pending != NULL;
}

static void check_paths(Verifier *v) {
  const Prototype *p = v->p;
  v->steps_left = (int64_t)p->ncode * STEPS_PER_WORD + STEPS_AT_LEAST;
  closes_to(v, 0);
  writes_registers(v, 0, p->nparams);
  if (v->marks[0] & WORD_TARGET) merge_states(v, 0);
  else run_path(v, 0);
  while (v->error == NULL && v->npending > 0) {
    uint32_t pc = pop_pending(v);
    load_state(v, pc);
    run_path(v, pc);
  }
}

/* ---- the rest of a prototype --------------------------------------------- */

/* Checks that at every instruction the number of active locals is at most the number of
   registers. */
static void check_active_locals(Verifier *v) {
  const Prototype *p = v->p;
  int32_t small[SMALL_CODE + 1], *change = small, active = 0;
  if (p->ncode <= SMALL_CODE) memset(small, 0, (p->ncode + 1) * sizeof *small);
  else change = scratch_zeroed(v, (p->ncode + (size_t)1) * sizeof *change);
  if (change == NULL) {
    reject_code(v, verify_no_memory);
    return;
  }
  for (uint32_t n = 0; n < p->nlocals; n++) {
    change[p->locals[n].start_pc]++;
    change[p->locals[n].end_pc]--;
  }
  for (uint32_t pc = 0; pc < p->ncode && v->error == NULL; pc++) {
    active += change[pc];
    require_that(v, active <= p->max_stack, "bad local variable");
  }
  if (change != small) discard(v, change, (p->ncode + (size_t)1) * sizeof *change);
}

/* Checks the local variables, which are in the order of their starts. */
static void check_locals(Verifier *v) {
  const Prototype *p = v->p;
  uint32_t start = 0;
  for (uint32_t n = 0; n < p->nlocals; n++) {
    const LocalVar *local = &p->locals[n];
    bool sound = local->name && local->start_pc <= local->end_pc && local->end_pc <= p->ncode;
    require_that(v, sound && start <= local->start_pc, "bad local variable");
    start = local->start_pc;
  }
  if (v->error == NULL && p->nlocals > p->max_stack) check_active_locals(v);
}

static void check_header(Verifier *v) {
  const Prototype *p = v->p;
  require_that(v, p->max_stack >= 2 && p->nparams <= p->max_stack, "too few registers");
  require_that(v, p->is_vararg <= 1 && p->has_names <= 1, "bad flag");
  require_that(v, p->npositions == 0 || p->npositions == p->ncode, "wrong number of lines");
  for (uint32_t n = 0; n < p->nupvalues; n++)
    require_that(v, p->upvalues[n].in_stack <= 1 && p->upvalues[n].kind <= 3, "bad upvalue");
  if (p->nlocals > 0 && v->error == NULL) check_locals(v);
}

/* ---- all of a prototype -------------------------------------------------- */

const char *verify_prototype(Domain *d, const Prototype *p) {
  if (stress_allocation_fails()) return verify_no_memory;
  Verifier verifier = {.d = d, .p = p}, *v = &verifier;
  uint8_t small_marks[SMALL_CODE];
  if (p->ncode <= SMALL_CODE) v->marks = memset(small_marks, 0, p->ncode);
  else v->marks = scratch_zeroed(v, p->ncode * sizeof *v->marks);
  v->ngroups = (p->max_stack + 63) / 64;
  v->few_registers = p->max_stack < 64;
  v->state_words = (size_t)v->ngroups * FACT_COUNT;
  if (v->marks == NULL) reject_code(v, verify_no_memory);
  if (v->error == NULL) check_header(v);
  if (v->error == NULL) check_form(v);
  if (v->error == NULL) {
    if (init_states(v)) check_paths(v);
    else reject_code(v, verify_no_memory);
  }
  discard(v, v->states, states_bytes(v));
  discard(v, v->pending, pending_bytes(v));
  discard(v, v->state_of, p->ncode * sizeof *v->state_of);
  if (v->marks != small_marks) discard(v, v->marks, p->ncode * sizeof *v->marks);
  return v->error;
}
