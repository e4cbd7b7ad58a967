/* SPDX-License-Identifier: MIT */
/* _reference_library.c: the module `T` that the reference's test scripts use to call
 * Lua's C API, written anew from how the scripts use it; and a program that runs one of
 * these scripts with the module.
 *
 *   reference SCRIPT EXPECTED
 *
 * T.testC runs a program in a small language: commands with arguments, separated by
 * blanks, commas, semicolons and line ends; # begins a comment. Each command is one call
 * of the API. An index is a number, R (the registry) or U and the number of an upvalue.
 * Where a number is expected, * stands for the index of the top of the stack, and . pops
 * the number from it.
 *
 * EXPECTED lists lines of scripts that are left out: FILE FIRST LAST REASON.
 *
 * lua_newstate is given an allocator that counts and refuses. The heap asks it for
 * blocks, which several objects share.
 */
#include <lauxlib.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory -------------------------------------------------------------- */

static struct {
  size_t used, most, limit; /* limit 0: no limit */
  long left;                /* number of allocations that are granted, or -1 for all */
  bool fail_next;
} memory = {.left = -1};

static bool is_refused(size_t more) {
  if (memory.fail_next) return memory.fail_next = false, true;
  if (memory.left == 0) return true;
  if (memory.left > 0) memory.left--;
  return memory.limit != 0 && memory.used + more > memory.limit;
}

static void *allocate(void *ud, void *p, size_t old, size_t size) {
  (void)ud;
  if (p == NULL) old = 0; /* without a block, `old` says what kind of object is
                             allocated */
  if (size == 0) {
    free(p);
    memory.used -= old;
    return NULL;
  }
  if (size > old && is_refused(size - old)) return NULL;
  void *new = realloc(p, size);
  if (new == NULL) return NULL;
  memory.used += size - old;
  if (memory.used > memory.most) memory.most = memory.used;
  return new;
}

/* ---- the language -------------------------------------------------------- */

typedef struct Run {
  lua_State *L;      /* the caller's state: has results for the caller, and the numbers
                        that `.` pops */
  lua_State *on;     /* the state that the program works on */
  const char *code;  /* the rest of the program */
  int status;        /* status of the last call */
  char word[512];
} Run;

static int run(lua_State *L, lua_State *on, const char *code);
static int test_c(lua_State *L);
static void set_hook(lua_State *L, const char *code, int mask, int count);

static const char *status_name(int status) {
  static const char *const names[] = {"OK", "YIELD", "ERRRUN", "ERRSYNTAX",
                                      "not enough memory", "ERRERR"};
  return status >= 0 && status < 6 ? names[status] : "?";
}

static void skip_blanks(Run *r) {
  for (;;) {
    r->code += strspn(r->code, " \t\n\r,;");
    if (*r->code != '#') return;
    r->code += strcspn(r->code, "\n");
  }
}

/* Returns a word, or a text in quotation marks. */
static const char *word(Run *r) {
  skip_blanks(r);
  size_t n;
  if (*r->code == '"' || *r->code == '\'') {
    char quote = *r->code++;
    n = (size_t)(strchr(r->code, quote) - r->code);
    if (n >= sizeof r->word) luaL_error(r->L, "a long text");
    memcpy(r->word, r->code, n);
    r->code += n + 1;
  } else {
    n = strcspn(r->code, " \t\n\r,;");
    if (n >= sizeof r->word) luaL_error(r->L, "a long word");
    memcpy(r->word, r->code, n);
    r->code += n;
  }
  r->word[n] = '\0';
  return r->word;
}

static int number(Run *r) {
  skip_blanks(r);
  if (*r->code == '*') return r->code++, lua_gettop(r->on);
  if (*r->code == '.') {
    r->code++;
    int n = (int)lua_tointeger(r->on, -1);
    lua_pop(r->on, 1);
    return n;
  }
  char *end;
  long n = strtol(r->code, &end, 10);
  if (end == r->code) luaL_error(r->L, "number expected at '%s'", r->code);
  r->code = end;
  return (int)n;
}

static int stack_index(Run *r) {
  skip_blanks(r);
  if (*r->code == 'R') return r->code++, LUA_REGISTRYINDEX;
  if (*r->code != 'U') return number(r);
  r->code++;
  return lua_upvalueindex(number(r));
}

/* Continues with the program at the index given by the context. */
static int go_on(lua_State *L, int status, lua_KContext context) {
  lua_pushstring(L, status_name(status));
  lua_setglobal(L, "status");
  lua_pushinteger(L, (lua_Integer)context);
  lua_setglobal(L, "ctx");
  return run(L, L, lua_tostring(L, (int)context));
}

static lua_State *thread_at(Run *r, int index) {
  return index == 0 ? r->on : lua_tothread(r->on, index);
}

/* ---- commands ------------------------------------------------------------ */

/* A command returns -1 to go on, or the number of results with which the program ends. */
#define GO_ON (-1)
#define COMMAND(name) static int command_##name(Run *r)
#define ON r->on

/* A command that calls a function of the API with an index, and pushes the result. */
#define PUSHES(name, push, call) \
  COMMAND(name) {                \
    int i = stack_index(r);      \
    push(ON, call(ON, i));       \
    return GO_ON;                \
  }
#define DOES(name, call)   \
  COMMAND(name) {          \
    int i = stack_index(r); \
    call(ON, i);           \
    return GO_ON;          \
  }
#define DOES_PLAINLY(name, call) \
  COMMAND(name) {                \
    call;                        \
    return GO_ON;                \
  }

PUSHES(absindex, lua_pushinteger, lua_absindex)
PUSHES(isnumber, lua_pushboolean, lua_isnumber)
PUSHES(isstring, lua_pushboolean, lua_isstring)
PUSHES(isfunction, lua_pushboolean, lua_isfunction)
PUSHES(iscfunction, lua_pushboolean, lua_iscfunction)
PUSHES(istable, lua_pushboolean, lua_istable)
PUSHES(isuserdata, lua_pushboolean, lua_isuserdata)
PUSHES(isnil, lua_pushboolean, lua_isnil)
PUSHES(isnull, lua_pushboolean, lua_isnone)
PUSHES(tobool, lua_pushboolean, lua_toboolean)
PUSHES(tonumber, lua_pushnumber, lua_tonumber)
PUSHES(tointeger, lua_pushinteger, lua_tointeger)
PUSHES(tostring, lua_pushstring, lua_tostring)
PUSHES(tocfunction, lua_pushcfunction, lua_tocfunction)
PUSHES(objsize, lua_pushinteger, (lua_Integer)lua_rawlen)
PUSHES(Llen, lua_pushinteger, luaL_len)
DOES(len, lua_len)
DOES(concat, lua_concat)
DOES(gettable, lua_gettable)
DOES(settable, lua_settable)
DOES(rawget, lua_rawget)
DOES(rawset, lua_rawset)
DOES(insert, lua_insert)
DOES(remove, lua_remove)
DOES(replace, lua_replace)
DOES(pushvalue, lua_pushvalue)
DOES(settop, lua_settop)
DOES(pop, lua_pop)
DOES(setmetatable, lua_setmetatable)
DOES(toclose, lua_toclose)
DOES(closeslot, lua_closeslot)
COMMAND(Ltolstring) {
  luaL_tolstring(ON, stack_index(r), NULL);
  return GO_ON;
}
DOES_PLAINLY(gettop, lua_pushinteger(ON, lua_gettop(ON)))
DOES_PLAINLY(newtable, lua_newtable(ON))
DOES_PLAINLY(newthread, lua_newthread(ON))
DOES_PLAINLY(pushnil, lua_pushnil(ON))
DOES_PLAINLY(pushnum, lua_pushnumber(ON, number(r)))
DOES_PLAINLY(pushint, lua_pushinteger(ON, number(r)))
DOES_PLAINLY(pushbool, lua_pushboolean(ON, number(r)))
DOES_PLAINLY(pushstring, lua_pushstring(ON, word(r)))
DOES_PLAINLY(pushstatus, lua_pushstring(ON, status_name(r->status)))
DOES_PLAINLY(threadstatus, lua_pushstring(ON, status_name(lua_status(ON))))
DOES_PLAINLY(pushupvalueindex, lua_pushinteger(ON, lua_upvalueindex(number(r))))
DOES_PLAINLY(pushcclosure, lua_pushcclosure(ON, test_c, number(r)))
DOES_PLAINLY(newuserdata, lua_newuserdatauv(ON, (size_t)number(r), 1))
DOES_PLAINLY(getglobal, lua_getglobal(ON, word(r)))
DOES_PLAINLY(setglobal, lua_setglobal(ON, word(r)))
DOES_PLAINLY(newmetatable, lua_pushboolean(ON, luaL_newmetatable(ON, word(r))))
DOES_PLAINLY(rawcheckstack, lua_pushboolean(ON, lua_checkstack(ON, number(r))))
DOES_PLAINLY(warning, lua_warning(ON, word(r), 0))
DOES_PLAINLY(warningC, lua_warning(ON, word(r), 1))
DOES_PLAINLY(error, lua_error(ON))
COMMAND(abort) {
  (void)r;
  abort();
}

COMMAND(isyieldable) {
  lua_pushboolean(ON, lua_isyieldable(lua_tothread(ON, stack_index(r))));
  return GO_ON;
}

COMMAND(func2num) {
  lua_pushinteger(ON, (lua_Integer)(size_t)lua_tocfunction(ON, stack_index(r)));
  return GO_ON;
}

COMMAND(topointer) {
  lua_pushlightuserdata(ON, (void *)lua_topointer(ON, stack_index(r)));
  return GO_ON;
}

COMMAND(copy) {
  int from = stack_index(r), to = stack_index(r);
  lua_copy(ON, from, to);
  return GO_ON;
}

COMMAND(rotate) {
  int index = stack_index(r), by = number(r);
  lua_rotate(ON, index, by);
  return GO_ON;
}

COMMAND(append) {
  int index = lua_absindex(ON, stack_index(r));
  lua_rawseti(ON, index, (lua_Integer)lua_rawlen(ON, index) + 1);
  return GO_ON;
}

COMMAND(arith) {
  static const char signs[] = "+-*%^/\\&|~<>_!"; /* in the order of LUA_OP... */
  skip_blanks(r);
  lua_arith(ON, (int)(strchr(signs, *r->code++) - signs));
  return GO_ON;
}

COMMAND(compare) {
  const char *name = word(r);
  int how = name[0] == 'E' ? LUA_OPEQ : name[1] == 'T' ? LUA_OPLT : LUA_OPLE;
  int one = stack_index(r), other = stack_index(r);
  lua_pushboolean(ON, lua_compare(ON, one, other, how));
  return GO_ON;
}

COMMAND(getfield) {
  int index = stack_index(r);
  lua_getfield(ON, index, word(r));
  return GO_ON;
}

COMMAND(rawgeti) {
  int index = stack_index(r);
  lua_rawgeti(ON, index, number(r));
  return GO_ON;
}

COMMAND(rawseti) {
  int index = stack_index(r);
  lua_rawseti(ON, index, number(r));
  return GO_ON;
}

COMMAND(seti) {
  int index = stack_index(r);
  lua_seti(ON, index, number(r));
  return GO_ON;
}

COMMAND(rawgetp) {
  int index = stack_index(r);
  lua_rawgetp(ON, index, (void *)(size_t)number(r));
  return GO_ON;
}

COMMAND(rawsetp) {
  int index = stack_index(r);
  lua_rawsetp(ON, index, (void *)(size_t)number(r));
  return GO_ON;
}

COMMAND(next) {
  lua_next(ON, -2);
  return GO_ON;
}

COMMAND(testudata) {
  int index = stack_index(r);
  lua_pushboolean(ON, luaL_testudata(ON, index, word(r)) != NULL);
  return GO_ON;
}

COMMAND(gsub) {
  int text = number(r), what = number(r), by = number(r);
  luaL_gsub(ON, lua_tostring(ON, text), lua_tostring(ON, what), lua_tostring(ON, by));
  return GO_ON;
}

COMMAND(pushfstringI) {
  lua_pushfstring(ON, lua_tostring(ON, -2), (int)lua_tointeger(ON, -1));
  return GO_ON;
}

COMMAND(pushfstringS) {
  lua_pushfstring(ON, lua_tostring(ON, -2), lua_tostring(ON, -1));
  return GO_ON;
}

COMMAND(pushfstringP) {
  lua_pushfstring(ON, lua_tostring(ON, -2), lua_topointer(ON, -1));
  return GO_ON;
}

COMMAND(traceback) {
  char text[sizeof r->word];
  strcpy(text, word(r));
  luaL_traceback(ON, ON, text, number(r));
  return GO_ON;
}

COMMAND(checkstack) {
  int n = number(r);
  const char *text = word(r);
  luaL_checkstack(ON, n, *text != '\0' ? text : NULL);
  return GO_ON;
}

COMMAND(loadstring) {
  size_t n;
  const char *text = luaL_checklstring(ON, number(r), &n);
  luaL_loadbuffer(ON, text, n, text);
  return GO_ON;
}

COMMAND(loadfile) {
  luaL_loadfile(ON, luaL_checkstring(ON, number(r)));
  return GO_ON;
}

COMMAND(call) {
  int arguments = number(r), results = number(r);
  lua_call(ON, arguments, results);
  return GO_ON;
}

COMMAND(callk) {
  int arguments = number(r), results = number(r), context = stack_index(r);
  lua_callk(ON, arguments, results, context, go_on);
  return GO_ON;
}

COMMAND(pcall) {
  int arguments = number(r), results = number(r), handler = number(r);
  r->status = lua_pcall(ON, arguments, results, handler);
  return GO_ON;
}

COMMAND(pcallk) {
  int arguments = number(r), results = number(r), context = stack_index(r);
  r->status = lua_pcallk(ON, arguments, results, 0, context, go_on);
  return GO_ON;
}

COMMAND(yield) { return lua_yield(ON, number(r)); }

COMMAND(yieldk) {
  int results = number(r), context = stack_index(r);
  return lua_yieldk(ON, results, context, go_on);
}

COMMAND(resume) {
  lua_State *thread = thread_at(r, stack_index(r));
  int results;
  r->status = lua_resume(thread, ON, number(r), &results);
  return GO_ON;
}

COMMAND(xmove) {
  lua_State *from = thread_at(r, stack_index(r)), *to = thread_at(r, stack_index(r));
  int n = number(r);
  lua_xmove(from, to, n != 0 ? n : lua_gettop(from));
  return GO_ON;
}

COMMAND(sethook) {
  int mask = number(r), count = number(r);
  set_hook(ON, word(r), mask, count);
  return GO_ON;
}

/* Returns results. Results of another thread are moved; results in another state are
   copied, as text unless they are booleans. */
COMMAND(return) {
  int n = number(r);
  if (lua_topointer(ON, LUA_REGISTRYINDEX) == lua_topointer(r->L, LUA_REGISTRYINDEX)) {
    if (ON != r->L) lua_xmove(ON, r->L, n);
    return n;
  }
  for (int i = -n; i < 0; i++) {
    if (lua_isboolean(ON, i)) lua_pushboolean(r->L, lua_toboolean(ON, i));
    else lua_pushstring(r->L, lua_tostring(ON, i));
  }
  return n;
}

#define COMMANDS(X)                                                                           \
  X(absindex) X(isnumber) X(isstring) X(isfunction) X(iscfunction) X(istable) X(isuserdata)   \
  X(isnil) X(isnull) X(tobool) X(tonumber) X(tointeger) X(tostring) X(tocfunction) X(objsize) \
  X(Llen) X(len) X(concat) X(gettable) X(settable) X(rawget) X(rawset) X(insert) X(remove)    \
  X(replace) X(pushvalue) X(settop) X(pop) X(setmetatable) X(toclose) X(closeslot)            \
  X(Ltolstring) X(gettop) X(newtable) X(newthread) X(pushnil) X(pushnum) X(pushint)           \
  X(pushbool) X(pushstring) X(pushstatus) X(threadstatus) X(pushupvalueindex) X(pushcclosure) \
  X(newuserdata) X(getglobal) X(setglobal) X(newmetatable) X(rawcheckstack) X(warning)        \
  X(warningC) X(error) X(abort) X(isyieldable) X(func2num) X(topointer) X(copy) X(rotate)     \
  X(append) X(arith) X(compare) X(getfield) X(rawgeti) X(rawseti) X(seti) X(rawgetp)          \
  X(rawsetp) X(next) X(testudata) X(gsub) X(pushfstringI) X(pushfstringS) X(pushfstringP)     \
  X(traceback) X(checkstack) X(loadstring) X(loadfile) X(call) X(callk) X(pcall) X(pcallk)    \
  X(yield) X(yieldk) X(resume) X(xmove) X(sethook) X(return)

static const struct {
  const char *name;
  int (*run)(Run *r);
} commands[] = {
#define ROW(name) {#name, command_##name},
    COMMANDS(ROW)
#undef ROW
};

static int run_one(Run *r) {
  const char *name = word(r);
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
    if (strcmp(commands[i].name, name) == 0) return commands[i].run(r);
  return luaL_error(r->L, "no command '%s'", name);
}

static int run(lua_State *L, lua_State *on, const char *code) {
  Run r = {.L = L, .on = on, .code = code};
  if (code == NULL) return luaL_error(L, "no program");
  for (;;) {
    skip_blanks(&r);
    if (*r.code == '\0') return 0;
    int n = run_one(&r);
    if (n != GO_ON) return n;
  }
}

/* ---- the module ---------------------------------------------------------- */

static lua_State *state_at(lua_State *L, int index) {
  return lua_isthread(L, index) ? lua_tothread(L, index) : (lua_State *)lua_touserdata(L, index);
}

/* Runs a program: T.testC([thread or state,] code, ...) */
static int test_c(lua_State *L) {
  if (lua_type(L, 1) == LUA_TSTRING) return run(L, L, lua_tostring(L, 1));
  lua_State *on = state_at(L, 1);
  return run(L, on, luaL_checkstring(L, 2));
}

static int call_c_function(lua_State *L) { return run(L, L, lua_tostring(L, lua_upvalueindex(1))); }

static int make_c_function(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_pushcclosure(L, call_c_function, lua_gettop(L));
  return 1;
}

/* The address of this array is a key of the registry. */
static const char hooks[] = "programs of hooks";

static void on_hook(lua_State *L, lua_Debug *ar) {
  static const char *const names[] = {"call", "return", "line", "count", "tail call"};
  lua_rawgetp(L, LUA_REGISTRYINDEX, hooks);
  lua_pushthread(L);
  lua_rawget(L, -2);
  /* The table keeps the string, unless another string takes its place. */
  const char *code = lua_tostring(L, -1);
  char copy[1024];
  snprintf(copy, sizeof copy, "%s", code != NULL ? code : "");
  lua_pop(L, 2);
  lua_pushstring(L, names[ar->event]);
  lua_pushinteger(L, ar->currentline);
  run(L, L, copy);
}

static void set_hook(lua_State *L, const char *code, int mask, int count) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, hooks) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, hooks);
  }
  lua_pushthread(L);
  lua_pushstring(L, code);
  lua_rawset(L, -3);
  lua_pop(L, 1);
  lua_sethook(L, on_hook, mask, count);
}

/* Sets a hook: T.sethook(code, mask, count) */
static int module_sethook(lua_State *L) {
  const char *letters = luaL_checkstring(L, 2);
  int count = (int)luaL_optinteger(L, 3, 0), mask = count > 0 ? LUA_MASKCOUNT : 0;
  if (strchr(letters, 'c') != NULL) mask |= LUA_MASKCALL;
  if (strchr(letters, 'r') != NULL) mask |= LUA_MASKRET;
  if (strchr(letters, 'l') != NULL) mask |= LUA_MASKLINE;
  set_hook(L, luaL_checkstring(L, 1), mask, count);
  return 0;
}

static int module_resume(lua_State *L) {
  lua_State *thread = lua_tothread(L, 1);
  int results, status = lua_resume(thread, L, 0, &results);
  if (status == LUA_OK || status == LUA_YIELD) return lua_pushboolean(L, 1), 1;
  lua_pushboolean(L, 0);
  lua_xmove(thread, L, 1);
  return 2;
}

static int module_d2s(lua_State *L) {
  double number = luaL_checknumber(L, 1);
  lua_pushlstring(L, (const char *)&number, sizeof number);
  return 1;
}

static int module_s2d(lua_State *L) {
  double number;
  memcpy(&number, luaL_checkstring(L, 1), sizeof number);
  lua_pushnumber(L, number);
  return 1;
}

static int module_newuserdata(lua_State *L) {
  lua_newuserdatauv(L, (size_t)luaL_checkinteger(L, 1), (int)luaL_optinteger(L, 2, 0));
  return 1;
}

static int module_pushuserdata(lua_State *L) {
  lua_pushlightuserdata(L, (void *)(size_t)luaL_checkinteger(L, 1));
  return 1;
}

static int module_udataval(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)(size_t)lua_touserdata(L, 1));
  return 1;
}

/* Returns or sets an upvalue: T.upvalue(function, n[, value]) */
static int module_upvalue(lua_State *L) {
  int n = (int)luaL_checkinteger(L, 2);
  if (lua_isnone(L, 3)) {
    const char *name = lua_getupvalue(L, 1, n);
    return name == NULL ? 0 : (lua_pushstring(L, name), 2);
  }
  lua_pushstring(L, lua_setupvalue(L, 1, n));
  return 1;
}

static int module_ref(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  lua_pushinteger(L, luaL_ref(L, LUA_REGISTRYINDEX));
  return 1;
}

static int module_unref(lua_State *L) {
  luaL_unref(L, LUA_REGISTRYINDEX, (int)luaL_checkinteger(L, 1));
  return 0;
}

static int module_getref(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, luaL_checkinteger(L, 1));
  return 1;
}

/* Collects everything for "pause". Otherwise does nothing: a cycle has other phases here
   than in the reference. */
static int module_gcstate(lua_State *L) {
  if (strcmp(luaL_checkstring(L, 1), "pause") == 0) lua_gc(L, LUA_GCCOLLECT);
  return 0;
}

static int module_checkmemory(lua_State *L) {
  lua_gc(L, LUA_GCSTEP, 0);
  return 0;
}

/* Returns the bytes in use: T.totalmem(), or limits them: T.totalmem(n), at most n bytes,
   0 for no limit. */
static int module_totalmem(lua_State *L) {
  if (lua_isnone(L, 1)) {
    lua_pushinteger(L, lua_gc(L, LUA_GCCOUNT) * 1024 + lua_gc(L, LUA_GCCOUNTB));
    lua_pushinteger(L, 1);
    lua_pushinteger(L, (lua_Integer)memory.most);
    return 3;
  }
  lua_Integer limit = luaL_checkinteger(L, 1);
  lua_Integer now = (lua_Integer)lua_gc(L, LUA_GCCOUNT) * 1024 + lua_gc(L, LUA_GCCOUNTB);
  memory.limit = limit == 0 ? 0 : memory.used + (size_t)(limit > now ? limit - now : 0);
  return 0;
}

static int module_alloccount(lua_State *L) {
  memory.left = luaL_optinteger(L, 1, -1);
  return 0;
}

static int module_allocfailnext(lua_State *L) {
  (void)L;
  memory.fail_next = true;
  return 0;
}

/* ---- other states -------------------------------------------------------- */

static const luaL_Reg module[];

static int open_module(lua_State *L) {
  lua_newtable(L);
  luaL_setfuncs(L, module, 0);
  return 1;
}

static int module_newstate(lua_State *L) {
  lua_State *new = lua_newstate(allocate, NULL);
  if (new == NULL) return 0;
  lua_atpanic(new, NULL);
  lua_pushlightuserdata(L, new);
  return 1;
}

static int module_closestate(lua_State *L) {
  lua_close((lua_State *)lua_touserdata(L, 1));
  return 0;
}

/* Makes `require` find all libraries; only this one has been opened. */
static int module_loadlib(lua_State *L) {
  static const luaL_Reg libraries[] = {
      {LUA_GNAME, luaopen_base},          {LUA_COLIBNAME, luaopen_coroutine},
      {LUA_DBLIBNAME, luaopen_debug},     {LUA_IOLIBNAME, luaopen_io},
      {LUA_OSLIBNAME, luaopen_os},        {LUA_MATHLIBNAME, luaopen_math},
      {LUA_STRLIBNAME, luaopen_string},   {LUA_TABLIBNAME, luaopen_table},
      {LUA_UTF8LIBNAME, luaopen_utf8},    {"T", open_module},
      {NULL, NULL}};
  lua_State *on = (lua_State *)lua_touserdata(L, 1);
  luaL_requiref(on, LUA_LOADLIBNAME, luaopen_package, 1);
  lua_getfield(on, -1, "preload");
  luaL_setfuncs(on, libraries, 0);
  lua_pop(on, 2);
  return 0;
}

/* Runs code in another state: T.doremote(state, code). Returns the results as strings; or
   nil, the message and the status. */
static int module_doremote(lua_State *L) {
  lua_State *on = (lua_State *)lua_touserdata(L, 1);
  size_t n;
  const char *code = luaL_checklstring(L, 2, &n);
  lua_settop(on, 0);
  int status = luaL_loadbuffer(on, code, n, code);
  if (status == LUA_OK) status = lua_pcall(on, 0, LUA_MULTRET, 0);
  if (status != LUA_OK) {
    lua_pushnil(L);
    lua_pushstring(L, lua_tostring(on, -1));
    lua_pushinteger(L, status);
    return 3;
  }
  int results = lua_gettop(on);
  for (int i = 1; i <= results; i++) lua_pushstring(L, lua_tostring(on, i));
  lua_settop(on, 0);
  return results;
}

static int module_doonnewstack(lua_State *L) {
  lua_State *on = lua_newthread(L);
  size_t n;
  const char *code = luaL_checklstring(L, 1, &n);
  int status = luaL_loadbuffer(on, code, n, code);
  if (status == LUA_OK) status = lua_pcall(on, 0, 0, 0);
  lua_pushinteger(L, status);
  return 1;
}

static struct {
  jmp_buf from;
  const char *code; /* runs before */
} panic;

static int on_panic(lua_State *L) {
  if (panic.code != NULL) run(L, L, panic.code);
  longjmp(panic.from, 1);
}

/* Runs code in a new state: T.checkpanic(code[, code in the panic]). Returns what is on
   the top of its stack. */
static int module_checkpanic(lua_State *L) {
  const char *code = luaL_checkstring(L, 1);
  panic.code = luaL_optstring(L, 2, NULL);
  lua_State *new = lua_newstate(allocate, NULL);
  if (new == NULL) return luaL_error(L, "not enough memory");
  lua_atpanic(new, on_panic);
  if (setjmp(panic.from) == 0) {
    run(new, new, code);
    lua_pushliteral(L, "no errors");
  } else {
    lua_pushstring(L, lua_tostring(new, -1));
  }
  lua_close(new);
  return 1;
}

static const luaL_Reg module[] = {{"testC", test_c},
                                  {"makeCfunc", make_c_function},
                                  {"sethook", module_sethook},
                                  {"resume", module_resume},
                                  {"d2s", module_d2s},
                                  {"s2d", module_s2d},
                                  {"newuserdata", module_newuserdata},
                                  {"pushuserdata", module_pushuserdata},
                                  {"udataval", module_udataval},
                                  {"upvalue", module_upvalue},
                                  {"ref", module_ref},
                                  {"unref", module_unref},
                                  {"getref", module_getref},
                                  {"gcstate", module_gcstate},
                                  {"checkmemory", module_checkmemory},
                                  {"totalmem", module_totalmem},
                                  {"alloccount", module_alloccount},
                                  {"allocfailnext", module_allocfailnext},
                                  {"newstate", module_newstate},
                                  {"closestate", module_closestate},
                                  {"loadlib", module_loadlib},
                                  {"doremote", module_doremote},
                                  {"doonnewstack", module_doonnewstack},
                                  {"checkpanic", module_checkpanic},
                                  {NULL, NULL}};

/* ---- the program --------------------------------------------------------- */

/* Loads the script with the lines that are left out made empty, and prints these
   lines. */
static const char loader[] =
    "local path, expected = ...\n"
    "local name, lines, left = path:match('[^/]*$'), {}, {}\n"
    "for line in io.lines(expected) do\n"
    "  local file, first, last, reason = line:match('^(%S+) (%d+) (%d+) (.+)$')\n"
    "  if file == name then left[#left + 1] = {first + 0, last + 0, reason} end\n"
    "end\n"
    "for line in io.lines(path, 'L') do lines[#lines + 1] = line end\n"
    "for _, each in ipairs(left) do\n"
    "  for i = each[1], each[2] do lines[i] = '\\n' end\n"
    "  print(('left out: %s:%d-%d: %s'):format(name, table.unpack(each)))\n"
    "end\n"
    "arg = {[0] = path}\n"
    "assert(load(table.concat(lines), '@' .. name))()\n";

/* Warnings, which are printed, or kept in the global _WARN: @on, @off, @store,
   @normal. */
static struct {
  char text[1024];
  bool goes_on, on, store;
} warning;

static void on_warning(void *ud, const char *text, int to_be_continued) {
  lua_State *L = (lua_State *)ud;
  if (!warning.goes_on && !to_be_continued && *text == '@') {
    if (strcmp(text, "@on") == 0 || strcmp(text, "@off") == 0) warning.on = text[2] == 'n';
    warning.store = strcmp(text, "@store") == 0 || (warning.store && strcmp(text, "@normal") != 0);
    return;
  }
  if (!warning.goes_on) warning.text[0] = '\0';
  strncat(warning.text, text, sizeof warning.text - strlen(warning.text) - 1);
  warning.goes_on = to_be_continued;
  if (to_be_continued) return;
  if (warning.store) {
    lua_pushstring(L, warning.text);
    lua_setglobal(L, "_WARN");
  } else if (warning.on) {
    fprintf(stderr, "warning: %s\n", warning.text);
  }
}

static int traceback(lua_State *L) {
  luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "usage: reference SCRIPT EXPECTED\n"), 2;
  setvbuf(stdout, NULL, _IONBF, 0);
  lua_State *L = lua_newstate(allocate, NULL);
  luaL_openlibs(L);
  luaL_requiref(L, "T", open_module, 1);
  lua_setwarnf(L, on_warning, L);
  lua_settop(L, 0);
  lua_pushcfunction(L, traceback);
  if (luaL_loadstring(L, loader) != LUA_OK) return 2;
  lua_pushstring(L, argv[1]);
  lua_pushstring(L, argv[2]);
  int status = lua_pcall(L, 2, 0, 1);
  if (status != LUA_OK) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return status != LUA_OK;
}
