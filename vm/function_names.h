/* SPDX-License-Identifier: MIT */
/* vm/function_names.h: the name of a function, as shown by everything that counts or
 * samples functions (design: top of function_names.c). Messages, tracebacks and
 * debug.getinfo have the name of the call instead, as in the reference. */
#ifndef SAROS_VM_FUNCTION_NAMES_H
#define SAROS_VM_FUNCTION_NAMES_H

#include "frame.h"

#define MAIN_CHUNK_NAME "main chunk"
#define ANONYMOUS_NAME "anonymous"

/* Returns the name of a prototype as it is in the source; it may need clean_name. */
const char *prototype_own_name(const Prototype *p);
/* Replaces the characters that would spoil a line, in text that a program chose. */
void clean_name(char *text);
/* Writes the name of a prototype, FUNCTION_NAME_SIZE bytes with its end. */
void prototype_name(const Prototype *p, char *name);
/* Writes the name of source of a prototype, LUA_IDSIZE bytes with its end. */
void prototype_source(const Prototype *p, char *source);
/* Writes the name of the C function that runs as `func`, FUNCTION_NAME_SIZE bytes. */
void c_function_name(const Domain *d, const TValue *func, char *name);

/* Implements RuntimeHooks.frame_name and frame_position. */
void frame_name(lua_State *L, CallInfo *frame, char *name, char *source, uint32_t *line,
                uint32_t *last_line);
void frame_position(const Prototype *p, uint32_t pc, uint32_t *line, uint32_t *column);

#endif
