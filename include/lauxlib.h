/* SPDX-License-Identifier: MIT */
/* lauxlib.h - the auxiliary library of Lua 5.4 (reference manual, chapter 5).
 *
 * Everything here is written in terms of lua.h alone, in auxlib.c, without private access
 * to the VM, except that bytes of buffers are counted. The layout of luaL_Buffer,
 * luaL_Stream and luaL_Reg is part of the ABI, since the macros below are compiled into
 * modules.
 */
#ifndef lauxlib_h
#define lauxlib_h

#include <stddef.h>
#include <stdio.h>

#include "luaconf.h"
#include "lua.h"

#pragma GCC visibility push(default)

/* The global table's name, and the registry keys of the loaded modules and the preload
   table. */
#define LUA_GNAME "_G"
#define LUA_LOADED_TABLE "_LOADED"
#define LUA_PRELOAD_TABLE "_PRELOAD"

/* luaL_loadfilex's extra status: the file could not be opened or read. */
#define LUA_ERRFILE (LUA_ERRERR + 1)

/* One entry of a library; the list ends with a NULL name.  A NULL function
 * makes a placeholder field with the value false. */
typedef struct luaL_Reg {
  const char *name;
  lua_CFunction func;
} luaL_Reg;

/* Sizes of the numbers with which caller and library were compiled. */
#define LUAL_NUMSIZES (sizeof(lua_Integer) * 16 + sizeof(lua_Number))

LUALIB_API void luaL_checkversion_(lua_State *L, lua_Number ver, size_t sz);
#define luaL_checkversion(L)                                                  \
  luaL_checkversion_(L, LUA_VERSION_NUM, LUAL_NUMSIZES)

/* ------------------------------------------------------------ arguments -- */

LUALIB_API int luaL_argerror(lua_State *L, int arg, const char *extramsg);
LUALIB_API int luaL_typeerror(lua_State *L, int arg, const char *tname);
LUALIB_API const char *luaL_checklstring(lua_State *L, int arg, size_t *len);
LUALIB_API const char *luaL_optlstring(lua_State *L, int arg, const char *def,
                                       size_t *len);
LUALIB_API lua_Number luaL_checknumber(lua_State *L, int arg);
LUALIB_API lua_Number luaL_optnumber(lua_State *L, int arg, lua_Number def);
LUALIB_API lua_Integer luaL_checkinteger(lua_State *L, int arg);
LUALIB_API lua_Integer luaL_optinteger(lua_State *L, int arg,
                                       lua_Integer def);
LUALIB_API void luaL_checkstack(lua_State *L, int sz, const char *msg);
LUALIB_API void luaL_checktype(lua_State *L, int arg, int t);
LUALIB_API void luaL_checkany(lua_State *L, int arg);
LUALIB_API int luaL_checkoption(lua_State *L, int arg, const char *def,
                                const char *const lst[]);

#define luaL_checkstring(L, n) (luaL_checklstring(L, (n), NULL))
#define luaL_optstring(L, n, d) (luaL_optlstring(L, (n), (d), NULL))
#define luaL_opt(L, f, n, d) (lua_isnoneornil(L, (n)) ? (d) : f(L, (n)))
#define luaL_argcheck(L, cond, arg, extramsg)                                 \
  ((void)(luai_likely(cond) || luaL_argerror(L, (arg), (extramsg))))
#define luaL_argexpected(L, cond, arg, tname)                                 \
  ((void)(luai_likely(cond) || luaL_typeerror(L, (arg), (tname))))
#if defined(LUA_COMPAT_APIINTCASTS)
#define luaL_checkunsigned(L, n) ((lua_Unsigned)luaL_checkinteger(L, (n)))
#define luaL_optunsigned(L, n, d) ((lua_Unsigned)luaL_optinteger(L, (n), (lua_Integer)(d)))
#define luaL_checkint(L, n) ((int)luaL_checkinteger(L, (n)))
#define luaL_optint(L, n, d) ((int)luaL_optinteger(L, (n), (d)))
#define luaL_checklong(L, n) ((long)luaL_checkinteger(L, (n)))
#define luaL_optlong(L, n, d) ((long)luaL_optinteger(L, (n), (d)))
#endif
#define luaL_typename(L, i) lua_typename(L, lua_type(L, (i)))

/* ----------------------------------------------- errors and result codes -- */

LUALIB_API int luaL_error(lua_State *L, const char *fmt, ...);
LUALIB_API void luaL_where(lua_State *L, int lvl);
LUALIB_API void luaL_traceback(lua_State *L, lua_State *L1, const char *msg,
                               int level);

/* Pushes the results of a library function that wraps a C function which sets errno:
 * true, or fail, a message and the code. */
LUALIB_API int luaL_fileresult(lua_State *L, int stat, const char *fname);
LUALIB_API int luaL_execresult(lua_State *L, int stat);

/* Pushes the value that library functions return for a failure. */
#define luaL_pushfail(L) lua_pushnil(L)

/* ----------------------------------------------------------- metatables -- */

LUALIB_API int luaL_newmetatable(lua_State *L, const char *tname);
LUALIB_API void luaL_setmetatable(lua_State *L, const char *tname);
LUALIB_API void *luaL_testudata(lua_State *L, int ud, const char *tname);
LUALIB_API void *luaL_checkudata(lua_State *L, int ud, const char *tname);
LUALIB_API int luaL_getmetafield(lua_State *L, int obj, const char *e);
LUALIB_API int luaL_callmeta(lua_State *L, int obj, const char *e);
LUALIB_API const char *luaL_tolstring(lua_State *L, int idx, size_t *len);

#define luaL_getmetatable(L, n) (lua_getfield(L, LUA_REGISTRYINDEX, (n)))

/* ----------------------------------------------------------- references -- */

#define LUA_NOREF (-2)
#define LUA_REFNIL (-1)

LUALIB_API int luaL_ref(lua_State *L, int t);
LUALIB_API void luaL_unref(lua_State *L, int t, int ref);

/* --------------------------------------------------------------- chunks -- */

LUALIB_API int luaL_loadfilex(lua_State *L, const char *filename,
                              const char *mode);
LUALIB_API int luaL_loadbufferx(lua_State *L, const char *buff, size_t size,
                                const char *name, const char *mode);
LUALIB_API int luaL_loadstring(lua_State *L, const char *s);

#define luaL_loadfile(L, f) luaL_loadfilex(L, f, NULL)
#define luaL_loadbuffer(L, s, sz, n) luaL_loadbufferx(L, s, sz, n, NULL)
#define luaL_dofile(L, fn)                                                    \
  (luaL_loadfile(L, fn) || lua_pcall(L, 0, LUA_MULTRET, 0))
#define luaL_dostring(L, s)                                                   \
  (luaL_loadstring(L, s) || lua_pcall(L, 0, LUA_MULTRET, 0))

/* ------------------------------------------------------------ libraries -- */

LUALIB_API lua_State *luaL_newstate(void);
LUALIB_API void luaL_setfuncs(lua_State *L, const luaL_Reg *l, int nup);
LUALIB_API int luaL_getsubtable(lua_State *L, int idx, const char *fname);
LUALIB_API void luaL_requiref(lua_State *L, const char *modname,
                              lua_CFunction openf, int glb);

#define luaL_newlibtable(L, l)                                                \
  lua_createtable(L, 0, sizeof(l) / sizeof((l)[0]) - 1)
#define luaL_newlib(L, l)                                                     \
  (luaL_checkversion(L), luaL_newlibtable(L, l), luaL_setfuncs(L, l, 0))

/* ------------------------------------------------------- odds and ends -- */

LUALIB_API lua_Integer luaL_len(lua_State *L, int idx);
LUALIB_API const char *luaL_gsub(lua_State *L, const char *s, const char *p,
                                 const char *r);

/* Integer arithmetic that wraps, as Lua's own does. */
#define luaL_intop(op, v1, v2)                                                \
  ((lua_Integer)((lua_Unsigned)(v1)op(lua_Unsigned)(v2)))

/* -------------------------------------------------------------- buffers -- A string
 * under construction. It starts in `init`; when `init` is full, the string moves into a
 * userdata. The buffer always has one stack slot (with a placeholder at first), so
 * between calls the top of the stack must be where the last call left it. */

typedef struct luaL_Buffer luaL_Buffer;

struct luaL_Buffer {
  char *b;      /* the bytes, in init.b or in the userdata */
  size_t size;  /* capacity */
  size_t n;     /* number of bytes in use */
  lua_State *L; /* the thread whose stack has the slot */
  union {
    LUAI_MAXALIGN;
    char b[LUAL_BUFFERSIZE];
  } init;
};

LUALIB_API void luaL_buffinit(lua_State *L, luaL_Buffer *B);
LUALIB_API char *luaL_buffinitsize(lua_State *L, luaL_Buffer *B, size_t sz);
LUALIB_API char *luaL_prepbuffsize(luaL_Buffer *B, size_t sz);
LUALIB_API void luaL_addlstring(luaL_Buffer *B, const char *s, size_t l);
LUALIB_API void luaL_addstring(luaL_Buffer *B, const char *s);
LUALIB_API void luaL_addvalue(luaL_Buffer *B);
LUALIB_API void luaL_addgsub(luaL_Buffer *B, const char *s, const char *p,
                             const char *r);
LUALIB_API void luaL_pushresult(luaL_Buffer *B);
LUALIB_API void luaL_pushresultsize(luaL_Buffer *B, size_t sz);

#define luaL_bufflen(bf) ((bf)->n)
#define luaL_buffaddr(bf) ((bf)->b)
#define luaL_addchar(B, c)                                                    \
  ((void)((B)->n < (B)->size || luaL_prepbuffsize((B), 1)),                   \
   ((B)->b[(B)->n++] = (c)))
#define luaL_addsize(B, s) ((B)->n += (s))
#define luaL_buffsub(B, s) ((B)->n -= (s))
#define luaL_prepbuffer(B) luaL_prepbuffsize(B, LUAL_BUFFERSIZE)

/* -------------------------------------------------------- file handles -- A userdata
 * with this layout and the metatable LUA_FILEHANDLE is a file of the io library, also in
 * C modules. In a closed file `closef` is NULL. */

#define LUA_FILEHANDLE "FILE*"

typedef struct luaL_Stream {
  FILE *f;
  lua_CFunction closef;
} luaL_Stream;

/* ------------------------------------------------------- for hosts -- */

/* An assertion that is checked when the program defines LUAI_ASSERT. */
#if !defined(lua_assert)
#if defined(LUAI_ASSERT)
#include <assert.h>
#define lua_assert(c) assert(c)
#else
#define lua_assert(c) ((void)0)
#endif
#endif

#define lua_writestring(s, l) fwrite((s), sizeof(char), (l), stdout)
#define lua_writeline() (lua_writestring("\n", 1), fflush(stdout))
#define lua_writestringerror(s, p) (fprintf(stderr, (s), (p)), fflush(stderr))

#pragma GCC visibility pop

#endif
