/* SPDX-License-Identifier: MIT */
/* vm/program.h - what the parts of the `saros` command share (main.c and repl*.c). No
 * library includes this. */
#ifndef SAROS_VM_PROGRAM_H
#define SAROS_VM_PROGRAM_H

#include <stdbool.h>

#include "lua.h"

/* Calls the function below the top `nargs` values, as lua_pcall does. Adds a traceback to
 * errors, and turns SIGINT into the error "interrupted!" during the call. Returns the
 * status. */
int program_call(lua_State *L, int nargs, int nresults);

/* Reports an error: if `status` is one, writes the message on top of the stack to stderr,
 * after `name` unless that is NULL, and pops it. Returns `status`. */
int program_report(lua_State *L, const char *name, int status);

/* Writes "name: message" to stderr, or the message alone if name is NULL. */
void program_message(const char *name, const char *message);

/* Writes the line with the name and the version of the program. */
void program_print_version(void);

/* Runs the compiler (sarosc.c) on its options and files, without the name of the program.
 * `name`: the beginning of messages. Returns the exit status. */
int program_compile(int argc, char **argv, const char *name);

/* Reads, runs and prints (repl.c), until the end of input; never fails. */
void repl_run(lua_State *L);

/* ---- lines for the prompt (repl_edit.c); one thread only ----------------- */

/* Prepares reading. Completion offers names from the state L. */
void repl_edit_start(lua_State *L);

/* Reads a line, without its end. Returns it in a block from malloc, or NULL at the end of
 * input; Sets *discarded if an interruption has discarded the line. */
char *repl_edit_read(const char *prompt, bool *discarded);

/* Adds a chunk to the history, if lines are edited. */
void repl_edit_remember(const char *chunk);

/* Returns the words to which `word`, a chain of names, can be completed: sorted and ended
 * by NULL; the list and each word are blocks from malloc. Returns NULL if there are none.
 * Runs no guest code (repl_complete.c). */
char **repl_complete(lua_State *L, const char *word);

#endif
