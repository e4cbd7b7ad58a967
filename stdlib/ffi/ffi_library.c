/* SPDX-License-Identifier: MIT */
/* stdlib/ffi/ffi_library.c: symbols of libraries: ffi.C and the libraries that ffi.load
 * returns.
 *
 * A library is a userdata whose metatable's __index is a table of the symbols found so
 * far (functions and constants), so that a name costs one table lookup after its first
 * use. The __index of that table finds all other symbols. Variables are looked up each
 * time.
 *
 * A library that was loaded stays loaded until the process ends: pointers to its code and
 * data may be anywhere. */
#include "ffi_core.h"
#include "retry.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Upvalues of a library's functions: the Ffi, the handle of dlopen. */
#define HANDLE_UPVALUE lua_upvalueindex(2)

static void *find_address(lua_State *L, const Symbol *s) {
  dlerror();
  void *address = dlsym(lua_touserdata(L, HANDLE_UPVALUE), s->link->data);
  const char *problem = address == NULL ? dlerror() : NULL;
  if (address == NULL)
    luaL_error(L, "cannot find '%s': %s", s->link->data,
               problem != NULL ? problem : "its address is 0");
  return address;
}

static Symbol *declared_symbol(lua_State *L, Ffi *ffi, int arg) {
  luaL_checktype(L, arg, LUA_TSTRING);
  Symbol *s = ffi_lookup(ffi->names, as_string(argument(L, arg)));
  if (s == NULL) luaL_error(L, "'%s' is not declared", lua_tostring(L, arg));
  if (s->kind == SYMBOL_TYPEDEF) luaL_error(L, "'%s' is a type", lua_tostring(L, arg));
  if (s->internal)
    luaL_error(L, "'%s' is static: its header defines it, no library has it", lua_tostring(L, arg));
  return s;
}

static void push_constant(lua_State *L, const Symbol *s) {
  int64_t value = s->value;
  convert_push(L, s->type, &value, NULL);
}

/* Implements __index of the table of symbols found so far: (table, name). */
static int library_resolve(lua_State *L) {
  Ffi *ffi = ffi_of_function(L);
  Symbol *s = declared_symbol(L, ffi, 2);
  if (s->kind == SYMBOL_VARIABLE) {
    convert_push(L, s->type, find_address(L, s), NULL);
    collect_point(L);
    return 1;
  }
  if (s->kind == SYMBOL_CONSTANT) push_constant(L, s);
  else ccall_push_function(L, s, s->type, find_address(L, s));
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  return 1;
}

/* Implements __newindex of a library: (library, name, value). */
static int library_assign(lua_State *L) {
  Ffi *ffi = ffi_of_function(L);
  const Symbol *s = declared_symbol(L, ffi, 2);
  if (s->kind != SYMBOL_VARIABLE) luaL_error(L, "'%s' is no variable", s->name->data);
  const CType *t = s->type;
  while (t->kind == CKIND_ARRAY) t = t->element;
  if (t->quals & QUAL_CONST) luaL_error(L, "attempt to write to constant location");
  Blame blame = {BLAME_OTHER, 0, s->name->data, "variable"};
  convert_store(L, s->type, find_address(L, s), argument(L, 3), CONVERT_IMPLICIT, &blame);
  return 0;
}

static int library_tostring(lua_State *L) {
  lua_pushfstring(L, "library: %p", lua_topointer(L, 1));
  return 1;
}

/* Pushes the object of a library. */
static void push_library(lua_State *L, Ffi *ffi, void *handle) {
  lua_newuserdatauv(L, 0, 0);
  lua_createtable(L, 0, 4); /* metatable */
  lua_newtable(L);          /* the symbols found so far */
  lua_createtable(L, 0, 1);
  lua_pushlightuserdata(L, ffi);
  lua_pushlightuserdata(L, handle);
  lua_pushcclosure(L, library_resolve, 2);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setfield(L, -2, "__index");
  lua_pushlightuserdata(L, ffi);
  lua_pushlightuserdata(L, handle);
  lua_pushcclosure(L, library_assign, 2);
  lua_setfield(L, -2, "__newindex");
  lua_pushcfunction(L, library_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushliteral(L, "ffi");
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
}

void clibrary_open(lua_State *L, Ffi *ffi) { push_library(L, ffi, RTLD_DEFAULT); }

/* ---- finding libraries --------------------------------------------------- */

/* Pushes the name of a library's file: "foo" stands for "libfoo.so"; names with a dot or
   a slash are unchanged. */
static const char *push_file_name(lua_State *L, const char *name) {
  if (strchr(name, '/') != NULL || strchr(name, '.') != NULL) return lua_pushstring(L, name);
  return lua_pushfstring(L, strncmp(name, "lib", 3) == 0 ? "%s.so" : "lib%s.so", name);
}

/* Copies to `path` the first path in GROUP ( ... ) or INPUT ( ... ) of a linker script: a
 * development package may have one instead of the library. Returns whether there is
 * one. */
static bool script_target(const char *message, char *path, size_t size) {
  char file[1024], line[4096];
  const char *colon = strchr(message, ':');
  if (colon == NULL || (size_t)(colon - message) >= sizeof file) return false;
  memcpy(file, message, (size_t)(colon - message));
  file[colon - message] = '\0';
  FILE *f = file[0] == '/' ? fopen(file, "r") : NULL;
  if (f == NULL) return false;
  bool found = false;
  while (!found && fgets(line, sizeof line, f) != NULL) {
    const char *p = strstr(line, "GROUP");
    if (p == NULL) p = strstr(line, "INPUT");
    if (p == NULL || (p = strchr(p, '(')) == NULL) continue;
    p++;
    while (isspace((unsigned char)*p)) p++;
    size_t n = strcspn(p, " \t\r\n)");
    if (n == 0 || n >= size) continue;
    memcpy(path, p, n);
    path[n] = '\0';
    found = true;
  }
  fclose(f);
  return found;
}

/* Implements ffi.load(name [, global]) -> library. With `global`, its symbols are found
 * by ffi.C and by libraries loaded later. Raises if it cannot be loaded. */
int clibrary_load(lua_State *L) {
  Ffi *ffi = ffi_of_function(L);
  const char *name = push_file_name(L, luaL_checkstring(L, 1));
  int flags = RTLD_LAZY | (lua_toboolean(L, 2) ? RTLD_GLOBAL : RTLD_LOCAL);
  errno = 0;
  void *handle = dlopen(name, flags);
  if (handle == NULL && collect_for_retry(L, errno)) handle = dlopen(name, flags);
  if (handle == NULL) {
    char path[1024];
    const char *problem = lua_pushstring(L, dlerror());
    if (script_target(problem, path, sizeof path)) handle = dlopen(path, flags);
    if (handle == NULL) return luaL_error(L, "%s", problem);
  }
  push_library(L, ffi, handle);
  return 1;
}
