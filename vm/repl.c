/* vm/repl.c - the interactive part of the `saros` command.
 *
 * A line is first tried as an expression ("return LINE"), whose values are
 * printed; else as a statement.  A chunk is taken to be incomplete when its
 * syntax error is at <eof>: more lines are then read until it is complete or
 * wrong elsewhere.
 *
 * At a terminal lines are edited with libedit where that is built in;
 * otherwise they are read plainly, of any length.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua.h"
#include "lauxlib.h"
#include "program.h"

#ifdef HAVE_LIBEDIT
#include <editline/readline.h>
#endif

/* What a syntax error says last when the chunk ended too early. */
static const char end_mark[] = "<eof>";

/* -------------------------------------------------------- reading lines -- */

/* A line in a block of malloc's, without its line break; NULL at the end.  What
 * doesn't come from a terminal is echoed, so that the output reads as a
 * session at one. */
static char *read_plain_line(const char *prompt) {
  char *line = NULL;
  size_t capacity = 0;
  fputs(prompt, stdout);
  fflush(stdout);
  ssize_t length = getline(&line, &capacity, stdin);
  if (length < 0) {
    free(line);
    return NULL;
  }
  if (length > 0 && line[length - 1] == '\n')
    line[length - 1] = '\0';
  if (!isatty(STDIN_FILENO))
    puts(line);
  return line;
}

#ifdef HAVE_LIBEDIT

static void start_editing(void) {
  rl_readline_name = "saros";
  using_history();
}

static char *read_line(const char *prompt) {
  return isatty(STDIN_FILENO) ? readline(prompt) : read_plain_line(prompt);
}

static void remember(const char *chunk) {
  if (chunk[0] != '\0' && isatty(STDIN_FILENO))
    add_history(chunk);
}

#else

static void start_editing(void) {}

static char *read_line(const char *prompt) { return read_plain_line(prompt); }

static void remember(const char *chunk) { (void)chunk; }

#endif

/* Pushes the prompt: the global of that name as text, or the usual one. */
static const char *push_prompt(lua_State *L, bool first) {
  if (lua_getglobal(L, first ? "_PROMPT" : "_PROMPT2") == LUA_TNIL) {
    lua_pop(L, 1);
    return lua_pushstring(L, first ? "> " : ">> ");
  }
  luaL_tolstring(L, -1, NULL);
  lua_remove(L, -2);
  return lua_tostring(L, -1);
}

/* Pushes the next line; gives false at the end of input.  As in old versions,
 * "=" at the start of a chunk stands for "return ". */
static bool push_line(lua_State *L, bool first) {
  char *line = read_line(push_prompt(L, first));
  lua_pop(L, 1);
  if (line == NULL)
    return false;
  if (first && line[0] == '=')
    lua_pushfstring(L, "return %s", line + 1);
  else
    lua_pushstring(L, line);
  free(line);
  return true;
}

/* ------------------------------------------------------- reading chunks -- */

static int load_text(lua_State *L, int index) {
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  return luaL_loadbuffer(L, text, length, "=stdin");
}

/* Tries the line at index 1 as an expression; pushes the function if it is
 * one, else nothing. */
static bool load_expression(lua_State *L) {
  const char *line = lua_tostring(L, 1);
  lua_pushfstring(L, "return %s", line);
  bool loaded = load_text(L, -1) == LUA_OK;
  if (!loaded) {
    lua_pop(L, 2);
    return false;
  }
  lua_remove(L, -2);
  remember(line);
  return true;
}

static bool is_incomplete(lua_State *L, int status) {
  size_t length, mark = sizeof end_mark - 1;
  if (status != LUA_ERRSYNTAX)
    return false;
  const char *message = lua_tolstring(L, -1, &length);
  return length >= mark && strcmp(message + length - mark, end_mark) == 0;
}

/* Loads what starts with the line at index 1, reading on while it is
 * incomplete.  Pushes the function or the error. */
static int load_statements(lua_State *L) {
  for (;;) {
    int status = load_text(L, 1);
    if (!is_incomplete(L, status) || !push_line(L, false)) {
      remember(lua_tostring(L, 1));
      return status;
    }
    lua_remove(L, -2); /* the error */
    lua_pushliteral(L, "\n");
    lua_insert(L, -2);
    lua_concat(L, 3);
  }
}

/* Reads a chunk.  Leaves the function or an error as the only value on the
 * stack; gives the status, or -1 at the end of input. */
static int read_chunk(lua_State *L) {
  lua_settop(L, 0);
  if (!push_line(L, true))
    return -1;
  int status = load_expression(L) ? LUA_OK : load_statements(L);
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

void repl_run(lua_State *L) {
  int status;
  start_editing();
  while ((status = read_chunk(L)) != -1) {
    if (status == LUA_OK)
      status = program_call(L, 0, LUA_MULTRET);
    if (status == LUA_OK)
      print_results(L);
    else
      program_report(L, NULL, status);
  }
  lua_settop(L, 0);
  putchar('\n');
  fflush(stdout);
}
