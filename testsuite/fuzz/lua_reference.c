/* SPDX-License-Identifier: MIT */
/* lua_reference.c: a reference interpreter as a process beside this one.
 *
 * For each call the process reads the function's name and its arguments, and replies with
 * the status and the results, all of them packed with string.pack as shown below. The
 * process ends when its standard input ends. The caller ensures that no request takes
 * long.
 *
 *   request   s4 packed { z name, B number of arguments, values }
 *   reply     s4 packed { B 1: fine, 0: an error; B number of values, values }
 *   value     B type: 'n' | 'b' B | 'i' j | 'f' d | 's' s4
 */
#include "lua_reference.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lauxlib.h"

static const char program[] =
    "local unpack, pack = string.unpack, string.pack\n"
    "local function value(v)\n"
    "  local t = math.type(v) or type(v)\n"
    "  if t == 'integer' then return pack('=Bj', 105, v)\n"
    "  elseif t == 'float' then return pack('=Bd', 102, v)\n"
    "  elseif t == 'string' then return pack('=Bs4', 115, v)\n"
    "  elseif t == 'boolean' then return pack('=BB', 98, v and 1 or 0)\n"
    "  else return pack('=B', 110) end\n"
    "end\n"
    "local function answer(ok, ...)\n"
    "  local n = ok and select('#', ...) or 0\n"
    "  local parts = {pack('=BB', ok and 1 or 0, n)}\n"
    "  for i = 1, n do parts[#parts + 1] = value((select(i, ...))) end\n"
    "  io.write(pack('=s4', table.concat(parts)))\n"
    "  io.flush()\n"
    "end\n"
    "while true do\n"
    "  local head = io.read(4)\n"
    "  if not head then break end\n"
    "  local request = io.read((unpack('=I4', head)))\n"
    "  local name, n, at = unpack('=zB', request)\n"
    "  local args = {}\n"
    "  for i = 1, n do\n"
    "    local t\n"
    "    t, at = unpack('=B', request, at)\n"
    "    if t == 105 then args[i], at = unpack('=j', request, at)\n"
    "    elseif t == 102 then args[i], at = unpack('=d', request, at)\n"
    "    elseif t == 115 then args[i], at = unpack('=s4', request, at)\n"
    "    elseif t == 98 then args[i], at = unpack('=B', request, at); args[i] = args[i] ~= 0 end\n"
    "  end\n"
    "  answer(pcall(string[name] or _G[name], table.unpack(args, 1, n)))\n"
    "end\n";

static FILE *to, *from;

static void start(const char *interpreter) {
  int in[2], out[2];
  signal(SIGPIPE, SIG_IGN);
  if (pipe(in) != 0 || pipe(out) != 0) abort();
  pid_t pid = fork();
  if (pid < 0) abort();
  if (pid == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    for (int fd = 3; fd < 64; fd++) close(fd);
    unsetenv("LUA_INIT");
    execlp(interpreter, interpreter, "-E", "-e", program, (char *)NULL);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to = fdopen(in[1], "w");
  from = fdopen(out[0], "r");
  if (to == NULL || from == NULL) abort();
}

static void add_value(lua_State *L, luaL_Buffer *b, int index) {
  size_t length;
  switch (lua_type(L, index)) {
    case LUA_TNUMBER:
      if (lua_isinteger(L, index)) {
        lua_Integer i = lua_tointeger(L, index);
        luaL_addchar(b, 'i');
        luaL_addlstring(b, (const char *)&i, sizeof i);
      } else {
        lua_Number n = lua_tonumber(L, index);
        luaL_addchar(b, 'f');
        luaL_addlstring(b, (const char *)&n, sizeof n);
      }
      break;
    case LUA_TSTRING: {
      const char *s = lua_tolstring(L, index, &length);
      uint32_t prefix = (uint32_t)length;
      luaL_addchar(b, 's');
      luaL_addlstring(b, (const char *)&prefix, sizeof prefix);
      luaL_addlstring(b, s, length);
      break;
    }
    case LUA_TBOOLEAN:
      luaL_addchar(b, 'b');
      luaL_addchar(b, (char)lua_toboolean(L, index));
      break;
    default: luaL_addchar(b, 'n');
  }
}

/* Pushes the packed values of the indices [first, last], after the status, if any. */
static void push_packed(lua_State *L, const char *head, size_t length, int first, int last) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addlstring(&b, head, length);
  luaL_addchar(&b, (char)(last - first + 1));
  for (int i = first; i <= last; i++) add_value(L, &b, i);
  luaL_pushresult(&b);
}

static void ask(lua_State *L, const char *function, int nargs) {
  size_t length;
  push_packed(L, function, strlen(function) + 1, 1, nargs);
  const char *request = lua_tolstring(L, -1, &length);
  uint32_t prefix = (uint32_t)length;
  fwrite(&prefix, sizeof prefix, 1, to);
  fwrite(request, length, 1, to);
  fflush(to);
  lua_pop(L, 1);
}

/* Pushes a reply. Returns false if the reference interpreter has ended. */
static bool push_answer(lua_State *L) {
  uint32_t length;
  if (fread(&length, sizeof length, 1, from) != 1) return false;
  char *answer = malloc(length + 1);
  if (answer == NULL || fread(answer, 1, length, from) != length) abort();
  lua_pushlstring(L, answer, length);
  free(answer);
  return true;
}

/* Pushes the results of the reference interpreter. If it has been killed, it is started
   once more. */
static void push_its_results(lua_State *L, const char *interpreter, const char *function,
                             int nargs) {
  for (int tries = 0; tries < 2; tries++) {
    if (to == NULL) start(interpreter);
    ask(L, function, nargs);
    if (push_answer(L)) return;
    fclose(to);
    fclose(from);
    to = NULL;
  }
  fputs("the reference interpreter has ended\n", stderr);
  abort();
}

/* Calls the function here, and packs the results. NaNs differ in their sign,
   which is unspecified. */
static void call_here(lua_State *L, const char *function, int nargs) {
  int base = lua_gettop(L);
  lua_getglobal(L, "string");
  if (lua_getfield(L, -1, function) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_getglobal(L, function);
  }
  lua_remove(L, -2);
  for (int i = 1; i <= nargs; i++) lua_pushvalue(L, i);
  bool fine = lua_pcall(L, nargs, LUA_MULTRET, 0) == LUA_OK;
  int last = fine ? lua_gettop(L) : base;
  push_packed(L, fine ? "\1" : "\0", 1, base + 1, last);
  lua_insert(L, base + 1);
  lua_settop(L, base + 1);
}

static void show(const char *who, const char *s, size_t length) {
  fprintf(stderr, "%s:", who);
  for (size_t i = 0; i < length; i++)
    fprintf(stderr, s[i] >= ' ' && s[i] <= '~' ? "%c" : "\\%d", (unsigned char)s[i]);
  fputc('\n', stderr);
}

void reference_compare(lua_State *L, const char *function, int nargs) {
  const char *interpreter = getenv("LUA_REFERENCE");
  luaL_checkstack(L, 300, NULL);
  call_here(L, function, nargs);
  if (interpreter != NULL && interpreter[0] != '\0') {
    push_its_results(L, interpreter, function, nargs);
    if (!lua_rawequal(L, -1, -2)) {
      size_t length;
      for (int i = 1; i <= nargs; i++) {
        const char *s = luaL_tolstring(L, i, &length);
        show(function, s, length);
        lua_pop(L, 1);
      }
      const char *s = lua_tolstring(L, -2, &length);
      show("here", s, length);
      s = lua_tolstring(L, -1, &length);
      show("reference", s, length);
      abort();
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}
