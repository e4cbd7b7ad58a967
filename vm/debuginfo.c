/* SPDX-License-Identifier: MIT */
/* vm/debuginfo.c: what a frame runs: lines, names of chunks, functions and variables.
 *
 * A frame's pc points behind the word of the instruction that it runs, so the current
 * instruction is the word before it; a frame that has just been entered counts as being
 * at its first instruction.
 *
 * The line that hooks, messages and debug.getinfo give is the line of the last token read
 * before the instruction was made, as in the reference implementation: for a table the
 * token before its '{', for a function its "end". To find the code that makes an object,
 * one needs the column where the table or function begins. So the positions of tables and
 * functions have that column, too (debuginfo.h).
 */
#include "debuginfo.h"

#include <string.h>

#include "func.h"
#include "opinfo.h"
#include "position.h"
#include "table.h"
#include "thread.h"
#include "varinfo.h"

/* ---- where a frame stands ------------------------------------------------ */

int frame_pc(const CallInfo *ci) {
  ptrdiff_t pc = ci->u.lua.pc - frame_closure(ci)->p->code - 1;
  return pc > 0 ? (int)pc : 0;
}

int prototype_line(const Prototype *p, int pc) {
  return (uint32_t)pc < p->npositions ? (int)position_line(p->positions[pc]) : -1;
}

bool debuginfo_position(const Prototype *p, int pc, int *line, int *column) {
  *line = -1;
  *column = 0;
  if ((uint32_t)pc >= p->npositions) return false;
  const Instruction ins = p->code[pc];
  const bool has_own = op_base(ins) == OP_NEWTABLE && (uint32_t)pc + 1 < p->npositions;
  const Position position = p->positions[has_own ? pc + 1 : pc];
  *line = (int)position_line(position);
  *column = (int)position_column(position);
  if (op_base(ins) == OP_CLOSURE && INS_Bx(ins) < p->nprotos)
    *line = (int)p->p[INS_Bx(ins)]->line_defined;
  return true;
}

int frame_current_line(CallInfo *ci) {
  return is_lua_frame(ci) ? prototype_line(frame_closure(ci)->p, frame_pc(ci)) : -1;
}

/* ---- names of chunks ----------------------------------------------------- */

#define ELLIPSIS "..."

static char *append_id(char *out, const char *s, size_t len) {
  memcpy(out, s, len);
  return out + len;
}

/* Writes the id of "=name": unchanged, cut at its end. */
static void literal_id(char *out, const char *name, size_t len) {
  if (len > LUA_IDSIZE - 1) len = LUA_IDSIZE - 1;
  *append_id(out, name, len) = '\0';
}

/* Writes the id of "@file": cut at its start, the least informative part of a path. */
static void file_id(char *out, const char *name, size_t len) {
  size_t room = LUA_IDSIZE - 1;
  if (len > room) {
    room -= strlen(ELLIPSIS);
    out = append_id(out, ELLIPSIS, strlen(ELLIPSIS));
    name += len - room;
    len = room;
  }
  *append_id(out, name, len) = '\0';
}

/* Writes the id of source text: its first line, between quotes. */
static void text_id(char *out, const char *text, size_t len) {
  static const char before[] = "[string \"", after[] = "\"]";
  size_t room = LUA_IDSIZE - sizeof before - strlen(ELLIPSIS) - strlen(after);
  const char *line_end = memchr(text, '\n', len);
  out = append_id(out, before, strlen(before));
  if (line_end == NULL && len < room + 1) {
    out = append_id(out, text, len);
  } else {
    if (line_end != NULL) len = (size_t)(line_end - text);
    if (len > room) len = room;
    out = append_id(out, text, len);
    out = append_id(out, ELLIPSIS, strlen(ELLIPSIS));
  }
  memcpy(out, after, sizeof after);
}

const char *chunk_id(char *out, const char *source, size_t len) {
  switch (*source) {
    case '=': literal_id(out, source + 1, len - 1); break;
    case '@': file_id(out, source + 1, len - 1); break;
    default: text_id(out, source, len); break;
  }
  return out;
}

/* ---- functions and variables --------------------------------------------- */

const char *debug_name_of_call(lua_State *L, CallInfo *caller, const char **name) {
  if (caller->status & CALL_HOOKED) {
    *name = "?";
    return "hook";
  }
  if (caller->status & CALL_FINALIZER) {
    *name = "__gc";
    return "metamethod";
  }
  if (!is_lua_frame(caller)) return NULL;
  return varinfo_of_call(L, frame_closure(caller)->p, frame_pc(caller), name);
}

/* Finds extra argument n = -1, -2, ... of a vararg function: they are below the frame's
   function. */
static const char *find_vararg(const CallInfo *ci, int n, TValue **slot) {
  if (!frame_closure(ci)->p->is_vararg) return NULL;
  int extra = (int)ci->u.lua.nextra;
  if (n < -extra) return NULL;
  *slot = ci->func - extra - (n + 1);
  return "(vararg)";
}

const char *debug_find_local(lua_State *L, CallInfo *ci, int n, TValue **slot) {
  TValue *base = ci->func + 1;
  /* the limit is needed because the chunk's data about its variables may be wrong */
  const TValue *limit = ci == L->ci ? L->top : ci->next->func;
  const char *name = NULL;
  if (n < 0 && is_lua_frame(ci)) return find_vararg(ci, n, slot);
  if (n <= 0 || limit - base < n) return NULL;
  if (is_lua_frame(ci)) name = local_name(frame_closure(ci)->p, n, (uint32_t)frame_pc(ci));
  if (name == NULL) name = is_lua_frame(ci) ? "(temporary)" : "(C temporary)";
  *slot = base + (n - 1);
  return name;
}

/* Tells whether pc is inside the generic loop that TFORPREP at `prep` prepares. */
static bool is_in_loop(const Prototype *p, int prep, int pc) {
  /* the loop ends with its TFORLOOP */
  return prep < pc && pc <= prep + 1 + (int)INS_Bx(p->code[prep]) + 1;
}

void debug_local_changed(CallInfo *ci, const TValue *slot) {
  if (!is_lua_frame(ci)) return;
  const Prototype *p = frame_closure(ci)->p;
  const int pc = frame_pc(ci);
  for (int at = 0; at < pc; at += op_length(INS_OP(p->code[at]))) {
    if (INS_OP(p->code[at]) != OP_TFORPREP || !is_in_loop(p, at, pc)) continue;
    TValue *ra = ci->func + 1 + INS_A(p->code[at]);
    if (slot >= ra && slot <= ra + 2) ra[2].extra = TABLE_POSITION_UNKNOWN;
  }
}
