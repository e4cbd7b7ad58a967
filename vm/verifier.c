/* vm/verifier.c: proves that bytecode cannot harm the interpreter.
 *
 * The interpreter trusts its code: it never checks an index, and some
 * instructions work on registers whose contents others have prepared.  Code
 * from a binary chunk is run only after this file has shown, for every path:
 *
 *  1. Form: each word is an opcode or its aux word; registers, constants,
 *     upvalues and prototypes exist; constants have the kind that the
 *     instruction expects; a test is followed by a JMP, jumps lead to the
 *     start of an instruction, and no path runs off the end.
 *  2. Open results (C == 0) are consumed by the very next instruction
 *     (B == 0), which nothing else leads to.
 *  3. A register is read only when it was written in this activation.
 *  4. SETLIST works on a table, FORLOOP on what FORPREP has prepared, TFORCALL
 *     on what TFORPREP has prepared.
 *  5. Variables to be closed are marked in ascending order; a register with an
 *     open upvalue or a pending close is not covered by the frame of a call,
 *     and the function closes it before it returns.
 *
 * 1 and 2 look at each instruction (check_...).  3 to 5 are an abstract run:
 * for each register a set of facts that hold on every path (FACT_...).  The state
 * at each jump target is the intersection over all ways there; a change puts the
 * target back on the list of those to be run from.  Facts only get fewer, so
 * this ends.
 *
 * The code generator keeps all of these rules, and builds with asserts verify
 * what it makes.
 */
#include "verifier.h"

#include <stdlib.h>
#include <string.h>

#include "opinfo.h"
#include "str.h"
#include "stress.h"

const char verify_no_memory[] = "not enough memory";

enum {
  FACT_WRITTEN = 1,  /* holds a value of this activation */
  FACT_TABLE = 2,    /* a table made by NEWTABLE here */
  FACT_NUMERIC = 4,  /* base of a numeric loop that is prepared */
  FACT_GENERIC = 8,  /* base of a generic loop that is prepared */
  FACT_PRIVATE = 16, /* no upvalue refers to it, and it is not pending a close */
  FACT_NO_CLOSE = 32, /* it is not pending a close */
  FACT_FREE = FACT_PRIVATE | FACT_NO_CLOSE,
  FACT_ALL = 63
};

enum { WORD_START = 1, WORD_TARGET = 2, WORD_PENDING = 4 }; /* marks of a word */

#define NREGISTERS 256

typedef struct Verifier {
  const Prototype *p;
  uint8_t *marks;       /* of each word */
  uint32_t *state_of;   /* number of a target */
  uint8_t *facts;       /* of target n: max_stack bytes from n * max_stack on */
  uint8_t now[NREGISTERS]; /* facts before or after the instruction being run */
  uint32_t ntargets;
  uint32_t lowest_pending; /* no word below it is WORD_PENDING */
  uint32_t references[OP_COUNT]; /* op_references + 1, 0: not asked for yet */
  const char *error;    /* the first one found */
} Verifier;

static void fail(Verifier *v, const char *what) {
  if (v->error == NULL) v->error = what;
}

static void require(Verifier *v, bool condition, const char *what) {
  if (unlikely(!condition)) fail(v, what);
}

/* ---- form: operands ------------------------------------------------------------ */

static uint32_t references_of(Verifier *v, OpCode op) {
  if (v->references[op] == 0) v->references[op] = op_references(op) + 1;
  return v->references[op] - 1;
}

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
  if (index >= v->p->nconstants) fail(v, "constant out of range");
  else require(v, constant_fits(op, &v->p->k[index]), "constant of the wrong kind");
}

static void check_key(Verifier *v, OpCode op, uint32_t aux) {
  uint32_t index = op_key_index(op, aux);
  if (index >= v->p->nconstants) {
    fail(v, "constant out of range");
  } else if (op != OP_LOADKX) {
    require(v, is_short_string(&v->p->k[index]), "constant of the wrong kind");
    require(v, AUX_SLOT(aux) == 0, "cache not empty");
  }
}

static void check_references(Verifier *v, Instruction i, uint32_t aux) {
  const Prototype *p = v->p;
  OpCode op = INS_OP(i);
  uint32_t references = references_of(v, op);
  bool no_registers = op == OP_CLOSE || op == OP_RETURN0 || (op == OP_RETURN && INS_B(i) == 1); /* A is a mere level */
  if (no_registers) require(v, INS_A(i) <= p->max_stack, "register out of range");
  else if (references & REFERS_REG_A) require(v, INS_A(i) < p->max_stack, "register out of range");
  if (references & REFERS_REG_B) require(v, INS_B(i) < p->max_stack, "register out of range");
  if (references & REFERS_REG_C) require(v, INS_C(i) < p->max_stack, "register out of range");
  if (references & REFERS_UPVALUE_A) require(v, INS_A(i) < p->nupvalues, "upvalue out of range");
  if (references & REFERS_UPVALUE_B) require(v, INS_B(i) < p->nupvalues, "upvalue out of range");
  if (references & REFERS_PROTO_Bx) require(v, INS_Bx(i) < p->nprotos, "function out of range");
  if (references & (REFERS_K_B | REFERS_K_C | REFERS_K_Bx)) check_constant(v, op, op_constant_index(references, i));
  if (references & REFERS_K_AUX) check_key(v, op, aux);
}

/* Sizes are kept within what so much code can have asked for. */
static void check_sizes(Verifier *v, Instruction i, uint32_t aux) {
  uint64_t limit = (uint64_t)v->p->ncode * 64;
  if (limit > INT32_MAX) limit = INT32_MAX;
  switch (INS_OP(i)) {
    case OP_NEWTABLE:
      require(v, aux <= limit && INS_B(i) <= 31 && (1u << INS_B(i)) / 2 <= limit, "table too large");
      break;
    case OP_SETLIST: require(v, aux <= limit, "table too large"); break;
    case OP_CONCAT: require(v, INS_B(i) >= 2, "bad operand"); break;
    case OP_TFORCALL: require(v, INS_C(i) >= 1, "bad operand"); break;
    default: break;
  }
}

/* ---- form: order ---------------------------------------------------------------- */

static bool leaves_open(Instruction i) {
  OpCode op = INS_OP(i);
  return op == OP_TAILCALL || ((op_info[op].flags & OPFLAG_O) && INS_C(i) == 0);
}

static bool takes_open(Instruction i) {
  return (op_info[INS_OP(i)].flags & OPFLAG_I) && INS_B(i) == 0;
}

/* previous: the instruction before it in the code, or NULL. */
static void check_open_results(Verifier *v, const Instruction *previous, Instruction i, uint32_t pc) {
  bool open = previous && leaves_open(*previous);
  require(v, open == takes_open(i), "open results not consumed");
  if (!open || !takes_open(i)) return;
  int room = (int)INS_A(*previous) - (int)INS_A(i);
  require(v, INS_OP(i) == OP_RETURN ? room >= 0 : room >= 1, "open results not consumed");
  require(v, INS_OP(*previous) != OP_TAILCALL || (INS_OP(i) == OP_RETURN && room == 0), "tail call without return");
  require(v, !(v->marks[pc] & WORD_TARGET), "jump past open results");
}

static void check_vararg(Verifier *v, Instruction i, uint32_t pc) {
  const Prototype *p = v->p;
  bool prepares = INS_OP(i) == OP_VARARGPREP;
  require(v, prepares == (pc == 0 && p->is_vararg), "variable arguments not prepared");
  require(v, !prepares || INS_A(i) == p->nparams, "variable arguments not prepared");
  require(v, INS_OP(i) != OP_VARARG || p->is_vararg, "variable arguments not prepared");
}

static void check_neighbours(Verifier *v, const Instruction *previous, uint32_t pc) {
  const Prototype *p = v->p;
  Instruction i = p->code[pc];
  Instruction next = pc + 1 < p->ncode ? p->code[pc + 1] : 0; /* if i has no aux word */
  if (op_info[INS_OP(i)].flags & OPFLAG_T) {
    require(v, pc + 1 < p->ncode && INS_OP(next) == OP_JMP, "test without jump");
    require(v, INS_C(i) <= 1, "bad operand");
  }
  if (INS_OP(i) == OP_TFORCALL)
    require(v, pc + 1 < p->ncode && INS_OP(next) == OP_TFORLOOP && INS_A(next) == INS_A(i), "loop without end");
  require(v, INS_OP(i) != OP_JMP || INS_sJ(i) >= 0, "loop without safe point"); /* that is a LOOP */
  if (INS_OP(i) == OP_TFORLOOP) require(v, previous && INS_OP(*previous) == OP_TFORCALL, "loop without call");
  if (leaves_open(i)) require(v, pc + 1 < p->ncode, "open results not consumed");
}

/* Splits the code into instructions; false when that fails. */
static bool find_starts(Verifier *v) {
  const Prototype *p = v->p;
  uint32_t pc = 0;
  while (pc < p->ncode) {
    OpCode op = INS_OP(p->code[pc]);
    if (op >= OP_COUNT || op_info[op].base != op) {
      fail(v, "unknown instruction");
      return false;
    }
    v->marks[pc] |= WORD_START;
    pc += (uint32_t)op_length(op);
  }
  require(v, pc == p->ncode && pc > 0, "truncated instruction");
  return v->error == NULL;
}

/* Where an instruction may lead besides to the next one; -1: nowhere. */
static int64_t jump_target(Instruction i, uint32_t pc) {
  switch (INS_OP(i)) {
    case OP_JMP: case OP_LOOP: return (int64_t)pc + 1 + INS_sJ(i);
    case OP_LFALSESKIP: return (int64_t)pc + 2;
    case OP_FORPREP: return (int64_t)pc + 2 + INS_Bx(i);
    case OP_TFORPREP: return (int64_t)pc + 1 + INS_Bx(i);
    case OP_FORLOOP: case OP_TFORLOOP: return (int64_t)pc + 1 - (int64_t)INS_Bx(i);
    default: return op_info[INS_OP(i)].flags & OPFLAG_T ? (int64_t)pc + 2 : -1;
  }
}

static bool jumps(Instruction i) {
  return (op_info[INS_OP(i)].flags & OPFLAG_T) || INS_OP(i) == OP_LFALSESKIP || op_info[INS_OP(i)].format == FORMAT_sJ ||
         (INS_OP(i) >= OP_FORPREP && INS_OP(i) <= OP_TFORLOOP && INS_OP(i) != OP_TFORCALL);
}
_Static_assert(OP_TFORLOOP - OP_FORPREP == 4, "the instructions of loops stand together");

static void mark_targets(Verifier *v) {
  const Prototype *p = v->p;
  for (uint32_t pc = 0; pc < p->ncode; pc += (uint32_t)op_length(INS_OP(p->code[pc]))) {
    if (!jumps(p->code[pc])) continue;
    int64_t target = jump_target(p->code[pc], pc);
    /* variable arguments must not be prepared again */
    if (target < (p->is_vararg ? 1 : 0) || target >= p->ncode || !(v->marks[target] & WORD_START) ||
        (INS_OP(p->code[pc]) == OP_JMP && target <= pc)) { /* a way back needs a safe point */
      fail(v, "jump to nowhere");
      return;
    }
    if (!(v->marks[target] & WORD_TARGET)) v->state_of[target] = v->ntargets++;
    v->marks[target] |= WORD_TARGET;
  }
}

static void check_form(Verifier *v) {
  const Prototype *p = v->p;
  const Instruction *previous = NULL;
  if (!find_starts(v)) return;
  mark_targets(v);
  for (uint32_t pc = 0; pc < p->ncode && v->error == NULL;) {
    const Instruction *i = &p->code[pc];
    uint32_t length = (uint32_t)op_length(INS_OP(*i)), aux = length == 2 ? i[1] : 0;
    check_references(v, *i, aux);
    check_sizes(v, *i, aux);
    check_open_results(v, previous, *i, pc);
    check_vararg(v, *i, pc);
    check_neighbours(v, previous, pc);
    previous = i;
    pc += length;
  }
}

/* ---- the abstract run: registers --------------------------------------------------- */

static uint8_t facts_of(Verifier *v, int reg) {
  if (reg >= 0 && reg < v->p->max_stack) return v->now[reg];
  fail(v, "register out of range");
  return 0;
}

static void reads(Verifier *v, int first, int n) {
  for (int reg = first; reg < first + n && v->error == NULL; reg++)
    require(v, facts_of(v, reg) & FACT_WRITTEN, "register read before it is written");
}

/* What was known of a loop is no longer, once one of its first registers changes. */
static void forget_loops(Verifier *v, int reg) {
  for (int base = reg > 3 ? reg - 3 : 0; base <= reg; base++) {
    if (reg - base <= 2) v->now[base] &= (uint8_t)~FACT_NUMERIC;
    v->now[base] &= (uint8_t)~FACT_GENERIC;
  }
}

static void writes(Verifier *v, int first, int n) {
  for (int reg = first; reg < first + n && v->error == NULL; reg++) {
    uint8_t kept = facts_of(v, reg) & FACT_FREE;
    forget_loops(v, reg);
    v->now[reg] = FACT_WRITTEN | kept;
  }
}

/* What these registers hold may have changed: said of writes that one way out of an
 * instruction makes and the other may not. */
static void spoils(Verifier *v, int first, int n) {
  for (int reg = first; reg < first + n && v->error == NULL; reg++) {
    uint8_t kept = facts_of(v, reg) & (FACT_FREE | FACT_WRITTEN);
    forget_loops(v, reg);
    v->now[reg] = kept;
  }
}

/* The registers from `from` on lose their values: a call's frame covers them, or
 * the collector may clear them. */
static void loses(Verifier *v, int from) {
  for (int reg = from; reg < v->p->max_stack; reg++) {
    require(v, v->now[reg] & FACT_PRIVATE, "variable not closed");
    forget_loops(v, reg);
    v->now[reg] = FACT_FREE;
  }
}

/* An upvalue refers to the register from now on, or it is pending a close. */
static void exposes(Verifier *v, int reg) {
  uint8_t kept = facts_of(v, reg) & (FACT_WRITTEN | FACT_NO_CLOSE);
  if (v->error) return;
  forget_loops(v, reg);
  v->now[reg] = kept;
}

static void adds_fact(Verifier *v, int reg, uint8_t fact, int nprivate) {
  for (int i = 0; i < nprivate; i++)
    if (!(facts_of(v, reg + i) & FACT_PRIVATE)) return;
  v->now[reg] |= fact;
}

static void closes(Verifier *v, int level) {
  for (int reg = level; reg < v->p->max_stack; reg++) v->now[reg] |= FACT_FREE;
}

static void marks_to_close(Verifier *v, int marked) {
  reads(v, marked, 1);
  for (int reg = marked; reg < v->p->max_stack; reg++)
    require(v, v->now[reg] & FACT_NO_CLOSE, "variables to be closed out of order");
  exposes(v, marked);
  v->now[marked] &= (uint8_t)~FACT_NO_CLOSE;
}

/* A way out of the function after which these facts must hold for all registers. */
static void leaves(Verifier *v, uint8_t facts) {
  for (int reg = 0; reg < v->p->max_stack; reg++) require(v, (v->now[reg] & facts) == facts, "variable not closed");
}

static void run_closure(Verifier *v, Instruction i) {
  const Prototype *inner = v->p->p[INS_Bx(i)];
  int a = (int)INS_A(i);
  for (uint32_t n = 0; n < inner->nupvalues; n++) {
    const UpvalueDesc *upvalue = &inner->upvalues[n];
    if (!upvalue->in_stack) {
      require(v, upvalue->index < v->p->nupvalues, "upvalue out of range");
    } else {
      if (upvalue->index != a) reads(v, upvalue->index, 1);
      exposes(v, upvalue->index);
    }
  }
  loses(v, a + 1);
  writes(v, a, 1);
}

/* ---- the abstract run: instructions ---------------------------------------------------- */

static void run_call(Verifier *v, Instruction i, const Instruction *previous) {
  int a = (int)INS_A(i), b = (int)INS_B(i), c = (int)INS_C(i);
  reads(v, a, b ? b : (int)INS_A(*previous) - a);
  if (INS_OP(i) == OP_TAILCALL) {
    leaves(v, c ? FACT_NO_CLOSE : FACT_FREE);
    if (c) closes(v, 0);
  }
  loses(v, a);
  if (INS_OP(i) == OP_CALL && c > 1) writes(v, a, c - 1);
}

/* The registers that an instruction reads and writes as its format and flags say. */
static void run_plain(Verifier *v, Instruction i) {
  OpCode op = INS_OP(i);
  uint32_t references = references_of(v, op);
  bool sets_a = op_info[op].flags & OPFLAG_A;
  if (references & REFERS_REG_B) reads(v, (int)INS_B(i), 1);
  if (references & REFERS_REG_C) reads(v, (int)INS_C(i), 1);
  if ((references & REFERS_REG_A) && !sets_a) reads(v, (int)INS_A(i), 1);
  if (sets_a) writes(v, (int)INS_A(i), 1);
}

/* The state after instruction i (previous: the one before it in the code). */
static void run_instruction(Verifier *v, Instruction i, const Instruction *previous) {
  int a = (int)INS_A(i), b = (int)INS_B(i), c = (int)INS_C(i);
  switch (INS_OP(i)) {
    case OP_LOADNIL: writes(v, a, b + 1); break;
    case OP_NEWTABLE:
      loses(v, a + 1);
      writes(v, a, 1);
      adds_fact(v, a, FACT_TABLE, 1);
      break;
    case OP_SELF: case OP_SELFK:
      run_plain(v, i);
      writes(v, a + 1, 1);
      break;
    case OP_CONCAT:
      reads(v, a, b);
      loses(v, a + 1);
      writes(v, a, 1);
      break;
    case OP_CLOSE: closes(v, a); break;
    case OP_TBC: marks_to_close(v, a); break;
    case OP_TESTSET: reads(v, b, 1); break; /* the write is in run_jump */
    case OP_CALL: case OP_TAILCALL: run_call(v, i, previous); break;
    case OP_RETURN:
      reads(v, a, b ? b - 1 : (int)INS_A(*previous) - a);
      if (c == 0) leaves(v, FACT_FREE);
      break;
    case OP_RETURN0: leaves(v, FACT_FREE); break;
    case OP_RETURN1:
      reads(v, a, 1);
      leaves(v, FACT_FREE);
      break;
    case OP_FORPREP: case OP_FORLOOP: reads(v, a, 3); break;
    case OP_TFORPREP:
      reads(v, a, 4);
      require(v, facts_of(v, a + 2) & FACT_NO_CLOSE, "variables to be closed out of order"); /* its scratch is written */
      marks_to_close(v, a + 3);
      adds_fact(v, a, FACT_GENERIC, 3);
      break;
    case OP_TFORCALL:
      require(v, facts_of(v, a) & FACT_GENERIC, "loop not prepared");
      facts_of(v, a + 6); /* the call of the iterator needs so many */
      loses(v, a + 4);
      writes(v, a + 4, c);
      break;
    case OP_TFORLOOP: reads(v, a + 4, 1); break;
    case OP_SETLIST:
      reads(v, a + 1, b ? b : (int)INS_A(*previous) - (a + 1));
      require(v, facts_of(v, a) & FACT_TABLE, "list for no table");
      break;
    case OP_CLOSURE: run_closure(v, i); break;
    case OP_VARARG:
      if (c == 0) loses(v, a);
      else writes(v, a, c - 1);
      break;
    default: run_plain(v, i);
  }
}

/* ---- the abstract run: paths --------------------------------------------------------------- */

/* Intersects the state of a target with the current one. */
static void merge(Verifier *v, uint32_t target) {
  uint8_t *known = &v->facts[(size_t)v->state_of[target] * v->p->max_stack];
  bool changed = false;
  for (int reg = 0; reg < v->p->max_stack; reg++) {
    uint8_t facts = known[reg] & v->now[reg];
    changed |= facts != known[reg];
    known[reg] = facts;
  }
  if (!changed) return;
  v->marks[target] |= WORD_PENDING;
  if (target < v->lowest_pending) v->lowest_pending = target;
}

/* The end of a loop whose registers begin at R[A]: when it goes on, it writes some and
 * stays what it was. */
static void run_back_edge(Verifier *v, int first, int n, uint8_t kept_fact, uint32_t target) {
  uint8_t before[NREGISTERS];
  int a = kept_fact == FACT_NUMERIC ? first : first - 2;
  spoils(v, first, n);
  memcpy(before, v->now, sizeof before);
  writes(v, first, n);
  v->now[a] |= kept_fact;
  merge(v, target);
  memcpy(v->now, before, sizeof before);
}

/* The jump of the instruction at pc, if it has one; what differs from going on
 * to the next instruction happens here. */
static void run_jump(Verifier *v, Instruction i, uint32_t pc) {
  int a = (int)INS_A(i);
  if (!jumps(i)) return;
  uint32_t target = (uint32_t)jump_target(i, pc);
  switch (INS_OP(i)) {
    case OP_FORPREP:
      spoils(v, a, 4);
      merge(v, target);
      writes(v, a, 4); /* the loop runs */
      adds_fact(v, a, FACT_NUMERIC, 3);
      break;
    case OP_FORLOOP:
      require(v, facts_of(v, a) & FACT_NUMERIC, "loop not prepared");
      run_back_edge(v, a, 4, FACT_NUMERIC, target);
      break;
    case OP_TFORLOOP:
      run_back_edge(v, a + 2, 1, v->now[a] & FACT_GENERIC, target);
      loses(v, a + 4); /* what TFORCALL left there when it found no further value */
      break;
    case OP_TESTSET:
      spoils(v, a, 1);
      merge(v, target); /* no write: the jump in the next word is passed over */
      writes(v, a, 1);
      break;
    default: merge(v, target);
  }
}

static bool goes_on(Instruction i) {
  switch (INS_OP(i)) {
    case OP_JMP: case OP_LOOP: case OP_LFALSESKIP: case OP_TFORPREP:
    case OP_RETURN: case OP_RETURN0: case OP_RETURN1: return false;
    default: return true;
  }
}

/* Runs from pc, with the state v->now, up to a target or the end of the path. */
static void run_path(Verifier *v, uint32_t pc) {
  const Prototype *p = v->p;
  const Instruction *previous = NULL;
  for (;;) {
    const Instruction *i = &p->code[pc];
    run_instruction(v, *i, previous);
    if (v->error) return;
    run_jump(v, *i, pc);
    if (v->error || !goes_on(*i)) return;
    previous = i;
    pc += (uint32_t)op_length(INS_OP(*i));
    if (pc >= p->ncode) {
      fail(v, "code without end");
      return;
    }
    if (v->marks[pc] & WORD_TARGET) {
      merge(v, pc);
      return;
    }
  }
}

static void load_state(Verifier *v, uint32_t target) {
  memcpy(v->now, &v->facts[(size_t)v->state_of[target] * v->p->max_stack], v->p->max_stack);
}

/* No way to a target is known yet; the first one found always loses facts, for
 * no register is the base of both kinds of loops. */
static bool init_states(Verifier *v) {
  size_t size = (size_t)v->ntargets * v->p->max_stack;
  v->facts = stress_allocation_fails() ? NULL : malloc(size + 1);
  if (v->facts == NULL) return false;
  memset(v->facts, FACT_ALL, size);
  return true;
}

static void check_paths(Verifier *v) {
  const Prototype *p = v->p;
  v->lowest_pending = p->ncode;
  memset(v->now, FACT_FREE, NREGISTERS);
  writes(v, 0, p->nparams);
  if (v->marks[0] & WORD_TARGET) merge(v, 0);
  else run_path(v, 0);
  while (v->error == NULL && v->lowest_pending < p->ncode) {
    uint32_t pc = v->lowest_pending++;
    if (!(v->marks[pc] & WORD_PENDING)) continue;
    v->marks[pc] &= (uint8_t)~WORD_PENDING;
    load_state(v, pc);
    run_path(v, pc);
  }
}

/* ---- the rest of a prototype ------------------------------------------------------------------ */

/* In the order of their starts, and at no place more of them than registers. */
static void check_locals(Verifier *v) {
  const Prototype *p = v->p;
  int32_t *change = calloc((size_t)p->ncode + 1, sizeof *change), active = 0;
  if (change == NULL) {
    fail(v, verify_no_memory);
    return;
  }
  for (uint32_t n = 0; n < p->nlocals; n++) {
    const LocalVar *local = &p->locals[n];
    bool sound = local->name && local->start_pc <= local->end_pc && local->end_pc <= p->ncode;
    require(v, sound && (n == 0 || p->locals[n - 1].start_pc <= local->start_pc), "bad local variable");
    if (v->error) break;
    change[local->start_pc]++;
    change[local->end_pc]--;
  }
  for (uint32_t pc = 0; pc < p->ncode && v->error == NULL; pc++) {
    active += change[pc];
    require(v, active <= p->max_stack, "bad local variable");
  }
  free(change);
}

static void check_header(Verifier *v) {
  const Prototype *p = v->p;
  require(v, p->max_stack >= 2 && p->nparams <= p->max_stack, "too few registers");
  require(v, p->is_vararg <= 1 && p->has_names <= 1, "bad flag");
  require(v, p->nlines == 0 || p->nlines == p->ncode, "wrong number of lines");
  for (uint32_t n = 0; n < p->nupvalues; n++)
    require(v, p->upvalues[n].in_stack <= 1 && p->upvalues[n].kind <= 3, "bad upvalue");
  if (p->nlocals > 0 && v->error == NULL) check_locals(v);
}

const char *verify_prototype(const Prototype *p) {
  Verifier *v = stress_allocation_fails() ? NULL : calloc(1, sizeof *v);
  if (v == NULL) return verify_no_memory;
  v->p = p;
  v->marks = calloc(p->ncode + 1, sizeof *v->marks);
  v->state_of = calloc(p->ncode + 1, sizeof *v->state_of);
  if (v->marks == NULL || v->state_of == NULL) fail(v, verify_no_memory);
  if (v->error == NULL) check_header(v);
  if (v->error == NULL) check_form(v);
  if (v->error == NULL) {
    if (init_states(v)) check_paths(v);
    else fail(v, verify_no_memory);
  }
  const char *error = v->error;
  free(v->facts);
  free(v->state_of);
  free(v->marks);
  free(v);
  return error;
}
