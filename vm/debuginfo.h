/* SPDX-License-Identifier: MIT */
/* vm/debuginfo.h: what a frame runs: lines, names of chunks, functions and variables. */
#ifndef SAROS_VM_DEBUGINFO_H
#define SAROS_VM_DEBUGINFO_H

#include "frame.h"

/* Returns the index of the current instruction of a Lua frame. */
int frame_pc(const CallInfo *ci);
int prototype_line(const Prototype *p, int pc);  /* -1 if it is not known */
/* Finds the position of the instruction at pc (its first word, as from frame_pc) in the
 * source: its line, from 1, and its column in bytes, from 1; 0 if only the line is known.
 * Returns false, with -1 and 0, if the function has no positions (stripped). The position
 * of a constructor is its '{'. The position of a function is its beginning (on line
 * line_defined). The position of a call is the '(', string or table that begins its
 * arguments; that of an operation is its operator. The position of anything else is the
 * last token read before the instruction was made. So the line can differ from
 * prototype_line.
 *
 * Prototype.positions has a position for each word of the code. The first word of a
 * NEWTABLE has the line for hooks, its second word the position of the '{'. A CLOSURE has
 * the line for hooks and the column of the function's beginning. All words of any other
 * instruction have the same position.
 *
 * Allocates nothing and may be called at any time, also while the collector runs. */
bool debuginfo_position(const Prototype *p, int pc, int *line, int *column);
int frame_current_line(CallInfo *ci);            /* -1 if it is not known */
/* Writes the printable form of a chunk name, LUA_IDSIZE bytes. */
const char *chunk_id(char *out, const char *source, size_t len);

/* Returns the name of the n-th local variable of a frame (from 1; varargs from -1 down),
 * or of any other live slot, and sets *slot; or returns NULL if there is none. */
const char *debug_find_local(lua_State *L, CallInfo *ci, int n, TValue **slot);

/* Notes that the debugger has set a slot of the frame: what the interpreter knows about
 * it besides its value, such as the position of a traversal that it controls, is no
 * longer valid. */
void debug_local_changed(CallInfo *ci, const TValue *slot);

/* Finds the name of the function that the frame `caller` is calling. Returns its kind
 * ("global", "method", "metamethod", "hook", ...), or NULL if nothing is known. */
const char *debug_name_of_call(lua_State *L, CallInfo *caller, const char **name);

#endif
