/* vm/program.h - what the parts of the `saros` command share (main.c and
 * repl.c).  No library includes this. */
#ifndef SAROS_VM_PROGRAM_H
#define SAROS_VM_PROGRAM_H

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

/* Reads, runs and prints (repl.c), until the end of input; never fails. */
void repl_run(lua_State *L);

#endif
