/* SPDX-License-Identifier: MIT */
/* vm/repl.c - the interactive part of the `saros` command.
 *
 * A line is first tried as an expression ("return LINE"), whose values are printed;
 * otherwise as a statement. A chunk is taken to be incomplete if its syntax error is at
 * <eof>: more lines are then read until it is complete or wrong elsewhere.
 *
 * Where lines come from is in repl_edit.c.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua.h"
#include "lauxlib.h"
#include "program.h"

/* The end of the message of a syntax error if the chunk ended too early. */
static const char end_mark[] = "<eof>";

/* -------------------------------------------------------- reading lines -- */

/* Pushes the prompt: the global _PROMPT or _PROMPT2 as text, or the usual prompt. */
static const char *push_prompt(lua_State *L, bool first) {
  if (lua_getglobal(L, first ? "_PROMPT" : "_PROMPT2") == LUA_TNIL) {
    lua_pop(L, 1);
    return lua_pushstring(L, first ? "> " : ">> ");
  }
  luaL_tolstring(L, -1, NULL);
  lua_remove(L, -2);
  return lua_tostring(L, -1);
}

/* Values that are returned in the place of a status of lua_load if there is no chunk. */
enum { INPUT_ENDED = -1, CHUNK_DISCARDED = -2 };

/* Pushes the next line and returns LUA_OK; or returns INPUT_ENDED or CHUNK_DISCARDED. "="
 * at the start of a chunk stands for "return ", as in old versions. */
static int push_line(lua_State *L, bool first) {
  bool discarded;
  char *line = repl_edit_read(push_prompt(L, first), &discarded);
  lua_pop(L, 1);
  if (discarded || line == NULL) {
    free(line);
    return discarded ? CHUNK_DISCARDED : INPUT_ENDED;
  }
  if (first && line[0] == '=')
    lua_pushfstring(L, "return %s", line + 1);
  else
    lua_pushstring(L, line);
  free(line);
  return LUA_OK;
}

/* ------------------------------------------------------- reading chunks -- */

static int load_text(lua_State *L, int index) {
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  return luaL_loadbuffer(L, text, length, "=stdin");
}

/* Tries to load the line at index 1 as an expression. If it is one, pushes the function
 * that evaluates it; otherwise pushes nothing. */
static bool load_expression(lua_State *L) {
  const char *line = lua_tostring(L, 1);
  lua_pushfstring(L, "return %s", line);
  bool loaded = load_text(L, -1) == LUA_OK;
  if (!loaded) {
    lua_pop(L, 2);
    return false;
  }
  lua_remove(L, -2);
  repl_edit_remember(line);
  return true;
}

static bool is_incomplete(lua_State *L, int status) {
  size_t length, mark = sizeof end_mark - 1;
  if (status != LUA_ERRSYNTAX)
    return false;
  const char *message = lua_tolstring(L, -1, &length);
  return length >= mark && strcmp(message + length - mark, end_mark) == 0;
}

/* Loads the statements that start with the line at index 1, and reads more lines while
 * they are incomplete. Pushes the function or the error, unless the chunk is
 * discarded. */
static int load_statements(lua_State *L) {
  for (;;) {
    int status = load_text(L, 1);
    int more = is_incomplete(L, status) ? push_line(L, false) : INPUT_ENDED;
    if (more == CHUNK_DISCARDED)
      return more;
    if (more == INPUT_ENDED) {
      repl_edit_remember(lua_tostring(L, 1));
      return status;
    }
    lua_remove(L, -2); /* the error */
    lua_pushliteral(L, "\n");
    lua_insert(L, -2);
    lua_concat(L, 3);
  }
}

/* Reads a chunk. Leaves the function or an error as the only value on the stack. Returns
 * the status, or INPUT_ENDED or CHUNK_DISCARDED. */
static int read_chunk(lua_State *L) {
  lua_settop(L, 0);
  int status = push_line(L, true);
  if (status != LUA_OK)
    return status;
  status = load_expression(L) ? LUA_OK : load_statements(L);
  lua_remove(L, 1);
  return status;
}

/* -------------------------------------------------------------- running -- */

/* Prints all values on the stack, with the program's own `print`. */
static void print_results(lua_State *L) {
  int count = lua_gettop(L);
  if (count == 0)
    return;
  luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
  lua_getglobal(L, "print");
  lua_insert(L, 1);
  if (lua_pcall(L, count, 0, 0) != LUA_OK)
    program_message(NULL, lua_pushfstring(L, "error calling 'print' (%s)",
                                          lua_tostring(L, -1)));
}

static void run_chunk(lua_State *L, int status) {
  if (status == LUA_OK)
    status = program_call(L, 0, LUA_MULTRET);
  if (status == LUA_OK)
    print_results(L);
  else
    program_report(L, NULL, status);
}

void repl_run(lua_State *L) {
  int status;
  repl_edit_start(L);
  while ((status = read_chunk(L)) != INPUT_ENDED)
    if (status != CHUNK_DISCARDED)
      run_chunk(L, status);
  lua_settop(L, 0);
  putchar('\n');
  fflush(stdout);
}
