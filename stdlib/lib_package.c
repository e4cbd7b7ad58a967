/* SPDX-License-Identifier: MIT */
/* lib_package.c - modules: require and the package table.
 *
 * require calls each function of package.searchers in turn for a loader, and joins their
 * messages if none has one. The standard searchers, the preload table and a path are
 * found through upvalue 1, the package table.
 *
 * Modules of this program (own_modules.h) have a long name, `saros.ffi`, and may have a
 * short one, `ffi`. The long name is in package.preload (init.c), so it is found before
 * the paths are searched. The short name is searched for last, after the paths, so a
 * user's own module of that name wins. The standard searchers find modules by both names,
 * so that package.searchers has the four functions of the reference.
 *
 * C libraries stay loaded until their state is closed: the registry maps each file name
 * to its handle and lists the handles in the order in which they were opened; the table's
 * finalizer closes them in reverse order.
 */
#define LUA_LIB

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "own_modules.h"
#include "require_span.h"
#include "retry.h"
#include "thread.h"

/* Prefix of the function that opens a C module. */
#define OPEN_PREFIX "luaopen_"

/* The text before this mark in the name of a module, for instance a version, is not part
 * of the function's name. */
#define IGNORE_MARK "-"

/* The registry's name for the table of C libraries. */
#define LIBRARIES_KEY "_CLIBS"

/* ---------------------------------------------------------- C libraries -- */

static void *known_library(lua_State *L, const char *path) {
  lua_getfield(L, LUA_REGISTRYINDEX, LIBRARIES_KEY);
  lua_getfield(L, -1, path);
  void *library = lua_touserdata(L, -1);
  lua_pop(L, 2);
  return library;
}

static void remember_library(lua_State *L, const char *path, void *library) {
  lua_getfield(L, LUA_REGISTRYINDEX, LIBRARIES_KEY);
  lua_pushlightuserdata(L, library);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, path);
  lua_rawseti(L, -2, luaL_len(L, -2) + 1);
  lua_pop(L, 1);
}

static int close_libraries(lua_State *L) {
  for (lua_Integer i = luaL_len(L, 1); i >= 1; i--) {
    lua_geti(L, 1, i);
    dlclose(lua_touserdata(L, -1));
    lua_pop(L, 1);
  }
  return 0;
}

/* Results of loading a C library. */
typedef enum LoadResult { LOADED, OPEN_FAILED, NO_FUNCTION } LoadResult;

static LoadResult find_function(lua_State *L, void *library,
                                const char *name) {
  /* POSIX returns functions as data pointers; this converts back. */
  lua_CFunction function;
  *(void **)&function = dlsym(library, name);
  if (l_unlikely(function == NULL)) {
    lua_pushstring(L, dlerror());
    return NO_FUNCTION;
  }
  lua_pushcfunction(L, function);
  return LOADED;
}

static void *open_library(lua_State *L, const char *path, int flags) {
  errno = 0;
  void *library = dlopen(path, flags);
  return library == NULL && collect_for_retry(L, errno) ? dlopen(path, flags) : library;
}

/* Loads the library at `path`, unless it is loaded, and pushes its function `name`; for
 * the name "*", makes its symbols available to libraries loaded later, and pushes true.
 * Pushes a message on failure. */
static LoadResult load_function(lua_State *L, const char *path,
                                const char *name) {
  int all_symbols = *name == '*';
  void *library = known_library(L, path);
  if (library == NULL) {
    library = open_library(L, path, RTLD_NOW | (all_symbols ? RTLD_GLOBAL : RTLD_LOCAL));
    if (l_unlikely(library == NULL)) {
      lua_pushstring(L, dlerror());
      return OPEN_FAILED;
    }
    remember_library(L, path, library);
  }
  if (!all_symbols)
    return find_function(L, library, name);
  lua_pushboolean(L, 1);
  return LOADED;
}

static int package_loadlib(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  const char *name = luaL_checkstring(L, 2);
  LoadResult result = load_function(L, path, name);
  if (l_likely(result == LOADED))
    return 1;
  luaL_pushfail(L);
  lua_insert(L, -2);
  lua_pushstring(L, result == OPEN_FAILED ? "open" : "init");
  return 3;
}

/* ------------------------------------------------------- search by path -- */

static int is_readable(const char *filename) {
  int fd = open(filename, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  close(fd);
  return 1;
}

/* Pushes "no file 'A'\n\tno file 'B'..." for the names of `path`. */
static void push_not_found(lua_State *L, const char *path) {
  luaL_Buffer B;
  luaL_buffinit(L, &B);
  luaL_addstring(&B, "no file '");
  luaL_addgsub(&B, path, LUA_PATH_SEP, "'\n\tno file '");
  luaL_addstring(&B, "'");
  luaL_pushresult(&B);
}

/* Pushes `path` with each mark replaced by the module's name. */
static const char *push_filled_path(lua_State *L, const char *name,
                                    const char *path) {
  luaL_Buffer B;
  luaL_buffinit(L, &B);
  luaL_addgsub(&B, path, LUA_PATH_MARK, name);
  luaL_pushresult(&B);
  return lua_tostring(L, -1);
}

/* Pushes the first readable file of `path` for module `name`, in which `sep` is replaced
 * by `dirsep`, and returns it; otherwise pushes a message and returns NULL. */
static const char *search_path(lua_State *L, const char *name,
                               const char *path, const char *sep,
                               const char *dirsep) {
  if (*sep != '\0' && strstr(name, sep) != NULL)
    name = luaL_gsub(L, name, sep, dirsep);
  const char *files = push_filled_path(L, name, path);
  for (const char *rest = files; rest != NULL;) {
    const char *end = strchr(rest, *LUA_PATH_SEP);
    const char *filename =
      lua_pushlstring(L, rest, end != NULL ? (size_t)(end - rest) : strlen(rest));
    if (is_readable(filename))
      return filename;
    lua_pop(L, 1);
    rest = end != NULL ? end + 1 : NULL;
  }
  push_not_found(L, files);
  return NULL;
}

static int package_searchpath(lua_State *L) {
  const char *found =
    search_path(L, luaL_checkstring(L, 1), luaL_checkstring(L, 2),
                luaL_optstring(L, 3, "."), luaL_optstring(L, 4, LUA_DIRSEP));
  if (found != NULL)
    return 1;
  luaL_pushfail(L);
  lua_insert(L, -2);
  return 2;
}

/* ------------------------------------------------------------ searchers -- A searcher is
 * called with a module's name. It returns a loader and the loader's extra value (a file
 * name), or a message why there is none, or nothing. */

static const char *find_file(lua_State *L, const char *name,
                             const char *path_field) {
  lua_getfield(L, lua_upvalueindex(1), path_field);
  const char *path = lua_tostring(L, -1);
  if (l_unlikely(path == NULL))
    luaL_error(L, "'package.%s' must be a string", path_field);
  return search_path(L, name, path, ".", LUA_DIRSEP);
}

/* Ends a search that found a file: the loader is on top, or a message. */
static int finish_search(lua_State *L, int ok, const char *filename) {
  if (l_likely(ok)) {
    lua_pushstring(L, filename);
    return 2;
  }
  return luaL_error(L, "error loading module '%s' from file '%s':\n\t%s",
                    lua_tostring(L, 1), filename, lua_tostring(L, -1));
}

/* Pushes argument 1, the name of a module, as C sees it: it ends at the first zero
   byte. */
static void push_name(lua_State *L, const char *name) {
  if (l_likely(strlen(name) == string_len(as_string(argument(L, 1)))))
    lua_pushvalue(L, 1);
  else
    lua_pushstring(L, name);
}

/* Loads a module of this program by its short name. The upvalues are its long name and
 * the function that opens it. A module is loaded only once, whichever name it is required
 * by. */
static int load_own_module(lua_State *L) {
  const char *name = lua_tostring(L, lua_upvalueindex(1));
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, name);
  if (lua_toboolean(L, -1))
    return 1;
  lua_pop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_call(L, 1, 1);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, name);
  return 1;
}

/* Pushes the value that package.preload has for the name on top. A program may have
   replaced that table. */
static int push_preloaded(lua_State *L) {
  api_push_value(L, table_get_str(as_table(&L->domain->registry), L->domain->names[NAME_PRELOAD]));
  lua_insert(L, -2);
  return lua_gettable(L, -2);
}

static int is_short_name(const char *name) {
  static const struct { const char *name; int is_short; } modules[] = {
#define MODULE(name, has_short_name) {#name, has_short_name},
    OWN_MODULES(MODULE)
#undef MODULE
  };
  for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++)
    if (modules[i].is_short && strcmp(modules[i].name, name) == 0)
      return 1;
  return 0;
}

/* Looks for a module of this program by its short name, among those that are preloaded
 * under their long names. The extra value is the long name. */
static int search_own_module(lua_State *L, const char *name) {
  if (!is_short_name(name))
    return 0;
  const char *long_name = lua_pushfstring(L, OWN_MODULES_PREFIX "%s", name);
  lua_pushvalue(L, -1);
  if (push_preloaded(L) != LUA_TFUNCTION)
    return 0;
  lua_pushstring(L, long_name);
  lua_insert(L, -2);
  lua_pushcclosure(L, load_own_module, 2);
  lua_pushstring(L, long_name);
  return 2;
}

static int search_preload(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  push_name(L, name);
  if (push_preloaded(L) != LUA_TNIL)
    return 1 + result_name(L, NAME_PRELOAD_MARK);
  lua_pushfstring(L, "no field package.preload['%s']", name);
  return 1;
}

static int search_lua(lua_State *L) {
  const char *filename = find_file(L, luaL_checkstring(L, 1), "path");
  if (filename == NULL)
    return 1;
  return finish_search(L, luaL_loadfile(L, filename) == LUA_OK, filename);
}

/* Pushes luaopen_NAME of the library; dots of the name become underscores. */
static LoadResult load_open_function(lua_State *L, const char *filename,
                                     const char *name) {
  name = luaL_gsub(L, name, ".", "_");
  const char *mark = strstr(name, IGNORE_MARK);
  if (mark != NULL) {
    /* "a-b": the function is luaopen_a or, as in older versions, luaopen_b. */
    const char *stem = lua_pushlstring(L, name, (size_t)(mark - name));
    LoadResult result = load_function(
      L, filename, lua_pushfstring(L, OPEN_PREFIX "%s", stem));
    if (result != NO_FUNCTION)
      return result;
    name = mark + strlen(IGNORE_MARK);
  }
  return load_function(L, filename,
                       lua_pushfstring(L, OPEN_PREFIX "%s", name));
}

static int search_c(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  const char *filename = find_file(L, name, "cpath");
  if (filename == NULL)
    return 1;
  LoadResult result = load_open_function(L, filename, name);
  return finish_search(L, result == LOADED, filename);
}

/* Looks for module a.b.c in the library of a. As this is the last searcher, it also looks
 * for a name without a dot among the short names of this program's modules. */
static int search_c_root(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  const char *dot = strchr(name, '.');
  if (dot == NULL)
    return search_own_module(L, name);
  const char *root = lua_pushlstring(L, name, (size_t)(dot - name));
  const char *filename = find_file(L, root, "cpath");
  if (filename == NULL)
    return 1;
  LoadResult result = load_open_function(L, filename, name);
  if (result == NO_FUNCTION) {
    lua_pushfstring(L, "no module '%s' in file '%s'", name, filename);
    return 1;
  }
  return finish_search(L, result == LOADED, filename);
}

/* -------------------------------------------------------------- require -- */

static const char message_joint[] = "\n\t";

/* Puts the failed searcher's message, the string on top, into the buffer of messages at
 * the slot below it. */
static void add_search_message(luaL_Buffer *messages) {
  lua_State *L = messages->L;
  lua_pushfstring(L, "%s%s", message_joint, lua_tostring(L, -1));
  lua_remove(L, -2);
  luaL_addvalue(messages);
}

/* Runs the searchers; leaves the loader and its extra value on top. Index SEARCHERS of
 * the stack holds the list; the buffer's slot follows. */
enum { SEARCHERS = 4 };

static void find_loader(lua_State *L, const char *name) {
  luaL_Buffer messages;
  api_push_string(L, L->domain->names[NAME_SEARCHERS]);
  if (l_unlikely(lua_gettable(L, lua_upvalueindex(1)) != LUA_TTABLE))
    luaL_error(L, "'package.searchers' must be a table");
  luaL_buffinit(L, &messages);
  for (lua_Integer i = 1;; i++) {
    if (l_unlikely(lua_rawgeti(L, SEARCHERS, i) == LUA_TNIL)) {
      lua_pop(L, 1);
      luaL_pushresult(&messages);
      luaL_error(L, "module '%s' not found:%s", name, lua_tostring(L, -1));
    }
    lua_pushvalue(L, 1);
    lua_call(L, 1, 2);
    if (lua_isfunction(L, -2))
      return;
    lua_pop(L, 1);
    if (lua_isstring(L, -1))
      add_search_message(&messages);
    else
      lua_pop(L, 1);
  }
}

/* Calls the loader, which lies below its extra value on top, with the module's name and
 * that value. The module is the value that the loader returned. If that is nil, it is the
 * value that the loader stored itself or, if that is nil as well, true. Leaves the module
 * and the extra value on top. */
static void run_loader(lua_State *L, const char *name) {
  lua_insert(L, -2);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, -3);
  lua_call(L, 2, 1); /* extra value, result */
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    push_name(L, name);
    if (lua_gettable(L, 2) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_pushboolean(L, 1);
    }
  }
  push_name(L, name);
  lua_pushvalue(L, -2);
  lua_settable(L, 2);
  lua_insert(L, -2);
}

static int end_require_span(lua_State *L) {
  require_span_end(L);
  return 0;
}

/* Begins the span of a require; a to-be-closed value on the stack ends it, even if an
 * error unwinds the call. */
static void open_require_span(lua_State *L, const char *name) {
  api_push_value(L, table_get_str(as_table(&L->domain->registry),
                                  L->domain->names[NAME_REQUIRE_SPAN]));
  if (lua_isnil(L, -1)) { /* one metatable serves all calls */
    lua_pop(L, 1);
    lua_newuserdatauv(L, 0, 0);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, end_require_span);
    lua_setfield(L, -2, "__close");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, L->domain->names[NAME_REQUIRE_SPAN]->data);
  }
  lua_toclose(L, -1);
  require_span_begin(L, name);
}

/* Implements require. The stack: name, table of loaded modules, the span's guard; then
 * what find_loader and run_loader need. */
static int package_require(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  lua_settop(L, 1);
  api_push_value(L, table_get_str(as_table(&L->domain->registry), L->domain->names[NAME_LOADED]));
  push_name(L, name);
  lua_gettable(L, 2);
  if (lua_toboolean(L, -1))
    return 1;
  lua_pop(L, 1);
  open_require_span(L, name);
  find_loader(L, name);
  run_loader(L, name);
  return 2;
}

/* -------------------------------------------------------------- opening -- */

/* Tells whether the environment is not to be read, as with option -E. */
static int ignores_environment(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  int ignores = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return ignores;
}

/* Pushes `path` with its first ";;" replaced by the default path. */
static void push_path_with_default(lua_State *L, const char *path,
                                   const char *default_path) {
  const char *gap = strstr(path, LUA_PATH_SEP LUA_PATH_SEP);
  if (gap == NULL) {
    lua_pushstring(L, path);
    return;
  }
  luaL_Buffer B;
  const char *rest = gap + 2;
  luaL_buffinit(L, &B);
  if (gap > path) {
    luaL_addlstring(&B, path, (size_t)(gap - path));
    luaL_addchar(&B, *LUA_PATH_SEP);
  }
  luaL_addstring(&B, default_path);
  if (*rest != '\0') {
    luaL_addchar(&B, *LUA_PATH_SEP);
    luaL_addstring(&B, rest);
  }
  luaL_pushresult(&B);
}

/* Sets a path of the package table, which is on top, from the environment: from the
 * variable of this version or, if it is not set, from the general variable. In a program
 * with privileges of its own, the user who started it must not choose what it loads. */
static void set_path(lua_State *L, const char *field, const char *versioned,
                     const char *general, const char *default_path) {
  const char *path = secure_getenv(versioned);
  if (path == NULL)
    path = secure_getenv(general);
  if (path == NULL || ignores_environment(L))
    lua_pushstring(L, default_path);
  else
    push_path_with_default(L, path, default_path);
  lua_setfield(L, -2, field);
}

static void make_library_table(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LIBRARIES_KEY);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, close_libraries);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

/* Sets the searchers in the package table, which is on top. */
static void add_searchers(lua_State *L) {
  static const lua_CFunction searchers[] = {search_preload, search_lua, search_c, search_c_root};
  int count = sizeof searchers / sizeof searchers[0];
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_pushvalue(L, -2);
    lua_pushcclosure(L, searchers[i], 1);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "searchers");
}

/* The paths of modules that were installed under the prefix of Saros itself, if these are
 * not searched anyway. configure defines SAROS_PREFIX. */
#ifdef SAROS_PREFIX
#define OWN_LDIR SAROS_PREFIX "/share/lua/" LUA_VDIR "/"
#define OWN_CDIR SAROS_PREFIX "/lib/lua/" LUA_VDIR "/"
#define OWN_PATH \
  OWN_LDIR "?.lua;" OWN_LDIR "?/init.lua;" OWN_CDIR "?.lua;" OWN_CDIR "?/init.lua;"
#define OWN_CPATH OWN_CDIR "?.so;"
#else
#define OWN_PATH ""
#define OWN_CPATH ""
#endif

int luaopen_package(lua_State *L) {
  static const luaL_Reg functions[] = {{"loadlib", package_loadlib},
                                       {"searchpath", package_searchpath},
                                       {NULL, NULL}};
  static const luaL_Reg globals[] = {{"require", package_require},
                                     {NULL, NULL}};
  make_library_table(L);
  luaL_newlib(L, functions);
  add_searchers(L);
  set_path(L, "path", "LUA_PATH" LUA_VERSUFFIX, "LUA_PATH",
           OWN_PATH LUA_PATH_DEFAULT);
  set_path(L, "cpath", "LUA_CPATH" LUA_VERSUFFIX, "LUA_CPATH",
           OWN_CPATH LUA_CPATH_DEFAULT);
  lua_pushliteral(L, LUA_DIRSEP "\n" LUA_PATH_SEP "\n" LUA_PATH_MARK
                     "\n" LUA_EXEC_DIR "\n" IGNORE_MARK "\n");
  lua_setfield(L, -2, "config");
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_setfield(L, -2, "loaded");
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_setfield(L, -2, "preload");
  lua_pushglobaltable(L);
  lua_pushvalue(L, -2);
  luaL_setfuncs(L, globals, 1);
  lua_pop(L, 1);
  return 1;
}
