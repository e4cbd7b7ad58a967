/* SPDX-License-Identifier: MIT */
/* vm/compile_state.h: the state of one compilation, shared by the parser, the scope
 * analysis and the code generator (design: top of compile.c).
 */
#ifndef SAROS_VM_COMPILE_STATE_H
#define SAROS_VM_COMPILE_STATE_H

#include "lexer.h"
#include "opcodes.h"

#define MAX_LOCALS 200      /* variables active in one function */
#define MAX_UPVALUES 255
#define MAX_GOTOS 32767     /* pending at one time, and labels visible */
#define NO_JUMP (-1)        /* end of a list of jumps */
#define NO_REGISTER 255

/* The opcode, while a function is compiled, of a JMP that belongs to the test before it.
 * It distinguishes such a JMP from others without reading the word before, which might be
 * data. It becomes a JMP when the function is finished. */
#define OP_TESTJMP OP_COUNT
_Static_assert(OP_COUNT < 256, "an opcode has 8 bits, and OP_TESTJMP is one more");

/* ---- expressions --------------------------------------------------------- */

typedef enum ExprKind {
  EXPR_VOID,        /* an empty list */
  EXPR_NIL,         /* constants: NIL .. CONSTANT */
  EXPR_TRUE,
  EXPR_FALSE,
  EXPR_INT,         /* u.i */
  EXPR_FLOAT,       /* u.n */
  EXPR_STRING,      /* u.s */
  EXPR_CONSTANT,    /* u.index into the function's constants */
  EXPR_REGISTER,    /* u.reg holds the value */
  EXPR_PENDING,     /* u.pc: an instruction whose register A is still free */
  EXPR_JUMP,        /* u.pc: the jump of a test, taken when the expression is true */
  EXPR_CALL,        /* u.pc: a CALL with one result in its register A */
  EXPR_VARARG,      /* u.pc: a VARARG */
  EXPR_LOCAL,       /* variables: LOCAL .. ; u.local */
  EXPR_UPVALUE,     /* u.index */
  EXPR_COMPTIME,    /* u.index into CompileState.vars: a compile-time constant */
  EXPR_INDEX,       /* u.at: table register, key register */
  EXPR_INDEX_INT,   /* u.at: table register, integer 0..255 */
  EXPR_INDEX_FIELD, /* u.at: table register, constant index of a short string */
  EXPR_INDEX_UP,    /* u.at: upvalue, constant index of a short string */
} ExprKind;

#define expr_is_variable(e) ((e)->kind >= EXPR_LOCAL)
#define expr_is_indexed(e) ((e)->kind >= EXPR_INDEX)
#define expr_has_jumps(e) ((e)->true_list != (e)->false_list)
#define expr_is_open(e) ((e)->kind == EXPR_CALL || (e)->kind == EXPR_VARARG)

/* An expression that was read but whose value need not be in a register yet. true_list
 * and false_list chain jumps (through their offsets) that leave the expression early. */
typedef struct Expr {
  ExprKind kind;
  int true_list;  /* jumps taken when the expression is true */
  int false_list; /* jumps taken when the expression is false */
  union {
    int64_t i;
    double n;
    String *s;
    int index;
    int pc;
    uint8_t reg;
    struct { uint8_t reg; uint32_t var; } local; /* var: index into CompileState.vars */
    struct { uint8_t table; int key; } at;
  } u;
} Expr;

/* Sets an expression field by field. (Copying a whole one whose parts have just been
   stored would stall the processor.) */
ALWAYS_INLINE void expr_set(Expr *e, ExprKind kind) {
  e->kind = kind;
  e->true_list = e->false_list = NO_JUMP;
  e->u.i = 0;
}

ALWAYS_INLINE void expr_set_register(Expr *e, int reg) {
  expr_set(e, EXPR_REGISTER);
  e->u.reg = (uint8_t)reg;
}

ALWAYS_INLINE void expr_set_string(Expr *e, String *s) {
  expr_set(e, EXPR_STRING);
  e->u.s = s;
}

ALWAYS_INLINE Expr expr_new(ExprKind kind) {
  return (Expr){.kind = kind, .true_list = NO_JUMP, .false_list = NO_JUMP};
}

ALWAYS_INLINE Expr expr_in_register(int reg) {
  Expr e = expr_new(EXPR_REGISTER);
  e.u.reg = (uint8_t)reg;
  return e;
}

ALWAYS_INLINE Expr expr_string(String *s) {
  Expr e = expr_new(EXPR_STRING);
  e.u.s = s;
  return e;
}

/* ---- variables, labels, blocks ------------------------------------------- */

/* The values of UpvalueDesc.kind. */
enum { VAR_REGULAR, VAR_CONST, VAR_CLOSE, VAR_COMPTIME };

typedef struct Var {
  String *name;
  uint8_t kind;
  uint8_t reg;    /* unless COMPTIME */
  uint32_t debug; /* index into FuncState.locals, unless COMPTIME */
  TValue value;   /* COMPTIME */
} Var;

/* A label, or a goto that waits for its label. If its name is NULL, it belongs to a
   break. */
typedef struct Label {
  String *name;
  int pc;           /* target of a label, or list of jumps of a goto */
  int line;
  uint32_t nactive; /* number of variables active at the label or goto */
  bool close;       /* the goto leaves a captured variable's scope */
} Label;

typedef struct ScopeBlock {
  struct ScopeBlock *outer;
  uint32_t first_label, first_goto; /* lengths of both lists where the block starts */
  uint32_t nactive;                 /* number of variables active outside of the block */
  bool is_loop;
  bool has_captured; /* one of its variables is an upvalue or to be closed */
  bool inside_tbc;   /* the block is in the scope of a to-be-closed variable */
} ScopeBlock;

/* ---- state --------------------------------------------------------------- */

typedef struct CompileState CompileState;

/* A function being compiled. The arrays live in the arena and are reused by
 * later functions (CompileState.spare). */
typedef struct FuncState {
  CompileState *cs;
  struct FuncState *outer;
  ScopeBlock *block;
  Instruction *code;
  Position *positions;
  TValue *k;
  /* hash table over k: an element is index + 1, or 0 if it is free */
  uint32_t *k_index;
  Prototype **protos;
  LocalVar *locals;
  UpvalueDesc *upvalues;
  uint32_t ncode, code_capacity, position_capacity;
  uint32_t nk, k_capacity, k_index_size;
  uint32_t nprotos, proto_capacity;
  uint32_t nlocals, local_capacity;
  uint32_t nupvalues, upvalue_capacity;
  int last_pc;         /* position of the last instruction, or -1 */
  int last_target;     /* position of the last label */
  uint32_t first_var;  /* index of its first variable in CompileState.vars */
  uint32_t first_label;
  uint32_t nactive;    /* number of variables in scope */
  int free_reg;        /* first free register */
  int max_stack;
  uint8_t nparams;
  bool is_vararg;
  bool has_captured;   /* some local is an upvalue of an inner function */
  bool has_env;        /* there was a variable _ENV */
  /* a bit for each name that a variable had: a clear bit proves absence */
  uint64_t named;
  int line_defined, last_line_defined;
  String *name;        /* Prototype.name */
} FuncState;

struct CompileState {
  lua_State *L;
  Arena arena;
  Lexer lexer;
  FuncState *fs;     /* innermost function */
  FuncState *spare;  /* finished functions, for reuse */
  Var *vars;         /* declared or active variables of all functions being compiled */
  uint32_t nvars, var_capacity;
  Label *labels, *gotos;
  uint32_t nlabels, label_capacity, ngotos, goto_capacity;
  String *source;
  String *env_name;  /* "_ENV" */
  /* the name by which the function that begins next is defined, or NULL */
  String *name;
};

/* Raises at the current token. */
_Noreturn void compile_error(CompileState *cs, const char *message);
/* Raises without naming the token: errors of meaning, not of form. */
_Noreturn void compile_error_semantic(CompileState *cs, const char *message);
/* Raises "too many <what> (limit is <limit>) in <function>". */
_Noreturn void compile_error_limit(FuncState *fs, uint32_t limit, const char *what);

/* Opens a function inside the current one, with its outermost block. */
FuncState *compile_open_function(CompileState *cs, ScopeBlock *block, int line_defined);
/* Ends the function: final return, blocks, code. Returns the prototype. */
Prototype *compile_close_function(CompileState *cs);
/* Adds a prototype to the inner prototypes of the current function; returns its
   number. */
uint32_t compile_add_prototype(FuncState *fs, Prototype *p);

/* Enters or leaves a level of recursion; levels are bounded together with nested C
   calls. */
void compile_enter_level(CompileState *cs);
void compile_leave_level(CompileState *cs);

/* Parses the whole chunk, as a main function (statements.c). */
Prototype *parse_chunk(CompileState *cs);

#endif
