/* SPDX-License-Identifier: MIT */
/* vm/program.h - what the parts of the `saros` command share (main.c and
 * repl*.c).  No library includes this. */
#ifndef SAROS_VM_PROGRAM_H
#define SAROS_VM_PROGRAM_H

#include <stdbool.h>

#include "lua.h"

/* Calls the function below the top `nargs` values, as lua_pcall does, with a
 * traceback added to errors, and with SIGINT turned into the error
 * "interrupted!" meanwhile.  Gives the status. */
int program_call(lua_State *L, int nargs, int nresults);

/* If `status` is an error, writes the message on top of the stack to stderr,
 * after `name` unless that is NULL, and pops it.  Gives `status`. */
int program_report(lua_State *L, const char *name, int status);

/* Writes "name: message" to stderr, or the message alone when name is NULL. */
void program_message(const char *name, const char *message);

/* Writes the line that says what this is and which version. */
void program_print_version(void);

/* The compiler by itself (sarosc.c): its options and files, without the name of the program,
 * which messages begin with.  Gives the exit status. */
int program_compile(int argc, char **argv, const char *name);

/* Reads, runs and prints (repl.c), until the end of input; never fails. */
void repl_run(lua_State *L);

/* ---- lines for the prompt (repl_edit.c); one thread only ----------------- */

/* Prepares reading; `L` is the state whose names are offered for completion. */
void repl_edit_start(lua_State *L);

/* Reads a line, without its end.  Gives it in a block of malloc's, or NULL at
 * the end of input; *discarded: an interruption says to forget the line. */
char *repl_edit_read(const char *prompt, bool *discarded);

/* Adds a chunk to the history, if lines are edited. */
void repl_edit_remember(const char *chunk);

/* The words that `word`, a chain of names, can be completed to: sorted, ended
 * by NULL, list and words in blocks of malloc's; or NULL.  Runs no guest code
 * (repl_complete.c). */
char **repl_complete(lua_State *L, const char *word);

#endif
