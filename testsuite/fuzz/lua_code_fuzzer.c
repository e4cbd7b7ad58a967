/* SPDX-License-Identifier: MIT */
/* lua_code_fuzzer.c: runs functions that the compiler never makes and the verifier
 * accepts.
 *
 * The input is a source text, a zero byte, and edits of eight bytes each. The text is
 * compiled; each edit then changes one function: an operand, an instruction, a jump, a
 * constant, the header; or it inserts instructions, with operands as opcodes.def says, or
 * a group that is only valid as a whole (a loop, open results and their user). After each
 * edit the verifier checks the function, and an edit that it refuses is undone. So each
 * input is a walk among accepted functions, and all of them run.
 *
 * The result is dumped, loaded (which must succeed) and called, and so are the functions
 * that it returns. AddressSanitizer, the asserts before each instruction
 * (check_instruction.c) and the heap verifier find what breaks. No hook is set while the
 * code runs, so that the fast paths are tested; a timer sets a hook if a run takes long.
 *
 * SHOW_CODE=1 ./lua_code_fuzzer FILE shows what an input became.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "call.h"
#include "domain.h"
#include "thread.h"
#include "gc_inline.h"
#include "gc_internal.h"
#include "lauxlib.h"
#include "lua_harness.h"
#include "compiler.h"
#include "disasm.h"
#include "opinfo.h"
#include "str.h"
#include "verifier.h"

#define MOST_FUNCTIONS 12
#define MOST_ITEMS 400
#define MOST_CONSTANTS 64
#define MOST_UPVALUES 16
#define RUN_MICROSECONDS 4000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

typedef struct Edit {
  uint8_t kind, function, where, op, a, b, c, d;
} Edit;

/* ---- functions that can be edited ------------------------------------------------- */

typedef struct Item {
  Instruction i;
  uint32_t aux;
  int target; /* index of the item to which it jumps, or -1 */
} Item;

typedef struct Function {
  Prototype p; /* the function as it is dumped; its arrays are the arrays below, or the
                  compiler's */
  int parent;
  bool editable;
  int n;
  Item items[MOST_ITEMS];
  Instruction words[2 * MOST_ITEMS];
  TValue constants[MOST_CONSTANTS];
  UpvalueDesc upvalues[MOST_UPVALUES];
  Prototype *inner[MOST_FUNCTIONS];
} Function;

typedef struct Program {
  Function functions[MOST_FUNCTIONS];
  int n;
} Program;

static bool has_target(OpCode op) {
  switch (op) {
    case OP_JMP: case OP_LOOP: case OP_FORPREP: case OP_FORLOOP: case OP_TFORPREP: case OP_TFORLOOP:
      return true;
    default: return false;
  }
}

static void read_items(Function *f, const Prototype *from) {
  static int item_at[2 * MOST_ITEMS];
  for (uint32_t pc = 0; pc < from->ncode; f->n++) {
    Instruction i = from->code[pc];
    int length = op_length(INS_OP(i));
    item_at[pc] = f->n;
    f->items[f->n] = (Item){i, length == 2 ? from->code[pc + 1] : 0, -1};
    if (has_target(INS_OP(i))) f->items[f->n].target = (int)op_jump_target(i, pc);
    pc += (uint32_t)length;
  }
  for (int n = 0; n < f->n; n++)
    if (f->items[n].target >= 0) f->items[n].target = item_at[f->items[n].target];
}

/* Returns the instruction with a word at pc that leads to the word `to`, or 0 if
   there is none. */
static Instruction with_target(Instruction i, int64_t pc, int64_t to) {
  int64_t distance = 0;
  switch (INS_OP(i)) {
    case OP_JMP: case OP_LOOP: return MAKE_sJ(INS_OP(i), (uint32_t)(to - pc - 1));
    case OP_FORPREP: distance = to - pc - 2; break;
    case OP_TFORPREP: distance = to - pc - 1; break;
    default: distance = pc + 1 - to; break;
  }
  return distance < 0 ? 0 : MAKE_ABx(INS_OP(i), INS_A(i), (uint32_t)distance);
}

/* Writes the items as code. Returns false if a jump cannot lead where it should. */
static bool write_items(Function *f) {
  static int pc_of[MOST_ITEMS];
  uint32_t pc = 0;
  for (int n = 0; n < f->n; n++) {
    pc_of[n] = (int)pc;
    pc += (uint32_t)op_length(INS_OP(f->items[n].i));
  }
  f->p.ncode = pc;
  for (int n = 0; n < f->n; n++) {
    Item *item = &f->items[n];
    uint32_t at = (uint32_t)pc_of[n];
    f->words[at] = item->i;
    if (op_length(INS_OP(item->i)) == 2) f->words[at + 1] = item->aux;
    if (!has_target(INS_OP(item->i))) continue;
    if (item->target < 0 || item->target >= f->n) return false;
    f->words[at] = with_target(item->i, at, pc_of[item->target]);
    if (f->words[at] == 0) return false;
  }
  return true;
}

/* Constants of each kind, for instructions to find. */
static void add_constants(lua_State *L, Function *f) {
  static const char *const keys[] = {"x", "n", "__index"};
  TValue *k = &f->constants[f->p.nconstants];
  for (int n = 0; n < 3; n++, k++) set_string(k, string_new(L, keys[n], strlen(keys[n])));
  set_int(k, 3), k++;
  set_float(k, 1.5), k++;
  set_nil(k), k++;
  set_bool(k, true), k++;
  f->p.nconstants = (uint32_t)(k - f->constants);
}

static void read_program(lua_State *L, Program *program, const Prototype *from, int parent);

static void read_inner(lua_State *L, Program *program, const Prototype *from, int self) {
  Function *f = &program->functions[self];
  for (uint32_t n = 0; n < from->nprotos; n++) {
    f->inner[n] = &program->functions[program->n].p;
    read_program(L, program, from->p[n], self);
  }
  f->p.p = f->inner;
}

/* Returns the number of functions in this function, including it; a function that is too
   large counts as too many. */
static int count_functions(const Prototype *from) {
  bool fits = from->ncode < MOST_ITEMS && from->nconstants + 7 < MOST_CONSTANTS &&
              from->nupvalues < MOST_UPVALUES;
  int n = fits ? 1 : MOST_FUNCTIONS + 1;
  for (uint32_t i = 0; i < from->nprotos; i++) n += count_functions(from->p[i]);
  return n;
}

static void read_program(lua_State *L, Program *program, const Prototype *from, int parent) {
  int self = program->n++;
  Function *f = &program->functions[self];
  f->p = *from;
  f->parent = parent;
  f->p.code = f->words;
  f->p.k = f->constants;
  f->p.upvalues = f->upvalues;
  f->p.has_names = 0;
  f->p.npositions = f->p.nlocals = 0;
  memset(f->constants, 0, sizeof f->constants);
  for (uint32_t n = 0; n < from->nconstants; n++) f->constants[n] = from->k[n];
  for (int n = 0; n < from->nupvalues; n++) f->upvalues[n] = from->upvalues[n];
  f->n = 0;
  read_items(f, from);
  add_constants(L, f);
  read_inner(L, program, from, self);
}

/* ---- edits ------------------------------------------------------------------------ */

static uint32_t modulo(uint32_t value, uint32_t n) { return n ? value % n : 0; }

static int choose_item(const Function *f, const Edit *e) { return e->d * f->n / 256; }

/* Makes an instruction with fields as opcodes.def says, from the bytes of the edit. */
static Item synthesize(const Function *f, OpCode op, const Edit *e) {
  const OpInfo *info = &op_info[op];
  uint32_t registers = f->p.max_stack, uses = info->uses;
  uint32_t a = modulo(e->a, registers), b = e->b, c = e->c, bx = e->b;
  Item item = {0, 0, -1};
  if (uses & OPERAND_UA) a = modulo(a, f->p.nupvalues);
  if (uses & OPERAND_RB) b = modulo(b, registers);
  else if (uses & OPERAND_UB) b = modulo(b, f->p.nupvalues);
  else if (uses & OPERAND_KB) b = modulo(b, f->p.nconstants);
  else if (!(info->flags & OPFLAG_S)) b %= 8;
  if (uses & OPERAND_RC) c = modulo(c, registers);
  else if (uses & OPERAND_KC) c = modulo(c, f->p.nconstants);
  else if (info->flags & OPFLAG_T) c &= 1;
  else if (!(info->flags & OPFLAG_S)) c %= 4;
  if (uses & OPERAND_KX) item.aux = modulo(e->d, f->p.nconstants);
  else if (info->flags & OPFLAG_X) item.aux = e->d % 16;
  if (uses & OPERAND_KBx) bx = modulo(bx, f->p.nconstants);
  if (uses & OPERAND_PBx) bx = modulo(bx, f->p.nprotos);
  item.i = info->format == FORMAT_ABC ? MAKE_ABC(op, a, b, c) : MAKE_ABx(op, a, bx);
  if (has_target(op)) item.target = choose_item(f, e);
  return item;
}

/* Inserts n items at `at`; the items' targets are already relative to `at`. */
static bool insert_items(Function *f, int at, const Item *items, int n) {
  if (f->n + n > MOST_ITEMS) return false;
  for (int i = 0; i < f->n; i++)
    if (f->items[i].target > at) f->items[i].target += n;
  memmove(&f->items[at + n], &f->items[at], (size_t)(f->n - at) * sizeof(Item));
  memcpy(&f->items[at], items, (size_t)n * sizeof(Item));
  f->n += n;
  return true;
}

static bool remove_item(Function *f, int at) {
  if (f->n < 2) return false;
  memmove(&f->items[at], &f->items[at + 1], (size_t)(f->n - at - 1) * sizeof(Item));
  f->n--;
  for (int i = 0; i < f->n; i++)
    if (f->items[i].target > at) f->items[i].target--;
  return true;
}

static bool insert_one(Function *f, int at, const Edit *e) {
  Item item = synthesize(f, (OpCode)op_info[e->op % OP_COUNT].base, e);
  if (item.target > at) item.target++;
  return insert_items(f, at, &item, 1);
}

#define ABC(op, a, b, c) ((Item){MAKE_ABC(op, a, b, c), 0, -1})
#define TO(op, a, to) ((Item){MAKE_ABx(op, a, 0), 0, to})

/* Inserts instructions that the verifier accepts only together. */
static bool insert_group(Function *f, int at, const Edit *e) {
  uint32_t r = modulo(e->a, f->p.max_stack), s = modulo(e->b, f->p.max_stack);
  Item open = e->c & 1 ? ABC(OP_VARARG, r, 0, 0) : ABC(OP_CALL, r, 1 + e->c % 3, 0), items[8];
  int n = 0, far = choose_item(f, e);
  if (far > at) far += 2;
  switch (e->op % 9) {
    case 0: /* open results become a list */
      items[n++] = open;
      items[n++] = ABC(OP_SETLIST, s, 0, 0);
      break;
    case 1: /* open results become arguments of a call */
      items[n++] = open;
      items[n++] = ABC(OP_CALL, s, 0, e->d % 4);
      break;
    case 2: /* open results are returned */
      items[n++] = open;
      items[n++] = ABC(OP_RETURN, s, 0, e->d & 1);
      break;
    case 3:
      items[n++] = ABC(OP_TAILCALL, r, 1 + e->c % 3, e->d & 1);
      items[n++] = ABC(OP_RETURN, r, 0, e->d >> 1 & 1);
      break;
    case 4: /* a test, and a jump to anywhere */
      items[n++] = synthesize(f, (OpCode)(OP_EQ + e->b % (OP_TESTSET - OP_EQ + 1)), e);
      items[n++] = TO(OP_JMP, 0, far);
      items[n - 1].i = MAKE_sJ(OP_JMP, 0);
      break;
    case 5: /* a numeric loop around the next instruction */
      for (uint32_t j = 0; j < 3; j++)
        items[n++] = (Item){MAKE_ABx(OP_LOADI, (r + j) & 0xff, 1 + (e->c >> 2 * j) % 4), 0, -1};
      items[n++] = TO(OP_FORPREP, r, at + 5);
      items[n++] = TO(OP_FORLOOP, r, at + 4);
      break;
    case 6: /* a generic loop */
      items[n++] = TO(OP_TFORPREP, r, at + 1);
      items[n++] = ABC(OP_TFORCALL, r, 0, 1 + e->c % 3);
      items[n++] = TO(OP_TFORLOOP, r, at + 1);
      break;
    case 7: /* a list */
      items[n++] = (Item){MAKE_ABC(OP_NEWTABLE, r, e->b % 4, 0), e->c % 8, -1};
      items[n++] = ABC(OP_LOADNIL, r + 1, e->c % 4, 0);
      items[n++] = ABC(OP_SETLIST, r, 1 + e->c % 4, 0);
      break;
    default: /* a jump back */
      items[n++] = synthesize(f, OP_TEST, e);
      items[n++] = TO(OP_JMP, 0, at + 3);
      items[n - 1].i = MAKE_sJ(OP_JMP, 0);
      items[n++] = TO(OP_LOOP, 0, far > at ? at : far);
      items[n - 1].i = MAKE_sJ(OP_LOOP, 0);
      break;
  }
  return insert_items(f, at, items, n);
}

static bool copy_items(Function *f, int at, const Edit *e) {
  Item items[8];
  int from = choose_item(f, e), n = 1 + e->a % 8;
  if (n > f->n - from) n = f->n - from;
  for (int i = 0; i < n; i++) {
    items[i] = f->items[from + i];
    bool within = items[i].target >= from && items[i].target <= from + n;
    if (within) items[i].target += at - from;
    else if (items[i].target > at) items[i].target += n;
  }
  return insert_items(f, at, items, n);
}

static bool edit_field(Item *item, const Edit *e, uint32_t registers) {
  uint32_t shift = 8 * (1 + e->op % 3), value = e->op & 0x80 ? e->a : modulo(e->a, registers + 1);
  item->i = (item->i & ~((Instruction)0xff << shift)) | value << shift;
  return true;
}

static bool edit_header(Function *f, const Edit *e) {
  switch (e->op % 3) {
    case 0: f->p.nparams = e->a % 10; break;
    case 1: f->p.max_stack = (uint8_t)(f->p.max_stack + (int8_t)e->a % 5); break;
    default:
      f->p.is_vararg ^= 1;
      if (f->p.is_vararg) return insert_items(f, 0, &ABC(OP_VARARGPREP, f->p.nparams, 0, 0), 1);
      return remove_item(f, 0);
  }
  if (f->p.is_vararg) f->items[0].i = MAKE_ABC(OP_VARARGPREP, f->p.nparams, 0, 0);
  return true;
}

static bool edit_upvalue(Function *f, const Edit *e) {
  if (f->parent < 0) return false;
  UpvalueDesc *u = &f->upvalues[e->op % MOST_UPVALUES];
  if (u - f->upvalues >= f->p.nupvalues) {
    u = &f->upvalues[f->p.nupvalues++];
    if (f->p.nupvalues > MOST_UPVALUES) return false;
    u->name = NULL;
    u->kind = 0;
  }
  u->in_stack = e->a & 1;
  u->index = e->b % 16;
  return true;
}

static bool edit_constant(Function *f, const Edit *e) {
  if (f->p.nconstants == 0) return false;
  TValue *k = &f->constants[e->op % f->p.nconstants];
  if (e->a & 1) k->extra ^= CONSTANT_ON_LEFT;
  else value_copy(k, &f->constants[e->b % f->p.nconstants]);
  return true;
}

/* Applies an edit. Returns false if nothing was done, or nothing could be. */
static bool apply(Function *f, const Edit *e) {
  int at = e->where * f->n / 256;
  Item *item = &f->items[at], other;
  switch (e->kind % 16) {
    case 0: case 1: return edit_field(item, e, f->p.max_stack);
    case 2: *item = synthesize(f, (OpCode)op_info[e->op % OP_COUNT].base, e); return true;
    case 3: case 4: case 5: return insert_one(f, at, e);
    case 6: case 7: case 8: return insert_group(f, at, e);
    case 9: return remove_item(f, at);
    case 10:
      if (at + 1 >= f->n) return false;
      other = item[0];
      item[0] = item[1];
      item[1] = other;
      return true;
    case 11: return copy_items(f, at, e);
    case 12:
      if (item->target < 0) return false;
      item->target = choose_item(f, e);
      return true;
    case 13: return edit_header(f, e);
    case 14: return edit_upvalue(f, e);
    default: return edit_constant(f, e);
  }
}

/* Tells whether the verifier accepts a function. The verifier checks what a function
   captures when it verifies the enclosing function. */
static bool is_accepted(const Program *program, const Function *f) {
  if (verify_prototype(NULL, &f->p) != NULL) return false;
  return f->parent < 0 || verify_prototype(NULL, &program->functions[f->parent].p) == NULL;
}

static void edit_program(Program *program, const Edit *edits, size_t n) {
  static Function before;
  for (size_t i = 0; i < n; i++) {
    Function *f = &program->functions[edits[i].function % (unsigned)program->n];
    before = *f;
    if (!apply(f, &edits[i]) || !write_items(f) || !is_accepted(program, f)) *f = before;
  }
}

/* ---- one input -------------------------------------------------------------------- */

typedef struct Bytes {
  uint8_t *data;
  size_t size, room;
} Bytes;

static int append(lua_State *L, const void *data, size_t size, void *ud) {
  Bytes *b = ud;
  (void)L;
  if (size > b->room - b->size) {
    b->room = (b->size + size) * 2;
    b->data = realloc(b->data, b->room);
    if (b->data == NULL) abort();
  }
  memcpy(b->data + b->size, data, size);
  b->size += size;
  return 0;
}

/* Returns the dump of the edited program. Nothing may collect here: the constants of the
   edited functions have no other owner. */
static Bytes edited_dump(lua_State *L, const char *text, size_t length, const Edit *edits,
                         size_t n) {
  static Program program;
  Bytes b = {0};
  if (luaL_loadbufferx(L, text, length, "=fuzz", "t") == LUA_OK) {
    const Prototype *p = as_lua_closure(L->top - 1)->p;
    if (count_functions(p) <= MOST_FUNCTIONS) {
      program.n = 0;
      read_program(L, &program, p, -1);
      for (int i = 0; i < program.n; i++)
        if (!write_items(&program.functions[i])) abort();
      edit_program(&program, edits, n);
      chunk_dump(L, &program.functions[0].p, append, &b, 1);
    }
  }
  lua_settop(L, 0);
  return b;
}

static lua_State *volatile running;

static void on_hook(lua_State *L, lua_Debug *ar) {
  (void)ar;
  luaL_error(L, "time is over");
}

/* Sets a hook when the run takes long. From then on each instruction raises an error,
   whatever runs. */
static void on_timer(int signal) {
  (void)signal;
  if (running != NULL) lua_sethook(running->domain->current, on_hook, LUA_MASKCOUNT, 1);
}

static void set_timer(lua_State *L) {
  struct itimerval period = {{0, 1000}, {0, RUN_MICROSECONDS}}, none = {{0, 0}, {0, 0}};
  running = L;
  setitimer(ITIMER_VIRTUAL, L != NULL ? &period : &none, NULL);
}

/* The arguments for the guest; the arguments in the middle are what TBC, TFORPREP and
   FORPREP need. */
static const char arguments[] =
    "local function step(...) collectgarbage 'step' return ... end\n"
    "local mt = {__index = function(t, k) step() return k end,\n"
    "  __newindex = step, __call = step, __len = step,\n"
    "  __close = function(o, e) local j = {} for i = 1, 4 do j[i] = {i} end step() end,\n"
    "  __concat = function(a, b) return step('c') end, __eq = function() return step(true) end,\n"
    "  __lt = function() return step(false) end, __add = function(a, b) return step(a) end}\n"
    "debug.setlocal, debug.traceback, debug.getinfo = nil\n"
    "local o = setmetatable({}, mt)\n"
    "return next, {10, 20, 30, x = 1}, nil, setmetatable({}, mt), o, 3, 'text', step, 0.5, o, o, "
    "{o}";

/* Calls the function below its nargs arguments; returns the number of results
   on the stack. */
static int call(lua_State *L, int nargs) {
  int base = lua_gettop(L) - nargs - 1;
  lua_sethook(L, NULL, 0, 0);
  set_timer(L);
  int status = lua_pcall(L, nargs, LUA_MULTRET, 0);
  set_timer(NULL);
  lua_sethook(L, NULL, 0, 0);
  if (status != LUA_OK) lua_settop(L, base);
  return lua_gettop(L) - base;
}

static int push_arguments(lua_State *L, int function) {
  int before = lua_gettop(L);
  if (luaL_dostring(L, arguments) != LUA_OK) lua_settop(L, before); /* no memory left */
  lua_pushvalue(L, function);
  lua_insert(L, before + 1);
  return lua_gettop(L) - before - 1;
}

static void run(lua_State *L) {
  for (int round = 0; round < 2; round++) {
    lua_settop(L, 1);
    int n = call(L, push_arguments(L, 1));
    for (int i = 2; i < 2 + n && i < 10; i++) {
      if (!lua_checkstack(L, 40) || !lua_isfunction(L, i) || lua_iscfunction(L, i)) continue;
      int top = lua_gettop(L);
      call(L, push_arguments(L, i));
      lua_settop(L, top);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  signal(SIGVTALRM, on_timer);
  lua_State *L = harness_open();
  lua_sethook(L, NULL, 0, 0);
  const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
  size_t text = end != NULL ? (size_t)(end - data) : size;
  size_t rest = end != NULL ? size - text - 1 : 0;
  const Edit *edits = (const Edit *)(data + text + 1);
  lua_gc(L, LUA_GCSTOP);
  Bytes b = edited_dump(L, (const char *)data, text, edits, rest / sizeof(Edit));
  lua_gc(L, LUA_GCRESTART);
  L->domain->gc.nursery_bytes = 512; /* collects all the time */
  if (b.size > 0) {
    int status = luaL_loadbufferx(L, (const char *)b.data, b.size, "=code", "b");
    if (status != LUA_OK && status != LUA_ERRMEM) abort(); /* accepted code must load */
    free(b.data);
    bool show = status == LUA_OK && getenv("SHOW_CODE") != NULL;
    if (show) disassemble(stderr, as_lua_closure(L->top - 1)->p, true);
    if (status == LUA_OK) run(L);
    lua_settop(L, 0);
  }
  harness_close(L);
  return 0;
}

/* Mutates an input: mostly new edits, now and then another text. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed) {
  uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
  size_t text = end != NULL ? (size_t)(end - data) : size;
  if (seed % 64 == 0) return LLVMFuzzerMutate(data, size, room);
  if (end == NULL) {
    if (size + 1 > room) return size;
    data[size++] = 0;
  }
  if (seed % 4 == 0 && size - text - 1 >= sizeof(Edit))
    return text + 1 + LLVMFuzzerMutate(data + text + 1, size - text - 1, room - text - 1);
  uint64_t bits = seed * UINT64_C(0x9e3779b97f4a7c15);
  for (unsigned n = 1 + seed / 64 % 8; n > 0 && size + sizeof(Edit) <= room; n--) {
    bits ^= bits >> 29;
    bits *= UINT64_C(0xbf58476d1ce4e5b9);
    memcpy(data + size, &bits, sizeof(Edit));
    size += sizeof(Edit);
  }
  return size;
}
