/* SPDX-License-Identifier: MIT */
/* vm/debuginfo.h: what a frame runs: lines, names of chunks, functions and variables. */
#ifndef SAROS_VM_DEBUGINFO_H
#define SAROS_VM_DEBUGINFO_H

#include "frame.h"

/* index of the current instruction of a Lua frame */
int frame_pc(const CallInfo *ci);
int prototype_line(const Prototype *p, int pc);  /* -1 when unknown */
int frame_current_line(CallInfo *ci);            /* -1 when unknown */
/* printable form of a chunk name, LUA_IDSIZE bytes */
const char *chunk_id(char *out, const char *source, size_t len);

/* Name of the n-th local variable of a frame (from 1; varargs from -1 down), or of
 * any other live slot, and the slot; NULL when there is none. */
const char *debug_find_local(lua_State *L, CallInfo *ci, int n, TValue **slot);

/* Name of the function that the frame `caller` is calling: its kind ("global",
 * "method", "metamethod", "hook", ...), or NULL when nothing is known. */
const char *debug_name_of_call(lua_State *L, CallInfo *caller, const char **name);

#endif
