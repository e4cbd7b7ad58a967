/* SPDX-License-Identifier: MIT */
/* luaconf.h - the figures and types of Saros's Lua that C modules can see.
 *
 * Saros keeps the C ABI of Lua 5.4 as it is built on 64-bit systems: every
 * type and constant here has the size and value that a module compiled for
 * such a Lua expects.  Nothing here is meant to be edited for a build; the
 * search paths are the only figures that `configure` may override (with -D).
 */
#ifndef luaconf_h
#define luaconf_h

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <locale.h>
#include <float.h>

/* ------------------------------------------------------------- numbers -- */

/* Codes for the type chosen for integers and floats.  Only one combination
 * is offered; modules test these macros. */
#define LUA_INT_INT 1
#define LUA_INT_LONG 2
#define LUA_INT_LONGLONG 3

#define LUA_FLOAT_FLOAT 1
#define LUA_FLOAT_DOUBLE 2
#define LUA_FLOAT_LONGDOUBLE 3

#define LUA_INT_DEFAULT LUA_INT_LONGLONG
#define LUA_FLOAT_DEFAULT LUA_FLOAT_DOUBLE
#define LUA_INT_TYPE LUA_INT_DEFAULT
#define LUA_FLOAT_TYPE LUA_FLOAT_DEFAULT
#define LUAI_IS32INT 1
#define LUA_32BITS 0
#define LUA_C89_NUMBERS 0

#define LUA_INTEGER long long
#define LUA_UNSIGNED unsigned LUA_INTEGER
#define LUA_MAXINTEGER LLONG_MAX
#define LUA_MININTEGER LLONG_MIN
#define LUA_MAXUNSIGNED ULLONG_MAX
#define LUA_INTEGER_FRMLEN "ll"
#define LUA_INTEGER_FMT "%" LUA_INTEGER_FRMLEN "d"
#define LUAI_UACINT LUA_INTEGER

#define LUA_NUMBER double
#define LUAI_UACNUMBER double
#define LUA_NUMBER_FRMLEN ""
#define LUA_NUMBER_FMT "%.14g"
#define LUAI_NUMFFORMAT "%.14g"

#define l_mathlim(name) (DBL_##name)
#define l_floatatt(name) (DBL_##name)
#define l_floor(x) (floor(x))
#define l_mathop(op) op

#define l_sprintf(s, size, format, value) snprintf((s), (size), (format), (value))

/* Writes the text of a number into a buffer of `size` bytes; the value is the length of
 * the text. */
#define lua_integer2str(buf, size, n)                                         \
  snprintf((buf), (size), LUA_INTEGER_FMT, (LUAI_UACINT)(n))
#define lua_number2str(buf, size, n)                                          \
  snprintf((buf), (size), LUAI_NUMFFORMAT, (LUAI_UACNUMBER)(n))
#define lua_number2strx(L, buf, size, fmt, n)                                 \
  ((void)(L), snprintf((buf), (size), (fmt), (LUAI_UACNUMBER)(n)))
#define lua_pointer2str(buf, size, p) snprintf((buf), (size), "%p", (p))
#define lua_str2number(text, end) strtod((text), (end))
#define lua_strx2number(text, end) lua_str2number(text, end)
#define lua_getlocaledecpoint() (localeconv()->decimal_point[0])

/* Stores the integer with the value of the integral float `n` in `*p`. The value of the
 * macro is 1, or 0 when `n` is out of range. The bounds of the range are powers of two,
 * so they are exact as doubles. */
#define lua_numbertointeger(n, p)                                             \
  ((n) >= (LUA_NUMBER)(LUA_MININTEGER) &&                                     \
   (n) < -(LUA_NUMBER)(LUA_MININTEGER) &&                                     \
   (*(p) = (LUA_INTEGER)(n), 1))

/* ------------------------------------------------------- sizes and limits */

/* The most slots of a Lua stack; pseudo-indices start beyond this number. */
#define LUAI_MAXSTACK 1000000

/* Bytes of lua_Debug.short_src, the terminating zero included. */
#define LUA_IDSIZE 60

/* Bytes in front of each lua_State that belong to the embedding program. */
#define LUA_EXTRASPACE (sizeof(void *))

/* Bytes that a luaL_Buffer holds before it moves to the collected heap. */
#ifdef SAROS_STRESS /* small, so that most buffers grow; a stress build has another ABI */
#define LUAL_BUFFERSIZE 32
#else
#define LUAL_BUFFERSIZE ((int)(16 * sizeof(void *) * sizeof(LUA_NUMBER)))
#endif

/* Union members that force the strictest alignment a Lua value may need. */
#define LUAI_MAXALIGN                                                         \
  LUA_NUMBER n;                                                               \
  double u;                                                                   \
  void *s;                                                                    \
  LUA_INTEGER i;                                                              \
  long l

/* Context that a C function passes to its own continuation. */
#define LUA_KCONTEXT intptr_t

/* ---------------------------------------------------------------- paths -- */

#define LUA_PATH_SEP ";"
#define LUA_PATH_MARK "?"
#define LUA_EXEC_DIR "!"
#define LUA_IGMARK "-"
#define LUA_DIRSEP "/"
#define LUA_VDIR "5.4"

#ifndef LUA_ROOT
#define LUA_ROOT "/usr/local/"
#endif
#define LUA_LDIR LUA_ROOT "share/lua/" LUA_VDIR "/"
#define LUA_CDIR LUA_ROOT "lib/lua/" LUA_VDIR "/"

/* The directories of the local administrator come first, then those that the
 * system's packages install into, then the current one. */
#ifndef LUA_PATH_DEFAULT
#define LUA_PATH_DEFAULT                                                      \
  LUA_LDIR "?.lua;" LUA_LDIR "?/init.lua;" LUA_CDIR "?.lua;" LUA_CDIR         \
           "?/init.lua;"                                                      \
           "/usr/share/lua/" LUA_VDIR "/?.lua;"                               \
           "/usr/share/lua/" LUA_VDIR "/?/init.lua;"                          \
           "./?.lua;./?/init.lua"
#endif

#ifndef LUA_CPATH_DEFAULT
#if defined(__x86_64__)
#define LUA_SYSTEM_CDIR "/usr/lib/x86_64-linux-gnu/lua/" LUA_VDIR "/"
#elif defined(__aarch64__)
#define LUA_SYSTEM_CDIR "/usr/lib/aarch64-linux-gnu/lua/" LUA_VDIR "/"
#else
#define LUA_SYSTEM_CDIR "/usr/lib64/lua/" LUA_VDIR "/"
#endif
#define LUA_CPATH_DEFAULT                                                     \
  LUA_CDIR "?.so;" LUA_SYSTEM_CDIR "?.so;"                                    \
           "/usr/lib/lua/" LUA_VDIR "/?.so;" LUA_CDIR "loadall.so;./?.so"
#endif

/* ----------------------------------------------------- linkage and hints -- */

#define LUA_API extern
#define LUALIB_API LUA_API
#define LUAMOD_API LUA_API

/* For programs of several files: functions and data that the files share and do not
 * export. */
#if defined(__GNUC__)
#define LUAI_FUNC __attribute__((visibility("internal"))) extern
#else
#define LUAI_FUNC extern
#endif
#define LUAI_DDEC(dec) LUAI_FUNC dec
#define LUAI_DDEF

#if defined(__GNUC__)
#define luai_likely(x) (__builtin_expect(((x) != 0), 1))
#define luai_unlikely(x) (__builtin_expect(((x) != 0), 0))
#else
#define luai_likely(x) (x)
#define luai_unlikely(x) (x)
#endif

#if defined(LUA_CORE) || defined(LUA_LIB)
#define l_likely(x) luai_likely(x)
#define l_unlikely(x) luai_unlikely(x)
#endif

/* ------------------------------------------------- names from Lua 5.3 -- */

/* A program that defines LUA_COMPAT_5_3 gets these names. The library always has what
 * these names stand for (math.pow and others, `__lt` in the place of `__le`). */
#if defined(LUA_COMPAT_5_3)
#define LUA_COMPAT_MATHLIB
#define LUA_COMPAT_APIINTCASTS
#define LUA_COMPAT_LT_LE
#define lua_strlen(L, i) lua_rawlen(L, (i))
#define lua_objlen(L, i) lua_rawlen(L, (i))
#define lua_equal(L, i, j) lua_compare(L, (i), (j), LUA_OPEQ)
#define lua_lessthan(L, i, j) lua_compare(L, (i), (j), LUA_OPLT)
#endif

/* Checks of the arguments of API functions, for modules that define LUA_USE_APICHECK. */
#if defined(LUA_USE_APICHECK)
#include <assert.h>
#define luai_apicheck(L, e) assert(e)
#endif

#endif
